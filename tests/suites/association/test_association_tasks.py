"""Sets of tasks: what is avoided, where a world has not enough, and the file of tasks."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from kit import printed_elsewhere
from memassay.core.errors import DataError, UsageError
from memassay.core.types import Task
from memassay.suites.association.grading import right_and_near
from memassay.suites.association.tasks import (
    Pilot,
    build,
    drafts_of,
    file_of,
    fingerprint,
    smallest_scale,
    targets_of,
    tasks_of,
    wording,
    write_tasks,
)
from memassay.suites.association.world import World, make_world

# -- what is avoided, and where there is not enough ----------------------------------------------------------------


def test_an_avoided_target_is_replaced_and_nothing_before_it_moves(published: World, twenty: list[Task]) -> None:
    again = tasks_of(published, avoid={"talent-000512", "company-000244", "years-15-talents-8", "talent-000104"})
    moved = [task.id for task, before in zip(again, twenty, strict=True) if task.payload != before.payload]
    assert again[0] == twenty[0]
    assert {"assoc-why-2", "assoc-multihop-3", "assoc-retraction-3", "assoc-visibility-1"} <= set(moved)
    assert all("talent-000512" not in targets_of(task) for task in again)
    bars = [(task.payload["years"], task.payload["talents"]) for task in again if task.category == "multihop"]
    assert bars[:3] == [(10, 14), (10, 16), (15, 9)]
    assert bars[3] not in {*bars[:3], (15, 8)}


def test_a_world_without_enough_names_the_kind_and_a_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "smallest_scale", lambda seed, count, avoid: 1234)
    with pytest.raises(DataError) as error:
        tasks_of(make_world(seed=7, scale=3))
    assert str(error.value) == (
        "The world of seed 7 and scale 3 has 0 of 4 tasks of the kind timetravel (3 to 40 answers and 5 near-misses "
        "each); the smallest scale found to have enough of every kind is 1,234."
    )


def test_where_no_scale_helps_it_says_how_many_there_are(other: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "smallest_scale", lambda seed, count, avoid: None)
    with pytest.raises(DataError, match=r"of 200 tasks of the kind timetravel.* ask for at most (\d+) per kind\.") as e:
        drafts_of(other, count=200)
    most = int(re.findall(r"at most (\d+)", str(e.value))[0])
    assert len(drafts_of(other, count=most)) == 5 * most
    with pytest.raises(DataError):
        drafts_of(other, count=most + 1)


def test_the_smallest_scale_has_enough_and_the_scale_below_has_not(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def enough(seed: int, scale: int, count: int, avoid: object) -> bool:
        asked.append(scale)
        return scale >= 777

    monkeypatch.setattr(build, "_enough", enough)
    assert smallest_scale(1, 4) == 777
    assert {776, 777} <= set(asked)
    assert len(asked) < 20
    monkeypatch.setattr(build, "_enough", lambda *_: False)
    assert smallest_scale(1, 4) is None


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 4])
def test_the_scale_that_is_named_works(count: int) -> None:
    scale = smallest_scale(20260910, count)
    assert scale is not None
    assert len(tasks_of(make_world(scale=scale), count=count)) == 5 * count
    with pytest.raises(DataError, match=f"{scale:,}"):
        tasks_of(make_world(scale=scale - 1), count=count)


@pytest.mark.parametrize("count", [0, -3])
def test_no_tasks_at_all_are_refused(count: int, other: World) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        tasks_of(other, count=count)


# -- the file ------------------------------------------------------------------------------------------------------


def test_the_file_has_the_published_shape(published: World, twenty: list[Task]) -> None:
    content = file_of(published, drafts_of(published))
    tasks = content.pop("tasks")
    assert content == {
        "suite": "association",
        "seed": 20260910,
        "scale": 2000,
        "day_zero": "2026-06-01",
        "last_day": "2026-08-29",
        "world_digest": "3107779e2a7d1dd0",
        "prefix": wording.OPENING,
    }
    assert [(task["id"], task["key"], task["kind"]) for task in tasks] == [
        (number, task.id, task.category) for number, task in enumerate(twenty, start=1)
    ]
    for task, core in zip(tasks, twenty, strict=True):
        right, near = map(list, right_and_near(core))
        assert task["full_prompt"] == core.prompt == f"{content['prefix']}\n\n{task['prompt']}"
        assert task["checks"] == [{"kind": "set", "values": right, "forbid": near}]
        assert (task["extras"], task["verify"]) == ({"kind": "none"}, None)
        assert (task["truth"]["answer"], task["truth"]["size"], task["truth"]["forbid"]) == (right, len(right), near)
    # Names of the published record, by kind.
    common = ["as_of", "answer", "size", "forbid"]
    assert [sorted(tasks[n]["truth"]) for n in (0, 4, 8, 12, 16)] == [
        sorted([*common, *names])
        for names in (
            ["target", "types", "shared_specialties", "unshared_specialties"],
            ["edge_types", "min_talents", "talent_filter"],
            ["target", "edge_types", "field", "value", "base", "linked_before"],
            ["day", "target", "edge_types", "moved_next_day", "linked_today"],
            ["target", "role", "edge_types", "hidden_matches"],
        )
    ]
    assert tasks[4]["truth"]["talent_filter"] == {"status": "published", "years_of_experience_min": 10}
    assert (tasks[15]["truth"]["as_of"], tasks[16]["truth"]["as_of"]) == ("2026-07-14", "2026-08-29")


def test_the_file_with_a_pilot_carries_its_stamps(published: World, twenty: list[Task]) -> None:
    pilot = Pilot(avoid=("company-000001",), stamps={fingerprint(twenty[0]): 6})
    content = file_of(published, drafts_of(published), pilot)
    assert content["dropped_targets"] == ["company-000001"]
    assert content["pilot"] == {"min_turns": 5, "dropped": [], "rounds": []}
    first, second = content["tasks"][:2]
    assert (first["min_baseline_turns"], first["pilot_fingerprint"]) == (6, fingerprint(twenty[0]))
    assert "min_baseline_turns" not in second


def test_the_file_has_the_same_bytes_in_every_process(other: World, tmp_path: Path) -> None:
    program = (
        "import hashlib, pathlib\n"
        "from memassay.suites.association.tasks import drafts_of, write_tasks\n"
        "from memassay.suites.association.world import make_world\n"
        "world, path = make_world(seed=7, scale=1000), pathlib.Path('tasks.json')\n"
        "write_tasks(path, world, drafts_of(world, count=6))\n"
        "print(hashlib.sha256(path.read_bytes()).hexdigest())\n"
    )
    path = tmp_path / "here.json"
    write_tasks(path, other, drafts_of(other, count=6))
    assert printed_elsewhere(program, tmp_path) == {hashlib.sha256(path.read_bytes()).hexdigest()}
    assert json.loads(path.read_text(encoding="utf-8"))["scale"] == 1000
