"""A suite says how its questions were sampled; summary, comparisons, gate and plan follow without knowing its name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memassay.core.errors import UsageError
from memassay.running.compare import compare, gate_of, save_baseline, scored
from memassay.running.estimate import estimate_of, primary_power
from memassay.running.experiment import experiment_of
from memassay.running.pipeline import Place, run_experiment
from memassay.running.plan import make_plan
from memassay.stats import (
    Clusters,
    detectable_difference,
    mcnemar_exact,
    mcnemar_power,
    paired_shares,
    question_mean,
    question_share,
    tango,
    wilson,
)

SUITE = '''
from memassay.core.contracts import evidence_metrics
from memassay.core.digest import digest_of
from memassay.core.registry import judges
from memassay.core.types import Corpus, Document, Evidence, Gold, Task, Unit

N = 60


class Silent:
    """Sixty questions about two pages each, all in one pool; the first two share a page."""

    name = "pool"
    data = "generated"

    def identity(self):
        return {"version": 1}

    def corpora(self):
        documents = []
        for number in range(2 * N):
            text = f"Item w{number:03} is kept in room r{number:03}."
            unit = Unit(id=f"p{number}", text=text, span=(0, len(text)))
            documents.append(Document(id=f"p{number}", title=f"p{number}", text=text, units=(unit,)))
        content = [document.model_dump(mode="json") for document in documents]
        return [Corpus(id="pool", documents=tuple(documents), digest=digest_of(content))]

    def tasks(self):
        units = [document.units[0] for document in self.corpora()[0].documents]
        found = []
        for number in range(N):
            first, second = (0, 3) if number == 1 else (2 * number, 2 * number + 1)
            gold = tuple(Evidence(id=units[page].id, text=units[page].text) for page in (first, second))
            found.append(
                Task(
                    id=f"q{number:02}", suite=self.name, scope="pool",
                    cluster="q00" if number == 1 else f"q{number:02}",
                    category="bridge" if number % 2 else "comparison", split="dev" if number < 20 else "test",
                    prompt=f"Where are w{first:03} and w{second:03}?", gold={"original": Gold(evidence=gold)},
                )
            )
        return found

    def judges(self, grading):
        evidence = judges.get("evidence")
        return [evidence(key="original", tokens=grading.tokens, budgets=grading.budgets, ks=grading.ks)]

    def metrics(self, grading):
        return evidence_metrics(grading, "page")

    def sections(self, summary):
        return []


class Pool(Silent):
    design = "independent-binary"


class Alike(Silent):
    design = "clustered"


class Odd(Silent):
    design = "independent-binry"
'''

Run = Callable[..., tuple[Any, Path]]


@pytest.fixture
def tables(tmp_path: Path, toy: str) -> Callable[..., dict[str, Any]]:
    file = tmp_path / "pool.py"
    file.write_text(SUITE, encoding="utf-8")

    def make(suite: str = "Pool", **more: Any) -> dict[str, Any]:
        return {
            "suite": f"{file}:{suite}",
            "memories": {"whole": {"use": toy}, "half": {"use": toy, "keep": 0.5}},
            "tokens": "chars4",
            "budgets": [10, 40],
            "ks": [1, 5],
            "controls": False,
            **more,
        }

    return make


@pytest.fixture
def pool_run(tables: Callable[..., dict[str, Any]], tmp_path: Path) -> Run:
    def run(name: str, **more: Any) -> tuple[Any, Path]:
        folder = tmp_path / "runs" / name
        return run_experiment(experiment_of(tables(**more)), Place(out=folder)), folder

    return run


def scores_of(folder: Path, metric: str) -> tuple[Mapping[str, Any], Clusters]:
    side = scored(folder)
    assert side.tasks is not None
    return {arm: found[metric] for arm, found in side.scores.items()}, Clusters.of([t.cluster for t in side.tasks])


def test_right_or_wrong_is_wilsons_interval_and_a_share_is_the_clustered_mean(pool_run: Run) -> None:
    summary, folder = pool_run("r")
    for arm in ("whole", "half"):
        for metric in ("all@10", "all@40", "any@10", "all@k1", "all@k5"):
            values, clusters = scores_of(folder, metric)
            found = summary["arms"][arm]["metrics"][metric]
            assert found == question_share(values[arm], clusters).model_dump(mode="json")
            assert found["method"].startswith("wilson")
            assert (found["n"], found["clusters"]) == (60, 59)
    values, clusters = scores_of(folder, "rec@10")
    assert 0.5 in values["half"]
    assert summary["arms"]["half"]["metrics"]["rec@10"] == question_mean(values["half"], clusters).model_dump(
        mode="json"
    )
    share = summary["arms"]["half"]["metrics"]["all@40"]
    size = 60**2 / 62
    assert (share["low"], share["high"]) == pytest.approx(wilson(share["value"] * size, size))


def test_splits_and_categories_follow_the_design(pool_run: Run) -> None:
    summary, _ = pool_run("r")
    arm = summary["arms"]["half"]
    for found in (arm["splits"]["dev"]["metrics"]["all@40"], arm["categories"]["bridge"]["all@40"]):
        assert found["method"] == "wilson, few questions"
    assert arm["splits"]["test"]["metrics"]["all@40"]["n"] == 40


def test_two_arms_are_tangos_interval_and_mcnemars_test(pool_run: Run) -> None:
    primary = {"metric": "all@40", "a": "whole", "b": "half", "split": "test"}
    summary, folder = pool_run("r", primary=primary)
    rows = {(row["metric"], row["split"]): row for row in summary["comparisons"]}
    row = rows["all@40", "test"]  # no joined question among these forty
    assert (row["test"], row["diff"]["method"]) == ("exact McNemar", "tango")
    assert row["losses"] == 0
    assert row["p"] == pytest.approx(mcnemar_exact(row["wins"], 0))
    assert (row["diff"]["low"], row["diff"]["high"]) == pytest.approx(tango(row["wins"], 0, 40))
    assert (row["primary"], row["verdict"]) == (True, "better")
    assert row["reason"].startswith("exact McNemar p")
    everything = rows["all@40", "all"]
    assert everything["test"] == "exact sign-flip"  # two questions share a page
    assert everything["verdict"] == "exploratory"
    values, clusters = scores_of(folder, "all@40")
    expected = paired_shares(values["whole"], values["half"], clusters)
    assert everything["diff"] == expected.diff.model_dump(mode="json")
    assert everything["p"] == expected.p
    assert all(r["p_adjusted"] is not None for r in summary["comparisons"])


def test_the_pool_is_named_in_the_notes_and_few_clusters_are_too(pool_run: Run) -> None:
    summary, _ = pool_run("r")
    assert [n for n in summary["notes"] if "given this pool" in n]
    few, _ = pool_run("few", limit=4)
    assert [n for n in few["notes"] if "McNemar's exact test can never reach" in n]
    alike, _ = pool_run("alike", suite="Alike", limit=4)
    assert [n for n in alike["notes"] if "the sign-flip test can never reach" in n]
    assert not [n for n in alike["notes"] if "given this pool" in n]


@pytest.mark.parametrize("suite", ["Alike", "Silent"])
def test_the_default_is_clustered(pool_run: Run, suite: str) -> None:
    summary, folder = pool_run("r", suite=suite, limit=30)
    values, clusters = scores_of(folder, "all@40")
    found = summary["arms"]["half"]["metrics"]["all@40"]
    assert found == question_mean(values["half"], clusters).model_dump(mode="json")
    assert {row["test"] for row in summary["comparisons"]} == {"sign-flip"}


def test_the_design_is_part_of_the_identity(tables: Callable[..., dict[str, Any]]) -> None:
    one, other = (make_plan(experiment_of(tables(suite))) for suite in ("Pool", "Alike"))
    assert (one.identity["design"], other.identity["design"]) == ("independent-binary", "clustered")


def test_an_unknown_design_is_one_sentence(tables: Callable[..., dict[str, Any]]) -> None:
    with pytest.raises(UsageError, match=r"'independent-binry'.*Did you mean 'independent-binary'"):
        make_plan(experiment_of(tables("Odd")))


def test_two_runs_are_compared_by_the_design_and_the_gate_still_works(pool_run: Run, tmp_path: Path) -> None:
    _, folder = pool_run("r")
    side = scored(folder)
    assert side.design == "independent-binary"
    same = compare(side, side, "whole", None, gate_of("no-worse"))
    assert same["gate"]["verdict"] == "passed"
    assert (same["n"], same["clusters"]) == (60, 59)
    save_baseline(side, tmp_path / "b.json", None)
    worse = compare(side, scored(tmp_path / "b.json"), "half", "whole", gate_of("no-worse"))
    assert worse["gate"]["verdict"] == "failed"
    row = next(r for r in worse["comparisons"] if r["metric"] == "all@40")
    assert (row["test"], row["diff"]["method"]) == ("exact sign-flip", "tango")
    clustered = compare(dataclasses.replace(side, design="clustered"), side, "half", "whole", None)
    assert {r["test"] for r in clustered["comparisons"]} == {"sign-flip"}


def test_the_plan_shows_what_mcnemars_test_can_find(tables: Callable[..., dict[str, Any]]) -> None:
    independent = estimate_of(make_plan(experiment_of(tables())))
    clustered = estimate_of(make_plan(experiment_of(tables("Alike"))))
    assert independent["clusters"] == clustered["clusters"] == 59
    assert independent["detectable difference"] > clustered["detectable difference"]
    sizes = np.r_[2, np.ones(58)]
    assert clustered["detectable difference"] == pytest.approx(detectable_difference(sizes).detectable, abs=1e-4)
    few = estimate_of(make_plan(experiment_of(tables(limit=5))))
    assert few["detectable difference"] is None


def test_a_primary_without_power_is_called_exploratory_beforehand_and_in_the_notes(
    tables: Callable[..., dict[str, Any]], pool_run: Run
) -> None:
    primary = {"metric": "all@40", "a": "whole", "b": "half"}
    weak = estimate_of(make_plan(experiment_of(tables(primary=primary))))["primary"]
    assert weak.startswith("exploratory: a true difference of 0.1 would get a verdict in ")
    assert f"{mcnemar_power(0.1, np.r_[2, np.ones(58)]):.0%}" in weak
    assert "primary" not in estimate_of(make_plan(experiment_of(tables())))
    summary, _ = pool_run("r", primary=primary)
    assert [note for note in summary["notes"] if note == f"The primary is {weak}."]


def test_a_primary_with_power_is_not(tables: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    given = tables(primary={"metric": "all@40", "a": "whole", "b": "half"})
    (tmp_path / "pool.py").write_text(SUITE.replace("N = 60", "N = 300"), encoding="utf-8")
    plan = make_plan(experiment_of(given))
    assert primary_power(plan) == pytest.approx(mcnemar_power(0.1, np.r_[2, np.ones(298)]))
    assert estimate_of(plan)["primary"].startswith("a true difference of 0.1 would get a verdict in 9")


@pytest.mark.parametrize(("named", "kept"), [("dev", "dev"), ("all", "all"), (None, "all")])
def test_one_split_that_holds_every_task_is_compared_once(
    tables: Callable[..., dict[str, Any]], tmp_path: Path, named: str | None, kept: str
) -> None:
    given = tables()
    (tmp_path / "pool.py").write_text(SUITE.replace('"dev" if number < 20 else "test"', '"dev"'), encoding="utf-8")
    if named:
        given["primary"] = {"metric": "all@40", "a": "whole", "b": "half", "split": named}
    summary = run_experiment(experiment_of(given), Place(out=tmp_path / "runs" / "r"))
    assert [(r["metric"], r["split"]) for r in summary["comparisons"]] == [("all@10", kept), ("all@40", kept)]
    assert [r["metric"] for r in summary["comparisons"] if r["primary"]] == (["all@40"] if named else [])


def test_the_summary_has_the_suites_words_for_its_metrics(pool_run: Run) -> None:
    summary, _ = pool_run("r", limit=4)
    assert summary["titles"]["any@40"] == "at least one gold page within 40 tokens"
    assert summary["titles"]["all@k5"] == "every gold page in the first 5 passages"


def test_few_joined_questions_name_the_test_that_was_made(pool_run: Run, tmp_path: Path) -> None:
    (tmp_path / "pool.py").write_text(SUITE.replace("N = 60", "N = 5"), encoding="utf-8")
    summary, _ = pool_run("r")
    assert {r["test"] for r in summary["comparisons"] if r["split"] == "all"} == {"exact sign-flip"}
    (note,) = (n for n in summary["notes"] if "can never reach" in n)
    assert note.startswith("4 clusters: the exact sign-flip test over joined questions")
