"""From what judges said to one outcome per question, with the reason of every tie.

A judge names a place. Which memory stood there is looked up afterwards, once, here: a judge that is asked in both
orders and mapped wrongly turns every win into a tie, or into a loss.

A judge prefers a memory if it does so in both orders; a question is won if all judges prefer the same memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from memassay.stats.places import Place, place

__all__ = [
    "ORDERS", "TIE_REASONS", "Collapsed", "Final", "Order", "Place", "ScriptedJudge", "TieReason", "Vote", "Winner",
    "collapse", "of_judges", "of_orders", "sign_of", "winner_of",
]  # fmt: skip

Order = Literal["a_first", "b_first"]
Winner = Literal["a", "b", "tie"]
TieReason = Literal["both_said_tie", "order_flip", "judge_conflict", "one_sided"]

ORDERS: tuple[Order, ...] = get_args(Order)
TIE_REASONS: tuple[TieReason, ...] = get_args(TieReason)


@dataclass(frozen=True, slots=True)
class Vote:
    """What one judge said of one question in one order; ``place`` is None where the reply could not be read."""

    question: str
    judge: str
    order: Order
    place: Place | None


@dataclass(frozen=True, slots=True)
class Collapsed:
    """One outcome.

    Attributes:
        winner: None where a vote is missing: no tie, but a dropped question.
        reason: of a tie: ``both_said_tie``; ``order_flip`` (the same place in both orders); ``one_sided`` (one order,
            or one judge, decided and the other tied); ``judge_conflict`` (two judges prefer different memories).
    """

    winner: Winner | None
    reason: TieReason | None = None


@dataclass(frozen=True, slots=True)
class Final:
    """The outcome of a question, and that of each judge by name."""

    outcome: Collapsed
    judges: Mapping[str, Collapsed]


def winner_of(place: Place, order: Order) -> Winner:
    """Which memory stood in the place."""
    if place == "tie":
        return "tie"
    return "a" if (place == "first") == (order == "a_first") else "b"


def of_orders(a_first: Place | None, b_first: Place | None) -> Collapsed:
    """One judge's outcome from the places that it named in the two orders."""
    if a_first is None or b_first is None:
        return Collapsed(None)
    one, other = winner_of(a_first, "a_first"), winner_of(b_first, "b_first")
    if one == other:
        return Collapsed(one, "both_said_tie" if one == "tie" else None)
    return Collapsed("tie", "one_sided" if "tie" in (one, other) else "order_flip")


def of_judges(outcomes: Sequence[Collapsed]) -> Collapsed:
    """The outcome that all judges share, else a tie.

    Where every judge tied, the reason is a flip if any judge flipped, then a half decision, then that all said so.
    """
    winners = {outcome.winner for outcome in outcomes}
    if not outcomes or None in winners:
        return Collapsed(None)
    if winners == {"tie"}:
        reasons = {outcome.reason for outcome in outcomes}
        order: tuple[TieReason, ...] = ("order_flip", "one_sided", "both_said_tie")
        return Collapsed("tie", next(reason for reason in order if reason in reasons))
    if len(winners) == 1:
        return outcomes[0]
    return Collapsed("tie", "judge_conflict" if {"a", "b"} <= winners else "one_sided")


def collapse(votes: Iterable[Vote], judges: Sequence[str] = ()) -> dict[str, Final]:
    """The outcome of every question, in the order in which they first appear.

    Args:
        votes: at most one per question, judge and order.
        judges: who must have voted; without it everybody who voted anywhere.

    Raises:
        ValueError: two votes for one question, judge and order.
    """
    listed = list(votes)
    said: dict[tuple[str, str, Order], Place | None] = {}
    for vote in listed:
        key = (vote.question, vote.judge, vote.order)
        if key in said:
            raise ValueError(f"{vote.judge} voted twice on {vote.question} in the order {vote.order}.")
        said[key] = vote.place
    names = tuple(judges) or tuple(sorted({vote.judge for vote in listed}))
    finals: dict[str, Final] = {}
    for question in dict.fromkeys(vote.question for vote in listed):
        each = {
            name: of_orders(said.get((question, name, "a_first")), said.get((question, name, "b_first")))
            for name in names
        }
        finals[question] = Final(of_judges(list(each.values())), each)
    return finals


def sign_of(outcome: Collapsed) -> int | None:
    """+1 where a won, -1 where b did, 0 for a tie, None for a dropped question."""
    return None if outcome.winner is None else {"a": 1, "b": -1, "tie": 0}[outcome.winner]


@dataclass(frozen=True, slots=True)
class ScriptedJudge:
    """A judge without a model, for tests, simulations and dry runs.

    It sees the two merits, adds ``bias`` to what stands first and noise to both, and says tie where they are closer
    than ``band``. The noise of a question and an order is the same in every process.

    Attributes:
        bias: added to the first place; infinity always says ``first``, minus infinity ``second``.
        noise: standard deviation of what is added to each merit.
        band: half-width of a tie.
        favours: a memory that it prefers wherever it stands, whatever the merits.
    """

    name: str
    bias: float = 0.0
    noise: float = 0.0
    band: float = 0.25
    favours: Literal["", "a", "b"] = ""
    seed: int = 0

    def place(self, question: str, merit_a: float, merit_b: float, order: Order) -> Place:
        """Where the better one stands."""
        if self.favours:
            return "first" if (self.favours == "a") == (order == "a_first") else "second"
        first, second = (merit_a, merit_b) if order == "a_first" else (merit_b, merit_a)
        draw = [self.name, self.seed, question, order]
        return place(first, second, bias=self.bias, noise=self.noise, band=self.band, draw=draw)

    def votes(self, merits: Mapping[str, tuple[float, float]]) -> list[Vote]:
        """Both orders of every question.

        Args:
            merits: by question, those of a and of b.
        """
        return [
            Vote(question, self.name, order, self.place(question, a, b, order))
            for question, (a, b) in merits.items()
            for order in ORDERS
        ]
