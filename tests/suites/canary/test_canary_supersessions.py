"""The table of what replaced what, in and out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memassay.core.errors import DataError
from memassay.suites.canary.supersessions import Supersession, read_supersessions, write_supersessions

ROW: dict[str, Any] = {"old": "14 days", "new": "30 days", "date": "2026-02-03", "doc": "adr/2.md"}


def test_a_table_survives_a_round_trip(tmp_path: Path) -> None:
    table = (Supersession(**ROW), Supersession(**ROW | {"old": "7 jours é", "subject": "retention"}))
    path = tmp_path / "s.jsonl"
    write_supersessions(path, table)
    assert read_supersessions(path) == table
    assert json.loads(path.read_text(encoding="utf-8").splitlines()[0]) == ROW


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"new": None}, "new is missing"),
        ({"date": None}, "date is missing"),
        ({"date": "2026-13-01"}, 'date "2026-13-01" is no date'),
        ({"new": "14 days"}, "old and new are the same"),
        ({"until": "x"}, 'unknown key "until"'),
    ],
)
def test_a_wrong_row_is_named_by_line_and_field(change: dict[str, Any], says: str, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(f"{json.dumps(ROW)}\n{json.dumps(ROW | change)}\n")
    with pytest.raises(DataError) as caught:
        read_supersessions(path)
    assert str(caught.value).startswith(f"{path}, line 2: ") and says in str(caught.value)
