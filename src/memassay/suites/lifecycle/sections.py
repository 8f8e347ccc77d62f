"""What the suite adds to a report, from the summary's own mapping alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memassay.core.report import Column, Section, Table
from memassay.core.types import Estimate
from memassay.suites.lifecycle.grading import PASS, PUBLISHED, STRICT, STRICT_PASS
from memassay.suites.lifecycle.metrics import Rate
from memassay.suites.lifecycle.results import PER_TEMPLATE
from memassay.suites.lifecycle.strict import METRICS

Value = Estimate | str | int | float | None

_RATES: Mapping[str, str] = {
    "capture_rate": "capture, on the intended dataset",
    "personal_recall": "personal recall",
    "unprompted_surface": "unprompted surface (the search tool was called)",
    "transfer_rate": "transfer",
    "transfer_surfaced": "transfer: the promoted words surfaced",
    "transfer_used_given_surfaced": "transfer: right, where they surfaced",
    "update_capture_rate": "update capture",
    "update_correctness": "update correctness",
    "duplicate_rate": "duplicate (less is better)",
    "abstention_rate": "abstention",
    "capture_budget_starved": "of capture misses, those out of tool calls",
    "pass_k": "pass^k",
}
_THROUGH = "_through:"
_EFFORT: Mapping[str, tuple[str, ...]] = {
    "Tool calls of a session": ("tool_calls",),
    "Tokens of a session, cached ones too": (
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_creation_tokens",
    ),
}
_COUNTS: Mapping[str, str] = {
    "n": "protocols",
    "attempts": "attempts",
    "memory_failures": "that the memory failed",
    "harness_failures": "that the harness or a provider failed, in no rate",
}


def sections(results: Mapping[str, Any]) -> list[Section]:
    """Every section; none for a mapping that is not of ``conclude``."""
    if not results.get("arms"):
        return []
    found = [
        _published(results),
        _strict(results),
        _channels(results),
        _templates(results),
        _passes(results),
        _effort(results),
    ]
    if results["ablation"]:
        found.append(_ablation(results))
    return [*found, _left_out(results)]


def _published(results: Mapping[str, Any]) -> Section:
    arms = results["order"]
    rows = [
        (title, *(_rate(results["arms"][arm]["published"][name]) for arm in arms)) for name, title in _RATES.items()
    ]
    counts = [(title, *(results["arms"][arm][name] for arm in arms)) for name, title in _COUNTS.items()]
    return Section(
        title="Published metrics",
        text=f"{results['protocols']} protocols, k = {results['k']}. By the published definitions: what was not "
        "reached is left out of a rate, a capture on another dataset is a miss, and any status but superseded is a "
        "duplicate. Intervals are Korn and Graubard's, over protocols, and exact for pass^k.",
        tables=(
            Table(title="Rates", columns=_columns(arms, "estimate"), rows=tuple(rows)),
            Table(title="Attempts", columns=_columns(arms, "integer"), rows=tuple(counts)),
        ),
    )


def _strict(results: Mapping[str, Any]) -> Section:
    arms = results["order"]
    rows: list[tuple[Value, ...]] = []
    for name, metric in METRICS.items():
        rows.append((_titled(metric.title, metric.lower), *_estimates(results, "strict", name)))
    title = "transfer less what the never-taught answer"
    rows.append((title, *_estimates(results, "strict", "transfer_minus_never_taught")))
    return Section(
        title="Strict metrics",
        text="What was planned and not reached counts as wrong. Intervals are Korn and Graubard's, over protocols.",
        tables=(Table(title="Rates", columns=_columns(arms, "estimate"), rows=tuple(rows)),),
    )


def _channels(results: Mapping[str, Any]) -> Section:
    arms = results["order"]
    names = sorted({name for arm in arms for name in results["arms"][arm]["strict"] if _THROUGH in name})
    rows = [
        (*name.split(_THROUGH), *(_estimate(results["arms"][arm]["strict"].get(name)) for arm in arms))
        for name in names
    ]
    return Section(
        title="How the fact arrived",
        text="Share of attempts in which the taught fact reached the agent through a channel before its answer; one "
        "attempt can count in several.",
        tables=(
            Table(
                title="Channels",
                columns=(Column(title="stage"), *_columns(arms, "estimate", first="channel")),
                rows=tuple(rows),
            ),
        ),
    )


def _templates(results: Mapping[str, Any]) -> Section:
    columns = (Column(title="template"), *(Column(title=_plain(name), kind="estimate") for name in PER_TEMPLATE))
    tables = []
    for arm in results["order"]:
        rows = [
            (template or "(none)", *(_estimate(found[name]) for name in PER_TEMPLATE))
            for template, found in results["arms"][arm]["templates"].items()
        ]
        tables.append(Table(title=arm, columns=columns, rows=tuple(rows)))
    return Section(
        title="By template", text="Strict metrics of the protocols of each template, by arm.", tables=tuple(tables)
    )


def _effort(results: Mapping[str, Any]) -> Section:
    """What a session of each stage took; stages in the order of the first arm that has them."""
    arms = results["order"]
    stages = dict.fromkeys(stage for arm in arms for stage in results["arms"][arm]["stages"])
    tables = []
    for title, names in _EFFORT.items():
        rows: list[tuple[Value, ...]] = []
        for stage in stages:
            held = [results["arms"][arm]["stages"].get(stage) for arm in arms]
            rows.append((stage, *(None if one is None else f"{sum(one[name] for name in names):,.1f}" for one in held)))
        tables.append(Table(title=title, columns=_columns(arms, "text", first="stage"), rows=tuple(rows)))
    return Section(
        title="Calls and tokens by stage",
        text="Means over the sessions of a stage. Tokens are the model's own counts, and 0 where no model was asked; "
        "summary.json has input, output and both sides of the cache apart.",
        tables=tuple(tables),
    )


def _passes(results: Mapping[str, Any]) -> Section:
    arms = results["order"]
    names = [f"pass^{j}" for j in range(1, results["k"] + 1)]
    rows = [(name, *_estimates(results, "pass", name)) for name in names]
    return Section(
        title="pass^k",
        text="The probability that so many attempts at a protocol all pass by the strict rules. Never compare "
        "different k.",
        tables=(Table(title="Strict pass^k", columns=_columns(arms, "estimate"), rows=tuple(rows)),),
    )


def _ablation(results: Mapping[str, Any]) -> Section:
    rows = [
        (row["arm"], title_of(row["metric"]), row["value"], row["baseline"], _estimate(row["diff"]), _p(row["p"]))
        for row in results["ablation"]
        if row["value"] != row["baseline"] or row["metric"] in (PASS, STRICT_PASS)
    ]
    return Section(
        title=f"What changes against {results['baseline']}",
        text="Paired differences of the rates of protocols, with t over protocols and a sign-flip test, unadjusted: "
        "exploratory. A metric that is the same in both arms is left out, but for passing.",
        tables=(
            Table(
                title="Differences",
                columns=(
                    Column(title="arm"),
                    Column(title="metric"),
                    Column(title="arm's rate", kind="share"),
                    Column(title=f"{results['baseline']}", kind="share"),
                    Column(title="difference", kind="estimate"),
                    Column(title="p", hint="sign flip over protocols, unadjusted"),
                ),
                rows=tuple(rows),
            ),
        ),
    )


def _left_out(results: Mapping[str, Any]) -> Section:
    """Stages that were not played, and records that gave way to something else than their correction."""
    missing = [
        (arm, stage, why) for arm in results["order"] for stage, why in results["arms"][arm]["unavailable"].items()
    ]
    wrong = [
        (arm, one["protocol"], one["stage"], "" if one["score"] is None else f"{one['score']:.3f}")
        for arm in results["order"]
        for one in results["arms"][arm]["supersedes"]
        if one["same_fact"] is False or one["same_class"] is False
    ]
    chosen = ", ".join(results["choices"]) or "none"
    return Section(
        title="Stages and supersedes",
        text=f"Extra stages: {chosen}.",
        tables=(
            Table(title="Left out", columns=_texts("arm", "stage", "why"), rows=tuple(missing)),
            Table(
                title="Wrong supersedes",
                columns=_texts("arm", "protocol", "stage", "score"),
                rows=tuple(wrong),
                note="A record about something else, or of another class, took the place of one.",
            ),
        ),
    )


def title_of(metric: str) -> str:
    """A metric in words."""
    if metric == STRICT_PASS:
        return "pass (strict)"
    if metric.startswith(STRICT):
        one = METRICS[metric.removeprefix(STRICT)]
        return f"{_titled(one.title, one.lower)} (strict)"
    return f"{metric}: {PUBLISHED[metric][0]}"


def _titled(title: str, lower: bool) -> str:
    return f"{title} (less is better)" if lower else title


def _estimates(results: Mapping[str, Any], table: str, name: str) -> list[Value]:
    return [_estimate(results["arms"][arm][table].get(name)) for arm in results["order"]]


def _estimate(value: Any) -> Estimate:
    return Estimate(value=None, reason="nothing to count") if value is None else Estimate.model_validate(value)


def _rate(value: Any) -> Estimate:
    rate = Rate.model_validate(value)
    if rate.rate is None:
        return Estimate(value=None, reason="no attempt reached what this counts")
    return Estimate(value=rate.rate, low=rate.low, high=rate.high, n=rate.den, method=rate.method)


def _columns(arms: Sequence[str], kind: Any, first: str = "metric") -> tuple[Column, ...]:
    return (Column(title=first), *(Column(title=arm, kind=kind) for arm in arms))


def _texts(*titles: str) -> tuple[Column, ...]:
    return tuple(Column(title=title) for title in titles)


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _p(value: float | None) -> str | None:
    return None if value is None else f"{value:.2g}"
