"""Blocks of code in the documentation, so that what it shows is what was run."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


_FENCE = re.compile(r"(?:^`(?P<path>[^`\n]+)`\n\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)


def _fences(page: str) -> list[re.Match[str]]:
    return list(_FENCE.finditer((ROOT / "docs" / page).read_text(encoding="utf-8")))


def blocks(page: str, kind: str) -> list[str]:
    """Every fenced block of a kind on a page under ``docs/``."""
    return [fence["text"] for fence in _fences(page) if fence["kind"] == kind]


def python_file(page: str, name: str) -> str:
    """The Python block of a page whose first line is ``# name``."""
    found = [text for text in blocks(page, "python") if text.startswith(f"# {name}\n")]
    assert len(found) == 1, f"docs/{page} has {len(found)} blocks that begin with '# {name}'"
    return found[0]


def named_files(page: str) -> dict[str, str]:
    """Blocks of a page that stand below a line with nothing but a path in backticks, by path."""
    return {fence["path"]: fence["text"] for fence in _fences(page) if fence["path"]}


def table_below(page: str, heading: str) -> tuple[list[str], dict[str, list[str]]]:
    """The first table below a heading: the names of its columns but the first, and its rows by their first cell."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8").partition(f"\n{heading}\n")[2]
    lines = [line for line in text.partition("\n| ")[2].partition("\n\n")[0].splitlines() if "---" not in line]
    first, *rows = ([cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines)
    return first[1:], {row[0]: row[1:] for row in rows}
