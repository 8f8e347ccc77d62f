"""The suite as the harness sees it, and runs of it with a platform within the process."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from lifecycle_play import Killed
from lifecycle_registered import Speaker, register

from memassay.core.contracts import Drives, Grading
from memassay.core.digest import digest_of
from memassay.core.errors import DataError, UnknownName, UsageError
from memassay.core.types import Status
from memassay.platform.entities import dataset_urn, name_of
from memassay.running.experiment import experiment_of
from memassay.running.pipeline import Place, rejudge, run_experiment, sections_of
from memassay.runs.folder import RunFolder
from memassay.suites.lifecycle import suite as suite_module
from memassay.suites.lifecycle.prompts import ASK, REFUSE, TELL, instructions, system_prompt
from memassay.suites.lifecycle.protocol import Protocol
from memassay.suites.lifecycle.stages import CHOICES, plan
from memassay.suites.lifecycle.suite import PERFECT, SCOPE, UNTAUGHT, Lifecycle
from memassay.suites.lifecycle.templates import DEFAULT_PROTOCOLS
from memassay.suites.lifecycle.warehouse import urn_of

GRADING = Grading(tokens="chars4", budgets=(100,), ks=(1,), answers=True)


@pytest.fixture(scope="module")
def suite() -> Lifecycle:
    return Lifecycle(count=4)


# -- what it is made of --------------------------------------------------------------------------------------------


def test_a_task_for_each_protocol(suite: Lifecycle) -> None:
    tasks = suite.tasks()
    assert [task.id for task in tasks] == [one.id for one in suite.protocols]
    assert isinstance(suite, Drives)
    for task, one in zip(tasks, suite.protocols, strict=True):
        assert (task.suite, task.scope, task.cluster, task.category) == ("lifecycle", SCOPE, one.id, one.template)
        assert task.payload["sink"] == one.sink and task.prompt == one.recall.prompt
        assert one.fact not in json.dumps(dict(task.payload)) + task.prompt
        answer = task.gold["original"].answer
        grading = one.recall.grading
        assert answer == grading.aliases[0] if grading.aliases else float(str(answer)) == grading.value
    kinds = {(task.payload["sink"], task.payload["kind"]) for task in tasks}
    assert len(kinds) == 4, "both sinks, corrected and passed on"


def test_how_many_other_facts_are_taught_is_a_setting(suite: Lifecycle) -> None:
    many = Lifecycle(count=4, interference=5)
    for one, usual in zip(many.protocols, Lifecycle(count=4).protocols, strict=True):
        assert one.extras is not None and usual.extras is not None
        assert (len(one.extras.interference), len(usual.extras.interference)) == (5, 3)
        names = [stage.name for stage in plan(one, CHOICES)]
        assert names.index("interference.5") + 1 == names.index("interference_recall")
    assert many.identity() != Lifecycle(count=4).identity()
    assert not any("interference" in stage.name for one in Lifecycle(count=4, interference=0).protocols
                   for stage in plan(one, CHOICES))  # fmt: skip
    with pytest.raises(UsageError, match="ask for 0 to 12"):
        Lifecycle(count=4, interference=13).tasks()
    with pytest.raises(UsageError, match="of generated protocols"):
        Lifecycle(protocols="here", interference=1)


def test_the_corpus_is_a_warehouse_and_its_catalogue(suite: Lifecycle, tmp_path: Path) -> None:
    [corpus] = suite.corpora()
    held = corpus.native
    assert corpus.documents == () and corpus.digest == held.digest
    assert {one.entity_urn for one in suite.protocols} <= {entity.urn for entity in held.entities}
    assert len(held.entities) == len(held.warehouse.tables)
    for entity in held.entities:
        assert entity.description and entity.urn == dataset_urn(entity.name) and name_of(entity.urn) == entity.name
        assert not any(one.extras and one.extras.term in entity.description for one in suite.protocols)
    assert urn_of("x") == dataset_urn("warehouse.main.x") and held.settings == {"warehouse_schema": "warehouse.main"}
    held.warehouse.write(tmp_path / "w.sqlite")
    assert (tmp_path / "w.sqlite").stat().st_size > 10_000


def test_the_identity_tells_suites_apart(suite: Lifecycle) -> None:
    same, seed, fewer = Lifecycle(count=4), Lifecycle(count=4, seed=1), Lifecycle(count=2)
    chosen = Lifecycle(count=4, choices=("twin",))
    assert dict(same.identity()) == dict(suite.identity())
    digests = {digest_of(dict(one.identity())) for one in (suite, seed, fewer, chosen)}
    assert len(digests) == 4
    assert suite.identity()["set"] == "generated" and suite.identity()["choices"] == list(CHOICES)
    assert len(Lifecycle().tasks()) == DEFAULT_PROTOCOLS and not Lifecycle().sample
    assert Lifecycle(sample=True).tasks() == suite.tasks() and Lifecycle(sample=True).sample
    [line] = suite.about()
    assert line.startswith("4 protocols, generated from seed 20261130 (published hash ")


def test_settings_that_do_not_fit() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'rollback'"):
        Lifecycle(choices=("rolback",))
    with pytest.raises(UsageError, match="original is about"):
        Lifecycle(original=True)
    with pytest.raises(UsageError, match="are of generated"):
        Lifecycle(protocols="x", count=3)
    with pytest.raises(UsageError, match="are of generated"):
        Lifecycle(protocols="x", sample=True)
    with pytest.raises(DataError, match="is no folder"):
        Lifecycle(protocols="nowhere").tasks()
    with pytest.raises(UsageError, match="ledgers"):
        Lifecycle(count=0).tasks()


def test_metrics_and_controls(suite: Lifecycle) -> None:
    [judge] = suite.judges(GRADING)
    names = [spec.name for spec in suite.metrics(GRADING)]
    assert names[0] == "pass" and len(set(names)) == len(names) and judge.id == "lifecycle"
    assert all(spec.of == "answer" and spec.title for spec in suite.metrics(GRADING))
    assert {control.metric for control in suite.controls()} <= set(names)
    assert [(control.arm, control.low, control.high) for control in suite.controls()] == [
        (PERFECT, 1.0, 1.0), (UNTAUGHT, 0.0, 0.05),
    ]  # fmt: skip
    assert [control.arm for control in Lifecycle(choices=()).controls()] == [PERFECT]


def test_what_agents_are_told(suite: Lifecycle) -> None:
    stages = {stage.name: stage for one in suite.protocols for stage in plan(one, CHOICES)}
    for name, stage in stages.items():
        if stage.kind == "act":
            continue
        told = system_prompt(stage, 15)
        rule = TELL if stage.kind == "tell" else REFUSE if name in ("abstain", "twin") else ASK
        assert told.endswith(rule) and "at most 15 tool calls" in told, name
        assert rule in instructions() == suite.instructions(("tools",))
    # Whoever must not know is asked in the words of those who should.
    assert system_prompt(stages["isolation"], 15) == system_prompt(stages["transfer"], 15)
    assert system_prompt(stages["forget_recall"], 15) == system_prompt(stages["recall"], 15)


@pytest.mark.data
def test_the_published_thirty(published_folder: Path) -> None:
    suite = Lifecycle(protocols=str(published_folder))
    found = suite.identity()
    assert suite.data == "real" and len(suite.tasks()) == 30
    assert found["set"] == "the thirty that are published" and found["seed"] is None
    assert {task.category for task in suite.tasks()} == {"transfer", "update"}
    assert all(one.extras and one.extras.never_taught == one.recall for one in suite.protocols)
    held = suite.corpora()[0].native
    assert held.warehouse is None
    assert {entity.name for entity in held.entities} == {"memory.bench.orders", "memory.bench.customers"}
    assert "the thirty that are published (published hash daeac8a49319e624" in suite.about()[0]


# -- runs ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def run(folder: Path, **more: Any) -> dict[str, Any]:
    experiment = experiment_of({"suite": "lifecycle", "options": {"count": 4}, **more})
    return run_experiment(experiment, Place(out=folder, workers=2))


@pytest.mark.usefixtures("fakes")
def test_a_run_from_its_defaults(tmp_path: Path) -> None:
    summary = run(tmp_path / "r")
    assert (summary["data"], summary["model"], summary["sample"], summary["stage"]) == (
        "generated", "none", False, "answer",
    )  # fmt: skip
    assert {name: control["passed"] for name, control in summary["controls"].items()} == {
        "perfect": True, "never-taught": True,
    }  # fmt: skip
    arm = summary["arms"]["platform"]
    assert arm["n"] == 4 and arm["metrics"]["pass"]["value"] == arm["metrics"]["strict:pass"]["value"] == 1.0
    assert arm["metrics"]["transfer_rate"]["n"] == 2 and arm["metrics"]["strict:never_taught"]["value"] == 0.0
    assert summary["headline_metric"] == "pass"
    lines = (tmp_path / "r" / "answers-1of1.jsonl").read_text("utf-8").splitlines()
    played = [record for line in lines if (record := json.loads(line))["cell"]["arm"] == "never-taught"]
    assert [[step["name"] for step in record["steps"]] for record in played] == [["never_taught"]] * 4
    [said] = summary["conclusion"]["said"]
    assert said.startswith("platform: passed 4 of 4, recalled 4 of 4, passed on 2 of 2, corrected 2 of 2, abstained 4")
    assert said.endswith("never taught 0%.")
    titles = [section.title for section in sections_of(summary)]
    assert titles[-7:] == [
        "Published metrics", "Strict metrics", "How the fact arrived", "By template", "pass^k",
        "Calls and tokens by stage", "Stages and supersedes",
    ]  # fmt: skip
    assert not (tmp_path / "r" / "partial").exists()


@pytest.mark.usefixtures("fakes")
def test_arms_are_configurations_and_are_compared_with_the_first(tmp_path: Path) -> None:
    memories = {
        "full": {"use": "platform"},
        "no-shared": {"use": "platform", "shared": False},
        "no-review": {"use": "platform", "review": False},
    }
    summary = run(tmp_path / "r", memories=memories, controls=False, repetitions=2)
    found = summary["conclusion"]
    assert (found["k"], found["order"], found["baseline"]) == (2, ["full", "no-shared", "no-review"], "full")
    rows = {(row["arm"], row["metric"]): row for row in found["ablation"]}
    through = rows["no-shared", "strict:transfer_sink_only"]
    assert rows["no-shared", "pass"]["diff"]["value"] == 0.0 and through["baseline"] == 0.0
    assert ("no-review", "transfer_rate") not in rows
    lacking = found["arms"]["no-review"]
    assert lacking["unavailable"]["transfer"] == "the memory has no review queue and the memory has no changesets"
    assert lacking["strict"]["transfer"] == {
        **lacking["strict"]["transfer"], "value": None, "reason": lacking["unavailable"]["transfer"],
    }  # fmt: skip
    assert found["arms"]["full"]["strict"]["transfer_through:insight"]["value"] == 1.0
    assert found["arms"]["no-shared"]["strict"]["transfer_through:insight"]["value"] == 0.0
    assert set(found["arms"]["full"]["pass"]) == {"pass^1", "pass^2"}
    assert set(found["arms"]["full"]["templates"]) == {one.template for one in Lifecycle(count=4).protocols}
    titles = [section.title for section in sections_of(summary)]
    assert "What changes against full" in titles


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize("at", [1, 9, 20])
def test_a_killed_run_comes_to_the_same_numbers(tmp_path: Path, at: int) -> None:
    whole = run(tmp_path / "whole", controls=False)
    Speaker.planned, Speaker.asked = {at: Killed()}, []
    with pytest.raises((Killed, BaseExceptionGroup)):
        run(tmp_path / "r", controls=False)
    Speaker.planned = {}
    again = run(tmp_path / "r", controls=False)
    assert again["arms"]["platform"]["metrics"] == whole["arms"]["platform"]["metrics"]
    assert again["cells"]["counted"] == 4


@pytest.mark.usefixtures("fakes")
def test_a_provider_that_fails_costs_an_attempt_and_no_number(tmp_path: Path) -> None:
    Speaker.planned = {5: Status.RATE_LIMIT}
    summary = run(tmp_path / "r", controls=False)
    assert summary["arms"]["platform"]["metrics"]["pass"]["value"] == 1.0
    lines = (tmp_path / "r" / "answers-1of1.jsonl").read_text("utf-8").splitlines()
    assert sorted(json.loads(line)["status"] for line in lines) == ["ok"] * 4 + ["rate-limit"]


@pytest.mark.usefixtures("fakes")
def test_a_run_is_judged_from_its_folder_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No protocol is made or read again: what today's generator, or a file, says has no part in it."""
    Speaker.planned = {}
    before = run(tmp_path / "r")
    shutil.rmtree(tmp_path / "r" / "judgements")

    def gone(*args: Any, **more: Any) -> Any:
        raise AssertionError("judging reads the run and nothing else")

    for name in ("generate", "load_protocols", "make_warehouse"):
        monkeypatch.setattr(suite_module, name, gone)
    after = rejudge(RunFolder.existing(tmp_path / "r"))
    assert after["arms"] == before["arms"] and after["conclusion"] == before["conclusion"]
    assert after["controls"] == before["controls"]


@pytest.mark.usefixtures("fakes")
def test_agents_never_see_the_key(tmp_path: Path) -> None:
    run(tmp_path / "r", controls=False)
    protocols: list[Protocol] = list(Lifecycle(count=4).protocols)
    for request in Speaker.asked:
        one = next(one for one in protocols if one.id == request.cell.task)
        prompts = [stage.prompt for stage in plan(one, CHOICES)]
        assert request.prompt in prompts and request.system.startswith("You are an analyst's assistant.")
        assert request.dossier is None and one.fact not in request.system
