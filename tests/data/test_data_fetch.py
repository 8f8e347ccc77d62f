from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from memassay.core.errors import DataError, EnvironmentProblem, MemassayError, UsageError
from memassay.data.catalogue import Entry
from memassay.data.fetch import fetch, problem_with, verify


def nothing_in(folder: Path) -> bool:
    return not folder.exists() or not any(folder.iterdir())


def test_a_download_that_is_right_is_kept_under_its_name(
    entry: Entry, server: str, content: bytes, tmp_path: Path
) -> None:
    folder = tmp_path / "neu und übrig" / "data"
    seen: list[tuple[int, int]] = []
    path = fetch(entry, folder, url=f"{server}/good", progress=lambda done, total: seen.append((done, total)))
    assert path == folder / "toy.json"
    assert path.read_bytes() == content
    assert [p.name for p in folder.iterdir()] == ["toy.json"]
    assert seen[-1] == (len(content), len(content)) and seen == sorted(seen)
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_redirect_is_followed(entry: Entry, server: str, tmp_path: Path) -> None:
    assert fetch(entry, tmp_path, url=f"{server}/moved").exists()


def test_the_url_of_the_entry_is_the_default(entry: Entry, server: str, tmp_path: Path) -> None:
    assert fetch(replace(entry, url=f"{server}/good"), tmp_path).exists()


def test_a_file_that_is_there_already_is_not_fetched_again(entry: Entry, server: str, tmp_path: Path) -> None:
    path = fetch(entry, tmp_path, url=f"{server}/good")
    before = path.stat().st_mtime_ns
    assert fetch(entry, tmp_path, url=f"{server}/html") == path
    assert path.stat().st_mtime_ns == before


def test_a_damaged_file_is_replaced_only_by_the_right_one(
    entry: Entry, server: str, content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "toy.json"
    path.write_bytes(b"damaged")
    with pytest.raises(DataError):
        fetch(entry, tmp_path, url=f"{server}/other")
    assert path.read_bytes() == b"damaged"
    fetch(entry, tmp_path, url=f"{server}/good")
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("page", "kind", "says"),
    [
        ("other", DataError, "has another checksum"),
        ("short", DataError, "is truncated: it has 100,000 of 208,000 bytes"),
        ("long", DataError, "is larger than the 208,000 bytes"),
        ("html", DataError, "is a web page (HTML)"),
        ("empty", DataError, "is empty"),
        ("broken-off", EnvironmentProblem, "broke off after"),
        ("nothing-came", EnvironmentProblem, "cannot be reached"),
        ("missing", EnvironmentProblem, "answered with status 404"),
    ],
)
def test_what_is_not_the_file_leaves_nothing(
    entry: Entry, server: str, tmp_path: Path, page: str, kind: type[MemassayError], says: str
) -> None:
    with pytest.raises(kind, match=re.escape(says)) as caught:
        fetch(entry, tmp_path, url=f"{server}/{page}")
    assert "memassay data fetch toy --from FILE" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == (2 if kind is DataError else 3)
    assert nothing_in(tmp_path)


def test_no_network_is_one_sentence_with_the_way_round_it(entry: Entry, server: str, tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]  # bound and not listening: connections are refused
        with pytest.raises(EnvironmentProblem, match=r"127\.0\.0\.1 cannot be reached .*--from FILE") as caught:
            fetch(entry, tmp_path / "data", url=f"http://127.0.0.1:{port}/x")
    assert caught.value.exit_code == 3
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/x", "nonsense", "http://127.0.0.1:notaport/"])
def test_a_url_that_is_none_is_a_mistake_of_use(entry: Entry, tmp_path: Path, url: str) -> None:
    with pytest.raises(UsageError, match="is not an address to download from"):
        fetch(entry, tmp_path, url=url)


def test_a_local_copy_is_taken_and_checked(entry: Entry, content: bytes, tmp_path: Path) -> None:
    copy = tmp_path / "somewhere.json"
    copy.write_bytes(content)
    assert fetch(entry, tmp_path / "data", source=copy).read_bytes() == content
    assert copy.read_bytes() == content


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (b"[]", "2 bytes, expected 208,000"),
        (b"<html></html>", "a web page (HTML) of 13 bytes, expected 208,000"),
        (b"", "0 bytes, expected 208,000"),
        (b"x" * 300_000, "300,000 bytes, expected 208,000"),
        (b"x" * 208_000, "it has another checksum: "),
        (b"<html>" + b"x" * 207_994, "it is a web page (HTML), not the data file"),
    ],
)
def test_a_wrong_local_copy_is_refused(entry: Entry, tmp_path: Path, wrong: bytes, says: str) -> None:
    copy = tmp_path / "copy.json"
    copy.write_bytes(wrong)
    with pytest.raises(DataError) as caught:
        fetch(entry, tmp_path / "data", source=copy)
    said = str(caught.value)
    assert said.startswith(f"{copy} is not toy: {says}")
    assert said.endswith("nothing was kept, give a copy of toy.json.")
    assert "--from" not in said, "that is what was done"
    assert nothing_in(tmp_path / "data")


def test_the_copy_of_another_data_set_is_called_by_its_name(
    entry: Entry, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    twin = replace(entry, name="twin", sha256="0" * 64)  # as long, and another file
    monkeypatch.setattr("memassay.data.fetch.CATALOGUE", {"twin": twin, "toy": entry})
    copy = tmp_path / "a copy.json"
    copy.write_bytes(content)
    other = replace(entry, name="other", size=entry.size - 1, file_name="other.json")
    with pytest.raises(DataError) as caught:
        fetch(other, tmp_path / "data", source=copy)
    assert str(caught.value) == (
        f"{copy} is not other: 208,000 bytes, expected 207,999; nothing was kept. "
        f"It is toy: memassay data fetch toy --from '{copy}'."
    )


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a pipe with a name")
def test_a_pipe_is_read_once(entry: Entry, content: bytes, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for body, kept in ((content[:-1], False), (content, True)):
        writer = threading.Thread(target=pipe.write_bytes, args=(body,))
        writer.start()
        if kept:
            assert fetch(entry, tmp_path / "data", source=pipe).read_bytes() == content
        else:
            with pytest.raises(DataError, match=r"pipe is not toy: it is truncated"):
                fetch(entry, tmp_path / "data", source=pipe)
        writer.join()


def test_a_local_copy_that_is_not_there_makes_no_folder(entry: Entry, tmp_path: Path) -> None:
    for wrong in (tmp_path / "no.json", tmp_path):
        with pytest.raises(DataError, match=r"cannot be read.*give --from a local copy of toy\.json"):
            fetch(entry, tmp_path / "data", source=wrong)
    assert not (tmp_path / "data").exists()


def test_a_copy_from_the_place_itself(entry: Entry, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "toy.json"
    path.write_bytes(content)
    assert fetch(entry, tmp_path, source=path) == path
    path.write_bytes(b"damaged")
    with pytest.raises(DataError):
        fetch(entry, tmp_path, source=path)
    assert path.read_bytes() == b"damaged"


def test_a_folder_that_cannot_be_made_or_written(entry: Entry, server: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    copy = tmp_path / "copy.json"
    copy.write_bytes(content)
    places = [tmp_path / "file" / "data"]
    if Path("/proc/self").exists():
        places.append(Path("/proc/memassay"))  # refuses root too
    for folder in places:
        for kwargs in ({"source": copy}, {"url": f"{server}/good"}):
            with pytest.raises(EnvironmentProblem, match=r"cannot be written.*MEMASSAY_DATA"):
                fetch(entry, folder, **kwargs)  # type: ignore[arg-type]


def test_a_target_that_is_a_folder_is_not_replaced(entry: Entry, content: bytes, tmp_path: Path) -> None:
    copy = tmp_path / "copy.json"
    copy.write_bytes(content)
    (tmp_path / "data" / "toy.json").mkdir(parents=True)
    with pytest.raises(EnvironmentProblem, match="cannot be written"):
        fetch(entry, tmp_path / "data", source=copy)
    assert [p.name for p in (tmp_path / "data").iterdir()] == ["toy.json"]


_FULL = """
import resource, sys
from pathlib import Path
from memassay.core.errors import MemassayError
from memassay.data.catalogue import Entry
from memassay.data.fetch import fetch
source, folder, size, sha256 = sys.argv[1:]
entry = Entry("toy", "locomo", "", int(size), sha256, "", "", "toy.json")
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    fetch(entry, Path(folder), source=Path(source))
except MemassayError as error:
    print(error)
    raise SystemExit(error.exit_code)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs RLIMIT_FSIZE")
def test_a_full_disk_leaves_nothing(entry: Entry, content: bytes, tmp_path: Path) -> None:
    copy = tmp_path / "copy.json"
    copy.write_bytes(content)
    folder = tmp_path / "data"
    done = subprocess.run(
        [sys.executable, "-c", _FULL, str(copy), str(folder), str(entry.size), entry.sha256],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    assert re.fullmatch(r".*toy\.json cannot be written: file too large; free some space .*\.\n", done.stdout)
    assert list(folder.iterdir()) == []


def test_verify_says_what_is_wrong_and_how_to_mend_it(entry: Entry, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "toy.json"
    path.write_bytes(content)
    verify(entry, path)
    assert problem_with(entry, path) is None
    path.write_bytes(content[:-1] + b" ")
    with pytest.raises(DataError, match=r"has another checksum: .*memassay data fetch toy\."):
        verify(entry, path)
    with pytest.raises(DataError, match="cannot be read"):
        verify(entry, tmp_path / "none")
