"""Verdicts that were given anew: the old ones are kept in ``judgements/replaced/``, where nothing counts them.

``regraded.jsonl`` has a line for each file that was set aside, and what took its place.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any

from memassay.core.types import Judgement
from memassay.runs.folder import RunFolder
from memassay.runs.lines import LineWriter, disk_errors, read_lines, write_whole
from memassay.runs.records import parsed

_NAME = "regraded.jsonl"


def set_aside(run: RunFolder, judge: str, about: Mapping[str, Any]) -> None:
    """Set the verdicts of a judge aside, and note it; nothing where there are none.

    It is noted first, and the verdicts move at once: a process that is killed in between leaves them as they were.

    Args:
        run: the run, which nobody else is judging.
        judge: its id.
        about: what is noted beside ``judge``, ``verdicts`` (how many) and ``replaced`` (where they are now, below the
            run folder).
    """
    verdicts = run.verdicts(judge)
    count = verdicts.read_bytes().count(b"\n") if verdicts.exists() else 0  # a damaged file can be replaced too
    if not count:
        return
    aside = verdicts.parent / "replaced"
    number = next(n for n in itertools.count(1) if not (aside / f"{judge}.{n}.jsonl").exists())
    place = aside / f"{judge}.{number}.jsonl"
    with disk_errors(aside):
        aside.mkdir(exist_ok=True)
    manifest = verdicts.with_suffix(".json")
    if manifest.exists():
        write_whole(place.with_suffix(".json"), manifest.read_text("utf-8"))
    told = {"judge": judge, "verdicts": count, "replaced": place.relative_to(run.path).as_posix(), **about}
    with LineWriter(run.path / _NAME, wait=True) as lines:
        lines.append(json.dumps(told, ensure_ascii=False))
    with disk_errors(verdicts):
        verdicts.rename(place)


def regraded(run: RunFolder) -> list[dict[str, Any]]:
    """What was noted, in order."""
    return [record for _, record in read_lines(run.path / _NAME)]


def each_replaced(run: RunFolder, place: str) -> Iterator[Judgement]:
    """The verdicts that were set aside to a place, as it is noted.

    Raises:
        DataError: one of them cannot be read.
    """
    path = run.path / place
    for number, record in read_lines(path):
        yield parsed(path, number, record, Judgement)
