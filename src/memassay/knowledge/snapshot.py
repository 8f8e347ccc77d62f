"""The index as it stood at one moment: what rankings, packing and views read. It never changes; threads may share it.

Pages and passages are numbered from 0 **in the order of their keys** and of their place on the page, whatever the
history of edits, so that equal notes give equal numbers, and ties that are broken by number are broken by key. The
numbers hold for one snapshot only.

Sizes        ``pages: int``, ``passages: int``, ``version: int``, ``tokens: str`` (name of the tokenizer)
Passages     ``page_of: int32[passages]``, ``starts: int64[pages + 1]`` (first passage of a page),
             ``chars``, ``lengths``: ``int32[passages]`` (characters, terms),
             ``marks(first, last, heads) -> int`` (what they take of a budget)
Scores       ``scores(terms) -> float32[passages]``, ``weights(terms, passages) -> float32[terms, passages]``,
             ``idf(terms) -> float64[terms]``, ``df(terms) -> int64[terms]``, ``page_scores(scores, "max" | "sum")``,
             ``holding(terms) -> int64[n]`` (passages that hold them all)
Links        ``out_edges(pages, kind=None) -> Edges``, ``in_edges(pages, kind=None) -> Edges``,
             ``neighbours(passages) -> (positions, passages)``; with dangling ones ``targets(page)``, ``sources(key)``
Names        ``find(key) -> int`` (-1), ``key(page)``, ``keys()``, ``title(page)``, ``named(name) -> int64[n]``,
             ``name_tables()``, ``gone_names()``
Texts        ``stored(page) -> Stored``, ``text(passage)``, ``span(passage)``, ``head(passage)``
Terms        ``terms_of(page) -> (ids, counts)``, ``title_terms(page) -> ids``, ``term_ids(terms) -> int64`` (-1),
             ``scores_of(ids, times) -> float32[passages]``
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memassay.knowledge.archive import Archive, Stored
from memassay.knowledge.postings import Ints, Longs, Segment, ranges
from memassay.knowledge.strings import Strings

Floats = NDArray[np.float32]

K1, B = 1.5, 0.75


class Edges(NamedTuple):
    """Links between pages that exist, none from a page to itself, none twice.

    Attributes:
        at: for each link, which of the pages that were asked for, as a place in that list; ascending.
        pages: the page at the other end; ascending for each ``at``.
        kinds: ``INCLUSION`` or ``REFERENCE``.
    """

    at: Longs
    pages: Longs
    kinds: NDArray[np.int8]


class Snapshot:
    """See the module's first lines.

    Args:
        segments: the base, and the pages that were changed since.
        gone: pages of the base that were changed or deleted since, as places in it.
        gone_terms: in how many of their passages each term stands.
        archive: the catalog.
        version: the edit that it shows.
        tokens: name of the tokenizer that marks are counted with.
        k1, b: as in :class:`memassay.retrieval.bm25.Bm25Index`.
    """

    def __init__(
        self,
        segments: tuple[Segment, Segment],
        gone: Longs,
        gone_terms: Mapping[int, int],
        archive: Archive,
        version: int,
        tokens: str,
        *,
        k1: float = K1,
        b: float = B,
    ) -> None:
        base, fresh = segments
        self.version, self.tokens = version, tokens
        self._base, self._fresh, self._archive, self._gone_terms = base, fresh, archive, gone_terms
        # Mostly nothing has changed since the base: it would cost as much to ask an empty segment as a full one.
        self._segments = ((base, 0), (fresh, len(base.lengths)))[: 2 if len(fresh.ids) else 1]
        self._known_idf: dict[int, float] = {}
        self._order_pages(gone)
        sizes = _both(np.diff(base.starts), np.diff(fresh.starts))
        first = _both(base.starts[:-1], fresh.starts[:-1] + len(base.lengths))
        here = sizes[self._pages]
        self.starts = np.zeros(len(here) + 1, dtype=np.int64)
        np.cumsum(here, out=self.starts[1:])
        self._passages = ranges(first[self._pages].astype(np.int64), here.astype(np.int64))
        self.page_of = np.repeat(np.arange(len(here), dtype=np.int32), here)
        self.pages, self.passages = len(here), len(self._passages)
        lengths = _both(base.lengths, fresh.lengths)
        self.lengths = lengths[self._passages]
        self.chars = _both(base.chars, fresh.chars)[self._passages]
        self._marks: dict[tuple[int, int, bool], int] = {}
        total = int(self.lengths.sum(dtype=np.int64))
        mean = total / self.passages if total else 1.0
        self._norms = np.float32(k1 * (1 - b)) + np.float32(k1 * b / mean) * lengths.astype(np.float32)
        self._place = np.full(len(lengths), -1, dtype=np.int32)
        self._place[self._passages] = np.arange(self.passages, dtype=np.int32)

    def _order_pages(self, gone: Longs) -> None:
        base, fresh = self._base, self._fresh
        alive = np.ones(len(base.ids), dtype=bool)
        alive[gone] = False
        live = np.flatnonzero(alive)
        before = np.array([_place(base.keys, key) for key in fresh.keys], dtype=np.int64)
        added = np.arange(len(base.ids), len(base.ids) + len(fresh.ids))
        self._pages: Longs = np.insert(live, np.searchsorted(live, before), added)
        number = np.arange(len(self._pages), dtype=np.int32)
        self._number = np.full(len(base.ids) + len(fresh.ids), -1, dtype=np.int32)
        self._number[self._pages] = number
        self._ids = _both(base.ids, fresh.ids)[self._pages]
        self._nodes = _both(base.nodes, fresh.nodes)[self._pages]
        self._at_node = np.full(max(len(base.into_starts), len(fresh.into_starts)) - 1, -1, dtype=np.int32)
        self._at_node[self._nodes] = number

    # -- scores ----------------------------------------------------------------------------------------------------

    def scores(self, terms: Sequence[str]) -> Floats:
        """``idf(t) * tf / (tf + k1 * (1 - b + b * length / mean length))`` summed over the terms, for every passage.

        A term that is given twice counts twice. The counts are weighted (a word of the title counts more), the rest is
        what :class:`memassay.retrieval.bm25.Bm25Index` computes.
        """
        times = Counter(terms)
        return self.scores_of(self._term_ids(list(times)), list(times.values()))

    def scores_of(self, terms: Sequence[int], times: Sequence[int]) -> Floats:
        """:meth:`scores` for terms by number, each with how often it is given."""
        found = np.zeros(len(self._norms), dtype=np.float32)
        for term, idf, count in zip(terms, self._idf(terms), times, strict=True):
            weight = np.float32(idf * count)
            for segment, offset in self._segments:
                here = _range(segment, term)
                docs = segment.docs[here].astype(np.int64)
                if offset:
                    docs += offset
                counts = segment.counts[here].astype(np.float32)
                found[docs] += weight * (counts / (counts + self._norms.take(docs)))
        return found.take(self._passages)

    def weights(self, terms: Sequence[str], passages: NDArray[np.integer]) -> Floats:
        """``[len(terms), len(passages)]``: what each term gives to the score of each passage."""
        found = np.zeros((len(terms), len(passages)), dtype=np.float32)
        where = self._passages[passages]
        norms = self._norms[where]
        rows = self._term_ids(terms)
        idf = self._idf(rows)
        for row, term in enumerate(rows):
            for segment, offset in self._segments:
                here = _range(segment, term)
                at = _places(segment.docs[here], where - offset)
                hit = np.flatnonzero(at >= 0)
                counts = segment.counts[here].take(at.take(hit)).astype(np.float32)
                found[row, hit] = np.float32(idf[row]) * (counts / (counts + norms.take(hit)))
        return found

    def holding(self, terms: Sequence[str]) -> Longs:
        """The passages that hold all of these terms, ascending; all passages if there is no term."""
        rows = self._term_ids(terms)
        if not rows:
            return np.arange(self.passages, dtype=np.int64)
        parts = []
        for segment, offset in self._segments:
            docs = sorted((_docs(segment, term) for term in rows), key=len)
            common = docs[0]
            for other in docs[1:]:
                if not len(common):
                    break
                common = common[_places(other, common) >= 0]
            parts.append(self._place[common + offset])
        found = np.sort(np.concatenate(parts)).astype(np.int64)
        return found[found >= 0]

    def idf(self, terms: Sequence[str]) -> NDArray[np.float64]:
        """Lucene's ``ln(1 + (N - n + 0.5) / (n + 0.5))`` over passages; 0 for a term that stands nowhere."""
        return np.array(self._idf(self._term_ids(terms)), dtype=np.float64)

    def df(self, terms: Sequence[str]) -> Longs:
        """In how many passages each term stands."""
        return np.array([self._df(term) for term in self._term_ids(terms)], dtype=np.int64)

    def page_scores(self, scores: NDArray[np.floating], how: Literal["max", "sum"] = "max") -> NDArray[np.floating]:
        """From one score per passage to one per page."""
        if not self.pages:
            return scores[:0]
        found: NDArray[np.floating] = (np.maximum if how == "max" else np.add).reduceat(scores, self.starts[:-1])
        return found

    def _idf(self, terms: Sequence[int]) -> list[float]:
        known = self._known_idf
        for term in terms:
            if term not in known:
                n = self._df(term)
                known[term] = math.log(1 + (self.passages - n + 0.5) / (n + 0.5)) if n else 0.0
        return [known[term] for term in terms]

    def _df(self, term: int) -> int:
        held = sum(len(_docs(segment, term)) for segment, _ in self._segments)
        return held - self._gone_terms.get(term, 0)

    def _term_ids(self, terms: Sequence[str]) -> list[int]:
        return self._archive.term_ids(terms)

    # -- links -----------------------------------------------------------------------------------------------------

    def out_edges(self, pages: NDArray[np.integer] | Sequence[int], kind: int | None = None) -> Edges:
        """The pages that each of these pages links to."""
        asked = np.asarray(pages, dtype=np.int64)
        parts = []
        for segment, at, rows in self._in_segments(asked):
            links, owner = _links(segment.out_starts, rows, at)
            parts.append((owner, self._at_node[segment.out_nodes[links]], segment.out_kinds[links]))
        return _edges(parts, asked, kind)

    def in_edges(self, pages: NDArray[np.integer] | Sequence[int], kind: int | None = None) -> Edges:
        """The pages that link to each of these pages."""
        asked = np.asarray(pages, dtype=np.int64)
        parts = []
        for owner, passages, kinds in self._links_into(self._nodes[asked]):
            parts.append((owner, self.page_of[passages], kinds))
        return _edges(parts, asked, kind)

    def neighbours(self, passages: NDArray[np.integer]) -> tuple[Longs, Longs]:
        """What passages link to, and what links to their pages.

        Returns:
            Pairs (place in ``passages``, passage), ascending, without repetitions: every passage of a page that the
            passage links to, and every passage that holds a link to its page. No passage of its own page.
        """
        asked = np.asarray(passages, dtype=np.int64)
        own = self.page_of[asked]
        parts = []
        for segment, offset in self._segments:
            inside = (self._passages[asked] - offset).astype(segment.out_passages.dtype)
            mine = np.flatnonzero((inside >= 0) & (inside < len(segment.lengths)))
            first = segment.out_passages.searchsorted(inside[mine])
            count = segment.out_passages.searchsorted(inside[mine], side="right") - first
            links, owner = ranges(first, count), np.repeat(mine, count)
            target = self._at_node[segment.out_nodes[links]]
            owner, target = owner[target >= 0], target[target >= 0]
            many = np.diff(self.starts)[target]
            parts.append((np.repeat(owner, many), ranges(self.starts[target], many)))
        parts += [(owner, found) for owner, found, _ in self._links_into(self._nodes[own])]
        at, there = (np.concatenate(part).astype(np.int64) for part in zip(*parts, strict=True))
        apart = self.page_of[there] != own[at] if len(at) else np.empty(0, dtype=bool)
        pairs = np.unique(at[apart] * self.passages + there[apart])
        return np.divmod(pairs, max(self.passages, 1))

    def targets(self, page: int) -> list[tuple[str, int]]:
        """The keys that a page links to and how, in the order of its text, whether or not they exist."""
        numbers = self.stored(page).numbers
        keys = self._archive.node_keys(numbers.edge_nodes.tolist())
        return list(dict.fromkeys(zip(keys, numbers.edge_kinds.tolist(), strict=True)))

    def sources(self, key: str) -> list[tuple[str, int]]:
        """The pages that link to a key and how, ascending, whether or not the key exists."""
        parts = self._links_into(np.array([self._archive.node_of(key)], dtype=np.int32))
        found = {
            (self.key(page), kind)
            for _, passages, kinds in parts
            for page, kind in zip(self.page_of[passages].tolist(), kinds.tolist(), strict=True)
        }
        return sorted(found)

    def _in_segments(self, pages: Longs) -> list[tuple[Segment, Longs, Longs]]:
        """For each segment, which of the pages are in it and where."""
        rows, edge = self._pages[pages], len(self._base.ids)
        old, new = np.flatnonzero(rows < edge), np.flatnonzero(rows >= edge)
        return [(self._base, old, rows[old]), (self._fresh, new, rows[new] - edge)]

    def _links_into(self, nodes: Ints) -> list[tuple[Longs, Longs, NDArray[np.int8]]]:
        """(place in ``nodes``, passage that holds the link, kind), for each segment."""
        found = []
        for segment, offset in self._segments:
            known = np.flatnonzero((nodes >= 0) & (nodes < len(segment.into_starts) - 1))
            at, owner = _links(segment.into_starts, nodes[known].astype(np.int64), known)
            links = segment.into_links[at]
            passage = self._place[segment.out_passages[links] + offset]
            alive = passage >= 0
            found.append((owner[alive], passage[alive].astype(np.int64), segment.out_kinds[links[alive]]))
        return found

    # -- names and texts -------------------------------------------------------------------------------------------

    def find(self, key: str) -> int:
        """The page with this key, or -1."""
        for segment, offset in ((self._fresh, len(self._base.ids)), (self._base, 0)):
            at = segment.keys.find(key)
            if at >= 0 and self._number[at + offset] >= 0:
                return int(self._number[at + offset])
        return -1

    def keys(self) -> list[str]:
        """The keys of all pages, ascending."""
        return [self.key(page) for page in range(self.pages)]

    def key(self, page: int) -> str:
        """The key of a page."""
        row, edge = int(self._pages[page]), len(self._base.ids)
        return self._base.keys[row] if row < edge else self._fresh.keys[row - edge]

    def title(self, page: int) -> str:
        """The title of a page; its key where it has none."""
        stored = self.stored(page)
        return stored.key if stored.title is None else stored.title

    def named(self, name: str) -> Longs:
        """The pages that a name means (see :func:`memassay.knowledge.mentions.names`), ascending."""
        parts = []
        for segment, offset in ((self._base, 0), (self._fresh, len(self._base.ids))):
            at = segment.names.find(name)
            if at >= 0:
                pages = segment.name_pages[segment.name_starts[at] : segment.name_starts[at + 1]]
                parts.append(self._number[pages + offset])
        found = np.sort(np.concatenate(parts)).astype(np.int64) if parts else np.empty(0, dtype=np.int64)
        return found[found >= 0]

    def name_tables(self) -> tuple[Strings, Strings]:
        """All names, also those of :meth:`gone_names`."""
        return self._base.names, self._fresh.names

    def gone_names(self) -> frozenset[str]:
        """The names in the tables that no page has any more."""
        base = self._base
        if len(self._ids) == len(base.ids) + len(self._fresh.ids):
            return frozenset()  # no page of the base is gone
        alive = np.logical_or.reduceat(self._number[base.name_pages] >= 0, base.name_starts[:-1])
        gone = (base.names[at] for at in np.flatnonzero(~alive).tolist())
        return frozenset(name for name in gone if self._fresh.names.find(name) < 0)

    def stored(self, page: int) -> Stored:
        """What the catalog holds of a page.

        Raises:
            EnvironmentProblem: the snapshot is so old that the catalog has forgotten the page.
        """
        return self._archive.stored(self._ids.item(page))

    def span(self, passage: int) -> tuple[int, int]:
        """The place of a passage in the text of its page, in characters."""
        page = int(self.page_of[passage])
        numbers, at = self.stored(page).numbers, passage - int(self.starts[page])
        return int(numbers.starts[at]), int(numbers.ends[at])

    def text(self, passage: int) -> str:
        """The words of a passage as they stand on its page."""
        start, end = self.span(passage)
        return self.stored(int(self.page_of[passage])).text[start:end]

    def marks(self, first: int, last: int, *, heads: bool = False) -> int:
        """Marks of the passages ``first <= p < last`` of one page, rendered as a block with the number 1.

        They are counted when somebody first asks, and remembered here and with the page, which later snapshots share.

        Args:
            first: the first of the passages.
            last: where they end, above ``first``.
            heads: rendered below the :meth:`head` of the first one, where it has one.
        """
        marks = self._marks.get((first, last, heads))
        if marks is None:
            page = self.page_of.item(first)
            start = self.starts.item(page)
            marks = self.stored(page).marks(first - start, last - start, heads, self.tokens)
            self._marks[first, last, heads] = marks
        return marks

    def head(self, passage: int) -> str:
        """The title and headings that a passage stands under and does not show, in one line, or ""."""
        page = int(self.page_of[passage])
        return self.stored(page).heads[passage - int(self.starts[page])]

    # -- terms -----------------------------------------------------------------------------------------------------

    def terms_of(self, page: int) -> tuple[Longs, Longs]:
        """The terms of a page, ascending, and how often each stands in its passages."""
        numbers = self.stored(page).numbers
        terms, at = np.unique(numbers.terms, return_inverse=True)
        return terms.astype(np.int64), np.bincount(at, weights=numbers.counts).astype(np.int64)

    def title_terms(self, page: int) -> Longs:
        """The terms of a page's title in order, without repetitions."""
        return self.stored(page).numbers.title.astype(np.int64)

    def term_ids(self, terms: Sequence[str]) -> Longs:
        """The numbers of terms, as :meth:`terms_of` gives them; -1 for one that no page ever held."""
        return np.array(self._term_ids(terms), dtype=np.int64)


def _place(keys: Strings, key: str) -> int:
    at = keys.find(key)  # most changed pages are in the base, and finding is the faster way
    return keys.place(key) if at < 0 else at


def _both(old: NDArray[np.integer], new: NDArray[np.integer]) -> Ints:
    return np.concatenate([old, new]) if len(new) else np.asarray(old)


def _range(segment: Segment, term: int) -> slice:
    """Where the passages of a term stand in a segment."""
    if not 0 <= term < len(segment.term_starts) - 1:
        return slice(0, 0)
    return slice(segment.term_starts[term], segment.term_starts[term + 1])


def _docs(segment: Segment, term: int) -> Ints:
    return segment.docs[_range(segment, term)]


def _places(values: Ints, wanted: NDArray[np.integer]) -> Longs:
    """For each number wanted its place among the values, which are ascending; -1 where it is not one of them."""
    if not len(values):
        return np.full(len(wanted), -1, dtype=np.int64)
    # Of the same type, or all of the values are converted first.
    at = np.minimum(values.searchsorted(wanted.astype(values.dtype)), len(values) - 1)
    at[values.take(at) != wanted] = -1
    return at


def _links(starts: Longs, rows: Longs, owners: Longs) -> tuple[Longs, Longs]:
    """The places from ``starts[row]`` to ``starts[row + 1]`` of every row, and for each place the owner of its row."""
    count = starts[rows + 1] - starts[rows]
    return ranges(starts[rows], count), np.repeat(owners, count)


def _edges(
    parts: Sequence[tuple[Longs, NDArray[np.integer], NDArray[np.int8]]], asked: Longs, kind: int | None
) -> Edges:
    at, pages, kinds = (np.concatenate(part).astype(np.int64) for part in zip(*parts, strict=True))
    kept = (pages >= 0) & (pages != asked[at]) if len(at) else np.empty(0, dtype=bool)
    if kind is not None:
        kept &= kinds == kind
    table = np.unique(np.stack([at[kept], pages[kept], kinds[kept]], axis=1), axis=0)
    return Edges(table[:, 0], table[:, 1], table[:, 2].astype(np.int8))
