"""What a run of the suite comes to, as one mapping for the summary.

By arm there are the published table, the strict one, the templates and pass^k, and what it changes against the first.
Every number that was not measured is null, with the reason. An attempt that the harness or a provider failed is in no
rate and is counted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pydantic import JsonValue
from pydantic_core import to_jsonable_python

from memassay.core.contracts import Outcome
from memassay.core.types import Estimate
from memassay.suites.lifecycle.cases import EVERYTHING
from memassay.suites.lifecycle.frozen import thaw_all
from memassay.suites.lifecycle.grading import ATTEMPT, CAPABILITIES, PUBLISHED, STRICT, STRICT_PASS
from memassay.suites.lifecycle.intervals import paired
from memassay.suites.lifecycle.metrics import Rate, miss_cause, published_metrics
from memassay.suites.lifecycle.protocol import Protocol
from memassay.suites.lifecycle.records import Attempt, Episode
from memassay.suites.lifecycle.stages import PUBLISHED as STAGES
from memassay.suites.lifecycle.strict import METRICS, strict_by_template, strict_metrics, strict_pass

PER_TEMPLATE = ("filed_acceptably", "recall", "transfer", "update", "abstention", "never_taught", "live_duplicate")
EFFORT = (
    "tool_calls",
    "tool_errors",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_creation_tokens",
    "wall_ms",
)
"""What a session takes, by the published names."""
COMPARED = (*PUBLISHED, STRICT_PASS, *(f"{STRICT}{name}" for name in METRICS))


def conclude(
    outcomes: Sequence[Outcome], choices: Collection[str], planned: Collection[str] = ()
) -> dict[str, JsonValue]:
    """Everything that the sections of a report are made of.

    Args:
        outcomes: every cell of every arm, judged.
        choices: the extra stages that were chosen.
        planned: names of all arms of the run in order; the first that was measured is what others are compared with.

    Returns:
        A mapping of JSON values, the same whatever the order of the outcomes.
    """
    rows: defaultdict[str, list[Outcome]] = defaultdict(list)
    for outcome in sorted(outcomes, key=lambda one: (one.task.id, one.build, one.number)):
        rows[outcome.arm].append(outcome)
    arms = [arm for arm in planned if arm in rows] + sorted(rows.keys() - set(planned))
    played = thaw_all(outcome.task for outcome in outcomes)
    k = 1 + max((outcome.number for outcome in outcomes), default=0)
    tables = {arm: _arm(rows[arm], played, choices, k) for arm in arms}
    found: dict[str, Any] = {
        "k": k,
        "protocols": len(played),
        "choices": list(choices),
        "order": arms,
        "arms": tables,
        "baseline": arms[0] if arms else None,
        "ablation": [row for arm in arms[1:] for row in _compared(rows[arm], rows[arms[0]], arm, arms[0])],
        "said": [_said(arm, tables[arm]) for arm in arms],
    }
    plain: dict[str, JsonValue] = to_jsonable_python(found)
    return plain


def _arm(rows: Sequence[Outcome], protocols: Sequence[Protocol], choices: Collection[str], k: int) -> dict[str, Any]:
    attempts = [_attempt(row) for row in rows]
    able = next((row.labels[CAPABILITIES] for row in rows if row.labels.get(CAPABILITIES) is not None), None)
    capabilities: Collection[str] = EVERYTHING if not isinstance(able, list) else [str(one) for one in able]
    published = published_metrics(attempts, k)
    strict = strict_metrics(protocols, attempts, choices=choices, capabilities=capabilities)
    templates = strict_by_template(protocols, attempts, choices=choices, capabilities=capabilities)
    return {
        "n": len({row.task.id for row in rows}),
        "attempts": len(attempts),
        "harness_failures": published.harness_failures,
        "memory_failures": sum(row.status.kind == "memory" for row in rows),
        "capabilities": list(capabilities) if isinstance(able, list) else None,
        "unavailable": _unavailable(attempts),
        "published": published.model_dump(mode="json"),
        "misses": dict(sorted(Counter(cause for one in attempts if (cause := miss_cause(one))).items())),
        "strict": strict,
        "pass": strict_pass(protocols, attempts, k, capabilities=capabilities),
        "templates": {
            template: {"n": next((one.n for one in measured.values() if one.n), 0)}
            | {name: measured[name] for name in PER_TEMPLATE}
            for template, measured in templates.items()
        },
        "stages": _effort(attempts),
        "supersedes": _supersedes(attempts),
    }


def _attempt(row: Outcome) -> Attempt:
    """The attempt in a verdict's labels; a cell without a verdict is one that the harness or a provider failed."""
    held = row.labels.get(ATTEMPT)
    if held is not None:
        return Attempt.model_validate(held)
    return Attempt(protocol_id=row.task.id, attempt=row.number + 1, error=row.detail or str(row.status))


def _unavailable(attempts: Sequence[Attempt]) -> dict[str, str]:
    return dict(sorted({stage: why for one in attempts for stage, why in one.unavailable.items()}.items()))


def _effort(attempts: Sequence[Attempt]) -> dict[str, dict[str, float]]:
    """What a session of each stage took on average, in the order in which stages are played."""
    sessions: defaultdict[str, list[Episode]] = defaultdict(list)
    for attempt in attempts:
        for episode in attempt.episodes:
            sessions[episode.stage].append(episode)
    order = [*STAGES, *sorted(sessions.keys() - set(STAGES))]
    return {
        stage: {"sessions": len(held)}
        | {name: round(sum(getattr(one, name) for one in held) / len(held), 1) for name in EFFORT}
        for stage in order
        if (held := sessions.get(stage))
    }


def _supersedes(attempts: Sequence[Attempt]) -> list[dict[str, Any]]:
    """Every record that gave way, with what decided it."""
    return [
        {"protocol": one.protocol_id, "attempt": one.attempt, "stage": episode.stage}
        | supersede.model_dump(mode="json", include={"score", "same_fact", "same_class"})
        for one in attempts
        for episode in one.episodes
        for supersede in episode.supersedes or ()
    ]


def _compared(rows: Sequence[Outcome], against: Sequence[Outcome], arm: str, baseline: str) -> list[dict[str, Any]]:
    """Every metric that both arms have: the paired difference over protocols, exploratory."""
    found = []
    for metric in COMPARED:
        ours, theirs = _rates(rows, metric), _rates(against, metric)
        test = paired(ours, theirs)
        if test is None:
            continue
        means = [sum(rates.values()) / len(rates) for rates in (ours, theirs)]
        found.append(
            {
                "arm": arm,
                "against": baseline,
                "metric": metric,
                "value": means[0],
                "baseline": means[1],
                "diff": test.diff,
                "p": test.p,
            }
        )
    return found


def _rates(rows: Sequence[Outcome], metric: str) -> dict[str, float]:
    """The mean of a metric over the attempts at each protocol, where it applies."""
    values: defaultdict[str, list[float]] = defaultdict(list)
    for row in rows:
        score = row.scores.get(metric)
        if score is not None:
            values[row.task.cluster].append(score)
    return {cluster: sum(scores) / len(scores) for cluster, scores in sorted(values.items())}


def _said(arm: str, table: Mapping[str, Any]) -> str:
    """One arm in one sentence, for the terminal."""
    published, strict = table["published"], table["strict"]
    parts = [
        _counted("passed", Rate.model_validate(published["pass_k"])),
        _counted("recalled", Rate.model_validate(published["personal_recall"])),
        _counted("passed on", Rate.model_validate(published["transfer_rate"])),
        _counted("corrected", Rate.model_validate(published["update_correctness"])),
        _counted("abstained", Rate.model_validate(published["abstention_rate"])),
    ]
    guessed: Estimate = strict["never_taught"]
    if guessed.value is not None:
        parts.append(f"never taught {guessed.value:.0%}")
    return f"{arm}: {', '.join(part for part in parts if part)}."


def _counted(name: str, rate: Rate) -> str:
    return f"{name} {rate.num} of {rate.den}" if rate.den else ""
