"""What the doctor says of the machine: versions, credentials, disk, data, prices."""

from __future__ import annotations

import importlib.metadata
import inspect
import os
import re
from pathlib import Path

import pytest

from kit import ROOT
from memassay.agents.api import Api
from memassay.agents.claude_code.agent import ClaudeCode
from memassay.core import registry
from memassay.core.digest import digest_file
from memassay.core.peers import PEERS
from memassay.core.types import Status, Usage
from memassay.models.prices import TABLE_DATE, price
from memassay.running.doctor import Finding, exit_code
from memassay.running.doctor.credentials import KNOWN, credentials, hidden
from memassay.running.doctor.places import data_sets, disk, prices, shortened
from memassay.running.doctor.versions import requirements, versions
from memassay.running.presets import PRESETS
from memassay.version import __version__
from servers.claude import VERSION, stand_in


def by_name(found: list[Finding]) -> dict[str, Finding]:
    return {finding.name: finding for finding in found}


@pytest.mark.parametrize(
    ("states", "code"),
    [([], 0), (["ok", "note"], 0), (["ok", "missing"], 3), (["failed", "ok"], 1), (["missing", "failed"], 1)],
)
def test_a_failed_check_comes_before_something_missing(states: list[str], code: int) -> None:
    assert exit_code([Finding("s", "n", state) for state in states]) == code  # type: ignore[arg-type]


# -- versions --------------------------------------------------------------------------------------------------------


def test_packages_are_those_of_the_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["numpy<3,>=2.2", "No.Such-Package>=1", "pydantic; extra == 'full'", 'nor_this==2 ; extra == "half"']
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: lines)
    assert requirements() == {"": ["numpy", "No.Such-Package"], "full": ["pydantic"], "half": ["nor_this"]}
    found = versions()
    assert Finding("versions", "packages", "ok", f"numpy {importlib.metadata.version('numpy')}") in found
    assert (
        Finding("versions", "packages", "failed", "not installed: No.Such-Package", "pip install memassay again")
        in found
    )
    named = by_name(found)
    assert named["extra full"].detail == f"pydantic {importlib.metadata.version('pydantic')}"
    half = named["extra half"]
    assert (half.state, half.detail) == ("note", "not installed: nor_this")
    assert half.fix == "pip install 'memassay[half]'"
    assert named["memassay"].detail == __version__


def test_programs_of_others_have_a_version_and_a_digest(
    tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    program = stand_in(own_home / "bin")
    monkeypatch.setenv("CLAUDE_BIN", str(program))
    found = by_name(versions())
    assert found["claude"].detail == f"{VERSION} at ~/bin/claude, sha256 {digest_file(program)}"
    assert found["claude"].state == "ok"
    assert (found["iwe"].state, found["iwec"].state) == ("note", "note")
    assert "make peers" in found["iwe"].fix

    other = tmp_path / "other"
    other.write_text("#!/bin/sh\necho 1.0 of something\n")
    other.chmod(0o755)
    named = by_name(versions(str(other)))["claude"]
    assert (named.state, named.detail) == ("note", f"1.0 at other, sha256 {digest_file(other)}")
    assert VERSION in named.fix, "another version than the one that is tested"

    other.write_text("#!/bin/sh\nexit 3\n")
    assert "ends with code 3" in by_name(versions(str(other)))["claude"].detail
    monkeypatch.setenv("CLAUDE_BIN", "/no/such")
    assert by_name(versions())["claude"].state == "failed"

    monkeypatch.delenv("CLAUDE_BIN")
    monkeypatch.setenv("MEMASSAY_PEERS", str(tmp_path / "peers"))
    place = PEERS["claude"].place
    place.parent.mkdir(parents=True)
    program.rename(place)
    altered = by_name(versions())["claude"]
    assert altered.state == "failed" and "is not the pinned Claude Code" in altered.detail


def test_a_path_names_nobody(own_home: Path) -> None:
    assert shortened(own_home / "a" / "b") == "~/a/b"
    assert shortened(Path("/home/somebody/else")) == "else"
    assert shortened(Path("/")) == "/"


# -- credentials -----------------------------------------------------------------------------------------------------


def test_credentials_are_set_or_not_set_and_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KNOWN:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "  ")
    monkeypatch.setenv("OF_MY_OWN", "x")
    found = credentials({"key_env": "OF_MY_OWN"})
    assert {f.name: f.detail for f in found} == {
        **dict.fromkeys(KNOWN, "not set"), "OF_MY_OWN": "set", "OPENAI_API_KEY": "set",
    }  # fmt: skip
    assert all((f.fix, f.state) == ("", "ok" if f.detail == "set" else "note") for f in found)


def test_credentials_are_away_while_the_doctor_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "t")
    monkeypatch.setenv("HARMLESS", "h")
    before = dict(os.environ)
    with pytest.raises(RuntimeError), hidden():
        assert "MY_TOKEN" not in os.environ
        assert os.environ["HARMLESS"] == "h"
        raise RuntimeError
    assert dict(os.environ) == before


# -- places ----------------------------------------------------------------------------------------------------------


def test_disk(workplace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert [(f.name, f.state) for f in disk()] == [("working folder", "ok"), ("temporary folder", "ok")]
    assert all("GB free" in f.detail for f in disk())
    assert list(tmp_path.iterdir()) == [tmp_path / "work"]
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "not there"))
    found = disk()[1]
    assert (found.state, found.detail) == ("missing", "it cannot be written: No such file or directory")
    assert "TMPDIR" in found.fix


def test_little_room_is_said(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memassay.running.doctor.places._LITTLE_BYTES", 1 << 62)
    assert [f.state for f in disk()] == ["note", "note"]


def test_data_sets(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {f.state for f in data_sets()} == {"note"}
    (workplace / "data").mkdir()
    (workplace / "data" / "locomo10.json").write_text("[]")
    found = by_name(data_sets())
    assert (found["locomo"].state, found["locomo"].detail) == ("ok", "here")
    assert found["hotpotqa"].fix == "memassay data fetch hotpotqa"
    assert found["hotpotqa-200"].fix == "memassay data fetch hotpotqa-200 --from FILE"


def test_prices() -> None:
    (found,) = prices()
    assert found.name == f"table of {TABLE_DATE}"
    models = found.detail.split(", ")
    assert len(models) > 5
    assert all(price(model, Usage(input=1)) for model in models)


# -- the pages -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", ["footguns.md", "agents.md"])
def test_the_tests_that_a_page_names_exist(page: str) -> None:
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs" / page).read_text(encoding="utf-8")))
    assert named
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert named <= set(re.findall(r"def (test_\w+)\(", sources))


def test_the_page_names_every_agent_setting_status_and_preset() -> None:
    text = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
    words = set(re.findall(r"`([^`\n]+)`", text))
    assert set(registry.agents.names()) - {"noop"} <= words
    for agent in (Api, ClaudeCode):
        assert {name for name in inspect.signature(agent).parameters} <= words
    assert {str(s) for s in Status} - {"empty", "memory-timeout", "memory-crash", "memory-empty-store"} <= words
    assert {arm for suites in PRESETS.values() for arms in suites.values() for arm in arms} <= words
