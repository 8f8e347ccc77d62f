"""The demo answers a sample too; the whole of it runs in tests/acceptance."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kit import Cli
from memassay.cli import demo


def test_one_sample_is_answered_by_the_reader_that_needs_no_model() -> None:
    experiment = demo.answers_experiment()
    assert (experiment.stage, experiment.agent, experiment.suite) == ("answer", "extractive", "locomo")
    assert list(experiment.memories) == ["lexical", "files"]
    assert experiment.budgets == demo.SAMPLE_BUDGETS
    assert demo.demo_experiment("locomo").stage == "retrieval"


def test_the_answers_are_scored_reported_and_linked(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    few = demo.answers_experiment().model_copy(update={"limit": 8, "controls": False})
    monkeypatch.setattr(demo, "answers_experiment", lambda: few)
    monkeypatch.setattr(demo, "suites_with_sample", list)
    ran = cli("demo", "--out", "shown", "--json")
    assert ran.code == 0, ran.err
    summary = ran.json["locomo-answers"]
    assert summary["agent"]["name"] == "extractive" and summary["model"] == "none"
    for arm in summary["arms"].values():
        assert arm["usage"]["answers"]["n"] == 8
        for metric in ("f1", "exact_match", "bleu1", "locomo_f1"):
            assert arm["metrics"][metric]["n"] == 8
    again = cli("demo", "--out", "shown")
    assert "LOCOMO: answers by extractive" in again.out
    assert "report of locomo-answers: shown/locomo-answers/report.html" in again.out
    shown = Path("shown")
    assert 'href="locomo-answers/report.html"' in (shown / "report.html").read_text("utf-8")
    assert 'id="answers"' in (shown / "locomo-answers/report.html").read_text("utf-8")
    assert json.loads((shown / "locomo-answers/summary.json").read_text("utf-8")) == summary
