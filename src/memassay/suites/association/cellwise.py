"""The sections that go cell by cell: what each measured, which lost points, which tools were called, what was said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memassay.core.report import Column, Section, Table
from memassay.suites.association.writing import BLANK, Cell, columns, written

_SHOWN = 600
"""Characters of an answer in the report; the longest right answer of the published twenty takes 456."""
_PER_CELL: Mapping[str, Mapping[str, tuple[str, int]]] = {
    "Scores": {
        "score": ("score", 2),
        "score_substring": ("as published", 2),
        "wrong_extra": ("near-misses", 0),
        "status": ("ended", 0),
    },
    "Tokens": {
        "input_tokens": ("in", 0),
        "output_tokens": ("out", 0),
        "cache_read_tokens": ("cache read", 0),
        "cache_write_tokens": ("cache write", 0),
        "total_tokens": ("total", 0),
        "cache_hit_ratio": ("cache hit", 3),
    },
    "Work": {
        "turns": ("turns", 0),
        "tool_calls": ("tools", 0),
        "server_calls": ("server", 0),
        "tool_search_calls": ("searches for tools", 0),
        "seconds": ("seconds", 1),
        "cost_usd": ("$", 4),
    },
}


def per_cell(results: Mapping[str, Any]) -> Section:
    """The published columns of a cell, those that exist here, as three tables."""

    def row(cell: Mapping[str, Any], shown: Mapping[str, tuple[str, int]]) -> tuple[Cell, ...]:
        values = ((cell[name], digits) for name, (_, digits) in shown.items())
        return (cell["cell"], *(v if isinstance(v, str) else written(v, digits) for v, digits in values))

    tables = tuple(
        Table(
            title=title,
            columns=columns("cell", *(short for short, _ in shown.values())),
            rows=tuple(row(cell, shown) for cell in results["cells"]),
        )
        for title, shown in _PER_CELL.items()
    )
    text = "A cell is task/arm/build.repetition, both counted from 0. A dash was not measured."
    return Section(title="Per cell", text=text, tables=tables)


def below_one(results: Mapping[str, Any]) -> Section:
    """The cells that lost points, what they missed or named, and whose fault it was."""
    found = results["below_one"]
    open_ = sum(cell["classification"] == "unclassified" for cell in found)

    def said(cell: Mapping[str, Any]) -> str:
        right = f"{cell['found']} of {cell['of']} found" if cell["of"] is not None else ""
        missed = _listed("missed", cell["missed"])
        return "; ".join(filter(None, [right, missed, _listed("named", cell["forbidden"]), cell["detail"]])) or BLANK

    def blamed(cell: Mapping[str, Any]) -> str:
        return ": ".join(filter(None, [cell["classification"], cell["why"]]))

    rows = tuple((cell["cell"], written(cell["score"], 2), said(cell), cell["status"], blamed(cell)) for cell in found)
    text = (
        f"{len(found)} cells are below 1, {open_} of them unclassified. Whose fault it was is said by somebody who has "
        "read the transcript: tool (the memory answered badly), model (it had what it needed and went wrong), grader "
        "(a right answer, a wrong check)."
    )
    table = Table(title="Cells", columns=columns("cell", "score", "what is wrong", "ended", "whose fault"), rows=rows)
    return Section(
        title="Sub-1.0 cells", text=text if found else "Every cell scored 1.", tables=(table,) if found else ()
    )


def adoption(results: Mapping[str, Any]) -> Section:
    """Which cells called the memory's server, and how often each tool was called."""
    found = results["adoption"]
    rows = tuple(
        (arm, f"{one['adopted']} of {one['cells']}", sum(one["server"].values())) for arm, one in found.items()
    )
    calls = [
        (arm, name, kind, count)
        for arm, one in found.items()
        for kind, key in (("server", "server"), ("own", "other"))
        for name, count in one[key].items()
    ]
    tables = [
        Table(title="Cells with a call of the memory's server", columns=columns("arm", "cells", "calls"), rows=rows)
    ]
    if calls:
        titles = (*columns("arm", "tool", "whose"), Column(title="calls", kind="integer"))
        tables.append(Table(title="Calls by tool", columns=titles, rows=tuple(calls)))
    text = "Recorded, not gated: where the server is the only way to the data, every cell calls it."
    return Section(title="Tool adoption", text=text, tables=tuple(tables))


def answers(results: Mapping[str, Any]) -> Section:
    """What was answered."""
    rows = tuple((one["cell"], _cut(one["text"])) for one in results["answers"])
    text = (
        f"As the agents gave them, lines joined by a slash, and cut after {_SHOWN} characters; whole in the summary. "
        "This is text that models wrote."
    )
    return Section(
        title="Answers, cell by cell",
        text=text,
        tables=(Table(title="Answers", columns=columns("cell", "answer"), rows=rows),),
    )


def _listed(what: str, names: object) -> str:
    return f"{what} {', '.join(map(str, names))}" if isinstance(names, list) and names else ""


def _cut(text: str) -> str:
    line = " / ".join(part.strip() for part in text.splitlines() if part.strip())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]} … ({len(text):,} characters)"
