"""The grader of sets: the cases that the published runs met, for whole tokens and for the published substrings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memassay.core.contracts import Cell
from memassay.core.types import Answer, CellKey, Gold, Status, Step, Task
from memassay.suites.association.grading import NEAR, SetJudge, by_substring, by_token, right_and_near

KEYS = tuple(f"company-{n:06}" for n in range(1, 9))
NEAR_KEYS = tuple(f"company-{n:06}" for n in range(101, 106))
WHY = ("INDUSTRY_ALIGNMENT", "LOCATION_FIT", "SPECIALTY_MATCH", "hospitality", "residential")
WHY_NEAR = ("MATCHES_DESIGN_STYLE", "SIMILAR_SIZE", "commercial", "retail", "single-family")


def both(text: str, right: tuple[str, ...] = WHY, near: tuple[str, ...] = WHY_NEAR) -> tuple[float, float]:
    """The score by whole tokens and the published one."""
    return by_token(text, right, near).score, by_substring(text, right, near).score


def cell(text: str | None, right: str | None = "\n".join(WHY), status: Status = Status.OK) -> Cell:
    gold = {"original": Gold(answer=right), NEAR: Gold(answer="\n".join(WHY_NEAR), excluded="near-misses, forbidden")}
    key = CellKey(task="assoc-why-1", arm="a")
    steps = (Step(name="retrieve"), Step(text=text))
    return Cell(
        task=Task(
            id=key.task, suite="association", scope="w", cluster=key.task, category="why", prompt="Why?", gold=gold
        ),
        answer=Answer(cell=key, attempt=2, status=status, steps=steps, model="real", data="generated"),
        dossier=None,
    )


# -- the published cases -------------------------------------------------------------------------------------------


def test_a_perfect_answer() -> None:
    assert both("\n".join(WHY)) == (1.0, 1.0)


def test_workings_that_name_three_unshared_specialties() -> None:
    text = "\n".join(WHY) + "\n(not shared: commercial, retail, single-family)"
    assert both(text) == (0.25, 0.25)


def test_saying_that_the_stricter_rule_does_not_hold_counts_as_naming_the_rules_about_size() -> None:
    assert both("\n".join(WHY) + "\nSIMILAR_SIZE_STRICT does not hold") == (0.75, 0.75)


@pytest.mark.parametrize("named", ["SIMILAR_SIZE", "SIMILAR_SIZE_STRICT", "SIMILAR_SIZE, SIMILAR_SIZE_STRICT"])
def test_both_rules_about_size_are_one_near_miss(named: str) -> None:
    assert both("\n".join((*WHY, named))) == (0.75, 0.75)
    assert by_token(named, WHY, WHY_NEAR).forbidden == ("SIMILAR_SIZE",)


def test_every_company_there_is() -> None:
    text = "\n".join(f"company-{n:06}" for n in range(1, 423))
    assert both(text, KEYS, NEAR_KEYS) == (0.0, 0.0)
    for marks in (by_token(text, KEYS, NEAR_KEYS), by_substring(text, KEYS, NEAR_KEYS)):
        assert (marks.recall, marks.forbidden) == (1.0, NEAR_KEYS)


def test_non_residential_is_not_residential_but_for_the_published_rule() -> None:
    text = "\n".join(WHY[:-1]) + "\nNon-residential"
    assert both(text) == (0.8, 1.0)


def test_one_key_of_eight_missed() -> None:
    assert both("\n".join(KEYS[1:]), KEYS, NEAR_KEYS) == (0.875, 0.875)


def test_a_third_is_rounded_to_four_digits() -> None:
    assert both("a", ("a", "b", "c"), ()) == (0.3333, 0.3333)
    assert both("a b d", ("a", "b", "c"), ("d",)) == (0.4167, 0.4167)


@pytest.mark.parametrize("text", ["", "  \n ", "I do not know.", "-", "___"])
def test_nothing_named(text: str) -> None:
    assert both(text) == (0.0, 0.0)


# -- what a token is -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "LOCATION_FIT", "location_fit", "`LOCATION_FIT`", "**LOCATION_FIT**", "_LOCATION_FIT_", "- LOCATION_FIT",
        "-LOCATION_FIT", "1.LOCATION_FIT", "(LOCATION_FIT),", "LOCATION_FIT: within 160 km", '["LOCATION_FIT"]',
        "location_fit—yes",
    ],
)  # fmt: skip
def test_mark_up_around_a_name_is_no_part_of_it(text: str) -> None:
    assert by_token(text, ("LOCATION_FIT",), ()).found == ("LOCATION_FIT",)


@pytest.mark.parametrize(
    "text",
    [
        "LOCATION_FIT_TC", "NO_LOCATION_FIT", "LOCATION_FIT-like", "LOCATION FIT", "LOCATION_FITS", "LOCATIONFIT",
        "LOCATION_FIT2", "ÉLOCATION_FIT",
    ],
)  # fmt: skip
def test_a_longer_or_a_broken_name_is_another(text: str) -> None:
    assert by_token(text, ("LOCATION_FIT",), ()).found == ()


def test_the_stricter_name_does_not_name_the_other_where_it_is_right() -> None:
    assert by_token("SIMILAR_SIZE_STRICT", ("SIMILAR_SIZE",), ()).found == ()
    assert by_substring("SIMILAR_SIZE_STRICT", ("SIMILAR_SIZE",), ()).found == ("SIMILAR_SIZE",)


def test_a_key_with_more_digits_is_another_key() -> None:
    assert by_token("company-0000010", ("company-000001",), ()).found == ()
    assert by_substring("company-0000010", ("company-000001",), ()).found == ("company-000001",)


def test_a_typographic_hyphen_is_a_hyphen() -> None:
    assert by_token("single\u2011family, multi\u2010family", ("single-family", "multi-family"), ()).missed == ()


def test_a_value_of_several_words_is_named_where_its_tokens_follow_each_other() -> None:
    right = ("New York City",)
    assert by_token("in new  york,\nCity hall", right, ()).found == right
    for text in ("New York", "New York Big City", "York New City", "New York City-wide"):
        assert by_token(text, right, ()).found == ()


@given(st.lists(st.sampled_from([*WHY, *WHY_NEAR, "LOCATION_FIT_TC", "Non-residential", "and"]), max_size=12))
def test_scores_are_in_range_and_whole_tokens_never_find_what_no_substring_is(words: list[str]) -> None:
    text = ", ".join(words)
    strict, loose = by_token(text, WHY, WHY_NEAR), by_substring(text, WHY, WHY_NEAR)
    assert set(strict.found) == set(words) & set(WHY)
    assert set(strict.forbidden) == set(words) & set(WHY_NEAR)
    assert set(strict.found) <= set(loose.found)
    for marks in (strict, loose):
        assert set(marks.found) | set(marks.missed) == set(WHY)
        assert marks.score == max(0.0, round(len(marks.found) / 5 - 0.25 * len(marks.forbidden), 4))


# -- the judge -----------------------------------------------------------------------------------------------------


def test_the_verdict() -> None:
    found = SetJudge().judge(cell("hospitality\nSPECIALTY_MATCH\nretail\nNon-residential"))
    assert found.scores == {"score": 0.15, "score_substring": 0.35, "recall": 0.4, "wrong_extra": 1.0}
    assert found.labels == {
        "found": 2,
        "of": 5,
        "missed": ["INDUSTRY_ALIGNMENT", "LOCATION_FIT", "residential"],
        "forbidden": ["retail"],
    }
    assert (found.id, found.judge, found.status) == ("set/assoc-why-1/a/0.0", "set", "ok")
    assert (found.attempt, found.model, found.data) == (2, "real", "generated")


def test_it_grades_the_last_text_that_was_said() -> None:
    one = cell("\n".join(WHY))
    steps = (Step(text="retail"), *one.answer.steps, Step(name="after"))
    again = Cell(one.task, one.answer.model_copy(update={"steps": steps}), None)
    assert SetJudge().judge(again).scores["score"] == 1.0


@pytest.mark.parametrize(
    "status", [Status.MEMORY_CRASH, Status.MEMORY_TIMEOUT, Status.LIMIT_TIME, Status.LIMIT_TURNS, Status.LIMIT_MONEY]
)
def test_a_failure_of_the_memory_scores_0_whatever_was_said(status: Status) -> None:
    found = SetJudge().judge(cell("\n".join(WHY), status=status))
    assert set(found.scores.values()) == {0.0}
    assert (found.status, found.labels["found"]) == ("ok", 0)


@pytest.mark.parametrize("text", [None, ""])
def test_nothing_said_scores_0(text: str | None) -> None:
    assert set(SetJudge().judge(cell(text)).scores.values()) == {0.0}


@pytest.mark.parametrize("right", [None, "", "\n"])
def test_without_gold_every_score_is_undefined_and_never_0(right: str | None) -> None:
    found = SetJudge().judge(cell("retail", right))
    assert found.status == "undefined"
    assert found.scores == dict.fromkeys(("score", "score_substring", "recall", "wrong_extra"))


def test_the_labels_name_the_first_ten_that_were_missed() -> None:
    right = tuple(f"job-{n:06}" for n in range(30))
    labels = SetJudge().judge(cell("none", "\n".join(right))).labels
    assert (labels["missed"], labels["of"]) == (list(right[:10]), 30)


def test_what_names_the_judge() -> None:
    assert SetJudge.id == "set"
    assert SetJudge().config == {"judge": "set", "version": 1}
    assert right_and_near(cell("").task) == (WHY, WHY_NEAR)
