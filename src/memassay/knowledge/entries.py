"""One page as an index sees it: passages with their sizes, terms with their counts, names, links.

``Indexing(settings).entries(pages, aim) -> list[Entry]``. The settings are all that an index depends on besides the
pages.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

from memassay.core.digest import digest_text
from memassay.core.dossier import block
from memassay.core.tokens import DEFAULT_TOKENS, seam, tokenizer
from memassay.knowledge import passages
from memassay.knowledge.links import tail
from memassay.knowledge.mentions import names
from memassay.knowledge.pages import Page
from memassay.knowledge.passages import Cut
from memassay.knowledge.postings import INCLUSION, REFERENCE, Shape
from memassay.retrieval.text import Analyzer, Stemming, StopWords

# How far from its end the last seam of a passage is looked for.
_NEAR = 60
# What a passage is shown with.
_OPENING = block(1, "").rstrip("\n")

# (page key, target as written, whether it is a wiki link) -> the key that it means, or None.
Aim = Callable[[str, str, bool], str | None]


@dataclass(frozen=True, slots=True)
class Settings:
    """What an index is made with; another value makes another index.

    Attributes:
        tokens: the tokenizer that marks are counted with.
        title_weight: how often a word of the title counts, in every passage of the page.
        max_chars: the most characters of a passage.
        stemmer, stop_words: see :class:`memassay.retrieval.text.Analyzer`.
    """

    tokens: str = DEFAULT_TOKENS
    title_weight: int = 2
    max_chars: int = 1000
    stemmer: Stemming = "english"
    stop_words: StopWords = "questions"

    def identity(self) -> str:
        """The settings as JSON: what an index on disk must have been made with."""
        return json.dumps(asdict(self), sort_keys=True)


@dataclass(frozen=True, slots=True)
class Entry:
    """What an index keeps of a page.

    Attributes:
        names: see :func:`memassay.knowledge.mentions.names`.
        heads: for each passage what :func:`memassay.knowledge.passages.head` says.
        shapes: its passages.
        terms: for each passage its terms, those of the title as often as they count, then its own.
        title_terms: the terms of the title in order, without repetitions.
        edges: its links to pages as (key, ``INCLUSION`` or ``REFERENCE``, passage), without repetitions.
        tails: last segments of the keys that its wiki links mean: a new page of that name may be meant instead.
        page_marks: marks of the whole page as one passage.
    """

    page: Page
    digest: str
    names: list[str]
    heads: list[str]
    shapes: list[Shape]
    terms: list[list[str]]
    title_terms: list[str]
    edges: list[tuple[str, int, int]]
    tails: list[str]
    page_marks: int


class Indexing:
    """Makes entries. Safe for concurrent threads."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._terms = Analyzer(settings.stemmer, settings.stop_words).terms

    def terms(self, text: str) -> list[str]:
        """The terms of a question."""
        return self._terms(text)

    @cached_property
    def _marks(self) -> Callable[[str], int]:
        # Only when a page is indexed: to load a tokenizer takes longer than most that is asked of a finished index.
        return tokenizer(self.settings.tokens).marks

    def entries(self, pages: Sequence[Page], aim: Aim) -> list[Entry]:
        """What to keep of some pages.

        One kind of work is done for all of them before the next: on 10,000 pages of 60 words that took half the time of
        page after page, for the tables of the tokenizer and the words of the analyzer stay in the processor's caches.
        """
        cuts = [passages.cut(page, self.settings.max_chars) for page in pages]
        texts = [passages.searched(page, found) for page, found in zip(pages, cuts, strict=True)]
        titles = [self._terms(passages.short_title(page) or ("" if page.title else tail(page.key))) for page in pages]
        terms = [[self._terms(text) for text in found] for found in texts]
        heads = [[passages.head(page, cut) for cut in found] for page, found in zip(pages, cuts, strict=True)]
        sizes = [self._sizes(page, found, above) for page, found, above in zip(pages, cuts, heads, strict=True)]
        return [
            self._entry(page, found, title, own, above, marks, aim)
            for page, found, title, own, above, marks in zip(pages, cuts, titles, terms, heads, sizes, strict=True)
        ]

    def _sizes(self, page: Page, cuts: list[Cut], heads: list[str]) -> tuple[list[tuple[int, int]], int]:
        """Marks of each passage without and with its head, and of the whole page.

        What lies between the first and the last seam of a passage is the same in all three and counted once.
        """
        marks, text = self._marks, page.text
        if len(cuts) == 1 and not heads[0]:
            whole = marks(block(1, text[slice(*cuts[0].span)]))
            return [(whole, whole)], whole
        found, whole = [], 0
        since, before = cuts[0].span[0], _OPENING
        for (start, end), head in zip((cut.span for cut in cuts), heads, strict=True):
            first = seam(text, start, end)
            if first < 0:
                bare = marks(block(1, text[start:end]))
                found.append((bare, marks(block(1, f"{head}\n{text[start:end]}")) if head else bare))
                continue
            last = max(first, seam(text, max(first, end - _NEAR), end))
            inner = marks(text[first:last])
            both = inner + marks(text[last:end] + "\n")
            bare = both + marks(_OPENING + text[start:first])
            found.append((bare, both + marks(f"{_OPENING}{head}\n{text[start:first]}") if head else bare))
            whole += marks(before + text[since:first]) + inner
            since, before = last, ""
        return found, whole + marks(before + text[since : cuts[-1].span[1]] + "\n")

    def _entry(
        self,
        page: Page,
        cuts: list[Cut],
        title: list[str],
        terms: list[list[str]],
        heads: list[str],
        marks: tuple[list[tuple[int, int]], int],
        aim: Aim,
    ) -> Entry:
        weighted = title * self.settings.title_weight
        edges, tails = self._edges(page, cuts, aim)
        return Entry(
            page=page,
            digest=digest_text(page.text),
            names=names(page.title or tail(page.key)),
            heads=heads,
            shapes=[
                Shape(*cut.span, cut.section, len(weighted) + len(own), *size)
                for cut, own, size in zip(cuts, terms, marks[0], strict=True)
            ],
            terms=[weighted + own for own in terms],
            title_terms=list(dict.fromkeys(title)),
            edges=edges,
            tails=tails,
            page_marks=marks[1],
        )

    def edges(self, page: Page, aim: Aim) -> list[tuple[str, int, int]]:
        """The links of a page, as in its entry."""
        return self._edges(page, passages.cut(page, self.settings.max_chars), aim)[0]

    @staticmethod
    def _edges(page: Page, cuts: list[Cut], aim: Aim) -> tuple[list[tuple[str, int, int]], list[str]]:
        edges: dict[tuple[str, int, int], None] = {}
        tails: dict[str, None] = {}
        at = 0
        for link in page.links:
            target = aim(page.key, link.target, link.wiki)
            if target is None:
                continue
            while at + 1 < len(cuts) and link.span[0] >= cuts[at + 1].span[0]:
                at += 1
            edges[target, INCLUSION if link.kind == "inclusion" else REFERENCE, at] = None
            if link.wiki:
                tails[tail(target)] = None
        return list(edges), list(tails)
