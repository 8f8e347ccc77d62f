"""What the events of a session say, and what must not be read out of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from claude_kit import MODEL, init, result, said, tokens, used

from memassay.agents.claude_code.stream import Session, cost_check
from memassay.core.types import Usage


def session(*events: Any) -> Session:
    return Session.parse("".join(f"{json.dumps(event)}\n" for event in events).encode())


def test_what_is_no_event_is_passed_over() -> None:
    whole = json.dumps(init(["Read"])).encode()
    torn = whole + b'\n\nwarning: words\n[1]\n\xff\xfe\n{"type": "result", "is_err'
    found = Session.parse(torn)
    assert [event["type"] for event in found.events] == ["system"]
    assert found.init is not None and found.init["tools"] == ["Read"]
    assert found.result is None
    assert Session.parse(b"").events == ()


def test_usage_is_that_of_every_model_of_the_result() -> None:
    both = {MODEL: tokens(input=100, output=10, read=5), "claude-haiku-4-5": tokens(input=30, output=3)}
    found = session(init(), said("a"), said("b"), said("c", name="msg_1"), result(modelUsage=both, total_cost_usd=0.5))
    usage = found.usage(1.5)
    assert (usage.input, usage.output, usage.cache_read, usage.cache_write) == (130, 13, 5, 0)
    assert usage.reported_usd == 0.5
    assert usage.turns == 2
    assert usage.wall_ms == 1500.0
    # 100 x 5 + 10 x 25 + 5 x 0.5 and 30 x 1 + 3 x 5 dollars per million.
    assert usage.cost_usd == pytest.approx((752.5 + 45) / 1e6)


def test_a_model_without_a_price_leaves_the_cost_open() -> None:
    unknown = {MODEL: tokens(input=1), "claude-unheard-of-9": tokens(input=1)}
    assert session(init(), result(modelUsage=unknown)).usage(1).cost_usd is None


def test_without_a_result_only_what_was_seen_counts() -> None:
    found = session(init(), said("a"), used("Read"), used("Read", "msg_1", "toolu_1"), said("no", "<synthetic>", "x"))
    usage = found.usage(1)
    assert (usage.input, usage.output, usage.cost_usd, usage.reported_usd) == (0, 0, None, None)
    assert (usage.turns, usage.tool_calls) == (2, 2)


def test_a_tool_call_is_counted_once() -> None:
    assert session(init(), used("Read"), used("Read"), used("Grep", call="toolu_9")).tools == {"Read": 1, "Grep": 1}


def test_turns_are_replies_whatever_the_result_counts() -> None:
    replies = (used("Read"), used("Read", call="toolu_1"), said("b", name="msg_1"))
    assert session(init(), *replies, result(num_turns=4)).turns == 2
    assert session(init(), said("API Error", "<synthetic>"), result(num_turns=1)).turns == 0


def test_who_spoke_and_what_was_denied_and_sent_again() -> None:
    denied = [{"tool_name": "Read", "tool_input": {}}]
    retry = {"type": "system", "subtype": "api_retry", "error_status": 529}
    found = session(init(), retry, said("a"), said("b", "other-1"), said("c"), result(permission_denials=denied))
    assert found.speakers == (MODEL, "other-1")
    assert found.denied == ("Read",)
    assert found.retried == (529,)


@pytest.mark.parametrize(
    ("ours", "theirs", "passed"),
    [(0.02268, 0.02268, True), (0.02, 0.03, False), (None, 0.03, None), (0.02, None, None), (0.0, 0.0, True)],
)
def test_our_cost_stands_beside_the_reported_one(ours: float | None, theirs: float | None, passed: bool | None) -> None:
    check = cost_check(Usage(cost_usd=ours, reported_usd=theirs))
    assert (check.name, check.passed, check.expected, check.observed) == ("cost", passed, ours, theirs)


@pytest.mark.parametrize("odd", [{"modelUsage": None}, {"modelUsage": {MODEL: None}}, {"modelUsage": "x"}])
def test_odd_fields_are_no_crash(odd: dict[str, Any]) -> None:
    found = session(init(), {"type": "assistant", "message": None}, result(permission_denials=7, **odd))
    assert found.usage(1).input == 0
    assert found.denied == ()
