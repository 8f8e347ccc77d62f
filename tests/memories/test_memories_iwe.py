"""The memory ``iwe`` against the real program; what needs none of it comes last."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from memories_corpora import ask, build_and_open, conversation, corpus_of, ref

from memassay.core.contracts import BuildContext, Folder, Retrieves, Serves
from memassay.core.digest import digest_folder
from memassay.core.errors import CannotMeasure, EnvironmentProblem, MemoryFailure, UsageError
from memassay.core.types import Document, Unit
from memassay.memories.iwe import program
from memassay.memories.iwe.anchors import anchors
from memassay.memories.iwe.memory import Iwe
from memassay.memories.iwe.program import Page
from memassay.memories.iwe.store import Asking, IweStore
from memassay.memories.sessions import session_pages
from peer_programs import use_peer

TEA = Document(id="tea", title="Tea", text="# Tea\n\nGreen tea comes from [China](china.md).\n")
CHINA = Document(id="china", title="China", text="# China\n\nA country with porcelain.\n")
TRADE = Document(id="trade", title="Trade", text="# Trade\n\nShips carried [tea](tea.md) to Lisbon.\n")


@pytest.fixture
def iwe(monkeypatch: pytest.MonkeyPatch) -> Path:
    return use_peer("iwe", monkeypatch)


# -- with the real program -----------------------------------------------------------------------------------------


@pytest.mark.peer
@pytest.mark.usefixtures("iwe")
def test_iwe_gives_the_session_and_the_index_that_includes_it(tmp_path: Path) -> None:
    corpus = conversation()
    store = build_and_open(Iwe(), corpus, tmp_path)
    assert isinstance(store, Retrieves) and isinstance(store, Serves) and isinstance(store, Folder)
    first, index, *_ = store.retrieve(ask("tok3x7"))
    assert (first.native_id, first.doc_ids, first.valid_from) == (
        "sessions/session-04",
        ("c/session_4",),
        "2023-04-08T13:56",
    )
    assert first.text.startswith("# Session 4 — 1:56 pm on 8 April 2023\n\nAnn: I ")
    assert (index.native_id, index.doc_ids) == ("index", ())
    assert index.text.startswith("# Ann and Bob\n\n[Session 1 — 1:56 pm on 8 January 2023](sessions/session-01)")


@pytest.mark.peer
@pytest.mark.usefixtures("iwe")
def test_iwe_claims_only_units_whose_words_it_shows(tmp_path: Path) -> None:
    corpus = conversation(sessions=2)
    texts = {unit.id: unit.text for document in corpus.documents for unit in document.units}
    odd = Document(id="odd", text="", units=(
        Unit(id="star", speaker="Ann", text="Five * three is not * fifteen."),
        Unit(id="plain", speaker="Ann", text="A kettle sings."),
    ))  # fmt: skip
    texts |= {unit.id: unit.text for unit in odd.units}
    store = build_and_open(Iwe(), corpus_of(*corpus.documents, odd), tmp_path)
    passages = store.retrieve(ask("kettle tok0x1 tok1x1"))
    claimed = {unit for passage in passages for unit in passage.unit_ids}
    assert {"plain", "D1:2", "D2:2"} <= claimed
    for passage in passages:
        assert all(texts[unit] in passage.text for unit in passage.unit_ids)


@pytest.mark.peer
@pytest.mark.usefixtures("iwe")
def test_iwe_interleaves_what_a_page_leads_to_and_follows_links_inwards_if_asked(tmp_path: Path) -> None:
    corpus = corpus_of(CHINA, TEA, TRADE)
    for inbound, keys in ((False, ["tea", "china"]), (True, ["tea", "china", "trade"])):
        place = tmp_path / str(inbound)
        place.mkdir()
        store = build_and_open(Iwe(seeds=1, inbound=inbound), corpus, place)
        passages = store.retrieve(ask("green"))
        assert [passage.native_id for passage in passages] == keys
        assert [passage.doc_ids for passage in passages] == [(key,) for key in keys]


@pytest.mark.peer
@pytest.mark.usefixtures("iwe")
def test_iwe_keeps_to_the_contract_of_the_study(tmp_path: Path) -> None:
    """What a change of the pinned version must not change; a newer iwe that fails here is another memory."""
    texts = {
        "one": "# One\n\nA walnut, a walnut and [x](x.md), which [nobody](gone.md) wrote.\n",
        "two": "# Two\n\nOne walnut beside [y](y.md), among many other things that are said here at length.\n",
        "x": "# X\n\nA page.\n",
        "y": "# Y\n\nA page.\n",
        "walnut": "# Walnut\n\nA tree.\n",
    }
    corpus = corpus_of(*(Document(id=key, text=text) for key, text in texts.items()))
    store = build_and_open(Iwe(seeds=3), corpus, tmp_path)
    keys = [page.key for page in program.retrieve(store.folder(), "walnut", limit=3, max_tokens=9999, inbound=False)]
    # The title counts twice; what a seed leads to comes right behind it; a link to nothing is an empty page.
    assert keys == ["walnut", "one", "gone", "x", "two", "y"]
    assert [passage.native_id for passage in store.retrieve(ask("walnut"))] == ["walnut", "one", "x", "two", "y"]
    # Lists of links that nobody is shown take from the budget.
    hub = Document(id="hub", text="# Hub\n\nA harbour.\n")
    around = [Document(id=f"p{n}", text=f"# A title of many words, number {n}\n\n[hub](hub.md)\n") for n in range(20)]
    place = tmp_path / "hub"
    place.mkdir()
    pages = build_and_open(
        Iwe(), corpus_of(hub, Document(id="pier", text="# Pier\n\nharbour\n"), *around), place
    ).folder()
    for budget, keys in ((60, 1), (900, 2)):
        found = program.retrieve(pages, "harbour", limit=2, max_tokens=budget, inbound=False)
        assert len([page for page in found if page.key in ("hub", "pier")]) == keys, found


@pytest.mark.peer
@pytest.mark.usefixtures("iwe")
def test_iwe_is_deterministic_read_only_and_reopens(tmp_path: Path) -> None:
    corpus = conversation(sessions=3)
    places = [tmp_path / "one", tmp_path / "two"]
    stores = []
    for place in places:
        place.mkdir()
        stores.append(build_and_open(Iwe(), corpus, place))
    before = digest_folder(places[0])
    assert before == digest_folder(places[1])
    assert stores[0].retrieve(ask("the harbour")) == stores[1].retrieve(ask("the harbour")) != []
    assert Iwe(seeds=1).open(ref(places[0])).retrieve(ask("the harbour")) != []
    assert digest_folder(places[0]) == before


@pytest.mark.peer
@pytest.mark.usefixtures("iwe")
@pytest.mark.parametrize(
    "words", ["--limit", "", "the of", "-k a", "a\0b", "\ud800", "x" * 300_000, "日本 'quotes' \"and\""]
)
def test_iwe_takes_any_question(tmp_path: Path, words: str) -> None:
    store = build_and_open(Iwe(), corpus_of(TEA, CHINA), tmp_path)
    assert store.retrieve(ask(words)) == []


@pytest.mark.peer
@pytest.mark.usefixtures("iwe")
def test_iwe_limits(tmp_path: Path) -> None:
    corpus = conversation()
    store = build_and_open(Iwe(), corpus, tmp_path)
    everything = store.retrieve(ask("harbour violin glacier"))
    assert len(everything) == 6  # five sessions and the index
    assert store.retrieve(ask("harbour violin glacier", limit=2)) == everything[:2]
    size = len(everything[0].text.encode())
    narrow = Iwe(max_bytes=size + 6 + len(everything[1].text.encode())).open(ref(tmp_path))
    assert narrow.retrieve(ask("harbour violin glacier")) == everything[:1]
    wide = Iwe(max_bytes=size + 7 + len(everything[1].text.encode())).open(ref(tmp_path))
    assert wide.retrieve(ask("harbour violin glacier")) == everything[:2]
    tokens = Iwe(max_tokens=1).open(ref(tmp_path))
    assert tokens.retrieve(ask("harbour violin glacier")) == everything[:1]  # iwe always keeps the first


@pytest.mark.peer
@pytest.mark.usefixtures("iwe")
def test_iwe_looks_up_what_the_question_names_first(tmp_path: Path) -> None:
    pages = [Document(id=f"p{n}", text=f"# Page {n}\n\nThe green country number {n}.\n") for n in range(8)]
    named = Document(id="ed-wood", text="# Ed Wood\n\nA director.\n")
    store = build_and_open(Iwe(seeds=3, anchors=True), corpus_of(*pages, named), tmp_path)
    found = [passage.native_id for passage in store.retrieve(ask('Which green country did "Ed Wood" like?'))]
    assert found[0] == "ed-wood" and len(found) == 3 == len(set(found))


@pytest.mark.peer
@pytest.mark.usefixtures("iwe")
def test_iwe_an_empty_corpus_makes_an_empty_store(tmp_path: Path) -> None:
    memory = Iwe()
    assert memory.build(corpus_of(), tmp_path, BuildContext())["passages"] == 0
    assert memory.open(ref(tmp_path)).retrieve(ask("anything")) == []


@pytest.mark.peer
@pytest.mark.usefixtures("iwe")
def test_iwe_pages_that_are_ignored_above_the_store_are_not_lost_silently(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.md\n", encoding="utf-8")
    place = tmp_path / "store"
    place.mkdir()
    with pytest.raises(MemoryFailure, match=r"iwe sees 0 of 2 pages; a \.gitignore above the stores"):
        Iwe().build(corpus_of(TEA, CHINA), place, BuildContext())


@pytest.mark.peer
@pytest.mark.usefixtures("iwe")
def test_iwe_another_version_is_another_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_and_open(Iwe(), corpus_of(TEA), tmp_path)
    monkeypatch.setattr(program, "version", lambda name: "9.9.9")
    with pytest.raises(EnvironmentProblem, match="with other settings; delete it and build again"):
        Iwe().open(ref(tmp_path))


@pytest.mark.peer
def test_iwec_offers_an_agent_the_tools_that_read(iwe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    from memassay.agents.toolbox import open_toolbox

    use_peer("iwec", monkeypatch)
    store = build_and_open(Iwe(query=True), corpus_of(TEA, CHINA, TRADE), tmp_path)
    before = digest_folder(tmp_path)

    async def use() -> None:
        async with open_toolbox(store.toolset()) as box:
            names = ["iwe_find", "iwe_retrieve", "iwe_tree", "iwe_squash", "iwe_stats", "iwe_query"]
            assert [tool.name for tool in box.tools] == names
            found = await box.call("iwe_find", {"lexical": "porcelain"})
            assert [row["key"] for row in json.loads(found.text)] == ["china"]
            refused = await box.call("iwe_squash", {})
            assert refused.is_error and refused.text
            unknown = await box.call("iwe_delete", {"key": "china"})
            assert unknown.is_error and unknown.text.startswith("There is no tool 'iwe_delete'.")

    asyncio.run(use())
    assert digest_folder(tmp_path) == before
    [server] = store.toolset().servers
    assert server.writes and server.name == "iwe" and server.cwd == str(tmp_path / "pages")


# -- without it ----------------------------------------------------------------------------------------------------


def test_without_the_program_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMASSAY_PEERS", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("IWE_BIN", raising=False)
    with pytest.raises(
        CannotMeasure, match=r"iwe is not installed; run: make peers \(it needs cargo\), or set IWE_BIN"
    ):
        Iwe()


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in the place of iwe, which answers what the file ``reply`` holds."""
    path = tmp_path / "stand-in"
    path.write_text(
        f"#!/bin/sh\nenv > {tmp_path}/env\ncat {tmp_path}/reply\nexit $(cat {tmp_path}/code)\n", encoding="utf-8"
    )
    path.chmod(0o755)
    (tmp_path / "code").write_text("0", encoding="utf-8")
    monkeypatch.setenv("IWE_BIN", str(path))
    return tmp_path


def test_a_reply_that_cannot_be_read_is_the_memorys_failure(stand_in: Path) -> None:
    (stand_in / "reply").write_text('[{"key": "a"}]', encoding="utf-8")
    with pytest.raises(MemoryFailure, match="the reply of iwe retrieve cannot be read"):
        program.retrieve(stand_in, "x", limit=1, max_tokens=1, inbound=False)
    (stand_in / "code").write_text("3", encoding="utf-8")
    with pytest.raises(MemoryFailure, match="stand-in ended with 3 and said: nothing"):
        program.retrieve(stand_in, "x", limit=1, max_tokens=1, inbound=False)
    (stand_in / "code").write_text("0", encoding="utf-8")
    (stand_in / "reply").write_text("many", encoding="utf-8")
    with pytest.raises(MemoryFailure, match="iwe count said 'many' and no number"):
        program.count(stand_in)


def test_the_child_sees_nothing_of_ours(stand_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "dummy-local")
    (stand_in / "reply").write_text("7\n", encoding="utf-8")
    assert program.count(stand_in) == 7
    seen = {line.partition("=")[0] for line in (stand_in / "env").read_text(encoding="utf-8").splitlines()}
    assert seen <= {"PATH", "TMPDIR", "LANG", "HOME", "PWD", "OLDPWD", "SHLVL", "_"}


def test_pages_without_words_and_repetitions_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reply = [Page("a", "# A\n"), Page("gone", ""), Page("a", "# A\n"), Page("b", "# B\n")]
    monkeypatch.setattr(program, "retrieve", lambda *given, **more: reply)
    passages = IweStore(tmp_path, {}, Asking(5, False, False, 100, 100)).retrieve(ask("x"))
    assert [(passage.rank, passage.native_id, passage.text) for passage in passages] == [
        (1, "a", "# A\n"),
        (2, "b", "# B\n"),
    ]


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Were Scott Derrickson and Ed Wood of the same nationality?", ["Scott Derrickson", "Ed Wood"]),
        ('When did AC/DC play "Back in Black" in 1985?', ["Back in Black", "AC/DC", "1985"]),
        ("Who lives in Oslo?", []),  # one plain name says too little
        ("Does McDonald or the LGBTQ Support Group meet?", ["McDonald", "LGBTQ Support Group"]),
        ('"ab" “abc” "abc"', ["abc"]),
        ("A1 x B2 x C3 x D4 x E5", ["A1", "B2", "C3", "D4"]),
        ("One Two Three Four Five Six Seven", []),  # no name, but shouting
        ("", []),
    ],
)  # fmt: skip
def test_what_a_question_names(question: str, found: list[str]) -> None:
    assert anchors(question) == found


def test_a_conversation_becomes_sessions_and_an_index_and_units_stand_where_they_are_said_to(tmp_path: Path) -> None:
    corpus = conversation(sessions=12, turns=8)
    made = list(session_pages(corpus))
    assert [written.key for written, _ in made] == [f"sessions/session-{n:02}" for n in range(1, 13)] + ["index"]
    units = {unit.id: unit for document in corpus.documents for unit in document.units}
    for written, text in made:
        for unit, start, end in written.units:
            assert text[start:end].startswith(f"{units[unit].speaker}: {units[unit].text}")
    assert "[a photo of a " in made[0][1]
    assert made[-1][1].count("\n\n[Session ") == 12


def test_other_documents_are_pages_of_their_own() -> None:
    assert [(written.key, written.id) for written, _ in session_pages(corpus_of(TEA, CHINA))] == [
        ("tea", "tea"),
        ("china", "china"),
    ]
    assert list(session_pages(corpus_of())) == []
    mixed = [written.key for written, _ in session_pages(corpus_of(*conversation(sessions=1).documents, TEA))]
    assert mixed == ["c/session_1", "tea"]


@pytest.mark.parametrize(("name", "value"), [("seeds", 0), ("inbound", "yes"), ("max_tokens", 0), ("max_bytes", -1)])
def test_a_setting_that_cannot_be_is_said(name: str, value: object) -> None:
    with pytest.raises(UsageError, match=f"Setting {name} must be"):
        Iwe(**{name: value})  # type: ignore[arg-type]
