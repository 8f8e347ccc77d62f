"""What is made of judges of pairs: outcomes and their mirror image, single judges, agreement, labels."""

from __future__ import annotations

import functools
import json
import math
import random
from dataclasses import replace
from typing import Any

import pytest
from canary_judged import ASKED, BY, FAIR, OTHER, conclude, memories, mixed, most, texts, voices
from canary_judges import TEXTS, controls, merits, said, swapped
from canary_outcomes import BUDGET, run

from memassay.stats.gaps import aggregate_gaps
from memassay.suites.canary import pairs as pairs_module
from memassay.suites.canary.collapse import ScriptedJudge
from memassay.suites.canary.families import CURRENT, FAMILIES, PUBLISHED
from memassay.suites.canary.judged import judged
from memassay.suites.canary.judged_sections import sections
from memassay.suites.canary.standings import standings


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few draws: what is tested here does not hang on the last digit of an interval."""
    monkeypatch.setattr(pairs_module, "aggregate_gaps", functools.partial(aggregate_gaps, draws=400))


# -- outcomes ------------------------------------------------------------------------------------------------------


def test_two_fair_judges_see_what_the_merits_say() -> None:
    one, results = conclude(voices(FAIR, OTHER))
    (pair,) = results["pairs"]
    signs = [(a - b > 0.25) - (b - a > 0.25) for a, b in merits(mixed).values()]
    result = pair["result"]
    assert (result["wins"], result["losses"], result["ties"]) == tuple(map(signs.count, (1, -1, 0)))
    assert result["tie_reasons"] == {"both_said_tie": signs.count(0)}
    assert (pair["a"], pair["b"], pair["dropped"], pair["reason"]) == ("markdown", "lexical", 0, None)
    assert results["rests"] is True and results["reason"] is None
    assert (results["used"], results["families"]) == (["claude-x", "gpt-x"], ["claude", "gpt"])
    assert one.compared()[0].decisions["default"].verdict == result["decisions"]["default"]["verdict"]
    (between,) = pair["agreement"]
    assert between["agreement"]["raw"]["value"] == between["agreement"]["kappa"]["value"] == 1
    assert [row["weighted"]["value"] for row in pair["judges"]] == [result["weighted"]["gap"]["value"]] * 2


def test_without_judges_of_pairs_there_is_nothing() -> None:
    assert judged([], memories(), PUBLISHED, ASKED) is None
    assert sections(None) == []


def mirrored(results: dict[str, Any]) -> dict[str, Any]:
    """What of a conclusion must turn with the memories, turned back."""
    (pair,) = results["pairs"]
    result = pair["result"]
    gaps = [result[kind]["gap"] for kind in ("weighted", "uniform", "difference")]
    alone = [
        (one["losses"], one["wins"], one["ties"], one["tie_reasons"], -one["weighted"]["value"], one["positions"])
        for one in pair["judges"]
    ]
    return {
        "names": (pair["b"], pair["a"]),
        "counts": (result["losses"], result["wins"], result["ties"], result["tie_reasons"]),
        "gaps": [(-gap["value"], -gap["high"], -gap["low"]) for gap in gaps],
        "families": [(one["losses"], one["wins"], one["ties"]) for one in result["families"]],
        "conventions": [(one["b"], one["a"]) for one in result["conventions"]],
        "flip": result["flip"]["p"],
        "alone": [(*row[:5], row[5]["consistency"]["value"], row[5]["half"]) for row in alone],
        "dropped": pair["dropped"],
        "between": [one["agreement"]["raw"]["value"] for one in pair["agreement"]],
        "labels": [judge["labels"]["table"] for judge in results["judges"]],
    }


def test_swapping_the_memories_everywhere_mirrors_everything() -> None:
    noisy = [replace(FAIR, noise=0.5, bias=0.2), replace(OTHER, noise=0.7)]
    verdicts = voices(
        *noisy, sane=True, labels=lambda question, memory: "correct" if memory == "markdown" else "partial"
    )
    verdicts = [replace(one, position=None) if one.task == f"{CURRENT}-003" else one for one in verdicts]
    one, other = conclude(verdicts)[1], conclude(swapped(verdicts))[1]
    turned, (pair,) = mirrored(one), other["pairs"]
    result = pair["result"]
    assert turned["names"] == (pair["a"], pair["b"])
    assert turned["counts"] == (result["wins"], result["losses"], result["ties"], result["tie_reasons"])
    for kind, gap in zip(("weighted", "uniform", "difference"), turned["gaps"], strict=True):
        there = result[kind]["gap"]
        assert gap == pytest.approx((there["value"], there["low"], there["high"]), abs=1e-12)
    assert turned["families"] == [(row["wins"], row["losses"], row["ties"]) for row in result["families"]]
    assert turned["flip"] == result["flip"]["p"]
    again = mirrored(conclude(swapped(swapped(verdicts)))[1])
    assert again == turned
    back = mirrored(other)
    assert (back["dropped"], back["between"], back["labels"]) == (
        turned["dropped"],
        turned["between"],
        turned["labels"],
    )
    for row, mirror in zip(turned["alone"], pair["judges"], strict=True):
        assert row[:4] == (mirror["wins"], mirror["losses"], mirror["ties"], mirror["tie_reasons"])
        assert row[4] == pytest.approx(mirror["weighted"]["value"])
        assert row[5:] == (mirror["positions"]["consistency"]["value"], mirror["positions"]["half"])


def test_the_incumbent_comes_second_whatever_the_judges_were_shown() -> None:
    verdicts = voices(FAIR, OTHER, of=most)
    for given in (verdicts, swapped(verdicts)):
        _, results = conclude(given, incumbent="lexical")
        assert (results["pairs"][0]["a"], results["pairs"][0]["result"]["wins"]) == ("markdown", 48)


def test_the_order_of_the_verdicts_changes_no_byte() -> None:
    verdicts = voices(replace(FAIR, noise=0.4), OTHER, labels=lambda question, memory: "correct")
    shuffled = random.Random(3).sample(verdicts, len(verdicts))
    assert json.dumps(conclude(verdicts)[1]) == json.dumps(conclude(shuffled)[1])


# -- single judges -------------------------------------------------------------------------------------------------


def test_an_always_first_judge_ties_everything_and_is_caught() -> None:
    always = ScriptedJudge("gpt-x", bias=math.inf)
    one, results = conclude(voices(FAIR, always))
    (pair,) = results["pairs"]
    alone = pair["judges"][1]
    assert (alone["wins"], alone["losses"], alone["ties"]) == (0, 0, 64)
    assert alone["tie_reasons"] == {"order_flip": 64}
    assert alone["positions"]["consistency"]["value"] == 0
    assert alone["positions"]["first_share"]["value"] == 1 and alone["positions"]["p"] < 1e-9
    judge = results["judges"][1]
    assert not judge["used"] and judge["reason"].startswith("same: 0% single answers that tie")
    assert one.used == ("claude-x",)


def test_a_judge_that_favours_a_memory_gives_it_everything_and_no_control_can_tell() -> None:
    always = ScriptedJudge("gpt-x", favours="a")
    _, results = conclude(voices(always))
    alone = results["pairs"][0]["judges"][0]
    assert (alone["wins"], alone["losses"], alone["ties"]) == (64, 0, 0)
    assert alone["positions"]["consistency"]["value"] == 1
    assert results["judges"][0]["used"], "the texts of the controls are of no memory"
    _, both = conclude(voices(FAIR, always))
    assert both["pairs"][0]["result"]["tie_reasons"].keys() == {"one_sided", "judge_conflict"}


def test_a_judge_that_always_takes_the_text_named_a_is_caught() -> None:
    always = ScriptedJudge("gpt-x", favours="a")
    verdicts = [
        one for probe, seen in TEXTS.items() for one in said(always, {f"q{n}": seen for n in range(16)}, probe=probe)
    ]
    one, _ = conclude([*verdicts, *said(always, merits(mixed))])
    (judge,) = one.judges
    assert judge.reason.startswith("same: 0% single answers that tie")
    assert "shuffled" in judge.reason and "random" not in judge.reason


@pytest.mark.parametrize(
    ("faults", "failed"),
    [
        ({}, set()),
        ({"bias": 0.2}, set()),
        ({"noise": 0.05, "bias": 0.1}, set()),
        ({"bias": 0.6}, {"same", "truncated"}),
        ({"bias": -math.inf}, {"same", "random", "truncated"}),
        ({"noise": 2.0}, {"same", "random", "truncated"}),
        ({"band": 2.0}, {"random", "truncated"}),
    ],
)
def test_faults_are_caught_by_the_controls_that_show_them(faults: dict[str, float], failed: set[str]) -> None:
    one, _ = conclude(controls(ScriptedJudge("j", **faults)))
    (judge,) = one.judges
    assert {probe.name for probe in judge.probes if not probe.passed} >= failed
    assert bool(judge.reason) == bool(failed)
    if not failed:
        assert all(probe.questions == 16 and not probe.missing for probe in judge.probes)


def test_whoever_prefers_length_is_caught_by_padding_alone() -> None:
    one, _ = conclude(controls(FAIR, texts={**TEXTS, "padded": (1.0, 1.5)}))
    (judge,) = one.judges
    assert judge.reason == "padded: 100% wins of the changed text (at most 20%)"


def test_controls_that_were_not_asked_are_not_passed_where_they_are_needed() -> None:
    def reason(*names: str) -> str:
        one, _ = conclude([*controls(FAIR, texts={name: TEXTS[name] for name in names}), *said(FAIR, merits(mixed))])
        return one.judges[0].reason

    assert reason() == "same: it was not asked; random: it was not asked"
    assert reason("same") == "random: it was not asked"
    assert reason("same", "random") == ""


def test_controls_without_a_reply_are_counted_and_not_passed() -> None:
    verdicts = [replace(one, position=None) for one in controls(FAIR)]
    one, results = conclude(verdicts)
    assert one.judges[0].probes[0].missing == 16
    assert one.judges[0].reason.startswith("same: no question was answered in both orders")
    assert "no question was answered" in texts(results)


@pytest.mark.parametrize(("answered", "passed"), [(8, True), (7, False)])
def test_a_control_that_was_hardly_answered_is_not_passed(answered: int, passed: bool) -> None:
    """A judge that replies once in sixteen times has not shown what it does."""
    verdicts = controls(FAIR)
    asked = sorted({one.task for one in verdicts if one.probe == "random"})[answered:]
    verdicts = [replace(v, position=None) if v.probe == "random" and v.task in asked else v for v in verdicts]
    one, _ = conclude(verdicts)
    (judge,) = one.judges
    assert judge.passed is passed
    said = f"random: only {answered} of 16 questions were answered in both orders"
    assert judge.reason == ("" if passed else said)


# -- what is missing, what is said twice ----------------------------------------------------------------------------


def test_a_missing_answer_drops_the_question_and_is_counted() -> None:
    gone = f"{CURRENT}-001"
    verdicts = [
        replace(one, position=None) if (one.task, one.judge, one.order) == (gone, "gpt-x", 1) else one
        for one in voices(FAIR, OTHER)
    ]
    _, results = conclude(verdicts)
    (pair,) = results["pairs"]
    assert (pair["dropped"], pair["result"]["questions"]) == (1, 63)
    assert [one["dropped"] for one in pair["judges"]] == [0, 1]
    assert "Questions without every answer, out of 64: markdown − lexical 1." in texts(results)


def test_questions_and_memories_that_do_not_count_are_left_out() -> None:
    more = [
        *voices(FAIR, OTHER),
        *said(FAIR, {"gone-001": (1.0, 0.0)}, family="claude"),
        *said(FAIR, merits(mixed), family="claude", a="elsewhere"),
    ]
    assert conclude(more)[1] == conclude(voices(FAIR, OTHER))[1]


def test_equal_dossiers_are_ties_that_nobody_agreed_on() -> None:
    def labels(question: str, memory: str) -> str:
        return "correct"

    even = [f"{family}-000" for family in FAMILIES]
    verdicts = [
        replace(one, position="tie", labels=None, asked=False) if one.task in even else one
        for one in voices(FAIR, OTHER, labels=labels)
    ]
    _, results = conclude(verdicts)
    (pair,) = results["pairs"]
    assert pair["result"]["tie_reasons"]["same_text"] == len(FAMILIES)
    assert pair["agreement"][0]["agreement"]["raw"]["n"] == 56
    assert pair["judges"][0]["positions"]["consistency"]["n"] == 56


def test_builds_are_repeated_measures_of_a_question() -> None:
    def first(family: str, number: int) -> tuple[float, float]:
        return (1.0, 0.0) if number < 4 else (0.0, 1.0)

    def second(family: str, number: int) -> tuple[float, float]:
        return (1.0, 0.0) if number < 6 else (0.5, 0.5)

    verdicts = [
        *voices(FAIR, OTHER, of=first),
        *(one for judge in (FAIR, OTHER) for one in said(judge, merits(second), family=BY[judge.name], build=1)),
    ]
    _, results = conclude(verdicts)
    (pair,) = results["pairs"]
    result = pair["result"]
    assert (result["questions"], result["wins"], result["losses"], result["ties"]) == (64, 32, 16, 16)
    assert result["tie_reasons"] == {"builds_differ": 16}
    assert (pair["builds"], pair["agreement"][0]["agreement"]["raw"]["clusters"]) == (2, 64)


def test_repetitions_measure_stability_and_nothing_else() -> None:
    verdicts = voices(FAIR, OTHER)
    again = [
        one
        for number in (1, 2)
        for one in said(replace(FAIR, noise=1.0, seed=number), merits(mixed, 2), family="claude", repetition=number)
    ]
    results, alone = conclude([*verdicts, *again])[1], conclude(verdicts)[1]
    assert results["pairs"] == alone["pairs"]
    stable = results["judges"][0]["stability"]
    assert (stable["n"], stable["clusters"]) == (32, 16)
    assert 0 < stable["value"] < 1
    assert results["judges"][1]["stability"]["value"] is None


# -- labels --------------------------------------------------------------------------------------------------------


def test_labels_stand_beside_those_by_rule() -> None:
    found = standings(run(8, lexical="correct", markdown="undetermined"), BUDGET)

    def labels(question: str, memory: str) -> str:
        return "correct" if memory == "lexical" and not question.endswith("7") else "hallucinated"

    _, results = conclude(voices(FAIR, OTHER, labels=labels), found)
    told = results["judges"][0]["labels"]
    table = {
        (row, column): told["table"][i][j]
        for i, row in enumerate(told["rows"])
        for j, column in enumerate(told["columns"])
        if told["table"][i][j]
    }
    assert table == {
        ("correct", "correct"): 56, ("hallucinated", "correct"): 8, ("hallucinated", "undetermined"): 64,
    }  # fmt: skip
    assert told["agreement"]["raw"]["value"] == 56 / 64, "of those that the rule can decide"
    assert told["changed"]["value"] == 0
    assert {one["label"]: one["both"] for one in told["agreement"]["per_label"]}["correct"] == 56


def test_a_label_that_depends_on_the_order_is_noise() -> None:
    verdicts = [
        replace(one, labels=("correct", "partial") if one.task.endswith(("0", "1")) else ("partial", "partial"))
        for one in voices(FAIR, OTHER)
    ]
    _, results = conclude(verdicts)
    told = results["judges"][0]["labels"]
    assert told["changed"]["value"] == 0.25
    assert sum(map(sum, told["table"])) == 6 * 8 * 2
