"""The suite's settings, and a run over a folder of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memassay.core.contracts import Grading
from memassay.core.errors import UsageError
from memassay.running.experiment import Experiment, experiment_of
from memassay.running.pipeline import Place, run_experiment
from memassay.running.plan import make_plan
from memassay.suites.canary.suite import Canary

GRADING = Grading(tokens="o200k_base", budgets=(1000, 2000), ks=())
PLACES = ("attic", "cellar", "garage", "kitchen", "library", "pantry")


@pytest.fixture
def own(tmp_path: Path) -> Callable[..., Experiment]:
    """An experiment over six pages of which each says what its rule is and was."""
    docs = tmp_path / "docs"
    docs.mkdir()
    rows: list[dict[str, Any]] = []
    for number, place in enumerate(PLACES):
        text = f"# The {place}\n\nThe {place} closes at {number + 14}:30. Until March it closed at {number + 14}:15.\n"
        (docs / f"{place}.md").write_text(text, encoding="utf-8")
        rows.append(
            {
                "query": f"When does the {place} close?",
                "required": [{"text": f"{number + 14}:30", "doc": f"{place}.md"}],
                "forbidden": [{"text": f"{number + 14}:15", "doc": f"{place}.md", "until": "2026-03-01"}],
            }
        )
    rows.append({"query": "Who owns the house?"})
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")

    def made(**given: Any) -> Experiment:
        options = {"docs": str(docs), "questions": str(path), **given.pop("options", {})}
        memories = {"lexical": {"use": "lexical", "role": "baseline"}, "files": {"use": "files"}}
        about = {"suite": "canary", "options": options, "memories": memories, "budgets": [60, 2000], **given}
        return experiment_of(about)

    return made


# -- settings ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ({"margin": 10.0}, "The canary's margin is 10; give a gap from 0 to below 1, such as 0.1 for 10 points."),
        ({"margin": -0.1}, "The canary's margin is -0.1; give "),
        ({"ceiling": 0.0}, "The canary's ceiling is 0; give a share above 0 and at most 1, such as 0.1."),
        ({"undetermined": 1.5}, "The canary's undetermined is 1.5; give a share from 0 to 1, such as 0.1."),
        ({"level": 95.0}, "The canary's level is 95; give a level from 0.5 to below 1, such as 0.95."),
        ({"rule": "seed"}, "The canary has no rule 'seed'."),
    ],
)
def test_a_wrong_setting_is_refused_in_one_sentence(setting: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        Canary(**setting)
    assert says in str(caught.value) and "\n" not in str(caught.value)


def test_a_wrong_precedence_is_refused(own: Callable[..., Experiment]) -> None:
    with pytest.raises(UsageError, match="'fabrication' or 'coverage'"):
        make_plan(own(options={"precedence": "facts"}))


def test_a_budget_that_the_run_does_not_have_is_refused_before_anything_is_built(
    own: Callable[..., Experiment], tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        run_experiment(own(budgets=[500, 1000], options={"budget": 2000}), Place(out=tmp_path / "run"))
    assert str(caught.value) == (
        "The canary decides at 2000 tokens, and the budgets of the run are 500, 1000; add 2000 to --budgets, or decide "
        "at one of them with --set canary.budget=1000."
    )
    assert not (tmp_path / "run").exists()
    assert make_plan(own(budgets=[500, 1000], options={"budget": 500})).suite.name == "canary"


@pytest.mark.parametrize(("budgets", "decides"), [([500, 1000], 1000), ([60, 2000, 4000], 2000)])
def test_nobody_said_where_it_decides(own: Callable[..., Experiment], budgets: list[int], decides: int) -> None:
    """At 2,000, or at the largest of the run's budgets; it stands in the identity, so that it is fixed beforehand."""
    settings: Any = make_plan(own(budgets=budgets)).identity["suite_settings"]
    assert settings["budget"] == decides


def test_the_settings_stand_in_the_identity_and_reach_labels_and_rule() -> None:
    suite = Canary(precedence="coverage", margin=0.2, ceiling=0.05, undetermined=0.3, level=0.9, documents=60)
    found = suite.identity()
    assert found["precedence"] == "coverage"
    assert found["thresholds"] == {"margin": 0.2, "ceiling": 0.05, "undetermined": 0.3, "level": 0.9}
    evidence, labels = suite.judges(GRADING)
    assert labels.config["precedence"] == "coverage"
    assert evidence.config["controls"] == {"judge": "labels", "version": 2, "precedence": "coverage"}
    concluded = suite.conclude([])
    assert concluded["thresholds"] == found["thresholds"] and concluded["level"] == 0.9


def test_native_sizes_have_a_ceiling_of_their_own_and_are_part_of_the_identity() -> None:
    suite = Canary(native=True)
    assert suite.native and suite.identity()["budget"] == 32_000 and suite.identity()["native"] is True
    with pytest.raises(UsageError, match="add 32000 to --budgets"):
        suite.judges(GRADING)
    assert Canary(native=True, budget=2000).identity()["budget"] == Canary().identity()["budget"] == 2000


# -- a run ---------------------------------------------------------------------------------------------------------


def test_a_run_proves_itself_with_stale_gold_and_itself(own: Callable[..., Experiment], tmp_path: Path) -> None:
    summary = run_experiment(own(), Place(out=tmp_path / "run"))
    controls = summary["controls"]
    assert {name: controls[name]["passed"] for name in ("stale", "gold against empty", "A against A")} == dict.fromkeys(
        ("stale", "gold against empty", "A against A"), True
    )
    assert [(row["arm"], row["value"]) for row in controls["A against A"]["checks"]] == [("files", 0), ("lexical", 0)]
    assert controls["gold against empty"]["checks"][0]["value"] == pytest.approx(6 / 7)
    assert not any(why.startswith("control") for why in summary["publishable"]["reasons"])
    assert summary["conclusion"]["questions"]["without_gold"] == 1


def test_without_old_values_there_is_no_arm_for_them(own: Callable[..., Experiment], tmp_path: Path) -> None:
    path = tmp_path / "plain.jsonl"
    path.write_text('{"query": "When does the attic close?", "answer": "14:30", "doc": "attic.md"}\n', encoding="utf-8")
    plan = make_plan(own(options={"questions": str(path)}))
    assert "stale" not in [arm.name for arm in plan.arms]
    table = tmp_path / "table.jsonl"
    table.write_text('{"old": "14:15", "new": "14:30", "date": "2026-03-01", "doc": "attic.md"}\n', encoding="utf-8")
    plan = make_plan(own(options={"questions": str(path), "supersessions": str(table)}))
    assert "stale" in [arm.name for arm in plan.arms] and plan.tasks[0].payload["stale"] == [["14:15", ""]]


def test_a_wrong_control_makes_the_run_unpublishable(
    own: Callable[..., Experiment], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memassay.suites.canary.grading.outcome_of", lambda found, question: 0.0)
    summary = run_experiment(own(), Place(out=tmp_path / "run"))
    assert not summary["publishable"]["value"]
    assert (
        "control gold against empty failed: outcome@2000: the weighted gap of the gold over nothing is above 0: 0"
        in summary["publishable"]["reasons"]
    )


TALKER = """
class Talker:
    \'\'\'Gives every page, one passage each, the gold last.\'\'\'

    {native}

    def build(self, corpus, place, context):
        pass

    def open(self, ref):
        return self

    def retrieve(self, query):
        from memassay.core.types import Passage

        asked = next(p for p in PLACES if p in query.text) if "close" in query.text else "attic"
        order = sorted(PLACES, key=lambda p: p == asked)
        return [Passage(text=f"The {p} closes at {PLACES.index(p) + 14}:30.", doc_ids=(f"{p}.md",)) for p in order]


PLACES = {places}
"""


@pytest.mark.parametrize(("native", "correct"), [("native = 3", 0), ("native = None", 6), ("", 6)])
def test_a_memory_gives_its_native_size(
    own: Callable[..., Experiment], tmp_path: Path, native: str, correct: int
) -> None:
    path = tmp_path / "talker.py"
    path.write_text(TALKER.replace("{native}", native).replace("{places}", repr(PLACES)), encoding="utf-8")
    experiment = own(
        options={"native": True},
        budgets=[60, 32_000],
        memories={"talker": {"use": f"{path}:Talker"}, "lexical": {"use": "lexical", "role": "baseline"}},
    )
    summary = run_experiment(experiment, Place(out=tmp_path / "run"))
    labels = {one["memory"]: one["labels"] for one in summary["conclusion"]["memories"]}
    assert labels["talker"].get("correct", 0) == correct
    assert "All at native sizes within 32,000 tokens, on 7 of 7 questions" in summary["conclusion"]["said"][0]
    assert all(one["passed"] for name, one in summary["controls"].items() if name in ("oracle", "stale", "A against A"))
