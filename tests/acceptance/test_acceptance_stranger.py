"""A stranger's first run: no home, an odd path, no git, another locale, a narrow terminal, no network, no key."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from kit import Cli, Ran
from memassay.cli import demo

NARROW = {"LANG": "C", "LC_ALL": "C", "COLUMNS": "60", "TERM": "dumb"}


@pytest.fixture
def stranger(cli_process: Cli, tmp_path: Path, own_home: Path) -> Any:
    """The command in a folder with blanks and a letter beyond ASCII; nothing but the command on PATH."""
    folder = tmp_path / "my first run é"
    folder.mkdir()
    path = str(Path(sys.executable).parent)
    assert not (Path(path) / "git").exists()

    def run(*args: str, **env: str) -> Ran:
        ran = cli_process(*args, cwd=folder, env={**NARROW, "PATH": path, **env})
        assert "Traceback" not in ran.err + ran.out, ran.err
        assert ran.code == 0, ran.err
        return ran

    run.folder = folder  # type: ignore[attr-defined]
    run.home = own_home  # type: ignore[attr-defined]
    return run


def tables(text: str) -> list[str]:
    """The lines up to the demo's last words."""
    return re.split(r"^report", text, maxsplit=1, flags=re.MULTILINE | re.IGNORECASE)[0].splitlines()


def commands(text: str) -> list[list[str]]:
    """The commands that a text tells a person to type, without the program's name."""
    return [line.split()[1:] for line in text.splitlines() if re.match(r"\s+\S*memassay \w", line)]


def test_the_first_minute(stranger: Any) -> None:
    helped = stranger("--help")
    assert "demo" in helped.out
    assert max(map(len, helped.out.splitlines())) <= 60

    ran = stranger(
        "run", "locomo", "--sample", "--memory", "files,lexical", "--limit", "16", "--out", "runs/my run é", "--json"
    )
    summary = json.loads(ran.out)
    assert summary["arms"]["lexical"]["n"] == 16

    task = json.loads((stranger.folder / "runs/my run é/tasks.jsonl").read_text("utf-8").splitlines()[0])
    shown = stranger("show", "runs/my run é", task["id"])
    assert task["id"] in shown.out
    listed = stranger("ledger", "runs")
    assert "locomo" in listed.out
    assert list(stranger.home.iterdir()) == [], "something was written into the home folder"


def says_what_is_next(said: str, report: Path) -> list[list[str]]:
    """The commands that the demo ends with, after the checks of everything else that it says."""
    wide = [line for line in tables(said) if len(line) > 60]
    assert wide == [], wide
    last = said.partition("\nreport: ")[2]
    assert last.splitlines()[0].startswith(str(report))
    assert "sample" in last.lower()
    assert "verdict" in last
    begins = ["data fetch", "run locomo", "data fetch", "run hotpotqa", "store search", "memory new"]
    found = commands(last)
    assert [" ".join(words[:2]) for words in found] == begins
    return found


def test_a_short_demo_fits_the_terminal_and_ends_with_commands_that_exist(
    cli: Cli, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve questions of one sample; the whole demo is the test below."""
    few = demo.demo_experiment("locomo").model_copy(update={"limit": 12})
    monkeypatch.setattr(demo, "demo_experiment", lambda _: few)
    monkeypatch.setattr(demo, "suites_with_sample", lambda: ["locomo"])
    monkeypatch.setattr(demo, "answers_experiment", lambda: few.model_copy(update={"controls": False}))
    for name, value in NARROW.items():
        monkeypatch.setenv(name, value)
    ran = cli("demo", "--out", "first demo ü")
    assert ran.code == 0, ran.err
    assert "LOCOMO" in ran.out.upper()
    for words in says_what_is_next(ran.out, Path("first demo ü", "report.html")):
        assert cli(*words[: 2 if words[0] in ("data", "memory") else 1], "--help").code == 0
    assert list(own_home.iterdir()) == [], "something was written into the home folder"


@pytest.mark.slow
def test_the_whole_demo(stranger: Any) -> None:
    shown = stranger("demo", "--out", "first demo ü")
    out = stranger.folder / "first demo ü"
    linked = re.findall(r'<a href="([^"]+)">', (out / "report.html").read_text("utf-8"))
    suites = ("association", "canary", "custom", "hotpotqa", "locomo-answers", "locomo")
    assert sorted(linked) == [f"{suite}/report.html" for suite in suites]
    for report in linked:
        assert (out / report).stat().st_size > 10_000
    for suite in ("locomo", "custom", "hotpotqa"):
        assert (out / suite / "summary.json").is_file()
        arms = json.loads((out / suite / "summary.json").read_text("utf-8"))["arms"]
        assert sorted(arms) == ["files", "full-context", "lexical", "markdown", "passages-words"]
        assert arms["passages-words"]["options"]["embedder"] == "none"
        assert suite.upper() in shown.out.upper() or "your own questions" in shown.out
    for name in ("files", "lexical", "full-context"):
        assert name in shown.out
    for words in says_what_is_next(shown.out, Path("first demo ü", "report.html")):
        stranger(*words[: 2 if words[0] in ("data", "memory") else 1], "--help")

    again = json.loads(stranger("demo", "--out", "first demo ü", "--json").out)
    assert set(again) >= {"locomo", "custom"}
    for suite, summary in again.items():
        assert summary["sample"] is True
        assert summary["publishable"]["value"] is False
        usual = ("oracle", "empty", "random", "marker")
        for name in ("reference", "empty") if suite == "association" else usual:
            assert summary["controls"][name]["passed"] is True, (suite, summary["controls"][name])
    assert list(stranger.home.iterdir()) == [], "something was written into the home folder"


def test_a_locale_that_python_does_not_mend(stranger: Any) -> None:
    """Python turns LC_ALL=C into UTF-8 unless it is told not to; then every file must name its own encoding."""
    hard = {"PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    base = ["run", "locomo", "--sample", "--memory", "files,lexical", "--limit", "8", "--out", "r"]
    stranger(*base, **hard)
    shown = stranger("show", "r", "missed", **hard)
    assert shown.out.isascii() or shown.out
    stranger("report", "r", **hard)
    assert "é" not in stranger("ledger", ".", **hard).err


def test_a_folder_whose_name_is_not_unicode(cli_process: Cli, workplace: Path) -> None:
    """Names on a disk are bytes; an old one in Latin-1 must not make a run that cannot be read again."""
    folder = workplace / os.fsdecode(b"caf\xe9")
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("this file system refuses such names")
    base = ["run", "locomo", "--sample", "--memory", "files", "--limit", "8", "--budgets", "500", "--out", "r"]
    for command in (base, base, ["judge", "r", "--json"], ["show", "r", "missed"], ["ledger", "."]):
        ran = cli_process(*command, cwd=folder)
        assert ran.code == 0, ran.err


def test_help_needs_no_heavy_import(cli_process: Cli) -> None:
    code = "import sys\nfrom memassay.cli import main\nsys.argv = ['memassay', '--help']\nmain.main()"
    ran = cli_process(python=("-X", "importtime", "-c", code))
    imported = {line.rpartition("|")[2].strip() for line in ran.err.splitlines() if line.startswith("import time:")}
    assert "memassay.cli.main" in imported
    assert not imported & {"numpy", "scipy", "pydantic", "bm25s", "jinja2", "bpe_openai", "memassay.core.types"}
