"""The chain of a pre-registration: what is appended stands, and whatever is done to it afterwards is found."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memassay.core.errors import DataError
from memassay.runs.prereg import FILE, Entry, chain, extend

CONTENTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("registration", {"identity": {"seed": 0, "weights": {"é": 0.5}}, "alone": True}),
    ("amendment", {"changes": [{"field": "max_usd", "before": None, "after": 5}], "reason": "more “money”\n"}),
    ("amendment", {"changes": [], "reason": ""}),
)


def written(run: Path, contents: Sequence[tuple[str, dict[str, Any]]] = CONTENTS) -> bytes:
    run.mkdir(exist_ok=True)
    for content in contents:
        extend(run, lambda _, content=content: content)
    return (run / FILE).read_bytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    folder = tmp_path_factory.mktemp("chain") / "run"
    return folder, written(folder)


def found(folder: Path, data: bytes) -> str:
    """What is said of a file with these bytes; "" where nothing is."""
    (folder / FILE).write_bytes(data)
    try:
        chain(folder)
    except DataError as error:
        assert "\n" not in str(error)
        return str(error)
    return ""


# -- what is written -----------------------------------------------------------------------------------------------


def test_each_entry_holds_the_hash_of_the_one_before_and_its_own(tmp_path: Path) -> None:
    lines = written(tmp_path / "r").splitlines()
    previous = ""
    for number, line in enumerate(lines):
        record = json.loads(line)
        assert set(record) == {"sequence", "previous", "at", "kind", "content", "hash"}
        assert (record["sequence"], record["previous"]) == (number, previous)
        assert (record["kind"], record["content"]) == CONTENTS[number]
        # Anybody can check it with three lines of their own.
        previous = record.pop("hash")
        plain = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert hashlib.sha256(plain.encode()).hexdigest() == previous
    assert [entry.hash for entry in chain(tmp_path / "r")] == [json.loads(line)["hash"] for line in lines]


def test_nothing_is_registered_where_there_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / FILE).touch()
    assert chain(tmp_path / "nowhere") == chain(tmp_path / "file") == chain(tmp_path) == []


def test_what_follows_is_asked_with_the_entries_so_far_and_may_be_nothing(tmp_path: Path) -> None:
    before = written(tmp_path / "r")
    seen: list[list[Entry]] = []
    assert extend(tmp_path / "r", lambda entries: seen.append(list(entries))) == chain(tmp_path / "r")
    assert [entry.kind for entry in seen[0]] == ["registration", "amendment", "amendment"]
    assert (tmp_path / "r" / FILE).read_bytes() == before


def test_what_utf_8_cannot_say_does_not_break_the_chain(tmp_path: Path) -> None:
    written(tmp_path / "r", [("amendment", {"reason": "why \udcff not"})])
    assert chain(tmp_path / "r")[0].content == {"reason": "why ? not"}


def test_writers_at_once_take_turns(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()

    def write(name: str) -> None:
        for number in range(5):
            extend(tmp_path / "r", lambda entries: (name, {"number": number, "after": len(entries)}))  # noqa: B023

    threads = [threading.Thread(target=write, args=(f"w{n}",)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [entry.content["after"] for entry in chain(tmp_path / "r")] == list(range(30))


# -- what is found -------------------------------------------------------------------------------------------------


@given(st.data())
def test_any_byte_that_is_changed_is_found(whole: tuple[Path, bytes], data: st.DataObject) -> None:
    folder, before = whole
    place = data.draw(st.integers(0, len(before) - 1), label="place")
    byte = data.draw(st.integers(0, 255).filter(lambda b: b != before[place]), label="byte")
    assert "of the pre-registration" in found(folder, before[:place] + bytes([byte]) + before[place + 1 :])


@pytest.mark.parametrize("change", [b"", b" ", b"\n", b"0", b"\xff", b'"', b"}"], ids=repr)
def test_a_byte_more_less_or_other_at_any_place_is_found(whole: tuple[Path, bytes], change: bytes) -> None:
    folder, before = whole
    missed = []
    for place, byte in enumerate(before):
        if change != bytes([byte]) and not found(folder, before[:place] + change + before[place + 1 :]):
            missed.append(place)
        if change and not found(folder, before[:place] + change + before[place:]):
            missed.append(place)
    # Without its line end the last line is what a kill leaves, and no entry.
    assert missed == ([len(before) - 1] if change == b"" else [])


@pytest.mark.parametrize(
    ("order", "says"),
    [
        ((1, 2), "entry 0 of the pre-registration is not there: number 1 stands in its place;"),
        ((0, 2), "entry 1 of the pre-registration is not there: number 2 stands in its place;"),
        ((0, 2, 1), "entry 1 of the pre-registration is not there: number 2 stands in its place;"),
        ((0, 0, 1, 2), "entry 1 of the pre-registration is not there: number 0 stands in its place;"),
        ((0, 1, 1, 2), "entry 2 of the pre-registration is not there: number 1 stands in its place;"),
    ],
)
def test_lines_that_are_missing_or_moved_are_named(
    whole: tuple[Path, bytes], order: tuple[int, ...], says: str
) -> None:
    folder, before = whole
    lines = before.splitlines(keepends=True)
    said = found(folder, b"".join(lines[n] for n in order))
    assert says in said and "restore the file from a copy" in said


def test_an_entry_of_another_chain_is_found(tmp_path: Path, whole: tuple[Path, bytes]) -> None:
    other = written(tmp_path / "other", [("registration", {}), *CONTENTS[1:]]).splitlines(keepends=True)
    folder, before = whole
    assert "entry 1" in found(folder, before.splitlines(keepends=True)[0] + other[1])


@pytest.mark.parametrize("line", [b"", b"{}", b"[]", b"3", b"[" * 100_000, b'{"hash": NaN}', b"\x00", b"\xff\xfe{}"])
def test_lines_that_are_no_entries_are_one_sentence(whole: tuple[Path, bytes], line: bytes) -> None:
    folder, before = whole
    assert "entry 3 of the pre-registration was changed" in found(folder, before + line + b"\n")


def test_a_broken_chain_is_not_added_to(whole: tuple[Path, bytes]) -> None:
    folder, before = whole
    for broken in (before.replace(b"max_usd", b"max_eur"), before[:-1] + b"}"):
        (folder / FILE).write_bytes(broken)
        with pytest.raises(DataError):
            extend(folder, lambda _: CONTENTS[1])
        assert (folder / FILE).read_bytes() == broken


# -- kills ---------------------------------------------------------------------------------------------------------


def test_a_torn_last_line_is_cut_and_the_chain_goes_on(tmp_path: Path) -> None:
    before = written(tmp_path / "r")
    last = before[:-1].rfind(b"\n") + 1
    for end in range(last, len(before)):
        (tmp_path / "r" / FILE).write_bytes(before[:end])
        assert len(chain(tmp_path / "r")) == 2
    assert len(extend(tmp_path / "r", lambda _: CONTENTS[2])) == 3
    assert [entry.kind for entry in chain(tmp_path / "r")] == [kind for kind, _ in CONTENTS]


_APPENDING = """
import sys
from pathlib import Path
from memassay.runs.prereg import extend
print("go", flush=True)
while True:
    extend(Path(sys.argv[1]), lambda entries: ("amendment", {"number": len(entries), "text": "é" * 5000}))
"""


def test_a_kill_leaves_whole_entries(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    had = 0
    for moment in (0.0, 0.003, 0.01, 0.03, 0.05):
        process = subprocess.Popen([sys.executable, "-c", _APPENDING, tmp_path / "r"], stdout=subprocess.PIPE)
        assert process.stdout is not None and process.stdout.readline() == b"go\n"
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        entries = chain(tmp_path / "r")
        assert len(entries) >= had
        assert [entry.content["number"] for entry in entries] == list(range(len(entries)))
        had = len(entries)
    assert had > 0
    assert len(extend(tmp_path / "r", lambda _: ("amendment", {}))) == had + 1
