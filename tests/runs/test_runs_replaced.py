from __future__ import annotations

import json
from pathlib import Path

import pytest

from memassay.core.errors import DataError
from memassay.core.types import CellKey, Judgement
from memassay.runs import replaced
from memassay.runs.folder import RunFolder
from memassay.runs.lines import LineWriter
from memassay.runs.records import to_line


def verdict(score: float) -> Judgement:
    return Judgement(id="v", judge="j", subjects=(CellKey(task="t", arm="a"),), scores={"s": score})


def judged(path: Path, *scores: float) -> RunFolder:
    run = RunFolder(path)
    with run.judge_writer("j", {"version": len(scores)}) as lines:
        for score in scores:
            lines.append(to_line(verdict(score)))
    return run


def test_what_is_set_aside_counts_nowhere_and_can_be_read(tmp_path: Path) -> None:
    run = judged(tmp_path, 1.0)
    replaced.set_aside(run, "j", {"grader": "a"})
    assert run.judgement_files() == [] and run.judged("j") == {}
    judged(tmp_path, 0.0, 0.5)
    replaced.set_aside(run, "j", {"grader": "b"})
    judged(tmp_path, 0.25)
    assert run.judgement_files() == ["j"]
    assert [name for name, _ in run.judge_manifests()] == ["j"]
    told = replaced.regraded(run)
    assert told == [
        {"judge": "j", "verdicts": 1, "replaced": "judgements/replaced/j.1.jsonl", "grader": "a"},
        {"judge": "j", "verdicts": 2, "replaced": "judgements/replaced/j.2.jsonl", "grader": "b"},
    ]
    assert [list(replaced.each_replaced(run, one["replaced"])) for one in told] == [
        [verdict(1.0)], [verdict(0.0), verdict(0.5)],
    ]  # fmt: skip
    kept = [json.loads((tmp_path / one["replaced"]).with_suffix(".json").read_text()) for one in told]
    assert kept == [{"version": 1}, {"version": 2}]


def test_nothing_is_set_aside_where_nothing_was_judged(tmp_path: Path) -> None:
    run = judged(tmp_path)
    replaced.set_aside(run, "j", {})
    replaced.set_aside(run, "other", {})
    assert replaced.regraded(run) == [] and not (tmp_path / "judgements" / "replaced").exists()


def test_killed_before_they_moved_they_are_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = judged(tmp_path, 1.0)

    def killed(self: Path, target: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            replaced.set_aside(run, "j", {})
    assert run.judgements("j") == {("t", "a", 0, 0): verdict(1.0)}
    replaced.set_aside(run, "j", {})
    assert [one["replaced"] for one in replaced.regraded(run)] == ["judgements/replaced/j.1.jsonl"] * 2
    assert list(replaced.each_replaced(run, "judgements/replaced/j.1.jsonl")) == [verdict(1.0)]


def test_a_damaged_file_is_set_aside_as_well(tmp_path: Path) -> None:
    run = judged(tmp_path, 1.0)
    with LineWriter(run.verdicts("j")) as lines:
        lines.append("no JSON")
    replaced.set_aside(run, "j", {})
    [told] = replaced.regraded(run)
    assert told["verdicts"] == 2
    with pytest.raises(DataError, match=r"j\.1\.jsonl, line 2 is damaged"):
        list(replaced.each_replaced(run, told["replaced"]))
