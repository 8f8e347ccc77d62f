"""The real Claude Code against a scripted server: what it sends, and what becomes of each ending.

The bodies that it sends are compared with ``requests/*.json``; ``UPDATE_REQUESTS=1`` writes them anew. Long texts that
are Claude Code's own stand there as a digest.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from claude_kit import MODEL, tool_server

from golden import brief, golden
from memassay.agents.claude_code.agent import ClaudeCode
from memassay.agents.claude_code.binary import inspect
from memassay.agents.claude_code.probe import Probe, differences, request_bodies, settled
from memassay.core.peers import PEERS, peer
from memassay.core.types import Request, Status, Step, Toolset
from servers.anthropic import MessagesServer, Turn

CLAUDE = peer("claude")  # looked for now, since every test has an empty home
pytestmark = [
    pytest.mark.peer,
    pytest.mark.skipif(CLAUDE is None, reason="claude is not installed (run `make peers`)"),
]

KEY = "dummy-local-key-of-ours"
SEARCH = "mcp__memory__search"
OUTSIDE, INSIDE, INSTRUCTED = "GOLD-OUTSIDE", "WORDS-INSIDE", "FROM-A-CLAUDE-MD"
Asked = Callable[..., Request]


@pytest.fixture(autouse=True)
def only_a_dummy_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in os.environ if n.startswith(("ANTHROPIC", "CLAUDE"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another-of-ours")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store to read, with what must not come along planted in it, above it and beside it."""
    folder = tmp_path / "cell" / "store"
    (folder / "sub").mkdir(parents=True)
    (folder / "README.md").write_text(f"{INSIDE}\n")
    (folder / "sub" / "note.md").write_text(f"{INSIDE} again\n")
    (tmp_path / "gold.md").write_text(f"{OUTSIDE}\n")
    (folder / "way-out.md").symlink_to(tmp_path / "gold.md")
    for place in (tmp_path, tmp_path / "cell", folder, folder / "sub"):
        (place / "CLAUDE.md").write_text(INSTRUCTED)
        (place / "AGENTS.md").write_text(INSTRUCTED)
    (folder / ".mcp.json").write_text('{"mcpServers": {"planted-server": {"command": "/bin/false"}}}')
    return folder


def agent(server: MessagesServer, **settings: Any) -> ClaudeCode:
    given = {"model": MODEL, "binary": str(CLAUDE), "base_url": server.url, "scripted": True, "retries": 0}
    return ClaudeCode(**{**given, **settings})


def play(server: MessagesServer, request: Request, **settings: Any) -> Step:
    return asyncio.run(agent(server, **settings).answer(request))


def results(body: Any) -> list[Any]:
    """The tool results of a conversation, in order."""
    contents = [m["content"] for m in body["messages"] if m["role"] == "user" and isinstance(m["content"], list)]
    return [block for content in contents for block in content if block["type"] == "tool_result"]


def told(block: Any) -> str:
    return block["content"] if isinstance(block["content"], str) else "".join(b["text"] for b in block["content"])


def processes(folder: str) -> list[str]:
    """The command lines that name a folder."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = place.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if folder in line:
            found.append(line)
    return found


# -- what it sends ---------------------------------------------------------------------------------------------------


def arms(profile: str, asked: Asked, store: Path) -> dict[str, Request]:
    """One request per access; the question is one that a client might take for something else."""
    question = {"prompt": "/cost What is in @README.md and @../../gold.md?", "as_of": "2023-05-08"}
    servers = (tool_server(cwd=str(store)),)
    made = {
        "dossier": asked(dossier="Alice: I moved to Oslo.", **question),
        "tools": asked(toolset=Toolset(servers=servers), **question),
    }
    if profile == "scoped":
        made["folder"] = asked(toolset=Toolset(folder=str(store)), **question)
        made["tools-folder"] = asked(toolset=Toolset(servers=servers, folder=str(store)), **question)
    return made


def sample(requests: dict[str, Request], profile: str) -> dict[str, Probe]:
    return asyncio.run(request_bodies(requests, model=MODEL, binary=str(CLAUDE), profile=profile))


@pytest.mark.parametrize("profile", ["bare", "scoped"])
def test_claude_sends_exactly_what_an_arm_gives(profile: str, asked: Asked, store: Path) -> None:
    found = sample(arms(profile, asked, store), profile)
    for probe in found.values():
        assert (probe.step.status, probe.step.detail, probe.step.text) == (Status.OK, "", "Yes.")
        sent = json.dumps(probe.body)
        for word in (INSIDE, OUTSIDE, INSTRUCTED, "planted-server", KEY, str(Path.home())):
            assert word not in sent
        first = probe.body["messages"][0]["content"]
        text = first if isinstance(first, str) else first[0]["text"]
        assert text.endswith("Today is 2023-05-08.\nQuestion: /cost What is in @README.md and @../../gold.md?")

    bodies = {name: settled(probe.body) for name, probe in found.items()}
    words = "messages.0.content.0.text" if profile == "bare" else "messages.0.content"
    assert differences(bodies["dossier"], bodies["tools"]) == [words, "tools"]
    if profile == "scoped":
        assert differences(bodies["tools"], bodies["tools-folder"]) == ["tools"]
        assert differences(bodies["tools"], bodies["folder"]) == ["tools"]

    assert CLAUDE is not None
    version = inspect(CLAUDE).version
    if version != PEERS["claude"].version:
        pytest.skip(f"the bodies on record are those of {PEERS['claude'].version}; this is {version}")
    for name, body in bodies.items():
        kept = brief(body)
        assert kept == golden(Path(__file__).with_name("requests"), f"{profile}-{name}", kept), f"{profile}-{name}"


def test_claude_bare_cannot_search_a_folder_and_says_so(asked: Asked, store: Path) -> None:
    probe = sample({"folder": asked(toolset=Toolset(folder=str(store)))}, "bare")["folder"]
    assert probe.step.status is Status.HARNESS
    assert probe.step.detail == "tools: expected ['Glob', 'Grep', 'Read'], found ['Read']"


def test_claude_thinking_and_length_are_as_set(asked: Asked) -> None:
    settings = {"model": MODEL, "binary": str(CLAUDE), "thinking_tokens": 0, "max_output_tokens": 2000}
    body = asyncio.run(request_bodies({"x": asked()}, **settings))["x"].body
    assert body["thinking"] == {"type": "disabled"}
    assert body["max_tokens"] == 2000


@pytest.mark.parametrize(
    ("named", "profile", "header", "sent"),
    [("ANTHROPIC_API_KEY", "bare", "x-api-key", KEY),
     ("CLAUDE_CODE_OAUTH_TOKEN", "scoped", "authorization", f"Bearer {KEY}")],
)  # fmt: skip
def test_claude_sends_one_credential_and_keeps_none(
    named: str, profile: str, header: str, sent: str, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv(named, KEY)
    with MessagesServer([Turn("Oslo.")]) as server:
        step = play(server, asked(), key_env=named, profile=profile)
        headers = server.requests[-1].headers
    assert step.status is Status.OK
    assert {name: value for name, value in headers.items() if KEY in value} == {header: sent}
    assert step.evidence is not None
    assert KEY.encode() not in step.evidence


# -- tools -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["bare", "scoped"])
def test_claude_calls_a_memory_that_sees_nothing_of_ours(profile: str, asked: Asked, store: Path) -> None:
    usage = {"input_tokens": 1000, "output_tokens": 100, "cache_read_input_tokens": 50}
    script = [
        Turn("I look.", calls=(("mcp__memory__environment", {}),), usage=usage),
        Turn(calls=((SEARCH, {"query": "x"}), (SEARCH, {"query": "y"})), usage=usage),
        Turn("Oslo.", usage=usage),
    ]
    server_of_memory = tool_server(tools=("search", "environment"), env={"STORE": "here"}, cwd=str(store))
    with MessagesServer(script) as server:
        step = play(server, asked(toolset=Toolset(servers=(server_of_memory,))), profile=profile)
        bodies = server.bodies
    assert (step.status, step.text) == (Status.OK, "Oslo.")
    assert (step.usage.input, step.usage.output, step.usage.cache_read) == (3000, 300, 150)
    assert (step.usage.turns, step.usage.tool_calls) == (3, 3)
    assert step.usage.cost_usd == pytest.approx((3000 * 5 + 300 * 25 + 150 * 0.5) / 1e6)
    assert step.usage.reported_usd == pytest.approx(step.usage.cost_usd)
    assert {check.name: check.passed for check in step.checks}["cost"] is True

    assert sorted(tool["name"] for tool in bodies[0]["tools"]) == ["mcp__memory__environment", SEARCH]
    seen = json.loads(told(results(bodies[2])[0]))
    assert seen["cwd"] == str(store.resolve())
    assert seen["env"]["STORE"] == "here"
    assert set(seen["env"]) - {"LC_CTYPE"} == {"PATH", "LANG", "HOME", "TMPDIR", "STORE"}
    assert [json.loads(told(block))["arguments"] for block in results(bodies[2])[1:]] == [
        {"query": "x"},
        {"query": "y"},
    ]
    assert step.evidence is not None
    assert KEY.encode() not in step.evidence


def test_claude_reads_its_folder_and_nothing_else(asked: Asked, store: Path) -> None:
    gold = str(store.parents[1] / "gold.md")
    inside = [
        ("Read", {"file_path": str(store / "sub" / "note.md")}),
        ("Grep", {"pattern": "WORDS", "output_mode": "content"}),
        ("Glob", {"pattern": "**/*.md"}),
    ]
    outside = [
        ("Read", {"file_path": gold}),
        ("Read", {"file_path": f"{store}/../../gold.md"}),
        ("Read", {"file_path": str(store / "way-out.md")}),
        ("Grep", {"pattern": "GOLD", "path": str(store.parents[1]), "output_mode": "content"}),
        ("Grep", {"pattern": "GOLD", "glob": "../../*", "output_mode": "content"}),
        ("Glob", {"pattern": "*", "path": str(store.parents[1])}),
        ("Read", {"file_path": "/etc/passwd"}),
    ]
    with MessagesServer([*(Turn(calls=(call,)) for call in [*inside, *outside]), Turn("Done.")]) as server:
        step = play(server, asked(toolset=Toolset(folder=str(store))), profile="scoped")
        found = results(server.bodies[-1])
        assert INSTRUCTED not in json.dumps(server.bodies), "a folder brings no instructions along"
    assert step.status is Status.OK
    assert len(found) == len(inside) + len(outside)
    assert all(INSIDE in told(block) for block in found[:2])
    assert "sub/note.md" in told(found[2])
    for block in found[3:]:
        words = told(block)
        assert OUTSIDE not in words
        assert "root:" not in words
        assert block.get("is_error") or words == "No matches found", words
    denied = next(check for check in step.checks if check.name == "denied tools")
    assert denied.observed == ["Read", "Read", "Read", "Grep", "Glob", "Read"]


@pytest.mark.parametrize("profile", ["bare", "scoped"])
@pytest.mark.parametrize("fault", ["loud", "not there"])
def test_claude_without_its_memory_does_not_count(profile: str, fault: str, asked: Asked) -> None:
    dead = tool_server(fault) if fault == "loud" else tool_server().model_copy(update={"command": ("/no/such",)})
    with MessagesServer([Turn("Oslo.")]) as server:
        step = play(server, asked(toolset=Toolset(servers=(dead,))), profile=profile)
    assert (step.status, step.text) == (Status.HARNESS, None)
    reason = "Give me a database, please." if fault == "loud" else "/no/such"
    assert reason in step.detail
    assert step.usage.output == 10, "it was paid for"


# -- the provider ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "status", "permanent"),
    [(400, Status.API_ERROR, True), (401, Status.API_ERROR, True), (429, Status.RATE_LIMIT, False),
     (529, Status.API_ERROR, False)],
)  # fmt: skip
def test_claude_and_a_provider_that_fails(code: int, status: Status, permanent: bool, asked: Asked) -> None:
    with MessagesServer([Turn(status=code, message="planted")]) as server:
        step = play(server, asked())
    assert (step.status, step.text) == (status, None)
    assert "planted" in step.detail
    assert ("of no use" in step.detail) is permanent
    assert step.usage.output == 0


def test_claude_and_a_provider_that_recovers(asked: Asked) -> None:
    with MessagesServer([Turn("Oslo.")], faults=[Turn(status=529)]) as server:
        step = play(server, asked(), retries=1)
    assert (step.status, step.text) == (Status.OK, "Oslo.")
    assert step.evidence is not None
    assert b"api_retry" in step.evidence


def test_claude_and_nobody_there(asked: Asked) -> None:
    with MessagesServer([]) as server:
        pass
    step = play(server, asked())
    assert (step.status, step.text) == (Status.NETWORK, None)


def test_claude_and_a_refusal(asked: Asked) -> None:
    with MessagesServer([Turn("I will not.", stop="refusal")]) as server:
        step = play(server, asked())
        assert len(server.bodies) == 1, "nobody is asked a second time"
    assert (step.status, step.text) == (Status.REFUSED, "")
    assert step.usage.output == 10


def test_claude_and_another_model_that_replies(asked: Asked) -> None:
    with MessagesServer([Turn("Oslo.", model="claude-haiku-9")]) as server:
        step = play(server, asked())
    assert (step.status, step.text) == (Status.HARNESS, None)
    assert "claude-haiku-9" in step.detail


# -- limits ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["bare", "scoped"])
def test_claude_at_its_limit_of_turns(profile: str, asked: Asked) -> None:
    with MessagesServer([Turn(calls=((SEARCH, {"query": "x"}),))]) as server:
        step = play(server, asked(toolset=Toolset(servers=(tool_server(),)), limit_turns=2), profile=profile)
        assert len(server.bodies) == 2
    assert (step.status, step.text, step.detail) == (Status.LIMIT_TURNS, None, "no answer after 2 turns")
    assert (step.usage.turns, step.usage.output) == (2, 20)


@pytest.mark.parametrize("told_of", [False, True])
def test_claude_at_its_limit_of_money(told_of: bool, asked: Asked) -> None:
    dear = {"input_tokens": 10_000, "output_tokens": 1000}
    script = [Turn(calls=((SEARCH, {"query": "x"}),), usage=dear), Turn("Oslo.", usage=dear)]
    with MessagesServer(script) as server:
        request = asked(toolset=Toolset(servers=(tool_server(),)), limit_usd=0.05)
        step = play(server, request, tell_budget=told_of)
        assert len(server.bodies) == (1 if told_of else 2)
        assert "budget" not in json.dumps(server.bodies[0]["messages"]).casefold()
    assert (step.status, step.text) == (Status.LIMIT_MONEY, None)
    assert step.usage.cost_usd == pytest.approx(0.075 if told_of else 0.15)


@pytest.fixture
def silent() -> Iterator[MessagesServer]:
    """One call of a tool, and then no answer for ever."""
    with MessagesServer([Turn(calls=((SEARCH, {"query": "x"}),)), Turn(silent=True)]) as server:
        yield server


def test_claude_without_an_answer_ends_with_its_servers(asked: Asked, silent: MessagesServer) -> None:
    request = asked(toolset=Toolset(servers=(tool_server(),)), limit_seconds=10.0)

    async def both() -> list[Step]:
        return await asyncio.gather(*(agent(silent, profile=name).answer(request) for name in ("bare", "scoped")))

    for step in asyncio.run(both()):
        assert (step.status, step.text) == (Status.LIMIT_TIME, None)
        assert step.usage.wall_ms < 16_000
        assert step.usage.output == 10, "what the first turn cost is known"
        assert step.evidence is not None
        assert b"aborted_streaming" in step.evidence
        started = json.loads(step.evidence.splitlines()[0])["arguments"]
        assert processes(str(Path(started[started.index("--mcp-config") + 1]).parent)) == []


def test_claude_killed_from_outside_takes_its_servers_along(asked: Asked, silent: MessagesServer) -> None:
    assert CLAUDE is not None
    killed: list[str] = []

    def kill() -> None:
        deadline = time.monotonic() + 60
        while len(silent.bodies) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        for place in Path("/proc").glob("[0-9]*/environ"):
            try:
                program = str(place.with_name("exe").readlink())
                if silent.url.encode() in place.read_bytes() and program == str(CLAUDE.resolve()):
                    command = place.with_name("cmdline").read_bytes().split(b"\0")
                    killed.append(command[command.index(b"--mcp-config") + 1].decode())
                    os.kill(int(place.parent.name), signal.SIGKILL)
            except OSError:
                continue

    killer = threading.Thread(target=kill)
    killer.start()
    step = play(silent, asked(toolset=Toolset(servers=(tool_server(),))))
    killer.join()
    assert len(killed) == 1
    assert (step.status, step.text) == (Status.HARNESS, None)
    assert "killed by signal 9" in step.detail
    assert (step.usage.turns, step.usage.tool_calls) == (1, 1)
    assert processes(str(Path(killed[0]).parent)) == []
