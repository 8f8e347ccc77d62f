from __future__ import annotations

import re
from pathlib import Path

import pytest

from memassay.core.errors import DataError, UnknownName
from memassay.data.catalogue import CATALOGUE, entry
from memassay.data.places import data_folder, data_folders, locate


@pytest.mark.parametrize("name", list(CATALOGUE))
def test_every_entry_is_pinned(name: str) -> None:
    found = entry(name)
    assert found.name == name
    pinned = (
        r"https://raw\.githubusercontent\.com/[\w-]+/[\w-]+/[0-9a-f]{40}/[\w/.-]+",
        r"https://web\.archive\.org/web/\d{14}id_/https?://[\w/.-]+",
        "",  # no address: only a local copy
    )
    assert any(re.fullmatch(form, found.url) for form in pinned)
    assert re.fullmatch(r"[0-9a-f]{64}", found.sha256)
    assert found.size > 0 and found.licence and found.attribution
    assert Path(found.file_name).name == found.file_name


def test_the_catalogue_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        CATALOGUE["x"] = entry("locomo")  # type: ignore[index]
    with pytest.raises(AttributeError):
        entry("locomo").size = 1  # type: ignore[misc]


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(UnknownName, match=r"Unknown data set 'locmo'. Did you mean 'locomo'"):
        entry("locmo")


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("MEMASSAY_DATA", raising=False)
    (tmp_path / "repo").mkdir()
    monkeypatch.chdir(tmp_path / "repo")
    return tmp_path


def put(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "locomo10.json").write_text("[]", encoding="utf-8")
    return folder


def test_the_places_in_their_order(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="memassay data fetch locomo") as caught:
        locate("locomo")
    assert caught.value.exit_code == 2
    put(workplace / "shared" / "data")
    assert locate("locomo") == Path("../shared/data/locomo10.json")
    put(workplace / "repo" / "data")
    assert locate("locomo") == Path("data/locomo10.json")
    monkeypatch.setenv("MEMASSAY_DATA", str(put(workplace / "mine")))
    assert locate("locomo") == workplace / "mine" / "locomo10.json"


def test_an_explicit_path_wins_and_nothing_replaces_it(workplace: Path) -> None:
    put(workplace / "repo" / "data")
    other = workplace / "other.json"
    with pytest.raises(DataError, match=r"other\.json: no such file"):
        locate("locomo", other)
    other.write_text("[]", encoding="utf-8")
    assert locate("locomo", other) == other
    folder = put(workplace / "folder")
    assert locate("locomo", folder) == folder / "locomo10.json"


def test_the_folder_to_write_to(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert data_folder() == Path("data")
    monkeypatch.setenv("MEMASSAY_DATA", "")
    assert data_folder() == Path("data")
    monkeypatch.setenv("MEMASSAY_DATA", str(workplace))
    assert data_folder() == workplace
    assert data_folders()[0] == workplace
