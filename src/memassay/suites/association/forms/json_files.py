"""``json-files`` (arm P): the world as a folder of JSON files.

``entities/talent.json``, ``company.json`` and ``job.json`` hold the entities as they were on the first day,
``changes.jsonl`` the history, ``roles.json`` who may see what; ``README.md`` says what it all means.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memassay.core.contracts import BuildContext
from memassay.core.types import Corpus, StoreRef
from memassay.suites.association.forms.guide import readme
from memassay.suites.association.forms.reading import facts_of, read_json_files
from memassay.suites.association.forms.stamp import (
    FORM,
    FolderStore,
    check_facts,
    open_folder,
    told,
    world_of,
    write_stamp,
)
from memassay.suites.association.world import LABELS, ROLES, Change, Node

NAME = "json-files"
_EVERY = 1000


class JsonFiles:
    """Writes the world as JSON files, which an agent reads by itself.

    Attributes:
        access: what an agent gets of it.
    """

    access: tuple[str, ...] = ("folder",)

    def build(self, corpus: Corpus, place: Path, context: BuildContext) -> Mapping[str, Any]:
        """Write the form entity by entity, so that the text of the world is never in memory as a whole.

        Raises:
            CannotMeasure: the corpus is not a world of the suite association.
        """
        world = world_of(corpus)
        folder = place / FORM
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "entities").mkdir(parents=True)
        done = 0
        for label in LABELS:
            with (folder / "entities" / f"{label.lower()}.json").open("w", encoding="ascii", newline="\n") as stream:
                before = "["
                for node in world.nodes:
                    if node.label == label:
                        stream.write(f"{before}\n{_indented(_entity(node))}".replace("\n", "\n  "))
                        before = ","
                        done += 1
                        if done % _EVERY == 0:
                            context.progress(done, len(world.nodes))
                stream.write("\n]\n")
        with (folder / "changes.jsonl").open("w", encoding="ascii", newline="\n") as stream:
            for change in world.changes:
                stream.write(json.dumps(_row(change), sort_keys=True) + "\n")
        roles = _indented({name: list(labels) for name, labels in ROLES.items()})
        (folder / "roles.json").write_text(roles + "\n", encoding="ascii", newline="\n")
        (folder / "README.md").write_text(readme(NAME), encoding="utf-8", newline="\n")
        write_stamp(place, NAME, world, {})
        return told(world)

    def open(self, ref: StoreRef) -> FolderStore:
        """Open what was built.

        Raises:
            DataError: there is no such form.
        """
        return open_folder(ref, NAME)

    def verify(self, ref: StoreRef, corpus: Corpus) -> None:
        """Read the form back and recompute its facts digest.

        Raises:
            DataError: a file is missing, damaged or changed, or the form is of another world.
        """
        place = Path(ref.location)
        check_facts(place, NAME, facts_of(place, read_json_files(place)), world_of(corpus))


def _entity(node: Node) -> dict[str, Any]:
    return {"key": node.key, "label": node.label, **node.fields}


def _row(change: Change) -> dict[str, Any]:
    return {
        "day": change.day,
        "date": change.date,
        "op": change.op,
        "key": change.key,
        "field": change.field,
        "value": change.value,
        "node": None if change.node is None else _entity(change.node),
    }


def _indented(value: Any) -> str:
    return json.dumps(value, indent=2, sort_keys=True)
