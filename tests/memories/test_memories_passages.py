from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from memories_corpora import ask, build_and_open, conversation, corpus_of, ref

from kit import Cli
from memassay.core.contracts import BuildContext
from memassay.core.errors import CannotMeasure, EnvironmentProblem, MissingExtra, UsageError
from memassay.core.types import Corpus, Document, Passage, Query, Unit
from memassay.memories import embedding
from memassay.memories.passages import Passages
from memassay.retrieval import embedders


def words_only(**settings: Any) -> Passages:
    return Passages(embedder="none", **settings)


def talk(*turns: tuple[str, str], name: str = "s1", date: str | None = "2023-05-08T13:56") -> Document:
    units = tuple(Unit(id=f"{name}:{n}", speaker=who, text=text) for n, (who, text) in enumerate(turns))
    return Document(id=name, title="Session", text="\n".join(text for _, text in turns), date=date, units=units)


def units_of(passages: list[Passage]) -> list[str]:
    return [unit for p in passages for unit in p.unit_ids]


def best(memory: Passages, corpus: Corpus, place: Path, question: str, as_of: str | None = None) -> str:
    """The first unit, where every line is a passage of its own."""
    store = build_and_open(memory, corpus, place)
    return units_of(store.retrieve(Query(text=question, as_of=as_of, budget_tokens=1000)))[0]


@pytest.mark.parametrize("embedder", ["none", "hash"])
def test_every_turn_is_shown_once_in_a_full_dossier(tmp_path: Path, embedder: str) -> None:
    corpus = conversation()
    store = build_and_open(Passages(embedder=embedder), corpus, tmp_path)
    passages = store.retrieve(ask("Who painted the violin?", budget=10**6))
    expected = sorted(unit.id for document in corpus.documents for unit in document.units)
    assert sorted(units_of(passages)) == expected
    assert len({p.native_id for p in passages}) == len(passages)


def test_blocks_are_filled_best_first_and_grouped_by_document(tmp_path: Path) -> None:
    def asked(block_chars: int) -> list[Passage]:
        store = build_and_open(words_only(block_chars=block_chars), conversation(), tmp_path / str(block_chars))
        return list(store.retrieve(ask("Who painted the violin?", budget=10**6)))

    ranked = units_of(asked(1))
    passages = asked(300)
    assert len(passages) < len(ranked) / 1.2
    at = 0
    while at < len(passages):
        # A block is the passages up to the first set of units that is a prefix of what is left of the ranking.
        size = next(
            n for n in range(1, 9) if set(block := units_of(passages[at : at + n])) == set(ranked[: len(block)])
        )
        sessions = [unit.split(":")[0] for unit in ranked[: len(block)]]
        assert [p.unit_ids[0].split(":")[0] for p in passages[at : at + size]] == list(dict.fromkeys(sessions))
        ranked = ranked[len(block) :]
        at += size
    assert not ranked
    for p in passages:
        turns = [int(unit.split(":")[1]) for unit in p.unit_ids]
        assert turns == sorted(turns)
        assert p.text.count("\n") == len(turns)  # one date, one line per turn
        assert len(p.text) <= 300 + len(turns) + len("2023-01-08")


def test_with_blocks_of_one_line_the_order_is_that_of_the_scores(tmp_path: Path) -> None:
    store = build_and_open(words_only(block_chars=1), conversation(), tmp_path)
    passages = store.retrieve(ask("Who painted the violin?", budget=10**6))
    scores = [p.score for p in passages]
    assert scores == sorted(scores, reverse=True)
    assert all(len(p.unit_ids) == 1 for p in passages)


def test_a_neighbour_of_a_hit_comes_before_a_stranger(tmp_path: Path) -> None:
    first = talk(("Ann", "nothing here"), ("Bob", "nor here"), name="a")
    second = talk(("Ann", "a violin"), ("Bob", "lovely"), ("Ann", "thanks"), ("Bob", "goodbye"), name="b")
    store = build_and_open(words_only(block_chars=1), corpus_of(first, second), tmp_path)
    assert units_of(store.retrieve(ask("violin"))) == ["b:0", "b:1", "b:2", "a:0", "a:1", "b:3"]


@pytest.mark.parametrize("question", ["What did Bob sell?", "What did bob sell?", "Bob's sale: sell"])
def test_the_speaker_that_is_named_comes_first(tmp_path: Path, question: str) -> None:
    corpus = corpus_of(talk(("Ann", "I sell a boat"), ("Bob", "I sell a car")))
    assert best(words_only(block_chars=1), corpus, tmp_path / "with", question) == "s1:1"
    assert best(words_only(block_chars=1, speaker=0), corpus, tmp_path / "without", question) == "s1:0"


def test_the_name_of_a_speaker_is_no_word_to_look_for(tmp_path: Path) -> None:
    corpus = corpus_of(talk(("Ann", "Hello Bob, dear Bob"), ("Ann", "my piano"), ("Bob", "yes")))
    assert best(words_only(block_chars=1, speaker=0, window=0), corpus, tmp_path, "Bob piano") == "s1:1"


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did Ann plant in June?", "june:0"),
        ("What did Ann plant on 8 July 2023?", "july:0"),
        ("What did Ann plant in May?", "may:0"),
        ("What did Ann plant last month?", "july:0"),
        ("What did Ann plant?", "may:0"),
    ],
)
def test_the_session_of_the_time_that_is_asked_for_comes_first(tmp_path: Path, question: str, expected: str) -> None:
    names = {"may": "2023-05-08", "june": "2023-06-20", "july": "2023-07-08"}
    corpus = corpus_of(*(talk(("Ann", "I plant a tree"), name=name, date=day) for name, day in names.items()))
    assert best(words_only(block_chars=1), corpus, tmp_path, question, as_of="2023-08-02T10:00") == expected


def test_without_a_now_the_last_document_is_now(tmp_path: Path) -> None:
    documents = [talk(("Ann", "I plant a tree"), name=f"m{n}", date=f"2023-{n:02}-08") for n in (2, 3, 4)]
    assert best(words_only(block_chars=1), corpus_of(*documents), tmp_path, "planted last month") == "m3:0"


@pytest.mark.parametrize("date", [None, "", "spring of 1999", "2023-02-31"])
def test_a_date_that_is_no_day_counts_for_nothing(tmp_path: Path, date: str | None) -> None:
    corpus = corpus_of(talk(("Ann", "a tree in June"), date=date))
    assert best(words_only(), corpus, tmp_path, "a tree in June 2023", as_of="long ago") == "s1:0"


def test_pages_without_units_are_paragraphs_under_their_title(tmp_path: Path) -> None:
    text = "It is made of iron.\n\n" + "It has three legs. " * 60 + "\n\nIt was built by Eiffel."
    pages = [Document(id="t", title="The tower", text=text), Document(id="o", title="The bridge", text=text)]
    store = build_and_open(words_only(block_chars=1), corpus_of(*pages), tmp_path)
    first = store.retrieve(ask("Who built the bridge?"))[0]
    assert first.doc_ids == ("o",)
    assert first.span is not None
    assert first.text == "The bridge\n" + text[slice(*first.span)]
    assert first.text.endswith("It was built by Eiffel.")


def test_vectors_find_what_words_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Topics(embedders.HashedWords):
        """Knows that a cello is a violin; all else is alike."""

        def embed(self, texts: Any, *, question: bool = False) -> Any:
            rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
            for row, text in zip(rows, texts, strict=True):
                row[0 if "cello" in text or "violin" in text else 1] = 1
            return rows

    monkeypatch.setattr(embedders, "EMBEDDERS", {**embedders.EMBEDDERS, "hash": Topics})
    corpus = corpus_of(talk(("Ann", "the fair was fun"), name="a"), talk(("Ann", "my cello"), name="b"))
    assert best(Passages(embedder="hash", block_chars=1), corpus, tmp_path / "sense", "violin") == "b:0"
    assert best(words_only(block_chars=1), corpus, tmp_path / "words", "violin") == "a:0"


@pytest.mark.parametrize("embedder", ["none", "hash"])
def test_a_store_of_another_build_or_of_damaged_files_is_refused(tmp_path: Path, embedder: str) -> None:
    memory = Passages(embedder=embedder)
    memory.build(conversation(), tmp_path, BuildContext())
    for other in (Passages(embedder="none" if embedder == "hash" else "hash"), Passages(embedder=embedder, reach=1)):
        with pytest.raises(EnvironmentProblem, match="other settings"):
            other.open(ref(tmp_path))
    speakers = tmp_path / "speakers.jsonl"
    speakers.write_text(speakers.read_text().replace("[", "{"))
    with pytest.raises(EnvironmentProblem, match="delete it and build again"):
        memory.open(ref(tmp_path))


def test_settings_that_act_at_retrieval_need_no_new_build(tmp_path: Path) -> None:
    words_only().build(conversation(), tmp_path, BuildContext())
    store = words_only(window=0, speaker=3, times=0, dense=0, dates="none", block_chars=50).open(ref(tmp_path))
    assert store.retrieve(ask("Who painted the violin?"))[0].text.startswith(("Ann: ", "Bob: "))


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"reach": -1}, "reach must be a whole number of at least 0"),
        ({"window": 101}, "window must be a number from 0 to 100"),
        ({"speaker": "much"}, "speaker must be a number"),
        ({"embedder": "minilmm"}, "Did you mean 'minilm'"),
        ({"dates": "week"}, "dates cannot be 'week'"),
        ({"block_chars": 0}, "block_chars must be"),
    ],
)
def test_a_wrong_setting_is_one_sentence(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        Passages(**{"embedder": "none", **settings})


def test_a_missing_embedder_cannot_be_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise MissingExtra("onnxruntime", "hybrid")

    monkeypatch.setattr(embedding, "embedder", missing)
    with pytest.raises(CannotMeasure, match=r"pip install 'memassay\[hybrid\]'"):
        Passages()


# -- the table of docs/memories/passages.md -------------------------------------------------------------------------

BUDGETS = (1000, 2000, 4000, 8000, 12000)


def dev_recall(cli: Cli, locomo_file: Path, embedder: str) -> list[float]:
    """``all`` at each budget over the development conversations, as the harness scores it."""
    summary = cli(
        "run", "locomo", "--memory", "passages", "--set", f"passages.embedder={embedder}", "--data", locomo_file,
        "--conversations", "conv-26,conv-30", "--tokens", "chars4", "--budgets", ",".join(map(str, BUDGETS)),
        "--no-controls", "--out", "runs/dev", "--json",
    ).json  # fmt: skip
    return [summary["arms"]["passages"]["metrics"][f"all@{budget}"]["value"] for budget in BUDGETS]


@pytest.mark.data
def test_the_page_gives_what_words_alone_find(cli: Cli, workplace: Path, locomo_file: Path) -> None:
    assert dev_recall(cli, locomo_file, "none") == pytest.approx([0.810, 0.883, 0.931, 0.983, 0.996], abs=0.0006)


@pytest.mark.data
@pytest.mark.slow
def test_the_page_gives_what_the_defaults_find(cli: Cli, workplace: Path, locomo_file: Path) -> None:
    pytest.importorskip("onnxruntime")
    # Other processors round otherwise, which may move a question or two.
    assert dev_recall(cli, locomo_file, "minilm") == pytest.approx([0.857, 0.900, 0.957, 0.996, 0.996], abs=0.009)
