"""Edits of several pages that are cut short: carried through, around what a person did meanwhile."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from memassay.core.errors import EnvironmentProblem
from memassay.knowledge import journal
from memassay.knowledge.folder import Change, Folder
from memassay.knowledge.journal import FILE, Step
from memassay.knowledge.store import KnowledgeStore

PAGES = {"a": "one\r\ntwo\r\n", "b": "see a", "c": "see a too", "d": "goes"}
CHANGES = [
    Change("b", "see a", "see new/a"),
    Change("c", "see a too", "see new/a too"),
    Change("d", "goes", None),
    Change("a", "one\ntwo\n", None),
    Change("new/a", None, "one\n2\n", moved="a"),
]
AFTER = {"b.md": "see new/a", "c.md": "see new/a too", "new/a.md": "one\r\n2\r\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    root = tmp_path / "notes"
    root.mkdir()
    for key, text in PAGES.items():
        (root / f"{key}.md").write_bytes(text.encode())
    return Folder(root)


def everything(folder: Folder) -> dict[str, str]:
    return {
        str(p.relative_to(folder.root)): p.read_bytes().decode() for p in sorted(folder.root.rglob("*")) if p.is_file()
    }


def cut_short(folder: Folder, after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do the changes, and stop as a process that is killed stops: after so many files were put in their places."""
    done = 0
    do = Folder._do

    def some(self: Folder, step: Step) -> None:
        nonlocal done
        if done == after:
            raise KeyboardInterrupt
        done += 1
        do(self, step)

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "_do", some)
        with pytest.raises(KeyboardInterrupt):
            folder.apply(CHANGES)


@pytest.mark.parametrize("after", range(5))
def test_an_edit_that_was_cut_short_is_carried_through(
    folder: Folder, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_short(folder, after, monkeypatch)
    assert everything(folder) != AFTER
    assert {entry.key for entry in folder.walk(sweep=True)} == {"b", "c", "new/a"}
    assert everything(folder) == AFTER


def test_the_next_edit_carries_it_through_first(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    cut_short(folder, 1, monkeypatch)
    folder.apply([Change("b", "see new/a", "mine")])
    assert everything(folder) == AFTER | {"b.md": "mine"}


def test_what_a_person_did_meanwhile_stays(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    cut_short(folder, 1, monkeypatch)
    for key in ("b", "d"):
        (folder.root / f"{key}.md").write_text("mine", encoding="utf-8")
    (folder.root / "new" / "a.md").unlink()
    list(folder.walk(sweep=True))
    assert everything(folder) == {"b.md": "mine", "c.md": "see new/a too", "d.md": "mine"}


def test_a_move_does_not_replace_what_came_to_be_there(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    cut_short(folder, 0, monkeypatch)
    (folder.root / "new").mkdir(exist_ok=True)
    (folder.root / "new" / "a.md").write_text("mine", encoding="utf-8")
    list(folder.walk(sweep=True))
    assert everything(folder) == {"a.md": PAGES["a"], "new/a.md": "mine", "b.md": "see new/a", "c.md": "see new/a too"}


def test_a_process_that_is_killed_before_it_begins_changes_nothing(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(root: Path, steps: list[Step]) -> None:
        raise KeyboardInterrupt

    before = everything(folder)
    with monkeypatch.context() as patch:
        patch.setattr(journal, "keep", killed)
        with pytest.raises(KeyboardInterrupt):
            folder.apply(CHANGES)
    assert everything(folder) != before
    list(folder.walk())
    assert everything(folder) != before, "whoever only reads takes nothing away"
    list(folder.walk(sweep=True))
    assert everything(folder) == before


def test_a_disk_that_refuses_leaves_no_list(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(self: Folder, step: Step) -> None:
        raise OSError(28, "No space left on device", str(self.root))

    before = everything(folder)
    monkeypatch.setattr(Folder, "_do", refuses)
    with pytest.raises(EnvironmentProblem, match="No space left"):
        folder.apply(CHANGES)
    assert everything(folder) == before


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "7", "[7]", '[{"key": "a"}]', '[{"key": "a", "before": null, "after": "x", "beside": "../../x"}]',
        '[{"key": "a", "before": "x", "other": 1}]',
    ],
)  # fmt: skip
def test_a_damaged_list_is_no_list(folder: Folder, text: str) -> None:
    before = everything(folder)
    (folder.root / FILE).write_text(text, encoding="utf-8")
    folder.recover()
    assert everything(folder) == before


def test_a_list_from_elsewhere_touches_nothing_but_pages(folder: Folder, tmp_path: Path) -> None:
    outside = tmp_path / "theirs.md"
    outside.write_text("theirs", encoding="utf-8")
    (folder.root / "linked.md").symlink_to(outside)
    held = journal_digest(outside)
    steps = [
        {"key": "../theirs", "before": held},
        {"key": "linked", "before": held},
        {"key": "e", "before": None, "after": held, "moved": "../theirs"},
        {"key": "d", "before": journal_digest(folder.root / "d.md")},
    ]
    (folder.root / FILE).write_text(json.dumps(steps), encoding="utf-8")
    folder.recover()
    assert outside.read_text(encoding="utf-8") == "theirs" and (folder.root / "linked.md").is_symlink()
    assert sorted(entry.key for entry in folder.walk()) == ["a", "b", "c"]
    assert not (folder.root / FILE).exists()


def journal_digest(path: Path) -> str:
    from memassay.core.digest import digest_file

    return digest_file(path)


KILLED = """
import os, pickle, signal, sys
from pathlib import Path
from memassay.knowledge.folder import Folder

left = 20
do = Folder._do

def some(self, step):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    do(self, step)

Folder._do = some
Folder(Path(sys.argv[1])).apply(pickle.load(sys.stdin.buffer))
"""


def test_a_rename_over_many_pages_that_is_killed_is_whole_when_the_store_is_opened_again(tmp_path: Path) -> None:
    root = tmp_path / "notes"
    root.mkdir()
    (root / "hub.md").write_text("# Hub\n\n[One](p1.md)\n", encoding="utf-8")
    for n in range(40):
        (root / f"p{n}.md").write_text(f"# Page {n}\n\nSee [the hub](hub.md).\n", encoding="utf-8")
    with KnowledgeStore.open(root, writable=True) as store:
        changes = store.rename("hub", "deep/er/hub", dry_run=True)
    ended = subprocess.run([sys.executable, "-c", KILLED, str(root)], input=pickle.dumps(changes), timeout=60)
    assert ended.returncode == -9

    def told() -> set[str]:
        return {(root / f"p{n}.md").read_text(encoding="utf-8").partition("See ")[2] for n in range(40)}

    assert told() == {"[the hub](hub.md).\n", "[the hub](deep/er/hub.md).\n"}, "it was killed half-way"
    with KnowledgeStore.open(root) as reader:
        assert len(reader.library.keys()) == 41, "nothing but pages is a page"
    with KnowledgeStore.open(root, writable=True) as store:
        assert store.library.into("deep/er/hub") == sorted(f"p{n}" for n in range(40))
    assert told() == {"[the hub](deep/er/hub.md).\n"}
    assert [path.name for path in root.rglob(".memassay-*")] == []
