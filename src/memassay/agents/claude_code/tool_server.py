"""Starts a tool server as the arm wants it; run as a program, with nothing but the standard library.

Claude Code hands its own environment, key included, to every server that it starts, starts it in the agent's folder,
and shows the model every tool that it has. This program stands between: the server gets the environment and the folder
of the arm, the model only the arm's tools, and the server ends when Claude Code does.

    python -I -S tool_server.py SPEC.json      {"command", "cwd", "environment", "tools", "errors"}
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

_GRACE_SECONDS = 2.0


def main(spec_path: str) -> int:
    """Pass every line on, in both directions, until one side ends; returns the server's exit code."""
    spec = json.loads(Path(spec_path).read_text(encoding="utf-8"))
    with Path(spec["errors"]).open("ab") as errors:
        try:
            server = subprocess.Popen(
                spec["command"],
                cwd=spec["cwd"],
                env=spec["environment"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        except OSError as error:
            errors.write(f"{error}\n".encode())
            return 1
    assert server.stdin is not None and server.stdout is not None
    threading.Thread(target=_feed, args=(sys.stdin.buffer, server), daemon=True).start()
    for line in server.stdout:
        sys.stdout.buffer.write(only(line, spec["tools"]))
        sys.stdout.buffer.flush()
    return server.wait()


def only(line: bytes, tools: Sequence[str]) -> bytes:
    """A server's line, without the tools that are not named; all stay where none is named."""
    if not tools or b'"tools"' not in line:
        return line
    try:
        message = json.loads(line)
        listed = message["result"]["tools"]
        message["result"]["tools"] = [tool for tool in listed if tool["name"] in tools]
    except (ValueError, KeyError, TypeError):
        return line
    return json.dumps(message).encode() + b"\n"


def _feed(source: IO[bytes], server: subprocess.Popen[bytes]) -> None:
    assert server.stdin is not None
    try:
        for line in iter(source.readline, b""):
            server.stdin.write(line)
            server.stdin.flush()
        server.stdin.close()
        server.wait(_GRACE_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        server.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
