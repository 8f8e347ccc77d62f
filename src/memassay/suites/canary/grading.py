"""The grader ``labels``: the label of a dossier at every budget, and what it counts for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

from pydantic import JsonValue

from memassay.core.contracts import Cell, Grading, MetricSpec
from memassay.core.dossier import rendering
from memassay.core.errors import UsageError, suggestion
from memassay.core.types import Document, Dossier, Judgement
from memassay.core.views import CONTROLS
from memassay.suites.canary.claims import Checker
from memassay.suites.canary.fixture import Question
from memassay.suites.canary.labels import FOUND, PRECEDENCES, Precedence, label, outcome_of
from memassay.suites.canary.manifest import Manifest
from memassay.suites.canary.staleness import outdated
from memassay.suites.canary.supersessions import Supersession

VERSION = 2
FAILED = "failed"
"""The label of a cell in which the memory failed: outcome 0, and no abstention."""

_TITLES: Mapping[str, str] = {
    "correct": "every required fact",
    "partial": "some of the required facts",
    "incorrect": "real sources without a required fact",
    "abstained": "nothing given",
    "hallucinated": "labelled hallucinated",
    "undetermined": "not to be decided without a model",
    "covered": "share of the required facts",
    "fabricated": "a fabricated passage, whatever the label",
    "unchecked": "no fabrication found, and a passage that cannot be checked without a model",
}
_LISTED = 10


class Truth(Protocol):
    """Where questions, documents and replacements come from; a suite is one."""

    @property
    def questions(self) -> Sequence[Question]: ...

    @property
    def documents(self) -> Sequence[Document]: ...

    @property
    def supersessions(self) -> Sequence[Supersession] | None: ...


class LabelJudge:
    """Scores each label as an indicator, ``covered@B``, ``fabricated@B``, ``unchecked@B``, ``stale@B``, ``outcome@B``.

    All are in [0, 1], but for ``outcome@B`` in [-1, 1]: it is a difference of merits, not a share, so it is no metric
    with an interval; what a suite concludes compares its sign between memories. ``covered@B`` is undefined where no
    fact is required. ``stale@B`` is there only where something was true before.

    The labels of the verdict are ``label@B`` and ``tokens@B`` (how much of the budget is used), then the parts
    (``n_fabricated_source``, ...) and the ``novel`` terms at the largest budget. A failure of the memory is labelled
    ``failed`` and scores 0 everywhere.

    Nothing of the truth is read before a cell is judged.

    Args:
        truth: what a retrieval is held against; ids of tasks are those of the questions.
        tokens: name of the run's tokenizer.
        budgets: in tokens.
        precedence: what decides where a dossier holds both the answer and an invention.

    Raises:
        UsageError: there is no such precedence.
    """

    id = "labels"

    def __init__(
        self,
        truth: Truth,
        *,
        tokens: str,
        budgets: Sequence[int],
        precedence: Precedence = "fabrication",
    ) -> None:
        if precedence not in PRECEDENCES:
            raise UsageError(f"There is no precedence {precedence!r}.{suggestion(precedence, PRECEDENCES)}")
        self._truth, self._tokens, self._precedence = truth, tokens, precedence
        self._budgets = tuple(sorted(set(budgets)))

    @property
    def rule(self) -> dict[str, JsonValue]:
        """How labels are given, whatever the budgets."""
        return {"judge": self.id, "version": VERSION, "precedence": self._precedence}

    @property
    def config(self) -> Mapping[str, JsonValue]:
        return {**self.rule, "tokens": self._tokens, "budgets": list(self._budgets)}

    @cached_property
    def _questions(self) -> Mapping[str, Question]:
        return {question.id: question for question in self._truth.questions}

    @cached_property
    def _checker(self) -> Checker:
        return Checker(Manifest(self._truth.documents), self._truth.supersessions)

    def judge(self, cell: Cell) -> Judgement | None:
        """The verdict on one cell; None where the task is none of the questions."""
        question = self._questions.get(cell.task.id)
        if question is None:
            return None
        scores: dict[str, float | None] = {}
        labels: dict[str, JsonValue] = {}
        answer = cell.answer
        if answer.status.kind == "memory":
            for budget in self._budgets:
                scores |= {f"{name}@{budget}": 0.0 for name in (*_TITLES, "outcome")}
                if outdated(question):
                    scores[f"stale@{budget}"] = 0.0
                labels[f"label@{budget}"] = FAILED
                if not question.required:
                    scores[f"covered@{budget}"] = None
        else:
            self._read(question, cell.dossier or Dossier(status="empty"), scores, labels)
        key = answer.cell
        return Judgement(
            id=f"{self.id}/{key.task}/{key.arm}/{key.build}.{key.repetition}",
            judge=self.id,
            subjects=(key,),
            attempt=answer.attempt,
            data=answer.data,
            model=answer.model,
            labels=labels,
            scores=scores,
        )

    def _read(
        self,
        question: Question,
        dossier: Dossier,
        scores: dict[str, float | None],
        labels: dict[str, JsonValue],
    ) -> None:
        for budget in self._budgets:
            found = label(question, dossier, budget, self._checker, tokens=self._tokens, precedence=self._precedence)
            scores |= {f"{name}@{budget}": float(found.label == name) for name in FOUND}
            scores[f"covered@{budget}"] = found.parts.covered
            scores[f"fabricated@{budget}"] = float(found.parts.n_fabricated > 0)
            scores[f"unchecked@{budget}"] = float(not found.parts.n_fabricated and found.parts.n_undetermined > 0)
            if found.stale is not None:
                scores[f"stale@{budget}"] = float(found.stale)
            scores[f"outcome@{budget}"] = outcome_of(found.label, question)
            labels[f"label@{budget}"] = found.label
            labels[f"tokens@{budget}"] = min(budget, rendering(dossier, self._tokens).total_tokens)
            if budget == self._budgets[-1]:
                labels |= found.parts.as_dict()
                labels["novel"] = list(found.novel[:_LISTED])


class ControlledJudge:
    """The grader of evidence, which gives control arms their labels too: the first grader of a run alone judges them.

    Args:
        evidence: the grader of evidence.
        labels: the grader of labels.
    """

    def __init__(self, evidence: Any, labels: LabelJudge) -> None:
        self.id: str = evidence.id
        self._evidence, self._labels = evidence, labels

    @property
    def config(self) -> Mapping[str, JsonValue]:
        return {**self._evidence.config, "controls": self._labels.rule}

    def judge(self, cell: Cell) -> Judgement | None:
        """The verdict on the evidence; on a control arm with the scores and the parts of the label as well."""
        found: Judgement | None = self._evidence.judge(cell)
        label = self._labels.judge(cell) if cell.answer.cell.arm in CONTROLS else None
        if label is None:
            return found
        if found is None:
            return label.model_copy(update={"id": label.id.replace(label.judge, self.id, 1), "judge": self.id})
        return found.model_copy(
            update={"scores": {**found.scores, **label.scores}, "labels": {**found.labels, **label.labels}}
        )


def label_metrics(grading: Grading) -> list[MetricSpec]:
    """The shares that the judge gives, at each budget; ``outcome`` is none of them, for it is no share."""
    return [
        MetricSpec(f"{name}@{budget}", title=f"{title}, within {budget:,} tokens", budget=budget, judge=LabelJudge.id)
        for name, title in _TITLES.items()
        for budget in grading.budgets
    ]
