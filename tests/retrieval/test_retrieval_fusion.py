from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from memassay.retrieval.bm25 import best_first
from memassay.retrieval.fusion import FUSIONS, fuse


def nearest(similar: list[float], count: int) -> tuple[np.ndarray, np.ndarray]:
    values = np.array(similar, dtype=np.float32)
    ids = np.argsort(-values, kind="stable")[:count]
    return ids, values[ids]


def test_scores_are_shares_of_the_best_and_places_between_the_ends() -> None:
    lexical = np.array([4.0, 2.0, 0.0, 0.0, 0.0], dtype=np.float32)
    ids, similar = nearest([0.1, 0.3, 0.7, 0.5, 0.0], 4)
    order, scores = fuse(lexical, ids, similar, weight=0.4, fusion="scores")
    expected = [0.6 + 0.4 * 0, 0.6 * 0.5 + 0.4 / 3, 0.4 * 1, 0.4 * 2 / 3, 0]
    assert scores.tolist() == pytest.approx(expected, abs=1e-6)
    assert order == [0, 1, 2, 3]  # 4 was found by neither


def test_ranks_are_reciprocal() -> None:
    lexical = np.array([1.0, 9.0, 0.0], dtype=np.float32)
    ids, similar = nearest([0.1, 0.2, 0.9], 2)
    order, scores = fuse(lexical, ids, similar, weight=0.25, fusion="ranks")
    assert scores.tolist() == pytest.approx([0.75 * 11 / 12, 0.75 + 0.25 * 11 / 12, 0.25], abs=1e-6)
    assert order == [1, 0, 2]


lexical_scores = arrays.arrays(np.float32, st.integers(1, 30), elements=st.sampled_from([0.0, 0.0, 0.5, 1.0, 2.5]))


@given(lexical_scores, st.data(), st.sampled_from(FUSIONS), st.sampled_from([0, 0.3, 1]))
def test_any_two_rankings(lexical: np.ndarray, data: st.DataObject, fusion: str, weight: float) -> None:
    similar = data.draw(st.lists(st.sampled_from([-0.2, 0.0, 0.4]), min_size=len(lexical), max_size=len(lexical)))
    ids, near = nearest(similar, data.draw(st.integers(0, len(lexical))))
    order, scores = fuse(lexical, ids, near, weight=weight, fusion=fusion)  # type: ignore[arg-type]
    assert sorted(order) == sorted(set(best_first(lexical)) | set(ids.tolist()))
    assert np.all((scores >= 0) & (scores <= 1 + 1e-6)) and scores.shape == lexical.shape
    assert order == sorted(order, key=lambda n: (-scores[n], n))
    if weight == 0 and fusion == "scores":
        assert [n for n in order if lexical[n] > 0] == best_first(lexical)


def test_no_ranking_at_all() -> None:
    nothing = np.zeros(3, dtype=np.float32)
    for fusion in FUSIONS:
        order, scores = fuse(nothing, np.zeros(0, np.int64), nothing[:0], weight=0.5, fusion=fusion)  # type: ignore[arg-type]
        assert order == [] and not scores.any()


def test_equal_similarities_all_count_in_full() -> None:
    ids, similar = nearest([0.5, 0.5, 0.5], 2)
    order, scores = fuse(np.zeros(3, dtype=np.float32), ids, similar, weight=0.4, fusion="scores")
    assert order == [0, 1] and scores.tolist() == pytest.approx([0.4, 0.4, 0])
