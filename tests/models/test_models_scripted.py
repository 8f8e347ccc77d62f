"""The stand-in says what its file tells it to."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from memassay.core.errors import DataError, UsageError
from memassay.core.types import Status
from memassay.models.chat import Call, Chat, ChatFailure, Message, Reply
from memassay.models.names import open_model


def model(tmp_path: Path, *replies: Any) -> Any:
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"replies": replies}), encoding="utf-8")
    return open_model(f"scripted/{path}")


def ask(model: Any, *messages: Message, system: str = "") -> Reply:
    reply: Reply = asyncio.run(model.complete(Chat(messages, system=system)))
    return reply


def test_the_first_reply_that_fits_is_given(tmp_path: Path) -> None:
    scripted = model(
        tmp_path,
        {"when": "Oslo", "turn": 0, "calls": [{"name": "search", "arguments": {"q": "Oslo"}}]},
        {"when": "judge", "text": "CORRECT"},
        {"text": "I do not know.", "usage": {"input": 7, "output": 3}},
    )
    assert scripted.kind == "scripted" and scripted.name == "scripted/script.json"
    first = ask(scripted, Message("user", "Is it Oslo?"))
    assert first.calls == (Call("call_0_0", "search", {"q": "Oslo"}),) and first.stop == "tools"
    later = ask(scripted, Message("user", "Is it Oslo?"), first.message, Message("tool", "yes", call_id="call_0_0"))
    assert later.text == "I do not know." and later.stop == "end"
    assert (later.usage.input, later.usage.output, later.usage.turns, later.usage.cost_usd) == (7, 3, 1, None)
    assert ask(scripted, Message("user", "x"), system="You judge.").text == "CORRECT"


def test_a_fault_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(ChatFailure) as failed:
        ask(model(tmp_path, {"fault": "rate-limit", "code": 429}), Message("user", "x"))
    assert failed.value.status is Status.RATE_LIMIT and failed.value.code == 429


def test_a_request_that_the_file_does_not_know_is_the_files_fault(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no reply for turn 0"):
        ask(model(tmp_path, {"when": "Oslo", "text": "x"}), Message("user", "Lima?"))


@pytest.mark.parametrize("content", ["", "[]", '{"replies": [{"txt": "x"}]}', '{"replies": [{"fault": "ok"}]}'])
def test_a_file_that_is_no_script_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=r"bad\.json is not what it should be"):
        open_model(f"scripted/{path}")


def test_the_files_content_is_the_identity(tmp_path: Path) -> None:
    one, two = model(tmp_path, {"text": "a"}).identity(), model(tmp_path, {"text": "b"}).identity()
    assert one["model"] == two["model"] and one["file"] != two["file"]
