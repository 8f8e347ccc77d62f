"""The suite ``locomo``: its settings, its graders and metrics, and what of it is guarded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from memassay.core.contracts import Grading, Judge, MetricSpec, answer_metrics, evidence_metrics
from memassay.core.errors import UnknownName, UsageError
from memassay.core.registry import judges as judge_registry
from memassay.core.report import Column, Section, Table
from memassay.core.types import Corpus, DataKind, Task
from memassay.data.catalogue import CATALOGUE
from memassay.data.integrity import sha256_of
from memassay.data.places import locate
from memassay.suites.locomo import load, sample, tasks
from memassay.suites.locomo.corrections import (
    CORRECTED,
    EXCLUDED,
    ORIGINAL,
    Corrections,
    answer_ceiling,
    load_corrections,
)
from memassay.suites.locomo.facts import Fact, audit_facts, facts
from memassay.suites.locomo.instructions import instructions
from memassay.suites.locomo.judging import criteria


class Locomo:
    """Long conversations between two people, and questions about what they said.

    Args:
        data: LOCOMO's file, or a file in its format; looked for in the data folders where it is not given.
        corrections: an audit file; adds the gold keys ``audit-excluded`` and ``audit-corrected``.
        sample: use generated conversations instead of a file; they carry no verdict.
        seed: seed of the generated conversations.
    """

    name = "locomo"
    words: Mapping[str, str] = {"tasks": "questions", "clusters": "conversations"}
    categories: tuple[str, ...] = tuple(load.CATEGORIES.values())
    default_categories: tuple[str, ...] = ("multi-hop", "temporal", "open-domain", "single-hop")

    def __init__(
        self,
        data: str | None = None,
        corrections: str | None = None,
        sample: bool = False,
        seed: int = 20261130,
    ) -> None:
        if sample and data is not None:
            raise UsageError(
                "The suite locomo takes either a data file or the sample, not both; leave one of them out."
            )
        self.data: DataKind = "generated" if sample else "real"
        self._sample = sample
        self._seed = seed
        self._file = None if data is None else Path(data)
        self._audit = None if corrections is None else Path(corrections)

    @staticmethod
    def verify(name: str, path: Path) -> Mapping[str, Fact]:
        """What a file of the catalogue holds, counted.

        Args:
            name: ``locomo``, or ``locomo-audit``, which is checked against the data file that belongs to it.
            path: the file.

        Raises:
            DataError: the file is not what its name says; or it is an audit, and there is no data file.
        """
        if name == "locomo":
            return facts(load.load(path))
        return audit_facts(load_corrections(path, load.load(locate("locomo"))))

    # -- what it is made of ----------------------------------------------------------------------------------------

    @cached_property
    def path(self) -> Path | None:
        """The data file, or None for the sample."""
        return None if self._sample else locate("locomo", self._file)

    @cached_property
    def conversations(self) -> tuple[load.Conversation, ...]:
        if self.path is None:
            return load.parse(sample.generate(self._seed), file="sample")
        return load.load(self.path)

    @cached_property
    def corrections(self) -> Corrections | None:
        if self._audit is None:
            return None
        return load_corrections(locate("locomo-audit", self._audit), self.conversations)

    def identity(self) -> Mapping[str, JsonValue]:
        """Digests of the files, or seed and version of the generator; and the version of the rendering."""
        found: dict[str, JsonValue] = {"rendering": tasks.RENDERING}
        if self.path is None:
            found["sample"] = {"seed": self._seed, "generator": sample.VERSION}
        else:
            sha256 = sha256_of(self.path)
            found["data"] = {"sha256": sha256, "catalogue": sha256 == CATALOGUE["locomo"].sha256}
        if self.corrections is not None:
            known = self.corrections.sha256 == CATALOGUE["locomo-audit"].sha256
            found["corrections"] = {"sha256": self.corrections.sha256, "catalogue": known}
        return found

    def corpora(self) -> Sequence[Corpus]:
        return self._corpora

    def tasks(self) -> Sequence[Task]:
        return self._tasks

    @cached_property
    def _corpora(self) -> tuple[Corpus, ...]:
        return tuple(tasks.corpora(self.conversations))

    @cached_property
    def _tasks(self) -> tuple[Task, ...]:
        return tuple(tasks.tasks(self.conversations, self.corrections))

    # -- how it is graded ------------------------------------------------------------------------------------------

    @property
    def gold_keys(self) -> tuple[str, ...]:
        audited = (EXCLUDED, CORRECTED) if self._audit is not None else ()
        return (ORIGINAL, *audited)

    def judges(self, grading: Grading) -> Sequence[Judge]:
        """One evidence grader per gold key, the original first; then as many of answers where an agent answers."""
        grader: Any = judge_registry.get("evidence")
        found = [
            grader(key=key, tokens=grading.tokens, budgets=grading.budgets, ks=grading.ks) for key in self.gold_keys
        ]
        if grading.answers:
            answers: Any = judge_registry.get("answers")
            found += [answers(key=key, official="locomo") for key in self.gold_keys]
        return found

    def metrics(self, grading: Grading) -> Sequence[MetricSpec]:
        """``all``, ``any`` and ``rec`` at each budget, then at each k; ``all`` at a budget is the primary family."""
        found = evidence_metrics(grading, "turn")
        if grading.answers:
            found += answer_metrics({"locomo_f1": "the data set's own score of the category"})
        return found

    def instructions(self, access: Sequence[str], memory: str = "") -> str:
        """What an agent is told, by how it reaches the memory."""
        return instructions(access)

    def criteria(self, variant: str) -> str:
        """What a right answer is, for a judge with a model."""
        return criteria(variant)

    def sections(self, summary: Mapping[str, Any]) -> Sequence[Section]:
        """What an answer can score at most by the audited key; from the summary alone."""
        ceiling = summary.get("answer_ceiling") or {}
        if not ceiling:
            return ()
        rows = tuple((name, value) for name, value in ceiling.items())
        columns = (Column(title="questions"), Column(title="answer key right", kind="share"))
        return (
            Section(
                title="Ceiling of the answer key",
                text="The share of exactly these questions whose gold answer the audit found right. A score of answers "
                "above it would be a sign of a lenient judge, not of a good memory. Recall is not bound by it.",
                tables=(Table(title="By category", columns=columns, rows=rows),),
            ),
        )

    def answer_ceiling(self, tasks: Sequence[Task]) -> float | None:
        """The share of tasks whose answer key is right by the audit; None without an audit."""
        return answer_ceiling(tasks)

    # -- how it is cut ---------------------------------------------------------------------------------------------

    def category_name(self, token: str) -> str:
        """The category that a user means by a number (``1``) or a name (``multi-hop``).

        Raises:
            UnknownName: neither a number from 1 to 5 nor a name, with the closest names.
        """
        word = token.strip().lower().replace("_", "-").replace(" ", "-")
        numbered = {str(number): name for number, name in load.CATEGORIES.items()}
        if word in numbered:
            return numbered[word]
        if word in self.categories:
            return word
        raise UnknownName("category", token, self.categories)

    def sensitivities(self, tasks: Sequence[Task] | None = None) -> Mapping[str, frozenset[str]]:
        """Ids of those of ``tasks`` (of all, by default) to leave out, by what the score is then without."""
        suspect = frozenset(
            task.id
            for task in (self.tasks() if tasks is None else tasks)
            if {"duplicate_of", "partly_unresolved"} & task.payload.keys()
        )
        return {"without duplicates and partly resolvable": suspect}
