"""``memassay association`` and ``memassay classify``: where stores are, whose turns count, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kit import Cli
from memassay.cli import association
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
