"""Names of pages as they stand in a text without a link: *unlinked mentions*.

A page is named by its title, by the title without a note in parentheses at its end (``Mercury (planet)``), and by what
stands before the first comma (``Alton, New Hampshire``). Names are compared as words, whatever the case.

A mention joins two pages as a link does if the name is rare: mentioned on few pages, and the name of few. Nothing of it
is stored: mentions are found when a question comes near them, and kept as long as the snapshot they were found in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from memassay.knowledge.postings import Longs
from memassay.knowledge.snapshot import Floats, Snapshot
from memassay.knowledge.strings import Strings
from memassay.retrieval.text import words

# The longest titles of encyclopedias are lists, which nobody names in full.
LONGEST = 8

# A single short word ("Go", "It") means the page too seldom.
_SHORTEST = 4

# A name that more pages have means none of them; a name that stands on more other pages than this joins none of them.
# On train questions of HotPotQA 4, 8 and 20 pages do equally well.
_SHARED, _RARE = 2, 8

# Where all words of a name stand together in more passages than this, the name is not rare, or not worth the search.
_MOST = 16

# More pages of one name than this are a list, and the question names none of them.
_NAMESAKES = 5

_NOTE = re.compile(r"\s*\([^()]*\)\s*$")


def names(title: str) -> list[str]:
    """The names of a page with this title, each as its words with single blanks between, without repetitions."""
    plain = _NOTE.sub("", title) if ")" in title else title
    found = (" ".join(words(form)) for form in dict.fromkeys((title, plain, plain.partition(", ")[0])))
    return [name for name in dict.fromkeys(found) if _usable(name)]


def _usable(name: str) -> bool:
    blanks = name.count(" ")
    return 0 < blanks < LONGEST or (not blanks and len(name) >= _SHORTEST)


# Names, and for the first word of each the number of words of the longest that begins with it.
Table = tuple[frozenset[str], Mapping[str, int]]


class Vocabulary:
    """Finds the names of a snapshot's pages in texts."""

    def __init__(self, snapshot: Snapshot) -> None:
        base, fresh = (_table(names) for names in snapshot.name_tables())
        self._names, self._heads = _merged(base, fresh) if fresh[0] else base
        self._gone = snapshot.gone_names()

    def find(self, text: Sequence[str]) -> Iterator[str]:
        """The names that stand in a text, given as words, from left to right; none overlaps an earlier one."""
        names, heads, gone = self._names, self._heads, self._gone
        reach = 0
        for at, word in enumerate(text):
            if at < reach or word not in heads:
                continue
            for end in range(min(at + heads[word], len(text)), at, -1):
                name = " ".join(text[at:end])
                if name in names and name not in gone:
                    yield name
                    reach = end
                    break


def _merged(base: Table, fresh: Table) -> Table:
    heads = dict(base[1])
    for head, length in fresh[1].items():
        heads[head] = max(length, heads.get(head, 0))
    return base[0] | fresh[0], heads


@lru_cache(maxsize=4)
def _table(names: Strings) -> Table:
    """The names of a table, as they are looked for.

    Nearly every word of a text begins no name, and is left after one look. The names of the base, which most are, stay
    the same from edit to edit: 10,000 of them take 10 ms once.
    """
    known = frozenset(names)
    heads: dict[str, int] = {}
    for name in known:
        head, length = name.partition(" ")[0], name.count(" ") + 1
        if length > heads.get(head, 0):
            heads[head] = length
    return known, heads


class Mentioned:
    """A snapshot whose passages are joined by mentions as well as by links; made for :func:`~.ranking.rank`.

    Threads may share it.

    Args:
        snapshot: an open index.
        terms: the analyzer of that index.
    """

    def __init__(self, snapshot: Snapshot, terms: Callable[[str], list[str]]) -> None:
        self._snapshot, self._terms = snapshot, terms
        self._vocabulary = Vocabulary(snapshot)
        self._joined: dict[int, tuple[int, ...]] = {}
        self._in_passage: dict[int, tuple[str, ...]] = {}
        self._by_name: dict[str, tuple[int, ...]] = {}
        self._pages: dict[str, tuple[int, ...]] = {}

    def scores(self, terms: Sequence[str]) -> Floats:
        """See :meth:`Snapshot.scores`."""
        return self._snapshot.scores(terms)

    def weights(self, terms: Sequence[str], passages: NDArray[np.integer]) -> Floats:
        """See :meth:`Snapshot.weights`."""
        return self._snapshot.weights(terms, passages)

    def idf(self, terms: Sequence[str]) -> NDArray[np.float64]:
        """See :meth:`Snapshot.idf`."""
        return self._snapshot.idf(terms)

    def neighbours(self, passages: NDArray[np.integer]) -> tuple[Longs, Longs]:
        """What passages link to or mention, and what links to their pages or mentions them.

        Returns:
            Pairs (place in ``passages``, passage) as :meth:`Snapshot.neighbours` gives them.
        """
        at, there = self._snapshot.neighbours(passages)
        extra_at: list[int] = []
        extra: list[int] = []
        for place, passage in enumerate(passages.tolist()):
            found = self._near(passage)
            extra_at += [place] * len(found)
            extra += found
        if not extra:
            return at, there
        pairs = np.unique(
            np.concatenate([at, extra_at]).astype(np.int64) * self._snapshot.passages
            + np.concatenate([there, extra]).astype(np.int64)
        )
        return np.divmod(pairs, self._snapshot.passages)

    def named(self, text: str) -> Longs:
        """Passages of the pages that a text names, ascending."""
        pages: set[int] = set()
        for name in self._vocabulary.find(words(text)):
            found = self._snapshot.named(name).tolist()
            if len(found) <= _NAMESAKES:
                pages.update(found)
        starts = self._snapshot.starts
        return np.array([p for page in sorted(pages) for p in range(starts[page], starts[page + 1])], dtype=np.int64)

    def _near(self, passage: int) -> tuple[int, ...]:
        if passage not in self._joined:
            self._joined[passage] = (*self._mentions(passage), *self._mentioners(passage))
        return self._joined[passage]

    def _mentions(self, passage: int) -> Iterator[int]:
        """The passages of the pages that a passage mentions."""
        own, starts = self._snapshot.page_of[passage], self._snapshot.starts
        for name in self._names_in(passage):
            for page in self._meant(name):
                if page != own and self._others(name, page):
                    yield from range(starts[page], starts[page + 1])

    def _mentioners(self, passage: int) -> Iterator[int]:
        """The passages that mention the page of a passage."""
        page = int(self._snapshot.page_of[passage])
        for name in names(self._snapshot.title(page)):
            if page in self._meant(name):
                yield from self._others(name, page)

    def _meant(self, name: str) -> tuple[int, ...]:
        if name not in self._pages:
            pages = self._snapshot.named(name).tolist()
            self._pages[name] = tuple(pages) if len(pages) <= _SHARED else ()
        return self._pages[name]

    def _others(self, name: str, page: int) -> list[int]:
        """The passages of other pages that mention a page by this name; none if they are too many."""
        page_of = self._snapshot.page_of
        found = [passage for passage in self._holding(name) if page_of[passage] != page]
        return found if len({int(page_of[passage]) for passage in found}) <= _RARE else []

    def _holding(self, name: str) -> tuple[int, ...]:
        """The passages in which a name stands, ascending."""
        if name not in self._by_name:
            terms = list(dict.fromkeys(self._terms(name)))
            near = self._snapshot.holding(terms).tolist() if terms else []
            near = near if len(near) <= _MOST else []
            self._by_name[name] = tuple(passage for passage in near if name in self._names_in(passage))
        return self._by_name[name]

    def _names_in(self, passage: int) -> tuple[str, ...]:
        if passage not in self._in_passage:
            found = self._vocabulary.find(words(self._snapshot.text(passage)))
            self._in_passage[passage] = tuple(dict.fromkeys(found))
        return self._in_passage[passage]
