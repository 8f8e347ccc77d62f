"""What the memory ``markdown`` does beyond what every memory does."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from memories_corpora import ask, build_and_open, conversation, corpus_of, ref

from memassay.core.errors import CannotMeasure, EnvironmentProblem, UsageError
from memassay.core.types import Document
from memassay.memories.markdown import Markdown


def page(name: str, text: str) -> Document:
    return Document(id=name, title=name.title(), text=text)


PAGES = corpus_of(
    page("song", "Counterparts is a song by [the band](rush.md)."),
    page("rush", "A trio whose drummer was honoured in 1983."),
    page("album", "Counterparts, a record with a song about counterparts and a song about drums."),
    page("label", "It once released a song."),
)


def found(memory: Markdown, place: Path, question: str) -> list[str]:
    return [p.doc_ids[0] for p in build_and_open(memory, PAGES, place).retrieve(ask(question))]


def test_a_link_brings_the_page_that_the_words_do_not(tmp_path: Path) -> None:
    question = "Which band has the song Counterparts?"
    assert "rush" in found(Markdown(), tmp_path / "a", question)
    assert "rush" not in found(Markdown(depth=0), tmp_path / "b", question)
    assert "rush" not in found(Markdown(link=0.0), tmp_path / "c", question)


def test_a_mention_does_what_a_link_does(tmp_path: Path) -> None:
    corpus = corpus_of(page("harbour", "Built beside Zamora Station."), page("zamora station", "Opened in 1931."))
    asked = ask("When was the stop beside the harbour opened?")
    joined = build_and_open(Markdown(), corpus, tmp_path / "a").retrieve(asked)
    apart = build_and_open(Markdown(mentions=False), corpus, tmp_path / "b").retrieve(asked)
    assert {p.doc_ids[0] for p in joined} == {"harbour", "zamora station"}
    assert joined[1].score is not None and apart[1].score is not None
    assert joined[1].score > apart[1].score


def test_small_pages_are_shown_whole_and_long_ones_by_the_passage(tmp_path: Path) -> None:
    long = "\n\n".join(f"Part {n}. " + "The same words again and again. " * 12 for n in range(12)) + "\n\nA violin."
    corpus = corpus_of(page("short", "One.\n\nTwo violins.\n\nThree."), page("long", long))
    passages = build_and_open(Markdown(), corpus, tmp_path / "a").retrieve(ask("violin"))
    by_page = {p.doc_ids[0]: p.text for p in passages}
    assert by_page["short"] == "# Short\n\nOne.\n\nTwo violins.\n\nThree."
    assert "A violin." in by_page["long"] and len(by_page["long"]) < 1100
    whole = build_and_open(Markdown(whole=5000), corpus, tmp_path / "b").retrieve(ask("violin"))
    assert max(len(p.text) for p in whole) > 4000


def test_a_long_page_can_be_shown_by_the_section(tmp_path: Path) -> None:
    part = "\n\n".join("The same words again and again. " * 12 for _ in range(6))
    text = f"## Music\n\n{part}\n\nA violin.\n\n### Bows\n\n{part}\n\n## Cooking\n\n{part}"
    corpus = corpus_of(page("long", text), page("short", "Two violins."))
    store = tmp_path / "a"
    by_passage = build_and_open(Markdown(), corpus, store).retrieve(ask("violin"))
    assert by_passage == Markdown(grain="passage").open(ref(store)).retrieve(ask("violin"))
    by_section = Markdown(grain="section").open(ref(store)).retrieve(ask("violin"))
    by_page = Markdown(grain="page").open(ref(store)).retrieve(ask("violin"))
    lengths = []
    for found in (by_passage, by_section, by_page):
        assert [p.text for p in found if p.doc_ids == ("short",)] == ["# Short\n\nTwo violins."]
        [shown] = [p.text for p in found if "A violin." in p.text]
        lengths.append(len(shown))
        assert len({p.native_id for p in found}) == len(found)
    assert lengths[0] < 1100 < lengths[1] < lengths[2]
    [section] = [p.text for p in by_section if "A violin." in p.text]
    assert section.endswith("A violin.") and "Bows" not in section and "## Music" in section
    with pytest.raises(UsageError, match="grain"):
        Markdown(grain="chapter")  # type: ignore[arg-type]


def test_where_a_passage_is_from(tmp_path: Path) -> None:
    (passage, *_) = build_and_open(Markdown(), conversation(), tmp_path).retrieve(ask("tok3x7"))
    assert passage.doc_ids == ("c/session_4",)
    assert "D4:8" in passage.unit_ids
    assert passage.native_id is not None
    key, _, place = passage.native_id.partition("#")
    start, end = (int(part) for part in place.split("-"))
    text = (tmp_path / "pages" / f"{key}.md").read_text(encoding="utf-8")
    assert text[start:end] in passage.text
    assert passage.text.startswith("2023-04-08\n")


def test_an_embedder_helps_to_choose_seeds(tmp_path: Path) -> None:
    plain = build_and_open(Markdown(), PAGES, tmp_path / "a").retrieve(ask("Who released a song?"))
    dense = build_and_open(Markdown(embedder="hash"), PAGES, tmp_path / "b").retrieve(ask("Who released a song?"))
    again = Markdown(embedder="hash")
    assert {p.doc_ids for p in plain} <= {p.doc_ids for p in dense}
    assert [p.score for p in plain] != [p.score for p in dense]
    assert build_and_open(again, PAGES, tmp_path / "c").retrieve(ask("Who released a song?")) == dense
    off = build_and_open(Markdown(embedder="hash", dense=0.0), PAGES, tmp_path / "d")
    assert [p.doc_ids for p in off.retrieve(ask("Who released a song?"))] == [p.doc_ids for p in plain]
    about = (tmp_path / "b" / "dense.json").read_text(encoding="utf-8")
    assert '"search": "exact"' in about and '"embedder": "hash"' in about


def test_a_store_with_other_vectors_is_refused(tmp_path: Path) -> None:
    build_and_open(Markdown(embedder="hash"), PAGES, tmp_path)
    with pytest.raises(EnvironmentProblem, match="other settings"):
        Markdown().open(ref(tmp_path))


def test_a_missing_extra_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(CannotMeasure, match=r"memassay\[hybrid\]"):
        Markdown(embedder="minilm")
