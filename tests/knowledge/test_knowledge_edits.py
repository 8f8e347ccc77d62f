"""Pages that move or go: every link goes on meaning what it meant, and no other character changes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from knowledge_texts import TEXTS, shelf, texts_of

from memassay.core.errors import UsageError
from memassay.knowledge.edits import Change, Edit, applied, cut, deleted, renamed
from memassay.knowledge.library import Shelf


def after(library: Shelf, changes: list[Change]) -> dict[str, str]:
    texts = dict(texts_of(library))
    for change in changes:
        assert change.before == texts.get(change.key) or change.moved is not None
        if change.after is None:
            del texts[change.key]
    return texts | {change.key: change.after for change in changes if change.after is not None}


def test_edits_replace_their_characters_and_no_other() -> None:
    assert applied("abcdef", [Edit(4, 5, "E"), Edit(1, 2, ""), Edit(2, 2, "+"), Edit(4, 5, "E")]) == "a+cdEf"
    assert applied("abcdef", [Edit(1, 4, ""), Edit(2, 3, ""), Edit(3, 5, "")]) == "af"
    with pytest.raises(ValueError, match="meet at character 2"):
        applied("abcdef", [Edit(1, 3, "x"), Edit(2, 4, "")])


def test_a_rename_rewrites_links_wherever_and_however_they_are_written() -> None:
    library = shelf(
        old="# Old\n\nsee [self](old.md#x), [away](sub/n.md) and [gone](nowhere)\n",
        sub_n=(
            "---\nlink: '[x](../old.md)'\n---\n[o](../old.md)\r\n\n| t |\n|---|\n| [c](/old) and [[old\\|w]] |\n\n"
            "- <b>x</b> [*o*](<../old.md#part> 'title')\n> [q][r] ![i](../old.md) `[k](../old)`\n\n"
            "[[old]] [[/old|p]]\n\n"
            '[r]: ../old "t"\n'
        ),
        other="nothing [n](sub/n)\n",
    )
    changes = renamed(library, "old", "far/a b (c)")
    texts = after(library, changes)
    assert (
        texts["far/a b (c)"]
        == "# Old\n\nsee [self](a%20b%20%28c%29.md#x), [away](../sub/n.md) and [gone](../nowhere)\n"
    )
    assert texts["sub/n"] == (
        "---\nlink: '[x](../old.md)'\n---\n[o](../far/a%20b%20%28c%29.md)\r\n\n| t |\n|---|\n"
        "| [c](/far/a%20b%20%28c%29) and [[a b (c)\\|w]] |\n\n"
        "- <b>x</b> [*o*](<../far/a%20b%20%28c%29.md#part> 'title')\n> [q][r] ![i](../old.md) `[k](../old)`\n\n"
        '[[a b (c)]] [[/far/a b (c)|p]]\n\n[r]: ../far/a%20b%20%28c%29 "t"\n'
    )
    assert [change.key for change in changes] == ["far/a b (c)", "old", "sub/n"]
    assert changes[0].moved == "old" and changes[1].after is None
    assert Shelf(texts).graph.dangling() == library.graph.dangling() == ["nowhere"]


def test_a_rename_keeps_wiki_links_that_the_new_key_would_take_over() -> None:
    library = shelf(x_b="X", c="C", n="[[b]] [[c]] [[lost]]\n")
    texts = after(library, renamed(library, "c", "b"))
    assert texts["n"] == "[[x/b]] [[b]] [[lost]]\n"
    healed = after(library, renamed(library, "c", "lost"))
    assert healed["n"] == "[[b]] [[lost]] [[lost]]\n"


def test_a_wiki_link_that_cannot_say_a_key_becomes_a_markdown_link() -> None:
    library = shelf(a="A", n="[[a]] [[a#part|the *a*]]\n")
    texts = after(library, renamed(library, "a", "x#y|z"))
    assert texts["n"] == "[a](x%23y%7Cz) [the *a*](x%23y%7Cz#part)\n"
    assert Shelf(texts).graph.into("x#y|z") == ["n"]


def test_a_rename_to_a_wrong_or_taken_key_is_refused() -> None:
    library = shelf(a="A", b="B")
    assert renamed(library, "a", "a") == []
    for new, complaint in (("b", "exists already"), ("../x", "cannot be the key"), ("a/.b", "hides it")):
        with pytest.raises(UsageError, match=complaint):
            renamed(library, "a", new)
    with pytest.raises(UsageError, match="There is no page 'c'"):
        renamed(library, "c", "d")


def test_a_delete_leaves_the_words_of_links_and_takes_out_lines_that_were_only_a_link() -> None:
    library = shelf(
        gone="[back](n)\n",
        n="# N\n\n[Gone](gone)\n\ntext [*the* page](gone.md#x), [[gone]] and [[gone|it]].\n\n"
        "- [g][r]\n\n[[gone]]\n\n[r]: gone\n",
        m="[Gone](gone)\n",
        keep="[n](n)\n",
    )
    texts = after(library, deleted(library, ["gone"]))
    assert texts == {
        "n": "# N\n\ntext *the* page, gone and it.\n\n- g\n\n[r]: gone\n",
        "m": "",
        "keep": "[n](n)\n",
    }
    assert sorted(after(library, deleted(library, ["gone", "n"]))) == ["keep", "m"]
    with pytest.raises(UsageError, match="There is no page 'x'"):
        deleted(library, ["x"])


@pytest.mark.parametrize(
    ("text", "block", "left"),
    [
        ("a\n\nX\n\nb\n", "X", "a\n\nb\n"),
        ("X\n\nb\n", "X", "b\n"),
        ("a\n\nX\n", "X", "a\n"),
        ("a\n\nX", "X", "a\n"),
        ("X", "X", ""),
        ("# h\nX\nb\n", "X", "# h\n\nb\n"),
        ("a\n\n\nX\n\n\nb\n", "X", "a\n\n\n\nb\n"),
        ("a\r\n\r\nX\r\n\r\nb\r\n", "X", "a\r\n\r\nb\r\n"),
        ("---\nx: 1\n---\nX\n", "X", "---\nx: 1\n---\n"),
        ("- - X\n", "X", "- - \n"),
    ],
)
def test_a_block_goes_with_its_lines(text: str, block: str, left: str) -> None:
    at = text.index(block)
    assert applied(text, [cut(text, (at, at + len(block)))]) == left


NAMES = st.sampled_from(["a", "b", "x/a", "x/y/b", "c d", "x/l", "l", "wiki", "a/wiki", "target", "x/y"])


@settings(max_examples=80)
@given(st.dictionaries(NAMES, TEXTS, min_size=1, max_size=4), st.data())
def test_after_a_rename_every_link_means_the_same_page(texts: dict[str, str], data: st.DataObject) -> None:
    library = Shelf(texts)
    old = data.draw(st.sampled_from(sorted(texts)))
    new = data.draw(NAMES.filter(lambda key: key not in texts))
    now = Shelf(after(library, renamed(library, old, new)))
    for key in texts:
        before, page = library.page(key), now.page(new if key == old else key)
        assert before is not None and page is not None
        assert len(page.links) == len(before.links)
        for was, link in zip(before.links, page.links, strict=True):
            meant = library.resolver.resolve(key, was)
            means = now.resolver.resolve(page.key, link)
            assert link.kind == was.kind
            if meant in library:
                assert means == (new if meant == old else meant), (was, link)
        assert without_links(before.text, before.links) == without_links(page.text, page.links)


def without_links(text: str, links: object) -> str:
    """The text without targets of links: what a rename must leave alone."""
    spans = sorted({link.aim for link in links if link.aim != (-1, -1)} | {link.span for link in links})  # type: ignore[attr-defined]
    kept, at = [], 0
    for start, end in spans:
        if start >= at:
            kept.append(text[at:start])
        at = max(at, end)
    return "".join([*kept, text[at:]])


@settings(max_examples=80)
@given(st.dictionaries(NAMES, TEXTS, min_size=1, max_size=4), st.data())
def test_after_a_delete_no_link_means_the_page_and_no_word_is_lost(texts: dict[str, str], data: st.DataObject) -> None:
    library = Shelf(texts)
    gone = data.draw(st.sampled_from(sorted(texts)))
    now = after(library, deleted(library, [gone]))
    assert gone not in now
    for key, text in now.items():
        if gone not in library.graph.out(key):
            assert text == texts[key]
        else:
            assert set(re.findall(r"[a-z]{5,}", text)) <= set(re.findall(r"[a-z]{5,}", texts[key]))
            assert len(text) < len(texts[key])


@pytest.mark.parametrize(
    ("old", "new", "before", "then"),
    [
        ("a/b/p", "p", "[x](../../../out.md#s) [[../../../v]]", "[x](../out.md#s) [[../v]]"),
        ("p", "a/b/p", "[x](<../o ut.md>)", "[x](<../../../o%20ut.md>)"),
        ("p", "a/b/p", "[y][d]\n\n[d]: ./../z/../w", "[y][d]\n\n[d]: ../../../w"),
        ("a/p", "b/q", "[x](../../out.md) [[/v]]", "[x](../../out.md) [[/v]]"),
        ("a/p", "p", "[[../gone]] [[./gone]] [[gone]]", "[[./gone]] [[./a/gone]] [[gone]]"),
    ],
)  # fmt: skip
def test_a_page_that_moves_names_the_same_places_outside_and_pages_to_be(
    old: str, new: str, before: str, then: str
) -> None:
    library = Shelf({old: before})
    assert after(library, renamed(library, old, new)) == {new: then}


@pytest.mark.parametrize(
    "text",
    [
        "[g](g.md)\n\n---\ntitle: x\n---\nbody\n",
        "[---](g.md)\ntitle: x\n\n---\nbody\n",
        "[](g.md)---\n---\nbody\n",
    ],
)
def test_a_delete_makes_no_front_matter_of_text(text: str) -> None:
    library = Shelf({"g": "# G\n", "p": text})
    left = after(library, deleted(library, ["g"]))["p"]
    assert Shelf({"p": left}).page("p").front == {}  # type: ignore[union-attr]
    assert left.startswith("\n---\n") and left.endswith("body\n")


def test_a_delete_leaves_front_matter_as_it_is() -> None:
    library = Shelf({"g": "# G\n", "p": "---\na: 1\n---\n[g](g.md)\n", "q": "---\na: [\n---\n[g](g.md)\n"})
    left = after(library, deleted(library, ["g"]))
    assert left == {"p": "---\na: 1\n---\n", "q": "---\na: [\n---\n"}


def test_words_with_a_mark_of_exclamation_make_no_image_of_the_next_link() -> None:
    library = Shelf(
        {"!": "x", "!g": "x", "g!": "x", "p": "[[!]][[q]] [[!g]][q](q.md) [[g!]][q](q.md) [[g!]] [[q]]", "q": ""}
    )
    left = after(library, deleted(library, ["!", "!g", "g!"]))
    assert left["p"] == "\\![[q]] !g[q](q.md) g\\![q](q.md) g! [[q]]"
    assert Shelf(left).graph.into("q") == ["p"] and len(Shelf(left).page("p").links) == 4  # type: ignore[union-attr]
