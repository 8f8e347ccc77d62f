"""Agents as they are set, their requests sent to a scripted server on this machine instead of a model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from pydantic import JsonValue

from memassay.agents.api import Api
from memassay.agents.claude_code.agent import ClaudeCode
from memassay.agents.claude_code.launch import Offer
from memassay.agents.claude_code.loopback import MessagesServer, Turn
from memassay.agents.claude_code.probe import Probe, request_bodies
from memassay.agents.toolbox.files import file_tools
from memassay.core.errors import CannotMeasure
from memassay.core.types import Request
from memassay.models.anthropic import AnthropicModel
from memassay.models.names import open_model
from memassay.models.openai import OpenAIModel
from memassay.running.doctor.credentials import SECRET

# The name of a variable that nobody sets: a probe has no key.
_NO_KEY = "MEMASSAY_NO_KEY"
_NOWHERE = "http://127.0.0.1:9"
_UNSPEAKABLE = re.compile(r"[^A-Za-z0-9_-]")


class Sender(Protocol):
    """Sends the request of an arm.

    Attributes:
        reads_files: whether the client might read files by itself, so that sentinels are planted around its cells.
        answered: whether the scripted server answers it, so that what it makes of the answer can be looked at.
    """

    reads_files: bool
    answered: bool

    async def prepare(self) -> None:
        """Say what is missing to send anything.

        Raises:
            EnvironmentProblem: the program, or a package.
        """
        ...

    async def send(self, request: Request) -> Probe:
        """What was sent, and what the agent made of the answer."""
        ...

    def tools(self, request: Request) -> frozenset[str] | None:
        """The tools that the arm gives, as the client names them; None means whatever its servers have."""
        ...


def sender_of(agent: str, options: Mapping[str, JsonValue]) -> Sender:
    """The sender for an agent and its settings.

    Raises:
        CannotMeasure: it sends no request over HTTP that could be looked at.
    """
    if agent == "claude-code":
        return _Claude(options)
    if agent != "api":
        raise CannotMeasure(f"the agent {agent!r} sends no request that could be looked at")
    model = open_model(str(options["model"]))
    if isinstance(model, AnthropicModel | OpenAIModel):
        return _Model(options, is_anthropic=isinstance(model, AnthropicModel))
    raise CannotMeasure(f"the model {model.name!r} is asked without a request over HTTP")


class _Claude:
    reads_files = answered = True

    def __init__(self, options: Mapping[str, JsonValue]) -> None:
        handed = options.get("pass_env")
        names = [str(name) for name in handed] if isinstance(handed, list | tuple) else []
        # A proxy is no way to this machine, and nothing on it needs a credential.
        kept = tuple(name for name in names if not SECRET.search(name) and "PROXY" not in name.upper())
        self._options: dict[str, Any] = {**options, "pass_env": kept}

    async def prepare(self) -> None:
        await ClaudeCode(**{**self._options, "base_url": _NOWHERE, "key_env": _NO_KEY}).prepare()

    async def send(self, request: Request) -> Probe:
        return (await request_bodies({request.cell.arm: request}, **self._options))[request.cell.arm]

    def tools(self, request: Request) -> frozenset[str] | None:
        offer = Offer.of(request, shell=bool(self._options.get("shell")))
        if not all(offer.servers.values()):
            return None
        return frozenset((*offer.builtin, *(tool for tools in offer.servers.values() for tool in tools)))


class _Model:
    reads_files = False

    def __init__(self, options: Mapping[str, JsonValue], *, is_anthropic: bool) -> None:
        self._options: dict[str, Any] = {**options, "key_env": _NO_KEY, "scripted": True, "tries": 1}
        self._path = "" if is_anthropic else "/v1"
        # The server speaks as Anthropic does; what another client asks is read, and refused.
        self.answered = is_anthropic

    async def prepare(self) -> None:
        await Api(**{**self._options, "base_url": _NOWHERE}).prepare()

    async def send(self, request: Request) -> Probe:
        with MessagesServer([Turn("Yes.")]) as server:
            agent = Api(**{**self._options, "base_url": f"{server.url}{self._path}"})
            try:
                step = await agent.answer(request)
            finally:
                await agent.close()
            sent = [received.body for received in server.requests if received.method == "POST"]
        return Probe(step, next(iter(sent), None))

    def tools(self, request: Request) -> frozenset[str] | None:
        servers, folder = request.toolset.servers, request.toolset.folder
        if not all(server.tools for server in servers):
            return None
        files = [spec.name for spec, _ in file_tools(Path(folder))] if folder is not None else []
        named = [_UNSPEAKABLE.sub("_", tool) for server in servers for tool in server.tools]
        return frozenset((*named, *files))
