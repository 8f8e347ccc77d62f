"""What building the index costs, beside the engine bm25s over the same words; as ratios in one run.

    python benchmarks/knowledge/build.py                            # 10,000 generated pages of some 60 words
    python benchmarks/knowledge/build.py --hotpot hotpot.jsonl      # the paragraphs of a HotPotQA file instead

Times are CPU seconds of this process, the median of three rounds in turns. Both sides begin with the texts in memory
and end with an index on disk that can be opened.

- ``engine``: the terms of our analyzer, numbered, given to bm25s, saved.
- ``engine, own tokenizer``: ``bm25s.tokenize`` with its stop words and the same stemmer, ``index``, saved.
- ``ours``: all that a build does. It does more than index words: it parses Markdown, resolves links, and keeps texts
  and terms in a catalog that can be edited. What only ours does and can be measured alone is ``parse``; ``ours, the
  rest`` is what is left without it.
- ``tokens``: the tokens of every passage counted, which is no part of a build: a passage is counted when it is first
  shown.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import bm25s
import Stemmer
from generated import Pages

from memassay.core.dossier import block
from memassay.core.tokens import tokenizer
from memassay.knowledge.entries import Indexing, Settings
from memassay.knowledge.index import Incoming, Index
from memassay.knowledge.pages import parse
from memassay.knowledge.passages import cut, searched, short_title
from memassay.retrieval.bm25 import Bm25Index

ROUNDS = 3


def hotpot(path: Path) -> dict[str, str]:
    """Every paragraph of a HotPotQA file once, as a page."""
    titles: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        context = json.loads(line)["context"]
        pairs = zip(context["title"], context["sentences"], strict=True) if isinstance(context, dict) else context
        for title, sentences in pairs:
            titles.setdefault(title, " ".join(part.strip() for part in sentences))
    return {f"p{at:05d}": f"# {title}\n\n{titles[title]}\n" for at, title in enumerate(sorted(titles))}


def cpu(work: Callable[[Path], object]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        work(Path(folder))
        return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--hotpot", type=Path)
    given = parser.parse_args()
    if given.hotpot:
        pages = hotpot(given.hotpot)
    else:
        made = Pages(given.pages, 20_000)
        pages = {made.key(number): made.text(number) for number in range(given.pages)}
    parsed = [parse(key, text) for key, text in pages.items()]
    texts = [
        f"{short_title(page)}\n{short_title(page)}\n{words}" for page in parsed for words in searched(page, cut(page))
    ]
    spans = [block(1, page.text[slice(*found.span)]) for page in parsed for found in cut(page)]
    del parsed
    gc.collect()
    gc.freeze()  # what stays in memory here is not to be looked through again and again while something is timed

    def engine(folder: Path) -> None:
        terms = Indexing(Settings()).terms
        Bm25Index.build([terms(text) for text in texts]).save(folder)

    def engine_alone(folder: Path) -> None:
        stemmer = Stemmer.Stemmer("english")
        tokens = bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False)
        index = bm25s.BM25(method="lucene", backend="numpy", csc_backend="numpy")
        index.index(tokens, show_progress=False)
        index.save(folder, show_progress=False)

    def ours(folder: Path) -> None:
        index = Index.write(folder, Settings())
        index.update(list(pages), lambda key: Incoming(pages[key]))  # so many pages that it ends with a base
        index.close()

    def parsing(folder: Path) -> None:
        for key, text in pages.items():
            parse(key, text)

    def counting(folder: Path) -> None:
        marks = tokenizer().marks
        for span in spans:
            marks(span)

    works = {
        "engine": engine,
        "engine, own tokenizer": engine_alone,
        "ours": ours,
        "parse": parsing,
        "tokens": counting,
    }
    for work in works.values():
        cpu(work)
    took: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, work in works.items():
            took[name].append(cpu(work))
    middle = {name: statistics.median(times) for name, times in took.items()}
    middle["ours, the rest"] = middle["ours"] - middle["parse"]
    size = sum(map(len, pages.values())) // len(pages)
    print(f"{len(pages):,} pages, {len(texts):,} passages, {size} characters a page")
    for name, seconds in middle.items():
        ratios = [f"{seconds / middle[base]:5.2f} x {base}" for base in ("engine", "engine, own tokenizer")]
        print(f"{name:22} {seconds / len(pages) * 1e6:6.0f} us a page   {'   '.join(ratios)}")


if __name__ == "__main__":
    main()
