from __future__ import annotations

import numpy as np
import pytest

from memassay.retrieval.neighbours import Neighbours


def unit(*rows: tuple[float, float]) -> np.ndarray:
    vectors = np.array(rows, dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


EAST, NORTH = (1, 0), (0, 1)


def test_a_window_is_the_mean_direction_within_the_document() -> None:
    lines = Neighbours(unit(EAST, NORTH, NORTH, EAST), [2, 0, 2], reach=1)
    line, window, document = lines.similarities(np.array([1, 0], dtype=np.float32))
    assert line.tolist() == [1, 0, 0, 1]
    assert window == pytest.approx([0.707107] * 4, abs=1e-6)
    assert document.tolist() == [1, 1, 1, 1]


def test_the_best_of_a_document_stays_in_it() -> None:
    lines = Neighbours(unit(EAST, NORTH, NORTH), [1, 2], reach=5)
    line, window, document = lines.similarities(np.array([1, 0], dtype=np.float32))
    assert document.tolist() == [1, 0, 0]
    assert window.tolist() == line.tolist() == [1, 0, 0]


@pytest.mark.parametrize("reach", [0, 1, 2, 7])
def test_windows_equal_their_definition(reach: int) -> None:
    draw = np.random.default_rng(3)
    counts = [1, 0, 6, 3]
    vectors = draw.normal(size=(10, 5)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    question = vectors[4]
    expected, start = [], 0
    for count in counts:
        for at in range(count):
            total = vectors[start + max(0, at - reach) : start + min(count, at + reach + 1)].sum(axis=0)
            expected.append(float(total @ question / np.linalg.norm(total)))
        start += count
    _, window, _ = Neighbours(vectors, counts, reach).similarities(question)
    assert window == pytest.approx(expected, abs=1e-5)


def test_zeros_and_nothing_are_similar_to_nothing() -> None:
    empty = Neighbours(np.zeros((0, 2), dtype=np.float32), [], reach=2)
    assert [len(found) for found in empty.similarities(np.ones(2, dtype=np.float32))] == [0, 0, 0]
    zeros = Neighbours(np.zeros((3, 2), dtype=np.float32), [3], reach=2)
    assert [found.tolist() for found in zeros.similarities(np.ones(2, dtype=np.float32))] == [[0, 0, 0]] * 3
