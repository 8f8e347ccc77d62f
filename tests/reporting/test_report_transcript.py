from __future__ import annotations

import json

import pytest
from rich.cells import cell_len

from memassay.reporting.transcript import WIDTH, Use, uses


def lines(*events: object) -> str:
    return "".join(f"{json.dumps(event, ensure_ascii=False)}\n" for event in events)


def test_tools_of_our_own_agents() -> None:
    told = lines(
        {"event": "request", "body": {}},
        {
            "event": "tool",
            "id": "call_0",
            "name": "search",
            "arguments": {"query": "turtle", "limit": 5},
            "result": "x",
        },
        {"event": "tool", "id": "call_0", "name": "read", "arguments": {"path": "a\u2028b.md"}, "result": "y"},
        {"event": "end", "status": "ok"},
    )
    assert uses(told) == (Use("search", 'query="turtle", limit=5'), Use("read", 'path="a b.md"'))


def test_tools_of_a_claude_code_session_are_counted_once() -> None:
    block = {"type": "tool_use", "id": "toolu_1", "name": "mcp__memory__search", "input": {"query": "pets"}}
    told = lines(
        {"type": "system", "subtype": "init", "tools": ["Read"]},
        {"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": "Let me look."}]}},
        {"type": "assistant", "message": {"id": "m", "content": [block]}},
        {"type": "assistant", "message": {"id": "m", "content": [block]}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "toolu_1"}]}},
        {"type": "assistant", "message": {"content": [{**block, "id": "toolu_2", "name": "Read", "input": {}}]}},
    )
    assert uses(told) == (Use("mcp__memory__search", 'query="pets"'), Use("Read", ""))


@pytest.mark.parametrize(
    "told",
    ["", "no json\n{", "[1]\nnull\n3", lines({"type": "assistant", "message": "?"}), "[" * 100_000,
     lines({"type": "assistant", "message": {"content": [None, {"type": "text"}]}})],
)  # fmt: skip
def test_what_is_no_call_says_nothing(told: str) -> None:
    assert uses(told) == ()


def test_strangers_words_are_short_and_plain() -> None:
    told = lines({"event": "tool", "name": "\x1b[2Jsearch\n", "arguments": {"q": "\x1b]0;t\x07" + "記" * 500}})
    (use,) = uses(told)
    assert use.tool == "search"
    assert cell_len(use.arguments) <= WIDTH
    assert "\x1b" not in use.arguments and use.arguments.endswith("…")
    assert uses(lines({"event": "tool", "name": "x", "arguments": "free text"})) == (Use("x", "free text"),)
    assert uses(lines({"event": "tool", "name": "x", "arguments": None})) == (Use("x", ""),)
