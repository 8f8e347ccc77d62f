"""What would no longer be linked if one fact were another? A counterfactual over the talents of one company."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import cycle
from typing import Any, NamedTuple

from memassay.suites.association.tasks import wording
from memassay.suites.association.tasks.guards import answerable
from memassay.suites.association.tasks.record import Draft
from memassay.suites.association.tasks.scene import THREE, THREE_WITH_SIZE, TODAY, Scene, linked
from memassay.suites.association.world import SPECIALTIES, Node

FEWEST_LINKED, MOST_LINKED = 12, 45

# Industry and location are left out: another value of either takes every link at once, which asks nothing.
_PLANS = (("specialties", THREE),) * 2 + (("size_bucket", THREE_WITH_SIZE),) * 2
# The published set asks twice per field, so a company can be tried twice; more would only repeat what has failed.
_TRIES = 2
_OPTIONS = 8
_BUCKETS = (1, 2, 3, 4, 5)


class _Change(NamedTuple):
    value: Any
    lost: list[str]
    kept: list[str]


def retraction(scene: Scene) -> Iterator[Draft]:
    """Companies, in a drawn order, whose 12 to 45 talents a change would split: twice of specialties, twice of size.

    A change of the specialties is the first of eight drawn ones that loses 3 to 40 talents and keeps at least five; a
    change of the size bucket is the first of the other four. Those that stay are the near-misses. No company serves
    twice. It ends where either field has no company left.
    """
    companies = scene.shuffled("Company")
    taken: set[str] = set()
    tried: Counter[tuple[str, str]] = Counter()

    @cache
    def neighbours(company: str, types: tuple[str, ...]) -> list[str]:
        return scene.links.talents(company, types)

    for field, types in cycle(_PLANS):
        for company in companies:
            if company in taken or company in scene.avoid or tried[company, field] >= _TRIES:
                continue
            base = neighbours(company, types)
            if not FEWEST_LINKED <= len(base) <= MOST_LINKED:
                continue
            tried[company, field] += 1
            change = _change(scene, scene.live[company], field, types, base)
            if change is not None:
                taken.add(company)
                yield _draft(scene, company, field, types, base, change)
                break
        else:
            return


def _change(scene: Scene, company: Node, field: str, types: Sequence[str], base: Sequence[str]) -> _Change | None:
    """The first value of the field that costs the company some of its talents and leaves it enough of them."""
    options: list[Any]
    if field == "specialties":
        options = [sorted(scene.random.sample(SPECIALTIES, scene.random.randint(2, 4))) for _ in range(_OPTIONS)]
    else:
        options = [bucket for bucket in _BUCKETS if bucket != company.fields[field]]
    for value in options:
        stored = tuple(value) if isinstance(value, list) else value
        changed = replace(company, fields={**company.fields, field: stored})
        stays = {talent: linked(scene.live[talent], changed, types) for talent in base}
        lost, kept = ([talent for talent in base if stays[talent] is wanted] for wanted in (False, True))
        if answerable(lost, kept):
            return _Change(value, lost, kept)
    return None


def _draft(scene: Scene, company: str, field: str, types: Sequence[str], base: Sequence[str], change: _Change) -> Draft:
    return Draft(
        kind="retraction",
        question=wording.retraction(company, field, change.value, types),
        asks={"target": company, "types": list(types), "field": field, "value": change.value},
        as_of=TODAY,
        answer=tuple(change.lost),
        near=scene.near(change.kept),
        more={"base": list(base), "linked_before": len(base)},
    )
