"""The code on the documentation's pages, run."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from plugins_pages import blocks, named_files, python_file, table_below

from memassay.core import registry

Write = Callable[[str, str], str]
Cli = Callable[..., Any]


def test_the_memory_of_about_forty_lines(cli: Cli, write: Write) -> None:
    source = python_file("extending.md", "mymem.py")
    assert 30 <= len([line for line in source.splitlines() if line.strip()]) <= 45
    write("mymem.py", source)
    # The command of the page, on fewer questions.
    command = ["run", "custom", "--sample", "--memory", "./mymem.py:MyMemory,files", "--limit", "30", "--json"]
    ran = cli(*command, "--out", "runs/mine")
    assert ran.code == 0, ran.err
    arms = ran.json["arms"]
    assert arms["MyMemory"]["failures"] == {"memory": 0, "provider": 0, "harness": 0}
    assert arms["MyMemory"]["options"] == {"top_k": 200, "titles": True}
    assert arms["MyMemory"]["metrics"]["all@2000"]["value"] > arms["files"]["metrics"]["all@2000"]["value"]
    assert ran.json["controls"]["marker"]["passed"]


def test_the_experiment_file_runs_one_class_under_two_names(cli: Cli, write: Write, workplace: Path) -> None:
    write("mymem.py", python_file("extending.md", "mymem.py"))
    (text,) = blocks("extending.md", "toml")
    assert set(tomllib.loads(text)["memories"]) == {"few", "many"}
    write("experiment.toml", text)
    ran = cli("run", "experiment.toml", "--limit", "12", "--json", "--out", "runs/two")
    assert ran.code == 0, ran.err
    few, many = ran.json["arms"]["few"], ran.json["arms"]["many"]
    assert (few["options"]["top_k"], many["options"]["top_k"]) == (5, 200)
    assert few["usage"]["tokens_per_dossier"]["p50"] < many["usage"]["tokens_per_dossier"]["p50"]


def test_the_suite_and_the_judge(
    write: Write, workplace: Path, monkeypatch: pytest.MonkeyPatch, towns: tuple[Path, Path]
) -> None:
    from memassay.running.experiment import experiment_of
    from memassay.running.pipeline import Place, rejudge, run_experiment
    from memassay.runs.folder import RunFolder

    judge = write("first_passage.py", python_file("extending.md", "first_passage.py"))
    suite = write("towns.py", python_file("extending.md", "towns.py"))
    # Under the name that an installed package would give it.
    known = {**registry.judges._loaded, "first-passage": registry.judges.get(f"{judge}:FirstPassage")}
    monkeypatch.setattr(registry.judges, "_loaded", known)
    tables = {"suite": f"{suite}:Towns", "memories": {"lexical": {"use": "lexical"}}, "tokens": "chars4"}
    summary = run_experiment(experiment_of(tables), Place(out=workplace / "runs" / "towns"))
    assert summary["arms"]["lexical"]["n"] == 6
    assert summary["arms"]["lexical"]["metrics"]["all@1000"]["value"] == 1.0
    assert summary["controls"]["oracle"]["passed"] and summary["controls"]["marker"]["passed"]
    run = RunFolder(workplace / "runs" / "towns")
    verdicts = [verdict for verdict in run.judgements("first-passage").values() if verdict.subjects[0].arm == "lexical"]
    assert len(verdicts) == 6 and all(verdict.scores == {"answer@k1": 1.0} for verdict in verdicts)
    assert rejudge(run) == summary


def test_the_five_minutes_of_the_suite_custom(cli: Cli, write: Write) -> None:
    files = named_files("suites/custom.md")
    assert set(files) == {"handbook/time-off.md", "handbook/travel/trains.md", "questions.jsonl"}
    for name, text in files.items():
        write(name, text)
    command = ["run", "custom", "--docs", "handbook", "--questions", "questions.jsonl", "--memory", "files,lexical"]
    ran = cli(*command, "--json", "--out", "runs/first")
    assert ran.code == 0, ran.err
    arm = ran.json["arms"]["lexical"]
    assert arm["n"] == 4 and arm["metrics"]["all@1000"]["value"] == 1.0
    assert arm["metrics"]["all@1000"]["clusters"] == 2
    assert set(arm["categories"]) == {"general", "travel"}
    shown = cli("show", "runs/first", "q4")
    assert shown.code == 0 and "night train" in shown.out


@pytest.mark.parametrize(
    ("line", "change"),
    [
        (2, {"evidence": ["may be kept until end of March"]}),
        (3, {"catgory": "travel"}),
        (4, {"id": "q1"}),
    ],
)
def test_the_messages_of_the_page_are_the_real_ones(cli: Cli, write: Write, line: int, change: dict[str, Any]) -> None:
    files = named_files("suites/custom.md")
    rows = files["questions.jsonl"].splitlines()
    rows[line - 1] = json.dumps(json.loads(rows[line - 1]) | change)
    for name, text in {**files, "questions.jsonl": "\n".join(rows)}.items():
        write(name, text)
    ran = cli("run", "custom", "--docs", "handbook", "--questions", "questions.jsonl", "--memory", "files")
    assert ran.code == 2
    shown = [message for block in blocks("suites/custom.md", "") for message in block.splitlines()]
    assert ran.complaint in shown


def test_every_key_of_the_loader_is_on_the_page() -> None:
    from plugins_pages import ROOT

    from memassay.suites.custom import documents, questions

    page = (ROOT / "docs" / "suites" / "custom.md").read_text(encoding="utf-8")
    assert all(f"`{key}`" in page for key in {*documents._KEYS, *questions._KEYS})


@pytest.mark.parametrize(
    ("suite", "options", "more"),
    [
        ("custom", {}, {}),
        ("hotpotqa", {"links": "titles"}, {"budgets": [250, 500, 1000]}),
    ],
)
def test_the_table_of_a_sample_is_that_of_a_run(
    suite: str, options: dict[str, Any], more: dict[str, Any], tmp_path: Path
) -> None:
    from memassay.running.experiment import experiment_of
    from memassay.running.pipeline import Place, run_experiment

    names, rows = table_below(f"suites/{suite}.md", "## The sample")
    arms = {name: row for name, row in rows.items() if name != "ceiling"}
    tables = {
        "suite": suite,
        "options": {"sample": True, **options},
        "memories": {name: {"use": name} for name in arms},
        "controls": False,
        **more,
    }
    summary = run_experiment(experiment_of(tables), Place(out=tmp_path / "run"))
    metrics = [re.sub(r"(?<=@)(\d+)k$", r"\g<1>000", name) for name in names]
    for name, row in arms.items():
        assert dict(zip(names, row, strict=True)) == {
            shown: f"{summary['arms'][name]['metrics'][metric]['value']:.3f}".removeprefix("0")
            for shown, metric in zip(names, metrics, strict=True)
        }, name
    ceilings = summary["ceilings"]["original"]
    shown = dict(zip(metrics, rows["ceiling"], strict=True))
    assert {metric: float(value) for metric, value in shown.items() if value} == ceilings
