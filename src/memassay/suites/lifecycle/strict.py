"""The strict metrics beside the published ones: what the published names promise, counted over every planned attempt.

An answer that was planned and not reached counts as wrong; what must not leak, or must be gone, counts where it was
looked at. What the memory has no means for has no number, with the reason. Harness failures are in no metric. Attempts
must have been graded (``regrading``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from memassay.core.errors import DataError
from memassay.core.types import Estimate
from memassay.suites.lifecycle.answers import grade_abstention
from memassay.suites.lifecycle.intervals import difference, pass_hat, share
from memassay.suites.lifecycle.protocol import ENTITY_SINK, Protocol
from memassay.suites.lifecycle.records import DESCRIPTION, PAGE, Attempt, Delivery, Fact
from memassay.suites.lifecycle.stages import WITHOUT, Capability, lacking, plan

ROUTES = ("supersede", "update", "reject", "consolidate", "forget")
EVERYTHING: frozenset[str] = frozenset(WITHOUT)

Value = Callable[["Case"], "bool | float | None"]


@dataclass(frozen=True, slots=True)
class Case:
    """An attempt with its protocol and the stages that were chosen."""

    protocol: Protocol
    attempt: Attempt
    stages: frozenset[str]

    def strict(self, stage: str) -> bool | None:
        """Whether a stage came out right; None where it was not planned, False where it was not reached."""
        if stage not in self.stages:
            return None
        episode = self.attempt.episode(stage)
        return bool(episode and episode.strict)

    def verdict(self, stage: str) -> str | None:
        """What an answer named; ``missing`` where none was given, None where the stage was not planned."""
        if stage not in self.stages:
            return None
        episode = self.attempt.episode(stage)
        return (episode.verdict if episode else None) or "missing"

    def delivered(self, stage: str, *facts: Fact) -> tuple[Delivery, ...] | None:
        """What reached the agent before its answer and states one of the facts; None where nobody looked."""
        episode = self.attempt.episode(stage) if stage in self.stages else None
        if episode is None:
            return () if stage in self.stages else None
        if episode.deliveries is None:
            return None
        return tuple(one for one in episode.deliveries if one.before_answer and one.fact in facts)


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
    value: Value
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
    channels = sorted({one.channel for case in cases for one in _deliveries(case)})
    found = {name: _estimate(metric, cases, capabilities) for name, metric in METRICS.items()}
    for stage in ("recall", "transfer"):
        for channel in channels:
            metric = Metric("", _through(stage, channel), _NEEDS.get(stage, frozenset()))
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


def cases_of(
    protocols: Iterable[Protocol],
    attempts: Iterable[Attempt],
    *,
    choices: Collection[str] = (),
    capabilities: Collection[str] = EVERYTHING,
) -> list[Case]:
    """Attempts without a harness failure, each with its protocol and the stages that the memory can be taken through.

    Raises:
        DataError: an attempt at a protocol that is not there.
    """
    known = {protocol.id: protocol for protocol in protocols}
    stages = {
        name: frozenset(stage.name for stage in plan(one, choices) if stage.unavailable(capabilities) is None)
        for name, one in known.items()
    }
    cases = []
    for attempt in attempts:
        if attempt.protocol_id not in known:
            raise DataError(f"An attempt is at the protocol {attempt.protocol_id!r}, which is not in the set.")
        if not attempt.error:
            cases.append(Case(known[attempt.protocol_id], attempt, stages[attempt.protocol_id]))
    return cases


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
    return share([value for value, _ in counted], [cluster for _, cluster in counted])


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


# -- what an attempt is worth ----------------------------------------------------------------------------------------


def _deliveries(case: Case) -> Iterable[Delivery]:
    return (one for stage in ("recall", "transfer") for one in case.delivered(stage, "taught") or ())


def _filed(case: Case, entities: Collection[str] | None) -> bool | None:
    """Whether teaching left a new record on one of the entities; anywhere where they are None."""
    teach = case.attempt.episode("teach")
    if teach is None or teach.after is None:
        # The published outcome is about the intended dataset alone; a miss there may be a record elsewhere.
        intended = entities is not None and set(entities) == {case.protocol.entity_urn}
        return case.attempt.captured if case.attempt.captured or intended else None
    old = {record.id for record in teach.before or ()}
    new = [record for record in teach.after if record.id not in old]
    return any(entities is None or not set(entities).isdisjoint(record.entities) for record in new)


def _seen(stage: str, *facts: Fact) -> Value:
    def value(case: Case) -> bool | None:
        found = case.delivered(stage, *facts)
        return None if found is None else bool(found)

    return value


def _through(stage: str, channel: str) -> Value:
    def value(case: Case) -> bool | None:
        found = case.delivered(stage, "taught")
        return None if found is None else any(one.channel == channel for one in found)

    return value


def _reciprocal_rank(case: Case) -> float | None:
    found = case.delivered("recall", "taught")
    if found is None:
        return None
    return max((1 / one.rank for one in found if one.rank), default=0.0)


def _through_sink(case: Case, *, alone: bool) -> bool | None:
    found = case.delivered("transfer", "taught")
    if found is None:
        return None
    channels = {one.channel for one in found}
    sink = DESCRIPTION if case.protocol.sink == ENTITY_SINK else PAGE
    return channels == {sink} if alone else sink in channels


def _live_duplicate(case: Case) -> bool | None:
    """Whether the taught record can still be retrieved after a correction that the memory took in."""
    update = case.attempt.episode("update")
    if update is None or update.after is None or not _took_in(case.attempt):
        return None
    return any(record.live and record.fact == "taught" for record in update.after)


def _retired(route: str) -> Value:
    def value(case: Case) -> bool | None:
        return None if not _took_in(case.attempt) else case.attempt.retired_by == route

    return value


def _took_in(attempt: Attempt) -> bool:
    """Whether a correction was captured, or changed what was there."""
    return bool(attempt.update_captured or attempt.update_changed)


def _wrong_supersede(case: Case) -> bool | None:
    """Whether a record was superseded by one about something else, or of another class."""
    lists = [episode.supersedes for episode in case.attempt.episodes if episode.supersedes is not None]
    if not lists:
        return None
    return any(one.same_fact is False or one.same_class is False for found in lists for one in found)


def _named(stage: str, *verdicts: str) -> Value:
    def value(case: Case) -> bool | None:
        verdict = case.verdict(stage)
        return None if verdict is None else verdict in verdicts

    return value


def _gone(stage: str) -> Value:
    """Whether a fact that must not be known is neither answered with nor delivered."""

    def value(case: Case) -> bool | None:
        if case.attempt.episode(stage) is None:
            return None
        return bool(case.strict(stage)) and not case.delivered(stage, "taught", "corrected")

    return value


def _forgotten(case: Case) -> bool | float | None:
    """Whether a fact is gone that its teacher had forgotten; None where no record of it was left to forget."""
    forget = case.attempt.episode("forget")
    left = None if forget is None else forget.before
    if left is not None and not any(record.live and record.fact in ("taught", "corrected") for record in left):
        return None
    return _gone("forget_recall")(case)


def _leaked(case: Case) -> bool | None:
    episode = case.attempt.episode("isolation")
    return None if episode is None or episode.strict is None else not episode.strict


def _over_abstention(case: Case) -> bool | None:
    episode = case.attempt.episode("twin")
    return None if episode is None or episode.error else grade_abstention(episode.final_answer).correct


def _strict(stage: str) -> Value:
    return lambda case: case.strict(stage)


_CAPTURE: frozenset[Capability] = frozenset(("capture",))
_SHARED: frozenset[Capability] = frozenset(("review", "changesets", "identities"))
_NEEDS: Mapping[str, frozenset[Capability]] = {"transfer": _SHARED}
_IDENTITIES: frozenset[Capability] = frozenset(("identities",))

METRICS: Mapping[str, Metric] = {
    "captured_anywhere": Metric("teaching left a record", lambda case: _filed(case, None), _CAPTURE),
    "filed_intended": Metric(
        "teaching left a record on the intended dataset",
        lambda case: _filed(case, (case.protocol.entity_urn,)),
        _CAPTURE,
    ),
    "filed_acceptably": Metric(
        "teaching left a record on an acceptable dataset", lambda case: _filed(case, case.protocol.entities), _CAPTURE
    ),
    "recall": Metric("the teacher recalls, in a new session", _strict("recall")),
    "recall_surfaced": Metric("the taught fact reached the teacher before the answer", _seen("recall", "taught")),
    "recall_reciprocal_rank": Metric(
        "1 / the best rank of the taught fact, 0 where it did not reach", _reciprocal_rank
    ),
    "transfer": Metric("the learner answers after the promotion", _strict("transfer"), _SHARED),
    "transfer_surfaced": Metric("the fact reached the learner before the answer", _seen("transfer", "taught"), _SHARED),
    "transfer_sink": Metric(
        "the fact reached the learner through the chosen sink", lambda case: _through_sink(case, alone=False), _SHARED
    ),
    "transfer_sink_only": Metric(
        "the fact reached the learner through the chosen sink and nothing else",
        lambda case: _through_sink(case, alone=True),
        _SHARED,
    ),
    "never_taught": Metric("somebody who was never taught answers", _strict("never_taught"), lower=True),
    "isolation_leak": Metric("another identity answers before the promotion", _leaked, _IDENTITIES, lower=True),
    "isolation_surfaced": Metric(
        "the fact reached another identity before the promotion", _seen("isolation", "taught"), _IDENTITIES, lower=True
    ),
    "update": Metric("the teacher answers by the correction alone", _strict("update_recall")),
    "update_stale": Metric(
        "after the correction the answer is the one from before", _named("update_recall", "stale"), lower=True
    ),
    "update_hedged": Metric(
        "after the correction the answer names both", _named("update_recall", "hedged"), lower=True
    ),
    "update_missing": Metric(
        "after the correction the answer names neither", _named("update_recall", "missing"), lower=True
    ),
    "stale_surfaced": Metric(
        "the replaced fact reached the teacher after the correction", _seen("update_recall", "taught"), lower=True
    ),
    "live_duplicate": Metric("the replaced record is still live", _live_duplicate, _CAPTURE, lower=True),
    **{
        f"retired:{route}": Metric(f"the replaced record went by {route}", _retired(route), _CAPTURE)
        for route in ROUTES
    },
    "wrong_supersede": Metric(
        "a record gave way to one about something else, or of another class", _wrong_supersede, _CAPTURE, lower=True
    ),
    "abstention": Metric("nothing is claimed that nobody taught", _strict("abstain")),
    "over_abstention": Metric("the answerable twin is refused", _over_abstention, lower=True),
    "twin": Metric("the answerable twin is answered", _strict("twin")),
    "rollback_gone": Metric("a rolled back fact is gone for the learner", _gone("rollback_transfer"), _SHARED),
    "interference_recall": Metric(
        "the teacher still answers when other facts have been taught", _strict("interference_recall")
    ),
    "forgotten": Metric("a forgotten fact is gone for the teacher", _forgotten),
    "correct_recall": Metric(
        "the teacher goes by the correction of promoted knowledge", _strict("correct_recall"), _SHARED
    ),
    "correct_transfer": Metric(
        "the learner goes by the correction of promoted knowledge", _strict("correct_transfer"), _SHARED
    ),
    "correct_transfer_stale": Metric(
        "the learner still goes by what was promoted", _named("correct_transfer", "stale"), _SHARED, lower=True
    ),
}
"""Every strict metric by name; those by channel and the difference to the never-taught are made from what is there."""
