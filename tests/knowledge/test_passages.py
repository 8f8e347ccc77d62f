from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memassay.knowledge.pages import parse
from memassay.knowledge.passages import cut, head, searched

PIECES = st.sampled_from(
    [
        "# Top\n", "## Part one\n", "### Deep\n", "## Part two\n", "\n", "\n\n", "A line. ", "word " * 12,
        "- item one\n", "  - inner item\n", "> quoted words\n", "```\ncode line\n```\n", "[Ada](people/ada.md)",
        "\n\n[Ada](people/ada.md)\n\n", "| a |\n| - |\n| c |\n", "x" * 70 + " ", "[label]: a.md\n", "é東京 ",
        "---\n", "title: T\n", "\r", "\x00",
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=40).map("".join)


@given(TEXTS, st.integers(20, 200))
def test_passages_hold_everything_once_and_in_order(text: str, max_chars: int) -> None:
    page = parse("notes/p", text)
    cuts = cut(page, max_chars)
    assert cuts
    ends = [page.body]
    for found in cuts:
        start, end = found.span
        assert ends[-1] <= start <= end <= len(text)
        assert not text[ends[-1] : start].strip()
        assert text[start:end].strip() == text[start:end]
        ends.append(end)
    assert not text[ends[-1] :].strip()
    assert len(cuts) == 1 or all(start < end for start, end in (found.span for found in cuts))


@given(TEXTS, st.integers(20, 200))
def test_passages_keep_to_their_section_and_size(text: str, max_chars: int) -> None:
    page = parse("p", text)
    cuts = cut(page, max_chars)
    if len(cuts) > 1:
        for found in cuts:
            kinds = [page.blocks[at].kind for at in found.blocks]
            sections = {page.blocks[at].section for at in found.blocks if page.blocks[at].kind != "header"}
            assert len(sections) <= 1
            if "header" not in kinds:
                assert found.span[1] - found.span[0] <= max_chars
            assert found.span[1] - found.span[0] <= 3 * max_chars


@given(TEXTS, st.integers(20, 200))
def test_every_shown_word_can_be_searched(text: str, max_chars: int) -> None:
    page = parse("p", text)
    texts = searched(page, cut(page, max_chars))
    said = " ".join([page.title or "", *texts])
    for block in page.blocks:
        for word in block.text.split():
            assert word in said or len(word) >= max_chars  # which is cut in two


LONG = """# Ada Lovelace

Intro of the page, with a [link](places/london.md).

## Work

### Engine

First paragraph about the engine.

Second paragraph about the engine, somewhat longer than the first one.

## Life

Born in London.
"""


def test_headings_begin_the_passage_below_them() -> None:
    page = parse("ada", LONG)
    cuts = cut(page, 80)
    shown = [LONG[slice(*found.span)] for found in cuts]
    assert shown == [
        "# Ada Lovelace\n\nIntro of the page, with a [link](places/london.md).",
        "## Work\n\n### Engine\n\nFirst paragraph about the engine.",
        "Second paragraph about the engine, somewhat longer than the first one.",
        "## Life\n\nBorn in London.",
    ]
    assert [head(page, found) for found in cuts] == [
        "",
        "Ada Lovelace",
        "Ada Lovelace > Work > Engine",
        "Ada Lovelace",
    ]
    assert searched(page, cuts) == [
        "Intro of the page, with a link.",
        "Work\nEngine\nFirst paragraph about the engine.",
        "Work\nEngine\nSecond paragraph about the engine, somewhat longer than the first one.",
        "Life\nBorn in London.",
    ]


def test_a_small_page_is_one_passage_and_front_matter_none_of_it() -> None:
    text = "---\ntitle: Given\ndate: 2024-05-01\n---\n# Heading\n\nWords.\n\n## Next\n\nMore.\n"
    page = parse("p", text)
    (found,) = cut(page)
    assert text[slice(*found.span)] == "# Heading\n\nWords.\n\n## Next\n\nMore."
    assert searched(page, [found]) == ["Heading\nWords.\nNext\nMore."]
    assert head(page, found) == "Given"
    (empty,) = cut(parse("q", "---\ntitle: Given\n---\n\n"))
    assert empty.span[0] == empty.span[1]


def test_a_long_block_is_cut_and_links_count_with_what_they_show() -> None:
    text = "One sentence here. " * 5 + "See [the tower](far/away/place.md) now. " + "Another sentence. " * 5
    page = parse("p", text)
    cuts = cut(page, 60)
    assert len(cuts) > 3
    texts = " ".join(searched(page, cuts))
    assert "the tower" in texts and "far" not in texts


def test_a_huge_heading_is_no_title() -> None:
    page = parse("p", "# " + "word " * 5000 + "\n\n" + "text " * 5000)
    cuts = cut(page)
    assert all(head(page, found) == "" or len(head(page, found)) < 1000 for found in cuts)
    assert sum(len(text) for text in searched(page, cuts)) < 4 * len(page.text)
