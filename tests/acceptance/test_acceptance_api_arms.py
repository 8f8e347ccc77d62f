"""Every arm of the published line-up, answered by the agent ``api`` through the official client of each provider.

The models are scripted servers on this machine. Arms that iwe serves are marked ``peer``, the others run everywhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from arms_kit import curated_store, finder

pytest.importorskip("anthropic", reason="the extra anthropic is not installed")
pytest.importorskip("openai", reason="the extra openai is not installed")
pytest.importorskip("mcp", reason="the extra mcp is not installed")

from kit import Cli
from memassay.running.presets import PRESETS
from peer_programs import use_peer
from servers.anthropic import MessagesServer, Turn
from servers.openai import CompletionsServer, Say

KEY = "dummy-local-key-of-a-test"
MODELS = {"anthropic": "claude-sonnet-4-6", "openai": "gpt-4.1"}
PROGRAMS = {"anthropic": "AsyncAnthropic/Python", "openai": "AsyncOpenAI/Python"}
WITHOUT_IWE = {"locomo": ("fs", "full-context", "curated-fs"), "hotpotqa": ("fs",)}
Server = MessagesServer | CompletionsServer


def turn(body: Mapping[str, Any]) -> Turn:
    """Claude: one tool that finds, where there is one, and then the answer."""
    call = finder([tool["name"] for tool in body.get("tools") or []], body)
    usage = {"input_tokens": 100, "output_tokens": 10}
    return Turn("Lisbon", usage=usage) if call is None else Turn(calls=(call,), usage=usage)


def say(body: Mapping[str, Any]) -> Say:
    """GPT: the same."""
    call = finder([tool["function"]["name"] for tool in body.get("tools") or []], body)
    return Say("Lisbon") if call is None else Say(calls=(call,))


@pytest.fixture(params=MODELS)
def client(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def model(client: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv(f"{client.upper()}_API_KEY", KEY)
    with MessagesServer(turn) if client == "anthropic" else CompletionsServer(say) as server:
        yield server


Answered = Callable[..., dict[str, Any]]


@pytest.fixture
def answered(cli: Cli, client: str, model: Server, tmp_path: Path) -> Answered:
    """``answered("locomo", arms)``: the summary of a run of these arms, each of which has been looked at."""

    def run(suite: str, arms: Sequence[str]) -> dict[str, Any]:
        curated = ["--store", str(curated_store(tmp_path / "curated"))]
        more = {"locomo": curated, "hotpotqa": ["--links", "titles"]}[suite]
        ran = cli(
            "run", suite, "--sample", "--limit", "1", "--preset", "iwe-2026", "--arm", ",".join(arms), "--no-controls",
            "--out", str(tmp_path / "run"), "--json", "--agent", "api", "--model", MODELS[client],
            "--set", f"agent.base_url={model.url}", "--set", "agent.scripted=true", "--workers", "2", *more,
        )  # fmt: skip
        assert ran.code == 0, ran.err
        summary: dict[str, Any] = ran.json
        assert list(summary["arms"]) == list(arms)
        assert summary["model"] == "scripted"
        for name, arm in summary["arms"].items():
            used = arm["usage"]["answers"]
            assert used["statuses"] == {"ok": 1}, (name, used)
            assert used["stores_changed"] == 0
            calls = 1 if {"tools", "folder"} & set(arm["access"]) else 0
            assert used["tool_calls"]["mean"] == calls, name
            # Two replies where a tool is used, else one: the tokens are those of the client's own count.
            assert (used["tokens"]["input"], used["tokens"]["output"]) == (100 * (1 + calls), 10 * (1 + calls)), name
            assert used["cost_usd"] > 0
            assert arm["metrics"]["f1"]["n"] == 1
        assert {program(headers) for headers in headers_of(model)} == {PROGRAMS[client]}
        # What a tool found has reached the model, and was no error.
        assert len(model.bodies) == sum(arm["usage"]["answers"]["turns"]["mean"] for arm in summary["arms"].values())
        for body in model.bodies:
            for result in results(body):
                assert result.strip() and not result.startswith("Error"), result
        kept = b"".join(path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file())
        assert KEY.encode() not in kept
        sent = json.dumps(model.bodies)
        assert "never shown" not in sent
        assert str(tmp_path) not in sent
        return summary

    return run


def results(body: Mapping[str, Any]) -> list[str]:
    """The tool results of a conversation, as either provider is told of them."""
    found = [m["content"] for m in body["messages"] if m["role"] == "tool"]
    blocks = [b for m in body["messages"] if isinstance(m["content"], list) for b in m["content"]]
    contents = [block["content"] for block in blocks if block["type"] == "tool_result"]
    return found + [content if isinstance(content, str) else content[0]["text"] for content in contents]


def headers_of(server: Server) -> list[Mapping[str, str]]:
    """What came with each request; names in small letters."""
    kept = [r.headers for r in server.requests] if isinstance(server, MessagesServer) else server.headers
    return [{name.lower(): value for name, value in headers.items()} for headers in kept]


def program(headers: Mapping[str, str]) -> str:
    """Who sent it, without the version: the package itself, not a client of ours."""
    return headers["user-agent"].partition(" ")[0]


@pytest.mark.parametrize("suite", WITHOUT_IWE)
def test_an_api_answers_the_arms_that_need_no_iwe(suite: str, answered: Answered) -> None:
    answered(suite, WITHOUT_IWE[suite])


@pytest.mark.peer
@pytest.mark.parametrize("suite", WITHOUT_IWE)
def test_an_api_answers_every_arm(suite: str, answered: Answered, monkeypatch: pytest.MonkeyPatch) -> None:
    for program in ("iwe", "iwec"):
        use_peer(program, monkeypatch)
    answered(suite, list(PRESETS["iwe-2026"][suite]))
