"""Where data files are looked for and kept: never in the home folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from memassay.core.errors import DataError
from memassay.data.catalogue import entry

VARIABLE = "MEMASSAY_DATA"


def data_folder() -> Path:
    """The folder that ``fetch`` writes to: ``$MEMASSAY_DATA``, else ``data`` in the working directory."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else Path("data")


def data_folders() -> Sequence[Path]:
    """The folders that are searched, in order."""
    named = os.environ.get(VARIABLE)
    return [*([Path(named)] if named else []), Path("data"), Path("..", "shared", "data")]


def present(name: str) -> Path | None:
    """The file of the data set ``name`` in the first folder that has it, or None.

    Raises:
        UnknownName: the catalogue has no such name.
    """
    places = (folder / entry(name).file_name for folder in data_folders())
    return next((path for path in places if path.is_file()), None)


def locate(name: str, explicit: Path | None = None) -> Path:
    """The local file of the data set ``name``.

    Args:
        name: a name of the catalogue.
        explicit: a file, or a folder that holds the file under its catalogue name; nothing else is searched then.

    Raises:
        UnknownName: the catalogue has no such name.
        DataError: the file is not there; the message says how to get it.
    """
    file_name = entry(name).file_name
    if explicit is not None:
        path = explicit / file_name if explicit.is_dir() else explicit
        if path.exists():
            return path
        raise DataError(f"{path}: no such file; check the path, or get one with: memassay data fetch {name}.")
    here = present(name)
    if here is not None:
        return here
    searched = ", ".join(str(folder) for folder in data_folders())
    raise DataError(f"{file_name} is in none of {searched}; get it with: memassay data fetch {name}.")
