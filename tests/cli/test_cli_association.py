"""``memassay association`` and ``memassay classify``: where stores are, whose turns count, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kit import Cli
from memassay.cli import association, estimate
from memassay.core.errors import UsageError
from memassay.core.types import Answer, Arm, BuildReport, CellKey, Status, StoreRef, Usage
from memassay.runs.folder import RunFolder
from memassay.suites.association.suite import Association
from memassay.suites.association.tasks import load_pilot, tasks_of
from memassay.suites.association.world import make_world

FORMS = ("json-files", "sqlite", "graph")


# -- where the stores are ------------------------------------------------------------------------------------------


@pytest.fixture
def built(tmp_path: Path) -> tuple[RunFolder, Any]:
    """A run folder whose builds are recorded as a run records them, its stores, and a plan."""
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    for name in FORMS:
        place = tmp_path / "stores" / f"key-{name}" / "store"
        place.mkdir(parents=True)
        ref = StoreRef(key=f"key-{name}", location=str(place))
        folder.record_build(BuildReport(memory=f"my-{name}", scope="world", store=ref))
    arms = tuple(Arm(name=f"my-{name}", memory=name) for name in FORMS)
    return folder, SimpleNamespace(arms=arms)


def test_the_stores_are_found_beside_the_run_and_where_they_are_said_to_be(
    built: tuple[RunFolder, Any], tmp_path: Path
) -> None:
    folder, plan = built
    found = association._forms(folder, plan, None)
    assert found == {name: tmp_path / "stores" / f"key-{name}" / "store" for name in FORMS}
    (tmp_path / "stores").rename(tmp_path / "moved")
    found = association._forms(folder, plan, tmp_path / "moved")
    assert found["graph"] == tmp_path / "moved" / "key-graph" / "store"


def test_a_store_that_is_gone_is_one_sentence(built: tuple[RunFolder, Any], tmp_path: Path) -> None:
    folder, plan = built
    (tmp_path / "stores" / "key-sqlite").rename(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match=r"The store of 'sqlite' is not in .*stores; .*--stores") as error:
        association._forms(folder, plan, None)
    assert "delete" not in str(error.value)


# -- the plan ------------------------------------------------------------------------------------------------------


def test_a_plan_says_the_world_the_questions_and_the_gate_and_a_run_begins_with_it(cli: Cli, workplace: Path) -> None:
    flags = ("--scale", "613", "--tasks", "1", "--memory", "sqlite", "--set", "association.gate=draft")
    said = (
        f"world of seed 20260910, scale 613, 90 days (facts {make_world(scale=613).digest}); 1 question of each of 5 "
        "kinds; gate as published, wording draft, beside that of docs/statistics.md"
    )
    planned = cli("plan", "association", *flags)
    assert planned.code == 0, planned.err
    assert [line.split(maxsplit=1)[1] for line in planned.out.splitlines() if line.startswith("about ")] == [said]
    ran = cli("run", "association", *flags, "--limit", "1", "--no-controls", "--out", "r", "--json")
    assert ran.code == 0, ran.err
    assert ran.err.splitlines()[0] == said
    assert estimate.about(object()) == [], "a suite need not say anything"


def test_the_folder_of_a_graph_alone_is_refused_before_anything_is_planned(cli: Cli, workplace: Path) -> None:
    for command in (("plan",), ("run", "--out", "r")):
        refused = cli(command[0], "association", "--arm", "graph/folder", *command[1:])
        assert refused.code == 2
        assert refused.complaint.endswith("its world is behind its tools; take graph/tools.")
    assert list(workplace.iterdir()) == []


# -- the pilot -----------------------------------------------------------------------------------------------------


def _run_of(speaks: str, turns: dict[str, tuple[int, Status]]) -> Any:
    world = make_world(seed=7, scale=1000)
    plan = SimpleNamespace(
        identity={"agent": {"speaks": speaks}, "suite_settings": {"facts": world.digest}},
        tasks=tasks_of(world),
        experiment=SimpleNamespace(limits=SimpleNamespace(turns=30)),
    )
    answers = [
        Answer(cell=CellKey(task=task, arm="sqlite"), status=status, usage=Usage(turns=count))
        for task, (count, status) in turns.items()
    ]
    return None, plan, answers


def test_only_answers_count_in_a_pilot_and_its_file_names_the_world(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, workplace: Path
) -> None:
    turns = {
        "assoc-why-1": (2, Status.OK),
        "assoc-why-2": (9, Status.OK),
        "assoc-why-3": (1, Status.MEMORY_CRASH),
    }
    run = _run_of("scripted", turns)
    monkeypatch.setattr(association, "_run", lambda path: run)
    ran = cli("association", "pilot", "r", "--out", "pilot.json")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("2 answered, 1 took fewer than 5 turns: assoc-why-1\n")
    pilot = load_pilot(Path("pilot.json"))
    assert pilot.rounds[0].asked == ("assoc-why-1", "assoc-why-2")
    assert pilot.facts == run[1].identity["suite_settings"]["facts"]


def test_a_pilot_needs_an_agent_with_a_model(cli: Cli, monkeypatch: pytest.MonkeyPatch, workplace: Path) -> None:
    monkeypatch.setattr(association, "_run", lambda path: _run_of("none", {"assoc-why-1": (2, Status.OK)}))
    refused = cli("association", "pilot", "r", "--out", "pilot.json")
    assert refused.code == 2
    assert "has no model" in refused.complaint
    assert not Path("pilot.json").exists()


def test_the_pilot_of_another_world_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pilot.json"
    path.write_text(json.dumps({"facts": "0123456789abcdef"}), encoding="utf-8")
    with pytest.raises(UsageError, match=r"pilot\.json is the pilot of the world 0123456789abcdef and this is"):
        Association(scale=40, pilot=str(path)).identity()
    digest = Association(scale=40).world.digest
    for own in ({"facts": digest}, {}):
        path.write_text(json.dumps({"avoid": ["talent-000001"], **own}), encoding="utf-8")
        assert Association(scale=40, pilot=str(path)).identity()["avoided"] == ["talent-000001"]


# -- the second opinion --------------------------------------------------------------------------------------------


def _settled(*, stands: bool, disputed: tuple[str, ...] = ("assoc-why-1: the graph store's answer lacks x.",)) -> Any:
    return SimpleNamespace(stands=stands, disputed=disputed)


def test_a_disputed_question_names_the_two_commands_that_replace_it() -> None:
    settings = {"seed": 20260910, "scale": 2000, "tasks_per_kind": None}
    run, out = Path("runs/a"), Path("mine.json")
    again = "  memassay run association --set association.seed=20260910 --scale 2000 --set association.pilot="
    _, first, second = association._next(run, None, settings, _settled(stands=True))
    assert first == "  memassay association check runs/a --out avoid.json"
    assert second == f"{again}avoid.json --out NEW"
    _, only = association._next(run, out, {**settings, "tasks_per_kind": 13}, _settled(stands=True))
    assert only == f"{again.replace('2000 ', '2000 --tasks 13 ')}mine.json --out NEW"
    assert association._next(run, out, settings, _settled(stands=True, disputed=())) == []
    [line] = association._next(run, out, settings, _settled(stands=False))
    assert "do not agree on this world" in line


def test_check_replaces_what_the_engine_disputes_and_asks_it_about_that_too(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, workplace: Path
) -> None:
    """A world of 40, whose first question has a wrong answer; the set has one question of a kind."""
    pytest.importorskip("mushroomdb")
    from memassay.core.contracts import BuildContext
    from memassay.core.types import Corpus, Gold
    from memassay.suites.association import tasks as module
    from memassay.suites.association.forms import JsonFiles
    from memassay.suites.association.graph import Graph, crosscheck

    world = make_world(seed=7, scale=40)
    forms = {}
    for name, memory in (("json-files", JsonFiles()), ("graph", Graph())):
        forms[name] = workplace / name
        forms[name].mkdir()
        memory.build(Corpus(id="world", documents=(), native=world, digest=world.digest), forms[name], BuildContext())
    [right] = tasks_of(make_world(seed=7, scale=1000), count=1)[:1]
    wrong = right.model_copy(update={"gold": {"original": Gold(answer="job-999999")}})
    settings = {"seed": 7, "scale": 40, "tasks_per_kind": 1, "avoided": ["company-000009"]}
    plan = SimpleNamespace(identity={"suite_settings": settings}, tasks=[wrong])
    drawn: list[Any] = []
    monkeypatch.setattr(association, "_run", lambda path: (None, plan, []))
    monkeypatch.setattr(association, "_forms", lambda folder, plan, stores: forms)
    monkeypatch.setattr(module, "tasks_of", lambda world, count, avoid: drawn.append(sorted(avoid)) or [right])
    monkeypatch.setattr(crosscheck, "verify_task", lambda task, reader: "assoc-why-1: no." if task is wrong else None)
    ran = cli("association", "check", "r", "--out", "avoid.json")
    assert ran.code == 1
    assert "2 forms compared: 0 disagreements\n" in ran.out
    assert "(200 pairs, 20 links, 20 histories): 0 disagreements\n" in ran.out
    assert "1 questions put to the engine: 1 disputed\n  assoc-why-1: no.\nThe engine agrees with what is" in ran.out
    assert ran.out.splitlines()[-1].endswith("--tasks 1 --set association.pilot=avoid.json --out NEW")
    avoided = sorted({"company-000009", *map(str, right.payload["target"])})  # type: ignore[arg-type]
    assert drawn == [avoided]
    assert list(load_pilot(Path("avoid.json"), world.digest).avoid) == avoided


# -- whose fault ---------------------------------------------------------------------------------------------------


def test_only_a_contender_s_lost_point_is_classified(cli: Cli, workplace: Path) -> None:
    world = ("--scale", "613", "--tasks", "1", "--memory", "sqlite")
    ran = cli("run", "association", *world, "--set", "agent.mistake=size", "--out", "r", "--json")
    assert ran.code == 0, ran.err

    def classified(task: str, arm: str, *more: str) -> Any:
        return cli("classify", "r", task, "--arm", arm, "--as", "model", "--why", "x", *more)

    for refused, words in (
        (classified("assoc-multihop-1", "sqlite"), "has the score 1: only a score below 1"),
        (classified("assoc-why-1", "reference"), "'reference' is a control arm"),
        (classified("assoc-why-1", "sqlite", "--repetition", "2"), "--repetition can be 1."),
        (classified("assoc-why-1", "sqlit"), "Did you mean 'sqlite'?"),
    ):
        assert refused.code == 2
        assert words in refused.complaint
    assert "Did you mean" not in classified("assoc-why-1", "sqlite", "--repetition", "2").err
    assert not Path("r/classifications.jsonl").exists()
    assert classified("assoc-why-1", "sqlite").code == 0
    assert "has no model" in cli("association", "pilot", "r", "--out", "p.json").complaint
