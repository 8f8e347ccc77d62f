"""A model that goes by another name than was asked for is in the summary and in the report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kit import Cli
from servers.openai import CompletionsServer, Say

QUICK = ("--sample", "--limit", "4", "--tokens", "chars4", "--budgets", "400", "--ks", "5", "--no-controls")
RIGHT = json.dumps({"explanation": "yes", "label": "CORRECT"})


def test_another_name_behind_an_address_is_a_note_of_agent_and_judge(cli: Cli, tmp_path: Path) -> None:
    pytest.importorskip("openai")
    run = ["run", "locomo", *QUICK, "--memory", "lexical", "--agent", "api", "--model", "gpt-4o", "--judge", "gpt-4o"]
    with CompletionsServer([Say(RIGHT, model="qwen3")]) as server, CompletionsServer([Say(RIGHT)]) as honest:
        settings = ["--set", f"agent.base_url={server.url}", "--set", f"judge.base_url={server.url}"]
        ran = cli(*run, *settings, "--out", tmp_path / "r", "--json")
        settings = ["--set", f"agent.base_url={honest.url}", "--set", f"judge.base_url={honest.url}"]
        plain = cli(*run, *settings, "--out", tmp_path / "plain", "--json")
    assert (ran.code, plain.code) == (0, 0), ran.err
    notes = [
        "Judge binary-gpt-4o asked for the model gpt-4o; what replied calls itself qwen3 (4 verdicts).",
        "The agent asked for the model gpt-4o; what replied calls itself qwen3 (4 answers).",
    ]
    assert ran.json["notes"][-2:] == notes
    assert not any("calls itself" in note for note in plain.json["notes"])
    for name in ("summary.md", "report.html"):
        text = (tmp_path / "r" / name).read_text(encoding="utf-8")
        assert all(note in text for note in notes)


def test_a_judge_of_the_provider_that_lets_another_reply_is_asked_again(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai")
    run = ["run", "locomo", *QUICK, "--memory", "lexical", "--agent", "extractive", "--json", "--judge", "gpt-4o"]
    with CompletionsServer([*[Say(RIGHT, model="gpt-4o-mini")] * 4, Say(RIGHT)]) as server:
        # Only a setting makes an address one's own; the variable says where the provider is.
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        ran = cli(*run, "--out", tmp_path / "r")
        assert len(server.bodies) == 4
        again = cli("judge", tmp_path / "r", "--judge", "gpt-4o", "--json")
    lines = (tmp_path / "r" / "judgements" / "binary-gpt-4o.jsonl").read_text("utf-8").splitlines()
    verdicts = [json.loads(line) for line in lines]
    assert [v["status"] for v in verdicts] == ["failed"] * 4 + ["ok"] * 4
    assert verdicts[0]["explanation"] == "asked gpt-4o, but gpt-4o-mini replied"
    assert "j" not in ran.json["answer_metrics"]
    assert again.json["arms"]["lexical"]["metrics"]["j"]["value"] == 1
