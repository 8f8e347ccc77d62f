from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from association_kit import FEW, FILES, THREE, command
from hotpotqa_kit import CHOSEN, RunCases

from kit import Cli
from session import once, shared


@pytest.fixture
def chosen(tmp_path: Path) -> str:
    (tmp_path / "chosen.py").write_text(CHOSEN, encoding="utf-8")
    return f"{tmp_path / 'chosen.py'}:Chosen"


@pytest.fixture
def run_cases(cli: Cli, workplace: Path) -> RunCases:
    """``run_cases(questions, "--memory", ...)``: the summary of a run over these questions, in ``workplace/r``."""

    def go(questions: Sequence[dict[str, Any]], *args: Any, out: str = "r") -> dict[str, Any]:
        Path("cases.json").write_text(json.dumps(questions), encoding="utf-8")
        base = ["run", "hotpotqa", "--stage", "retrieval", "--data", "cases.json", "--tokens", "chars4"]
        ran = cli(*base, "--out", out, "--json", *args)
        assert ran.code == 0, ran.err
        return ran.json  # type: ignore[no-any-return]

    return go


@pytest.fixture
def pool(run_cases: RunCases, chosen: str, workplace: Path) -> Callable[..., dict[str, list[Any]]]:
    """``pool(questions, "titles")``: the documents that a memory is given, ``{id: [text, units, links, title]}``."""

    def of(questions: Sequence[dict[str, Any]], out: str = "titles") -> dict[str, list[Any]]:
        file, links = workplace / f"pool-{out}.json", out.partition("-")[0]
        more = ["--set", f"m.dump={file}", "--no-controls", "--limit", "1", "--budgets", "50"]
        run_cases(questions, "--memory", f"m={chosen}", "--links", links, *more, out=f"pool-{out}")
        return json.loads(file.read_text(encoding="utf-8"))  # type: ignore[no-any-return]

    return of


@pytest.fixture(scope="session")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run ``r`` of ``association``, few questions on the two file forms, and ``stores``."""
    base = shared(tmp_path_factory, "association-few")
    with once(base) as mine:
        if mine:
            ran = command(base, "run", *FEW, "--out", "r", "--json")
            assert ran.code == 0, ran.err
    return base


@pytest.fixture(scope="session")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same for a small world with twenty tasks, on all three forms; ``build.txt`` is what ``build`` said."""
    pytest.importorskip("mushroomdb")
    pytest.importorskip("mcp")
    base = shared(tmp_path_factory, "association-three")
    with once(base) as mine:
        if mine:
            built = command(base, "build", *THREE, "--out", "r")
            assert built.code == 0, built.err
            (base / "build.txt").write_text(built.out, "utf-8")
            ran = command(base, "run", *THREE, "--agent", "reference", "--out", "r", "--json")
            (base / "run.json").write_text(json.dumps([ran.code, ran.out, ran.err]), "utf-8")
    return base


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run ``r`` of the published twenty on the two file forms, and its ``stores``."""
    base = shared(tmp_path_factory, "association-published")
    with once(base) as mine:
        if mine:
            ran = command(base, "run", "association", "--memory", FILES, "--out", "r", "--json")
            assert ran.code == 0, ran.err
    return base
