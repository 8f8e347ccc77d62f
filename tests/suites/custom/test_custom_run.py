"""From a folder and a file of questions to a summary, through the pipeline that every suite goes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memassay.core.errors import DataError, GuardError, UsageError
from memassay.running.experiment import experiment_of
from memassay.running.pipeline import Place, rejudge, run_experiment, sections_of
from memassay.runs.folder import RunFolder

Write = Callable[..., Path]

ROWS: list[dict[str, Any]] = [
    {
        "question": "Where is the tea?",
        "evidence": ["Tea is kept in the blue tin."],
        "category": "kitchen",
        "answer": "tin",
    },
    {"question": "Where does the kettle stand?", "evidence": ["tea.md#2"], "category": "kitchen"},
    {"question": "How is the hatch opened?", "evidence": ["The hatch opens with the long pole."]},
    {
        "id": "pump",
        "question": "Where did the pump stand, and where is it now?",
        "evidence": ["stands behind the door, next to the boots", "The pump was moved to the shed."],
        "category": "moves",
    },
    {"question": "Is there a piano?", "category": "kitchen"},
]


def experiment(folder: Path, questions: Path, **more: Any) -> Any:
    return experiment_of(
        {
            "suite": "custom",
            "options": {"docs": str(folder), "questions": str(questions)},
            "memories": {"lexical": {"use": "lexical"}, "files": {"use": "files"}},
            "tokens": "chars4",
            "budgets": [20, 1000],
            "ks": [1, 5],
        }
        | more
    )


def test_from_a_folder_to_a_summary(folder: Path, jsonl: Write, tmp_path: Path) -> None:
    summary = run_experiment(experiment(folder, jsonl(*ROWS)), Place(out=tmp_path / "runs" / "one"))
    assert (summary["suite"], summary["data"], summary["sample"]) == ("custom", "real", False)
    arm = summary["arms"]["lexical"]
    assert arm["n"] == 4 and arm["failures"] == {"memory": 0, "provider": 0, "harness": 0}
    assert arm["metrics"]["all@1000"]["value"] == 1.0
    assert arm["metrics"]["all@1000"]["clusters"] == 3
    assert arm["categories"]["moves"]["n"] == 1 and arm["categories"]["kitchen"]["n"] == 2
    assert summary["controls"]["oracle"]["passed"] and summary["controls"]["empty"]["passed"]
    assert summary["controls"]["marker"]["passed"]
    assert summary["cells"]["counted"] == summary["cells"]["planned"]
    (section,) = sections_of(summary)
    assert "4 questions" in section.text and "3 independent sources" in section.text
    manifest = (tmp_path / "runs" / "one" / "manifest.json").read_text("utf-8")
    assert str(tmp_path) not in manifest


def test_a_run_is_judged_again_without_documents(folder: Path, jsonl: Write, tmp_path: Path) -> None:
    questions = jsonl(*ROWS)
    out = tmp_path / "runs" / "one"
    first = run_experiment(experiment(folder, questions), Place(out=out))
    shutil.rmtree(folder)
    questions.unlink()
    assert rejudge(RunFolder(out)) == first


def test_a_changed_document_or_question_is_refused(folder: Path, jsonl: Write, tmp_path: Path) -> None:
    questions = jsonl(*ROWS)
    place = Place(out=tmp_path / "runs" / "one")
    run_experiment(experiment(folder, questions), place)
    run_experiment(experiment(folder, questions), place)
    (folder / "tea.md").write_text((folder / "tea.md").read_text("utf-8") + "\nOnce more.\n", encoding="utf-8")
    with pytest.raises(GuardError, match="documents"):
        run_experiment(experiment(folder, questions), place)


def test_a_category_and_a_scope_can_be_chosen(jsonl: Write, tmp_path: Path) -> None:
    documents = jsonl(
        {"id": "a", "scope": "first", "text": "The lamp is green.\n\nThe door is red."},
        {"id": "a", "scope": "second", "text": "The lamp is yellow.\n\nThe door is blue."},
        name="docs.jsonl",
    )
    questions = jsonl(
        {"question": "Which colour is the lamp?", "scope": "first", "evidence": ["a#1"], "category": "lamps"},
        {"question": "Which colour is the lamp?", "scope": "second", "evidence": ["a#1"], "category": "lamps"},
        {"question": "Which colour is the door?", "scope": "second", "evidence": ["a#2"], "category": "doors"},
    )
    chosen = experiment(documents, questions, scopes=["second"], categories=["Lamps"])
    summary = run_experiment(chosen, Place(out=tmp_path / "runs" / "one"))
    assert summary["arms"]["lexical"]["n"] == 1
    whole = run_experiment(experiment(documents, questions), Place(out=tmp_path / "runs" / "two"))
    assert whole["arms"]["lexical"]["n"] == 3
    assert whole["arms"]["lexical"]["metrics"]["all@1000"]["value"] == 1.0
    with pytest.raises(UsageError, match="Unknown category 'lampz'"):
        run_experiment(experiment(documents, questions, categories=["lampz"]), Place(out=tmp_path / "runs" / "three"))


def test_questions_without_any_evidence_have_no_number_and_say_why(folder: Path, jsonl: Write, tmp_path: Path) -> None:
    summary = run_experiment(experiment(folder, jsonl({"question": "Why?"})), Place(out=tmp_path / "runs" / "one"))
    estimate = summary["arms"]["lexical"]["metrics"]["all@1000"]
    assert estimate["value"] is None and estimate["reason"]
    assert "No question names evidence" in sections_of(summary)[0].text


def test_gold_that_quotes_the_end_of_a_long_unit_is_not_above_its_ceiling(jsonl: Write, tmp_path: Path) -> None:
    """The oracle shows what was quoted: a memory with finer passages than the units must not beat it."""
    filler = " ".join(f"Sentence number {n} says nothing." for n in range(60))
    documents = jsonl(
        {"text": f"{filler} The lamp is green.", "units": [f"{filler} The lamp is green."]}, name="d.jsonl"
    )
    questions = jsonl({"question": "Which colour has the lamp?", "evidence": ["The lamp is green."]})
    summary = run_experiment(experiment(documents, questions), Place(out=tmp_path / "runs" / "one"))
    assert summary["ceilings"]["original"] == {"all@20": 1.0, "all@1000": 1.0}
    assert summary["controls"]["oracle"]["passed"]


def test_a_wrong_file_is_refused_before_anything_is_written(folder: Path, jsonl: Write, tmp_path: Path) -> None:
    questions = jsonl(ROWS[0], {"question": "?", "evidence": ["Tea is kept in the red tin."]})
    with pytest.raises(
        DataError, match=r"questions\.jsonl, line 2: .*closest passage is 'Tea is kept in the blue tin\.'"
    ):
        run_experiment(experiment(folder, questions), Place(out=tmp_path / "runs" / "one"))
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow  # test_acceptance_suites.py asks the same of every sample, with less room between them
def test_the_sample_tells_memories_apart(tmp_path: Path) -> None:
    """Grep, BM25 and the oracle must differ where a budget is tight, or the sample shows nothing."""
    chosen = experiment_of(
        {
            "suite": "custom",
            "options": {"sample": True},
            "memories": {"files": {"use": "files"}, "lexical": {"use": "lexical"}},
            "budgets": [250, 1000, 2000],
        }
    )
    summary = run_experiment(chosen, Place(out=tmp_path / "runs" / "one"))
    assert summary["data"] == "generated" and not summary["publishable"]["value"]
    assert all(control["passed"] for control in summary["controls"].values()), json.dumps(summary["controls"])
    for budget in (250, 1000, 2000):
        files, lexical = (summary["arms"][arm]["metrics"][f"all@{budget}"]["value"] for arm in ("files", "lexical"))
        assert files + 0.1 < lexical < summary["ceilings"]["original"][f"all@{budget}"] - 0.05
