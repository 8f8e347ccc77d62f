"""``graph`` (arm R): the world in a store of the package ``mushroomdb``, asked through a tool server of ours."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from memassay.core.contracts import BuildContext
from memassay.core.digest import digest_file
from memassay.core.errors import CannotMeasure, MissingExtra
from memassay.core.types import Corpus, Server, StoreRef, Toolset
from memassay.suites.association.forms.guide import readme
from memassay.suites.association.forms.stamp import (
    FORM,
    check_world,
    damaged,
    read_stamp,
    reading,
    told,
    world_of,
    write_stamp,
)
from memassay.suites.association.graph.loading import load
from memassay.suites.association.graph.offers import TOOLS
from memassay.suites.association.graph.service import Service
from memassay.suites.association.graph.store import DAYS_FILE, LOG, PACKAGE, STORE, open_handle, read_days, version
from memassay.suites.association.truth import TASK_RULES, TYPES
from memassay.suites.association.world import DAYS, FIELDS, ROLES, date_of

NAME = "graph"
_FILES = (LOG, "commit_times.bin", "roles.json")


class Graph:
    """Loads the world into a graph store and serves eleven tools over it.

    Args:
        semantic: also load the embeddings and the rule over them, which no task asks about; it only slows the store.

    Attributes:
        access: what an agent gets of it.

    Raises:
        CannotMeasure: the package is not installed: the other forms are measured without it.
    """

    access: tuple[str, ...] = ("tools", "folder")

    def __init__(self, *, semantic: bool = False) -> None:
        self._semantic = semantic
        try:
            self._package = version()
        except MissingExtra as error:
            raise CannotMeasure(str(error)) from error

    def identity(self) -> Mapping[str, JsonValue]:
        """The version of the package: it writes the store and answers from it."""
        return {PACKAGE: self._package}

    def build(self, corpus: Corpus, place: Path, context: BuildContext) -> Mapping[str, Any]:
        """Load the store, compare it with the world, and write what an agent may read beside its tools.

        Raises:
            CannotMeasure: the corpus is not a world of the suite association, or one with too many links.
            DataError: the store does not hold the world.
        """
        world = world_of(corpus)
        for folder in (place / FORM, place / STORE):
            shutil.rmtree(folder, ignore_errors=True)
        (place / FORM).mkdir(parents=True)
        loaded = load(world, place, self._semantic, context.progress)
        days = [{"day": day, "date": date_of(day), "commit": loaded.ends[day]} for day in range(DAYS)]
        _write(place / FORM / DAYS_FILE, "[\n" + ",\n".join(json.dumps(row) for row in days) + "\n]\n")
        _write(place / FORM / "schema.json", json.dumps(_schema(), indent=1) + "\n")
        _write(place / FORM / "README.md", readme(NAME))
        write_stamp(
            place,
            NAME,
            world,
            {PACKAGE: self._package},
            semantic=self._semantic,
            frames=loaded.ends[-1] + 1,
            links=dict(loaded.links),
            checked={"days": [0, DAYS - 1], "histories": loaded.histories},
            files={name: digest_file(place / STORE / name) for name in _FILES},
            days=digest_file(place / FORM / DAYS_FILE),
        )
        made = told(world)
        more = {
            "links": sum(loaded.links.values()),
            "frames": loaded.ends[-1] + 1,
            "histories compared": loaded.histories,
            "seconds": loaded.seconds,
        }
        return {**made, "facts": {**made["facts"], **more}}

    def open(self, ref: StoreRef) -> GraphStore:
        """Open the form; the store itself is opened by its server, once tools are asked for.

        Raises:
            DataError: there is no such form.
        """
        place = Path(ref.location)
        read_stamp(place, NAME)
        return GraphStore(place)

    def verify(self, ref: StoreRef, corpus: Corpus) -> None:
        """Check that the store is, byte for byte, the one that was compared with the world when it was built.

        Only where it is not, it is opened, to say what happened to it.

        Raises:
            DataError: it is of another world or of another version of the package, or was cut or changed.
        """
        place = Path(ref.location)
        stamp = read_stamp(place, NAME)
        with reading(place, "stamp.json"):
            built, frames, files = stamp["versions"][PACKAGE], int(stamp["frames"]), dict(stamp["files"])
            semantic, days = stamp["semantic"], stamp["days"]
        check_world(place, stamp["facts"], world_of(corpus))
        if built != self._package:
            raise damaged(place, f"it was built with {PACKAGE} {built} and {self._package} is installed")
        if semantic != self._semantic:
            raise damaged(place, f"it was built {'with' if semantic else 'without'} the semantic rule")
        if read_days(place)[-1] + 1 != frames or digest_file(place / FORM / DAYS_FILE) != days:
            raise damaged(place, f"{DAYS_FILE} was changed")
        for name in _FILES:
            with reading(place, f"{STORE}/{name}"):
                same = digest_file(place / STORE / name) == files[name]
            if not same:
                raise damaged(place, _what_happened(place, name, frames))


class GraphStore:
    """An open form: the files beside the store, and a tool server over it, started once and shared."""

    def __init__(self, place: Path) -> None:
        self._place, self._service = place, Service(place)

    def folder(self) -> Path:
        """What an agent may read."""
        return self._place / FORM

    def toolset(self, identity: str = "") -> Toolset:
        """The server's address; the first call starts it and waits until the store is open (10 s at scale 2,000).

        Raises:
            EnvironmentProblem: it cannot be started.
        """
        return Toolset(servers=(Server(name=PACKAGE, url=self._service.address(), tools=tuple(TOOLS)),))

    def close(self) -> None:
        """End the server."""
        self._service.close()


def _schema() -> dict[str, Any]:
    """``schema.json``: labels with their fields, link types with the labels they reach, roles with what they see."""
    links = {kind: [rule.to for rule in TASK_RULES if rule.edge_type == kind] for kind in TYPES}
    return {
        "labels": {label: list(fields) for label, fields in FIELDS.items()},
        "links": {kind: {"from": "Talent", "to": to} for kind, to in links.items()},
        "roles": {name: list(labels) for name, labels in ROLES.items()},
    }


def _what_happened(place: Path, name: str, frames: int) -> str:
    """Why a file of the store is not what it was, as far as the package can tell."""
    db = open_handle(place)
    try:
        floor, found = db.stats()["history_floor"], db.wal_total_commits()
    finally:
        db.close()
    if floor > 0:
        return f"its history was cut by a snapshot: it begins at commit {floor}"
    if found != frames:
        return f"its history has {found} of {frames} commits"
    return f"{STORE}/{name} was changed"


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
