"""Names of pages in a text without links."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memassay.knowledge.entries import Settings
from memassay.knowledge.index import Incoming, Index
from memassay.knowledge.mentions import LONGEST, Mentioned, Vocabulary, names
from memassay.retrieval.text import words


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Rush", ["rush"]),
        ("Athlete (band)", ["athlete band", "athlete"]),
        ("New Durham, New Hampshire", ["new durham new hampshire", "new durham"]),
        ("UEFA Euro 2020", ["uefa euro 2020"]),
        ("Go", []),
        ("Go (1999 film)", ["go 1999 film"]),
        ("", []),
        ("(band)", ["band"]),
        (" ".join(["long"] * (LONGEST + 1)), []),
        ("東京", []),
        ("Ärger im Büro", ["ärger im büro"]),
    ],
)
def test_names_of_a_title(title: str, expected: list[str]) -> None:
    assert names(title) == expected


def opened(texts: Mapping[str, str]) -> Index:
    index = Index.private(Settings())
    index.update(sorted(texts), lambda key: Incoming(texts[key]))
    return index


def found(index: Index, text: str) -> list[str]:
    return list(Vocabulary(index.snapshot).find(words(text)))


def near(index: Index, key: str) -> set[str]:
    """The pages that one-passage pages are joined to."""
    snapshot = index.snapshot
    passage = int(snapshot.starts[snapshot.find(key)])
    at, there = Mentioned(snapshot, index.indexing.terms).neighbours(np.array([passage]))
    assert set(at.tolist()) <= {0}
    assert there.tolist() == sorted(set(there.tolist()))
    return {snapshot.key(int(snapshot.page_of[other])) for other in there.tolist()}


def test_the_longest_name_wins_and_nothing_is_found_inside_it() -> None:
    index = opened({"a": "# Oklahoma", "b": "# Oklahoma Sooners football", "c": "# Sooners"})
    assert found(index, "The oklahoma sooners FOOTBALL team of Oklahoma beat the Sooners.") == [
        "oklahoma sooners football",
        "oklahoma",
        "sooners",
    ]


def test_a_name_that_no_page_has_any_more_hides_none_inside_it() -> None:
    texts = {"a": "# Oklahoma", "b": "# Oklahoma Sooners", "c": "# Sooners", "d": "# Oklahoma"}
    # So many that the index does not begin anew at once.
    index = opened(texts | {f"p{n}": f"# Page {n}" for n in range(300)})
    assert index.snapshot.gone_names() == frozenset()
    index.update(["d"], lambda key: Incoming("# Norman"), ["a", "b"])
    assert index.snapshot.gone_names() == {"oklahoma", "oklahoma sooners"}
    assert found(index, "The Oklahoma Sooners of Norman") == ["sooners", "norman"]
    index.update(["b"], lambda key: Incoming("# Oklahoma (state)"))
    assert index.snapshot.gone_names() == {"oklahoma sooners"}


def test_a_name_stands_as_whole_words_only() -> None:
    index = opened({"a": "# Rush"})
    assert found(index, "Rushmore and brush.") == []
    assert found(index, "(rush)") == ["rush"]
    assert found(opened({}), "rush") == []


def test_a_page_without_a_title_is_named_by_its_key() -> None:
    assert found(opened({"people/ada": "No heading."}), "ask Ada") == []  # three letters
    assert found(opened({"people/grace": "No heading."}), "ask Grace") == ["grace"]


def test_a_mention_joins_both_pages() -> None:
    index = opened(
        {"song": "# Counterparts\n\nBy the band RUSH.", "rush": "# Rush (band)\n\nA trio.", "other": "# Else\n"}
    )
    assert near(index, "song") == {"rush"}
    assert near(index, "rush") == {"song"}
    assert near(index, "other") == set()


def test_links_and_mentions_are_one_set() -> None:
    texts = {"a": "# Alpha\n\nSee [b](b.md) and Gamma.", "b": "# Beta\n\nx", "c": "# Gamma\n\ny"}
    assert near(opened(texts), "a") == {"b", "c"}


def test_a_name_that_several_pages_share_means_none_of_them() -> None:
    texts = {"a": "# Elkhan (fencer)", "b": "# Elkhan (judoka)", "text": "# Bid\n\nLed by Elkhan."}
    assert near(opened(texts), "text") == {"a", "b"}
    assert near(opened(texts | {"c": "# Elkhan (official)"}), "text") == set()


def test_a_name_that_stands_on_many_pages_joins_none() -> None:
    def world(pages: int) -> Index:
        return opened({"rush": "# Rush\n\nA band."} | {f"p{n}": f"# Page {n}\n\nRush again." for n in range(pages)})

    assert near(world(8), "rush") == {f"p{n}" for n in range(8)}
    assert near(world(9), "rush") == set()
    assert near(world(9), "p3") == set()


def test_named_pages_of_a_question() -> None:
    index = opened({"a": "# Athlete (band)\n\nx", "b": "# Limp Bizkit\n\ny", "c": "# Same\n\nz"})
    snapshot = index.snapshot
    named = Mentioned(snapshot, index.indexing.terms).named("Do Limp Bizkit and Athlete have the same size?")
    assert [snapshot.key(int(snapshot.page_of[p])) for p in named.tolist()] == ["a", "b", "c"]


texts = st.dictionaries(
    st.sampled_from(["a", "b", "c", "d"]),
    st.sampled_from(
        ["# Alpha Corp\n\nBeta.", "# Alpha\n\nAlpha Corp and Beta", "# Beta (x)\n\nAlpha", "# Beta, Gamma\n", ""]
    ),
    min_size=1,
)


@given(texts, texts)
def test_after_edits_mentions_are_those_of_a_new_index(before: dict[str, str], after: dict[str, str]) -> None:
    edited = opened(before)
    edited.update(sorted(after), lambda key: Incoming(after[key]), sorted(before.keys() - after.keys()))
    fresh = opened(after)
    assert edited.snapshot.pages == fresh.snapshot.pages == len(after)
    for key in after:
        assert near(edited, key) == near(fresh, key)
