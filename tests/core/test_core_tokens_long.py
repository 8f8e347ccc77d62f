"""Texts that are longer than the tokenizer's package takes: counted and cut in pieces, to the same numbers."""

from __future__ import annotations

import random

import pytest

from memassay.core.tokens import Tokenizer, count, tokenizer

NAMES = ("o200k_base", "cl100k_base")
MILLION = 1_000_000
_WORDS = [
    "the",
    "lighthouse",
    "keeper",
    "wrote",
    "kettle",
    "Violin",
    "glacier",
    "Tuesday",
    "1234",
    "don't",
    "it's",
    "naïve",
    "東京",
    "hello-world",
    "x_y",
    "(see)",
    ".",
    ",",
    "½",
    "Ⅷ",
    "🙂",
    "âb",
    "re-use",
]


def prose(characters: int) -> list[str]:
    """Lines that begin with a letter and end in a line end: no token reaches from one into the next."""
    draw = random.Random(5)
    lines: list[str] = []
    size = 0
    while size < characters:
        words = " ".join(draw.choice(_WORDS) for _ in range(draw.randint(1, 30)))
        lines.append(f"Line {words}" + draw.choice(("\n", "\n\n", "  \n", ".\n", "\r\n")))
        size += len(lines[-1])
    return lines


LINES = prose(MILLION + 200_000)
LONG = {
    "prose": "".join(LINES),
    "one line": " ".join(line.strip() for line in LINES),
    "one word": "x" * (MILLION + 100_000),
    "chinese": "他们昨天去了北京的老城区散步。" * (MILLION // 14),
    "numbers": "12,34\n" * (MILLION // 5),
    "emoji": "👩🏽‍🚀" * (MILLION // 4 + 1),
}


def cuts(counter: Tokenizer, text: str, budgets: tuple[int, ...]) -> None:
    for budget in budgets:
        shown = counter.cut(text, budget)
        assert text.startswith(shown)
        assert counter.marks(shown) <= budget, f"a cut at {budget} holds more when it is tokenised again"


@pytest.mark.parametrize("name", NAMES)
def test_a_million_characters_count_as_their_lines_do(name: str) -> None:
    counter = tokenizer(name)
    assert len(LONG["prose"]) > MILLION
    assert counter.marks(LONG["prose"]) == sum(counter.marks(line) for line in LINES)
    assert count(LONG["prose"], name) == counter.marks(LONG["prose"])


@pytest.mark.parametrize("name", NAMES)
def test_one_line_of_a_million_characters_counts_as_its_words_do(name: str) -> None:
    counter = tokenizer(name)
    first, *rest = (line.strip() for line in LINES)
    assert counter.marks(LONG["one line"]) == counter.marks(first) + sum(counter.marks(f" {line}") for line in rest)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", LONG)
def test_a_long_text_of_any_kind_is_counted_and_cut(kind: str, name: str) -> None:
    counter, text = tokenizer(name), LONG[kind]
    assert len(text) >= MILLION
    total = counter.marks(text)
    part = text[: len(text) // 20]
    assert total == pytest.approx(counter.marks(part) * len(text) / len(part), rel=0.02)
    assert counter.cut(text, total) == text
    cuts(counter, text, (4000, total - 1))


@pytest.mark.parametrize("name", NAMES)
def test_cuts_near_the_place_where_a_long_text_is_split(name: str) -> None:
    counter = tokenizer(name)
    text = LONG["prose"][:600_000]
    for end in (495_000, 500_001):
        at = counter.marks(text[:end])
        cuts(counter, text, (at, at + 1))


@pytest.mark.parametrize("name", NAMES)
def test_more_tokens_than_the_package_gives_at_once(name: str) -> None:
    """It refuses more than 200,000 tokens in one piece: half a million Chinese characters, or a table of numbers."""
    counter = tokenizer(name)
    for text in ("東" * 240_000, "1," * 120_000):
        total = counter.marks(text)
        assert total == 4 * counter.marks(text[: len(text) // 4])
        cuts(counter, text, (100, total - 1))
