"""A suite of questions that need nothing and a memory that holds nothing: what is left is the harness itself."""

from __future__ import annotations

from memassay.core import registry
from memassay.core.contracts import MetricSpec
from memassay.core.digest import digest_of
from memassay.core.types import Corpus, Document, Evidence, Gold, Task, Unit


class NoopSuite:
    """``tasks`` questions in ten clusters about one short document each."""

    name = "noop"
    data = "generated"

    def __init__(self, tasks: int = 1000) -> None:
        self.count = tasks

    def identity(self):
        return {"tasks": self.count}

    def corpora(self):
        made = []
        for i in range(10):
            unit = Unit(id=f"u{i}", text=f"The answer of cluster {i} is {i * 7}.")
            documents = (Document(id=f"d{i}", text=unit.text, units=(unit,)),)
            made.append(Corpus(id=f"c{i}", documents=documents, digest=digest_of([unit.text])))
        return made

    def tasks(self):
        return [
            Task(
                id=f"t{i}",
                suite=self.name,
                scope=f"c{i % 10}",
                cluster=f"c{i % 10}",
                category="noop",
                prompt=f"What is the answer of cluster {i % 10}, asked for the {i}th time?",
                gold={"original": Gold(evidence=(Evidence(id=f"u{i % 10}", text=f"The answer is {i % 10 * 7}."),))},
            )
            for i in range(self.count)
        ]

    def judges(self, grading):
        judge = registry.judges.get("evidence")
        return [judge(key="original", tokens=grading.tokens, budgets=grading.budgets, ks=grading.ks)]

    def metrics(self, grading):
        return [MetricSpec(f"all@{b}", budget=b) for b in grading.budgets]

    def sections(self, summary):
        return ()


class Nothing:
    """Remembers nothing."""

    def build(self, corpus, place, context):
        (place / "empty").write_text("")

    def open(self, ref):
        return self

    async def retrieve(self, query):
        return []
