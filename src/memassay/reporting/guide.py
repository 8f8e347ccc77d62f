"""How to read a report: the words of its page, once."""

from __future__ import annotations

from memassay.reporting.reading import Reading, listed

_ALWAYS: tuple[tuple[str, str], ...] = (
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


def guide(reading: Reading) -> tuple[tuple[str, str], ...]:
    """Words and what they mean, the headline's metric first."""
    head = reading.headline
    return ((f"{head.family}@{'k' if head.passages else 'B'}", _metrics(reading)), *_ALWAYS)


def _metrics(reading: Reading) -> str:
    """The headline's family and the families beside it, in the suite's words."""
    head, tasks = reading.headline, reading.units[0]
    if not head.gold:
        return f"{head.what}, the headline of this run."
    rest = [f"{m.family}@B asks for {m.gold}" for m in reading.metrics if m.family == "any"][:1]
    rest += [f"rec@B is the mean {m.gold.removeprefix('mean ')}" for m in reading.metrics if m.family == "rec"][:1]
    said = [
        f"the share of {tasks} with {head.gold}, word for word, in the first "
        f"{f'k {head.unit}' if head.passages else 'B tokens'} of what the memory returned.",
        f"{listed(rest)}." if rest else "",
        *[f"@k cuts after k {m.unit} instead, at unequal context." for m in reading.metrics if m.passages][:1],
        "The harness cuts and counts, not the memory.",
    ]
    return " ".join(filter(None, said))
