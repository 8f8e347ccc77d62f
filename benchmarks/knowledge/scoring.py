"""What an open index of 4,000 pages takes to answer, beside bm25s over the same terms; in one run.

    python benchmarks/knowledge/scoring.py

``scores``: one number for every passage. ``weights``: what each word gives to 60 passages. ``neighbours``: the links of
20 passages in both directions. ``pack``: 4,000 tokens of passages. Median and 95th percentile over 400 questions, in
CPU time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from generated import Pages

from memassay.knowledge.entries import Settings
from memassay.knowledge.index import Incoming, Index
from memassay.knowledge.packing import of_passage, pack
from memassay.knowledge.pages import parse
from memassay.knowledge.passages import cut, searched, short_title
from memassay.retrieval.bm25 import Bm25Index

QUESTIONS = 400


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=4_000)
    given = parser.parse_args()
    pages = Pages(given.pages, 20_000)
    index = Index.private(Settings())
    index.update(pages.keys(), lambda key: Incoming(pages.text(int(key[1:]))))
    snapshot, terms = index.snapshot, index.indexing.terms
    parsed = [parse(key, pages.text(number)) for number, key in enumerate(pages.keys())]
    engine = Bm25Index.build(
        [terms(f"{short_title(page)} " * 2 + words) for page in parsed for words in searched(page, cut(page))]
    )
    questions = [terms(" ".join(pages.question(at * pages.count // QUESTIONS))) for at in range(QUESTIONS)]
    ranked = [np.argsort(-snapshot.scores(question), kind="stable") for question in questions]
    for question in questions:
        assert np.allclose(snapshot.scores(question), engine.scores(question), rtol=1e-4)

    def packing(at: int) -> object:
        candidates = [of_passage(snapshot, passage) for passage in ranked[at][:60].tolist()]
        return pack(snapshot, candidates, 4_000)

    works: dict[str, Callable[[int], object]] = {
        "bm25s": lambda at: engine.scores(questions[at]),
        "scores": lambda at: snapshot.scores(questions[at]),
        "weights": lambda at: snapshot.weights(questions[at], ranked[at][:60]),
        "neighbours": lambda at: snapshot.neighbours(ranked[at][:20]),
        "pack": packing,
    }
    base = 0.0
    for name, work in works.items():
        took = []
        for at in range(QUESTIONS):
            start = time.process_time()
            work(at)
            took.append((time.process_time() - start) * 1e3)
        took.sort()
        base = base or took[QUESTIONS // 2]
        print(f"{name:10} p50 {took[QUESTIONS // 2]:6.3f} ms   p95 {took[QUESTIONS * 95 // 100]:6.3f} ms   "
              f"{took[QUESTIONS // 2] / base:5.2f} x bm25s")  # fmt: skip


if __name__ == "__main__":
    main()
