"""The published metrics under their names, from attempts alone.

A rate counts attempts without a harness failure whose outcome is there; ``strict`` has ours, which count every planned
attempt. Intervals know that attempts at one protocol are alike (:func:`memassay.stats.attempt_share`); the published
ones, a bootstrap over attempts, do not, and have no width at 0 and 1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from memassay.core.types import Frozen
from memassay.stats import attempt_share, clopper_pearson
from memassay.suites.lifecycle.records import Attempt

Miss = Literal["attempted_failed", "budget_starved", "never_attempted", "budget_unobservable", "unattributed"]


class Rate(Frozen):
    """A published rate: ``num`` of ``den``; without a case the rate and its ends are None.

    The ends are None too where all cases are of one protocol.
    """

    num: int = 0
    den: int = 0
    rate: float | None = None
    low: float | None = None
    high: float | None = None
    method: str = "korn-graubard"


class Misses(Frozen):
    """Attempts without a capture, by cause."""

    total: int = 0
    attempted_failed: int = 0
    budget_starved: int = 0
    never_attempted: int = 0
    budget_unobservable: int = 0
    unattributed: int = 0


class CaptureSplit(Frozen):
    """What the capture rate is made of: trying, and succeeding where tried."""

    attempt_rate: Rate
    given_attempted: Rate
    misses: Misses


class PublishedMetrics(Frozen):
    """Every published metric, under its name.

    Attributes:
        attempts: graded ones: without a harness failure.
        pass_k: protocols whose k attempts all passed, of all protocols (exact interval).
    """

    protocols: int
    attempts: int
    harness_failures: int
    audit_read_failures: int
    total_input_tokens: int
    total_output_tokens: int
    total_cache_read_tokens: int
    total_cache_creation_tokens: int
    capture_rate: Rate
    capture_split: CaptureSplit
    personal_recall: Rate
    unprompted_surface: Rate
    transfer_rate: Rate
    update_correctness: Rate
    update_capture_rate: Rate
    duplicate_rate: Rate
    abstention_rate: Rate
    transfer_surfaced: Rate
    transfer_used_given_surfaced: Rate
    capture_budget_starved: Rate
    pass_k: Rate


def published_metrics(attempts: Iterable[Attempt], k: int) -> PublishedMetrics:
    """The published table of a run.

    Args:
        attempts: every attempt, harness failures too.
        k: attempts that were planned per protocol, at least 1.
    """
    every = tuple(attempts)
    graded = [attempt for attempt in every if not attempt.error]
    episodes = [episode for attempt in every for episode in attempt.episodes]

    def rate(outcome: Callable[[Attempt], bool | None]) -> Rate:
        return _rate(graded, outcome)

    missed = [attempt for attempt in graded if miss_cause(attempt) is not None]
    misses = [cause for attempt in missed if (cause := miss_cause(attempt))]
    tried = [attempt for attempt in graded if attempt.captured is not None]
    return PublishedMetrics(
        protocols=len({attempt.protocol_id for attempt in every}),
        attempts=len(graded),
        harness_failures=len(every) - len(graded),
        audit_read_failures=sum(bool(episode.audit_read_error) for episode in episodes),
        total_input_tokens=sum(episode.input_tokens for episode in episodes),
        total_output_tokens=sum(episode.output_tokens for episode in episodes),
        total_cache_read_tokens=sum(episode.cache_read_tokens for episode in episodes),
        total_cache_creation_tokens=sum(episode.cache_creation_tokens for episode in episodes),
        capture_rate=rate(lambda attempt: attempt.captured),
        capture_split=CaptureSplit(
            attempt_rate=_rate(tried, lambda attempt: attempt.capture_attempted),
            given_attempted=_rate(
                [attempt for attempt in tried if attempt.capture_attempted], lambda attempt: attempt.captured
            ),
            misses=Misses(total=len(misses), **{name: misses.count(name) for name in sorted(set(misses))}),
        ),
        personal_recall=rate(lambda attempt: attempt.recall_correct),
        unprompted_surface=rate(lambda attempt: attempt.recall_surfaced),
        transfer_rate=rate(lambda attempt: attempt.transfer_correct),
        update_correctness=rate(update_correctness),
        update_capture_rate=rate(lambda attempt: attempt.update_captured),
        duplicate_rate=rate(lambda attempt: attempt.duplicated),
        abstention_rate=rate(lambda attempt: attempt.abstain_correct),
        transfer_surfaced=rate(lambda attempt: attempt.transfer_surfaced),
        transfer_used_given_surfaced=_rate(
            [attempt for attempt in graded if attempt.transfer_surfaced], lambda attempt: attempt.transfer_correct
        ),
        capture_budget_starved=_rate(missed, lambda attempt: miss_cause(attempt) == "budget_starved"),
        pass_k=_pass_k(every, k),
    )


def update_correctness(attempt: Attempt) -> bool | None:
    """Whether the answer after a correction is right; by the published rule nobody is asked where it was not captured.

    We ask all the same (a correction in place is none by that rule), and the strict metric counts it.
    """
    return None if attempt.update_captured is False else attempt.update_correct


def miss_cause(attempt: Attempt) -> Miss | None:
    """Why an attempt captured nothing where it should have, or None where it did, or was not asked."""
    if attempt.captured is not False:
        return None
    if attempt.capture_attempted is None:
        return "unattributed"
    if attempt.capture_attempted:
        return "attempted_failed"
    if attempt.teach_budget_exhausted is None:
        return "budget_unobservable"
    return "budget_starved" if attempt.teach_budget_exhausted else "never_attempted"


def _rate(attempts: Iterable[Attempt], outcome: Callable[[Attempt], bool | None]) -> Rate:
    counted = [(value, attempt.protocol_id) for attempt in attempts if (value := outcome(attempt)) is not None]
    if not counted:
        return Rate()
    found = attempt_share([float(value) for value, _ in counted], [protocol for _, protocol in counted])
    num, den = sum(value for value, _ in counted), len(counted)
    return Rate(num=num, den=den, rate=num / den, low=found.low, high=found.high, method=found.method)


def _pass_k(attempts: Sequence[Attempt], k: int) -> Rate:
    by_protocol: defaultdict[str, list[bool]] = defaultdict(list)
    for attempt in attempts:
        by_protocol[attempt.protocol_id].append(attempt.passed)
    if not by_protocol:
        return Rate(method="clopper-pearson")
    num = sum(len(passed) == k and all(passed) for passed in by_protocol.values())
    den = len(by_protocol)
    low, high = clopper_pearson(num, den)
    return Rate(num=num, den=den, rate=num / den, low=low, high=high, method="clopper-pearson")
