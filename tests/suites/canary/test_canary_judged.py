"""What is made of judges of pairs: who is used, outcomes and their mirror image, agreement, and what may decide."""

from __future__ import annotations

import functools
import json
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from canary_judges import TEXTS, controls, merits, said, swapped
from canary_outcomes import BUDGET, run
from pydantic_core import to_jsonable_python

from memassay.core.pairs import PairVerdict
from memassay.core.types import ModelKind
from memassay.stats.gaps import aggregate_gaps
from memassay.suites.canary import pairs as pairs_module
from memassay.suites.canary.choosing import Choice, choose
from memassay.suites.canary.collapse import ScriptedJudge
from memassay.suites.canary.comparing import compared
from memassay.suites.canary.costs import cost_of
from memassay.suites.canary.families import CURRENT, FAMILIES, PUBLISHED, TITLES
from memassay.suites.canary.judged import STAND_INS, Judged, as_mapping, chosen, judged
from memassay.suites.canary.judged_sections import rested, sections
from memassay.suites.canary.rules import Thresholds
from memassay.suites.canary.standings import Standings, standings
from memassay.suites.canary.writing import points

FAIR, OTHER = ScriptedJudge("claude-x"), ScriptedJudge("gpt-x")
BY = {"claude-x": "claude", "gpt-x": "gpt"}
ASKED = Thresholds()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few draws: what is tested here does not hang on the last digit of an interval."""
    monkeypatch.setattr(pairs_module, "aggregate_gaps", functools.partial(aggregate_gaps, draws=400))


def most(family: str, number: int) -> tuple[float, float]:
    return (1.0, 0.0) if number % 4 else (1.0, 1.0)


def mixed(family: str, number: int) -> tuple[float, float]:
    return ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.5))[(number + len(family)) % 4]


def memories(*names: str, each: int = 8) -> Standings:
    arms: dict[str, Any] = {name.replace("-", "_"): "undetermined" for name in names or ("lexical", "markdown")}
    return standings(run(each, **arms), BUDGET)


def voices(
    *judges: ScriptedJudge, of: Callable[[str, int], tuple[float, float]] = mixed, each: int = 8, **given: Any
) -> list[PairVerdict]:
    """Controls and verdicts of these judges on one pair; a ``sane`` judge has its faults on the pair alone."""
    about = {"model": given.get("model", "real")}
    sane = given.pop("sane", False)
    return [
        verdict
        for judge in judges
        for family in [given.get("family") or BY.get(judge.name, judge.name)]
        for verdict in (
            *controls(replace(judge, noise=0.0, bias=0.0) if sane else judge, family=family, **about),
            *said(judge, merits(of, each), **{**given, "family": family}),
        )
    ]


def conclude(
    verdicts: Sequence[PairVerdict], found: Standings | None = None, incumbent: str | None = None
) -> tuple[Judged, dict[str, Any]]:
    found = found or memories()
    one = judged(verdicts, found, PUBLISHED, ASKED, incumbent)
    assert one is not None
    return one, to_jsonable_python(as_mapping(one, found, ASKED))


def choice_of(verdicts: Sequence[PairVerdict], found: Standings, incumbent: str | None = "lexical") -> Choice:
    costs = {name: cost_of(name, found.rows[name]) for name in found.memories}
    pairs = [compared(found, "markdown", "lexical", PUBLISHED, ASKED)] if len(found.memories) == 2 else []
    by_labels = choose(
        found.memories, pairs, costs, incumbent, "default", ASKED, None if pairs else "not asked in this test"
    )
    one = judged(verdicts, found, PUBLISHED, ASKED, incumbent)
    return chosen(by_labels, one, found.memories, costs, incumbent, "default", ASKED)


def texts(results: dict[str, Any]) -> str:
    drawn = sections(results)
    cells = [cell for section in drawn for table in section.tables for row in table.rows for cell in row]
    notes = [table.note for section in drawn for table in section.tables]
    return "\n".join([*(s.text for s in drawn), *notes, *(cell for cell in cells if isinstance(cell, str))])


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


# -- what may decide -----------------------------------------------------------------------------------------------


def test_judges_of_two_families_decide() -> None:
    found = memories(each=16)
    choice = choice_of(voices(FAIR, OTHER, of=most, each=16), found)
    assert choice.verdict == "no decision", "fabrications are undetermined by rule, whatever judges say"
    assert choice.challenges[0].legs[-1].outcome == "not measured"
    known = standings(run(16, lexical="incorrect", markdown="incorrect"), BUDGET)
    choice = choice_of(voices(FAIR, OTHER, of=most, each=16), known)
    assert (choice.verdict, choice.adopted) == ("adopt", "markdown")


@pytest.mark.parametrize(
    ("families", "model", "reason"),
    [
        (("claude", "claude"), "real", "the verdicts are of judges of one family (claude)"),
        (("claude", "gpt"), "scripted", STAND_INS),
    ],
)
def test_one_family_and_stand_ins_decide_nothing_but_have_all_tables(
    families: tuple[str, str], model: ModelKind, reason: str
) -> None:
    known = standings(run(16, lexical="incorrect", markdown="incorrect"), BUDGET)
    verdicts = [
        one
        for judge, family in zip((FAIR, OTHER), families, strict=True)
        for one in voices(judge, of=most, each=16, family=family, model=model)
    ]
    _, results = conclude(verdicts, known, "lexical")
    assert (results["rests"], results["reason"]) == (False, reason)
    assert results["pairs"][0]["result"]["decisions"]["default"]["verdict"] == "adopt"
    choice = choice_of(verdicts, known)
    assert (choice.verdict, choice.adopted) == ("no decision", None)
    if model == "real":
        assert choice.challenges[0].reasons == (reason,)
        assert choice.cheapest is None
        assert "one family (claude)" in choice.reason
    assert reason in texts(results)


def test_stand_ins_leave_the_choice_by_labels_as_it_is() -> None:
    known = standings(run(16, lexical="incorrect", markdown="correct"), BUDGET)
    choice = choice_of(voices(FAIR, OTHER, of=mixed, each=16, model="scripted"), known)
    assert (choice.verdict, choice.adopted) == ("adopt", "markdown")


def test_a_stand_in_beside_real_judges_is_not_counted() -> None:
    verdicts = [*voices(FAIR), *voices(OTHER, model="scripted")]
    one, results = conclude(verdicts)
    assert one.used == ("claude-x",)
    assert results["judges"][1]["reason"] == STAND_INS


def test_judges_that_all_fail_their_controls_decide_nothing() -> None:
    known = memories()
    verdicts = voices(replace(FAIR, bias=math.inf), replace(OTHER, bias=math.inf))
    _, results = conclude(verdicts, known)
    assert results["pairs"][0]["result"] is None
    assert results["pairs"][0]["reason"] == "no judge is in use"
    choice = choice_of(verdicts, known)
    assert (choice.verdict, choice.best_reason) == ("no decision", "no judge passed its controls")
    assert "no judge passed its controls" in texts(results)


def test_two_families_without_an_answer_in_common_decide_nothing() -> None:
    known = memories()
    verdicts = [replace(one, position=None) if not one.probe else one for one in voices(FAIR, OTHER)]
    _, results = conclude(verdicts, known)
    assert (results["rests"], results["pairs"][0]["dropped"]) == (False, 64)
    choice = choice_of(verdicts, known)
    assert choice.verdict == "no decision"
    assert choice.best_reason == results["reason"] == "no question has an answer of every judge in both orders"


def test_pairs_with_the_incumbent_alone_are_enough_for_a_verdict() -> None:
    known = standings(run(16, lexical="incorrect", markdown="incorrect", files="incorrect"), BUDGET)
    gone = f"{CURRENT}-002"
    verdicts = voices(FAIR, OTHER, of=most, each=16)
    for judge in (FAIR, OTHER):
        more = said(judge, merits(mixed, 16), family=BY[judge.name], a="files")
        verdicts += [one for one in more if one.task != gone]
    one, results = conclude(verdicts, known, "lexical")
    assert [pair["dropped"] for pair in results["pairs"]] == [0, 1]
    assert [len(pair.pair.questions) for pair in one.compared()] == [127, 127], "compared with each other"
    choice = choice_of(verdicts, known)
    assert (choice.verdict, choice.adopted, choice.best) == ("adopt", "markdown", None)
    assert choice.best_reason == "judges did not compare every two memories"
    assert choice.reason == "markdown beats lexical by the rule."
    assert {one.challenger for one in choice.challenges} == {"files", "markdown"}


def test_an_open_choice_says_how_many_questions_would_settle_it_also_without_every_pair() -> None:
    def alike(family: str, number: int) -> tuple[float, float]:
        return (1.0, 0.0) if number % 4 == 0 else (0.0, 1.0) if number % 4 == 1 else (1.0, 1.0)

    known = standings(run(8, lexical="incorrect", markdown="incorrect", files="incorrect"), BUDGET)
    verdicts = voices(FAIR, OTHER, of=alike)
    for judge in (FAIR, OTHER):
        verdicts += said(judge, merits(alike), family=BY[judge.name], a="files")
    choice = choice_of(verdicts, known)
    assert (choice.verdict, choice.best) == ("no decision", None)
    most_needed = max(one.needed or 0 for one in choice.challenges)
    assert most_needed > 64 and f" About {most_needed:,} questions in the same proportions" in choice.reason


# -- the report ----------------------------------------------------------------------------------------------------


def test_the_sections_are_drawn_from_the_mapping_alone() -> None:
    verdicts = voices(replace(FAIR, noise=0.4), OTHER, sane=True, labels=lambda question, memory: "correct")
    _, results = conclude(verdicts, standings(run(8, lexical="correct", markdown="partial"), BUDGET), "lexical")
    drawn = sections(json.loads(json.dumps(results)))
    assert [section.title for section in drawn] == [
        "Judges", "Pairs as judged", "Sensitivity as judged", "Agreement of judges", "Labels of judges",
    ]  # fmt: skip
    for section in drawn:
        for table in section.tables:
            assert table.rows, table.title
            assert {len(row) for row in table.rows} == {len(table.columns)}, table.title
    assert "The decision rests on them." in drawn[0].text
    assert [table.title for table in drawn[1].tables][-1] == "Each judge alone"


def test_what_judged_gaps_hang_on_is_drawn_from_the_judged_pairs() -> None:
    _, results = conclude(voices(FAIR, OTHER))
    (pair,) = results["pairs"]
    general, without = sections(results)[2].tables
    one = pair["result"]["sensitivity"]["one_question"]
    assert [row[0] for row in general.rows] == ["markdown \N{MINUS SIGN} lexical"]
    assert f"({one['question']})" in str(general.rows[0][3])
    assert [row[0] for row in without.rows] == [TITLES[family] for family in FAMILIES]
    assert [row[1] for row in without.rows] == [
        points(x["gap"]) for x in pair["result"]["sensitivity"]["without_family"]
    ]
    _, nothing = conclude(voices(replace(FAIR, bias=math.inf)))
    assert "Sensitivity as judged" not in [section.title for section in sections(nothing)]


def test_a_stand_in_is_never_shown_as_counted() -> None:
    def shown(*verdicts: PairVerdict) -> list[object]:
        _, results = conclude(verdicts)
        return [row[3] for row in sections(results)[0].tables[0].rows]

    stand_ins = voices(FAIR, OTHER, model="scripted")
    assert shown(*stand_ins) == ["stand-in", "stand-in"]
    assert "Stand-ins for a model, counted in these tables alone: claude-x, gpt-x." in texts(conclude(stand_ins)[1])
    assert shown(*voices(FAIR), *voices(OTHER, model="scripted")) == ["yes", "no"]


def test_the_pairs_that_a_choice_was_made_from_are_judged_where_real_models_judged() -> None:
    labelled = {"pairs": ["by labels"]}
    _, real = conclude(voices(FAIR, OTHER))
    _, scripted = conclude(voices(FAIR, OTHER, model="scripted"))
    assert rested(labelled) == rested({**labelled, "judged": None}) == ["by labels"]
    assert rested({**labelled, "judged": scripted}) == ["by labels"]
    assert rested({**labelled, "judged": real}) == [real["pairs"][0]["result"]]
