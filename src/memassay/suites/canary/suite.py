"""The suite ``canary``: choose a memory for your own documents, by a rule fixed before anything was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from memassay.core.contracts import Grading, Judge, MetricSpec, Outcome, evidence_metrics
from memassay.core.digest import digest_of
from memassay.core.errors import UsageError, suggestion
from memassay.core.registry import judges as judge_registry
from memassay.core.report import Section
from memassay.core.types import Corpus, DataKind, Document, Evidence, Gold, Task
from memassay.suites.canary import sections as drawn
from memassay.suites.canary.families import FAMILIES, PUBLISHED, UNIFORM, Weights, read_weights
from memassay.suites.canary.fixture import Question, read_fixture
from memassay.suites.canary.grading import LabelJudge, label_metrics
from memassay.suites.canary.ingest import Ingested, ingest
from memassay.suites.canary.results import conclude
from memassay.suites.canary.rules import RULES
from memassay.suites.canary.supersessions import Supersession, read_supersessions
from memassay.suites.canary.verdict import in_words
from memassay.suites.canary.world import SEED, VERSION, World, make_world
from memassay.suites.custom.documents import SCOPE


class Canary:
    """Paired questions in eight families on the user's own documents, or on a generated sample.

    Nothing is read before it is needed, so that a report can be made from a run folder alone.

    Args:
        docs: a folder of text files, or a JSONL file with one document per line; with ``questions``, else the sample.
        questions: a JSONL file of questions, as published or in our schema.
        supersessions: a JSONL file of what replaced what; without it no supersession is called invented.
        weights: a TOML file with how often each family is asked, ``published``, or ``uniform``.
        incumbent: the memory that another one has to beat, named before anything is retrieved.
        rule: ``default``, or ``seed-v1`` as published.
        budget: context tokens at which memories are compared.
        documents: of the sample, in all.
        seed: of the sample.
        sample: the generated sample, also where nothing else is named; its numbers carry no verdict.
    """

    name = "canary"
    categories: tuple[str, ...] = FAMILIES
    default_categories: tuple[str, ...] = ()
    words: Mapping[str, str] = {"tasks": "questions"}
    defaults: Mapping[str, Any] = {
        "budgets": (1000, 2000, 4000),
        "memories": {
            "files": {"use": "files"},
            "lexical": {"use": "lexical", "role": "baseline"},
            "markdown": {"use": "markdown"},
        },
    }

    def __init__(
        self,
        docs: str | None = None,
        questions: str | None = None,
        supersessions: str | None = None,
        weights: str | None = None,
        incumbent: str = "lexical",
        rule: str = "default",
        budget: int = 2000,
        documents: int = 130,
        seed: int = SEED,
        sample: bool = False,
    ) -> None:
        if rule not in RULES:
            raise UsageError(f"The canary has no rule {rule!r}.{suggestion(rule, RULES)}")
        if (docs is None) != (questions is None):
            missing = "--questions FILE.jsonl" if questions is None else "--docs FOLDER"
            raise UsageError(f"The canary needs {missing} too; without either it runs on its sample.")
        if sample and docs is not None:
            raise UsageError("The canary takes either --docs with --questions or --sample; leave one of them out.")
        self.sample = docs is None
        self.data: DataKind = "generated" if self.sample else "real"
        self._docs = None if docs is None else Path(docs)
        self._questions = None if questions is None else Path(questions)
        self._supersessions = None if supersessions is None else Path(supersessions)
        self._weights, self._incumbent, self._rule, self._budget = weights, incumbent, rule, budget
        self._documents, self._seed = documents, seed

    # -- what it is made of ----------------------------------------------------------------------------------------

    @cached_property
    def _world(self) -> World:
        try:
            return make_world(seed=self._seed, documents=self._documents)
        except ValueError as error:
            raise UsageError(f"{error}") from error

    @cached_property
    def documents(self) -> tuple[Document, ...]:
        """The documents, in order.

        Raises:
            DataError: they cannot be read, with the place and the fix.
        """
        return self._world.documents if self._ingested is None else self._ingested.documents

    @cached_property
    def _ingested(self) -> Ingested | None:
        return None if self._docs is None else ingest(self._docs, leave_out=self._questions)

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """The questions, in order."""
        return self._world.questions if self._questions is None else read_fixture(self._questions)

    @cached_property
    def supersessions(self) -> tuple[Supersession, ...] | None:
        """What replaced what, or None where that is not known."""
        if self._supersessions is not None:
            return read_supersessions(self._supersessions)
        return self._world.supersessions if self.sample else None

    @property
    def weights(self) -> Weights:
        """How much each family counts."""
        if self._weights in (None, "published" if self.sample else "uniform"):
            return PUBLISHED if self.sample else UNIFORM
        named = {"published": PUBLISHED, "uniform": UNIFORM}
        return named[self._weights] if self._weights in named else read_weights(Path(str(self._weights)))

    def identity(self) -> Mapping[str, JsonValue]:
        """Digests of documents, questions and supersessions, and the rule with all that it takes."""
        table = None if self.supersessions is None else digest_of([s.model_dump() for s in self.supersessions])
        return {
            "documents": {
                "count": len(self.documents),
                "digest": self._corpus.digest,
                "skipped": len(self._ingested.skipped) if self._ingested else 0,
            },
            "questions": {
                "count": len(self.questions),
                "digest": digest_of([q.model_dump(mode="json") for q in self.questions]),
            },
            "supersessions": table,
            "weights": self.weights.model_dump(mode="json"),
            "incumbent": self._incumbent,
            "rule": self._rule,
            "budget": self._budget,
            "sample": {"seed": self._seed, "documents": self._documents, "version": VERSION} if self.sample else None,
        }

    def corpora(self) -> Sequence[Corpus]:
        return (self._corpus,)

    @cached_property
    def _corpus(self) -> Corpus:
        content = [document.model_dump(mode="json") for document in self.documents]
        return Corpus(id=SCOPE, documents=self.documents, digest=digest_of(content))

    def tasks(self) -> Sequence[Task]:
        return tuple(_task(question) for question in self.questions)

    # -- how it is graded ------------------------------------------------------------------------------------------

    def judges(self, grading: Grading) -> Sequence[Judge]:
        """The evidence grader, for the controls, and the labels."""
        evidence: Any = judge_registry.get("evidence")
        first = evidence(key="original", tokens=grading.tokens, budgets=grading.budgets, ks=grading.ks)
        return [first, LabelJudge(self, tokens=grading.tokens, budgets=grading.budgets)]

    def metrics(self, grading: Grading) -> Sequence[MetricSpec]:
        """Every required fact in the dossier, and the share of questions with each label, at each budget."""
        return [*evidence_metrics(grading, "fact"), *label_metrics(grading)]

    # -- what is concluded -----------------------------------------------------------------------------------------

    def conclude(self, outcomes: Sequence[Outcome], planned: Sequence[str] = ()) -> Mapping[str, JsonValue]:
        """The decision by the rule that was fixed, and what it is made of."""
        found = conclude(
            outcomes, weights=self.weights, incumbent=self._incumbent, rule=self._rule, budget=self._budget
        )
        return {**found, "said": [in_words(found)]}

    def sections(self, summary: Mapping[str, Any]) -> Sequence[Section]:
        """The decision and its parts; from the summary alone."""
        return drawn.sections(summary.get("conclusion", {}), sample=bool(summary.get("sample")))

    def category_name(self, token: str) -> str:
        """The family that a user means, whatever the case, blanks and hyphens."""
        plain = token.casefold().replace("-", "_").replace(" ", "_")
        return plain if plain in FAMILIES else token


def _task(question: Question) -> Task:
    """A question as every suite has it: the facts that are asked for are its gold evidence."""
    facts = tuple(
        Evidence(id=f"{question.id}#{number}", text=atom.text) for number, atom in enumerate(question.required, start=1)
    )
    return Task(
        id=question.id,
        suite="canary",
        scope=SCOPE,
        cluster=question.cluster or question.id,
        category=question.family,
        split={"dev": "dev", "sealed": "test"}.get(question.split, "all"),
        prompt=question.query,
        as_of=question.as_of,
        payload={"premise_valid": question.premise_valid},
        gold={"original": Gold(answer=question.answer or None, evidence=facts if question.premise_valid else ())},
    )
