"""A scripted Messages API on 127.0.0.1: what a model would say is written down beforehand, and every request is kept.

``memassay doctor`` sends one request per arm to it to see what each arm really adds; the tests drive the real Claude
Code and the ``anthropic`` package against it. It needs no key and reaches nothing.
"""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from types import TracebackType
from typing import Any

_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_PATIENCE_SECONDS = 30.0  # a client that connects and says nothing does not hold the server open for longer


@dataclass(frozen=True)
class Turn:
    """What the model does once.

    Attributes:
        text: what it says.
        calls: tools it uses, as (name, arguments).
        status: the HTTP status; anything but 200 is an error in the provider's own form.
        message: the words of that error.
        headers: more headers of the reply (``retry-after``).
        usage: token counts in the provider's own names; what is not named is 0.
        model: the model that the reply names; None repeats the one that was asked for.
        stop: the stop reason; None is ``tool_use`` with calls and ``end_turn`` without.
        silent: never answers; the request ends when the client or the server does.
        drop: hangs up without a word.
    """

    text: str = ""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    status: int = 200
    message: str = "scripted fault"
    headers: Mapping[str, str] = field(default_factory=dict)
    usage: Mapping[str, int] = field(default_factory=lambda: {"input_tokens": 100, "output_tokens": 10})
    model: str | None = None
    stop: str | None = None
    silent: bool = False
    drop: bool = False


@dataclass(frozen=True)
class Received:
    """One request as it came: names of headers in lower case, the body as JSON (None where it had none)."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


Script = Sequence[Turn] | Callable[[Mapping[str, Any]], Turn]


class MessagesServer:
    """The server; ``with MessagesServer([Turn("Oslo.")]) as server: server.url``.

    Args:
        script: the model's turns. A conversation with n replies in it gets turn n, and the last turn for ever after,
            so that any number of conversations may run at once. Or a function of the request's body.
        faults: what the first requests get instead, one each, in the order they come.
    """

    def __init__(self, script: Script, faults: Sequence[Turn] = ()) -> None:
        self._script = script
        self._faults = list(faults)
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._requests: list[Received] = []
        self._tcp = _Tcp(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._tcp.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        """The base address, without a path."""
        return f"http://127.0.0.1:{self._tcp.server_address[1]}"

    @property
    def requests(self) -> list[Received]:
        """Everything that was asked so far, in order."""
        with self._lock:
            return list(self._requests)

    @property
    def bodies(self) -> list[Any]:
        """The bodies of the calls for a message, in order."""
        return [r.body for r in self.requests if r.method == "POST" and r.path.partition("?")[0] == "/v1/messages"]

    def __enter__(self) -> MessagesServer:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._closing.set()
        self._tcp.shutdown()
        self._thread.join()
        self._tcp.server_close()

    def _keep(self, received: Received) -> None:
        with self._lock:
            self._requests.append(received)

    def _turn(self, body: Mapping[str, Any]) -> Turn:
        with self._lock:
            if self._faults:
                return self._faults.pop(0)
        if not isinstance(self._script, Sequence):
            return self._script(body)
        return self._script[min(_said(body), len(self._script) - 1)]


class _Tcp(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed in the middle of a reply is part of the tests."""


def _handler(server: MessagesServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _PATIENCE_SECONDS

        def do_HEAD(self) -> None:
            self._received(None)
            self._send(200, "text/plain", b"")

        def do_GET(self) -> None:
            self._received(None)
            self._send_json(404, _error(404, "nothing is here"))

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            try:
                body = json.loads(raw)
            except ValueError:
                body = None
            self._received(body)
            if self.path.partition("?")[0] != "/v1/messages" or not isinstance(body, dict):
                self._send_json(404, _error(404, "nothing is here"))
                return
            turn = server._turn(body)
            if turn.silent:
                server._closing.wait()
            elif turn.drop:
                self.connection.close()
            elif turn.status != 200:
                self._send_json(turn.status, _error(turn.status, turn.message), turn.headers)
            else:
                message = _message(turn, body)
                if body.get("stream"):
                    self._send(200, "text/event-stream", _events(message), turn.headers)
                else:
                    self._send_json(200, message, turn.headers)

        def _received(self, body: Any) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            server._keep(Received(self.command, self.path, headers, body))

        def _send_json(self, status: int, value: Any, headers: Mapping[str, str] = {}) -> None:
            self._send(status, "application/json", json.dumps(value).encode(), headers)

        def _send(self, status: int, kind: str, content: bytes, headers: Mapping[str, str] = {}) -> None:
            self.send_response(status)
            for name, value in {"content-type": kind, "content-length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.send_header("request-id", "req_scripted")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing: the requests are kept, not printed."""

    return Handler


def _error(status: int, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": _ERRORS.get(status, "api_error"), "message": message}}


def _said(body: Mapping[str, Any]) -> int:
    return sum(message.get("role") == "assistant" for message in body.get("messages", ()))


def _message(turn: Turn, body: Mapping[str, Any]) -> dict[str, Any]:
    said = _said(body)
    content: list[dict[str, Any]] = [{"type": "text", "text": turn.text}] if turn.text or not turn.calls else []
    for number, (name, arguments) in enumerate(turn.calls):
        content.append({"type": "tool_use", "id": f"toolu_{said}_{number}", "name": name, "input": dict(arguments)})
    usage = {"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    return {
        "id": f"msg_{said}",
        "type": "message",
        "role": "assistant",
        "model": turn.model or body.get("model", ""),
        "content": content,
        "stop_reason": turn.stop or ("tool_use" if turn.calls else "end_turn"),
        "stop_sequence": None,
        "usage": {**usage, **turn.usage},
    }


def _events(message: Mapping[str, Any]) -> bytes:
    """The message as the provider streams it: blocks arrive in pieces, the true usage only at the end."""
    final = message["usage"]
    opened = {**message, "content": [], "stop_reason": None, "usage": {**final, "output_tokens": 1}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": opened}]
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            start: dict[str, Any] = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": stop, "usage": final})
    events.append({"type": "message_stop"})
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
