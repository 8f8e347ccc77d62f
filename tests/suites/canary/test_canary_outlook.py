from __future__ import annotations

import pytest

from memassay.suites.canary.families import CURRENT, PUBLISHED, UNIFORM, Weights
from memassay.suites.canary.fixture import Atom, Question
from memassay.suites.canary.outlook import outlook, told


def asked(n: int, gold: bool = True) -> list[Question]:
    atoms = (Atom(text="left"),) if gold else ()
    return [Question(id=f"q{i}", family=CURRENT, query=f"Where is it, number {i}?", required=atoms) for i in range(n)]


def test_more_questions_show_smaller_gaps() -> None:
    few, many = outlook([], asked(16), UNIFORM), outlook([], asked(256), UNIFORM)
    # The same families and ties: the gap falls with the root of the number.
    assert few["detectable_gap"] == pytest.approx(4 * many["detectable_gap"])
    assert not few["confirmatory"] and many["confirmatory"]
    assert outlook([], asked(16), UNIFORM) == few


def test_the_outlook_in_words() -> None:
    rows = dict(told(outlook([], asked(12) + asked(4, gold=False), UNIFORM)))
    assert rows["questions"] == "16 (16 current_canonical)"
    assert rows["without gold"] == "4, which decide nothing: give an answer and the doc of each"
    assert rows["weights"] == "uniform: every family counts alike; --weights FILE says how often each is asked"
    assert rows["detectable gap"] == "54 points with 80 % power, at 40 % ties"
    assert "where 80 % is asked" in rows["a gap of 20 points"]
    assert dict(told(outlook([], asked(9), PUBLISHED)))["weights"] == "published, counted from 2,400 queries"


def test_questions_that_count_nothing_show_nothing() -> None:
    mine = Weights(name="mine", shares={family: float(family == "link_graph") for family in PUBLISHED.shares})
    rows = dict(told(outlook([], asked(12), mine)))
    assert rows["detectable gap"] == "none: every family that is asked has the weight 0"
    assert rows["weights"] == "mine" and "false alarms" not in rows
