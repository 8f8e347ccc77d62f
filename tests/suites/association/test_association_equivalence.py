from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from association_forms import build, world_of

from memassay.core.errors import DataError, UsageError
from memassay.suites.association.forms import JsonFiles, Sqlite, equivalent
from memassay.suites.association.forms.equivalence import differences, history_differences
from memassay.suites.association.graph.store import Event
from memassay.suites.association.world import Change, Node


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    return {"json-files": build(JsonFiles(), tmp_path / "p"), "sqlite": build(Sqlite(), tmp_path / "q")}


def sql(places: dict[str, Path], statement: str) -> None:
    with closing(sqlite3.connect(places["sqlite"] / "form" / "world.sqlite", isolation_level=None)) as base:
        assert base.execute(statement).rowcount == 1


@pytest.mark.parametrize("every_day", [False, True])
def test_forms_of_one_world_are_equal(places: dict[str, Path], every_day: bool) -> None:
    assert equivalent(places, every_day=every_day) == []


def test_a_fact_of_the_first_day_is_named(places: dict[str, Path]) -> None:
    sql(places, "UPDATE talent SET years_of_experience = 41 WHERE key = 'talent-000001'")
    live = "talent-000001" in world_of().state(89)
    assert equivalent(places) == [
        "json-files and sqlite, day 0: talent-000001 differs in years_of_experience",
        *["json-files and sqlite, day 89: talent-000001 differs in years_of_experience"] * live,
    ]


def test_a_change_is_named_and_what_comes_of_it(places: dict[str, Path]) -> None:
    sql(places, "UPDATE changes SET day = 88, date = '2026-08-28' WHERE seq = 0")
    assert equivalent(places)[0] == "json-files and sqlite: change 0 differs"
    found = equivalent(places, every_day=True)
    key = world_of().changes[0].key
    assert any(line.startswith(f"json-files and sqlite, day {world_of().changes[0].day}: {key} ") for line in found)


def test_a_change_that_is_not_there_is_named(places: dict[str, Path]) -> None:
    sql(places, "DELETE FROM changes WHERE seq = 299")
    assert "json-files and sqlite: change 299 is only in the first" in equivalent(places)


def test_a_role_is_named(places: dict[str, Path]) -> None:
    sql(places, "DELETE FROM roles WHERE name = 'client'")
    assert equivalent(places) == ["json-files and sqlite: other roles"]


def test_a_damaged_form_is_refused(places: dict[str, Path]) -> None:
    (places["json-files"] / "form" / "changes.jsonl").write_text("x")
    with pytest.raises(DataError, match=r"changes\.jsonl cannot be read"):
        equivalent(places)


@pytest.mark.parametrize("names", [[], ["graph"], ["json-files", "parquet"]])
def test_only_forms_are_compared(names: list[str], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="The forms to compare are json-files, sqlite, graph"):
        equivalent(dict.fromkeys(names, tmp_path))


NODE = Node("job-000001", "Job", {"size_bucket": 2, "location": (1.0, 2.0), "specialties": ("civic",)})


@pytest.mark.parametrize(
    ("fields", "differs"),
    [
        ({"location": (1.0000000001, 2.0)}, []),
        ({"location": (1.00000001, 2.0)}, ["job-000001 differs in location"]),
        ({"location": (1.0, 2.0, 3.0)}, ["job-000001 differs in location"]),
        ({"size_bucket": 2.0}, ["job-000001 differs in size_bucket"]),
        ({"size_bucket": True, "specialties": ()}, ["job-000001 differs in size_bucket, specialties"]),
        ({"more": None}, ["job-000001 differs in more"]),
    ],
)
def test_values_are_compared_by_type_and_to_nine_decimals(fields: dict[str, Any], differs: list[str]) -> None:
    other = Node(NODE.key, NODE.label, {**NODE.fields, **fields})
    assert differences({NODE.key: NODE}, {NODE.key: other}) == differs


def test_entities_that_are_in_one_only_are_named() -> None:
    moved = Node(NODE.key, "Company", NODE.fields)
    assert differences({NODE.key: NODE}, {}) == ["job-000001 is only in the first"]
    assert differences({}, {NODE.key: NODE}) == ["job-000001 is only in the second"]
    assert differences({NODE.key: NODE}, {NODE.key: moved}) == ["job-000001 is a Job and a Company"]


SET = Change(3, 5, "2026-06-06", "set_prop", NODE.key, "size_bucket", 4)
GONE = Change(4, 9, "2026-06-10", "delete_node", NODE.key)
BORN, CHANGED, LOST = Event(0, 0, "inserted"), Event(25, 5, "set", "size_bucket", 4), Event(27, 9, "deleted")


@pytest.mark.parametrize(
    ("events", "says"),
    [
        ([BORN, CHANGED, LOST], []),
        ([BORN, CHANGED], ["job-000001: the log has deleted 9, the store nothing"]),
        ([BORN, Event(25, 6, "set", "size_bucket", 4), LOST],
         ["job-000001: the log has set 5 size_bucket 4, the store set 6 size_bucket 4"]),
        ([BORN, Event(25, 5, "set", "size_bucket", 4.0), LOST],
         ["job-000001: the log has set 5 size_bucket 4, the store set 5 size_bucket 4.0"]),
        ([CHANGED, LOST], 3),
        ([], 3),
    ],
)  # fmt: skip
def test_a_history_is_compared_event_by_event(events: list[Event], says: list[str] | int) -> None:
    found = history_differences(NODE.key, [SET, GONE], events)
    assert len(found) == says if isinstance(says, int) else found == says


def test_the_history_of_an_insertion_begins_with_it() -> None:
    came = Change(0, 7, "2026-06-08", "insert_node", NODE.key, node=NODE)
    assert history_differences(NODE.key, [came], [Event(30, 7, "inserted")]) == []
    assert history_differences(NODE.key, [came], [BORN]) != []


# -- the graph -----------------------------------------------------------------------------------------------------


def test_the_graph_is_equal(places: dict[str, Path], place: Path) -> None:
    assert equivalent({**places, "graph": place}) == []


def test_the_graph_is_compared_with_state_and_history(places: dict[str, Path], place: Path) -> None:
    change = next(change for change in world_of().changes if change.field == "status")
    path = places["json-files"] / "form" / "changes.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[change.seq]["value"] = "lost"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = equivalent({"json-files": places["json-files"], "graph": place})
    assert f"json-files and graph: {change.key}: the log has set {change.day} status lost, " in found[-1]
    assert all(change.key in line for line in found)


def test_a_graph_without_its_days_is_refused(places: dict[str, Path], place: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(place, tmp_path / "copy")
    (copy / "form" / "days.json").write_text("[]")
    with pytest.raises(DataError, match=r"days\.json cannot be read"):
        equivalent({**places, "graph": copy})


@pytest.mark.slow
def test_every_day_is_equal_at_scale_200(tmp_path: Path) -> None:
    pytest.importorskip("mushroomdb")
    from memassay.suites.association.graph import Graph

    memories = {"json-files": JsonFiles(), "sqlite": Sqlite(), "graph": Graph()}
    world = world_of(200, seed=20260910)
    places = {name: build(memory, tmp_path / name, world) for name, memory in memories.items()}
    assert equivalent(places, every_day=True) == []
