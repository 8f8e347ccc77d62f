"""What a run comes to, from verdicts made by playing a few protocols, and the sections of its report."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from fake_platform import Knobs, Plain, Reviewed
from lifecycle_misbehaviour import Guesses, KeepsItsAnswer
from lifecycle_play import Rules, judged, play

from memassay.core.contracts import Outcome
from memassay.core.types import Estimate, Status, Task, Usage
from memassay.suites.lifecycle.frozen import freeze
from memassay.suites.lifecycle.protocol import Protocol
from memassay.suites.lifecycle.results import COMPARED, PER_TEMPLATE, conclude
from memassay.suites.lifecycle.sections import sections, title_of
from memassay.suites.lifecycle.stages import CHOICES
from memassay.suites.lifecycle.warehouse import Warehouse

SOME = 4
PLANNED = ("full", "guesses", "notes", "lost")


def task(protocol: Protocol) -> Task:
    return Task(
        id=protocol.id,
        suite="lifecycle",
        scope="w",
        cluster=protocol.cluster,
        category=protocol.template,
        prompt="p",
        gold=freeze(protocol),
    )


def outcome(
    protocol: Protocol, arm: str, warehouse: Warehouse, number: int = 0, agent: Any = None, **more: Any
) -> Outcome:
    verdict = judged(protocol, play(protocol, warehouse, agent=agent, **more))
    return Outcome(
        task(protocol), arm, "contender", 0, number, Status.OK, "", verdict.scores, verdict.labels, Usage(), "", {}
    )


@pytest.fixture(scope="module")
def outcomes(generated: tuple[Protocol, ...], warehouse: Warehouse) -> list[Outcome]:
    """Two repetitions; the third arm's last attempt is one that the provider failed."""
    found = []
    for one in generated[:SOME]:
        for number in (0, 1):
            found.append(outcome(one, "full", warehouse, number))
            found.append(outcome(one, "guesses", warehouse, number, Guesses() if number else Rules()))
            found.append(outcome(one, "notes", warehouse, number, KeepsItsAnswer()))
    failed = Outcome(
        task(generated[0]), "notes", "contender", 0, 1, Status.RATE_LIMIT, "too many", {}, {}, Usage(), "", {}
    )
    kept = [one for one in found if not (one.arm == "notes" and one.number == 1 and one.task.id == generated[0].id)]
    return [*kept, failed]


@pytest.fixture(scope="module")
def results(outcomes: list[Outcome], generated: tuple[Protocol, ...]) -> dict[str, Any]:
    return conclude(outcomes, CHOICES, PLANNED)


def test_the_whole_in_numbers(results: dict[str, Any]) -> None:
    assert (results["k"], results["protocols"], results["baseline"]) == (2, SOME, "full")
    assert results["order"] == ["full", "guesses", "notes"], "as planned, and only what was measured"
    full, guesses, notes = (results["arms"][arm] for arm in results["order"])
    assert full["published"]["pass_k"]["num"] == 4 and full["pass"]["pass^2"]["value"] == 1.0
    assert guesses["published"]["abstention_rate"]["num"] == 4 and guesses["published"]["abstention_rate"]["den"] == 8
    assert guesses["published"]["pass_k"]["num"] == 0 and guesses["pass"]["pass^1"]["value"] == 0.5
    assert (notes["attempts"], notes["harness_failures"], notes["memory_failures"]) == (8, 1, 0)
    assert notes["published"]["capture_rate"]["den"] == 7, "a failure of the provider is in no rate"
    assert notes["strict"]["wrong_supersede"]["value"] == 1.0
    wrong = [one for one in notes["supersedes"] if one["same_class"] is False]
    assert len(wrong) >= 7 and {one["stage"] for one in wrong} >= {"recall"}
    assert all(one["score"] > 0.6 for one in wrong)


def test_templates_are_shown_apart(results: dict[str, Any], generated: tuple[Protocol, ...]) -> None:
    templates = results["arms"]["full"]["templates"]
    assert set(templates) == {one.template for one in generated[:SOME]}
    for found in templates.values():
        assert found["n"] == 2 and found["recall"]["value"] == 1.0 and set(found) == {"n", *PER_TEMPLATE}


def test_what_an_arm_changes_against_the_first(results: dict[str, Any]) -> None:
    rows = {(row["arm"], row["metric"]): row for row in results["ablation"]}
    row = rows["guesses", "abstention_rate"]
    assert (row["against"], row["value"], row["baseline"], row["diff"]["value"]) == ("full", 0.5, 1.0, -0.5)
    assert row["diff"]["clusters"] == SOME and row["diff"]["low"] <= -0.5 <= row["diff"]["high"]
    assert row["p"] == 0.125, "four protocols, all the same way: 2 of 16 sign patterns"
    assert rows["guesses", "personal_recall"]["diff"]["value"] == 0.0
    assert ("notes", "transfer_rate") not in rows, "what one of the two does not have is not compared"
    assert {metric for _, metric in rows} <= set(COMPARED)


def test_the_order_of_outcomes_does_not_matter(outcomes: list[Outcome], generated: tuple[Protocol, ...]) -> None:
    shuffled = list(outcomes)
    random.Random(5).shuffle(shuffled)
    assert json.dumps(conclude(shuffled, CHOICES, PLANNED)) == json.dumps(conclude(outcomes, CHOICES, PLANNED))


def test_a_memory_without_a_review_queue_has_null_and_a_reason(
    generated: tuple[Protocol, ...], warehouse: Warehouse
) -> None:
    rows = [outcome(one, "plain", warehouse, kind=Plain) for one in generated[:SOME]]
    found = conclude(rows, CHOICES, ("plain",))["arms"]["plain"]  # type: ignore[index, call-overload]
    why = "the memory has no review queue and the memory has no changesets"
    assert found["strict"]["transfer"]["value"] is None and found["strict"]["transfer"]["reason"] == why
    assert found["unavailable"]["promote"] == why and "review" not in found["capabilities"]
    assert found["pass"]["pass^1"]["value"] == 1.0
    assert found["published"]["transfer_rate"] == {
        "num": 0, "den": 0, "rate": None, "low": None, "high": None, "method": "korn-graubard",
    }  # fmt: skip


def test_channels(generated: tuple[Protocol, ...], warehouse: Warehouse) -> None:
    knobs = Knobs(shared=False, push=False)
    rows = [outcome(one, "sinks", warehouse, kind=Reviewed, knobs=knobs) for one in generated[:SOME]]
    strict = conclude(rows, CHOICES)["arms"]["sinks"]["strict"]  # type: ignore[index, call-overload]
    assert strict["transfer_sink_only"]["value"] == 1.0
    assert strict["transfer_through:page"]["value"] == strict["transfer_through:description"]["value"] == 0.5
    assert strict["recall_through:insight"]["value"] == 1.0


def test_nothing_measured(generated: tuple[Protocol, ...]) -> None:
    found = conclude([], CHOICES, PLANNED)
    assert (found["arms"], found["baseline"], found["said"]) == ({}, None, [])
    assert sections(found) == [] and sections({}) == []


def test_sections_hold_every_table(results: dict[str, Any]) -> None:
    found = {section.title: section for section in sections(results)}
    assert list(found) == [
        "Published metrics", "Strict metrics", "How the fact arrived", "By template", "pass^k",
        "Calls and tokens by stage", "What changes against full", "Stages and supersedes",
    ]  # fmt: skip
    for section in found.values():
        for table in section.tables:
            assert all(len(row) == len(table.columns) for row in table.rows), table.title
    rates = found["Published metrics"].tables[0]
    named = {row[0]: row[1:] for row in rates.rows}
    first = named["capture, on the intended dataset"][0]
    assert isinstance(first, Estimate) and (first.value, first.n) == (1.0, 8)
    assert [table.title for table in found["By template"].tables] == ["full", "guesses", "notes"]
    calls, tokens = found["Calls and tokens by stage"].tables
    assert calls.rows[0][0] == "teach" and {row[0] for row in calls.rows} >= {"recall", "transfer", "forget_recall"}
    asked = results["arms"]["full"]["stages"]
    assert asked["teach"]["sessions"] == 8 and asked["transfer"]["sessions"] == 4
    assert asked["teach"]["tool_calls"] > 0 and calls.rows[0][1] == f"{asked['teach']['tool_calls']:.1f}"
    assert len(tokens.rows) == len(calls.rows)
    changes = {(row[0], row[1]) for row in found["What changes against full"].tables[0].rows}
    assert ("guesses", "nothing is claimed that nobody taught (strict)") in changes
    assert ("guesses", "the teacher recalls, in a new session (strict)") not in changes, "it is the same in both"
    wrong = found["Stages and supersedes"].tables[1]
    assert {row[0] for row in wrong.rows} == {"notes"}


def test_titles() -> None:
    assert len({title_of(metric) for metric in COMPARED}) == len(COMPARED)
    assert title_of("strict:live_duplicate") == "the replaced record is still live (less is better) (strict)"
