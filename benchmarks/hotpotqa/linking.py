"""Title links of 3,484 generated pages, beside the same rules without a pattern-matching library; in one run.

    python benchmarks/hotpotqa/linking.py

The plain rules look for every name on every page with ``str.find``; that takes long, so they are timed on every tenth
page for every name. Processor time, best of three for the library. The source study reports 16 s.
"""

from __future__ import annotations

import random
import time

from memassay.suites.hotpotqa.letters import alphanumeric
from memassay.suites.hotpotqa.linking import Plain, link

PAGES, SAMPLE = 3_484, 10
_SYLLABLES = ["ka", "ren", "to", "mil", "shu", "bar", "os", "tin", "vel", "dor", "an", "gli"]


def generated(count: int) -> list[Plain]:
    """Pages about as long, and as full of one another's names, as those of HotPotQA."""
    draw = random.Random(20260718)

    def name() -> str:
        return "".join(draw.choice(_SYLLABLES) for _ in range(draw.randint(2, 4))).capitalize()

    titles: dict[str, None] = {}
    while len(titles) < count:
        titles[f"{name()} {name()}" if draw.random() < 0.6 else f"{name()} ({name().lower()})"] = None
    words = [name().lower() for _ in range(3000)]
    made = []
    for number, title in enumerate(titles):
        body = [draw.choice(words) for _ in range(80)]
        for _ in range(3):
            body.insert(draw.randrange(80), draw.choice(list(titles)[: 50 + number]))
        made.append(Plain(f"p{number}", title, f"{title} is {' '.join(body)}."))
    return made


def first_places(page: Plain, names: list[str]) -> int:
    """How many of the names stand on a page between characters that are no letters or digits."""
    found = 0
    for name in names:
        at = page.body.find(name)
        while at >= 0:
            end = at + len(name)
            if not (at and alphanumeric(page.body[at - 1])) and not (
                end < len(page.body) and alphanumeric(page.body[end])
            ):
                found += 1
                break
            at = page.body.find(name, at + 1)
    return found


def main() -> None:
    pages = generated(PAGES)
    took = []
    for _ in range(3):
        start = time.process_time()
        linked = link(pages)
        took.append(time.process_time() - start)
    names = [page.title for page in pages] + [page.title.partition(" (")[0] for page in pages if " (" in page.title]
    start = time.process_time()
    for page in pages[::SAMPLE]:
        first_places(page, names)
    plain = (time.process_time() - start) * SAMPLE
    links = sum(len(page.targets) for page in linked)
    print(f"{PAGES:,} pages, {links:,} links")
    print(f"library     {min(took):7.3f} s   1.00")
    print(f"plain rules {plain:7.3f} s   {plain / min(took):.0f} x")
    print(f"study       16.000 s   {16 / min(took):.0f} x (its own machine)")


if __name__ == "__main__":
    main()
