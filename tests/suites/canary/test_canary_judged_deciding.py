"""What judges of pairs may decide, and how the report says it."""

from __future__ import annotations

import functools
import json
import math
from dataclasses import replace

import pytest
from canary_judged import BY, FAIR, OTHER, choice_of, conclude, memories, mixed, most, texts, voices
from canary_judges import merits, said
from canary_outcomes import BUDGET, run

from memassay.core.pairs import PairVerdict
from memassay.core.types import ModelKind
from memassay.stats.gaps import aggregate_gaps
from memassay.suites.canary import pairs as pairs_module
from memassay.suites.canary.families import CURRENT, FAMILIES, TITLES
from memassay.suites.canary.judged import STAND_INS
from memassay.suites.canary.judged_sections import rested, sections
from memassay.suites.canary.standings import standings
from memassay.suites.canary.writing import points


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few draws: what is tested here does not hang on the last digit of an interval."""
    monkeypatch.setattr(pairs_module, "aggregate_gaps", functools.partial(aggregate_gaps, draws=400))


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
