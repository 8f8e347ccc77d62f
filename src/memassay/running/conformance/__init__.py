"""The conformance suite: does a memory keep the contract that every run relies on?

:func:`check_memory` runs all checks against any memory that has a name or is a class in a file. The memory runs in
processes of its own, so that one that hangs, crashes or prints is a failed check and nothing worse.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from memassay.core.errors import CannotMeasure, MemoryFailure
from memassay.core.registry import is_file
from memassay.running.conformance.bench import Bench, Subject
from memassay.running.conformance.checks import CHECKS, Broken, Check
from memassay.running.conformance.report import Outcome, Report, Status

SECONDS = 60.0
"""How long a check may take."""


def check_memory(
    memory: str,
    options: Mapping[str, JsonValue] | None = None,
    *,
    seconds: float = SECONDS,
    checks: Sequence[Check] = CHECKS,
    on_done: Callable[[Outcome], None] = lambda outcome: None,
) -> Report:
    """Run the checks against a memory.

    Args:
        memory: a registered name, or ``./file.py:Class``.
        options: its settings.
        seconds: how long a check may take before the memory's process is killed and the check has failed; the document
            of 10 MB may take ten times as long.
        checks: which ones; all of them unless told otherwise.
        on_done: called after every check.

    Raises:
        UsageError: no such memory, or settings that it does not take.
    """
    report = Report(memory, options or {})
    raised: dict[str, str] = {}
    subject = Subject(_located(memory), options or {})
    with tempfile.TemporaryDirectory(prefix="memassay-check-", ignore_cleanup_errors=True) as folder:
        bench = Bench(subject, Path(folder).resolve())
        try:
            for check in checks:
                if report.outcomes and not bench.started:
                    # The memory could not be made; waiting for that once was enough.
                    outcome = Outcome(check.name, "not applicable", check.expected, report.outcomes[0].seen)
                else:
                    outcome = _outcome(check, bench, seconds, raised)
                report.outcomes.append(outcome)
                on_done(outcome)
        finally:
            bench.close()
    return report


def _outcome(check: Check, bench: Bench, seconds: float, raised: dict[str, str]) -> Outcome:
    """Run one check. ``raised`` is what the memory raised so far, by text, with the check in which it first did."""
    started = time.perf_counter()
    bench.begin(seconds * check.times)
    status: Status = "passed"
    seen, fix = "", ""
    try:
        check.run(bench)
    except CannotMeasure as error:
        status, seen = "not applicable", str(error)
    except Broken as broken:
        status, seen, fix = "FAILED", broken.seen, broken.fix or check.fix
        if isinstance(broken.__cause__, MemoryFailure):
            fix = _fix(check, str(broken.__cause__), raised)
    except MemoryFailure as error:
        status, seen, fix = "FAILED", str(error), _fix(check, str(error), raised)
    return Outcome(check.name, status, check.expected, seen, fix, round(time.perf_counter() - started, 3))


def _fix(check: Check, text: str, raised: dict[str, str]) -> str:
    """The check's own advice where the memory raised this for the first time: one cause needs one fix."""
    first = raised.setdefault(text, check.name)
    return check.fix if first == check.name else f"the same error as in {first}"


def _located(memory: str) -> str:
    """The name as the memory's own process can read it, wherever that runs."""
    if not is_file(memory):
        return memory
    path, _, name = memory.rpartition(":")
    return f"{Path(path).resolve()}:{name}"


__all__ = ["CHECKS", "SECONDS", "Outcome", "Report", "check_memory"]
