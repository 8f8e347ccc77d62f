"""Whose answers and whose verdicts may be set side by side."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kit import Cli
from memassay.core.errors import UsageError
from memassay.core.types import Task
from memassay.running.basis import MUST_EQUAL
from memassay.running.compare import Scored, compare, gate_of

QUICK = ("--sample", "--limit", "4", "--tokens", "chars4", "--budgets", "400", "--ks", "5", "--no-controls")
AGENT_FILE = """
from memassay.core.types import Status, Step


class Speaker:
    accesses = frozenset({"dossier"})

    def __init__(self, *, profile: str = "bare", version: str = "1", speaks: str = "real", key_env: str = "K") -> None:
        self.profile, self.version, self.model = profile, version, speaks

    def identity(self):
        return {"profile": self.profile, "client": self.version, "prices": self.version}

    async def answer(self, request):
        return Step(status=Status.OK, text="2022")
"""
TASKS = [
    Task(id=f"c{c}/q{n}", suite="s", scope=f"c{c}", cluster=f"c{c}", category="x", prompt="?")
    for c in range(8)
    for n in range(6)
]
SCOPED = {"name": "claude-code", "options": {"model": "m-1"}, "claude": "2.1", "profile": "scoped", "speaks": "real"}
API = {"name": "api", "options": {"model": "m-1"}, "model": "m-1", "speaks": "real"}
ENTRY = {"use": "binary", "model": "gpt-a"}
CLIENT = {"package": "openai 1"}
JUDGE = {"judge": "binary", "prompt": "d1", "model": {"model": "gpt-a"} | CLIENT, "entry": ENTRY}


def side(name: str = "new", agent: Any = API, judge: Any = JUDGE, **more: Any) -> Scored:
    basis: dict[str, Any] = {key: f"value of {key}" for key in MUST_EQUAL} | {"stage": "answer", "headline": "j"}
    basis |= {"agent": agent, "judges": {"j": judge} if judge else {}} | more
    scores = {"m": {"j": np.ones(len(TASKS)), "f1": np.ones(len(TASKS))}}
    return Scored(name, {key: value for key, value in basis.items() if value != "drop"}, TASKS, scores)


def pair(old: Scored, new: Scored | None = None, gate: str | None = "no-worse") -> dict[str, Any]:
    return compare(new or side(), old, None, None, gate_of(gate) if gate else None)


def refused(old: Scored, new: Scored | None = None) -> str:
    with pytest.raises(UsageError) as raised:
        pair(old, new)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def judge_with(**change: Any) -> dict[str, Any]:
    return {**JUDGE, **change}


# -- agents --------------------------------------------------------------------------------------------------------


def test_the_same_agent_and_judge_are_compared_without_a_word() -> None:
    found = pair(side("old"))
    assert (found["gate"]["verdict"], found["notes"]) == ("passed", [])


def test_two_profiles_are_never_compared() -> None:
    said = refused(side("old", SCOPED), side(agent={**SCOPED, "profile": "bare"}))
    assert "agent.profile: 'scoped' then, 'bare' now" in said
    assert "--agent claude-code --set agent.profile=scoped" in said


@pytest.mark.parametrize(("was", "now"), [("none", "scripted"), ("real", "none"), ("scripted", "real")])
def test_what_speaks_is_the_same(was: str, now: str) -> None:
    said = refused(side("old", {"name": "extractive", "speaks": was}), side(agent={"name": "api", "speaks": now}))
    assert f"agent.speaks: {was!r} then, {now!r} now" in said
    assert "--agent extractive," in said


def test_another_model_or_client_of_an_agent_is_one_line() -> None:
    newer = {**SCOPED, "claude": "2.2", "options": {"model": "m-2"}}
    (note,) = pair(side("old", SCOPED), side(agent=newer))["notes"]
    assert "agent.options.model: 'm-1' then, 'm-2' now; agent.claude: '2.1' then, '2.2' now." in note


def test_another_agent_is_one_line_and_a_profile_binds_those_that_have_one() -> None:
    (note,) = pair(side("old", SCOPED))["notes"]
    assert "agent.name: 'claude-code' then, 'api' now; agent.claude: '2.1' then, (absent) now" in note
    assert note.endswith("(and 1 more).")


def test_runs_without_an_agent_have_nothing_to_say_of_one() -> None:
    bare: dict[str, Any] = {"stage": "retrieve", "agent": None, "judge": None}
    assert pair(side("old", **bare), side(**bare))["notes"] == []
    # Baselines of retrieval that were written before agents were looked at go on.
    assert pair(side("old", **bare | {"agent": "drop"}, judges="drop"), side(**bare))["notes"] == []


# -- judges --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "field"),
    [
        (judge_with(model={"model": "gpt-b"} | CLIENT), "judges.j.model.model: 'gpt-b' then, 'gpt-a' now"),
        (judge_with(prompt="d0"), "judges.j.prompt: 'd0' then, 'd1' now"),
        (judge_with(entry={"use": "strict", "model": "gpt-a"}), "judges.j.entry.use: 'strict' then, 'binary' now"),
        (None, "judges.j.judge: (absent) then, 'binary' now"),
    ],
)  # fmt: skip
def test_two_judges_of_one_metric_are_refused_by_name(other: Mapping[str, Any] | None, field: str) -> None:
    said = refused(side("old", judge=other))
    assert field in said
    use = other["entry"]["use"] if other else "binary"
    assert f"memassay judge COPY --judge {use}:gpt-a" in said


def test_a_judge_of_a_metric_that_is_not_compared_is_of_no_matter(tmp_path: Path) -> None:
    (tmp_path / "gate.toml").write_text('metrics = ["f1"]\n')
    found = pair(side("old", judge=judge_with(prompt="d0")), gate=str(tmp_path / "gate.toml"))
    assert (found["gate"]["verdict"], found["notes"]) == ("passed", [])


def test_another_client_of_a_judge_is_one_line() -> None:
    (note,) = pair(side("old", judge=judge_with(model={"model": "gpt-a", "package": "openai 2"})))["notes"]
    assert "judges.j.model.package: 'openai 2' then, 'openai 1' now" in note


# -- older baselines -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "words"),
    [({"agent": "drop"}, "agent.speaks and agent.profile"), ({"agent": {"name": "api"}}, "agent.speaks"),
     ({"judges": "drop"}, "judges.j")],
)  # fmt: skip
def test_what_an_older_baseline_does_not_say_is_named(more: Mapping[str, Any], words: str) -> None:
    said = refused(side("old", **more))
    assert said.startswith(f"old does not say {words}")
    assert "memassay baseline" in said


def test_a_metric_that_the_old_side_lacks_is_named() -> None:
    old = side("old")
    del old.scores["m"]["j"]  # type: ignore[attr-defined]
    assert "'j'" in refused(old)


# -- real runs -----------------------------------------------------------------------------------------------------


@pytest.fixture
def answered(cli: Cli, tmp_path: Path) -> Any:
    (tmp_path / "speaker.py").write_text(AGENT_FILE, encoding="utf-8")

    def run(name: str, *settings: str, agent: str = "", judge: str = "") -> Path:
        more = [word for setting in settings for word in ("--set", f"agent.{setting}")]
        more += ["--judge", f"scripted/{tmp_path / judge}"] if judge else []
        agent = agent or f"{tmp_path / 'speaker.py'}:Speaker"
        ran = cli("run", "locomo", *QUICK, "--memory", "lexical", "--agent", agent, *more, "--out", tmp_path / name)
        assert ran.code == 0, ran.err
        return tmp_path / name

    return run


def script(path: Path, label: str = "CORRECT") -> None:
    reply = json.dumps({"explanation": "as the script says", "label": label})
    path.write_text(json.dumps({"replies": [{"text": reply}]}), encoding="utf-8")


def test_runs_and_baselines_of_two_profiles_or_speakers_end_with_2(cli: Cli, answered: Any, tmp_path: Path) -> None:
    old, scoped = answered("old"), answered("scoped", "profile=scoped")
    newer, none = answered("newer", "version=2", "key_env=OTHER"), answered("none", agent="extractive")
    baseline = tmp_path / "b.json"
    assert cli("baseline", old, "--out", baseline).code == 0
    for before in (old, baseline):
        ran = cli("compare", scoped, "--baseline", before, "--gate", "no-worse")
        assert (ran.code, ran.out) == (2, "")
        assert "agent.profile: 'bare' then, 'scoped' now" in ran.complaint
    ran = cli("compare", none, "--baseline", baseline, "--gate", "no-worse")
    assert ran.code == 2 and "agent.speaks: 'real' then, 'none' now" in ran.complaint
    for before in (old, baseline):
        ran = cli("compare", newer, "--baseline", before, "--gate", "no-worse")
        (line,) = (line for line in ran.out.splitlines() if line.startswith("The agents differ"))
        assert "agent.client: '1' then, '2' now; agent.options.version: '1' then, '2' now." in line
        assert ran.code == 0
    content = json.loads(baseline.read_text())
    del content["basis"]["agent"]
    baseline.write_text(json.dumps(content))
    ran = cli("compare", old, "--baseline", baseline, "--gate", "no-worse")
    assert ran.code == 2 and "b.json does not say agent.speaks and agent.profile" in ran.complaint


def test_two_judges_end_with_2_and_the_fix_that_is_said_works(cli: Cli, answered: Any, tmp_path: Path) -> None:
    script(tmp_path / "strict.json", "WRONG")
    script(tmp_path / "kind.json")
    old, new = answered("old", judge="strict.json"), answered("new", judge="kind.json")
    assert cli("baseline", old, "--out", tmp_path / "b.json").code == 0
    for before in (old, tmp_path / "b.json"):
        ran = cli("compare", new, "--baseline", before, "--gate", "no-worse")
        assert (ran.code, ran.out) == (2, "")
        assert "judges.j.entry.model: 'scripted/strict.json' then, 'scripted/kind.json' now" in ran.complaint
        assert "memassay judge COPY --judge binary:scripted/strict.json" in ran.complaint
    copy = shutil.copytree(new, tmp_path / "copy", ignore=shutil.ignore_patterns("judgements"))
    assert cli("judge", copy, "--judge", f"binary:scripted/{tmp_path / 'strict.json'}").code == 0
    ran = cli("compare", copy, "--baseline", old, "--gate", "no-worse", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["comparisons"][0]["metric"] == "j" and ran.json["notes"] == []
