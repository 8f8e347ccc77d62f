"""The suite ``custom``: the user's own documents and questions, graded by evidence, with no code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from memassay.core.contracts import Grading, Judge, MetricSpec, answer_metrics, evidence_metrics
from memassay.core.digest import digest_of
from memassay.core.errors import UnknownName, UsageError
from memassay.core.registry import judges as judge_registry
from memassay.core.report import Section
from memassay.core.types import Corpus, DataKind, Document, Task
from memassay.suites.custom import sample
from memassay.suites.custom.documents import UNITS, Documents, documents_of, read_documents
from memassay.suites.custom.questions import questions_of, read_questions
from memassay.suites.custom.reading import sections

_NAMED = 20


class Custom:
    """Your own documents and questions, scored with no code.

    Nothing is read before it is needed, so that a report can be made from a run folder alone.

    Args:
        docs: a folder of text files, or a JSONL file with one document per line.
        questions: a JSONL file with one question per line.
        sample: use a generated handbook and questions about it instead; they carry no verdict.
        seed: seed of the generated handbook.
    """

    name = "custom"
    default_categories: tuple[str, ...] = ()
    # In the order of the tasks: what the user calls a category is known only once the questions are read.
    categories: tuple[str, ...] = ()

    def __init__(
        self,
        docs: str | None = None,
        questions: str | None = None,
        sample: bool = False,
        seed: int = 20261130,
    ) -> None:
        if sample and (docs is not None or questions is not None):
            raise UsageError(
                "The suite custom takes either --docs with --questions or --sample; leave one of them out."
            )
        self.data: DataKind = "generated" if sample else "real"
        self._sample = sample
        self._seed = seed
        self._docs = None if docs is None else Path(docs)
        self._questions = None if questions is None else Path(questions)

    # -- what it is made of ----------------------------------------------------------------------------------------

    @cached_property
    def documents(self) -> Documents:
        """The documents by scope, and the files that were left out.

        Raises:
            UsageError: no documents were named.
            DataError: they cannot be read, with the place and the fix.
        """
        if self._sample:
            return documents_of(self._generated[0])
        docs, questions = self._places()
        return read_documents(docs, leave_out=questions)

    @cached_property
    def _generated(self) -> sample.Rows:
        return sample.generate(self._seed)

    def _places(self) -> tuple[Path, Path]:
        if self._docs is None or self._questions is None:
            missing = " and ".join(
                flag
                for flag, path in (("--docs FOLDER", self._docs), ("--questions FILE.jsonl", self._questions))
                if path is None
            )
            raise UsageError(f"The suite custom needs {missing}; or try it with --sample.")
        return self._docs, self._questions

    def identity(self) -> Mapping[str, JsonValue]:
        """Digests of documents and questions, how many there are, and the files that were left out."""
        found: dict[str, JsonValue] = {"units": UNITS}
        if self._sample:
            found["sample"] = {"seed": self._seed, "generator": sample.VERSION}
            return found
        corpora, tasks, skipped = self.corpora(), self.tasks(), self.documents.skipped
        names: list[JsonValue] = [*skipped]
        found["documents"] = {
            "count": sum(len(corpus.documents) for corpus in corpora),
            "digest": digest_of([[corpus.id, corpus.digest] for corpus in corpora]),
            "skipped": len(skipped),
            "skipped_names": names[:_NAMED],
        }
        graded = sum(bool(task.gold["original"].evidence) for task in tasks)
        found["questions"] = {"count": len(tasks), "with_evidence": graded, "digest": digest_of(list(tasks))}
        return found

    def corpora(self) -> Sequence[Corpus]:
        return self._corpora

    def tasks(self) -> Sequence[Task]:
        return self._tasks

    @cached_property
    def _corpora(self) -> tuple[Corpus, ...]:
        return tuple(_corpus(scope, documents) for scope, documents in self.documents.scopes.items())

    @cached_property
    def _tasks(self) -> tuple[Task, ...]:
        scopes = self.documents.scopes
        if self._sample:
            found = questions_of(self._generated[1], scopes)
        else:
            _, path = self._places()
            found = read_questions(path, scopes)
        return tuple(found)

    # -- how it is graded ------------------------------------------------------------------------------------------

    def judges(self, grading: Grading) -> Sequence[Judge]:
        """The evidence grader, and the grader of answers where an agent answers."""
        grader: Any = judge_registry.get("evidence")
        found = [grader(key="original", tokens=grading.tokens, budgets=grading.budgets, ks=grading.ks)]
        if grading.answers:
            answers: Any = judge_registry.get("answers")
            found.append(answers())
        return found

    def metrics(self, grading: Grading) -> Sequence[MetricSpec]:
        """``all``, ``any`` and ``rec`` at each budget, then at each k; ``all`` at a budget is the primary family."""
        return [*evidence_metrics(grading, "passage"), *(answer_metrics() if grading.answers else ())]

    def sections(self, summary: Mapping[str, Any]) -> Sequence[Section]:
        """How far these questions reach; from the summary alone."""
        return sections(summary)

    # -- how it is cut ---------------------------------------------------------------------------------------------

    def category_name(self, token: str) -> str:
        """The category that a user means, whatever the case, blanks, hyphens and underscores.

        Raises:
            UnknownName: no question has it, with the closest names.
        """
        known = dict.fromkeys(task.category for task in self.tasks())
        if token in known:
            return token
        for name in known:
            if _plain(name) == _plain(token):
                return name
        raise UnknownName("category", token, known)


def _corpus(scope: str, documents: tuple[Document, ...]) -> Corpus:
    content = {"id": scope, "variant": "default", "documents": [d.model_dump(mode="json") for d in documents]}
    return Corpus(id=scope, documents=documents, digest=digest_of(content))


def _plain(name: str) -> str:
    return "".join(name.casefold().replace("-", " ").replace("_", " ").split())
