"""Ranking by words, links and what a passage adds, on small worlds with known weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memassay.knowledge.ranking import Weights, rank, top


class World:
    """Passages as ``{term: weight}``, links as pairs."""

    def __init__(self, passages: Sequence[dict[str, float]], links: Sequence[tuple[int, int]] = ()) -> None:
        self.passages = passages
        self.near: list[list[int]] = [[] for _ in passages]
        for a, b in sorted({*links, *((b, a) for a, b in links)}):
            self.near[a].append(b)

    def scores(self, terms: Sequence[str]) -> np.ndarray:
        return self.weights(terms, np.arange(len(self.passages))).sum(axis=0)

    def weights(self, terms: Sequence[str], passages: np.ndarray) -> np.ndarray:
        rows = [[self.passages[p].get(term, 0.0) for p in passages.tolist()] for term in terms]
        return np.array(rows, dtype=float).reshape(len(terms), len(passages))

    def idf(self, terms: Sequence[str]) -> np.ndarray:
        return np.array([max((p.get(t, 0.0) for p in self.passages), default=0.0) for t in terms])

    def neighbours(self, passages: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        pairs = [(at, near) for at, p in enumerate(passages.tolist()) for near in self.near[p]]
        return (
            np.array([a for a, _ in pairs], dtype=np.int64),
            np.array([b for _, b in pairs], dtype=np.int64),
        )


NOBODY = np.empty(0, dtype=np.int64)


def order(world: World, terms: str, weights: Weights, named: np.ndarray = NOBODY) -> list[int]:
    return rank(world, terms.split(), named, weights).passages.tolist()


def test_without_links_and_novelty_the_order_is_that_of_the_scores() -> None:
    world = World([{"a": 1.0}, {"a": 2.0}, {}, {"a": 1.0, "b": 3.0}])
    assert order(world, "a b", Weights(novelty=0)) == [3, 1, 0]


def test_a_linked_page_that_covers_the_other_words_comes_before_better_matches() -> None:
    # 0 has the first hop, 1 the second; 2 and 3 match more of the first.
    world = World([{"a": 5.0}, {"b": 2.0}, {"a": 4.5}, {"a": 4.0}], links=[(0, 1)])
    assert order(world, "a b", Weights(novelty=0)) == [0, 1, 2, 3]
    assert order(world, "a b", Weights(novelty=0, depth=0)) == [0, 2, 3, 1]


@pytest.mark.parametrize("link", [(0, 1), (1, 0)])
def test_links_are_followed_in_both_directions_and_the_seed_is_named(link: tuple[int, int]) -> None:
    world = World([{"a": 5.0}, {}, {"a": 1.0}], links=[link])
    found = rank(world, ["a"], NOBODY, Weights(novelty=0))
    assert found.passages.tolist() == [0, 1, 2]
    assert found.via.tolist() == [-1, 0, -1]
    assert found.scores.tolist() == pytest.approx([5.0, 4.0, 1.0])


def test_depth_counts_less_with_every_link() -> None:
    world = World([{"a": 10.0}, {}, {}], links=[(0, 1), (1, 2)])
    one = rank(world, ["a"], NOBODY, Weights(depth=1, novelty=0))
    two = rank(world, ["a"], NOBODY, Weights(depth=2, novelty=0))
    assert one.passages.tolist() == [0, 1]
    assert two.passages.tolist() == [0, 1, 2]
    assert two.scores.tolist() == pytest.approx([10.0, 8.0, 6.4])


def test_a_named_page_gains_as_much_as_the_rarest_word() -> None:
    world = World([{"a": 4.0}, {"a": 2.0}])
    assert order(world, "a", Weights(anchor=0.4), np.array([1])) == [0, 1]
    assert order(world, "a", Weights(anchor=0.6), np.array([1])) == [1, 0]


def test_what_earlier_passages_hold_counts_less() -> None:
    world = World([{"a": 5.0}, {"a": 4.9}, {"a": 4.8}, {"b": 4.0}])
    assert order(world, "a b", Weights(novelty=0)) == [0, 1, 2, 3]
    assert order(world, "a b", Weights(novelty=0.8)) == [0, 3, 1, 2]


def test_a_word_that_stands_twice_in_the_question_counts_once() -> None:
    world = World([{"a": 2.0}, {"b": 3.0}])
    assert order(world, "a a b", Weights()) == order(world, "a b", Weights())


def test_nothing_matches_and_an_empty_world() -> None:
    assert order(World([{"a": 1.0}]), "z", Weights()) == []
    assert order(World([]), "a", Weights()) == []
    assert order(World([{"a": 1.0}]), "", Weights()) == []


def test_limit() -> None:
    world = World([{"a": float(i)} for i in range(1, 300)])
    assert len(rank(world, ["a"], NOBODY, Weights(), limit=10).passages) == 10
    assert len(rank(world, ["a"], NOBODY, Weights(), limit=1000).passages) == 299


@given(st.lists(st.integers(0, 5), max_size=60), st.integers(0, 70))
def test_top_is_a_stable_sort(values: list[int], count: int) -> None:
    scores = np.array(values, dtype=float)
    expected = [i for i in sorted(range(len(values)), key=lambda i: (-values[i], i)) if values[i] > 0][:count]
    assert top(scores, count).tolist() == expected


worlds = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.lists(st.dictionaries(st.sampled_from("abc"), st.floats(0.1, 9), max_size=3), min_size=n, max_size=n),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=20),
    )
)


@given(worlds, st.sampled_from(["a", "a b", "c b a"]), st.integers(0, 3))
def test_every_match_is_in_the_order_once_and_partners_are_real(
    world: tuple[list[dict[str, float]], list[tuple[int, int]]], terms: str, depth: int
) -> None:
    passages, links = world
    index = World(passages, links)
    found = rank(index, terms.split(), NOBODY, Weights(depth=depth))
    ids = found.passages.tolist()
    assert len(ids) == len(set(ids))
    assert {i for i, p in enumerate(passages) if any(t in p for t in terms.split())} <= set(ids)
    for passage, via in zip(ids, found.via.tolist(), strict=True):
        assert via != passage
        if not any(t in passages[passage] for t in terms.split()):
            assert via >= 0
