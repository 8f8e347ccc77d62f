from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memassay.core.errors import DataError
from memassay.core.types import Document
from memassay.suites.custom.documents import (
    SCOPE,
    Documents,
    Unreadable,
    documents_of,
    file_document,
    read_documents,
    text_of,
)
from memassay.suites.custom.lines import Row

Write = Callable[..., Path]


def only(found: Documents) -> dict[str, Any]:
    (documents,) = found.scopes.values()
    return {document.id: document for document in documents}


# -- a folder ------------------------------------------------------------------------------------------------------


def test_a_folder_in_the_order_of_its_names(folder: Path) -> None:
    found = only(read_documents(folder))
    assert list(found) == ["2026-03-02-minutes.rst", "rooms/attic.md", "rooms/cellar.txt", "tea.md"]
    cellar = found["rooms/cellar.txt"]
    assert [unit.id for unit in cellar.units] == ["rooms/cellar.txt#1", "rooms/cellar.txt#2"]
    assert cellar.units[1].text == "The pump stands behind the door,\nnext to the boots."
    for document in found.values():
        assert all(document.text[slice(*unit.span)] == unit.text for unit in document.units)


def test_titles_and_dates_come_from_the_file(folder: Path) -> None:
    found = only(read_documents(folder))
    titles = {name: document.title for name, document in found.items()}
    assert titles == {
        "2026-03-02-minutes.rst": "Minutes of March",
        "rooms/attic.md": "The attic",
        "rooms/cellar.txt": "cellar",
        "tea.md": "Tea",
    }
    assert found["2026-03-02-minutes.rst"].date == "2026-03-02"
    assert found["tea.md"].date is None
    (folder / "2026-02-31 not a day.md").write_text("x", encoding="utf-8")
    assert only(read_documents(folder))["2026-02-31 not a day.md"].date is None


def test_the_same_words_whatever_the_line_ends_and_the_mark(folder: Path) -> None:
    plain = only(read_documents(folder))
    path = folder / "tea.md"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert only(read_documents(folder)) == plain


def test_what_is_no_text_is_left_out_by_name(folder: Path) -> None:
    (folder / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    (folder / "old.txt").write_bytes("caf\u00e9".encode("latin-1"))
    (folder / "blank.md").write_text(" \n\n", encoding="utf-8")
    (folder / "utf16.txt").write_text("hello", encoding="utf-16")
    (folder / "gone.md").symlink_to(folder / "nowhere.md")
    (folder / "loop").symlink_to(folder)
    with (folder / "huge.log").open("wb") as file:
        file.truncate(65 * 1024 * 1024)
    found = read_documents(folder)
    assert len(only(found)) == 4
    assert found.skipped == {
        "blank.md": "empty",
        "gone.md": "cannot be read (no such file or directory)",
        "huge.log": "larger than 64 MB",
        "logo.png": "not text",
        "old.txt": "not UTF-8 text",
        "utf16.txt": "not text",
    }


def test_a_link_is_read_within_the_folder_alone(folder: Path, tmp_path: Path) -> None:
    """What is read may be sent to judges, so that a link must not bring in what lies elsewhere."""
    elsewhere = tmp_path / f"{folder.name}-elsewhere"
    elsewhere.mkdir()
    (elsewhere / "key.txt").write_text("a secret", encoding="utf-8")
    (folder / "same.md").symlink_to("tea.md")
    (folder / "rooms" / "up.md").symlink_to(Path("..") / "tea.md")
    (folder / "out.md").symlink_to(elsewhere / "key.txt")
    (folder / "relative.md").symlink_to(os.path.relpath(elsewhere / "key.txt", folder))
    (folder / "twice.md").symlink_to("out.md")
    (folder / "round.md").symlink_to("round.md")
    (elsewhere / "back").symlink_to(folder)
    found = read_documents(elsewhere / "back")
    assert only(found)["same.md"].text == only(found)["rooms/up.md"].text == only(found)["tea.md"].text
    assert len(only(found)) == 6
    skipped = dict(found.skipped)
    assert skipped.pop("round.md").startswith("cannot be read (")
    assert skipped == dict.fromkeys(("out.md", "relative.md", "twice.md"), "a link that leads out of the folder")
    for name in ("tea.md", "same.md", "2026-03-02-minutes.rst"):
        (folder / name).unlink()
    for path in (folder / "rooms").iterdir():
        path.unlink()
    with pytest.raises(DataError, match=r'"out.md": a link that leads out of the folder'):
        read_documents(folder)


def test_hidden_files_pipes_and_odd_names(folder: Path) -> None:
    (folder / ".hidden.md").write_text("secret", encoding="utf-8")
    (folder / ".git").mkdir()
    (folder / ".git" / "config.md").write_text("secret", encoding="utf-8")
    os.mkfifo(folder / "pipe.md")
    (folder / "two\nlines.md").write_text("x", encoding="utf-8")
    Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.md")).write_text("x", encoding="utf-8")
    found = read_documents(folder)
    assert len(only(found)) == 4
    assert found.skipped == {
        "caf\\udce9.md": "its name is not UTF-8",
        "pipe.md": "not a regular file",
        "two\nlines.md": "its name is longer than 200 characters or has odd ones",
    }


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission_is_left_out(folder: Path) -> None:
    (folder / "tea.md").chmod(0)
    assert read_documents(folder).skipped == {"tea.md": "cannot be read (permission denied)"}


def test_neither_the_questions_nor_a_run_are_documents(folder: Path, tmp_path: Path) -> None:
    """Both hold the gold: a memory that was given them would find everything."""
    questions = folder / "questions.jsonl"
    questions.write_text('{"question": "?"}\n', encoding="utf-8")
    run, store = folder / "runs" / "first", folder / "runs" / "stores" / "0a1b"
    for place, names in ((run, ("manifest.json", "tasks.jsonl", "summary.json")), (store, ("built.json",))):
        place.mkdir(parents=True)
        for name in names:
            (place / name).write_text("{}", encoding="utf-8")
    (store / "store").mkdir()
    (store / "store" / "passages.json").write_text("[]", encoding="utf-8")
    (folder / "runs" / "test-reads.jsonl").write_text("{}", encoding="utf-8")
    assert len(only(read_documents(folder, leave_out=questions))) == 4
    assert "questions.jsonl" in only(read_documents(folder, leave_out=tmp_path / "questions.jsonl"))


def test_a_folder_with_nothing_to_read(tmp_path: Path) -> None:
    place = tmp_path / "docs"
    place.mkdir()
    with pytest.raises(DataError, match=r"docs: no text file is in this folder; put .md or .txt files there"):
        read_documents(place)
    for number in range(7):
        (place / f"{number}.pdf").write_bytes(b"%PDF\0")
    with pytest.raises(DataError) as caught:
        read_documents(place)
    assert '(7 skipped: "0.pdf" is not text, "1.pdf" is not text' in str(caught.value)
    assert "and 2 more); " in str(caught.value)
    with pytest.raises(DataError, match="there is no such folder or file; give --docs"):
        read_documents(tmp_path / "none")


def test_a_reader_of_its_own_for_an_ending(folder: Path) -> None:
    def halves(raw: bytes, name: str) -> list[Document]:
        if raw == b"torn":
            raise Unreadable("torn")
        return [file_document(f"{name}/{number}", half) for number, half in enumerate(text_of(raw).split("|"))]

    (folder / "a.HALF").write_text("one|two", encoding="utf-8")
    (folder / "b.half").write_text("torn", encoding="utf-8")
    found = read_documents(folder, readers={".half": halves})
    assert [name for name in only(found) if ".HALF" in name] == ["a.HALF/0", "a.HALF/1"]
    assert found.skipped == {"b.half": "torn"} and len(only(found)) == 6
    assert "a.HALF" in only(read_documents(folder))


# -- JSON Lines ----------------------------------------------------------------------------------------------------


def test_documents_line_by_line(jsonl: Write) -> None:
    path = jsonl(
        {"text": "One.\n\nTwo."},
        {"id": "b", "title": "B", "date": "2026-01-05", "text": "x y x", "units": ["x", {"id": "second", "text": "x"}]},
        name="docs.jsonl",
    )
    found = only(read_documents(path))
    assert list(found) == ["d1", "b"]
    assert [unit.id for unit in found["d1"].units] == ["d1#1", "d1#2"]
    assert [(unit.id, unit.span) for unit in found["b"].units] == [("b#1", (0, 1)), ("second", (4, 5))]
    assert (found["b"].title, found["b"].date) == ("B", "2026-01-05")


def test_scopes_keep_their_order_and_may_share_ids(jsonl: Write) -> None:
    rows = [{"id": "a", "scope": s, "text": "x"} if s else {"id": "a", "text": "x"} for s in ("two", "one", None)]
    found = read_documents(jsonl(*rows)).scopes
    assert {scope: [d.id for d in documents] for scope, documents in found.items()} == {
        "two": ["a"],
        "one": ["a"],
        SCOPE: ["a"],
    }


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"txt": "x"}, "unknown key \"txt\". Did you mean 'text'"),
        ({}, "text is missing"),
        ({"text": " "}, "text is empty"),
        ({"text": 5}, "text must be text in quotes, found a number"),
        ({"text": "x", "id": "good"}, 'the id "good" is that of line 1; give each its own'),
        ({"text": "x", "id": "good#1"}, 'the id "good#1" is that of line 1'),
        ({"text": "x", "date": "May"}, 'date "May" is no date'),
        ({"text": "x", "units": "x"}, "units must be a list, found text"),
        ({"text": "x", "units": [3]}, 'unit 1 must be text or {"id": ..., "text": ...}, found a number'),
        ({"text": "x", "units": ["x", "y"]}, 'unit 2 ("y") does not stand in text; copy it from there'),
        ({"text": "x", "units": [{"id": "u"}]}, "text of unit 1 is missing"),
        ({"text": "x", "units": [{"txt": "x"}]}, 'unknown key "txt"'),
        ({"text": "x x", "units": [{"id": "u", "text": "x"}] * 2}, 'the id "u" of unit 2 is used twice'),
        ({"text": "x", "units": [{"id": "good#1", "text": "x"}]}, 'the id "good#1" is that of line 1'),
        ({"text": "x", "scope": "a+marker"}, "scope may not end in +marker"),
        ({"text": "\ud800"}, "surrogate"),
    ],
)
def test_a_wrong_document_is_named_by_line_with_the_fix(jsonl: Write, bad: dict[str, Any], words: str) -> None:
    path = jsonl({"id": "good", "text": "a"}, json.dumps(bad), name="docs.jsonl")
    with pytest.raises(DataError) as caught:
        read_documents(path)
    assert f"{path}, line 2: " in str(caught.value) and words in str(caught.value)


@given(st.lists(st.text(st.sampled_from("ab \n."), min_size=1).filter(str.strip), min_size=1, max_size=6))
def test_units_are_at_their_place_and_named_once(texts: list[str]) -> None:
    found = documents_of([Row({"text": text}, "f", line) for line, text in enumerate(texts, start=1)])
    names = [unit.id for document in found.scopes[SCOPE] for unit in document.units]
    assert len(names) == len(set(names))
    for document in found.scopes[SCOPE]:
        assert document.units
        assert all(document.text[slice(*unit.span)] == unit.text for unit in document.units if unit.span)
