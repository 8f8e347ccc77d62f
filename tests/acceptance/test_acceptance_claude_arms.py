"""Every arm of the published line-up, answered by the real Claude Code against a scripted model on this machine.

The first body that each arm sends is compared with ``requests/SUITE-ARM.json``; ``UPDATE_REQUESTS=1`` writes them anew.
Long texts (a dossier, what is Claude Code's own) and the tools of others stand there as a digest.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from arms_kit import curated_store, finder

from golden import brief, golden
from kit import Cli
from memassay.agents.claude_code.probe import settled
from memassay.running.presets import PRESETS
from peer_programs import use_peer
from servers.anthropic import MessagesServer, Turn

pytestmark = pytest.mark.peer

KEY = "dummy-local-key-of-a-test"


def speak(body: Mapping[str, Any]) -> Turn:
    """The model: it uses one tool that finds, where there is one, and then answers."""
    call = finder([tool["name"] for tool in body.get("tools") or []], body)
    usage = {"input_tokens": 100, "output_tokens": 10}
    return Turn("Lisbon", usage=usage) if call is None else Turn(calls=(call,), usage=usage)


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
        "--set", "agent.profile=scoped", "--set", "agent.scripted=true", "--workers", "1", *more,
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
    assert KEY.encode() not in b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())
    # One worker, so the conversations began in the order of the records.
    records = [
        json.loads(line) for path in out.glob("answers-*.jsonl") for line in path.read_text("utf-8").splitlines()
    ]
    first = [body for body in model.bodies if len(body["messages"]) == 1]
    for record, body in zip(records, first, strict=True):
        name = f"{suite}-{record['cell']['arm']}"
        kept = brief(settled(body))
        assert not any(str(place) in json.dumps(kept) for place in (Path.home(), out.parent))
        assert kept == golden(Path(__file__).with_name("requests"), name, kept), name
    return summary


def test_claude_answers_every_arm_of_locomo(cli: Cli, model: MessagesServer, tmp_path: Path) -> None:
    store = curated_store(tmp_path / "curated")
    summary = answered(cli, model, "locomo", tmp_path / "run", "--store", str(store))
    assert summary["model"] == "scripted"
    sent = json.dumps(model.bodies)
    assert "never shown" not in sent


def test_claude_answers_every_arm_of_hotpotqa(cli: Cli, model: MessagesServer, tmp_path: Path) -> None:
    answered(cli, model, "hotpotqa", tmp_path / "run", "--links", "titles")
