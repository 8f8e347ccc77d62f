"""A store in trouble: damaged indexes, two writers, pages larger than the budget."""

from __future__ import annotations

import os
import random
import shutil
import time
from pathlib import Path

import pytest

from memassay.core.errors import EnvironmentProblem
from memassay.core.tokens import tokenizer
from memassay.knowledge import drift
from memassay.knowledge.listing import Limits, as_json
from memassay.knowledge.store import PLACE, KnowledgeStore


def notes(root: Path, count: int = 12) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    for n in range(count):
        (root / f"p{n}.md").write_text(f"# Page {n}\n\nThe boiler {n}, see [next](p{n + 1}.md).\n", encoding="utf-8")
    return root


def test_a_damaged_index_is_made_again_whatever_is_wrong_with_it(tmp_path: Path) -> None:
    root = notes(tmp_path / "notes")
    with KnowledgeStore.open(root, writable=True) as store:
        store.rebuild()
        expected = [piece.key for piece in store.search("boiler 7").pieces]
    files = sorted(path for path in (root / PLACE).iterdir() if path.stat().st_size > 100)
    assert len(files) >= 2
    draw = random.Random(7)
    for path in files:
        whole = path.read_bytes()
        for _ in range(8):
            broken = bytearray(whole)
            for _ in range(40):
                broken[draw.randrange(len(broken))] = draw.randrange(256)
            path.write_bytes(bytes(broken) if draw.random() < 0.7 else whole[: draw.randrange(len(whole))])
            with KnowledgeStore.open(root) as reader:
                assert len(reader.library.keys()) == 12
            with KnowledgeStore.open(root, writable=True) as writer:
                writer.rebuild()
                assert [piece.key for piece in writer.search("boiler 7").pieces] == expected
            whole = path.read_bytes() if path.exists() else whole
            if not path.exists():
                break


def test_two_writers_of_one_folder_are_refused_wherever_their_indexes_are(tmp_path: Path) -> None:
    root = notes(tmp_path / "notes")
    with KnowledgeStore.open(root, writable=True, index=tmp_path / "one"):
        with pytest.raises(EnvironmentProblem, match="open for writing"):
            KnowledgeStore.open(root, writable=True, index=tmp_path / "two")
        with KnowledgeStore.open(root) as reader:
            assert reader.search("boiler").pieces
    with KnowledgeStore.open(root, writable=True, index=tmp_path / "two") as store:
        store.update("p0", "# Zero\n")


def stealthily(path: Path, text: str) -> None:
    """Write a text of the same size and set the time of change back, as some tools that keep folders alike do."""
    about = path.stat()
    assert len(text.encode()) == about.st_size
    path.write_text(text, encoding="utf-8")
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundredth of a second after a change a page is known to be unchanged, so that tests need not wait long."""
    monkeypatch.setattr(drift, "_RACE_NS", 10_000_000)


def aged(root: Path) -> Path:
    old = time.time_ns() - 3600 * 10**9
    for path in root.rglob("*.md"):
        os.utime(path, ns=(old, old))
    time.sleep(0.05)
    return root


def spied(store: KnowledgeStore, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys of the pages that the store reads from now on."""
    read: list[str] = []
    look = store._watch.read
    monkeypatch.setattr(store._watch, "read", lambda key: read.append(key) or look(key))
    return read


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("writable", [True, False])
def test_an_edit_of_the_same_size_and_time_is_seen(
    tmp_path: Path, writable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = aged(notes(tmp_path / "notes"))
    with KnowledgeStore.open(root, writable=writable) as store:
        read = spied(store, monkeypatch)
        assert not store.refresh() and read == []
        stealthily(root / "p3.md", (root / "p3.md").read_text(encoding="utf-8").replace("boiler", "kettle"))
        assert store.refresh() and set(read) == {"p3"}
        assert store.search("kettle").pieces[0].key == "p3"


@pytest.mark.usefixtures("quick")
def test_a_copied_folder_that_is_only_read_is_read_again_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with KnowledgeStore.open(aged(notes(tmp_path / "notes")), writable=True):
        pass
    shutil.copytree(tmp_path / "notes", tmp_path / "copy")
    time.sleep(0.05)
    with KnowledgeStore.open(tmp_path / "copy") as store:
        read = spied(store, monkeypatch)
        assert not store.refresh() and read == []


@pytest.mark.parametrize("tokens", [40, 300, 5000])
def test_one_page_does_not_break_the_budget_of_a_listing(tokens: int) -> None:
    page = {"key": "big", "title": "Big", "content": "Many words, and more of them.\n" * 20_000}
    listing = Limits(tokens=tokens).listing([page], 1)
    (shown,) = listing.items
    assert tokenizer("o200k_base").marks(as_json([shown])) <= tokens
    assert shown["key"] == "big" and "truncated" in str(shown["content"])
    assert listing.note is not None and listing.note["clipped"] == 1


def test_a_search_within_a_budget_shows_what_one_without_shows_first(tmp_path: Path) -> None:
    with KnowledgeStore.open(notes(tmp_path / "notes", 200)) as store:
        every = [piece.key for piece in store.search("boiler next").pieces]
        some = store.search("boiler next", max_tokens=200)
        assert [piece.key for piece in some.pieces] == every[: len(some.pieces)]
        assert 0 < some.tokens <= 200 and some.left_out
