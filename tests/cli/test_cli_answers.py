"""What the commands about answers say before they ask anybody, and what they refuse."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from kit import Cli, Ran
from memassay.core.errors import MissingExtra
from servers.openai import CompletionsServer, Say

QUICK = ["--sample", "--limit", "4", "--tokens", "chars4", "--budgets", "400", "--ks", "5", "--no-controls"]
SCRIPTED = [*QUICK, "--memory", "lexical", "--agent", "scripted", "--set", "agent.text=2022"]
PRICED = [*QUICK, "--memory", "lexical", "--agent", "api", "--model", "claude-opus-4-8"]
RIGHT = json.dumps({"explanation": "as the script says", "label": "CORRECT"})


def script(folder: Path, cost: float | None = None) -> str:
    """A scripted judge that takes everything for right."""
    usage = {"input": 700, "output": 80, **({"cost_usd": cost} if cost is not None else {})}
    (folder / "judge.json").write_text(json.dumps({"replies": [{"text": RIGHT, "usage": usage}]}), encoding="utf-8")
    return f"scripted/{folder / 'judge.json'}"


def refusal(ran: Ran, code: int = 2) -> str:
    assert (ran.code, ran.out) == (code, "")
    return ran.complaint


@pytest.fixture
def done(cli: Cli, tmp_path: Path) -> Path:
    ran = cli("run", "locomo", *SCRIPTED, "--out", tmp_path / "r")
    assert ran.code == 0, ran.err
    return tmp_path / "r"


# -- run and plan --------------------------------------------------------------------------------------------------


def test_the_estimate_is_said_once_nothing_refuses_the_run(cli: Cli, done: Path) -> None:
    ran = cli("run", "locomo", *SCRIPTED, "--out", done)
    assert ran.err.splitlines()[:2] == ["answers: 4", "judgements: 0"]
    said = refusal(cli("run", "locomo", *SCRIPTED[:-1], "agent.text=2023", "--out", done))
    assert "holds a different run. arms.lexical.agent_options.text: '2022' in the folder, '2023' now." in said


def test_a_limit_that_cannot_be_kept_names_the_model(cli: Cli) -> None:
    pytest.importorskip("anthropic")
    said = refusal(cli("run", "locomo", *PRICED[:-1], "claude-foo", "--max-usd", "1"))
    assert "no price is known for the model claude-foo of the agent;" in said
    found = cli("plan", "locomo", *PRICED[:-1], "claude-foo")
    assert "cost in US dollars       not known" in found.out
    assert "no price is known for    the model claude-foo of the agent" in found.out


@pytest.mark.parametrize(
    "command", [["run", "locomo"], ["plan", "locomo"], ["judge", "r", "--judge", "m"], ["audit", "judge", "r"]]
)
def test_a_limit_is_above_zero(command: list[str], cli: Cli) -> None:
    assert "--max-usd 0: give US dollars above 0" in refusal(cli(*command, "--max-usd", "0"))
    assert "above 0" in " ".join(cli(*command[:2], "--help").out.split())


def test_a_plan_says_how_many_questions_the_money_pays_for(cli: Cli) -> None:
    pytest.importorskip("anthropic")
    cost = cli("plan", "locomo", *PRICED, "--json").json["cost in US dollars"]
    found = cli("plan", "locomo", *PRICED, "--max-usd", f"{cost * 0.6:.6f}", "--json").json
    assert found["stops before"].endswith(", which pays for about 2 of 4 questions")
    assert cli("plan", "locomo", *PRICED, "--max-usd", "5", "--json").json["stops before"] == "$5"


def test_a_plan_of_an_agent_without_a_model_sends_no_tokens(cli: Cli) -> None:
    ran = cli("plan", "locomo", *QUICK, "--memory", "lexical", "--agent", "extractive")
    assert "tokens sent" not in ran.out
    assert "reckoned from" not in ran.out
    assert "cost in US dollars       0\n" in ran.out


def test_a_plan_needs_no_program_and_no_key(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("CLAUDE_BIN", raising=False)
    monkeypatch.setitem(sys.modules, "claude_agent_sdk", None)
    claude = [*QUICK, "--memory", "lexical", "--agent", "claude-code", "--model", "claude-opus-4-8"]
    found = cli("plan", "locomo", *claude, "--json")
    assert found.code == 0, found.err
    assert 0 < found.json["cost in US dollars"] < 1
    assert "There is no" in refusal(cli("run", "locomo", *claude, "--out", "r"), 3)


def test_a_plan_without_the_package_of_a_judge_says_that_it_is_not_counted(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking(module: str, extra: str) -> str:
        raise MissingExtra(module, extra)

    monkeypatch.setattr("memassay.models.provider.version_of", lacking)
    found = cli("plan", "locomo", *SCRIPTED, "--judge", "gpt-4o", "--json")
    assert found.code == 0, found.err
    assert found.json["missing here"].startswith("the judges are not counted: openai is not installed")


def test_settings_of_judges_without_a_judge(cli: Cli) -> None:
    said = refusal(cli("plan", "locomo", *SCRIPTED, "--set", "judge.base_url=http://127.0.0.1:1"))
    assert "--set judge.… is about the judges of --judge; name one." in said


def test_settings_of_judges_reach_those_of_a_file(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(
        'suite = "locomo"\nagent = "scripted"\noptions = { sample = true }\nlimit = 2\ncontrols = false\n'
        '[memories.lexical]\nuse = "lexical"\n[[judges]]\nmodel = "gpt-4o"\n',
        encoding="utf-8",
    )
    said = refusal(cli("plan", tmp_path / "x.toml", "--set", "judge.structured=odd"))
    assert "odd" in said


# -- judge and audit -----------------------------------------------------------------------------------------------


def test_judges_of_a_finished_run_are_reached_where_the_settings_say(cli: Cli, done: Path) -> None:
    pytest.importorskip("openai")
    with CompletionsServer([Say(RIGHT)]) as server:
        flags = ["--judge", "gpt-4o", "--set", f"judge.base_url={server.url}", "--set", "judge.structured=prompt"]
        ran = cli("judge", done, *flags, "--json")
        assert ran.code == 0, ran.err
        assert ran.json["arms"]["lexical"]["metrics"]["j"]["value"] == 1
        assert all("response_format" not in body for body in server.bodies)
        asked = len(server.bodies)
        audited = cli("audit", "judge", done, *flags, "--per-kind", "2", "--max-usd", "1")
        assert audited.code == 0, audited.err
    head, *more = audited.err.splitlines()
    assert head.startswith(f"about {len(server.bodies) - asked} requests; cost in US dollars: 0.0")
    assert more == []
    assert "  cost in US dollars: 0.00" in audited.out


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--set", "judge.base_url=x"], "is about the judges of --judge; name one."),
        (["--judge", "m", "--set", "lexical.window=3"], "only judges have settings here; write --set judge.key=value."),
        (["--judge", "m", "--set", "judge.api_key=3"], "looks like a secret"),
        (["--judge", "strict:m"], "Did you mean binary:m?"),
    ],
)
@pytest.mark.parametrize("command", [["judge"], ["audit", "judge"]])
def test_wrong_flags_of_judges(command: list[str], flags: list[str], says: str, cli: Cli, done: Path) -> None:
    assert says in refusal(cli(*command, done, *flags))


def test_an_audit_that_would_cost_too_much_is_not_begun(cli: Cli, done: Path) -> None:
    pytest.importorskip("openai")
    with CompletionsServer([Say(RIGHT)]) as server:
        flags = ["--set", f"judge.base_url={server.url}", "--per-kind", "2"]
        few = cli("audit", "judge", done, "--judge", "gpt-4o", *flags, "--max-usd", "0.001")
        assert "--max-usd 0.001: the audit is expected to cost $0.0" in refusal(few)
        both = cli(
            "audit", "judge", done, "--judge", "gpt-4o", "--judge", "lenient:gpt-4o", *flags, "--max-usd", "0.001"
        )
        one, two = (float(refusal(ran).partition("cost $")[2].partition(";")[0]) for ran in (few, both))
        assert two == pytest.approx(2 * one, rel=0.05)
        odd = cli("audit", "judge", done, "--judge", "odd", *flags, "--max-usd", "1")
        assert "no price is known for the judge odd;" in refusal(odd)
        assert server.bodies == []
        unknown = cli("audit", "judge", done, "--judge", "odd", *flags)
        assert unknown.err.endswith("requests; cost in US dollars: not known\n")
        assert "cost in US dollars: not known" in unknown.out


def test_an_audit_that_turns_out_dearer_is_ended_and_not_kept(cli: Cli, done: Path) -> None:
    pytest.importorskip("openai")
    dear = Say(RIGHT, usage={"prompt_tokens": 400_000, "completion_tokens": 10})
    with CompletionsServer([dear]) as server:
        flags = ["--judge", "gpt-4o", "--set", f"judge.base_url={server.url}", "--per-kind", "2", "--max-usd", "1.5"]
        ran = cli("audit", "judge", done, *flags)
    assert (ran.code, ran.out) == (3, "")
    assert "nothing of it is kept" in ran.err
    assert len(server.bodies) <= 4, "those in flight when the first was paid for"
    assert not list((done / "judgements").glob("*audit*"))


def test_an_audit_by_a_script_costs_nothing(cli: Cli, done: Path, tmp_path: Path) -> None:
    ran = cli("audit", "judge", done, "--judge", script(tmp_path), "--per-kind", "2", "--max-usd", "1")
    assert ran.code == 0, ran.err
    assert ran.err.endswith("cost in US dollars: 0\n")
    assert "cost in US dollars" not in ran.out
