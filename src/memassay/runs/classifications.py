"""What a person found out about single cells of a run: whose fault a lost point was, and why.

``classifications.jsonl`` in the run folder is appended to; the last word on a cell counts.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from pathlib import Path

from memassay.core.errors import DataError
from memassay.core.types import CellKey
from memassay.runs.lines import LineWriter, read_lines
from memassay.runs.records import Key, key_of

FILE = "classifications.jsonl"
KINDS: Mapping[str, str] = {
    "tool": "the memory answered badly",
    "model": "the agent had what it needed and went wrong",
    "grader": "the answer is right and the check is wrong",
}


def classify(run: Path, cell: CellKey, kind: str, why: str) -> None:
    """Write down whose fault it was.

    Args:
        run: the run's folder.
        cell: which cell.
        kind: one of ``KINDS``.
        why: in the reader's words.
    """
    at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    record = {"cell": cell.model_dump(mode="json"), "kind": kind, "why": why, "at": at}
    with LineWriter(run / FILE, wait=True) as lines:
        lines.append(json.dumps(record, ensure_ascii=False))


def classifications(run: Path) -> dict[Key, tuple[str, str]]:
    """``(kind, why)`` by cell.

    Raises:
        DataError: a line is not one of ours.
    """
    found: dict[Key, tuple[str, str]] = {}
    path = run / FILE
    for number, record in read_lines(path):
        try:
            found[key_of(CellKey.model_validate(record["cell"]))] = str(record["kind"]), str(record["why"])
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{path.name}, line {number} is not a classification.") from error
    return found
