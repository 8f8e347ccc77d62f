"""What is packed for a question: exact, within its budget, from where it says, nothing starved without a word."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from knowledge_kit import tokens, write

from kit import Cli
from memassay.core.dossier import block
from memassay.knowledge.packing import of_page, of_passage, of_section, pack
from memassay.knowledge.store import KnowledgeStore


def library() -> dict[str, str | bytes]:
    """Forty pages of many sizes and scripts that link to each other."""
    draw = random.Random(3)
    words = ["boiler", "valve", "harbour", "lantern", "copper", "river", "market", "saddle", "winter",
        "orchard", "漢字", "Größe", "naïve", "🙂", "x=1", "U.S.", "don't"]  # fmt: skip
    pages: dict[str, str | bytes] = {}
    for n in range(40):
        parts = [f"# Page {n} {draw.choice(words)}", ""]
        for section in range(draw.choice((0, 1, 1, 3))):
            parts += [f"{'#' * draw.randint(2, 4)} Part {section} [link](p{draw.randrange(45)}.md)", ""]
            for _ in range(draw.randint(1, 6)):
                parts += [" ".join(draw.choices(words, k=draw.choice((1, 5, 30, 260)))), ""]
            parts += [f"- item {i} {draw.choice(words)}" for i in range(draw.randint(0, 9))]
            parts += ["", "```", "code " * draw.randint(0, 80), "```", ""]
        pages[f"p{n}" if n % 3 else f"deep/er/p{n}"] = "\n".join(parts)
    pages["long"] = "# Long\n\n" + "boiler" * 900 + "\n\n" + "漢" * 3000 + "\n\n" + "🙂" * 700
    pages["crlf"] = "# Ends\r\n\r\nboiler and valve\r\n" * 30
    return pages


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeStore]:
    with KnowledgeStore.open(write(tmp_path_factory.mktemp("shelf"), library()), writable=True) as store:
        yield store


BUDGETS = st.one_of(st.integers(0, 40), st.integers(0, 3000), st.integers(0, 60000))
QUESTIONS = st.sampled_from(
    ["boiler", "valve river", "copper 漢字", "Page 7", "saddle winter orchard naïve", "🙂 code", ""]
)


def check_packing(store: KnowledgeStore, packing: Any, budget: int, heads: bool) -> None:
    """What is true of whatever was packed: exact, within the budget, from where it says, nothing twice."""
    rendered = "".join(block(n, piece.text) for n, piece in enumerate(packing.pieces, 1))
    assert tokens(rendered) == packing.tokens
    assert packing.tokens <= budget
    shown: list[int] = []
    for piece in packing.pieces:
        text = store.library.page(piece.key).text  # type: ignore[union-attr]
        start, end = piece.span
        assert text[start:end].strip()
        assert piece.text.endswith(text[start:end]), "the words stand elsewhere"
        assert piece.text.removesuffix(text[start:end]).strip() == (piece.head.strip() if heads else "")
        assert hashlib.sha256(text.encode()).hexdigest().startswith(piece.digest)
        shown += range(*piece.passages)
    assert len(set(shown)) == len(shown), "a passage is shown twice"


@settings(max_examples=120)
@given(
    QUESTIONS, BUDGETS, st.sampled_from(["passage", "section", "page"]), st.booleans(),
    st.sampled_from(["stop", "skip"]), st.one_of(st.none(), st.integers(1, 30)),
)  # fmt: skip
def test_a_search_never_exceeds_its_budget_and_says_what_it_left_out(
    shelf: KnowledgeStore, question: str, budget: int, grain: Any, heads: bool, overflow: Any, limit: int | None
) -> None:
    options: dict[str, Any] = {"grain": grain, "heads": heads, "overflow": overflow, "limit": limit}
    packing = shelf.search(question, max_tokens=budget, **options)
    check_packing(shelf, packing, budget, heads)
    everything = shelf.search(question, **options)
    assert not everything.left_out
    assert not any(piece.clipped or piece.part for piece in everything.pieces)
    if everything.tokens <= budget:
        assert packing.pieces == everything.pieces
    else:
        cut = any(piece.clipped or piece.part for piece in packing.pieces)
        assert packing.left_out or cut, "something is missing and nothing says so"
    if everything.pieces and budget >= 60:
        assert packing.pieces, "the best passage is not even cut to what fits"
        assert packing.pieces[0].key == everything.pieces[0].key
    shown = {n for piece in packing.pieces for n in range(*piece.passages)}
    for candidate in packing.left_out:
        assert not set(range(candidate.first, candidate.last)) <= shown, "left out, and shown"


@settings(max_examples=120)
@given(st.data(), BUDGETS, st.booleans(), st.sampled_from(["stop", "skip"]))
def test_no_seed_is_starved_silently(
    shelf: KnowledgeStore, data: st.DataObject, budget: int, heads: bool, overflow: Any
) -> None:
    snapshot = shelf.snapshot
    everything = pack(snapshot, [of_page(snapshot, n) for n in range(len(snapshot.keys()))], 10**9)
    total = max(piece.passages[1] for piece in everything.pieces)
    candidates = []
    for make, place, seed in data.draw(
        st.lists(
            st.tuples(st.sampled_from([of_passage, of_section, of_page]), st.integers(0, 10**6), st.booleans()),
            max_size=12,
        )
    ):
        size = len(snapshot.keys()) if make is of_page else total
        candidates.append(make(snapshot, place % size, seed=seed))
    packing = pack(snapshot, candidates, budget, heads=heads, overflow=overflow)
    check_packing(shelf, packing, budget, heads)
    shown = {n for piece in packing.pieces for n in range(*piece.passages)}
    missed = {n for c in packing.left_out for n in range(c.first, c.last)}
    flagged = [piece for piece in packing.pieces if piece.part]
    for candidate in candidates:
        wanted = set(range(candidate.first, candidate.last))
        told = any(set(range(*piece.passages)) & wanted for piece in flagged)
        assert wanted <= shown or wanted & missed or told, (candidate, "vanished without a word")
    larger = pack(snapshot, candidates, budget + 50, heads=heads, overflow=overflow)
    if overflow == "stop":
        more = {n for piece in larger.pieces for n in range(*piece.passages)}
        assert shown <= more, "a larger budget shows less"


def test_every_piece_counts_and_the_command_keeps_to_the_budget(cli: Cli, workplace: Path) -> None:
    write(workplace / "notes", library())
    for budget in (1, 20, 50, 200, 777, 3000):
        ran = cli("store", "search", "boiler valve river", "--dir", "notes", "--max-tokens", str(budget), "--json")
        assert ran.code == 0, ran.err
        compact = json.dumps(ran.json, ensure_ascii=False, separators=(",", ":"))
        assert tokens(compact) <= budget or ran.json == []
        assert ran.json or budget < 100, "even the best passage was starved"
        assert ran.err.strip(), "something was left out and nothing says so"
    ran = cli("store", "retrieve", "--search", "boiler", "--max-tokens", "600", "--dir", "notes", "--json")
    assert ran.json
