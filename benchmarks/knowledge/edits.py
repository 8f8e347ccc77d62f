"""From an edit to an answer that knows of it, in a folder of 10,000 pages.

    python benchmarks/knowledge/edits.py                # then searched by words alone
    python benchmarks/knowledge/edits.py --default      # searched by the default ranking, with links and mentions

``store``: ``KnowledgeStore.update`` writes the file (with fsync) and the index; then a search finds the new word.
``outside``: somebody else has written the file; ``refresh([key])`` and a search.
``scan``: ``refresh()`` looks at every file and finds one changed. Times are wall-clock, 300 edits in a row each, during
which changed pages pile up and a new base is made, so the slowest are among them.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from generated import Pages

from memassay.knowledge.store import KnowledgeStore


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--edits", type=int, default=300)
    parser.add_argument("--default", action="store_true", help="search by the default ranking, not by words alone")
    given = parser.parse_args()
    pages = Pages(given.pages, 20_000)
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        for number in range(given.pages):
            (root / f"{pages.key(number)}.md").write_text(pages.text(number), encoding="utf-8")
        start = time.perf_counter()
        store = KnowledgeStore.open(root, writable=True)
        print(f"{given.pages:,} pages: first opening {time.perf_counter() - start:.1f} s")
        start = time.perf_counter()
        assert not store.refresh()
        print(f"scan of an unchanged folder {(time.perf_counter() - start) * 1e3:.0f} ms")

        def inside(key: str, text: str) -> None:
            store.update(key, text)

        def outside(key: str, text: str) -> None:
            store.refresh([key])

        def scan(key: str, text: str) -> None:
            store.refresh()

        for name, follow, edits in (
            ("store", inside, given.edits),
            ("outside", outside, given.edits),
            ("scan", scan, 20),
        ):
            took = sorted(timed(store, root, pages, name, follow, number, given.default) for number in range(edits))
            print(f"{name:8} p50 {took[edits // 2] * 1e3:5.1f} ms   p95 {took[edits * 95 // 100] * 1e3:5.1f} ms   "
                  f"slowest {took[-1] * 1e3:5.0f} ms")  # fmt: skip
        store.close()


def timed(
    store: KnowledgeStore,
    root: Path,
    pages: Pages,
    name: str,
    follow: Callable[[str, str], None],
    number: int,
    default: bool,
) -> float:
    at = number * 7919 % pages.count
    key, text = pages.key(at), f"{pages.text(at)}\n{name}{number} is new.\n"
    if name != "store":
        (root / f"{key}.md").write_text(text, encoding="utf-8")
    start = time.perf_counter()
    follow(key, text)
    found = store.search(f"{name}{number}", max_tokens=1000, rank=None if default else store.lexical).pieces
    took = time.perf_counter() - start
    assert found[0].key == key
    return took


if __name__ == "__main__":
    main()
