"""What each kind of misbehaviour moves: perfect attempts at our own protocols, with one thing changed at a time."""

from __future__ import annotations

from typing import Any

import pytest
from lifecycle_attempts import ALL, attempt
from lifecycle_protocols import TRANSFER, protocol

from memassay.core.errors import DataError
from memassay.core.types import Estimate
from memassay.suites.lifecycle.metrics import published_metrics
from memassay.suites.lifecycle.protocol import Protocol
from memassay.suites.lifecycle.records import Delivery, Episode, RecordState, Supersede
from memassay.suites.lifecycle.regrading import regrade
from memassay.suites.lifecycle.stages import WITHOUT
from memassay.suites.lifecycle.strict import METRICS, strict_by_template, strict_metrics, strict_pass

NO = "FINAL ANSWER: INSUFFICIENT INFORMATION"


def scored(protocols: tuple[Protocol, ...], choices: tuple[str, ...] = ALL, **changes: Any) -> dict[str, Estimate]:
    """The strict metrics of one attempt each, all with the same change; answers may name ``right`` and ``stale``."""
    attempts = []
    for one in protocols:
        own = dict(changes)
        if "answers" in own:
            own["answers"] = {
                stage: text.replace("{stale}", one.extras.stale[0] if one.extras else "")
                .replace("{right}", right(one, stage))
                for stage, text in own["answers"].items()
            }  # fmt: skip
        attempts.append(regrade(one, attempt(one, choices=choices, **own)))
    return strict_metrics(protocols, attempts, choices=choices)


def right(one: Protocol, stage: str) -> str:
    correction = one.update or (one.extras.correction if one.extras else None)
    key = correction.recall.grading if correction and stage != "transfer" else one.recall.grading
    return key.aliases[0] if key.aliases else str(key.value)


def moved(protocols: tuple[Protocol, ...], **changes: Any) -> dict[str, float | None]:
    """The metrics that a change moves, with what they are then."""
    base, found = scored(protocols, ALL, answers={"never_taught": NO}), scored(protocols, ALL, **changes)
    assert base.keys() <= found.keys()
    return {name: value.value for name, value in found.items() if name in base and base[name].value != value.value}


def never(**changes: Any) -> dict[str, Any]:
    """Changes of answers on top of a stranger who does not guess."""
    return {"answers": {"never_taught": NO, **changes}}


@pytest.fixture(scope="module")
def some(generated: tuple[Protocol, ...]) -> tuple[Protocol, ...]:
    return generated[:8]  # four of each kind


def test_a_perfect_run(some: tuple[Protocol, ...]) -> None:
    found = scored(some, ALL, answers={"never_taught": NO})
    zero = {
        "never_taught", "isolation_leak", "isolation_surfaced", "update_stale", "update_hedged", "update_missing",
        "stale_surfaced", "live_duplicate", "wrong_supersede", "over_abstention", "correct_transfer_stale",
        "transfer_sink", "transfer_sink_only", "retired:update", "retired:reject", "retired:consolidate",
        "retired:forget",
    }  # fmt: skip
    for name, estimate in found.items():
        assert estimate.value == (0.0 if name in zero else 1.0), name
        assert estimate.low is not None and estimate.high is not None, name
        assert estimate.clusters == (8 if estimate.n == 8 else 4), name
    assert found["transfer_minus_never_taught"].value == 1.0
    assert {"recall_through:insight", "transfer_through:insight"} < found.keys()


# Each change, and the metrics that it moves, with what they are then; nothing else may move.
MOVES: list[tuple[str, dict[str, Any], dict[str, float]]] = [
    (
        "guesses though never taught",
        {},
        {"never_taught": 1.0, "transfer_minus_never_taught": 0.0},
    ),
    ("recalls nothing", never(recall=NO), {"recall": 0.0}),
    ("does not pass on", never(transfer=NO), {"transfer": 0.0, "transfer_minus_never_taught": 0.0}),
    ("answers stale", never(update_recall="FINAL ANSWER: {stale}"), {"update": 0.0, "update_stale": 1.0}),
    (
        "names both",
        never(update_recall="FINAL ANSWER: {right} (formerly {stale})"),
        {"update": 0.0, "update_hedged": 1.0},
    ),
    ("answers neither", never(update_recall=NO), {"update": 0.0, "update_missing": 1.0}),
    ("invents a number", never(abstain="FINAL ANSWER: 4.75"), {"abstention": 0.0}),
    ("hedges an abstention", never(abstain="FINAL ANSWER: unknown, perhaps 4.75"), {"abstention": 0.0}),
    ("refuses what can be answered", never(twin=NO), {"twin": 0.0, "over_abstention": 1.0}),
    ("answers the twin wrongly", never(twin="FINAL ANSWER: -1.5"), {"twin": 0.0}),
    ("knows what was rolled back", never(rollback_transfer="FINAL ANSWER: {stale}"), {"rollback_gone": 0.0}),
    ("goes on by what was promoted", never(correct_transfer="FINAL ANSWER: {stale}"),
     {"correct_transfer": 0.0, "correct_transfer_stale": 1.0}),
    ("recalls what was corrected", never(correct_recall="FINAL ANSWER: {stale}"), {"correct_recall": 0.0}),
    ("remembers what was forgotten", never(forget_recall="FINAL ANSWER: {stale}"), {"forgotten": 0.0}),
    ("knows before the promotion", never(isolation="FINAL ANSWER: {stale}"), {"isolation_leak": 1.0}),
    (
        "is shown it before the promotion",
        {**never(), "deliveries": {"isolation": [Delivery(channel="push", fact="taught")]}},
        {"isolation_surfaced": 1.0},
    ),
    (
        "is shown nothing",
        {**never(), "deliveries": {"recall": []}},
        {"recall_surfaced": 0.0, "recall_reciprocal_rank": 0.0, "recall_through:insight": 0.0},
    ),
    (
        "is shown it too late",
        {**never(), "deliveries": {"recall": [
            Delivery(channel="insight", fact="taught", rank=1, before_answer=False)]}},
        {"recall_surfaced": 0.0, "recall_reciprocal_rank": 0.0, "recall_through:insight": 0.0},
    ),
    (
        "is shown it in the fourth place",
        {**never(), "deliveries": {"recall": [Delivery(channel="insight", fact="taught", rank=4)]}},
        {"recall_reciprocal_rank": 0.25},
    ),
    (
        "is shown what was replaced",
        {**never(), "deliveries": {"update_recall": [
            Delivery(channel="insight", fact="corrected", rank=1), Delivery(channel="push", fact="taught")]}},
        {"stale_surfaced": 1.0},
    ),
    (
        "is still shown what was forgotten",
        {**never(), "deliveries": {"forget_recall": [Delivery(channel="insight", fact="corrected")]}},
        {"forgotten": 0.0},
    ),
    ("rejects the old one", {**never(), "retired_by": "reject"}, {"retired:supersede": 0.0, "retired:reject": 1.0}),
    ("updates in place", {**never(), "retired_by": "update"}, {"retired:supersede": 0.0, "retired:update": 1.0}),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "moves"), [move[1:] for move in MOVES], ids=[move[0] for move in MOVES])
def test_a_misbehaviour_moves_its_metrics_and_no_other(
    some: tuple[Protocol, ...], changes: dict[str, Any], moves: dict[str, float]
) -> None:
    assert moved(some, **changes) == moves


def test_channels_of_the_sinks(some: tuple[Protocol, ...]) -> None:
    def by(*channels: str) -> dict[str, float | None]:
        seen = [Delivery(channel=channel, fact="taught") for channel in channels]
        found = scored(some, (), deliveries={"transfer": seen})
        return {name: estimate.value for name, estimate in found.items() if name.startswith("transfer_")}

    both = by("page", "description")
    assert both["transfer_sink"] == 1.0 and both["transfer_sink_only"] == 0.0
    page = by("page")
    assert page["transfer_sink"] == page["transfer_sink_only"] == 0.5  # half of them have the other sink
    assert page["transfer_through:page"] == 1.0
    assert by("insight", "page")["transfer_sink_only"] == 0.0
    other = scored(some, (), deliveries={"transfer": [Delivery(channel="page", fact="other")]})
    assert other["transfer_surfaced"].value == 0.0


def test_filing_anywhere_as_intended_and_acceptably() -> None:
    urn = protocol().entity_urn
    one = protocol(TRANSFER, extras={"entities": ["u2"]})

    def filed(*entities: str) -> list[float | None]:
        after = (RecordState(id="r1", status="pending", live=True, entities=entities),)
        made = regrade(one, attempt(one, episode={"teach": {"before": (), "after": after}}, captured=urn in entities))
        found = strict_metrics([one], [made])
        return [found[name].value for name in ("captured_anywhere", "filed_intended", "filed_acceptably")]

    assert filed(urn) == [1.0, 1.0, 1.0]
    assert filed("u2", "u3") == [1.0, 0.0, 1.0]
    assert filed("u3") == filed() == [1.0, 0.0, 0.0]
    old = RecordState(id="r0", status="pending", live=True, entities=(urn,))
    nothing = regrade(one, attempt(one, episode={"teach": {"before": (old,), "after": (old,)}}, captured=False))
    found = strict_metrics([one], [nothing])
    assert [found[name].value for name in ("captured_anywhere", "filed_intended")] == [0.0, 0.0]


def test_without_states_the_published_capture_stands_in_where_it_can() -> None:
    one, plain = protocol(TRANSFER, extras={"entities": ["u2"]}), protocol(TRANSFER, id="p-9")

    def filed(which: Protocol, captured: bool) -> list[float | None]:
        blind = {"teach": {"before": None, "after": None}}
        found = strict_metrics([which], [regrade(which, attempt(which, episode=blind, captured=captured))])
        return [found[name].value for name in ("captured_anywhere", "filed_intended", "filed_acceptably")]

    assert filed(one, True) == [1.0, 1.0, 1.0]
    assert filed(one, False) == [None, 0.0, None]  # it may have been filed elsewhere
    assert filed(plain, False) == [None, 0.0, 0.0]


def test_a_live_duplicate_is_one_that_can_be_retrieved(some: tuple[Protocol, ...]) -> None:
    one = some[1]
    assert one.update is not None

    def duplicated(**old: Any) -> tuple[float | None, float | None]:
        states = (
            RecordState(id="r1", fact="taught", **old),
            RecordState(id="r2", status="pending", live=True, fact="corrected"),
        )
        episode = {"update": {"before": (), "after": states}}
        made = regrade(one, attempt(one, episode=episode, duplicated=old["status"] != "superseded", retired_by=None))
        return strict_metrics([one], [made])["live_duplicate"].value, published_metrics([made], 1).duplicate_rate.rate

    assert duplicated(status="superseded", live=False) == (0.0, 0.0)
    assert duplicated(status="rejected", live=False) == (0.0, 1.0)  # what the published metric miscounts
    assert duplicated(status="pending", live=True) == (1.0, 1.0)


def test_a_correction_is_kept_where_a_live_record_states_it(some: tuple[Protocol, ...]) -> None:
    one = some[1]
    assert one.update is not None

    def kept(*states: RecordState) -> float | None:
        made = regrade(one, attempt(one, episode={"update": {"before": (), "after": states}}))
        return strict_metrics([one], [made])["correction_kept"].value

    old = RecordState(id="r1", status="pending", live=True, fact="taught")
    assert kept(old.model_copy(update={"fact": "corrected"})) == 1.0  # in place
    assert kept(old, RecordState(id="r2", status="pending", live=True, fact="corrected")) == 1.0
    assert kept(old, RecordState(id="r2", status="rejected", live=False, fact="corrected")) == 0.0
    assert kept(old) == kept() == 0.0
    unseen = regrade(one, attempt(one, episode={"update": {"before": None, "after": None}}))
    assert strict_metrics([one], [unseen])["correction_kept"].value is None
    assert strict_metrics(some[:1], [regrade(some[0], attempt(some[0]))])["correction_kept"].value is None


def test_a_correction_ends_no_record_that_was_gone_before(some: tuple[Protocol, ...]) -> None:
    one = some[1]

    def superseded(live: bool) -> float | None:
        old = RecordState(id="r1", status="pending" if live else "superseded", live=live, fact="taught")
        new = RecordState(id="r2", status="pending", live=True, fact="corrected")
        gone = old.model_copy(update={"status": "superseded", "live": False})
        made = attempt(one, episode={"update": {"before": (old,), "after": (gone, new)}}, insight_id="r1")
        return strict_metrics([one], [regrade(one, made)])["retired:supersede"].value

    assert superseded(live=True) == 1.0
    assert superseded(live=False) is None


def test_a_refusal_is_over_abstention_where_the_fact_had_come(some: tuple[Protocol, ...]) -> None:
    def refused(*seen: Delivery, watched: bool = True) -> tuple[float | None, float | None]:
        made = attempt(some[0], choices=ALL, answers={"twin": NO}, deliveries={"twin": seen})
        if not watched:
            blind = [one.model_copy(update={"deliveries": None}) for one in made.episodes]
            made = made.model_copy(update={"episodes": tuple(blind)})
        found = strict_metrics(some[:1], [regrade(some[0], made)], choices=ALL)
        return found["over_abstention"].value, found["twin"].value

    assert refused(Delivery(channel="page", fact="taught")) == (1.0, 0.0)
    assert refused(Delivery(channel="insight", fact="corrected")) == (1.0, 0.0)
    assert refused() == refused(Delivery(channel="page", fact="other")) == (None, 0.0)
    assert refused(Delivery(channel="page", fact="taught", before_answer=False)) == (None, 0.0)
    assert refused(watched=False) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"same_fact": True, "same_class": True}, 0.0),
        ({"same_fact": None, "same_class": None}, 0.0),
        ({"same_fact": False}, 1.0),
        ({"same_fact": True, "same_class": False}, 1.0),
    ],
)
def test_a_wrong_supersede(some: tuple[Protocol, ...], given: dict[str, Any], wrong: float) -> None:
    found = (Supersede(source="r2", target="r1", score=0.91, **given),)
    made = regrade(some[0], attempt(some[0], episode={"recall": {"supersedes": found}}))
    assert strict_metrics(some[:1], [made])["wrong_supersede"].value == wrong


def test_what_a_memory_lacks_has_no_number_but_a_reason(some: tuple[Protocol, ...]) -> None:
    attempts = [
        regrade(one, attempt(one, leave_out=["transfer"], captured=None, promoted=None, transfer_surfaced=None))
        for one in some
    ]
    found = strict_metrics(some, attempts, capabilities=())
    assert found["transfer"].reason == (
        "the memory has no review queue and the memory has no changesets and the memory does not tell identities apart"
    )
    assert found["captured_anywhere"].reason == found["live_duplicate"].reason == WITHOUT["capture"]
    assert found["transfer_minus_never_taught"].value is None
    assert found["recall"].value == 1.0 and found["recall"].n == 8
    for estimate in found.values():
        assert (estimate.value is None) == (estimate.reason is not None)
    for metric in METRICS.values():
        assert metric.title and metric.needs <= set(WITHOUT)
    assert strict_pass(some, attempts, 1, capabilities=())["pass^1"].value == 1.0
    assert strict_pass(some, attempts, 1)["pass^1"].value == 0.5  # transfers were planned and are not there


def test_what_was_planned_and_not_reached_counts(some: tuple[Protocol, ...]) -> None:
    made = [
        regrade(
            one,
            attempt(
                one,
                leave_out=["transfer", "update", "update_recall"],
                captured=False,
                promoted=None,
                update_captured=None,
                duplicated=None,
                episode={"teach": {"before": (), "after": ()}},
            ),
        )
        for one in some
    ]
    found = strict_metrics(some, made)
    assert [found[name].value for name in ("transfer", "update", "update_missing", "transfer_surfaced")] == [0, 0, 1, 0]
    assert found["transfer"].n == found["update"].n == 4
    assert found["live_duplicate"].value is None and found["live_duplicate"].reason
    published = published_metrics(made, 1)
    assert published.transfer_rate.den == published.update_correctness.den == 0


def test_harness_failures_are_in_no_metric(some: tuple[Protocol, ...]) -> None:
    good = [regrade(one, attempt(one)) for one in some]
    bad = regrade(some[0], attempt(some[0], 2, error="no page", answers={"recall": NO}))
    assert strict_metrics(some, [*good, bad]) == strict_metrics(some, good)
    assert strict_pass(some, [*good, bad], 1)["pass^1"].n == 8
    with pytest.raises(DataError, match="not in the set"):
        strict_metrics(some[1:], good)


def test_pass_asks_for_everything_and_counts_by_protocol(some: tuple[Protocol, ...]) -> None:
    attempts = []
    for place, one in enumerate(some):
        for number in (1, 2):
            wrong = {"abstain": "FINAL ANSWER: unknown, perhaps 4.75"} if place < 2 and number == 2 else {}
            attempts.append(regrade(one, attempt(one, number, answers=wrong)))
    assert all(one.passed for one in attempts)  # the published rule does not see the number
    found = strict_pass(some, attempts, 2)
    assert found["pass^2"].value == 0.75 and found["pass^2"].method.startswith("clopper-pearson")
    assert found["pass^1"].value == pytest.approx((6 + 2 * 0.5) / 8)
    assert published_metrics(attempts, 2).pass_k.rate == 1.0


@pytest.mark.parametrize(
    "changes",
    [
        {"answers": {"recall": NO}},
        {"promoted": False, "leave_out": ["transfer"]},
        {"episode": {"teach": {"before": (), "after": ()}}},
    ],
)
def test_any_failure_ends_a_strict_pass(some: tuple[Protocol, ...], changes: dict[str, Any]) -> None:
    made = regrade(some[0], attempt(some[0], **changes))
    assert strict_pass(some[:1], [made], 1)["pass^1"].value == 0.0


def test_templates_are_strata(generated: tuple[Protocol, ...]) -> None:
    attempts = [regrade(one, attempt(one)) for one in generated]
    found = strict_by_template(generated, attempts)
    assert set(found) == {one.template for one in generated}
    for table in found.values():
        assert table["recall"].n == 4 and table["recall"].clusters == 4
    assert strict_metrics(generated, attempts)["recall"].n == len(generated)


def test_metrics_do_not_depend_on_the_order(some: tuple[Protocol, ...]) -> None:
    attempts = [
        regrade(one, attempt(one, answers={"recall": NO} if place % 3 else {})) for place, one in enumerate(some)
    ]
    assert strict_metrics(some, attempts) == strict_metrics(some[::-1], attempts[::-1])
    assert isinstance(attempts[0].episode("recall"), Episode)
