"""The agent around a program that plays ``claude``: what it is given, what it sees, what is kept of it."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from claude_kit import MODEL, VERSION, Fake, ask, failed, init, result, said, tokens, tool_server

from memassay.agents.claude_code.agent import ClaudeCode
from memassay.core import registry
from memassay.core.asking import INSTRUCTIONS
from memassay.core.contracts import Agent, Priced
from memassay.core.errors import EnvironmentProblem, UsageError
from memassay.core.types import Request, Status, Toolset, Usage

Asked = Callable[..., Request]
KEY = "sk-ant-secret-of-ours-0123456789"
ANSWER = [init(), said("Oslo."), result()]


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in os.environ if n.startswith(("ANTHROPIC", "CLAUDE"))]:
        monkeypatch.delenv(name)


def test_an_answer(fake: Fake, asked: Asked) -> None:
    step = fake.plays(ANSWER).answers(asked())
    assert (step.status, step.text, step.detail, step.identity) == (Status.OK, "Oslo.", "", MODEL)
    usage = step.usage
    assert (usage.input, usage.output, usage.turns, usage.tool_calls) == (100, 10, 1, 0)
    assert usage.cost_usd == pytest.approx(0.00075)
    assert usage.reported_usd == 0.00075
    assert usage.wall_ms > 0
    found = {check.name: check.passed for check in step.checks}
    assert found == dict.fromkeys(
        ("init", "version", "servers", "tools", "no memory of its own", "model", "cost"), True
    )  # fmt: skip


def test_every_line_is_kept(fake: Fake, asked: Asked) -> None:
    lines = [json.dumps(event) for event in ANSWER]
    step = fake.plays([lines[0], "words that are no event", *lines[1:]], errors="a warning").answers(asked())
    assert step.evidence is not None
    kept = step.evidence.decode().splitlines()
    assert kept[1:-1] == [lines[0], "words that are no event", *lines[1:]]
    first, last = json.loads(kept[0]), json.loads(kept[-1])
    assert first["text"] == "Question: Where does Alice live?"
    assert first["system"] == INSTRUCTIONS
    assert first["environment"]["CLAUDE_CODE_MAX_RETRIES"] == "2"
    assert (last["code"], last["timed_out"], last["errors"]) == (0, False, "a warning")


# -- what it is given ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prompt", ["/cost", "@README.md", "# a", "! ls", "-p", "What of\n/compact, {braces} & @x?"])
def test_a_question_is_never_a_command(fake: Fake, asked: Asked, prompt: str) -> None:
    fake.plays(ANSWER).answers(asked(prompt=prompt, as_of="2023-05-08", system="Be short."))
    assert fake.seen["text"] == f"Today is 2023-05-08.\nQuestion: {prompt}"
    assert fake.seen["system"] == "Be short."
    assert not any("Question" in argument for argument in fake.seen["arguments"])


_OURS = {
    "ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": "sk-other", "AWS_SECRET_ACCESS_KEY": "aws", "CLAUDECODE": "1",
    "CLAUDE_CONFIG_DIR": "/home/me/.claude", "PYTHONPATH": "/x", "MEMASSAY_X": "1", "HTTPS_PROXY": "http://127.0.0.1:9",
}  # fmt: skip


def test_it_sees_none_of_our_environment(fake: Fake, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in _OURS.items():
        monkeypatch.setenv(name, value)
    fake.plays(ANSWER).answers(asked())
    seen = fake.seen["environment"]
    seen.pop("LC_CTYPE", None)  # Python's own, in the program that plays
    assert set(seen) == {
        "PATH", "LANG", "HOME", "TMPDIR", "CLAUDE_CONFIG_DIR", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_ERROR_REPORTING",
        "DISABLE_TELEMETRY", "CLAUDE_CODE_DISABLE_REFUSAL_RETRY", "CLAUDE_CODE_DISABLE_REFUSAL_FALLBACK",
        "CLAUDE_CODE_DISABLE_MODEL_ACCESS_FALLBACK", "MCP_TIMEOUT", "CLAUDE_CODE_MAX_RETRIES",
    }  # fmt: skip
    assert seen["ANTHROPIC_API_KEY"] == KEY
    assert seen["PATH"] == os.environ["PATH"]
    assert not {seen["HOME"], seen["CLAUDE_CONFIG_DIR"], seen["TMPDIR"]} & {os.environ["HOME"], "/home/me/.claude"}


def test_the_scoped_profile_adds_its_variables(fake: Fake, asked: Asked) -> None:
    fake.plays(ANSWER).answers(asked(), profile="scoped", thinking_tokens=0, max_output_tokens=2000, retries=0)
    seen = fake.seen["environment"]
    expected = {
        "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1", "ENABLE_TOOL_SEARCH": "false", "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
        "MAX_THINKING_TOKENS": "0", "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "2000", "CLAUDE_CODE_MAX_RETRIES": "0",
    }  # fmt: skip
    assert {name: seen.get(name) for name in expected} == expected


def test_variables_that_are_named_are_passed_on(fake: Fake, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    fake.plays(ANSWER).answers(asked(), pass_env=("HTTPS_PROXY", "NOT_SET"))
    assert fake.seen["environment"]["HTTPS_PROXY"] == "http://127.0.0.1:9"
    assert "NOT_SET" not in fake.seen["environment"]


@pytest.mark.parametrize("own", ["", "intranet"])
def test_this_machine_is_never_asked_through_a_proxy(
    fake: Fake, asked: Asked, monkeypatch: pytest.MonkeyPatch, own: str
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", own)
    fake.plays(ANSWER).answers(asked(), pass_env=("HTTPS_PROXY", "NO_PROXY"))
    excepted = fake.seen["environment"]["NO_PROXY"].split(",")
    assert excepted == [*([own] if own else []), "127.0.0.1", "localhost", "::1"]
    fake.plays(ANSWER).answers(asked())
    assert "NO_PROXY" not in fake.seen["environment"]


@pytest.mark.parametrize(
    ("named", "profile", "passed"),
    [("ANTHROPIC_API_KEY", "bare", "ANTHROPIC_API_KEY"), ("ANTHROPIC_AUTH_TOKEN", "bare", "ANTHROPIC_AUTH_TOKEN"),
     ("MY_KEY", "scoped", "ANTHROPIC_API_KEY"), ("CLAUDE_CODE_OAUTH_TOKEN", "scoped", "CLAUDE_CODE_OAUTH_TOKEN")],
)  # fmt: skip
def test_the_key_is_passed_under_a_name_that_it_reads(
    fake: Fake, asked: Asked, monkeypatch: pytest.MonkeyPatch, named: str, profile: str, passed: str
) -> None:
    monkeypatch.setenv(named, KEY)
    fake.plays(ANSWER).answers(asked(), key_env=named, profile=profile)
    seen = fake.seen["environment"]
    assert [name for name, value in seen.items() if value == KEY] == [passed]


def test_the_providers_own_address_is_not_named(fake: Fake, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    fake.plays(ANSWER).answers(asked(), base_url=None)
    assert "ANTHROPIC_BASE_URL" not in fake.seen["environment"]


def test_home_and_configuration_are_fresh_and_gone_afterwards(fake: Fake, asked: Asked, tmp_path: Path) -> None:
    work = tmp_path / "cell"
    work.mkdir()
    homes = []
    for _ in range(2):
        fake.plays(ANSWER).answers(asked(workdir=str(work)))
        seen = fake.seen
        homes.append(seen["environment"]["HOME"])
        assert seen["home"] == ["config"]
        assert (seen["cwd"], seen["files"]) == (str(work.resolve()), [])
    assert homes[0] != homes[1]
    assert not any(Path(home).parent.exists() for home in homes)
    assert not any(Path(home).is_relative_to(work) for home in homes)


def test_eight_at_once_do_not_meet(fake: Fake, asked: Asked) -> None:
    fake.plays(ANSWER)
    agent = ClaudeCode(model=MODEL, binary=fake.path, base_url="http://127.0.0.1:9", scripted=True)

    async def all_at_once() -> list[Any]:
        return await asyncio.gather(*(agent.answer(asked(prompt=f"number {n}")) for n in range(8)))

    steps = asyncio.run(all_at_once())
    assert {step.status for step in steps} == {Status.OK}
    texts = [json.loads(step.evidence.splitlines()[0])["text"] for step in steps]
    assert texts == [f"Question: number {n}" for n in range(8)]


# -- how it ends -----------------------------------------------------------------------------------------------------


def test_a_failure_of_the_provider(fake: Fake, asked: Asked) -> None:
    step = fake.plays(failed("API Error: 529 busy", api_error_status=529), code=1).answers(asked())
    assert (step.status, step.text, step.detail) == (Status.API_ERROR, None, "API Error: 529 busy")
    assert step.usage.input == 0


def test_the_reason_of_a_dead_server_is_told(fake: Fake, asked: Asked) -> None:
    events = [init((), {"memory": "failed"}), said("Oslo."), result()]
    step = fake.plays(events).answers(asked(toolset=Toolset(servers=(tool_server("loud"),))))
    assert step.status is Status.HARNESS
    assert step.detail == "servers: expected {'memory': 'connected'}, found {'memory': 'failed'}"


def test_at_the_limit_of_time_the_usage_so_far_is_kept(fake: Fake, asked: Asked) -> None:
    last = result(None, is_error=True, terminal_reason="aborted_streaming", modelUsage={MODEL: tokens(input=40)})
    fake.plays([init(), said("Os")], on_interrupt=[last], child=True, sleep=60)
    step = fake.answers(asked(limit_seconds=1.5))
    assert (step.status, step.text) == (Status.LIMIT_TIME, None)
    assert step.usage.input == 40
    assert step.usage.wall_ms < 10_000
    assert not _alive(fake.seen["child"])


def test_one_that_heeds_no_interrupt_is_ended(fake: Fake, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memassay.agents.claude_code.process._INTERRUPT_SECONDS", 0.3)
    step = fake.plays([init(), said("Os")], deaf=True, child=True, sleep=60).answers(asked(limit_seconds=1.5))
    assert step.status is Status.LIMIT_TIME
    assert (step.usage.turns, step.usage.cost_usd) == (1, None)
    assert not _alive(fake.seen["child"])
    assert not _alive(fake.seen["pid"])


def test_a_killed_one(fake: Fake, asked: Asked) -> None:
    step = fake.plays([init(), said("Oslo.")], kill=9, child=True).answers(asked())
    assert (step.status, step.text) == (Status.HARNESS, None)
    assert "killed by signal 9" in step.detail
    assert not _alive(fake.seen["child"])


def test_one_that_does_not_begin(fake: Fake, asked: Asked) -> None:
    step = fake.plays([], errors="error: unknown option '--bare'\n", code=1).answers(asked())
    assert step.status is Status.HARNESS
    assert "unknown option" in step.detail


def test_no_program_and_no_key_are_faults_of_the_harness(fake: Fake, asked: Asked) -> None:
    assert "/no/such" in ask(asked(), binary="/no/such").detail
    step = fake.plays(ANSWER).answers(asked(), base_url=None)
    assert step.status is Status.HARNESS
    assert "ANTHROPIC_API_KEY" in step.detail
    with pytest.raises(EnvironmentProblem, match="ANTHROPIC_API_KEY"):
        asyncio.run(ClaudeCode(model=MODEL, binary=fake.path).prepare())
    with pytest.raises(EnvironmentProblem, match="/no/such"):
        asyncio.run(ClaudeCode(model=MODEL, binary="/no/such", base_url="http://127.0.0.1:9").prepare())


def test_a_program_that_is_gone_in_the_middle(fake: Fake, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    async def vanish(*args: Any, **more: Any) -> Any:
        raise FileNotFoundError(2, "No such file", "claude")

    monkeypatch.setattr("memassay.agents.claude_code.agent.run", vanish)
    step = fake.plays(ANSWER).answers(asked())
    assert step.status is Status.HARNESS
    assert "cannot be started" in step.detail


def test_no_key_is_in_what_is_kept(fake: Fake, asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    step = fake.plays(ANSWER, tell_key=True).answers(asked())
    assert step.text == "Oslo.[ANTHROPIC_API_KEY]"
    assert step.evidence is not None
    assert KEY.encode() not in step.evidence
    assert step.evidence.count(b"[ANTHROPIC_API_KEY]") == 2
    assert KEY not in step.model_dump_json()


def _alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# -- what it is ------------------------------------------------------------------------------------------------------


def test_identity(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    agent = ClaudeCode(model=MODEL, binary=fake.path, base_url="http://me:secret@127.0.0.1:9/v1?token=secret")
    about = agent.identity()
    assert set(about) == {"claude", "sha256", "profile", "flags", "environment", "address", "prices"}
    assert about["claude"] == VERSION
    assert about["address"] == "http://127.0.0.1:9/v1"
    text = json.dumps(about)
    assert "secret" not in text
    assert str(fake.folder) not in text
    assert tempfile.gettempdir() not in text
    other = ClaudeCode(model=MODEL, binary=fake.path, base_url="http://127.0.0.1:9/v1", profile="scoped")
    assert other.identity()["profile"] == "scoped"
    assert other.identity()["flags"] != about["flags"]


def test_it_keeps_the_contract() -> None:
    agent = ClaudeCode(model="anthropic/claude-opus-4-8")
    assert isinstance(agent, Agent)
    assert isinstance(agent, Priced)
    assert agent.model == "real"
    assert ClaudeCode(model=MODEL, scripted=True).model == "scripted"
    assert agent.accesses == {"dossier", "tools"}
    assert ClaudeCode(model=MODEL, profile="scoped").accesses == {"dossier", "tools", "folder"}
    assert agent.price(Usage(input=1_000_000)) == pytest.approx(5.0)
    with pytest.raises(UsageError, match="scoped"):
        agent.check(frozenset({"folder"}))


def test_settings_are_checked() -> None:
    options = {"model": MODEL, "pass_env": ["HTTPS_PROXY"], "thinking_tokens": "0"}
    bound = registry.bind_options(ClaudeCode, options, "agent 'claude-code'")
    assert bound["pass_env"] == ("HTTPS_PROXY",)
    assert bound["thinking_tokens"] == 0
    for wrong, words in (
        ({"profile": "scope"}, "Did you mean 'scoped'"),
        ({"key_env": "CLAUDE_CODE_OAUTH_TOKEN"}, "reads no subscription"),
        ({"retries": -1}, "CLAUDE_CODE_MAX_RETRIES"),
        ({"max_output_tokens": 0}, "CLAUDE_CODE_MAX_OUTPUT_TOKENS"),
        ({"base_url": "ftp://x"}, "base_url"),
    ):
        with pytest.raises(UsageError, match=words):
            ClaudeCode(**{"model": MODEL, **wrong})
