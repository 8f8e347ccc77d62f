"""A small real model on this machine: the whole path without a key and without a network."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from pydantic import JsonValue

from memassay.agents.talk import Talk
from memassay.core.asking import INSTRUCTIONS, message
from memassay.core.types import Check, ModelKind, Request, Status, Step, Usage
from memassay.models.chat import Chat, Message
from memassay.models.local import LocalModel
from memassay.models.retries import attempts


class Local:
    """A model from a file, by llama.cpp. The one of the extra ``local`` proves the path; it is no good reader.

    Args:
        path: a GGUF file with a chat template, or None: the one of the extra.
        context: tokens that the model reads and writes in all; a longer dossier is cut from its end.
        threads: of the processor; more than are free make it slower by far.
        max_tokens: longest answer.
    """

    model: ModelKind = "real"
    accesses = frozenset({"dossier"})

    def __init__(self, *, path: str | None = None, context: int = 2048, threads: int = 1, max_tokens: int = 64) -> None:
        self._model = LocalModel(path, context=context, threads=threads)
        self._max_tokens = max_tokens
        self._turn: asyncio.Lock | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def identity(self) -> Mapping[str, JsonValue]:
        """File, digest, runner, context."""
        return self._model.identity()

    async def prepare(self) -> None:
        """Read the weights, off the clock of an answer.

        Raises:
            EnvironmentProblem: the extra ``local`` is missing.
            DataError: the file is no model to talk to.
        """
        await self._model.prepare()

    def price(self, usage: Usage) -> float | None:
        """Nothing."""
        return self._model.price(usage)

    async def close(self) -> None:
        """Let go of the weights."""
        await self._model.close()

    async def answer(self, request: Request) -> Step:
        """See :class:`memassay.core.contracts.Agent`."""
        await self.prepare()
        # There is one engine. Waiting for it is no part of the time that an answer takes.
        async with self._alone():
            return await self._answer(request)

    def _alone(self) -> asyncio.Lock:
        loop = asyncio.get_running_loop()
        if self._turn is None or self._loop is not loop:
            self._turn, self._loop = asyncio.Lock(), loop
        return self._turn

    async def _answer(self, request: Request) -> Step:
        started = time.perf_counter()
        talk = Talk(self._model.name)
        try:
            async with asyncio.timeout(request.limit_seconds) as limit:
                shorter = await asyncio.to_thread(self._fitting, request)
                outcome = await attempts(self._model, self._chat(shorter), tries=1)
        except TimeoutError:
            if not limit.expired():
                raise
            talk.end(Status.LIMIT_TIME, f"no answer after {request.limit_seconds:g} s")
        else:
            talk.outcome(outcome)
            if outcome.reply is not None:
                talk.end(Status.OK, self._cut(request, shorter, talk), outcome.reply.text)
        return talk.step(time.perf_counter() - started)

    def _chat(self, request: Request) -> Chat:
        return Chat(
            messages=(Message("user", message(request)),),
            system=request.system or INSTRUCTIONS,
            max_tokens=self._max_tokens,
            temperature=0.0,
            seconds=request.limit_seconds,
        )

    def _fitting(self, request: Request) -> Request:
        """The request, its dossier cut from the end to whole lines as far as the model can read it."""
        dossier = request.dossier or ""
        if not dossier or self._model.room(self._chat(request)) >= 0:
            return request
        fits, too_long = 0, len(dossier)
        while too_long - fits > 1:
            middle = (fits + too_long) // 2
            if self._model.room(self._chat(_with(request, dossier[:middle]))) >= 0:
                fits = middle
            else:
                too_long = middle
        lines = dossier[:fits].rpartition("\n")[0]
        return _with(request, lines or dossier[:fits])

    def _cut(self, request: Request, shorter: Request, talk: Talk) -> str:
        whole, kept = len(request.dossier or ""), len(shorter.dossier or "")
        talk.checks.append(Check(name="dossier read", passed=whole == kept, expected=whole, observed=kept))
        if whole == kept:
            return ""
        return f"read {kept:,} of {whole:,} characters of the dossier: the model has {self._model.context:,} tokens"


def _with(request: Request, dossier: str) -> Request:
    return request.model_copy(update={"dossier": dossier})
