"""What may a role see? The same neighbourhood, less what is hidden from it.

``recruiter`` sees talents and jobs: it is asked what a talent is linked to, and the near-misses are companies that
match as well as the jobs do.

``client`` sees companies and jobs. Every rule runs from a talent, and a relationship is visible only if both of its
ends are, so to a client nothing is linked to anything: asked the same question, it has no answer to give. It is asked
instead which entities are like a company (the same industry, the same size bucket, a specialty in common). Facts of an
entity are visible wherever the entity is, so the answer is the companies and jobs that are alike, and the near-misses
are the talents that are just as much alike and hidden.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import chain, cycle

from memassay.suites.association.tasks import wording
from memassay.suites.association.tasks.guards import answerable
from memassay.suites.association.tasks.record import Draft
from memassay.suites.association.tasks.scene import THREE, TODAY, TWO, Scene
from memassay.suites.association.world import ROLES, Node

LIKENESS = ("industry", "size_bucket", "specialties")
"""What a client is asked about: the first two are equal, and there is one of the last in common."""


def visibility(scene: Scene) -> Iterator[Draft]:
    """Four as published (``recruiter``: two of two types, two of three), then ``client`` and ``recruiter`` in turn.

    Talents and companies come in a drawn order, and each serves once. Every task has 3 to 40 answers and at least five
    hidden matches. It ends where one of the forms has nothing left.
    """
    talents = scene.shuffled("Talent")
    taken: set[str] = set()
    two, three = (_recruiter(scene, talents, taken, types) for types in (TWO, THREE))
    client = _client(scene)
    for form in chain((two, two, three, three), cycle((client, two, client, three))):
        draft = next(form, None)
        if draft is None:
            return
        yield draft


def _recruiter(scene: Scene, talents: list[str], taken: set[str], types: tuple[str, ...]) -> Iterator[Draft]:
    for talent in talents:
        if talent in taken or talent in scene.avoid:
            continue
        jobs = scene.links.others(talent, types, "Job")
        hidden = scene.links.others(talent, types, "Company")
        if not answerable(jobs, hidden):
            continue
        taken.add(talent)
        yield Draft(
            kind="visibility",
            question=wording.visibility("recruiter", talent, types),
            asks={"target": talent, "role": "recruiter", "types": list(types)},
            as_of=TODAY,
            answer=tuple(jobs),
            near=scene.near(hidden),
            more={"hidden_matches": len(hidden)},
        )


def _client(scene: Scene) -> Iterator[Draft]:
    groups: dict[tuple[str, int], list[Node]] = defaultdict(list)
    for node in scene.live.values():
        groups[node.fields["industry"], node.fields["size_bucket"]].append(node)
    for company in scene.shuffled("Company"):
        if company in scene.avoid:
            continue
        mine = scene.live[company].fields
        alike = [
            node
            for node in groups[mine["industry"], mine["size_bucket"]]
            if node.key != company and not set(node.fields["specialties"]).isdisjoint(mine["specialties"])
        ]
        seen = sorted(node.key for node in alike if node.label in ROLES["client"])
        hidden = sorted(node.key for node in alike if node.label not in ROLES["client"])
        if not answerable(seen, hidden):
            continue
        yield Draft(
            kind="visibility",
            question=wording.likeness("client", company),
            asks={"target": company, "role": "client", "fields": list(LIKENESS)},
            as_of=TODAY,
            answer=tuple(seen),
            near=scene.near(hidden),
            more={"hidden_matches": len(hidden)},
        )
