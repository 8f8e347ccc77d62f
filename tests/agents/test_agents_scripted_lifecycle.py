"""The agent ``scripted-lifecycle``: each script differs from the rules in one thing that its tools see."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents_lifecycle import PROTOCOLS, World, ledger_of, urn_of

from memassay.agents.rules import BUDGET, SCRIPTS, UNKNOWN, Rules
from memassay.agents.rules.scripts import Behaviour
from memassay.agents.scripted_lifecycle import ScriptedLifecycle
from memassay.core.errors import UnknownName
from memassay.suites.lifecycle.answers import final_line, grade, published_correct

KEPT = PROTOCOLS[4]  # counted, so that an answer may name two numbers
URN = urn_of(ledger_of(KEPT))


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[World]:
    place = World(monkeypatch, tmp_path / "place")
    yield place
    place.platform.close()


def live(place: World) -> list[tuple[bool, tuple[str, ...]]]:
    """What is live: whether it states the corrected fact, and where it is filed."""
    return [(one.insight_text != KEPT.fact, one.entity_urns) for one in place.insights() if one.status == "pending"]


class Life:
    """What a script leaves behind, stage by stage."""

    def __init__(self, place: World, script: str) -> None:
        who, extras = ScriptedLifecycle(script=script), KEPT.extras
        assert extras is not None
        assert extras.correction is not None
        assert extras.twin is not None
        assert extras.forget is not None
        assert KEPT.abstain is not None
        correction = extras.correction
        place.say(KEPT.teach.prompt, agent=who)
        self.taught, self.teaching = live(place), len(place.used)
        self.recall = published_correct(place.say(KEPT.recall.prompt, agent=who), KEPT.recall.grading)
        self.asking = place.tools[0]
        self.first = place.insights()[0].status if self.taught else ""
        place.say(correction.prompt, agent=who)
        self.corrected, self.correcting = live(place), place.tools
        self.retired = place.insights()[0].status if self.taught else ""
        said = place.say(correction.recall.prompt, agent=who)
        self.verdict = grade(said, correction.recall.grading, KEPT.recall.grading).verdict
        self.abstains = place.say(KEPT.abstain.prompt, agent=who) == UNKNOWN
        self.twin = published_correct(place.say(extras.twin.prompt, agent=who), extras.twin.grading)
        place.say(extras.forget.prompt, agent=who)
        self.forgot = not live(place)


PERFECT: dict[str, Any] = {
    "taught": [(False, (URN,))],
    "recall": True,
    "asking": "search",
    "first": "pending",
    "corrected": [(True, (URN,))],
    "retired": "superseded",
    "verdict": "current",
    "abstains": True,
    "forgot": True,
}
NOTHING: dict[str, Any] = {"taught": [], "recall": False, "first": "", "retired": ""}
OLD, NEW = (False, (URN,)), (True, (URN,))

DIFFERENCES: dict[str, dict[str, Any]] = {
    "perfect": {},
    "searches-when-told": {"asking": "trino_query", "recall": False, "verdict": "missing"},
    "never-captures": NOTHING,
    "captures-twice": {"taught": [(False, ()), OLD], "corrected": [(False, ()), NEW], "retired": "pending"},
    "burns-budget": {**NOTHING, "teaching": BUDGET},
    "updates-in-place": {"retired": "pending"},
    "rejects-old": {"retired": "rejected"},
    "ignores-corrections": {"corrected": [OLD], "retired": "pending", "verdict": "stale"},
    "stale-answer": {"verdict": "stale"},
    "hedges": {"verdict": "hedged"},
    "never-forgets": {"forgot": False},
    "saves-its-answer": {"first": "superseded"},
    "guesses": {"abstains": False},
    "abstains": {"twin": False},
}


@pytest.mark.parametrize("script", DIFFERENCES)
def test_a_script_differs_in_one_thing(world: World, script: str) -> None:
    life = vars(Life(world, script))
    expected = {**PERFECT, **DIFFERENCES[script]}
    ignored = {"corrected", "verdict"} if expected["taught"] == [] else set()
    assert {name: life[name] for name in expected if name not in ignored} == {
        name: value for name, value in expected.items() if name not in ignored
    }


def test_the_wrong_table_is_one_that_is_not_named(world: World) -> None:
    world.say(KEPT.teach.prompt, agent=ScriptedLifecycle(script="wrong-table"))
    (one,) = world.insights()
    assert one.insight_text == KEPT.fact
    assert len(one.entity_urns) == 1
    assert URN not in one.entity_urns
    assert published_correct(world.say(KEPT.recall.prompt), KEPT.recall.grading)


def test_a_hedged_answer_names_the_new_one_first(world: World) -> None:
    extras, who = KEPT.extras, ScriptedLifecycle(script="hedges")
    assert extras is not None
    assert extras.correction is not None
    world.say(KEPT.teach.prompt, agent=who)
    world.say(extras.correction.prompt, agent=who)
    line = final_line(world.say(extras.correction.recall.prompt, agent=who))
    new, old = extras.correction.recall.grading.value, KEPT.recall.grading.value
    assert line == f"{new:g} (before it was corrected: {old:g})"


def test_a_note_is_of_its_own_class_and_on_no_dataset(world: World) -> None:
    world.say(KEPT.teach.prompt)
    world.say(KEPT.recall.prompt, agent=ScriptedLifecycle(script="saves-its-answer"))
    name, note = world.used[-1]
    assert (name, note["type"], note["entity_urns"]) == ("memory_capture", "episodic_event", [])
    assert note["content"].startswith(KEPT.fact)


def test_every_script_is_tested_and_says_what_it_moves() -> None:
    assert set(DIFFERENCES) | {"wrong-table"} == set(SCRIPTS)
    assert SCRIPTS["perfect"].behaviour == Behaviour()
    assert [name for name, script in SCRIPTS.items() if not script.moves] == ["perfect"]
    behaviours = [script.behaviour for script in SCRIPTS.values()]
    assert len(set(behaviours)) == len(behaviours)


def test_a_script_that_is_none_is_refused() -> None:
    with pytest.raises(UnknownName, match="never-captures"):
        ScriptedLifecycle(script="never-capture")


def test_it_is_an_agent_without_a_model() -> None:
    assert (ScriptedLifecycle().model, ScriptedLifecycle().accesses) == ("none", Rules.accesses)
