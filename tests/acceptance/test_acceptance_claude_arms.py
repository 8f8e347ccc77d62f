"""Every arm of the published line-up, answered by the real Claude Code against a scripted model on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kit import Cli
from memassay.running.presets import PRESETS
from peer_programs import use_peer
from servers.anthropic import MessagesServer, Turn

pytestmark = pytest.mark.peer

KEY = "dummy-local-key-of-a-test"
FINDS = ("find", "retrieve", "search", "Grep")


def speak(body: Mapping[str, Any]) -> Turn:
    """The model: it uses one tool that finds, where there is one, and then answers."""
    names = [tool["name"] for tool in body.get("tools") or []]
    spoken = sum(message["role"] == "assistant" for message in body["messages"])
    finder = next((name for name in names if any(word in name for word in FINDS)), None)
    if finder is None or spoken:
        return Turn("Lisbon", usage={"input_tokens": 100, "output_tokens": 10})
    arguments = {"pattern": "the"} if finder == "Grep" else {"lexical": "the"} if "iwe" in finder else {"query": "the"}
    return Turn(calls=((finder, arguments),), usage={"input_tokens": 100, "output_tokens": 10})


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesServer]:
    for program in ("claude", "iwe", "iwec"):
        use_peer(program, monkeypatch)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with MessagesServer(speak) as server:
        yield server


def answered(cli: Cli, model: MessagesServer, suite: str, out: Path, *more: str) -> dict[str, Any]:
    ran = cli(
        "run", suite, "--sample", "--limit", "1", "--preset", "iwe-2026", "--no-controls", "--out", str(out), "--json",
        "--agent", "claude-code", "--model", "claude-sonnet-4-6", "--set", f"agent.base_url={model.url}",
        "--set", "agent.profile=scoped", "--set", "agent.scripted=true", "--workers", "2", *more,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    summary: dict[str, Any] = ran.json
    assert list(summary["arms"]) == list(PRESETS["iwe-2026"][suite])
    for name, arm in summary["arms"].items():
        used = arm["usage"]["answers"]
        assert used["statuses"] == {"ok": 1}, (name, used)
        assert used["stores_changed"] == 0
        tools = {"tools", "folder"} & set(arm["access"])
        assert used["tool_calls"]["mean"] == (1 if tools else 0), name
        assert used["tokens"]["input"] == (200 if tools else 100)
        assert used["cost_usd"] == pytest.approx(used["reported_usd"])
        assert arm["metrics"]["f1"]["n"] == 1
    kept = b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())
    assert KEY.encode() not in kept
    return summary


def test_claude_answers_every_arm_of_locomo(cli: Cli, model: MessagesServer, tmp_path: Path) -> None:
    store = tmp_path / "curated"
    store.mkdir()
    (store / "ada.md").write_text("# Ada\n\n- [2023-05-07](2023-05-07.md) saw the lighthouse\n", encoding="utf-8")
    (store / "2023-05-07.md").write_text(
        "# The lighthouse (7 May 2023)\n\n- [Ada](ada.md): Lisbon.\n", encoding="utf-8"
    )
    (store / "curate-log.jsonl").write_text(json.dumps({"gold": "never shown"}) + "\n", encoding="utf-8")
    summary = answered(cli, model, "locomo", tmp_path / "run", "--store", str(store))
    assert summary["model"] == "scripted"
    sent = json.dumps(model.bodies)
    assert "never shown" not in sent


def test_claude_answers_every_arm_of_hotpotqa(cli: Cli, model: MessagesServer, tmp_path: Path) -> None:
    answered(cli, model, "hotpotqa", tmp_path / "run", "--links", "titles")
