"""Secrets: settings that look like one are refused, and what is said of a failure is masked."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from odd_memories import Run, records

from kit import Cli
from memassay.running.calls import redact

LEAKING = """
from memassay.core.types import Status, Step


class Lost:
    async def answer(self, request):
        raise RuntimeError("cannot reach https://ada:s3cr3t-w0rd@models.example/v1")


class Unreached:
    async def answer(self, request):
        raise ConnectionError("cannot reach https://ada:s3cr3t-w0rd@models.example/v1")


class Polite:
    async def answer(self, request):
        return Step(
            name="answer", status=Status.API_ERROR, detail="no answer from https://ada:s3cr3t-w0rd@models.example/v1"
        )
"""


@pytest.mark.parametrize("key", ["api_key", "API_KEY", "apikey", "openai_api_key", "password", "client_secret"])
def test_a_setting_that_looks_like_a_secret_is_refused(
    cli: Cli, workplace: Path, odd: Callable[..., str], small_file: Callable[..., Path], key: str
) -> None:
    ran = cli(
        "run", "locomo", "--data", small_file(1, 2), "--memory", f"odd={odd()}", "--set", f"odd.{key}=sk-0123456789",
        "--out", "runs/r",
    )  # fmt: skip
    assert ran.code == 2 and ran.out == ""
    assert key in ran.complaint and "environment" in ran.complaint
    assert "sk-0123456789" not in ran.err
    assert not list(workplace.iterdir())


def everything(folder: Path) -> dict[str, str]:
    """Every file below a folder as text, unpacked."""
    return {
        p.relative_to(folder).as_posix(): (
            gzip.decompress(p.read_bytes()) if p.suffix == ".gz" else p.read_bytes()
        ).decode("utf-8", "replace")
        for p in folder.rglob("*")
        if p.is_file()
    }


@pytest.mark.usefixtures("no_backoff")
@pytest.mark.parametrize("login", ["ada:s3cr3t-w0rd", ":s3cr3t-w0rd"])
@pytest.mark.parametrize("stage", ["build", "open", "retrieve"])
@pytest.mark.parametrize("kind", ["runtime", "network", "cannot"])
def test_a_login_in_the_text_of_an_error_stands_in_no_file(
    small_run: Run, odd: Callable[..., str], cause: Path, tmp_path: Path, kind: str, stage: str, login: str
) -> None:
    cause.write_text(f"{stage} {kind}=cannot reach postgres://{login}@db.example:5432/notes, twice", encoding="utf-8")
    _, folder = small_run(
        "r", {"odd": {"use": odd(), "cause": str(cause)}, "good": {}}, clusters=1, limit=4, controls=False
    )
    found = everything(folder)
    assert [name for name, text in found.items() if "s3cr3t-w0rd" in text] == []
    said = " ".join(found.values())
    assert "@db.example:5432/notes, twice" in said, "the rest of the message is kept"


@pytest.mark.usefixtures("no_backoff")
@pytest.mark.parametrize("name", ["Lost", "Unreached", "Polite"])
def test_a_login_in_what_an_agent_says_of_its_failure_stands_in_no_file(
    small_run: Run, tmp_path: Path, name: str
) -> None:
    (tmp_path / "agent.py").write_text(LEAKING, encoding="utf-8")
    _, folder = small_run("r", agent=f"{tmp_path / 'agent.py'}:{name}", clusters=1, limit=2, controls=False)
    found = everything(folder)
    assert [file for file, text in found.items() if "s3cr3t-w0rd" in text] == []
    assert any("models.example" in json.dumps(r) for r in records(folder, "toy"))


@pytest.mark.parametrize("password", ["s3cr3t", "p@s3cr3t", "s3cr3t@p", "a:s3cr3t", "s3cr3t%2F", "s3cr3t@@"])
def test_every_part_of_a_password_is_masked(password: str) -> None:
    said = redact(f"cannot reach redis://ada:{password}@db.example:5432/x?y=1 or http://other.example/a@b")
    assert "s3cr3t" not in said
    assert "db.example:5432/x?y=1" in said and "http://other.example/a@b" in said
