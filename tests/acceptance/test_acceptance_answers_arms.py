"""Arms of agents: the grammar MEMORY/ACCESS, what each access gives, what is refused, and what nobody can reach."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from acceptance_tools import tree
from test_acceptance_answers import SMALL, jsonl, run, talk

from kit import ROOT, Cli

SPY = '''
"""An agent that notes all that it was given and all that it can reach; it can also spoil its files."""

import json
import os
from pathlib import Path

from memassay.core.types import Step


class Spy:
    model = "scripted"
    accesses = frozenset({"dossier", "tools", "folder"})

    def __init__(self, *, log: str, spoil: bool = False) -> None:
        self.log, self.spoil = log, spoil

    def identity(self):
        return {"version": 1}

    async def answer(self, request):
        place = Path(request.workdir)
        files = {str(p.relative_to(place)): p.read_text() for p in sorted(place.rglob("*")) if p.is_file()}
        # What lies in the folders above, down to one level: a path of an agent with file tools.
        above = [p.name for folder in list(place.parents)[:1] for p in folder.iterdir()]
        note = {"request": request.model_dump(mode="json"), "files": files, "above": above}
        with open(self.log, "a", encoding="utf-8") as log:
            log.write(json.dumps(note) + "\\n")
        if self.spoil:
            for name in files:
                (place / name).write_text("spoiled")
            (place / "note-to-the-next.txt").write_text("the answer is 42")
        return Step(text="nothing")
'''

GOLD = "zanzibar-77"


@pytest.fixture
def spied(cli: Cli, tmp_path: Path, workplace: Path) -> Callable[..., list[dict[str, Any]]]:
    """``spied("files/folder", ...)``: what an agent was given in each cell of these arms."""
    (workplace / "spy.py").write_text(SPY, encoding="utf-8")
    data = talk(tmp_path, [{"question": f"Secret question {n}?", "answer": GOLD} for n in range(3)])

    def look(*arms: str, more: tuple[str | Path, ...] = ()) -> list[dict[str, Any]]:
        flags = [word for arm in arms for word in ("--arm", arm)]
        log = tmp_path / "log.jsonl"
        agent = ["--agent", "./spy.py:Spy", "--set", f"agent.log={log}"]
        ran = cli(*run(data, "runs/r", *flags, *agent, *more))
        assert ran.code == 0, ran.err
        assert all(ran.json["arms"][arm]["n"] == 3 for arm in arms)
        return jsonl(log)

    return look


def test_each_access_gives_what_it_says_and_nothing_else(spied: Callable[..., list[dict[str, Any]]]) -> None:
    arms = ("lexical/dossier", "lexical/tools", "markdown/tools", "files/folder", "markdown/dossier+tools+folder")
    seen = spied(*arms)
    assert len(seen) == 3 * len(arms)
    for note in seen:
        request = note["request"]
        access = request["cell"]["arm"].partition("/")[2].split("+")
        assert (request["dossier"] is not None) == ("dossier" in access)
        assert bool(request["toolset"]["servers"]) == ("tools" in access)
        assert (request["toolset"]["folder"] is not None) == ("folder" in access)
        assert bool(note["files"]) == ("folder" in access), "an arm without files has an empty working folder"
        for server in request["toolset"]["servers"]:
            assert server["tools"], "the tools are named, so that the agent gets these and no others"
            assert not {"create", "update", "delete", "rename"} & set(server["tools"]), "an arm that reads cannot write"


def test_no_question_gold_or_other_task_is_within_reach(
    spied: Callable[..., list[dict[str, Any]]], workplace: Path, tmp_path: Path
) -> None:
    for note in spied("files/folder", "markdown/tools", "lexical/dossier"):
        request = note["request"]
        given = json.dumps(request)
        assert GOLD not in given
        assert given.count("Secret question") == 1, "its own question and no other"
        assert "evidence" not in given
        for name, text in note["files"].items():
            assert GOLD not in text
            assert "Secret question" not in text
            assert "tasks" not in name
        place = Path(request["workdir"])
        for ours in (ROOT, workplace, tmp_path):
            assert not place.is_relative_to(ours), "outside of the repository, the run, and the data"
        assert not any((folder / ".git").exists() for folder in place.parents)
        assert set(note["above"]) <= {place.name, "store"}, "nothing else lies in the cell's own folder"
        assert not place.exists(), "gone after the cell"
    assert len({note["request"]["workdir"] for note in jsonl(tmp_path / "log.jsonl")}) == 9, "one folder per cell"


def test_a_cell_that_spoils_its_files_changes_no_other_cell_and_no_store(
    spied: Callable[..., list[dict[str, Any]]], workplace: Path
) -> None:
    seen = spied("files/folder", more=("--set", "agent.spoil=true", "--repetitions", "2"))
    assert len(seen) == 6
    assert all(note["files"] == seen[0]["files"] for note in seen)
    assert "spoiled" not in json.dumps(seen)
    assert not any(b"spoiled" in data for name, data in tree(workplace / "runs" / "stores").items())


def test_the_question_has_the_date_of_the_last_session_and_the_words_of_the_data(
    spied: Callable[..., list[dict[str, Any]]],
) -> None:
    for note in spied("lexical/dossier"):
        assert note["request"]["as_of"].startswith("2023-05-07"), "session 4 is the last that was held"
        number = note["request"]["cell"]["task"][-1]
        assert note["request"]["prompt"] == f"Secret question {number}?"
        assert "2023-05-07" not in note["request"]["system"], "the instructions are the same for every question"


def test_an_alias_names_an_arm_and_its_settings(cli: Cli, workplace: Path, small_file: Callable[..., Path]) -> None:
    arms = ["--arm", "narrow=lexical/dossier", "--arm", "lexical/dossier", "--set", "narrow.window=1"]
    ran = cli(*run(small_file(1, 2), "r", *arms, "--agent", "extractive"))
    assert ran.code == 0, ran.err
    assert list(ran.json["arms"]) == ["narrow", "lexical/dossier"]
    options = {name: arm["options"]["window"] for name, arm in ran.json["arms"].items()}
    assert options["narrow"] == 1 != options["lexical/dossier"]


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--arm", "lexical/dossiers", "--agent", "extractive"], "Did you mean 'dossier'"),
        (["--arm", "lexical/", "--agent", "extractive", "--set", "lexical/.x=1"], "x"),
        (["--arm", "lexcal/dossier", "--agent", "extractive"], "lexical"),
        (["--arm", "lexical/dossier+dossier", "--agent", "scripted"], "twice"),
        (["--arm", "lexical/dossier", "--arm", "lexical/dossier", "--agent", "scripted"], "twice"),
        (["--arm", "lexical/dossier", "--agent", "extractiv"], "extractive"),
        (["--arm", "lexical/tools", "--agent", "extractive"], "extractive"),
        (["--arm", "lexical/tools"], "--agent"),
        (["--arm", "lexical/dossier", "--judge", "some-model"], "--agent"),
        (["--arm", "lexical/dossier", "--repetitions", "3"], "--agent"),
        (["--arm", "lexical/dossier", "--stage", "retrieval", "--agent", "extractive"], "retrieval"),
        (["--arm", "lexical/dossier", "--agent", "scripted", "--set", "agent.txt=a"], "text"),
        (["--arm", "lexical/dossier", "--agent", "scripted", "--set", "agent.faults=nettwork"], "network"),
        (["--arm", "lexical/dossier", "--agent", "scripted", "--set", "agent.share=2"], "share"),
        (["--arm", "lexical/dossier", "--agent", "scripted", "--set", "agent.api_key=abc"], "environment"),
        (["--arm", "lexical/dossier", "--agent", "scripted", "--judge", "scripted/none.json"], "none.json"),
        (["--arm", "lexical/dossier", "--agent", "scripted", "--store", "nowhere"], "nowhere"),
        (["--preset", "iwe-2027", "--agent", "scripted"], "iwe-2026"),
        (["--preset", "iwe-2026", "--arm", "curatd", "--agent", "scripted"], "curated"),
        (["--preset", "iwe-2026", "--arm", "ctx", "--agent", "scripted"], "ctx"),
    ],
)
def test_a_mistake_is_one_sentence_before_anything_is_made(
    flags: list[str], says: str, cli: Cli, workplace: Path, small_file: Callable[..., Path]
) -> None:
    ran = cli("run", "locomo", "--data", small_file(1, 2), "--out", "runs/r", *SMALL, *flags)
    assert ran.code in (2, 3), ran.out
    assert says in ran.complaint
    assert tree(workplace) == {}


def test_files_are_no_tools_and_tools_need_a_memory_that_can_be_asked(
    cli: Cli, workplace: Path, small_file: Callable[..., Path]
) -> None:
    ran = cli(*run(small_file(1, 2), "r", "--arm", "lexical/folder", "--agent", "scripted"))
    assert ran.code in (1, 2, 3), "its store is an index and no folder of files"
    assert "lexical" in ran.err
    assert not (workplace / "r" / "answers-1of1.jsonl").exists() or not jsonl(workplace / "r" / "answers-1of1.jsonl")


LINE_UP = ["fs", "iwe", "fs-iwe", "full-context", "curated", "curated-fs", "curated-q", "curated-ctx"]


def test_the_published_line_up_has_every_arm_of_the_study(
    cli: Cli, workplace: Path, small_file: Callable[..., Path]
) -> None:
    pages = workplace / "pages"
    pages.mkdir()
    base = ["--agent", "scripted", "--preset", "iwe-2026", *SMALL, "--json"]
    ran = cli("plan", "locomo", "--data", small_file(1, 2), "--store", pages, *base)
    assert ran.code == 0, ran.err
    assert ran.json["arms"].split(", ") == LINE_UP
    assert ran.json["cells"] == 2 * len(LINE_UP)
    hotpot = cli("plan", "hotpotqa", "--sample", *base)
    assert hotpot.code == 0, hotpot.err
    assert hotpot.json["arms"].split(", ") == ["ctx", "ctx-anchors", "fs"]
    one = cli("plan", "locomo", "--data", small_file(1, 2), *base, "--arm", "fs,full-context")
    assert one.json["arms"] == "fs, full-context"


def test_a_curated_store_is_any_folder_of_pages(cli: Cli, workplace: Path, small_file: Callable[..., Path]) -> None:
    (workplace / "spy.py").write_text(SPY, encoding="utf-8")
    pages = workplace / "mine" / "conv-900"
    pages.mkdir(parents=True)
    (pages / "ada.md").write_text("# Ada\n\n- keeps a hedgehog\n", encoding="utf-8")
    arms = ["--preset", "iwe-2026", "--arm", "curated-fs", "--store", workplace / "mine"]
    agent = ["--agent", "./spy.py:Spy", "--set", f"agent.log={workplace / 'log'}"]
    ran = cli(*run(small_file(1, 2), "r", *arms, *agent))
    assert ran.code == 0, ran.err
    for note in jsonl(workplace / "log"):
        assert [name for name in note["files"] if name.endswith("ada.md")]
        assert "keeps a hedgehog" in json.dumps(note["files"])
    assert (pages / "ada.md").read_text() == "# Ada\n\n- keeps a hedgehog\n"
    assert [p.name for p in pages.iterdir()] == ["ada.md"], "nothing is left in the store"
