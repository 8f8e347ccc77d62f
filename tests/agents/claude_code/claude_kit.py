"""A program that plays ``claude``, and requests to ask it; nothing here needs the real one."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memassay.agents.claude_code.agent import ClaudeCode
from memassay.core.types import Request, Server, Step

MODEL = "claude-opus-4-8"
VERSION = "2.1.332"
TOOLS = Path(__file__).resolve().parents[2] / "servers" / "tools.py"

FAKE = f"""#!{sys.executable} -IS
import json, os, signal, subprocess, sys, time
from pathlib import Path

here = Path(__file__).parent
if "--version" in sys.argv:
    print("{VERSION} (Claude Code)")
    sys.exit(0)
script = json.loads((here / "script.json").read_text())
seen = {{"arguments": sys.argv[1:], "environment": dict(os.environ), "cwd": os.getcwd(),
        "files": sorted(os.listdir(".")), "home": sorted(os.listdir(os.environ["HOME"])),
        "text": sys.stdin.read(), "pid": os.getpid()}}
after = sys.argv.index("--mcp-config") + 1
seen["servers"] = json.loads(Path(sys.argv[after]).read_text())
seen["system"] = Path(sys.argv[sys.argv.index("--system-prompt-file") + 1]).read_text()
out = sys.stdout.buffer

def say(lines):
    for line in lines:
        out.write((line if isinstance(line, str) else json.dumps(line)).encode() + b"\\n")
    out.flush()

def interrupted(number, frame):
    say(script["on_interrupt"])
    sys.exit(0)

if "on_interrupt" in script:
    signal.signal(signal.SIGINT, interrupted)
if script.get("deaf"):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
if script.get("tell_key"):
    script["events"][-1]["result"] += os.environ["ANTHROPIC_API_KEY"]
    script["errors"] = "the key is " + os.environ["ANTHROPIC_API_KEY"]
if script.get("child"):
    seen["child"] = subprocess.Popen(["sleep", "60"]).pid
(here / "seen.json").write_text(json.dumps(seen))
say(script["events"])
sys.stderr.write(script.get("errors", ""))
if script.get("kill"):
    os.kill(os.getpid(), script["kill"])
time.sleep(script.get("sleep", 0))
sys.exit(script.get("code", 0))
"""


@dataclass(frozen=True)
class Fake:
    """The program, and what it saw when it ran."""

    folder: Path

    @property
    def path(self) -> str:
        return str(self.folder / "claude")

    @property
    def seen(self) -> Any:
        return json.loads((self.folder / "seen.json").read_text())

    def plays(self, events: Sequence[Any], **script: Any) -> Fake:
        (self.folder / "script.json").write_text(json.dumps({"events": events, **script}))
        return self

    def answers(self, request: Request, **settings: Any) -> Step:
        return ask(request, binary=self.path, **settings)


def ask(request: Request, **settings: Any) -> Step:
    given = {"model": MODEL, "base_url": "http://127.0.0.1:9", "scripted": True, **settings}
    return asyncio.run(ClaudeCode(**given).answer(request))


def tool_server(*fault: str, tools: tuple[str, ...] = ("search",), **more: Any) -> Server:
    return Server(**{"name": "memory", "command": (sys.executable, str(TOOLS), *fault), "tools": tools, **more})


# -- events, as the real program writes them (fields that nobody reads left out) -------------------------------------


def init(tools: Sequence[str] = (), servers: Mapping[str, str] | None = None, **more: Any) -> dict[str, Any]:
    named = [{"name": name, "status": status, "source": "dynamic"} for name, status in (servers or {}).items()]
    return {
        "type": "system", "subtype": "init", "tools": list(tools), "mcp_servers": named, "model": MODEL,
        "claude_code_version": VERSION, **more,
    }  # fmt: skip


def said(text: str, model: str = MODEL, name: str = "msg_0") -> dict[str, Any]:
    # The usage in these events is a placeholder that must not be summed.
    return {
        "type": "assistant",
        "message": {
            "id": name, "model": model, "content": [{"type": "text", "text": text}],
            "usage": {"input_tokens": 7777, "output_tokens": 1},
        },
    }  # fmt: skip


def used(tool: str, name: str = "msg_0", call: str = "toolu_0") -> dict[str, Any]:
    content = [{"type": "tool_use", "id": call, "name": tool, "input": {}}]
    return {"type": "assistant", "message": {"id": name, "model": MODEL, "content": content}}


def tokens(**counts: int) -> dict[str, int]:
    names = {"input": "inputTokens", "output": "outputTokens", "read": "cacheReadInputTokens"}
    return {**dict.fromkeys(names.values(), 0), "cacheCreationInputTokens": 0} | {
        names[kind]: count for kind, count in counts.items()
    }


def result(text: str | None = "Oslo.", **more: Any) -> dict[str, Any]:
    return {
        "type": "result", "subtype": "success", "is_error": False, "terminal_reason": "completed", "num_turns": 1,
        "result": text, "stop_reason": "end_turn", "total_cost_usd": 0.00075, "permission_denials": [],
        "modelUsage": {MODEL: tokens(input=100, output=10)}, **more,
    }  # fmt: skip


def failed(text: str, **more: Any) -> list[dict[str, Any]]:
    """A provider's failure: ``success``, and words that are no answer."""
    end = {"is_error": True, "terminal_reason": "api_error", "modelUsage": {}, "total_cost_usd": 0}
    return [init(), said(text, "<synthetic>"), result(text, **{**end, **more})]
