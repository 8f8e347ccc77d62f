"""Words planted where a client might read them, and gone afterwards whatever happens."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from memassay.running.doctor import sentinels
from memassay.running.doctor.sentinels import planted, settings_folders


@pytest.fixture
def cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a cell, two below a folder above which nothing is planted."""
    folder = tmp_path / "above" / "cell"
    folder.mkdir(parents=True)
    monkeypatch.setattr(sentinels, "ancestors", lambda place: [place, place.parent])
    return folder


def files(*folders: Path) -> list[str]:
    return sorted(str(path) for folder in folders for path in folder.rglob("*"))


def test_every_folder_above_is_meant() -> None:
    assert sentinels.ancestors(Path("/a/b")) == [Path("/a/b"), Path("/a"), Path("/")]


def test_each_file_has_a_word_of_its_own_and_all_are_removed(cell: Path, own_home: Path) -> None:
    before = files(cell.parent, own_home)
    with planted(cell) as found:
        names = {str(path.relative_to(cell.parent)) for path in found.markers.values() if cell.parent in path.parents}
        one = {"CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".mcp.json", ".claude/skills/memassay-sentinel/SKILL.md"}
        assert names == one | {f"cell/{name}" for name in one}
        project = str(cell).replace("/", "-").replace("_", "-").replace(".", "-")
        at_home = {str(path.relative_to(own_home)) for path in found.markers.values() if own_home in path.parents}
        assert f".claude/projects/{project}/memory/MEMORY.md" in at_home
        assert {".claude/CLAUDE.md", ".claude/skills/memassay-sentinel/SKILL.md"} < at_home
        for marker, path in found.markers.items():
            assert marker in path.read_text()
        assert len(set(found.markers)) == len(set(found.markers.values())) == 14
        assert found.found_in(f"x {(cell / 'AGENTS.md').read_text()} y") == [cell / "AGENTS.md"]
        assert found.found_in("nothing") == []
        assert found.skipped == {}
    assert files(cell.parent, own_home) == before


def test_a_folder_of_settings_that_a_variable_names(
    cell: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = cell.parent / "settings"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(other))
    assert settings_folders() == [own_home / ".claude", other]
    with planted(cell) as found:
        assert other / "CLAUDE.md" in found.markers.values()
    assert not other.exists()


def test_what_is_there_is_never_touched(cell: Path, own_home: Path) -> None:
    settings = own_home / ".claude"
    settings.mkdir()
    (settings / "CLAUDE.md").write_text("mine")
    (settings / "AGENTS.md").symlink_to("nowhere")
    (cell / ".claude" / "skills").mkdir(parents=True)
    before = files(cell.parent, own_home)
    with planted(cell) as found:
        assert (settings / "CLAUDE.md").read_text() == "mine"
        assert found.skipped == dict.fromkeys((settings / "CLAUDE.md", settings / "AGENTS.md"), "there is one")
        assert cell / ".claude/skills/memassay-sentinel/SKILL.md" in found.markers.values()
        # Somebody works here meanwhile.
        (cell / "CLAUDE.md").write_text("changed")
        (settings / "skills" / "another").mkdir()
    assert (cell / "CLAUDE.md").read_text() == "changed"
    assert (settings / "skills" / "another").is_dir()
    assert (settings / "CLAUDE.md").read_text() == "mine"
    kept = {str(cell / "CLAUDE.md"), str(settings / "skills"), str(settings / "skills" / "another")}
    assert set(files(cell.parent, own_home)) == {*before, *kept}


def test_a_place_that_cannot_be_written_is_said(cell: Path, own_home: Path) -> None:
    (own_home / ".claude").write_text("a file, where a folder should be")
    with planted(cell) as found:
        assert set(found.skipped) == {p for p, _ in sentinels.places(cell) if own_home in p.parents}
        assert all(reason.startswith("it cannot be written") for reason in found.skipped.values())
        assert len(found.markers) == 10


def test_what_a_killed_doctor_left_is_taken_away(cell: Path, own_home: Path) -> None:
    with planted(cell):
        left = {path: path.read_text() for path in (cell / "CLAUDE.md", cell / ".mcp.json", cell / "AGENTS.md")}
    for path, text in left.items():
        path.write_text(text)
    (cell / "AGENTS.md").write_text(left[cell / "AGENTS.md"] + "and a note of mine")
    old = 1_000_000_000
    for path in left:
        os.utime(path, (old, old))
    with planted(cell) as found:
        assert set(found.skipped) == {cell / "AGENTS.md"}
    assert files(cell) == [str(cell / "AGENTS.md")]
    (cell / "CLAUDE.md").write_text(left[cell / "CLAUDE.md"])
    with planted(cell) as found:
        assert cell / "CLAUDE.md" in found.skipped, "another doctor may be at work"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_removed_whatever_is_raised(error: type[BaseException], cell: Path, own_home: Path) -> None:
    before = files(cell.parent, own_home)
    with pytest.raises(error), planted(cell):
        raise error
    assert files(cell.parent, own_home) == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_removed_when_the_process_is_asked_to_end(number: signal.Signals, cell: Path, own_home: Path) -> None:
    before, handler = files(cell.parent, own_home), signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt), planted(cell):
        signal.raise_signal(number)
    assert files(cell.parent, own_home) == before
    assert signal.getsignal(number) is handler


def test_in_a_thread_no_signal_is_touched(cell: Path) -> None:
    seen: list[int] = []

    def work() -> None:
        with planted(cell) as found:
            seen.append(len(found.markers))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [14]
    assert files(cell) == []
