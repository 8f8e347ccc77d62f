"""How to read a report: the words of every page, once."""

from __future__ import annotations

GUIDE: tuple[tuple[str, str], ...] = (
    (
        "all@B",
        "the share of questions for which every gold item stands, word for word, in the first B tokens of what the "
        "memory returned. any@B asks for one of them, rec@B is their mean share. The harness cuts and counts, not the "
        "memory.",
    ),
    (
        "an interval",
        "in brackets: where the value would plausibly lie if other clusters (conversations, worlds, source documents) "
        "had been drawn. Questions of one cluster are not independent, so few clusters make wide intervals.",
    ),
    (
        "two intervals that overlap",
        "say nothing about a difference. Look at the paired difference: both arms answered the same questions.",
    ),
    (
        "a verdict",
        "is given for one comparison, named before the run. “No decision” means that these data cannot tell the two "
        "apart; it does not mean that they are equal. Everything else is exploratory.",
    ),
    ("–", "not measured, with the reason below the table. It is never a zero."),
    (
        "chance and ceiling",
        "chance is the expectation of a random order at the same budget; the ceiling is the share of questions whose "
        "gold fits the budget at all.",
    ),
    (
        "publishable",
        "no cell is missing, every arm saw the same tasks, the controls passed, and one comparison was named in "
        "advance.",
    ),
)
