"""A store whose searches an embedding model helps, and where its vectors are kept."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from memassay.core.errors import MissingExtra, UnknownName
from memassay.knowledge.store import PLACE, KnowledgeStore
from memassay.knowledge.tools import Desk
from memassay.retrieval.embedders import HashedWords, Vectors, embedder
from memassay.retrieval.vectors import FILE


class Model(HashedWords):
    """Knows that a cat is a pet, which no word says; remembers what it embedded."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str], *, question: bool = False) -> Vectors:
        if not question:
            self.asked += texts
        return super().embed([text.replace("Our cat", "Our pet").replace("animal", "pet") for text in texts])


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    root = tmp_path / "notes"
    root.mkdir()
    (root / "mimi.md").write_text("# Mimi\n\nOur cat sleeps on the stove.\n")
    (root / "stove.md").write_text(
        "# Stove\n\nBought in spring.\n\n" + "It burns wood. " * 90 + "\n\n## Care\n\nClean it.\n"
    )
    (root / "tea.md").write_text("Green tea, never with boiling water.\n")
    return root


@pytest.fixture
def kept(notes: Path) -> Iterator[KnowledgeStore]:
    with KnowledgeStore.open(notes, writable=True) as store:
        yield store


def keys(store: KnowledgeStore, question: str) -> list[str]:
    return [piece.key for piece in store.search(question).pieces]


def test_it_finds_what_no_word_says(notes: Path) -> None:
    with KnowledgeStore.open(notes) as store:
        assert keys(store, "animal") == []
        store.embed_with(Model())
        assert keys(store, "animal")[0] == "mimi"
        assert keys(store, "Green tea")[0] == "tea"
        [first, *_] = json.loads(Desk(store).call("search", {"text": "animal", "grain": "page"})[0])
        assert first["key"] == "mimi"


def test_the_vectors_of_a_writer_are_kept(notes: Path, kept: KnowledgeStore) -> None:
    first, second = Model(), Model()
    finder = kept.embed_with(first)
    assert first.asked == [], "nothing is embedded before a question comes"
    finder.prepared(kept.snapshot)
    assert finder.keeps and finder.made == len(first.asked) == kept.snapshot.passages
    assert "# Mimi\n\nOur cat sleeps on the stove." in first.asked and (notes / PLACE / FILE).is_file()
    assert "Stove\n## Care\n\nClean it." in first.asked, "a passage below the headings that it stands under"
    kept.close()
    with KnowledgeStore.open(notes) as reader:
        finder = reader.embed_with(second)
        assert keys(reader, "animal")[0] == "mimi"
        assert (second.asked, finder.made, finder.keeps) == ([], 0, False)


def test_reading_writes_nothing(notes: Path, tmp_path: Path) -> None:
    before = sorted(notes.rglob("*"))
    for _ in range(2):
        with KnowledgeStore.open(notes) as reader:
            model = Model()
            finder = reader.embed_with(model)
            keys(reader, "animal")
            assert finder.made == len(model.asked) == reader.snapshot.passages and not finder.keeps
    assert sorted(notes.rglob("*")) == before
    with KnowledgeStore.open(notes, index=tmp_path / "aside") as reader:
        assert reader.embed_with(Model()).prepared(reader.snapshot) and (tmp_path / "aside" / FILE).is_file()
    with KnowledgeStore.open(notes, index=tmp_path / "aside") as reader:
        finder = reader.embed_with(model)
        assert keys(reader, "animal")[0] == "mimi" and finder.made == 0 and finder.keeps
    assert sorted(notes.rglob("*")) == before


def test_a_reader_whose_index_lags_behind_takes_the_vectors_there_are(notes: Path, kept: KnowledgeStore) -> None:
    kept.embed_with(Model()).prepared(kept.snapshot)
    kept.close()
    (notes / "dog.md").write_text("# Rex\n\nAn animal, too.\n")
    with KnowledgeStore.open(notes) as reader:
        model = Model()
        reader.embed_with(model)
        assert set(keys(reader, "animal")) >= {"dog", "mimi"}
        assert model.asked == ["# Rex\n\nAn animal, too."]


def test_edits_are_followed(notes: Path, kept: KnowledgeStore) -> None:
    model = Model()
    kept.embed_with(model)
    assert keys(kept, "animal")[0] == "mimi"
    model.asked.clear()
    kept.update("mimi", "# Mimi\n\nGone.\n")
    kept.create("aa/rex", "# Rex\n\nAn animal, too.\n")
    kept.rename("tea", "drinks/tea")
    found = kept.search("animal Clean")
    assert sorted(model.asked) == ["# Mimi\n\nGone.", "# Rex\n\nAn animal, too."], "only what is new"
    kept.close()
    with KnowledgeStore.open(notes) as fresh:
        fresh.embed_with(Model())
        assert fresh.search("animal Clean") == found
        assert "Care" in found.pieces[[piece.key for piece in found.pieces].index("stove")].text


def test_an_empty_folder(tmp_path: Path) -> None:
    with KnowledgeStore.open(tmp_path) as store:
        store.embed_with(Model())
        assert store.search("animal").pieces == ()


def test_what_is_missing_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtra, match=r"^onnxruntime is not installed; run: pip install 'memassay\[hybrid\]'\.$"):
        embedder("minilm")
    with pytest.raises(UnknownName, match=r"Unknown embedder 'minilmm'\. Did you mean 'minilm'"):
        embedder("minilmm")
