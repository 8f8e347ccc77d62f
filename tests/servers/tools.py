"""A tool server (MCP on standard input and output) in the standard library alone, as a process that tests start.

``python tools.py [fault]``. Tools: ``search`` echoes its arguments, ``environment`` tells the child's variables and
folder, ``complain`` refuses, ``die`` ends the process in the middle of the call, ``sleep`` never answers, ``spawn``
starts a process that ignores the end of the server and tells its number, ``picture`` has no text.
Faults: ``silent`` never answers, ``loud`` says something on standard error and ends, ``stubborn`` ignores the end of
its input and SIGTERM, ``two-pages`` lists its tools on two pages.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NAMES = ("search", "environment", "complain", "die", "sleep", "spawn", "picture")
_SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}], **more}


def called(name: str, arguments: Any) -> dict[str, Any]:
    if name == "environment":
        return text(json.dumps({"env": dict(os.environ), "cwd": str(Path.cwd()), "group": os.getpgrp()}))
    if name == "complain":
        return text("I will not.", isError=True)
    if name == "die":
        os._exit(3)
    if name == "sleep":
        time.sleep(60)
    if name == "spawn":
        quiet = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
        none = subprocess.DEVNULL
        return text(str(subprocess.Popen([sys.executable, "-c", quiet], stdin=none, stdout=none, stderr=none).pid))
    if name == "picture":
        return {"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}, *text("A tea pot.")["content"]]}
    return text(json.dumps({"name": name, "arguments": arguments}, sort_keys=True))


def answers(method: str, params: Any, fault: str) -> dict[str, Any]:
    if method == "initialize":
        about = {"name": "tools", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        tools = [{"name": name, "description": f"To {name}.", "inputSchema": _SCHEMA} for name in NAMES]
        if fault != "two-pages":
            return {"tools": tools}
        return {"tools": tools[3:]} if params.get("cursor") == "2" else {"tools": tools[:3], "nextCursor": "2"}
    return called(params["name"], params.get("arguments"))


def incoming() -> Iterator[Any]:
    for line in sys.stdin:
        yield json.loads(line)


def main(fault: str = "") -> None:
    if fault == "loud":
        sys.exit("No database.\nGive me a database, please.")
    if fault == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for message in incoming():
        if "id" not in message or fault == "silent":
            continue
        known = message["method"] in ("initialize", "tools/list", "tools/call")
        wrong = not known or message.get("params", {}).get("name", "search") not in NAMES
        reply = {"error": {"code": -32602, "message": "I do not know that."}} if wrong else None
        reply = reply or {"result": answers(message["method"], message.get("params") or {}, fault)}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}), flush=True)
    while fault == "stubborn":
        time.sleep(60)


if __name__ == "__main__":
    main(*sys.argv[1:])
