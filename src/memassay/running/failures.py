"""Whose failure it was: a memory's, the network's, the disk's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from memassay.core.dossier import dossier_of
from memassay.core.errors import MemoryFailure
from memassay.core.types import Dossier, Passage, Status
from memassay.running.build import NoStore, disk_error
from memassay.running.calls import LimitReached, describe, is_network, redact
from memassay.runs.lines import problem
from memassay.runs.records import check_passages


class Failed(Exception):
    """A cell that failed outside the harness, with the status that says whose fault it was."""

    def __init__(self, status: Status, detail: str) -> None:
        self.status, self.detail = status, detail
        super().__init__(detail)


def checked(returned: object) -> Dossier:
    """What a memory returned as a dossier.

    Raises:
        TypeError: it is none, in words that help the memory's author.
    """
    passages = returned.passages if isinstance(returned, Dossier) else returned
    if not isinstance(passages, Sequence) or isinstance(passages, (str, bytes)):
        raise TypeError(f"retrieve() returned {type(returned).__name__}; return a list of Passage, best first")
    wrong = next((p for p in passages if not isinstance(p, Passage)), None)
    if wrong is not None:
        raise TypeError(f"retrieve() returned a list with a {type(wrong).__name__} in it; every item must be a Passage")
    dossier = dossier_of(passages)
    try:
        check_passages(dossier)
    except ValueError as error:
        raise TypeError(f"retrieve() returned a Passage that was made without validation: {error}") from error
    return dossier


def classify(error: Exception) -> tuple[Status, str]:
    """The status of a cell whose memory raised.

    Raises:
        EnvironmentProblem: it was the disk, which is nobody's failure.
    """
    if isinstance(error, NoStore):
        return error.status, redact(str(error))
    if isinstance(error, LimitReached):
        return Status.MEMORY_TIMEOUT, f"nothing retrieved after {error.seconds:g} s"
    full = disk_error(error)
    if full is not None:
        raise problem(Path(full.filename or "the store"), full) from error
    if is_network(error):
        return Status.NETWORK, describe(error)
    if isinstance(error, TimeoutError):
        return Status.MEMORY_TIMEOUT, describe(error)
    if isinstance(error, MemoryFailure):
        return Status.MEMORY_EMPTY_STORE, describe(error)
    return Status.MEMORY_CRASH, describe(error)
