"""Judges of pairs: what they are asked, in which order, what is kept, and where they stop."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from memassay.core import registry
from memassay.core.errors import EnvironmentProblem, GuardError, UsageError
from memassay.core.pairs import Comparison, Pairing
from memassay.core.types import Usage
from memassay.running.continuing import continuing_pairs
from memassay.running.experiment import Experiment, experiment_of
from memassay.running.pairing import pair_verdicts
from memassay.running.pipeline import Place, rejudge, run_experiment
from memassay.running.probes import PROBES, QUESTIONS
from memassay.runs.folder import RunFolder
from memassay.suites.canary.suite import Canary

LIMIT = 6


class Longest:
    """Prefers what is longer; what it was asked is kept."""

    pairs = True
    family = "toy"
    model = "real"
    asked: list[Pairing]

    def __init__(self, *, model: str = "m", criteria: str = "", wrong: bool = False, cost: float = 0.0) -> None:
        self.id, self._wrong, self._cost = f"longest-{model}", wrong, cost

    @property
    def config(self) -> Mapping[str, Any]:
        return {"judge": "longest", "wrong": self._wrong}

    async def compare(self, pairing: Pairing) -> Comparison:
        type(self).asked.append(pairing)
        usage = Usage(input=10, output=1, cost_usd=self._cost)
        if self._wrong:
            return Comparison(None, status="failed", explanation="unreadable", usage=usage)
        first, second = len(pairing.first), len(pairing.second)
        place = "tie" if first == second else "first" if first > second else "second"
        return Comparison(place, ("correct", "partial"), usage=usage)

    def price(self, usage: Usage) -> float:
        return self._cost


@pytest.fixture(autouse=True)
def longest(monkeypatch: pytest.MonkeyPatch) -> type[Longest]:
    Longest.asked = []
    get = registry.judges.get
    monkeypatch.setattr(Canary, "unfit", lambda self, verdicts: "", raising=False)  # it would be: it likes what is long
    monkeypatch.setattr(registry.judges, "get", lambda name: Longest if name == "longest" else get(name))
    return Longest


def experiment(*judges: Mapping[str, Any], **more: Any) -> Experiment:
    return experiment_of(
        {
            "suite": "canary",
            "options": {"sample": True, "documents": 60, "budget": 400},
            "memories": {"lexical": {"use": "lexical"}, "files": {"use": "files"}},
            "tokens": "chars4",
            "budgets": [400],
            "ks": [5],
            "limit": LIMIT,
            "controls": False,
            "judges": [{"use": "longest", "model": "m", **judge} for judge in judges],
            **more,
        }
    )


def run(folder: Path, *judges: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return run_experiment(experiment(*judges, **more), Place(out=folder))


def test_every_question_is_compared_in_both_orders_and_blind(tmp_path: Path) -> None:
    summary = run(tmp_path / "r", {})
    (about,) = summary["pair_judges"]
    assert (about["id"], about["family"], about["left"]) == ("longest-m", "toy", 0)
    verdicts = pair_verdicts(RunFolder(tmp_path / "r"), "longest-m")
    compared = [v for v in verdicts if not v.probe]
    assert {(v.a, v.b) for v in compared} == {("files", "lexical")}
    first = [v for v in compared if v.repetition == 0]
    assert Counter((v.task, v.order) for v in first).most_common(1)[0][1] == 1
    assert len(first) == 2 * LIMIT and {v.order for v in first} == {0, 1}
    words = json.dumps([[p.first, p.second, p.reference] for p in Longest.asked])
    assert "lexical" not in words and "files" not in words
    asked = [v for v in compared if v.position != "tie"]
    by_place = {(v.task, v.order, v.repetition): v.position for v in asked}
    for (task, order, repetition), position in by_place.items():
        assert by_place[task, 1 - order, repetition] != position, "the longer one changes its place with the order"


def test_the_controls_come_first_and_are_of_the_kinds_that_are_named(tmp_path: Path) -> None:
    run(tmp_path / "r", {})
    verdicts = pair_verdicts(RunFolder(tmp_path / "r"), "longest-m")
    kinds = [v.probe for v in verdicts]
    assert set(kinds) == {*PROBES, ""} and kinds == sorted(kinds, key=lambda kind: kind == "")
    each = Counter((v.probe, v.task) for v in verdicts if v.probe)
    assert set(each.values()) == {2} and len({task for _, task in each}) <= QUESTIONS
    same = [v for v in verdicts if v.probe == "same"]
    assert {v.position for v in same} == {"tie"}
    padded = {(v.task, v.order): v.position for v in verdicts if v.probe == "padded"}
    assert all(place == ("second" if order == 0 else "first") for (_, order), place in padded.items())


def test_identical_dossiers_are_a_tie_that_costs_nothing(tmp_path: Path) -> None:
    memories = {"lexical": {"use": "lexical"}, "again": {"use": "lexical"}}
    run(tmp_path / "r", {"options": {"cost": 0.5}}, memories=memories)
    folder = RunFolder(tmp_path / "r")
    compared = [v for v in folder.each_pair_verdict("longest-m") if not v.subjects[0].arm.startswith("probe:")]
    assert {v.position for v in compared} == {"tie"} and {v.labels["asked"] for v in compared} == {False}
    assert sum(v.usage.cost_usd or 0.0 for v in compared) == 0.0


def test_nothing_is_asked_twice_and_a_new_answer_is(tmp_path: Path) -> None:
    run(tmp_path / "r", {})
    asked = len(Longest.asked)
    run(tmp_path / "r", {})
    assert len(Longest.asked) == asked
    path = tmp_path / "r" / "pairs" / "longest-m.jsonl"
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:-3]) + lines[-3][:40], "utf-8")
    again = continuing_pairs(RunFolder(tmp_path / "r"), None, lambda line: None)
    rejudge(RunFolder(tmp_path / "r"), again=again)
    assert [json.loads(line)["id"] for line in path.read_text("utf-8").splitlines()] == [
        json.loads(line)["id"] for line in lines
    ]


def test_a_judge_that_fails_five_times_in_a_row_stops_and_goes_on_later(tmp_path: Path) -> None:
    summary = run(tmp_path / "r", {"options": {"wrong": True}})
    assert "failed 5 times in a row, the last with: unreadable" in summary["stopped"]
    assert not summary["publishable"]["value"]
    (about,) = summary["pair_judges"]
    assert about["left"] > 5 and about["usage"]["failed"] >= 5
    assert any("comparisons left" in reason for reason in summary["publishable"]["reasons"])


def test_a_limit_of_money_stops_and_a_higher_one_goes_on(tmp_path: Path) -> None:
    stopped = run(tmp_path / "r", {"options": {"cost": 0.25}}, max_usd=1.0)
    assert "--max-usd" in stopped["stopped"]
    spent = sum(v.usage.cost_usd or 0.0 for v in RunFolder(tmp_path / "r").each_pair_verdict("longest-m"))
    assert 0 < spent <= 1.0
    done = run(tmp_path / "r", {"options": {"cost": 0.25}}, max_usd=1000.0)
    assert not done["stopped"] and done["pair_judges"][0]["left"] == 0


def test_another_setting_of_the_same_judge_is_refused(tmp_path: Path) -> None:
    run(tmp_path / "r", {})
    with pytest.raises(GuardError, match="wrong"):
        run(tmp_path / "r", {"options": {"wrong": True}})


def test_a_judge_of_pairs_is_added_to_a_finished_run(tmp_path: Path) -> None:
    run(tmp_path / "r")
    assert not Longest.asked
    entry = experiment({"model": "later"}).judges
    summary = rejudge(RunFolder(tmp_path / "r"), judges=entry)
    assert [one["id"] for one in summary["pair_judges"]] == ["longest-later"] and Longest.asked


def test_two_of_one_name_and_a_suite_without_pairs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="twice"):
        run(tmp_path / "r", {}, {})
    with pytest.raises(UsageError, match="has no pairs to compare"):
        run(tmp_path / "r", {}, suite="locomo", options={"sample": True}, limit=2)
    assert not (tmp_path / "r").exists()


def test_a_judge_that_cannot_be_asked_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def prepare(self: Longest) -> None:
        raise EnvironmentProblem("no key")

    monkeypatch.setattr(Longest, "prepare", prepare, raising=False)
    with pytest.raises(EnvironmentProblem, match="no key"):
        run(tmp_path / "r", {})
    assert not (tmp_path / "r" / "pairs").exists()


def test_hidden_gold_is_not_shown(tmp_path: Path) -> None:
    options = {"sample": True, "documents": 60, "budget": 400, "gold": "hidden"}
    run(tmp_path / "r", {}, options=options)
    assert {pairing.reference for pairing in Longest.asked} == {""}


def test_an_unfit_judge_is_asked_no_further(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []

    def unfit(self: Any, verdicts: Any) -> str:
        told.append(len(verdicts))
        return "it prefers what is longer"

    monkeypatch.setattr(Canary, "unfit", unfit, raising=False)
    summary = run(tmp_path / "r", {})
    assert told[0] == len(Longest.asked) and summary["pair_judges"][0]["left"] == 0
    assert not [v for v in pair_verdicts(RunFolder(tmp_path / "r"), "longest-m") if not v.probe]


def test_the_same_run_gives_the_same_comparisons(tmp_path: Path) -> None:
    def said(folder: Path) -> list[Any]:
        run(folder, {})
        rows = pair_verdicts(RunFolder(folder), "longest-m")
        return sorted((v.task, v.a, v.order, v.repetition, v.position or "") for v in rows)

    assert said(tmp_path / "one") == said(tmp_path / "two")
