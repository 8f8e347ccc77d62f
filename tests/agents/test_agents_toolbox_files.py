from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from memassay.agents.toolbox import ToolResult, ToolsMissing, open_toolbox
from memassay.agents.toolbox.files import MOST_CHARS, MOST_LINE_CHARS
from memassay.core.types import Toolset


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "files"
    (root / "sessions").mkdir(parents=True)
    (root / "index.md").write_text("# Ann and Bo\n\nTwo sessions.\n", encoding="utf-8")
    (root / "sessions" / "one.md").write_text("# One\n\nAnn: I like tea.\n\nBo: Me too.\n", encoding="utf-8")
    (root / "sessions" / "two.md").write_text("# Two\n\nAnn: Tea again?\n", encoding="utf-8")
    (root / ".hidden").write_text("a secret tea", encoding="utf-8")
    (root / ".iwe").mkdir()
    (root / ".iwe" / "config.toml").write_text("tea = 1", encoding="utf-8")
    (tmp_path / "gold.md").write_text("the gold answer is tea", encoding="utf-8")
    (root / "out.md").symlink_to(tmp_path / "gold.md")
    (root / "up").symlink_to(tmp_path)
    return root


def use(folder: Path, tool: str, /, **arguments: Any) -> ToolResult:
    async def run() -> ToolResult:
        async with open_toolbox(Toolset(folder=str(folder))) as box:
            return await box.call(tool, arguments)

    return asyncio.run(run())


def said(folder: Path, tool: str, /, **arguments: Any) -> str:
    result = use(folder, tool, **arguments)
    assert not result.is_error, result.text
    return result.text


def test_three_tools_with_schemas(folder: Path) -> None:
    async def run() -> None:
        async with open_toolbox(Toolset(folder=str(folder))) as box:
            assert [tool.name for tool in box.tools] == ["list_files", "search_files", "read_file"]
            for tool in box.tools:
                assert tool.description and tool.schema["type"] == "object"
                assert tool.schema["additionalProperties"] is False

    asyncio.run(run())


def test_list_shows_files_that_are_files_and_not_hidden(folder: Path) -> None:
    assert said(folder, "list_files") == "index.md  28\nsessions/one.md  37\nsessions/two.md  23"
    assert said(folder, "list_files", folder="sessions") == "sessions/one.md  37\nsessions/two.md  23"
    assert said(folder, "list_files", name="*two*") == "sessions/two.md  23"
    assert said(folder, "list_files", name="nothing") == "No file matches."


def test_search_shows_lines_with_their_place(folder: Path) -> None:
    assert said(folder, "search_files", pattern=r"\btea\b") == (
        "sessions/one.md:3: Ann: I like tea.\nsessions/two.md:3: Ann: Tea again?"
    )
    assert said(folder, "search_files", pattern="Tea", match_case=True) == "sessions/two.md:3: Ann: Tea again?"
    assert said(folder, "search_files", pattern="me too", around=2, folder="sessions") == (
        "sessions/one.md-3- Ann: I like tea.\nsessions/one.md-4- \nsessions/one.md:5: Bo: Me too."
    )
    assert said(folder, "search_files", pattern="gold|secret") == "No line matches."


def test_read_gives_numbered_lines(folder: Path) -> None:
    assert said(folder, "read_file", path="sessions/two.md") == "1\t# Two\n2\t\n3\tAnn: Tea again?"
    assert said(folder, "read_file", path="sessions/one.md", first=3, last=3) == "3\tAnn: I like tea."
    assert said(folder, "read_file", path="sessions/one.md", first=4, last=99) == "4\t\n5\tBo: Me too."
    assert said(folder, "read_file", path="index.md", first=9) == "index.md has 3 lines, none of them from 9 to 3."


@pytest.mark.parametrize(
    "path",
    ["../gold.md", "sessions/../../gold.md", "/etc/passwd", "out.md", "up/gold.md", ".hidden", ".iwe/config.toml",
     "sessions/./../index.md", "~/x", "a\0b", "sessions/one.md/"],
)  # fmt: skip
def test_nothing_outside_can_be_read(folder: Path, path: str) -> None:
    result = use(folder, "read_file", path=path)
    if path == "sessions/one.md/":
        assert not result.is_error
    else:
        assert result.is_error and "gold" not in result.text.replace(path, "")
    assert not use(folder, "search_files", pattern="tea", folder=path).text.startswith("the")


@pytest.mark.parametrize("outside", ["..", "up", "/", ".iwe", "sessions/../.."])
def test_nothing_outside_can_be_listed_or_searched(folder: Path, outside: str) -> None:
    for name, more in (("list_files", {}), ("search_files", {"pattern": "."})):
        result = use(folder, name, folder=outside, **more)
        assert result.is_error and "is not one of the files" in result.text


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("read_file", {"path": "sessions"}, "There is no file 'sessions'; list_files names them."),
        ("read_file", {"path": "index.md", "first": 0}, "read_file: first is 0, but input should be greater"),
        ("read_file", {}, "read_file needs the parameter 'path'."),
        ("read_file", {"file": "index.md", "path": "x"}, "read_file has no parameter 'file'."),
        ("list_files", {"folder": "index.md"}, "There is no folder 'index.md'."),
        ("search_files", {"pattern": "(?=x)"}, "is not a regular expression that can be used"),
        ("search_files", {"pattern": "x", "around": 21}, "search_files: around is 21"),
    ],
)
def test_a_mistake_of_the_model_is_one_sentence(folder: Path, name: str, arguments: dict[str, Any], says: str) -> None:
    result = use(folder, name, **arguments)
    assert result.is_error and says in result.text and "\n" not in result.text


def test_results_are_cut_and_say_how_to_go_on(tmp_path: Path) -> None:
    many = "".join(f"line {number} about tea\n" for number in range(5000))
    (tmp_path / "long.txt").write_text(many, encoding="utf-8")
    (tmp_path / "wide.txt").write_text("x" * 30_000 + " coffee " + "y" * 30_000, encoding="utf-8")
    text = said(tmp_path, "read_file", path="long.txt")
    *shown, hint = text.split("\n")
    assert len(text) <= MOST_CHARS
    assert hint == f"[{5000 - len(shown):,} more lines: read on from the line after the last one shown.]"
    rest = said(tmp_path, "read_file", path="long.txt", first=len(shown) + 1).split("\n")
    assert rest[0] == f"{len(shown) + 1}\tline {len(shown)} about tea"
    found = said(tmp_path, "search_files", pattern="tea")
    assert len(found) <= MOST_CHARS and "more lines: look for something rarer" in found
    assert len(said(tmp_path, "read_file", path="wide.txt")) <= MOST_CHARS
    [line] = said(tmp_path, "search_files", pattern="coffee").split("\n")
    assert "… coffee" not in line and " coffee " in line
    assert len(line) <= MOST_LINE_CHARS + len("wide.txt:1: ……")


def test_a_pattern_cannot_take_for_ever(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a" * 50_000 + "!", encoding="utf-8")
    assert said(tmp_path, "search_files", pattern=r"^(a+)+$") == "No line matches."


def test_bytes_that_are_no_text_and_things_that_are_no_files_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "odd.bin").write_bytes(b"\xff\xfetea\n")
    os.mkfifo(tmp_path / "pipe")
    assert said(tmp_path, "search_files", pattern="tea") == "odd.bin:1: ��tea"
    assert use(tmp_path, "read_file", path="pipe").is_error


def test_a_folder_that_is_not_there_is_a_fault_of_the_harness(tmp_path: Path) -> None:
    with pytest.raises(ToolsMissing, match="The folder of the arm is not there"):
        use(tmp_path / "gone", "list_files")
