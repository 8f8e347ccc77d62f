"""The engine of the graph is asked for a second opinion: probes, and the answer of each task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from association_forms import world_of

from memassay.core.errors import UsageError
from memassay.core.types import Gold, Task
from memassay.suites.association.truth import Links
from memassay.suites.association.world import LAST_DAY, World, date_of

pytest.importorskip("mushroomdb")

from memassay.suites.association.graph.crosscheck import ROUNDS, cross_check, settle, verify_task
from memassay.suites.association.graph.store import GraphReader


def links_of(world: World) -> Callable[[int], Links]:
    return lambda day: Links(world.state(day))


def test_store_and_truth_agree(reader: GraphReader) -> None:
    assert cross_check(world_of(), links_of(world_of()), reader, 1) == []


def test_another_truth_does_not_agree(reader: GraphReader) -> None:
    world = world_of()
    keys = set(world.state(LAST_DAY))
    # The same keys on every day, with the fields of other entities.
    bent = replace(world, changes=tuple(change for change in world.changes if change.field != "industry"))
    assert set(bent.state(LAST_DAY)) == keys
    found = cross_check(bent, links_of(bent), reader, 1)
    assert any("industry_alignment" in line for line in found)
    assert any(line.startswith("The history of ") for line in found)


def task(kind: str, answer: list[str], **asks: Any) -> Task:
    gold = {"original": Gold(answer="\n".join(answer))}
    name = f"assoc-{kind}-1"
    return Task(
        id=name, suite="association", scope="w", cluster=name, category=kind, prompt="", payload=asks, gold=gold
    )


def tasks(world: World, today: Links) -> Iterator[Task]:
    """A task of every kind, whose answer is the truth's."""
    live = world.state(LAST_DAY)
    talents = sorted(key for key, node in live.items() if node.label == "Talent")
    two = ["INDUSTRY_ALIGNMENT", "SPECIALTY_MATCH"]
    three = [*two, "LOCATION_FIT"]
    talent = next(key for key in talents if today.others(key, three, "Company"))
    company = today.others(talent, three, "Company")[0]
    specialties = [set(live[key].fields["specialties"]) for key in (talent, company)]
    yield task("why", [*today.types(talent, company), *(specialties[0] & specialties[1])], target=[talent, company])

    published = {key for key in talents if live[key].fields["status"] == "published"}
    able = {key for key in published if live[key].fields["years_of_experience"] >= 3}
    companies = [key for key, node in live.items() if node.label == "Company"]
    reached = [key for key in companies if able & set(today.talents(key, three))]
    yield task("multihop", reached, types=three, years=3, talents=1)

    changed = today.replaced(company, "specialties", ("civic", "retail"))
    lost = set(today.talents(company, three)) - set(changed.talents(company, three))
    about = {"field": "specialties", "value": ["civic", "retail"]}
    yield task("retraction", sorted(lost), target=company, types=three, **about)

    then = Links(world.state(40))
    old = next(key for key in sorted(world.state(40)) if key.startswith("talent") and then.others(key, two, "Company"))
    yield task("timetravel", then.others(old, two, "Company"), target=old, types=two, day=40, date=date_of(40))

    seen = next(key for key in talents if today.others(key, two, "Job") and today.others(key, two, "Company"))
    yield task("visibility", today.others(seen, two, "Job"), target=seen, types=two, role="recruiter")

    def alike(one: str, two: str) -> bool:
        a, b = live[one].fields, live[two].fields
        same = all(a[field] == b[field] for field in ("industry", "size_bucket"))
        return one != two and same and not set(a["specialties"]).isdisjoint(b["specialties"])

    visible = [key for key in live if not key.startswith("talent")]
    near = {one: [two for two in visible if alike(one, two)] for one in companies}
    client = max(companies, key=lambda one: len(near[one]))
    yield task("visibility", near[client], target=client, role="client", fields=["industry", "size_bucket"])


def test_the_store_answers_every_kind_of_task(reader: GraphReader, today: Links) -> None:
    asked = list(tasks(world_of(), today))
    assert {one.category for one in asked} == {"why", "multihop", "retraction", "timetravel", "visibility"}
    assert all(one.gold["original"].answer for one in asked)
    assert [verify_task(one, reader) for one in asked] == [None] * len(asked)


def test_a_disputed_task_is_named_with_the_difference(reader: GraphReader, today: Links) -> None:
    for one in tasks(world_of(), today):
        answer = (one.gold["original"].answer or "").split("\n")
        bent = one.model_copy(update={"gold": {"original": Gold(answer="\n".join([*answer[1:], "job-999999"]))}})
        assert verify_task(bent, reader) == (
            f"{one.id}: the graph store's answer lacks job-999999 and adds {answer[0]}."
        )


def test_another_kind_of_task_is_refused(reader: GraphReader) -> None:
    with pytest.raises(UsageError, match="assoc-riddle-1 is of the kind 'riddle'"):
        verify_task(task("riddle", ["x"]), reader)


# -- what is disputed is replaced ----------------------------------------------------------------------------------


@pytest.fixture
def why(today: Links) -> Task:
    return next(tasks(world_of(), today))


def test_a_set_that_is_not_disputed_stands(reader: GraphReader, why: Task) -> None:
    drawn: list[Any] = []
    found = settle([why], ["talent-1"], lambda avoid: drawn.append(avoid) or [], reader)
    assert (found.disputed, found.avoid, found.tasks, found.stands) == ((), ("talent-1",), (why,), True)
    assert drawn == []


def test_a_disputed_task_is_replaced_by_one_that_the_engine_was_asked_about_too(reader: GraphReader, why: Task) -> None:
    wrong = why.model_copy(update={"gold": {"original": Gold(answer="job-999999")}})
    other = why.model_copy(update={"id": "assoc-why-2", "prompt": "the next candidate"})
    asked: list[str] = []
    drawn: list[list[str]] = []

    def redraw(avoid: Any) -> list[Task]:
        drawn.append(sorted(avoid))
        return [other]

    found = settle([wrong], [], redraw, reader, lambda task: asked.append(task.id))
    assert found.disputed[0].startswith("assoc-why-1: the graph store's answer lacks job-999999 and adds ")
    assert list(found.avoid) == sorted(why.payload["target"]) == drawn[0]  # type: ignore[arg-type]
    assert (len(drawn), found.tasks, found.stands) == (1, (other,), True)
    assert asked == ["assoc-why-1", "assoc-why-2"], "each is asked about once"


def test_what_is_disputed_again_and_again_does_not_stand(reader: GraphReader, why: Task) -> None:
    wrong = [
        why.model_copy(update={"prompt": str(turn), "gold": {"original": Gold(answer="job-999999")}})
        for turn in range(10)
    ]
    drawn = iter(wrong[1:])
    found = settle(wrong[:1], [], lambda avoid: [next(drawn)], reader)
    assert (found.stands, len(found.disputed)) == (False, 1 + ROUNDS)
