from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memassay.knowledge import postings
from memassay.knowledge import strings as strings_module
from memassay.knowledge.postings import (
    Edge,
    Figures,
    Numbers,
    Row,
    Said,
    Segment,
    Shape,
    compiled,
    load,
    numbers,
    ranges,
    save,
    terms_held,
)
from memassay.knowledge.strings import Strings

TERMS, NODES = 6, 5
PASSAGE = st.tuples(st.integers(0, 99), st.integers(0, 99), st.lists(st.integers(0, TERMS - 1), max_size=9))
EDGES = st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, 1)), max_size=4, unique=True)
PAGE = st.tuples(st.lists(PASSAGE, min_size=1, max_size=3), EDGES, st.sampled_from(["", "x", "x\ny", "y y"]))
PAGES = st.lists(PAGE, max_size=5)


def said(texts: list[list[int]]) -> Said:
    flat = [term for text in texts for term in text]
    return Said(np.array(flat, dtype=np.int64), np.array(list(map(len, texts)), dtype=np.int64))


def packed(pages: list[tuple[list[tuple[int, int, list[int]]], list[tuple[int, int]], str]]) -> list[Row]:
    figures, terms, titles = [], [], []
    for passages, edges, _ in pages:
        shapes = [Shape(a, b, 0) for a, b, _ in passages]
        links = [Edge(node, kind, at % len(passages)) for at, (node, kind) in enumerate(edges)]
        links.sort(key=lambda edge: edge.passage)
        figures.append(Figures(shapes, links))
        terms += [held for _, _, held in passages]
        titles.append(passages[0][2])
    data = numbers(figures, said(titles), said(terms))
    return [Row(90 - at, at % NODES, f"k{at}", pages[at][2], one) for at, one in enumerate(data)]


@given(PAGES)
def test_a_segment_holds_what_the_pages_hold(pages: list) -> None:
    rows = packed(pages)
    segment = compiled(rows, terms=TERMS, nodes=NODES)
    held = [Counter(terms) for passages, _, _ in pages for _, _, terms in passages]
    for term in range(TERMS):
        place = slice(segment.term_starts[term], segment.term_starts[term + 1])
        found = dict(zip(segment.docs[place].tolist(), segment.counts[place].tolist(), strict=True))
        assert found == {at: counts[term] for at, counts in enumerate(held) if counts[term]}
        assert sorted(found) == list(found)
    assert terms_held([row.data for row in rows]) == dict(Counter(term for counts in held for term in counts))
    assert segment.lengths.tolist() == [sum(counts.values()) for counts in held]
    assert segment.ids.tolist() == [row.id for row in rows] and list(segment.keys) == [row.key for row in rows]
    for name in {name for _, _, names in pages for name in names.split("\n")} - {""}:
        at = segment.names.find(name)
        meant = segment.name_pages[segment.name_starts[at] : segment.name_starts[at + 1]].tolist()
        assert meant == [page for page, (_, _, names) in enumerate(pages) if name in names.split("\n")]
    into = {
        node: sorted(segment.into_links[segment.into_starts[node] : segment.into_starts[node + 1]].tolist())
        for node in range(NODES)
    }
    assert into == {node: np.flatnonzero(segment.out_nodes == node).tolist() for node in range(NODES)}
    for page, (passages, edges, _) in enumerate(pages):
        links = slice(segment.out_starts[page], segment.out_starts[page + 1])
        assert sorted(zip(segment.out_nodes[links].tolist(), segment.out_kinds[links].tolist(), strict=True)) == sorted(
            edges
        )
        first, end = segment.starts[page], segment.starts[page + 1]
        assert end - first == len(passages)
        assert all(first <= at < end for at in segment.out_passages[links])
        one = Numbers(rows[page].data)
        assert [*zip(one.starts.tolist(), one.ends.tolist(), strict=True)] == [(a, b) for a, b, _ in passages]
        assert one.edge_nodes.tolist() == segment.out_nodes[links].tolist()
        titles = slice(segment.title_starts[page], segment.title_starts[page + 1])
        assert one.title.tolist() == list(dict.fromkeys(passages[0][2])) == segment.title_terms[titles].tolist()


@given(PAGES)
@settings(max_examples=20)
def test_a_segment_is_saved_and_mapped(pages: list) -> None:
    segment = compiled(packed(pages), terms=TERMS, nodes=NODES)
    with TemporaryDirectory() as folder:
        save(segment, Path(folder) / "a")
        save(compiled(packed(pages), terms=TERMS, nodes=NODES), Path(folder) / "b")
        assert (Path(folder) / "a").read_bytes() == (Path(folder) / "b").read_bytes()
        again = load(Path(folder) / "a")
        for name in Segment.__dataclass_fields__:
            one, other = getattr(segment, name), getattr(again, name)
            if isinstance(one, Strings):
                assert list(one) == list(other)
            else:
                assert one.dtype == other.dtype and np.array_equal(one, other), name


@pytest.mark.parametrize("damage", [b"", b"{", b"{}\n", b"nonsense\n"])
def test_what_is_no_segment_is_refused(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "base").write_bytes(damage)
    with pytest.raises((OSError, ValueError, KeyError)):
        load(tmp_path / "base")
    with pytest.raises(OSError):
        load(tmp_path / "missing")


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 6)), max_size=8))
def test_ranges(pairs: list[tuple[int, int]]) -> None:
    starts, counts = (np.array([pair[at] for pair in pairs], dtype=np.int64) for at in (0, 1))
    assert ranges(starts, counts).tolist() == [at for start, count in pairs for at in range(start, start + count)]


@pytest.mark.parametrize("small", [0, 100])
@given(st.sets(st.text(alphabet=st.characters(exclude_categories=()), max_size=4)), st.text(max_size=4))
def test_strings_are_found(small: int, texts: set[str], other: str) -> None:
    ordered = sorted(texts)
    table = Strings.of(ordered)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strings_module, "_SMALL", small)
        assert len(table) == len(ordered) and list(table) == ordered
        for text in [*ordered, other]:
            assert table.find(text) == (ordered.index(text) if text in texts else -1)
            assert table.place(text) == sum(known < text for known in ordered)


def test_both_ways_of_inverting_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(5)
    sizes = draw.integers(0, 9, size=200).astype(np.int32)
    terms = np.concatenate([np.sort(draw.choice(60, size=size, replace=False)) for size in sizes]).astype(np.int32)
    counts = draw.integers(1, 90_000, size=len(terms)).astype(np.int32)
    found = []
    for many in (0, len(terms) + 1):
        monkeypatch.setattr(postings, "_MANY", many)
        found.append(postings._inverted(sizes, terms, counts, 70))
    for one, other in zip(*found, strict=True):
        assert one.dtype == other.dtype and np.array_equal(one, other)
