"""The arrays that answer questions: which passage holds which term, who links to whom, what each page is called.

A *segment* is such arrays over some pages in the order of their keys. It is compiled in one go from what the catalog
holds of each page, never changed, and saved as one file that is mapped into memory. An index is a large segment,
the base, and a small one of the pages that changed since.

``numbers(pages, titles, passages) -> list[bytes]`` is the form in which the catalog holds pages;
``compiled(rows, terms=, nodes=) -> Segment``; ``save(segment, path)``, ``load(path) -> Segment``.
"""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memassay.knowledge.strings import Strings

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

INCLUSION, REFERENCE = 0, 1

# Rows compiled at a time: large enough for numpy, small enough that a million pages need little memory at once.
_BATCH = 20_000
# What changed since the base is inverted without scipy, which takes 0.2 s to import; of so many terms a sort takes
# 0.4 ms, twice as long as scipy, and of more it falls behind.
_MANY = 20_000
_HEAD = 4
_OF_PASSAGES = ("starts", "ends", "sections", "lengths", "sizes")
_OF_TERMS = ("terms", "counts")
_OF_EDGES = ("edge_nodes", "edge_kinds", "edge_passages")
_ALIGNED = 64


class Row(NamedTuple):
    """A page as the catalog holds it. ``names`` has one name per line; ``data`` is what :func:`numbers` made."""

    id: int
    node: int
    key: str
    names: str
    data: bytes


class Shape(NamedTuple):
    """A passage: its place in the page's text, and its section."""

    start: int
    end: int
    section: int


class Edge(NamedTuple):
    """A link to a page: the node it means, ``INCLUSION`` or ``REFERENCE``, and the passage that it stands in."""

    node: int
    kind: int
    passage: int


class Figures(NamedTuple):
    """What is to be kept of a page in numbers.

    Attributes:
        shapes: its passages, at least one.
        edges: its links, without repetitions.
    """

    shapes: Sequence[Shape]
    edges: Sequence[Edge]


class Said(NamedTuple):
    """The terms of some texts by number, one text after the other, with repetitions; and how many each text has."""

    terms: Longs
    lengths: Longs


def numbers(pages: Sequence[Figures], titles: Said, passages: Said) -> list[bytes]:
    """All numbers of each page as little-endian int32, as :class:`Numbers` reads them.

    Args:
        pages: the pages.
        titles: what the title of each page says.
        passages: what each passage of each page says.
    """
    if not pages:
        return []
    shapes = np.array([shape for page in pages for shape in page.shapes], dtype=np.int32)
    edges = np.array([edge for page in pages for edge in page.edges], dtype=np.int32).reshape(-1, len(Edge._fields))
    shaped = np.array([len(page.shapes) for page in pages])
    linked = np.array([len(page.edges) for page in pages])
    passage, width = _texts(passages)
    pairs, count = np.unique(passage * width + passages.terms, return_counts=True)
    passage, term = np.divmod(pairs, width)
    sizes = np.bincount(passage, minlength=len(shapes))
    held = np.add.reduceat(sizes, _starts(shaped)[:-1])
    page, width = _texts(titles)
    first = np.sort(np.unique(page * width + titles.terms, return_index=True)[1])
    entitled = np.bincount(page[first], minlength=len(pages))
    columns = (
        *((column, shaped) for column in (*shapes.T, passages.lengths, sizes)),
        *((column, held) for column in (term, count)),
        (titles.terms[first], entitled),
        *((column, linked) for column in edges.T),
    )
    places = _starts(_HEAD + len(_OF_PASSAGES) * shaped + len(_OF_TERMS) * held + entitled + len(_OF_EDGES) * linked)
    flat = np.empty(places[-1], dtype="<i4")
    at = places[:-1]
    for field, head in enumerate((shaped, held, entitled, linked)):
        flat[at + field] = head
    at = at + _HEAD
    for column, many in columns:
        flat[ranges(at, many)] = column
        at = at + many
    data = flat.tobytes()
    return [data[start:end] for start, end in pairwise((4 * places).tolist())]


def _texts(said: Said) -> tuple[Longs, int]:
    """The text that each term stands in, and a number above those of all the terms."""
    return np.repeat(np.arange(len(said.lengths)), said.lengths), int(said.terms.max(initial=0)) + 1


class Numbers:
    """What :func:`numbers` packed, of one page, as arrays; see :class:`Shape`, :class:`Edge` and :class:`Segment`."""

    __slots__ = (*_OF_PASSAGES, *_OF_TERMS, "title", *_OF_EDGES)

    def __init__(self, data: bytes) -> None:
        flat = np.frombuffer(data, dtype="<i4")
        passages, terms, title, edges = flat[:_HEAD].tolist()
        at = _HEAD
        for names, width in ((_OF_PASSAGES, passages), (_OF_TERMS, terms), (("title",), title), (_OF_EDGES, edges)):
            for name in names:
                setattr(self, name, flat[at : at + width])
                at += width

    starts: Ints
    ends: Ints
    sections: Ints
    lengths: Ints
    sizes: Ints
    terms: Ints
    counts: Ints
    title: Ints
    edge_nodes: Ints
    edge_kinds: Ints
    edge_passages: Ints


@dataclass(frozen=True, slots=True)
class Segment:
    """Pages in the order of their keys, as arrays. ``P`` pages, ``M`` passages, ``E`` links, ``V`` terms, ``K`` nodes.

    A *node* is a key that is a page or that a link means; nodes and terms have numbers that never change.

    Attributes:
        ids: ``[P]`` number of the page in the catalog.
        nodes: ``[P]`` its node.
        starts: ``[P + 1]`` its first passage.
        chars, lengths: ``[M]``, characters of each passage, and its terms with repetitions.
        term_starts: ``[V + 1]`` where the passages of a term begin in ``docs`` and ``counts``.
        docs, counts: passages that hold a term, ascending, and how often.
        title_starts, title_terms: terms of the titles.
        out_starts: ``[P + 1]`` where the links of a page begin in the three that follow.
        out_nodes, out_kinds, out_passages: ``[E]`` target, kind, and the passage (``0 <= p < M``) it stands in.
        into_starts, into_links: ``[K + 1]`` and ``[E]``: the links to a node, as places in ``out_nodes``.
        keys: the keys, ascending.
        names, name_starts, name_pages: the names, ascending, and the pages that each one means.
    """

    ids: Longs
    nodes: Ints
    starts: Ints
    chars: Ints
    lengths: Ints
    term_starts: Longs
    docs: Ints
    counts: NDArray[np.uint16]
    title_starts: Longs
    title_terms: Ints
    out_starts: Longs
    out_nodes: Ints
    out_kinds: NDArray[np.int8]
    out_passages: Ints
    into_starts: Longs
    into_links: Ints
    keys: Strings
    names: Strings
    name_starts: Longs
    name_pages: Ints


def compiled(rows: Iterable[Row], *, terms: int, nodes: int) -> Segment:
    """The arrays over these pages.

    Args:
        rows: the pages, ascending by key.
        terms: how many terms have a number.
        nodes: how many nodes have a number.
    """
    ids, page_nodes, keys, names = array("q"), array("i"), [], []
    batches = []
    stream = iter(rows)
    while batch := list(islice(stream, _BATCH)):
        ids.extend([row.id for row in batch])
        page_nodes.extend([row.node for row in batch])
        keys.extend([row.key for row in batch])
        names.extend([row.names for row in batch])
        batches.append(_columns([row.data for row in batch]))
    batches = batches or [_columns([])]
    # One column after the other, so that a large one is never there twice together with the others.
    columns = [np.concatenate([batch.pop(0) for batch in batches]) for _ in range(len(batches[0]))]
    passages, _, title, edges, chars, lengths, docs_per, term, count = columns[:9]
    title_terms, out_nodes, out_kinds, passage_in_page = columns[9:]
    starts, out_starts = _starts(passages), _starts(edges)
    term_starts, docs, counts = _inverted(docs_per, term, count, terms)
    links = np.argsort(out_nodes, kind="stable")
    distinct, name_starts, name_pages = _named(names)
    return Segment(
        ids=np.frombuffer(ids, dtype=np.int64),
        nodes=np.frombuffer(page_nodes, dtype=np.int32),
        starts=starts.astype(np.int32),
        chars=chars,
        lengths=lengths,
        term_starts=term_starts,
        docs=docs,
        counts=counts,
        title_starts=_starts(title),
        title_terms=title_terms,
        out_starts=out_starts,
        out_nodes=out_nodes,
        out_kinds=out_kinds.astype(np.int8),
        out_passages=passage_in_page + np.repeat(starts[:-1], edges).astype(np.int32),
        into_starts=_starts(np.bincount(out_nodes, minlength=nodes)),
        into_links=links.astype(np.int32),
        keys=Strings.of(keys),
        names=distinct,
        name_starts=name_starts,
        name_pages=name_pages,
    )


def _columns(rows: Sequence[bytes]) -> list[NDArray[np.int32]]:
    """The columns of many pages at once: what :class:`Numbers` does for one, without a step in Python per page."""
    flat = np.frombuffer(b"".join(rows), dtype="<i4")
    at = _starts(np.fromiter((len(row) // 4 for row in rows), dtype=np.int64, count=len(rows)))[:-1]
    head = [flat[at + field] for field in range(_HEAD)]
    passages, terms, title, edges = (column.astype(np.int64) for column in head)
    at = at + _HEAD
    out = []
    for width in (*[passages] * len(_OF_PASSAGES), *[terms] * len(_OF_TERMS), title, *[edges] * len(_OF_EDGES)):
        out.append(flat[ranges(at, width)])
        at = at + width
    return [*head, out[1] - out[0], *out[3:]]  # of places and sections only the characters are compiled


def terms_held(rows: Sequence[bytes]) -> dict[int, int]:
    """In how many passages of these pages each term stands."""
    terms, held = np.unique(_columns(rows)[_HEAD + 3], return_counts=True)
    return dict(zip(terms.tolist(), held.tolist(), strict=True))


def ranges(starts: Longs, counts: Longs) -> Longs:
    """``starts[0], starts[0] + 1, … (counts[0] of them), starts[1], …``."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    found: Longs = np.repeat(starts - (ends - counts), counts) + np.arange(total, dtype=np.int64)
    return found


def _starts(counts: NDArray[np.integer]) -> Longs:
    found = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=found[1:])
    return found


def _inverted(sizes: Ints, terms: Ints, counts: Ints, vocabulary: int) -> tuple[Longs, Ints, NDArray[np.uint16]]:
    """From the terms of each passage to the passages of each term, ascending."""
    small = np.minimum(counts, np.iinfo(np.uint16).max).astype(np.uint16)
    if len(terms) < _MANY:
        order = np.argsort(terms, kind="stable")
        passage = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        return _starts(np.bincount(terms, minlength=vocabulary)), passage[order], small[order]
    from scipy.sparse import csr_array

    by_passage = csr_array((small, terms, _starts(sizes)), shape=(len(sizes), vocabulary))
    by_term = by_passage.tocsc()
    return by_term.indptr.astype(np.int64), by_term.indices.astype(np.int32, copy=False), by_term.data


def _named(names: Sequence[str]) -> tuple[Strings, Longs, Ints]:
    """From the names of each page to the pages of each name, ascending."""
    pairs = sorted((name, page) for page, lines in enumerate(names) for name in lines.split("\n") if name)
    first = [at for at, (name, _) in enumerate(pairs) if not at or pairs[at - 1][0] != name]
    starts = np.array([*first, len(pairs)], dtype=np.int64)
    return Strings.of([pairs[at][0] for at in first]), starts, np.array([page for _, page in pairs], dtype=np.int32)


def save(segment: Segment, path: Path) -> None:
    """Write the arrays into one file and have it on the disk: a line of JSON that says where each one is, then they."""
    arrays = dict(_arrays(segment))
    places, size = {}, 0
    for name, values in arrays.items():
        places[name] = [values.dtype.str, len(values), size]
        size = _aligned(size + values.nbytes)
    head = json.dumps({"arrays": places, "size": size}).encode("ascii")
    with path.open("wb") as file:
        file.write(head.ljust(_aligned(len(head) + 1) - 1) + b"\n")
        for values in arrays.values():
            values.tofile(file)
            file.write(bytes(_aligned(values.nbytes) - values.nbytes))
        file.flush()
        os.fsync(file.fileno())


def load(path: Path) -> Segment:
    """Map the arrays that :func:`save` wrote.

    Raises:
        OSError, ValueError, KeyError: the file is missing or damaged.
    """
    with path.open("rb") as file:
        head = file.readline()
    about = json.loads(head)
    # A plain array over the map: slices of a memmap object cost five times as much.
    data = np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))[len(head) :]
    if len(data) != about["size"]:
        raise ValueError(f"{path} has {len(data)} of {about['size']} bytes of arrays")

    def array(name: str) -> Any:
        kind, length, start = about["arrays"][name]
        return data[start : start + length * np.dtype(kind).itemsize].view(kind)

    made: dict[str, Any] = {
        field.name: array(field.name)
        if field.name in about["arrays"]
        else Strings(array(f"{field.name}-data"), array(f"{field.name}-ends"))
        for field in fields(Segment)
    }
    return Segment(**made)


def _arrays(segment: Segment) -> Iterator[tuple[str, NDArray[np.generic]]]:
    for field in fields(Segment):
        value = getattr(segment, field.name)
        if isinstance(value, Strings):
            yield f"{field.name}-data", value.data
            yield f"{field.name}-ends", value.ends
        else:
            yield field.name, value


def _aligned(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED
