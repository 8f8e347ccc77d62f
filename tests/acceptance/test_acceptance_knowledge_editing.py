"""Edits of pages: none leaves the folder, what cannot be written is refused, and nothing is reflowed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from knowledge_kit import TEXTS, tree, write

from kit import Cli
from memassay.core.errors import DataError, EnvironmentProblem, UsageError
from memassay.knowledge.store import KnowledgeStore

# -- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key",
    [
        "../x",
        "a/../../x",
        "/etc/x",
        ".hidden",
        "a/.hidden/b",
        "",
        "a\x00b",
        "a\nb",
        "a//b",
        "a/",
        "..",
        ".",
        "x" * 5000,
        "\udc80",
    ],
)
def test_no_key_leaves_the_folder(key: str, tmp_path: Path) -> None:
    root = write(tmp_path / "notes", {"a": TEXTS[0]})
    with KnowledgeStore.open(root, writable=True) as store:
        before = tree(tmp_path)
        edits: list[Callable[[], Any]] = [
            lambda: store.create(key, "x"), lambda: store.rename("a", key), lambda: store.update(key, "x"),
            lambda: store.delete(key), lambda: store.rename(key, "b"),
        ]  # fmt: skip
        for edit in edits:
            with pytest.raises((UsageError, DataError, EnvironmentProblem)):
                edit()
        assert tree(tmp_path) == before


def test_what_cannot_be_written_is_refused_before_it_is(tmp_path: Path) -> None:
    root = write(tmp_path / "notes", {"a": TEXTS[0], "latin": b"# caf\xe9\n", "z": "[latin](latin.md)\n"})
    with KnowledgeStore.open(root, writable=True) as store:
        before = tree(root)
        with pytest.raises((UsageError, DataError)):
            store.create("b", "a lone \ud800 surrogate")
        with pytest.raises((UsageError, DataError)):
            store.update("latin", "# cafe\n")
        with pytest.raises(DataError):
            store.query("update", {"filter": {"$key": "latin"}, "update": {"$set": {"x": 1}}})
        assert tree(root) == before
        (changed,) = (
            c
            for c in store.query(
                "update", {"filter": {"$key": "a"}, "update": {"$set": {"x": 1}}}, dry_run=True
            ).changes
        )
        write(root, {"a": "# Written meanwhile\n"})
        with pytest.raises(DataError):
            store.apply([changed])
        assert (root / "a.md").read_bytes() == b"# Written meanwhile\n"


# -- nothing is reflowed -------------------------------------------------------------------------------------------

ODD = (
    "---\r\nz: 1    # kept\r\nlist:   [a,   b]\r\n\r\n# a comment\r\nstatus: 'open'   # until\r\na: \"q\"\r\n---\r\n"
    "Title  \r\n=====\r\n\r\n*  star   \r\n+ plus\r\n-   dash\t\r\n\r\n3) three\r\n1) one\r\n\r\n"
    "hard  \r\nbreak\\\r\nnext   words,  see [Ada]( <people/ada.md>  'a title' )"
    " and [[ada]] and [[people/ada|her]].\r\n\r\n"
    "| a|b |\r\n|:--|--:|\r\n|[Ada](people/ada.md#x)|  `[no](people/ada.md)` |\r\n\r\n"
    "```md\r\n[code](people/ada.md)\r\n```\r\n\r\n    [indented](people/ada.md)\r\n\r\n"
    '[ref] and [Ada][ref]\r\n\r\n[ref]: people/ada.md  "T"\r\n\r\n<b>[html](people/ada.md)</b>\r\n\r\n\r\n\r\n'
    "end without a line end"
)


def test_an_edit_changes_the_characters_it_means_and_no_other(tmp_path: Path) -> None:
    odd = b"\xef\xbb\xbf" + ODD.encode()
    root = write(tmp_path / "notes", {"odd": odd, "people/ada": "# Ada\n", "other": "  x  \r\n\ty\n\n\n[q](  odd.md )"})
    with KnowledgeStore.open(root, writable=True) as store:
        store.query("update", {"filter": {"$key": "odd"}, "update": {"$set": {"status": "done"}}, "expect": 1})
        after = (root / "odd.md").read_bytes()
        assert after in {odd.replace(b"'open'", word) for word in (b"done", b"'done'", b'"done"')}
        other = (root / "other.md").read_bytes()
        store.rename("people/ada", "people/ada lovelace")
        assert (root / "other.md").read_bytes() == other, "a page without such a link was written"
        renamed = (root / "odd.md").read_bytes()
        skeleton = renamed.replace(b"ada%20lovelace", b"ada").replace(b"ada lovelace", b"ada")
        assert skeleton == after.replace(b"ada lovelace", b"ada"), "more than the links changed"
        for kept in (b"`[no](people/ada.md)`", b"[code](people/ada.md)", b"    [indented](people/ada.md)"):
            assert kept in renamed, "code is no link"
        assert store.stats(similar=False)["brokenLinks"] == []
        assert {row["key"] for row in store.find(refs_to="people/ada lovelace").items} == {"odd"}
        store.rename("people/ada lovelace", "people/ada")
        assert (root / "odd.md").read_bytes() == after or b"[[people/ada" in (root / "odd.md").read_bytes()
        store.query("update", {"filter": {"$key": "odd"}, "update": {"$unset": {"z": True}}})
        assert (root / "odd.md").read_bytes().endswith(ODD.encode()[ODD.index("Title") :][-200:])


def test_block_edits_touch_only_their_block(cli: Cli, workplace: Path) -> None:
    text = "# T\r\n\r\n* one  \r\n* two\r\n* three\r\n\r\npara   with  blanks\r\n\r\n\r\n## S\r\n\r\n+ x\r\n"
    write(workplace / "notes", {"t": text})
    update = (
        "{filter: {$key: t}, update: {$replaceText: {$item: {$text: two}, from: two, to: TWO, expect: 1}}, expect: 1}"
    )
    ran = cli("store", "query", "update", update, "--dir", "notes", "--dry-run", "--json")
    assert ran.code == 0, ran.err
    assert (workplace / "notes" / "t.md").read_bytes() == text.encode(), "a dry run wrote"
    ran = cli("store", "query", "update", update, "--dir", "notes", "--json")
    assert ran.code == 0, ran.err
    assert (workplace / "notes" / "t.md").read_bytes() == text.replace("two", "TWO").encode()
    wrong = update.replace("expect: 1}}, expect: 1}", "expect: 2}}, expect: 1}")
    before = tree(workplace)
    assert cli("store", "query", "update", wrong, "--dir", "notes").code == 2
    assert tree(workplace) == before


def test_links_in_tables_and_other_folders_follow_a_rename_byte_for_byte(cli: Cli, workplace: Path) -> None:
    pages = {
        "a/x": "| t |\n|---|\n| [B](../b/y.md#h) |\n\n[alone](../b/y.md)\n\nin [text](/b/y) and [[y]] and [[b/y|Y]].\n",
        "b/y": "# Y\n\n[back](../a/x.md), [near](z.md), [self](#h), ![pic](p.png), [out](https://x.org/y.md)\n",
        "b/z": "# Z\n\nsee [y](./y.md)\n",
    }
    write(workplace / "notes", pages)
    assert cli("store", "rename", "b/y", "c/d/y2", "--dir", "notes").code == 0
    got = {key: (workplace / "notes" / f"{key}.md").read_text() for key in ("a/x", "c/d/y2", "b/z")}
    assert "| [B](../c/d/y2.md#h) |" in got["a/x"]
    assert "[alone](../c/d/y2.md)" in got["a/x"]
    assert "[text](/c/d/y2)" in got["a/x"]
    assert "[[y2]]" in got["a/x"] or "[[c/d/y2]]" in got["a/x"]
    assert "[[c/d/y2|Y]]" in got["a/x"] or "[[d/y2|Y]]" in got["a/x"]
    assert got["b/z"] in ("# Z\n\nsee [y](../c/d/y2.md)\n", "# Z\n\nsee [y](./../c/d/y2.md)\n")
    assert "[back](../../a/x.md), [near](../../b/z.md), [self](#h)" in got["c/d/y2"]
    assert "[out](https://x.org/y.md)" in got["c/d/y2"]
    assert not (workplace / "notes" / "b" / "y.md").exists()
    assert cli("store", "stats", "--dir", "notes", "--json").json["brokenLinks"] == []


# -- links mean what the reference says ----------------------------------------------------------------------------


def test_inclusions_are_paragraphs_of_one_link_and_all_else_refers(cli: Cli, workplace: Path) -> None:
    pages = {
        "hub": "# Hub\n\n[one](one.md)\n\n- [two](two.md)\n\ntext [three](three.md)\n\n## [four](four.md)\n\n"
        "| [five](five.md) |\n|---|\n\n[[six]]\n\n![seven](seven.md)\n\n> [eight](eight.md)\n",
        **{name: f"# {name}\n" for name in ("one", "two", "three", "four", "five", "six", "seven", "eight")},
    }
    write(workplace / "notes", pages)
    row = next(r for r in cli("store", "find", "--dir", "notes", "--json").json if r["key"] == "hub")
    assert {edge["key"] for edge in row["includes"]} == {"one", "six"}
    assert {edge["key"] for edge in row["references"]} == {"two", "three", "four", "five", "eight"}
    (top,) = [node for node in cli("store", "tree", "--dir", "notes", "--json").json if node["key"] == "hub"]
    assert [child["key"] for child in top["children"]] == ["one", "six"]
