from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenes import keys, page_text

from memassay.core.dossier import block
from memassay.core.tokens import NAMES, count
from memassay.knowledge.entries import Indexing, Settings
from memassay.knowledge.index import Incoming, Index
from memassay.knowledge.packing import Candidate, Packing, of_page, of_passage, of_section, pack
from memassay.knowledge.snapshot import Snapshot

LONG = "# Ada\n\nIntro words here.\n\n" + "".join(
    f"## Part {part}\n\n" + "".join(f"Sentence {line} of part {part} says a few words. " for line in range(9)) + "\n\n"
    for part in range(4)
)


TERMS = Indexing(Settings()).terms


@cache
def opened(tokens: str) -> Snapshot:
    draw = random.Random(1)
    pages = {key: page_text(draw) for key in keys()}
    pages |= {
        "ada": LONG,
        "odd": "/starts with a slash (and) ends with %%)\n\n" * 9,
        "empty": "",
        "cjk": "東京" * 300,
        "front": "---\ntitle: From the front\n---\nOnly words " * 1 + "here. " * 80,
        "spaces": "    code at the start\n\n\tmore\n\n" * 12,
    }
    index = Index.private(Settings(tokens=tokens, max_chars=150))
    index.update(sorted(pages), lambda key: Incoming(pages[key]))
    return index.snapshot


def rendered(packing: Packing) -> str:
    return "".join(block(rank, piece.text) for rank, piece in enumerate(packing.pieces, start=1))


@st.composite
def orders(draw: st.DrawFn, snapshot: Snapshot) -> list[Candidate]:
    makers = st.sampled_from([of_passage, of_section, of_page])
    found = []
    for passage in draw(st.lists(st.integers(0, snapshot.passages - 1), max_size=25)):
        make = draw(makers)
        found.append(
            make(snapshot, int(snapshot.page_of[passage]) if make is of_page else passage, seed=draw(st.booleans()))
        )
    return found


@pytest.mark.parametrize("tokens", NAMES)
@given(data=st.data())
def test_the_budget_is_kept_and_nothing_is_lost_silently(tokens: str, data: st.DataObject) -> None:
    snapshot = opened(tokens)
    candidates = data.draw(orders(snapshot))
    budget = data.draw(st.integers(0, 700))
    overflow = data.draw(st.sampled_from(["stop", "skip"]))
    heads = data.draw(st.booleans())
    scores = data.draw(st.sampled_from([None, snapshot.scores(["ada", "part", "3"])]))
    terms = data.draw(st.sampled_from([[], ["ada", "part", "3"], ["few", "garden", "river"]]))
    packing = pack(
        snapshot, candidates, budget, scores=scores, heads=heads, overflow=overflow, terms=terms, analyze=TERMS
    )

    assert count(rendered(packing), tokens) <= budget
    assert packing.tokens == count(rendered(packing), tokens)

    shown: set[int] = set()
    for piece in packing.pieces:
        page = snapshot.find(piece.key)
        stored = snapshot.stored(page)
        first, last = piece.passages
        assert piece.digest == stored.digest
        words = stored.text[slice(*piece.span)]
        assert piece.text == (f"{piece.head}\n{words}" if heads and piece.head else words)
        start, end = snapshot.span(first)[0], snapshot.span(last - 1)[1]
        assert start <= piece.span[0] < piece.span[1] <= end or not words
        assert piece.span[0] == start or (piece.clipped and terms)
        assert piece.clipped == (piece.span != (start, end))
        assert {int(snapshot.page_of[passage]) for passage in range(first, last)} == {page}
        assert not shown & set(range(first, last))
        shown |= set(range(first, last))

    for candidate in candidates:
        wanted = set(range(candidate.first, candidate.last))
        assert wanted & shown or candidate in packing.left_out
    for left in packing.left_out:
        assert not set(range(left.first, left.last)) <= shown
    if len(shown) < len({p for c in candidates for p in range(c.first, c.last)}):
        assert packing.left_out or any(piece.part for piece in packing.pieces)


@pytest.mark.parametrize("tokens", ["chars4", "o200k_base"])
@given(data=st.data())
def test_a_larger_budget_shows_all_of_a_smaller_one(tokens: str, data: st.DataObject) -> None:
    snapshot = opened(tokens)
    candidates = data.draw(orders(snapshot))
    small, more = data.draw(st.integers(0, 500)), data.draw(st.integers(0, 200))
    scores = snapshot.scores(["ada", "part", "3"])

    terms = data.draw(st.sampled_from([[], ["ada", "part", "3"], ["few", "garden", "river"]]))

    def characters(budget: int) -> set[tuple[str, int]]:
        pieces = pack(snapshot, candidates, budget, scores=scores, terms=terms, analyze=TERMS).pieces
        return {(piece.key, at) for piece in pieces for at in range(*piece.span)}

    assert characters(small) <= characters(small + more)


@pytest.mark.parametrize("tokens", NAMES)
@given(data=st.data())
def test_what_a_packing_is_short_of_changes_nothing_before_it_is_there(tokens: str, data: st.DataObject) -> None:
    snapshot = opened(tokens)
    candidates = data.draw(orders(snapshot))
    budget = data.draw(st.integers(0, 500))
    terms = data.draw(st.sampled_from([[], ["ada", "part", "3"], ["few", "garden", "river"]]))
    packing = pack(snapshot, candidates, budget, terms=terms, analyze=TERMS)
    assert (packing.short == 0) == (pack(snapshot, candidates, 1 << 40).pieces == packing.pieces)
    if packing.short:
        larger = pack(snapshot, candidates, budget + packing.short - 1, terms=terms, analyze=TERMS)
        assert larger.pieces == packing.pieces and larger.left_out == packing.left_out


def test_a_seed_that_does_not_fit_is_cut_to_its_best_passages() -> None:
    snapshot = opened("o200k_base")
    page = snapshot.find("ada")
    scores = snapshot.scores(["part", "3"])
    whole = pack(snapshot, [of_page(snapshot, page)], 10_000)
    (piece,) = whole.pieces
    assert piece.text == LONG.strip() and not piece.part and not piece.clipped
    some = pack(snapshot, [of_page(snapshot, page), of_passage(snapshot, 0)], 100, scores=scores)
    best = int(np.argmax(scores))
    assert some.pieces[0].passages == (best, best + 1) and some.pieces[0].part
    assert "Part 3" in some.pieces[0].text or "part 3" in some.pieces[0].text
    assert some.pieces[-1].clipped and some.pieces[-1].text.split()
    assert LONG[: some.pieces[-1].span[1]].endswith(some.pieces[-1].text.split()[-1])
    assert some.left_out == (of_passage(snapshot, 0),)


def test_an_excerpt_is_where_the_rare_words_of_the_question_are() -> None:
    sections = "".join(
        f"## Part {n}\n\nThis section says nothing that anybody asked for, and that at quite some length.\n\n"
        for n in range(5)
    )
    page = f"# The house\n\n{sections}- F28: no gas; open the valve behind the washing machine\n"
    index = Index.private(Settings())
    index.update(["house"], lambda key: Incoming(page))
    snapshot = index.snapshot
    assert snapshot.passages == 1 and len(page) < 650
    for budget in (18, 30, 60, 90):
        asked = {"terms": TERMS("What does F28 mean?"), "analyze": TERMS}
        (piece,) = pack(snapshot, [of_passage(snapshot, 0)], budget, **asked).pieces
        assert piece.clipped and piece.text == page[slice(*piece.span)]
        assert piece.text.endswith("F28: no gas; open the valve behind the washing machine")
        (head,) = pack(snapshot, [of_passage(snapshot, 0)], budget).pieces
        assert head.span[0] == 0 and "F28" not in head.text
    assert pack(snapshot, [of_passage(snapshot, 0)], 8, **asked).pieces == ()
    (whole,) = pack(snapshot, [of_passage(snapshot, 0)], 500, **asked).pieces
    assert whole.text == page.strip() and not whole.clipped


def test_skipping_leaves_out_what_is_no_seed() -> None:
    snapshot = opened("o200k_base")
    large, small = snapshot.find("ada"), int(snapshot.starts[snapshot.find("front")])
    order = [of_page(snapshot, large, seed=False), of_passage(snapshot, small)]
    packing = pack(snapshot, order, 60, overflow="skip")
    assert packing.left_out == (order[0],) and packing.pieces[0].key == "front"
    assert pack(snapshot, order, 0).left_out == tuple(order)
    assert pack(snapshot, order, 3).pieces == ()


def test_sections_and_heads() -> None:
    snapshot = opened("o200k_base")
    page = snapshot.find("ada")
    inside = next(
        p
        for p in range(int(snapshot.starts[page]), int(snapshot.starts[page + 1]))
        if "3 of part 2" in snapshot.text(p)
    )
    section = of_section(snapshot, inside)
    (piece,) = pack(snapshot, [section], 500, heads=True).pieces
    assert piece.text.startswith("Ada\n## Part 2\n\nSentence 0") and "part 3" not in piece.text
    (single,) = pack(snapshot, [of_passage(snapshot, inside)], 500, heads=True).pieces
    assert single.head == "Ada > Part 2" or single.head == "Ada"
    (front,) = pack(
        snapshot, [of_passage(snapshot, int(snapshot.starts[snapshot.find("front")]))], 500, heads=True
    ).pieces
    assert front.text.startswith("From the front\nOnly words")


def test_a_page_that_was_shown_in_part_is_shown_in_the_rest() -> None:
    snapshot = opened("chars4")
    page = snapshot.find("ada")
    start, end = int(snapshot.starts[page]), int(snapshot.starts[page + 1])
    packing = pack(snapshot, [of_passage(snapshot, start + 1), of_page(snapshot, page)], 10_000)
    assert [piece.passages for piece in packing.pieces] == [
        (start + 1, start + 2),
        (start, start + 1),
        (start + 2, end),
    ]
    assert pack(snapshot, [of_page(snapshot, page), of_passage(snapshot, start)], 10_000).pieces[0].passages == (
        start,
        end,
    )
