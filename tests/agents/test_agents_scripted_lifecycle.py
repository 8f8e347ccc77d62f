"""The agent ``scripted-lifecycle``: each script differs from the rules in one thing that its tools see."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents_lifecycle import CALLS, PROTOCOLS, World, ledger_of, urn_of

from memassay.agents.rules import SCRIPTS, UNKNOWN, Rules
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
    "lists-instead": {"asking": "memory_manage"},
    "searches-when-told": {"asking": "trino_query", "recall": False, "verdict": "missing"},
    "never-captures": NOTHING,
    "captures-twice": {"taught": [(False, ()), OLD], "corrected": [(False, ()), NEW], "retired": "pending"},
    "burns-budget": {**NOTHING, "teaching": CALLS + 2},  # a search and the capture are refused
    "updates-in-place": {"retired": "pending"},
    "rejects-old": {"retired": "rejected"},
    "ignores-corrections": {"corrected": [OLD], "retired": "pending", "verdict": "stale"},
    "stale-answer": {"verdict": "stale"},
    "hedges": {"verdict": "hedged"},
    "never-forgets": {"forgot": False},
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


def test_a_name_is_hedged_by_the_other_script(world: World) -> None:
    named = next(one for one in PROTOCOLS if one.update and one.recall.grading.kind == "entity")
    assert named.update is not None
    who, hedger = ScriptedLifecycle(script="hedges"), ScriptedLifecycle(script="hedges-names")
    world.say(named.teach.prompt, agent=who)
    world.say(named.update.prompt, agent=who)
    new, old = named.update.recall.grading.aliases[0], named.recall.grading.aliases[0]
    assert final_line(world.say(named.update.recall.prompt, agent=who)) == new
    said = world.say(named.update.recall.prompt, agent=hedger)
    assert final_line(said) == f"{new} (before it was corrected: {old})"
    assert not published_correct(said, named.update.recall.grading)
    world.say(KEPT.teach.prompt)
    assert "before" not in world.say(KEPT.recall.prompt, agent=hedger)


def test_who_lists_searches_where_the_list_is_empty(world: World) -> None:
    who = ScriptedLifecycle(script="lists-instead")
    world.say(KEPT.teach.prompt)
    assert published_correct(world.say(KEPT.recall.prompt, agent=who), KEPT.recall.grading)
    assert "search" not in world.tools
    assert world.say(KEPT.recall.prompt, world.learner, who) == UNKNOWN
    assert world.tools[:2] == ["memory_manage", "search"]


def noted(place: World) -> str | None:
    """The note that the last session left, if it left one: of its own class, and on no dataset."""
    name, note = place.used[-1]
    if name != "memory_capture":
        return None
    assert (note["type"], note["entity_urns"]) == ("episodic_event", [])
    return str(note["content"])


def test_an_answer_is_noted_with_its_question_and_without_the_fact(world: World) -> None:
    world.say(KEPT.teach.prompt)
    said = world.say(KEPT.recall.prompt, agent=ScriptedLifecycle(script="saves-its-answer"))
    note = noted(world)
    assert note is not None
    assert note.startswith(f"{KEPT.recall.prompt} The answer was {final_line(said)}. SQL: SELECT ")
    assert KEPT.fact not in note


def test_a_definition_is_noted_once_it_is_corrected(world: World) -> None:
    extras, who = KEPT.extras, ScriptedLifecycle(script="notes-corrections")
    assert extras is not None
    assert extras.correction is not None
    world.say(KEPT.teach.prompt, agent=who)
    world.say(KEPT.recall.prompt, agent=who)
    assert noted(world) is None
    world.say(extras.correction.prompt, agent=who)
    said = world.say(extras.correction.recall.prompt, agent=who)
    assert noted(world) == f"{extras.correction.fact} The answer was {final_line(said)}."


def test_every_script_is_tested_and_says_what_it_moves() -> None:
    apart = {"wrong-table", "hedges-names", "saves-its-answer", "notes-corrections"}
    assert set(DIFFERENCES) | apart == set(SCRIPTS)
    assert SCRIPTS["perfect"].behaviour == Behaviour()
    assert [name for name, script in SCRIPTS.items() if not script.moves] == ["perfect"]
    behaviours = [script.behaviour for script in SCRIPTS.values()]
    assert len(set(behaviours)) == len(behaviours)


def test_a_script_that_is_none_is_refused() -> None:
    with pytest.raises(UnknownName, match="never-captures"):
        ScriptedLifecycle(script="never-capture")


def test_it_is_an_agent_without_a_model() -> None:
    assert (ScriptedLifecycle().model, ScriptedLifecycle().accesses) == ("none", Rules.accesses)
