"""What the tools of the graph say where they cannot answer: one short sentence."""

from __future__ import annotations

from typing import Any

import pytest
from association_answers import lines, rows, told
from association_forms import world_of

from memassay.core.errors import UnknownName, UsageError
from memassay.suites.association.world import day_of

pytest.importorskip("mushroomdb")

from memassay.suites.association.graph.tools import Tools

COMPANY = {"key": "company-000001"}
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("edges_at", {**COMPANY, "at": "2026-05-31"}, "2026-05-31 is outside the window"),
    ("edges_at", {**COMPANY, "at": "2026-08-30"}, "2026-08-30 is outside the window"),
    ("edges_at", {**COMPANY, "at": "yesterday"}, "'yesterday' is no date"),
    ("edges_at", {**COMPANY, "at": 100_000}, "The graph store has no commit 100000: its commits are 0 to "),
    ("edges_at", {**COMPANY, "at": -1}, "The graph store has no commit -1"),
    ("edges_at", {**COMPANY, "at": True}, "edges_at: at"),
    ("edges_at", COMPANY, "edges_at needs the parameter 'at'."),
    ("edges_at", {"key": "company-1", "at": 3}, "There never was an entity 'company-1'"),
    ("was_linked", {"a": "x", "b": "y", "edge_type": "SIMILAR_SIZE", "at": 3}, "There never was an entity 'x'"),
    ("was_linked", {"a": "x", "b": "y", "edge_type": "SIMILAR", "at": 3}, "Unknown link type 'SIMILAR'. Did you mean"),
    ("node_edges", {"key": "company-1"}, "There is no entity 'company-1' now"),
    ("node_edges", {**COMPANY, "all_of": ["NOPE"]}, "Unknown link type 'NOPE'"),
    ("node_edges", {**COMPANY, "edge_type": "SIMILAR_SIZE", "all_of": ["SIMILAR_SIZE"]}, "exclude each other"),
    ("node_edges", {**COMPANY, "limit": 0}, "node_edges: limit is 0"),
    ("node_edges", {**COMPANY, "direction": "up"}, "node_edges: direction is 'up'"),
    ("node_edges", {**COMPANY, "label": "company"}, "Unknown label 'company'. Did you mean 'Company'?"),
    ("edges_at", {**COMPANY, "at": 3, "label": "Companies"}, "Unknown label 'Companies'. Did you mean 'Company'?"),
    ("what_if", {**COMPANY, "field": "industry", "value": "both", "label": "X"}, "Known: Company, Job, Talent."),
    ("stats", {"a": 1}, "stats has no parameter 'a': it takes none."),
    ("node_edges", {**COMPANY, "edge": "x"}, "node_edges has no parameter 'edge'."),
    ("explain_association", {"a": "company-000001", "b": "nobody"}, "There is no entity 'nobody' now"),
    ("node_info", {"key": ""}, "There is no entity '' now"),
    ("node_history", {"key": "nobody"}, "There never was an entity 'nobody'"),
    ("edge_history", {"a": "company-000001", "b": "nobody"}, "There never was an entity 'nobody'"),
    ("what_if", {**COMPANY, "field": "size", "value": 3}, "Unknown field of company-000001 'size'. Did you mean"),
    ("what_if", {**COMPANY, "field": "size_bucket", "value": "3"}, "is a number, and the value is a text"),
    ("what_if", {**COMPANY, "field": "specialties", "value": None}, "is a list, and the value is nothing that"),
    ("what_if", {**COMPANY, "field": "industry", "value": "both", "edge_type": "X"}, "Unknown link type 'X'"),
    ("query", {"cypher": "SELECT 1"}, "query cannot be answered: parse: "),
    ("query", {"cypher": "CREATE (n:X {id: '1'}) RETURN n"}, "query cannot be answered: "),
    ("query", {"cypher": "MATCH (n) WHERE n.x = $y RETURN n"}, "query cannot be answered: execute: missing parameter"),
    ("query", {"cypher": "MATCH (n) WHERE n.x = $y RETURN n", "params": {"y": None}}, "query cannot be answered: "),
    ("query", {"cypher": "MATCH (n) RETURN n", "role": "boss"}, "Unknown role 'boss'. Known: client, recruiter."),
    ("query", {"cypher": "MATCH (n) RETURN n", "role": "client", "mask": []}, "role and mask exclude each other"),
    ("query", {}, "query needs the parameter 'cypher'."),
    ("remember", {"text": "x"}, "Unknown tool 'remember'"),
]


@pytest.mark.parametrize(("name", "arguments", "says"), REFUSED)
def test_what_cannot_be_answered_is_one_sentence(tools: Tools, name: str, arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError) as error:
        tools.call(name, arguments)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


MANY = "x" * 100_000
HOSTILE: list[tuple[str, dict[str, Any]]] = [
    ("node_info", {"key": MANY}),
    ("node_info", {**COMPANY, MANY: 1}),
    ("node_history", {"key": MANY}),
    ("node_edges", {**COMPANY, "label": MANY}),
    ("node_edges", {**COMPANY, "all_of": [MANY]}),
    ("edges_at", {**COMPANY, "at": MANY}),
    ("edges_at", {**COMPANY, "at": 10**4000}),
    ("what_if", {**COMPANY, "field": MANY, "value": 1}),
    ("query", {"cypher": MANY}),
    ("query", {"cypher": "MATCH (n) RETURN n", "role": MANY}),
    (MANY, {}),
]


@pytest.mark.parametrize(("name", "arguments"), HOSTILE)
def test_a_refusal_repeats_the_beginning_of_what_it_was_given(
    tools: Tools, name: str, arguments: dict[str, Any]
) -> None:
    with pytest.raises(UsageError) as error:
        tools.call(name, arguments)
    assert len(str(error.value)) < 500


def test_an_answer_repeats_the_beginning_of_what_it_was_given(tools: Tools) -> None:
    change = {**COMPANY, "field": "specialties", "value": ["x"] * 100_000, "edge_type": "SIMILAR_SIZE"}
    assert len(lines(tools, "what_if", **change)[0]) < 300
    assert told(tools, "what_if", **change)["value"].endswith("...")
    assert len(told(tools, "recall", topic=MANY)["topic"]) < 300
    types = told(tools, "node_edges", **COMPANY, all_of=["SIMILAR_SIZE"] * 100_000)["types"]
    assert types == ["SIMILAR_SIZE"]


def test_a_tool_that_is_not_there_is_named(tools: Tools) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'node_edges'"):
        tools.call("node_edge", {})


def test_a_deleted_entity_is_known_to_the_past_only(tools: Tools) -> None:
    gone = next(change for change in world_of().changes if change.op == "delete_node")
    with pytest.raises(UsageError, match="There is no entity"):
        tools.call("node_info", {"key": gone.key})
    assert told(tools, "edges_at", key=gone.key, at="2026-08-29")["groups"] == []
    assert rows(tools, "node_history", key=gone.key)[-1]["date"] == gone.date
    assert day_of(gone.date) == gone.day
