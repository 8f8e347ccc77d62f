"""What two runs must share to be compared, what may differ and is said, and the refusals.

Must be equal: the suite and its data, the tasks with their gold, the tokenizer, the filters, the primary judge; the
profile of the agent and what speaks through it; of each compared metric that a judge with a model gives, that judge.
May differ: memories, their settings and versions, seeds, builds, workers, machine, controls; and, which is said, all
else of the agent (its model, its client's version) and the client of a judge. docs/run-folder.md says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memassay.core.digest import digest_of
from memassay.core.errors import UsageError
from memassay.core.types import Task
from memassay.running.contenders import SPEAKS, without_places
from memassay.running.judges import ENTRY, ModelJudge
from memassay.running.plan import Plan
from memassay.running.summarise import headline
from memassay.runs.guard import differences

Basis = Mapping[str, Any]

MUST_EQUAL = ("suite", "stage", "suite_settings", "tokens", "categories", "conversations", "limit", "judge", "tasks")
AGENT, JUDGES, PROFILE = "agent", "judges", "profile"
_ABSENT = "(absent)"
# Dates of our price table, which change no score, and names of variables of one machine.
_OF_NO_MATTER = ("prices", "key_env")
_CLIENT = "package"
_FIRST = (f"{AGENT}.name", f"{AGENT}.options.model")
_SHOWN = 3
_WIDTH = 40


def basis_of(plan: Plan, tasks: Sequence[Task]) -> dict[str, Any]:
    """What of a run is looked at before it is compared.

    Args:
        plan: with every judge that has judged the run.
        tasks: the suite's own, without the planted ones.
    """
    judge = {k: v for k, v in plan.judges[0].config.items() if k not in ("budgets", "ks")}
    found = {**plan.identity, "judge": judge, "tasks": digest_of([t.model_dump(mode="json") for t in tasks])}
    agent = None
    if plan.answers:
        options = next((without_places(arm.agent_options) for arm in plan.contenders), {})
        says = plan.identity.get("agent") or {}
        agent = _of_matter({"name": plan.experiment.agent, "options": options, **says})
    return {key: found[key] for key in MUST_EQUAL} | {
        "headline": headline(plan),
        AGENT: agent,
        JUDGES: {judge.metric: _judge(judge) for judge in plan.model_judges},
    }


def _judge(judge: ModelJudge) -> dict[str, Any]:
    # The name of the metric is what judges are compared under, and no part of how they judge.
    found: dict[str, Any] = _of_matter({key: value for key, value in judge.config.items() if key != "metric"})
    return found


def _of_matter(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _of_matter(part) for key, part in value.items() if key not in _OF_NO_MATTER}
    return value


def refuse_unlike(new: tuple[str, Basis], old: tuple[str, Basis]) -> None:
    """Refuse two runs of other tasks, or of agents whose answers are not to be set side by side.

    Args:
        new: the new side's name and basis.
        old: the old side's.

    Raises:
        UsageError: the fields that differ, or that a side does not tell.
    """
    (name, now), (old_name, was) = new, old
    unequal = list(differences({k: was.get(k) for k in MUST_EQUAL}, {k: now.get(k) for k in MUST_EQUAL}))
    if unequal:
        raise UsageError(
            f"{name} and {old_name} did not do the same tasks. {_shown(unequal)}. Run the new one like the old one."
        )
    if now["stage"] != "answer":
        return
    for side, basis in new, old:
        if SPEAKS not in (basis.get(AGENT) or {}):
            raise _untold(side, f"{AGENT}.{SPEAKS} and {AGENT}.{PROFILE}")
    guarded = [SPEAKS, *([PROFILE] if PROFILE in now[AGENT] and PROFILE in was[AGENT] else [])]
    before, after = ({AGENT: {k: basis[AGENT][k] for k in guarded}} for basis in (was, now))
    unequal = list(differences(before, after))
    if unequal:
        profile = f" --set agent.profile={was[AGENT][PROFILE]}" if PROFILE in was[AGENT] else ""
        raise UsageError(
            f"{name} and {old_name} were not answered under the same conditions. {_shown(unequal)}. "
            f"Answer the new run like the old one: --agent {was[AGENT]['name']}{profile}, with its other settings too."
        )


def refuse_other_judges(new: tuple[str, Basis], old: tuple[str, Basis], metrics: Sequence[str]) -> None:
    """Refuse a metric that was given by two judges, or by one in two wordings.

    Args:
        new: the new side's name and basis.
        old: the old side's.
        metrics: those that are compared.

    Raises:
        UsageError: the fields that differ, or that a side does not tell.
    """
    (name, now), (old_name, was) = new, old
    judged = [m for m in metrics if m in now.get(JUDGES, {}) or m in was.get(JUDGES, {})]
    for side, basis in new, old:
        if judged and JUDGES not in basis:
            raise _untold(side, ", ".join(f"{JUDGES}.{metric}" for metric in judged))
    for metric in judged:
        unequal = [d for d in _between(was, now, JUDGES, metric) if not _is_client(d[0])]
        if unequal:
            entry = was[JUDGES].get(metric, now[JUDGES].get(metric))[ENTRY]
            raise UsageError(
                f"{metric} of {name} and {metric} of {old_name} are not by the same judge. {_shown(unequal)}. Let one "
                "judge both: memassay judge COPY "
                f"--judge {entry['use']}:{entry['model']}, COPY being a copy of the run without its folder judgements."
            )


def differing(new: Basis, old: Basis, metrics: Sequence[str]) -> list[str]:
    """What may differ, does, and has to be known: a line each on the agents and on the clients of the judges.

    Args:
        new: of the new side; what :func:`refuse_unlike` and :func:`refuse_other_judges` refuse is equal.
        old: of the old side.
        metrics: those that are compared.
    """
    agents = list(differences({AGENT: old.get(AGENT)}, {AGENT: new.get(AGENT)})) if new["stage"] == "answer" else []
    agents.sort(key=lambda d: (d[0] not in _FIRST, d[0].count(".")))
    judges = [d for metric in metrics for d in _between(old, new, JUDGES, metric)]
    found = (("agents", agents), ("judges' clients", judges))
    return [f"The {what} differ, so the difference is theirs too: {_shown(found)}." for what, found in found if found]


def _between(old: Basis, new: Basis, *path: str) -> Iterator[tuple[str, Any, Any]]:
    """The leaves in which a part of two bases differs; a part that both lack does not."""
    was, now = old, new
    for key in path:
        was, now = was.get(key, {}), now.get(key, {})
    return differences(was, now, ".".join(path))


def _is_client(field: str) -> bool:
    return field.rpartition(".")[2] == _CLIENT


def _untold(name: str, fields: str) -> UsageError:
    return UsageError(
        f"{name} does not say {fields}: an earlier memassay wrote it, and what it does not say may not be what "
        "the other side did. Write the baseline again with memassay baseline, from a run of this version."
    )


def _shown(found: Sequence[tuple[str, Any, Any]]) -> str:
    more = f" (and {len(found) - _SHOWN} more)" if len(found) > _SHOWN else ""
    return "; ".join(f"{field}: {_value(was)} then, {_value(now)} now" for field, was, now in found[:_SHOWN]) + more


def _value(value: Any) -> str:
    return _ABSENT if value == _ABSENT else f"{value!r:.{_WIDTH}}"
