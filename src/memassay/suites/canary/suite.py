"""The suite ``canary``: choose a memory for your own documents, by a rule fixed before anything was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from pydantic import JsonValue

from memassay.core.contracts import Grading, Judge, MetricSpec, Outcome, evidence_metrics
from memassay.core.digest import digest_of
from memassay.core.errors import UsageError, suggestion
from memassay.core.pairs import Pairs, PairVerdict
from memassay.core.registry import judges as judge_registry
from memassay.core.report import Section
from memassay.core.types import Corpus, DataKind, Document, Evidence, Gold, Task
from memassay.core.views import STALE, original
from memassay.suites.canary import probes
from memassay.suites.canary import sections as drawn
from memassay.suites.canary.checks import Check, Scores, checks
from memassay.suites.canary.families import FAMILIES, PUBLISHED, UNIFORM, Weights, read_weights
from memassay.suites.canary.fixture import Question, read_fixture
from memassay.suites.canary.grading import ControlledJudge, LabelJudge, label_metrics
from memassay.suites.canary.ingest import Ingested, ingest
from memassay.suites.canary.labels import Precedence
from memassay.suites.canary.results import conclude
from memassay.suites.canary.rules import RULES, Thresholds
from memassay.suites.canary.staleness import outdated, with_table
from memassay.suites.canary.supersessions import Supersession, read_supersessions
from memassay.suites.canary.verdict import DECIDED, in_words
from memassay.suites.canary.world import SEED, VERSION, World, make_world
from memassay.suites.custom.documents import SCOPE

BUDGET = 2_000
NATIVE_CEILING = 32_000
"""Tokens within which a memory gives its native size: more than the largest default of those that are known."""

_USUAL = Thresholds()


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
        budget: context tokens at which memories are compared; one of the run's budgets. Unless said, 2,000, or the
            largest of the run's where that is none of them; with ``native`` 32,000.
        native: the second setting, no equal length: every memory gives as many passages as it does unasked (its
            ``native``, else 10), within ``budget``.
        gold: whether judges of pairs are ``shown`` what a right dossier must hold, or it is ``hidden`` from them.
        precedence: what decides where a dossier holds both the answer and an invention: ``fabrication``, or
            ``coverage``.
        margin, ceiling, undetermined, level: of the rule ``default``, see :class:`.rules.Thresholds`.
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
        budget: int | None = None,
        native: bool = False,
        gold: Literal["shown", "hidden"] = "shown",
        precedence: Precedence = "fabrication",
        margin: float = _USUAL.margin,
        ceiling: float = _USUAL.ceiling,
        undetermined: float = _USUAL.undetermined,
        level: float = _USUAL.level,
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
        self.native = native
        self.decides = bool(incumbent)
        self._weights, self._incumbent, self._rule = weights, incumbent, rule
        self._named = budget is not None or native
        self._budget = budget if budget is not None else NATIVE_CEILING if native else BUDGET
        if gold not in ("shown", "hidden"):
            raise UsageError(f"gold is shown or hidden, not {gold!r}.")
        self._gold, self._precedence = gold, precedence
        self._thresholds = Thresholds(margin, ceiling, undetermined, level)
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
        """The questions, in order; with a table of replacements, what it says was true before is forbidden."""
        if self._questions is None:
            return self._world.questions
        asked = read_fixture(self._questions)
        return (
            asked if self._supersessions is None else tuple(with_table(one, self.supersessions or ()) for one in asked)
        )

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
            "thresholds": asdict(self._thresholds),
            "budget": self._budget,
            "native": self.native,
            "precedence": self._precedence,
            "gold": self._gold,
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
        """The evidence grader, which labels the controls too, and the labels."""
        if self._budget not in grading.budgets and not self._named:
            self._budget = max(grading.budgets)  # nobody said at which: the usual one is not measured
        if self._budget not in grading.budgets:
            at = ", ".join(f"{budget}" for budget in grading.budgets)
            raise UsageError(
                f"The canary decides at {self._budget} tokens, and the budgets of the run are {at}; add {self._budget} "
                f"to --budgets, or decide at one of them with --set canary.budget={grading.budgets[-1]}."
            )
        evidence: Any = judge_registry.get("evidence")
        first = evidence(key="original", tokens=grading.tokens, budgets=grading.budgets, ks=grading.ks)
        labels = LabelJudge(self, tokens=grading.tokens, budgets=grading.budgets, precedence=self._precedence)
        return [ControlledJudge(first, labels), labels]

    def metrics(self, grading: Grading) -> Sequence[MetricSpec]:
        """Every required fact in the dossier, and the share of questions with each label, at each budget."""
        return [*evidence_metrics(grading, "fact"), *label_metrics(grading)]

    def checks(self, grading: Grading, tasks: Sequence[Task], scores: Scores) -> Mapping[str, Sequence[Check]]:
        """What the controls must show beside the usual: see :mod:`.checks`."""
        return checks(grading, tasks, scores, weights=self.weights, budget=self._budget, thresholds=self._thresholds)

    # -- what is concluded -----------------------------------------------------------------------------------------

    def pairs(self, arms: Sequence[str]) -> Pairs:
        """The incumbent against each other memory, so that others are compared by labels alone; all where none is."""
        others = [arm for arm in arms if arm != self._incumbent]
        between = tuple((arm, self._incumbent) for arm in others) if len(others) < len(arms) else combinations(arms, 2)
        return Pairs(self._budget, tuple(between), reference_of if self._gold == "shown" else _hidden)

    def unfit(self, verdicts: Sequence[PairVerdict]) -> str:
        """Why a judge that said this of its controls is asked no further, or ""."""
        return probes.unfit(verdicts)

    def conclude(
        self, outcomes: Sequence[Outcome], planned: Sequence[str] = (), verdicts: Sequence[PairVerdict] = ()
    ) -> Mapping[str, JsonValue]:
        """The decision by the rule that was fixed, and what it is made of."""
        found: dict[str, Any] = conclude(
            outcomes,
            weights=self.weights,
            incumbent=self._incumbent,
            rule=self._rule,
            budget=self._budget,
            thresholds=self._thresholds,
            verdicts=verdicts,
            native=self.native,
        )
        return {**found, "said": [in_words(found)], "decided": found["choice"]["verdict"] in DECIDED}

    def sections(self, summary: Mapping[str, Any]) -> Sequence[Section]:
        """The decision and its parts; from the summary alone."""
        return drawn.sections(summary.get("conclusion", {}), sample=bool(summary.get("sample")))

    def category_name(self, token: str) -> str:
        """The family that a user means, whatever the case, blanks and hyphens."""
        plain = token.casefold().replace("-", "_").replace(" ", "_")
        return plain if plain in FAMILIES else token


def reference_of(task: Task) -> str:
    """What a judge of pairs is shown of a question's gold: the answer, then one required fact a line."""
    gold = original(task)
    if not task.payload.get("premise_valid", True):
        return "The question asks about something that does not exist: nothing should be given as an answer."
    facts = [*([gold.answer] if gold.answer else []), *(fact.text for fact in gold.evidence)]
    return "\n".join(dict.fromkeys(" ".join(fact.split()) for fact in facts))


def _hidden(task: Task) -> str:
    return ""


def _task(question: Question) -> Task:
    """A question as every suite has it: the facts that are asked for are its gold evidence."""
    facts = tuple(
        Evidence(id=f"{question.id}#{number}", text=atom.text) for number, atom in enumerate(question.required, start=1)
    )
    payload: dict[str, JsonValue] = {"premise_valid": question.premise_valid}
    before = outdated(question)
    if before:
        payload[STALE] = [[atom.text, atom.doc or ""] for atom in before]
    return Task(
        id=question.id,
        suite="canary",
        scope=SCOPE,
        cluster=question.cluster or question.id,
        category=question.family,
        split={"dev": "dev", "sealed": "test"}.get(question.split, "all"),
        prompt=question.query,
        as_of=question.as_of,
        payload=payload,
        gold={"original": Gold(answer=question.answer or None, evidence=facts if question.premise_valid else ())},
    )
