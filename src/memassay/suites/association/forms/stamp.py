"""The stamp beside a form, which says what world it holds, and the one sentence for a form that cannot be used.

A form is ``PLACE/form``, which an agent may read, and ``PLACE/stamp.json``, which it may not. Equal worlds give equal
stamps: nothing in them depends on the time, the machine or the path.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from memassay.core.errors import CannotMeasure, DataError
from memassay.core.types import Corpus, StoreRef
from memassay.suites.association.world import World

FORM = "form"
STAMP = "stamp.json"
FORMAT = 1


def world_of(corpus: Corpus) -> World:
    """The world that a corpus carries.

    Raises:
        CannotMeasure: it carries none: it is a corpus of another suite.
    """
    if not isinstance(corpus.native, World):
        raise CannotMeasure("builds only from the world of the suite association")
    return corpus.native


def write_stamp(place: Path, form: str, world: World, versions: Mapping[str, str], **more: JsonValue) -> None:
    """Say which world a form holds; this is the last act of a build.

    Args:
        place: the folder of the store.
        form: the memory's name.
        world: what was written.
        versions: of the packages that the form's bytes depend on.
        more: what else there is to say of this form.
    """
    body = {
        "format": FORMAT,
        "form": form,
        "facts": world.digest,
        "seed": world.seed,
        "scale": world.scale,
        "versions": dict(versions),
        **more,
    }
    (place / STAMP).write_text(json.dumps(body, indent=1, sort_keys=True) + "\n", encoding="utf-8", newline="\n")


def read_stamp(place: Path, form: str) -> dict[str, Any]:
    """What a build said of its form.

    Raises:
        DataError: there is no stamp, or it is of another form or format, or it is damaged.
    """
    with reading(place, STAMP):
        body: dict[str, Any] = dict(json.loads((place / STAMP).read_text(encoding="utf-8")))
        said = (body["format"], body["form"], body["facts"])
    if said[:2] != (FORMAT, form):
        raise damaged(place, f"{STAMP} speaks of the form {said[1]!r} (format {said[0]}), not of {form!r}")
    return body


def check_facts(place: Path, form: str, found: str, world: World) -> None:
    """Refuse a form whose facts are not those of its stamp and of the world.

    Args:
        place: the folder of the store.
        form: the memory's name.
        found: the facts digest of what was read back.
        world: what the form must hold.

    Raises:
        DataError: they differ.
    """
    stamped = read_stamp(place, form)["facts"]
    if found != stamped:
        raise damaged(place, f"its facts have the digest {found} and were built with {stamped}: it was changed")
    check_world(place, stamped, world)


def check_world(place: Path, stamped: JsonValue, world: World) -> None:
    """Refuse a form that was built from another world.

    Raises:
        DataError: its stamp names other facts.
    """
    if stamped != world.digest:
        raise damaged(place, f"it holds the facts {stamped}, and the world of this run has the facts {world.digest}")


class FolderStore:
    """An open form that is nothing but files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def folder(self) -> Path:
        """What an agent may read; the harness gives it a copy."""
        return self._folder


def open_folder(ref: StoreRef, form: str) -> FolderStore:
    """Open a form that is nothing but files.

    Raises:
        DataError: it has no stamp of this form.
    """
    place = Path(ref.location)
    read_stamp(place, form)
    return FolderStore(place / FORM)


def told(world: World) -> dict[str, Any]:
    """What a build returns to the harness."""
    facts = {"digest": world.digest, "entities": len(world.nodes), "changes": len(world.changes)}
    return {"passages": len(world.nodes), "facts": facts}


def damaged(place: Path, reason: str) -> DataError:
    """The one sentence for a form that cannot be used."""
    whole = place.parent if (place.parent / "built.json").is_file() else place
    return DataError(f"The store in {place} cannot be used because {reason}; delete {whole} and build again.")


@contextlib.contextmanager
def reading(place: Path, name: str) -> Iterator[None]:
    """Turn whatever a damaged file makes its reader raise into one sentence that names the file.

    Raises:
        DataError: the file is missing or cannot be read.
    """
    try:
        yield
    except FileNotFoundError:
        raise damaged(place, f"{name} is missing") from None
    except OSError as error:
        raise damaged(place, f"{name} cannot be read ({error.strerror or type(error).__name__})") from error
    except sqlite3.Error as error:
        raise damaged(place, f"{name} cannot be read ({error})") from error
    except DataError as error:
        raise (
            error if str(error).startswith("The store in ") else damaged(place, f"{name} is wrong ({error})")
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise damaged(place, f"{name} cannot be read ({_reason(error)})") from error


def _reason(error: Exception) -> str:
    """What is wrong with the content of a file, in words."""
    match error:
        case json.JSONDecodeError():
            return "its JSON is damaged"
        case UnicodeDecodeError():
            return "it is no UTF-8 text"
        case KeyError(args=(str(name),)):
            return f"it has no {name!r}"
        case _:
            return "its content is not what a build writes"
