from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from memassay.agents.scripted import FAULTS, Scripted, planted
from memassay.core.contracts import Agent
from memassay.core.errors import UnknownName, UsageError
from memassay.core.registry import bind_options
from memassay.core.types import CellKey, Request, Status, Step, Usage

KINDS = ("refused", "limit-time", "limit-turns", "limit-money", "rate-limit", "api-error", "network", "harness")


def request(task: str = "q", arm: str = "a", repetition: int = 0) -> Request:
    return Request(cell=CellKey(task=task, arm=arm, repetition=repetition), prompt="?")


def say(agent: Scripted, one: Request) -> Step:
    return asyncio.run(agent.answer(one))


def write(path: Path, value: Any) -> str:
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return str(path)


# -- replies -------------------------------------------------------------------------------------------------------


def test_a_reply_is_by_task_and_arm_by_task_by_arm_or_the_default(tmp_path: Path) -> None:
    told = {"tasks": {"q1": "one", "q2": {"a": "two of a"}}, "arms": {"b": "all of b"}, "default": "else"}
    agent = Scripted(file=write(tmp_path / "replies.json", told), text="never")
    said = {(task, arm): say(agent, request(task, arm)).text for task in ("q1", "q2", "q3") for arm in ("a", "b", "c")}
    assert said == {
        ("q1", "a"): "one", ("q1", "b"): "one", ("q1", "c"): "one",
        ("q2", "a"): "two of a", ("q2", "b"): "all of b", ("q2", "c"): "else",
        ("q3", "a"): "else", ("q3", "b"): "all of b", ("q3", "c"): "else",
    }  # fmt: skip


def test_the_text_is_for_what_the_file_leaves_open(tmp_path: Path) -> None:
    agent = Scripted(file=write(tmp_path / "replies.json", {"tasks": {"q1": ""}}), text="hm")
    assert say(agent, request("q1")).text == ""
    assert say(agent, request("q2")).text == "hm"


def test_its_identity_knows_the_replies_and_not_where_they_lie(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    one, two = (Scripted(file=write(tmp_path / name, {"default": "x"})) for name in ("a.json", "b/c.json"))
    other = Scripted(file=write(tmp_path / "d.json", {"default": "y"}))
    assert one.identity() == two.identity() != other.identity()
    assert Scripted().identity() == {"version": 1, "replies": None}


def test_an_answer_costs_what_was_set() -> None:
    agent = Scripted(
        text="x", input_tokens=100, output_tokens=5, cache_read_tokens=7, cache_write_tokens=3, turns=2, tool_calls=4,
        cost_usd=0.01, reported_usd=0.02,
    )  # fmt: skip
    step = say(agent, request())
    assert step.usage == Usage(
        input=100, output=5, cache_read=7, cache_write=3, turns=2, tool_calls=4, cost_usd=0.01, reported_usd=0.02
    )
    assert json.loads(step.evidence or b"")["text"] == "x"


def test_what_it_is() -> None:
    agent = Scripted()
    assert isinstance(agent, Agent)
    assert (agent.model, agent.accesses) == ("scripted", frozenset({"dossier", "tools", "folder"}))


# -- failures ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", KINDS)
def test_a_fault_is_a_status_and_costs_only_where_it_is_no_fault_of_a_provider(fault: str) -> None:
    step = say(Scripted(text="x", faults=fault, share=1.0, input_tokens=9), request())
    expected = {"harness": Status.HARNESS}.get(fault) or Status(fault)
    assert (step.status, step.text, step.detail) == (expected, None, f"planted {fault}")
    assert step.usage.input == (0 if expected.kind in ("provider", "harness") else 9)


def test_a_crash_raises_and_a_hang_never_answers() -> None:
    with pytest.raises(RuntimeError, match="planted crash"):
        say(Scripted(faults="crash", share=1.0), request())

    async def wait() -> Step:
        async with asyncio.timeout(0.05):
            return await Scripted(faults="hang", share=1.0).answer(request())

    with pytest.raises(TimeoutError):
        asyncio.run(wait())


def test_a_fault_may_clear_on_a_later_attempt_at_the_cell() -> None:
    agent = Scripted(text="x", faults="network", share=1.0, lasts=2)
    tries = [request().model_copy(update={"attempt": attempt}) for attempt in (1, 2, 3, 4)]
    assert [say(agent, each).status for each in tries] == [Status.NETWORK, Status.NETWORK, Status.OK, Status.OK]
    lasting = Scripted(faults="network", share=1.0)
    assert {say(lasting, each).status for each in tries} == {Status.NETWORK}


def test_totals_of_4_620_answers_can_be_computed_from_the_documented_rule() -> None:
    agent = Scripted(text="x", faults=",".join(KINDS), share=0.05, seed=7, input_tokens=10, cost_usd=0.5)
    found: Counter[str] = Counter()
    tokens = 0

    async def run() -> None:
        nonlocal tokens
        for number in range(1540):
            for repetition in range(3):
                step = await agent.answer(request(f"conv/q{number}", "lexical/dossier", repetition))
                found[step.status.value] += 1
                tokens += step.usage.input

    asyncio.run(run())
    expected: Counter[str] = Counter()
    for number in range(1540):
        for repetition in range(3):
            name = f'[7,"conv/q{number}","lexical/dossier",0,{repetition}]'
            digest = hashlib.sha256(name.encode()).digest()
            fails = int.from_bytes(digest[:8], "big") / 2**64 < 0.05
            kind = KINDS[int.from_bytes(digest[8:16], "big") % len(KINDS)]
            expected[(kind if kind != "harness" else "harness-error") if fails else "ok"] += 1
    assert found == expected
    failed = 4620 - found["ok"]
    assert 180 < failed < 280 and len(found) == 9
    free = sum(found[kind] for kind in ("rate-limit", "api-error", "network", "harness-error"))
    assert tokens == 10 * (4620 - free)


def test_nothing_is_planted_at_a_share_of_0_and_everything_at_1() -> None:
    cells = [CellKey(task=f"q{n}", arm="a") for n in range(200)]
    assert {planted(cell, FAULTS, 0.0, 0) for cell in cells} == {""}
    assert {planted(cell, FAULTS, 1.0, 0) for cell in cells} == set(FAULTS)
    assert {planted(cell, (), 1.0, 0) for cell in cells} == {""}


# -- mistakes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"faults": "netwrok"}, UnknownName, "network"),
        ({"faults": "network", "share": 1.5}, UsageError, "between 0 and 1"),
        ({"share": 0.1}, UsageError, "name some with"),
        ({"file": "nowhere.json"}, UsageError, "cannot be read"),
    ],
)
def test_mistakes_are_one_sentence(settings: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        Scripted(**settings)


@pytest.mark.parametrize(
    ("content", "words"),
    [("{", "no JSON"), ({"task": {}}, "'task'"), ({"arms": {"a": 1}}, "'arms.a'"), (["x"], "Input should be")],
)
def test_a_file_of_replies_that_is_none(tmp_path: Path, content: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Scripted(file=write(tmp_path / "replies.json", content))


def test_settings_from_a_command_line_are_converted() -> None:
    bound = bind_options(Scripted, {"share": "0.05", "faults": "network", "cost_usd": "0.1"}, "agent 'scripted'")
    assert (bound["share"], bound["cost_usd"], bound["reported_usd"]) == (0.05, 0.1, None)
