"""The settings of the memory ``platform``, and what it writes."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from platform_corpus import KNOBS, corpus

from memassay.core.contracts import BuildContext
from memassay.core.digest import digest_folder
from memassay.core.errors import CannotMeasure, EnvironmentProblem, UsageError
from memassay.core.types import Document, StoreRef
from memassay.memories.platform import PlatformMemory
from memassay.platform.settings import Settings


def test_the_knobs_are_those_of_the_platform_with_its_defaults() -> None:
    taken = inspect.signature(PlatformMemory).parameters
    knobs = {name: field.default for name, field in Settings.model_fields.items()}
    mine = {name: taken[name].default for name in knobs if name in taken}
    assert set(knobs) - set(mine) == {"warehouse_schema", "rate_limit", "durable"}
    assert mine | {"faults": None} == {name: knobs[name] for name in mine} | {"faults": None}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"supersede": 2.0}, "supersede"),
        ({"faults": {"refuse_everything": True}}, "refuse_everything"),
        ({"url": "http://127.0.0.1:9"}, "key_env"),
        ({"key_env": "KEY"}, "url"),
        ({"url": "http://127.0.0.1:9", "key_env": "KEY", "gate": False}, "its own|own"),
        ({"first": 0}, "first"),
    ],
)
def test_a_wrong_setting_is_one_sentence(given: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        PlatformMemory(**given)
    assert "\n" not in str(caught.value)


def test_without_the_extra_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "mcp" else real(name))
    with pytest.raises(CannotMeasure, match=r"pip install 'memassay\[platform\]'"):
        PlatformMemory(embedder="hash")


def test_the_same_corpus_gives_the_same_bytes(tmp_path: Path) -> None:
    digests = set()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        made = PlatformMemory(**KNOBS).build(corpus(), tmp_path / name, BuildContext())
        assert made["facts"] == {"entities": 1, "address": "embedded"}
        digests.add(digest_folder(tmp_path / name))
    assert len(digests) == 1


def test_documents_are_not_for_it(tmp_path: Path) -> None:
    for given in (corpus(native=None), corpus(documents=(Document(id="d", text="words"),))):
        with pytest.raises(CannotMeasure, match="lifecycle"):
            PlatformMemory(**KNOBS).build(given, tmp_path, BuildContext())


def test_a_store_without_a_warehouse(tmp_path: Path) -> None:
    native = SimpleNamespace(warehouse=None, entities=(), settings={})
    PlatformMemory(**KNOBS).build(corpus(native=native), tmp_path, BuildContext())
    store = PlatformMemory(**KNOBS).open(StoreRef(key="k", location=str(tmp_path)))
    try:
        assert store.description("urn:li:none") is None
    finally:
        store.close()


def test_a_damaged_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="delete it and build again"):
        PlatformMemory(**KNOBS).open(StoreRef(key="k", location=str(tmp_path)))


def test_who_it_is() -> None:
    said = PlatformMemory(**KNOBS).identity()
    assert len(said["platform"]) == 12 and said["embedder"]
    assert PlatformMemory(embedder="none").identity()["embedder"] is None
    assert PlatformMemory(url="http://127.0.0.1:9/", key_env="K").identity() == {"url": "http://127.0.0.1:9"}
