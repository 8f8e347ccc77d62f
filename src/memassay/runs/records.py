"""Single lines of a run's files: how a record is written, and how the head of one is read without the rest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from memassay.core.errors import DataError
from memassay.core.types import CellKey, Dossier, Passage, Status

M = TypeVar("M", bound=BaseModel)
Key = tuple[str, str, int, int]
"""Task, arm, build, repetition."""
_PASSAGES = TypeAdapter(tuple[Passage, ...])
_STATUS = {str(status): status for status in Status}


def key_of(cell: CellKey) -> Key:
    """A cell's key as a tuple: task, arm, build, repetition."""
    return cell.task, cell.arm, cell.build, cell.repetition


def parsed(path: Path, number: int, record: dict[str, Any], model: type[M]) -> M:
    """A line of a file as what it should be.

    Raises:
        DataError: it is not that.
    """
    try:
        return model.model_validate(record)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise DataError(
            f"{path.name}, line {number}: {field}: {first['msg']}. Was it written by another version of memassay?"
        ) from error


def _key(cell: Mapping[str, Any]) -> Key:
    key = cell["task"], cell["arm"], cell["build"], cell["repetition"]
    if not (
        isinstance(key[0], str) and isinstance(key[1], str) and isinstance(key[2], int) and isinstance(key[3], int)
    ):
        raise TypeError("not a cell")
    return key


def answer_head(path: Path, number: int, record: Mapping[str, Any]) -> tuple[Key, Status, int]:
    """The cell of an answer record, how it ended, and which attempt it was.

    Raises:
        DataError: it is no answer record.
    """
    try:
        attempt = record["attempt"]
        if not isinstance(attempt, int):
            raise TypeError("not an attempt")
        return _key(record["cell"]), _STATUS[record["status"]], attempt
    except (KeyError, TypeError) as error:
        raise DataError(f"{path.name}, line {number} is not an answer record; restore the file from a copy.") from error


def verdict_head(path: Path, number: int, record: Mapping[str, Any]) -> tuple[Key, tuple[int, str]]:
    """The cell of a judgement record, and which answer of it was judged: the attempt and its mark.

    Raises:
        DataError: it is no judgement record.
    """
    try:
        return _key(record["subjects"][0]), (record["attempt"], record.get("answer", ""))
    except (KeyError, TypeError, IndexError) as error:
        raise DataError(f"{path.name}, line {number} is not a judgement.") from error


def passages_json(dossier: Dossier) -> str:
    """The passages as they are stored.

    Raises:
        ValueError: a field of a passage is not what its type says (it was made without validation).
    """
    return _PASSAGES.dump_json(dossier.passages, exclude_defaults=True, warnings="error").decode()


def passages_of(text: str) -> tuple[Passage, ...]:
    """Passages as they were stored.

    Raises:
        ValidationError: the text is none of :func:`passages_json`.
    """
    return _PASSAGES.validate_json(text)


def check_passages(dossier: Dossier) -> None:
    """Refuse passages that could be stored and then not be read.

    Raises:
        ValueError: a field of a passage is not what its type says.
    """
    passages_of(passages_json(dossier))


def to_line(record: BaseModel) -> str:
    """A record as one JSON line; fields in declared order, so that a resume finds key and status first."""
    return json.dumps(record.model_dump(mode="json"), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
