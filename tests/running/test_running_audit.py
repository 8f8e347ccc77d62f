"""Planted answers and the account of a judge that judged them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from memassay.core.contracts import Cell
from memassay.core.errors import EnvironmentProblem, UsageError
from memassay.core.types import Gold, Judgement, Status, Task
from memassay.running.audit import audit
from memassay.running.planted import KINDS, RIGHT, WRONG, Planted, content, plant, shared
from memassay.stats import wilson
from memassay.suites.hotpotqa.suite import HotpotQA
from memassay.suites.locomo.suite import Locomo

GOLDS = (
    "Oslo", "7 May 2023", "three", "yes", "No; she moved away", "a red kayak", "pottery, camping, painting", "2019",
    "The week before 1 July 2023", "12", "Uncle Karl", "by the lake", "28 September 2022", "guitars", "Bergen", "1954",
)  # fmt: skip


def tasks(count: int = 48, **more: Any) -> list[Task]:
    return [
        Task(
            id=f"c{number % 3}/q{number}", suite="s", scope=f"c{number % 3}", cluster=f"c{number % 3}", category="x",
            prompt=f"What did Ada tell about the harbour number {number} and its lantern?",
            gold={"original": Gold(answer=GOLDS[number % len(GOLDS)])}, **more,
        )
        for number in range(count)
    ]  # fmt: skip


class Judge:
    """Takes for right what a rule takes for right."""

    id = "rule"

    def __init__(self, rule: Callable[[Task, str], float | None], status: str = "ok") -> None:
        self._rule, self._status = rule, status
        self.config: Mapping[str, JsonValue] = {"judge": "rule"}
        self.seen: list[Cell] = []

    def judge(self, cell: Cell) -> Judgement:
        self.seen.append(cell)
        score = self._rule(cell.task, cell.answer.steps[0].text or "")
        return Judgement(
            id="x", judge=self.id, subjects=(cell.answer.cell,), scores={"j": score}, status=self._status,  # type: ignore[arg-type]
            explanation="it is down",
        )  # fmt: skip


def run(judge: Judge, items: list[Planted], **more: Any) -> dict[str, Any]:
    return asyncio.run(audit(items, [judge], **more))


# -- what is planted -----------------------------------------------------------------------------------------------


def test_every_kind_is_planted_once_per_task() -> None:
    items = plant(tasks())
    for kind in KINDS:
        named = [item.task.id for item in items if item.kind == kind]
        assert len(named) == len(set(named)) == 48, kind
    assert [item.kind for item in items] == [kind for kind in KINDS for _ in range(48)]
    assert {item.kind for item in items if item.right} == set(RIGHT)


def test_few_are_taken_from_every_cluster_alike() -> None:
    items = plant(tasks(), per_kind=10)
    for kind in KINDS:
        clusters = [item.task.cluster for item in items if item.kind == kind]
        assert len(clusters) == 10
        assert {clusters.count(name) for name in ("c0", "c1", "c2")} <= {3, 4}


def test_equal_tasks_give_equal_answers_and_another_seed_others() -> None:
    assert plant(tasks()) == plant(tasks())
    assert [item.task.id for item in plant(tasks(), seed=1)] != [item.task.id for item in plant(tasks(), seed=2)]


def test_tasks_without_a_gold_answer_are_left_out() -> None:
    task = tasks(1)[0]
    for gold in (Gold(), Gold(answer=" "), Gold(answer="?"), Gold(answer="Oslo", excluded="disputed")):
        assert plant([task.model_copy(update={"gold": {"original": gold}})]) == []
    assert plant(tasks(), key="audit-corrected") == []


def _checked(items: list[Planted], key: str = "original") -> None:
    """No wrong answer is right by accident, as far as words can tell."""
    for item in items:
        gold = item.task.gold[key].answer or ""
        if item.kind == "right":
            assert item.text == gold.strip()
        elif item.kind == "paraphrased":
            assert item.text != gold
        else:
            assert not shared(item.text, gold), (item.kind, gold, item.text)
        if item.kind in ("vague", "abstaining"):
            assert not content(item.text) & content(gold), (gold, item.text)
        if item.kind == "specific":
            mine, theirs = content(gold), content(item.text)
            assert not mine <= theirs and not theirs <= mine, (gold, item.text)


def test_no_wrong_answer_is_right_by_accident() -> None:
    _checked(plant(tasks()))


def test_yes_and_no_are_turned_round() -> None:
    turned = {item.task.gold["original"].answer: item.text for item in plant(tasks()) if item.kind == "specific"}
    assert turned["yes"] == "No."
    assert turned["No; she moved away"] == "Yes."


def test_a_time_is_answered_with_a_time_that_is_months_apart() -> None:
    for item in plant(tasks()):
        if item.kind == "specific" and item.task.gold["original"].answer == "The week before 1 July 2023":
            assert item.text in {"28 September 2022", "2019", "1954", "7 May 2023"}


def test_the_long_answer_is_the_specific_one_at_length() -> None:
    items = plant(tasks())
    short = {item.task.id: item.text for item in items if item.kind == "specific"}
    for item in items:
        if item.kind == "too-long":
            assert short[item.task.id].rstrip(".") in item.text
            assert len(item.text.split()) > 90


@pytest.mark.parametrize(
    ("gold", "part"),
    [
        ("7 May 2023", "May 7, 2023"),
        ("16 March, 2023", "March 16, 2023"),
        ("three", "3"),
        ("3", "three"),
        ("pottery, camping, painting", "camping, painting and pottery"),
        ("Oslo, Norway", "Oslo, Norway"),
        ("kids and books, toys, games", "kids and books, toys, games"),
    ],
)
def test_a_paraphrase_says_the_same(gold: str, part: str) -> None:
    task = tasks(1)[0].model_copy(update={"gold": {"original": Gold(answer=gold)}})
    (found,) = [item.text for item in plant([task]) if item.kind == "paraphrased"]
    assert part in found


def test_braces_in_a_gold_answer_stay_what_they_are() -> None:
    task = tasks(1)[0].model_copy(update={"gold": {"original": Gold(answer="{0} {x}")}})
    assert [i.text for i in plant([task]) if i.kind == "paraphrased"] == ["The answer is: {0} {x}."]


def test_not_knowing_is_not_planted_where_it_would_be_right() -> None:
    some = [t.model_copy(update={"gold": {"original": Gold(answer="It is not mentioned")}}) for t in tasks(3)]
    assert not [item for item in plant(some) if item.kind == "abstaining"]


@pytest.mark.data
def test_real_tasks_give_a_hundred_of_each_kind(locomo_file: Path) -> None:
    for suite in (Locomo(data=str(locomo_file)), HotpotQA(sample=True)):
        dev = [task for task in suite.tasks() if task.split == "dev" or suite.name == "hotpotqa"]
        items = plant(dev, per_kind=100)
        _checked(items)
        if suite.name == "locomo":
            assert {kind: sum(item.kind == kind for item in items) for kind in KINDS} == dict.fromkeys(KINDS, 100)


# -- the account ---------------------------------------------------------------------------------------------------


def test_a_judge_that_is_never_wrong() -> None:
    items = plant(tasks())
    known = {(item.task.id, item.text): item.right for item in items}
    found = run(Judge(lambda task, text: float(known[task.id, text])), items)["judges"]["rule"]
    for kind in KINDS:
        assert (found["kinds"][kind]["n"], found["kinds"][kind]["rate"]["value"]) == (48, 0.0)
        assert found["kinds"][kind]["accepted"] == (48 if kind in RIGHT else 0)
    assert found["false_accept"]["value"] == found["false_reject"]["value"] == 0.0
    assert found["false_accept"]["n"] == 48
    assert found["errors"] == []


def test_a_judge_that_accepts_everything_but_not_knowing() -> None:
    items = plant(tasks())
    lenient = Judge(lambda task, text: float(not text.startswith(("I do not", "Sorry", "Impossible"))))
    found = run(lenient, items)
    account = found["judges"]["rule"]
    rates = {kind: (account["kinds"][kind]["error"], account["kinds"][kind]["rate"]["value"]) for kind in KINDS}
    assert rates == {
        "right": ("false reject", 0.0), "paraphrased": ("false reject", 0.0),
        "vague": ("false accept", 1.0), "specific": ("false accept", 1.0), "too-long": ("false accept", 1.0),
        "abstaining": ("false accept", 0.0),
    }  # fmt: skip
    assert account["false_accept"]["value"] == pytest.approx(3 / len(WRONG))
    assert len(account["errors"]) == 3 * 48
    assert account["usage"] == {"input": 0, "output": 0, "cache_read": 0, "cache_write": 0, "cost_usd": None}
    assert account["errors"][0].keys() == {"kind", "task", "question", "answer", "explanation"}
    json.dumps(found, allow_nan=False)


def test_rates_have_the_interval_of_the_design_and_wilsons() -> None:
    items = plant(tasks())
    count = iter(range(1000))
    some = Judge(lambda task, text: float(next(count) % 4 == 0))
    found = run(some, items, workers=1)["judges"]["rule"]["kinds"]["vague"]
    assert (found["accepted"], found["n"]) == (12, 48)
    low, high = wilson(12, 48)
    assert found["wilson"] == {"low": low, "high": high}
    assert found["rate"]["method"].startswith(("cluster-t", "korn-graubard"))
    assert found["rate"]["clusters"] == 3
    alone = [task.model_copy(update={"cluster": task.id}) for task in tasks()]
    independent = run(some, plant(alone), design="independent-binary", workers=1)
    assert independent["judges"]["rule"]["kinds"]["vague"]["rate"]["method"] == "wilson"


def test_one_cluster_has_a_rate_and_no_interval_but_wilsons() -> None:
    one = [task.model_copy(update={"cluster": "c"}) for task in tasks()]
    found = run(Judge(lambda task, text: 1.0), plant(one))["judges"]["rule"]["kinds"]["vague"]
    assert (found["rate"]["value"], found["rate"]["low"]) == (1.0, None)
    assert found["wilson"]["high"] == 1.0


def test_verdicts_that_are_missing_are_counted_and_never_taken_for_right_or_wrong() -> None:
    items = plant(tasks())
    half = Judge(lambda task, text: None if task.cluster == "c0" else 1.0)
    found = run(half, items)["judges"]["rule"]["kinds"]
    assert {(kind["n"], kind["failed"], kind["accepted"]) for kind in found.values()} == {(32, 16, 32)}
    nothing = run(Judge(lambda task, text: None), items)["judges"]["rule"]
    assert nothing["kinds"]["vague"]["rate"]["value"] is None
    assert nothing["kinds"]["vague"]["wilson"] is None
    assert nothing["false_accept"]["reason"]


def test_a_judge_that_fails_five_times_in_a_row_ends_the_audit_in_one_sentence() -> None:
    judge = Judge(lambda task, text: None, status="failed")
    with pytest.raises(EnvironmentProblem, match=r"failed 5 times in a row \(it is down\)"):
        run(judge, plant(tasks()))
    assert len(judge.seen) <= 5 + 4


def test_a_judge_sees_an_answer_like_any_other_and_nothing_of_the_kind() -> None:
    judge = Judge(lambda task, text: 1.0)
    run(judge, plant(tasks(3)))
    for cell in judge.seen:
        assert (cell.answer.status, cell.answer.data, cell.dossier) == (Status.OK, "generated", None)
        assert cell.task.gold


def test_the_account_does_not_depend_on_how_many_verdicts_are_in_flight() -> None:
    class Slow(Judge):
        async def judge(self, cell: Cell) -> Judgement:  # type: ignore[override]
            await asyncio.sleep(len(cell.task.id) % 3 / 1000)
            return super().judge(cell)

    def rule(task: Task, text: str) -> float:
        return float(len(text) % 2)

    found = [run(Slow(rule), plant(tasks(12)), workers=workers) for workers in (1, 3, 50)]
    assert found[0] == found[1] == found[2]


def test_nothing_to_plant_is_one_sentence() -> None:
    with pytest.raises(UsageError, match="no task with a gold answer"):
        run(Judge(lambda task, text: 1.0), [])


def test_what_was_planted_is_told(tmp_path: Path) -> None:
    found = run(Judge(lambda task, text: 1.0), plant(tasks()))
    assert found["kinds"]["vague"] == {"right": False, "planted": 48, "enough": False}
    assert (found["data"], found["tasks"]) == ("generated", 48)
