"""The index follows the pages: after random edits, in many readers, after a rebuild, after damage."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from knowledge_kit import TEXTS, write

from kit import Cli
from memassay.core.errors import EnvironmentProblem, MemassayError
from memassay.knowledge.store import KnowledgeStore

KEYS = ("index", "a", "b", "dir/a", "dir/c", "dir/sub/d", "ü x")
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
