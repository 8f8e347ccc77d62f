from __future__ import annotations

import json
import re
import shutil
import sqlite3
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from association_forms import build, corpus_of, ref_of, world_of
from hypothesis import given, settings
from hypothesis import strategies as st

from kit import printed_elsewhere
from memassay.core.contracts import BuildContext
from memassay.core.digest import digest_folder
from memassay.core.errors import CannotMeasure, DataError
from memassay.suites.association.forms import JsonFiles, Sqlite, reading
from memassay.suites.association.forms.guide import readme
from memassay.suites.association.forms.reading import Facts, read_json_files, read_sqlite
from memassay.suites.association.truth import TASK_RULES
from memassay.suites.association.world import FIELDS, LABELS, ROLES, World, make_world

FORMS = [pytest.param(JsonFiles(), read_json_files, id="json-files"), pytest.param(Sqlite(), read_sqlite, id="sqlite")]
MEMORIES = [pytest.param(JsonFiles(), id="json-files"), pytest.param(Sqlite(), id="sqlite")]


@pytest.fixture(scope="module")
def published() -> World:
    return make_world()


@pytest.mark.parametrize(("memory", "read"), FORMS)
@pytest.mark.parametrize("scale", [3, 40])
def test_a_form_holds_the_world(memory: Any, read: Callable[[Path], Facts], scale: int, tmp_path: Path) -> None:
    world = world_of(scale)
    facts = read(build(memory, tmp_path, world))
    assert list(facts.nodes) == list(world.nodes)
    assert list(facts.changes) == list(world.changes)
    assert facts.roles == ROLES


@pytest.mark.parametrize("memory", MEMORIES)
def test_the_published_world_comes_back_with_its_digest(memory: Any, published: World, tmp_path: Path) -> None:
    told = memory.build(corpus_of(published), tmp_path, BuildContext())
    memory.verify(ref_of(tmp_path), corpus_of(published))
    assert told == {"passages": 2000, "facts": {"digest": "3107779e2a7d1dd0", "entities": 2000, "changes": 300}}
    stamp = json.loads((tmp_path / "stamp.json").read_text())
    assert (stamp["facts"], stamp["seed"], stamp["scale"]) == ("3107779e2a7d1dd0", 20260910, 2000)
    assert memory.open(ref_of(tmp_path)).folder() == tmp_path / "form"


def test_the_json_files_are_as_large_as_the_published_ones(published: World, tmp_path: Path) -> None:
    form = build(JsonFiles(), tmp_path, published) / "form"
    sizes = {path.relative_to(form).as_posix(): path.stat().st_size for path in form.rglob("*") if path.is_file()}
    rounded = {name: round(size / 1000) for name, size in sizes.items() if name != "README.md"}
    assert rounded == {
        "changes.jsonl": 74,
        "entities/company.json": 222,
        "entities/job.json": 109,
        "entities/talent.json": 730,
        "roles.json": 0,
    }


def test_equal_worlds_give_equal_bytes(tmp_path: Path) -> None:
    for memory in (JsonFiles(), Sqlite()):
        build(memory, tmp_path / "here" / type(memory).__name__)
    program = (
        "import sys, tempfile, pathlib\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from association_forms import build\n"
        "from memassay.core.digest import digest_folder\n"
        "from memassay.suites.association.forms import JsonFiles, Sqlite\n"
        "place = pathlib.Path(tempfile.mkdtemp())\n"
        "for memory in (JsonFiles(), Sqlite()):\n"
        "    build(memory, place / type(memory).__name__)\n"
        "print(digest_folder(place))"
    )
    assert printed_elsewhere(program, tmp_path) == {digest_folder(tmp_path / "here")}


@pytest.mark.parametrize("memory", MEMORIES)
def test_a_smaller_world_leaves_nothing_of_a_larger_one(memory: Any, tmp_path: Path) -> None:
    build(memory, tmp_path / "both", world_of(60))
    (tmp_path / "both" / "form" / "left.txt").write_text("x")
    build(memory, tmp_path / "both", world_of(12))
    assert digest_folder(tmp_path / "both") == digest_folder(build(memory, tmp_path / "one", world_of(12)))


def test_the_text_of_a_world_is_never_in_memory_as_a_whole(tmp_path: Path) -> None:
    corpus = corpus_of(world_of(3000))
    tracemalloc.start()
    try:
        JsonFiles().build(corpus, tmp_path, BuildContext())
        JsonFiles().verify(ref_of(tmp_path), corpus)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    written = sum(path.stat().st_size for path in tmp_path.rglob("*.json"))
    assert written > 1_000_000
    assert peak < written / 3


@pytest.mark.parametrize("memory", MEMORIES)
def test_progress_is_told(memory: Any, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    memory.build(corpus_of(world_of(3000)), tmp_path, BuildContext(progress=lambda *at: told.append(at)))
    assert told == [(1000, 3000), (2000, 3000), (3000, 3000)]


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("native", [None, "a conversation"])
def test_another_corpus_cannot_be_measured(memory: Any, native: Any, tmp_path: Path) -> None:
    with pytest.raises(CannotMeasure, match="builds only from the world of the suite association"):
        memory.build(corpus_of(native), tmp_path, BuildContext())
    assert list(tmp_path.iterdir()) == []


# -- what an agent reads -------------------------------------------------------------------------------------------


def test_the_guide_is_the_same_but_for_its_end() -> None:
    texts = [readme(form) for form in ("json-files", "sqlite", "graph")]
    bodies = {text.partition("## This folder")[0] for text in texts}
    assert len(bodies) == 1
    assert len(set(texts)) == 3
    assert "SEMANTIC_MATCH" in texts[2]
    assert "SEMANTIC_MATCH" not in texts[0] + texts[1]


def test_the_guide_has_every_field_rule_role_and_file(tmp_path: Path) -> None:
    text = readme("json-files")
    for label in LABELS:
        for field in FIELDS[label]:
            assert re.search(rf"^\| [^|]*\b{field}\b[^|]* \| (all|[^|]*{label}[^|]*) \|", text, re.MULTILINE), field
    for rule in TASK_RULES:
        [row] = [line for line in text.splitlines() if line.startswith(f"| {rule.edge_type} |")]
        assert rule.to in row.split("|")[2]
        assert f"`{rule.field}`" in row
        assert rule.kind == "equal" or f"{rule.threshold:g}" in row
    for role, labels in ROLES.items():
        assert f"`{role}` sees {' and '.join(labels)}" in text
    for memory in (JsonFiles(), Sqlite()):
        form = build(memory, tmp_path / type(memory).__name__) / "form"
        names = [path.relative_to(form).as_posix() for path in form.rglob("*") if path.is_file()]
        closing = (form / "README.md").read_text().partition("## This folder")[2]
        assert all(f"`{name}`" in closing for name in names if name != "README.md")


def test_the_schema_lists_the_columns_that_there_are(tmp_path: Path) -> None:
    form = build(Sqlite(), tmp_path) / "form"
    with closing(sqlite3.connect(form / "world.sqlite")) as base:
        tables = [name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found = {name: [row[1] for row in base.execute(f"PRAGMA table_info({name})")] for name in tables}
        indexes = [row[0] for row in base.execute("SELECT tbl_name FROM sqlite_master WHERE sql LIKE 'CREATE INDEX%'")]
    said: dict[str, list[str]] = {}
    for line in (form / "SCHEMA.md").read_text().splitlines():
        if line.startswith("## "):
            columns = said.setdefault(line[3:], [])
        elif line.startswith("| ") and not line.startswith(("| column", "| ---")):
            columns.append(line.split("|")[1].strip())
    assert said == found
    assert list(found) == ["talent", "company", "job", "changes", "roles"]  # no table of links
    assert found["job"] == [
        "key", "name", "user_id", "status", "industry", "specialties_json", "design_styles_json", "size_bucket",
        "company_name", "company_id", "company_size", "lat", "lon", "address",
    ]  # fmt: skip
    assert indexes == ["changes", "changes"]


# -- damage --------------------------------------------------------------------------------------------------------


def refused(memory: Any, place: Path, world: World | None = None) -> str:
    """The one sentence with which a form is refused."""
    with pytest.raises(DataError) as error:
        memory.verify(ref_of(place), corpus_of(world or world_of()))
    sentence = str(error.value)
    assert sentence.startswith(f"The store in {place} cannot be used because ")
    assert sentence.endswith(f"; delete {place} and build again.")
    assert "\n" not in sentence
    return sentence


def rewrite(path: Path, change: Callable[[str], str]) -> None:
    before = path.read_text()
    after = change(before)
    assert after != before
    path.write_text(after)


JSON_DAMAGE: list[tuple[str, Callable[[str], str], str]] = [
    ("entities/talent.json", lambda t: t.replace('"draft"', '"x"').replace('"size_bucket": 1', '"size_bucket": 2', 1),
     "its facts have the digest"),
    ("entities/company.json", lambda t: t[:-40], "entities/company.json cannot be read (its content is not"),
    ("entities/company.json", lambda t: t + "[]", "entities/company.json cannot be read (its content is not"),
    ("entities/job.json", lambda t: "[]", "entities/job.json cannot be read (its content is not"),
    ("entities/job.json", lambda t: "{}", "entities/job.json cannot be read (its content is not"),
    ("entities/job.json", lambda t: "[1, 2]", "entities/job.json cannot be read (its content is not"),
    ("entities/job.json", lambda t: "[" * 100_000, "entities/job.json cannot be read (its content is not"),
    ("entities/job.json", lambda t: t.replace('"Job"', '"Talent"', 1), "job.json cannot be read (its content is not"),
    ("entities/job.json", lambda t: t.replace('"address"', '"place"', 1), "entities/job.json cannot be read"),
    ("changes.jsonl", lambda t: t.partition("\n")[2], "its facts have the digest"),
    ("changes.jsonl", lambda t: t.replace("2026-0", "2027-0", 1), "its facts have the digest"),
    ("changes.jsonl", lambda t: t[:-9], "changes.jsonl cannot be read (its JSON is damaged)"),
    ("changes.jsonl", lambda t: t.replace('"op"', '"do"', 1), "changes.jsonl cannot be read (it has no 'op')"),
    ("changes.jsonl", lambda t: t.replace("set_prop", "burn", 1), "changes.jsonl cannot be read (its content is not"),
    ("roles.json", lambda t: t.replace("Company", "Talent"), "its roles are not those of the suite"),
    ("roles.json", lambda t: "nothing", "roles.json cannot be read (its JSON is damaged)"),
    ("../stamp.json", lambda t: "{}", "stamp.json cannot be read (it has no 'format')"),
    ("../stamp.json", lambda t: "{", "stamp.json cannot be read (its JSON is damaged)"),
    ("../stamp.json", lambda t: t.replace("json-files", "sqlite"), "stamp.json speaks of the form 'sqlite'"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "says"), JSON_DAMAGE)
def test_damaged_json_files_are_refused(name: str, change: Callable[[str], str], says: str, tmp_path: Path) -> None:
    rewrite(build(JsonFiles(), tmp_path) / "form" / name, change)
    assert says in refused(JsonFiles(), tmp_path)


@pytest.mark.parametrize("name", ["entities/talent.json", "changes.jsonl", "roles.json", "../stamp.json"])
def test_a_missing_json_file_is_named(name: str, tmp_path: Path) -> None:
    (build(JsonFiles(), tmp_path) / "form" / name).unlink()
    assert f"{name.removeprefix('../')} is missing" in refused(JsonFiles(), tmp_path)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (build(JsonFiles(), tmp_path) / "form" / "changes.jsonl").write_bytes(b"\xff\xfe")
    assert "changes.jsonl cannot be read (it is no UTF-8 text)" in refused(JsonFiles(), tmp_path)


SQL_DAMAGE = [
    ("UPDATE talent SET lat = lat + 0.001 WHERE key = 'talent-000003'", "its facts have the digest"),
    ("UPDATE company SET size_bucket = '2' WHERE key = 'company-000003'", "its facts have the digest"),
    ("DELETE FROM changes WHERE seq = 17", "its facts have the digest"),
    ("DELETE FROM job WHERE key = 'job-000001'", "its facts have the digest"),
    ("UPDATE changes SET value_json = 'x' WHERE op = 'set_prop'", "world.sqlite cannot be read (its JSON is damaged)"),
    ("UPDATE changes SET day = 'x'", "world.sqlite cannot be read (its content is not"),
    (
        "UPDATE talent SET specialties_json = NULL",
        "world.sqlite cannot be read (its content is not",
    ),
    ("DROP TABLE job", "world.sqlite cannot be read (no such table: job)"),
    ("ALTER TABLE job DROP COLUMN address", "world.sqlite cannot be read (its content is not"),
    ("DELETE FROM roles WHERE name = 'client'", "its roles are not those of the suite"),
]


@pytest.mark.parametrize(("statement", "says"), SQL_DAMAGE)
def test_a_changed_database_is_refused(statement: str, says: str, tmp_path: Path) -> None:
    with closing(sqlite3.connect(build(Sqlite(), tmp_path) / "form" / "world.sqlite", isolation_level=None)) as base:
        base.execute(statement)
    assert says in refused(Sqlite(), tmp_path)


@pytest.mark.parametrize("keep", [0, 10, 100, 4096, 12_288, 30_000])
def test_a_truncated_database_is_refused(keep: int, tmp_path: Path) -> None:
    path = build(Sqlite(), tmp_path) / "form" / "world.sqlite"
    path.write_bytes(path.read_bytes()[:keep])
    assert "world.sqlite" in refused(Sqlite(), tmp_path)
    assert sorted(found.name for found in path.parent.iterdir()) == ["README.md", "SCHEMA.md", "world.sqlite"]


def test_a_missing_database_is_refused_and_not_made(tmp_path: Path) -> None:
    path = build(Sqlite(), tmp_path) / "form" / "world.sqlite"
    path.unlink()
    assert "world.sqlite is missing" in refused(Sqlite(), tmp_path)
    assert not path.exists()


@pytest.mark.parametrize("memory", MEMORIES)
def test_a_form_of_another_world_is_refused(memory: Any, tmp_path: Path) -> None:
    build(memory, tmp_path)
    assert "the world of this run has the facts" in refused(memory, tmp_path, world_of(40, seed=8))


@pytest.mark.parametrize("memory", MEMORIES)
def test_what_was_never_built_is_not_opened(memory: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"stamp\.json is missing"):
        memory.open(ref_of(tmp_path))


def test_the_whole_store_of_a_run_is_to_be_deleted(tmp_path: Path) -> None:
    place = build(Sqlite(), tmp_path / "KEY" / "store")
    (tmp_path / "KEY" / "built.json").write_text("{}")
    shutil.rmtree(place / "form")
    with pytest.raises(DataError) as error:
        Sqlite().verify(ref_of(place), corpus_of(world_of()))
    assert str(error.value).endswith(f"; delete {tmp_path / 'KEY'} and build again.")


# -- the reader of arrays ------------------------------------------------------------------------------------------

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=40)
@given(st.lists(VALUES, min_size=1, max_size=6), st.sampled_from([None, 0, 2]), st.integers(1, 12))
def test_items_of_an_array_are_read_whatever_the_layout(
    tmp_path_factory: pytest.TempPathFactory, items: list[Any], indent: int | None, chunk: int
) -> None:
    path = tmp_path_factory.mktemp("items") / "a.json"
    path.write_text(json.dumps(items, indent=indent), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_CHUNK", chunk)
        assert list(reading._items(path)) == items
