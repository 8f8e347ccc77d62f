"""What a run must show so that it is believed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from canary_documents import dossier, passage, question, truth

from memassay.core.contracts import Cell, Grading
from memassay.core.types import Answer, CellKey, Evidence, Gold, Status, Task
from memassay.judging.evidence import EvidenceJudge
from memassay.suites.canary.checks import checks
from memassay.suites.canary.families import CURRENT, FALSE_PREMISE, PUBLISHED, UPDATE
from memassay.suites.canary.fixture import Atom
from memassay.suites.canary.grading import ControlledJudge, LabelJudge
from memassay.suites.canary.rules import Thresholds

GRADING = Grading(tokens="o200k_base", budgets=(8, 200), ks=())
OLD = ["A worker polls it every 40 seconds and more.", "adr/0007-queue.md"]
NAN = float("nan")


def task(name: str, family: str = CURRENT, stale: list[list[str]] | None = None) -> Task:
    payload: dict[str, Any] = {"premise_valid": family != FALSE_PREMISE, **({"stale": stale} if stale else {})}
    gold = Gold(evidence=(Evidence(id=f"{name}#1", text="order_stream"),))
    return Task(
        id=name, suite="canary", scope="docs", cluster=name, category=family, prompt="?", payload=payload,
        gold={"original": gold},
    )  # fmt: skip


TASKS = [task("a", stale=[OLD]), task("b"), task("c", UPDATE, [OLD]), task("d", FALSE_PREMISE)]


def given(**changed: dict[str, list[float]]) -> dict[str, dict[str, Any]]:
    scores: dict[str, dict[str, list[float]]] = {
        "stale": {"correct@200": [0, 0, 0, 0], "stale@200": [1, NAN, 1, NAN]},
        "oracle": {"any@200": [1, 1, 1, NAN], "outcome@200": [1, 1, 1, 1]},
        "empty": {"outcome@200": [0, 0, 0, 1]},
        "lexical": {"outcome@200": [1, -1, 0.5, 0]},
    }
    for arm, values in changed.items():
        scores[arm] = {**scores[arm], **values}
    return {arm: {name: np.array(values) for name, values in found.items()} for arm, found in scores.items()}


def made(tasks: list[Task] = TASKS, scores: dict[str, dict[str, Any]] | None = None, budget: int = 200) -> Any:
    return checks(
        GRADING, tasks, given() if scores is None else scores, weights=PUBLISHED, budget=budget, thresholds=Thresholds()
    )


def test_a_run_as_it_should_be_passes_every_check() -> None:
    found = made()
    assert list(found) == ["stale", "gold against empty", "A against A"]
    assert all(row["passed"] for rows in found.values() for row in rows)
    assert [(row["metric"], row["value"]) for row in found["stale"]] == [("correct@200", 0), ("stale@200", 1)]
    (gold,) = found["gold against empty"]
    assert gold["value"] == pytest.approx(0.54 / 0.58)  # the weights of the two families that were won, of three
    (same,) = found["A against A"]
    assert (same["arm"], same["value"]) == ("lexical", 0)


@pytest.mark.parametrize(
    ("changed", "failed"),
    [
        ({"stale": {"correct@200": [1.0, 0, 0, 0]}}, "stale"),
        ({"stale": {"stale@200": [0.0, NAN, 1, NAN]}}, "stale"),
        ({"oracle": {"outcome@200": [0.0, 0, 0, 1]}}, "gold against empty"),
        ({"oracle": {"outcome@200": [-1.0, -1, 1, 1]}}, "gold against empty"),
    ],
)
def test_what_is_not_as_it_should_be_fails(changed: Any, failed: str) -> None:
    found = made(scores=given(**changed))
    assert [name for name, rows in found.items() if not all(row["passed"] for row in rows)] == [failed]
    assert False in [row["passed"] for row in found[failed]]


def test_an_unfinished_control_is_not_measured() -> None:
    found = made(scores=given(stale={"stale@200": [NAN, NAN, 1, NAN]}, empty={"outcome@200": [NAN] * 4}))
    assert [row["passed"] for row in found["stale"]] == [True, None]
    assert [row["passed"] for row in found["gold against empty"]] == [None]


def test_only_what_the_questions_allow_is_checked() -> None:
    tasks = [task("b"), task("d", FALSE_PREMISE)]
    nothing = {"oracle": {"any@200": np.array([NAN, NAN])}, "lexical": {"outcome@200": np.array([0.0, 1.0])}}
    assert list(made(tasks, nothing)) == ["A against A"]


def test_words_longer_than_the_budget_need_not_be_called_stale() -> None:
    tasks = [task("a", stale=[[" ".join([OLD[0]] * 40), ""]]), *TASKS[1:]]
    assert all(row["passed"] for row in made(tasks, given(stale={"stale@200": [0.0, NAN, 1, NAN]}))["stale"])
    alone = made(tasks[:1], {name: {m: v[:1] for m, v in values.items()} for name, values in given().items()})
    assert [row["metric"] for row in alone["stale"]] == ["correct@200"]


# -- who labels the controls ---------------------------------------------------------------------------------------


def verdict(arm: str, *, facts: bool = True) -> Any:
    asked = question(forbidden=(Atom(text="every 40 seconds", until="2025-06-02"),), required=(Atom(text="stream"),))
    labels = LabelJudge(truth(asked), tokens="o200k_base", budgets=[8, 200])
    judge = ControlledJudge(EvidenceJudge(key="original", tokens="o200k_base", budgets=(8, 200), ks=()), labels)
    assert judge.id == "evidence" and judge.config["controls"] == labels.rule
    one = task("q1")
    if not facts:
        one = one.model_copy(update={"gold": {"original": Gold()}})
    answer = Answer(cell=CellKey(task="q1", arm=arm), status=Status.OK)
    return judge.judge(Cell(one, answer, dossier(passage(OLD[0].replace(" and more", ""), OLD[1]))))


def test_the_first_grader_labels_control_arms_and_no_memory() -> None:
    control, memory = verdict("stale"), verdict("lexical")
    assert control.judge == memory.judge == "evidence"
    assert (control.scores["stale@200"], control.scores["all@200"], control.scores["correct@200"]) == (1, 0, 0)
    assert control.labels["label@200"] == "incorrect" and control.labels["tokens"]
    assert "outcome@200" not in memory.scores
    assert {name: value for name, value in control.scores.items() if name in memory.scores} == memory.scores


def test_a_control_on_a_question_without_facts_is_labelled_all_the_same() -> None:
    control = verdict("empty", facts=False)
    assert (control.judge, control.id) == ("evidence", "evidence/q1/empty/0.0") and "all@200" not in control.scores
    assert verdict("lexical", facts=False) is None
