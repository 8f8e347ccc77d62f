"""What watches a run: a progress bar, or nothing."""

from __future__ import annotations

from typing import Protocol

from memassay.core.types import BuildReport
from memassay.running.drive import Tally


class Observer(Protocol):
    """Is told how a run goes on."""

    def stage(self, name: str, total: int | None) -> None: ...

    def building(self, text: str) -> None:
        """What is being built and how far it is; called from the thread of the memory."""
        ...

    def built(self, report: BuildReport) -> None: ...

    def drove(self, tally: Tally) -> None: ...

    def judged(self) -> None: ...


class Silent:
    """Watches nothing."""

    def stage(self, name: str, total: int | None) -> None: ...

    def building(self, text: str) -> None: ...

    def built(self, report: BuildReport) -> None: ...

    def drove(self, tally: Tally) -> None: ...

    def judged(self) -> None: ...
