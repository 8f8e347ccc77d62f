"""A progress bar on standard error: rate, time left, running cost. Silent where standard error is no terminal."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from memassay.core.types import BuildReport
    from memassay.running.drive import Tally

_TITLES = {
    "plan": "planning",
    "build": "building",
    "answer": "answering",
    "judge": "judging",
    "summarise": "summing up",
}
_LOG_SECONDS = 30.0


class Bar:
    """An observer that draws one bar per stage; in a log file it writes one line per half minute instead."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._terminal = sys.stderr.isatty() and not quiet
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._stage = ""
        self._logged = time.monotonic()
        self._started = time.monotonic()

    def __enter__(self) -> Bar:
        if self._terminal:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            self._progress = Progress(
                TextColumn("{task.description:<10}"),
                BarColumn(bar_width=None),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rate]}"),
                TimeRemainingColumn(compact=True),
                TextColumn("{task.fields[cost]}"),
                console=Console(stderr=True),
                transient=True,
            )
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def stage(self, name: str, total: int | None) -> None:
        self._stage, self._started = name, time.monotonic()
        if self._progress is not None:
            if self._task is not None:
                self._progress.remove_task(self._task)
            self._task = self._progress.add_task(_TITLES.get(name, name), total=total, rate="", cost="")

    def built(self, report: BuildReport) -> None:
        self._advance()
        if report.status != "ok" and not self._quiet:
            text = f"{report.memory}, {report.scope}: {report.status}: {report.detail}"
            if self._progress is not None:
                from rich.text import Text

                self._progress.console.print(Text(text))
            else:
                sys.stderr.write(f"{text}\n")

    def drove(self, tally: Tally) -> None:
        done = tally.already + tally.recorded
        rate = tally.recorded / max(time.monotonic() - self._started, 1e-6)
        cost = f"${tally.cost_usd:.2f}" if tally.cost_usd else ""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, total=tally.planned, completed=done, rate=f"{rate:,.0f}/s", cost=cost)
        elif not self._quiet and time.monotonic() - self._logged > _LOG_SECONDS:
            self._logged = time.monotonic()
            left = (tally.planned - done) / rate if rate else 0.0
            sys.stderr.write(f"{done} of {tally.planned} cells, {rate:,.0f}/s, {left:,.0f} s left {cost}\n")

    def judged(self) -> None:
        self._advance()

    def _advance(self) -> None:
        if self._progress is not None and self._task is not None:
            self._progress.advance(self._task)
