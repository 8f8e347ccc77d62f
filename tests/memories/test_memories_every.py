"""What holds for each of the embedded memories."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memories_corpora import MEMORIES, ask, build_and_open, conversation, corpus_of, ref

from memassay.core.contracts import BuildContext, Retrieves
from memassay.core.digest import digest_folder, digest_of
from memassay.core.errors import EnvironmentProblem, UsageError
from memassay.core.registry import memories
from memassay.core.types import Document, Passage, Unit

HOSTILE_IDS = (
    "../../etc/passwd",
    "..",
    ".",
    "/absolute/path",
    "a/note.md",
    "b/note.md",
    "a_note.md",
    "A_NOTE.MD",
    "nul\x00byte",
    "CON",
    "con.txt",
    "x" * 5000,
    "x" * 5001,
    "Ünïcödé/日本語",
    "日本語",
    "日本国",
    "new\nline\ttab",
    "trailing. ",
    " ",
    "-rf",
    "\N{BOM}bidi\u202e",
)


def test_it_is_registered(name: str) -> None:
    assert memories.get(name) is MEMORIES[name]


def test_an_empty_corpus_makes_an_empty_store(memory: Any, tmp_path: Path) -> None:
    assert memory.build(corpus_of(), tmp_path, BuildContext())["passages"] == 0
    store = memory.open(ref(tmp_path))
    assert isinstance(store, Retrieves)
    assert store.retrieve(ask("What did Ann sell?")) == []


def test_a_document_without_words_is_no_passage(memory: Any, tmp_path: Path) -> None:
    silent = Document(id="b", text="", units=(Unit(id="u", text="", speaker="Ann"),))
    store = build_and_open(memory, corpus_of(Document(id="a", text=" \n \n"), silent), tmp_path)
    assert store.retrieve(ask("Ann something")) == []


def test_every_turn_can_be_found_and_is_claimed_honestly(memory: Any, tmp_path: Path) -> None:
    corpus = conversation()
    texts = {unit.id: unit.text for document in corpus.documents for unit in document.units}
    owner = {unit.id: document.id for document in corpus.documents for unit in document.units}
    store = build_and_open(memory, corpus, tmp_path)
    for unit, text in texts.items():
        passages = store.retrieve(ask(text, budget=100_000))
        assert any(unit in p.unit_ids for p in passages)
        for p in passages:
            assert all(texts[claimed] in p.text for claimed in p.unit_ids)
            assert {owner[claimed] for claimed in p.unit_ids} <= set(p.doc_ids)


def test_passages_are_numbered_dated_and_verbatim(memory: Any, tmp_path: Path) -> None:
    dates = {document.id: document.date for document in conversation().documents}
    passages = build_and_open(memory, conversation(), tmp_path).retrieve(ask("Who painted the violin?"))
    assert [p.rank for p in passages] == list(range(1, len(passages) + 1))
    for p in passages:
        assert p.kind == "verbatim"
        assert p.native_id
        assert p.valid_from == dates[p.doc_ids[0]]
        assert p.valid_from is not None
        assert p.text.count(p.valid_from[:10]) == 1


QUESTIONS = ("Who painted the violin?", "harbour", "tok3x7 and tok1x1", "", "the of what", "Ann Bob Ann", "zzz", "?!")


@pytest.mark.parametrize("question", QUESTIONS)
def test_no_unit_stands_twice_in_a_dossier(memory: Any, tmp_path: Path, question: str) -> None:
    corpus = conversation()
    passages = build_and_open(memory, corpus, tmp_path).retrieve(ask(question, budget=100_000))
    claimed = Counter(unit for p in passages for unit in p.unit_ids)
    assert set(claimed.values()) <= {1}
    dossier = "\n".join(p.text for p in passages)
    assert all(dossier.count(unit.text) <= 1 for document in corpus.documents for unit in document.units)


def test_it_stops_at_the_budget_and_at_the_limit(memory: Any, tmp_path: Path) -> None:
    store = build_and_open(memory, conversation(20, 30), tmp_path)
    question = "Who painted the violin and sold the kettle with Ann or Bob?"
    everything = store.retrieve(ask(question, budget=10**9))
    for budget in (10, 200, 1000):
        passages = store.retrieve(ask(question, budget=budget))
        chars = [len(p.text) for p in passages]
        assert sum(chars) > 8 * budget >= sum(chars[:-1])
        assert passages == everything[: len(passages)]
    for limit in (0, 1, 3):
        assert store.retrieve(ask(question, limit=limit)) == everything[:limit]


def test_two_builds_are_equal_byte_for_byte_and_asking_changes_nothing(name: str, tmp_path: Path) -> None:
    places = [tmp_path / "one", tmp_path / "two words é"]
    stores = [build_and_open(MEMORIES[name](), conversation(), place) for place in places]
    digests = [digest_folder(place) for place in places]
    assert digests[0] == digests[1]
    answers = [[p.model_dump() for q in QUESTIONS for p in store.retrieve(ask(q))] for store in stores]
    assert answers[0] == answers[1]
    assert [digest_folder(place) for place in places] == digests


SCRIPT = """
import sys, pathlib
sys.path.insert(0, sys.argv[1])
from memories_corpora import MEMORIES, ask, build_and_open, conversation
from memassay.core.digest import digest_folder, digest_of
for name in sorted(MEMORIES):
    place = pathlib.Path(sys.argv[2]) / name
    store = build_and_open(MEMORIES[name](), conversation(), place)
    asked = ["Who painted the violin?", "harbour", "Ann Bob", ""]
    print(name, digest_folder(place), digest_of([p for q in asked for p in store.retrieve(ask(q))]))
"""


def test_processes_with_other_hash_seeds_and_locales_agree(tmp_path: Path) -> None:
    printed = set()
    for seed, locale in (("0", "C.UTF-8"), ("1", "C"), ("4242", "POSIX")):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": locale}
        arguments = [sys.executable, "-c", SCRIPT, str(Path(__file__).parent), str(tmp_path / seed)]
        printed.add(subprocess.run(arguments, env=environment, check=True, capture_output=True, text=True).stdout)
    assert len(printed) == 1
    assert len(printed.pop().splitlines()) == len(MEMORIES)


def test_hostile_ids(memory: Any, tmp_path: Path) -> None:
    place = tmp_path / "outer" / "store"
    documents = [Document(id=name, text=f"Only here stands secret{n}xyz.") for n, name in enumerate(HOSTILE_IDS)]
    store = build_and_open(memory, corpus_of(*documents), place)
    for number, document in enumerate(documents):
        passages = store.retrieve(ask(f"secret{number}xyz", budget=100_000))
        assert any(p.doc_ids == (document.id,) and document.text in p.text for p in passages)
    assert [path.name for path in (tmp_path / "outer").iterdir()] == ["store"]
    assert [path.name for path in tmp_path.iterdir()] == ["outer"]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Она купила синий велосипед.", "ВЕЛОСИПЕД"),
        ("昨日は京都で抹茶を飲みました。", "抹茶は?"),
        ("Das Café an der Straße", "STRASSE"),
        ("Cafe\u0301 au lait", "café"),
        ("party 🎉 with \N{ZERO WIDTH JOINER} emoji", "party"),
        ("line one\u2028line two violin", "violin"),
        ("left\x00right nul", "nul"),
        ("שלום עולם", "עולם"),
        ("broken \ud800 surrogate", "surrogate"),
    ],
)
def test_unicode(memory: Any, tmp_path: Path, text: str, question: str) -> None:
    other = Document(id="other", text="nothing to see")
    plain = build_and_open(memory, corpus_of(other, Document(id="d", text=text)), tmp_path / "text")
    units = (Unit(id="u", text=text, speaker="Zoë"),)
    spoken = build_and_open(memory, corpus_of(other, Document(id="d", text="", units=units)), tmp_path / "units")
    for store in (plain, spoken):
        found = next(p for p in store.retrieve(ask(question)) if p.doc_ids == ("d",))
        # Half of a surrogate pair is a question mark in a file of Markdown, as it is in every record of a run.
        assert text in found.text or text.encode("utf-8", "replace").decode() in found.text


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(st.text(max_size=30), max_size=4), max_size=4),
    st.text(max_size=40),
    st.integers(0, 50),
)
def test_any_corpus_and_any_question(
    name: str, tmp_path_factory: pytest.TempPathFactory, turns: list[list[str]], question: str, budget: int
) -> None:
    corpus = corpus_of(
        *(
            Document(id=f"d{d}", text="\n\n".join(texts), units=_units(d, texts) if d % 2 else ())
            for d, texts in enumerate(turns)
        )
    )
    passages: list[Passage] = build_and_open(MEMORIES[name](), corpus, tmp_path_factory.mktemp("any")).retrieve(
        ask(question, budget=budget)
    )
    assert all(p.text.strip() for p in passages)
    assert max(Counter(unit for p in passages for unit in p.unit_ids).values(), default=1) == 1
    for p in passages:
        assert all(unit.text in p.text for d in corpus.documents for unit in d.units if unit.id in p.unit_ids)


def _units(document: int, texts: list[str]) -> tuple[Unit, ...]:
    return tuple(Unit(id=f"{document}:{n}", text=text, speaker="S" if n % 2 else "") for n, text in enumerate(texts))


def test_five_megabytes(memory: Any, tmp_path: Path) -> None:
    filler = "The quick brown fox jumps over the lazy dog near the river bank. "
    text = filler * 40_000 + "The needle is a heliotrope.\n\n" + (filler + "\n") * 40_000
    assert len(text) > 5_000_000
    one_line = Document(id="unbroken", text="y" * 300_000 + " heliotropes " + "z" * 300_000)
    store = build_and_open(memory, corpus_of(Document(id="big", text=text), one_line), tmp_path)
    passages = store.retrieve(ask("heliotrope", budget=2_000_000))
    assert any("The needle is a heliotrope." in p.text for p in passages)
    assert any("heliotropes" in p.text for p in passages)


def test_eight_threads_get_what_one_gets(memory: Any, tmp_path: Path) -> None:
    store = build_and_open(memory, conversation(), tmp_path)
    asked = [f"Who painted the violin tok{n % 6}x{n % 23}?" for n in range(160)]
    expected = [digest_of(store.retrieve(ask(question))) for question in asked]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda question: digest_of(store.retrieve(ask(question))), asked)) == expected


def test_reopening_gives_the_same(name: str, tmp_path: Path) -> None:
    first = build_and_open(MEMORIES[name](), conversation(), tmp_path)
    again = MEMORIES[name]().open(ref(tmp_path))
    assert again.retrieve(ask("violin kettle")) == first.retrieve(ask("violin kettle")) != []


def test_a_store_that_moved_opens(name: str, tmp_path: Path) -> None:
    expected = build_and_open(MEMORIES[name](), conversation(), tmp_path / "a").retrieve(ask("violin"))
    (tmp_path / "a").rename(tmp_path / "b")
    assert MEMORIES[name]().open(ref(tmp_path / "b")).retrieve(ask("violin")) == expected


def test_a_read_only_store_opens(name: str, tmp_path: Path) -> None:
    expected = build_and_open(MEMORIES[name](), conversation(), tmp_path / "a").retrieve(ask("violin"))
    for path in [tmp_path / "a", *(tmp_path / "a").rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    assert MEMORIES[name]().open(ref(tmp_path / "a")).retrieve(ask("violin")) == expected
    for path in [tmp_path / "a", *(tmp_path / "a").rglob("*")]:
        path.chmod(0o755)


def test_a_damaged_store_is_one_clear_error(name: str, tmp_path: Path) -> None:
    build_and_open(MEMORIES[name](), conversation(), tmp_path)
    files = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    assert len(files) >= 2
    for path in files:
        whole = path.read_bytes()
        for broken in (whole[: len(whole) // 2], b"", None):
            path.unlink() if broken is None else path.write_bytes(broken)
            with pytest.raises(EnvironmentProblem, match=r"^The store in .* delete it and build again\.$"):
                MEMORIES[name]().open(ref(tmp_path))
        path.write_bytes(whole)
    MEMORIES[name]().open(ref(tmp_path))


def test_garbage_of_the_right_size_is_one_clear_error(name: str, tmp_path: Path) -> None:
    build_and_open(MEMORIES[name](), conversation(), tmp_path)
    target = tmp_path / ("index.json" if name == "files" else "documents.jsonl")
    target.write_bytes(b"\xff" * target.stat().st_size)
    with pytest.raises(EnvironmentProblem, match="delete it and build again"):
        MEMORIES[name]().open(ref(tmp_path))


def test_a_store_of_another_memory_is_refused(name: str, tmp_path: Path) -> None:
    build_and_open(MEMORIES[name](), conversation(), tmp_path)
    other = next(known for known in sorted(MEMORIES) if known != name)
    with pytest.raises(EnvironmentProblem, match=f"built by {name}"):
        MEMORIES[other]().open(ref(tmp_path))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("files", {"context": -1}),
        ("files", {"context": "2"}),
        ("files", {"line_chars": 0}),
        ("full-context", {"order": "random"}),
        ("full-context", {"dates": None}),
        ("lexical", {"unit": "windows"}),
        ("lexical", {"window": 0}),
        ("lexical", {"window": True}),
        ("lexical", {"window": 2.5}),
        ("lexical", {"stride": 0}),
        ("lexical", {"k1": -0.1}),
        ("lexical", {"k1": float("nan")}),
        ("lexical", {"b": 1.1}),
        ("lexical", {"b": "0.5"}),
        ("lexical", {"stemmer": "porter"}),
        ("lexical", {"stop_words": ["the"]}),
        ("lexical", {"dates": "days"}),
        ("lexical", {"index_dates": 1}),
        ("lexical", {"fill": "random"}),
        ("markdown", {"seeds": -1}),
        ("markdown", {"depth": 1.5}),
        ("markdown", {"link": 1.01}),
        ("markdown", {"mentions": "yes"}),
        ("markdown", {"anchor": -1}),
        ("markdown", {"novelty": float("nan")}),
        ("markdown", {"whole": "all"}),
        ("markdown", {"max_chars": 99}),
        ("markdown", {"title_weight": True}),
        ("markdown", {"stemmer": None}),
        ("markdown", {"stop_words": "english"}),
        ("markdown", {"dates": False}),
    ],
)
def test_a_wrong_setting_is_one_sentence_that_names_it(name: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        MEMORIES[name](**wrong)
    message = str(caught.value)
    (setting,) = wrong
    assert message.startswith(f"Setting {setting} ")
    assert message.endswith((".", "?")) and "\n" not in message


def test_the_page_lists_every_setting_with_its_default(name: str) -> None:
    page = Path(__file__).parents[2] / "docs" / "memories" / f"{name}.md"
    table = page.read_text(encoding="utf-8").partition("## Settings")[2].partition("\n#")[0]
    listed = re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", table, re.MULTILINE)
    parameters = inspect.signature(MEMORIES[name]).parameters.values()
    wanted = [(p.name, p.default if isinstance(p.default, str) else json.dumps(p.default)) for p in parameters]
    assert listed == wanted
