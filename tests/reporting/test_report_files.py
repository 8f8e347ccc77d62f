from __future__ import annotations

import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from summaries import summary

from memassay import reporting
from memassay.core.errors import EnvironmentProblem
from memassay.reporting import write_reports


def test_both_files_are_written_whole(tmp_path: Path) -> None:
    paths = write_reports(tmp_path, summary(2))
    assert [p.name for p in paths] == ["summary.md", "report.html"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["report.html", "summary.md"], "nothing temporary stays"
    first = [p.read_bytes() for p in paths]
    write_reports(tmp_path, summary(2))
    assert [p.read_bytes() for p in paths] == first, "equal summaries make equal files"


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(EnvironmentProblem):
        write_reports(tmp_path / "file", summary(1))


def test_templates_are_part_of_the_package() -> None:
    names = {entry.name for entry in files("memassay.reporting").joinpath("templates").iterdir()}
    assert {"report.html.j2", "pieces.html.j2", "report.css.j2"} <= names


def test_public_names() -> None:
    assert sorted(reporting.__all__) == [
        "arm_table", "explain", "missed", "print_arms", "print_explanation", "write_reports",
    ]  # fmt: skip
    for name in reporting.__all__:
        assert callable(getattr(reporting, name))


def test_importing_the_package_loads_neither_jinja_nor_rich() -> None:
    code = "import sys, memassay.reporting; sys.exit(any(m in sys.modules for m in ('jinja2', 'rich', 'numpy')))"
    done = subprocess.run([sys.executable, "-c", code], env={"PATH": os.environ["PATH"]}, timeout=60)
    assert done.returncode == 0
