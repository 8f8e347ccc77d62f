"""The strict metrics beside the published ones: what the published names promise, counted over every planned attempt.

An answer that was planned and not reached counts as wrong; what must not leak, or must be gone, counts where it was
looked at. What the memory has no means for has no number, with the reason. Harness failures are in no metric. Attempts
must have been graded (``regrading``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from memassay.core.types import Estimate
from memassay.stats import attempt_share, pass_hat
from memassay.suites.lifecycle import measures
from memassay.suites.lifecycle.cases import EVERYTHING, Case, cases_of
from memassay.suites.lifecycle.intervals import difference
from memassay.suites.lifecycle.protocol import Protocol
from memassay.suites.lifecycle.records import Attempt
from memassay.suites.lifecycle.stages import Capability, lacking

ROUTES = ("supersede", "update", "reject", "consolidate", "forget")


@dataclass(frozen=True, slots=True)
class Metric:
    """A strict metric.

    Attributes:
        title: what it counts, in words.
        value: of an attempt: in [0, 1], or None where it does not apply.
        needs: what the memory must be able to; without it there is no number.
        lower: whether less is better.
    """

    title: str
    value: measures.Value
    needs: frozenset[Capability] = frozenset()
    lower: bool = False


def strict_metrics(
    protocols: Iterable[Protocol],
    attempts: Iterable[Attempt],
    *,
    choices: Collection[str] = (),
    capabilities: Collection[str] = EVERYTHING,
) -> dict[str, Estimate]:
    """Every strict metric by name, as a rate over attempts with protocols as clusters.

    Args:
        protocols: the planned ones.
        attempts: graded; harness failures are left out.
        choices: the extra stages that were chosen.
        capabilities: what the memory is able to.

    Returns:
        Estimates; one that the memory cannot be measured on, or nobody reached, has no value and a reason.
    """
    cases = cases_of(protocols, attempts, choices=choices, capabilities=capabilities)
    channels = sorted({one.channel for case in cases for one in measures.deliveries(case)})
    found = {name: _estimate(metric, cases, capabilities) for name, metric in METRICS.items()}
    for stage in ("recall", "transfer"):
        for channel in channels:
            metric = Metric("", measures.through(stage, channel), _NEEDS.get(stage, frozenset()))
            found[f"{stage}_through:{channel}"] = _estimate(metric, cases, capabilities)
    found["transfer_minus_never_taught"] = _beyond_guessing(cases, capabilities)
    return found


def strict_by_template(
    protocols: Iterable[Protocol],
    attempts: Iterable[Attempt],
    *,
    choices: Collection[str] = (),
    capabilities: Collection[str] = EVERYTHING,
) -> dict[str, dict[str, Estimate]]:
    """The strict metrics of each template apart, by its name; see :func:`strict_metrics`."""
    made: defaultdict[str, list[Protocol]] = defaultdict(list)
    for protocol in protocols:
        made[protocol.template].append(protocol)
    tried = tuple(attempts)
    return {
        template: strict_metrics(
            own,
            [attempt for attempt in tried if attempt.protocol_id in {protocol.id for protocol in own}],
            choices=choices,
            capabilities=capabilities,
        )
        for template, own in sorted(made.items())
    }


def strict_pass(
    protocols: Iterable[Protocol], attempts: Iterable[Attempt], k: int, *, capabilities: Collection[str] = EVERYTHING
) -> dict[str, Estimate]:
    """pass^1 to pass^k: every published stage right by the strict rules, over protocols with k graded attempts.

    Args:
        protocols: the planned ones.
        attempts: graded; a protocol with a harness failure has fewer than k and is left out.
        k: attempts per protocol, at least 1.
        capabilities: what the memory is able to; stages beyond are not asked for, so such a pass is worth less.
    """
    passed: defaultdict[str, list[bool]] = defaultdict(list)
    for case in cases_of(protocols, attempts, capabilities=capabilities):
        passed[case.protocol.id].append(passes(case))
    return {f"pass^{j}": pass_hat(passed, k, j) for j in range(1, k + 1)}


def passes(case: Case) -> bool:
    """Whether every published stage came out right, by the strict rules, and no replaced record is live."""
    outcomes = [
        METRICS[name].value(case) for name in ("filed_acceptably", "recall", "transfer", "update", "abstention")
    ]
    promoted = case.attempt.promoted if case.protocol.transfer else None
    live = METRICS["live_duplicate"].value(case)
    return all(outcome is None or outcome == 1 for outcome in outcomes) and promoted is not False and not live


def _estimate(metric: Metric, cases: Sequence[Case], capabilities: Collection[str]) -> Estimate:
    reason = lacking(metric.needs, capabilities)
    if reason is not None:
        return Estimate(value=None, reason=reason)
    values = [(metric.value(case), case.protocol.cluster) for case in cases]
    counted = [(float(value), cluster) for value, cluster in values if value is not None]
    return attempt_share([value for value, _ in counted], [cluster for _, cluster in counted])


def _beyond_guessing(cases: Sequence[Case], capabilities: Collection[str]) -> Estimate:
    reason = lacking(METRICS["transfer"].needs, capabilities)
    if reason is not None:
        return Estimate(value=None, reason=reason)
    return difference(_rates("transfer", cases), _rates("never_taught", cases))


def _rates(name: str, cases: Sequence[Case]) -> dict[str, float]:
    """A metric's mean by protocol, where it applies."""
    values: defaultdict[str, list[float]] = defaultdict(list)
    for case in cases:
        value = METRICS[name].value(case)
        if value is not None:
            values[case.protocol.cluster].append(float(value))
    return {cluster: sum(found) / len(found) for cluster, found in values.items()}


_CAPTURE: frozenset[Capability] = frozenset(("capture",))
_SHARED: frozenset[Capability] = frozenset(("review", "changesets", "identities"))
_NEEDS: Mapping[str, frozenset[Capability]] = {"transfer": _SHARED}
_IDENTITIES: frozenset[Capability] = frozenset(("identities",))

METRICS: Mapping[str, Metric] = {
    "captured_anywhere": Metric("teaching left a record", lambda case: measures.filed(case, None), _CAPTURE),
    "filed_intended": Metric(
        "teaching left a record on the intended dataset",
        lambda case: measures.filed(case, (case.protocol.entity_urn,)),
        _CAPTURE,
    ),
    "filed_acceptably": Metric(
        "teaching left a record on an acceptable dataset",
        lambda case: measures.filed(case, case.protocol.entities),
        _CAPTURE,
    ),
    "recall": Metric("the teacher recalls, in a new session", measures.strict("recall")),
    "recall_surfaced": Metric(
        "the taught fact reached the teacher before the answer", measures.seen("recall", "taught")
    ),
    "recall_reciprocal_rank": Metric(
        "1 / the best rank of the taught fact, 0 where it did not reach", measures.reciprocal_rank
    ),
    "transfer": Metric("the learner answers after the promotion", measures.strict("transfer"), _SHARED),
    "transfer_surfaced": Metric(
        "the fact reached the learner before the answer", measures.seen("transfer", "taught"), _SHARED
    ),
    "transfer_sink": Metric(
        "the fact reached the learner through the chosen sink",
        lambda case: measures.through_sink(case, alone=False),
        _SHARED,
    ),
    "transfer_sink_only": Metric(
        "the fact reached the learner through the chosen sink and nothing else",
        lambda case: measures.through_sink(case, alone=True),
        _SHARED,
    ),
    "never_taught": Metric("somebody who was never taught answers", measures.strict("never_taught"), lower=True),
    "isolation_leak": Metric("another identity answers before the promotion", measures.leaked, _IDENTITIES, lower=True),
    "isolation_surfaced": Metric(
        "the fact reached another identity before the promotion",
        measures.seen("isolation", "taught"),
        _IDENTITIES,
        lower=True,
    ),
    "update": Metric("the teacher answers by the correction alone", measures.strict("update_recall")),
    "update_stale": Metric(
        "after the correction the answer is the one from before", measures.named("update_recall", "stale"), lower=True
    ),
    "update_hedged": Metric(
        "after the correction the answer names both", measures.named("update_recall", "hedged"), lower=True
    ),
    "update_missing": Metric(
        "after the correction the answer names neither", measures.named("update_recall", "missing"), lower=True
    ),
    "stale_surfaced": Metric(
        "the replaced fact reached the teacher after the correction",
        measures.seen("update_recall", "taught"),
        lower=True,
    ),
    "correction_kept": Metric("a live record states the correction", measures.correction_kept, _CAPTURE),
    "live_duplicate": Metric("the replaced record is still live", measures.live_duplicate, _CAPTURE, lower=True),
    **{
        f"retired:{route}": Metric(f"the replaced record went by {route}", measures.retired(route), _CAPTURE)
        for route in ROUTES
    },
    "wrong_supersede": Metric(
        "a record gave way to one about something else, or of another class",
        measures.wrong_supersede,
        _CAPTURE,
        lower=True,
    ),
    "abstention": Metric("nothing is claimed that nobody taught", measures.strict("abstain")),
    "over_abstention": Metric(
        "the answerable twin is refused, though its fact had reached the agent", measures.over_abstention, lower=True
    ),
    "twin": Metric("the answerable twin is answered", measures.strict("twin")),
    "rollback_gone": Metric("a rolled back fact is gone for the learner", measures.gone("rollback_transfer"), _SHARED),
    "interference_recall": Metric(
        "the teacher still answers when other facts have been taught", measures.strict("interference_recall")
    ),
    "forgotten": Metric("a forgotten fact is gone for the teacher", measures.forgotten),
    "correct_recall": Metric(
        "the teacher goes by the correction of promoted knowledge", measures.strict("correct_recall"), _SHARED
    ),
    "correct_transfer": Metric(
        "the learner goes by the correction of promoted knowledge", measures.strict("correct_transfer"), _SHARED
    ),
    "correct_transfer_stale": Metric(
        "the learner still goes by what was promoted", measures.named("correct_transfer", "stale"), _SHARED, lower=True
    ),
}
"""Every strict metric by name; those by channel and the difference to the never-taught are made from what is there."""
