"""Answers against the gold answer, word by word: no model, no key, the same numbers everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import JsonValue

from memassay.core.contracts import Cell
from memassay.core.types import Judgement
from memassay.judging.official import hotpot_scores, locomo_f1
from memassay.judging.scores import bleu1, exact_match, f1
from memassay.judging.verdicts import gold_of, judge_id, said, verdict

VERSION = 1

Official = Literal["", "locomo", "hotpotqa"]


class AnswerJudge:
    """Scores ``f1``, ``exact_match`` and ``bleu1``, and the data set's own scores beside them.

    Whatever the memory failed scores 0. A question without a gold answer is undefined, except for the official score of
    LOCOMO's adversarial questions, which asks only whether the answer abstains.

    Args:
        key: which gold of the task is right (``original``, ``audit-corrected``, …).
        official: adds ``locomo_f1``, or ``hotpot_em`` and ``hotpot_f1``.
    """

    def __init__(self, *, key: str = "original", official: Official = "") -> None:
        self.key, self.official = key, official
        self.id = judge_id("answers", key)

    @property
    def config(self) -> Mapping[str, JsonValue]:
        return {"judge": "answers", "version": VERSION, "key": self.key, "official": self.official}

    def judge(self, cell: Cell) -> Judgement | None:
        """Scores of one answer; None where this key leaves the task out."""
        gold = gold_of(cell, self.key)
        if gold is None:
            return None
        answer = said(cell.answer)
        scores = self.scores(answer, gold.answer, cell.task.category)
        return verdict(self.id, cell, scores, labels={"words": len(answer.split())})

    def scores(self, answer: str, gold: str | None, category: str) -> dict[str, float | None]:
        """Every metric of one answer against one gold answer, each in [0, 1]; None where it is undefined."""
        right = gold if gold is not None and gold.strip() else None
        found: dict[str, float | None] = {
            name: None if right is None else metric(answer, right)
            for name, metric in (("f1", f1), ("exact_match", exact_match), ("bleu1", bleu1))
        }
        if self.official == "locomo":
            found["locomo_f1"] = locomo_f1(answer, right, category)
        if self.official == "hotpotqa":
            found["hotpot_em"], found["hotpot_f1"] = (None, None) if right is None else hotpot_scores(answer, right)
        # The official exact match gives nothing at all a 1 where the gold is an article alone.
        return found if answer else {name: None if score is None else 0.0 for name, score in found.items()}
