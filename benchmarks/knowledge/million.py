"""A large index: how long it takes to build, what memory it needs at most, and how fast it answers.

    python benchmarks/knowledge/million.py                   # 1,000,000 pages of some 60 words
    python benchmarks/knowledge/million.py --pages 100000

Pages are generated as they are read, so their files cost nothing; they are parsed, cut, counted in tokens, indexed and
stored as files would be. Building, answering and editing are processes of their own, and the peak is what the system
says of each.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from generated import Pages

from memassay.knowledge.entries import Settings
from memassay.knowledge.index import Incoming, Index

VOCABULARY = 200_000


def peak() -> float:
    """Largest resident memory of this process in GB, mapped files included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def build(folder: Path, count: int) -> None:
    pages = Pages(count, VOCABULARY)
    start, cpu = time.perf_counter(), time.process_time()
    index = Index.write(folder, Settings())
    index.update(pages.keys(), lambda key: Incoming(pages.text(int(key[1:]))))
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    assert index.snapshot.pages == count
    index.close()
    size = sum(path.stat().st_size for path in folder.iterdir()) / 1e9
    print(f"build   {count:,} pages: {wall:.0f} s ({cpu:.0f} s CPU, {cpu / count * 1e6:.0f} us a page), "
          f"peak {peak():.2f} GB, index {size:.2f} GB")  # fmt: skip


def answer(folder: Path, count: int) -> None:
    pages = Pages(count, VOCABULARY)
    start = time.perf_counter()
    index = Index.read(folder, Settings())
    assert index is not None
    opened = time.perf_counter() - start
    snapshot = index.snapshot
    took = []
    for number in range(0, count, count // 50):
        terms = index.indexing.terms(" ".join(pages.question(number)))
        start = time.perf_counter()
        scores = snapshot.scores(terms)
        best = int(scores.argmax())
        took.append(time.perf_counter() - start)
        assert scores[number] > 0 and snapshot.text(best)
    took.sort()
    print(f"open    {opened * 1e3:.0f} ms\nanswer  p50 {took[25] * 1e3:.1f} ms, p95 {took[47] * 1e3:.1f} ms, "
          f"peak {peak():.2f} GB")  # fmt: skip
    index.close()


def edit(folder: Path, count: int) -> None:
    index = Index.write(folder, Settings())
    took = []
    for number in range(0, count, count // 40):
        start = time.perf_counter()
        index.update([f"p{number:07d}"], lambda key: Incoming("# Edited\n\nunheard words"))
        assert index.snapshot.scores(index.indexing.terms("unheard"))[number] > 0
        took.append(time.perf_counter() - start)
    took = sorted(took[1:])  # the first one opens what an editor needs
    print(f"edit    p50 {took[20] * 1e3:.0f} ms, p95 {took[37] * 1e3:.0f} ms, peak {peak():.2f} GB")
    index.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--step", choices=["build", "answer", "edit"])
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if given.step:
        {"build": build, "answer": answer, "edit": edit}[given.step](given.folder, given.pages)
        return
    folder = Path(tempfile.mkdtemp())
    try:
        for step in ("build", "answer", "edit"):
            command = [
                sys.executable,
                __file__,
                "--pages",
                str(given.pages),
                "--step",
                step,
                "--folder",
                str(folder / "index"),
            ]
            subprocess.run(command, check=True)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
