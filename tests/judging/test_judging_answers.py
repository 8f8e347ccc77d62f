from __future__ import annotations

from pathlib import Path

import pytest
from judging_cells import cell

from memassay.core.types import Gold, Status
from memassay.judging.answers import AnswerJudge
from memassay.suites.locomo.suite import Locomo


def test_it_scores_the_last_text_that_was_said() -> None:
    found = AnswerJudge().judge(cell(" oslo\n"))
    assert found is not None
    assert found.scores == {"f1": 1.0, "exact_match": 1.0, "bleu1": 1.0}
    assert (found.status, found.attempt, found.judge, found.id) == ("ok", 2, "answers", "answers/q/a/0.0")
    assert found.labels == {"words": 1}


@pytest.mark.parametrize("official", ["", "locomo", "hotpotqa"])
@pytest.mark.parametrize(
    "status", [Status.MEMORY_CRASH, Status.MEMORY_TIMEOUT, Status.LIMIT_TIME, Status.LIMIT_TURNS, Status.LIMIT_MONEY]
)
def test_a_failure_of_the_memory_scores_0_whatever_was_said(status: Status, official: str) -> None:
    found = AnswerJudge(official=official).judge(cell("Oslo", status=status))  # type: ignore[arg-type]
    assert found is not None
    assert set(found.scores.values()) == {0.0}
    assert found.status == "ok"


def test_nothing_said_is_not_right_even_where_the_gold_is_an_article() -> None:
    found = AnswerJudge(official="hotpotqa").judge(cell(None, "The"))
    assert found is not None
    assert set(found.scores.values()) == {0.0}


@pytest.mark.parametrize("gold", [None, "", "  "])
def test_without_a_gold_answer_every_score_is_undefined_and_never_0(gold: str | None) -> None:
    found = AnswerJudge(official="hotpotqa").judge(cell("Oslo", gold))
    assert found is not None
    assert found.status == "undefined"
    assert set(found.scores.values()) == {None}
    assert set(found.scores) == {"f1", "exact_match", "bleu1", "hotpot_em", "hotpot_f1"}


def test_an_adversarial_question_needs_no_gold_for_the_official_score_alone() -> None:
    judge = AnswerJudge(official="locomo")
    found = judge.judge(cell("Not mentioned in the conversation", None, category="adversarial"))
    assert found is not None
    assert found.scores == {"f1": None, "exact_match": None, "bleu1": None, "locomo_f1": 1.0}
    assert found.status == "ok"
    failed = judge.judge(cell("not mentioned", None, category="adversarial", status=Status.LIMIT_TIME))
    assert failed is not None
    assert failed.scores["locomo_f1"] == 0.0


def test_gold_keys() -> None:
    judge = AnswerJudge(key="audit-corrected")
    assert judge.id == "answers-audit-corrected"
    found = judge.judge(cell("Bergen", "Oslo", audit_corrected=Gold(answer="Bergen")))
    assert found is not None
    assert found.scores["f1"] == 1.0
    assert judge.judge(cell("Bergen", "Oslo")) is None
    assert judge.judge(cell("Bergen", audit_corrected=Gold(answer="Bergen", excluded="wrong"))) is None


def test_its_manifest_tells_every_setting() -> None:
    assert AnswerJudge(key="k", official="locomo").config == {
        "judge": "answers",
        "version": 1,
        "key": "k",
        "official": "locomo",
    }


@pytest.mark.data
def test_every_gold_of_the_real_file_is_right_by_its_own_key(locomo_file: Path) -> None:
    judge = AnswerJudge(official="locomo")
    counted = 0
    for task in Locomo(data=str(locomo_file)).tasks():
        gold = task.gold["original"].answer
        if gold is None or task.category == "adversarial":
            continue
        scores = judge.scores(gold.strip(), gold, task.category)
        assert scores["exact_match"] == 1.0, task.id
        assert scores["f1"] == scores["bleu1"] == pytest.approx(1.0), task.id
        counted += 1
    assert counted == 1540
