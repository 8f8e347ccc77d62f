from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from kit import child_environment
from memassay.core.errors import EnvironmentProblem
from memassay.retrieval import vectors as subject
from memassay.retrieval.embedders import HashedWords, Vectors
from memassay.retrieval.vectors import FILE, SealedCache, VectorCache, embed_all, key_of


class Counted(HashedWords):
    """Remembers what it was asked to embed."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def embed(self, texts: Sequence[str], *, question: bool = False) -> Vectors:
        self.asked.append(list(texts))
        return super().embed(texts, question=question)


TEXTS = [f"text {n} about {('violin', 'harbour', 'lantern')[n % 3]}" for n in range(50)]


def test_without_a_cache_equal_texts_are_embedded_once() -> None:
    model = Counted()
    found = embed_all(model, [*TEXTS, *TEXTS[:7]])
    assert sorted(text for call in model.asked for text in call) == sorted(TEXTS)
    assert found.tobytes() == HashedWords().embed([*TEXTS, *TEXTS[:7]]).tobytes()
    assert embed_all(model, []).shape == (0, model.dimension)


def test_what_was_embedded_is_not_embedded_again(tmp_path: Path) -> None:
    cache, first, second = VectorCache(tmp_path / "new" / "folder"), Counted(), Counted()
    expected = embed_all(first, TEXTS[:30], cache=cache)
    found = embed_all(second, TEXTS, cache=VectorCache(tmp_path / "new" / "folder"))
    assert sorted(text for call in second.asked for text in call) == sorted(TEXTS[30:])
    assert found[:30].tobytes() == expected.tobytes()
    third = Counted()
    assert embed_all(third, TEXTS[::-1], cache=cache).tobytes() == found[::-1].tobytes()
    assert third.asked == []


def test_models_do_not_share_vectors(tmp_path: Path) -> None:
    class Other(Counted):
        digest = "0" * 64

    cache, other = VectorCache(tmp_path), Other()
    embed_all(Counted(), TEXTS, cache=cache)
    embed_all(other, TEXTS, cache=cache)
    assert sum(map(len, other.asked)) == len(TEXTS)


def test_reading_makes_nothing(tmp_path: Path) -> None:
    assert VectorCache(tmp_path / "none").get(HashedWords(), [key_of("x")]) == {}
    assert list(tmp_path.iterdir()) == []


def test_a_sealed_cache_gives_and_never_writes(tmp_path: Path) -> None:
    expected = embed_all(HashedWords(), TEXTS[:30], cache=VectorCache(tmp_path))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    model = Counted()
    found = embed_all(model, TEXTS, cache=SealedCache(tmp_path))
    assert sorted(text for call in model.asked for text in call) == sorted(TEXTS[30:])
    assert found[:30].tobytes() == expected.tobytes()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert VectorCache(tmp_path).keeps and not SealedCache(tmp_path).keeps


def test_a_sealed_cache_is_read_beside_a_writer(tmp_path: Path) -> None:
    embed_all(HashedWords(), TEXTS[:10], cache=VectorCache(tmp_path))
    writer = sqlite3.connect(tmp_path / FILE)
    writer.execute("DELETE FROM vectors WHERE text = ?", (key_of(TEXTS[0]),))
    writer.commit()  # in the log, which the open connection keeps beside the file
    model = Counted()
    embed_all(model, TEXTS[:10], cache=SealedCache(tmp_path))
    assert model.asked == [[TEXTS[0]]]
    writer.close()


@pytest.mark.parametrize("content", [b"this is no data base at all, but it is long enough" * 40, b""])
def test_what_a_sealed_cache_cannot_read_is_not_there(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    found = embed_all(HashedWords(), TEXTS, cache=SealedCache(tmp_path))
    assert found.tobytes() == HashedWords().embed(TEXTS).tobytes()
    assert [path.name for path in tmp_path.iterdir()] == [FILE] and (tmp_path / FILE).read_bytes() == content


def test_more_texts_than_a_statement_takes(tmp_path: Path) -> None:
    cache, texts = VectorCache(tmp_path), [f"w{n}" for n in range(2500)]
    expected = embed_all(Counted(), texts, cache=cache)
    again = Counted()
    assert embed_all(again, texts, cache=cache).tobytes() == expected.tobytes() and again.asked == []


def test_a_row_of_another_length_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    embed_all(HashedWords(), ["violin"], cache=cache)
    with sqlite3.connect(tmp_path / FILE) as base:
        base.execute("UPDATE vectors SET vector = ?", (b"short",))
    base.close()
    model = Counted()
    assert embed_all(model, ["violin"], cache=cache).any() and model.asked == [["violin"]]


def test_a_damaged_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"this is no data base at all, but it is long enough" * 40)
    with pytest.raises(EnvironmentProblem, match=r"^The cache of vectors .*; delete it, it will be made again\.$"):
        embed_all(HashedWords(), ["violin"], cache=VectorCache(tmp_path))
    (tmp_path / "file").touch()
    with pytest.raises(EnvironmentProblem, match="delete it"):
        embed_all(HashedWords(), ["violin"], cache=VectorCache(tmp_path / "file"))


def test_progress_counts_different_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "CHUNK", 20)
    said: list[tuple[int, int]] = []
    embed_all(HashedWords(), [*TEXTS, TEXTS[0]], progress=lambda done, total: said.append((done, total)))
    assert said == [(0, 50), (20, 50), (40, 50), (50, 50)]


def test_many_writers_at_once(tmp_path: Path) -> None:
    def write(start: int) -> bytes:
        return embed_all(HashedWords(), TEXTS[start : start + 30], cache=VectorCache(tmp_path)).tobytes()

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(write, [n % 20 for n in range(24)]))
    assert found == [HashedWords().embed(TEXTS[n % 20 : n % 20 + 30]).tobytes() for n in range(24)]
    model = Counted()
    embed_all(model, TEXTS[:49], cache=VectorCache(tmp_path))
    assert model.asked == []


WRITER = """
import sys
from pathlib import Path
from memassay.retrieval import vectors
from memassay.retrieval.embedders import HashedWords
vectors.CHUNK = 5
round = 0
while True:
    texts = [f"{sys.argv[2]} {round} {n}" for n in range(50)]
    vectors.embed_all(HashedWords(), texts, cache=vectors.VectorCache(Path(sys.argv[1])))
    print(round, flush=True)
    round += 1
"""


def test_a_writer_killed_at_any_moment_leaves_a_cache_that_works(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "cache")
    for attempt in range(3):
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", WRITER, str(tmp_path / "cache"), name],
                stdout=subprocess.PIPE,
                env=child_environment(tmp_path),
            )
            for name in "ab"
        ]
        for writer in writers:
            assert writer.stdout is not None and writer.stdout.readline() == b"0\n"
        time.sleep(0.03 * attempt)
        for writer in writers:
            os.kill(writer.pid, signal.SIGKILL)
            writer.communicate()
    texts = [f"{name} 0 {n}" for name in "ab" for n in range(50)]
    model = Counted()
    assert embed_all(model, texts, cache=cache).tobytes() == HashedWords().embed(texts).tobytes()
    assert model.asked == []
    base = sqlite3.connect(tmp_path / "cache" / FILE)
    assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    base.close()


def test_a_key_is_the_digest_of_the_text() -> None:
    assert key_of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert key_of("\ud800") == key_of("?")


def test_vectors_are_those_of_the_text_whatever_its_place(tmp_path: Path) -> None:
    found = embed_all(HashedWords(), TEXTS, cache=VectorCache(tmp_path))
    for n in (0, 17, 49):
        np.testing.assert_array_equal(found[n], HashedWords().embed([TEXTS[n]])[0])
