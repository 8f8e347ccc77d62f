"""Any model behind an interface: one reply to a dossier, or a loop over the tools and files of an arm."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Collection, Mapping

from pydantic import JsonValue

from memassay.agents.talk import Talk
from memassay.agents.toolbox import Toolbox, ToolsMissing, open_toolbox, require_mcp
from memassay.core.asking import INSTRUCTIONS, message
from memassay.core.types import ModelKind, Request, Status, Step, Usage
from memassay.models.chat import Call, Chat, ChatFailure, ChatModel, Message, Reply, Tool
from memassay.models.names import open_model
from memassay.models.prices import same_model
from memassay.models.retries import TRIES, attempts

_UNSPEAKABLE = re.compile(r"[^A-Za-z0-9_-]")


class Api:
    """A model of Anthropic, of OpenAI or at any address that speaks like them, driven by the harness itself.

    Args:
        model: its name; see :func:`memassay.models.names.open_model`.
        base_url: another address than the provider's (a gateway, vLLM, Ollama, llama.cpp).
        key_env: the name of the variable that holds the key, where it is not the usual one.
        max_tokens: longest reply of a turn, thinking included.
        temperature: None leaves it to the provider; many models refuse any other.
        effort: how hard to think, in the provider's words, or None: as the provider has it.
        tries: requests in all where the provider or the network fails; each is on record.
        request_seconds: longest wait for one reply; the limit of the whole answer is the run's.
        result_chars: a tool's result is cut after so many characters, and says so.
        scripted: whether a script answers at the address, not a model: its figures never stand beside a model's.
    """

    accesses = frozenset({"dossier", "tools", "folder"})
    retries_itself = True

    def __init__(
        self,
        *,
        model: str,
        base_url: str | None = None,
        key_env: str | None = None,
        max_tokens: int = 4096,
        temperature: float | None = None,
        effort: str | None = None,
        tries: int = TRIES,
        request_seconds: float = 120.0,
        result_chars: int = 40_000,
        scripted: bool = False,
    ) -> None:
        options = {"base_url": base_url, "key_env": key_env, "effort": effort, "scripted": scripted or None}
        self._chat_model = open_model(model, **options)
        self.model: ModelKind = self._chat_model.kind
        self._asked = model
        # A gateway may have names of its own; the provider itself must reply with the model that was asked for.
        self._named = base_url is None and self.model == "real"
        self._max_tokens, self._temperature = max_tokens, temperature
        self._tries, self._request_seconds, self._result_chars = tries, request_seconds, result_chars

    def identity(self) -> Mapping[str, JsonValue]:
        """What :meth:`memassay.models.chat.ChatModel.identity` says."""
        return self._chat_model.identity()

    def check(self, access: Collection[str]) -> None:
        """Whether it can work with an arm's access here.

        Raises:
            MissingExtra: tools need the extra ``mcp``.
        """
        if "tools" in access:
            require_mcp()

    async def prepare(self) -> None:
        """Say before anything is spent what would stop the first request, and import what takes long.

        Raises:
            EnvironmentProblem: no key, or a missing extra.
        """
        await self._chat_model.prepare()

    def price(self, usage: Usage) -> float | None:
        """US dollars by our table, or None where it lacks the model."""
        return self._chat_model.price(usage)

    async def close(self) -> None:
        """Close the connections."""
        await self._chat_model.close()

    async def answer(self, request: Request) -> Step:
        """See :class:`memassay.core.contracts.Agent`."""
        await self.prepare()
        started = time.perf_counter()
        talk = Talk(self._asked)
        asked = _Asked(self._chat_model)
        try:
            async with asyncio.timeout(request.limit_seconds) as limit:
                await self._answer(request, talk, asked)
        except TimeoutError:
            if not limit.expired():
                raise
            talk.out_of_time(request.limit_seconds, asked.failed)
        except ToolsMissing as error:
            talk.end(Status.HARNESS, str(error))
        return talk.step(time.perf_counter() - started)

    async def _answer(self, request: Request, talk: Talk, asked: _Asked) -> None:
        if request.toolset.servers or request.toolset.folder is not None:
            async with open_toolbox(request.toolset) as box:
                await self._loop(request, talk, asked, box)
        else:
            await self._loop(request, talk, asked, None)

    async def _loop(self, request: Request, talk: Talk, asked: _Asked, box: Toolbox | None) -> None:
        tools, names = _offered(box)
        messages = [Message("user", message(request))]
        while not talk.ended:
            chat = Chat(
                messages=tuple(messages),
                system=request.system or INSTRUCTIONS,
                tools=tools,
                max_tokens=self._max_tokens,
                temperature=self._temperature,
                seconds=self._request_seconds,
            )
            outcome = await attempts(asked, chat, tries=self._tries)
            talk.outcome(outcome)
            reply = outcome.reply
            if reply is None:
                return
            self._judge(request, talk, reply)
            if talk.ended:
                return
            messages.append(reply.message)
            for call in reply.calls:
                result = await self._use(call, names, box)
                talk.note("tool", id=call.id, name=call.name, arguments=dict(call.arguments), result=result)
                messages.append(Message("tool", self._cut(result), call_id=call.id))
            talk.tools.update(call.name for call in reply.calls)

    def _judge(self, request: Request, talk: Talk, reply: Reply) -> None:
        """End the talk if this reply is the last: an answer, a limit, or something that must not count."""
        named = same_model(self._asked, reply.model)
        if not named and self._named:
            talk.end(Status.HARNESS, f"asked {self._asked}, but {reply.model or 'no model'} replied")
        elif reply.stop == "refusal":
            talk.end(Status.REFUSED, "the model refused", reply.text)
        elif reply.stop == "length" and (reply.calls or not reply.text.strip()):
            talk.end(Status.HARNESS, f"the reply is longer than max_tokens={self._max_tokens}; raise it")
        elif not reply.calls:
            detail = f"cut at max_tokens={self._max_tokens}" if reply.stop == "length" else ""
            talk.end(Status.OK, detail, reply.text.strip())
        elif request.limit_turns is not None and talk.turns >= request.limit_turns:
            talk.end(Status.LIMIT_TURNS, f"no answer after {talk.turns} turns")
        elif request.limit_usd is not None and talk.cost is None:
            talk.end(Status.HARNESS, f"there is no price for {self._asked}, so the limit of money cannot be kept")
        elif request.limit_usd is not None and talk.cost is not None and talk.cost >= request.limit_usd:
            talk.end(Status.LIMIT_MONEY, f"no answer after {talk.cost:.4f} of {request.limit_usd:g} dollars")

    async def _use(self, call: Call, names: Mapping[str, str], box: Toolbox | None) -> str:
        """What a tool says, as text; it is another's text, and goes to the model as a tool's result only."""
        if box is None:
            return "There are no tools."
        if call.problem:
            return f"Error: {call.problem}."
        result = await box.call(names.get(call.name, call.name), call.arguments)
        return f"Error: {result.text}" if result.is_error else result.text

    def _cut(self, result: str) -> str:
        if len(result) <= self._result_chars:
            return result
        return f"{result[: self._result_chars]}\n[cut: {self._result_chars:,} of {len(result):,} characters]"


class _Asked:
    """A model in one answer, and how its requests failed since it last replied."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self.name, self.kind = model.name, model.kind
        self.identity, self.prepare, self.price, self.close = model.identity, model.prepare, model.price, model.close
        self.failed: list[ChatFailure] = []

    async def complete(self, chat: Chat) -> Reply:
        try:
            reply = await self._model.complete(chat)
        except ChatFailure as failure:
            self.failed.append(failure)
            raise
        self.failed.clear()
        return reply


def _offered(box: Toolbox | None) -> tuple[tuple[Tool, ...], dict[str, str]]:
    """The tools under names that providers accept, and what the toolbox calls each."""
    tools: list[Tool] = []
    names: dict[str, str] = {}
    for spec in box.tools if box is not None else ():
        name = _UNSPEAKABLE.sub("_", spec.name)
        if name in names:
            raise ToolsMissing(f"The tools {names[name]!r} and {spec.name!r} cannot be told apart by a model.")
        names[name] = spec.name
        tools.append(Tool(name, spec.description, spec.schema))
    return tuple(tools), names
