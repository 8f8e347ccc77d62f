"""A stand-in that says what a file tells it to, for tests and demonstrations: never a model.

The file holds ``{"replies": [...]}``. A request gets the first reply that fits it, so that the same request gets the
same reply in every process::

    {"when": "Oslo", "turn": 0, "text": "…", "calls": [{"name": "search", "arguments": {}}],
     "usage": {"input": 100, "output": 5}, "stop": "refusal", "fault": "rate-limit", "code": 429}

``when`` stands somewhere in the request, ``turn`` is how many replies the conversation already has; both may be left
out. ``fault`` is the status of a failure instead of a reply.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import JsonValue, ValidationError

from memassay.core.digest import digest_file
from memassay.core.errors import DataError, UsageError
from memassay.core.types import Frozen, ModelKind, Status, Usage
from memassay.models.chat import Call, Chat, ChatFailure, Reply, Stop


class _Use(Frozen):
    name: str
    arguments: Mapping[str, JsonValue] = {}


class _Line(Frozen):
    when: str = ""
    turn: int | None = None
    text: str = ""
    calls: tuple[_Use, ...] = ()
    usage: Usage = Usage()
    stop: Stop | None = None
    fault: Literal["rate-limit", "api-error", "network"] | None = None
    code: int | None = None


class _Script(Frozen):
    replies: tuple[_Line, ...]


class ScriptedModel:
    """Replies from a file.

    Args:
        path: the file.

    Raises:
        DataError: it is not there, or not what it should be.
    """

    kind: ModelKind = "scripted"

    def __init__(self, path: Path) -> None:
        self.name = f"scripted/{path.name}"
        try:
            self._script = _Script.model_validate_json(path.read_bytes())
        except OSError as error:
            raise DataError(f"The script {path} cannot be read: {error.strerror}.") from error
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the file"
            raise DataError(f"The script {path} is not what it should be: {where}: {first['msg']}.") from error
        self._digest = digest_file(path)

    def identity(self) -> Mapping[str, JsonValue]:
        """See :class:`memassay.models.chat.ChatModel`."""
        return {"provider": "scripted", "model": self.name, "file": f"sha256:{self._digest}"}

    async def prepare(self) -> None:
        """Nothing takes long."""

    async def complete(self, chat: Chat) -> Reply:
        """See :class:`memassay.models.chat.ChatModel`."""
        said = "\n".join([chat.system, *(message.text for message in chat.messages)])
        turn = sum(message.role == "assistant" for message in chat.messages)
        line = next((r for r in self._script.replies if r.when in said and r.turn in (None, turn)), None)
        if line is None:
            raise UsageError(
                f"{self.name} has no reply for turn {turn} of {said[-80:]!r}; add one without a condition."
            )
        if line.fault is not None:
            raise ChatFailure(Status(line.fault), line.text or "a planted failure", code=line.code)
        calls = tuple(Call(f"call_{turn}_{n}", use.name, use.arguments) for n, use in enumerate(line.calls))
        return Reply(
            text=line.text,
            calls=calls,
            usage=line.usage.model_copy(update={"turns": 1}),
            stop=line.stop or ("tools" if calls else "end"),
            model=self.name,
            request={"system": chat.system, "messages": [{"role": m.role, "text": m.text} for m in chat.messages]},
            response=line.model_dump(mode="json", exclude_defaults=True),
        )

    def price(self, usage: Usage) -> float | None:
        """The most that a reply of the file costs, or None where none says; what one did cost is in its usage."""
        costs = [line.usage.cost_usd for line in self._script.replies if line.usage.cost_usd is not None]
        return max(costs) if costs else None

    async def close(self) -> None:
        """Nothing is open."""
