"""What judges of pairs said, and what is made of it, in few words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from canary_judges import controls, merits, said
from canary_outcomes import BUDGET, run
from pydantic_core import to_jsonable_python

from memassay.core.pairs import PairVerdict
from memassay.suites.canary.choosing import Choice, choose
from memassay.suites.canary.collapse import ScriptedJudge
from memassay.suites.canary.comparing import compared
from memassay.suites.canary.costs import cost_of
from memassay.suites.canary.families import PUBLISHED
from memassay.suites.canary.judged import Judged, as_mapping, chosen, judged
from memassay.suites.canary.judged_sections import sections
from memassay.suites.canary.rules import Thresholds
from memassay.suites.canary.standings import Standings, standings

FAIR, OTHER = ScriptedJudge("claude-x"), ScriptedJudge("gpt-x")
BY = {"claude-x": "claude", "gpt-x": "gpt"}
ASKED = Thresholds()


def most(family: str, number: int) -> tuple[float, float]:
    return (1.0, 0.0) if number % 4 else (1.0, 1.0)


def mixed(family: str, number: int) -> tuple[float, float]:
    return ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.5))[(number + len(family)) % 4]


def memories(*names: str, each: int = 8) -> Standings:
    arms: dict[str, Any] = {name.replace("-", "_"): "undetermined" for name in names or ("lexical", "markdown")}
    return standings(run(each, **arms), BUDGET)


def voices(
    *judges: ScriptedJudge, of: Callable[[str, int], tuple[float, float]] = mixed, each: int = 8, **given: Any
) -> list[PairVerdict]:
    """Controls and verdicts of these judges on one pair; a ``sane`` judge has its faults on the pair alone."""
    about = {"model": given.get("model", "real")}
    sane = given.pop("sane", False)
    return [
        verdict
        for judge in judges
        for family in [given.get("family") or BY.get(judge.name, judge.name)]
        for verdict in (
            *controls(replace(judge, noise=0.0, bias=0.0) if sane else judge, family=family, **about),
            *said(judge, merits(of, each), **{**given, "family": family}),
        )
    ]


def conclude(
    verdicts: Sequence[PairVerdict], found: Standings | None = None, incumbent: str | None = None
) -> tuple[Judged, dict[str, Any]]:
    found = found or memories()
    one = judged(verdicts, found, PUBLISHED, ASKED, incumbent)
    assert one is not None
    return one, to_jsonable_python(as_mapping(one, found, ASKED))


def choice_of(verdicts: Sequence[PairVerdict], found: Standings, incumbent: str | None = "lexical") -> Choice:
    costs = {name: cost_of(name, found.rows[name]) for name in found.memories}
    pairs = [compared(found, "markdown", "lexical", PUBLISHED, ASKED)] if len(found.memories) == 2 else []
    by_labels = choose(
        found.memories, pairs, costs, incumbent, "default", ASKED, None if pairs else "not asked in this test"
    )
    one = judged(verdicts, found, PUBLISHED, ASKED, incumbent)
    return chosen(by_labels, one, found.memories, costs, incumbent, "default", ASKED)


def texts(results: dict[str, Any]) -> str:
    drawn = sections(results)
    cells = [cell for section in drawn for table in section.tables for row in table.rows for cell in row]
    notes = [table.note for section in drawn for table in section.tables]
    return "\n".join([*(s.text for s in drawn), *notes, *(cell for cell in cells if isinstance(cell, str))])
