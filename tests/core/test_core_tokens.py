from __future__ import annotations

import functools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memassay.core.errors import UnknownName
from memassay.core.tokens import DEFAULT_TOKENS, NAMES, BytePairs, count, seam, tokenizer

ALPHABET = st.one_of(
    st.sampled_from(list(" \n\t\r[]0123456789'/.,!?abcABCsStd-_")),
    st.sampled_from(list("éßıİΣςñ中文字あ한العรǅ́ͅ")),
    st.sampled_from(
        ["🙂", "👩‍👩‍👧", "🇫🇷", "\u200b", "\u00a0", "\u2028", "\x85", "<|endoftext|>", "don't", "  ", "\n\n"]
    ),
    st.characters(exclude_categories=("Cs",)),
)
TEXT = st.lists(ALPHABET, max_size=60).map("".join)


@pytest.mark.parametrize("name", NAMES)
def test_every_tokenizer_works_offline_and_knows_its_name(name: str) -> None:
    found = tokenizer(name)
    assert found.name == name
    assert found.marks("") == 0
    assert found.marks("The lighthouse keeper wrote a phrase.") > 0


def test_default_is_a_real_tokenizer() -> None:
    assert DEFAULT_TOKENS == "o200k_base"
    # Published counts of the encoding (tiktoken): "hello world" is two tokens in both.
    assert count("hello world") == 2
    assert count("hello world", "cl100k_base") == 2


def test_chars4_is_characters_by_four_rounded_up() -> None:
    assert [count("x" * n, "chars4") for n in (0, 1, 4, 5, 8)] == [0, 1, 1, 2, 2]
    assert count("é中🙂x", "chars4") == 1


def test_special_tokens_are_plain_text() -> None:
    assert count("<|endoftext|>") > 1


def test_unknown_name_is_suggested() -> None:
    with pytest.raises(UnknownName, match=r"o200k_bse.*Did you mean 'o200k_base'"):
        tokenizer("o200k_bse")


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=150)
@given(text=TEXT, marks=st.integers(-3, 80))
def test_cut_is_a_prefix_within_the_budget(name: str, text: str, marks: int) -> None:
    found = tokenizer(name)
    cut = found.cut(text, marks)
    assert text.startswith(cut), "a cut must be a prefix (and so never splits a character)"
    assert found.marks(cut) <= max(marks, 0)
    if found.marks(text) <= marks:
        assert cut == text


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=80)
@given(text=TEXT, a=st.integers(0, 60), b=st.integers(0, 60))
def test_cut_grows_with_the_budget(name: str, text: str, a: int, b: int) -> None:
    small, large = sorted((a, b))
    found = tokenizer(name)
    assert found.cut(text, large).startswith(found.cut(text, small))


@pytest.mark.parametrize("name", NAMES)
def test_cut_inside_a_character_leaves_it_out(name: str) -> None:
    text = "👩🏽‍🚀" * 3 + "𓀀𓀁𓀂"
    found = tokenizer(name)
    for marks in range(found.marks(text) + 1):
        cut = found.cut(text, marks)
        assert text.startswith(cut)
        assert "\ufffd" not in cut


@pytest.mark.parametrize("name", NAMES)
def test_lone_surrogates_are_counted_not_refused(name: str) -> None:
    found = tokenizer(name)
    text = "before \ud800 after"
    assert found.marks(text) > 0
    for marks in range(found.marks(text) + 1):
        assert found.marks(found.cut(text, marks)) <= marks


def test_same_name_gives_the_same_object() -> None:
    assert tokenizer("chars4") is tokenizer("chars4")


@functools.cache
def documented(name: str) -> Any:
    import bpe_openai

    return bpe_openai.get_encoding(name)


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
@given(text=TEXT)
def test_counting_is_the_length_of_the_list_that_the_package_documents(name: str, text: str) -> None:
    assert tokenizer(name).marks(text) == len(documented(name).encode_ordinary(text))


def test_without_the_compiled_count_the_list_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    import bpe_openai

    class Documented:
        """What the package promises and no more."""

        encode_ordinary = documented("o200k_base").encode_ordinary

    monkeypatch.setattr(bpe_openai, "get_encoding", lambda name: Documented())
    text = "The keeper wrote <|endoftext|> é東 \ud800. " * 3000
    assert BytePairs("o200k_base").marks(text) == tokenizer("o200k_base").marks(text)


@pytest.mark.parametrize("name", NAMES)
@given(text=TEXT, before=TEXT, after=TEXT, start=st.integers(0, 20))
def test_marks_add_up_at_a_seam(name: str, text: str, before: str, after: str, start: int) -> None:
    at = seam(text, start, len(text))
    if at < 0:
        return
    assert start < at < len(text)
    front, back = before + text[start:at], text[at:] + after
    marks = tokenizer(name).marks
    assert marks(front + back) == marks(front) + marks(back)


def test_seams_are_inside_and_the_first_is_found() -> None:
    assert seam("one two three", 0, 13) == 3
    assert seam("one two three", 3, 13) == 7
    assert seam("one\ntwo", 0, 7) == 4
    assert seam("one\ntwo", 4, 7) == -1
    assert seam("one two", 0, 4) == -1
    assert seam("one 2 (3)", 0, 9) == -1
