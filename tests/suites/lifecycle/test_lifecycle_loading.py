from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from lifecycle_protocols import TRANSFER, UPDATE, values

from memassay.core.errors import DataError
from memassay.suites.lifecycle.loading import MOST_BYTES, load_protocol, load_protocols
from memassay.suites.lifecycle.protocol import Protocol


def write(folder: Path, name: str, data: Any) -> Path:
    path = folder / name
    path.write_text(yaml.safe_dump(data, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return path


def complaint(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        load_protocol(path) if path.is_file() else load_protocols(path)
    said = str(caught.value)
    assert "\n" not in said
    return said


def test_files_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    write(tmp_path, "b.yaml", values(id="first"))
    write(tmp_path, "a.yaml", values(UPDATE, id="second"))
    (tmp_path / "notes.txt").write_text("no protocol", encoding="utf-8")
    (tmp_path / "folder.yaml").mkdir()
    assert [one.id for one in load_protocols(tmp_path)] == ["second", "first"]


def test_our_own_protocols_survive_a_file(generated: tuple[Protocol, ...], tmp_path: Path) -> None:
    for one in generated[:8]:
        write(tmp_path, f"{one.id}.yaml", one.model_dump(mode="json", exclude_none=True))
    assert load_protocols(tmp_path) == generated[:8]


@pytest.mark.parametrize(
    ("written", "value"), [("1e+06", 1e6), ("1.43060383e+06", 1430603.83), ("41", 41), ("-.5", -0.5)]
)
def test_numbers_are_read_as_go_writes_them(tmp_path: Path, written: str, value: float) -> None:
    path = write(tmp_path, "a.yaml", values(recall__grading__value=12345))
    path.write_text(path.read_text(encoding="utf-8").replace("12345", written), encoding="utf-8")
    assert load_protocol(path).recall.grading.value == value


@pytest.mark.parametrize("written", ["12:30", "0x10", ".inf", "-.INF", ".nan", "1e", "yes", "true", "~", "'41'", "1_0"])
def test_what_is_no_finite_number_is_refused(tmp_path: Path, written: str) -> None:
    path = write(tmp_path, "a.yaml", values(recall__grading__value=12345))
    path.write_text(path.read_text(encoding="utf-8").replace("12345", written), encoding="utf-8")
    assert "recall.grading.value" in complaint(path)


@pytest.mark.parametrize("written", ["yes", "No", "12:30", "2025-01-01", "1_000", "0x10", "nullable"])
def test_plain_words_are_text(tmp_path: Path, written: str) -> None:
    path = write(tmp_path, "a.yaml", values(title="PLAIN"))
    path.write_text(path.read_text(encoding="utf-8").replace("PLAIN", written), encoding="utf-8")
    assert load_protocol(path).title == written


def test_folders_that_are_refused(tmp_path: Path) -> None:
    assert "has no protocol" in complaint(tmp_path)
    assert "is no folder" in complaint(tmp_path / "nowhere")
    write(tmp_path, "a.yaml", TRANSFER)
    write(tmp_path, "b.yaml", TRANSFER)
    assert complaint(tmp_path) == f"{tmp_path / 'b.yaml'}: id 'p-1' is that of a.yaml too; give it another."
    write(tmp_path, "c.yml", TRANSFER)
    assert "c.yml would be left out" in complaint(tmp_path)


def test_the_original_set_is_read_on_demand(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", values(page__summary=None))
    assert "page.summary" in complaint(tmp_path)
    assert len(load_protocols(tmp_path, original=True)) == 1


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(9)
)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"id: [1, 2\n", "is not YAML in line"),
        (b"id: 'x\n", "is not YAML"),
        (b"\tid: x\n", "is not YAML"),
        (b"id: \xff\xfe\n", "is not UTF-8 (byte 4)"),
        (b"", "is no protocol"),
        (b"- a\n- b\n", "is no protocol"),
        (b"just words\n", "is no protocol"),
        (b"id: a\nid: b\n", "the key 'id' stands there twice"),
        (b"id: a\n---\nid: b\n", "line 2 begins a second document"),
        (BOMB.encode(), "line 1 uses an anchor or alias"),
        (b"id: *x\n", "uses an anchor or alias"),
        (b"id: " + b"[" * 30, "nests deeper than 20 levels"),
        (b"id: " + b"[" * 100_000, "nest"),
        (b"id: " + b"{a: " * 30, "nests deeper than 20 levels"),
        (b"id: !!python/object/apply:os.system ['true']\n", "is not YAML in line 1"),
        (b"id: 2024-13-45\n", "title is missing"),
        (b"? [a]\n: b\n", "is not YAML"),
        (b"id: \x00\n", "is not YAML"),
        (b"id: \x07\n", "is not YAML"),
        (b"x: " + b"y" * MOST_BYTES, "has more than 262,144 bytes"),
        (b"id: " + b"9" * 5000, "holds a value that cannot be read"),
    ],
)
def test_files_that_are_refused_in_one_line(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(content)
    found = complaint(path)
    assert found.startswith(str(path))
    assert said in found
    assert len(found) < 400


def test_a_mark_of_the_byte_order_is_no_character(tmp_path: Path) -> None:
    path = write(tmp_path, "a.yaml", TRANSFER)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert load_protocol(path).id == "p-1"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    path = write(tmp_path, "a.yaml", TRANSFER)
    path.chmod(0)
    assert "cannot be read" in complaint(path)


def test_a_link_to_nowhere(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").symlink_to(tmp_path / "nowhere")
    assert "cannot be read" in complaint(tmp_path)


@pytest.mark.data
def test_the_published_files_are_whole(published_folder: Path) -> None:
    protocols = load_protocols(published_folder)
    assert sum(one.update is not None for one in protocols) == 10
    assert sum(one.transfer is not None for one in protocols) == 20
    assert sum(one.sink == "datahub" for one in protocols) == 15
    assert all(one.abstain is not None and one.budget_tool_calls == 15 for one in protocols)
