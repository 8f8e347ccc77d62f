from __future__ import annotations

import math
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memassay.retrieval.bm25 import Bm25Index, best_first

TERMS = st.lists(st.sampled_from(["a", "b", "c", "d", "ünï", "東京", ""]), max_size=12)
CORPORA = st.lists(TERMS, max_size=10)


def brute_force(passages: list[list[str]], query: list[str], k1: float, b: float) -> list[float]:
    """The formula of the class, term by term, in Python's own floats."""
    mean = sum(map(len, passages)) / len(passages) if passages else 0.0
    found = Counter(term for terms in passages for term in set(terms))
    scores = []
    for terms in passages:
        counts, score = Counter(terms), 0.0
        for term in query:
            if counts[term]:
                idf = math.log(1 + (len(passages) - found[term] + 0.5) / (found[term] + 0.5))
                length = k1 * (1 - b + b * len(terms) / mean)
                score += idf * counts[term] / (counts[term] + length)
        scores.append(score)
    return scores


@given(CORPORA, TERMS, st.sampled_from([0.0, 0.9, 1.5]), st.sampled_from([0.0, 0.4, 0.75, 1.0]))
def test_scores_equal_brute_force(passages: list[list[str]], query: list[str], k1: float, b: float) -> None:
    index = Bm25Index.build(passages, k1=k1, b=b)
    assert index.scores(query) == pytest.approx(brute_force(passages, query, k1, b), rel=1e-5, abs=1e-6)


@given(CORPORA, TERMS)
def test_a_loaded_index_scores_the_same(passages: list[list[str]], query: list[str]) -> None:
    index = Bm25Index.build(passages)
    with tempfile.TemporaryDirectory() as folder:
        index.save(Path(folder))
        again = Bm25Index.load(Path(folder))
    assert again.size == len(passages)
    assert np.array_equal(again.scores(query), index.scores(query))


def test_no_passages_and_no_terms() -> None:
    assert Bm25Index.build([]).scores(["a"]).tolist() == []
    assert Bm25Index.build([[], []]).scores(["a"]).tolist() == [0, 0]
    index = Bm25Index.build([["a"], ["b"]])
    assert index.scores([]).tolist() == [0, 0]
    assert index.scores(["unknown"]).tolist() == [0, 0]


def test_best_first_breaks_ties_by_place_and_leaves_zeros_out() -> None:
    scores = np.array([0, 2, 1, 2, 0, 1, 3], dtype=np.float32)
    assert best_first(scores) == [6, 1, 3, 2, 5]
    same = Bm25Index.build([["a", "b"]] * 50 + [["c"]]).scores(["a"])
    assert best_first(same) == list(range(50))
    many = np.random.default_rng(7).integers(0, 4, 5000).astype(np.float32)
    assert best_first(many) == sorted(np.flatnonzero(many).tolist(), key=lambda at: (-many[at], at))
