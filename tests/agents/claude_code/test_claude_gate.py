"""What counts as an answer: every way in which a failure looks like a success."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from claude_kit import MODEL, VERSION, failed, init, result, said, used

from memassay.agents.claude_code.gate import Verdict, checks, verdict
from memassay.agents.claude_code.launch import Offer
from memassay.agents.claude_code.process import Ended
from memassay.agents.claude_code.stream import Session
from memassay.core.types import Check, Request, Status

SEARCH = "mcp__memory__search"
MEMORY = Offer((), {"memory": (SEARCH,)})
NOTHING = Offer((), {})


@pytest.fixture
def judged(asked: Callable[..., Request]) -> Callable[..., Verdict]:
    def judge(*events: Any, offer: Offer = NOTHING, code: int = 0, timed_out: bool = False, errors: bytes = b"",
              **request: Any) -> Verdict:  # fmt: skip
        session = Session.parse("".join(f"{json.dumps(event)}\n" for event in events).encode())
        ended = Ended(b"", errors, code, timed_out, 1.0)
        found = checks(session, offer, model=MODEL, version=VERSION)
        return verdict(session, ended, found, session.usage(1.0), asked(**request))

    return judge


Judged = Callable[..., Verdict]


def wrong(offer: Offer, **began: Any) -> Mapping[str, Check]:
    session = Session.parse(json.dumps(init(**began)).encode())
    return {c.name: c for c in checks(session, offer, model=MODEL, version=VERSION) if c.passed is False}


def test_an_answer(judged: Judged) -> None:
    events = (init([SEARCH], {"memory": "connected"}), used(SEARCH), said("Oslo."), result(" Oslo.\n"))
    assert judged(*events, offer=MEMORY) == Verdict(Status.OK, "", "Oslo.")
    assert judged(init(), result("")) == Verdict(Status.OK, "", "")


def test_a_denied_tool_is_no_failure(judged: Judged) -> None:
    assert judged(init(), result(permission_denials=[{"tool_name": "Read"}])).status is Status.OK


# -- the gate --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["failed", "pending", "needs-auth"])
def test_a_dead_tool_server_is_no_answer_without_memory(judged: Judged, status: str) -> None:
    end = judged(init((), {"memory": status}), said("Oslo."), result(), offer=MEMORY)
    assert end.status is Status.HARNESS
    assert end.text is None
    assert status in end.detail


def test_servers_and_tools_are_exactly_those_of_the_arm() -> None:
    fine = {"tools": [SEARCH], "servers": {"memory": "connected"}}
    assert wrong(MEMORY, **fine) == {}
    assert set(wrong(MEMORY, **{**fine, "servers": {}})) == {"servers"}
    assert set(wrong(MEMORY, **{**fine, "servers": {"memory": "connected", "claude.ai": "connected"}})) == {"servers"}
    assert set(wrong(MEMORY, **{**fine, "tools": []})) == {"tools"}
    assert set(wrong(MEMORY, **{**fine, "tools": [SEARCH, "Bash"]})) == {"tools"}
    assert set(wrong(MEMORY, **{**fine, "tools": [SEARCH, "mcp__memory__forget"]})) == {"tools"}
    assert set(wrong(NOTHING, tools=["ToolSearch"])) == {"tools"}


def test_a_server_of_which_no_tool_is_named_may_have_any_but_not_none() -> None:
    any_of = Offer((), {"my memory": ()})
    connected = {"my memory": "connected"}
    assert wrong(any_of, tools=["mcp__my_memory__a", "mcp__my_memory__b"], servers=connected) == {}
    assert set(wrong(any_of, tools=[], servers=connected)) == {"tools"}


def test_claude_codes_own_memory_must_be_off(judged: Judged) -> None:
    events = (init(memory_paths={"auto": "/x/memory/"}), said("Oslo."), result())
    assert judged(*events).status is Status.HARNESS


def test_another_version_is_another_agent() -> None:
    assert set(wrong(NOTHING, claude_code_version="2.1.333")) == {"version"}


def test_another_model_is_another_agent(judged: Judged) -> None:
    assert judged(init(model="claude-opus-5-5"), result()).status is Status.HARNESS
    end = judged(init(), said("Oslo.", "claude-haiku-9"), result())
    assert end.status is Status.HARNESS
    assert "claude-haiku-9" in end.detail


@pytest.mark.parametrize("name", [f"{MODEL}-20260801", f"{MODEL}[1m]"])
def test_a_dated_name_is_the_same_model(judged: Judged, name: str) -> None:
    assert judged(init(model=name), said("Oslo.", name), result()).status is Status.OK


def test_nothing_began(judged: Judged) -> None:
    end = judged(code=1, errors=b"a\nerror: unknown option '--bare'\n\n")
    assert end == Verdict(
        Status.HARNESS, "Claude Code did not begin: exit code 1: error: unknown option '--bare'"
    )  # fmt: skip


# -- failures --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "status", "permanent"),
    [(400, Status.API_ERROR, True), (401, Status.API_ERROR, True), (403, Status.API_ERROR, True),
     (404, Status.API_ERROR, True), (429, Status.RATE_LIMIT, False), (500, Status.API_ERROR, False),
     (529, Status.API_ERROR, False)],
)  # fmt: skip
def test_a_providers_failure_that_is_called_success(judged: Judged, code: int, status: Status, permanent: bool) -> None:
    words = f"API Error: {code} scripted"
    end = judged(*failed(words, api_error_status=code), code=1)
    assert (end.status, end.text) == (status, None)
    assert end.detail == words + (" (asking again is of no use)" if permanent else "")


def test_the_exit_code_of_a_failure_does_not_matter(judged: Judged) -> None:
    assert judged(*failed("API Error: 529", api_error_status=529), code=0).status is Status.API_ERROR


def test_a_status_that_only_the_retries_tell(judged: Judged) -> None:
    began, *rest = failed("API Error: Overloaded")
    retries = [{"type": "system", "subtype": "api_retry", "error_status": code} for code in (529, 429)]
    assert judged(began, *retries, *rest).status is Status.RATE_LIMIT
    assert judged(began, *rest).status is Status.API_ERROR


@pytest.mark.parametrize(
    ("words", "more"),
    [("API Error: Connection dropped", {"api_error": "connection_failed"}),
     ("API Error: Unable to connect to API (ECONNREFUSED)", {}),
     ("API Error: getaddrinfo ENOTFOUND host", {}),
     ("API Error: self-signed", {"api_error": "tls_untrusted_ca"})],
)  # fmt: skip
def test_no_connection(judged: Judged, words: str, more: dict[str, Any]) -> None:
    began, *rest = failed(words, **more)
    busy = {"type": "system", "subtype": "api_retry", "error_status": 529}
    assert judged(began, busy, *rest) == Verdict(Status.NETWORK, words)


def test_an_error_that_is_called_none_is_not_an_answer(judged: Judged) -> None:
    words = "API Error: 500 something"
    end = judged(init(), said(words, "<synthetic>"), result(words))
    assert (end.status, end.text) == (Status.HARNESS, None)


def test_a_model_may_say_api_error(judged: Judged) -> None:
    assert judged(init(), said("API Error: 500"), result("API Error: 500")).text == "API Error: 500"


def test_a_refusal_is_an_answer(judged: Judged) -> None:
    end = judged(*failed("API Error: it can't help with this", stop_reason="refusal"), code=1)
    assert end == Verdict(Status.REFUSED, "the model refused", "")


def test_a_reply_that_is_too_long_is_our_fault(judged: Judged) -> None:
    end = judged(*failed("API Error: exceeded", api_error="max_output_tokens"))
    assert end.status is Status.HARNESS
    assert "max_output_tokens" in end.detail


def test_a_result_of_a_kind_that_nobody_knows(judged: Judged) -> None:
    odd = result(None, subtype="error_during_execution", is_error=True, terminal_reason="hook_stopped", errors=["why"])
    assert judged(init(), odd) == Verdict(Status.HARNESS, "Claude Code ended with hook_stopped: why")
    assert judged(init(), result(terminal_reason="hook_stopped")).status is Status.HARNESS
    assert judged(init(), result(None)).status is Status.HARNESS


# -- limits ----------------------------------------------------------------------------------------------------------


def test_the_limit_of_turns(judged: Judged) -> None:
    end = result(None, subtype="error_max_turns", is_error=True, terminal_reason="max_turns", num_turns=3)
    assert judged(init(), end, code=1, limit_turns=2) == Verdict(Status.LIMIT_TURNS, "no answer after 2 turns")


def test_the_limit_of_money_that_claude_code_keeps(judged: Judged) -> None:
    words = "Reached maximum budget ($0.1)"
    end = result(
        None, subtype="error_max_budget_usd", is_error=True, terminal_reason="budget_exhausted", errors=[words]
    )
    assert judged(init(), end, code=1) == Verdict(Status.LIMIT_MONEY, words)


def test_the_limit_of_money_that_we_keep(judged: Judged) -> None:
    end = judged(init(), said("Oslo."), result(), limit_usd=0.0005)
    assert end == Verdict(Status.LIMIT_MONEY, "the answer cost 0.0008 of 0.0005 dollars")
    assert judged(init(), said("Oslo."), result(), limit_usd=0.001).status is Status.OK
    unpriced = result(modelUsage={"claude-unheard-of-9": {"inputTokens": 1}}, total_cost_usd=None)
    assert judged(init(), unpriced, limit_usd=1.0).status is Status.HARNESS


def test_the_limit_of_time(judged: Judged) -> None:
    interrupted = result(None, subtype="error_during_execution", is_error=True, terminal_reason="aborted_streaming")
    expected = Verdict(Status.LIMIT_TIME, "no answer after 5 s")
    assert judged(init(), interrupted, timed_out=True, limit_seconds=5) == expected
    assert judged(init(), timed_out=True, code=-9, limit_seconds=5) == expected
    assert judged(init(), said("Oslo."), result(), timed_out=True, limit_seconds=5) == expected


@pytest.mark.parametrize(
    ("code", "status"), [(429, Status.RATE_LIMIT), (529, Status.API_ERROR), (None, Status.NETWORK)]
)
def test_a_limit_of_time_that_a_provider_used_up_is_the_providers(judged: Judged, code: Any, status: Status) -> None:
    again = {"type": "system", "subtype": "api_retry", "error_status": code}
    interrupted = result(None, subtype="error_during_execution", is_error=True, terminal_reason="aborted_streaming")
    end = judged(init(), said("I look."), again, interrupted, timed_out=True, limit_seconds=5)
    assert end.status is status and end.detail.startswith("no answer after 5 s; the last request had failed with")
    assert judged(init(), again, said("I look."), interrupted, timed_out=True).status is Status.LIMIT_TIME, "it replied"


def test_a_dead_server_is_no_limit_of_time(judged: Judged) -> None:
    assert judged(init((), {"memory": "failed"}), timed_out=True, offer=MEMORY).status is Status.HARNESS
    assert judged(timed_out=True, code=-9).status is Status.HARNESS


def test_a_killed_session(judged: Judged) -> None:
    end = judged(init(), said("Oslo."), code=-9)
    assert end == Verdict(Status.HARNESS, "Claude Code ended without a result: killed by signal 9")
