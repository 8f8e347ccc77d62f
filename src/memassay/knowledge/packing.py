"""From an order of pages, sections or passages to what fits a budget of tokens, exactly, with where each piece is from.

``pack(snapshot, candidates, budget, ...) -> Packing``; candidates are ranges of passages:
``of_passage(snapshot, passage)``, ``of_section(snapshot, passage)``, ``of_page(snapshot, page)``.

What is counted is what is rendered: numbered blocks, as :func:`memassay.core.dossier.block` writes them, one after the
other. Each block is counted once in a process, and the counts add up exactly, since no tokenizer joins the end of a
block to the ``[`` of the next.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memassay.core.dossier import block
from memassay.core.paragraphs import Span
from memassay.core.tokens import Tokenizer, tokenizer
from memassay.knowledge.archive import Stored
from memassay.knowledge.excerpts import Measure, Wanted, between, nested, word_ends
from memassay.knowledge.snapshot import Snapshot

Overflow = Literal["stop", "skip"]

# A clipped passage of fewer characters says nothing; it is left out instead.
_LEAST = 40


class Candidate(NamedTuple):
    """Passages ``first <= p < last`` of one page, to be shown together.

    Attributes:
        seed: it answers the question itself, so it is cut to what fits rather than left out whole.
    """

    first: int
    last: int
    seed: bool = True


class Packed(NamedTuple):
    """A piece of a page that fits.

    Attributes:
        key: the page.
        digest: SHA-256 of the page's text, which ``span`` is a place in. That is the file without a byte-order mark and
            with LF where all its lines end with CRLF (:mod:`memassay.knowledge.folder`).
        text: the words as they stand on the page, below ``head`` if heads were asked for.
        span: their place in the text of the page, in characters.
        head: the title and headings that they stand under, or "".
        passages: the passages they are from, as ``(first, last)``.
        clipped: it is an excerpt of one passage, from the beginning of a word to the end of one.
        part: passages of the candidate are missing for want of budget.
        marks: what it takes of the budget.
    """

    key: str
    digest: str
    text: str
    span: tuple[int, int]
    head: str
    passages: tuple[int, int]
    clipped: bool
    part: bool
    marks: int


@dataclass(frozen=True, slots=True)
class Packing:
    """What fits, in the order of the candidates, and what does not.

    Attributes:
        pieces: best first.
        left_out: candidates that are not shown, in their order; an earlier one may have shown a part of them.
        tokens: what the pieces take when rendered, rounded up.
        short: a budget must be at least so many tokens larger to show anything else; 0 if nothing failed to fit.
    """

    pieces: tuple[Packed, ...]
    left_out: tuple[Candidate, ...]
    tokens: int
    short: int


def of_passage(snapshot: Snapshot, passage: int, *, seed: bool = True) -> Candidate:
    """One passage."""
    return Candidate(passage, passage + 1, seed)


def of_page(snapshot: Snapshot, page: int, *, seed: bool = True) -> Candidate:
    """A whole page."""
    return Candidate(int(snapshot.starts[page]), int(snapshot.starts[page + 1]), seed)


def of_section(snapshot: Snapshot, passage: int, *, seed: bool = True) -> Candidate:
    """The passages of the same section around a passage, without deeper sections."""
    page = int(snapshot.page_of[passage])
    start = int(snapshot.starts[page])
    sections = snapshot.stored(page).numbers.sections.tolist()
    first = last = passage - start
    while first and sections[first - 1] == sections[passage - start]:
        first -= 1
    while last + 1 < len(sections) and sections[last + 1] == sections[passage - start]:
        last += 1
    return Candidate(start + first, start + last + 1, seed)


def near_enough(snapshot: Snapshot, passages: Sequence[int], budget: int) -> Sequence[int]:
    """The passages up to some twice the budget: hardly anything behind can fit, and 4,000 would cost 3 ms to look at.

    A token is taken for four characters. Where what is left all fits, the passages behind it are to be looked at too.
    """
    room = 8 * max(budget, 1)
    for count, passage in enumerate(passages, start=1):
        room -= snapshot.chars.item(passage)
        if room <= 0:
            return passages[:count]
    return passages


def pack(
    snapshot: Snapshot,
    candidates: Iterable[Candidate],
    budget: int,
    *,
    scores: NDArray[np.floating] | None = None,
    heads: bool = False,
    overflow: Overflow = "stop",
    terms: Sequence[str] = (),
    analyze: Callable[[str], list[str]] | None = None,
) -> Packing:
    """Fill a budget with candidates in their order.

    No passage is shown twice. With ``overflow="stop"`` the first candidate that does not fit whole is cut to its best
    passages and an excerpt of the next one, and that is the end: a larger budget shows all that a smaller one
    shows, and more. With ``"skip"`` those that come later and fit are shown too; one that does not fit is cut if it is
    a seed, and left out if not. Whatever is not shown stands in ``left_out``.

    Args:
        snapshot: the index that numbered the passages.
        candidates: best first.
        budget: tokens, of the tokenizer that the index counts with.
        scores: ``[passages]``, which passages of a candidate are its best; without them the first ones are.
        heads: show the title and headings above a piece that does not show them itself.
        overflow: what happens at the first candidate that does not fit.
        terms: the question; an excerpt is then the part that holds its rare words, and the beginning otherwise.
        analyze: the analyzer that found the terms, without which they say nothing.
    """
    packer = _Packer(snapshot, budget, scores, heads)
    if terms and analyze is not None:
        packer.wanted = Wanted(dict(zip(terms, snapshot.idf(terms).tolist(), strict=True)), analyze)
    left_out = []
    full = False
    for candidate in candidates:
        wanted = [passage for passage in range(candidate.first, candidate.last) if passage not in packer.shown]
        if not wanted:
            continue
        if not full and (packer.add_one(wanted[0]) if len(wanted) == 1 else packer.add_all(_runs(wanted))):
            continue
        cut = not full and (candidate.seed or overflow == "stop") and packer.add_some(wanted)
        if not cut:
            left_out.append(candidate)
        full = full or overflow == "stop"
    return packer.packing(left_out)


class _Packer:
    def __init__(self, snapshot: Snapshot, budget: int, scores: NDArray[np.floating] | None, heads: bool) -> None:
        self._snapshot, self._scores, self._heads = snapshot, scores, heads
        self._tokens: Tokenizer = tokenizer(snapshot.tokens)
        self._room = max(budget, 0) * self._tokens.marks_per_token
        self._budget = self._room
        self._marks: Callable[[int, int], int] = partial(snapshot.marks, heads=heads)
        self._one = _number_marks(snapshot.tokens, 1)
        self._short = 0  # the least that anything lacked, in marks
        self._pieces: list[Packed] = []
        self.shown: set[int] = set()
        self.wanted: Wanted | None = None

    def add_one(self, passage: int, *, part: bool = False) -> bool:
        """Show a passage, if it fits."""
        taken = self._marks(passage, passage + 1) + self._number(0)
        fits = self._fits(taken)
        if fits:
            self._add(self._excerpt(passage, passage + 1), taken, part=part)
        return fits

    def add_all(self, runs: Sequence[tuple[int, int]]) -> bool:
        """Show these runs of passages, if all of them fit."""
        marks = [self._marks(first, last) + self._number(at) for at, (first, last) in enumerate(runs)]
        if not self._fits(sum(marks)):
            return False
        for (first, last), taken in zip(runs, marks, strict=True):
            self._add(self._excerpt(first, last), taken)
        return True

    def add_some(self, passages: Sequence[int]) -> bool:
        """Show the best of these passages that fit, and an excerpt of the next; whether there is anything."""
        before = len(self._pieces)
        for passage in self._best_first(passages):
            if not self.add_one(passage, part=True):
                self._clip(self._excerpt(passage, passage + 1))
                break
        return len(self._pieces) > before

    def packing(self, left_out: Sequence[Candidate]) -> Packing:
        used, per = self._budget - self._room, self._tokens.marks_per_token
        return Packing(tuple(self._pieces), tuple(left_out), -(-used // per), -(-self._short // per))

    def _fits(self, marks: int) -> bool:
        lacking = marks - self._room
        if lacking > 0:
            self._short = min(lacking, self._short or lacking)
        return lacking <= 0

    def _best_first(self, passages: Sequence[int]) -> list[int]:
        if self._scores is None:
            return list(passages)
        scores = self._scores
        return sorted(passages, key=lambda passage: (-float(scores[passage]), passage))

    def _number(self, ahead: int) -> int:
        """What the number of a block takes more than a ``1``."""
        return _number_marks(self._snapshot.tokens, len(self._pieces) + ahead + 1) - self._one

    def _excerpt(self, first: int, last: int) -> _Excerpt:
        page = self._snapshot.page_of.item(first)
        stored, start = self._snapshot.stored(page), self._snapshot.starts.item(page)
        span = stored.numbers.starts.item(first - start), stored.numbers.ends.item(last - 1 - start)
        return _Excerpt(stored, first, last, span, stored.heads[first - start])

    def _shown(self, excerpt: _Excerpt) -> str:
        text = excerpt.stored.text[excerpt.span[0] : excerpt.span[1]]
        return f"{excerpt.head}\n{text}" if self._heads and excerpt.head else text

    def _add(self, excerpt: _Excerpt, marks: int, *, part: bool = False, clipped: bool = False) -> None:
        piece = Packed(
            key=excerpt.stored.key,
            digest=excerpt.stored.digest,
            text=self._shown(excerpt),
            span=excerpt.span,
            head=excerpt.head,
            passages=(excerpt.first, excerpt.last),
            clipped=clipped,
            part=part,
            marks=marks,
        )
        self._pieces.append(piece)
        self._room -= marks
        self.shown.update(range(excerpt.first, excerpt.last))

    def _clip(self, excerpt: _Excerpt) -> None:
        """Show a part of a passage, whole words of it, if that is enough to say anything."""
        start, end = excerpt.span
        wanted = self.wanted
        spans = [] if wanted is None else nested(excerpt.stored.text[start:end], wanted)
        if spans:
            self._clip_around(excerpt, [(start + first, start + last) for first, last in spans])
        else:
            self._clip_head(excerpt)

    def _clip_head(self, excerpt: _Excerpt) -> None:
        start, end = excerpt.span
        whole = self._shown(excerpt)
        head, number = len(whole) - (end - start), self._number(0)
        room = self._room - number
        # What is left of the block when it is cut to the budget is not always as many marks as it was cut to, so it is
        # counted, and gives up words until it fits.
        limit = min(len(self._tokens.cut(block(1, whole), room)) - len("[1] "), len(whole))
        ends = list(word_ends(whole, head + _LEAST, len(whole)))
        at = bisect_right(ends, limit)
        while at and (marks := self._tokens.marks(block(1, whole[: ends[at - 1]]))) > room:
            at -= 1
        if at < len(ends):
            # What is cut in the middle can be a mark less than what ends there.
            lacking = max(self._tokens.marks(block(1, whole[: ends[at]])) - 1 - room, 1)
            self._short = min(lacking, self._short or lacking)
        if at:
            clipped = excerpt._replace(span=(start, start + ends[at - 1] - head))
            self._add(clipped, marks + number, part=True, clipped=True)

    def _clip_around(self, excerpt: _Excerpt, spans: Sequence[Span]) -> None:
        """Show the last of these parts, each within the next, that fits, and words of the one after it."""
        number = self._number(0)
        kept, marks = (spans[0][0], spans[0][0]), 0
        before = block(1, "").rstrip("\n") + self._shown(excerpt._replace(span=kept)).lstrip()
        measure = Measure(self._tokens, before, excerpt.stored.text, "\n")

        def fits(span: Span) -> bool:
            nonlocal kept, marks
            taken = measure(span) + number
            if taken > self._room:
                return False
            kept, marks = span, taken
            return True

        # Up to the first that does not fit, not the last that does: so a larger budget never shows less.
        large = next((span for span in spans if not fits(span)), kept)
        parts = list(between(excerpt.stored.text, kept, large))
        missed = next((span for span in parts if not fits(span)), large)
        said = kept[1] - kept[0] >= _LEAST
        enough = [] if said else [span for span in parts if span[1] - span[0] >= _LEAST][:1]
        self._fits(max(map(measure, [missed, *enough])) + number)
        if said:
            self._add(excerpt._replace(span=kept), marks, part=True, clipped=True)


class _Excerpt(NamedTuple):
    """Passages ``first <= p < last`` of a page."""

    stored: Stored
    first: int
    last: int
    span: tuple[int, int]
    head: str


@cache
def _number_marks(tokens: str, number: int) -> int:
    return tokenizer(tokens).marks(str(number))


def _runs(passages: Sequence[int]) -> list[tuple[int, int]]:
    """Neighbours together: ``[3, 4, 7]`` becomes ``[(3, 5), (7, 8)]``."""
    found: list[tuple[int, int]] = []
    for passage in passages:
        if found and found[-1][1] == passage:
            found[-1] = (found[-1][0], passage + 1)
        else:
            found.append((passage, passage + 1))
    return found
