"""What a run costs and where it must stop, when several write to its folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memassay.core.types import Answer, CellKey, Judgement, Status, Step, Usage
from memassay.running.money import Bill, Purse
from memassay.runs.folder import RunFolder
from memassay.runs.lines import LineWriter
from memassay.runs.records import to_line

ARMS = ("a", "b")


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path)


def answer(task: str, arm: str, usd: float | None, status: Status = Status.OK, step: str = "answer") -> Answer:
    usage = Usage(cost_usd=usd)
    return Answer(cell=CellKey(task=task, arm=arm), status=status, usage=usage, steps=(Step(name=step, status=status),))


def verdict(task: str, arm: str, usd: float, judge: str = "j", status: str = "ok") -> Judgement:
    subjects = (CellKey(task=task, arm=arm),)
    return Judgement(id="v", judge=judge, subjects=subjects, usage=Usage(cost_usd=usd), status=status)  # type: ignore[arg-type]


def write(path: Path, *records: Answer | Judgement) -> None:
    with LineWriter(path) as lines:
        for record in records:
            lines.append(to_line(record))


def purse(run: RunFolder, limit: float, judging: float = 0.0) -> Purse:
    return Purse(limit, dict.fromkeys(ARMS, 1.0), judging, Bill(run, ARMS, ["j"] if judging else []))


def test_what_another_writer_records_is_missing_from_the_same_limit(run: RunFolder) -> None:
    mine = purse(run, 6.0)
    assert mine.open("t1", ARMS)
    for arm in ARMS:
        record = answer("t1", arm, 1.0)
        write(run.path / "answers-1of2.jsonl", record)
        mine.pay("t1", arm, record.usage)
    write(run.path / "answers-2of2.jsonl", answer("t2", "a", 1.0), answer("t2", "b", 1.0))
    assert mine.spent == 2.0, "it looks when it is asked for money"
    assert mine.open("t3", ARMS)
    assert mine.spent == 4.0
    assert not mine.open("t5", ARMS), "2.00 of the 6.00 are left, and the open task takes them"
    write(run.path / "answers-2of2.jsonl", answer("t4", "a", 0.5))
    assert not mine.open("t5", ["a"])
    assert purse(run, 6.0).open("t5", ["a"]), "an open task is known to who opened it alone"


def test_two_writers_side_by_side_stop_where_one_would(run: RunFolder) -> None:
    writers = {name: purse(run, 10.0) for name in ("1of2", "2of2")}
    begun = dict.fromkeys(writers, 0)
    for round_ in range(20):
        for name, mine in writers.items():
            task = f"{name}-{round_}"
            if mine.open(task, ARMS):
                begun[name] += 1
                for arm in ARMS:
                    record = answer(task, arm, 1.0)
                    write(run.path / f"answers-{name}.jsonl", record)
                    mine.pay(task, arm, record.usage)
    assert begun == {"1of2": 3, "2of2": 2}


def test_what_others_paid_for_an_arm_is_what_the_next_answer_may_cost(run: RunFolder) -> None:
    write(run.path / "answers-2of2.jsonl", answer("t2", "a", 4.0), answer("t2", "a", 9.0, step="retrieve"))
    mine = purse(run, 20.0)
    assert mine.open("t1", ["a"]) and mine.dearest == {"a": 4.0}, "what a memory cost is no agent's price"
    assert not mine.open("t3", ["a"]), "13.00 spent, 4.00 open"


def test_verdicts_and_audits_are_paid_from_the_same_limit(run: RunFolder) -> None:
    write(run.path / "answers-2of2.jsonl", answer("t2", "a", 1.0), answer("t2", "b", 1.0))
    mine = purse(run, 5.0, judging=0.75)
    assert not mine.open("t1", ["a"]), "2.00 spent, 1.50 owed to the judge, 1.75 wanted"
    write(run.path / "judgements" / "j.jsonl", verdict("t2", "a", 0.25), verdict("t2", "b", 0.25, status="failed"))
    assert mine.open("t1", ["a"]), "2.50 spent, .75 owed, since a failed verdict is asked for again"
    run.record_audit("j", {"usage": {"cost_usd": 2.0}})
    assert not mine.may_judge(0) and mine.spent == 4.5
    assert purse(run, 5.5, judging=0.75).may_judge(0)


def test_each_judge_is_yet_to_judge_what_it_has_not(run: RunFolder) -> None:
    provider = answer("t9", "a", 0.1, Status.RATE_LIMIT)
    write(run.path / "answers-1of1.jsonl", answer("t1", "a", 1.0), answer("t2", "a", 1.0), provider)
    write(run.path / "judgements" / "j.jsonl", verdict("t1", "a", 0.1), verdict("t2", "a", 0.1))
    bill = Bill(run, ARMS, ["j", "k"])
    bill.read()
    assert bill.owed == 2, "k has judged nothing; what a provider failed is not judged"
    assert bill.spent == pytest.approx(2.3)
    write(run.path / "judgements" / "k.jsonl", verdict("t1", "a", 0.1, judge="k"))
    bill.read()
    assert bill.owed == 1
    controls = Bill(run, ["b"], ["k"])
    controls.read()
    assert controls.owed == 0 and controls.spent == bill.spent, "an arm that costs nothing is not judged for money"


def test_where_our_table_lacks_a_model_its_own_word_counts(run: RunFolder) -> None:
    told = answer("t1", "a", None)
    write(run.path / "answers-1of1.jsonl", told.model_copy(update={"usage": Usage(reported_usd=0.5)}))
    bill = Bill(run, ARMS, [])
    bill.read()
    assert bill.spent == 0.5


def test_a_line_that_is_being_written_counts_when_it_is_whole(run: RunFolder) -> None:
    bill = Bill(run, ARMS, [])
    whole = to_line(answer("t1", "a", 1.0)).encode() + b"\n"
    path = run.path / "answers-2of2.jsonl"
    for end in (1, len(whole) - 1):
        path.write_bytes(whole[:end])
        bill.read()
        assert bill.spent == 0.0
    path.write_bytes(whole)
    for _ in range(2):
        bill.read()
        assert bill.spent == 1.0


def test_without_a_limit_nothing_is_read(run: RunFolder) -> None:
    (run.path / "answers-1of1.jsonl").write_text(json.dumps({"no": "answer"}) + "\n", "utf-8")
    free = Purse(bill=Bill(run, ARMS, []))
    assert free.open("t", ARMS) and free.may_judge(3)


def test_an_answer_that_was_cut_off_costs_what_an_answer_is_expected_to_cost(run: RunFolder) -> None:
    cut = answer("t1", "a", None, Status.LIMIT_TIME).model_copy(update={"model": "real"})
    free = cut.model_copy(update={"model": "none", "cell": CellKey(task="t2", arm="a")})
    write(run.path / "answers-1of1.jsonl", cut, free)
    mine = purse(run, 2.5)
    assert mine.open("t3", ["a"]) and mine.spent == 1.0, "one was a model's, and the expected price is 1"
    assert not mine.open("t4", ["a"]), "1.00 for what was cut off and 1.00 for the open task are taken"
