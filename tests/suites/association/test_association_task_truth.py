"""The tasks of a world that nobody has published, held against plain loops over the rules."""

from __future__ import annotations

from typing import Any

import pytest

from memassay.suites.association.tasks import KINDS, Draft
from memassay.suites.association.tasks.guards import answerable, unmistakable
from memassay.suites.association.truth import TASK_RULES, holds
from memassay.suites.association.world import LAST_DAY, Node, World, day_of

THREE = ["INDUSTRY_ALIGNMENT", "SPECIALTY_MATCH", "LOCATION_FIT"]
WITH_SIZE = ["INDUSTRY_ALIGNMENT", "SIMILAR_SIZE", "LOCATION_FIT"]

# -- guards --------------------------------------------------------------------------------------------------------


def test_every_task_keeps_the_guards(drafts: list[Draft]) -> None:
    assert [draft.kind for draft in drafts] == [kind for kind in KINDS for _ in range(10)]
    for draft in drafts:
        assert 3 <= len(draft.answer) <= 40
        assert unmistakable(draft.answer, draft.near)
        assert list(draft.answer) == sorted(draft.answer)
        assert list(draft.near) == sorted(draft.near)
    assert len({draft.question for draft in drafts}) == len(drafts)
    for kind in ("multihop", "retraction", "timetravel"):
        assert len({draft.answer for draft in drafts if draft.kind == kind}) == 10


@pytest.mark.parametrize(("answers", "candidates", "right"), [(2, 5, 0), (3, 5, 1), (40, 5, 1), (41, 5, 0), (9, 4, 0)])
def test_how_many_answers_and_candidates(answers: int, candidates: int, right: int) -> None:
    assert answerable(range(answers), range(candidates)) is bool(right)


def test_what_can_be_mistaken() -> None:
    near = ("b1", "b2", "b3", "b4", "b5")
    assert unmistakable(("a1", "a2", "a3"), near)
    assert not unmistakable(("a1", "a2", "a3"), near[:4])
    assert not unmistakable(("a1", "a2", "b1"), near)
    assert not unmistakable(("a1", "a1", "a2"), near)
    assert not unmistakable(("a1", "a2", "xB1x"), near)
    assert not unmistakable(("B", "a1", "a2"), near)


# -- the truth, by plain loops over the rules ----------------------------------------------------------------------


def types_of(talent: Node, node: Node) -> set[str]:
    return {rule.edge_type for rule in TASK_RULES if holds(rule, talent, node)}


def linked(state: dict[str, Node], talent: str, types: Any, label: str) -> set[str]:
    ends = (node for node in state.values() if node.label == label)
    return {node.key for node in ends if set(types) <= types_of(state[talent], node)}


def of_kind(drafts: list[Draft], kind: str) -> list[Draft]:
    return [draft for draft in drafts if draft.kind == kind]


def test_why(other: World, drafts: list[Draft]) -> None:
    live = other.state(LAST_DAY)
    for draft in of_kind(drafts, "why"):
        talent, company = (live[key] for key in draft.asks["target"])
        mine, theirs = set(talent.fields["specialties"]), set(company.fields["specialties"])
        assert set(draft.answer) == types_of(talent, company) | mine & theirs
        assert len(types_of(talent, company)) == 3
        assert len(mine & theirs) >= 2
        assert abs(talent.fields["size_bucket"] - company.fields["size_bucket"]) >= 2
        unshared = [value for value in draft.near if value.islower()]
        assert len(unshared) == 3
        assert set(unshared) <= mine ^ theirs - {"industrial"}
        assert "SIMILAR_SIZE" in draft.near


def test_multihop(other: World, drafts: list[Draft]) -> None:
    live = other.state(LAST_DAY)
    companies = [node for node in live.values() if node.label == "Company"]
    reached: dict[str, list[int]] = {
        company.key: [
            node.fields["years_of_experience"]
            for node in live.values()
            if node.label == "Talent"
            and node.fields["status"] == "published"
            and node.fields["industry"] == company.fields["industry"]
            and set(THREE) <= types_of(node, company)
        ]
        for company in companies
    }
    for draft in of_kind(drafts, "multihop"):
        counts = {key: sum(y >= draft.asks["years"] for y in years) for key, years in reached.items()}
        talents = int(str(draft.asks["talents"]))
        assert set(draft.answer) == {key for key, count in counts.items() if count >= talents}
        assert {counts[key] for key in draft.near} == {talents - 1}


def test_retraction(other: World, drafts: list[Draft]) -> None:
    live = other.state(LAST_DAY)
    found = of_kind(drafts, "retraction")
    assert [draft.asks["field"] for draft in found] == [*(["specialties"] * 2 + ["size_bucket"] * 2) * 3][:10]
    for draft in found:
        company, types = live[str(draft.asks["target"])], set(draft.asks["types"])
        changed = Node(company.key, company.label, {**company.fields, str(draft.asks["field"]): draft.asks["value"]})
        talents = [node for node in live.values() if node.label == "Talent"]
        before = {node.key for node in talents if types <= types_of(node, company)}
        after = {node.key for node in talents if types <= types_of(node, changed)}
        assert 12 <= len(before) <= 45
        assert set(draft.answer) == before - after
        assert set(draft.near) <= before & after
        assert draft.more["base"] == sorted(before)


def test_timetravel(other: World, drafts: list[Draft]) -> None:
    live = other.state(LAST_DAY)
    for draft in of_kind(drafts, "timetravel"):
        day, talent, types = int(str(draft.asks["day"])), str(draft.asks["target"]), draft.asks["types"]
        assert day == day_of(str(draft.asks["date"]))
        then, now = (linked(state, talent, types, "Company") for state in (other.state(day), live))
        assert set(draft.answer) == then
        assert set(draft.near) <= now - then
        moved = [c.field for c in other.changes if (c.key, c.day) == (talent, day + 1)]
        assert moved == [draft.more["moved_next_day"]]
        assert moved[0] in ("industry", "location", "specialties" if types == THREE else "size_bucket")


def test_visibility(other: World, drafts: list[Draft]) -> None:
    live = other.state(LAST_DAY)
    found = of_kind(drafts, "visibility")
    assert [draft.asks["role"] for draft in found] == ["recruiter"] * 4 + ["client", "recruiter"] * 3
    for draft in found:
        target = live[str(draft.asks["target"])]
        if draft.asks["role"] == "recruiter":
            types = draft.asks["types"]
            jobs, companies = (linked(live, target.key, types, label) for label in ("Job", "Company"))
            assert (set(draft.answer), len(companies)) == (jobs, draft.more["hidden_matches"])
            assert set(draft.near) <= companies
            continue
        alike = {
            node.key: node.label
            for node in live.values()
            if all(node.fields[name] == target.fields[name] for name in ("industry", "size_bucket"))
            and set(node.fields["specialties"]) & set(target.fields["specialties"])
        }
        assert alike.pop(target.key) == "Company"
        assert set(draft.answer) == {key for key, label in alike.items() if label != "Talent"}
        assert {alike[key] for key in draft.near} == {"Talent"}
