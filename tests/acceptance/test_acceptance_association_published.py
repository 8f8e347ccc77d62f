"""The published world and its twenty questions: the facts of the study, typed in here and counted from the files.

The forms of files and of a database take seconds; whatever needs the graph of this scale is slow.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from association_kit import (
    EDGES,
    FACTS,
    FILES,
    FORMS,
    KINDS,
    GraphTools,
    answer_of,
    command,
    copied,
    near_of,
    nothing_graded,
    place_of,
    refusal,
    scores,
    tasks_of,
)

from kit import Cli
from session import once, shared

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


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same on all three forms, as the default is, in ``runs``; ``build.txt`` is what ``build`` said."""
    pytest.importorskip("mushroomdb")
    pytest.importorskip("mcp")
    base = shared(tmp_path_factory, "association-published-three")
    with once(base) as mine:
        if mine:
            built = command(base, "build", "association", "--out", "runs/r", timeout=3000)
            assert built.code == 0, built.err
            (base / "build.txt").write_text(built.out, "utf-8")
            flags = ("--agent", "reference", "--out", "runs/r", "--json")
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


# -- more questions ------------------------------------------------------------------------------------------------


def test_thirteen_of_a_kind_are_65_with_both_roles(published: Path, cli: Cli, workplace: Path) -> None:
    flags = ("--memory", "sqlite,other=sqlite", "--tasks", "13", "--stores", published / "stores")
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
    summary = json.loads((three / "runs" / "r" / "summary.json").read_text("utf-8"))
    assert list(summary["arms"]) == list(FORMS)
    for arm in summary["arms"].values():
        assert (arm["n"], arm["metrics"]["score"]["value"]) == (20, 1.0)
    assert summary["conclusion"]["gate"]["published"]["verdict"] == "no decision: no cost"
    assert {name: one["passed"] for name, one in summary["controls"].items()} == {"reference": True, "empty": True}
    identity = json.loads((three / "runs" / "r" / "manifest.json").read_text("utf-8"))["identity"]
    assert identity["suite_settings"]["facts"] == FACTS
    tasks = tasks_of(three / "runs" / "r")
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
    checked = cli("association", "check", three / "runs" / "r")
    assert checked.code == 0, checked.err + checked.out
    assert "3 forms compared: 0 disagreements" in checked.out
    assert "240 probes of the engine (200 pairs, 20 links, 20 histories): 0 disagreements" in checked.out
    assert "20 questions put to the engine: 0 disputed" in checked.out


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
        wanted = answer_of(tasks_of(three / "runs" / "r")[15])
        assert set(re.findall(r"company-\d{6}", text)) == set(wanted), "eight, not the seven of a day resolved wrongly"
    finally:
        tools.close()
    spoilt = copied(stores, workplace / "stores")
    with closing(mushroomdb.GraphDb.open(place_of(spoilt, "graph") / "world.mushroomdb")) as db:
        db.snapshot()
    refused = cli("run", "association", "--stores", spoilt, "--out", "r", "--json")
    assert "cut by a snapshot" in refusal(refused)
    nothing_graded(workplace / "r")
