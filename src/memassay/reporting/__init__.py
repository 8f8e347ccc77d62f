"""What a person reads: Markdown, HTML, charts, one task explained.

Everything here is made from plain records (``summary.json``, a run folder) and treats every string in them as hostile.
Jinja and rich are loaded on first use, so that importing this package costs nothing.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memassay.core.report import Section

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memassay.reporting.explanation import Explanation
    from memassay.runs.folder import RunFolder

__all__ = ["arm_table", "explain", "missed", "print_arms", "print_explanation", "write_reports"]


def write_reports(folder: Path, summary: Mapping[str, Any], sections: Sequence[Section] = ()) -> tuple[Path, Path]:
    """Write ``summary.md`` and ``report.html`` into a run folder; each is the old file or the new one, never half.

    Args:
        folder: the run folder.
        summary: the parsed ``summary.json``; missing keys leave their part out.
        sections: what the suite adds.

    Raises:
        EnvironmentProblem: the folder cannot be written.
    """
    from memassay.reporting import html, markdown
    from memassay.runs.lines import write_whole

    paths = folder / "summary.md", folder / "report.html"
    for path, text in zip(paths, (markdown.render(summary, sections), html.render(summary, sections)), strict=True):
        write_whole(path, text)
    return paths


def arm_table(summary: Mapping[str, Any], width: int = 80, *, color: bool = False) -> str:
    """The arms of a summary as a table for a terminal; no line is longer than ``width`` (from 24 up)."""
    from memassay.reporting.terminal import arm_table as table

    return table(summary, width, color=color)


def print_arms(summary: Mapping[str, Any]) -> None:
    """Print the arms on standard output: as wide as the terminal, plain where it is none."""
    width, color = _screen()
    _write(arm_table(summary, width, color=color))


def explain(folder: RunFolder, task: str, arm: str | None = None, repetition: int = 1) -> Explanation:
    """One task of a run, explained; see :func:`memassay.reporting.show_run.explain`."""
    from memassay.reporting.show_run import explain as from_run

    return from_run(folder, task, arm, repetition)


def missed(folder: RunFolder, arm: str | None = None) -> Iterator[str]:
    """What was missed, one line per task and arm; see :func:`memassay.reporting.show_run.missed`."""
    from memassay.reporting.show_run import missed as from_run

    return from_run(folder, arm)


def print_explanation(explanation: Explanation) -> None:
    """Print an explanation on standard output: as wide as the terminal, plain where it is none."""
    from memassay.reporting.show_screen import explanation_text

    width, color = _screen()
    _write(explanation_text(explanation, width, color=color))


def _screen() -> tuple[int, bool]:
    """Width of standard output and whether it takes colour (NO_COLOR is honoured)."""
    import os

    terminal = sys.stdout.isatty()
    color = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return shutil.get_terminal_size((100, 24)).columns, color


def _write(text: str) -> None:
    from memassay.reporting.text import fit_encoding

    sys.stdout.write(fit_encoding(text, sys.stdout.encoding))
    sys.stdout.flush()
