from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memassay.core.errors import DataError, UsageError
from memassay.suites.hotpotqa.draw import Draw, check, draw, freeze, permutation, xorshift64

IDS = [f"{number:04}" for number in range(400)]


def test_the_published_states_of_the_generator() -> None:
    assert list(islice(xorshift64(20260718), 4)) == [
        21903372308403872, 13766295405186996237, 2922764435912687101, 14473269969664463430,
    ]  # fmt: skip
    assert list(islice(xorshift64(0), 3)) == list(islice(xorshift64(1), 3))


def test_the_published_permutations() -> None:
    assert permutation(10) == [1, 3, 7, 8, 6, 9, 4, 5, 0, 2]
    assert permutation(7405)[:12] == [668, 4597, 6982, 6501, 7313, 4376, 2889, 1496, 6179, 3923, 5945, 5208]


@given(st.integers(0, 300), st.integers(0, 2**70))
def test_a_permutation_keeps_every_number(n: int, seed: int) -> None:
    assert sorted(permutation(n, seed)) == list(range(n))


def test_a_large_file_gives_fifty_and_three_hundred_in_any_order_of_the_file() -> None:
    drawn = draw(IDS)
    assert (len(drawn.dev), len(drawn.test), drawn.whole) == (50, 300, False)
    assert len(set(drawn.ids)) == 350
    assert draw(IDS[::-1]) == drawn
    assert drawn.dev == tuple(IDS[i] for i in permutation(400)[:50])
    assert draw(IDS[:350]).whole


def test_ids_are_sorted_by_their_bytes() -> None:
    names = ["b", "Z", "é", "a", "\U0001f600", "\uffee"]
    by_bytes = sorted(names, key=str.encode)
    assert draw(names).ids == tuple(by_bytes[i] for i in permutation(6))


def test_a_small_file_is_dev_unless_told_otherwise() -> None:
    drawn = draw(IDS[:349])
    assert (len(drawn.dev), len(drawn.test), drawn.whole) == (349, 0, True)
    told = draw(IDS[:20], dev=5, test=10)
    assert (len(told.dev), len(told.test), told.whole) == (5, 10, False)
    assert told.ids == draw(IDS[:20]).ids[:15]
    assert (len(draw(IDS[:20], test=4).dev), len(draw(IDS, dev=7).test)) == (16, 300)


@pytest.mark.parametrize(("dev", "test"), [(0, 0), (-1, 3), (15, 6), (None, 21)])
def test_sizes_that_cannot_be(dev: int | None, test: int) -> None:
    with pytest.raises(UsageError, match=r"dev|fewer than"):
        draw(IDS[:20], dev=dev, test=test)


# -- frozen --------------------------------------------------------------------------------------------------------


def frozen(folder: Path) -> Path:
    return folder / "mine.draw.json"


def test_a_draw_is_kept_and_the_same_one_passes(tmp_path: Path) -> None:
    file, drawn = tmp_path / "mine.json", draw(IDS)
    freeze(drawn, file, "a" * 64, tmp_path / "data")
    kept = json.loads(frozen(tmp_path / "data").read_text(encoding="utf-8"))
    assert kept == {
        "file": "mine.json", "sha256": "a" * 64, "seed": 20260718, "dev": list(drawn.dev), "test": list(drawn.test),
    }  # fmt: skip
    before = frozen(tmp_path / "data").stat().st_mtime_ns
    freeze(drawn, file, "a" * 64, tmp_path / "data")
    assert frozen(tmp_path / "data").stat().st_mtime_ns == before
    assert [p.name for p in (tmp_path / "data").iterdir()] == ["mine.draw.json"]


@pytest.mark.parametrize(
    ("other", "sha256", "says"),
    [
        (draw(IDS, dev=49), "a" * 64, "its dev sample has 50 questions, and this run would draw 49 others"),
        (draw(IDS, test=299), "a" * 64, "its test sample has 300 questions"),
        (draw(IDS[1:]), "a" * 64, "its dev sample has 50 questions, and this run would draw 50 others"),
        (draw(IDS), "b" * 64, "a file with the checksum aaaaaaaaaaaa"),
    ],
)
def test_another_draw_is_refused_until_it_is_forced(tmp_path: Path, other: Draw, sha256: str, says: str) -> None:
    file = tmp_path / "mine.json"
    freeze(draw(IDS), file, "a" * 64, tmp_path)
    held = frozen(tmp_path).read_bytes()
    with pytest.raises(DataError, match=says) as caught:
        freeze(other, file, sha256, tmp_path)
    assert "--force" in str(caught.value) and caught.value.exit_code == 2
    assert frozen(tmp_path).read_bytes() == held
    freeze(other, file, sha256, tmp_path, force=True)
    freeze(other, file, sha256, tmp_path)


def test_checking_writes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    check(draw(IDS), file, "a" * 64, tmp_path / "data")
    assert list(tmp_path.iterdir()) == []
    freeze(draw(IDS), file, "a" * 64, tmp_path)
    check(draw(IDS), file, "a" * 64, tmp_path)
    with pytest.raises(DataError, match="holds another draw"):
        check(draw(IDS, dev=49), file, "a" * 64, tmp_path)


@pytest.mark.parametrize("copy", ["copy.json", "elsewhere/mine.json", "elsewhere/copy.json"])
def test_a_copy_is_known_by_its_content(tmp_path: Path, copy: str) -> None:
    data = tmp_path / "data"
    freeze(draw(IDS), tmp_path / "mine.json", "a" * 64, data)
    held = frozen(data).read_bytes()
    other = tmp_path / copy
    with pytest.raises(DataError, match=r"mine\.draw\.json holds another draw: its dev sample"):
        freeze(draw(IDS, dev=49), other, "a" * 64, data)
    freeze(draw(IDS), other, "a" * 64, data)
    assert [p.name for p in data.iterdir()] == ["mine.draw.json"] and frozen(data).read_bytes() == held
    freeze(draw(IDS, dev=49), other, "a" * 64, data, force=True)
    with pytest.raises(DataError, match="its dev sample has 49 questions"):
        freeze(draw(IDS), tmp_path / "mine.json", "a" * 64, data)
    assert [p.name for p in data.iterdir()] == ["mine.draw.json"]


def test_a_draw_beside_the_file_counts_from_any_data_folder(tmp_path: Path) -> None:
    freeze(draw(IDS), tmp_path / "mine.json", "a" * 64, tmp_path)
    with pytest.raises(DataError, match="holds another draw"):
        freeze(draw(IDS, dev=49), tmp_path / "mine.json", "a" * 64, tmp_path / "data")
    (tmp_path / "torn.draw.json").write_text("{", encoding="utf-8")
    freeze(draw(IDS), tmp_path / "mine.json", "a" * 64, tmp_path / "data")
    freeze(draw(IDS, dev=49), tmp_path / "other.json", "b" * 64, tmp_path / "data")
    assert [p.name for p in (tmp_path / "data").iterdir()] == ["other.draw.json"]


def test_a_whole_file_leaves_nothing_to_freeze(tmp_path: Path) -> None:
    freeze(draw(IDS[:20]), tmp_path / "mine.json", "a" * 64, tmp_path / "data")
    assert not (tmp_path / "data").exists()
    freeze(draw(IDS), tmp_path / "mine.json", "a" * 64, tmp_path)
    with pytest.raises(DataError, match="holds another draw"):
        freeze(draw(IDS[:20]), tmp_path / "mine.json", "b" * 64, tmp_path)
    freeze(draw(IDS[:20]), tmp_path / "mine.json", "b" * 64, tmp_path, force=True)
    assert len(json.loads(frozen(tmp_path).read_text(encoding="utf-8"))["dev"]) == 20


@pytest.mark.parametrize("text", ["", "[]", "{}", "nonsense", '{"dev": []}'])
def test_a_damaged_frozen_draw_is_no_draw(tmp_path: Path, text: str) -> None:
    frozen(tmp_path).write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"mine\.draw\.json is not a frozen draw"):
        freeze(draw(IDS), tmp_path / "mine.json", "a" * 64, tmp_path)
    freeze(draw(IDS), tmp_path / "mine.json", "a" * 64, tmp_path, force=True)


def test_a_folder_that_cannot_be_written_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    freeze(draw(IDS), tmp_path / "mine.json", "a" * 64, tmp_path / "file" / "data")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
