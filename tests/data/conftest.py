from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from memassay.data.catalogue import Entry

CONTENT = b'[{"sample_id": "conv-1"}]\n' * 8000  # more than one chunk of the downloader


@pytest.fixture
def entry() -> Entry:
    return Entry(
        name="toy",
        suite="locomo",
        url="http://127.0.0.1:9/never-used",
        size=len(CONTENT),
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        licence="CC0",
        attribution="nobody",
        file_name="toy.json",
    )


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        html = b"<!DOCTYPE html><html><body>Please log in</body></html>"
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/good")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        status, body, promised = {
            "/good": (200, CONTENT, len(CONTENT)),
            "/other": (200, CONTENT.replace(b"conv-1", b"conv-2"), len(CONTENT)),
            "/short": (200, CONTENT[:100_000], 100_000),
            "/broken-off": (200, CONTENT[:100_000], len(CONTENT)),
            "/nothing-came": (200, b"", len(CONTENT)),
            "/long": (200, CONTENT * 20, len(CONTENT) * 20),
            "/html": (200, html, len(html)),
            "/empty": (200, b"", 0),
        }.get(self.path, (404, html, len(html)))
        self.send_response(status)
        self.send_header("Content-Length", str(promised))
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            self.wfile.write(body)
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Address of a web server on the loopback interface."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        thread.join()


@pytest.fixture
def content() -> bytes:
    return CONTENT
