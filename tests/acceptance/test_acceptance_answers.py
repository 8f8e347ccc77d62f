"""The stable interface of answering: one command, a summary, and scores that anyone can compute from the folder."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from acceptance_tools import answers, cells, equal_runs, judgements, tree

from answers_kit import KINDS, golds, jsonl, scores
from kit import Cli, Ran, small_conversation

SMALL = ["--tokens", "chars4", "--budgets", "400", "--ks", "5", "--no-controls"]
"""What makes a run of small data quick; none of it concerns answers."""

Key = tuple[str, str, int]


def talk(folder: Path, questions: Sequence[Mapping[str, Any]], name: str = "talk.json") -> Path:
    """A file of one small conversation with these questions; category 4 and the first turn's evidence by default."""
    base = small_conversation(0)
    base["qa"] = [{"category": 4, "evidence": ["D1:1"], **question} for question in questions]
    path = folder / name
    path.write_text(json.dumps([base]), encoding="utf-8")
    return path


def replies(folder: Path, tasks: Mapping[str, Any], default: str = "", name: str = "replies.json") -> list[str]:
    """The flags of a scripted agent that says these things."""
    path = folder / name
    path.write_text(json.dumps({"tasks": tasks, "default": default}), encoding="utf-8")
    return ["--agent", "scripted", "--set", f"agent.file={path}"]


def run(data: Path, out: str | Path, *more: str | Path) -> list[str | Path]:
    """``run locomo`` over a small file, with JSON."""
    return ["run", "locomo", "--data", data, "--out", out, *SMALL, *more, "--json"]


def refusal(ran: Ran) -> str:
    """The sentence of a refusal; only the estimate of the run may stand before it."""
    assert "Traceback" not in ran.err + ran.out
    last = [line for line in ran.err.splitlines() if line.strip()][-1]
    assert last.startswith("memassay: "), last
    return last


def records(folder: Path) -> list[dict[str, Any]]:
    """Every attempt of a run, in the order of its files."""
    return jsonl(*sorted(folder.glob("answers-*.jsonl")))


def kind(record: Mapping[str, Any]) -> str:
    return KINDS.get(record["status"], "memory")


def counted(folder: Path) -> dict[Key, dict[str, Any]]:
    """By task, arm and repetition: the first attempt that was answered or that the memory failed, else the last."""
    attempts: dict[Key, list[dict[str, Any]]] = defaultdict(list)
    for record in records(folder):
        cell = record["cell"]
        attempts[cell["task"], cell["arm"], cell["repetition"]].append(record)
    return {
        key: next((r for r in tried if kind(r) in ("answered", "memory")), tried[-1]) for key, tried in attempts.items()
    }


def said(record: Mapping[str, Any]) -> str:
    """The last text of a record."""
    return next((step["text"] for step in reversed(record["steps"]) if step["text"] is not None), "")


# -- the interface that the checks call ----------------------------------------------------------------------------


def verify(summary: dict[str, Any], folder: Path, arm: str, n: int) -> None:
    """Every score of an arm without failures equals the one computed here."""
    gold = golds(folder)
    told = {task: said(record) for (task, name, _), record in counted(folder).items() if name == arm and task in gold}
    assert len(told) == n == summary["arms"][arm]["n"]
    for metric in ("f1", "exact_match", "bleu1"):
        estimate = summary["arms"][arm]["metrics"][metric]
        assert estimate["n"] == n
        assert estimate["value"] == pytest.approx(mean(scores(text, gold[task])[metric] for task, text in told.items()))
        assert "low" in estimate


@pytest.mark.data
def test_the_command_of_the_checks(cli: Cli, locomo_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = cli(
        *("run", "locomo", "--arm", "lexical/dossier", "--agent", "extractive", "--conversations", "conv-26"),
        *("--limit", "20", "--data", locomo_file, "--out", out, "--json"),
    )
    assert ran.code == 0, ran.err
    summary = ran.json
    assert json.loads((out / "summary.json").read_text()) == summary
    assert set(summary["arms"]) == {"lexical/dossier"}
    verify(summary, out, "lexical/dossier", 20)
    arm = summary["arms"]["lexical/dossier"]
    assert (arm["data"], arm["model"]) == ("real", "none"), "no model answered, whatever the data"
    assert arm["failures"] == {"memory": 0, "provider": 0, "harness": 0}
    assert arm["metrics"]["f1"]["value"] > 0.05, "it reads the dossier"
    assert "locomo_f1" in arm["metrics"], "the official score stands beside"
    assert all(check["passed"] for check in summary["controls"].values()), "controls run in every run"
    for name in ("manifest.json", "tasks.jsonl", "summary.json", "summary.md", "report.html"):
        assert (out / name).is_file()
    assert "answers: 20" in ran.err, "the estimate comes first, on standard error"


@pytest.mark.data
@pytest.mark.slow
def test_the_command_of_the_checks_is_the_same_in_every_process(
    cli_process: Cli, locomo_file: Path, tmp_path: Path
) -> None:
    for name, seed, workers in (("a", "1", "1"), ("b", "77", "7")):
        ran = cli_process(
            *("run", "locomo", "--arm", "lexical/dossier", "--agent", "extractive", "--conversations", "conv-26"),
            *("--limit", "20", "--data", locomo_file, "--out", tmp_path / name / "r", "--json", "--workers", workers),
            env={"PYTHONHASHSEED": seed},
        )
        assert ran.code == 0, ran.err
    equal_runs(tmp_path / "a" / "r", tmp_path / "b" / "r")


def test_a_finished_run_is_summed_up_again_and_nothing_is_asked(
    cli: Cli, workplace: Path, small_file: Callable[..., Path]
) -> None:
    args = run(small_file(2, 4), "runs/r", "--arm", "lexical/dossier", "--agent", "extractive")
    first = cli(*args)
    assert first.code == 0, first.err
    folder = workplace / "runs" / "r"
    before = (answers(folder), judgements(folder))
    again = cli(*args)
    assert {**again.json, "test_reads": 0} == {**first.json, "test_reads": 0}
    assert (answers(folder), judgements(folder)) == before
    assert set(cells(folder).values()) == {1}


@pytest.mark.parametrize(
    ("flags", "field"),
    [
        (["--agent", "scripted", "--set", "agent.text=another"], "agent"),
        (["--agent", "scripted", "--set", "agent.text=answer 1", "--set", "agent.cost_usd=1"], "agent"),
        (["--agent", "scripted", "--set", "agent.text=answer 1", "--repetitions", "2"], "repetitions"),
        (["--agent", "extractive"], "agent"),
        (["--stage", "retrieval"], "stage"),
        (["--agent", "scripted", "--set", "agent.text=answer 1", "--arm", "files/dossier"], "arms"),
    ],
)
def test_what_changes_an_answer_is_guarded_by_name(
    flags: list[str], field: str, cli: Cli, workplace: Path, small_file: Callable[..., Path]
) -> None:
    base = run(small_file(1, 2), "r", "--arm", "lexical/dossier")
    assert cli(*base, "--agent", "scripted", "--set", "agent.text=answer 1").code == 0
    before = tree(workplace)
    ran = cli(*base, *flags)
    assert ran.code == 2, ran.out
    assert field in refusal(ran)
    assert tree(workplace) == before


def test_the_replies_of_the_agent_are_guarded_by_digest(cli: Cli, tmp_path: Path) -> None:
    data = talk(tmp_path, [{"question": "Where?", "answer": "Oslo"}])
    assert cli(*run(data, "r", "--arm", "lexical/dossier", *replies(tmp_path, {}, "Oslo"))).code == 0
    ran = cli(*run(data, "r", "--arm", "lexical/dossier", *replies(tmp_path, {}, "Bergen")))
    assert ran.code == 2
    assert "agent" in refusal(ran)


# -- the scores ----------------------------------------------------------------------------------------------------

PAIRS = [
    # category, answer, gold, the official score of LOCOMO
    (4, "A shell necklace", "The shell necklace", 1.0),  # articles go
    (4, "7 May, 2023", "7 May 2023", 1.0),
    (2, "May 2023", "7 May 2023", 0.8),
    (4, "", "Oslo", 0.0),
    (4, "red red red", "red", 0.5),  # a word counts as often as it stands there
    (3, "yes", "yes; she said so twice", 1.0),  # open-domain: what stands before the semicolon
    (1, "Oslo, Rome", "Rome, Paris", 0.5),  # multi-hop: the best of the pieces, for each piece of the gold
    (4, "painted", "painting", 1.0),  # stems
]


def test_the_scores_of_known_answers(cli: Cli, tmp_path: Path) -> None:
    asked = [{"question": f"Question {n}?", "answer": gold, "category": c} for n, (c, _, gold, _) in enumerate(PAIRS)]
    data = talk(tmp_path, asked)
    told = {f"conv-900/q{n}": pair[1] for n, pair in enumerate(PAIRS)}
    out = tmp_path / "r"
    ran = cli(*run(data, out, "--arm", "lexical/dossier", *replies(tmp_path, told)))
    assert ran.code == 0, ran.err
    verify(ran.json, out, "lexical/dossier", len(PAIRS))
    found = {j["subjects"][0]["task"]: j["scores"] for j in jsonl(out / "judgements" / "answers.jsonl")}
    for n, (_, answer, gold, official) in enumerate(PAIRS):
        scored = found[f"conv-900/q{n}"]
        assert scored["locomo_f1"] == pytest.approx(official), (answer, gold)
        assert {m: scored[m] for m in ("f1", "exact_match", "bleu1")} == pytest.approx(scores(answer, gold))
    # The units that the facts give.
    assert (found["conv-900/q0"]["f1"], found["conv-900/q0"]["bleu1"]) == pytest.approx((2 / 3, 2 / 3))
    assert [found["conv-900/q1"][m] for m in ("exact_match", "f1", "bleu1")] == [0, 1, 1]


def test_hotpotqa_is_answered_and_has_its_official_scores_beside(cli: Cli, workplace: Path) -> None:
    ran = cli(
        *("run", "hotpotqa", "--sample", "--arm", "lexical/dossier", "--agent", "extractive", "--limit", "6"),
        *("--out", "r", *SMALL, "--json"),
    )
    assert ran.code == 0, ran.err
    assert {"f1", "exact_match", "bleu1", "hotpot_em", "hotpot_f1"} <= set(
        ran.json["arms"]["lexical/dossier"]["metrics"]
    )
    verify(ran.json, workplace / "r", "lexical/dossier", 6)
    assert ran.json["arms"]["lexical/dossier"]["data"] == "generated"
