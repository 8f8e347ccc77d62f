"""Markdown that nobody should write: no page raises, loses text or leads out of its folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from acceptance_tools import tree as every_file
from knowledge_kit import plain, tree, write

from kit import Cli
from memassay.knowledge.packing import of_page, pack
from memassay.knowledge.store import KnowledgeStore


def filler(words: int) -> str:
    return " ".join(f"w{n % 977}" for n in range(words))


HOSTILE: dict[str, str | bytes] = {
    "quotes": ">" * 5000 + " MARK",
    "list": "".join(f"{'  ' * n}- deep {n}\n" for n in range(400)) + "\n\nMARK\n",
    "markers": "- " * 3000 + "MARK",
    "numbers": "1. " * 2000 + "MARK",
    "stars": "*" * 30000 + "MARK" + "*" * 30000,
    "underscores": "_a" * 10000 + " MARK",
    "brackets": "[" * 20000 + "MARK" + "]" * 20000,
    "openings": "[a](" * 8000 + " MARK",
    "images": "![" * 8000 + " MARK",
    "parens": "[a](" + "(" * 8000 + " MARK",
    "ticks": "".join("`" * n + "a" for n in range(1, 300)) + " MARK",
    "entities": "&amp;" * 8000 + " MARK",
    "angles": "<" * 20000 + " MARK",
    "comments": "<!--" * 6000 + "\n\nMARK\n",
    "html": "<div>" * 6000 + "\n\nMARK\n\n" + "</div>" * 6000,
    "table": "|" * 3000 + "\n" + "|-" * 3000 + "|\n" + "| MARK " + "|" * 3000 + "\n",
    "rows": "| a | b |\n|---|---|\n" + "| [x](index.md) | y |\n" * 2000 + "\nMARK\n",
    "definitions": "".join(f"[r{n}]: index.md\n" for n in range(3000)) + "\nMARK [r1] [r2999]\n",
    "headings": "".join(f"{'#' * (n % 8)} h {n}\n" for n in range(4000)) + "MARK\n",
    "longheading": "# " + filler(20000) + " MARK\n",
    "fence": "```\nMARK\n" + filler(5000),
    "wiki": "[[" * 10000 + "MARK" + "]]" * 10000,
    "notes": "[^1]" * 4000 + " MARK\n\n[^1]: x\n",
    "line": "x" * 300_000 + " MARK " + "y" * 300_000,
    "crlf": "# Windows\r\n\r\none\r\n\r\n[b](b.md)\r\n\r\nMARK\r\n",
    "cr": "# Old\r\rone [b](b.md)\r\rMARK\r",
    "mixed": "# Mixed\r\n\none\r\rtwo\n\r MARK\r\n",
    "nul": "# N\x00ul\n\nbefore\x00after [x\x00](a\x00b.md) MARK\n",
    "controls": "".join(map(chr, range(1, 32))) + "\x7f\x85\u2028\u2029\ufeff MARK",
    "bom": b"\xef\xbb\xbf# Bom\n\nMARK\n",
    "latin": b"# caf\xe9 \xff\xfe\n\nMARK \x80\n",
    "utf16": "# sixteen MARK\n".encode("utf-16-le") + b"\n\nMARK\n",
    "bidi": "\u202e\u2066abc\u2069 MARK \u200b\u200d",
    "marks": "e" + "\u0301" * 20000 + " MARK",
    "empty": "",
    "blank": " \n\t\n  \n",
    "unclosed": "---\ntitle: open\n\nMARK\n",
    "badyaml": "---\na: b: c: [\n---\n\nMARK\n",
    "tabs": "---\n\tkey: value\n---\nMARK\n",
    "scalar": "---\njust words\n---\nMARK\n",
    "sequence": "---\n- a\n- b\n---\nMARK\n",
    "twice": "---\na: 1\na: 2\n---\nMARK\n",
    "python": "---\nx: !!python/object/apply:os.system ['touch owned']\n---\nMARK\n",
    "laughs": "---\na0: &a0 [x]\n"
    + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}]\n" for n in range(1, 30)) + "---\nMARK\n",
    "deepyaml": "---\na: " + "[" * 3000 + "]" * 3000 + "\n---\nMARK\n",
    "mapyaml": "---\na: " + "{b: " * 2000 + "1" + "}" * 2000 + "\n---\nMARK\n",
    "hugeint": "---\nn: " + "9" * 6000 + "\nf: 1e999999\nd: 2024-13-45\nnan: .nan\ntitle: [1, {a: b}]\n---\nMARK\n",
    "nulyaml": "---\ntitle: a\x00b\n---\nMARK\n",
    "titles": "---\ntitle: 7\n---\nMARK\n",
    "self": "# Self\n\n[self](self.md)\n\n[[self]]\n\nMARK\n",
    "cycle1": "# One\n\n[two](cycle2.md)\n\nMARK\n",
    "cycle2": "# Two\n\n[three](cycle3.md)\n\n[one](cycle1.md)\n\nMARK\n",
    "cycle3": "# Three\n\n[one](cycle1.md)\n\nMARK\n",
    "percent": "[a](%2e%2e/%2e%2e/secret.md) [b](%00.md) [c](%zz) [d](%C3%28.md) [e](%25252e) [f](../notes/%62.md)"
    " MARK\n",
    "parents": "[a](../../../../../../etc/passwd) [b](/../../x.md) [c](..) [d](.) [e](/) [f](//host/x) [g](..\\x.md)"
    " MARK\n",
    "schemes": "[a](javascript:alert(1)) [b](file:///etc/passwd) [c](data:text/html,x) [d](C:\\x.md) [e](#f) [f](?q)"
    " MARK\n",
    "link": "[" + "long " * 5000 + "](index.md) MARK\n\n[x](" + "y" * 30000 + ".md)\n",
    "with space/ä ö/日本": "# Names\n\n[x](../../empty.md) MARK\n",
}  # fmt: skip


def hostile() -> dict[str, str | bytes]:
    """The pages; MARK is a word of each page's own."""
    made: dict[str, str | bytes] = {}
    for n, (key, text) in enumerate(HOSTILE.items()):
        made[key] = (
            text.replace(b"MARK", b"mark%dz" % n) if isinstance(text, bytes) else text.replace("MARK", f"mark{n}z")
        )
    return made


def marks() -> dict[str, str]:
    return {key: f"mark{n}z" for n, (key, text) in enumerate(HOSTILE.items()) if text.strip()}


def everything(store: KnowledgeStore, key: str) -> None:
    """Every way of reading must come back."""
    store.stats(key, similar=False)
    store.squash(key, depth=0)
    store.tree([key], depth=0)
    store.retrieve([key])


def test_hostile_pages_never_raise_and_lose_no_text(tmp_path: Path) -> None:
    root = write(tmp_path / "notes", hostile())
    (tmp_path / "secret.md").write_text("# Secret\n\ndo not show\n", encoding="utf-8")
    before = tree(root)
    with KnowledgeStore.open(root, index=tmp_path / "index", writable=True) as store:
        assert set(store.library.keys()) == set(HOSTILE)
        for key in HOSTILE:
            everything(store, key)
            page = store.library.page(key)
            assert page is not None
            assert page.text == plain(root / f"{key}.md"), f"{key}: text was lost"
            (document,) = store.retrieve([key]).items
            assert document["content"] in page.text
            assert page.text.endswith(document["content"]) or document["content"].strip() in page.text
        for key, mark in marks().items():
            pieces = store.search(mark).pieces
            assert [piece.key for piece in pieces[:1]] == [key], f"{key} is not found by its own word"
            assert mark in "".join(piece.text for piece in pieces)
        snapshot = store.snapshot
        for number in range(len(snapshot.keys())):
            key = snapshot.key(number)
            pieces = pack(snapshot, [of_page(snapshot, number)], 10**9).pieces
            page = store.library.page(key)
            assert page is not None
            covered = "".join(page.text[slice(*piece.span)] for piece in pieces)
            assert sorted(covered.replace("\n", "").split()) == sorted(
                page.text[page.body :].replace("\n", "").split()
            ) or ("".join(covered.split()) == "".join(page.text[page.body :].split())), (
                f"{key}: words are in no passage"
            )
        store.stats(similar=False)
        store.tree(depth=0)
        store.find()
        store.find(lexical="mark1z w3")
        store.find(fuzzy_query="cyc")
        store.query("find", "filter: {$content: {$paragraph: {$text: mark}}}")
        store.query("count", "filter: {title: {$exists: true}}")
        assert not store.search("do not show secret").pieces or all(
            "do not show" not in piece.text for piece in store.search("do not show secret").pieces
        ), "a link led out of the folder"
    assert tree(root) == before
    assert not (tmp_path / "owned").exists()
    assert not Path("owned").exists()


def not_json(word: str) -> Any:
    pytest.fail(f"{word} is no JSON")


def test_hostile_pages_through_the_command(cli: Cli, workplace: Path) -> None:
    write(workplace / "notes", hostile())
    assert cli("store", "index", "--dir", "notes", "--index", "kept").code == 0
    before = every_file(workplace / "notes")
    calls = [
        ["search", "mark1z mark30z"], ["search", "mark5z", "--json"], ["find", "w5"], ["find", "--json"],
        ["tree", "--depth", "0"],
        ["stats"], ["stats", "--json"], ["retrieve", "cycle1", "--expand-includes", "0", "--expand-references", "0",
         "--expand-referenced-by", "0"],
        ["squash", "cycle1", "--depth", "0"], ["squash", "self", "--depth", "0"], ["squash", "nul"],
        ["query", "find", "{project: [key, title, n, f, d, nan]}", "--json"], ["query", "count", "{}"],
        ["retrieve", "percent", "parents", "schemes", "laughs", "hugeint", "latin", "controls",
         "--expand-references", "1", "--json"],
    ]  # fmt: skip
    for call in calls:
        ran = cli("store", *call, "--dir", "notes", "--index", "kept")
        assert ran.code == 0, (call, ran.err)
        assert "Traceback" not in ran.err + ran.out
        if "--json" in call:
            assert json.loads(ran.out, parse_constant=not_json) is not None
    assert cli("store", "search", "mark3z", "--dir", "notes").code == 0, "without an index"
    assert every_file(workplace / "notes") == before, "reading wrote into the folder"


@pytest.mark.slow
def test_ten_megabytes_in_one_page(tmp_path: Path) -> None:
    text = "# Big\n\nalphamark " + filler(1_000_000) + " middlemark " + filler(1_000_000) + " omegamark\n"
    assert len(text) > 8_000_000
    text += "\n" + "z" * (10_400_000 - len(text)) + " lastmark\n"
    root = write(tmp_path / "notes", {"big": text, "small": "# Small\n\n[big](big.md)\n"})
    with KnowledgeStore.open(root, writable=True) as store:
        for word in ("alphamark", "middlemark", "omegamark", "lastmark"):
            packing = store.search(word, max_tokens=600)
            assert packing.tokens <= 600
            assert any(word in piece.text for piece in packing.pieces), word
        (document,) = store.retrieve(["big"]).items
        assert document["content"] == text
