"""Asks the graph store what the truth already knows: random probes, and the answer of every task.

::

    with GraphReader.opened(place) as reader:
        cross_check(world, links_of_day, reader, world.seed)     # [] where store and truth agree
        verify_task(task, reader)                                # None, or what the store says instead
        settle(tasks, (), redraw, reader)                        # and what to ask in place of the disputed

At scale 2,000 the probes take a minute, most of it in the 40 that read the store's log; a task takes 0 to 5 s.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from memassay.core.errors import UsageError
from memassay.core.types import Task
from memassay.suites.association.forms.equivalence import history_differences
from memassay.suites.association.graph.store import GraphReader, frozen
from memassay.suites.association.tasks import fingerprint, targets_of
from memassay.suites.association.truth import TASK_RULES, TYPES, Links, score
from memassay.suites.association.world import LABELS, LAST_DAY, Change, Node, World, date_of

EXPLAINED, LINKED, HISTORIES = 200, 20, 20
ROUNDS = 3
"""How often a set is drawn anew in place of what is disputed."""

_SCORE = 1e-9
# The rarest link holds for one pair in ten; in a tiny world a kind may not be there at all
_TRIES = 1000

# Only talents are narrowed down before the chain is followed, and the rarest link comes first: 2 s instead of 15 s.
_MULTIHOP = """
MATCH (t:Talent)-[:LOCATION_FIT]->(c:Company)
MATCH (t)-[:INDUSTRY_ALIGNMENT]->(c)
MATCH (t)-[:SPECIALTY_MATCH]->(c)
WHERE t.status = 'published' AND t.years_of_experience >= $years
WITH key(c) AS key, count(t) AS n WHERE n >= $talents RETURN key
"""
_ALIKE = """
MATCH (n) WHERE n.industry = $industry AND n.size_bucket = $size_bucket
RETURN key(n) AS key, n.specialties AS specialties
"""


def cross_check(world: World, links_of_day: Callable[[int], Links], reader: GraphReader, seed: int) -> list[str]:
    """Probe the store at random; every disagreement with the truth is one sentence.

    200 pairs of the last day by ``explain``, 20 links of random days by ``was_linked`` (every second one holds), and
    20 histories (keys that changed and were deleted, keys that were only deleted, keys that only changed).

    Args:
        world: what the store was loaded from.
        links_of_day: the links at the end of a day.
        reader: the open store.
        seed: of the choice.
    """
    rng = Random(f"association-cross-check-{seed}")
    return [
        *_explained(rng, world.state(LAST_DAY), reader),
        *_linked(rng, world, links_of_day, reader),
        *_histories(rng, world, reader),
    ]


def verify_task(task: Task, reader: GraphReader) -> str | None:
    """What the store answers to a task where that is not the task's own answer, in one sentence; else None.

    Args:
        task: of any of the five kinds.
        reader: the open store.

    Raises:
        UsageError: it is of another kind.
    """
    if task.category not in _ANSWERS:
        raise UsageError(
            f"The task {task.id} is of the kind {task.category!r}, which the graph store is not asked about."
        )
    given = task.gold["original"].answer or ""
    expected, found = set(given.split("\n")), _ANSWERS[task.category](reader, task.payload)
    if found == expected:
        return None
    lacks, adds = sorted(expected - found), sorted(found - expected)
    parts = [f"lacks {', '.join(lacks)}"] * bool(lacks) + [f"adds {', '.join(adds)}"] * bool(adds)
    return f"{task.id}: the graph store's answer {' and '.join(parts)}."


@dataclass(frozen=True, slots=True)
class Settled:
    """A set of tasks after the engine was asked about it.

    Attributes:
        disputed: a sentence for each task that it answered otherwise, in the order in which they were asked.
        avoid: what no task may be built around, sorted: the targets of those tasks, and what was avoided before.
        tasks: the set that is drawn so; the given one where nothing was disputed.
        stands: whether the engine disputes none of these.
    """

    disputed: tuple[str, ...]
    avoid: tuple[str, ...]
    tasks: tuple[Task, ...]
    stands: bool


def settle(
    tasks: Sequence[Task],
    avoid: Collection[str],
    redraw: Callable[[Collection[str]], Sequence[Task]],
    reader: GraphReader,
    asking: Callable[[Task], None] = lambda task: None,
) -> Settled:
    """Ask the engine about every task, and about those that replace what it disputes, for up to three rounds.

    Args:
        tasks: the set.
        avoid: what it was drawn without.
        redraw: the set without what it is given.
        reader: the open store.
        asking: called with each task before the engine is asked.
    """
    avoided, said, asked = set(avoid), list[str](), set[str]()
    for turn in range(ROUNDS + 1):
        disputed: list[Task] = []
        for task in tasks:
            if fingerprint(task) in asked:
                continue
            asked.add(fingerprint(task))
            asking(task)
            if (line := verify_task(task, reader)) is not None:
                said.append(line)
                disputed.append(task)
        if not disputed or turn == ROUNDS:
            break
        avoided.update(target for task in disputed for target in targets_of(task))
        tasks = redraw(avoided)
    return Settled(tuple(said), tuple(sorted(avoided)), tuple(tasks), not disputed)


# -- probes --------------------------------------------------------------------------------------------------------


def _explained(rng: Random, live: Mapping[str, Node], reader: GraphReader) -> Iterator[str]:
    talents = sorted(key for key, node in live.items() if node.label == "Talent")
    others = sorted(key for key, node in live.items() if node.label != "Talent")
    for _ in range(EXPLAINED):
        talent, other = rng.choice(talents), rng.choice(others)
        scores = {rule.name: score(rule, live[talent], live[other]) for rule in TASK_RULES}
        names = {rule.name for rule in TASK_RULES}
        found = {row["rule"]: row["weight"] for row in reader.db.explain(talent, other) if row["rule"] in names}
        for name, wanted in scores.items():
            if not _close(wanted, found.get(name)):
                yield f"{talent} and {other}: {name} gives {wanted}, the graph store {found.get(name)}."


def _linked(rng: Random, world: World, links_of_day: Callable[[int], Links], reader: GraphReader) -> Iterator[str]:
    for probe in range(LINKED):
        day = rng.randint(0, LAST_DAY)
        links, state = links_of_day(day), world.state(day)
        talent, other, edge_type = _pair(rng, state, links, holds=probe % 2 == 0)
        wanted = edge_type in links.types(talent, other)
        if reader.db.was_linked(talent, other, edge_type, reader.calendar.ends[day]) is not wanted:
            said = "was" if wanted else "was not"
            yield f"{talent} {said} linked to {other} by {edge_type} on {date_of(day)}; the graph store says otherwise."


def _pair(rng: Random, state: Mapping[str, Node], links: Links, *, holds: bool) -> tuple[str, str, str]:
    """A talent, another entity and a type that can link the two, and does or does not."""
    of_label = {label: sorted(key for key, node in state.items() if node.label == label) for label in LABELS}
    rules = [rule for rule in TASK_RULES if of_label[rule.to]]
    for _ in range(_TRIES):
        rule = rng.choice(rules)
        talent, other = rng.choice(of_label["Talent"]), rng.choice(of_label[rule.to])
        if (rule.edge_type in links.types(talent, other)) is holds:
            break
    return talent, other, rule.edge_type


def _histories(rng: Random, world: World, reader: GraphReader) -> Iterator[str]:
    own: dict[str, list[Change]] = defaultdict(list)
    for change in world.changes:
        own[change.key].append(change)
    deleted = [key for key in sorted(own) if own[key][-1].op == "delete_node"]
    both = [key for key in deleted if any(change.field for change in own[key])]
    plain = [key for key in deleted if key not in both]
    changed = [key for key in sorted(own) if key not in deleted and any(change.field for change in own[key])]
    chosen: list[str] = []
    for keys, most in ((both, HISTORIES // 4), (plain, HISTORIES // 2), (changed, HISTORIES)):
        chosen += rng.sample(keys, min(len(keys), most - len(chosen)))
    for key in chosen:
        for line in history_differences(key, own[key], reader.history(key)):
            yield f"The history of {line}."


def _close(one: float | None, two: Any) -> bool:
    if one is None or two is None:
        return one is two
    return math.isclose(one, two, abs_tol=_SCORE)


# -- the tasks' own answers ----------------------------------------------------------------------------------------


def _why(reader: GraphReader, asks: Mapping[str, Any]) -> set[str]:
    one, two = asks["target"]
    types = {row["edge_type"] for row in reader.db.explain(one, two)} & set(TYPES)
    nodes = [node for node in map(reader.node, (one, two)) if node is not None]
    return types | set.intersection(*(set(node.fields["specialties"]) for node in nodes))


def _multihop(reader: GraphReader, asks: Mapping[str, Any]) -> set[str]:
    rows = reader.db.query(_MULTIHOP, {"years": asks["years"], "talents": asks["talents"]})
    return {row["key"] for row in rows}


def _retraction(reader: GraphReader, asks: Mapping[str, Any]) -> set[str]:
    company = asks["target"]
    links = ((row["edge_type"], row["src_key"]) for row in reader.db.node_edges(company))
    lost = reader.db.what_if_set_prop(company, asks["field"], asks["value"])["lost"]
    return _by_all(links, asks["types"]) & {row["src"] for row in lost if row["edge_type"] in asks["types"]}


def _timetravel(reader: GraphReader, asks: Mapping[str, Any]) -> set[str]:
    # By the date itself, so that the store's own reading of dates is part of what is checked.
    companies = {rule.name for rule in TASK_RULES if rule.to == "Company"}
    rows = reader.db.edges_at(asks["target"], asks["date"])
    return _by_all(((row["edge_type"], row["dst"]) for row in rows if row["rule"] in companies), asks["types"])


def _visibility(reader: GraphReader, asks: Mapping[str, Any]) -> set[str]:
    key, role = asks["target"], asks["role"]
    if "types" in asks:
        chain = " ".join(f"MATCH (t)-[:{name}]->(o)" for name in asks["types"][1:])
        asked = f"MATCH (t:Talent {{id: $key}})-[:{asks['types'][0]}]->(o) {chain} RETURN key(o) AS key"
        return {row["key"] for row in reader.db.query(asked, {"key": key}, role=role)}
    mine = reader.node(key)
    assert mine is not None  # else it would not be asked about
    values = {name: mine.fields[name] for name in ("industry", "size_bucket")}
    rows = reader.db.query(_ALIKE, values, role=role)
    specialties = set(mine.fields["specialties"])
    return {row["key"] for row in rows if row["key"] != key and specialties & set(frozen(row["specialties"]))}


def _by_all(links: Iterable[tuple[str, str]], types: Iterable[str]) -> set[str]:
    """The ends that links of all the types lead to."""
    found: dict[str, set[str]] = defaultdict(set)
    for edge_type, end in links:
        found[edge_type].add(end)
    return set.intersection(*(found[name] for name in types))


_ANSWERS: Mapping[str, Callable[[GraphReader, Mapping[str, Any]], set[str]]] = {
    "why": _why,
    "multihop": _multihop,
    "retraction": _retraction,
    "timetravel": _timetravel,
    "visibility": _visibility,
}
