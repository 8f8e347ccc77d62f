"""What judges cost stands in every sum, whatever they gave for it; odd verdicts and strange words are one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openai", reason="the extra openai is not installed")

from kit import Cli
from servers.openai import CompletionsServer, Say

QUICK = ["--sample", "--limit", "4", "--tokens", "chars4", "--budgets", "400", "--ks", "5", "--no-controls"]
USAGE = {"prompt_tokens": 100_000, "completion_tokens": 1_000}
RIGHT = Say(json.dumps({"explanation": "as the script says", "label": "CORRECT"}), usage=USAGE)
NONSENSE = Say("I would rather not.", usage=USAGE)


@pytest.fixture
def judged(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """``judged(reply)``: a run of four answers, judged by what the server says."""
    monkeypatch.setenv("MY_KEY", "dummy-local-12345")
    running: list[CompletionsServer] = []

    def judge(*replies: Say, limit: int = 4) -> Any:
        server = CompletionsServer(list(replies))
        server.__enter__()
        running.append(server)
        agent = ["--memory", "lexical", "--agent", "scripted", "--set", "agent.text=2022"]
        judge = ["--judge", "gpt-4.1", "--set", f"judge.base_url={server.url}", "--set", "judge.key_env=MY_KEY"]
        return cli("run", "locomo", *QUICK, "--limit", str(limit), *agent, *judge, "--out", tmp_path / "r", "--json")

    yield judge
    for server in running:
        server.__exit__(None, None, None)


def spent(folder: Path) -> float:
    lines = [line for path in (folder / "judgements").glob("binary-*.jsonl") for line in path.read_text().splitlines()]
    return sum(json.loads(line)["usage"]["cost_usd"] or 0.0 for line in lines)


def test_a_judge_that_gave_no_verdict_ends_with_3_and_its_cost_is_told(
    cli: Cli, judged: Callable[..., Any], tmp_path: Path
) -> None:
    ran = judged(NONSENSE)
    assert ran.code == 3 and "gave no verdict" in ran.err
    summary = json.loads((tmp_path / "r" / "summary.json").read_text("utf-8"))
    (used,) = summary["judging"]["judges"]
    assert used["n"] == used["failed"] == 4 and used["cost_usd"] > 0
    assert used["cost_usd"] == pytest.approx(spent(tmp_path / "r"))
    cli("report", tmp_path / "r")
    assert f"judges ${used['cost_usd']:.2f}".replace("$", "\\$") in (tmp_path / "r" / "summary.md").read_text("utf-8")


def test_an_audit_of_a_judge_that_never_judged_the_run_is_in_the_sum(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "dummy-local-12345")
    agent = ["--memory", "lexical", "--agent", "scripted", "--set", "agent.text=2022"]
    assert cli("run", "locomo", *QUICK, *agent, "--out", tmp_path / "r").code == 0
    with CompletionsServer([RIGHT]) as server:
        judge = ["--judge", "gpt-4.1", "--set", f"judge.base_url={server.url}", "--set", "judge.key_env=MY_KEY"]
        ran = cli("audit", "judge", tmp_path / "r", *judge, "--per-kind", "1")
        assert ran.code == 0, ran.err
        asked = len(server.bodies)
    summary = json.loads((tmp_path / "r" / "summary.json").read_text("utf-8"))
    (used,) = summary["judging"]["audits"]
    assert asked and used["cost_usd"] > 0


@pytest.mark.parametrize("score", ["7.5", "NaN", "-1"])
def test_a_score_outside_0_to_1_is_one_sentence(
    cli: Cli, judged: Callable[..., Any], tmp_path: Path, score: str
) -> None:
    assert judged(RIGHT).code == 0
    (path,) = (tmp_path / "r" / "judgements").glob("binary-*.jsonl")
    text = path.read_text("utf-8")
    assert '"j":1.0' in text
    path.write_text(text.replace('"j":1.0', f'"j":{score}', 1), "utf-8")
    ran = cli("judge", tmp_path / "r")
    assert ran.code == 2 and "a score is from 0 to 1; restore the file from a copy" in ran.err
    assert "Traceback" not in ran.err and ran.err.count("\n") == 1


def test_a_providers_words_cannot_command_the_terminal(cli: Cli, judged: Callable[..., Any]) -> None:
    loud = Say(status=400, message="\x1b[31mred\x1b]0;title\x07 \x9b2J bell\x07 end")
    ran = judged(loud, limit=8)
    assert ran.code == 3 and "red" in ran.err and "end" in ran.err
    assert not any(mark in ran.err for mark in ("\x1b", "\x07", "\x9b"))
