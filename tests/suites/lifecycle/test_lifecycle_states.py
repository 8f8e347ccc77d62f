from __future__ import annotations

import json
from typing import Any

import pytest
from lifecycle_protocols import TRANSFER, UPDATE, protocol

from memassay.core.taught import MemoryRecord, ToolCall
from memassay.suites.lifecycle.attribution import Facts
from memassay.suites.lifecycle.states import GivenWay, Labels, given_way, new_on, retired, states, supersedes

FACTS = Facts.of(protocol(UPDATE, fact="the first"))
NONE = Labels({}, {})


def record(name: str, text: str = "words", **more: Any) -> MemoryRecord:
    return MemoryRecord(id=name, text=text, **{"status": "pending", "live": True, "entities": ("e",), **more})


def call(tool: str, arguments: dict[str, Any], said: dict[str, Any], **more: Any) -> ToolCall:
    return ToolCall(session="s", identity="i", tool=tool, arguments=arguments, result=json.dumps(said), **more)


def test_a_record_is_what_it_says_or_else_what_was_told() -> None:
    given = [
        record("a", "In other words"),
        record("b", "It is THE FIRST."),
        record("c", UPDATE["update"]["fact"]),
        record("d", "a note", entities=()),
    ]
    assert NONE.seen(given, FACTS, "taught").of == {"a": "taught", "b": "taught", "c": "corrected", "d": "other"}
    assert NONE.seen(given, FACTS, "other").of == {"a": "other", "b": "taught", "c": "corrected", "d": "other"}
    both = record("e", f"the first; no: {UPDATE['update']['fact']}")
    assert NONE.seen([both], FACTS, "other").of["e"] == "corrected"


def test_a_record_that_is_changed_says_what_was_told_then() -> None:
    first = NONE.seen([record("a"), record("b")], FACTS, "taught")
    after = first.seen([record("a", "changed"), record("b")], FACTS, "corrected")
    assert after.of == {"a": "corrected", "b": "taught"}
    assert after.seen([record("a", "changed"), record("b", "noted")], FACTS, "other").of == after.of


def test_what_is_new() -> None:
    before, after = [record("a")], [record("a"), record("b", entities=("f",)), record("c")]
    assert [one.id for one in new_on(before, after)] == ["b", "c"]
    assert [one.id for one in new_on(before, after, "e")] == ["c"]


@pytest.mark.parametrize(
    ("now", "route"),
    [
        ({}, None),
        ({"text": "other words"}, "update"),
        ({"live": False, "status": "superseded", "superseded_by": "b", "score": 0.93}, "supersede"),
        ({"live": False, "status": "superseded", "superseded_by": "b", "retired_by": "consolidate"}, "consolidate"),
        ({"live": False, "status": "superseded"}, "supersede"),
        ({"live": False, "status": "rejected", "retired_by": "forget"}, "forget"),
        ({"live": False, "status": "rejected"}, "reject"),
        ({"live": False, "status": "archived"}, "forget"),
    ],
)
def test_how_a_record_went(now: dict[str, Any], route: str | None) -> None:
    assert retired("a", [record("a")], [record("a", **now)], {}) == route


def test_how_a_record_went_by_what_a_tool_said() -> None:
    told = given_way(
        [
            call("memory_capture", {"type": "x"}, {"id": "n", "superseded_ids": ["a", "b"]}),
            call("memory_manage", {"command": "consolidate", "id": "k", "duplicate_id": "c"}, {}),
            call("memory_manage", {"command": "list"}, {}),
            call("memory_capture", {}, {"id": "m", "superseded_ids": ["d"]}, sent=False),
            call("memory_capture", {}, {"id": "m", "superseded_ids": ["d"]}, error=True),
        ]
    )
    assert told == {
        "a": GivenWay("n", "supersede"), "b": GivenWay("n", "supersede"), "c": GivenWay("k", "consolidate"),
    }  # fmt: skip
    gone = {"live": False, "status": "superseded"}
    assert retired("c", [record("c")], [record("c", **gone)], told) == "consolidate"
    assert retired("a", [record("a")], [record("a", **gone)], told) == "supersede"
    labels = Labels({"n": "corrected", "a": "taught"}, {})
    both = [record("a", **gone), record("n", kind="k"), record("e", **gone)]
    known, unknown = supersedes([record("a"), record("e")], both, labels, told)
    assert (known.source, known.same_fact, known.score) == ("n", True, None)
    assert (unknown.source, unknown.same_fact, unknown.same_class) == ("", None, None), "nobody can tell"


def test_a_record_that_is_not_there_any_more_was_forgotten() -> None:
    assert retired("a", [record("a")], [], {}) == "forget"
    assert retired("a", [], [], {}) is None


def test_what_took_the_place_of_what() -> None:
    labels = Labels({"t": "taught", "c": "corrected", "i": "interference.1", "j": "interference.2", "o": "other"}, {})

    def pair(source: str, target: str, **more: Any) -> Any:
        gone = record(target, live=False, superseded_by=source, score=0.91, kind="k")
        made = [] if source in ("nobody", target) else [record(source, **{"kind": "k", **more})]
        [found] = supersedes([record(target)], [gone, *made], labels, {})
        assert (found.source, found.target, found.score) == (source, target, 0.91)
        return found.same_fact, found.same_class

    assert pair("c", "t") == (True, True)
    assert pair("o", "t", kind="note") == (False, False)
    assert pair("j", "i") == (False, True)
    assert pair("o", "x") == (None, True)
    assert pair("nobody", "t") == (False, None)
    assert pair("c", "t", kind="") == (True, None)
    old = record("t", live=False, superseded_by="c")
    assert supersedes([old], [old], labels, {}) == (), "it had given way before"


def test_states_of_an_episode() -> None:
    [found] = states([record("a", owner="o", status="applied")], Labels({"a": "interference.1"}, {}))
    assert (found.fact, found.owner, found.status, found.entities) == ("interference", "o", "applied", ("e",))
    assert states([record("z")], NONE)[0].fact == "other"
    assert protocol(TRANSFER).id
