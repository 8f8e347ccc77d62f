"""``memassay memory list`` and ``new``: the package that is written is installed and run, without a network."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from plugins_pages import python_file

Cli = Callable[..., Any]


def install(package: Path, to: Path, home: Path) -> None:
    """Install a package into a folder of its own, with the build backend that is already here."""
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    command += ["--no-cache-dir", "--disable-pip-version-check", "--target", str(to), str(package)]
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    done = subprocess.run(command, env={**kept, "HOME": str(home)}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


# -- list ----------------------------------------------------------------------------------------------------------


def test_list_names_every_memory_with_its_settings(cli: Cli) -> None:
    rows = {row["name"]: row for row in cli("memory", "list", "--json").json}
    assert {"files", "lexical", "full-context"} <= set(rows)
    lexical = rows["lexical"]
    assert lexical["origin"] == "memassay" and lexical["version"] and "BM25" in lexical["summary"]
    settings = {setting["name"]: setting for setting in lexical["settings"]}
    assert settings["window"] == {"name": "window", "type": "int", "required": False, "default": 3}
    assert settings["stemmer"]["type"] == "english|suffix|none"
    shown = cli("memory", "list")
    assert shown.code == 0 and shown.err == ""
    assert "lexical  (memassay" in shown.out and "english|suffix|none" in shown.out


def test_a_plugin_that_cannot_be_imported_does_not_end_the_list(cli_process: Cli, tmp_path: Path) -> None:
    about = tmp_path / "site" / "broken-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text("[memassay.memories]\nbroken = nowhere:Memory\n", encoding="utf-8")
    env = {"PYTHONPATH": str(tmp_path / "site")}
    rows = {row["name"]: row for row in cli_process("memory", "list", "--json", env=env).json}
    assert "cannot be imported: ModuleNotFoundError" in rows["broken"]["error"]
    assert "settings" in rows["files"]
    ran = cli_process("run", "custom", "--sample", "--memory", "broken", "--limit", "1", env=env)
    assert ran.code == 2 and "Reinstall the package" in ran.complaint


# -- new -----------------------------------------------------------------------------------------------------------


def test_new_writes_a_package(cli: Cli, workplace: Path) -> None:
    ran = cli("memory", "new", "night-owl")
    assert ran.code == 0 and "pip install" in ran.out
    made = sorted(p.relative_to(workplace).as_posix() for p in workplace.rglob("*") if p.is_file())
    assert made == [
        "night-owl/README.md",
        "night-owl/pyproject.toml",
        "night-owl/src/night_owl/__init__.py",
        "night-owl/tests/test_night_owl.py",
    ]
    project = tomllib.loads((workplace / "night-owl" / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["entry-points"]["memassay.memories"] == {"night-owl": "night_owl:NightOwl"}
    texts = [(workplace / name).read_text("utf-8") for name in made]
    assert not any("@NAME@" in text or "@PACKAGE@" in text or "@CLASS@" in text for text in texts)
    source = (workplace / "night-owl/src/night_owl/__init__.py").read_text("utf-8")
    assert 30 <= len([line for line in source.splitlines() if line.strip()]) <= 45
    for text in texts[2:]:
        compile(text, "written", "exec")
        assert max(map(len, text.splitlines())) <= 120


def test_every_template_is_packaged() -> None:
    folder = resources.files("memassay") / "templates" / "plugin"
    names = {item.name for item in folder.iterdir()}
    assert names == {
        "README.md.template", "memory.py.template", "pyproject.toml.template", "test_memory.py.template",
    }  # fmt: skip


def test_new_touches_nothing_that_is_there(cli: Cli, workplace: Path) -> None:
    assert cli("memory", "new", "night-owl", "--to", "deep/er/owl").code == 0
    before = {p: p.read_bytes() for p in workplace.rglob("*") if p.is_file()}
    (workplace / "file").touch()
    (workplace / "link").symlink_to(workplace / "nowhere")
    for folder in ("deep/er/owl", "deep/er", "file", "link"):
        ran = cli("memory", "new", "night-owl", "--to", folder)
        assert ran.code == 2 and "is not touched; choose another folder with --to" in ran.complaint
    assert {p: p.read_bytes() for p in workplace.rglob("*") if p.is_file() and p.name != "file"} == before
    (workplace / "empty").mkdir()
    assert cli("memory", "new", "night-owl", "--to", "empty").code == 0
    assert not [p for p in workplace.rglob(".*")], "no half-written folder is left"


def test_new_where_nothing_can_be_written(cli: Cli) -> None:
    ran = cli("memory", "new", "night-owl", "--to", "/proc/owl")
    assert ran.code == 3 and "cannot be written" in ran.complaint and "--to" in ran.complaint


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("Night Owl", "memassay memory new night-owl"),
        ("night_owl", "memassay memory new night-owl"),
        ("9lives", "memassay memory new lives"),
        ("../owl", "memassay memory new owl"),
        ("eule-\u00fc", "memassay memory new eule-u"),
        ("", "memassay memory new my-memory"),
        ("\U0001f989", "memassay memory new my-memory"),
        ("owl-", "memassay memory new owl"),
        ("a" * 50, "at most 40"),
        ("lexical", "memassay memory new my-lexical"),
        ("oracle", "memassay memory new my-oracle"),
        ("json", "memassay memory new my-json"),
        ("class", "memassay memory new my-class"),
        ("numpy", "memassay memory new my-numpy"),
        ("memassay", "memassay memory new my-memassay"),
    ],
)
def test_new_refuses_a_bad_name_with_one_that_works(cli: Cli, workplace: Path, name: str, fix: str) -> None:
    ran = cli("memory", "new", name)
    assert ran.code == 2 and fix in ran.complaint
    assert not list(workplace.iterdir())


# -- installed -----------------------------------------------------------------------------------------------------


@pytest.fixture
def owl(cli: Cli, workplace: Path, tmp_path: Path, own_home: Path) -> dict[str, str]:
    """The package that ``memory new`` writes, installed; what a process needs to see it."""
    cli("memory", "new", "night-owl", "--to", "my owl")
    site = tmp_path / "site packages"
    install(workplace / "my owl", site, own_home)
    return {"PYTHONPATH": str(site)}


def test_the_package_is_installed_and_run_by_name(cli_process: Cli, owl: dict[str, str]) -> None:
    env = owl
    rows = {row["name"]: row for row in cli_process("memory", "list", "--json", env=env).json}
    assert (rows["night-owl"]["origin"], rows["night-owl"]["version"]) == ("night-owl", "0.1.0")
    assert rows["night-owl"]["settings"] == [{"name": "min_letters", "type": "int", "required": False, "default": 4}]
    command = ["run", "custom", "--sample", "--memory", "night-owl,files", "--set", "night-owl.min_letters=3"]
    ran = cli_process(*command, "--limit", "24", "--out", "runs/first", "--json", env=env)
    assert ran.code == 0, ran.err
    arm = ran.json["arms"]["night-owl"]
    assert (arm["source"]["origin"], arm["source"]["version"]) == ("night-owl", "0.1.0") and arm["source"]["code"]
    assert arm["options"] == {"min_letters": 3}
    assert arm["metrics"]["all@2000"]["value"] > ran.json["arms"]["files"]["metrics"]["all@2000"]["value"]
    again = cli_process("memory", "new", "night-owl", "--to", "second", env=env)
    assert again.code == 2 and "There is a memory 'night-owl' already" in again.complaint


@pytest.mark.slow
def test_the_package_passes_its_own_test(cli_process: Cli, owl: dict[str, str], workplace: Path) -> None:
    tested = cli_process("-q", "-p", "no:cacheprovider", env=owl, cwd=workplace / "my owl", python=["-m", "pytest"])
    assert tested.code == 0 and "2 passed" in tested.out, tested.out


FOUR = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "four"
version = "2.5"

[project.entry-points."memassay.memories"]
mine = "four.mymem:MyMemory"

[project.entry-points."memassay.agents"]
repeats = "four.agent:Repeats"

[project.entry-points."memassay.judges"]
first-passage = "four.first_passage:FirstPassage"

[project.entry-points."memassay.suites"]
towns = "four.towns:Towns"
"""
AGENT = '''
from memassay.core.types import Step


class Repeats:
    """Says what it was shown."""

    async def answer(self, request):
        return Step(name="answer", text=request.dossier)
'''


def test_a_package_may_bring_memory_agent_judge_and_suite(
    cli_process: Cli, workplace: Path, tmp_path: Path, own_home: Path
) -> None:
    """The four groups of entry points, with the code of docs/extending.md."""
    source = tmp_path / "four" / "four"
    source.mkdir(parents=True)
    (source.parent / "pyproject.toml").write_text(FOUR, encoding="utf-8")
    (source / "__init__.py").touch()
    (source / "agent.py").write_text(AGENT, encoding="utf-8")
    for name in ("mymem.py", "first_passage.py", "towns.py"):
        (source / name).write_text(python_file("extending.md", name), encoding="utf-8")
    install(source.parent, tmp_path / "site", own_home)
    (workplace / "towns.toml").write_text(
        'suite = "towns"\nagent = "repeats"\n[memories.mine]\nuse = "mine"\n', encoding="utf-8"
    )
    ran = cli_process("run", "towns.toml", "--out", "runs/towns", "--json", env={"PYTHONPATH": str(tmp_path / "site")})
    assert ran.code == 0, ran.err
    arm = ran.json["arms"]["mine"]
    assert (arm["source"]["origin"], arm["source"]["version"]) == ("four", "2.5")
    assert arm["n"] == 6 and arm["metrics"]["all@1000"]["value"] == 1.0
    run = workplace / "runs" / "towns"
    assert (run / "judgements" / "first-passage.jsonl").stat().st_size > 0
    answers = [json.loads(line) for line in (run / "answers-1of1.jsonl").read_text("utf-8").splitlines()]
    # A planted task asks the memory alone.
    said = [a["steps"][-1]["text"] for a in answers if a["cell"]["arm"] == "mine" and len(a["steps"]) > 1]
    assert said and all(text for text in said)
