"""What the suite adds to a report: the pool, and the scores of each type of question at every budget and cut-off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memassay.core.report import Column, Section, Table
from memassay.core.types import Estimate
from memassay.suites.hotpotqa.load import TYPES

Row = tuple[Estimate | str | int | float | None, ...]


def sections(summary: Mapping[str, Any]) -> Sequence[Section]:
    """The sections for a summary of this suite; none where it is of another form."""
    settings = summary.get("suite_settings") or {}
    pool = settings.get("pool") or {}
    arms: Mapping[str, Any] = summary.get("arms") or {}
    names = [f"both@{b}" for b in summary.get("budgets", ())] + [f"both@k{k}" for k in summary.get("ks", ())]
    rows = [row for kind in TYPES for name, arm in arms.items() if (row := _row(kind, name, arm, names)) is not None]
    if not pool or not rows:
        return ()
    linked = f"{pool['links']:,} title links join them" if settings.get("links") == "titles" else "no links are made"
    columns = (
        Column(title="type"),
        Column(title="arm"),
        Column(title="n", kind="integer"),
        *(Column(title=_short(name), kind="estimate", hint=name) for name in names),
    )
    return (
        Section(
            title="Both pages, by type of question",
            text=f"One pool of {pool['pages']:,} pages, those of all the questions together; {linked}. A bridge "
            "question names one page and needs a second that only the first leads to; a comparison names both. k "
            "counts the distinct pages of a dossier, from its start.",
            tables=(Table(title="both@B and both@k", columns=columns, rows=tuple(rows)),),
        ),
    )


def _row(kind: str, name: str, arm: Mapping[str, Any], names: Sequence[str]) -> Row | None:
    found = (arm.get("categories") or {}).get(kind)
    if not found:
        return None
    return (kind, name, found["n"], *(Estimate.model_validate(found[m]) if m in found else None for m in names))


def _short(name: str) -> str:
    at = name.partition("@")[2]
    return f"k = {at[1:]}" if at.startswith("k") else f"{int(at):,}"
