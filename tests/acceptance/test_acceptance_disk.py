"""A full disk, a folder that cannot be written, a torn line, a lost blob: one clear line, exit 2 or 3, no traceback."""

from __future__ import annotations

import resource
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from acceptance_tools import cells, tree

from kit import Cli

Small = Callable[..., Path]


@pytest.fixture
def base(small_file: Small) -> list[str | Path]:
    return ["locomo", "--data", small_file(3, 8), "--memory", "files,lexical", "--tokens", "chars4", "--json"]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


@pytest.fixture
def done(cli: Cli, workplace: Path, base: list[str | Path], kept: Path) -> Path:
    """A finished run; every test has its own copy of the same."""
    if not (kept / "r" / "summary.json").exists():
        assert cli("run", *base, "--out", kept / "r").code == 0
    shutil.copytree(kept, workplace, dirs_exist_ok=True)
    return workplace / "r"


def slow(value: int) -> ParameterSet:
    return pytest.param(value, marks=pytest.mark.slow)


@pytest.mark.parametrize("limit", [0, slow(100), slow(2_000), 6_000, slow(20_000), 60_000])
def test_a_full_disk_is_one_line_and_the_run_goes_on_when_there_is_room(
    cli: Cli, cli_process: Cli, workplace: Path, base: list[str | Path], limit: int
) -> None:
    def small_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    out = workplace / "r"
    ran = cli_process("run", *base, "--out", out, preexec=small_disk)
    assert ran.code == 3, ran.err
    assert "file-size limit" in ran.complaint or "full" in ran.complaint
    for path in out.glob("*.jsonl"):
        data = path.read_bytes()
        assert data == b"" or data.endswith(b"\n"), f"{path.name} ends in half a line"
    assert max(cells(out).values(), default=1) == 1
    before = set(cells(out))
    again = cli("run", *base, "--out", out)
    assert again.code == 0, again.err
    assert before <= set(cells(out))
    assert again.json["cells"]["counted"] == again.json["cells"]["planned"]
    assert again.json["cells"]["duplicates"] == 0
    # A store that the disk cut short was no failure of its memory.
    assert {kind for arm in again.json["arms"].values() for kind, n in arm["failures"].items() if n} == set()


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Path:
    """A file system of 64 kB; the test is skipped where none can be mounted."""
    place = tmp_path / "tiny"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place], capture_output=True)
    if done.returncode:
        pytest.skip(f"mount is not allowed here: {done.stderr.decode().strip()}")
    return place


def test_a_real_full_disk(cli_process: Cli, tiny_disk: Path, base: list[str | Path]) -> None:
    try:
        ran = cli_process("run", *base, "--out", tiny_disk / "r")
        assert ran.code == 3, ran.err
        assert "the disk is full" in ran.complaint
        assert "Traceback" not in ran.err
    finally:
        subprocess.run(["umount", tiny_disk], check=True)


@pytest.mark.parametrize("deep", ["file", "file/r", "file/deep/r"])
def test_a_place_below_a_file(cli: Cli, workplace: Path, base: list[str | Path], deep: str) -> None:
    (workplace / "file").write_text("x")
    before = tree(workplace)
    ran = cli("run", *base, "--out", workplace / deep)
    assert ran.code == 3
    assert "--out" in ran.complaint
    assert tree(workplace) == before


def test_stores_below_a_file(cli: Cli, workplace: Path, base: list[str | Path]) -> None:
    (workplace / "file").write_text("x")
    ran = cli("run", *base, "--out", workplace / "r", "--stores", workplace / "file" / "stores")
    assert ran.code == 3
    assert "file" in ran.complaint


def test_a_folder_where_a_file_should_be(cli: Cli, workplace: Path, base: list[str | Path]) -> None:
    (workplace / "r" / "answers-1of1.jsonl").mkdir(parents=True)
    ran = cli("run", *base, "--out", workplace / "r")
    assert ran.code in (2, 3)
    assert ran.complaint


@pytest.mark.parametrize("name", ["answers-1of1.jsonl", "judgements/evidence.jsonl", "tasks.jsonl", "builds.jsonl"])
@pytest.mark.parametrize("damage", ["first", "middle"])
def test_a_damaged_line_that_is_not_the_last(cli: Cli, done: Path, name: str, damage: str) -> None:
    path = done / name
    rows = path.read_bytes().splitlines(keepends=True)
    at = 0 if damage == "first" else len(rows) // 2
    rows[at] = rows[at][: len(rows[at]) // 2] + b"\n"
    path.write_bytes(b"".join(rows))
    before = tree(done)
    ran = cli("judge", done, "--json")
    assert ran.code in (2, 3)
    assert f"{path.name}, line {at + 1}" in ran.complaint
    after = tree(done)
    assert {n: d for n, d in after.items() if n.endswith("l")} == {n: d for n, d in before.items() if n.endswith("l")}


def test_a_torn_line_does_not_stop_a_judge(cli: Cli, done: Path) -> None:
    with (done / "answers-1of1.jsonl").open("ab") as segment:
        segment.write(b'{"cell":{"task":"conv-9')
    before = (done / "answers-1of1.jsonl").read_bytes()
    ran = cli("judge", done, "--json")
    assert ran.code == 0, ran.err
    assert (done / "answers-1of1.jsonl").read_bytes() == before, "a judge does not write answers"


@pytest.mark.parametrize("damage", ["gone", "empty", "noise"])
def test_a_lost_or_damaged_dossier(cli: Cli, done: Path, damage: str) -> None:
    shutil.rmtree(done / "judgements")
    for blob in (done / "dossiers").rglob("*.gz"):
        match damage:
            case "gone":
                blob.unlink()
            case "empty":
                blob.write_bytes(b"")
            case "noise":
                blob.write_bytes(blob.read_bytes()[:40] + b"noise")
    for command in (["judge", done, "--json"], ["show", done, "conv-900/q0"]):
        ran = cli(*command)
        assert ran.code in (2, 3)
        assert "dossiers" in ran.complaint


@pytest.mark.parametrize("name", ["manifest.json", "expected.json", "summary.json"])
@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b"{}", b"null", b"\xff\xfe"])
def test_a_damaged_file_of_the_run_folder(cli: Cli, done: Path, name: str, content: bytes | None) -> None:
    (done / name).unlink()
    if content is not None:
        (done / name).write_bytes(content)
    commands = {"manifest.json": "judge", "expected.json": "judge", "summary.json": "report"}
    ran = cli(commands[name], done)
    if name == "summary.json" and content in (b"{}", b"[]"):
        assert ran.code in (0, 2, 3)  # an empty report, or a refusal: but never a traceback
        assert "Traceback" not in ran.err
    else:
        assert ran.code in (2, 3)
        assert "run" in ran.complaint
    listed = cli("ledger", done.parent)
    assert listed.code == 0, "one damaged run must not hide the others"


def test_answers_without_a_manifest_are_not_overwritten(cli: Cli, done: Path, base: list[str | Path]) -> None:
    (done / "manifest.json").unlink()
    before = tree(done)
    ran = cli("run", *base, "--out", done)
    assert ran.code == 2
    assert "manifest.json" in ran.complaint
    assert tree(done) == before
