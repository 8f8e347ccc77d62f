"""The agent ``api`` against scripted servers on this machine: one reply, tools, limits, failures, evidence."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("anthropic", reason="the extra anthropic is not installed")
pytest.importorskip("openai", reason="the extra openai is not installed")

from kit import ROOT
from memassay.agents import api
from memassay.agents.api import Api
from memassay.agents.toolbox import ToolResult, ToolsMissing, ToolSpec
from memassay.core.asking import INSTRUCTIONS
from memassay.core.errors import EnvironmentProblem, UsageError
from memassay.core.registry import bind_options
from memassay.core.types import CellKey, Request, Server, Status, Step, Toolset, Usage
from memassay.models import retries
from servers.anthropic import MessagesServer, Turn
from servers.openai import CompletionsServer, Say

CLAUDE = "claude-opus-4-8"
TOOLS = Toolset(servers=(Server(name="memory", command=("none",)),))


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_BASE_URL",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(retries, "FIRST_WAIT", 0.0)


class Box:
    """A toolbox of two tools, one of whose names no provider accepts."""

    def __init__(self, work: Callable[[str, Mapping[str, Any]], ToolResult]) -> None:
        schema = {"type": "object", "properties": {"query": {"type": "string"}}}
        self.tools = [ToolSpec("search", "To search.", schema), ToolSpec("notes/read.page", "To read.", schema)]
        self.work = work
        self.calls: list[tuple[str, dict[str, Any]]] = []

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        self.calls.append((name, dict(arguments)))
        return self.work(name, arguments)


@pytest.fixture
def box(monkeypatch: pytest.MonkeyPatch) -> Box:
    made = Box(lambda name, arguments: ToolResult(f"{name}: Alice moved to Oslo."))

    @asynccontextmanager
    async def opened(toolset: Toolset) -> Any:
        assert toolset == TOOLS
        yield made

    monkeypatch.setattr(api, "open_toolbox", opened)
    return made


def request(**more: Any) -> Request:
    asked = {
        "prompt": "/cost of @notes: where does Alice live?",
        "dossier": "Alice moved to Oslo.",
        "limit_seconds": 30,
    }
    return Request(cell=CellKey(task="t", arm="a"), **{**asked, **more})


def answer(agent: Api, **more: Any) -> Step:
    async def run() -> Step:
        try:
            return await agent.answer(request(**more))
        finally:
            await agent.close()

    return asyncio.run(run())


def claude(
    turns: Sequence[Turn], faults: Sequence[Turn] = (), *, settings: Any = None, **more: Any
) -> tuple[Step, Any]:
    with MessagesServer(turns, faults) as server:
        agent = Api(model=CLAUDE, base_url=server.url, scripted=True, **(settings or {}))
        return answer(agent, **more), server


def lines(step: Step) -> list[Any]:
    assert step.evidence is not None
    return [json.loads(line) for line in step.evidence.decode().splitlines()]


def test_a_dossier_is_answered_in_one_request() -> None:
    step, server = claude([Turn(" Oslo.\n")], as_of="2023-05-08")
    assert (step.status, step.text, step.detail) == (Status.OK, "Oslo.", "")
    words = "From the memory:\n\nAlice moved to Oslo.\n\nToday is 2023-05-08.\n"
    words += "Question: /cost of @notes: where does Alice live?"
    assert server.bodies == [
        {"model": CLAUDE, "max_tokens": 4096, "system": INSTRUCTIONS, "messages": [{"role": "user", "content": words}]}
    ]
    assert step.usage.model_copy(update={"wall_ms": 0}) == Usage(input=100, output=10, cost_usd=0.00075, turns=1)
    assert step.usage.wall_ms > 0
    assert [(c.name, c.passed) for c in step.checks] == [("model", True)]


def test_the_suites_instructions_come_first_and_settings_reach_the_wire() -> None:
    settings = {"max_tokens": 50, "temperature": 0.0, "effort": "low"}
    _, server = claude([Turn("x")], system="Judge.", dossier=None, settings=settings)
    body = server.bodies[0]
    assert body["system"] == "Judge." and body["max_tokens"] == 50 and body["temperature"] == 0.0
    assert body["messages"][0]["content"].startswith("Question: ")


def test_tools_are_called_until_there_is_an_answer(box: Box) -> None:
    turns = [
        Turn(calls=(("search", {"query": "Alice"}), ("notes_read_page", {"query": "x"}))),
        Turn(calls=(("search", {}),)),
        Turn("Oslo."),
    ]
    step, server = claude(turns, toolset=TOOLS, dossier=None)
    assert (step.status, step.text) == (Status.OK, "Oslo.")
    assert box.calls == [("search", {"query": "Alice"}), ("notes/read.page", {"query": "x"}), ("search", {})]
    assert [tool["name"] for tool in server.bodies[0]["tools"]] == ["search", "notes_read_page"]
    results = server.bodies[1]["messages"][2]["content"]
    assert [r["content"] for r in results] == ["search: Alice moved to Oslo.", "notes/read.page: Alice moved to Oslo."]
    usage = step.usage
    assert (usage.turns, usage.tool_calls, usage.input, usage.output) == (3, 3, 300, 30)
    assert usage.cost_usd == pytest.approx(3 * 0.00075)


def test_the_same_with_chat_completions(box: Box) -> None:
    turns = [Say(None, calls=(("search", {"query": "Alice"}), ("search", '{"query":'))), Say("Oslo.")]
    with CompletionsServer(turns) as server:
        step = answer(Api(model="gpt-4.1", base_url=server.url, scripted=True), toolset=TOOLS)
    assert (step.status, step.text) == (Status.OK, "Oslo.")
    assert box.calls == [("search", {"query": "Alice"})], "arguments that cannot be read reach no tool"
    good, bad = server.bodies[1]["messages"][-2:]
    assert good["content"] == "search: Alice moved to Oslo."
    assert bad["content"].startswith("Error: the arguments are not JSON")


def test_a_tools_complaint_goes_to_the_model(box: Box) -> None:
    box.work = lambda name, arguments: ToolResult("no such page", is_error=True)
    step, server = claude([Turn(calls=(("search", {}),)), Turn("I do not know.")], toolset=TOOLS)
    assert step.status is Status.OK
    assert server.bodies[1]["messages"][2]["content"][0]["content"] == "Error: no such page"


def test_a_long_result_is_cut_for_the_model_and_whole_in_the_evidence(box: Box) -> None:
    box.work = lambda name, arguments: ToolResult("é" * 150)
    turns = [Turn(calls=(("search", {}),)), Turn("x")]
    step, server = claude(turns, toolset=TOOLS, settings={"result_chars": 100})
    shown = server.bodies[1]["messages"][2]["content"][0]["content"]
    assert shown == "é" * 100 + "\n[cut: 100 of 150 characters]"
    assert next(line for line in lines(step) if line["event"] == "tool")["result"] == "é" * 150


def test_without_tools_a_call_gets_told_so() -> None:
    step, server = claude([Turn(calls=(("search", {}),)), Turn("Oslo.")])
    assert step.text == "Oslo." and "tools" not in server.bodies[0]
    assert server.bodies[1]["messages"][2]["content"][0]["content"] == "There are no tools."


def test_a_real_tool_server_and_a_folder(tmp_path: Path) -> None:
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "alice.md").write_text("Alice moved to Oslo.\n", encoding="utf-8")
    program = (sys.executable, str(ROOT / "tests" / "servers" / "tools.py"))
    tools = Toolset(servers=(Server(command=program, tools=("search", "die")),), folder=str(tmp_path / "notes"))
    Api(model=CLAUDE).check(("tools", "folder"))
    reading = Turn(calls=(("search", {"query": "Alice"}), ("read_file", {"path": "alice.md"})))
    step, server = claude([reading, Turn("Oslo.")], toolset=tools)
    assert (step.status, step.text, step.usage.tool_calls) == (Status.OK, "Oslo.", 2)
    offered = [tool["name"] for tool in server.bodies[0]["tools"]]
    assert offered == ["search", "die", "list_files", "search_files", "read_file"]
    found, read = (block["content"] for block in server.bodies[1]["messages"][2]["content"])
    assert json.loads(found) == {"name": "search", "arguments": {"query": "Alice"}} and "Alice moved to Oslo." in read
    dead, _ = claude([Turn(calls=(("die", {}),)), Turn("Oslo.")], toolset=tools)
    assert dead.status is Status.HARNESS and "ended in a call of 'die'" in dead.detail and dead.text is None
    assert dead.usage.turns == 1


# -- limits --------------------------------------------------------------------------------------------------------


def test_turns_are_limited(box: Box) -> None:
    step, server = claude([Turn(calls=(("search", {}),))], toolset=TOOLS, limit_turns=3)
    assert (step.status, step.text) == (Status.LIMIT_TURNS, None)
    assert len(server.bodies) == 3 and len(box.calls) == 2 and step.usage.turns == 3
    last, _ = claude([Turn(calls=(("search", {}),)), Turn("Oslo.")], toolset=TOOLS, limit_turns=2)
    assert (last.status, last.text) == (Status.OK, "Oslo.")


def test_money_is_limited_by_the_price_table(box: Box) -> None:
    step, server = claude([Turn(calls=(("search", {}),))], toolset=TOOLS, limit_usd=0.002)
    assert step.status is Status.LIMIT_MONEY and len(server.bodies) == 3
    assert step.usage.cost_usd == pytest.approx(3 * 0.00075)


def test_an_answer_that_is_there_counts_whatever_it_cost() -> None:
    assert claude([Turn("Oslo.")], limit_usd=0.0)[0].status is Status.OK


def test_a_limit_of_money_without_a_price_cannot_be_kept(box: Box) -> None:
    with CompletionsServer([Say(None, calls=(("search", {}),))]) as server:
        step = answer(Api(model="my-model", base_url=server.url), toolset=TOOLS, limit_usd=1.0)
    assert step.status is Status.HARNESS and "no price for my-model" in step.detail
    assert step.usage.cost_usd is None and len(server.bodies) == 1


def test_time_is_limited_and_what_was_spent_is_kept(box: Box) -> None:
    turns = [Turn(calls=(("search", {}),)), Turn(silent=True)]
    step, _ = claude(turns, toolset=TOOLS, limit_seconds=1.0)
    assert (step.status, step.detail) == (Status.LIMIT_TIME, "no answer after 1 s")
    assert step.usage.turns == 1 and step.usage.cost_usd == pytest.approx(0.00075)
    assert [line["event"] for line in lines(step)] == ["request", "response", "tool", "end"]


@pytest.mark.parametrize(("code", "status"), [(429, Status.RATE_LIMIT), (529, Status.API_ERROR)])
def test_a_limit_of_time_that_a_provider_used_up_is_the_providers(
    code: int, status: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries, "FIRST_WAIT", 30.0)
    step, server = claude([Turn(status=code)], limit_seconds=1.0)
    assert step.status is status and step.detail.startswith(
        f"no answer after 1 s; the last request had failed: HTTP {code}"
    )
    assert len(server.bodies) == 1
    assert [line["event"] for line in lines(step)] == ["failed", "request", "end"]


def test_a_limit_of_time_after_a_provider_came_back_is_the_arms(box: Box) -> None:
    turns = [Turn(calls=(("search", {}),)), Turn(silent=True)]
    step, _ = claude(turns, [Turn(status=529)], toolset=TOOLS, limit_seconds=1.5)
    assert (step.status, step.detail) == (Status.LIMIT_TIME, "no answer after 1.5 s")


# -- what must not count -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "status", "asked"),
    [
        (Turn(status=400), Status.API_ERROR, 1),
        (Turn(status=401), Status.API_ERROR, 1),
        (Turn(status=429), Status.RATE_LIMIT, 2),
        (Turn(status=529), Status.API_ERROR, 2),
        (Turn(drop=True), Status.NETWORK, 2),
    ],
)
def test_a_providers_failure_is_a_status_and_every_attempt_is_kept(fault: Turn, status: Status, asked: int) -> None:
    step, server = claude([fault], settings={"tries": 2})
    assert step.status is status and step.text is None and len(server.bodies) == asked
    assert ("asking again is of no use" in step.detail) is (asked == 1)
    assert [line["attempt"] for line in lines(step) if line["event"] == "failed"] == [*range(1, asked + 1)]
    assert any(line["event"] == "request" for line in lines(step))


def test_a_failure_that_passes_leaves_an_answer_and_a_trace() -> None:
    step, server = claude([Turn("Oslo.")], [Turn(status=529), Turn(status=429)])
    assert (step.status, step.text) == (Status.OK, "Oslo.") and len(server.bodies) == 3
    assert [line["code"] for line in lines(step) if line["event"] == "failed"] == [529, 429]


def test_no_reply_in_time_is_the_network() -> None:
    step, _ = claude([Turn(silent=True)], settings={"tries": 1, "request_seconds": 0.3})
    assert step.status is Status.NETWORK


def test_a_refusal_is_an_answer_of_its_kind() -> None:
    step, _ = claude([Turn("I cannot.", stop="refusal")])
    assert (step.status, step.text) == (Status.REFUSED, "I cannot.")


def test_a_reply_that_was_cut_says_so() -> None:
    cut, _ = claude([Turn("Oslo is", stop="max_tokens")], settings={"max_tokens": 3})
    assert (cut.status, cut.text, cut.detail) == (Status.OK, "Oslo is", "cut at max_tokens=3")
    empty, _ = claude([Turn("", stop="max_tokens")])
    assert empty.status is Status.HARNESS and "raise it" in empty.detail and empty.text is None


def test_tools_that_are_missing_are_a_fault_of_the_harness(monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def opened(toolset: Toolset) -> Any:
        raise ToolsMissing("The tool server 'memory' could not be started: no.")
        yield

    monkeypatch.setattr(api, "open_toolbox", opened)
    step, server = claude([Turn("Oslo.")], toolset=TOOLS)
    assert step.status is Status.HARNESS and "could not be started" in step.detail and server.bodies == []


def test_another_model_than_asked_is_a_fault_unless_a_gateway_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with MessagesServer([Turn("Oslo.", model="claude-haiku-4-5")]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        wrong = answer(Api(model=CLAUDE))
        gateway = answer(Api(model=CLAUDE, base_url=server.url))
    assert wrong.status is Status.HARNESS and "asked claude-opus-4-8, but claude-haiku-4-5 replied" in wrong.detail
    assert wrong.text is None and wrong.usage.cost_usd == pytest.approx(0.00075), "it was spent all the same"
    assert gateway.status is Status.OK and gateway.identity == "claude-haiku-4-5"
    assert [(c.name, c.passed) for c in gateway.checks] == [("model", False)]


def test_no_key_stops_the_run_in_one_sentence() -> None:
    agent = Api(model=CLAUDE)
    for call in (agent.prepare, lambda: agent.answer(request())):
        with pytest.raises(EnvironmentProblem, match="set the variable ANTHROPIC_API_KEY"):
            asyncio.run(call())


# -- evidence and settings -----------------------------------------------------------------------------------------


def test_the_evidence_gives_every_request_back(box: Box) -> None:
    turns = [Turn(calls=(("search", {}),)), Turn(calls=(("search", {}),)), Turn("Oslo.")]
    step, server = claude(turns, toolset=TOOLS)
    messages: list[Any] = []
    rebuilt = []
    for line in lines(step):
        if line["event"] == "request":
            messages = [*messages[: line["messages_before"]], *line["body"]["messages"]]
            rebuilt.append({**line["body"], "messages": messages})
    assert rebuilt == server.bodies
    assert [line["messages_before"] for line in lines(step) if line["event"] == "request"] == [0, 1, 3]
    assert lines(step)[-1] == {"event": "end", "status": "ok", "detail": "", "text": "Oslo."}


def test_equal_talks_leave_equal_evidence(box: Box) -> None:
    turns = [Turn(calls=(("search", {}),)), Turn("Oslo.")]
    assert claude(turns, toolset=TOOLS)[0].evidence == claude(turns, toolset=TOOLS)[0].evidence


def test_no_key_is_in_the_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "dummy-local-12345")
    told = Turn("The key is dummy-local-12345.")
    step, server = claude([told], [Turn(status=500, message="key dummy-local-12345")])
    assert "dummy-local-12345" in str(server.requests[0].headers)
    assert step.evidence is not None and b"dummy-local" not in step.evidence and "dummy-local" not in str(step)


def test_many_answers_at_once_share_one_agent() -> None:
    def reply(body: Mapping[str, Any]) -> Turn:
        return Turn(body["messages"][0]["content"].rpartition(" ")[2])

    async def run(agent: Api) -> list[Step]:
        return await asyncio.gather(*(agent.answer(request(prompt=f"number {n}")) for n in range(8)))

    with MessagesServer(reply) as server:
        steps = asyncio.run(run(Api(model=CLAUDE, base_url=server.url, scripted=True)))
    assert [step.text for step in steps] == [str(n) for n in range(8)]


def test_settings_are_checked_and_a_script_is_never_real(tmp_path: Path) -> None:
    bound = bind_options(Api, {"model": "gpt-4.1", "temperature": "0", "scripted": "true"}, "agent 'api'")
    assert bound["temperature"] == 0.0 and bound["scripted"] is True
    with pytest.raises(UsageError, match="no setting 'api_key'"):
        bind_options(Api, {"model": "gpt-4.1", "api_key": "x"}, "agent 'api'")
    assert Api(model="gpt-4.1").model == "real" and Api(model="gpt-4.1", scripted=True).model == "scripted"
    script = tmp_path / "script.json"
    script.write_text('{"replies": [{"text": "Oslo."}]}', encoding="utf-8")
    agent = Api(model=f"scripted/{script}")
    assert agent.model == "scripted" and answer(agent).text == "Oslo."


def test_the_price_and_the_identity_are_the_models() -> None:
    agent = Api(model=CLAUDE, base_url="http://127.0.0.1:1")
    assert agent.price(Usage(input=1_000_000)) == 5.0 and Api(model="mine").price(Usage()) is None
    assert agent.identity()["address"] == "http://127.0.0.1:1"
