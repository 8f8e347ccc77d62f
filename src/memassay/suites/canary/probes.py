"""Which judges of pairs are used: what each said of texts of which it is known how they differ, and what it must say.

The bands were fixed before any judge was asked. They are wide: a probe has some 16 questions, and it is meant to tell a
judge that does not look (or looks at the wrong thing) from one that does, not a good one from a better one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from memassay.core.pairs import PairVerdict
from memassay.core.types import ModelKind
from memassay.suites.canary.collapse import ORDERS, Vote, collapse

Measure = Literal["single answers that tie", "ties", "wins of the right text", "wins of the changed text"]


@dataclass(frozen=True, slots=True)
class Band:
    """What a probe asks for: the measure lies between the ends, both included."""

    measure: Measure
    low: float
    high: float

    @property
    def asks(self) -> str:
        """The end that can be missed, in words."""
        return f"at least {self.low:.0%}" if self.low else f"at most {self.high:.0%}"


BANDS: Mapping[str, tuple[Band, ...]] = MappingProxyType(
    {
        # Nothing differs: whoever prefers one of two equal texts answers by place, or at random.
        "same": (Band("single answers that tie", 0.8, 1.0),),
        # The order of passages may matter a little, and then in both orders alike; most questions must stay ties.
        "shuffled": (Band("ties", 0.6, 1.0),),
        # The facts against those of another question: nobody who reads prefers the latter.
        "random": (Band("wins of the right text", 0.8, 1.0),),
        # Half of the facts can do for some questions, never do better than all of them.
        "truncated": (Band("wins of the right text", 0.5, 1.0), Band("wins of the changed text", 0.0, 0.1)),
        # The same facts with others behind: whoever prefers that prefers length. The opposite is a matter of taste.
        "padded": (Band("wins of the changed text", 0.0, 0.2),),
    }
)
"""By probe, in the order of every table; shares of the questions that were answered in both orders."""
NEEDED = ("same", "random")
"""Probes that no judge is used without: one tells who answers without looking, the other who sees nothing."""


@dataclass(frozen=True, slots=True)
class Probe:
    """What a judge said of one probe.

    Attributes:
        name: one of ``BANDS``.
        questions: answered in both orders.
        missing: those that were not.
        a, b, ties: won by the text as it should be, by what was made of it, by neither; both orders collapsed.
        raw_ties: share of the single answers that say tie; None where there is none.
        asks: the bands in words.
        passed: whether every band holds.
        reason: why it did not, or "".
    """

    name: str
    questions: int
    missing: int
    a: int
    b: int
    ties: int
    raw_ties: float | None
    asks: str
    passed: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Examined:
    """A judge and its probes; ``reason`` is why it is not used, or ""."""

    judge: str
    family: str
    model: ModelKind
    probes: tuple[Probe, ...]
    reason: str

    @property
    def passed(self) -> bool:
        """Whether it may be used."""
        return not self.reason


def examined(verdicts: Iterable[PairVerdict]) -> tuple[Examined, ...]:
    """Every judge, in the order of their names."""
    by_judge: dict[str, list[PairVerdict]] = {}
    for verdict in verdicts:
        by_judge.setdefault(verdict.judge, []).append(verdict)
    return tuple(
        Examined(judge, said[0].family, said[0].model, tuple(_probes(said)), unfit(said))
        for judge, said in sorted(by_judge.items())
    )


def unfit(verdicts: Sequence[PairVerdict]) -> str:
    """Why a judge that said this is not used, or "".

    Args:
        verdicts: of one judge; only those on probes are read.
    """
    return "; ".join(f"{probe.name}: {probe.reason}" for probe in _probes(verdicts) if not probe.passed)


def _probes(verdicts: Sequence[PairVerdict]) -> Iterator[Probe]:
    """The probes that were asked, and those that are needed."""
    for name in BANDS:
        said = [one for one in verdicts if one.probe == name and not one.repetition]
        if said or name in NEEDED:
            yield _probe(name, said)


def _probe(name: str, verdicts: Sequence[PairVerdict]) -> Probe:
    votes = [Vote(one.task, one.judge, ORDERS[one.order], one.position) for one in verdicts]
    outcomes = [final.outcome for final in collapse(votes).values()]
    a, b, ties = (sum(one.winner == winner for one in outcomes) for winner in ("a", "b", "tie"))
    places = [vote.place for vote in votes if vote.place is not None]
    raw = places.count("tie") / len(places) if places else None
    n = a + b + ties
    reason = "no question was answered in both orders" if outcomes else "it was not asked"
    if n:
        shares: Mapping[Measure, float] = {
            "single answers that tie": raw or 0.0,
            "ties": ties / n,
            "wins of the right text": a / n,
            "wins of the changed text": b / n,
        }
        broken = [band for band in BANDS[name] if not band.low <= shares[band.measure] <= band.high]
        reason = ", ".join(f"{shares[band.measure]:.0%} {band.measure} ({band.asks})" for band in broken)
    if n and 2 * n < len(outcomes):
        reason = f"only {n} of {len(outcomes)} questions were answered in both orders"
    asks = ", ".join(f"{band.measure} {band.asks}" for band in BANDS[name])
    return Probe(name, n, len(outcomes) - n, a, b, ties, raw, asks, not reason, reason)
