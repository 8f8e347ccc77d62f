from __future__ import annotations

import json
from typing import Any

import pytest
from lifecycle_protocols import TRANSFER, UPDATE, protocol

from memassay.core.taught import ToolCall
from memassay.platform.shapes import (
    Coverage,
    Enrichment,
    EntityList,
    EntityResult,
    FetchedDocument,
    FetchResult,
    Group,
    Hit,
    OmittedRecord,
    PushedRecord,
    QueryColumn,
    QueryResult,
    QueryStats,
    SearchResult,
    SemanticContext,
    TableContext,
)
from memassay.suites.lifecycle.attribution import Facts, Piece, deliveries, fact_of, pieces, plain, surfaced
from memassay.suites.lifecycle.records import Delivery

P = protocol(TRANSFER)
FACT = P.fact
URN = P.entity_urn


def hit(name: str, text: str, source: Any = "insights") -> Hit:
    return Hit(ref=name, reference=f"mcp:insight:{name}", source=source, text=text, score=1.0, created_at="")


def called(result: Any, **more: Any) -> ToolCall:
    text = result if isinstance(result, str) else result.model_dump_json()
    return ToolCall(session="s", identity="i", tool="search", result=text, **more)


SEARCHED = SearchResult(
    groups=(
        Group(source="insights", hits=(hit("a", "nothing of it"), hit("b", f"so it is: {FACT}"))),
        Group(source="memory", hits=(hit("c", FACT),)),
        Group(source="knowledge_pages", hits=(hit("d", "Zlorp\nThree masts."),)),
        Group(source="catalog", hits=(hit("e", FACT),)),
    ),
    coverage=(Coverage(source="insights", matched=2, shown=2),),
    count=5,
    ranking="hybrid",
)
PUSHED = Enrichment(
    mode="full",
    semantic_context=SemanticContext(urn="urn:li:other", description="Nothing of it."),
    additional_tables=(TableContext(table="boats", urn=URN, description=FACT),),
    memory_context=(
        PushedRecord(
            id="c",
            reference="mcp:memory:c",
            summary=FACT,
            truncated=False,
            dimension="event",
            category="general",
            confidence="low",
            created_at="",
        ),
    ),
    memory_context_omitted=(OmittedRecord(id="b", reference="mcp:insight:b"),),
)


def test_hits_of_a_search_by_their_source_and_place() -> None:
    found = deliveries([called(SEARCHED)], Facts.of(P), {})
    assert [(one.channel, one.record, one.rank) for one in found] == [
        ("insight", "b", 2), ("memory", "c", 3), ("page", "d", 4), ("description", "e", 5),
    ]  # fmt: skip
    assert {one.fact for one in found} == {"taught"} and all(one.before_answer for one in found)


def test_a_record_is_known_by_its_id_where_its_words_are_others() -> None:
    found = deliveries([called(SEARCHED)], Facts.of(P), {"a": "interference.2", "b": "corrected", "x": "taught"})
    assert [(one.record, one.fact) for one in found][:2] == [("a", "interference"), ("b", "taught")]


def test_what_is_pushed() -> None:
    columns, stats = (QueryColumn(name="n", type="TEXT"),), QueryStats(row_count=1, truncated=False, limit_applied=9)
    result = QueryResult(columns=columns, rows=({"n": FACT},), row_count=1, stats=stats)
    text = "\n".join([result.model_dump_json(exclude={"enrichment"}), *map(json.dumps, PUSHED.blocks())])
    found = deliveries([called(text)], Facts.of(P), {"b": "taught", "c": "other"})
    assert [(one.channel, one.record, one.rank) for one in found] == [
        ("push", "c", 1), ("push", "b", 2), ("description", URN, None),
    ]  # fmt: skip
    assert surfaced([called(f"## boats\n{text}")], protocol(TRANSFER, sink="datahub", page=None))


@pytest.mark.parametrize(
    ("result", "channel"),
    [
        (FetchResult(reference="mcp:insight:b", found=True, document=None), None),
        (EntityResult(urn=URN, name="n", description=FACT, enrichment=None), "description"),
        (EntityList(entities=(EntityResult(urn=URN, name="n", description=FACT),), total=1), "description"),
        (json.dumps({"records": [{"id": "b", "content": FACT}]}), "memory"),
        (json.dumps({"insights": [{"id": "b", "insight_text": FACT}]}), "insight"),
        (json.dumps({"source": "insights", "items": [hit("b", FACT).model_dump()]}), "insight"),
        (json.dumps({"answer": [{"deep": FACT}]}), "text"),
        (json.dumps([FACT]), "text"),
        (f"I remember that {FACT.upper()}", "text"),
        (json.dumps({"similar_existing": [{"id": "b", "score": 0.9}]}), None),
    ],
)
def test_other_results(result: Any, channel: str | None) -> None:
    found = deliveries([called(result)], Facts.of(P), {"b": "taught"})
    assert [one.channel for one in found] == ([channel] if channel else [])


@pytest.mark.parametrize(
    ("reference", "channel"),
    [("mcp:insight:b", "insight"), ("mcp:memory:b", "memory"), ("mcp:knowledge_page:b", "page"), (URN, "description")],
)
def test_a_fetched_document_comes_the_way_of_its_kind(reference: str, channel: str) -> None:
    document = FetchedDocument(reference=reference, source="insights", body=FACT)
    [found] = deliveries([called(FetchResult(reference=reference, found=True, document=document))], Facts.of(P), {})
    assert found == Delivery(channel=channel, fact="taught", record="b" if "mcp:" in reference else URN)


def test_what_failed_or_was_not_sent_brings_nothing() -> None:
    facts = Facts.of(P)
    assert deliveries([called(FACT, error=True), called(FACT, sent=False)], facts, {}) == ()
    assert not surfaced([called("three masts", error=True), called("three masts", sent=False)], P)


def test_whole_words_alone_state_a_fact() -> None:
    update = {"fact": "It is 30 days", "prompt": "p", "recall": UPDATE["update"]["recall"]}
    facts = Facts.of(protocol(UPDATE, fact="It is 3 days", update=update))
    assert facts.stated("it is 30 DAYS!") == ("corrected",)
    assert facts.stated("It is\n3 -- days, or it is 30 days") == ("taught", "corrected")
    assert facts.stated("it is 3 daysies") == ()


def test_the_facts_of_a_generated_protocol(generated: Any) -> None:
    one = generated[0]
    facts = Facts.of(one)
    assert facts.stated(one.teach.prompt) == ("taught",)
    assert facts.stated(one.extras.correction.prompt) == ("corrected",)
    assert [facts.stated(told.prompt) for told in one.extras.interference] == [
        ("interference.1",), ("interference.2",), ("interference.3",),
    ]  # fmt: skip
    assert [fact_of(label) for label in ("taught", "interference.2", "other", "x")] == [
        "taught", "interference", "other", "other",
    ]  # fmt: skip


def test_surfaced_as_published() -> None:
    assert surfaced([called("x"), called(SEARCHED)], P), "the page's summary, in any marks"
    assert surfaced([called(json.dumps({"text": "THREE\nmasts -- indeed"}))], P)
    assert not surfaced([called("three tall masts")], P)
    entity = protocol(TRANSFER, sink="datahub", page=None)
    assert surfaced([called(FACT)], entity) and not surfaced([called("three masts")], entity)


def test_pieces_and_the_plain_form() -> None:
    assert list(pieces("just words")) == [Piece("text", "just words")]
    assert list(pieces('{"a": [1, null, true]}')) == [Piece("text", "1\n\nTrue")]
    assert list(pieces('{"groups": [3, {"source": "new", "hits": [{"text": "t"}]}]}')) == [Piece("text", "t", "", 1)]
    assert plain("  A-b_C\u00e9!  ") == "a b c"
