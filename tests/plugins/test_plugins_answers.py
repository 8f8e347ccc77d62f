"""The files on the page about agents, run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from plugins_pages import ROOT, named_files

from kit import Cli
from memassay.agents.scripted import FAULTS, Replies
from memassay.core.types import CellKey
from servers.openai import CompletionsServer, Say

Write = Callable[[str, str], str]


def reply(body: Mapping[str, Any]) -> Say:
    """A judge asks for a shape, an agent does not."""
    verdict = json.dumps({"explanation": "it is", "label": "CORRECT"})
    return Say(verdict if "response_format" in body else "Oslo")


def test_the_experiment_that_answers(cli: Cli, write: Write) -> None:
    pytest.importorskip("openai")
    pytest.importorskip("mcp")
    write("answers.toml", named_files("agents.md")["answers.toml"])
    planned = cli("plan", "answers.toml", "--limit", "2", "--json")
    assert planned.code == 0, planned.err
    assert (planned.json["answers"], planned.json["judgements"], planned.json["stops before"]) == (4, 8, "$5")
    with CompletionsServer(reply) as server:
        places = ["--set", f"agent.base_url={server.url}", "--set", f"judge.base_url={server.url}"]
        ran = cli("run", "answers.toml", "--limit", "2", "--no-controls", *places, "--out", "runs/answers", "--json")
    assert ran.code == 0, ran.err
    arms = ran.json["arms"]
    assert {name: arm["metrics"]["j"]["value"] for name, arm in arms.items()} == {"markdown": 1, "lexical": 1}
    assert all(arm["metrics"]["j_lenient"]["value"] == 1 for arm in arms.values())
    asked = [body for body in server.bodies if "response_format" not in body]
    assert {body["model"] for body in asked} == {"gpt-4.1"}
    assert sorted("tools" in body for body in asked) == [False, False, True, True]


def test_the_replies_of_the_scripted_agent() -> None:
    replies = Replies.model_validate_json(named_files("agents.md")["replies.json"])

    def said(task: str, arm: str) -> str | None:
        return replies.of(CellKey(task=f"conv-26/{task}", arm=arm))

    assert [said("q7", arm) for arm in ("lexical", "files")] == ["single", "single"]
    assert [said("q8", arm) for arm in ("lexical", "files", "hybrid")] == ["Oslo", "I do not know", "I do not know"]
    assert [said("q9", arm) for arm in ("lexical", "files")] == ["I do not know", "Lima"]


def test_every_fault_is_on_the_page() -> None:
    page = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
    assert all(f"`{fault}`" in page for fault in FAULTS)
