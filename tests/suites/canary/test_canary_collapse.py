"""From places to outcomes: mirror symmetry, the reasons of ties, judges that are biased or noisy."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import printed_elsewhere
from memassay.stats.agreement import positions
from memassay.suites.canary.collapse import (
    ORDERS,
    TIE_REASONS,
    Collapsed,
    Order,
    Place,
    ScriptedJudge,
    Vote,
    collapse,
    of_judges,
    of_orders,
    sign_of,
    winner_of,
)

PLACES: tuple[Place, ...] = ("first", "second", "tie")
MERITS = {f"q{number}": (number % 5 / 4, number % 7 / 6) for number in range(60)}
OTHER: dict[Order, Order] = {"a_first": "b_first", "b_first": "a_first"}


def outcomes(*judges: ScriptedJudge) -> list[Collapsed]:
    votes = [vote for judge in judges for vote in judge.votes(MERITS)]
    return [final.outcome for final in collapse(votes).values()]


@pytest.mark.parametrize(
    ("place", "order", "winner"),
    [
        ("first", "a_first", "a"), ("second", "a_first", "b"), ("first", "b_first", "b"), ("second", "b_first", "a"),
        ("tie", "a_first", "tie"), ("tie", "b_first", "tie"),
    ],
)  # fmt: skip
def test_a_place_is_mapped_by_the_order(place: Place, order: Order, winner: str) -> None:
    assert winner_of(place, order) == winner


@pytest.mark.parametrize(
    ("a_first", "b_first", "winner", "reason"),
    [
        ("first", "second", "a", None), ("second", "first", "b", None), ("tie", "tie", "tie", "both_said_tie"),
        ("first", "first", "tie", "order_flip"), ("second", "second", "tie", "order_flip"),
        ("first", "tie", "tie", "one_sided"), ("tie", "first", "tie", "one_sided"), (None, "second", None, None),
    ],
)  # fmt: skip
def test_two_orders_make_one_outcome(a_first: Place, b_first: Place, winner: str, reason: str) -> None:
    found = of_orders(a_first, b_first)
    assert (found.winner, found.reason) == (winner, reason)


def test_judges_must_all_prefer_the_same() -> None:
    a, b = of_orders("first", "second"), of_orders("second", "first")
    said, flip = of_orders("tie", "tie"), of_orders("first", "first")
    half = of_orders("first", "tie")
    assert of_judges([a, a]) == Collapsed("a")
    assert of_judges([a, b]) == of_judges([b, said, a]) == Collapsed("tie", "judge_conflict")
    assert of_judges([a, said]) == of_judges([flip, b]) == Collapsed("tie", "one_sided")
    assert of_judges([said, said]) == Collapsed("tie", "both_said_tie")
    assert of_judges([said, flip]) == of_judges([half, flip]) == Collapsed("tie", "order_flip")
    assert of_judges([half, said]) == Collapsed("tie", "one_sided")
    assert of_judges([a]) == a
    assert of_judges([a, Collapsed(None)]) == of_judges([]) == Collapsed(None)


def test_every_pattern_of_votes_has_a_winner_or_a_reason() -> None:
    seen = Counter(of_judges([of_orders(*votes[:2]), of_orders(*votes[2:])]) for votes in product(PLACES, repeat=4))
    assert all((found.winner == "tie") == (found.reason is not None) for found in seen)
    assert {found.reason for found in seen} == {None, *TIE_REASONS}
    assert seen[Collapsed("a")] == seen[Collapsed("b")] == 1


@given(
    st.lists(
        st.tuples(
            st.integers(0, 4), st.sampled_from(("j1", "j2")), st.sampled_from(ORDERS), st.sampled_from((*PLACES, None))
        ),
        unique_by=lambda vote: vote[:3],
    )
)
def test_swapping_a_and_b_everywhere_mirrors_everything(drawn: list[tuple[int, str, Order, Place | None]]) -> None:
    votes = [Vote(f"q{number}", judge, order, place) for number, judge, order, place in drawn]
    swapped = [Vote(vote.question, vote.judge, OTHER[vote.order], vote.place) for vote in votes]
    one, other = collapse(votes), collapse(swapped)
    assert list(one) == list(other)
    for question, final in one.items():
        mirrored = other[question].outcome
        assert final.outcome.reason == mirrored.reason
        sign, back = sign_of(final.outcome), sign_of(mirrored)
        assert (sign is None and back is None) or (sign is not None and back == -sign)


def test_always_first_gives_ties_alone_and_no_consistency() -> None:
    judge = ScriptedJudge("first", bias=math.inf)
    assert set(outcomes(judge)) == {Collapsed("tie", "order_flip")}
    one_way, other_way = ([judge.place(q, a, b, order) for q, (a, b) in MERITS.items()] for order in ORDERS)
    found = positions(one_way, other_way, list(MERITS))
    assert found.consistency.value == 0
    assert found.first_twice == len(MERITS)


def test_always_a_gives_a_alone_and_full_consistency() -> None:
    judge = ScriptedJudge("a", favours="a")
    assert set(outcomes(judge)) == {Collapsed("a")}
    assert set(outcomes(judge, ScriptedJudge("b", favours="b"))) == {Collapsed("tie", "judge_conflict")}
    one_way, other_way = ([judge.place(q, a, b, order) for q, (a, b) in MERITS.items()] for order in ORDERS)
    assert positions(one_way, other_way, list(MERITS)).consistency.value == 1


def test_a_fair_judge_without_noise_says_what_the_merits_say() -> None:
    found = outcomes(ScriptedJudge("fair", band=0.01), ScriptedJudge("too", band=0.05))
    assert [sign_of(one) for one in found] == [(a > b) - (a < b) for a, b in MERITS.values()]


def test_bias_and_noise_make_ties() -> None:
    def ties(**given: float) -> int:
        return sum(one.winner == "tie" for one in outcomes(*(ScriptedJudge(name, **given) for name in ("j1", "j2"))))

    assert ties() < ties(bias=0.5) < ties(bias=1.5) == len(MERITS)
    assert ties() < ties(noise=0.4)


def test_noise_is_that_of_the_seed_in_every_process(tmp_path: object) -> None:
    judges = [ScriptedJudge("j", noise=0.5, seed=seed) for seed in (1, 1, 2)]
    first, again, other = ([vote.place for vote in judge.votes(MERITS)] for judge in judges)
    assert first == again != other
    program = (
        "from memassay.suites.canary.collapse import ScriptedJudge\n"
        "j = ScriptedJudge('j', noise=.5, seed=1)\n"
        "print([v.place for v in j.votes({f'q{n}': (n % 5 / 4, n % 3 / 2) for n in range(40)})])"
    )
    assert len(printed_elsewhere(program, tmp_path)) == 1  # type: ignore[arg-type]


def test_a_missing_vote_drops_the_question_and_a_second_one_is_refused() -> None:
    votes = [Vote("q1", "j1", "a_first", "first"), Vote("q1", "j1", "b_first", "second")]
    assert collapse(votes)["q1"].outcome == Collapsed("a")
    assert collapse(votes, ["j1", "j2"])["q1"].outcome == Collapsed(None)
    assert sign_of(collapse(votes[:1])["q1"].outcome) is None
    with pytest.raises(ValueError, match="twice"):
        collapse([*votes, votes[0]])
