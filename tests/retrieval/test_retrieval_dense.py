from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import child_environment
from memassay.core.errors import MissingExtra
from memassay.retrieval.dense import DenseIndex
from memassay.retrieval.embedders import Vectors

has_voyager = pytest.mark.skipif(importlib.util.find_spec("voyager") is None, reason="voyager is not installed")


def rows(size: int, dimension: int = 48, seed: int = 0) -> Vectors:
    """Vectors of length 1 in clusters, as texts are: random ones would have no neighbours worth the name."""
    draw = np.random.default_rng(seed)
    centres = draw.standard_normal((max(1, size // 20), dimension))
    made = centres[draw.integers(0, len(centres), size)] + 0.6 * draw.standard_normal((size, dimension))
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


@given(st.integers(0, 60), st.integers(0, 70), st.integers(1, 4), st.integers(0, 5))
def test_exact_search_is_a_sort_with_ties_by_id(size: int, count: int, kinds: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    vectors = rows(kinds, 8)[draw.integers(0, kinds, size)].reshape(size, 8)  # few kinds, so many ties
    vector = rows(1, 8, seed=9)[0]
    similar = np.einsum("ij,j->i", vectors, vector)
    expected = sorted(range(size), key=lambda n: (-similar[n], n))[:count]
    ids, found = DenseIndex.build(vectors).nearest(vector, count)
    assert ids.tolist() == expected
    assert found.tolist() == similar[expected].tolist()


def test_a_similarity_does_not_depend_on_the_other_rows() -> None:
    vectors, vector = rows(500), rows(1, seed=5)[0]
    ids, similar = DenseIndex.build(vectors).nearest(vector, 500)
    for at in range(0, 500, 50):
        alone = DenseIndex.build(vectors[ids[at] : ids[at] + 1]).nearest(vector, 1)[1]
        assert alone[0] == similar[at]


def test_the_number_of_threads_changes_no_bit(tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", rows(3000, 384))
    program = (
        "import sys, hashlib, numpy as np; from memassay.retrieval.dense import DenseIndex; "
        "v = np.load(sys.argv[1]); i, s = DenseIndex.build(v).nearest(v[7], 3000); "
        "print(hashlib.sha256(i.tobytes() + s.tobytes()).hexdigest())"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "rows.npy")],
            capture_output=True,
            check=True,
            env=child_environment(tmp_path, OPENBLAS_NUM_THREADS=threads, PYTHONHASHSEED=threads),
        ).stdout
        for threads in ("1", "2")
    }
    assert len(said) == 1


@has_voyager
def test_recall_of_approximate_search() -> None:
    vectors = rows(6000)
    exact, graph = DenseIndex.build(vectors), DenseIndex.build(vectors, approximate=True)
    shares = []
    for vector in rows(40, seed=1):
        right, similar = exact.nearest(vector, 200)
        ids, found = graph.nearest(vector, 200)
        assert len(set(ids.tolist())) == 200 and found.tolist() == sorted(found.tolist(), reverse=True)
        known = dict(zip(right.tolist(), similar.tolist(), strict=True))
        assert all(known[n] == s for n, s in zip(ids.tolist(), found.tolist(), strict=True) if n in known)
        shares.append(len(known.keys() & set(ids.tolist())) / 200)
    assert np.mean(shares) > 0.98
    assert min(shares) > 0.9


@has_voyager
def test_a_graph_is_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", rows(800))
    program = (
        "import sys; from pathlib import Path; import numpy as np; from memassay.retrieval.dense import DenseIndex; "
        "DenseIndex.build(np.load(sys.argv[1]), approximate=True).save(Path(sys.argv[2]))"
    )
    for name in ("1", "2"):
        subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "rows.npy"), str(tmp_path / name)],
            check=True,
            env=child_environment(tmp_path, OMP_NUM_THREADS=name, PYTHONHASHSEED=name),
        )
    one, two = (
        {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (tmp_path / name).iterdir()}
        for name in "12"
    )
    assert one == two and len(one) == 2


@has_voyager
def test_hundreds_of_equal_vectors_are_found_exactly() -> None:
    vectors = np.repeat(rows(3), 1000, axis=0)
    vector = vectors[0]
    ids, similar = DenseIndex.build(vectors, approximate=True).nearest(vector, 200)
    assert len(set(ids.tolist())) == 200
    assert np.all(similar > 0.999)


@has_voyager
@pytest.mark.parametrize("size", [0, 1, 5])
def test_a_small_graph_gives_what_there_is(size: int) -> None:
    vectors, vector = rows(5)[:size], rows(1, seed=2)[0]
    ids, _ = DenseIndex.build(vectors, approximate=True).nearest(vector, 9)
    assert ids.tolist() == DenseIndex.build(vectors).nearest(vector, 9)[0].tolist()
    assert len(ids) == size


@has_voyager
def test_eight_threads_get_what_one_gets() -> None:
    index = DenseIndex.build(rows(3000), approximate=True)
    asked = rows(64, seed=3)
    expected = [index.nearest(vector, 50)[0].tolist() for vector in asked]
    with ThreadPoolExecutor(8) as pool:
        assert [found[0].tolist() for found in pool.map(lambda vector: index.nearest(vector, 50), asked)] == expected


@pytest.mark.parametrize("approximate", [False, pytest.param(True, marks=has_voyager)])
def test_saved_and_loaded(tmp_path: Path, approximate: bool) -> None:
    index = DenseIndex.build(rows(700), approximate=approximate)
    files = index.save(tmp_path / "a")
    assert sorted(files) == sorted((tmp_path / "a").iterdir()) and len(files) == 1 + approximate
    (tmp_path / "a").rename(tmp_path / "b")
    loaded = DenseIndex.load(tmp_path / "b")
    for vector in rows(5, seed=4):
        for one, two in zip(index.nearest(vector, 30), loaded.nearest(vector, 30), strict=True):
            assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize("name", ["vectors.npy", pytest.param("graph.voyager", marks=has_voyager)])
def test_damaged_files(tmp_path: Path, name: str) -> None:
    for file in DenseIndex.build(rows(700), approximate=name != "vectors.npy").save(tmp_path):
        whole = file.read_bytes()
        if file.name == name:
            for broken in (whole[:100], whole[: len(whole) // 2], b"\xff" * len(whole), b""):
                file.write_bytes(broken)
                with pytest.raises((OSError, ValueError, EOFError)):
                    DenseIndex.load(tmp_path)


def test_without_voyager_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "voyager", None)
    DenseIndex.build(rows(3))
    with pytest.raises(MissingExtra, match=r"^voyager is not installed; run: pip install 'memassay\[hybrid\]'\.$"):
        DenseIndex.build(rows(3), approximate=True)


def test_the_module_imports_no_engine(tmp_path: Path) -> None:
    program = "import memassay.retrieval.dense, sys; sys.exit('voyager' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], env=child_environment(tmp_path)).returncode == os.EX_OK
