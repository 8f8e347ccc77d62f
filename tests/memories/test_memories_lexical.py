from __future__ import annotations

import json
from pathlib import Path

import pytest
from memories_corpora import ask, build_and_open, conversation, corpus_of, ref

from memassay.core.contracts import BuildContext
from memassay.core.errors import EnvironmentProblem
from memassay.core.types import Document, Unit
from memassay.memories.lexical import Lexical
from memassay.memories.markdown import Markdown


def talk(*texts: str, date: str | None = "2023-05-08T13:56", name: str = "s1") -> Document:
    units = tuple(Unit(id=f"{name}:{n}", text=text, speaker="Ann") for n, text in enumerate(texts))
    return Document(id=name, title="Session", text="\n".join(texts), date=date, units=units)


def units_of(passages: list) -> list[tuple[str, ...]]:
    return [p.unit_ids for p in passages]


@pytest.mark.parametrize(("window", "stride"), [(5, 2), (5, 1), (5, 5), (3, 9), (1, 2), (40, 7)])
def test_every_turn_is_shown_once_in_a_full_dossier(tmp_path: Path, window: int, stride: int) -> None:
    corpus = conversation()
    store = build_and_open(Lexical(window=window, stride=stride), corpus, tmp_path)
    passages = store.retrieve(ask("Who painted the violin?", budget=10**6))
    shown = [unit for p in passages for unit in p.unit_ids]
    assert sorted(shown) == sorted(unit.id for document in corpus.documents for unit in document.units)
    assert all(len(p.doc_ids) == 1 and len(p.unit_ids) <= window for p in passages)
    matching = [p.score for p in passages if p.score]
    assert matching == sorted(matching, reverse=True)


def test_a_later_window_leaves_out_what_was_shown(tmp_path: Path) -> None:
    document = talk("alpha", "alpha", "alpha beta", "beta", "gamma")
    store = build_and_open(Lexical(window=3, stride=1), corpus_of(document), tmp_path)
    passages = store.retrieve(ask("alpha"))
    assert units_of(passages) == [("s1:0", "s1:1", "s1:2"), ("s1:3",), ("s1:4",)]
    assert passages[1].text == "2023-05-08\nAnn: beta"
    assert [p.native_id for p in passages] == ["s1#0-2", "s1#1-3", "s1#2-4"]


def test_ties_keep_the_order_of_the_corpus(tmp_path: Path) -> None:
    documents = [talk("the same words", name=f"s{n:02}") for n in range(30)]
    passages = build_and_open(Lexical(), corpus_of(*documents), tmp_path).retrieve(ask("words"))
    assert [p.doc_ids[0] for p in passages] == [document.id for document in documents]


@pytest.mark.parametrize(
    ("fill", "expected"),
    [("oldest", ["b", "a", "c", "d"]), ("newest", ["b", "d", "c", "a"]), ("none", ["b"])],
)
def test_fill(tmp_path: Path, fill: str, expected: list[str]) -> None:
    documents = [talk("violin" if name == "b" else "kettle", name=name) for name in "abcd"]
    passages = build_and_open(Lexical(fill=fill), corpus_of(*documents), tmp_path).retrieve(ask("violin"))
    assert [p.doc_ids[0] for p in passages] == expected
    assert [bool(p.score) for p in passages] == [name == "b" for name in expected]


@pytest.mark.parametrize(
    ("settings", "date", "head"),
    [
        ({}, "2023-05-08T13:56", "2023-05-08\n"),
        ({"dates": "full"}, "2023-05-08T13:56", "2023-05-08T13:56\n"),
        ({"dates": "none"}, "2023-05-08T13:56", ""),
        ({}, "last spring", "last spring\n"),
        ({}, None, ""),
    ],
)
def test_the_head_of_a_passage(tmp_path: Path, settings: dict, date: str | None, head: str) -> None:
    units = (Unit(id="u", text="Look, a violin!", speaker="Ann", note="a photo"),)
    document = Document(id="d", title="Session 1", text="", date=date, units=units)
    (found,) = build_and_open(Lexical(**settings), corpus_of(document), tmp_path).retrieve(ask("violin"))
    assert found.text == f"{head}Ann: Look, a violin! [a photo]"
    assert found.valid_from == date


def test_the_title_of_a_page_is_shown_and_searched_but_not_that_of_a_conversation(tmp_path: Path) -> None:
    page = Document(id="p", title="Zeppelin", text="It flies.", date="1999-01-02")
    speech = talk("It flies too.").model_copy(update={"title": "Zeppelin"})
    store = build_and_open(Lexical(fill="none"), corpus_of(speech, page), tmp_path)
    (found,) = store.retrieve(ask("zeppelin"))
    assert (found.text, found.span) == ("1999-01-02 Zeppelin\nIt flies.", (0, 9))


def test_how_often_a_title_counts_is_a_setting(tmp_path: Path) -> None:
    titled = Document(id="titled", title="Zeppelin", text="It has two engines and a cabin.")
    told = Document(id="told", title="Airship", text="A zeppelin, no other zeppelin, flew here.")
    best = {}
    for weight in (0, 1, 2):
        memory = Lexical(title_weight=weight, fill="none", b=0.0)
        store = build_and_open(memory, corpus_of(titled, told), tmp_path / str(weight))
        best[weight] = [found.doc_ids[0] for found in store.retrieve(ask("zeppelin"))]
    assert best == {0: ["told"], 1: ["told", "titled"], 2: ["titled", "told"]}
    assert Lexical()._title_weight == Markdown()._index.title_weight == 2


def test_dates_can_be_searched_unless_told_otherwise(tmp_path: Path) -> None:
    corpus = corpus_of(talk("kettle", date="2023-05-08", name="may"), talk("kettle", date="2023-06-09", name="june"))
    question = ask("What happened on 9 June?")
    without = Lexical(fill="none", index_dates=False)
    assert build_and_open(without, corpus, tmp_path / "a").retrieve(question) == []
    (found,) = build_and_open(Lexical(fill="none"), corpus, tmp_path / "b").retrieve(question)
    assert found.doc_ids == ("june",)


def test_whole_documents(tmp_path: Path) -> None:
    page = Document(id="p", text="One violin.\n\nAnother\n paragraph." + " More." * 500)
    store = build_and_open(Lexical(unit="document"), corpus_of(talk("a kettle", "a violin"), page), tmp_path)
    passages = store.retrieve(ask("violin", budget=100_000))
    assert sorted(p.doc_ids[0] for p in passages) == ["p", "s1"]
    assert next(p for p in passages if p.doc_ids == ("p",)).text == page.text
    assert next(p for p in passages if p.doc_ids == ("s1",)).unit_ids == ("s1:0", "s1:1")


def test_paragraphs_of_a_text_carry_their_place(tmp_path: Path) -> None:
    text = "\n\n".join(f"Paragraph {n} is about topic{n}. " + "Filler words follow here. " * 30 for n in range(9))
    store = build_and_open(Lexical(), corpus_of(Document(id="p", text=text)), tmp_path)
    passages = store.retrieve(ask("topic7", budget=100_000))
    assert "topic7" in passages[0].text
    for p in passages:
        assert p.span is not None and text[slice(*p.span)] == p.text
        assert p.unit_ids == ()


def test_stemming_finds_other_forms(tmp_path: Path) -> None:
    corpus = corpus_of(talk("She researched adoption agencies"))
    assert build_and_open(Lexical(fill="none"), corpus, tmp_path / "a").retrieve(ask("researching agency"))
    exact = build_and_open(Lexical(fill="none", stemmer="none"), corpus, tmp_path / "b")
    assert exact.retrieve(ask("researching agency")) == []


def test_a_store_built_with_other_settings_is_refused_but_fill_and_dates_may_change(tmp_path: Path) -> None:
    build_and_open(Lexical(), conversation(), tmp_path)
    Lexical(fill="none", dates="none").open(ref(tmp_path))
    for other in ({"window": 1}, {"k1": 1.2}, {"stop_words": "lucene"}, {"unit": "document"}):
        with pytest.raises(EnvironmentProblem, match="other settings"):
            Lexical(**other).open(ref(tmp_path))


def test_a_build_that_was_killed_is_not_a_store(tmp_path: Path) -> None:
    class Killed(Exception):
        pass

    def stop(done: int, total: int) -> None:
        if done == total:
            return
        raise Killed

    with pytest.raises(Killed):
        Lexical().build(conversation(), tmp_path, BuildContext(progress=stop))
    with pytest.raises(EnvironmentProblem, match="missing"):
        Lexical().open(ref(tmp_path))
    assert build_and_open(Lexical(), conversation(), tmp_path).retrieve(ask("violin"))


def test_the_seal_says_what_was_built_and_nothing_of_where(tmp_path: Path) -> None:
    build_and_open(Lexical(), conversation(), tmp_path)
    text = (tmp_path / "store.json").read_text(encoding="utf-8")
    body = json.loads(text)
    assert body["settings"]["window"] == 3 and body["memory"] == "lexical"
    assert str(tmp_path) not in text
    assert {"documents.jsonl", "passages.jsonl", "index/bm25.json"} <= set(body["files"])


def test_the_open_store_needs_its_folder_no_more(tmp_path: Path) -> None:
    store = build_and_open(Lexical(), conversation(), tmp_path / "a")
    expected = store.retrieve(ask("violin"))
    (tmp_path / "a").rename(tmp_path / "b")
    assert store.retrieve(ask("violin")) == expected
