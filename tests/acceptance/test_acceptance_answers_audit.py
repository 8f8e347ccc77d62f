"""``audit judge``: planted answers whose verdict is known, the rates beside every J, and nothing right by accident."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from acceptance_tools import answers, tree
from test_acceptance_answers import SMALL, jsonl, refusal
from test_acceptance_answers_judges import no_waits, script, verdict, verdicts

from kit import Cli

__all__ = ["no_waits"]  # a fixture

RIGHT, WRONG = {"right", "paraphrased"}, {"vague", "specific", "too-long", "abstaining"}
YES, NO = {"text": verdict("CORRECT")}, {"text": verdict("WRONG")}


def sample(cli: Cli, out: Path, *more: str) -> Path:
    """A run over the built-in sample, without a judge."""
    flags = ["--sample", "--arm", "files/dossier", "--agent", "scripted", "--set", "agent.text=Oslo"]
    ran = cli("run", "locomo", *flags, "--out", out, *SMALL, *more)
    assert ran.code == 0, ran.err
    return out


@pytest.fixture
def done(cli: Cli, tmp_path: Path) -> Path:
    """A run over some questions of the sample."""
    return sample(cli, tmp_path / "runs" / "r", "--limit", "20")


def audit(cli: Cli, out: Path, *flags: str) -> dict[str, Any]:
    ran = cli("audit", "judge", out, *flags, "--json")
    assert ran.code == 0, ran.err
    found: dict[str, Any] = ran.json
    return found


def wilson(x: int, n: int) -> tuple[float, float]:
    """Wilson's interval at 95 %, from its formula."""
    z, p = 1.959963984540054, x / n
    centre, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return (centre - half) / (1 + z * z / n), (centre + half) / (1 + z * z / n)


COMMON = {"which", "there", "their", "about", "would", "could", "after", "befor", "where", "every", "other"}


def stems(text: str) -> set[str]:
    """The first five letters of the longer words, without those that stand in every text."""
    return {word[:5] for word in re.findall(r"[a-z]{5,}", text.lower())} - COMMON


def test_a_judge_that_accepts_everything_and_one_that_accepts_nothing(cli: Cli, tmp_path: Path) -> None:
    done = sample(cli, tmp_path / "runs" / "r")
    before = answers(done)
    yes, no = script(tmp_path, "yes.json", YES), script(tmp_path, "no.json", NO)
    found = audit(cli, done, "--judge", yes, "--judge", f"lenient:{no}")
    assert set(found["kinds"]) == RIGHT | WRONG
    assert all(kind["planted"] >= 100 for kind in found["kinds"].values()), "at least 100 a kind"
    generous, severe = found["judges"].values()
    for kind in RIGHT | WRONG:
        for judge, accepts in ((generous, True), (severe, False)):
            row = judge["kinds"][kind]
            assert row["accepted"] == (row["n"] if accepts else 0)
            assert row["rate"]["value"] == float(accepts != (kind in RIGHT)), "the share of wrong verdicts"
            assert row["error"] == ("false reject" if kind in RIGHT else "false accept")
            x = round(row["rate"]["value"] * row["n"])
            assert (row["wilson"]["low"], row["wilson"]["high"]) == pytest.approx(wilson(x, row["n"]), abs=1e-9)
            assert row["rate"]["low"] <= row["rate"]["value"] <= row["rate"]["high"]
    assert (generous["false_accept"]["value"], generous["false_reject"]["value"]) == (1, 0)
    assert (severe["false_accept"]["value"], severe["false_reject"]["value"]) == (0, 1)
    assert answers(done) == before, "the run's own answers are not touched"
    assert all(not lines for lines in verdicts(done).values()), "a planted answer is no answer of the run"


def test_nothing_wrong_is_right_by_accident(cli: Cli, done: Path, tmp_path: Path) -> None:
    tasks = {task["id"]: task for task in jsonl(done / "tasks.jsonl")}
    found = audit(cli, done, "--judge", script(tmp_path, "yes.json", YES))
    (judge,) = found["judges"].values()
    planted = judge["errors"]
    assert len(planted) == sum(found["kinds"][kind]["planted"] for kind in WRONG)
    assert len({(item["kind"], item["task"]) for item in planted}) == len(planted), "one of a kind per task"
    for item in planted:
        task = tasks[item["task"]]
        gold = task["gold"]["original"]["answer"]
        assert item["question"] == task["prompt"]
        assert item["answer"].strip().lower() != gold.lower()
        if item["kind"] != "abstaining":
            assert not stems(item["answer"]) & (stems(gold) - stems(item["question"])), item
    assert len({item["task"].partition("/")[0] for item in planted}) > 1, "from every conversation"
    long = [len(item["answer"].split()) for item in planted if item["kind"] == "too-long"]
    short = [len(item["answer"].split()) for item in planted if item["kind"] == "specific"]
    assert min(long) > 50 > max(short)


def test_planted_right_answers_hold_the_gold(cli: Cli, done: Path, tmp_path: Path) -> None:
    tasks = {task["id"]: task["gold"]["original"]["answer"] for task in jsonl(done / "tasks.jsonl")}
    found = audit(cli, done, "--judge", script(tmp_path, "no.json", NO))
    (judge,) = found["judges"].values()
    by_kind = {kind: [e for e in judge["errors"] if e["kind"] == kind] for kind in RIGHT}
    assert all(item["answer"] == tasks[item["task"]] for item in by_kind["right"])
    assert all(item["answer"] != tasks[item["task"]] for item in by_kind["paraphrased"])
    assert len(by_kind["right"]) == found["kinds"]["right"]["planted"]


def test_the_same_every_time_and_another_seed_plants_others(cli: Cli, done: Path, tmp_path: Path) -> None:
    judge = script(tmp_path, "yes.json", YES)
    one, two = (audit(cli, done, "--judge", judge) for _ in range(2))
    assert one == two
    other = audit(cli, done, "--judge", judge, "--seed", "7")
    assert next(iter(other["judges"].values()))["errors"] != next(iter(one["judges"].values()))["errors"]


def test_verdicts_that_cannot_be_had_are_in_no_rate(cli: Cli, done: Path, tmp_path: Path) -> None:
    judge = script(tmp_path, "j.json", {"when": "I do not know", "text": "hm"}, YES)
    found = audit(cli, done, "--judge", judge)
    (account,) = found["judges"].values()
    row = account["kinds"]["abstaining"]
    assert row["failed"] > 0
    assert row["n"] + row["failed"] == found["kinds"]["abstaining"]["planted"]
    assert row["accepted"] == row["n"]
    assert row["rate"]["value"] == 1


def test_a_part_is_said_to_be_few(cli: Cli, done: Path, tmp_path: Path) -> None:
    found = audit(cli, done, "--judge", script(tmp_path, "yes.json", YES), "--per-kind", "12")
    assert {(kind["planted"], kind["enough"]) for kind in found["kinds"].values()} == {(12, False)}


def test_the_rates_stand_beside_every_j(cli: Cli, done: Path, tmp_path: Path) -> None:
    judge = script(tmp_path, "yes.json", YES)
    first = cli("judge", done, "--judge", judge, "--json")
    assert first.code == 0, first.err
    assert first.json["judges"][0]["audit"] is None
    audit(cli, done, "--judge", judge)
    again = cli("judge", done, "--json")
    assert again.code == 0, again.err
    beside = again.json["judges"][0]["audit"]
    assert (beside["false_accept"]["value"], beside["false_reject"]["value"]) == (1, 0)
    assert "false accept" in (done / "summary.md").read_text()
    assert again.json["arms"] == first.json["arms"], "an audit changes no score"


def test_without_a_judge_it_is_one_sentence(cli: Cli, done: Path, tmp_path: Path) -> None:
    before = tree(done)
    for flags in ((), ("--judge", "scripted/nowhere.json")):
        ran = cli("audit", "judge", done, *flags)
        assert ran.code in (2, 3)
        assert "judge" in refusal(ran) or "nowhere.json" in refusal(ran)
    assert tree(done) == before
    assert cli("audit", "judge", tmp_path / "none").code in (2, 3)


def test_a_judge_that_fails_on_and_on_ends_it(cli: Cli, done: Path, tmp_path: Path, no_waits: None) -> None:
    judge = script(tmp_path, "j.json", {"fault": "api-error", "code": 401, "text": "no"})
    ran = cli("audit", "judge", done, "--judge", judge, "--json")
    assert ran.code == 3
    assert json.dumps(refusal(ran))
