"""Cells to judge, and a model that says what it is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from memassay.core.contracts import Cell
from memassay.core.types import Answer, CellKey, Gold, ModelKind, Status, Step, Task, Usage
from memassay.models.chat import Chat, ChatFailure, Reply


def cell(
    said: str | None,
    gold: str | None = "Oslo",
    *,
    status: Status = Status.OK,
    category: str = "single-hop",
    prompt: str = "Where does Ada live?",
    model: ModelKind = "none",
    **keys: Gold,
) -> Cell:
    """One cell; ``keys`` are further golds, with ``_`` for ``-``."""
    golds = {"original": Gold(answer=gold)} | {name.replace("_", "-"): value for name, value in keys.items()}
    task = Task(id="q", suite="s", scope="c", cluster="c", category=category, prompt=prompt, gold=golds)
    steps = (Step(name="retrieve"), Step(name="answer", status=status, text=said))
    answer = Answer(cell=CellKey(task="q", arm="a"), attempt=2, status=status, model=model, steps=steps)
    return Cell(task=task, answer=answer, dossier=None)


class Says:
    """Gives its replies in turn, and keeps what it was asked."""

    def __init__(self, *replies: Reply | ChatFailure | str, name: str = "says", kind: ModelKind = "scripted") -> None:
        self.name, self.kind = name, kind
        self.asked: list[Chat] = []
        self._replies = list(replies)

    def identity(self) -> Mapping[str, JsonValue]:
        return {"provider": "test", "model": self.name}

    async def complete(self, chat: Chat) -> Reply:
        self.asked.append(chat)
        reply = self._replies.pop(0)
        if isinstance(reply, ChatFailure):
            raise reply
        used = Usage(input=100, output=10, cost_usd=0.5, turns=1)
        return Reply(text=reply, usage=used, response={"raw": reply}) if isinstance(reply, str) else reply

    def price(self, usage: Usage) -> float | None:
        return usage.input / 1000

    async def close(self) -> None:
        self._replies = []


def texts(chat: Chat) -> Sequence[str]:
    return [message.text for message in chat.messages]
