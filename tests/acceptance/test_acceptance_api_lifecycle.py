"""The agent ``api`` goes through lifecycles, with a scripted model behind it; what it is refused it reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("anthropic", reason="the extra anthropic is not installed")
pytest.importorskip("mcp", reason="the extra platform is not installed")

from lifecycle_model import speaks

from kit import Cli
from memassay.core.taught import BUDGET_EXHAUSTED
from servers.anthropic import MessagesServer, Turn

KEY = "dummy-local-key-of-a-test"
ARGS = (
    "run", "lifecycle", "--agent", "api", "--model", "claude-sonnet-4-6", "--set", "agent.scripted=true",
    "--set", "lifecycle.sample=true", "--set", "lifecycle.choices=[]", "--set", "platform.embedder=hash",
    "--set", "platform.supersede=0.5", "--no-controls", "--workers", "2", "--out", "run", "--json",
)  # fmt: skip
Play = Callable[..., tuple[dict[str, Any], list[Any]]]


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> Iterator[Play]:
    """``play(model, "--limit", "1")``: the published figures, and the steps of the first protocol."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)

    def run(model: Callable[[Mapping[str, Any]], Turn], *more: str) -> tuple[dict[str, Any], list[Any]]:
        with MessagesServer(model) as server:
            ran = cli(*ARGS, "--set", f"agent.base_url={server.url}", *more)
        assert ran.code == 0, ran.err
        first = Path("run/answers-1of1.jsonl").read_text("utf-8").splitlines()[0]
        return ran.json["conclusion"]["arms"]["platform"]["published"], json.loads(first)["steps"]

    yield run


def test_the_published_stages(play: Play) -> None:
    published, _ = play(speaks(), "--limit", "2")
    assert (published["pass_k"]["num"], published["pass_k"]["den"]) == (2, 2)
    assert [published[name]["num"] for name in ("transfer_rate", "update_correctness")] == [1, 1]


def test_a_spent_budget_ends_what_an_agent_can_do(play: Play) -> None:
    published, steps = play(speaks("burns-budget"), "--limit", "1")
    teach = steps[0]["facts"]["episode"]
    assert (steps[0]["status"], teach["tool_calls"]) == ("ok", 15)
    assert (teach["budget_exhausted"], teach["capture_attempted"]) == (True, False)
    assert published["capture_split"]["misses"]["budget_starved"] == 1


def test_who_does_not_heed_it_ends_at_the_limit_of_turns(play: Play) -> None:
    refused: list[str] = []

    def stubborn(body: Mapping[str, Any]) -> Turn:
        told = json.dumps(body["messages"][-1])
        if BUDGET_EXHAUSTED in told:
            refused.append(told)
        return Turn(calls=(("search", {"intent": "again"}),))

    _, steps = play(stubborn, "--limit", "1")
    assert [step["status"] for step in steps] == ["limit-turns"] * len(steps)
    episodes = [step["facts"]["episode"] for step in steps]
    assert {(one["tool_calls"], one["budget_exhausted"]) for one in episodes} == {(15, True)}
    assert refused and all("Error: " in told and "final answer now" in told for told in refused)
