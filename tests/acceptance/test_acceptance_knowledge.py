"""The embedded knowledge graph as its users meet it: packing, edits, hostile Markdown, bytes, the server, the check."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bpe_openai
import pytest
from acceptance_tools import tree as every_file
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit import Cli, child_environment
from memassay.core.dossier import block
from memassay.core.errors import DataError, EnvironmentProblem, MemassayError, UsageError
from memassay.knowledge.packing import of_page, of_passage, of_section, pack
from memassay.knowledge.store import KnowledgeStore

ENCODING = bpe_openai.get_encoding("o200k_base")


def tokens(text: str) -> int:
    return len(ENCODING.encode(text))


def write(root: Path, pages: dict[str, str | bytes]) -> Path:
    """A folder with these pages, byte for byte."""
    for key, text in pages.items():
        path = root / f"{key}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return root


def tree(folder: Path) -> dict[str, bytes]:
    """The pages of a folder, without the index beside them."""
    return {name: data for name, data in every_file(folder).items() if ".memassay" not in name.split("/")}


def plain(path: Path) -> str:
    """A page as the documentation says that it is read: no byte-order mark, LF where all line ends were CRLF."""
    text = path.read_bytes().decode("utf-8", "replace").removeprefix("\ufeff")
    lone = text.replace("\r\n", "")
    return text.replace("\r\n", "\n") if "\n" not in lone and "\r" not in lone else text


# -- packing -------------------------------------------------------------------------------------------------------


def library() -> dict[str, str | bytes]:
    """Forty pages of many sizes and scripts that link to each other."""
    draw = random.Random(3)
    words = ["boiler", "valve", "harbour", "lantern", "copper", "river", "market", "saddle", "winter",
        "orchard", "漢字", "Größe", "naïve", "🙂", "x=1", "U.S.", "don't"]  # fmt: skip
    pages: dict[str, str | bytes] = {}
    for n in range(40):
        parts = [f"# Page {n} {draw.choice(words)}", ""]
        for section in range(draw.choice((0, 1, 1, 3))):
            parts += [f"{'#' * draw.randint(2, 4)} Part {section} [link](p{draw.randrange(45)}.md)", ""]
            for _ in range(draw.randint(1, 6)):
                parts += [" ".join(draw.choices(words, k=draw.choice((1, 5, 30, 260)))), ""]
            parts += [f"- item {i} {draw.choice(words)}" for i in range(draw.randint(0, 9))]
            parts += ["", "```", "code " * draw.randint(0, 80), "```", ""]
        pages[f"p{n}" if n % 3 else f"deep/er/p{n}"] = "\n".join(parts)
    pages["long"] = "# Long\n\n" + "boiler" * 900 + "\n\n" + "漢" * 3000 + "\n\n" + "🙂" * 700
    pages["crlf"] = "# Ends\r\n\r\nboiler and valve\r\n" * 30
    return pages


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeStore]:
    with KnowledgeStore.open(write(tmp_path_factory.mktemp("shelf"), library()), writable=True) as store:
        yield store


BUDGETS = st.one_of(st.integers(0, 40), st.integers(0, 3000), st.integers(0, 60000))
QUESTIONS = st.sampled_from(
    ["boiler", "valve river", "copper 漢字", "Page 7", "saddle winter orchard naïve", "🙂 code", ""]
)


def check_packing(store: KnowledgeStore, packing: Any, budget: int, heads: bool) -> None:
    """What is true of whatever was packed: exact, within the budget, from where it says, nothing twice."""
    rendered = "".join(block(n, piece.text) for n, piece in enumerate(packing.pieces, 1))
    assert tokens(rendered) == packing.tokens
    assert packing.tokens <= budget
    shown: list[int] = []
    for piece in packing.pieces:
        text = store.library.page(piece.key).text  # type: ignore[union-attr]
        start, end = piece.span
        assert text[start:end].strip()
        assert piece.text.endswith(text[start:end]), "the words stand elsewhere"
        assert piece.text.removesuffix(text[start:end]).strip() == (piece.head.strip() if heads else "")
        assert hashlib.sha256(text.encode()).hexdigest().startswith(piece.digest)
        shown += range(*piece.passages)
    assert len(set(shown)) == len(shown), "a passage is shown twice"


@settings(max_examples=120)
@given(
    QUESTIONS, BUDGETS, st.sampled_from(["passage", "section", "page"]), st.booleans(),
    st.sampled_from(["stop", "skip"]), st.one_of(st.none(), st.integers(1, 30)),
)  # fmt: skip
def test_a_search_never_exceeds_its_budget_and_says_what_it_left_out(
    shelf: KnowledgeStore, question: str, budget: int, grain: Any, heads: bool, overflow: Any, limit: int | None
) -> None:
    options: dict[str, Any] = {"grain": grain, "heads": heads, "overflow": overflow, "limit": limit}
    packing = shelf.search(question, max_tokens=budget, **options)
    check_packing(shelf, packing, budget, heads)
    everything = shelf.search(question, **options)
    assert not everything.left_out
    assert not any(piece.clipped or piece.part for piece in everything.pieces)
    if everything.tokens <= budget:
        assert packing.pieces == everything.pieces
    else:
        cut = any(piece.clipped or piece.part for piece in packing.pieces)
        assert packing.left_out or cut, "something is missing and nothing says so"
    if everything.pieces and budget >= 60:
        assert packing.pieces, "the best passage is not even cut to what fits"
        assert packing.pieces[0].key == everything.pieces[0].key
    shown = {n for piece in packing.pieces for n in range(*piece.passages)}
    for candidate in packing.left_out:
        assert not set(range(candidate.first, candidate.last)) <= shown, "left out, and shown"


@settings(max_examples=120)
@given(st.data(), BUDGETS, st.booleans(), st.sampled_from(["stop", "skip"]))
def test_no_seed_is_starved_silently(
    shelf: KnowledgeStore, data: st.DataObject, budget: int, heads: bool, overflow: Any
) -> None:
    snapshot = shelf.snapshot
    everything = pack(snapshot, [of_page(snapshot, n) for n in range(len(snapshot.keys()))], 10**9)
    total = max(piece.passages[1] for piece in everything.pieces)
    candidates = []
    for make, place, seed in data.draw(
        st.lists(
            st.tuples(st.sampled_from([of_passage, of_section, of_page]), st.integers(0, 10**6), st.booleans()),
            max_size=12,
        )
    ):
        size = len(snapshot.keys()) if make is of_page else total
        candidates.append(make(snapshot, place % size, seed=seed))
    packing = pack(snapshot, candidates, budget, heads=heads, overflow=overflow)
    check_packing(shelf, packing, budget, heads)
    shown = {n for piece in packing.pieces for n in range(*piece.passages)}
    missed = {n for c in packing.left_out for n in range(c.first, c.last)}
    flagged = [piece for piece in packing.pieces if piece.part]
    for candidate in candidates:
        wanted = set(range(candidate.first, candidate.last))
        told = any(set(range(*piece.passages)) & wanted for piece in flagged)
        assert wanted <= shown or wanted & missed or told, (candidate, "vanished without a word")
    larger = pack(snapshot, candidates, budget + 50, heads=heads, overflow=overflow)
    if overflow == "stop":
        more = {n for piece in larger.pieces for n in range(*piece.passages)}
        assert shown <= more, "a larger budget shows less"


def test_every_piece_counts_and_the_command_keeps_to_the_budget(cli: Cli, workplace: Path) -> None:
    write(workplace / "notes", library())
    for budget in (1, 20, 50, 200, 777, 3000):
        ran = cli("store", "search", "boiler valve river", "--dir", "notes", "--max-tokens", str(budget), "--json")
        assert ran.code == 0, ran.err
        compact = json.dumps(ran.json, ensure_ascii=False, separators=(",", ":"))
        assert tokens(compact) <= budget or ran.json == []
        assert ran.json or budget < 100, "even the best passage was starved"
        assert ran.err.strip(), "something was left out and nothing says so"
    ran = cli("store", "retrieve", "--search", "boiler", "--max-tokens", "600", "--dir", "notes", "--json")
    assert ran.json


# -- edits and the index -------------------------------------------------------------------------------------------

KEYS = ("index", "a", "b", "dir/a", "dir/c", "dir/sub/d", "ü x")
TEXTS = (
    "# Alpha\n\nwords about boilers and [b](b.md)\n",
    "# Beta\n\n[a](a.md)\n\n[[c]]\n\ntext with [[dir/a|shown]] valve\n",
    "---\ntitle: Gamma\nstatus: open\n---\n"
    "Body [up](../a.md#part) and [root](/dir/c.md)\n\n## Part\n\nharbour lantern\n",
    "no title, [gone](nowhere.md), [x](<ü x.md>), [y](%C3%BC%20x.md)\n",
    "# Delta\r\n\r\n- [d](sub/d.md)\r\n- copper\r\n",
    "",
    "---\nbroken: [\n---\n\n# Epsilon\n\nriver [self](b)\n",
)
OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["create", "update", "delete", "rename", "outside", "unlink", "query", "reopen", "rebuild"]),
        st.sampled_from(KEYS), st.sampled_from(KEYS), st.sampled_from(TEXTS),
    ),
    min_size=1, max_size=10,
)  # fmt: skip


QUESTIONS_OF_EDITS = ("boilers", "valve harbour lantern", "copper river", "Alpha Beta", "shown words", "outside")


def view(store: KnowledgeStore) -> dict[str, Any]:
    """Everything that the store says, in one value."""
    keys = list(store.library.keys())
    found = {}
    for question in QUESTIONS_OF_EDITS:
        packing = store.search(question)
        found[question] = [(p.key, p.digest, p.text, p.span, p.head) for p in packing.pieces]
    return {
        "keys": keys,
        "titles": [store.library.title(key) for key in keys],
        "tree": store.tree(depth=0),
        "stats": store.stats(similar=False),
        "pages": {key: store.stats(key, similar=False) for key in keys},
        "find": store.find().items,
        "count": store.query("count", "filter: {status: open}"),
        "search": found,
        "ranked": {question: store.ranked(question) for question in QUESTIONS_OF_EDITS},
        "squash": {key: store.squash(key, depth=0) for key in keys},
    }


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(OPERATIONS)
def test_random_edits_leave_what_a_rebuild_from_scratch_makes(
    tmp_path_factory: pytest.TempPathFactory, operations: list[tuple[str, str, str, str]]
) -> None:
    root = tmp_path_factory.mktemp("edits")
    write(root, {"index": "# Index\n\n[a](a.md)\n\n[dir](dir/a.md)\n", "a": TEXTS[0], "dir/a": TEXTS[1]})
    store = KnowledgeStore.open(root, writable=True)
    reader = KnowledgeStore.open(root)
    for what, key, other, text in operations:
        try:
            if what == "create":
                store.create(key, text)
            elif what == "update":
                store.update(key, text)
            elif what == "delete":
                store.delete(key)
            elif what == "rename":
                store.rename(key, other)
            elif what == "outside":
                write(root, {key: text + "outside\n"})
                store.refresh()
            elif what == "unlink":
                (root / f"{key}.md").unlink(missing_ok=True)
                store.refresh()
            elif what == "query":
                store.query("update", {"filter": {"$key": key}, "update": {"$set": {"status": "open"}}})
            elif what == "rebuild":
                store.rebuild()
            else:
                store.close()
                store = KnowledgeStore.open(root, writable=True)
        except MemassayError:
            pass
        reader.refresh()
        for question in QUESTIONS_OF_EDITS:  # what is kept from one search must not outlive an edit
            assert store.ranked(question) == reader.ranked(question), (what, question)
    seen = view(store)
    assert view(reader) == seen, "a reader that stayed open sees something else"
    reader.close()
    store.close()
    assert seen["keys"] == sorted(path.relative_to(root).as_posix()[:-3] for path in root.rglob("*.md"))
    with KnowledgeStore.open(root) as reader:
        assert view(reader) == seen, "a reader of the index sees something else"
    shutil.rmtree(root / ".memassay")
    with KnowledgeStore.open(root, writable=True) as fresh:
        assert view(fresh) == seen, "an index from scratch says something else"


def renumbered(root: Path) -> None:
    """Pages of which the last edited one comes first by its key."""
    write(root, {f"p{n}": f"# P {n}\n\nthe boiler of {n}\n" for n in range(6)})


def test_a_store_that_was_searched_answers_the_same_after_a_rebuild(tmp_path: Path) -> None:
    renumbered(tmp_path)
    with KnowledgeStore.open(tmp_path, writable=True) as store:
        store.update("p0", "# P 0\n\nthe boiler of 0, quokka\n")
        assert store.ranked("quokka") == ["p0"]
        store.rebuild()
        assert store.ranked("quokka") == ["p0"]


def test_a_reader_that_was_asked_answers_right_after_a_writer_rebuilt(tmp_path: Path) -> None:
    renumbered(tmp_path)
    with KnowledgeStore.open(tmp_path, writable=True) as store:
        store.update("p0", "# P 0\n\nthe boiler of 0, quokka\n")
        with KnowledgeStore.open(tmp_path) as reader:
            assert reader.ranked("quokka") == ["p0"]
            store.rebuild()
            reader.refresh()
            assert reader.ranked("quokka") == ["p0"]


def test_one_writer_many_readers(tmp_path: Path) -> None:
    root = write(
        tmp_path / "notes", {f"p{n}": f"# P {n}\n\nthe boiler of {n}, see [next](p{n + 1}.md)\n" for n in range(60)}
    )
    with KnowledgeStore.open(root, writable=True) as store:
        with pytest.raises(EnvironmentProblem):
            KnowledgeStore.open(root, writable=True)
        wrong: list[BaseException] = []
        done = threading.Event()

        def read() -> None:
            try:
                while not done.is_set():
                    for piece in store.search("boiler of 7", limit=20).pieces:
                        assert "boiler" in piece.text
                    with KnowledgeStore.open(root) as reader:
                        assert reader.search("boiler").pieces
            except BaseException as error:
                wrong.append(error)

        readers = [threading.Thread(target=read, daemon=True) for _ in range(3)]
        for reader in readers:
            reader.start()
        try:
            for n in range(60):
                store.update(f"p{n}", f"# P {n}\n\nthe boiler of {n} was seen, word{n}, [next](p{n + 1}.md)\n")
                assert store.search(f"word{n}").pieces[0].key == f"p{n}", "an edit is not searchable"
        finally:
            done.set()
        for reader in readers:
            reader.join()
        assert wrong == []


def test_an_index_that_is_damaged_is_made_anew(cli: Cli, workplace: Path) -> None:
    write(workplace / "notes", {"a": TEXTS[0], "b": TEXTS[1], "dir/a": TEXTS[2]})
    assert cli("store", "index", "--dir", "notes").code == 0
    expected = cli("store", "search", "boilers", "--dir", "notes", "--json").json
    assert expected
    files = [path for path in (workplace / "notes" / ".memassay").rglob("*") if path.is_file()]
    for path in files:
        kept = path.read_bytes()
        for damage in (kept[: len(kept) // 2], b"\xff" * 64 + kept):
            path.write_bytes(damage)
            ran = cli("store", "search", "boilers", "--dir", "notes", "--json")
            assert ran.code == 0, (path.name, ran.err)
            assert ran.json == expected, path.name
            ran = cli("store", "index", "--dir", "notes")
            assert ran.code == 0, (path.name, ran.err)
            assert cli("store", "search", "boilers", "--dir", "notes", "--json").json == expected
            assert cli("store", "index", "--rebuild", "--dir", "notes").code == 0


# -- hostile Markdown ----------------------------------------------------------------------------------------------


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


# -- the server ----------------------------------------------------------------------------------------------------


class Client:
    """JSON-RPC, line by line, to the server as a client starts it."""

    def __init__(self, home: Path, *args: str) -> None:
        self.popen = subprocess.Popen(
            [str(Path(sys.executable).with_name("memassay")), "memory", "serve", *args],
            env=child_environment(home), cwd=home,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.number = 0
        hello = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        assert "serverInfo" in self.ask("initialize", hello)["result"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message: Any) -> None:
        assert self.popen.stdin is not None
        self.popen.stdin.write(json.dumps(message).encode() + b"\n")
        self.popen.stdin.flush()

    def ask(self, method: str, params: Any) -> Any:
        assert self.popen.stdout is not None
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while True:
            reply = json.loads(self.popen.stdout.readline())
            if reply.get("id") == self.number:
                return reply

    def call(self, tool: str, **arguments: Any) -> tuple[bool, str]:
        """Whether it failed, and the first text."""
        reply = self.ask("tools/call", {"name": tool, "arguments": arguments})
        if "error" in reply:
            return True, reply["error"]["message"]
        result = reply["result"]
        return bool(result.get("isError")), result["content"][0]["text"] if result["content"] else ""

    def tools(self) -> set[str]:
        return {tool["name"] for tool in self.ask("tools/list", {})["result"]["tools"]}

    def end(self) -> int:
        self.popen.communicate(timeout=30)
        return self.popen.returncode


READS = {"find", "retrieve", "search", "tree", "squash", "stats", "query"}
WRITES = {"create", "update", "delete", "rename"}


def test_the_server_reads_and_writes_nothing_unless_told(tmp_path: Path, own_home: Path) -> None:
    pytest.importorskip("mcp")
    pages = {
        "index": "# I\n\n[a](a.md)\n",
        "a": "---\nstatus: open\n---\n# A\n\nThe boiler's valve.\n",
        "b": "# B\n\nsee [a](a.md)\n",
    }
    root = write(tmp_path / "notes", pages)
    before = tree(tmp_path)
    client = Client(own_home, "--store", str(root))
    assert client.tools() == READS
    failed, text = client.call("search", text="boiler valve", max_tokens=300)
    assert not failed
    assert json.loads(text)[0]["key"] == "a"
    assert tokens(text) <= 300
    for tool, arguments in (
        ("find", {"lexical": "boiler"}), ("retrieve", {"keys": ["b"], "expand": {"references": 1}}), ("tree", {}),
        ("squash", {"key": "index"}), ("stats", {}),
        ("query", {"operation": "count", "document": "filter: {status: open}"}),
        ("query", {"operation": "delete", "document": "{filter: {$key: a}, expect: 1}", "dry_run": True}),
    ):  # fmt: skip
        failed, text = client.call(tool, **arguments)
        assert not failed, (tool, text)
        if tool != "squash":
            json.loads(text)
    for tool, arguments in (
        ("query", {"operation": "update", "document": "{filter: {$key: a}, update: {$set: {x: 1}}, expect: 1}"}),
        ("query", {"operation": "delete", "document": "{filter: {$key: a}, expect: 1}"}),
        ("create", {"key": "n", "content": "x"}), ("update", {"key": "a", "content": "x"}), ("delete", {"key": "a"}),
        ("rename", {"old_key": "a", "new_key": "z"}), ("search", {}), ("squash", {"key": "../secret"}),
        ("retrieve", {"keys": ["no such page"]}), ("find", {"limit": -1}), ("nothing", {}),
    ):  # fmt: skip
        failed, text = client.call(tool, **arguments)
        assert failed, tool
        assert text and "Traceback" not in text
    assert tree(tmp_path) == before
    write(root, {"new": "# New\n\nxylophone\n"})
    deadline = time.monotonic() + 5
    while "new" not in client.call("search", text="xylophone")[1] and time.monotonic() < deadline:
        time.sleep(0.05)
    assert json.loads(client.call("search", text="xylophone")[1])[0]["key"] == "new"
    assert client.end() == 0


def test_the_server_edits_when_told(tmp_path: Path, own_home: Path) -> None:
    pytest.importorskip("mcp")
    root = write(tmp_path / "notes", {"a": "# A  \r\n\r\n*  x\r\n", "b": "# B\n\nsee [a](a.md)\n"})
    client = Client(own_home, "--store", str(root), "--write", "--prefix", "iwe_")
    assert client.tools() == {f"iwe_{name}" for name in READS | WRITES}
    assert not client.call("iwe_create", key="dir/n", content="# N  \n\n\n*  quokka  \n")[0]
    assert (root / "dir" / "n.md").read_bytes() == b"# N  \n\n\n*  quokka  \n"
    assert json.loads(client.call("iwe_search", text="quokka")[1])[0]["key"] == "dir/n"
    assert client.call("iwe_create", key="../n", content="x")[0]
    assert client.call("iwe_query", operation="update", document="{filter: {$key: a}, update: {$set: {x: 1}}}")[0], (
        "no expect"
    )
    assert not client.call("iwe_rename", old_key="a", new_key="dir/a")[0]
    assert (root / "dir" / "a.md").read_bytes() == b"# A  \r\n\r\n*  x\r\n"
    assert (root / "b.md").read_text() == "# B\n\nsee [a](dir/a.md)\n"
    assert client.end() == 0
    assert not (tmp_path / "n.md").exists()


def test_a_folder_that_is_not_there_is_one_sentence(cli: Cli, workplace: Path) -> None:
    for command in (["memory", "serve", "--store", "nowhere"], ["store", "search", "x", "--dir", "nowhere"]):
        ran = cli(*command)
        assert ran.code in (2, 3)
        assert "nowhere" in ran.complaint
    write(workplace / "notes", {"a": "# A\n"})
    for command in (["retrieve", "b"], ["squash", "b"], ["stats", "b"], ["update", "b", "--content", "x"],
                    ["delete", "b"],
                    ["rename", "b", "c"], ["create", "a", "--content", "x"], ["query", "find", "filter: {$oops: 1}"],
                    ["query", "find", "{"], ["query", "burn", "{}"], ["create", "../x", "--content", "x"]):  # fmt: skip
        ran = cli("store", *command, "--dir", "notes")
        assert ran.code == 2, command
        assert ran.complaint
    assert tree(workplace / "notes").get("a.md") == b"# A\n"


# -- memory check --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "memory",
    ["files", pytest.param("lexical", marks=pytest.mark.slow), pytest.param("markdown", marks=pytest.mark.slow)],
)
def test_memory_check_passes_on_ours(memory: str, cli: Cli) -> None:
    ran = cli("memory", "check", memory, "--json")
    assert ran.code == 0, ran.out
    assert ran.json["passed"] is True
    status = {check["name"]: check["status"] for check in ran.json["checks"]}
    needed = {"documents", "sources", "budget", "deterministic", "read-only", "unicode", "empty-store", "same-names",
              "concurrent-reads", "big-document", "reopening"}  # fmt: skip
    assert needed <= set(status)
    assert {status[name] for name in needed} == {"passed"}


FAULTY = """
import json
from pathlib import Path

from memassay.core.errors import CannotMeasure
from memassay.core.types import Passage


class Faulty:
    def __init__(self, *, fault: str = "") -> None:
        self.fault = fault

    def build(self, corpus, place, context):
        if self.fault == "cannot":
            raise CannotMeasure("it needs a model and has none")
        rows = [[d.id, d.text or " ".join(u.text for u in d.units)] for d in corpus.documents]
        (Path(place) / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
        return {"passages": len(rows)}

    def open(self, ref):
        return Store(self.fault, Path(ref.location))


class Store:
    def __init__(self, fault, place):
        self.fault, self.place, self.asked = fault, place, 0
        self.rows = json.loads((place / "rows.json").read_text(encoding="utf-8"))

    def retrieve(self, query):
        self.asked += 1
        if self.fault == "writes":
            (self.place / "log.txt").write_text(str(self.asked), encoding="utf-8")
        words = set(query.text.casefold().split())
        rows = sorted(self.rows, key=lambda row: -len(words & set(row[1].casefold().split())))
        if self.fault == "moody" and self.asked % 2:
            rows.reverse()
        name = (lambda key: "invented") if self.fault == "invents" else (lambda key: key)
        return [Passage(text=text, doc_ids=(name(key),)) for key, text in rows[:50] if text.strip()]
"""


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        pytest.param("writes", "read-only", marks=pytest.mark.slow),
        pytest.param("moody", "deterministic", marks=pytest.mark.slow),
        ("invents", "sources"),
    ],
)
def test_memory_check_names_the_defect_and_ends_with_1(fault: str, check: str, cli: Cli, workplace: Path) -> None:
    Path("faulty.py").write_text(FAULTY, encoding="utf-8")
    ran = cli("memory", "check", "./faulty.py:Faulty", "--set", f"Faulty.fault={fault}", "--json")
    assert ran.code == 1, ran.out
    assert ran.json["passed"] is False
    failed = {row["name"]: row for row in ran.json["checks"] if row["status"] == "failed"}
    assert check in failed, set(failed)
    assert failed[check]["seen"] and failed[check]["fix"]


def test_memory_check_ends_with_2_or_3_where_there_is_nothing_to_check(cli: Cli, workplace: Path) -> None:
    Path("faulty.py").write_text(FAULTY, encoding="utf-8")
    ran = cli("memory", "check", "./faulty.py:Faulty", "--set", "Faulty.fault=cannot")
    assert ran.code == 3
    assert "it needs a model and has none" in ran.out + ran.err
    assert cli("memory", "check", "marckdown").code == 2
    assert "markdown" in cli("memory", "check", "marckdown").complaint
    assert cli("memory", "check", "./faulty.py:Other").code == 2
    assert cli("memory", "check", "markdown", "--set", "markdown.seed=3").code == 2


def test_memory_list_names_ours_with_their_settings(cli: Cli) -> None:
    listed = {row["name"]: row for row in cli("memory", "list", "--json").json}
    assert {"files", "lexical", "full-context", "markdown", "hybrid", "passages"} <= set(listed)
    names = {setting["name"] for setting in listed["markdown"]["settings"]}
    assert {"seeds", "depth", "whole", "max_chars"} <= names


# -- the memory in a run -------------------------------------------------------------------------------------------


def test_the_store_of_a_run_can_be_read_and_served_and_not_edited(cli: Cli, workplace: Path) -> None:
    run = [
        "run",
        "hotpotqa",
        "--sample",
        "--links",
        "titles",
        "--memory",
        "markdown",
        "--limit",
        "4",
        "--tokens",
        "chars4",
    ]
    assert cli(*run, "--no-controls", "--out", "r").code == 0
    (folder,) = [path for path in workplace.glob("stores/*/store")]
    before = tree(folder)
    (place,) = {path.parent for path in folder.rglob("*.md")}
    assert len(list(place.glob("*.md"))) == 127
    ran = cli("store", "search", "town on the river", "--dir", place, "--json")
    assert ran.code == 0
    assert ran.json
    assert all((place / f"{row['key']}.md").is_file() for row in ran.json)
    stats = cli("store", "stats", "--dir", place, "--json").json
    assert (stats["pages"], stats["brokenLinks"]) == (127, [])
    assert tree(folder) == before
    again = cli(*run, "--no-controls", "--out", "again", "--json")
    assert again.code == 0, again.err
