"""Loads a world into a new graph store, commit by commit, and checks it against the world while that is cheap.

The order is that of the published builder: the entities of day 0 in one commit, the rules one by one, then one commit
per change, stamped with its day. Never a snapshot: it would cut the history.

The published build took 5 to 6 minutes, most of it in reads that replay or scan the history. Here every state is
compared on the live handle (day 0 before the first change, every changed entity right after its change), and the days
come from the recorded times, without a scan. What a restart could have lost is read back from a fresh one: the first
day, the last, and the history of every entity that changed.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from memassay.core.errors import CannotMeasure, DataError
from memassay.suites.association.forms.equivalence import differences, history_differences
from memassay.suites.association.graph.log import without_links
from memassay.suites.association.graph.store import (
    EMBEDDING,
    STORE,
    Calendar,
    GraphReader,
    midnight_ms,
    open_handle,
    recorded_days,
)
from memassay.suites.association.truth import RULES, TASK_RULES, Links, Rule
from memassay.suites.association.world import DAYS, EMBEDDED, LAST_DAY, ROLES, Change, Node, World, date_of, embedding

if TYPE_CHECKING:
    from mushroomdb import GraphDb

_CHUNK = 10_000  # the most that the package advises for one commit
_SAMPLE = 5  # histories that are read from the whole log too, which takes 1 s each at scale 2,000
_RESOLVED = (0, 1, 43, LAST_DAY)
_KINDS: Mapping[str, tuple[str, str | None]] = {
    "equal": ("field_equal", None),
    "overlap": ("overlap", "min"),
    "distance": ("geo_radius", "km"),
    "difference": ("numeric_within", "tolerance"),
    "cosine": ("vector_similar", "min"),
}


@dataclass(frozen=True)
class Loaded:
    """What a load gave.

    Attributes:
        ends: of every day the last frame.
        links: at the end, by rule.
        histories: how many were read back and compared: those of all keys that changed.
        seconds: wall-clock time by phase.
    """

    ends: list[int]
    links: dict[str, int]
    histories: int
    seconds: dict[str, float]


def load(world: World, place: Path, semantic: bool, progress: Callable[[int, int], None]) -> Loaded:
    """Make ``place/world.mushroomdb`` and check it.

    Args:
        world: what goes into it.
        place: an empty folder.
        semantic: also load the embeddings and the rule over them, which no task asks about.
        progress: called with (steps done, steps in all).

    Raises:
        CannotMeasure: the world has more links than the package keeps.
        DataError: the store is not the world.
        MissingExtra: the package is not installed.
    """
    loading = _Loading(world, place, semantic, progress)
    with contextlib.closing(open_handle(place, read_only=False)) as db:
        loading.fill(db)
        ends = recorded_days(db, db.wal_total_commits())
    roles = [{"name": name, "labels": list(labels), "keys": []} for name, labels in ROLES.items()]
    text = json.dumps({"version": 1, "roles": roles}, indent=1) + "\n"
    (place / STORE / "roles.json").write_text(text, encoding="utf-8", newline="\n")
    loading.lap("closing")
    with contextlib.closing(open_handle(place)) as db:
        loading.lap("opening")
        histories = loading.read_back(GraphReader(db, Calendar(ends, db.commit_time_ms)))
    loading.lap("reading back")
    return Loaded(ends, loading.links, histories, loading.seconds)


class _Loading:
    def __init__(self, world: World, place: Path, semantic: bool, progress: Callable[[int, int], None]) -> None:
        self.world, self._place, self._semantic, self._progress = world, place, semantic, progress
        self._rules = RULES if semantic else TASK_RULES
        self._first = {node.key: node for node in world.nodes}
        self._own: dict[str, list[Change]] = {}
        for change in world.changes:
            self._own.setdefault(change.key, []).append(change)
        self._sample = Random(f"association-histories-{world.seed}").sample(sorted(self._own), _SAMPLE)
        self._done, self._steps = 0, 1 + len(self._rules) + len(world.changes) + len(self._own) + _SAMPLE
        self._started = time.perf_counter()
        self.seconds: dict[str, float] = {}
        self.links: dict[str, int] = {}

    def fill(self, db: GraphDb) -> None:
        db.record_commits_at(midnight_ms(0))
        for start in range(0, len(self.world.nodes), _CHUNK):
            report = db.ingest_batch([self._row(node) for node in self.world.nodes[start : start + _CHUNK]])
            if report["row_errors"]:
                raise self._wrong([f"entity {at + start}: {why}" for at, why in report["row_errors"]])
        self._step()
        self.lap("entities")
        for rule in self._rules:
            db.create_rule(_definition(rule))
            self._check_limit(db, rule.name)
            self._step()
        self.lap("rules")
        reader = GraphReader(db, Calendar([0], db.commit_time_ms))
        self._check("on day 0", differences(self._first, reader.state()))
        if self._semantic:
            self._check_embeddings(db)
        self.lap("day 0")
        self._change_all(db, reader)
        for rule in self._rules:
            self._check_limit(db, rule.name)
        self.lap("changes")
        self.links = {rule["name"]: rule["edges"] for rule in db.stats()["rules"]}
        expected = Links(self.world.state(LAST_DAY)).counts()
        self._check("in its links", [
            f"rule {name}: {self.links.get(name)} links, expected {count}"
            for name, count in expected.items()
            if self.links.get(name) != count
        ])  # fmt: skip
        self.lap("links")

    def _change_all(self, db: GraphDb, reader: GraphReader) -> None:
        expected = dict(self._first)
        day = 0
        for change in self.world.changes:
            if change.day != day:
                day = change.day
                db.record_commits_at(midnight_ms(day))
            if change.node is not None:
                row = self._row(change.node)
                db.insert_node(row["label"], row["key"], row["props"])
                expected[change.key] = change.node
            elif change.field is not None:
                db.set_prop(change.key, change.field, _plain(change.value))
                node = expected[change.key]
                expected[change.key] = Node(node.key, node.label, {**node.fields, change.field: change.value})
            else:
                db.delete_node(change.key)
                del expected[change.key]
            found, wanted = reader.node(change.key), expected.get(change.key)
            self._check(f"after change {change.seq}", differences(_only(wanted), _only(found)))
            self._step()

    def read_back(self, reader: GraphReader) -> int:
        """Check, on a fresh handle, all that a restart could have lost; returns how many histories were compared."""
        db, ends = reader.db, reader.calendar.ends
        if db.stats()["history_floor"] != 0 or db.wal_total_commits() != ends[-1] + 1:
            raise self._wrong(["the history does not begin at its first commit, or does not end at its last"])
        if {role["name"]: tuple(role["labels"]) for role in db.roles()} != dict(ROLES):
            raise self._wrong(["the roles are others"])
        timed = [frame for frame in range(ends[-1] + 1) if db.commit_time_ms(frame) is not None]
        commits = Counter(reader.calendar.moment(frame)[1] for frame in timed)
        chunks = -(-len(self.world.nodes) // _CHUNK)
        wanted = Counter({0: chunks + len(self._rules)}) + Counter(change.day for change in self.world.changes)
        days = [f"day {day}: {commits[day]} commits, expected {wanted[day]}" for day in range(DAYS)]
        self._check("in its days", [line for day, line in enumerate(days) if commits[day] != wanted[day]])
        dates = [(date_of(day), ends[day]) for day in _RESOLVED]
        self._check(
            "in its dates", [f"{date} is not commit {end}" for date, end in dates if db.resolve_date(date) != end]
        )
        self._check(f"on day {LAST_DAY}", differences(self.world.state(LAST_DAY), reader.state()))
        with without_links(reader, self._place) as past:
            self._check("read back on day 0", differences(self._first, past.state(0)))
            for key in sorted(self._own):
                self._check_history(past, key)
        for key in self._sample:
            self._check_history(reader, key)
        return len(self._own)

    def _check_history(self, reader: GraphReader, key: str) -> None:
        self._check("in its history", history_differences(key, self._own[key], reader.history(key)))
        self._step()

    def _check_limit(self, db: GraphDb, name: str) -> None:
        if any(rule["name"] == name and rule["tripped"] for rule in db.stats()["rules"]):
            raise CannotMeasure(
                f"a graph store keeps at most 1,000,000 links per rule, "
                f"and {name} has more at scale {self.world.scale}; use a smaller scale"
            )

    def _check_embeddings(self, db: GraphDb) -> None:
        rows = [(node, (db.node_info(node.key) or {"props": {}})["props"]) for node in self.world.nodes]
        self._check("in its embeddings", [
            node.key for node, props in rows if (EMBEDDING in props) != (node.label in EMBEDDED)
        ])  # fmt: skip

    def _row(self, node: Node) -> dict[str, Any]:
        props = {name: _plain(value) for name, value in node.fields.items()}
        if self._semantic and node.label in EMBEDDED:
            props[EMBEDDING] = embedding(node)
        return {"label": node.label, "key": node.key, "props": props}

    def _check(self, where: str, found: Sequence[str]) -> None:
        if found:
            raise self._wrong([f"{where}, {line}" for line in found])

    def _wrong(self, found: Sequence[str]) -> DataError:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        return DataError(f"The graph store that was built is not the world: {found[0]}{more}.")

    def _step(self) -> None:
        self._done = min(self._done + 1, self._steps)
        self._progress(self._done, self._steps)

    def lap(self, phase: str) -> None:
        now = time.perf_counter()
        self.seconds[phase], self._started = round(now - self._started, 2), now


def _definition(rule: Rule) -> dict[str, Any]:
    """A rule as the package takes it; without a cap said outright, it would keep 32 links per source."""
    kind, bound = _KINDS[rule.kind]
    predicate: dict[str, Any] = {"kind": kind, "fields": [rule.field]}
    if bound is not None:
        predicate[bound] = rule.threshold
    return {
        "name": rule.name,
        "src_label": "Talent",
        "dst_label": rule.to,
        "edge_type": rule.edge_type,
        "predicate": predicate,
        "weight_prop": "score",
        "max_edges": None,
    }


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _only(node: Node | None) -> dict[str, Node]:
    return {} if node is None else {node.key: node}
