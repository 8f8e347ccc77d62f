"""What the agent ``rules`` reads: prompts, statements, and results that anybody may have written."""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from agents_lifecycle import PROTOCOLS, WAREHOUSE, ledger_of
from hypothesis import given
from hypothesis import strategies as st

from kit import ROOT
from memassay.agents.rules.findings import definitions, entities, findings, table_of
from memassay.agents.rules.prompts import Asked, Told, read
from memassay.agents.rules.statements import adapted, clauses, statement
from memassay.agents.rules.tools import named
from memassay.agents.rules.words import terms, words
from memassay.core.blocks import merged
from memassay.suites.lifecycle.loading import load_protocols
from memassay.suites.lifecycle.warehouse import dataset_of

KEPT = "A 'zorblat' order is one above 300. SQL: SELECT count(*) FROM main.orders WHERE amount > 300;"


@pytest.mark.parametrize(
    ("prompt", "kind", "fact"),
    [
        (f"Remember this for me. {KEPT} Save it and link it to its dataset.", "keep", KEPT),
        ("Please keep that a 'core' market is cold.", "keep", "Please keep that a 'core' market is cold."),
        (
            "Correction to what I told you. The 'core' market is the East. Please update your saved knowledge.",
            "correct",
            "The 'core' market is the East.",
        ),
        ("Forget what I told you of zorblat orders.", "forget", "Forget what I told you of zorblat orders."),
    ],
)
def test_who_tells_something_speaks_to_the_agent(prompt: str, kind: str, fact: str) -> None:
    told = read(prompt)
    assert isinstance(told, Told)
    assert (told.kind, told.fact, told.dataset) == (kind, fact, "main.orders" if "main." in prompt else "")


@pytest.mark.parametrize(
    ("prompt", "asked"),
    [
        ("How many zorblat orders does main.orders hold?", (None, "")),
        ("Tell how many orders a store keeps on record.", (None, "")),
        ("Should I update main.orders?", (None, "")),
        ("What is the average fee in cents of the zorblat orders in main.orders?", ("avg", "fee in cents")),
        ("What is the highest rebate of zorblat orders?", ("max", "rebate")),
        ("", (None, "")),
    ],
)
def test_anything_else_is_a_question(prompt: str, asked: tuple[Any, str]) -> None:
    question = read(prompt)
    assert isinstance(question, Asked)
    assert (question.function, question.subject) == asked


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.id)
def test_every_prompt_of_a_template_is_understood(protocol: Any) -> None:
    extras = protocol.extras
    dataset = dataset_of(ledger_of(protocol))
    update = protocol.update or extras.correction
    assert read(protocol.teach.prompt) == Told("keep", protocol.teach.prompt, protocol.fact, dataset)
    assert read(update.prompt) == Told("correct", update.prompt, update.fact, dataset)
    forget = read(extras.forget.prompt)
    assert isinstance(forget, Told)
    assert (forget.kind, forget.dataset) == ("forget", dataset)
    for question, function in (
        (protocol.recall.prompt, None),
        (update.recall.prompt, None),
        (protocol.abstain.prompt, "avg"),
        (extras.twin.prompt, "avg"),
    ):
        asked = read(question)
        assert isinstance(asked, Asked)
        assert (asked.function, asked.dataset) == (function, dataset)
    assert statement(protocol.fact) == extras.query
    assert terms(protocol.fact) == (extras.term,)


@pytest.mark.data
def test_published_prompts_are_understood_too() -> None:
    folder = Path(os.environ.get("MEMASSAY_DATA") or ROOT.parent / "shared" / "data") / "lifecycle_protocols"
    if not folder.is_dir():
        pytest.skip("lifecycle_protocols is in neither $MEMASSAY_DATA nor ../shared/data")
    protocols = load_protocols(folder)
    assert len(protocols) == 30
    for protocol in protocols:
        told = read(protocol.teach.prompt)
        assert isinstance(told, Told)
        assert (told.kind, terms(told.fact)) == ("keep", terms(protocol.fact))
        assert "memory" not in told.fact.replace("memory.bench", "")
        assert isinstance(read(protocol.recall.prompt), Asked)
        if protocol.update is not None:
            corrected = read(protocol.update.prompt)
            assert isinstance(corrected, Told)
            assert corrected.kind == "correct"


def test_terms_are_words_in_quotes_and_no_apostrophes_or_values_of_a_statement() -> None:
    assert terms("It's the customer's 'core market' and a \"zorblat\". SQL: SELECT 'north';") == (
        "core market",
        "zorblat",
    )
    assert terms("'' and '...' say nothing") == ()
    assert words("fee_cents, Straße") == ["fee", "cents", "straße"]


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        (KEPT, "SELECT count(*) FROM main.orders WHERE amount > 300"),
        ("SQL: select 'a;b' from t; and more;", "select 'a;b' from t"),
        ("SQL: SELECT 'it''s; so' FROM t;", "SELECT 'it''s; so' FROM t"),
        ("SQL: SELECT count(*) FROM main.or\N{HORIZONTAL ELLIPSIS}", None),
        ("SQL: DROP TABLE orders;", None),
        ("SELECT 1;", None),
    ],
)
def test_a_statement_is_whole_and_a_select(text: str, sql: str | None) -> None:
    assert statement(text) == sql


def test_clauses_are_those_outside_of_parentheses_and_quotes() -> None:
    sql = "SELECT (SELECT plan FROM m WHERE m.id = t.id) FROM t WHERE a = ' from b' GROUP  BY 1 ORDER BY 1 LIMIT 1"
    assert clauses(sql) == {
        "": "",
        "select": "(SELECT plan FROM m WHERE m.id = t.id)",
        "from": "t",
        "where": "a = ' from b'",
        "group by": "1",
        "order by": "1",
        "limit": "1",
    }


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.id)
def test_another_aggregate_is_over_the_same_rows(protocol: Any) -> None:
    function, sql = "avg", protocol.extras.corrected_query if protocol.update else protocol.extras.query
    column = {"deposit": "deposit_cents", "fee": "fee_cents", "rebate": "rebate_cents", "length": "days"}[
        protocol.extras.twin.prompt.split()[4]
    ]
    made = adapted(sql, function, column)
    with closing(WAREHOUSE.connect()) as connection:
        assert made is not None
        found = connection.execute(made).fetchone()[0]
    assert found == pytest.approx(protocol.extras.twin.grading.value, abs=1e-4)


@pytest.mark.parametrize(
    "sql", ["SELECT 1", "SELECT a FROM t UNION SELECT b FROM u", "nonsense", "SELECT ')' FROM", ""]
)
def test_what_cannot_be_adapted_is_none(sql: str) -> None:
    assert adapted(sql, "avg", "x") is None


def hit(text: str = KEPT, **more: Any) -> dict[str, Any]:
    return {"ref": "1", "reference": "mcp:insight:1", "text": text, "created_at": "2026-01-01", **more}


def searched(*hits: dict[str, Any], source: str = "insights") -> str:
    return json.dumps({"groups": [{"source": source, "hits": hits}]})


def best(*hits: dict[str, Any], prompt: str = "How many zorblat orders are there?") -> list[str]:
    return [one.id for one in definitions(findings(merged(searched(*hits))), prompt)]


def test_the_newest_definition_that_still_holds_is_the_best() -> None:
    assert best(hit(ref="a"), hit(ref="b", created_at="2026-02-01"), hit(ref="c", created_at="2025-01-01")) == [
        "b",
        "a",
        "c",
    ]
    assert best(hit(ref="a"), hit(ref="b", category="correction")) == ["b", "a"]
    assert best(hit(ref="a"), *(hit(ref="b", created_at="9", status=gone) for gone in ("superseded", "rejected"))) == [
        "a"
    ]


def test_only_a_definition_of_the_word_in_the_question_counts() -> None:
    assert best(hit(), prompt="How many orders are there?") == []
    assert best(hit(), prompt="How many ZORBLAT orders?") == ["1"]
    assert best(hit(), prompt="How many zorblatian orders?") == []
    assert best(hit("A 'zorblat' order is large."), hit("SQL: SELECT 1 FROM zorblat;")) == []


def test_everything_that_results_say_is_found() -> None:
    urn = "urn:li:dataset:(urn:li:dataPlatform:trino,warehouse.main.orders,PROD)"
    other = urn.replace("orders", "customers")
    result = {
        "columns": [], "rows": [],
        "semantic_context": {"urn": urn, "description": "d"},
        "additional_tables": [{"table": "warehouse.main.customers", "urn": other, "description": "e"}],
        "memory_context": [
            {"id": "2", "reference": "mcp:insight:2", "summary": "s", "truncated": False},
            {"id": "3", "reference": "mcp:memory:3", "summary": "t", "truncated": True},
        ],
        "memory_context_omitted": [{"id": "4", "reference": "mcp:memory:4"}],
    }  # fmt: skip
    found = list(findings(merged("\n".join(json.dumps({name: value}) for name, value in result.items()))))
    assert {(one.source, one.text, one.reference, one.whole) for one in found} == {
        ("pushed", "d", urn, True),
        ("pushed", "e", other, True),
        ("pushed", "s", "mcp:insight:2", True),
        ("pushed", "t", "mcp:memory:3", False),
        ("pushed", "", "mcp:memory:4", False),
    }
    assert set(entities(found)) == {urn, other}
    assert [table_of(one) for one in (urn, "urn:li:tag:x")] == ["warehouse.main.orders", ""]
    listed = {
        "records": [
            {"id": "3", "content": "c", "status": "active", "created_by": "me", "metadata": {}},
            {"id": "4", "content": "c", "status": "superseded", "metadata": {"insight_status": "superseded"}},
            {"id": "5", "content": "c", "status": "active", "metadata": {"insight_status": "pending"}},
        ]
    }
    assert [(one.source, one.id, one.status, one.owner) for one in findings(listed)] == [
        ("own", "3", "active", "me"),
        ("own", "4", "superseded", ""),
        ("own", "5", "pending", ""),
    ]
    browsed = {"source": "insights", "items": [hit(source="insights", captured_by="me")]}
    assert [(one.source, one.id, one.owner) for one in findings(browsed)] == [("insights", "1", "me")]


def test_a_table_is_named_in_parts() -> None:
    assert named("a.b.c") == {"catalog": "a", "schema": "b", "table": "c"}
    assert named("b.c") == {"schema": "b", "table": "c"}
    assert named("c") == {"table": "c"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "groups",
                    "hits",
                    "entities",
                    "urn",
                    "records",
                    "semantic_context",
                    "memory_context",
                    "text",
                    "metadata",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_results_of_any_shape_are_only_passed_over(value: Any) -> None:
    for one in findings(merged(json.dumps(value))):
        assert isinstance(one.text, str)
        assert all(isinstance(urn, str) for urn in one.urns)


@given(st.text(max_size=200))
def test_any_prompt_and_statement_is_read(text: str) -> None:
    assert read(text).prompt == text
    made = adapted(text, "avg", "x")
    assert made is None or isinstance(made, str)
