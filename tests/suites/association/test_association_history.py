from __future__ import annotations

from collections import Counter

import pytest

from memassay.core.errors import DataError
from memassay.suites.association.world import (
    DAYS,
    FIRST_DAY,
    INDUSTRIES,
    LAST_DAY,
    MUTABLE,
    SPECIALTIES,
    STATUSES,
    World,
    date_of,
    day_of,
    make_world,
)


@pytest.fixture(scope="module")
def published() -> World:
    return make_world()


# -- the calendar --------------------------------------------------------------------------------------------------


def test_the_window() -> None:
    assert (FIRST_DAY, DAYS, LAST_DAY) == ("2026-06-01", 90, 89)
    assert (date_of(0), date_of(43), date_of(89)) == ("2026-06-01", "2026-07-14", "2026-08-29")
    assert [day_of(date_of(day)) for day in range(90)] == list(range(90))


@pytest.mark.parametrize("date", ["2026-05-31", "2026-08-30", "1999-01-01"])
def test_a_date_outside_the_window_is_refused(date: str) -> None:
    with pytest.raises(DataError, match=rf"^{date} is outside the window: the dates are 2026-06-01 to 2026-08-29\.$"):
        day_of(date)


@pytest.mark.parametrize("date", ["", "14 July", "2026-7-14", "20260714", "2026-W29-2", "2026-06-31"])
def test_what_is_no_date_is_refused(date: str) -> None:
    with pytest.raises(DataError, match=r"is no date: write it as YYYY-MM-DD\.$"):
        day_of(date)


@pytest.mark.parametrize("day", [-1, 90])
def test_a_day_outside_the_window_is_refused(published: World, day: int) -> None:
    for ask in (date_of, published.state):
        with pytest.raises(DataError, match=rf"^Day {day} is outside the window: the days are 0 to 89\.$"):
            ask(day)


# -- the published history -----------------------------------------------------------------------------------------


def test_the_published_changes_by_what_they_are(published: World) -> None:
    changes = published.changes
    assert len(changes) == 300
    assert Counter(change.op for change in changes) == {"set_prop": 169, "insert_node": 83, "delete_node": 48}
    assert Counter(change.field for change in changes if change.field) == {
        "industry": 38, "location": 37, "size_bucket": 34, "specialties": 32, "status": 28,
    }  # fmt: skip
    by_label = Counter((change.op, change.key.partition("-")[0]) for change in changes if change.field is None)
    assert by_label == {
        ("insert_node", "talent"): 54, ("insert_node", "company"): 22, ("insert_node", "job"): 7,
        ("delete_node", "talent"): 43, ("delete_node", "company"): 1, ("delete_node", "job"): 4,
    }  # fmt: skip
    assert len({change.day for change in changes}) == 83


def test_the_edits_that_the_published_tasks_ask_about(published: World) -> None:
    edits = {(c.key, c.date): c.field for c in published.changes}
    assert edits["talent-000501", "2026-06-20"] == "specialties"
    assert edits["talent-001026", "2026-07-13"] == "location"
    assert edits["talent-000641", "2026-07-14"] == "industry"
    assert edits["talent-000396", "2026-07-15"] == "industry"


# -- every history -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "scale"), [(20260910, 2000), (1, 3), (2, 4), (3, 10), (4, 60), (5, 500)])
def test_what_every_history_keeps_to(seed: int, scale: int) -> None:
    world = make_world(seed, scale)
    live = {node.key: node for node in world.nodes}
    ever, touched, day = set(live), set[str](), 0
    for place, change in enumerate(world.changes):
        assert (change.seq, change.date) == (place, date_of(change.day))
        assert 1 <= change.day <= 89 and change.day >= day
        if change.day > day:
            day, touched = change.day, set()
        assert change.key not in touched, "a key changes twice on a day"
        touched.add(change.key)
        if change.op == "insert_node":
            assert change.node is not None and change.node.key == change.key and change.key not in ever
            assert (change.field, change.value) == (None, None)
            assert change.node.fields["status"] == "published"
            live[change.key] = change.node
            ever.add(change.key)
        else:
            assert change.key in live and change.node is None, "a key that is not live changes"
        if change.op == "delete_node":
            assert (change.field, change.value) == (None, None)
            del live[change.key]
        elif change.op == "set_prop":
            assert change.field in MUTABLE
    assert set(world.state(89)) == set(live)


def test_the_values_that_changes_set(published: World) -> None:
    for change in published.changes:
        match change.field:
            case "status":
                assert change.value in STATUSES
            case "industry":
                assert change.value in INDUSTRIES
            case "size_bucket":
                assert change.value in (1, 2, 3, 4, 5)
            case "specialties":
                assert 1 <= len(change.value) == len(set(change.value)) <= 4 and set(change.value) <= set(SPECIALTIES)
            case "location":
                assert len(change.value) == 2
    same = sum(
        published.state(c.day - 1)[c.key].fields[c.field] == c.value for c in published.changes if c.field is not None
    )
    assert same <= 2, "a change should change something"


def test_an_inserted_job_belongs_to_a_company_of_day_0() -> None:
    jobs = [c.node for seed in range(5) for c in make_world(seed, 30).changes if c.node and c.node.label == "Job"]
    assert jobs
    assert {job.fields["company_id"] for job in jobs} <= {f"company-{index:06d}" for index in range(6)}


# -- states --------------------------------------------------------------------------------------------------------


def test_day_0_is_the_base_state_in_order(published: World) -> None:
    assert tuple(published.state(0).values()) == published.nodes
    assert tuple(published.state(0)) == tuple(node.key for node in published.nodes)


def test_each_day_is_the_day_before_and_its_changes() -> None:
    world = make_world(8, 120)
    before = world.state(0)
    for day in range(1, DAYS):
        after = world.state(day)
        changes = {change.key: change for change in world.changes if change.day == day}
        assert set(before) ^ set(after) == {key for key, change in changes.items() if change.op != "set_prop"}
        for key in set(before) & set(after):
            change = changes.get(key)
            expected = {**before[key].fields, change.field: change.value} if change else before[key].fields
            assert after[key].fields == expected
        before = after


def test_a_relocation_leaves_the_address(published: World) -> None:
    change = next(c for c in published.changes if c.field == "location")
    before, after = (published.state(day)[change.key].fields for day in (change.day - 1, change.day))
    assert before["location"] != after["location"] == change.value
    assert before["address"] == after["address"]


def test_a_state_does_not_leak_into_the_world() -> None:
    world = make_world(8, 30)
    world.state(89).clear()
    assert len(world.state(0)) == 30 and world.digest == make_world(8, 30).digest
