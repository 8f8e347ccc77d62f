"""``memassay memory serve`` from the command line; what it serves is tested in ``tests/knowledge/test_server.py``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from kit import Cli
from memassay.core.digest import digest_folder
from memassay.memories.folder import seal


@pytest.fixture
def notes(workplace: Path) -> Path:
    (workplace / "notes").mkdir()
    (workplace / "notes" / "tea.md").write_text("# Tea\n")
    return workplace / "notes"


@pytest.fixture
def run_store(workplace: Path) -> Path:
    """A folder such as the memory ``markdown`` leaves in a run."""
    (workplace / "store" / "pages").mkdir(parents=True)
    (workplace / "store" / "pages" / "tea.md").write_text("# Tea\n")
    seal(workplace / "store", "markdown", {}, [])
    (workplace / "lexical").mkdir()
    seal(workplace / "lexical", "lexical", {}, [])
    return workplace / "store"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--store", "nowhere"], "nowhere is not a folder"),
        (["--store", "notes", "--tools", "serch"], "Unknown tool 'serch'. Did you mean 'search'"),
        (["--store", "notes", "--tools", "find,create"], "say --write to offer it"),
        (["--store", "notes", "--embedder", "minilmm"], "Unknown embedder 'minilmm'. Did you mean 'minilm'?"),
        (["--store", "store", "--write"], "is the store of a run, which must not change"),
        (["--store", "lexical"], "is a store of the memory 'lexical'"),
    ],
)
def test_a_mistake_is_one_sentence(cli: Cli, notes: Path, run_store: Path, words: list[str], says: str) -> None:
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    ran = cli("memory", "serve", *words)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.complaint


def test_without_the_extra_it_says_which(cli: Cli, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import memassay.knowledge

    for module in ("mcp", "mcp.server"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, "memassay.knowledge.server", raising=False)
    monkeypatch.delattr(memassay.knowledge, "server", raising=False)
    ran = cli("memory", "serve", "--store", "notes")
    assert ran.code == 3
    assert ran.complaint == "memassay: mcp is not installed; run: pip install 'memassay[mcp]'."


def test_the_store_of_a_run_is_served_and_not_touched(cli_process: Cli, run_store: Path) -> None:
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    before = digest_folder(run_store)
    ran = cli_process("memory", "serve", "--store", run_store)  # standard input is empty, so it ends at once
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert digest_folder(run_store) == before


def test_an_embedder_is_loaded_when_it_is_needed(cli_process: Cli, notes: Path) -> None:
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    ran = cli_process("memory", "serve", "--store", notes, "--embedder", "hash")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert [path.name for path in notes.iterdir()] == ["tea.md"]


def test_standard_input_has_to_be_there(cli_process: Cli, notes: Path) -> None:
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    ran = cli_process("memory", "serve", "--store", notes, preexec=lambda: os.close(0))
    assert ran.code == 2 and "Standard input is closed" in ran.complaint


def test_the_help_shows_how(cli: Cli) -> None:
    shown = cli("memory", "serve", "--help").out
    assert "memassay memory serve --store notes" in shown and "--allow-remote" in shown
