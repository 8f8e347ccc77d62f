"""Why are these two associated? Every relationship type that links them, and the specialties they share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from memassay.suites.association.tasks import wording
from memassay.suites.association.tasks.guards import unmistakable
from memassay.suites.association.tasks.record import Draft
from memassay.suites.association.tasks.scene import INDUSTRY, LOCATION, SIZE, SPECIALTY, STYLE, TODAY, Scene

_TYPES = (INDUSTRY, SPECIALTY, LOCATION, STYLE)
_UNSHARED = 3
_TURNS = 2  # how often a company may serve
# A word that is a specialty and a design style; as a near-miss it would punish an answer that means the style.
_TWO_MEANINGS = "industrial"


def why(scene: Scene) -> Iterator[Draft]:
    """Pairs that exactly three of the four types link, and neither rule about size.

    The talents come in a drawn order, each with the first company (by key) that makes a task. No company serves twice
    before every talent has had its turn; then the talents that found none get another, and companies serve once more.

    The size buckets are two or more apart, so that one near-miss, ``SIMILAR_SIZE``, catches both names of the rules
    about size. The other near-misses are the type that does not hold and three specialties that only one of the two
    has, the company's first.
    """
    talents = [talent for talent in scene.shuffled("Talent") if talent not in scene.avoid]
    for _ in range(_TURNS):
        taken: set[str] = set()
        left = []
        for talent in talents:
            draft = _first(scene, talent, taken)
            if draft is None:
                left.append(talent)
            else:
                yield draft
        talents = left


def _first(scene: Scene, talent: str, taken: set[str]) -> Draft | None:
    for company in scene.links.others(talent, (SPECIALTY,), "Company"):
        if company in taken or company in scene.avoid:
            continue
        draft = _pair(scene, talent, company)
        if draft is not None:
            taken.add(company)
            return draft
    return None


def _pair(scene: Scene, talent: str, company: str) -> Draft | None:
    mine, theirs = scene.live[talent].fields, scene.live[company].fields
    if abs(mine["size_bucket"] - theirs["size_bucket"]) < 2:
        return None
    shared = sorted(set(mine["specialties"]) & set(theirs["specialties"]))
    unshared = [
        *_only(theirs["specialties"], mine["specialties"]),
        *_only(mine["specialties"], theirs["specialties"]),
    ][:_UNSHARED]
    if len(shared) < 2 or len(unshared) < _UNSHARED:
        return None
    linked = scene.links.types(talent, company)
    held = [name for name in _TYPES if name in linked]
    if len(held) != len(_TYPES) - 1:
        return None
    answer = tuple(sorted([*held, *shared]))
    near = tuple(sorted([*(name for name in _TYPES if name not in held), SIZE, *unshared]))
    if not unmistakable(answer, near):
        return None
    return Draft(
        kind="why",
        question=wording.why(talent, company),
        asks={"target": [talent, company]},
        as_of=TODAY,
        answer=answer,
        near=near,
        more={"types": list(held), "shared_specialties": list(shared), "unshared_specialties": list(unshared)},
    )


def _only(these: Iterable[str], those: Iterable[str]) -> list[str]:
    return sorted(set(these) - set(those) - {_TWO_MEANINGS})
