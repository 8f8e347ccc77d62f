"""Whether a session counts, and as what: read from its events, never from the exit code or from ``subtype`` alone.

A tool server that did not start leaves ``success`` and an answer without a memory. A provider's failure leaves
``success`` and an answer that reads ``API Error: ...``. Neither may ever be graded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from memassay.agents.claude_code.launch import Offer, tool_name
from memassay.agents.claude_code.process import Ended
from memassay.agents.claude_code.stream import SYNTHETIC, Session
from memassay.core.types import Check, Request, Status, Usage
from memassay.models.prices import same_model

# Asking again gives the same.
_PERMANENT = frozenset({400, 401, 403, 404, 413, 422})
# What Claude Code calls a line that is not there, broken, silent, or listened to.
_NETWORK = ("connection", "tls_", "no_response", "stream_idle_timeout", "computer_slept")
_CONNECTION = re.compile(r"\b(ECONN[A-Z]+|ENOTFOUND|EAI_AGAIN|ETIMEDOUT)\b")
_WORDS = 300


@dataclass(frozen=True)
class Verdict:
    """How a cell ended; ``text`` is the answer where there is one."""

    status: Status
    detail: str = ""
    text: str | None = None


def checks(session: Session, offer: Offer, *, model: str, version: str) -> tuple[Check, ...]:
    """What must be true of a session for its answer to be one of this arm and this model.

    Args:
        session: its events.
        offer: the tools of the arm.
        model: the model that was asked for.
        version: of the program, as it was when the run began.
    """
    init = session.init
    if init is None:
        return (Check(name="init", passed=False, expected="an init event", observed=None),)
    servers = {str(s.get("name")): str(s.get("status")) for s in _items(init.get("mcp_servers"))}
    connected = dict.fromkeys(offer.servers, "connected")
    tools = sorted(str(tool) for tool in init.get("tools") or ())
    expected_tools = sorted(_expected_tools(offer, tools))
    speakers = [name for name in session.speakers if name != SYNTHETIC]
    models = [str(init.get("model")), *speakers]
    memory = init.get("memory_paths")
    return (
        Check(name="init", passed=True, expected="an init event", observed="an init event"),
        Check(name="version", passed=init.get("claude_code_version") == version, expected=version,
              observed=init.get("claude_code_version")),
        Check(name="servers", passed=servers == connected, expected=dict(connected), observed=dict(servers)),
        Check(name="tools", passed=tools == expected_tools, expected=list(expected_tools), observed=list(tools)),
        Check(name="no memory of its own", passed=memory is None, expected=None, observed=memory),
        Check(name="model", passed=all(same_model(model, said) for said in models), expected=model,
              observed=list(dict.fromkeys(models))),
    )  # fmt: skip


def verdict(session: Session, ended: Ended, found: Iterable[Check], usage: Usage, request: Request) -> Verdict:
    """How the cell ended.

    Args:
        session: its events.
        ended: how the process ended.
        found: :func:`checks` of the session.
        usage: what it cost.
        request: its limits.
    """
    failed = next((check for check in found if check.passed is False), None)
    if failed is not None and failed.name == "init":
        return Verdict(Status.HARNESS, f"Claude Code did not begin: {_exit(ended)}")
    if failed is not None:
        return Verdict(Status.HARNESS, f"{failed.name}: expected {failed.expected}, found {failed.observed}")
    if ended.timed_out:
        return _out_of_time(session, request)
    result = session.result
    if result is None:
        return Verdict(Status.HARNESS, f"Claude Code ended without a result: {_exit(ended)}")
    if result.get("stop_reason") == "refusal":
        return Verdict(Status.REFUSED, "the model refused", "")
    if result.get("is_error") is not False or result.get("terminal_reason", "completed") != "completed":
        return _failure(session, result, request)
    text = result.get("result")
    if result.get("subtype") != "success" or not isinstance(text, str) or SYNTHETIC in session.speakers:
        return Verdict(Status.HARNESS, f"Claude Code, not the model, ended the session: {_line(text)}")
    cost = usage.cost_usd if usage.cost_usd is not None else usage.reported_usd
    if request.limit_usd is not None and cost is None:
        return Verdict(Status.HARNESS, "there is no price for the model, so the limit of money cannot be kept")
    if request.limit_usd is not None and cost is not None and cost > request.limit_usd:
        return Verdict(Status.LIMIT_MONEY, f"the answer cost {cost:.4f} of {request.limit_usd:g} dollars")
    return Verdict(Status.OK, "", text.strip())


def _out_of_time(session: Session, request: Request) -> Verdict:
    """The arm's limit, unless the time went by while the provider was being asked again."""
    words = f"no answer after {request.limit_seconds:g} s"
    if not session.unanswered:
        return Verdict(Status.LIMIT_TIME, words)
    code = session.unanswered[-1]
    status = Status.NETWORK if code is None else Status.RATE_LIMIT if code == 429 else Status.API_ERROR
    failed = "without a connection" if code is None else f"with HTTP {code}"
    return Verdict(status, f"{words}; the last request had failed {failed}")


def _failure(session: Session, result: Mapping[str, Any], request: Request) -> Verdict:
    said = _line(result.get("result") or "; ".join(str(e) for e in result.get("errors") or ()))
    reason, subtype = result.get("terminal_reason"), result.get("subtype")
    if reason == "max_turns" or subtype == "error_max_turns":
        return Verdict(Status.LIMIT_TURNS, f"no answer after {request.limit_turns} turns")
    if reason == "budget_exhausted" or subtype == "error_max_budget_usd":
        return Verdict(Status.LIMIT_MONEY, said)
    if result.get("api_error") == "max_output_tokens":
        return Verdict(Status.HARNESS, "the reply is longer than max_output_tokens; raise it")
    code = result.get("api_error_status")
    if code is None and (str(result.get("api_error") or "").startswith(_NETWORK) or _CONNECTION.search(said)):
        return Verdict(Status.NETWORK, said)
    if code is None and session.retried:  # older versions leave it out after retries, and only the retries tell
        code = session.retried[-1]
    if code == 429:
        return Verdict(Status.RATE_LIMIT, said)
    if code in _PERMANENT:
        return Verdict(Status.API_ERROR, f"{said} (asking again is of no use)")
    if code is not None:
        return Verdict(Status.API_ERROR, said)
    if reason == "api_error":
        return Verdict(Status.API_ERROR, said)
    return Verdict(Status.HARNESS, f"Claude Code ended with {reason or subtype}: {said}")


def _expected_tools(offer: Offer, observed: list[str]) -> set[str]:
    """The tools that must be there, and no other; of a server of which none is named, whatever it has."""
    expected = set(offer.builtin)
    for name, tools in offer.servers.items():
        prefix = tool_name(name, "")
        own = {tool for tool in observed if tool.startswith(prefix)}
        expected |= set(tools) or own or {f"{prefix}*"}
    return expected


def _exit(ended: Ended) -> str:
    how = f"killed by signal {-ended.code}" if ended.code < 0 else f"exit code {ended.code}"
    how = f"interrupted at the limit of time, {how}" if ended.timed_out else how
    lines = [line for line in ended.err.decode("utf-8", "replace").splitlines() if line.strip()]
    return _line(f"{how}{': ' + lines[-1] if lines else ''}")


def _items(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _line(text: Any) -> str:
    return " ".join(str(text).split())[:_WORDS]
