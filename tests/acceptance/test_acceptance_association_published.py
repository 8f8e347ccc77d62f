"""The published world and its twenty questions: the facts of the study, typed in here and counted from the files.

The forms of files and of a database take seconds; whatever needs the graph of this scale is slow.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from association_kit import (
    FILES,
    FORMS,
    KINDS,
    GraphTools,
    answer_of,
    command,
    copied,
    near_of,
    nothing_graded,
    once,
    place_of,
    refusal,
    scores,
    shared,
    tasks_of,
)

from kit import Cli

FACTS = "3107779e2a7d1dd0"

TARGETS: dict[int, tuple[str, tuple[Any, ...], int]] = {
    1: ("why", ("talent-000141", "company-000153"), 5),
    2: ("why", ("talent-000512", "company-000054"), 5),
    3: ("why", ("talent-001202", "company-000014"), 5),
    4: ("why", ("talent-001307", "company-000220"), 5),
    5: ("multihop", (10, 14), 27),
    6: ("multihop", (10, 16), 10),
    7: ("multihop", (15, 8), 20),
    8: ("multihop", (15, 9), 9),
    9: ("retraction", ("company-000239", "specialties", ["institutional", "landscape"]), 15),
    10: ("retraction", ("company-000376", "specialties", ["civic", "hospitality", "institutional"]), 12),
    11: ("retraction", ("company-000244", "size_bucket", 3), 14),
    12: ("retraction", ("company-000235", "size_bucket", 3), 10),
    13: ("timetravel", ("talent-000501", "2026-06-19"), 8),
    14: ("timetravel", ("talent-001026", "2026-07-12"), 6),
    15: ("timetravel", ("talent-000641", "2026-07-13"), 7),
    16: ("timetravel", ("talent-000396", "2026-07-14"), 8),
    17: ("visibility", ("talent-000104", "recruiter", 2), 28),
    18: ("visibility", ("talent-000450", "recruiter", 2), 35),
    19: ("visibility", ("talent-001161", "recruiter", 3), 4),
    20: ("visibility", ("talent-001408", "recruiter", 3), 5),
}
"""By number: the kind, what it is built around, and how many answers it has."""

LINKED_BEFORE = {9: 21, 10: 23, 11: 22, 12: 22}
HIDDEN = {17: 60, 18: 75, 19: 6, 20: 5}

EDGES = {
    "INDUSTRY_ALIGNMENT": {"Company": 244_368, "Job": 116_926},
    "SPECIALTY_MATCH": {"Company": 228_746, "Job": 110_205},
    "LOCATION_FIT": {"Company": 49_506, "Job": 23_878},
    "SIMILAR_SIZE": {"Company": 309_173},
    "MATCHES_DESIGN_STYLE": {"Company": 66_709},
    "SIMILAR_SIZE_STRICT": {"Company": 118_822},
}
"""On day 89, by the nine rules of the questions."""

Facts = dict[str, Any]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run ``r`` of the published twenty on the two file forms, and its ``stores``."""
    base = shared(tmp_path_factory, "association-published")
    with once(base) as mine:
        if mine:
            ran = command(base, "run", "association", "--memory", FILES, "--out", "r", "--json")
            assert ran.code == 0, ran.err
    return base


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same on all three forms, as the default is."""
    pytest.importorskip("mushroomdb")
    pytest.importorskip("mcp")
    base = shared(tmp_path_factory, "association-published-three")
    with once(base) as mine:
        if mine:
            built = command(base, "build", "association", timeout=3000)
            assert built.code == 0, built.err
            (base / "build.txt").write_text(built.out, "utf-8")
            flags = ("--agent", "reference", "--stores", "runs/stores", "--out", "r", "--json")
            ran = command(base, "run", "association", *flags, timeout=3000)
            assert ran.code == 0, ran.err
    return base


# -- the twenty ----------------------------------------------------------------------------------------------------


def _around(task: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a question is built around, from its own words."""
    prompt = str(task["prompt"])
    keys = re.findall(r"(?:talent|company)-\d{6}", prompt)
    match task["category"]:
        case "why":
            return tuple(keys)
        case "multihop":
            [talents] = re.findall(r"at least (\d+) talents", prompt)
            [years] = re.findall(r"at least (\d+) years", prompt)
            return int(years), int(talents)
        case "retraction":
            [(field, value)] = re.findall(r"that (\w+) of company-\d+ became (.+?)\. Which", prompt)
            return keys[0], field, json.loads(value)
        case "timetravel":
            [date] = re.findall(r"\d{4}-\d\d-\d\d", prompt)
            return keys[0], date
        case _:
            [role] = re.findall(r"role (\w+)", prompt)
            return keys[0], role, len(re.findall(r"\b[A-Z]+_[A-Z_]+\b", prompt))


def test_the_twenty_of_a_run_are_the_published(published: Path) -> None:
    tasks = tasks_of(published / "r")
    found = {n: (t["category"], _around(t), len(answer_of(t))) for n, t in enumerate(tasks, 1)}
    assert found == TARGETS
    assert [task["payload"]["number"] for task in tasks] == list(TARGETS)
    assert all(len(set(near_of(task))) == 5 for task in tasks)
    ids = [f"assoc-{kind}-{place}" for kind in KINDS for place in range(1, 5)]
    assert [task["id"] for task in tasks] == ids


def test_the_twenty_of_the_file_are_the_published(cli: Cli, workplace: Path) -> None:
    ran = cli("association", "tasks", "--out", "tasks.json")
    assert ran.code == 0, ran.err
    content = json.loads((workplace / "tasks.json").read_text("utf-8"))
    assert (content["suite"], content["seed"], content["scale"]) == ("association", 20260910, 2000)
    assert (content["day_zero"], content["last_day"], content["world_digest"]) == ("2026-06-01", "2026-08-29", FACTS)
    tasks = content["tasks"]
    found = {t["id"]: (t["kind"], _around({**t, "category": t["kind"]}), t["truth"]["size"]) for t in tasks}
    assert found == TARGETS
    for task in tasks:
        truth, [check] = task["truth"], task["checks"]
        assert check["kind"] == "set"
        assert len(set(check["values"])) == len(check["values"]) == truth["size"]
        assert (sorted(truth["answer"]), sorted(truth["forbid"])) == (sorted(check["values"]), sorted(check["forbid"]))
        assert len(set(check["forbid"])) == 5
        assert not set(check["values"]) & set(check["forbid"])
        assert task["full_prompt"].startswith(content["prefix"])
        assert "SEMANTIC_MATCH" not in check["forbid"]
        if task["kind"] == "why":
            assert "SIMILAR_SIZE" in check["forbid"]
    said = {t["id"]: t["truth"] for t in tasks}
    assert {n: said[n]["linked_before"] for n in LINKED_BEFORE} == LINKED_BEFORE
    assert {n: said[n]["hidden_matches"] for n in HIDDEN} == HIDDEN
    assert "mushroom" not in (workplace / "tasks.json").read_text("utf-8").lower()


def test_every_process_writes_the_same_file(cli_process: Cli, workplace: Path) -> None:
    for seed in ("0", "1"):
        ran = cli_process("association", "tasks", "--out", f"{seed}.json", env={"PYTHONHASHSEED": seed})
        assert ran.code == 0, ran.err
    assert (workplace / "0.json").read_bytes() == (workplace / "1.json").read_bytes()


def test_the_files_alone_answer_the_published_twenty(published: Path) -> None:
    for arm, found in scores(published / "r").items():
        assert len(found) == 20
        assert set(found.values()) == {0.0 if arm == "empty" else 1.0}, arm
    identity = json.loads((published / "r" / "manifest.json").read_text("utf-8"))["identity"]
    assert identity["suite_settings"]["facts"] == FACTS
    assert identity["corpora"] == {"world": FACTS}


# -- the world, read back ------------------------------------------------------------------------------------------


def _from_files(place: Path) -> Facts:
    form = place / "form"
    nodes = [
        n for label in ("talent", "company", "job") for n in json.loads((form / f"entities/{label}.json").read_text())
    ]
    changes = [json.loads(line) for line in (form / "changes.jsonl").read_text("utf-8").splitlines()]
    return {"nodes": nodes, "changes": changes}


def _from_database(place: Path) -> Facts:
    def entity(row: sqlite3.Row, label: str) -> Facts:
        fields = dict(row)
        fields["location"] = [fields.pop("lat"), fields.pop("lon")]
        lists = {
            name.removesuffix("_json"): json.loads(fields.pop(name)) for name in list(fields) if name.endswith("_json")
        }
        return {"label": label, **fields, **lists}

    with closing(sqlite3.connect(place / "form" / "world.sqlite")) as base:
        base.row_factory = sqlite3.Row
        tables = {label: base.execute(f"SELECT * FROM {label} ORDER BY key") for label in ("Talent", "Company", "Job")}
        nodes = [entity(row, label) for label, rows in tables.items() for row in rows]
        changes = []
        for row in base.execute("SELECT * FROM changes ORDER BY seq"):
            one = {name: row[name] for name in ("day", "date", "op", "key", "field")}
            value, node = (None if row[name] is None else json.loads(row[name]) for name in ("value_json", "node_json"))
            changes.append({**one, "value": value, "node": node})
    return {"nodes": nodes, "changes": changes}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 9)
    return [_rounded(item) for item in value] if isinstance(value, list) else value


def _digest(facts: Facts) -> str:
    """The digest of the facts: SHA-256 over sorted JSON, floats rounded to nine decimals."""

    def node(one: Facts | None) -> Facts | None:
        if one is None:
            return None
        props = {name: _rounded(value) for name, value in one.items() if name not in ("key", "label", "embedding")}
        return {"key": one["key"], "label": one["label"], "props": props}

    nodes = [node(one) for one in facts["nodes"]]
    changes = [
        {**change, "value": _rounded(change["value"]), "node": node(change["node"])} for change in facts["changes"]
    ]
    text = json.dumps({"nodes": nodes, "changes": changes}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@pytest.fixture(scope="module")
def facts(published: Path) -> Facts:
    return _from_files(place_of(published / "stores", "json-files"))


def test_both_forms_hold_the_published_facts(published: Path, facts: Facts) -> None:
    assert _digest(facts) == FACTS
    assert _digest(_from_database(place_of(published / "stores", "sqlite"))) == FACTS


def test_the_history_is_the_published(facts: Facts) -> None:
    assert Counter(node["label"] for node in facts["nodes"]) == {"Talent": 1400, "Company": 400, "Job": 200}
    changes = facts["changes"]
    assert Counter(change["op"] for change in changes) == {"set_prop": 169, "insert_node": 83, "delete_node": 48}
    assert Counter(change["field"] for change in changes if change["op"] == "set_prop") == {
        "industry": 38,
        "location": 37,
        "size_bucket": 34,
        "specialties": 32,
        "status": 28,
    }
    for op, counts in (("insert_node", (54, 22, 7)), ("delete_node", (43, 1, 4))):
        labels = Counter(change["key"].split("-")[0] for change in changes if change["op"] == op)
        assert tuple(labels[label] for label in ("talent", "company", "job")) == counts
    assert len({change["day"] for change in changes}) == 83
    assert [change["day"] for change in changes] == sorted(change["day"] for change in changes)
    assert len({(change["day"], change["key"]) for change in changes}) == 300


def _last_day(facts: Facts) -> list[Facts]:
    live = {node["key"]: dict(node) for node in facts["nodes"]}
    for change in facts["changes"]:
        if change["op"] == "set_prop":
            live[change["key"]][change["field"]] = change["value"]
        elif change["op"] == "insert_node":
            live[change["key"]] = dict(change["node"])
        else:
            del live[change["key"]]
    return list(live.values())


def _overlap(one: list[list[str]], two: list[list[str]], least: float) -> Any:
    """Where two lists share that much of their union, and something at all."""
    words = sorted({word for words in (*one, *two) for word in words})
    has_one, has_two = (np.array([[word in row for word in words] for row in rows], dtype=int) for rows in (one, two))
    common = has_one @ has_two.T
    union = has_one.sum(axis=1)[:, None] + has_two.sum(axis=1)[None, :] - common
    return (common > 0) & (common >= least * union)


def _near(one: list[list[float]], two: list[list[float]]) -> Any:
    a, b = (np.radians(np.array(rows)) for rows in (one, two))
    half = np.sin((a[:, None, :] - b[None, :, :]) / 2) ** 2
    inner = half[..., 0] + np.cos(a[:, None, 0]) * np.cos(b[None, :, 0]) * half[..., 1]
    return 2 * 6371.0088 * np.arcsin(np.sqrt(inner)) <= 160.9


def test_the_rules_link_what_the_study_counted(facts: Facts) -> None:
    live = _last_day(facts)
    assert Counter(node["label"] for node in live) == {"Talent": 1411, "Company": 421, "Job": 203}
    talents = [node for node in live if node["label"] == "Talent"]
    found: dict[str, dict[str, int]] = {name: {} for name in EDGES}
    for label in ("Company", "Job"):
        others = [node for node in live if node["label"] == label]

        def both(field: str, others: list[Facts] = others) -> Iterator[list[Any]]:
            return ([node[field] for node in side] for side in (talents, others))

        industry, there = (np.array(side) for side in both("industry"))
        size, theirs = (np.array(side) for side in both("size_bucket"))
        links = {
            "INDUSTRY_ALIGNMENT": industry[:, None] == there[None, :],
            "SPECIALTY_MATCH": _overlap(*both("specialties"), 0.15),
            "LOCATION_FIT": _near(*both("location")),
        }
        if label == "Company":
            apart = np.abs(size[:, None] - theirs[None, :])
            links |= {"SIMILAR_SIZE": apart <= 1, "SIMILAR_SIZE_STRICT": apart == 0}
            links["MATCHES_DESIGN_STYLE"] = _overlap(*both("design_styles"), 0.2)
        for name, matrix in links.items():
            found[name][label] = int(matrix.sum())
    assert found == EDGES
    assert sum(sum(by_label.values()) for by_label in found.values()) == 1_268_333


# -- more questions ------------------------------------------------------------------------------------------------


def test_thirteen_of_a_kind_are_65_with_both_roles(published: Path, cli: Cli, workplace: Path) -> None:
    flags = ("--memory", FILES, "--tasks", "13", "--stores", published / "stores")
    ran = cli("run", "association", *flags, "--out", "r", "--json")
    assert ran.code == 0, ran.err
    tasks = tasks_of(workplace / "r")
    assert len({task["id"] for task in tasks}) == len({task["prompt"] for task in tasks}) == 65
    assert Counter(task["category"] for task in tasks) == dict.fromkeys(KINDS, 13)
    roles = Counter(task["payload"]["role"] for task in tasks if task["category"] == "visibility")
    assert set(roles) == {"recruiter", "client"}
    for task in tasks:
        right, near = answer_of(task), near_of(task)
        assert (len(set(near)), len(set(right))) == (5, len(right))
        assert 3 <= len(right) <= 40
        values = [value.lower() for value in (*right, *near)]
        assert not [(a, b) for a in values for b in values if a is not b and a in b], task["id"]
        if task["category"] == "visibility":
            hidden = {"recruiter": "company", "client": "talent"}[task["payload"]["role"]]
            assert {key.split("-")[0] for key in near} == {hidden}
            assert hidden not in {key.split("-")[0] for key in right}
    few = {task["id"]: (task["prompt"], answer_of(task), near_of(task)) for task in tasks_of(published / "r")}
    many = {task["id"]: (task["prompt"], answer_of(task), near_of(task)) for task in tasks}
    assert {name: many[name] for name in few} == few, "the published twenty are a part of the 65"
    for arm in ran.json["arms"].values():
        assert (arm["n"], arm["metrics"]["score"]["value"]) == (65, 1.0)
    [ours] = ran.json["conclusion"]["gate"]["ours"]["arms"]
    legs = {leg["leg"]: leg for leg in ours["legs"]}
    assert legs["correctness"]["outcome"] == "passed", "65 questions can certify"


def test_what_blindness_costs_where_both_roles_ask(published: Path, cli: Cli, workplace: Path) -> None:
    flags = ("--memory", "sqlite", "--tasks", "8", "--categories", "visibility", "--set", "agent.mistake=blind")
    ran = cli("run", "association", *flags, "--no-controls", "--stores", published / "stores", "--out", "r", "--json")
    assert ran.code == 0, ran.err
    assert {task["payload"]["role"] for task in tasks_of(workplace / "r")} == {"recruiter", "client"}
    assert set(scores(workplace / "r")["sqlite"].values()) == {0.0}


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--scale", "773"], ["visibility", "774"]),
        pytest.param(["--tasks", "400"], ["timetravel", "at most"], marks=pytest.mark.slow),
    ],
)
def test_too_few_of_a_kind_is_one_line_with_a_way_out(
    flags: list[str], words: list[str], cli: Cli, workplace: Path
) -> None:
    said = refusal(cli("run", "association", "--memory", FILES, *flags, "--out", "r"))
    assert all(word in said for word in words), said
    assert list(workplace.iterdir()) == []


def test_what_was_too_easy_is_replaced(published: Path, cli: Cli, workplace: Path) -> None:
    """A pilot with the targets of two questions: the set stays four of a kind, and they are in it no more."""
    avoid = ["talent-000141", "company-000153", "talent-000501"]
    (workplace / "pilot.json").write_text(json.dumps({"avoid": avoid}), encoding="utf-8")
    flags = ("--memory", "sqlite", "--set", "association.pilot=pilot.json", "--stores", published / "stores")
    ran = cli("run", "association", *flags, "--out", "r", "--json")
    assert ran.code == 0, ran.err
    tasks = tasks_of(workplace / "r")
    assert Counter(task["category"] for task in tasks) == dict.fromkeys(KINDS, 4)
    targets = {key for task in tasks if task["category"] in ("why", "timetravel") for key in _around(task)}
    assert not targets & set(avoid)
    assert {arm["metrics"]["score"]["value"] for arm in ran.json["arms"].values()} == {1.0}


# -- the graph of this scale ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_three_forms_of_the_published_world_are_built_and_answered(three: Path) -> None:
    lines = {line.split()[0]: line for line in (three / "build.txt").read_text("utf-8").splitlines()}
    seconds = {form: float(re.search(r"([\d.]+) s\b", lines[form])[1]) for form in FORMS}  # type: ignore[index]
    assert seconds["json-files"] + seconds["sqlite"] < 30, "our forms"
    assert seconds["graph"] > 0
    summary = json.loads((three / "r" / "summary.json").read_text("utf-8"))
    assert list(summary["arms"]) == list(FORMS)
    for arm in summary["arms"].values():
        assert (arm["n"], arm["metrics"]["score"]["value"]) == (20, 1.0)
    assert summary["conclusion"]["gate"]["published"]["verdict"] == "no decision: no cost"
    assert {name: one["passed"] for name, one in summary["controls"].items()} == {"reference": True, "empty": True}
    identity = json.loads((three / "r" / "manifest.json").read_text("utf-8"))["identity"]
    assert identity["suite_settings"]["facts"] == FACTS
    tasks = tasks_of(three / "r")
    assert {n: (t["category"], _around(t), len(answer_of(t))) for n, t in enumerate(tasks, 1)} == TARGETS


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_graph_has_the_published_calendar_and_links(three: Path) -> None:
    place = place_of(three / "runs" / "stores", "graph")
    days = json.loads((place / "form" / "days.json").read_text("utf-8"))
    assert [days[day]["commit"] for day in (0, 43, 89)] == [18, 315, 585], "without the rule on embeddings"
    assert days[43]["date"] == "2026-07-14"
    stamp = json.loads((place / "stamp.json").read_text("utf-8"))
    assert stamp["facts"] == FACTS
    assert sorted(stamp["links"].values()) == sorted(n for by_label in EDGES.values() for n in by_label.values())


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_engine_disputes_nothing(three: Path, cli: Cli) -> None:
    checked = cli("association", "check", three / "r")
    assert checked.code == 0, checked.err + checked.out
    assert re.search(r"\b200\b", checked.out), checked.out
    assert re.search(r"\b20\b", checked.out), checked.out
    assert "Traceback" not in checked.err


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_cut_store_and_what_lies_outside_are_refused(three: Path, cli: Cli, workplace: Path) -> None:
    import mushroomdb

    stores = three / "runs" / "stores"
    tools = GraphTools(place_of(stores, "graph"))
    try:
        for name, arguments, word in (
            ("edges_at", {"key": "talent-000396", "at": "2026-09-01"}, "2026-08-29"),
            ("query", {"cypher": "MATCH (n:Job) RETURN key(n) AS key", "role": "auditor"}, "recruiter"),
        ):
            failed, text = tools.call(name, **arguments)
            assert failed
            assert len(text.splitlines()) == 1
            assert word in text
        day = {"key": "talent-000396", "at": "2026-07-14", "label": "Company", "limit": 2000}
        three_types = ["INDUSTRY_ALIGNMENT", "SPECIALTY_MATCH", "LOCATION_FIT"]
        failed, text = tools.call("edges_at", **day, all_of=three_types)
        assert not failed
        wanted = answer_of(tasks_of(three / "r")[15])
        assert set(re.findall(r"company-\d{6}", text)) == set(wanted), "eight, not the seven of a day resolved wrongly"
    finally:
        tools.close()
    spoilt = copied(stores, workplace / "stores")
    with closing(mushroomdb.GraphDb.open(place_of(spoilt, "graph") / "world.mushroomdb")) as db:
        db.snapshot()
    refused = cli("run", "association", "--stores", spoilt, "--out", "r", "--json")
    assert "cut by a snapshot" in refusal(refused)
    nothing_graded(workplace / "r")
