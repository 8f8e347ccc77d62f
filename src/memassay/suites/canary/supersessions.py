"""What replaced what, when, and which document says so: the truth against which a claimed change is checked."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from memassay.core.errors import DataError
from memassay.core.types import Frozen
from memassay.suites.custom.lines import Row, read_rows

_KEYS = ("old", "new", "date", "doc", "subject")


class Supersession(Frozen):
    """One true replacement.

    Attributes:
        old, new: names or values, in the words of the documents.
        date: the day from which the new one holds, ISO 8601.
        doc: the document that says so.
        subject: what it is a change of, or "".
    """

    old: str
    new: str
    date: str
    doc: str
    subject: str = ""


def read_supersessions(path: Path) -> tuple[Supersession, ...]:
    """The table of a JSONL file, in its order.

    Raises:
        DataError: a wrong line, by number and field, in one sentence with the fix; nothing is then read.
    """
    return tuple(_supersession(row) for row in read_rows(path))


def _supersession(row: Row) -> Supersession:
    row.only(_KEYS)
    old, new, doc = (row.needed(key) for key in ("old", "new", "doc"))
    if old == new:
        row.fail("old and new are the same; a replacement has two different values")
    date = row.date("date")
    if date is None:
        row.fail("date is missing; write the day from which the new value holds, such as 2026-03-31")
    return Supersession(old=old, new=new, date=date, doc=doc, subject=row.text("subject") or "")


def write_supersessions(path: Path, table: Iterable[Supersession]) -> None:
    """Write a table as JSON Lines; equal tables give equal bytes.

    Raises:
        DataError: the file cannot be written.
    """
    lines = [json.dumps(row.model_dump(exclude_defaults=True), ensure_ascii=False) for row in table]
    try:
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}; choose another place.") from None
