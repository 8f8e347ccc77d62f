"""What ``memassay show`` finds in a run folder."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from explained import BEACH, BUDGETS, FILLER, TURTLE, answer, dossier, task

from memassay.core.errors import UnknownName
from memassay.core.types import Answer, CellKey, Judgement, Status, Step
from memassay.judging.evidence import EvidenceJudge
from memassay.reporting import explain, missed, print_explanation
from memassay.runs.folder import RunFolder


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    run = RunFolder(tmp_path / "run")
    arms = {"files": {"role": "baseline"}, "lexical": {"role": "contender"}, "oracle": {"role": "control"}}
    judges = {"evidence": {"key": "original"}}
    identity = {"tokens": "chars4", "budgets": list(BUDGETS), "arms": arms, "judges": judges}
    other = task(id="conv-1/q5", prompt="Another?")
    run.enter(identity, {}, "1of1", {}, [task(), other])
    shown = {"files": dossier(FILLER), "lexical": dossier(TURTLE, BEACH), "oracle": dossier(f"Nate: {TURTLE}")}
    judge = EvidenceJudge(key="original", tokens="chars4", budgets=BUDGETS, ks=(5,))
    with run.answer_writer("1of1") as answers, run.judge_writer("evidence", judge.config) as verdicts:
        for name, held in shown.items():
            for asked in (task(), other):
                made = answer(name, dossier=run.put_dossier(held))
                made = made.model_copy(update={"cell": CellKey(task=asked.id, arm=name)})
                answers.append(made.model_dump_json())
                verdict = Judgement(
                    id=f"{asked.id}/{name}",
                    judge="evidence",
                    subjects=(made.cell,),
                    scores=judge.scores(held, asked.gold["original"].evidence),
                )
                verdicts.append(verdict.model_dump_json())
    run.write_summary({"headline_metric": "all@200", "arms": {"lexical": {}, "files": {}}})
    return run


def test_explain_reads_the_run_folder(folder: RunFolder) -> None:
    made = explain(folder, "conv-1/q4")
    assert [a.arm for a in made.arms] == ["lexical", "files"], "contenders in the summary's order, no control"
    assert made.gold[0].speaker == "Nate", "named by the oracle's dossier"
    assert made.arms[0].scores["evidence"]["all@200"] == 1.0
    assert made.arms[1].scores["evidence"]["all@200"] == 0.0
    assert [a.arm for a in explain(folder, "conv-1/q4", "oracle").arms] == ["oracle"]


def test_unknown_names_get_a_suggestion(folder: RunFolder) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'conv-1/q4'"):
        explain(folder, "conv-1/q44")
    with pytest.raises(UnknownName, match="'lexical'"):
        explain(folder, "conv-1/q4", "lexicl")
    with pytest.raises(UnknownName):
        list(missed(folder, "nobody"))


def test_missed_lists_what_the_headline_lost(folder: RunFolder) -> None:
    counts, *lines = missed(folder)
    assert counts == "missed (below 1 at all@200): lexical 0 of 2, files 2 of 2"
    assert [line.split()[:3] for line in lines] == [
        ["conv-1/q4", "files", "multi-hop"],
        ["conv-1/q5", "files", "multi-hop"],
    ]
    assert list(missed(folder, "lexical")) == ["missed (below 1 at all@200): lexical 0 of 2"]


def test_missed_counts_no_question_of_a_control(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    identity = {"tokens": "chars4", "budgets": [200], "arms": {"lexical": {"role": "contender"}}, "judges": {"e": {}}}
    planted = [task(id=f"marker/conv-{n}", category="control:marker") for n in (1, 2)]
    run.enter(identity, {}, "1of1", {}, [planted[0], task(), planted[1]])
    with run.answer_writer("1of1") as answers, run.judge_writer("e", {}) as verdicts:
        for asked, status in zip((*planted, task()), (Status.OK, Status.NETWORK, Status.OK), strict=True):
            cell = CellKey(task=asked.id, arm="lexical")
            answers.append(Answer(cell=cell, status=status, steps=(Step(status=status),)).model_dump_json())
            if status is Status.OK:
                verdict = Judgement(id=asked.id, judge="e", subjects=(cell,), scores={"all@200": 0.0})
                verdicts.append(verdict.model_dump_json())
    run.write_summary({"headline_metric": "all@200", "arms": {"lexical": {}}})
    counts, *lines = missed(run)
    assert counts == "missed (below 1 at all@200): lexical 1 of 1"
    assert [line.split()[0] for line in lines] == ["conv-1/q4"], "neither missed nor counted as not judged"
    with pytest.raises(UnknownName, match=r"Known: conv-1/q4\."):
        explain(run, "marker/conv-3")


def test_printing_is_plain_when_piped(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    with io.TextIOWrapper(raw, encoding="ascii") as stream:
        monkeypatch.setattr("sys.stdout", stream)
        print_explanation(explain(folder, "conv-1/q4"))
        stream.flush()
        text = raw.getvalue().decode("ascii")
    assert "D3:11" in text
    assert "\x1b" not in text
