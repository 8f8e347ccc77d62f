"""Planted leaks and differences, and whether the doctor sees them."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from memassay.agents.claude_code import profiles
from memassay.agents.claude_code.agent import ClaudeCode
from memassay.core.asking import message
from memassay.core.errors import UsageError
from memassay.core.peers import peer
from memassay.core.types import CellKey, Request, Server, Toolset
from memassay.running.doctor import differences, exit_code, sentinels, with_every_access
from memassay.running.doctor.differences import rest, unintended, unsaid
from memassay.running.doctor.finding import Finding
from memassay.running.doctor.isolation import isolation, readiness
from memassay.running.doctor.looks import Look
from memassay.running.experiment import Experiment, experiment_of
from servers.claude import stand_in

CLAUDE = peer("claude")  # looked for now, since every test has an empty home
MODEL = "claude-opus-4-8"
REAL_KEY = "sk-a-real-one-of-ours"
Doctor = Callable[..., list[Finding]]


@pytest.fixture
def experiment(small_file: Callable[..., Path]) -> Callable[..., Experiment]:
    def make(arms: Sequence[str], agent: str, **options: Any) -> Experiment:
        return experiment_of(
            {
                "suite": "locomo",
                "options": {"data": str(small_file(1, 1))},
                "memories": {arm: {"use": arm} for arm in arms},
                "agent": agent,
                "agent_options": options,
                "controls": False,
                "tokens": "chars4",
            }
        )

    return make


@pytest.fixture
def home(own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home, a key that must not be used, and cells in a folder of this test, above which nothing is planted."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", REAL_KEY)
    monkeypatch.setenv("OPENAI_API_KEY", REAL_KEY)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "cells"))
    (tmp_path / "cells").mkdir()
    above = sentinels.ancestors
    monkeypatch.setattr(sentinels, "ancestors", lambda f: [a for a in above(f) if tmp_path in (a, *a.parents)])
    return own_home


@pytest.fixture
def doctor(experiment: Callable[..., Experiment], home: Path, tmp_path: Path) -> Doctor:
    """``doctor(arms, mangles=True)``: what is found of a stand-in that goes wrong in this way."""

    def look(arms: Sequence[str] = ("lexical/dossier", "markdown/tools"), **ways: Any) -> list[Finding]:
        profile = ways.pop("profile", "bare")
        more = ways.pop("options", {})
        program = stand_in(tmp_path / "program", **ways)
        made = experiment(arms, "claude-code", model=MODEL, binary=str(program), profile=profile, **more)
        before = {*tmp_path.rglob("*"), *home.rglob("*"), program.with_name("seen.json")}
        found = isolation(made)
        assert {*tmp_path.rglob("*"), *home.rglob("*")} <= before, "everything planted is gone"
        assert os.environ["ANTHROPIC_API_KEY"] == REAL_KEY
        return found

    return look


def wrong(found: Sequence[Finding]) -> dict[str, str]:
    return {finding.name: finding.detail for finding in found if finding.state in ("failed", "missing")}


# -- Claude Code -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["bare", "scoped"])
def test_nothing_is_found_where_nothing_is_wrong(profile: str, doctor: Doctor, tmp_path: Path) -> None:
    arms = ["lexical/dossier", "markdown/tools"]
    arms += ["files/folder", "markdown/tools+folder"] if profile == "scoped" else []
    found = doctor(arms, profile=profile, options={"pass_env": ["OPENAI_API_KEY", "HTTPS_PROXY"]})
    assert wrong(found) == {}
    assert exit_code(found) == 0
    names = [finding.name for finding in found]
    assert names == [
        "folders of cells",
        *(f"sentinels, {arm}" for arm in arms),
        *(f"request, {arm}" for arm in arms),
        "differences",
    ]
    assert f"{len(arms)} arms differ in dossier, tools" in found[-1].detail
    assert "adds 15 characters of its own" in found[-2].detail  # "You are played."
    seen = json.loads((tmp_path / "program" / "seen.json").read_text())
    assert REAL_KEY not in json.dumps(seen), "no credential of ours goes anywhere"
    assert seen["environment"]["ANTHROPIC_BASE_URL"].startswith("http://127.0.0.1:")


def test_a_launcher_that_reads_instructions_is_found(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = dataclasses.replace(profiles.profile_of("bare"), flags=())
    monkeypatch.setitem(profiles._PROFILES, "bare", bare)
    found = doctor()
    assert exit_code(found) == 1
    leak = wrong(found)["sentinels, lexical/dossier"]
    # In the cell, above it in the temporary folder, and above that.
    assert "it has read work/CLAUDE.md, " in leak
    assert "cells/CLAUDE.md" in leak
    assert "sentinels, markdown/tools" in wrong(found)


def test_a_client_that_reads_the_home_folder_is_found(doctor: Doctor, home: Path) -> None:
    found = doctor(home=str(home / ".claude" / "CLAUDE.md"))
    assert wrong(found)["sentinels, lexical/dossier"] == "it has read ~/.claude/CLAUDE.md"
    assert exit_code(found) == 1


def test_what_could_not_be_planted_is_said(doctor: Doctor, home: Path) -> None:
    (home / ".claude").mkdir()
    (home / ".claude" / "CLAUDE.md").write_text("mine")
    found = doctor()
    assert wrong(found) == {}
    (note,) = [finding for finding in found if finding.state == "note"]
    assert note.detail == "not planted, since there is one: ~/.claude/CLAUDE.md"
    assert (home / ".claude" / "CLAUDE.md").read_text() == "mine"


def test_a_tool_that_no_arm_gives_is_found(doctor: Doctor) -> None:
    found = wrong(doctor(more="Bash"))
    assert found["request, lexical/dossier"] == "tools that the arm does not give: Bash"
    assert "differences" not in found, "both arms have it"


def test_a_difference_between_arms_is_found(doctor: Doctor) -> None:
    found = doctor(note=True)
    assert wrong(found) == {
        "differences": "lexical/dossier and markdown/tools differ in messages.0.content.1.text",
    }
    assert exit_code(found) == 1


def test_a_question_that_does_not_arrive_word_for_word_is_found(doctor: Doctor) -> None:
    found = wrong(doctor(mangles=True))
    assert found["request, lexical/dossier"] == "the question did not arrive word for word"


def test_a_client_that_asks_nobody_is_found(doctor: Doctor) -> None:
    found = doctor(asks=False)
    assert exit_code(found) == 1
    assert set(wrong(found)) == {"request, lexical/dossier", "request, markdown/tools"}
    assert [f.state for f in found if f.name == "differences"] == ["note"]


def test_cells_inside_of_a_repository_are_found(doctor: Doctor, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert "inside of the repository" in wrong(doctor())["folders of cells"]


def test_no_program_is_something_missing(experiment: Callable[..., Experiment], home: Path) -> None:
    found = isolation(experiment(["lexical/dossier"], "claude-code", model=MODEL, binary="/no/such/claude"))
    assert wrong(found) == {
        "agent claude-code": "not looked at: There is no program '/no/such/claude'; correct agent.binary."
    }
    assert exit_code(found) == 3


def test_a_memory_that_is_not_here_is_something_missing(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMASSAY_PEERS", "/nonexistent")
    monkeypatch.setenv("PATH", "/nonexistent")
    found = doctor(["lexical/dossier", "iwe/tools"])
    assert list(wrong(found)) == ["request, iwe/tools"]
    assert "make peers" in wrong(found)["request, iwe/tools"]
    assert exit_code(found) == 3


def test_an_arm_that_the_agent_cannot_run_is_refused(doctor: Doctor) -> None:
    with pytest.raises(UsageError, match="folder"):
        doctor(["files/folder"])


@pytest.mark.peer
@pytest.mark.slow
@pytest.mark.skipif(CLAUDE is None, reason="claude is not installed (run `make peers`)")
@pytest.mark.parametrize(
    ("guard", "leaks"),
    [("all", set()),
     ("flags and variables", {"CLAUDE.md", "CLAUDE.local.md", "MEMORY.md"}),
     ("auto-memory", {"MEMORY.md"}),
     ("attachments", {"CLAUDE.md"})],
)  # fmt: skip
def test_claude_without_a_guard_is_found_out(
    guard: str,
    leaks: set[str],
    experiment: Callable[..., Experiment],
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The real Claude Code, with one guard of the launch taken away at a time, in the home of the person."""
    scoped = profiles.profile_of("scoped")
    gone = {"auto-memory": "CLAUDE_CODE_DISABLE_AUTO_MEMORY", "attachments": "CLAUDE_CODE_DISABLE_ATTACHMENTS"}
    if guard == "flags and variables":
        scoped = dataclasses.replace(scoped, flags=(), environment={"ENABLE_TOOL_SEARCH": "false"})
    elif guard in gone:
        left = {name: value for name, value in scoped.environment.items() if name != gone[guard]}
        scoped = dataclasses.replace(scoped, environment=left)
    monkeypatch.setitem(profiles._PROFILES, "scoped", scoped)
    if guard in ("flags and variables", "auto-memory"):
        own = ClaudeCode._environment

        def at_home(self: ClaudeCode, place: Path) -> dict[str, str]:
            given = {name: value for name, value in own(self, place).items() if name != "CLAUDE_CONFIG_DIR"}
            return {**given, "HOME": str(home)}

        monkeypatch.setattr(ClaudeCode, "_environment", at_home)
    options = {"model": MODEL, "binary": str(CLAUDE), "profile": "scoped"}
    found = isolation(experiment(["lexical/dossier", "markdown/tools"], "claude-code", **options))
    read = {
        word.rpartition("/")[2]
        for name, detail in wrong(found).items()
        if name.startswith("sentinels")
        for word in detail.removeprefix("it has read ").split(", ")
    }
    assert read == leaks
    assert exit_code(found) == (1 if leaks else 0)


# -- models that we drive --------------------------------------------------------------------------------------------

SOME = ["lexical/dossier", "files/folder"]
ALL = ["lexical/dossier", "files/folder", "markdown/tools", "markdown/tools+folder"]


@pytest.mark.parametrize(
    ("model", "arms"),
    [("gpt-4o", SOME), pytest.param("gpt-4o", ALL, marks=pytest.mark.slow),
     pytest.param(MODEL, ALL, marks=pytest.mark.slow)],
)  # fmt: skip
def test_the_requests_of_an_api_model_are_compared(
    model: str, arms: list[str], experiment: Callable[..., Experiment], home: Path
) -> None:
    found = isolation(experiment(arms, "api", model=model, temperature=0.5))
    assert wrong(found) == {}
    assert [finding.name for finding in found] == [*(f"request, {arm}" for arm in arms), "differences"]
    assert all("adds 0 characters" in finding.detail for finding in found[:-1])


def test_an_agent_that_sends_nothing_is_said_to(experiment: Callable[..., Experiment], home: Path) -> None:
    (found,) = isolation(experiment(["lexical/dossier"], "extractive"))
    assert (found.state, exit_code([found])) == ("note", 0)


# -- the comparison --------------------------------------------------------------------------------------------------

SAME = "Answer in few words. {} Write nothing else."
Change = Callable[[Request], Request]


def look(system: str, **given: Any) -> Look:
    request = Request(cell=CellKey(task="t", arm="a"), system=system, prompt="Where?", **given)
    tools = frozenset(tool for server in request.toolset.servers for tool in server.tools)
    body = {
        "system": f"Hello.\n{system}",
        "messages": [{"role": "user", "content": message(request)}],
        "tools": [{"function": {"name": name}} for name in sorted(tools)],
        "metadata": str(id(request)),
    }
    return Look(request=request, body=body, tools=tools)


def test_dossier_tools_and_the_sentence_on_the_access_may_differ() -> None:
    arms = {
        "dossier": look(SAME.format("The message gives you what was found."), dossier="Oslo."),
        "empty": look(SAME.format("The message gives you what was found."), dossier=""),
        "tools": look(SAME.format("Use your tools."), toolset=Toolset(servers=(Server(tools=("find", "search")),))),
        "both": look(
            SAME.format("Use your tools. Read the files."),
            toolset=Toolset(servers=(Server(tools=("find",)),), folder="/x"),
        ),
    }
    assert unintended(arms) == []
    assert [unsaid(arm) for arm in arms.values()] == [[], [], [], []]
    assert rest(arms["dossier"])["messages"] == [{"role": "user", "content": "[the message]"}]
    assert {differences.added(arm) for arm in arms.values()} == {len("Hello.\n")}


@pytest.mark.parametrize(
    ("system", "told"),
    [
        ("Answer in one word. Use your tools. Write nothing else.", True),
        ("Answer in few words. Use your tools. Be brave. Write nothing else.", True),
        ("Answer in few words. Use your tools. Write something else.", True),
        ("Answer in few words. Use them. Write nothing else.", False),
    ],
)
def test_other_instructions_are_a_difference(system: str, told: bool) -> None:
    arms = {
        "a": look(SAME.format("Read it."), dossier="x"),
        "b": look(system, toolset=Toolset(servers=(Server(tools=("find",)),))),
    }
    words = "a and b differ in the instructions, in more than how the memory is reached"
    assert unintended(arms) == ([words] if told else [])


def test_another_question_or_date_is_a_difference() -> None:
    arms = {"a": look("x", dossier="d"), "b": look("x", as_of="2023-05-08")}
    assert unintended(arms) == ["a and b differ in the question"]


def test_what_is_missing_from_a_request_is_named() -> None:
    seen = look("x", toolset=Toolset(servers=(Server(tools=("find",)),)))
    body = {**seen.body, "system": "y", "tools": [{"name": "other"}]}
    assert unsaid(dataclasses.replace(seen, body=body)) == [
        "the instructions did not arrive word for word",
        "tools that did not arrive: find",
        "tools that the arm does not give: other",
    ]
    anything = dataclasses.replace(seen, tools=None)
    assert unsaid(anything) == []


# -- the agent -------------------------------------------------------------------------------------------------------


def test_an_arm_for_every_access_of_the_agent(experiment: Callable[..., Experiment]) -> None:
    def arms(agent: str, **options: Any) -> list[str]:
        return list(with_every_access(experiment(["lexical"], agent, **options)).memories)

    assert arms("claude-code", model=MODEL) == ["markdown/dossier", "markdown/tools"]
    assert arms("claude-code", model=MODEL, profile="scoped") == [
        "markdown/dossier", "markdown/tools", "markdown/folder", "markdown/tools+folder",
    ]  # fmt: skip
    assert arms("extractive") == ["markdown/dossier"]


def test_whether_an_agent_is_ready(experiment: Callable[..., Experiment], home: Path, tmp_path: Path) -> None:
    program = str(stand_in(tmp_path / "program"))
    (found,) = readiness(experiment(["lexical"], "claude-code", model=MODEL, binary=program))
    assert (found.state, found.detail) == ("ok", "ready")
    os.environ.pop("ANTHROPIC_API_KEY")
    (found,) = readiness(experiment(["lexical"], "claude-code", model=MODEL, binary=program))
    assert found.state == "missing"
    assert "ANTHROPIC_API_KEY" in found.detail
    found, price = readiness(experiment(["lexical"], "api", model="a-model-of-mine", base_url="http://127.0.0.1:9"))
    assert (found.state, price.state) == ("ok", "note")
    assert "--max-usd" in price.detail
