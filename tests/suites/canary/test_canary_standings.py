"""From cells to pairs: averaging, missing cells, mirror symmetry, why there are ties."""

from __future__ import annotations

import random
from typing import Any

from canary_outcomes import BUDGET, cell, run
from hypothesis import given
from hypothesis import strategies as st

from memassay.core.contracts import Outcome
from memassay.suites.canary.families import CURRENT, FALSE_PREMISE, FAMILIES, PUBLISHED
from memassay.suites.canary.standings import LABELS, Standings, standings

LABELLED = st.lists(
    st.tuples(st.sampled_from(FAMILIES), *[st.sampled_from([label for label in LABELS if label != "mixed"])] * 2),
    min_size=1,
    max_size=40,
)


def two(drawn: list[tuple[str, str, str]]) -> Standings:
    rows = [(number, *one) for number, one in enumerate(drawn)]
    cells = [cell("a", number, family, first) for number, family, first, _ in rows]
    cells += [cell("b", number, family, second) for number, family, _, second in rows]
    return standings(cells, BUDGET)


@given(LABELLED)
def test_a_pair_mirrors_exactly_when_its_memories_swap(drawn: list[tuple[str, str, str]]) -> None:
    found = two(drawn)
    one, other = found.pair("a", "b", PUBLISHED), found.pair("b", "a", PUBLISHED)
    assert other == one.swapped
    assert found.ties("a", "b") == found.ties("b", "a")
    assert other.counts.tolist() == one.counts[:, [1, 0, 2]].tolist()
    assert (other.each @ other.outcomes) == -(one.each @ one.outcomes)


@given(LABELLED)
def test_every_tie_has_one_reason(drawn: list[tuple[str, str, str]]) -> None:
    found = two(drawn)
    assert sum(found.ties("a", "b").values()) == found.pair("a", "b", PUBLISHED).counts[:, 2].sum()
    assert set(found.ties("a", "a")) <= {f"both_{label}" for label in LABELS}


def test_a_pair_is_the_sign_of_the_difference_of_outcomes() -> None:
    labels = [("correct", "partial"), ("hallucinated", "abstained"), ("incorrect", "failed"), ("partial", "partial")]
    found = two([(CURRENT, *pair) for pair in labels])
    pair = found.pair("a", "b", PUBLISHED)
    assert [one.outcome for one in pair.questions] == [1, -1, 0, 0]
    assert [one.fabricated for one in pair.questions] == [(False, False), (True, False), (False, False), (False, False)]
    assert found.ties("a", "b") == {"both_partial": 1, "equal_outcome": 1}


def test_an_abstention_wins_where_the_premise_is_false() -> None:
    pair = two([(FALSE_PREMISE, "abstained", "incorrect"), (FALSE_PREMISE, "failed", "abstained")])
    assert [one.outcome for one in pair.pair("a", "b", PUBLISHED).questions] == [1, -1]


def test_repetitions_and_builds_are_averaged_inside_a_question() -> None:
    cells = [
        cell("a", 1, CURRENT, label, build=build, number=number)
        for build, number, label in [(0, 0, "correct"), (0, 1, "incorrect"), (1, 0, "hallucinated")]
    ]
    found = standings([*cells, cell("b", 1, CURRENT, "undetermined")], BUDGET)
    standing = found.of("a")[0]
    assert (standing.outcome, standing.label, standing.fabricated, standing.unchecked) == (-0.25, "mixed", True, False)
    assert standing.covered == 0.25
    assert found.of("b")[0].unchecked
    same = standings([cell("a", 1, CURRENT, "correct", number=number) for number in range(3)], BUDGET)
    assert same.of("a")[0].label == "correct"


def test_a_question_that_one_memory_did_not_finish_is_left_out_for_all() -> None:
    cells = run(2, a="correct", b="incorrect", c="failed")
    lost = next(at for at, row in enumerate(cells) if row.arm == "b")
    cells[lost] = cell("b", 0, CURRENT, None)
    found = standings([row for row in cells if (row.arm, row.task.id) != ("a", "link_graph-001")], BUDGET)
    assert found.left_out == {"current_canonical-000": ("b",), "link_graph-001": ("a",)}
    assert len(found.questions) == 14
    assert {len(found.by[name]) for name in "abc"} == {14}
    assert [standing.label for standing in found.of("c")] == ["failed"] * 14


def test_a_stale_fact_is_noted() -> None:
    found = standings([cell("a", 1, CURRENT, "correct", stale=2), cell("a", 2, CURRENT, "correct")], BUDGET)
    assert [standing.stale for standing in found.of("a")] == [True, False]


def test_the_order_of_the_cells_of_a_memory_does_not_count() -> None:
    cells: list[Outcome] = run(3, a="correct", b="partial")
    mixed: list[Any] = sorted(cells, key=lambda row: row.arm)
    random.Random(1).shuffle(cells)
    one, other = standings(mixed, BUDGET), standings(sorted(cells, key=lambda row: (row.arm, row.task.id)), BUDGET)
    assert {asked.id for asked in one.questions} == {asked.id for asked in other.questions}
    assert [asked.family for asked in one.questions] == [family for family in FAMILIES for _ in range(3)]
