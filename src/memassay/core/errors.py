"""Every error that memassay raises on purpose.

::

    MemassayError                 exit code
    ├── UsageError                2   the command, the experiment or an input file is wrong
    │   ├── UnknownName           2   a name that no plug-in registered, with "did you mean"
    │   ├── DataError             2   a data file that is not what it should be
    │   └── GuardError            2   re-entry of a run with something different in its manifest
    └── EnvironmentProblem        3   the machine: disk, network, permissions, a missing extra
        ├── RunLocked             3   another writer holds this shard
        └── MissingExtra          3   an optional dependency is not installed

    CannotMeasure                 a memory says why it has no number here (the value is null, never 0)
    MemoryFailure                 a memory failed in a way that counts against it

A user's mistake is one sentence with the fix. A failed cell is a record, not an exception: the runner turns what a
memory or an agent raises into a status.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_NAMED = 12


class MemassayError(Exception):
    """Base class; ``str()`` is one sentence for a person, ``exit_code`` is what the command ends with."""

    exit_code = 3


class UsageError(MemassayError):
    """The command, the experiment file or an input file is wrong."""

    exit_code = 2


class UnknownName(UsageError):
    """A name that nothing is registered under.

    Args:
        kind: what was looked up, in the singular (``"memory"``).
        name: what was asked for.
        known: every name that would have worked.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind, self.name, self.known = kind, name, sorted(known)
        super().__init__(f"Unknown {kind} {name!r}.{suggestion(name, self.known)}")


class DataError(UsageError):
    """A data file that is not what it should be."""


class GuardError(UsageError):
    """A run folder was entered again with something different in its manifest."""


class EnvironmentProblem(MemassayError):
    """The machine stands in the way: disk, network, permissions."""

    exit_code = 3


class RunLocked(EnvironmentProblem):
    """Another writer holds this shard of the run."""


class MissingExtra(EnvironmentProblem):
    """An optional dependency is not installed.

    Args:
        module: the module that could not be imported.
        extra: the extra of memassay that brings it.
    """

    def __init__(self, module: str, extra: str) -> None:
        super().__init__(f"{module} is not installed; run: pip install 'memassay[{extra}]'.")


class CannotMeasure(MemassayError):
    """Raised by a memory that cannot be measured here, with the reason; its numbers become null."""


class MemoryFailure(MemassayError):
    """Raised by a memory whose failure counts against it (an empty store after a non-empty corpus, a crash)."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """A sentence (with a leading space) that names the closest known names, or all of them."""
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if close:
        return f" Did you mean {' or '.join(repr(c) for c in close)}?"
    if not known:
        return " None is registered."
    more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
    return f" Known: {', '.join(known[:_NAMED])}{more}."
