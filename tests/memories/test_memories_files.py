from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memories_corpora import ask, build_and_open, conversation, corpus_of, ref

from memassay.core.errors import EnvironmentProblem
from memassay.core.types import Document, Unit
from memassay.memories.files import Files, search_words
from memassay.memories.names import file_name

STORY = (
    Unit(id="1", text="We met at the harbour", speaker="Ann"),
    Unit(id="2", text="The lantern was green", speaker="Bob"),
    Unit(id="3", text="A green lantern at the harbour, really?", speaker="Ann", note="a photo of a lantern"),
    Unit(id="4", text="Yes\nand it was loud", speaker="Bob"),
    Unit(id="5", text="Good night", speaker="Ann"),
    Unit(id="6", text="HARBOURS are fine", speaker="Bob"),
)


def test_files_are_what_a_person_would_read(tmp_path: Path) -> None:
    document = Document(id="trip/day 1", title="The\ntrip", text="", date="2024-02-03T10:00", units=STORY)
    build_and_open(Files(), corpus_of(document), tmp_path)
    (path,) = (tmp_path / "files").iterdir()
    assert path.name == "2024-02-03_trip_day_1.txt"
    assert path.read_text(encoding="utf-8").split("\n") == [
        "Title: The trip",
        "Date: 2024-02-03T10:00",
        "",
        "Ann: We met at the harbour",
        "Bob: The lantern was green",
        "Ann: A green lantern at the harbour, really? [a photo of a lantern]",
        "Bob: Yes",
        "and it was loud",
        "Ann: Good night",
        "Bob: HARBOURS are fine",
        "",
    ]


def test_lines_rank_by_distinct_words_then_by_place(tmp_path: Path) -> None:
    store = build_and_open(Files(context=0), corpus_of(Document(id="d", text="", units=STORY)), tmp_path)
    passages = store.retrieve(ask("Where was the green lantern of the harbour?"))
    assert [p.unit_ids for p in passages] == [("3",), ("2",), ("1",), ("6",)]
    assert [p.score for p in passages] == [3, 2, 1, 1]
    assert passages[0].text == "d.txt\nAnn: A green lantern at the harbour, really? [a photo of a lantern]"
    assert [p.native_id for p in passages] == ["d.txt:3", "d.txt:2", "d.txt:1", "d.txt:7"]


def test_context_shows_neighbours_once_and_claims_whole_units_only(tmp_path: Path) -> None:
    store = build_and_open(Files(context=1), corpus_of(Document(id="d", text="", units=STORY)), tmp_path)
    passages = store.retrieve(ask("green lantern harbour"))
    assert passages[0].text.split("\n")[1:] == [
        "Bob: The lantern was green",
        "Ann: A green lantern at the harbour, really? [a photo of a lantern]",
        "Bob: Yes",
    ]
    assert passages[0].unit_ids == ("2", "3")  # of unit 4 only the first of two lines
    assert [p.unit_ids for p in passages[1:]] == [("1",), ("5", "6")]


def test_it_greps_the_real_files(tmp_path: Path) -> None:
    store = build_and_open(Files(), conversation(), tmp_path)
    (first, *_) = sorted((tmp_path / "files").iterdir())
    first.write_text("An edited line about zeppelins\n", encoding="utf-8")
    (found,) = store.retrieve(ask("zeppelin"))
    assert "An edited line about zeppelins" in found.text
    first.unlink()
    with pytest.raises(EnvironmentProblem, match="delete it and build again"):
        store.retrieve(ask("zeppelin"))


def test_a_long_line_is_cut_around_its_match(tmp_path: Path) -> None:
    text = "a" * 5000 + " needle " + "b" * 5000
    documents = (
        Document(id="text", text=text),
        Document(id="talk", text="", units=(Unit(id="u", text=text, speaker="Ann"),)),
    )
    store = build_and_open(Files(line_chars=100), corpus_of(*documents), tmp_path)
    for p in store.retrieve(ask("needle")):
        shown = p.text.split("\n")[1]
        assert len(shown) == 100 and "needle" in shown
        assert p.unit_ids == ()


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (
            "When did Caroline's dog visit the LGBTQ+ centre in 2023?",
            ["caroline", "dog", "visit", "lgbtq", "centre", "2023"],
        ),
        ("dog Dog DOG", ["dog"]),
        ("Who is it?", ["who", "is", "it"]),
        ("x y 7", ["7"]),
        ("", []),
    ],
)
def test_search_words(question: str, expected: list[str]) -> None:
    assert search_words(question) == expected


def test_no_match_is_an_empty_answer(tmp_path: Path) -> None:
    assert build_and_open(Files(), conversation(), tmp_path).retrieve(ask("xylophone")) == []


@given(st.lists(st.text(max_size=200), max_size=20), st.sampled_from(["", "2024-01-01_"]))
def test_file_names_are_safe_and_differ(ids: list[str], prefix: str) -> None:
    taken: set[str] = set()
    names = [file_name(document, prefix, taken) for document in ids]
    assert len({name.casefold() for name in names}) == len(names)
    for name in names:
        assert name.isascii() and len(name) < 160 and name.endswith(".txt")
        assert not set(name) & set('/\\:*?"<>|\0\n ') and not name.startswith((".", "-"))


def test_file_names_by_hand() -> None:
    taken: set[str] = set()
    assert file_name("notes/a.md", "", taken) == "notes_a.md.txt"
    assert file_name("notes_A.md", "", taken) == "notes_A.md-2.txt"
    assert file_name("con", "", taken) == "_con.txt"
    assert file_name("Zoë", "", taken).startswith("Zoe-")
    assert len(file_name("x" * 9999, "", taken)) == 80 + 1 + 8 + len(".txt")


def test_a_file_that_shrank_is_noticed_when_the_store_is_opened(tmp_path: Path) -> None:
    build_and_open(Files(), conversation(), tmp_path)
    victim = sorted((tmp_path / "files").iterdir())[2]
    victim.write_bytes(victim.read_bytes()[:-1])
    with pytest.raises(EnvironmentProblem, match=victim.name):
        Files().open(ref(tmp_path))


def test_laid_out_as_pages_a_conversation_is_sessions_and_an_index(tmp_path: Path) -> None:
    corpus = conversation(sessions=3, turns=4)
    store = build_and_open(Files(layout="pages", context=0), corpus, tmp_path)
    names = sorted(path.relative_to(store.folder()).as_posix() for path in store.folder().rglob("*.md"))
    assert names == ["index.md", *(f"sessions/session-0{n}.md" for n in (1, 2, 3))]
    text = (store.folder() / names[2]).read_text(encoding="utf-8")
    assert text.startswith("# Session 2 — 1:56 pm on 8 February 2023\n\nAnn: I ")
    [passage] = store.retrieve(ask("tok1x2"))
    assert (passage.doc_ids, passage.unit_ids) == (("c/session_2",), ("D2:3",))
    assert passage.text.endswith(corpus.documents[1].units[2].text)
    assert store.retrieve(ask("index")) == []


def test_a_store_of_one_layout_is_not_opened_as_the_other(tmp_path: Path) -> None:
    build_and_open(Files(), conversation(sessions=1), tmp_path)
    with pytest.raises(EnvironmentProblem, match="with other settings"):
        Files(layout="pages").open(ref(tmp_path))


def test_the_units_of_a_page_keep_their_lines(tmp_path: Path) -> None:
    text = "# Tea\n\nGreen tea\nis brewed.\n\nBlack tea is not.\n"
    units = (
        Unit(id="a", text="Green tea\nis brewed.", span=(7, 27)),
        Unit(id="b", text="Black tea is not.", span=(29, 46)),
    )
    corpus = corpus_of(Document(id="tea", title="Tea", text=text, units=units))
    store = build_and_open(Files(layout="pages", context=1), corpus, tmp_path)
    assert [passage.unit_ids for passage in store.retrieve(ask("brewed"))] == [("a",)]
    assert [passage.unit_ids for passage in store.retrieve(ask("Black"))] == [("b",)]
