"""What opening a store needs: the right to edit its pages, and an index that can be used."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from pathlib import Path

from memassay.core.errors import EnvironmentProblem
from memassay.knowledge.entries import Settings
from memassay.knowledge.index import Index

# What reading a damaged index can end with: SQLite's own words, or arrays that do not fit together.
DAMAGE = (sqlite3.DatabaseError, LookupError, ValueError, TypeError, OverflowError)


def held_for_editing(root: Path) -> int:
    """The right to edit the pages of a folder, wherever its index is kept; given back when it is closed.

    Raises:
        EnvironmentProblem: another store has it.
    """
    folder = os.open(root, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(folder)
        raise EnvironmentProblem(
            f"Another process has {root} open for writing; end it first, or open the store read-only."
        ) from error
    return folder


def opened_index(place: Path, settings: Settings, writable: bool, given: bool) -> tuple[Index, bool]:
    """The index to use, and whether it has to be filled."""
    if writable:
        return Index.write(place, settings), False
    if given:
        try:
            return Index.write(place, settings), False
        except EnvironmentProblem:  # somebody else keeps it up to date, or it cannot be written: then it is read
            pass
    index = Index.read(place, settings)
    return (Index.private(settings), True) if index is None else (index, False)
