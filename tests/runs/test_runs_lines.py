from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memassay.core.errors import DataError, EnvironmentProblem, RunLocked
from memassay.runs.lines import LineWriter, NewLines, read_lines, write_whole

RECORDS = [{"n": 0, "t": "plain"}, {"n": 1, "t": "é中🙂"}, {"n": 2, "t": "last \\n one"}]
LINES = [json.dumps(r, ensure_ascii=False) for r in RECORDS]
WHOLE = "".join(f"{line}\n" for line in LINES).encode()


def values(path: Path) -> list[dict[str, object]]:
    return [value for _, value in read_lines(path)]


def test_what_is_appended_is_read_back_with_line_numbers(tmp_path: Path) -> None:
    path = tmp_path / "new" / "x.jsonl"
    with LineWriter(path) as lines:
        for line in LINES:
            lines.append(line)
    assert path.read_bytes() == WHOLE
    assert list(read_lines(path)) == list(enumerate(RECORDS, start=1))


def test_a_file_that_is_not_there_has_no_records(tmp_path: Path) -> None:
    assert values(tmp_path / "x.jsonl") == []


def test_every_record_is_on_disk_before_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    with LineWriter(path) as lines:
        for n, line in enumerate(LINES, start=1):
            lines.append(line)
            assert values(path) == RECORDS[:n]


def test_what_is_new_is_read_once_and_with_its_line_numbers(tmp_path: Path) -> None:
    new, path = NewLines(), tmp_path / "x.jsonl"
    assert list(new.of(path)) == []
    with LineWriter(path) as lines:
        lines.append(LINES[0])
        lines.append(LINES[1])
        assert next(new.of(path)) == (1, RECORDS[0]), "who stops early goes on there"
        assert list(new.of(path)) == [(2, RECORDS[1])]
        lines.append(LINES[2])
        assert list(new.of(path)) == [(3, RECORDS[2])]
    assert list(new.of(path)) == []
    with path.open("ab") as handle:
        handle.write(b"no\n")
    with pytest.raises(DataError, match="line 4 is damaged"):
        list(new.of(path))


@pytest.mark.parametrize("bytes_left", range(len(LINES[-1].encode()) + 1))
def test_a_torn_last_line_is_cut_at_every_byte_and_nothing_else(tmp_path: Path, bytes_left: int) -> None:
    """``kill -9`` or a power cut in the middle of the last record, at every byte offset of it."""
    path = tmp_path / "x.jsonl"
    before = "".join(f"{line}\n" for line in LINES[:-1]).encode()
    path.write_bytes(before + LINES[-1].encode()[:bytes_left])
    assert values(path) == RECORDS[:2]
    with LineWriter(path):
        assert path.read_bytes() == before
    with LineWriter(path) as lines:
        lines.append(LINES[-1])
    assert path.read_bytes() == WHOLE


@pytest.mark.parametrize("bytes_left", [0, 1, 5])
def test_a_torn_only_line_leaves_an_empty_file(tmp_path: Path, bytes_left: int) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(LINES[0].encode()[:bytes_left])
    with LineWriter(path):
        pass
    assert path.read_bytes() == b""


@pytest.mark.parametrize("size", [(1 << 16) - 3, 1 << 16, (1 << 16) + 1, 200_000])
def test_a_torn_line_longer_than_any_buffer_is_cut(tmp_path: Path, size: int) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(WHOLE + b'{"t":"' + b"x" * size)
    with LineWriter(path):
        assert path.read_bytes() == WHOLE


@pytest.mark.parametrize("size", [(1 << 16) - 1, 1 << 16, 200_000])
def test_a_long_whole_last_line_stays(tmp_path: Path, size: int) -> None:
    path = tmp_path / "x.jsonl"
    data = WHOLE + json.dumps({"t": "x" * size}).encode() + b"\n"
    path.write_bytes(data)
    with LineWriter(path):
        assert path.read_bytes() == data


DAMAGE = [b"{", b"[1]", b'"text"', b"\x00\x00\x00", b"\xff\xfe", b"{}{}", b"", b"12", b'{"a":}']


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("at", [0, 1, 3])
def test_damage_anywhere_else_is_refused_with_file_and_line(tmp_path: Path, damage: bytes, at: int) -> None:
    path = tmp_path / "answers-1of1.jsonl"
    lines = [line.encode() for line in LINES]
    lines.insert(at, damage)
    path.write_bytes(b"\n".join(lines) + b"\n")
    with pytest.raises(DataError, match=rf"answers-1of1.jsonl, line {at + 1}\b"):
        values(path)


@settings(deadline=None, max_examples=60)
@given(texts=st.lists(st.text(max_size=40), max_size=6), tail=st.binary(max_size=30))
def test_any_text_survives_and_any_tail_is_cut(
    texts: list[str], tail: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("lines") / "x.jsonl"
    records = [{"t": text} for text in texts]
    with LineWriter(path) as lines:
        for record in records:
            lines.append(json.dumps(record, ensure_ascii=False))
    whole = path.read_bytes()
    path.write_bytes(whole + tail.replace(b"\n", b""))
    with LineWriter(path):
        assert path.read_bytes() == whole
    assert values(path) == records


def test_two_writers_of_one_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "answers-1of2.jsonl"
    with LineWriter(path) as first:
        first.append(LINES[0])
        with pytest.raises(RunLocked, match=r"answers-1of2.jsonl.*--shard"):
            LineWriter(path)
        assert values(path) == RECORDS[:1]
    with LineWriter(path):  # the first has left
        pass


def test_a_writer_in_another_process_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    code = (
        "import sys; from pathlib import Path; from memassay.runs.lines import LineWriter\n"
        "from memassay.core.errors import RunLocked\n"
        "try: LineWriter(Path(sys.argv[1]))\n"
        "except RunLocked as e: print(e.exit_code)"
    )
    path.write_bytes(WHOLE + b"torn")
    with LineWriter(path) as lines:
        with path.open("ab") as other:
            other.write(b"half a line")  # as if in the middle of a write
        before = path.read_bytes()
        done = subprocess.run([sys.executable, "-B", "-c", code, str(path)], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "3"
        assert path.read_bytes() == before
        lines.close()


# -- a full disk ---------------------------------------------------------------------------------------------------

_FULL = """
import resource, sys
from pathlib import Path
from memassay.core.errors import EnvironmentProblem
from memassay.runs.lines import LineWriter
path, limit = Path(sys.argv[1]), int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
written = 0
lines = LineWriter(path)
try:
    for n in range(1000):
        lines.append('{"n":%d,"t":"%s"}' % (n, "x" * (n % 37)))
        written += 1
except EnvironmentProblem as error:
    print(written, error.exit_code, str(error).count("\\n"), "safe" in str(error))
"""


@pytest.mark.parametrize("limit", [0, 1, 64, 1000, 4097])
def test_a_full_disk_leaves_whole_lines_only(tmp_path: Path, limit: int) -> None:
    path = tmp_path / "x.jsonl"
    done = subprocess.run(
        [sys.executable, "-B", "-c", _FULL, str(path), str(limit)], capture_output=True, text=True, check=True
    )
    written, code, line_ends, safe = done.stdout.split()
    assert (code, line_ends, safe) == ("3", "0", "True")
    data = path.read_bytes()
    assert data == b"" or data.endswith(b"\n")
    assert [v["n"] for v in values(path)] == list(range(int(written)))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is not here")
def test_no_space_left_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.symlink_to("/dev/full")
    with pytest.raises(EnvironmentProblem, match="full") as raised, LineWriter(path) as lines:
        lines.append("{}")
    assert raised.value.exit_code == 3
    assert "\n" not in str(raised.value)


def test_a_place_below_a_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(EnvironmentProblem, match="file"):
        LineWriter(tmp_path / "file" / "x.jsonl")
    with pytest.raises(EnvironmentProblem):
        write_whole(tmp_path / "file" / "y", "text")


def test_write_whole_is_old_or_new(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write_whole(path, "old")
    code = (
        "import resource, sys; from pathlib import Path; from memassay.runs.lines import write_whole\n"
        "from memassay.core.errors import EnvironmentProblem\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))\n"
        "try: write_whole(Path(sys.argv[1]), 'new' * 100)\n"
        "except EnvironmentProblem: print('refused')"
    )
    done = subprocess.run([sys.executable, "-B", "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "refused"
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["x"]
