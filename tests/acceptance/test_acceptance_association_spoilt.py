"""``association`` refuses what was changed, cut or is impossible, in one line, and grades nothing."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from acceptance_tools import tree
from association_kit import (
    FEW,
    FILES,
    FORMS,
    SMALL,
    THREE,
    GraphTools,
    answer_of,
    copied,
    nothing_graded,
    place_of,
    refusal,
    scores,
    tasks_of,
)

from kit import Cli
from memassay.core.digest import digest_folder

# -- one fact ------------------------------------------------------------------------------------------------------


def _asked_industry(tasks: list[dict[str, Any]]) -> tuple[dict[str, Any], str]:
    """A question why two are related of which the industry is a part, and its company."""
    task = next(t for t in tasks if t["category"] == "why" and "INDUSTRY_ALIGNMENT" in answer_of(t))
    return task, task["payload"]["target"][1]


def _move(form: str, place: Path, company: str) -> None:
    """Give a company another industry on the last day, in one form."""
    if form == "json-files":
        change = {"day": 89, "date": "2026-08-29", "op": "set_prop", "key": company, "field": "industry"}
        with (place / "form" / "changes.jsonl").open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({**change, "value": "elsewhere", "node": None}, sort_keys=True) + "\n")
    elif form == "sqlite":
        with closing(sqlite3.connect(place / "form" / "world.sqlite")) as base, base:
            row = (89, "2026-08-29", "set_prop", company, "industry", '"elsewhere"', None)
            base.execute("INSERT INTO changes SELECT max(seq) + 1, ?, ?, ?, ?, ?, ?, ? FROM changes", row)
    else:
        import mushroomdb

        with closing(mushroomdb.GraphDb.open(place / "world.mushroomdb")) as db:
            db.set_prop(company, "industry", "elsewhere")


def _guards_off(form: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take both guards off: the form does not look at its facts, and the harness takes the store for the built one."""
    from memassay.core import registry

    monkeypatch.setattr(registry.memories.get(form), "verify", lambda self, ref, corpus: None)
    about = json.loads((place.parent / "built.json").read_text("utf-8"))
    about["digest"] = digest_folder(place)
    (place.parent / "built.json").write_text(json.dumps(about), encoding="utf-8")


@pytest.mark.parametrize("form", FORMS)
def test_one_fact_changed_in_one_form_is_refused_and_unguarded_changes_its_score(
    form: str, request: pytest.FixtureRequest, cli: Cli, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = request.getfixturevalue("three" if form == "graph" else "few")
    base = (*THREE, "--memory", "graph", "--categories", "why") if form == "graph" else FEW
    stores = copied(made / "stores", workplace / "stores")
    task, company = _asked_industry(tasks_of(made / "r"))
    place = place_of(stores, form)
    _move(form, place, company)
    refused = cli("run", *base, "--stores", stores, "--out", "guarded", "--json")
    assert ("commits" if form == "graph" else "was changed") in refusal(refused)
    nothing_graded(workplace / "guarded")

    _guards_off(form, place, monkeypatch)
    ran = cli(
        "run", *base, *(["--no-controls"] if form == "graph" else []), "--stores", stores, "--out", "off", "--json"
    )
    assert ran.code in (0, 1), ran.err
    found = scores(workplace / "off")
    right = len(answer_of(task))
    assert found[form][task["id"]] == round((right - 1) / right, 4)
    assert ran.json["arms"][form]["metrics"]["score"]["value"] < 1
    for other in set(found) - {form, "reference", "empty"}:
        assert set(found[other].values()) == {1.0}, "only the form whose fact was changed may lose"
    if form == "sqlite":
        assert ran.json["controls"]["reference"]["passed"] is False, "the control reads the baseline's form"


# -- bad input -----------------------------------------------------------------------------------------------------


def _edited(path: Path, edit: Callable[[bytes], bytes]) -> None:
    path.write_bytes(edit(path.read_bytes()))


def _row(place: Path, statement: str) -> None:
    with closing(sqlite3.connect(place / "form" / "world.sqlite")) as base, base:
        base.execute(statement)


QUICK = {
    "a value of the first day",
    "a change that is gone",
    "half a file",
    "another stamp",
    "a truncated database",
    "a row that is other",
    "a table with the answers",
    "cut by a snapshot",
}


def some(names: Iterable[str], quick: Collection[str]) -> list[Any]:
    """Parameters of which those that are not quick are slow tests."""
    return [name if name in quick else pytest.param(name, marks=pytest.mark.slow) for name in names]


SPOILT: dict[str, tuple[str, Callable[[Path], Any], str]] = {
    "a value of the first day": (
        "json-files",
        lambda p: _edited(p / "form/entities/talent.json", lambda b: b.replace(b"architecture", b"both", 1)),
        "changed",
    ),
    "a value that no question reads": (
        "json-files",
        lambda p: _edited(p / "form/entities/job.json", lambda b: b.replace(b"published", b"draft", 1)),
        "changed",
    ),
    "a change that is gone": (
        "json-files",
        lambda p: _edited(p / "form/changes.jsonl", lambda b: b.split(b"\n", 1)[1]),
        "changed",
    ),
    "other roles": ("json-files", lambda p: (p / "form/roles.json").write_text('{"recruiter": []}'), "roles"),
    "half a file": (
        "json-files",
        lambda p: _edited(p / "form/entities/company.json", lambda b: b[: len(b) // 2]),
        "company.json",
    ),
    "a file that is gone": ("json-files", lambda p: (p / "form/entities/job.json").unlink(), "job.json"),
    "another README": ("json-files", lambda p: _edited(p / "form/README.md", lambda b: b + b"x"), "changed"),
    "another stamp": (
        "json-files",
        lambda p: _edited(p / "stamp.json", lambda b: re.sub(rb'"facts": "\w{4}', b'"facts": "0000', b)),
        "0000",
    ),
    "no stamp": ("json-files", lambda p: (p / "stamp.json").unlink(), "stamp.json"),
    "a truncated database": (
        "sqlite",
        lambda p: _edited(p / "form/world.sqlite", lambda b: b[: len(b) // 2]),
        "world.sqlite",
    ),
    "the beginning of a database": (
        "sqlite",
        lambda p: _edited(p / "form/world.sqlite", lambda b: b[:100]),
        "world.sqlite",
    ),
    "an empty database": ("sqlite", lambda p: _edited(p / "form/world.sqlite", lambda b: b""), "world.sqlite"),
    "no database": ("sqlite", lambda p: (p / "form/world.sqlite").unlink(), "world.sqlite"),
    "a row that is other": (
        "sqlite",
        lambda p: _row(p, "UPDATE talent SET size_bucket = 6 - size_bucket WHERE key = 'talent-000004'"),
        "changed",
    ),
    "a change of the database that is gone": (
        "sqlite",
        lambda p: _row(p, "DELETE FROM changes WHERE seq = 7"),
        "changed",
    ),
    "a table with the answers": ("sqlite", lambda p: _row(p, "CREATE TABLE answers (task, answer)"), "changed"),
}


@pytest.mark.parametrize("what", some(SPOILT, QUICK))
def test_a_spoilt_form_is_refused_in_one_line_and_nothing_is_graded(
    what: str, few: Path, cli: Cli, workplace: Path
) -> None:
    form, spoil, word = SPOILT[what]
    stores = copied(few / "stores", workplace / "stores")
    spoil(place_of(stores, form))
    refused = cli("run", *FEW, "--stores", stores, "--out", "r", "--json")
    assert word in refusal(refused)
    nothing_graded(workplace / "r")


def _cut(place: Path) -> None:
    import mushroomdb

    with closing(mushroomdb.GraphDb.open(place / "world.mushroomdb")) as db:
        db.snapshot()


SPOILT_GRAPHS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "cut by a snapshot": (_cut, "cut by a snapshot"),
    "half a log": (lambda p: _edited(p / "world.mushroomdb/wal.bin", lambda b: b[: len(b) // 2]), "commits"),
    "no log": (lambda p: (p / "world.mushroomdb/wal.bin").unlink(), "wal.bin"),
    "no dates": (lambda p: (p / "world.mushroomdb/commit_times.bin").unlink(), "commit_times.bin"),
    "other roles": (
        lambda p: _edited(p / "world.mushroomdb/roles.json", lambda b: b.replace(b'"Job"', b'"Company"')),
        "roles.json",
    ),
    "another calendar": (
        lambda p: _edited(p / "form/days.json", lambda b: b.replace(b'"commit": 18', b'"commit": 17', 1)),
        "days.json",
    ),
    "another README": (lambda p: _edited(p / "form/README.md", lambda b: b + b"x"), "changed"),
}


@pytest.mark.parametrize("what", some(SPOILT_GRAPHS, QUICK))
def test_a_spoilt_graph_is_refused_in_one_line_and_nothing_is_graded(
    what: str, three: Path, cli: Cli, workplace: Path
) -> None:
    spoil, word = SPOILT_GRAPHS[what]
    stores = copied(three / "stores", workplace / "stores")
    spoil(place_of(stores, "graph"))
    refused = cli("run", *THREE, "--stores", stores, "--out", "r", "--json")
    assert word in refusal(refused)
    nothing_graded(workplace / "r")


REFUSED: dict[str, tuple[list[str], str]] = {
    "too small": (["--scale", "2"], "at least 3"),
    "nothing": (["--scale", "0"], "at least 3"),
    "less than nothing": (["--scale", "-5"], "at least 3"),
    "too large": (["--scale", "2000000"], "1,000,000"),
    "too small for a kind": (["--scale", "300"], "timetravel"),
    "no question": (["--tasks", "0"], "--tasks"),
    "a gate": (["--set", "association.gate=relese"], "release"),
    "no such pilot": (["--set", "association.pilot=missing.json"], "missing.json"),
    "no pilot at all": (["--set", "association.pilot=notes.json"], "notes.json"),
    "a pilot that is no JSON": (["--set", "association.pilot=notes.txt"], "notes.txt"),
    "a seed": (["--set", "association.seed=x"], "seed"),
    "a setting": (["--set", "association.sed=3"], "seed"),
    "a mistake": (["--set", "agent.mistake=huge"], "huge"),
    "two briefs": (["--equal-briefs", "--published-briefs"], "--published-briefs"),
    "a memory that is no form": (["--memory", "json-files,lexical"], "lexical"),
    "an agent": (["--agent", "extractive"], "extractive"),
    "embeddings for files": (["--memory", "json-files", "--semantic"], "--semantic"),
    "a category": (["--categories", "whynot"], "why"),
    "a data file": (["--data", "notes.json"], "data"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_wrong_word_is_one_line_and_leaves_nothing(what: str, cli: Cli, workplace: Path) -> None:
    (workplace / "notes.json").write_text('{"this": "is no pilot"}', encoding="utf-8")
    (workplace / "notes.txt").write_text("neither\n", encoding="utf-8")
    before = tree(workplace)
    flags, word = REFUSED[what]
    refused = cli("run", "association", "--scale", SMALL, "--memory", FILES, *flags, "--out", "r", "--json")
    assert word in refusal(refused)
    assert tree(workplace) == before


@pytest.mark.parametrize(
    ("flags", "word"),
    [
        (["--scale", "2"], "at least 3"),
        (["--scale", "2000000"], "1,000,000"),
        (["--pilot", "missing.json"], "missing.json"),
    ],
)
def test_no_file_of_tasks_is_written_for_a_world_that_cannot_be(
    flags: list[str], word: str, cli: Cli, workplace: Path
) -> None:
    refused = cli("association", "tasks", *flags, "--out", "tasks.json")
    assert word in refusal(refused)
    assert not (workplace / "tasks.json").exists()


@pytest.fixture(scope="module")
def tools(three: Path) -> Iterator[GraphTools]:
    served = GraphTools(place_of(three / "stores", "graph"))
    yield served
    _, said = served.close()
    assert "Traceback" not in said


def test_the_graphs_tools_answer_what_they_cannot_serve_in_one_line(three: Path, tools: GraphTools) -> None:
    talent, company = tasks_of(three / "r")[0]["payload"]["target"]
    for name, arguments, word in (
        ("query", {"cypher": "MATCH (n:Job) RETURN key(n) AS key", "role": "auditor"}, "recruiter"),
        ("edges_at", {"key": talent, "at": "2026-05-31"}, "2026-06-01"),
        ("edges_at", {"key": talent, "at": "2026-08-30"}, "2026-08-29"),
        ("edges_at", {"key": talent, "at": "yesterday"}, "yesterday"),
        ("edges_at", {"key": talent, "at": 100_000}, "100000"),
        ("was_linked", {"a": talent, "b": company, "edge_type": "LOCATION_FIT", "at": "2027-01-01"}, "2026-08-29"),
        ("was_linked", {"a": talent, "b": company, "edge_type": "LOVES", "at": "2026-07-01"}, "LOVES"),
        ("node_info", {"key": "talent-999999"}, "talent-999999"),
        ("what_if", {"key": company, "field": "colour", "value": "red"}, "colour"),
        ("query", {"cypher": "MATCH (n DELETE n"}, "query"),
        ("explain_association", {"a": talent}, "b"),
        ("no_such_tool", {}, "no_such_tool"),
    ):
        failed, text = tools.call(name, **arguments)
        assert failed, (name, arguments, text)
        assert len(text.splitlines()) == 1, text
        assert word in text, text
        assert "Traceback" not in text
    failed, text = tools.call("edges_at", key=talent, at="2026-08-29")
    assert not failed, text
    seen = "MATCH (n) RETURN DISTINCT labels(n) AS labels"
    assert "Company" not in tools.call("query", cypher=seen, role="recruiter")[1]
    assert "Talent" not in tools.call("query", cypher=seen, role="client")[1]


def test_a_proxy_of_the_environment_is_not_asked_for_tools_of_this_machine(
    three: Path, tools: GraphTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    failed, text = tools.call("node_info", key=tasks_of(three / "r")[0]["payload"]["target"][0])
    assert not failed, text
