"""``run association`` as its users call it: a small world in two or three forms, refusals, resumption, reports."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from acceptance_tools import answers, equal_runs, judgements, stable, tree
from association_kit import (
    FILES,
    FORMS,
    KINDS,
    MISTAKES,
    SMALL,
    GraphTools,
    answer_of,
    command,
    copied,
    expected_after,
    near_of,
    nothing_graded,
    once,
    place_of,
    refusal,
    scores,
    shared,
    tasks_of,
)

from kit import Cli, Ran
from memassay.core.digest import digest_folder

FEW = ("association", "--scale", "627", "--tasks", "1", "--memory", FILES)
THREE = ("association", "--scale", str(SMALL))


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run ``r`` of few questions on the two file forms, and its ``stores``."""
    base = shared(tmp_path_factory, "association-few")
    with once(base) as mine:
        if mine:
            ran = command(base, "run", *FEW, "--out", "r", "--json")
            assert ran.code == 0, ran.err
    return base


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same for the smallest world with twenty tasks, on all three forms; ``build.txt`` is what ``build`` said."""
    pytest.importorskip("mushroomdb")
    pytest.importorskip("mcp")
    base = shared(tmp_path_factory, "association-three")
    with once(base) as mine:
        if mine:
            built = command(base, "build", *THREE, "--out", "r")
            assert built.code == 0, built.err
            (base / "build.txt").write_text(built.out, "utf-8")
            ran = command(base, "run", *THREE, "--agent", "reference", "--out", "r", "--json")
            (base / "run.json").write_text(json.dumps([ran.code, ran.out, ran.err]), "utf-8")
    return base


@pytest.fixture
def summary(three: Path) -> Any:
    """What the run on three forms printed."""
    ran = Ran(*json.loads((three / "run.json").read_text("utf-8")))
    assert ran.code == 0, ran.err
    return ran.json


# -- what must be shown --------------------------------------------------------------------------------------------


def test_build_names_the_three_stores_with_their_seconds(three: Path) -> None:
    lines = (three / "build.txt").read_text("utf-8").splitlines()
    for form in FORMS:
        [line] = [line for line in lines if line.split()[0] == form]
        assert re.search(r"\b\d+(\.\d+)? s\b", line), line
    assert len({place_of(three / "stores", form) for form in FORMS}) == 3


def test_the_reference_agent_answers_all_on_three_forms(three: Path, summary: Any) -> None:
    assert list(summary["arms"]) == list(FORMS)
    for name, arm in summary["arms"].items():
        assert (arm["n"], arm["metrics"]["score"]["value"]) == (20, 1.0), name
        assert arm["metrics"]["score_substring"]["value"] == 1.0
        assert {kind: block["n"] for kind, block in arm["categories"].items()} == dict.fromkeys(KINDS, 4)
    assert summary["headline_metric"] == "score"
    assert summary["arms"]["sqlite"]["role"] == "baseline"
    assert summary["conclusion"]["baseline"] == "sqlite"
    assert summary["conclusion"]["gated"] == ["graph"]
    identity = json.loads((three / "r" / "manifest.json").read_text("utf-8"))["identity"]
    stamps = [json.loads((place_of(three / "stores", form) / "stamp.json").read_text("utf-8")) for form in FORMS]
    assert {stamp["facts"] for stamp in stamps} == {identity["suite_settings"]["facts"]}
    assert json.loads((three / "r" / "summary.json").read_text("utf-8")) == summary


def test_each_arm_uses_its_own_tools_and_nothing_else(summary: Any) -> None:
    used = summary["conclusion"]["adoption"]
    assert used["graph"]["adopted"] == used["graph"]["cells"] == 20
    assert set(used["graph"]["server"]) <= {
        "explain_association", "edges_at", "was_linked", "node_history", "edge_history", "node_info", "node_edges",
        "query", "what_if", "stats", "recall",
    }  # fmt: skip
    assert used["graph"]["other"] == {}
    assert used["json-files"] == {"cells": 20, "adopted": 0, "server": {}, "other": used["json-files"]["other"]}
    assert set(used["json-files"]["other"]) == {"read"}
    assert set(used["sqlite"]["other"]) == {"sql"}
    means = summary["conclusion"]["aggregate"]["means"]
    assert all(means[name][form] > 0 for name in ("total_tokens", "tool_calls", "turns") for form in FORMS)
    assert means["total_tokens"]["json-files"] > means["total_tokens"]["sqlite"]


def test_without_a_cost_the_gate_decides_nothing(summary: Any) -> None:
    gate = summary["conclusion"]["gate"]
    assert gate["wording"] == "release"
    assert gate["published"]["verdict"] == "no decision: no cost"
    assert gate["ours"]["verdict"] == "no decision: no cost"
    assert any("20 tasks cannot certify" in reason for reason in gate["ours"]["reasons"])
    assert len(gate["published"]["arms"][0]["legs"]) == 5
    assert set(gate["wordings"]) == {"draft", "2026-09-11", "release"}


def test_controls_are_no_arms(three: Path, summary: Any) -> None:
    assert set(summary["controls"]) == {"reference", "empty"}
    for name, value in (("reference", 1.0), ("empty", 0.0)):
        assert summary["controls"][name]["passed"] is True
        assert [check["value"] for check in summary["controls"][name]["checks"]] == [value]
    for field in ("cells", "answers", "below_one"):
        named = {one["cell"].split("/")[1] for one in summary["conclusion"][field]}
        assert named <= set(FORMS), field
    assert set(summary["conclusion"]["arms"]) == set(FORMS)
    recorded = {json.loads(line)["cell"]["arm"] for line in answers(three / "r")}
    assert recorded == {*FORMS, "reference", "empty"}


def test_a_plan_spends_nothing_and_knows_the_twenty(cli: Cli, workplace: Path) -> None:
    planned = cli("plan", "association", "--json")
    assert planned.code == 0, planned.err
    assert planned.json["tasks"] == 20
    assert planned.json["data"] == "generated"
    assert list(workplace.iterdir()) == []


def test_the_file_of_tasks_is_the_set_of_the_run(three: Path, cli: Cli, workplace: Path) -> None:
    written = cli("association", "tasks", "--scale", SMALL, "--out", "tasks.json")
    assert written.code == 0, written.err
    content = json.loads((workplace / "tasks.json").read_text("utf-8"))
    tasks = tasks_of(three / "r")
    assert [task["id"] for task in content["tasks"]] == list(range(1, 21))
    assert [task["key"] for task in content["tasks"]] == [task["id"] for task in tasks]
    for given, task in zip(content["tasks"], tasks, strict=True):
        [check] = given["checks"]
        assert sorted(check["values"]) == sorted(answer_of(task)) == sorted(given["truth"]["answer"])
        assert sorted(check["forbid"]) == sorted(near_of(task)) == sorted(given["truth"]["forbid"])
        assert given["full_prompt"] == task["prompt"]
    assert (
        content["world_digest"] == json.loads((place_of(three / "stores", "graph") / "stamp.json").read_text())["facts"]
    )


def test_every_task_keeps_the_guards(three: Path) -> None:
    tasks = tasks_of(three / "r")
    assert Counter(task["category"] for task in tasks) == dict.fromkeys(KINDS, 4)
    for task in tasks:
        right, near = answer_of(task), near_of(task)
        assert len(set(near)) == 5
        assert 3 <= len(set(right)) == len(right) <= 40
        values = [value.lower() for value in (*right, *near)]
        assert not [(a, b) for a in values for b in values if a is not b and a in b], task["id"]
        assert "mushroom" not in task["prompt"].lower()


# -- the report ----------------------------------------------------------------------------------------------------

SECTIONS = (
    "Gate",
    "Per cell",
    "Aggregate",
    "Deltas against sqlite",
    "Correctness by task",
    "Sub-1.0 cells",
    "Tool adoption",
    "Answers",
)


def test_the_sections_stand_in_the_order_of_the_study(three: Path, summary: Any) -> None:
    text = (three / "r" / "summary.md").read_text("utf-8")
    titles = re.findall(r"^## (.*)$", text, re.MULTILINE)
    first = titles.index("Gate")
    assert tuple(titles[first : first + len(SECTIONS)]) == SECTIONS
    html = (three / "r" / "report.html").read_text("utf-8")
    shown = re.findall(r"<h2[^>]*>\s*(?:<[^>]+>)*\s*([^<]+?)\s*<", html)
    first = shown.index("Gate")
    assert tuple(shown[first : first + len(SECTIONS)]) == SECTIONS
    for wanted in ("no decision: no cost", summary["suite_settings"]["facts"], "percentile bootstrap, as published"):
        assert wanted.lower() in text.lower()
        assert wanted.lower() in html.lower()
    for task in tasks_of(three / "r"):
        assert f"{task['id']}/graph/0.0" in text


def test_who_got_a_brief_is_disclosed(few: Path, cli: Cli, workplace: Path) -> None:
    equal = (few / "r" / "summary.md").read_text("utf-8")
    assert "briefs were equal" in equal
    assert json.loads((few / "r" / "summary.json").read_text("utf-8"))["suite_settings"]["equal_briefs"] is True
    published = cli("run", *FEW, "--published-briefs", "--stores", few / "stores", "--out", "p", "--json")
    assert published.code == 0, published.err
    assert published.json["suite_settings"]["equal_briefs"] is False
    for name in ("summary.md", "report.html"):
        text = (workplace / "p" / name).read_text("utf-8")
        assert re.search(r"not equal", text, re.IGNORECASE), name
        assert "briefs were equal" not in text
    arms = [json.loads((run / "manifest.json").read_text())["identity"]["arms"] for run in (few / "r", workplace / "p")]
    for form in FILES.split(","):
        assert arms[0][form]["instructions"] != arms[1][form]["instructions"]


def test_the_gate_takes_its_wording_from_a_setting(few: Path, cli: Cli, workplace: Path) -> None:
    wording = "draft"
    ran = cli("run", *FEW, "--set", f"association.gate={wording}", "--stores", few / "stores", "--out", "w", "--json")
    assert ran.code == 0, ran.err
    gate = ran.json["conclusion"]["gate"]
    assert (gate["wording"], gate["published"]["verdict"]) == (wording, gate["wordings"][wording])
    assert wording in (workplace / "w" / "summary.md").read_text("utf-8")


# -- wrong on purpose ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_loses_exactly_what_it_must(mistake: str, few: Path, cli: Cli, workplace: Path) -> None:
    flags = ("--set", f"agent.mistake={mistake}", "--stores", few / "stores")
    ran = cli("run", *FEW, *flags, "--out", "m", "--json")
    assert ran.code == 0, ran.err
    tasks = tasks_of(workplace / "m")
    wanted = expected_after(mistake, tasks)
    found = scores(workplace / "m")
    for form in FILES.split(","):
        assert found[form] == wanted, form
        value = ran.json["arms"][form]["metrics"]["score"]["value"]
        assert value == pytest.approx(sum(wanted.values()) / len(tasks), abs=1e-9)
    assert found["reference"] == dict.fromkeys(wanted, 1.0), "the control makes no mistake"
    assert found["empty"] == dict.fromkeys(wanted, 0.0)
    below = {one["cell"].split("/")[0] for one in ran.json["conclusion"]["below_one"]}
    assert below == {task for task, score in wanted.items() if score < 1}


@pytest.mark.slow
@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_graph_loses_the_same(mistake: str, three: Path, cli: Cli, workplace: Path) -> None:
    flags = ("--memory", "graph", "--set", f"agent.mistake={mistake}", "--no-controls", "--stores", three / "stores")
    ran = cli("run", *THREE, *flags, "--out", "m", "--json")
    assert ran.code == 0, ran.err
    assert scores(workplace / "m") == {"graph": expected_after(mistake, tasks_of(workplace / "m"))}


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
        (["--scale", "300"], "timetravel"),
        (["--pilot", "missing.json"], "missing.json"),
    ],
)
def test_no_file_of_tasks_is_written_for_a_world_that_cannot_be(
    flags: list[str], word: str, cli: Cli, workplace: Path
) -> None:
    refused = cli("association", "tasks", *flags, "--out", "tasks.json")
    assert word in refusal(refused)
    assert not (workplace / "tasks.json").exists()


def test_the_graphs_tools_answer_what_they_cannot_serve_in_one_line(three: Path) -> None:
    tools = GraphTools(place_of(three / "stores", "graph"))
    try:
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
    finally:
        _, said = tools.close()
    assert "Traceback" not in said


def test_a_proxy_of_the_environment_is_not_asked_for_tools_of_this_machine(
    three: Path, cli_process: Cli, workplace: Path
) -> None:
    """The environment of ``cli_process`` names a proxy that is not there."""
    flags = ("--memory", "graph", "--categories", "why", "--no-controls", "--stores", three / "stores")
    ran = cli_process("run", *THREE, *flags, "--out", "r", "--json")
    assert ran.code == 0, ran.err
    assert set(scores(workplace / "r")["graph"].values()) == {1.0}


# -- stopping and going on -----------------------------------------------------------------------------------------


def test_two_shards_make_the_run(few: Path, cli: Cli, workplace: Path) -> None:
    base = ("run", *FEW, "--stores", few / "stores", "--out", "r")
    for part in ("1/2", "2/2"):
        ran = cli(*base, "--shard", part, "--json")
        assert ran.code == 0, ran.err
    assert sorted(path.name for path in (workplace / "r").glob("answers-*")) == [
        "answers-1of2.jsonl",
        "answers-2of2.jsonl",
    ]
    equal_runs(workplace / "r", few / "r")
    whole = json.loads((few / "r" / "summary.json").read_text("utf-8"))
    assert stable(ran.json) == stable(whole)


def test_judged_again_from_the_folder_alone(few: Path, cli: Cli, workplace: Path) -> None:
    run = shutil.copytree(few / "r", workplace / "r")
    whole = json.loads((run / "summary.json").read_text("utf-8"))
    before = judgements(run)
    shutil.rmtree(run / "judgements")
    for name in ("summary.json", "summary.md", "report.html"):
        (run / name).unlink()
    judged = cli("judge", "r", "--json")
    assert judged.code == 0, judged.err
    assert judgements(run) == before
    assert {**judged.json, "test_reads": 0} == {**whole, "test_reads": 0}
    for name in ("summary.md", "report.html"):
        assert (run / name).read_text("utf-8") == (few / "r" / name).read_text("utf-8")
        (run / name).unlink()
    reported = cli("report", "r")
    assert reported.code == 0, reported.err
    for name in ("summary.md", "report.html"):
        assert (run / name).read_text("utf-8") == (few / "r" / name).read_text("utf-8")


GUARDED: dict[str, tuple[list[str], tuple[str, ...]]] = {
    "seed": (["--set", "association.seed=1"], ("suite_settings.seed", "suite_settings.facts")),
    "seed of the run": (["--seed", "1"], ("seed",)),
    "scale": (["--scale", "900"], ("suite_settings.scale", "suite_settings.facts")),
    "tasks": (["--tasks", "2"], ("suite_settings.tasks_per_kind",)),
    "gate": (["--set", "association.gate=draft"], ("suite_settings.gate",)),
    "equal_briefs": (["--published-briefs"], ("suite_settings.equal_briefs",)),
    "mistake": (["--set", "agent.mistake=first"], ("mistake",)),
    "pilot": (["--set", "association.pilot=pilot.json"], ("suite_settings.avoided",)),
    "repetitions": (["--repetitions", "2"], ("repetitions",)),
}


@pytest.mark.parametrize("what", GUARDED)
def test_what_can_change_a_number_is_guarded(what: str, few: Path, cli: Cli, workplace: Path) -> None:
    shutil.copytree(few / "r", workplace / "r")
    (workplace / "pilot.json").write_text('{"avoid": ["talent-000001"]}', encoding="utf-8")
    before = tree(workplace)
    flags, fields = GUARDED[what]
    refused = cli("run", *FEW, *flags, "--stores", few / "stores", "--out", "r", "--json")
    assert refused.code == 2
    for field in fields:
        assert f"{field}:" in refusal(refused)
    assert tree(workplace) == before


def test_another_seed_is_another_world_with_the_same_scores(few: Path, cli: Cli, workplace: Path) -> None:
    flags = ("--set", "association.seed=7", "--scale", "800", "--tasks", "1")
    ran = cli("run", "association", "--memory", FILES, *flags, "--out", "r", "--json")
    assert ran.code == 0, ran.err
    assert {name: arm["metrics"]["score"]["value"] for name, arm in ran.json["arms"].items()} == {
        "json-files": 1.0,
        "sqlite": 1.0,
    }
    assert Counter(task["category"] for task in tasks_of(workplace / "r")) == dict.fromkeys(KINDS, 1)
    mine, theirs = ({json.dumps(t["payload"]) for t in tasks_of(run)} for run in (workplace / "r", few / "r"))
    assert not mine & theirs
    assert ran.json["suite_settings"]["seed"] == 7


# -- whose fault ---------------------------------------------------------------------------------------------------


@pytest.fixture
def lossy(few: Path, cli: Cli, workplace: Path) -> dict[str, Any]:
    """A run ``m`` whose agent adds a near miss to every "why"."""
    flags = ("--set", "agent.mistake=size", "--stores", few / "stores")
    ran = cli("run", *FEW, *flags, "--out", "m", "--json")
    assert ran.code == 0, ran.err
    return ran.json  # type: ignore[no-any-return]


def _fault(run: Path, cell: str) -> tuple[str, str]:
    summary = json.loads((run / "summary.json").read_text("utf-8"))
    [found] = [one for one in summary["conclusion"]["below_one"] if one["cell"] == cell]
    return found["classification"], found["why"]


def test_a_lost_point_is_classified_in_summary_and_report(lossy: dict[str, Any], cli: Cli, workplace: Path) -> None:
    run, cell = workplace / "m", "assoc-why-1/sqlite/0.0"
    assert len(lossy["conclusion"]["below_one"]) == 2
    assert {one["classification"] for one in lossy["conclusion"]["below_one"]} == {"unclassified"}
    assert "2 of them unclassified" in (run / "summary.md").read_text("utf-8")
    why = "named a size rule that does <b>not</b> hold & knew it"
    for kind, said in (("tool", "first thought"), ("model", why)):
        ran = cli("classify", "m", "assoc-why-1", "--arm", "sqlite", "--as", kind, "--why", said)
        assert ran.code == 0, ran.err
        assert _fault(run, cell) == (kind, said), "the last word counts"
    html, text = (run / "report.html").read_text("utf-8"), (run / "summary.md").read_text("utf-8")
    assert "1 of them unclassified" in text
    assert "named a size rule" in text
    assert "does &lt;b&gt;not&lt;/b&gt; hold &amp; knew it" in html
    scored = scores(run)
    shutil.rmtree(run / "judgements")
    assert cli("judge", "m").code == 0
    assert _fault(run, cell) == ("model", why), "judging again keeps it"
    assert scores(run) == scored, "whose fault it was changes no score"


@pytest.mark.parametrize(
    ("given", "word"),
    [
        (["assoc-why-1", "--arm", "sqlite", "--as", "agent", "--why", "x"], "tool"),
        (["assoc-why-9", "--arm", "sqlite", "--as", "model", "--why", "x"], "assoc-why-9"),
        (["assoc-why-1", "--arm", "sqlit", "--as", "model", "--why", "x"], "sqlite"),
        (["assoc-why-1", "--arm", "sqlite", "--as", "model", "--why", " "], "--why"),
        (["assoc-why-1", "--arm", "sqlite", "--as", "model", "--why", "x", "--repetition", "2"], "2"),
    ],
)
def test_a_wrong_classification_is_one_line_and_changes_nothing(
    given: list[str], word: str, few: Path, cli: Cli, workplace: Path
) -> None:
    shutil.copytree(few / "r", workplace / "r")
    before = tree(workplace)
    refused = cli("classify", "r", *given)
    assert refused.code == 2
    assert word in refused.complaint
    assert tree(workplace) == before
