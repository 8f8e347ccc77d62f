"""A scripted chat completions API on 127.0.0.1: replies are written down beforehand, every request is kept."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Say:
    """One reply.

    Attributes:
        calls: tools it uses, as (name, arguments); arguments that are text are sent as they are.
        finish: the reason it ended; None is ``tool_calls`` with calls and ``stop`` without.
        raw: what is sent instead of a completion.
        silent: never answers.
        drop: hangs up.
    """

    text: str | None = ""
    calls: tuple[tuple[str, Any], ...] = ()
    usage: Mapping[str, Any] | None = field(default_factory=lambda: {"prompt_tokens": 100, "completion_tokens": 10})
    refusal: str | None = None
    finish: str | None = None
    model: str | None = None
    status: int = 200
    message: str = "scripted fault"
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    silent: bool = False
    drop: bool = False


class CompletionsServer:
    """``with CompletionsServer([Say("Oslo.")]) as server: server.url``; the n-th request gets the n-th reply.

    The last reply is repeated for ever. Or give a function of the request's body.
    """

    def __init__(self, script: Sequence[Say] | Callable[[Mapping[str, Any]], Say]) -> None:
        self._script, self._lock, self._closing = script, threading.Lock(), threading.Event()
        self.bodies: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that hangs up is no news
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> CompletionsServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def _next(self, path: str, headers: Mapping[str, str], body: Any) -> Say:
        with self._lock:
            number = len(self.bodies)
            self.bodies.append(body)
            self.paths.append(path)
            self.headers.append({name.lower(): value for name, value in headers.items()})
        return self._script(body) if callable(self._script) else self._script[min(number, len(self._script) - 1)]


def _handler(server: CompletionsServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 30.0

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            say = server._next(self.path, dict(self.headers), body)
            if say.silent:
                server._closing.wait()
            elif say.drop:
                self.connection.close()
            elif say.raw is not None:
                self._send(say.status, say.raw, say.headers)
            elif say.status != 200:
                error = {"error": {"message": say.message, "type": "scripted", "code": None}}
                self._send(say.status, json.dumps(error).encode(), say.headers)
            else:
                self._send(200, json.dumps(_completion(say, body, len(server.bodies))).encode(), say.headers)

        def _send(self, status: int, content: bytes, headers: Mapping[str, str]) -> None:
            self.send_response(status)
            usual = {"content-type": "application/json", "content-length": str(len(content))}
            for name, value in {**usual, **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

    return Handler


def _completion(say: Say, body: Mapping[str, Any], number: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": say.text, "refusal": say.refusal}
    if say.calls:
        message["tool_calls"] = [
            {
                "id": f"call_{number}_{n}",
                "type": "function",
                "function": {
                    "name": name,
                    "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
                },
            }
            for n, (name, arguments) in enumerate(say.calls)
        ]
    completion = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 0,
        "model": say.model or body["model"],
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": say.finish or ("tool_calls" if say.calls else "stop"),
            }
        ],
    }
    return completion if say.usage is None else {**completion, "usage": dict(say.usage)}
