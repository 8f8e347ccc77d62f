from __future__ import annotations

import json
from pathlib import Path

import pytest

from memassay.core.errors import UsageError
from memassay.knowledge.places import pages_in
from memassay.memories.folder import seal


def store_of(memory: str, run: Path) -> Path:
    """The folder that a run keeps of a build, around the store."""
    place = run / "0a1b"
    pages = place / "store" / "pages" / "people"
    pages.mkdir(parents=True)
    (pages / "ada.md").write_text("# Ada\n")
    (place / "built.json").write_text("{}")
    seal(place / "store", memory, {}, [pages / "ada.md"])
    return place


@pytest.mark.parametrize(
    ("named", "pages"),
    [("", "store/pages"), ("store", "store/pages"), ("store/pages", "store/pages"), ("store/pages/people", None)],
)
def test_the_pages_of_a_run_are_read_and_never_edited(tmp_path: Path, named: str, pages: str | None) -> None:
    place = store_of("markdown", tmp_path)
    assert pages_in(place / named, write=False) == place / (pages or named)
    with pytest.raises(UsageError, match=r"is the store of a run, which must not change; copy .*pages and edit that"):
        pages_in(place / named, write=True)


@pytest.mark.parametrize("named", ["", "store", "store/pages"])
@pytest.mark.parametrize("write", [True, False])
def test_the_store_of_another_memory_is_refused(tmp_path: Path, named: str, write: bool) -> None:
    place = store_of("lexical", tmp_path)
    with pytest.raises(UsageError, match=r"is a store of the memory 'lexical', which keeps no pages; name a folder"):
        pages_in(place / named, write=write)


@pytest.mark.parametrize("other", ["", "[1]", "{}", json.dumps({"memory": "x"}), "{"])
def test_notes_may_hold_files_of_these_names(tmp_path: Path, other: str) -> None:
    (tmp_path / "store.json").write_text(other)
    (tmp_path / "built.json").write_text(other)
    (tmp_path / "store").mkdir()
    (tmp_path / "pages").mkdir()
    assert pages_in(tmp_path, write=True) == tmp_path
    assert pages_in(tmp_path / "nowhere", write=True) == tmp_path / "nowhere"
