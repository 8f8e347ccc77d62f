"""What a whole retrieval with expansion takes on an open store of 4,000 pages, beside bm25s alone; in one run.

    python benchmarks/knowledge/retrieval.py [--data HOTPOT.jsonl]

A retrieval is ``KnowledgeStore.search``, everything from the question to packed text: terms, names, scores, links and
mentions of 10 seeds in both directions, ranking, and 4,000 tokens of passages. Every question is asked once, so a
mention is looked for when a question first comes near it; then all are asked again. The last row is the tool ``search``
of the server, 20 passages at most in 2,000 tokens of JSON. With ``--data`` the pages are the
pool of those HotPotQA questions, with title links, and the questions are theirs. CPU time of one thread.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from generated import Pages

from memassay.knowledge.answers import Answers
from memassay.knowledge.arguments import Search
from memassay.knowledge.store import KnowledgeStore
from memassay.retrieval.bm25 import Bm25Index, best_first
from memassay.suites.hotpotqa.suite import HotpotQA

BUDGET = 4_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=4_000)
    parser.add_argument("--questions", type=int, default=400)
    parser.add_argument("--data", default=None)
    given = parser.parse_args()
    texts, questions = _hotpotqa(given.data) if given.data else _generated(given.pages, given.questions)
    with tempfile.TemporaryDirectory() as folder:
        for key, text in texts.items():
            (Path(folder) / f"{key}.md").write_text(text, encoding="utf-8")
        with KnowledgeStore.open(Path(folder), writable=True) as store:
            _measure(store, [texts[key] for key in sorted(texts)], questions)


def _measure(store: KnowledgeStore, texts: Sequence[str], questions: Sequence[str]) -> None:
    snapshot, terms = store.snapshot, store.terms
    answers = Answers(store)
    engine = Bm25Index.build([terms(text) for text in texts])

    def whole(question: str) -> object:
        return store.search(question, max_tokens=BUDGET, heads=True)

    works: dict[str, Callable[[str], object]] = {
        "bm25s": lambda question: best_first(engine.scores(terms(question))),
        "first": whole,
        "again": whole,
        "tool": lambda question: answers.search(Search(text=question, max_tokens=2_000)),
    }
    print(f"{snapshot.pages:,} pages, {snapshot.passages:,} passages, {len(questions)} questions, {BUDGET:,} tokens")
    base = 0.0
    for name, work in works.items():
        took = []
        for question in questions:
            start = time.process_time()
            work(question)
            took.append((time.process_time() - start) * 1e3)
        took.sort()
        base = base or took[len(took) // 2]
        print(f"{name:6} p50 {took[len(took) // 2]:7.3f} ms   p95 {took[len(took) * 95 // 100]:7.3f} ms   "
              f"{took[len(took) // 2] / base:6.2f} x bm25s")  # fmt: skip


def _generated(count: int, asked: int) -> tuple[dict[str, str], list[str]]:
    pages = Pages(count, 20_000)
    texts = {key: pages.text(number) for number, key in enumerate(pages.keys())}
    return texts, [" ".join(pages.question(at * count // asked)) for at in range(asked)]


def _hotpotqa(path: str) -> tuple[dict[str, str], Sequence[str]]:
    suite = HotpotQA(data=path, links="titles")
    (corpus,) = suite.corpora()
    return {document.id: document.text for document in corpus.documents}, [task.prompt for task in suite.tasks()]


if __name__ == "__main__":
    main()
