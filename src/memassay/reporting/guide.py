"""How to read a report: the words of its page, once."""

from __future__ import annotations

from memassay.reporting.metric import Metric
from memassay.reporting.part import UNEQUAL
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


_ANSWERS: tuple[tuple[str, str], ...] = (
    (
        "answered only",
        "the same number with the failures of the memory left out instead of counted as wrong. Where the two differ "
        "much, the failures are the finding.",
    ),
    (
        "a judge's errors",
        "the share of planted wrong answers that it accepts, and of planted right ones that it rejects. A score near "
        "the first of them says little.",
    ),
    (
        "SD of runs",
        "how much a number moves when the same run is made again. It is no error bar: it does not say how other "
        "questions would have come out.",
    ),
    (
        "tokens of four kinds",
        "input that no cache served, output, cache reads and cache writes have prices of their own and are never "
        "summed.",
    ),
)


_UNEQUAL = (
    UNEQUAL,
    "the two arms did not read the same amount of context: an agent with tools or files reads what it asks for, and k "
    "passages are as long as they are. A difference may come from that, and not from the memory.",
)


def guide(reading: Reading) -> tuple[tuple[str, str], ...]:
    """Words and what they mean, the headline's metric first."""
    of_answers = tuple((m.name, f"{m.what}.") for group in reading.answer_groups for m in group)
    head = reading.found_headline
    of_recall = ((f"{head.family}@{'k' if head.passages else 'B'}", _metrics(reading, head)),) if head else ()
    unequal = (_UNEQUAL,) if any(c.raw.get("equal_budget") is False for c in reading.comparisons) else ()
    return (*of_answers, *of_recall, *(_ANSWERS if of_answers else ()), *_ALWAYS, *unequal)


def _metrics(reading: Reading, head: Metric) -> str:
    """A family of recall and the families beside it, in the suite's words."""
    tasks = reading.units[0]
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
