"""A folder of pages: what is a page, bytes that stay, changes whole or not at all, nothing outside ever touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memassay.core.errors import DataError, EnvironmentProblem, UsageError
from memassay.knowledge.folder import Change, Folder, checked
from memassay.knowledge.source import Source


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    root = tmp_path / "notes"
    root.mkdir()
    return Folder(root)


def put(folder: Folder, key: str, data: bytes | str) -> Path:
    path = folder.root / f"{key}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def everything(folder: Folder) -> dict[str, bytes]:
    return {str(p.relative_to(folder.root)): p.read_bytes() for p in sorted(folder.root.rglob("*")) if p.is_file()}


def test_pages_are_the_visible_markdown_files(folder: Folder, tmp_path: Path) -> None:
    for key in ("index", "people/ada", "people/ada.old", "people/Ada", "a b/ü '\"?*|", "x.md"):
        put(folder, key, key)
    (folder.root / "image.png").write_bytes(b"")
    (folder.root / "UPPER.MD").write_bytes(b"")
    put(folder, ".hidden", "")
    put(folder, ".git/page", "")
    (folder.root / "folder.md").mkdir()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("secret")
    (folder.root / "link.md").symlink_to(outside / "secret.md")
    (folder.root / "linked").symlink_to(outside)
    (folder.root / os.fsdecode(b"not-utf8-\xff.md")).write_text("x")
    found = {entry.key: entry for entry in folder.walk()}
    assert sorted(found) == ["a b/ü '\"?*|", "index", "people/Ada", "people/ada", "people/ada.old", "x.md"]
    assert found["index"].size == 5 and folder.entry("index") == found["index"]
    for key in ("link", "linked/secret", "folder", "gone", "index/below"):
        assert folder.entry(key) is None and folder.read(key) is None


def test_a_folder_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a folder; create it"):
        Folder(tmp_path / "gone")


@given(st.binary(max_size=60))
@example(b"\xef\xbb\xbfa\r\nb\r\n")
@example(b"a\r\nb\nc\r")
@example(b"a\r\r\nb\r\n")
@example(b"\xef\xbb\xbf\xef\xbb\xbf\r\n")
def test_writing_back_what_was_read_gives_the_same_bytes(data: bytes) -> None:
    source = Source.read(data)
    if source.invalid is None:
        assert source.write(source.text) == data
    else:
        assert "\ufffd" in source.text


@given(st.text(alphabet="ab\r\n", max_size=12), st.text(alphabet="ab\r\n", max_size=12), st.sampled_from("ab\n"))
def test_an_edit_leaves_the_bytes_around_it(before: str, after: str, put_in: str) -> None:
    data = (before + "X" + after).encode()
    source = Source.read(data)
    edited = source.write(source.text.replace("X", put_in))
    end = "\r\n" if source.crlf else "\n"
    assert edited == (before + put_in.replace("\n", end) + after).encode()


def test_line_ends_and_mark_and_permissions_come_back(folder: Folder) -> None:
    path = put(folder, "a", b"\xef\xbb\xbf# A\r\n\r\nold\r\n")
    path.chmod(0o640)
    source = folder.read("a")
    assert source is not None and source.text == "# A\n\nold\n"
    folder.apply([Change("a", source.text, "# A\n\nnew\nmore\r\n")])
    assert path.read_bytes() == b"\xef\xbb\xbf# A\r\n\r\nnew\r\nmore\r\n"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_page_that_is_not_utf8_is_read_and_never_written_over(folder: Folder) -> None:
    path = put(folder, "a", b"caf\xe9\n")
    source = folder.read("a")
    assert source is not None and source.text == "caf\ufffd\n" and source.invalid == 3
    with pytest.raises(DataError, match=r"'a' is not valid UTF-8 \(byte 3\) and is not edited; save it as UTF-8 first"):
        folder.write("a", "new")
    folder.write("a", source.text)
    assert path.read_bytes() == b"caf\xe9\n"
    folder.move("a", "b/c")
    assert everything(folder) == {"b/c.md": b"caf\xe9\n"}
    assert folder.delete("b/c") and not folder.delete("b/c")


def test_half_a_surrogate_pair_is_refused_before_anything_is_written(folder: Folder) -> None:
    put(folder, "a", "a")
    with pytest.raises(DataError, match="half of a surrogate pair"):
        folder.apply([Change("a", "a", "b"), Change("b", None, "x\ud800")])
    assert everything(folder) == {"a.md": b"a"}


@pytest.mark.parametrize(
    "key",
    [
        "",
        "/a",
        "a/",
        "a//b",
        "..",
        "../a",
        "a/../b",
        ".a",
        "a/.b",
        "a\x00",
        "a\nb",
        "a\ud800",
        "x" * 253,
        "x" * 256 + "/a",
    ],
)
def test_a_key_is_a_path_that_stays_inside(folder: Folder, key: str) -> None:
    with pytest.raises(UsageError, match=r"cannot be the key of a page: it .*; use a name such as 'people/ada'"):
        folder.create(key, "text")
    assert everything(folder) == {}


def test_long_and_odd_keys_are_written(folder: Folder) -> None:
    for key in ("x" * 252, "a b/ü '\"?*|%#", "...x".strip("."), "a.b.c"):
        folder.create(checked(key), key)
        assert folder.read(key) == Source(key)


def test_nothing_is_written_through_a_symbolic_link(folder: Folder, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.md").write_text("theirs")
    (folder.root / "linked").symlink_to(outside)
    (folder.root / "b.md").symlink_to(outside / "a.md")
    for key in ("linked/a", "linked/new", "b"):
        with pytest.raises(UsageError, match="is a symbolic link"):
            folder.write(key, "mine")
        assert not folder.delete(key)
    put(folder, "c", "c")
    with pytest.raises(UsageError, match="is a symbolic link"):
        folder.move("c", "linked/c")
    assert [p.name for p in outside.iterdir()] == ["a.md"] and (outside / "a.md").read_text() == "theirs"


def test_a_taken_key_is_not_written_over(folder: Folder) -> None:
    put(folder, "a", "a")
    put(folder, "b", "b")
    (folder.root / "c.md").mkdir()
    for change in (lambda: folder.create("a", "x"), lambda: folder.move("b", "a"), lambda: folder.create("c", "x")):
        with pytest.raises(UsageError, match="exists already"):
            change()
    assert everything(folder) == {"a.md": b"a", "b.md": b"b"}
    folder.move("a", "A")
    assert everything(folder) == {"A.md": b"a", "b.md": b"b"}


def test_changes_are_made_whole_or_not_at_all(folder: Folder) -> None:
    put(folder, "a", "a")
    put(folder, "b", "b")
    stale = [Change("a", "a", "A"), Change("new/c", None, "c"), Change("b", "not b", "B")]
    with pytest.raises(DataError, match="'b' is not what it was when it was read; nothing was written, try again"):
        folder.apply(stale)
    put(folder, "file", "")
    with pytest.raises(EnvironmentProblem):
        folder.apply([Change("a", "a", "A"), Change("file.md/below", None, "x")])
    assert everything(folder) == {"a.md": b"a", "b.md": b"b", "file.md": b""}
    folder.apply([Change("a", "a", "A"), Change("b", "b", None), Change("new/c", None, "c"), Change("file", "", None)])
    assert everything(folder) == {"a.md": b"A", "new/c.md": b"c"}


def test_a_page_can_move_and_change_at_once(folder: Folder) -> None:
    put(folder, "a", b"one\r\ntwo\r\n")
    folder.apply([Change("b/a", None, "one\n2\n", moved="a"), Change("a", "one\ntwo\n", None)])
    assert everything(folder) == {"b/a.md": b"one\r\n2\r\n"}
