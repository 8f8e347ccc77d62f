"""The three arms of the association study, answered by the real Claude Code against a scripted model of ours."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from association_kit import THREE

from kit import Cli
from peer_programs import use_peer
from servers.anthropic import MessagesServer, Turn

pytestmark = [pytest.mark.peer, pytest.mark.timeout(600)]

KEY = "dummy-local-key-of-a-test"
USED = {"input_tokens": 100, "output_tokens": 10}
EXPLAIN = "mcp__mushroomdb__explain_association"


def speak(body: Mapping[str, Any]) -> Turn:
    """The model: it looks once, with a tool of the graph or with a command, and then says what the question names."""
    names = {tool["name"] for tool in body.get("tools") or []}
    if any(message["role"] == "assistant" for message in body["messages"]):
        return Turn("INDUSTRY_ALIGNMENT", usage=USED)
    if EXPLAIN in names:
        return Turn(calls=((EXPLAIN, {"a": "talent-000001", "b": "company-000001"}),), usage=USED)
    return Turn(calls=(("Bash", {"command": "ls", "description": "look around"}),), usage=USED)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesServer]:
    pytest.importorskip("mushroomdb")
    use_peer("claude", monkeypatch)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with MessagesServer(speak) as server:
        yield server


def test_claude_answers_all_three_forms(three: Path, cli: Cli, model: MessagesServer, tmp_path: Path) -> None:
    ran = cli(
        "run", *THREE, "--stores", three / "stores", "--limit", "1", "--out", str(tmp_path / "run"), "--json",
        "--agent", "claude-code", "--model", "claude-sonnet-4-6", "--set", f"agent.base_url={model.url}",
        "--set", "agent.profile=scoped", "--set", "agent.shell=true", "--set", "agent.scripted=true", "--workers", "2",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    summary: dict[str, Any] = ran.json
    assert list(summary["arms"]) == ["json-files", "sqlite", "graph"]
    for name, arm in summary["arms"].items():
        used = arm["usage"]["answers"]
        assert used["statuses"] == {"ok": 1}, (name, used)
        assert used["tool_calls"]["mean"] == 1, name
        assert used["cost_usd"] == pytest.approx(used["reported_usd"])
    adoption = json.dumps(summary["conclusion"]["adoption"])
    assert EXPLAIN in adoption and "Bash" in adoption
    assert [c["passed"] for c in (summary["controls"]["reference"], summary["controls"]["empty"])] == [True, True]
    # Every arm was told how its own form is asked, and of no other form.
    systems = [json.dumps(body.get("system")) for body in model.bodies if body.get("system")]
    told = {word: sum(word in system for system in systems) for word in ("json_each", "what_if(", "changes.jsonl what")}
    assert all(told.values()), told
    kept = b"".join(path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file())
    assert KEY.encode() not in kept
