"""A program that plays Claude Code to its end: it sends a request to the address it is given and prints its events.

``stand_in(folder, **ways)`` writes it. Like the real one it reads CLAUDE.md in its folder and above it unless it is
started with ``--bare`` or ``--setting-sources``. The ways in which it goes wrong:

    home=PATH      reads this file too, however it is started
    more="x"       has one tool more than it should
    note=True      tells the model how many tools it has
    mangles=True   capitalises the question
    asks=False     asks nobody
    sleeps=N       waits before it asks
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

VERSION = "2.1.332"

PROGRAM = f"""#!{sys.executable} -IS
import json, os, random, sys, time, urllib.request
from pathlib import Path

if "--version" in sys.argv:
    print("{VERSION} (Claude Code)")
    sys.exit(0)
ways = json.loads(Path(__file__).with_name("ways.json").read_text())

def after(flag):
    return sys.argv[sys.argv.index(flag) + 1]

def say(event):
    print(json.dumps(event), flush=True)

question = sys.stdin.read()
servers = json.loads(Path(after("--mcp-config")).read_text())["mcpServers"]
tools = [name for name in after("--tools").split(",") if name]
for name, server in servers.items():
    spec = json.loads(Path(server["args"][-1]).read_text())
    tools += ["mcp__" + name + "__" + tool for tool in spec["tools"]]
model = after("--model")
say({{"type": "system", "subtype": "init", "tools": tools, "model": model, "claude_code_version": "{VERSION}",
     "mcp_servers": [{{"name": name, "status": "connected"}} for name in servers]}})
shown = [*tools, *([ways["more"]] if "more" in ways else [])]
read = [Path(ways["home"])] if "home" in ways else []
if "--bare" not in sys.argv and "--setting-sources" not in sys.argv:
    here = Path.cwd()
    read += [above / "CLAUDE.md" for above in (here, *here.parents)]
texts = [question.upper() if ways.get("mangles") else question, *(p.read_text() for p in read if p.is_file())]
if ways.get("note"):
    texts.append("You have " + str(len(tools)) + " tools.")
body = {{
    "model": model, "max_tokens": 1000, "metadata": {{"user_id": str(random.random())}},
    "system": [{{"type": "text", "text": "You are played."}},
               {{"type": "text", "text": Path(after("--system-prompt-file")).read_text()}}],
    "messages": [{{"role": "user", "content": [{{"type": "text", "text": text}} for text in texts]}}],
    "tools": [{{"name": name, "input_schema": {{"type": "object"}}}} for name in shown],
}}
seen = {{"environment": dict(os.environ), "cwd": os.getcwd()}}
Path(__file__).with_name("seen.json").write_text(json.dumps(seen))
time.sleep(ways.get("sleeps", 0))
if ways.get("asks", True):
    address = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
    headers = {{"content-type": "application/json", "x-api-key": os.environ["ANTHROPIC_API_KEY"]}}
    request = urllib.request.Request(address, json.dumps(body).encode(), headers)
    with urllib.request.build_opener(urllib.request.ProxyHandler({{}})).open(request) as reply:
        message = json.load(reply)
    say({{"type": "assistant", "message": message}})
say({{"type": "result", "subtype": "success", "is_error": False, "terminal_reason": "completed", "num_turns": 1,
     "result": "Yes.", "stop_reason": "end_turn", "total_cost_usd": 0.0, "permission_denials": [], "modelUsage": {{}}}})
"""


def stand_in(folder: Path, **ways: Any) -> Path:
    """Write the program into a folder; it keeps what it saw in ``seen.json`` beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ways.json").write_text(json.dumps(ways))
    program = folder / "claude"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    return program
