"""Which companies reach many qualified talents? A count over every talent that three types link to a company."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from memassay.suites.association.tasks import wording
from memassay.suites.association.tasks.guards import FEWEST, MOST, NEAR_MISSES, answerable
from memassay.suites.association.tasks.record import Draft, bar_name
from memassay.suites.association.tasks.scene import THREE, TODAY, Scene

PUBLISHED_BARS = ((10, 14), (10, 16), (15, 8), (15, 9))
"""Years and talents of the published questions."""

STATUS = "published"
"""Only talents with this status count."""

_LEAST_TALENTS = 2  # with one, a near-miss would be a company that reaches nobody


def multihop(scene: Scene) -> Iterator[Draft]:
    """The published bars where this world has enough to ask with them, then every other bar that it has, drawn.

    A bar is a number of years and a number of talents. It fits where 3 to 40 companies reach it and at least five are
    exactly one talent short; those are the near-misses. No two tasks have the same answer.
    """
    reached = _reached(scene)
    asked: set[tuple[str, ...]] = set()
    for years, talents in _bars(scene, reached):
        answer, short = _split(reached, years, talents)
        if bar_name(years, talents) in scene.avoid or answer in asked or not answerable(answer, short):
            continue
        asked.add(answer)
        yield Draft(
            kind="multihop",
            question=wording.multihop(THREE, talents, years),
            asks={"types": list(THREE), "years": years, "talents": talents},
            as_of=TODAY,
            answer=answer,
            near=scene.near(short),
            more={},
        )


def _reached(scene: Scene) -> dict[str, bytes]:
    """By company: the years of every published talent that all three types link to it, in order, a byte each."""
    years = {
        node.key: node.fields["years_of_experience"]
        for node in scene.nodes("Talent")
        if node.fields["status"] == STATUS
    }
    return {
        company: bytes(sorted(years[talent] for talent in scene.links.talents(company, THREE) if talent in years))
        for company in scene.keys("Company")
    }


def _bars(scene: Scene, reached: Mapping[str, bytes]) -> Iterator[tuple[int, int]]:
    yield from PUBLISHED_BARS
    top = max((found[-1] for found in reached.values() if found), default=0)
    rest = [
        (years, talents)
        for years in range(1, top + 1)
        for talents in sorted(_fitting(len(found) - bisect_left(found, years) for found in reached.values()))
        if (years, talents) not in PUBLISHED_BARS
    ]
    scene.random.shuffle(rest)
    yield from rest


def _fitting(counts: Iterable[int]) -> Iterator[int]:
    """The numbers of talents that make a bar, given how many talents each company reaches."""
    tally = Counter(counts)
    above = 0
    for short in sorted(tally, reverse=True):
        if above > MOST:
            return
        if above >= FEWEST and tally[short] >= NEAR_MISSES and short + 1 >= _LEAST_TALENTS:
            yield short + 1
        above += tally[short]


def _split(reached: Mapping[str, bytes], years: int, talents: int) -> tuple[tuple[str, ...], list[str]]:
    """The companies that reach the bar, and those one talent short of it, by key."""
    counts = {company: len(found) - bisect_left(found, years) for company, found in reached.items()}
    answer = tuple(company for company, count in counts.items() if count >= talents)
    return answer, [company for company, count in counts.items() if count == talents - 1]
