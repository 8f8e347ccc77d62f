"""Asking a model for one JSON object: one more try where it cannot be read, and everything that came back on record."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from memassay.core.digest import canonical_json, digest_text
from memassay.core.types import ModelKind, Usage
from memassay.judging.prompts import AGAIN
from memassay.judging.verdicts import spent
from memassay.models.access import Access
from memassay.models.chat import Chat, ChatModel, Message, Reply
from memassay.models.prices import same_model
from memassay.models.retries import attempts

_READINGS = 2  # a reply that cannot be read is asked for once more
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 80
# What may stand before a model's name without being a part of it.
PROVIDERS = ("anthropic", "openai", "local", "scripted")

Found = TypeVar("Found")
Shape = TypeVar("Shape", bound="ReplyShape")


class Unreadable(ValueError):
    """A reply that is no verdict; ``str()`` says why, in words that the model gets to read."""


class ReplyShape(BaseModel):
    """Base of what a reply must be: exactly these keys, of exactly these types."""

    model_config = ConfigDict(extra="forbid", strict=True)


@dataclass(frozen=True, slots=True)
class Asked(Generic[Found]):
    """How asking ended.

    Attributes:
        found: what was read, or None.
        problem: why there is nothing, or "".
        raw: every failed attempt and every reply, as JSON.
        usage: of all of them.
        replied: at an address of the user's own: the name of the model that replied, where it is another than asked.
    """

    found: Found | None
    problem: str
    raw: str
    usage: Usage
    replied: str = ""


class Asking:
    """Base of a judge that asks a model.

    Attributes:
        model: what speaks.

    Args:
        model: who is asked; see ``memassay.models.names.open_model``.
        system: what it is told first.
        schema: of its reply.
        temperature: of the model, or None to leave it to the provider.
        max_tokens: longest reply.
        seconds: longest wait for one request.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        system: str,
        schema: Mapping[str, JsonValue],
        temperature: float | None,
        max_tokens: int,
        seconds: float,
    ) -> None:
        self.model: ModelKind = model.kind
        self._model, self._system, self._schema = model, system, schema
        self._temperature, self._max_tokens, self._seconds = temperature, max_tokens, seconds
        # A gateway may have names of its own; the provider itself must reply with the model that was asked for.
        access = getattr(model, "access", None)
        self._remote = isinstance(access, Access)
        self._named = isinstance(access, Access) and access.base_url is None and model.kind == "real"

    @property
    def asking(self) -> dict[str, JsonValue]:
        """Who is asked and how, for the judge's manifest."""
        return {
            "model": dict(self._model.identity()),
            "temperature": self._temperature,
            "max_tokens": self._max_tokens,
        }

    def price(self, usage: Usage) -> float | None:
        """US dollars for that many tokens of the model, or None where the price is not known."""
        return self._model.price(usage)

    async def prepare(self) -> None:
        """See that the model can be asked; nothing is asked yet.

        Raises:
            EnvironmentProblem: a package or a key is missing, in one sentence.
        """
        await self._model.prepare()

    async def close(self) -> None:
        """Let go of the model."""
        await self._model.close()

    def chat(self, *messages: Message) -> Chat:
        """A request of this judge."""
        return Chat(
            messages=messages,
            system=self._system,
            schema=self._schema,
            max_tokens=self._max_tokens,
            temperature=self._temperature,
            seconds=self._seconds,
        )

    async def ask(self, question: str, read: Callable[[Reply], Found]) -> Asked[Found]:
        """What the model says.

        Nothing is found where the provider fails, where it lets another model reply, and where a reply cannot be read
        twice.

        Args:
            question: the message.
            read: makes something of a reply, or raises ``Unreadable``.

        Raises:
            UsageError, EnvironmentProblem: the model cannot be asked from here.
        """
        raw: list[JsonValue] = []
        usages: list[Usage] = []
        messages = [Message("user", question)]
        problem = ""
        for _ in range(_READINGS):
            outcome = await attempts(self._model, self.chat(*messages))
            raw += [attempt.record() for attempt in outcome.failed]
            if outcome.reply is None:
                last = outcome.failed[-1].failure
                problem = f"{last.status}: {last.detail}"
                break
            reply = outcome.reply
            raw.append(_record(reply))
            usages.append(reply.usage)
            another = self._remote and not same_model(self._model.name, reply.model)
            if another and self._named:
                problem = f"asked {self._model.name}, but {reply.model or 'no model'} replied"
                break
            try:
                found = read(reply)
            except Unreadable as error:
                problem = f"unreadable: {error}"
                messages += [reply.message, Message("user", AGAIN.replace("{reason}", str(error)))]
                continue
            return Asked(found, "", canonical_json(raw), spent(usages), reply.model if another else "")
        return Asked(None, problem, canonical_json(raw), spent(usages))


def parsed(reply: Reply, shape: type[Shape]) -> Shape:
    """A reply that is one JSON object of the shape.

    Raises:
        Unreadable: it is anything else, with the reason.
    """
    if reply.stop in ("refusal", "length"):
        raise Unreadable("it was refused" if reply.stop == "refusal" else "it was cut off at its longest length")
    try:
        return shape.model_validate(json.loads(reply.text, object_pairs_hook=_once))
    except ValidationError as error:
        first = error.errors()[0]
        raise Unreadable(f"{'.'.join(map(str, first['loc'])) or 'the whole'}: {first['msg'].lower()}") from error
    except (ValueError, RecursionError) as error:
        raise Unreadable("it is no JSON object") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key stands there twice")
    return dict(pairs)


def _record(reply: Reply) -> dict[str, JsonValue]:
    notes: list[JsonValue] = [*reply.notes]
    return {"model": reply.model, "stop": reply.stop, "text": reply.text, "notes": notes, "response": reply.response}


def file_name(model: str) -> str:
    """A model's name as a part of a file's name: what stands after the last slash, in safe letters.

    Where that says less than the name did (an owner, a tag after a colon), six digits of its digest follow.
    """
    owner, _, last = model.rstrip("/").rpartition("/")
    safe = _UNSAFE.sub("-", last).strip(".-")[:_LONGEST_NAME] or "model"
    whole = safe == last and owner in ("", *PROVIDERS)
    return safe if whole else f"{safe}-{digest_text(model)[:6]}"
