"""What the eleven tools of the graph answer, held against the truth."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from association_answers import lines, rows, told
from association_forms import world_of

from memassay.suites.association.truth import TASK_RULES, TYPES, Links, score
from memassay.suites.association.world import LAST_DAY, Node, date_of

pytest.importorskip("mushroomdb")

from memassay.suites.association.graph.offers import TOOLS
from memassay.suites.association.graph.store import GraphReader
from memassay.suites.association.graph.tools import Tools

THREE = ["INDUSTRY_ALIGNMENT", "SPECIALTY_MATCH", "LOCATION_FIT"]


def test_the_tools_are_the_product_s() -> None:
    assert {name: list(tool.takes.schema_of()["properties"]) for name, tool in TOOLS.items()} == {
        "explain_association": ["a", "b", "json"],
        "edges_at": ["key", "edge_type", "all_of", "label", "direction", "limit", "json", "at"],
        "was_linked": ["a", "b", "edge_type", "at"],
        "node_history": ["key"],
        "edge_history": ["a", "b"],
        "node_info": ["key"],
        "node_edges": ["key", "edge_type", "all_of", "label", "direction", "limit", "json"],
        "query": ["cypher", "params", "mask", "role"],
        "what_if": ["key", "field", "value", "edge_type", "label", "limit", "json"],
        "stats": [],
        "recall": ["topic", "json"],
    }


def test_explain_gives_rule_score_predicate_and_what_is_shared(
    tools: Tools, live: Mapping[str, Node], today: Links, talent: str
) -> None:
    company = today.others(talent, THREE, "Company")[0]
    found = told(tools, "explain_association", a=company, b=talent)
    assert [link["edge_type"] for link in found["links"]] == sorted(today.types(talent, company))
    rules = {rule.name: rule for rule in TASK_RULES}
    for link in found["links"]:
        rule = rules[link["rule"]]
        assert link["score"] == pytest.approx(score(rule, live[talent], live[company]))
        assert link["predicate"]["field"] == rule.field
    by_type = {link["edge_type"]: link for link in found["links"]}
    specialties = [set(live[key].fields["specialties"]) for key in (talent, company)]
    assert by_type["SPECIALTY_MATCH"]["shared"] == sorted(specialties[0] & specialties[1])
    assert by_type["INDUSTRY_ALIGNMENT"]["shared"] == live[talent].fields["industry"]
    assert "shared" not in by_type["LOCATION_FIT"]
    text = lines(tools, "explain_association", a=talent, b=company)
    assert text[0] == f"{talent} and {company}:"
    assert [line.partition(":")[0] for line in text[1:]] == list(by_type)


def test_explain_says_that_nothing_links_two(tools: Tools) -> None:
    assert told(tools, "explain_association", a="company-000000", b="job-000000")["links"] == []
    assert lines(tools, "explain_association", a="company-000000", b="job-000000")[-1] == "They are not linked."


@pytest.mark.parametrize("label", [None, "Company", "Job"])
def test_node_edges_by_all_of_several_types(tools: Tools, today: Links, talent: str, label: Any) -> None:
    found = told(tools, "node_edges", key=talent, all_of=THREE, **({"label": label} if label else {}))
    assert found["keys"] == today.others(talent, THREE, label)
    assert (found["key"], found["types"], found["total"]) == (talent, THREE, len(found["keys"]))


def test_node_edges_grouped_by_type(tools: Tools, today: Links, talent: str) -> None:
    found = told(tools, "node_edges", key=talent, limit=2)
    assert [group["edge_type"] for group in found["groups"]] == sorted(
        name for name in TYPES if today.others(talent, [name])
    )
    for group in found["groups"]:
        keys = today.others(talent, [group["edge_type"]])
        assert (group["total"], group["keys"]) == (len(keys), keys[:2])
    [first, *_] = lines(tools, "node_edges", key=talent, limit=1)
    assert first.startswith(f"{talent} is now linked by INDUSTRY_ALIGNMENT (")
    assert first.endswith(", ...")


def test_links_go_out_of_talents(tools: Tools, today: Links, talent: str) -> None:
    company = today.others(talent, THREE, "Company")[0]
    everything = told(tools, "node_edges", key=talent)
    assert told(tools, "node_edges", key=talent, direction="out") == everything
    assert told(tools, "node_edges", key=talent, direction="in")["groups"] == []
    assert told(tools, "node_edges", key=company, edge_type="LOCATION_FIT", direction="in")["keys"] == today.talents(
        company, ["LOCATION_FIT"]
    )


@pytest.mark.parametrize("day", [0, 1, 30, 60, 88, 89])
def test_edges_at_gives_the_day_that_was(tools: Tools, reader: GraphReader, day: int) -> None:
    state = world_of().state(day)
    then = Links(state)
    for key in sorted(key for key in state if key.startswith("talent"))[:6]:
        by_date = told(tools, "edges_at", key=key, at=date_of(day), edge_type="SPECIALTY_MATCH")
        assert by_date["keys"] == then.others(key, ["SPECIALTY_MATCH"])
        assert (by_date["commit"], by_date["date"]) == (reader.calendar.ends[day], date_of(day))
        by_commit = told(tools, "edges_at", key=key, at=reader.calendar.ends[day], edge_type="SPECIALTY_MATCH")
        assert by_commit["keys"] == by_date["keys"]
        jobs = told(tools, "edges_at", key=key, at=date_of(day), all_of=["INDUSTRY_ALIGNMENT"], label="Job")
        assert jobs["keys"] == then.others(key, ["INDUSTRY_ALIGNMENT"], "Job")


def test_a_frame_in_the_middle_of_a_commit_is_read_as_the_whole_commit(tools: Tools, reader: GraphReader) -> None:
    inner = [frame for frame in range(reader.calendar.ends[-1]) if reader.db.commit_time_ms(frame) is None]
    change = next(c for c in world_of().changes if c.field == "industry" and c.key.startswith("talent"))
    [event] = [e for e in reader.history(change.key) if e.field == "industry" and e.day == change.day]
    assert event.commit - 1 in inner
    whole = told(tools, "edges_at", key=change.key, at=event.commit)
    assert told(tools, "edges_at", key=change.key, at=event.commit - 1) == whole
    assert told(tools, "edges_at", key=change.key, at=event.commit - 2) != whole


def test_was_linked_by_date_and_by_commit(tools: Tools, reader: GraphReader, today: Links, talent: str) -> None:
    other = today.others(talent, THREE, "Company")[0]
    for at in (date_of(LAST_DAY), reader.calendar.ends[-1]):
        [line] = lines(tools, "was_linked", a=talent, b=other, edge_type="LOCATION_FIT", at=at)
        assert line.startswith("yes: they were linked by LOCATION_FIT at the end of 2026-08-2")
    apart = next(key for key in world_of().state(LAST_DAY) if key.startswith("company") and key not in
                 today.others(talent, ["LOCATION_FIT"]))  # fmt: skip
    [line] = lines(tools, "was_linked", a=apart, b=talent, edge_type="LOCATION_FIT", at="2026-08-29")
    assert line.startswith("no: they were not linked by LOCATION_FIT")


def test_a_commit_in_the_middle_of_a_day_is_not_said_to_end_it(tools: Tools, reader: GraphReader, talent: str) -> None:
    middle, day = next(
        moment
        for frame in range(reader.calendar.ends[0] + 1, reader.calendar.ends[-1])
        if (moment := reader.calendar.moment(frame))[0] != reader.calendar.ends[moment[1]]
    )
    linked = {"a": talent, "b": "company-000001", "edge_type": "LOCATION_FIT"}
    [line] = lines(tools, "was_linked", **linked, at=middle)
    assert line.endswith(f" after commit {middle} (on {date_of(day)}).")
    assert lines(tools, "edges_at", key=talent, at=middle)[0].startswith(
        f"After commit {middle} (on {date_of(day)}) {talent} was linked by "
    )
    end = reader.calendar.ends[day]
    assert lines(tools, "edges_at", key=talent, at=end)[0].startswith(f"At the end of {date_of(day)} (commit {end}) ")


def test_node_history_has_every_change_with_its_date(tools: Tools) -> None:
    for change in world_of().changes[::20]:
        wanted = {"set_prop": "set", "insert_node": "inserted", "delete_node": "deleted"}[change.op]
        [row] = [
            r for r in rows(tools, "node_history", key=change.key) if r["event"] == wanted and r["date"] == change.date
        ]
        if change.field is not None:
            value = list(change.value) if isinstance(change.value, tuple) else change.value
            assert (row["field"], row["value"]) == (change.field, value)


def test_edge_history_tells_when_links_came_and_went(tools: Tools) -> None:
    change = next(c for c in world_of().changes if c.field == "industry" and c.key.startswith("talent"))
    before, after = (Links(world_of().state(day)) for day in (change.day - 1, change.day))
    gone = set(before.others(change.key, ["INDUSTRY_ALIGNMENT"])) - set(
        after.others(change.key, ["INDUSTRY_ALIGNMENT"])
    )
    found = rows(tools, "edge_history", a=change.key, b=min(gone))
    last = [row for row in found if row["edge_type"] == "INDUSTRY_ALIGNMENT" and row["date"] == change.date]
    assert [row["event"] for row in last] == ["retracted"]
    assert lines(tools, "edge_history", a="company-000000", b="company-000001") == ["They were never linked."]


def test_node_info_gives_the_fields(tools: Tools, live: Mapping[str, Node], talent: str) -> None:
    [found] = rows(tools, "node_info", key=talent)
    assert found["label"] == "Talent"
    assert found["fields"] == json.loads(json.dumps(dict(live[talent].fields)))


def test_what_if_says_what_would_be_lost_and_gained(tools: Tools, live: Mapping[str, Node], today: Links) -> None:
    company = next(key for key in sorted(live) if key.startswith("company"))
    bucket = 6 - live[company].fields["size_bucket"] if live[company].fields["size_bucket"] != 3 else 1
    changed = today.replaced(company, "size_bucket", bucket)
    before, after = (set(links.talents(company, ["SIMILAR_SIZE"])) for links in (today, changed))
    found = told(tools, "what_if", key=company, field="size_bucket", value=bucket, edge_type="SIMILAR_SIZE")
    for name, keys in (("lost", before - after), ("gained", after - before)):
        wanted = [{"edge_type": "SIMILAR_SIZE", "total": len(keys), "keys": sorted(keys)}] if keys else []
        assert found[name] == wanted
    assert found["lost"] or found["gained"]
    same = live[company].fields["industry"]
    text = lines(tools, "what_if", key=company, field="industry", value=same)
    assert text == [f'If industry of {company} were "{same}", it would', "lose and gain nothing."]


def test_a_query_as_a_role_sees_what_the_role_sees(tools: Tools, today: Links, talent: str) -> None:
    asked = f"MATCH (t:Talent {{id: '{talent}'}})-[:INDUSTRY_ALIGNMENT]->(o) RETURN key(o) AS key"
    for role, label in ((None, None), ("recruiter", "Job")):
        count, *found = lines(tools, "query", cypher=asked, **({"role": role} if role else {}))
        keys = sorted(json.loads(row)["key"] for row in found)
        assert keys == today.others(talent, ["INDUSTRY_ALIGNMENT"], label)  # type: ignore[arg-type]
        assert count == f"{len(keys)} rows"
    assert lines(tools, "query", cypher=asked, role="client") == ["0 rows"]


def test_a_query_takes_parameters_and_a_mask(tools: Tools, live: Mapping[str, Node]) -> None:
    old = [key for key, node in live.items() if node.fields.get("years_of_experience", -1) >= 10]
    asked = "MATCH (n) WHERE n.years_of_experience >= $years RETURN key(n) AS key"
    assert lines(tools, "query", cypher=asked, params={"years": 10})[0] == f"{len(old)} rows"
    masked = lines(tools, "query", cypher=asked, params={"years": 10}, mask=old[:1])
    assert masked == ["1 row", json.dumps({"key": old[0]})]


def test_long_answers_to_a_query_are_cut(tools: Tools) -> None:
    count, *found = lines(
        tools, "query", cypher="MATCH (a:Talent), (b:Talent), (c:Company) RETURN key(a) AS a LIMIT 1500"
    )
    assert count == "1,500 rows, the first 1,000 of which follow"
    assert len(found) == 1000


def test_stats_and_recall(tools: Tools, live: Mapping[str, Node], today: Links, reader: GraphReader) -> None:
    [found] = rows(tools, "stats")
    assert found["entities"] == len(live)
    assert found["rules"] == today.counts()
    assert found["links"] == sum(today.counts().values())
    assert (found["first"], found["last"], found["commits"]) == (
        "2026-06-01",
        "2026-08-29",
        [0, reader.calendar.ends[-1]],
    )
    assert lines(tools, "recall", topic="talents") == ["The store was not asked to remember any note."]
    assert told(tools, "recall", topic="talents") == {"topic": "talents", "indexed": False, "hits": []}


def test_equal_calls_give_equal_answers(place: Path, tools: Tools, talent: str) -> None:
    calls = [("node_edges", {"key": talent}), ("edges_at", {"key": talent, "at": 100}), ("stats", {})]
    with GraphReader.opened(place) as again:
        other = Tools(again)
        assert [other.call(*call) for call in calls] == [tools.call(*call) for call in calls]
