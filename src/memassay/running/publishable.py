"""May this run be published? Every reason why not, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from memassay.running.contenders import SPEAKS
from memassay.running.markers import MARKER
from memassay.running.plan import Plan, is_sample
from memassay.runs.folder import Counted, RunFolder
from memassay.runs.records import Key
from memassay.stats import Band

PROVIDER_SHARE = 0.01
PROVIDER_GAP = 0.01
CHANCE_LIMIT = 0.9
"""Where a random order finds this much, a memory has nothing left to show."""


def publishable(
    plan: Plan,
    run: RunFolder,
    counted: Mapping[Key, Counted],
    planned: int,
    controls: Mapping[str, Any],
    unavailable: Mapping[str, str],
    chance: Mapping[str, Band],
    headline: str,
    differing: int = 0,
    *,
    stopped: str = "",
    unjudged: Mapping[str, int | None] | None = None,
    comparing: Sequence[Mapping[str, Any]] = (),
    registration: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """``{"value", "reasons"}`` by the rules of docs/statistics.md.

    Args:
        plan: the run's plan.
        run: its folder (for the writers' environments).
        counted: the records that count.
        planned: cells that had to be recorded.
        controls: the summary's controls.
        unavailable: arms without a number; they are null, and no obstacle as long as another arm has one.
        chance: bands of the random control.
        headline: the metric shown first.
        differing: cells finished twice with another outcome.
        stopped: why the run was stopped before its end, or "".
        unjudged: by judge with a model, how many answers it is yet to judge; None where it has judged nothing.
        comparing: the judges of pairs and what is left for each.
        registration: as :func:`memassay.running.registration.registration_of` tells it, empty where there is none; None
            does not ask.
    """
    reasons: list[str] = []
    if all(arm.name in unavailable for arm in plan.contenders):
        reasons.append("no arm could be measured")
    if is_sample(plan.suite):
        reasons.append("the data are a generated sample")
    kinds: dict[str, Counter[str]] = {}
    # A planted task asks the memory alone: it is no answer of an agent.
    planted = {task.id for task in plan.tasks if task.category == MARKER and plan.answers}
    have = 0
    for key, record in counted.items():
        have += key[1] not in unavailable
        if key[1] not in unavailable and key[0] not in planted:
            kinds.setdefault(key[1], Counter())[record.status.kind] += 1
    if have < planned:
        why = "the run was stopped" if stopped else "run the same command again"
        reasons.append(f"{planned - have} of {planned} cells are missing; {why}")
    reasons += _failures(plan, kinds)
    if differing:
        reasons.append(f"{differing} cells were finished twice with different outcomes (the first counts)")
    if not plan.experiment.controls:
        reasons.append("the controls were switched off")
    if have >= planned:  # bands hold for all the questions, not for some of them
        reasons += [_why(name, control) for name, control in controls.items() if not control["passed"]]
    elif controls:
        reasons.append("the controls are checked once the run is complete")
    for name, left in (unjudged or {}).items():
        if left is None:
            reasons.append(f"judge {name} gave no verdict")
        elif left:
            reasons.append(f"judge {name} has not judged {left} answers; go on: memassay judge RUN")
    for one in comparing:
        if one["left"] is None:
            reasons.append(f"judge {one['id']} compared nothing")
        elif one["left"]:
            reasons.append(f"judge {one['id']} has {one['left']} comparisons left; go on: memassay judge RUN")
    if plan.answers and (plan.identity.get("agent") or {}).get(SPEAKS) == "scripted":
        reasons.append("the agent is a scripted stand-in")
    judging = [*(judge.model for judge in plan.model_judges), *(one["model"] for one in comparing)]
    if "scripted" in judging:
        reasons.append("a judge is a scripted stand-in")
    settings = plan.identity.get("suite_settings", {})
    if plan.suite.data == "real" and isinstance(settings, Mapping):
        reasons += [
            f"the {name} file is not the one in the catalogue (see: memassay data list)"
            for name, file in settings.items()
            if isinstance(file, Mapping) and file.get("catalogue") is False
        ]
    if headline in chance and chance[headline].mean >= CHANCE_LIMIT:
        reasons.append(
            f"chance alone reaches {chance[headline].mean:.2f} at {headline}: the documents nearly fit the budget, "
            "so memories cannot be told apart; use smaller --budgets"
        )
    if plan.experiment.limit or plan.experiment.categories or plan.experiment.scopes:
        reasons.append("a filter was used (--limit, --categories or --conversations)")
    if registration is not None and not registration.get("first"):
        reasons.append("it was not registered before its first record (prereg.jsonl is missing, or was written anew)")
    if plan.experiment.primary is None and not getattr(plan.suite, "decides", False):
        reasons.append("no primary comparison was named before the run (--primary METRIC:A>B)")
    environments = [e for entries in run.manifest.get("writers", {}).values() for e in entries]
    if any(e.get("source_dirty") for e in environments):
        reasons.append("memassay ran from a source tree with uncommitted changes")
    if len({e.get("memassay") for e in environments}) > 1:
        reasons.append("writers ran different versions of memassay")
    return {"value": not reasons, "reasons": reasons}


def _failures(plan: Plan, kinds: Mapping[str, Counter[str]]) -> list[str]:
    reasons: list[str] = []
    harness = sum(c["harness"] for c in kinds.values())
    if harness:
        reasons.append(f"{harness} cells failed by the harness")
    shares = [kinds[a.name]["provider"] / kinds[a.name].total() for a in plan.contenders if a.name in kinds]
    if shares and max(shares) > PROVIDER_SHARE:
        reasons.append(f"provider failures reach {max(shares):.1%} of an arm (at most 1 % is allowed)")
    if shares and max(shares) - min(shares) > PROVIDER_GAP:
        reasons.append("provider failures differ by more than 1 point between arms")
    return reasons


def _why(name: str, control: Mapping[str, Any]) -> str:
    failed = [c for c in control["checks"] if c["passed"] is False]
    if not failed:
        return f"control {name} was not measured"
    first = failed[0]
    more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
    arm = f"{first['arm']}, " if "arm" in first else ""
    return f"control {name} failed: {arm}{first['metric']}: {first['detail']}{more}"
