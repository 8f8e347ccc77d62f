"""The suite ``hotpotqa``: its settings, its graders and metrics, and what of it is guarded."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from memassay.core.contracts import Grading, Judge, MetricSpec, answer_metrics, metrics_at
from memassay.core.digest import digest_of
from memassay.core.errors import DataError, UnknownName, UsageError
from memassay.core.registry import judges as judge_registry
from memassay.core.report import Section
from memassay.core.types import Corpus, DataKind, Task
from memassay.data.catalogue import CATALOGUE
from memassay.data.integrity import sha256_of
from memassay.data.places import data_folder, locate, present
from memassay.suites.hotpotqa import load, reading, sample, tasks
from memassay.suites.hotpotqa.draw import SEED, Draw, check, draw, freeze
from memassay.suites.hotpotqa.facts import Fact, facts
from memassay.suites.hotpotqa.instructions import instructions
from memassay.suites.hotpotqa.judging import criteria
from memassay.suites.hotpotqa.linking import Plain
from memassay.suites.hotpotqa.pool import Links, corpus, pool

RENDERING = 2
"""Version of the pages, their keys and their links; part of the suite's identity."""

_SLICES = ("hotpotqa-289", "hotpotqa-200")
_PAIRS = {"both": "every gold page", "any": "at least one gold page", "rec": "share of the gold pages"}


class HotpotQA:
    """Questions that need two pages of an encyclopedia, all asked of one pool of pages.

    Args:
        data: HotPotQA's file (JSON or JSONL); looked for in the data folders where it is not given.
        links: ``titles`` makes a link of every page's name on other pages; ``none`` leaves the pages plain.
        dev: how many questions are drawn as dev; 50 by default, or all of a file with fewer than 350.
        test: how many are drawn as test; 300 by default, or none of a file with fewer than 350.
        force: draw anew where another draw of this file was frozen.
        sample: use a generated encyclopedia instead of a file; it carries no verdict.
        seed: seed of the generated encyclopedia.
    """

    name = "hotpotqa"
    design = "independent-binary"
    words: Mapping[str, str] = {"tasks": "questions", "clusters": "groups that share no gold page"}
    categories: tuple[str, ...] = load.TYPES
    default_categories: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = {"ks": (2, 5, 10, 20)}

    def __init__(
        self,
        data: str | None = None,
        links: Links = "none",
        dev: int | None = None,
        test: int | None = None,
        force: bool = False,
        sample: bool = False,
        seed: int = 20261130,
    ) -> None:
        if sample and data is not None:
            raise UsageError(
                "The suite hotpotqa takes either a data file or the sample, not both; leave one of them out."
            )
        self.data: DataKind = "generated" if sample else "real"
        self._sample, self._seed = sample, seed
        self._file = None if data is None else Path(data)
        self._links, self._force = links, force
        self._dev, self._test = dev, test

    @staticmethod
    def verify(name: str, path: Path) -> Mapping[str, Fact]:
        """What a file of the catalogue holds, counted.

        Raises:
            DataError: the file is not HotPotQA's format.
        """
        return facts(load.load(path))

    # -- what it is made of ----------------------------------------------------------------------------------------

    @cached_property
    def path(self) -> Path | None:
        """The data file, or None for the sample.

        Raises:
            DataError: it is not there; where a slice of it is, the message says how to take that.
        """
        if self._sample:
            return None
        try:
            return locate(self.name, self._file)
        except DataError as error:
            slices = () if self._file is not None else (present(name) for name in _SLICES)
            here = next((path for path in slices if path is not None), None)
            if here is None:
                raise
            words = f"or take the slice that is here with: --data {shlex.quote(str(here))}"
            raise DataError(f"{str(error).removesuffix('.')}, {words}.") from None

    @cached_property
    def loaded(self) -> load.Loaded:
        if self.path is None:
            return load.parse(sample.generate(self._seed), file="sample")
        return load.load(self.path)

    @cached_property
    def drawn(self) -> Draw:
        """Which questions are asked; a draw from a file is compared with the one that was frozen, unless forced.

        Raises:
            DataError: it is not the draw that was frozen.
        """
        sizes = (self._dev, self._test)
        if self.path is None and sizes == (None, None):
            sizes = sample.DEV, sample.TEST
        found = draw([question.id for question in self.loaded.questions], *sizes)
        if self.path is not None and not self._force:
            check(found, self.path, self._sha256, data_folder())
        return found

    def accepted(self) -> None:
        """Freeze the draw in the data folder: the run folder has taken the run, so its questions are asked.

        Raises:
            DataError: another draw was frozen meanwhile.
        """
        if self.path is not None:
            freeze(self.drawn, self.path, self._sha256, data_folder(), force=self._force)

    @cached_property
    def questions(self) -> tuple[load.Question, ...]:
        """The questions that are asked, in the order of the draw."""
        by_id = {question.id: question for question in self.loaded.questions}
        return tuple(by_id[name] for name in self.drawn.ids)

    @cached_property
    def pages(self) -> tuple[Plain, ...]:
        """The pool: every page of the contexts of the questions that are asked."""
        return tuple(pool(self.questions))

    @cached_property
    def _sha256(self) -> str:
        return "" if self.path is None else sha256_of(self.path)

    def identity(self) -> Mapping[str, JsonValue]:
        """Digest of the file, or seed and version of the generator; the draw, the variant and the size of the pool."""
        found: dict[str, JsonValue] = {"rendering": RENDERING, "links": self._links}
        if self.path is None:
            found["sample"] = {"seed": self._seed, "generator": sample.VERSION}
        else:
            known = next((e.name for e in CATALOGUE.values() if (e.suite, e.sha256) == (self.name, self._sha256)), None)
            found["data"] = {"sha256": self._sha256, "catalogue": known is not None, "name": known}
            if self.loaded.repeated:
                found["repeated_ids"] = len(self.loaded.repeated)
        found["draw"] = {
            "seed": SEED,
            "dev": len(self.drawn.dev),
            "test": len(self.drawn.test),
            "digest": digest_of([self.drawn.dev, self.drawn.test]),
        }
        links = sum(len(document.links) for document in self._corpus.documents)
        found["pool"] = {"pages": len(self.pages), "links": links}
        lost = sum(bool(task.gold[tasks.PAGES].unresolved) for task in self._tasks)
        if lost:
            found["unresolved_questions"] = lost
        return found

    def corpora(self) -> Sequence[Corpus]:
        return (self._corpus,)

    def tasks(self) -> Sequence[Task]:
        return self._tasks

    @cached_property
    def _corpus(self) -> Corpus:
        return corpus(self.pages, self._links)

    @cached_property
    def _tasks(self) -> tuple[Task, ...]:
        return tuple(tasks.tasks(self.questions, self.drawn, self.pages))

    # -- how it is graded ------------------------------------------------------------------------------------------

    def judges(self, grading: Grading) -> Sequence[Judge]:
        """The evidence grader over the gold pages, and, exploratory, over the supporting sentences.

        Both read a link as its words, so that the two variants are graded alike; cut-offs count distinct pages.
        Then the grader of answers where an agent answers.
        """
        grader: Any = judge_registry.get("evidence")
        answers: Any = judge_registry.get("answers") if grading.answers else None
        return [
            grader(
                key=key,
                tokens=grading.tokens,
                budgets=grading.budgets,
                ks=grading.ks,
                alias="both",
                count="documents",
                links=True,
            )
            for key in (tasks.PAGES, tasks.FACTS)
        ] + ([answers(official="hotpotqa")] if answers else [])

    def metrics(self, grading: Grading) -> Sequence[MetricSpec]:
        """``both``, ``any`` and ``rec`` at each budget, then at each k; ``both`` at a budget is the primary family."""
        official = {"hotpot_em": "the data set's own exact match", "hotpot_f1": "the data set's own F1"}
        found = metrics_at(grading, _PAIRS, "among the first {k} distinct pages")
        return [*found, *(answer_metrics(official) if grading.answers else ())]

    def instructions(self, access: Sequence[str], memory: str = "") -> str:
        """What an agent is told, by how it reaches the pages."""
        return instructions(access)

    def criteria(self, variant: str) -> str:
        """What a right answer is, for a judge with a model."""
        return criteria(variant)

    def sections(self, summary: Mapping[str, Any]) -> Sequence[Section]:
        """The pool and the scores by type of question; from the summary alone."""
        return reading.sections(summary)

    # -- how it is cut ---------------------------------------------------------------------------------------------

    def category_name(self, token: str) -> str:
        """The type that a user means.

        Raises:
            UnknownName: neither bridge nor comparison, with the closest name.
        """
        word = token.strip().lower()
        if word in self.categories:
            return word
        raise UnknownName("category", token, self.categories)

    def sensitivities(self, tasks: Sequence[Task] | None = None) -> Mapping[str, frozenset[str]]:
        """Ids of those of ``tasks`` (of all, by default) to leave out, by what the score is then without."""
        asked = self.tasks() if tasks is None else tasks
        marked = {
            "without questions whose gold page stands in another page too": "gold_elsewhere",
            "without questions of which a gold page is lost": "partly_unresolved",
        }
        return {title: frozenset(task.id for task in asked if mark in task.payload) for title, mark in marked.items()}
