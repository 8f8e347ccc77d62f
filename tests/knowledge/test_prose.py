"""What is read without the parser is what the parser says."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memassay.knowledge import markdown, prose

PIECES = st.sampled_from(
    [
        "# ", "## ", "###### ", "####### ", "#", "a", "B ", "é", "東京 ", " ", "   ", "\n", "\n", "\n\n", "Words. ",
        "1. ", "- ", "--", "===", ":", "! ", "$", "^", "{x}", "+", "'", '"', "(b)", "http://a.b ", "\u2028", "\u0301",
        "\xa0", "\u200b", "\ufeff", "x@y.z ", "<b>", "*c*", "[d](e.md)", "&amp;", "`f`", "|", "\t", "\r", "\x00",
        "\x0b", "&", "& ", "12", "3 ", ") ", "[", "]", "](f)",
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=15).map("".join)


@given(TEXTS, st.sampled_from(["", "---\na: 1\n---\n"]))
def test_prose_reads_as_the_parser_reads_it(text: str, front: str) -> None:
    whole, body = front + text, len(front)
    assert markdown.read(whole, body) == markdown.parsed(whole, body)


@pytest.mark.parametrize(
    "text",
    [
        "# Ada\n\nShe wrote notes.\n",
        "## B\nOne line\nanother\n\n\nMore (much) - really!",
        "Été 12,5 %\n",
        "",
        "\n\n",
        '# 1984\n\n"Big" (and more) & 2 of them, AT& T\n12 is a number\n',
        '"quoted"',
        "(so)\n12",
        "a&",
        "[Ada](ada.md)\n\nSee [her (late) work](../w/%20x.md), and [a](b).\n# On [Ada](/ada.md)\n[x](a.png)",
    ],
)
def test_headings_and_lines_without_markup_are_prose(text: str) -> None:
    assert prose.plain(text, 0)
    assert markdown.read(text, 0) == markdown.parsed(text, 0)


@pytest.mark.parametrize("mark", list("#*<>[]\\_`|~\t\r\x00\x0b\x1c\x7f\ud800"))
def test_a_character_that_may_mean_something_is_not(mark: str) -> None:
    assert not prose.plain(f"Some {mark} words", 0)


@pytest.mark.parametrize(
    "line",
    [
        " indented",
        "1. one",
        "- item",
        "+ item",
        "=====",
        "-----",
        "12. x",
        "1) x",
        "# 1. x",
        "&amp; x",
        "x &#35;",
        "&copy x",
        "& x",
        ": x",
        "####### a",
        "#a",
    ],
)
def test_a_line_that_begins_otherwise_is_not(line: str) -> None:
    assert not prose.plain(f"Words\n{line}\n", 0)


def test_words_are_joined_by_single_blanks_whatever_was_between_them() -> None:
    for blank in filter(str.isspace, map(chr, range(0x3100))):
        for text in (f"a{blank}b", f"{blank}a  b{blank}", f"a {blank}é"):
            assert prose.joined(text) == " ".join(text.split()), unicodedata.name(blank, repr(blank))


def test_a_long_text_that_is_not_prose_at_its_end_is_found_out_at_once() -> None:
    assert not prose.plain("words and words\n" * 100_000 + "*", 0)
    assert not prose.plain("a" * 1_000_000 + "*", 0)
