"""The index: what it answers, and how it follows edits."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenes import SETTINGS, assert_equal, built, keys, page_text, put

from memassay.knowledge.index import Incoming, Index
from memassay.knowledge.links import Resolver
from memassay.knowledge.pages import parse
from memassay.knowledge.passages import cut, searched
from memassay.retrieval.bm25 import Bm25Index
from memassay.retrieval.text import Analyzer

# -- what it answers -----------------------------------------------------------------------------------------------


def test_scores_are_those_of_the_engine(pages: dict[str, str]) -> None:
    analyzer = Analyzer()
    terms = []
    for key in sorted(pages):
        page = parse(key, pages[key])
        title = analyzer.terms(page.title if page.title is not None else key.rpartition("/")[2])
        terms += [title * 2 + analyzer.terms(text) for text in searched(page, cut(page, SETTINGS.max_chars))]
    engine = Bm25Index.build(terms)
    snapshot = built(pages).snapshot
    assert snapshot.passages == len(terms) > len(pages)
    for query in (["ada"], ["engin", "river", "ada"], ["poem", "poem", "stone"], ["nowhere"], []):
        found = snapshot.scores(query)
        assert found.dtype == np.float32
        assert found == pytest.approx(engine.scores(query), rel=1e-5)
        distinct = list(dict.fromkeys(query))
        by_term = snapshot.weights(distinct, np.arange(snapshot.passages))
        assert by_term.sum(axis=0) == pytest.approx(snapshot.scores(distinct), rel=1e-5)
        with_all = [at for at in range(len(terms)) if set(query) <= set(terms[at])]
        assert snapshot.holding(query).tolist() == with_all
    assert snapshot.df(["ada", "nowhere"]).tolist() == [sum("ada" in found for found in terms), 0]
    assert snapshot.idf(["nowhere"]).tolist() == [0.0]


def test_links_are_those_of_the_pages(pages: dict[str, str]) -> None:
    snapshot = built(pages).snapshot
    names = snapshot.keys()
    resolver = Resolver(pages)
    out = {
        key: {(aim, link.kind) for link in parse(key, pages[key]).links if (aim := resolver.resolve(key, link))}
        for key in names
    }
    kinds = ("inclusion", "reference")
    for page, key in enumerate(names):
        assert {(target, kinds[kind]) for target, kind in snapshot.targets(page)} == out[key]
        edges = snapshot.out_edges([page])
        assert {(names[to], kinds[kind]) for to, kind in zip(edges.pages, edges.kinds, strict=True)} == {
            (target, kind) for target, kind in out[key] if target in pages and target != key
        }
        back = snapshot.in_edges([page], kind=1)
        assert [names[at] for at in back.pages] == [
            source for source in names if source != key and (key, "reference") in out[source]
        ]
    missing = sorted({target for targets in out.values() for target, _ in targets} - set(pages))
    assert missing
    for target in missing:
        assert snapshot.find(target) == -1
        assert {source for source, _ in snapshot.sources(target)} == {
            key for key in names if target in {aim for aim, _ in out[key]}
        }
    at, there = snapshot.neighbours(np.arange(snapshot.passages))
    pairs = set(zip(at.tolist(), there.tolist(), strict=True))
    assert pairs and all((b, a) in pairs for a, b in pairs)
    linked = {(names[snapshot.page_of[a]], names[snapshot.page_of[b]]) for a, b in pairs}
    assert linked == {
        pair for key in names for aim, _ in out[key] if aim in pages and aim != key for pair in ((key, aim), (aim, key))
    }


def test_scores_of_pages_names_and_terms() -> None:
    index = built({"a": "# Kiss (film)\n\nred red blue", "b/kiss": "red", "c": "# Long\n\n" + "green tree. " * 40})
    snapshot = index.snapshot
    scores = snapshot.scores(["red", "green"])
    c = slice(int(snapshot.starts[2]), int(snapshot.starts[3]))
    assert c.stop - c.start > 1
    assert snapshot.page_scores(scores, "max").tolist()[2] == scores[c].max()
    assert snapshot.page_scores(scores, "sum").tolist()[2] == pytest.approx(scores[c].sum())
    assert snapshot.named("kiss").tolist() == [0, 1] and snapshot.named("kiss film").tolist() == [0]
    assert not len(snapshot.named("green tree")) and len(snapshot.named("long"))
    ids, counts = snapshot.terms_of(0)
    held = dict(zip(ids.tolist(), counts.tolist(), strict=True))
    red, kiss, nothing = snapshot.term_ids(["red", "kiss", "nothing"]).tolist()
    assert held[red] == 2 and held[kiss] == 2 and nothing == -1
    assert snapshot.title_terms(0).tolist() == snapshot.term_ids(["kiss", "film"]).tolist()
    assert [snapshot.title(page) for page in range(3)] == ["Kiss (film)", "b/kiss", "Long"]


def test_an_empty_index() -> None:
    snapshot = Index.private(SETTINGS).snapshot
    assert (snapshot.pages, snapshot.passages, snapshot.find("a")) == (0, 0, -1)
    assert snapshot.scores(["a"]).tolist() == [] and snapshot.page_scores(snapshot.scores([])).tolist() == []
    assert snapshot.out_edges([]).pages.tolist() == [] and snapshot.neighbours(np.arange(0))[0].tolist() == []
    assert snapshot.keys() == [] and snapshot.holding(["a"]).tolist() == []


# -- following edits -----------------------------------------------------------------------------------------------


def edited(draw: random.Random, pages: dict[str, str]) -> tuple[list[str], list[str]]:
    """Change some pages; the keys that changed and those that are gone."""
    some = draw.sample(keys(), draw.choice((1, 1, 1, 2, 8)))
    gone = [key for key in some if key in pages and draw.random() < 0.4]
    for key in gone:
        del pages[key]
    changed = [key for key in some if key not in gone]
    for key in changed:
        pages[key] = page_text(draw)
    return sorted(changed), gone


@pytest.mark.parametrize("edits", [60, pytest.param(200, marks=pytest.mark.slow)])
def test_random_edits_equal_a_rebuild(tmp_path: Path, small_bases: None, edits: int) -> None:
    draw = random.Random(edits)
    pages: dict[str, str] = {}
    folder = tmp_path / "index-0"
    index = Index.write(folder, SETTINGS)
    for step in range(edits):
        changed, gone = edited(draw, pages)
        put(index, pages, changed, gone)
        if step % 9 == 4:  # the process dies here: what is on disk now is all there is
            crashed = tmp_path / f"index-{step}"
            shutil.copytree(folder, crashed)
            index.close()
            folder, index = crashed, Index.write(crashed, SETTINGS)
        if step % 20 == 19:
            assert_equal(index.snapshot, built(pages).snapshot)
            reader = Index.read(folder, SETTINGS)
            assert reader is not None
            assert_equal(reader.snapshot, index.snapshot)
            reader.close()
    assert index.snapshot.pages == len(pages)
    index.compact()
    assert_equal(index.snapshot, built(pages).snapshot)
    index.close()
    assert len(list(folder.glob("base-*.arrays"))) == 2


@given(st.randoms(use_true_random=False))
@settings(max_examples=12)
def test_any_short_history_equals_a_rebuild(draw: random.Random) -> None:
    pages: dict[str, str] = {}
    index = Index.private(SETTINGS)
    for _ in range(draw.randint(1, 6)):
        put(index, pages, *edited(draw, pages))
        if draw.random() < 0.2:
            index.compact()
    assert_equal(index.snapshot, built(pages).snapshot)


def test_a_new_page_takes_wiki_links_over(small_bases: None) -> None:
    pages = {"a": "[[ada]] and [[deep/ada]]", "x/y/deep/ada": "first", "b": "see [[ada]]"}
    index = built(pages)
    assert index.snapshot.targets(0) == [("x/y/deep/ada", 1)]
    pages["ada"] = "nearer to the root"
    put(index, pages, ["ada"])
    assert index.snapshot.targets(0) == [("ada", 1), ("x/y/deep/ada", 1)]
    put(index, pages, [], ["ada", "x/y/deep/ada"])
    assert index.snapshot.targets(0) == [("ada", 1), ("deep/ada", 1)]
    assert index.snapshot.sources("ada") == [("a", 1), ("b", 1)]


def test_a_page_that_is_gone_when_it_is_read(small_bases: None) -> None:
    index = built({"a": "[[ada]]"})
    names = ["p/ada", "q1", "q2", "q3", "q4"]
    index.update(names, lambda key: None if key == "p/ada" else Incoming("[[ada]]"))
    assert index.snapshot.keys() == ["a", *names[1:]]
    assert index.snapshot.targets(0) == [("ada", 0)] == index.snapshot.targets(1)


def test_an_error_in_the_middle_changes_nothing() -> None:
    index = built({"a": "old words", "b": "[[a]]"})
    before = index.snapshot

    def read(key: str) -> Incoming:
        if key == "c":
            raise OSError("gone")
        return Incoming("new words")

    with pytest.raises(OSError, match="gone"):
        index.update(["a", "c"], read)
    assert_equal(index.snapshot, before)
    put(index, {"a": "new words", "c": "third"}, ["a", "c"])
    assert_equal(index.snapshot, built({"a": "new words", "b": "[[a]]", "c": "third"}).snapshot)


def test_a_process_that_dies_between_batches(tmp_path: Path, small_bases: None) -> None:
    pages = {"a": "[[zoo]]", "m/zoo": "far", "n1": "x", "n2": "x", "n3": "x", "zoo": "near"}
    index = Index.write(tmp_path / "index", SETTINGS)

    def dies(key: str) -> Incoming:
        if key == "zoo":
            raise KeyboardInterrupt
        return Incoming(pages[key])

    with pytest.raises(KeyboardInterrupt):
        index.update(sorted(pages), dies)
    assert index.snapshot.keys() == ["a", "m/zoo", "n1"]
    index.close()
    del pages["zoo"]
    again = Index.write(tmp_path / "index", SETTINGS)
    put(again, pages, ["n2", "n3"])
    assert_equal(again.snapshot, built(pages).snapshot)
    again.close()


def test_an_old_snapshot_goes_on(pages: dict[str, str], small_bases: None) -> None:
    index = built(pages)
    old, copy = index.snapshot, built(pages).snapshot
    changed = {key: "entirely new" for key in pages}
    put(index, changed, sorted(changed)[:9])
    put(index, changed, [], sorted(changed)[9:12])
    assert_equal(old, copy)
