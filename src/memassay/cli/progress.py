"""What a command says on standard error while it works: a bar on a terminal, a line now and then in a log file."""

from __future__ import annotations

import sys
import threading
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
_BUILD_SECONDS = 10.0


class Bar:
    """An observer that draws one bar per stage.

    In a log file it writes a line per half minute instead, and every ten seconds what is being built.
    """

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._terminal = sys.stderr.isatty() and not quiet
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._stage = ""
        self._logged = time.monotonic()
        self._started = time.monotonic()
        self._building: tuple[float, str] | None = None
        self._over = threading.Event()

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
        elif not self._quiet:
            threading.Thread(target=self._every_few_seconds, daemon=True, name="memassay-progress").start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._progress is not None:
            self._progress.stop()

    def stage(self, name: str, total: int | None) -> None:
        self._stage, self._started, self._building = name, time.monotonic(), None
        if self._progress is not None:
            if self._task is not None:
                self._progress.remove_task(self._task)
            self._task = self._progress.add_task(_TITLES.get(name, name), total=total, rate="", cost="")

    def building(self, text: str) -> None:
        since = self._building[0] if self._building else time.monotonic()
        self._building = since, text
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, rate=text.removeprefix("building "))

    def built(self, report: BuildReport) -> None:
        self._building = None
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
            # Below one cell in two seconds "0/s" would be untrue; before the first cell nobody knows what is left.
            speed = f"{rate:,.0f}/s" if rate >= 0.5 else f"{60 * rate:,.1f}/min"
            left = f"{(tally.planned - done) / rate:,.0f} s left" if rate else ""
            sys.stderr.write(", ".join(filter(None, [f"{done} of {tally.planned} cells", speed, left, cost])) + "\n")

    def judged(self) -> None:
        self._advance()

    def _advance(self) -> None:
        if self._progress is not None and self._task is not None:
            self._progress.advance(self._task)

    def _every_few_seconds(self) -> None:
        """Say what is being built, whether or not the memory tells its progress."""
        while not self._over.wait(_BUILD_SECONDS):
            building = self._building
            if building is not None:
                since, text = building
                sys.stderr.write(f"{text}, {time.monotonic() - since:,.0f} s so far\n")
                sys.stderr.flush()
