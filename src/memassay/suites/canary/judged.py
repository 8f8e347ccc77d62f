"""What judges of pairs came to: who is used, every pair as they saw it, and whether the choice may rest on it.

Judges say which memory is better; what is fabricated is still decided by rule. The choice rests on judges where two
families of models or more are in use. Judges of one family share their faults, so they give at most no decision, and
what only stands in for a model decides nothing at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from memassay.core.pairs import PairVerdict
from memassay.suites.canary.ballots import Ballots, oriented, stability
from memassay.suites.canary.choosing import Choice, choose, undecided
from memassay.suites.canary.comparing import Compared, generator
from memassay.suites.canary.costs import Cost
from memassay.suites.canary.families import Weights
from memassay.suites.canary.judge_labels import labelling
from memassay.suites.canary.judged_pairs import NO_ANSWER, JudgedPair
from memassay.suites.canary.probes import Examined, examined
from memassay.suites.canary.rules import RULES, Thresholds
from memassay.suites.canary.standings import Standings

FAMILIES_NEEDED = 2
STAND_INS = "scripted judges decide nothing"
UNRANKED = "judges did not compare every two memories"


@dataclass(frozen=True)
class Judged:
    """What judges of pairs came to.

    Attributes:
        judges: every one, with its controls.
        used: names of those whose votes are counted: of real models where there is any, else of stand-ins.
        real: whether any judge is a real model.
        pairs: of the memories, in their order.
    """

    judges: tuple[Examined, ...]
    used: tuple[str, ...]
    real: bool
    pairs: tuple[JudgedPair, ...]

    @property
    def families(self) -> tuple[str, ...]:
        """Families of the judges in use."""
        return tuple(sorted({one.family for one in self.judges if one.judge in self.used}))

    @property
    def reason(self) -> str:
        """Why the choice may not rest on these judges, or ""."""
        if not self.real:
            return STAND_INS
        if not self.used:
            return "no judge passed its controls"
        if len(self.families) < FAMILIES_NEEDED:
            return f"the verdicts are of judges of one family ({self.families[0]})"
        return "" if any(pair.compared for pair in self.pairs) else NO_ANSWER

    def compared(self) -> list[Compared]:
        """The pairs for a choice, which compares them with each other: on the questions that have an outcome in all."""
        answered = [pair for pair in self.pairs if pair.compared is not None]
        common = {
            question: None
            for pair in answered[:1]
            for question in pair.outcomes
            if all(question in other.outcomes for other in answered)
        }
        found = [pair.compared if len(pair.outcomes) == len(common) else pair.on(common) for pair in answered]
        return [one for one in found if one is not None]


def judged(
    verdicts: Sequence[PairVerdict],
    found: Standings,
    weights: Weights,
    thresholds: Thresholds,
    incumbent: str | None = None,
) -> Judged | None:
    """What judges of pairs came to; None where there was none.

    Args:
        verdicts: of every judge, in any order.
        found: the memories, and what holds of them without judges.
        weights: how much each family counts.
        thresholds: of the rule ``default``.
        incumbent: comes second in its pairs.
    """
    if not verdicts:
        return None
    ordered = sorted(verdicts, key=_place)
    judges = examined(ordered)
    real = any(one.model == "real" for one in judges)
    used = tuple(one.judge for one in judges if one.passed and (one.model == "real" or not real))
    pairs = tuple(JudgedPair(one, found, weights, thresholds, used) for one in _ballots(ordered, found, incumbent))
    return Judged(judges, used, real, pairs)


def as_mapping(one: Judged, found: Standings, thresholds: Thresholds) -> dict[str, object]:
    """Everything that the sections about judges are made of; JSON is still to be made of it."""
    names = [judge.judge for judge in one.judges]
    return {
        "real": one.real,
        "rests": not one.reason,
        "reason": one.reason or None,
        "used": list(one.used),
        "families": list(one.families),
        "rules": list(RULES),
        "questions": len(found.questions),
        "judges": [_judge(judge, one, found, thresholds.level) for judge in one.judges],
        "pairs": [pair.mapping(names) for pair in one.pairs],
    }


def chosen(
    by_labels: Choice,
    one: Judged | None,
    memories: Sequence[str],
    costs: Mapping[str, Cost],
    incumbent: str | None,
    rule: str,
    thresholds: Thresholds,
) -> Choice:
    """The choice of a run: by labels without judges and with stand-ins, else by judges, where they may decide.

    Args:
        by_labels: what holds without judges.
        one: what judges came to.
        memories: of the run.
        costs: by memory.
        incumbent: one of the memories, or None.
        rule: its name.
        thresholds: of the rule ``default``.
    """
    if one is None or not one.real:
        return by_labels
    pairs = one.compared()
    asked = {frozenset((pair.pair.a, pair.pair.b)) for pair in pairs}
    every = all(frozenset(two) in asked for two in combinations(memories, 2))
    choice = choose(memories, pairs, costs, incumbent, rule, thresholds, None if every else UNRANKED)
    if one.reason:
        return _open(choice, one.reason)
    return choice if every else replace(choice, reason=_in_words(choice))


def _open(choice: Choice, reason: str) -> Choice:
    """The choice where judges may not decide: nothing is decided, whatever the rule says of the pairs."""
    return replace(
        choice,
        verdict=None if choice.incumbent is None else "no decision",
        adopted=None,
        reason=f"{reason[0].upper()}{reason[1:]}; the choice rests on judges of two families or more.",
        challenges=tuple(
            replace(one, verdict="no decision", reasons=(reason,), needed=None) for one in choice.challenges
        ),
        best=None,
        best_reason=reason,
        cheapest=None,
    )


def _in_words(choice: Choice) -> str:
    """Why, where there is no set of the best."""
    if choice.verdict is None:
        return (
            f"Judges compared nothing with {choice.incumbent}." if choice.incumbent else "No incumbent is in the run."
        )
    if choice.verdict == "adopt":
        return f"{choice.adopted} beats {choice.incumbent} by the rule."
    if choice.verdict == "keep":
        return f"The rule rejects every challenger of {choice.incumbent}."
    return undecided(choice.challenges, choice.incumbent)


def _judge(judge: Examined, one: Judged, found: Standings, level: float) -> dict[str, object]:
    said = [vote for pair in one.pairs for vote in pair.ballots.verdicts if vote.judge == judge.judge]
    unused = judge.reason or (STAND_INS if judge.judge not in one.used else "")
    return {
        "judge": judge.judge,
        "family": judge.family,
        "model": judge.model,
        "used": judge.judge in one.used,
        "reason": unused or None,
        "probes": judge.probes,
        "stability": stability(said, found, level),
        "labels": labelling(said, found, generator("labels", judge.judge), level),
    }


def _ballots(verdicts: Sequence[PairVerdict], found: Standings, incumbent: str | None) -> list[Ballots]:
    """The verdicts of every pair of memories, on questions that count."""
    place = {memory: number for number, memory in enumerate(found.memories)}
    counted = {asked.id for asked in found.questions}
    by_pair: dict[frozenset[str], list[PairVerdict]] = {}
    for one in verdicts:
        if not one.probe and one.a != one.b and {one.a, one.b} <= place.keys() and one.task in counted:
            by_pair.setdefault(frozenset((one.a, one.b)), []).append(one)
    ballots = []
    for said in sorted(by_pair.values(), key=lambda said: sorted((place[said[0].a], place[said[0].b]))):
        a, b = (said[0].b, said[0].a) if said[0].a == incumbent else (said[0].a, said[0].b)
        ballots.append(Ballots(a, b, tuple(oriented(one, a) for one in said), found.questions))
    return ballots


def _place(one: PairVerdict) -> tuple[object, ...]:
    return one.judge, one.probe, one.task, one.a, one.b, one.build, one.order, one.repetition
