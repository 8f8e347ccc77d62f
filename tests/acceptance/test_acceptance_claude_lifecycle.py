"""The real Claude Code goes through lifecycles, with a scripted model of ours behind it, on this machine alone.

What the stages came to is read from the run's records, which the suite fills from the platform's own interfaces; what
the model was shown is read from the requests that it was sent.
"""

from __future__ import annotations

import contextlib
import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra platform is not installed")

from lifecycle_model import PREFIX, made, speaks

from kit import Cli
from memassay.core.taught import BUDGET_EXHAUSTED
from peer_programs import use_peer
from servers.anthropic import MessagesServer, Turn

pytestmark = [pytest.mark.peer, pytest.mark.timeout(600)]

KEY = "dummy-local-key-of-a-test"
ARGS = (
    "run", "lifecycle", "--agent", "claude-code", "--model", "claude-sonnet-4-6", "--set", "agent.scripted=true",
    "--set", "lifecycle.sample=true", "--set", "platform.embedder=hash", "--set", "platform.supersede=0.5",
    "--no-controls", "--workers", "2", "--out", "run", "--json",
)  # fmt: skip
PUBLISHED = ("--set", "lifecycle.choices=[]", "--limit", "2")
BUDGET = 15
Steps = dict[str, Any]


class Played:
    """A run: its summary, by protocol the steps by name, and the requests that the model ended a conversation at."""

    def __init__(self, summary: Any, protocols: list[Steps], ended: list[Any]) -> None:
        self.summary, self.protocols, self.ended = summary, protocols, ended
        self.published = summary["conclusion"]["arms"]["platform"]["published"]

    def rate(self, name: str) -> tuple[int, int]:
        return self.published[name]["num"], self.published[name]["den"]

    @property
    def shown(self) -> list[str]:
        """Every result of a tool that the model was shown."""
        return [result.text for body in self.ended for _, _, result in made(body)]


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> Iterator[Callable[..., Played]]:
    """``play("perfect", "--limit", "1")``: protocols, played by Claude Code whose model follows that script."""
    use_peer("claude", monkeypatch)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with contextlib.ExitStack() as servers:

        def run(script: str, *more: str) -> Played:
            model, ended = speaks(script), []

            def turn(body: Mapping[str, Any]) -> Turn:
                said = model(body)
                if not said.calls:
                    ended.append(body)
                return said

            server = servers.enter_context(MessagesServer(turn))
            ran = cli(*ARGS, "--set", f"agent.base_url={server.url}", *more)
            assert ran.code == 0, ran.err
            lines = Path("run/answers-1of1.jsonl").read_text("utf-8").splitlines()
            steps = [{step["name"]: step for step in json.loads(line)["steps"]} for line in lines]
            return Played(ran.json, steps, ended)

        yield run


def episodes(protocol: Steps) -> dict[str, Any]:
    """What the suite noted of each session with an agent."""
    return {name: step["facts"]["episode"] for name, step in protocol.items() if "episode" in step["facts"]}


def verified(protocol: Steps, stage: str) -> dict[str, Any]:
    """What was checked at the platform after a stage."""
    return {check["name"]: check["passed"] for check in protocol[stage]["checks"]}


def kept(path: Path) -> bytes:
    """A file of the run; evidence is compressed."""
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def agrees(played: Played) -> None:
    """The bridge's log, Claude Code's own stream and the model's requests tell of the same sessions and calls."""
    counted = [
        (episode["tool_calls"], sum(step["tools"].values()))
        for protocol in played.protocols
        for name, episode in episodes(protocol).items()
        for step in [protocol[name]]
    ]
    assert len(counted) == len(played.ended)
    assert all(logged == streamed for logged, streamed in counted)
    assert sorted(logged for logged, _ in counted) == sorted(len(made(body)) for body in played.ended)
    for body in played.ended:
        names = {tool["name"] for tool in body["tools"]}
        assert f"{PREFIX}memory_capture" in names and f"{PREFIX}platform_info" not in names
        assert all(name.startswith(PREFIX) for name in names)
        assert not {"session_id", "purpose"} & {
            name for tool in body["tools"] for name in tool["input_schema"]["properties"]
        }


def test_claude_code_goes_through_the_published_stages(play: Callable[..., Played]) -> None:
    played = play("perfect", *PUBLISHED)
    assert {name: played.rate(name) for name in ("capture_rate", "personal_recall", "abstention_rate", "pass_k")} == {
        "capture_rate": (2, 2), "personal_recall": (2, 2), "abstention_rate": (2, 2), "pass_k": (2, 2),
    }  # fmt: skip
    assert [played.rate(name) for name in ("transfer_rate", "update_correctness")] == [(1, 1), (1, 1)]
    promoted = next(one for one in played.protocols if "promote" in one)
    corrected = next(one for one in played.protocols if "update" in one)
    assert list(promoted) == ["teach", "recall", "promote", "transfer", "abstain"]
    assert list(corrected) == ["teach", "recall", "update", "update_recall", "abstain"]
    for protocol in (promoted, corrected):
        assert verified(protocol, "teach")["captured"] is True
    assert verified(promoted, "promote") == {"the change stands": True, "the sink holds it": True}
    assert verified(corrected, "update")["replaced"] is True
    [superseded] = episodes(corrected)["update"]["supersedes"]
    assert superseded["same_fact"] is True and superseded["score"] > 0.5
    agrees(played)

    # Who was who, each in a session of its own, and every fact by a channel that the model really saw.
    told = episodes(promoted)
    assert told["recall"]["email"] == told["teach"]["email"] != told["transfer"]["email"]
    sessions = [one["session_id"] for protocol in played.protocols for one in episodes(protocol).values()]
    assert len(set(sessions)) == len(sessions) and all(one.startswith("dps_") for one in sessions)
    assert {one["channel"] for one in told["transfer"]["deliveries"]} == {"insight", "page", "push"}
    assert told["transfer"]["fact_surfaced"] is True
    fact = next(check["expected"] for check in promoted["promote"]["checks"] if check["name"] == "the sink holds it")
    assert any(fact in json.dumps(json.loads(text), ensure_ascii=False) for text in played.shown)
    assert any("memory_context" in json.loads(text) for text in played.shown), "what is pushed reaches Claude Code too"

    launches = [json.loads(kept(path).splitlines()[0]) for path in Path("run/transcripts").rglob("*") if path.is_file()]
    assert len(launches) == len(sessions)
    for launch in launches:
        [server] = launch["servers"]
        assert server["url"].startswith("http://127.0.0.1:") and server["command"] == []
    assert not any(KEY.encode() in kept(path) for path in Path("run").rglob("*") if path.is_file())


@pytest.mark.slow
def test_claude_code_goes_through_every_stage(play: Callable[..., Played]) -> None:
    played = play("perfect")
    assert played.rate("pass_k") == (4, 4)
    assert played.summary["conclusion"]["arms"]["platform"]["unavailable"] == {}
    names = {name for protocol in played.protocols for name in protocol}
    assert {"never_taught", "restart", "isolation", "twin", "correct_transfer", "rollback_transfer"} <= names
    assert {"interference_recall", "forget_recall"} <= names
    strict = played.summary["conclusion"]["arms"]["platform"]["strict"]
    assert [strict[name]["value"] for name in ("never_taught", "isolation_leak")] == [0, 0]
    assert [strict[name]["value"] for name in ("recall", "transfer", "update", "twin", "rollback_gone")] == [1] * 5
    agrees(played)


def test_a_refusal_for_want_of_budget_reaches_claude_code(play: Callable[..., Played]) -> None:
    played = play("burns-budget", *PUBLISHED[:2], "--limit", "1")
    [protocol] = played.protocols
    teach = episodes(protocol)["teach"]
    assert (teach["tool_calls"], teach.get("tool_errors", 0)) == (BUDGET, 0)
    assert (teach["budget_exhausted"], teach["capture_attempted"]) == (True, False)
    assert played.published["capture_split"]["misses"]["budget_starved"] == 1
    assert verified(protocol, "teach")["captured"] is False
    first = max((made(body) for body in played.ended), key=len)
    executed, refused = first[:BUDGET], first[BUDGET:]
    assert not any(result.is_error for _, _, result in executed)
    assert refused and all(result.is_error for _, _, result in refused)
    assert all(BUDGET_EXHAUSTED in result.text and "final answer now" in result.text for _, _, result in refused)
    assert sum(protocol["teach"]["tools"].values()) == len(first), "Claude Code counts what was refused"
    assert protocol["teach"]["status"] == "ok"
