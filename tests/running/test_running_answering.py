"""What an agent that may write does to its files: on record, and nobody else's trouble."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kit import Cli, small_conversation
from memassay.agents.claude_code.agent import ClaudeCode
from memassay.core.digest import digest_folder

WRITER = '''
"""An agent that writes into its folder where the question says so."""

from pathlib import Path

from memassay.core.types import Step


class Writer:
    model = "scripted"
    accesses = frozenset({"folder"})

    def __init__(self, *, writes: bool = True) -> None:
        self.writes = writes

    def identity(self):
        return {}

    async def answer(self, request):
        found = sorted(path.name for path in Path(request.toolset.folder).rglob("*"))
        if "violin" in request.prompt:
            (Path(request.toolset.folder) / "note.md").write_text("the answer is 42")
        return Step(text=" ".join(found))
'''

LEAKY = '''
"""A memory whose tool server may write, and an agent through whose calls it does."""

from pathlib import Path

from memassay.core.types import Server, Step, Toolset


class Leaky:
    access = ("tools",)

    def build(self, corpus, place, context):
        (place / "facts.txt").write_text("as built")

    def open(self, ref):
        return Store(ref.location)


class Store:
    def __init__(self, place):
        self.place = place

    def toolset(self, identity=""):
        return Toolset(servers=(Server(command=("server",), cwd=str(self.place), tools=("write",), writes=True),))


class Caller:
    model = "scripted"
    accesses = frozenset({"tools"})

    def identity(self):
        return {}

    async def answer(self, request):
        facts = Path(request.toolset.servers[0].cwd) / "facts.txt"
        seen = facts.read_text()
        if "violin" in request.prompt:
            facts.write_text("what the last question taught")
        return Step(text=seen)
'''


@pytest.fixture
def answered(cli: Cli, tmp_path: Path, workplace: Path) -> Any:
    """``answered("--set", ...)``: the summary, and the answers by whether their question asks to write."""
    (workplace / "writer.py").write_text(WRITER, encoding="utf-8")
    talk = small_conversation(0, 4)
    for number, question in enumerate(talk["qa"]):
        question["question"] = f"Where was the {'violin' if number == 0 else 'kettle'} on day {number}?"
    data = tmp_path / "talk.json"
    data.write_text(json.dumps([talk]), encoding="utf-8")

    (workplace / "leaky.py").write_text(LEAKY, encoding="utf-8")

    def ask(
        *more: str, arm: str = "files/folder", agent: str = "./writer.py:Writer"
    ) -> tuple[Any, list[Any], list[Any]]:
        base = ["run", "locomo", "--data", data, "--arm", arm, "--agent", agent]
        ran = cli(*base, "--no-controls", "--out", "run", "--json", "--workers", "1", *more)
        assert ran.code == 0, ran.err
        records = [
            json.loads(line)
            for path in sorted(Path("run").glob("answers-*.jsonl"))
            for line in path.read_text("utf-8").splitlines()
        ]
        first = min(record["cell"]["task"] for record in records)
        wrote = [record for record in records if record["cell"]["task"] == first]
        return ran.json, wrote, [record for record in records if record["cell"]["task"] != first]

    return ask


def test_a_folder_that_an_agent_wrote_into_is_noted_and_fails_nothing(answered: Any) -> None:
    summary, wrote, others = answered()
    assert len(wrote) == 1 and len(others) == 3
    before, after = wrote[0]["state_before"], wrote[0]["state_after"]
    assert before and after and before != after
    (note,) = wrote[0]["steps"][-1]["checks"]
    assert (note["name"], note["passed"]) == ("folder unchanged", None)
    assert (note["expected"], note["observed"]) == (before, after)
    for record in others:
        # The copy was that cell's own: every other one begins with the files as they are, and leaves them so.
        assert record["state_before"] == record["state_after"] == before
        assert record["steps"][-1]["checks"] == []
        assert "note.md" not in record["steps"][-1]["text"]
    used = summary["arms"]["files/folder"]["usage"]["answers"]
    assert used["statuses"] == {"ok": 4}
    assert used["stores_changed"] == 0


def test_a_store_that_its_server_changed_is_told_and_no_other_cell_sees_it(answered: Any) -> None:
    summary, wrote, others = answered(arm="leaky=./leaky.py:Leaky/tools", agent="./leaky.py:Caller")
    (note,) = wrote[0]["steps"][-1]["checks"]
    assert (note["name"], note["passed"]) == ("store unchanged", False), "who should only read has written"
    assert note["expected"] == wrote[0]["state_before"] != wrote[0]["state_after"] == note["observed"]
    assert [record["steps"][-1]["text"] for record in (*wrote, *others)] == ["as built"] * 4
    assert all(record["steps"][-1]["checks"] == [] for record in others)
    (arm,) = summary["arms"].values()
    assert arm["usage"]["answers"]["stores_changed"] == 1


def test_a_folder_that_an_agent_left_unreadable_is_noted_too(answered: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def look(folder: Path) -> str:
        if (folder / "note.md").exists():
            raise PermissionError("note.md")
        return digest_folder(folder)

    monkeypatch.setattr("memassay.running.answering.digest_folder", look)  # root, as in containers, can read anything
    _, wrote, _ = answered()
    assert wrote[0]["status"] == "ok"
    assert wrote[0]["state_after"] == "cannot be read: PermissionError"
    assert wrote[0]["steps"][-1]["checks"][0]["name"] == "folder unchanged"


def test_the_folder_of_an_agent_that_cannot_write_is_not_watched(answered: Any) -> None:
    _, wrote, others = answered("--set", "agent.writes=false")
    for record in (*wrote, *others):
        assert record["state_before"] is record["state_after"] is None
        assert record["steps"][-1]["checks"] == []


@pytest.mark.parametrize("shell", [False, True])
def test_claude_code_writes_with_a_shell_alone(shell: bool) -> None:
    assert ClaudeCode(model="claude-opus-4-8", shell=shell).writes is shell
