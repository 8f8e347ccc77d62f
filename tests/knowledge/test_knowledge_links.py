"""Links: which key a target means, and how a link must be written to mean a key."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memassay.knowledge.links import Link, Resolver, names_page, quote_path, unquote_path

KEYS = ("index", "a/b", "a/c d", "a/b/e", "x/b", "z/y/b", "A/b", "a/100%", "a/b#c", "é/ü", "a/x.pdf", "a/q.md", "a/s:t")
RESOLVER = Resolver(KEYS)


def link(target: str, wiki: bool = False) -> Link:
    return Link(target, "words", "reference", wiki, (0, 1))


@pytest.mark.parametrize(
    ("page", "target", "key"),
    [
        ("a/n", "b", "a/b"),
        ("a/n", "b.md", "a/b"),
        ("a/n", "./b.md#part", "a/b"),
        ("a/n", "../index.md", "index"),
        ("a/n", "/x/b.md", "x/b"),
        ("a/n", "c%20d.md", "a/c d"),
        ("a/n", "c d", "a/c d"),
        ("a/n", "100%.md", "a/100%"),
        ("a/n", "100%25.md", "a/100%"),
        ("a/n", "b%23c", "a/b#c"),
        ("a/n", "..%2Findex", "index"),
        ("a/n", "%2e%2e/index", "index"),
        ("a/n", "b//e", "a/b/e"),
        ("a/n", "B", "a/B"),
        ("a/n", "gone", "a/gone"),
        ("a/n", "x.pdf.md", "a/x.pdf"),
        ("a/n", "q.md.md", "a/q.md"),
        ("n", "%C3%A9/ü", "é/ü"),
        ("a/n", "%ff", "a/%ff"),
        ("a/n", "../../index", None),
        ("a/n", "%2e%2e%2f%2e%2e%2fetc/passwd", None),
        ("a/n", "..", None),
        ("a/n", "#part", None),
        ("a/n", "", None),
        ("a/n", "http://b", None),
        ("a/n", "mailto:b", None),
        ("a/n", "tel:1", None),
        ("a/n", "//host/b", None),
        ("a/n", "x.pdf", None),
        ("a/n", "x.PNG#page=2", None),
        ("a/n", "b%00c", None),
        ("a/n", "b\ud800", None),
    ],
)
def test_a_markdown_target_is_relative_to_its_page_and_never_leaves_the_root(page: str, target: str, key: str) -> None:
    assert RESOLVER.resolve(page, link(target)) == key


@pytest.mark.parametrize(
    ("target", "key"),
    [
        ("b", "A/b"),  # fewest segments, then by character
        ("a/b", "a/b"),
        ("y/b", "z/y/b"),
        ("b.md#part", "A/b"),
        ("c  d", "a/c d"),
        ("c%20d", "c%20d"),
        ("/x/b", "x/b"),
        ("../x/b", "x/b"),
        ("s:t", "a/s:t"),
        ("gone", "gone"),
        ("http://b", None),
        ("#part", None),
        ("x.pdf", None),
    ],
)
def test_a_wiki_target_is_the_end_of_a_key(target: str, key: str | None) -> None:
    assert RESOLVER.resolve("n/n", link(target, wiki=True)) == key


def test_wiki_targets_follow_pages_that_come_and_go() -> None:
    resolver = Resolver(["z/b"])
    assert resolver.resolve("n", link("b", wiki=True)) == "z/b"
    resolver.add("b")
    assert resolver.resolve("n", link("b", wiki=True)) == "b"
    assert resolver.sharing("other/b") == ["b", "z/b"]
    resolver.discard("b")
    resolver.discard("b")
    assert resolver.resolve("n", link("b", wiki=True)) == "z/b"
    resolver.discard("z/b")
    assert resolver.resolve("n", link("b", wiki=True)) == "b" and "b" not in resolver


@pytest.mark.parametrize(
    ("page", "target", "key", "written"),
    [
        ("a/n", "old.md", "a/b", "b.md"),
        ("a/n", "old", "x/b", "../x/b"),
        ("a/n", "old.md#part", "index", "../index.md#part"),
        ("a/n", "/old", "a/c d", "/a/c%20d"),
        ("a/n", "./old", "a/b", "./b"),
        ("n", "old", "a/s:t", "a/s%3At"),
        ("n", "old", "a/b#c", "a/b%23c"),
        ("n", "old", "a/100%", "a/100%25"),
        ("n", "old", "é/ü", "é/ü"),
        ("n", "old", "a/x.pdf", "a/x.pdf.md"),
        ("n", "old", "a/q.md", "a/q.md.md"),
    ],
)
def test_a_link_is_written_in_the_manner_it_had(page: str, target: str, key: str, written: str) -> None:
    assert RESOLVER.written(page, link(target), key) == written
    assert RESOLVER.aim(page, written, wiki=False) == key


@pytest.mark.parametrize(
    ("target", "key", "written"),
    [
        ("old", "A/b", "b"),
        ("old", "x/b", "x/b"),
        ("p/old", "z/y/b", "y/b"),
        ("/old", "x/b", "/x/b"),
        ("old#f", "index", "index#f"),
    ],
)
def test_a_wiki_link_is_as_short_as_it_can_be(target: str, key: str, written: str) -> None:
    assert RESOLVER.written("n", link(target, wiki=True), key) == written
    assert RESOLVER.aim("n", written, wiki=True) == key


NAMES = st.text(alphabet=st.sampled_from("ab %#?&:()[]<>|\\\"'é.-_~漢\u3000"), min_size=1, max_size=6).filter(
    lambda name: not name.startswith(".") and name.strip() == name
)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)


@settings(max_examples=300)
@given(PATHS, PATHS, st.sampled_from(["old", "old.md", "/old", "./old.md", "../old#f"]))
def test_what_is_written_means_the_key(page: str, key: str, target: str) -> None:
    resolver = Resolver([page, key])
    written = resolver.written(page, link(target), key)
    assert resolver.aim(page, written, wiki=False) == key
    assert not any(letter in written for letter in ' ()<>[]\\"|')


@given(st.text())
def test_any_target_has_an_answer(target: str) -> None:
    for wiki in (False, True):
        key = RESOLVER.aim("a/n", target, wiki)
        assert key is None or (key and ".." not in key.split("/") and names_page(target, wiki))


@given(st.text(alphabet=st.characters(exclude_categories=("Cs",))))
def test_quoting_a_path_is_undone_by_unquoting(path: str) -> None:
    assert unquote_path(quote_path(path)) == path
