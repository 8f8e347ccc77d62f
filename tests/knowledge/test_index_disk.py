"""The index on disk: read, written, damaged, killed, and shared by processes and threads."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from scenes import SETTINGS, assert_equal, built, put

from memassay.core.digest import digest_folder
from memassay.core.errors import EnvironmentProblem
from memassay.knowledge.catalog import FILE
from memassay.knowledge.entries import Settings
from memassay.knowledge.index import Index

# -- one process after another -------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, pages: dict[str, str]) -> Path:
    with_base = Index.write(tmp_path / "index", SETTINGS)
    put(with_base, pages)
    with_base.compact()
    put(with_base, pages | {"fresh": "fresh words"}, ["fresh"])
    with_base.close()
    return tmp_path / "index"


def test_reading_changes_no_byte(folder: Path, pages: dict[str, str]) -> None:
    before = digest_folder(folder)
    index = Index.read(folder, SETTINGS)
    assert index is not None and not index.writable and index.shared
    assert_equal(index.snapshot, built(pages | {"fresh": "fresh words"}).snapshot)
    assert not index.refresh()
    assert digest_folder(folder) == before
    index.close()
    assert digest_folder(folder) == before


def test_a_reader_follows_a_writer_that_comes_and_goes(folder: Path, small_bases: None) -> None:
    reader = Index.read(folder, SETTINGS)
    assert reader is not None
    old = reader.snapshot
    for round in range(3):
        writer = Index.write(folder, SETTINGS)
        for step in range(12):
            put(writer, {f"new{step}": f"words of round {round}"}, [f"new{step}"])
            assert reader.refresh() and not reader.refresh()
            assert_equal(reader.snapshot, writer.snapshot)
        writer.close()
        new = reader.snapshot.find("new3")
        assert reader.snapshot.stored(new).text == f"words of round {round}"
    assert old.keys() != reader.snapshot.keys()
    reader.close()


def test_one_writer(folder: Path) -> None:
    writer = Index.write(folder, SETTINGS)
    with pytest.raises(
        EnvironmentProblem, match="open for writing; end it first, or open the store read-only"
    ) as found:
        Index.write(folder, SETTINGS)
    assert "\n" not in str(found.value)
    writer.close()
    Index.write(folder, SETTINGS).close()


@pytest.mark.parametrize("damage", ["no base", "cut base", "base of garbage", "garbage", "cut catalog", "no catalog"])
def test_what_is_damaged_is_made_again(folder: Path, pages: dict[str, str], damage: str) -> None:
    base = max(folder.glob("base-*.arrays"))
    if damage == "no base":
        base.unlink()
    elif damage == "cut base":
        base.write_bytes(base.read_bytes()[:-200])
    elif damage == "base of garbage":
        base.write_bytes(b"{}\n" * 99)
    elif damage == "no catalog":
        (folder / FILE).unlink()
    else:
        data = (folder / FILE).read_bytes()
        (folder / FILE).write_bytes(b"garbage" * 999 if damage == "garbage" else data[: len(data) // 3])
    kept = pages | {"fresh": "fresh words"}
    reader = Index.read(folder, SETTINGS)
    if damage in ("garbage", "cut catalog", "no catalog"):
        assert reader is None
    else:
        assert reader is not None
        assert_equal(reader.snapshot, built(kept).snapshot)
        reader.close()
    writer = Index.write(folder, SETTINGS)
    put(writer, kept)
    assert_equal(writer.snapshot, built(kept).snapshot)
    writer.close()
    again = Index.read(folder, SETTINGS)
    assert again is not None
    assert_equal(again.snapshot, built(kept).snapshot)
    again.close()


def test_other_settings_make_another_index(folder: Path, pages: dict[str, str]) -> None:
    other = Settings(tokens="chars4", max_chars=120, title_weight=5)
    assert Index.read(folder, other) is None
    writer = Index.write(folder, other)
    assert writer.snapshot.pages == 0
    put(writer, pages)
    assert_equal(writer.snapshot, built(pages, other).snapshot)
    writer.close()
    assert Index.read(folder, SETTINGS) is None


def test_a_copy_of_its_own(folder: Path, pages: dict[str, str]) -> None:
    before = digest_folder(folder)
    index = Index.read(folder, SETTINGS)
    assert index is not None
    index.separate()
    assert index.writable and not index.shared
    pages |= {"fresh": "other words", "more": "[[fresh]]"}
    put(index, pages, ["fresh", "more"])
    assert_equal(index.snapshot, built(pages).snapshot)
    index.close()
    assert digest_folder(folder) == before


WRITER = """
import random
import sys
from pathlib import Path
from memassay.knowledge import index as index_module
from memassay.knowledge.entries import Settings
from memassay.knowledge.index import Incoming, Index
from scenes import keys, page_text
index_module._LEAST_FRESH, index_module._BATCH = 7, 3
index = Index.write(Path(sys.argv[1]), Settings(tokens="chars4", max_chars=120))
draw = random.Random(int(sys.argv[2]))
print("ready", flush=True)
while True:
    changed = sorted(draw.sample(keys(), draw.choice((1, 2, 8))))
    gone = [key for key in changed if draw.random() < 0.3]
    index.update([key for key in changed if key not in gone], lambda key: Incoming(page_text(draw)), gone)
"""


@pytest.mark.slow
def test_a_writer_that_is_killed_at_any_moment(tmp_path: Path) -> None:
    draw = random.Random(5)
    folder = tmp_path / "index"
    here = str(Path(__file__).parent)
    for kill in range(20):
        child = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder), str(kill)],
            stdout=subprocess.PIPE,
            text=True,
            env={"PYTHONPATH": here, "PATH": ""},
        )
        with child:
            assert child.stdout is not None and child.stdout.readline() == "ready\n"
            time.sleep(draw.random())
            child.kill()
        index = Index.write(folder, SETTINGS)
        snapshot = index.snapshot
        kept = {key: snapshot.stored(page).text for page, key in enumerate(snapshot.keys())}
        # Whatever the last edit left undone is done by the next one, and then nothing tells the history.
        put(index, kept, sorted(kept)[:1])
        assert_equal(index.snapshot, built(kept).snapshot)
        index.close()


# -- concurrency ---------------------------------------------------------------------------------------------------

READER = """
import sys
from pathlib import Path
from memassay.knowledge.entries import Settings
from memassay.knowledge.index import Index
index = Index.read(Path(sys.argv[1]), Settings(tokens="chars4", max_chars=120))
print("ready", flush=True)
seen = set()
for line in sys.stdin:
    index.refresh()
    snapshot = index.snapshot
    (passage,) = snapshot.holding(["counter"]).tolist()
    number = snapshot.text(passage).split()[1]
    assert snapshot.scores([number])[passage] > 0, number
    seen.add(number)
    print(number, flush=True)
"""


def test_processes_read_while_one_writes(folder: Path, small_bases: None) -> None:
    writer = Index.write(folder, SETTINGS)
    put(writer, {"counter": "counter n0"}, ["counter"])
    child = subprocess.Popen(
        [sys.executable, "-c", READER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with child:
        assert child.stdin is not None and child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        for step in range(40):
            put(writer, {"counter": f"counter n{step}"}, ["counter"])
            child.stdin.write("\n")
            child.stdin.flush()
            assert child.stdout.readline().strip() == f"n{step}"
        child.stdin.close()
    assert child.returncode == 0
    writer.close()


def test_threads_read_while_one_writes(small_bases: None) -> None:
    index = built({f"p{at}": "counter n0" for at in range(3)})

    def read() -> bool:
        seen: set[str] = set()
        while len(seen) < 6:
            snapshot = index.snapshot
            texts = {snapshot.text(passage) for passage in range(snapshot.passages)}
            assert len(texts) == 1, texts
            (number,) = {text.split()[1] for text in texts}
            assert (snapshot.scores([number]) > 0).all()
            seen.add(number)
        return True

    with ThreadPoolExecutor(3) as pool:
        reading = [pool.submit(read) for _ in range(3)]
        step = 0
        while not all(done.done() for done in reading):
            step += 1
            put(index, {key: f"counter n{step}" for key in ("p0", "p1", "p2")})
        assert all(done.result() for done in reading)
