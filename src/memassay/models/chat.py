"""What is said to a language model and what comes back, the same for every provider.

A model is anything with the members of :class:`ChatModel`. One call is one request on the wire: nothing is retried,
cached or replaced by another model behind the caller's back (:mod:`memassay.models.retries` tries again, on record).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from pydantic import JsonValue

from memassay.core.types import ModelKind, Status, Usage

Stop = Literal["end", "tools", "length", "refusal"]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the model may call; ``schema`` is the JSON schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call as the model made it.

    Attributes:
        id: names the call; the answer carries the same.
        problem: why the arguments cannot be read, or ""; ``arguments`` is empty then.
    """

    id: str
    name: str
    arguments: Mapping[str, JsonValue]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    Attributes:
        calls: the tool calls of an ``assistant`` message; each must be answered by a ``tool`` message.
        call_id: of a ``tool`` message: the call that it answers.
        native: of an ``assistant`` message: its content as the provider sent it, given back unchanged (a provider may
            refuse a conversation that lacks what it signed). See :attr:`Reply.message`.
    """

    role: Literal["user", "assistant", "tool"]
    text: str = ""
    calls: tuple[Call, ...] = ()
    call_id: str = ""
    native: JsonValue = None


@dataclass(frozen=True, slots=True)
class Chat:
    """One request.

    Attributes:
        schema: a JSON schema (an object without further properties) that the reply's text must follow, or None.
        max_tokens: longest reply, thinking included.
        temperature: None leaves it to the provider; some models refuse any other.
        seconds: longest wait for this one request.
    """

    messages: tuple[Message, ...]
    system: str = ""
    tools: tuple[Tool, ...] = ()
    schema: Mapping[str, JsonValue] | None = None
    max_tokens: int = 1024
    temperature: float | None = None
    seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back.

    Attributes:
        text: the model's words; thinking is not part of them.
        usage: the four kinds of tokens; ``cost_usd`` by our table, or None where it lacks the model.
        stop: why it ended; ``tools`` where it waits for the answers to ``calls``.
        model: the model as the provider names it.
        request, response: what went over the wire, without any key; they become evidence.
        notes: what was done to fit the request to the model (a context that was cut), one line each.
    """

    text: str
    calls: tuple[Call, ...] = ()
    usage: Usage = field(default_factory=Usage)
    stop: Stop = "end"
    model: str = ""
    request: JsonValue = None
    response: JsonValue = None
    native: JsonValue = None
    notes: tuple[str, ...] = ()

    @property
    def message(self) -> Message:
        """The reply as the message to continue the conversation with."""
        return Message("assistant", self.text, self.calls, native=self.native)


class ChatFailure(Exception):
    """A request that gave no reply.

    Args:
        status: ``RATE_LIMIT``, ``API_ERROR``, ``NETWORK``; or ``HARNESS``: as it is set here, it cannot be answered.
        detail: one line, without any key.
        code: the HTTP status, or None.
        retry_after: seconds that the provider asks to wait, or None.
        permanent: asking again is of no use (a wrong key, an unknown model, a request that is refused as such).
        request, response: what went over the wire, for the evidence.
    """

    def __init__(
        self,
        status: Status,
        detail: str,
        *,
        code: int | None = None,
        retry_after: float | None = None,
        permanent: bool = False,
        request: JsonValue = None,
        response: JsonValue = None,
    ) -> None:
        self.status, self.detail, self.code = status, detail, code
        self.retry_after, self.permanent = retry_after, permanent
        self.request, self.response = request, response
        super().__init__(detail)


class ChatModel(Protocol):
    """A language model.

    Attributes:
        name: as it was asked for.
        kind: ``real``, or ``scripted`` for a stand-in.
    """

    name: str
    kind: ModelKind

    def identity(self) -> Mapping[str, JsonValue]:
        """What can change a reply or its price: provider, model, address without credentials, package, price table."""
        ...

    async def prepare(self) -> None:
        """Do what takes long once, off the clock of an answer: import a package, read weights.

        Raises:
            EnvironmentProblem: it cannot be asked from here (no key, a missing extra), with the fix.
        """
        ...

    async def complete(self, chat: Chat) -> Reply:
        """Send one request and wait for its reply.

        Raises:
            ChatFailure: the provider or the network failed.
            UsageError: the model cannot do what the request needs (tools, a schema), with the fix.
            EnvironmentProblem: see :meth:`prepare`, which it calls where nobody else did.
        """
        ...

    def price(self, usage: Usage) -> float | None:
        """US dollars for that many tokens by our table, or None where the price is not known."""
        ...

    async def close(self) -> None:
        """Let go of connections or weights; the model can be asked again after it."""
        ...
