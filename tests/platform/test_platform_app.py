from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra platform is not installed")

import httpx2
from platform_kit import CORRECTION, FACT, NOISE
from serving_kit import CONTROL, SETTINGS, Live, Speaker

from kit import Cli, child_environment
from memassay.core.errors import UsageError
from memassay.platform import app as application
from memassay.platform import serve
from memassay.platform.settings import Settings
from memassay.platform.workspaces import Workspaces

POOL = {"key": "pool-key-0123456789", "count": 2}
KNOBS = SETTINGS.model_dump(mode="json")


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    made = Live(tmp_path / "memory")
    yield made
    made.close()


# -- what every answer carries -------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ("/review", "/review/review.js", "/review/review.css"))
def test_the_page_needs_no_key_and_may_run_nothing_else(live: Live, path: str) -> None:
    live.control("PUT", "/workspaces/one", settings=KNOBS)
    for base in ("", "/w/one"):
        reply = live.speaker(None, base).http.get(path)
        assert reply.status_code == 200 and len(reply.content) > 500
        policy = dict(part.strip().split(" ", 1) for part in reply.headers["content-security-policy"].split(";"))
        assert (policy["default-src"], policy["script-src"], policy["frame-ancestors"]) == (
            "'none'",
            "'self'",
            "'none'",
        )
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["cache-control"] == "no-store"
    assert live.speaker(None).http.post(path).status_code == 405


def test_the_page_has_no_script_or_style_inline() -> None:
    text = (Path(application.__file__).with_name("page") / "index.html").read_text("utf-8")
    assert (
        text.count("<script") == 1
        and "<style" not in text
        and " style=" not in text
        and " on" not in text.lower().replace(" on ", "")
    )
    script = (Path(application.__file__).with_name("page") / "review.js").read_text("utf-8")
    assert not [
        word
        for word in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "localStorage")
        if word in script
    ]


@pytest.mark.parametrize(
    "path",
    ("/review/../app.py", "/review/%2e%2e/app.py", "/review/review.py", "/w/../review", "/w/%2e%2e/review",
     "/w/..%2f..%2fx/review", "/w//review", "/w/nobody/review",
     "/w/nobody/api/v1/memassay/me", "/w/UPPER/review", "/nothing", "/control", "/w"),
)  # fmt: skip
def test_there_is_nothing_else(live: Live, path: str) -> None:
    with socket.create_connection(("127.0.0.1", int(live.url.rpartition(":")[2]))) as raw:
        raw.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: raw.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 404 "), answer[:200]


@pytest.mark.parametrize("host", ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "10.0.0.1"))
def test_another_host_is_refused(live: Live, host: str) -> None:
    for path in ("/review", "/api/v1/memassay/me", "/mcp", "/control/workspaces"):
        assert live.speaker("ada").http.get(path, headers={"Host": host}).status_code == 421


def test_pages_of_other_sites_are_refused(live: Live) -> None:
    ada, port = live.speaker("ada"), live.url.rpartition(":")[2]
    for origin, status in (
        ("http://evil.example", 403), ("null", 403), (f"http://localhost:{port}", 403), ("http://127.0.0.1:1", 403),
        (live.url, 200),
    ):  # fmt: skip
        assert ada.http.get("/api/v1/memassay/me", headers={"Origin": origin}).status_code == status, origin
    for host in (f"localhost:{port}", f"[::1]:{port}", "127.0.0.1"):
        assert ada.http.get("/api/v1/memassay/me", headers={"Host": host}).status_code == 200


def test_other_machines_are_let_in_where_that_is_asked_for(tmp_path: Path) -> None:
    spaces = Workspaces(tmp_path / "memory", SETTINGS)
    made = application.App(spaces, loopback=False)
    scope = {"type": "http", "headers": [(b"host", b"memory.example"), (b"origin", b"https://memory.example")]}
    assert made._refusal(scope) is None
    assert made._refusal({"type": "http", "headers": [(b"host", b"a"), (b"origin", b"https://b")]}) is not None
    spaces.close()


@pytest.mark.parametrize("path", ("/", "/mcp"))
def test_tools_need_a_key(live: Live, path: str) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    for who in (None, "no-such-key", CONTROL):
        reply = live.speaker(who).http.post(path, json=body)
        assert (reply.status_code, reply.json()["code"]) == (401, "unauthenticated")
    assert live.speaker("ada").http.post(path, content=b" " * 1_000_001).status_code == 413


def test_a_browser_is_sent_to_the_page(live: Live) -> None:
    reply = live.speaker(None).http.get("/", headers={"Accept": "text/html,*/*"})
    assert (reply.status_code, reply.headers["location"]) == (307, "/review")


# -- workspaces ----------------------------------------------------------------------------------------------------


def test_workspaces_know_nothing_of_each_other(live: Live) -> None:
    for name in ("one", "two"):
        made = live.control("PUT", f"/workspaces/{name}", settings=KNOBS, pool=POOL)
        assert (made.status_code, made.json()["path"]) == (201, f"/w/{name}")
    assert live.control("GET", "/workspaces").json() == {"workspaces": ["one", "two"]}
    one, two = (live.speaker("pool-key-0123456789-001", f"/w/{name}") for name in ("one", "two"))
    id = one.capture()
    assert one.tool("search", intent="zorblat")["count"] == 1
    assert two.tool("search", intent="zorblat")["count"] == 0
    assert not two.tool("fetch", reference=f"mcp:insight:{id}")["found"]
    assert live.speaker("ada", "/w/one").http.get("/api/v1/memassay/me").status_code == 401
    assert live.speaker("pool-key-0123456789").http.get("/api/v1/memassay/me").status_code == 401
    served = live.speaker("pool-key-0123456789", "/w/one").get("/openapi.json")["servers"]
    assert served == [{"url": "/w/one/api/v1"}]


def test_a_life_of_a_workspace(live: Live, tmp_path: Path) -> None:
    shot = str(tmp_path / "shot.sqlite")
    entity = {"urn": "urn:li:x", "name": "x", "description": "Known from the start."}
    holder = {
        "key": "key-of-the-judge-01",
        "identity": {"user_id": "j", "email": "j@x", "name": "j", "roles": ["admin"]},
    }
    body = {"settings": KNOBS | {"gate": False}, "pool": POOL, "entities": [entity], "holders": [holder]}
    made = live.control("PUT", "/workspaces/one", **body)
    assert made.status_code == 201 and made.json()["fingerprint"]["settings"]["gate"] is False
    assert live.control("PUT", "/workspaces/one", **body).status_code == 409
    admin, agent = (live.speaker(key, "/w/one") for key in ("key-of-the-judge-01", "pool-key-0123456789-001"))
    assert admin.get("/memassay/fingerprint") == made.json()["fingerprint"]
    assert admin.get("/memassay/entity", urn="urn:li:x")["description"] == "Known from the start."
    first = agent.capture(FACT)
    assert live.control("POST", "/workspaces/one/snapshot", path=shot).json() == {"path": shot}
    agent.capture(NOISE)
    assert admin.get("/admin/knowledge/insights")["total"] == 2
    assert live.control("POST", "/workspaces/one/restore", path=shot).status_code == 200
    assert [one["id"] for one in admin.get("/admin/knowledge/insights")["data"]] == [first]
    assert agent.tool("search", intent="zorblat", sources=["insights"])["count"] == 1, (
        "the session is of before the snapshot"
    )
    assert live.control("POST", "/workspaces/one/reopen").json()["fingerprint"] == made.json()["fingerprint"]
    assert agent.tool("search", intent="zorblat", sources=["insights"])["count"] == 1
    again = live.control("PUT", "/workspaces/two", settings=KNOBS, snapshot=shot)
    assert again.status_code == 201
    assert live.speaker("key-of-the-judge-01", "/w/two").get("/admin/knowledge/insights")["total"] == 1
    assert live.control("DELETE", "/workspaces/one").json() == {"name": "one"}
    assert live.control("DELETE", "/workspaces/one").status_code == 404
    assert admin.http.get("/api/v1/memassay/me").status_code == 404
    assert not (tmp_path / "memory" / "workspaces" / "one").exists()
    assert live.control("PUT", "/workspaces/one", settings=KNOBS).status_code == 201, "the name is free again"


@pytest.mark.parametrize(
    ("name", "body", "status"),
    [
        ("Upper", {}, 400), ("-x", {}, 400), ("a" * 65, {}, 400), ("..", {}, 404), ("a.b", {}, 400),
        ("x", {"settings": {"gait": True}}, 400), ("x", {"warehouse": "/none.sqlite"}, 404),
        ("x", {"snapshot": "/none.sqlite"}, 404), ("x", {"pool": {"key": "short", "count": 1}}, 400),
        ("x", {"holders": [{"key": "0123456789abcdef", "identity": {"user_id": "", "email": "", "name": ""}}]}, 400),
    ],
)  # fmt: skip
def test_workspaces_that_cannot_be(live: Live, tmp_path: Path, name: str, body: dict[str, Any], status: int) -> None:
    body = {"settings": KNOBS} | body
    assert live.control("PUT", f"/workspaces/{name}", **body).status_code == status
    assert live.control("GET", "/workspaces").json() == {"workspaces": []}
    assert not list((tmp_path / "memory").glob("workspaces/*"))


def test_without_a_control_key_nobody_controls(tmp_path: Path) -> None:
    live = Live(tmp_path / "memory", control_key=None)
    assert live.control("GET", "/workspaces").status_code == 404
    live.close()


def test_a_folder_that_cannot_be_written_is_said(live: Live, tmp_path: Path) -> None:
    (tmp_path / "memory" / "workspaces").write_text("in the way")
    reply = live.control("PUT", "/workspaces/x", settings=KNOBS)
    assert (reply.status_code, reply.json()["code"]) == (503, "unavailable")


def test_a_workspace_opens_again_with_its_settings(tmp_path: Path) -> None:
    first = Live(tmp_path / "memory")
    made = first.control("PUT", "/workspaces/one", settings=KNOBS | {"gate": False}, pool=POOL).json()
    id = first.speaker(f"{POOL['key']}-001", "/w/one").capture()
    first.close()
    second = Live(tmp_path / "memory")
    admin = second.speaker(str(POOL["key"]), "/w/one")
    assert admin.get("/memassay/fingerprint") == made["fingerprint"]
    assert admin.get(f"/admin/knowledge/insights/{id}")["status"] == "pending"
    second.close()


# -- many at once --------------------------------------------------------------------------------------------------


def test_64_clients_at_once(live: Live) -> None:
    live.control("PUT", "/workspaces/crowd", settings=KNOBS, pool=POOL | {"count": 64})
    failures: list[BaseException] = []
    ids: list[str] = []
    gate = threading.Barrier(64)

    def work(number: int) -> None:
        try:
            who = Speaker(live.url, f"{POOL['key']}-{number:03d}", "/w/crowd")
            gate.wait()
            mine = who.capture(f"Agent {number} keeps lantern {number * 7919} in drawer {number * 104729}.")
            ids.append(mine)
            found = [hit for group in who.tool("search", intent="lantern drawer")["groups"] for hit in group["hits"]]
            assert [hit["ref"] for hit in found] == [mine], "only one's own"
            assert who.tool("memory_manage", command="list")["total"] == 1
            who.http.close()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 65)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[:3]
    admin = live.speaker(str(POOL["key"]), "/w/crowd")
    assert admin.get("/admin/knowledge/insights/stats")["total_pending"] == len(set(ids)) == 64


# -- the process ---------------------------------------------------------------------------------------------------


class Process:
    """``memassay platform serve`` as a process of its own."""

    def __init__(self, home: Path, data: Path, *more: str) -> None:
        command = [sys.executable, "-m", "memassay", "platform", "serve", "--data", str(data), "--json", *more]
        knobs = ["--set", "embedder=hash", "--set", "supersede=1", "--set", "durable=false"]
        environment = child_environment(home, MEMASSAY_PLATFORM_CONTROL_KEY=CONTROL)
        self.process = subprocess.Popen(
            [*command, *knobs], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()
        self.said = json.loads(line)
        self.url = self.said["url"]

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=20)
        return self.process.returncode, errors


def test_a_server_starts_says_where_and_ends(tmp_path: Path, own_home: Path) -> None:
    data = tmp_path / "memory"
    first = Process(own_home, data)
    key = first.said["admin_key"]
    second = Process(own_home, data)
    try:
        assert second.said["admin_key"] is None, "a key is shown once"
        one, two = Speaker(first.url, key), Speaker(second.url, key)
        id = one.capture()
        assert two.get(f"/admin/knowledge/insights/{id}")["status"] == "pending", "two servers of one folder"
        assert two.tool("search", intent="zorblat")["count"] == 1
        one.put(f"/admin/knowledge/insights/{id}/status", status="approved")
        assert two.get(f"/admin/knowledge/insights/{id}")["status"] == "approved"
        made = httpx2.get(f"{first.url}/control/workspaces", headers={"X-API-Key": CONTROL}, trust_env=False)
        assert made.json() == {"workspaces": []}
        for one_of in (one, two):
            one_of.http.close()
    finally:
        ends = [first.end(signal.SIGTERM), second.end(signal.SIGINT)]
    assert ends == [(0, ""), (0, "")]
    assert key.encode() not in b"".join(path.read_bytes() for path in data.rglob("*") if path.is_file())


@pytest.mark.slow
def test_a_killed_server_loses_nothing_that_it_acknowledged(tmp_path: Path, own_home: Path) -> None:
    data = tmp_path / "memory"
    server = Process(own_home, data)
    key, kept = server.said["admin_key"], []
    body = {"settings": KNOBS | {"supersede": 1}, "pool": POOL | {"count": 8}}
    control = {"Authorization": f"Bearer {CONTROL}"}
    httpx2.put(f"{server.url}/control/workspaces/one", json=body, headers=control, trust_env=False)

    def write(number: int) -> None:
        who = Speaker(server.url, f"{POOL['key']}-{number:03d}", "/w/one")
        at = 0
        try:
            while True:
                at += 1
                kept.append(who.capture(f"Writer {number} puts crate {at * 7919} on shelf {at * 104729}."))
        except (httpx2.HTTPError, OSError):
            who.http.close()

    for round_ in range(3):
        threads = [threading.Thread(target=write, args=(number,)) for number in range(1, 9)]
        for thread in threads:
            thread.start()
        goal = (round_ + 1) * 60
        until = time.monotonic() + 60
        while len(kept) < goal and time.monotonic() < until:
            time.sleep(0.01)
        server.process.kill()
        for thread in threads:
            thread.join()
        server.process.communicate()
        server = Process(own_home, data)
        admin = Speaker(server.url, str(POOL["key"]), "/w/one")
        found: set[str] = set()
        page = 1
        while len(got := admin.get("/admin/knowledge/insights", per_page=100, page=page)["data"]):
            found |= {one["id"] for one in got}
            page += 1
        admin.http.close()
        assert len(kept) >= goal and set(kept) <= found
    Speaker(server.url, key).http.close()
    assert server.end()[0] == 0


def test_refusals_of_the_command(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every = (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::", 0, 0, 0))
    with monkeypatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", lambda *_, **__: [every])
        said = cli("platform", "serve", "--data", tmp_path / "m", "--host", "::")
    assert said.code == 2 and "unencrypted" in said.complaint and "--allow-remote" in said.complaint
    for knob, words in (
        ("gait=true", "'gate'"),
        ("gate", "knob=value"),
        ("gate=perhaps", "gate"),
        ("faults.x=1", "x is not known"),
    ):
        said = cli("platform", "serve", "--data", tmp_path / "m", "--set", knob)
        assert said.code == 2 and words in said.complaint, said.complaint
    assert not (tmp_path / "m").exists(), "nothing is made before everything is clear"
    assert "holds no memory" in cli("platform", "keys", "--data", tmp_path / "m").complaint
    (tmp_path / "file").write_text("x")
    said = cli("platform", "serve", "--data", tmp_path / "file" / "m")
    assert said.code == 3 and "cannot be made" in said.complaint
    (tmp_path / "keys.json").write_text('[{"key": "short"}]')
    said = cli(
        "platform", "serve", "--data", tmp_path / "m", "--set", "embedder=none", "--keys", tmp_path / "keys.json"
    )
    assert said.code == 2 and "keys.json" in said.complaint


def test_a_taken_port_is_one_sentence(cli: Cli, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        said = cli("platform", "serve", "--data", tmp_path / "m", "--port", str(taken.getsockname()[1]))
    assert said.code == 3 and "another --port" in said.complaint


def test_keys_snapshot_and_restore(cli: Cli, tmp_path: Path) -> None:
    data, shot = tmp_path / "memory", tmp_path / "backup.sqlite"
    live = Live(data)
    try:
        key = cli("platform", "keys", "--data", data, "--add", "cleo", "--role", "reviewer", "--json").json["key"]
        cleo = live.speaker(key)
        assert cleo.get("/memassay/me")["roles"] == ["reviewer"]
        id = live.speaker("ada").capture()
        assert cli("platform", "snapshot", "--data", data, shot).code == 0
        live.speaker("ada").capture(CORRECTION)
        newer = cli("platform", "keys", "--data", data, "--add", "cleo", "--role", "reviewer").out.strip()
        assert cleo.http.get("/api/v1/memassay/me").status_code == 401
        assert live.speaker(newer).get("/admin/knowledge/insights")["total"] == 2
        assert cli("platform", "restore", "--data", data, shot).code == 0
        assert [one["id"] for one in cleo.get("/admin/knowledge/insights")["data"]] == [id]
        assert "cleo  cleo@localhost  reviewer" in cli("platform", "keys", "--data", data).out.splitlines()
        assert live.speaker("ada").tool("search", intent="zorblat")["count"] == 1
    finally:
        live.close()
    assert key.encode() not in shot.read_bytes()


def test_answers_are_not_held_back() -> None:
    with serve.listen("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP, "else asyncio does not switch Nagle's algorithm off"


def test_settings_as_texts() -> None:
    told = serve.settings_of(
        ["gate=false", "embedder=hash", "supersede=0.8", "faults.drop_connection=search", "push_scope = owner"]
    )
    assert told == Settings.model_validate(
        {
            "gate": False,
            "embedder": "hash",
            "supersede": 0.8,
            "push_scope": "owner",
            "faults": {"drop_connection": "search"},
        }
    )
    with pytest.raises(UsageError):
        serve.settings_of(["faults=1", "faults.conflict=true"])


def test_thresholds_that_nobody_set_are_those_of_the_embedder() -> None:
    e5 = serve.settings_of(["embedder=e5"])
    assert (e5.supersede, e5.similar, e5.duplicate_page) == (0.98, 0.95, 0.98)
    assert serve.settings_of(["embedder=e5", "supersede=0.9"]).supersede == 0.9
    assert serve.settings_of(["embedder=minilm"]) == serve.settings_of([]) == Settings()


def test_over_standard_input_and_output(tmp_path: Path, own_home: Path) -> None:
    calls = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "platform_info", "arguments": {}}},
    ]  # fmt: skip
    command = [sys.executable, "-m", "memassay", "platform", "serve", "--data", str(tmp_path / "m"), "--stdio"]
    done = subprocess.Popen(
        [*command, "--set", "embedder=none"], env=child_environment(own_home), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert done.stdin is not None and done.stdout is not None
    for call in calls:
        done.stdin.write(json.dumps(call) + "\n")
    done.stdin.flush()
    answers = [json.loads(done.stdout.readline()) for _ in range(2)]
    assert answers[1]["result"]["structuredContent"]["user"] == "local@localhost"
    _, errors = done.communicate(timeout=20)
    assert (done.returncode, errors) == (0, "")


def test_the_control_key_stays_out_of_the_environment(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMASSAY_PLATFORM_CONTROL_KEY", CONTROL)
    cli("platform", "serve", "--data", tmp_path / "m", "--set", "gait=true")
    assert "MEMASSAY_PLATFORM_CONTROL_KEY" not in os.environ
