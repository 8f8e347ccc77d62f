"""The published anchors: records that fit them under every reading, and how far those differ."""

from __future__ import annotations

import pytest

from memassay.suites.canary.collapse import TIE_REASONS, collapse
from memassay.suites.canary.replay import (
    COUNTINGS,
    JUDGES,
    PAIRS,
    Counting,
    Reading,
    Records,
    anchors,
    fabrication_count,
    replay,
    universal,
)
from memassay.suites.canary.scoring import CONVENTIONS


@pytest.fixture(scope="module")
def readings() -> dict[tuple[str, Counting], Reading]:
    return {(reading.ties, reading.counting): reading for reading in replay()}


def key(records: Records) -> str:
    return repr((sorted((str(pair), votes) for pair, votes in records.votes.items()), records.fabricated))


@pytest.mark.parametrize("ties", CONVENTIONS)
@pytest.mark.parametrize("counting", COUNTINGS)
def test_at_least_three_sets_of_records_fit_all_anchors(
    readings: dict[tuple[str, Counting], Reading], ties: str, counting: Counting
) -> None:
    reading = readings[ties, counting]
    assert len({key(records) for records in reading.examples}) >= 3
    for records in reading.examples:
        found = anchors(records, ties, counting)
        assert [one.anchor for one in found] == ["A1", "A2", "A3", "A4", "A5"]
        assert all(one.fits for one in found), found


def test_three_sets_fit_under_every_reading_at_once() -> None:
    sets = universal()
    assert len({key(records) for records in sets}) == 3
    for records in sets:
        for ties in CONVENTIONS:
            for counting in COUNTINGS:
                assert all(one.fits for one in anchors(records, ties, counting))


def test_how_far_the_gap_and_the_fabrications_can_differ(readings: dict[tuple[str, Counting], Reading]) -> None:
    strict, half, decisive = (readings[ties, "questions"] for ties in CONVENTIONS)
    assert strict.tied[1] <= 2  # 68 and 32 leave no room for ties that count
    assert strict.gap == pytest.approx((0.36, 0.36), abs=0.011)
    assert half.tied[1] >= 40
    assert half.gap == pytest.approx((0.36, 0.36), abs=0.011)
    assert decisive.gap[0] < 0.12 and decisive.gap[1] > 0.40
    assert [readings["strict", counting].fabricated for counting in COUNTINGS] == [(4, 4), (2, 4), (1, 4)]
    assert all(reading.found > 500 for reading in readings.values())
    assert strict.clear < 0.9  # A3 holds by the normal distribution, not always by the Dirichlet


def test_each_way_of_counting(readings: dict[tuple[str, Counting], Reading]) -> None:
    once = readings["strict", "records"].examples[4]  # both judges, both orders, one question
    assert [fabrication_count(once, counting) for counting in COUNTINGS] == [1, 2, 4]
    assert not anchors(once, "strict", "questions")[3].fits


def test_records_are_complete_and_keep_every_reason_of_a_tie(readings: dict[tuple[str, Counting], Reading]) -> None:
    most_ties = readings["half credit", "questions"].examples[2]
    assert {len(votes) for votes in most_ties.votes.values()} == {64 * 2 * len(JUDGES)}
    finals = collapse(most_ties.votes[PAIRS[0]], JUDGES)
    reasons = {final.outcome.reason for final in finals.values() if final.outcome.winner == "tie"}
    assert reasons == set(TIE_REASONS)


def test_records_that_do_not_fit_are_told_apart(readings: dict[tuple[str, Counting], Reading]) -> None:
    decisive = readings["decisive", "questions"].examples[0]
    assert not anchors(decisive, "strict", "questions")[0].fits
    elsewhere = Records(decisive.votes, tuple((f"multi_hop-00{n}", JUDGES[0], "a_first") for n in range(1, 5)))
    assert not anchors(elsewhere, "decisive", "questions")[3].fits
    swapped = dict(decisive.votes)
    swapped[PAIRS[1]] = decisive.votes[PAIRS[0]][::-1]
    assert anchors(Records(swapped, decisive.fabricated), "decisive", "questions")[4].fits


def test_the_same_seed_gives_the_same_records() -> None:
    assert key(universal()[0]) == key(universal()[0])
    assert key(universal(seed=1)[0]) != key(universal()[0])
