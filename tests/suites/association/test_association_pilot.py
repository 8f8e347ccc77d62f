"""The pilot: what is too easy is dropped and replaced, and what stays the same is not asked twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from memassay.core.errors import DataError
from memassay.core.types import Task
from memassay.suites.association.tasks import (
    Pilot,
    fingerprint,
    judged,
    load_pilot,
    read_pilot,
    targets_of,
    tasks_of,
    unstamped,
    write_pilot,
)
from memassay.suites.association.world import World, make_world


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(seed=7, scale=1000)


@pytest.fixture(scope="module")
def tasks(world: World) -> list[Task]:
    return tasks_of(world)


def test_nothing_too_easy_ends_it_after_one_round(tasks: list[Task]) -> None:
    assert unstamped(Pilot(), tasks) == tasks
    pilot = judged(Pilot(), tasks, {task.id: 5 for task in tasks})
    assert unstamped(pilot, tasks) == []
    assert pilot.avoid == ()
    assert [len(pilot.rounds), pilot.rounds[0].asked, pilot.rounds[0].dropped] == [1, tuple(t.id for t in tasks), ()]


def test_below_the_floor_is_dropped_and_a_session_without_a_count_is_not(tasks: list[Task]) -> None:
    turns: dict[str, int | None] = dict.fromkeys((task.id for task in tasks), 8)
    turns |= {"assoc-why-2": 4, "assoc-multihop-1": 0, "assoc-visibility-4": None}
    pilot = judged(Pilot(), tasks, turns)
    assert pilot.rounds[0].dropped == ("assoc-why-2", "assoc-multihop-1")
    named = {task.id: task for task in tasks}
    assert set(pilot.avoid) == {*targets_of(named["assoc-why-2"]), *targets_of(named["assoc-multihop-1"])}
    assert len(pilot.avoid) == 3
    assert pilot.stamps[fingerprint(named["assoc-visibility-4"])] == 30
    assert judged(Pilot(), tasks, turns, cap=12).stamps[fingerprint(named["assoc-visibility-4"])] == 12


def test_the_rounds_end_with_a_full_set_of_stamped_tasks(world: World, tasks: list[Task]) -> None:
    pilot, easy = Pilot(), {"assoc-why-1", "assoc-retraction-4", "assoc-timetravel-2"}
    current = tasks
    while wanted := unstamped(pilot, current):
        first = not pilot.rounds
        pilot = judged(pilot, current, {task.id: 3 if first and task.id in easy else 7 for task in wanted})
        current = tasks_of(world, avoid=pilot.avoid)
    assert [task.id for task in current] == [task.id for task in tasks]
    assert all(pilot.stamps[fingerprint(task)] == 7 for task in current)
    assert not {name for task in current for name in targets_of(task)} & set(pilot.avoid)
    assert set(pilot.rounds[0].dropped) == easy
    assert 2 <= len(pilot.rounds) <= 3
    # What the rebuild left as it was kept its stamp and was asked once.
    kept = {fingerprint(task) for task in current} & {fingerprint(task) for task in tasks}
    again = {name for one in pilot.rounds[1:] for name in one.asked}
    assert kept
    assert not {task.id for task in current if fingerprint(task) in kept} & again


def test_another_floor(tasks: list[Task]) -> None:
    pilot = judged(Pilot(floor=9), tasks, {task.id: 8 for task in tasks[:2]})
    assert pilot.rounds[0].dropped == (tasks[0].id, tasks[1].id)
    assert len(unstamped(pilot, tasks)) == 18


def test_turns_of_a_task_that_is_not_in_the_set_are_refused(tasks: list[Task]) -> None:
    with pytest.raises(DataError, match="'assoc-why-99'"):
        judged(Pilot(), tasks, {"assoc-why-99": 7})


def test_a_fingerprint_covers_prompt_and_gold_and_not_the_name(tasks: list[Task]) -> None:
    task = tasks[0]
    assert len(fingerprint(task)) == 16
    assert fingerprint(task.model_copy(update={"id": "x", "payload": {}, "scope": "y"})) == fingerprint(task)
    assert fingerprint(task.model_copy(update={"prompt": "?"})) != fingerprint(task)
    for key in ("original", "near"):
        gold = {**task.gold, key: task.gold[key].model_copy(update={"answer": "retail"})}
        assert fingerprint(task.model_copy(update={"gold": gold})) != fingerprint(task)
    assert len({fingerprint(each) for each in tasks}) == 20


def test_the_file(tasks: list[Task], tmp_path: Path) -> None:
    pilot = judged(Pilot(), tasks, {task.id: 4 if task.category == "why" else 6 for task in tasks})
    path = tmp_path / "pilot.json"
    write_pilot(pilot, path)
    assert load_pilot(path) == pilot
    assert read_pilot(path) == pilot.avoid
    first = path.read_bytes()
    write_pilot(load_pilot(path), path)
    assert path.read_bytes() == first


@pytest.mark.parametrize("text", ["", "[]", '{"floor": "many"}', '{"avoids": []}'])
def test_a_file_that_is_no_pilot_is_refused_in_one_sentence(text: str, tmp_path: Path) -> None:
    path = tmp_path / "pilot.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"pilot\.json is not the file of a pilot"):
        read_pilot(path)


def test_a_file_that_is_not_there_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_pilot(tmp_path / "none.json")
