"""The decision about an incumbent, the memories that none beats, and the cheapest of those."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from memassay.stats.families import max_t
from memassay.stats.stratified import BestSet, best_set
from memassay.suites.canary.comparing import Compared, generator
from memassay.suites.canary.costs import RULE, Cost, cheapest
from memassay.suites.canary.rules import Leg, Thresholds, Word

PUBLISHED_RULE = "seed-v1"
"""It knows no family of comparisons, so its verdicts stand as they are, whatever the number of memories."""

Overall = Literal["adopt", "keep", "no decision"]


@dataclass(frozen=True, slots=True)
class Challenge:
    """One memory against the incumbent.

    Attributes:
        rule_said: the rule on this pair alone.
        adjusted_p: of the weighted gap, by max-T over all challengers; None where there is one challenger, or where
            fewer than two clusters differ.
        verdict: what is left of it: with several challengers, what rests on the gap needs the adjusted p as well.
        reasons: in phrases.
        needed: questions that would settle a ``no decision``, or None where that is unknown.
    """

    challenger: str
    rule_said: Word
    adjusted_p: float | None
    verdict: Word
    reasons: tuple[str, ...]
    legs: tuple[Leg, ...]
    needed: int | None


@dataclass(frozen=True, slots=True)
class Choice:
    """What the run comes to.

    Attributes:
        rule: its name.
        incumbent: None where it was not named or is not in the run.
        verdict: ``adopt`` one of the challengers, ``keep`` the incumbent (every challenger is rejected), or
            ``no decision``, which is no tie; None without an incumbent or challenger.
        adopted: the memory that is adopted, or None.
        reason: why, in a sentence.
        challenges: every other memory against the incumbent.
        best: the memories that no other one is shown to beat, or None.
        best_reason: why there are none, else None.
        cheapest: of those, by ``cost_rule``.
        cost_rule: as it was fixed beforehand.
    """

    rule: str
    incumbent: str | None
    verdict: Overall | None
    adopted: str | None
    reason: str
    challenges: tuple[Challenge, ...]
    best: BestSet | None
    best_reason: str | None
    cheapest: str | None
    cost_rule: str = RULE


def choose(
    memories: Sequence[str],
    pairs: Sequence[Compared],
    costs: Mapping[str, Cost],
    incumbent: str | None,
    rule: str,
    thresholds: Thresholds,
    missing: str | None = None,
) -> Choice:
    """The choice among memories.

    Args:
        memories: of the run.
        pairs: every two of them, once; where the incumbent is in one, it comes second.
        costs: by memory.
        incumbent: one of the memories, or None.
        rule: its name.
        thresholds: of the rule ``default``; the level is that of every test here.
        missing: why there are no pairs, where that is not for want of memories.
    """
    best, best_reason = (None, missing) if missing else _best(memories, pairs, thresholds.level)
    members = memories if best is None else best.members
    against = [one for one in pairs if incumbent is not None and one.pair.b == incumbent]
    challenges = _challenges(against, rule, thresholds.level)
    adopted = [one.challenger for one in challenges if one.verdict == "adopt"]
    taken = cheapest([name for name in adopted if name in members] or adopted, costs, incumbent)
    verdict: Overall | None = None
    if challenges:
        rejected = all(one.verdict == "reject" for one in challenges)
        verdict = "adopt" if taken else "keep" if rejected else "no decision"
    return Choice(
        rule=rule,
        incumbent=incumbent,
        verdict=verdict,
        adopted=taken,
        reason=_reason(verdict, taken, adopted, challenges, incumbent)
        if not missing
        else f"{missing[0].upper()}{missing[1:]}.",
        challenges=challenges,
        best=best,
        best_reason=best_reason,
        cheapest=cheapest(members, costs, incumbent) if best else None,
    )


def _challenges(against: Sequence[Compared], rule: str, level: float) -> tuple[Challenge, ...]:
    adjusted: Sequence[float | None] = [None] * len(against)
    if len(against) > 1:
        table = np.stack([one.pair.outcomes * one.pair.each for one in against], axis=1)
        adjusted = max_t(table, against[0].pair.clusters, rng=generator("challengers"))
    found = []
    for one, p in zip(against, adjusted, strict=True):
        said = one.decisions[rule]
        verdict, reasons = said.verdict, said.reasons
        by_gap = verdict == "adopt" or (verdict == "reject" and said.legs[-1].outcome != "against")
        if rule != PUBLISHED_RULE and len(against) > 1 and by_gap and (p is None or p > 1 - level):
            shown = "none" if p is None else f"{p:.2g}"
            verdict = "no decision"
            reasons = (f"among {len(against)} challengers the adjusted p is {shown}, not below {1 - level:.2g}",)
        found.append(Challenge(one.pair.a, said.verdict, p, verdict, reasons, said.legs, said.needed))
    return tuple(found)


def _best(memories: Sequence[str], pairs: Sequence[Compared], level: float) -> tuple[BestSet | None, str | None]:
    if len(memories) < 2:
        return None, "one memory: there is nothing to compare it with"
    first = pairs[0].pair
    if first.clusters.count < 2:
        return None, "the questions are of one cluster, so that nothing can be tested"
    signs = {(one.pair.a, one.pair.b): one.pair.outcomes for one in pairs}
    columns = [signs[a, b] if (a, b) in signs else -signs[b, a] for a, b in combinations(memories, 2)]
    return (
        best_set(memories, np.stack(columns, axis=1), first.each, first.clusters, rng=generator("best"), level=level),
        None,
    )


def _reason(
    verdict: Overall | None,
    taken: str | None,
    adopted: Sequence[str],
    challenges: Sequence[Challenge],
    incumbent: str | None,
) -> str:
    if verdict is None:
        return "No incumbent is in the run." if incumbent is None else f"Nothing was run beside {incumbent}."
    if verdict == "adopt" and len(adopted) > 1:
        return f"{len(adopted)} memories beat {incumbent} by the rule; {taken} is the cheapest of them."
    if verdict == "adopt":
        return f"{taken} beats {incumbent} by the rule."
    if verdict == "keep":
        return f"The rule rejects every challenger of {incumbent}."
    return undecided(challenges, incumbent)


def undecided(challenges: Sequence[Challenge], incumbent: str | None) -> str:
    """About whom nothing is decided, and how many questions would settle it, where that is known for all of them."""
    open_ones = [one for one in challenges if one.verdict == "no decision"]
    known = [one.needed for one in open_ones if one.needed is not None]
    settled = (
        f" About {max(known):,} questions in the same proportions would settle it, if the gap stays what it is."
        if known and len(known) == len(open_ones)
        else ""
    )
    names = ", ".join(one.challenger for one in open_ones)
    return f"The rule decides nothing about {names} against {incumbent}.{settled}"
