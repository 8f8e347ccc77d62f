from __future__ import annotations

import gzip
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memassay.core.errors import DataError, EnvironmentProblem
from memassay.runs.blobs import Blobs


@settings(deadline=None, max_examples=50)
@given(texts=st.lists(st.text(max_size=50) | st.just("\ud800 lone"), min_size=1, max_size=5))
def test_every_text_comes_back(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    blobs = Blobs(tmp_path_factory.mktemp("blobs"))
    digests = [blobs.put(text) for text in texts]
    assert [blobs.get(digest) for digest in digests] == texts
    assert len(set(digests)) == len(set(texts))
    assert len([p for p in blobs.folder.rglob("*") if p.is_file()]) == len(set(texts))


def test_equal_bytes_whoever_writes(tmp_path: Path) -> None:
    one, two = Blobs(tmp_path / "1"), Blobs(tmp_path / "2")
    assert one.put("words") == two.put("words")
    paths = [next(p for p in b.folder.rglob("*.gz")) for b in (one, two)]
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_many_threads_may_put_one_text(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(blobs.put("the same" * 5000))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 16
    assert len(set(found)) == 1
    assert blobs.get(found[0]) == "the same" * 5000
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.parametrize("damage", ["gone", "empty", "cut", "noise", "other"])
def test_a_damaged_blob_is_one_sentence(tmp_path: Path, damage: str) -> None:
    blobs = Blobs(tmp_path / "dossiers")
    digest = blobs.put("some words " * 100)
    path = blobs.path(digest)
    match damage:
        case "gone":
            path.unlink()
        case "empty":
            path.write_bytes(b"")
        case "cut":
            path.write_bytes(path.read_bytes()[:-9])
        case "noise":
            path.write_bytes(b"noise" * 20)
        case "other":
            path.write_bytes(gzip.compress(b"other words"))
    with pytest.raises(DataError, match=digest[:12]) as raised:
        blobs.get(digest)
    assert "\n" not in str(raised.value)
    assert "dossiers" in str(raised.value)


def test_a_damaged_stream_in_the_middle_is_one_sentence(tmp_path: Path) -> None:
    """Every single flipped byte is noticed, and as a DataError: gzip and zlib raise errors of their own."""
    blobs = Blobs(tmp_path / "dossiers")
    text = "".join(f"turn {n} says something new. " for n in range(60))
    digest = blobs.put(text)
    path = blobs.path(digest)
    whole = path.read_bytes()
    for at in range(0, len(whole), 3):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        try:
            assert blobs.get(digest) == text  # a byte of gzip's header that means nothing
        except DataError:
            continue


def test_a_blob_cannot_be_put_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "dossiers").write_text("a file")
    with pytest.raises(EnvironmentProblem):
        Blobs(tmp_path / "dossiers").put("x")
