"""The agent ``rules``: over fixed results, and over a platform behind the bridge."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from agents_lifecycle import PROTOCOLS, SERVED, Script, World, ask, ledger_of, refused, urn_of

from memassay.agents.rules import UNKNOWN, Rules, agent
from memassay.agents.toolbox import ToolResult, ToolsMissing
from memassay.core.contracts import Agent
from memassay.core.errors import UsageError
from memassay.core.types import Request, Status, Toolset
from memassay.suites.lifecycle.answers import published_correct

QUESTION = "How many zorblat orders does main.orders hold?"
AVERAGE = "What is the average {} of the zorblat orders in main.orders?"
SQL = "SELECT count(*) FROM main.orders WHERE amount > 300"
FACT = f"In main.orders, a 'zorblat' order is one above 300. SQL: {SQL};"
OTHER = FACT.replace("300", "500")
TEACH = f"I will ask you later. {FACT} Keep it in memory and link it to main.orders."
URN = "urn:li:dataset:(urn:li:dataPlatform:trino,warehouse.main.orders,PROD)"

KEPT, SHARED = PROTOCOLS[1], PROTOCOLS[0]  # corrected; passed on by a page
ENTITY = PROTOCOLS[3]  # passed on by a description


def found(*texts: str, source: str = "insights", **more: Any) -> dict[str, Any]:
    hits = [
        {"ref": str(n), "reference": f"mcp:x:{n}", "source": source, "text": text, **more}
        for n, text in enumerate(texts)
    ]
    return {"groups": [{"source": source, "hits": hits}]}


def catalogue(*urns: str) -> dict[str, Any]:
    hits = [{"ref": urn, "reference": urn, "source": "catalog", "text": "", "entity_urns": [urn]} for urn in urns]
    return {"groups": [{"source": "catalog", "hits": hits}]}


def rows(value: Any) -> dict[str, Any]:
    return {"columns": [{"name": "x", "type": "TEXT"}], "rows": [{"x": value}]}


# -- answers -------------------------------------------------------------------------------------------------------


def test_it_runs_the_definition_that_a_search_delivered(monkeypatch: pytest.MonkeyPatch) -> None:
    box = Script(search=found(FACT), trino_query=rows(42))
    step = ask(monkeypatch, box, QUESTION)
    assert step.text == "FINAL ANSWER: 42"
    assert box.calls == [("search", {"intent": QUESTION}), ("trino_query", {"sql": SQL})]
    assert step.tools == {"search": 1, "trino_query": 1}
    assert (step.usage.tool_calls, step.usage.turns) == (2, 3)
    assert step.evidence is not None
    assert b"zorblat" in step.evidence


@pytest.mark.parametrize(
    ("cell", "said"),
    [(1234567, "1234567"), (2340.32, "2340.32"), (5.90909090, "5.9091"), (84.0, "84"), ("2024-03", "2024-03")],
)
def test_the_first_cell_is_the_answer(monkeypatch: pytest.MonkeyPatch, cell: Any, said: str) -> None:
    assert (
        ask(monkeypatch, Script(search=found(FACT), trino_query=rows(cell)), QUESTION).text == f"FINAL ANSWER: {said}"
    )


def test_of_several_the_newest_that_holds_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    delivered = found(FACT, created_at="2026-01-01", status="pending")
    delivered["groups"] += found(OTHER, created_at="2026-01-02", status="applied")["groups"]
    delivered["groups"] += found(FACT.replace("300", "9"), created_at="2026-01-03", status="superseded")["groups"]
    box = Script(search=delivered, trino_query=rows(1))
    ask(monkeypatch, box, QUESTION)
    assert box.calls[-1][1] == {"sql": SQL.replace("300", "500")}


@pytest.mark.parametrize(
    "results",
    [
        {"search": found()},
        {"search": found("A 'zorblat' order is a large one.")},
        {"search": found(FACT.replace("zorblat", "quimble")), "trino_query": rows(1)},
        {"search": found(FACT), "trino_query": {"rows": []}},
        {"search": found(FACT), "trino_query": rows(None)},
        {"search": found(FACT), "trino_query": rows(True)},
        {"search": found(FACT), "trino_query": "no JSON"},
        {"search": found(FACT), "trino_query": refused("tool_error")},
        {"search": refused("rate_limited")},
        {"search": "[]", "trino_describe_table": '{"memory_context": 3}'},
        {},
    ],
)
def test_it_never_guesses(monkeypatch: pytest.MonkeyPatch, results: dict[str, Any]) -> None:
    step = ask(monkeypatch, Script(**results), QUESTION)
    assert (step.status, step.text) == (Status.OK, UNKNOWN)


def test_it_guesses_where_it_is_set_to(monkeypatch: pytest.MonkeyPatch) -> None:
    box = Script(search=found(), trino_query=[rows("north"), rows(7)])
    assert ask(monkeypatch, box, "Which region is the zorblat region of main.orders?", Rules(guesses=True)).text == (
        "FINAL ANSWER: north"
    )
    assert ask(monkeypatch, box, QUESTION, Rules(guesses=True)).text == "FINAL ANSWER: 7"
    assert [arguments["sql"] for name, arguments in box.calls if name == "trino_query"] == [
        "SELECT region FROM main.orders GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1",
        "SELECT count(*) FROM main.orders",
    ]
    assert ask(monkeypatch, Script(search=found()), "How many are zorblat?", Rules(guesses=True)).text == UNKNOWN


def test_a_page_that_is_only_summed_up_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    page = {"found": True, "document": {"body": FACT}}
    box = Script(search=found("What zorblat orders are.", source="knowledge_pages"), fetch=page, trino_query=rows(3))
    assert ask(monkeypatch, box, QUESTION).text == "FINAL ANSWER: 3"
    assert box.names == ["search", "fetch", "trino_query"]
    assert box.calls[1][1] == {"reference": "mcp:x:0"}
    unrelated = Script(search=found("Opening times.", source="knowledge_pages"), fetch=page)
    assert ask(monkeypatch, unrelated, QUESTION).text == UNKNOWN
    assert unrelated.names == ["search"]


def test_what_comes_along_with_a_table_counts_and_is_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = {"reference": "mcp:insight:7", "summary": f"{FACT[:40]}\N{HORIZONTAL ELLIPSIS}", "truncated": True}
    table = {"table": "orders", "columns": []}
    described = f"## orders\n{json.dumps(table)}\n{json.dumps({'memory_context': [cut]})}"
    read = {"found": True, "document": {"body": FACT}}
    box = Script(search=found(), trino_describe_table=described, fetch=read, trino_query=rows(3))
    assert ask(monkeypatch, box, QUESTION).text == "FINAL ANSWER: 3"
    assert box.names == ["search", "trino_describe_table", "fetch", "trino_query"]
    whole = {**table, "semantic_context": {"urn": URN, "description": FACT}}
    pushed = Script(search=found(), trino_describe_table=whole, trino_query=rows(4))
    assert ask(monkeypatch, pushed, QUESTION).text == "FINAL ANSWER: 4"
    hidden = Script(search=found(), trino_describe_table=described, fetch={"found": False, "document": None})
    assert ask(monkeypatch, hidden, QUESTION).text == UNKNOWN


COLUMNS = {"columns": [{"name": name} for name in ("fee_cents", "rebate_cents", "days", "x; DROP", 3)]}


@pytest.mark.parametrize(
    ("subject", "column"),
    [
        ("fee in cents", "fee_cents"),
        ("length in days", "days"),
        ("length in day", "days"),
        ("satisfaction score in stars", None),
        ("shipping cost in cents", None),
        ("fee or rebate in cents", None),
    ],
)
def test_another_aggregate_needs_a_column_for_what_is_asked(
    monkeypatch: pytest.MonkeyPatch, subject: str, column: str | None
) -> None:
    box = Script(search=found(FACT), trino_describe_table=COLUMNS, trino_query=rows(2.5))
    step = ask(monkeypatch, box, AVERAGE.format(subject))
    assert box.calls[1] == ("trino_describe_table", {"schema": "main", "table": "orders"})
    if column is None:
        assert (step.text, len(box.calls)) == (UNKNOWN, 2)
    else:
        assert step.text == "FINAL ANSWER: 2.5"
        assert box.calls[2][1] == {"sql": f"SELECT avg({column}) FROM main.orders WHERE amount > 300"}


# -- what is told --------------------------------------------------------------------------------------------------


def test_a_fact_is_kept_on_the_dataset_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    box = Script(search=[found(), catalogue(URN.replace("orders", "old_orders"), URN)], memory_capture={"id": "1"})
    assert ask(monkeypatch, box, TEACH).text == f"Kept, on {URN}."
    assert box.names == ["search", "search", "memory_capture"]
    assert box.calls[1][1] == {"intent": "main.orders", "sources": ["catalog"]}
    kept = {"type": "schema_entity", "content": FACT, "category": "business_context", "entity_urns": [URN]}
    assert box.calls[-1][1] == kept


@pytest.mark.parametrize(
    ("more", "urns"),
    [
        ({"trino_describe_table": {"table": "x", "urn": URN}}, [URN]),
        ({"trino_describe_table": {"table": "x", "semantic_context": {"urn": URN, "description": ""}}}, [URN]),
        ({"trino_describe_table": refused("not_found")}, []),
        ({}, []),
    ],
)
def test_where_the_catalogue_does_not_know_the_dataset(
    monkeypatch: pytest.MonkeyPatch, more: dict[str, Any], urns: list[str]
) -> None:
    box = Script(search=found(), memory_capture={"id": "1"}, **more)
    ask(monkeypatch, box, TEACH)
    assert box.calls[-1][1]["entity_urns"] == urns


def test_a_fact_without_a_dataset_goes_where_its_term_is_filed_or_to_the_nearest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = "I told you wrong. The 'zorblat' orders are those above 500. Update what you saved."
    near = catalogue("urn:near")
    box = Script(search=near, memory_capture={"id": "1"})
    ask(monkeypatch, box, told)
    assert box.calls[-1][1]["entity_urns"] == ["urn:near"]
    near["groups"] += found(FACT, entity_urns=[URN])["groups"]
    ask(monkeypatch, box, told)
    assert (box.calls[-1][1]["entity_urns"], box.calls[-1][1]["category"]) == ([URN], "correction")


def test_what_cannot_be_kept_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask(monkeypatch, Script(memory_capture=refused("invalid")), TEACH).text == "I could not keep it."
    long = Script(memory_capture={"id": "1"})
    ask(monkeypatch, long, "Remember what I say. A 'zorblat' is " + "\N{EURO SIGN}" * 2000)
    assert len(long.calls[-1][1]["content"].encode()) <= 4000


def test_the_records_of_others_in_a_list_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [
        {"id": str(number), "content": FACT, "created_by": who, "metadata": {"insight_status": "pending"}}
        for number, who in enumerate(("me", "another"))
    ]
    mine = found(FACT, status="pending", captured_by="me")
    box = Script(search=mine, memory_manage=[{"records": listed, "total": 2}, "{}"])
    step = ask(monkeypatch, box, "Forget what I told you about the zorblat order of main.orders.")
    assert step.text == "Forgotten: 1 of 1."
    assert box.calls[-1][1] == {"command": "forget", "id": "0"}


def test_own_records_of_the_term_are_forgotten_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    first = {"records": [{"id": "1", "content": FACT}, {"id": "2", "content": "A 'quimble' order."}], "total": 3}
    pages = [first, {"records": [{"id": "3", "content": OTHER}], "total": 3}, "{}", refused("not_found")]
    box = Script(search=found(), memory_manage=pages)
    step = ask(monkeypatch, box, "Forget what I told you about the zorblat order of main.orders.")
    assert step.text == "Forgotten: 1 of 2."
    assert [arguments for name, arguments in box.calls if name == "memory_manage"] == [
        {"command": "list", "limit": 100, "offset": 0},
        {"command": "list", "limit": 100, "offset": 2},
        {"command": "forget", "id": "1"},
        {"command": "forget", "id": "3"},
    ]


# -- limits and failures -------------------------------------------------------------------------------------------


IN_WORDS = ToolResult("Search comes first. (code: search_required) Hint: Call search.", True)


@pytest.mark.parametrize("refusal", [refused("search_required"), IN_WORDS], ids=["object", "words"])
def test_a_tool_that_wants_a_search_first_gets_one(monkeypatch: pytest.MonkeyPatch, refusal: ToolResult) -> None:
    box = Script(search=found(FACT), trino_query=[refusal, rows(5)])
    assert ask(monkeypatch, box, QUESTION).text == "FINAL ANSWER: 5"
    assert box.names == ["search", "trino_query", "search", "trino_query"]


@pytest.mark.parametrize(("who", "limits"), [(Rules(budget=2), {}), (Rules(), {"limit_turns": 3})])
def test_it_stays_within_its_calls(monkeypatch: pytest.MonkeyPatch, who: Rules, limits: dict[str, Any]) -> None:
    box = Script(search=found(FACT), trino_query=refused("search_required"))
    assert ask(monkeypatch, box, QUESTION, who, **limits).text == UNKNOWN
    assert box.names == ["search", "trino_query"]


def test_it_stops_where_its_tools_have_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    box = Script(search=found(FACT), trino_query=refused("budget_exhausted"), memory_capture={"id": "1"})
    assert ask(monkeypatch, box, QUESTION, Rules(guesses=True)).text == UNKNOWN
    assert box.names == ["search", "trino_query"]


@pytest.mark.parametrize("gone", [ToolsMissing("The server is gone."), refused("transport")])
def test_tools_that_are_gone_are_a_fault_of_the_harness(monkeypatch: pytest.MonkeyPatch, gone: Any) -> None:
    step = ask(monkeypatch, Script(search=gone), QUESTION)
    assert (step.status, step.text) == (Status.HARNESS, None)
    assert "gone" in step.detail


def test_an_arm_without_tools_is_a_fault_of_the_harness(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask(monkeypatch, Script(), QUESTION, toolset=Toolset()).status == Status.HARNESS


def test_it_stops_when_it_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(Script):
        async def call(self, name: str, arguments: Any) -> ToolResult:
            import asyncio

            await asyncio.sleep(30)
            raise AssertionError

    step = ask(monkeypatch, Slow(search=found()), QUESTION, limit_seconds=0.05)
    assert (step.status, step.text) == (Status.LIMIT_TIME, None)


def test_a_budget_is_at_least_one_call() -> None:
    with pytest.raises(UsageError, match="at least 1"):
        Rules(budget=0)


def test_it_is_an_agent_without_a_model() -> None:
    who: Agent = Rules()
    assert (who.model, who.accesses) == ("none", {"tools"})
    assert who.identity() == Rules(guesses=True).identity()
    Rules().check(("tools",))


def test_it_knows_nothing_of_a_suite() -> None:
    folder = Path(agent.__file__).parent
    assert not [path.name for path in folder.glob("*.py") if "memassay.suites" in path.read_text()]
    assert "gold" not in Request.model_fields


# -- over a platform -----------------------------------------------------------------------------------------------


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., World]]:
    made: list[World] = []

    def make(**knobs: Any) -> World:
        made.append(World(monkeypatch, tmp_path / str(len(made)), **knobs))
        return made[-1]

    yield make
    for one in made:
        one.platform.close()


def right(text: str, question: Any) -> bool:
    return published_correct(text, question.grading)


def test_a_life_with_a_correction(world: Callable[..., World]) -> None:
    place, extras, update = world(), KEPT.extras, KEPT.update
    assert extras is not None
    assert extras.twin is not None
    assert extras.forget is not None
    assert update is not None
    assert KEPT.abstain is not None
    assert place.say(KEPT.recall.prompt) == UNKNOWN
    place.say(KEPT.teach.prompt)
    kept = place.insights()[0]
    assert (kept.insight_text, kept.entity_urns, kept.status) == (KEPT.fact, (urn_of(ledger_of(KEPT)),), "pending")
    assert right(place.say(KEPT.recall.prompt), KEPT.recall)
    place.say(update.prompt)
    assert [one.status for one in place.insights()] == ["superseded", "pending"]
    assert right(place.say(update.recall.prompt), update.recall)
    assert place.say(KEPT.abstain.prompt) == UNKNOWN
    assert right(place.say(extras.twin.prompt), extras.twin)
    place.say(extras.forget.prompt)
    assert place.say(update.recall.prompt) == UNKNOWN


@pytest.mark.parametrize("protocol", [SHARED, ENTITY], ids=["page", "description"])
def test_a_life_that_is_passed_on(world: Callable[..., World], protocol: Any) -> None:
    place = world()
    place.say(protocol.teach.prompt)
    assert place.say(protocol.transfer.prompt, place.learner) == UNKNOWN
    place.promote(protocol)
    assert right(place.say(protocol.transfer.prompt, place.learner), protocol.transfer)


@pytest.mark.parametrize(
    ("protocol", "knobs", "knows"),
    [
        (SHARED, {"shared_applied": False, "push": False}, True),  # the page
        (SHARED, {"shared_applied": False, "entity_sink": False, "gate": False}, True),
        (ENTITY, {"shared_applied": False, "push": False}, True),  # the description, by search
        (ENTITY, {"page_sink": False}, True),
    ],
)
def test_what_is_switched_off_may_leave_another_way(
    world: Callable[..., World], protocol: Any, knobs: dict[str, Any], knows: bool
) -> None:
    place = world(**knobs)
    place.say(protocol.teach.prompt)
    place.promote(protocol)
    assert right(place.say(protocol.transfer.prompt, place.learner), protocol.transfer) == knows


def test_a_description_that_is_pushed_late_is_answered_by(world: Callable[..., World]) -> None:
    """The switch for how old a pushed description may be changes an answer, once the promotion is taken back."""
    for ttl, knows in ((300.0, True), (0.0, False)):
        place = world(description_ttl_s=ttl)
        place.say(ENTITY.teach.prompt)
        place.promote(ENTITY)
        assert ENTITY.transfer is not None
        place.say(ENTITY.transfer.prompt, place.learner)
        change = place.platform.list_changesets(place.admin).data[0]
        place.platform.rollback_changeset(place.admin, change.id)
        assert right(place.say(ENTITY.transfer.prompt, place.stranger), ENTITY.transfer) == knows


def test_without_supersede_the_old_fact_stays_and_the_new_one_is_answered_by(world: Callable[..., World]) -> None:
    place, update = world(embedder="none"), KEPT.update
    assert update is not None
    place.say(KEPT.teach.prompt)
    place.say(update.prompt)
    assert [one.status for one in place.insights()] == ["pending", "pending"]
    assert right(place.say(update.recall.prompt), update.recall)


def test_the_evidence_is_lines_of_json(monkeypatch: pytest.MonkeyPatch) -> None:
    step = ask(monkeypatch, Script(search=found(FACT), trino_query=rows(42)), QUESTION, toolset=SERVED)
    lines = (step.evidence or b"").decode().splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["call", "call", "end"]
