"""The tools that edit a small folder of notes, and many callers together."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from tools_kit import PAGES, contents, keys, value

from memassay.core.errors import MemassayError, UsageError
from memassay.knowledge.tools import Desk


def test_create_update_delete_rename(notes: Path, editor: Desk) -> None:
    page = "# Garden\n\n* one *bullet*\n"
    assert value(editor, "create", key="garden", content=page) == {"key": "garden", "created": True}
    assert (notes / "garden.md").read_text() == page
    with pytest.raises(UsageError, match="exists already"):
        editor.call("create", {"key": "garden", "content": "x"})
    assert value(editor, "create", key="garden", content="x", if_exists="skip") == {"key": "garden", "created": False}
    assert value(editor, "update", key="garden", content="# Yard\n") == {
        "key": "garden",
        "previous_title": "Garden",
        "new_title": "Yard",
    }
    dry = value(editor, "rename", old_key="garden", new_key="places/yard", dry_run=True)
    assert keys(dry["creates"]) == ["places/yard"] and dry["removes"] == ["garden"]
    assert keys(dry["updates"]) == ["people/ada"] and (notes / "garden.md").exists()
    value(editor, "rename", old_key="garden", new_key="places/yard")
    assert (notes / "people/ada.md").read_text() == PAGES["people/ada"].replace("../garden.md", "../places/yard.md")
    gone = value(editor, "delete", key="places/yard")
    assert gone["removes"] == ["places/yard"] and not (notes / "places/yard.md").exists()
    assert "the garden." in (notes / "people/ada.md").read_text()


def test_a_key_may_be_given_with_its_extension(notes: Path, editor: Desk) -> None:
    assert keys(value(editor, "retrieve", keys=["index.md", "people/ada.md"], exclude=["index.md"])) == ["people/ada"]
    assert keys(value(editor, "retrieve", keys=["people/ada.md"], **{"in": ["index.md"]})) == ["people/ada"]
    assert keys(value(editor, "tree", keys=["people/ada.md"])) == ["people/ada"]
    assert keys(value(editor, "tree", keys=["people/ada.md"], in_any=[{"key": "index.md"}])) == ["people/ada"]
    assert value(editor, "stats", key="people/ada.md")["key"] == "people/ada"
    assert editor.call("squash", {"key": "index.md"}) == editor.call("squash", {"key": "index"})
    for arguments in ({"refs_to": "people/ada.md"}, {"refs_from": "people/ada.md"}, {"not_in": ["index.md"]}):
        plain = {name: ["index"] if name == "not_in" else "people/ada" for name in arguments}
        assert keys(value(editor, "find", **arguments)) == keys(value(editor, "find", **plain)) != []
    for document, found in (
        ("filter: {$key: index.md}", 1),
        ("filter: {$key: {$in: [index.md, people/ada.md, index]}}", 2),
        ("filter: {$key: {$ne: index.md}}", 2),
        ("filter: {$includedBy: index.md}", 2),
        ("filter: {$references: {match: [people/ada.md]}}", 1),
        ("filter: {$content: {$references: people/ada.md}}", 2),
    ):
        assert value(editor, "query", operation="count", document=document) == {"count": found}, document
    assert value(editor, "create", key="beds/tomatoes.md", content="# T\n") == {"key": "beds/tomatoes", "created": True}
    assert (notes / "beds/tomatoes.md").is_file()
    with pytest.raises(UsageError, match="'beds/tomatoes' exists already"):
        editor.call("create", {"key": "beds/tomatoes.md", "content": ""})
    assert value(editor, "update", key="beds/tomatoes.md", content="# U\n")["key"] == "beds/tomatoes"
    assert keys(value(editor, "rename", old_key="beds/tomatoes.md", new_key="beds/u.md")["creates"]) == ["beds/u"]
    assert value(editor, "delete", key="beds/u.md")["removes"] == ["beds/u"]


def test_a_key_that_ends_so_is_given_with_it_once_or_twice(notes: Path, editor: Desk) -> None:
    assert value(editor, "create", key="a.md.md", content="twice")["key"] == "a.md"
    assert (notes / "a.md.md").is_file()
    assert value(editor, "retrieve", keys=["a.md"])[0]["content"] == "twice"
    document = "filter: {$key: a.md}"
    assert keys(value(editor, "query", operation="find", document=document)) == ["a.md"]
    (notes / "a.md").write_text("once")
    assert value(editor, "query", operation="count", document=document) == {"count": 1}
    assert value(editor, "delete", key="a.md")["removes"] == ["a.md"] and (notes / "a.md").is_file()


def test_an_edit_by_query_touches_nothing_else(notes: Path, editor: Desk) -> None:
    with pytest.raises(UsageError, match="needs expect"):
        editor.call("query", {"operation": "update", "document": "{filter: {}, update: {$set: {a: 1}}}"})
    document = (
        "filter: {$key: house/boiler}\nexpect: 1\nupdate:\n  $set: {status: done}\n"
        "  $insertAfter: {$item: F28 means no gas, content: '- F29 means no flame', expect: 1}\n"
    )
    made = value(editor, "query", operation="update", document=document)
    assert keys(made["updates"]) == ["house/boiler"] and made["removes"] == []
    expected = PAGES["house/boiler"].replace("status: open ", "status: done ")
    expected = expected.replace("no gas\n", "no gas\n- F29 means no flame\n")
    assert (notes / "house/boiler.md").read_text() == expected
    with pytest.raises(UsageError, match="nothing was written"):
        editor.call("query", {"operation": "delete", "document": "{filter: {}, expect: 2}"})
    assert value(editor, "query", operation="count", document="") == {"count": 3}


@pytest.mark.parametrize("key", ["../x", "/x", "a/../../x", ".hidden/x", "", "a//b", "x\x00", "x\ud800", "a" * 300])
def test_no_edit_leaves_the_folder(notes: Path, editor: Desk, key: str) -> None:
    before, around = contents(notes), sorted(notes.parent.iterdir())
    for tool, arguments in (
        ("create", {"key": key, "content": "x"}),
        ("update", {"key": key, "content": "x"}),
        ("delete", {"key": key}),
        ("rename", {"old_key": "people/ada", "new_key": key}),
    ):
        with pytest.raises(MemassayError) as caught:
            editor.call(tool, arguments)
        assert "\n" not in str(caught.value)
    assert {k: v for k, v in contents(notes).items() if k.endswith(".md")} == {
        k: v for k, v in before.items() if k.endswith(".md")
    }
    assert sorted(notes.parent.iterdir()) == around


def test_an_edit_is_worked_out_on_what_stands_there_now(notes: Path, editor: Desk) -> None:
    editor.call("stats", {})
    editor._due = float("inf")
    (notes / "people/ada.md").write_text("# Ada\n\nShe moved out.\n")
    document = "{filter: {$key: people/ada}, update: {$append: {content: She is in Oslo., expect: 1}}, expect: 1}"
    value(editor, "query", operation="update", document=document)
    assert (notes / "people/ada.md").read_text() == "# Ada\n\nShe moved out.\n\nShe is in Oslo.\n"


# -- together ------------------------------------------------------------------------------------------------------


def test_edits_from_outside_are_seen_by_the_next_call(notes: Path, desk: Desk) -> None:
    assert value(desk, "find", lexical="hedgehog") == []
    (notes / "animals.md").write_text("# Animals\n\nA hedgehog lives under the shed.\n")
    desk._due = 0.0
    assert keys(value(desk, "find", lexical="hedgehog")) == ["animals"]
    (notes / "animals.md").unlink()
    desk._due = 0.0
    assert value(desk, "find", lexical="hedgehog") == []


def test_the_folder_is_not_scanned_all_the_time(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    now, scans = [100.0], []

    def scan(keys: object = None) -> bool:
        scans.append(now[0])
        now[0] += 1.0
        return False

    monkeypatch.setattr("memassay.knowledge.tools.time.monotonic", lambda: now[0])
    monkeypatch.setattr(desk.store, "refresh", scan)
    for _ in range(36):
        desk.call("stats", {})
        now[0] += 1.0
    assert scans == [100.0, 110.0, 120.0, 130.0]


def test_many_threads_read_while_one_edits(notes: Path, editor: Desk) -> None:
    errors: list[BaseException] = []

    def read() -> None:
        try:
            for _ in range(10):
                found = keys(value(editor, "find", lexical="boiler"))
                assert "house/boiler" in found, found
        except BaseException as error:
            errors.append(error)

    def edit() -> None:
        try:
            for number in range(10):
                value(editor, "create", key=f"new/{number}", content=f"# New {number}\n\nAbout the boiler.\n")
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for work in (read, edit, read, read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert value(editor, "query", operation="count", document="") == {"count": 13}
