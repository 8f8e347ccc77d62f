"""How a command ends that has no number to show: in one sentence, with what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any


def refuse_unmeasured(reasons: Mapping[str, str | None]) -> None:
    """End the command where no arm could be measured: there is no number, and the reasons say what to do.

    Args:
        reasons: why each arm could not be measured, None where it could.

    Raises:
        CannotMeasure: none could, in one sentence.
    """
    from memassay.core.errors import CannotMeasure

    if reasons and all(reasons.values()):
        # Arms that lack the same thing are named together.
        arms: dict[str, list[str]] = {}
        for name, reason in reasons.items():
            arms.setdefault(str(reason).rstrip("."), []).append(name)
        said = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in arms.items())
        raise CannotMeasure(f"No memory could be measured. {said}.")


def refuse_unfinished(summary: Mapping[str, Any]) -> None:
    """End the command where an agent was asked and no question could be finished: there is no number.

    Raises:
        EnvironmentProblem: so it is, with what went wrong most often.
    """
    from memassay.core.errors import EnvironmentProblem
    from memassay.core.types import Status

    arms = [arm for arm in summary["arms"].values() if not arm["reason"]]
    if summary["stage"] != "answer" or any(arm["n"] for arm in arms):
        return
    failed: Counter[str] = Counter()
    for arm in arms:
        statuses = arm["usage"]["answers"]["statuses"]
        failed.update({s: n for s, n in statuses.items() if Status(s).kind in ("provider", "harness")})
    if failed and any(arm["failures"]["provider"] + arm["failures"]["harness"] for arm in arms):
        status, times = failed.most_common(1)[0]
        raise EnvironmentProblem(
            f"No question could be finished: {times} answers ended with {status}. See `memassay show`, mend it and run "
            "the same command again."
        )


def refuse_stopped(summary: Mapping[str, Any]) -> None:
    """End the command where the run was stopped before its end; everything recorded so far is kept.

    Raises:
        EnvironmentProblem: it was, with the reason.
    """
    from memassay.core.errors import EnvironmentProblem

    if summary.get("stopped"):
        raise EnvironmentProblem(f"The run was stopped before its end: {summary['stopped']}.")
