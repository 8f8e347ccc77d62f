from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_core_tokens import TEXT

from memassay.core.dossier import Rendering, block, dossier_of, rendering, trimmed
from memassay.core.tokens import tokenizer
from memassay.core.types import Passage
from memassay.core.wording import normalise

TOKENIZERS = ("o200k_base", "cl100k_base", "chars4")
PASSAGES = st.lists(TEXT, max_size=7).map(lambda texts: [Passage(text=t) for t in texts])


def test_words_are_kept_in_order_and_ranked() -> None:
    dossier = dossier_of([Passage(text="b", rank=9), Passage(text=" \n"), Passage(text=""), Passage(text="a")])
    assert [(p.text, p.rank) for p in dossier.passages] == [("b", 1), ("a", 2)]
    assert dossier.status == "ok"


def test_nothing_to_say_is_an_empty_dossier() -> None:
    assert dossier_of([Passage(text="\u00a0\n")]).status == "empty"
    assert dossier_of([]).passages == ()


def test_a_block_has_a_number_that_an_answer_can_cite() -> None:
    assert block(3, "  some words\n") == "[3] some words\n"


@pytest.mark.parametrize("tokens", TOKENIZERS)
@settings(deadline=None, max_examples=150)
@given(passages=PASSAGES)
def test_sum_over_blocks_is_the_count_of_the_whole(tokens: str, passages: list[Passage]) -> None:
    made = Rendering(passages, tokenizer(tokens))
    whole = "".join(made.blocks)
    assert (made.ends[-1] if made.ends else 0) == tokenizer(tokens).marks(whole)
    assert made.total_tokens == -(-tokenizer(tokens).marks(whole) // tokenizer(tokens).marks_per_token)


@pytest.mark.parametrize("tokens", TOKENIZERS)
@settings(deadline=None, max_examples=150)
@given(passages=PASSAGES, a=st.integers(0, 120), b=st.integers(0, 120))
def test_cut_is_that_of_the_whole_text_and_grows_with_the_budget(
    tokens: str, passages: list[Passage], a: int, b: int
) -> None:
    small, large = sorted((a, b))
    counter = tokenizer(tokens)
    made = Rendering(passages, counter)
    whole = "".join(made.blocks)
    for budget in (small, large):
        cut = made.cut(budget)
        assert cut == counter.cut(whole, budget * counter.marks_per_token)
        assert counter.marks(cut) <= budget * counter.marks_per_token
        assert whole.startswith(cut)
    assert made.cut(large).startswith(made.cut(small))


@pytest.mark.parametrize("tokens", TOKENIZERS)
@settings(deadline=None, max_examples=120)
@given(passages=PASSAGES, budget=st.integers(1, 80), more=st.integers(0, 40))
def test_trimming_never_changes_what_a_budget_shows(
    tokens: str, passages: list[Passage], budget: int, more: int
) -> None:
    dossier = dossier_of(passages)
    kept = trimmed(dossier, tokens, budget + more)
    assert kept.passages == dossier.passages[: len(kept.passages)]
    before, after = Rendering(dossier.passages, tokenizer(tokens)), Rendering(kept.passages, tokenizer(tokens))
    assert before.cut(budget) == after.cut(budget)
    # At most one passage reaches beyond the budget: the one that the cut falls into.
    whole, rest = after.head(budget + more)
    assert len(kept.passages) - whole <= 1
    assert (len(kept.passages) == whole) == (not rest)


@pytest.mark.parametrize("tokens", TOKENIZERS)
def test_tokens_before_a_block(tokens: str) -> None:
    made = Rendering([Passage(text="word " * n) for n in (3, 50, 7)], tokenizer(tokens))
    before = [made.tokens_before(i) for i in range(3)]
    assert before[0] == 0
    assert before == sorted(before)
    assert before[2] < made.total_tokens


def test_budget_zero_shows_nothing() -> None:
    assert Rendering([Passage(text="words")], tokenizer("chars4")).cut(0) == ""


def test_the_kept_rendering_is_never_another_dossiers() -> None:
    one = dossier_of([Passage(text="one")]).model_copy(update={"digest": "a" * 64})
    two = dossier_of([Passage(text="two")]).model_copy(update={"digest": "b" * 64})
    for _ in range(2):
        assert rendering(one, "chars4").blocks == ["[1] one\n"]
        assert rendering(two, "chars4").blocks == ["[1] two\n"]
        assert rendering(one, "o200k_base").tokens.name == "o200k_base"
    unsaved = [dossier_of([Passage(text=t)]) for t in ("three", "four")]
    assert [rendering(d, "chars4").blocks[0] for d in unsaved] == ["[1] three\n", "[1] four\n"]


@settings(deadline=None, max_examples=400)
@given(text=TEXT)
@example(text="ß\u0301")
@example(text="\u0345\u0301")
@example(text="Ώ͂ͅ \u1e9e\u0302")
def test_normalise_is_idempotent(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert "  " not in once
    assert once == once.strip()


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("I  went\nto Oslo", "i went to oslo"),
        ("ﬁne ½", "fine 1⁄2"),
        ("STRASSE", "straße"),
        ("cafe\u0301", "CAFÉ"),
        ("a\u00a0b\u2003c", "a b c"),
        ("ＡＢＣ", "abc"),
    ],
)
def test_what_counts_as_the_same_words(a: str, b: str) -> None:
    assert normalise(a) == normalise(b)


def test_different_words_stay_different() -> None:
    assert normalise("D1:1") != normalise("D1:11")
    assert normalise("no") != normalise("nö")
