from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from memassay.core.contracts import Grading
from memassay.core.tokens import tokenizer
from memassay.core.types import Task
from memassay.core.wording import normalise
from memassay.running.controls import ceilings, chance_bands, check_suite, expectations
from memassay.running.experiment import experiment_of
from memassay.running.markers import MARKER
from memassay.running.plan import Plan, make_plan
from memassay.running.scores import Scores
from memassay.runs.folder import RunFolder

BUDGETS = (30, 60, 120, 400)


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(
        experiment_of(
            {
                "suite": "locomo",
                "options": {"sample": True},
                "memories": {"files": {"use": "files"}},
                "limit": 64,
                "budgets": BUDGETS,
            }
        )
    )


@pytest.fixture(scope="module")
def tasks(plan: Plan) -> list[Task]:
    return [t for t in plan.tasks if t.category != MARKER and t.gold["original"].evidence]


def share_that_fits(plan: Plan, tasks: list[Task], budget: int, tokens: str) -> float:
    """The share of questions whose gold fits, from the file's own turns: count, add, compare."""
    counter = tokenizer(tokens)
    fits = 0
    for task in tasks:
        units = {u.id: u for d in plan.corpora[task.scope].documents for u in d.units}
        text = ""
        for n, gold in enumerate(task.gold["original"].evidence, start=1):
            text += f"[{n}] {units[gold.id].speaker}: {units[gold.id].text}\n"
        room = counter.cut(text, budget * counter.marks_per_token)
        fits += len(room) >= len(text.rstrip("\n"))
    return fits / len(tasks)


@pytest.mark.parametrize("tokens", ["o200k_base", "chars4"])
def test_the_ceiling_is_the_share_of_questions_whose_gold_fits(plan: Plan, tasks: list[Task], tokens: str) -> None:
    found = ceilings(tasks, plan.corpora, tokens, BUDGETS)
    expected = {f"all@{b}": share_that_fits(plan, tasks, b, tokens) for b in BUDGETS}
    assert found == pytest.approx(expected)
    assert 0 < expected["all@30"] < 1, "the budgets of this test must bind"


def test_a_run_whose_budget_binds_passes_its_controls(small_run: Callable[..., Any]) -> None:
    summary, _ = small_run("r", budgets=[10, 30, 400], questions=16)
    ceiling = summary["ceilings"]["original"]
    assert 0 <= ceiling["all@10"] < ceiling["all@400"] == 1.0
    for check in summary["controls"]["oracle"]["checks"]:
        assert check["value"] == ceiling[check["metric"]]
    assert {c["value"] for c in summary["controls"]["empty"]["checks"]} == {0.0}
    assert {n: c["passed"] for n, c in summary["controls"].items() if n != "shuffled-gold"} == dict.fromkeys(
        ("oracle", "empty", "random", "marker"), True
    )


def test_chance_is_what_a_simulation_of_the_whole_pipeline_gives(plan: Plan, tasks: list[Task]) -> None:
    """Shuffle, number, count, cut and search, 60 times: another road to the same mean."""
    few = tasks[::4]
    bands = chance_bands(few, plan.corpora, "chars4", (400, 1600), 0)
    generator = np.random.default_rng(5)
    hits = {400: 0, 1600: 0}
    draws = 60
    for task in few:
        units = [u for d in plan.corpora[task.scope].documents for u in d.units]
        for _ in range(draws):
            text = ""
            for n, i in enumerate(generator.permutation(len(units)), start=1):
                text += f"[{n}] {units[i].speaker}: {units[i].text}\n"
                if len(text) > 4 * 1600:
                    break
            for budget in hits:
                shown = normalise(text[: 4 * budget])
                hits[budget] += all(normalise(e.text) in shown for e in task.gold["original"].evidence)
    for budget, count in hits.items():
        band = bands[f"all@{budget}"]
        share = count / (draws * len(few))
        assert band.mean == pytest.approx(share, abs=4 * (max(share, 0.02) / (draws * len(few))) ** 0.5 + 0.01)
        assert band.low <= band.mean <= band.high
        assert band.draws == 200
        assert band.level == 0.999


def test_expectations_are_fixed_by_the_seed(plan: Plan, tasks: list[Task]) -> None:
    def made(seed: int) -> dict[str, Any]:
        return expectations(tasks[:8], plan.corpora, ["original"], "chars4", (400,), seed, True)

    assert made(1) == made(1)
    assert made(1)["chance"] != made(2)["chance"]
    assert expectations(tasks[:8], plan.corpora, ["original"], "chars4", (400,), 1, False)["chance"] == {}


def test_controls_stand_under_controls_and_never_under_arms(small_run: Callable[..., Any]) -> None:
    summary, folder = small_run("r", limit=8)
    assert set(summary["controls"]) == {"oracle", "empty", "random", "shuffled-gold", "marker"}
    assert set(summary["arms"]) == {"toy"}
    assert not {"oracle", "random"} & {c[side] for c in summary["comparisons"] for side in "ab"}
    bare, _ = small_run("bare", limit=8, controls=False)
    assert bare["controls"] == {}
    assert {(a.cell.task, a.cell.arm) for a in RunFolder(folder).answers()[0].values()} >= {("conv-900/q0", "oracle")}


def test_markers_do_not_change_a_number_of_the_arms(small_run: Callable[..., Any]) -> None:
    with_controls, _ = small_run("with")
    without, _ = small_run("without", controls=False)
    assert with_controls["arms"]["toy"]["metrics"] == without["arms"]["toy"]["metrics"]
    assert with_controls["arms"]["toy"]["n"] == 24


# -- a harness that measures wrong is noticed ----------------------------------------------------------------------


def reasons(summary: Any) -> str:
    return " | ".join(summary["publishable"]["reasons"])


def test_a_broken_cut_fails_the_oracle(small_run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from memassay.core.dossier import Rendering

    monkeypatch.setattr(Rendering, "head", lambda self, budget: (0, ""))
    summary, _ = small_run("r")
    assert summary["controls"]["oracle"]["passed"] is False
    assert "control oracle failed" in reasons(summary)


def test_a_grader_that_finds_everything_fails_empty_random_and_shuffled(
    small_run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from memassay.judging.evidence import EvidenceJudge

    real = EvidenceJudge.scores

    def generous(self: EvidenceJudge, *args: Any) -> dict[str, Any]:
        return dict.fromkeys(real(self, *args), 1.0)

    monkeypatch.setattr(EvidenceJudge, "scores", generous)
    summary, _ = small_run("r")
    for name in ("empty", "random", "shuffled-gold"):
        assert summary["controls"][name]["passed"] is False, name
        assert f"control {name} failed" in reasons(summary)


def test_a_memory_that_misses_the_marker_fails_it_and_is_named(small_run: Callable[..., Any]) -> None:
    summary, _ = small_run("r", {"deaf": {"fault": "raise", "where": "lighthouse keeper"}, "good": {}})
    assert summary["controls"]["marker"]["passed"] is False
    checks = {c["arm"]: c["passed"] for c in summary["controls"]["marker"]["checks"]}
    assert checks == {"deaf": False, "good": True}
    assert "control marker failed: deaf" in reasons(summary)


def test_random_is_inside_its_band_as_often_as_it_says(small_run: Callable[..., Any], small_file: Any) -> None:
    """200 seeds, one budget: a 99.9 % band that refuses more than 3 of them is not one (expected: 0.2)."""
    from memassay.core.dossier import trimmed
    from memassay.core.types import Dossier
    from memassay.core.views import Surroundings, view
    from memassay.judging.evidence import EvidenceJudge

    path: Path = small_file(4, 6)
    plan = make_plan(
        experiment_of(
            {"suite": "locomo", "options": {"data": str(path)}, "memories": {"files": {"use": "files"}},
             "tokens": "chars4", "budgets": [100]}
        )
    )  # fmt: skip
    tasks = [t for t in plan.tasks if t.category != MARKER]
    judge = EvidenceJudge(key="original", tokens="chars4", budgets=(100,), ks=())
    outside = 0
    for seed in range(200):
        band = chance_bands(tasks, plan.corpora, "chars4", (100,), seed)["all@100"]
        found = []
        for task in tasks:
            around = Surroundings(plan.corpora[task.scope], (), seed)
            shown = trimmed(view("random")(task, Dossier(), around), "chars4", 100)
            found.append(judge.scores(shown, task.gold["original"].evidence)["all@100"] or 0.0)
        outside += float(np.mean(found)) not in band
    assert outside <= 3


def test_where_no_arm_can_be_measured_nothing_failed(small_run: Callable[..., Any]) -> None:
    summary, _ = small_run("r", {"toy": {"build_fault": "cannot"}}, limit=8)
    controls = {name: control["passed"] for name, control in summary["controls"].items()}
    assert controls == {"oracle": True, "empty": True, "random": True, "shuffled-gold": None, "marker": None}
    assert "control shuffled-gold was not measured" in summary["publishable"]["reasons"]
    assert "no arm could be measured" in summary["publishable"]["reasons"]
    assert "failed" not in reasons(summary)


def test_a_suite_asks_more_of_its_controls() -> None:
    tasks = [Task(id=name, suite="s", scope="c", cluster="c", category="x", prompt="?") for name in "ab"]
    first = Scores(tasks, values={"empty": {"x": np.array([0.0, 1.0])}}, missing=np.array([False, True]))
    second = Scores(tasks, values={"m": {"y": np.array([1.0, 1.0])}}, missing=np.array([False, False]))

    class Asks:
        def checks(self, grading: Grading, given: Any, scores: Any) -> Any:
            assert given == tasks and list(scores) == ["empty", "m"]
            assert np.isnan(scores["empty"]["x"][1]) and scores["m"]["y"].tolist() == [1.0, 1.0]
            return {
                "stale": [{"passed": True}],
                "open": [{"passed": True}, {"passed": None}],
                "no": [{"passed": False}],
            }

    grading, by_judge = Grading(tokens="chars4", budgets=(40,), ks=()), {"one": first, "two": second}
    found = check_suite(cast(Any, Asks()), grading, by_judge)
    assert {name: one["passed"] for name, one in found.items()} == {"stale": True, "open": None, "no": False}
    assert check_suite(cast(Any, object()), grading, by_judge) == {}
