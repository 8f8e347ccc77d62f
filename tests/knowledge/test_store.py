from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scenes import assert_equal, keys, page_text

from memassay.core.digest import digest_folder
from memassay.core.dossier import block
from memassay.core.errors import DataError, EnvironmentProblem, UsageError
from memassay.core.tokens import count
from memassay.knowledge import index as index_module
from memassay.knowledge.entries import Settings
from memassay.knowledge.snapshot import Snapshot
from memassay.knowledge.store import PLACE, KnowledgeStore

PAGES = {
    "index": "# Notes\n\n[Ada](people/ada.md)\n\nSee [[london]].\n",
    "people/ada": "---\nborn: 1815\n---\n# Ada Lovelace\n\nShe wrote of the engine in [London](../places/london.md).\n",
    "places/london": "# London (city)\n\nA river and a bridge.\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    for key, text in PAGES.items():
        write(folder, key, text)
    return folder


def write(root: Path, key: str, text: str) -> None:
    path = root / f"{key}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def rebuilt(root: Path, settings: Settings = Settings()) -> Snapshot:  # noqa: B008
    """The snapshot of an index made from nothing, in memory."""
    store = KnowledgeStore.open(root, settings=settings)
    store._index.separate()
    store.rebuild()
    return store.snapshot


# -- asking --------------------------------------------------------------------------------------------------------


def test_search_gives_passages_within_a_budget(root: Path) -> None:
    store = KnowledgeStore.open(root)
    found = store.search("Who wrote about the engine?")
    piece, *linked = found.pieces
    assert piece.key == "people/ada"
    assert {other.key for other in linked} == {"index", "places/london"}  # they share no word; links lead there
    assert PAGES["people/ada"][slice(*piece.span)] == piece.text and piece.text.startswith("# Ada Lovelace")
    small = store.search("engine river london", max_tokens=20)
    text = "".join(block(rank, piece.text) for rank, piece in enumerate(small.pieces, 1))
    assert 0 < count(text) <= 20 and small.left_out
    assert [piece.key for piece in store.search("london", limit=1).pieces] == ["places/london"]
    assert store.search("nowhere").pieces == ()
    assert store.ranked("london engine") == ["people/ada", "places/london", "index"]


def test_search_looks_on_where_few_tokens_are_many_characters(tmp_path: Path) -> None:
    root = tmp_path / "rules"
    root.mkdir()
    for number in range(6):
        (root / f"p{number}.md").write_text(f"boiler {number} {'=' * 900}\n", encoding="utf-8")
    store = KnowledgeStore.open(root)
    every = store.search("boiler")
    assert every.tokens < 400 and sum(len(piece.text) for piece in every.pieces) > 5000
    assert store.search("boiler", max_tokens=400).pieces == every.pieces  # 8 * 400 characters would be four of them
    assert store.search("boiler", max_tokens=every.tokens - 1).pieces != every.pieces


def test_search_takes_another_ranking(root: Path) -> None:
    store = KnowledgeStore.open(root)

    def backwards(snapshot: Snapshot, text: str) -> tuple[list[int], NDArray[np.floating]]:
        return list(range(snapshot.passages))[::-1], np.arange(snapshot.passages, dtype=np.float64)

    for grain in ("passage", "section", "page"):
        found = store.search("whatever", rank=backwards, grain=grain)
        assert [piece.key for piece in found.pieces] == ["places/london", "people/ada", "index"]


def test_views_and_queries_run_over_the_index(root: Path) -> None:
    store = KnowledgeStore.open(root)
    assert [item["key"] for item in store.find(lexical="engine").items] == ["people/ada"]
    documents = {item["key"]: item for item in store.retrieve(["index"]).items}
    assert documents["index"]["content"] == PAGES["index"]
    assert [item["key"] for item in store.tree()] == ["index"] or store.tree()[0]["children"]
    assert "She wrote" in store.squash("index")
    assert store.stats()["pages"] == 3 and store.stats("people/ada")["title"] == "Ada Lovelace"
    assert store.query("count", {"filter": {"born": 1815}}).result == {"count": 1}
    assert store.library.out("index") == ["people/ada", "places/london"]
    assert store.library.into("places/london", "reference") == ["index", "people/ada"]
    assert store.library.into("people/ada", "inclusion") == ["index"]
    assert store.library.title("places/london") == "London (city)" and store.library.page("nobody") is None


def test_similar_pages(tmp_path: Path) -> None:
    draw = random.Random(4)
    words = [f"word{number}" for number in range(400)]
    first = " ".join(draw.choices(words, k=90))
    write(tmp_path, "a", first)
    write(tmp_path, "b", first + " and a little more")
    write(tmp_path, "c", " ".join(draw.choices(words, k=90)))
    write(tmp_path, "short", "word1 word2")
    write(tmp_path, "long", first + " " + " ".join(draw.choices(words, k=400)))
    store = KnowledgeStore.open(tmp_path)
    (pair,) = store.stats()["similarPages"]
    assert pair["keys"] == ["a", "b"] and 0.85 < pair["score"] <= 1


# -- editing -------------------------------------------------------------------------------------------------------


def test_edits_are_searched_at_once(root: Path) -> None:
    with KnowledgeStore.open(root, writable=True) as store:
        assert store.create("people/grace", "# Grace Hopper\n\nShe wrote a compiler.\n")
        assert [piece.key for piece in store.search("compiler").pieces] == ["people/grace"]
        assert not store.create("people/grace", "other", if_exists="skip")
        with pytest.raises(UsageError, match="exists already"):
            store.create("people/grace", "other")
        change = store.update("people/grace", "# Grace Hopper\n\nShe found a moth.\n")
        assert "compiler" in (change.before or "") and store.search("compiler").pieces == ()
        assert [piece.key for piece in store.search("moth").pieces] == ["people/grace"]
        store.rename("places/london", "cities/london")
        assert "cities/london" in store.library and "places/london" not in store.library
        assert "../cities/london.md" in (root / "people/ada.md").read_text()
        assert store.library.out("index") == ["cities/london", "people/ada"]
        store.delete("people/ada")
        assert store.library.keys() == ["cities/london", "index", "people/grace"]
        store.query("update", {"filter": {"$key": "index"}, "update": {"$set": {"seen": True}}})
        assert (root / "index.md").read_text().startswith("---\nseen: true\n---\n")
        with pytest.raises(UsageError, match="no page"):
            store.update("nobody", "text")
        assert_equal(store.snapshot, rebuilt(root))
    with KnowledgeStore.open(root, writable=True) as store:
        assert_equal(store.snapshot, rebuilt(root))


def test_a_reading_store_edits_nothing(root: Path) -> None:
    before = digest_folder(root)
    store = KnowledgeStore.open(root)
    with pytest.raises(UsageError, match="opened to be read; open it for writing"):
        store.create("new", "text")
    with pytest.raises(UsageError, match="opened to be read"):
        store.rename("index", "start")
    assert [change.key for change in store.rename("index", "start", dry_run=True)] == ["index", "start"]
    assert digest_folder(root) == before


def test_a_page_that_changed_meanwhile_is_not_overwritten(root: Path) -> None:
    with KnowledgeStore.open(root, writable=True) as store:
        changes = store.rename("places/london", "cities/london", dry_run=True)
        write(root, "people/ada", PAGES["people/ada"] + "\nAn edit from outside.\n")
        before = digest_folder(root / "people")
        with pytest.raises(DataError, match="not what it was"):
            store.apply(changes)
        assert digest_folder(root / "people") == before and (root / "places/london.md").exists()


# -- following the folder ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("writable", [True, False])
def test_edits_from_outside(root: Path, writable: bool) -> None:
    KnowledgeStore.open(root, writable=True).close()
    before = digest_folder(root / PLACE)
    store = KnowledgeStore.open(root, writable=writable)
    assert not store.refresh()
    write(root, "people/ada", "# Ada\n\nShe liked music.\n")
    (root / "places/london.md").unlink()
    write(root, "new/page", "Entirely new.\n")
    assert store.refresh(["people/ada"])
    assert store.search("music").pieces and not store.search("entirely").pieces
    assert store.refresh() and not store.refresh()
    assert_equal(store.snapshot, rebuilt(root))
    store.close()
    assert writable or digest_folder(root / PLACE) == before


def test_a_file_changed_twice_in_one_tick_of_the_clock(root: Path) -> None:
    with KnowledgeStore.open(root, writable=True) as store:
        path = root / "index.md"
        about = path.stat()
        path.write_text(PAGES["index"].replace("Notes", "Nodes"))
        os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
        assert store.refresh()
        assert store.library.title("index") == "Nodes"
        old = time.time_ns() - 10**10
        os.utime(path, ns=(old, old))
        assert not store.refresh()  # read again, for its time has changed, and found to say the same
        assert store._index.marks(["index"])["index"].mtime == old


def test_what_is_no_page_is_left_alone(root: Path) -> None:
    write(root, ".hidden/page", "Hidden.\n")
    (root / "bell\x07.md").write_text("No key.\n")
    (root / "bytes.md").write_bytes(b"caf\xe9 \xff\n")
    (root / "lines.md").write_bytes(b"\xef\xbb\xbf# Title\r\n\r\nWords.\r\n")
    store = KnowledgeStore.open(root)
    assert store.library.keys() == ["bytes", "index", "lines", "people/ada", "places/london"]
    assert store.library.title("lines") == "Title"
    write(root, "marked", "A \ufffd that stands there.\n")
    store.refresh()
    assert store.stats()["problems"] == [{"key": "bytes", "problem": "not UTF-8, never edited"}]
    assert store.stats("bytes")["problem"] == "not UTF-8, never edited" and store.stats("marked")["problem"] is None


def test_keys_with_their_extension(root: Path) -> None:
    with KnowledgeStore.open(root, writable=True) as store:
        assert store.create("new.md", "# New\n") and (root / "new.md").is_file() and "new" in store.library
        store.rename("new.md", "newer.md")
        assert store.update("newer.md", "# Newer\n").key == "newer"
        assert [item["key"] for item in store.retrieve(["newer.md", "index"], exclude=["index.md"]).items] == ["newer"]
        assert [item["key"] for item in store.find(refs_to="people/ada.md").items] == ["index"]
        assert store.stats("newer.md")["title"] == "Newer" and store.squash("newer.md") == "# Newer\n"
        assert [item["key"] for item in store.tree(["newer.md"])] == ["newer"]
        assert [change.key for change in store.delete("newer.md")] == ["newer"]


@pytest.mark.parametrize("question", ["find", "retrieve"])
def test_what_counts_no_tokens_loads_no_tokenizer(root: Path, question: str) -> None:
    KnowledgeStore.open(root, writable=True).close()
    old = time.time_ns() - 10**10
    for key in PAGES:
        os.utime(root / f"{key}.md", ns=(old, old))
    KnowledgeStore.open(root, writable=True).close()
    words = {"find": ["engine"], "retrieve": ["index.md"]}[question]
    script = (
        "import sys; from memassay.cli.store import app\n"
        "app(standalone_mode=False)\n"
        "print([name for name in ('bpe_openai', 'scipy', 'bm25s', 'mcp') if name in sys.modules])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, question, *words, "--dir", str(root)],
        capture_output=True,
        check=True,
        text=True,
    )
    assert ran.stdout.splitlines()[-1] == "[]" and len(ran.stdout.splitlines()) > 1


@pytest.mark.parametrize("steps", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_random_edits_equal_a_rebuild(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    monkeypatch.setattr(index_module, "_LEAST_FRESH", 12)
    draw = random.Random(steps)
    root, settings = tmp_path / "notes", Settings(tokens="chars4", max_chars=120)
    root.mkdir()
    store = KnowledgeStore.open(root, writable=True, settings=settings)
    for step in range(steps):
        held = list(store.library.keys())
        free = sorted(set(keys()) - set(held))
        kind = draw.choice(("create", "update", "delete", "rename", "outside", "outside", "crash"))
        if kind == "create" and free:
            store.create(draw.choice(free), page_text(draw))
        elif kind == "update" and held:
            store.update(draw.choice(held), page_text(draw))
        elif kind == "delete" and held:
            store.delete(draw.choice(held))
        elif kind == "rename" and held and free:
            store.rename(draw.choice(held), draw.choice(free))
        elif kind == "outside":
            for key in draw.sample(keys(), 3):
                if key in held and draw.random() < 0.3:
                    (root / f"{key}.md").unlink()
                else:
                    write(root, key, page_text(draw))
            store.refresh()
        elif kind == "crash":
            store.close()
            write(root, draw.choice(keys()), page_text(draw))  # written, and the index not told
            store = KnowledgeStore.open(root, writable=True, settings=settings)
        if step % 10 == 9:
            assert_equal(store.snapshot, rebuilt(root, settings))
    store.close()


# -- where the index is --------------------------------------------------------------------------------------------


def test_reading_writes_nothing_into_the_folder(root: Path, tmp_path: Path) -> None:
    before = digest_folder(root)
    with KnowledgeStore.open(root) as store:
        assert store.search("engine").pieces
        store.rebuild()
    assert digest_folder(root) == before
    elsewhere = tmp_path / "elsewhere"
    with KnowledgeStore.open(root, index=elsewhere) as store:
        assert store.search("engine").pieces
    assert digest_folder(root) == before and (elsewhere / "catalog.sqlite").is_file()
    with KnowledgeStore.open(root, index=elsewhere, refresh=False) as store:
        assert store.search("engine").pieces


def test_an_index_somebody_else_keeps_is_read(root: Path, tmp_path: Path) -> None:
    place = tmp_path / "index"
    with KnowledgeStore.open(root, writable=True, index=place) as writer:
        with pytest.raises(EnvironmentProblem, match="open for writing"):
            KnowledgeStore.open(root, writable=True, index=place)
        with KnowledgeStore.open(root, index=place) as reader:
            writer.create("new", "Entirely new words.")
            assert reader.refresh() and reader.search("entirely").pieces
            assert not reader._index.writable
            write(root, "outside", "Words that the writer has not seen.")
            assert reader.refresh() and reader.search("writer").pieces and reader._index.writable
    assert "outside" not in writer.library


def test_an_index_that_is_taken_as_it_is(root: Path) -> None:
    KnowledgeStore.open(root, writable=True).close()
    write(root, "later", "Written later.")
    with KnowledgeStore.open(root, refresh=False) as store:
        assert "later" not in store.library
        assert store.refresh() and "later" in store.library
    assert (root / PLACE / ".gitignore").read_text() == "*\n"


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a folder"):
        KnowledgeStore.open(tmp_path / "missing")
    (tmp_path / "empty").mkdir()
    store = KnowledgeStore.open(tmp_path / "empty")
    assert store.search("anything").pieces == () and store.library.keys() == [] and store.stats()["pages"] == 0


def test_every_process_makes_the_same_index(root: Path) -> None:
    script = (
        "import sys, hashlib; from pathlib import Path\n"
        "from memassay.knowledge.store import KnowledgeStore\n"
        "store = KnowledgeStore.open(Path(sys.argv[1])); s = store.snapshot\n"
        "print(hashlib.sha256(s.scores(['london', 'engin']).tobytes() + s.term_ids(['ada']).tobytes()).hexdigest())\n"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", script, str(root)],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(found) == 1 and next(iter(found)).strip()
