"""One page as an index sees it: passages, words to be indexed, names, links.

``Indexing(settings).entries(pages, aim) -> list[Entry]``. The settings are all that an index depends on besides the
pages.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import NamedTuple

from memassay.core.digest import digest_text
from memassay.core.tokens import DEFAULT_TOKENS
from memassay.knowledge import passages
from memassay.knowledge.links import tail
from memassay.knowledge.mentions import names
from memassay.knowledge.pages import Page
from memassay.knowledge.passages import Cut
from memassay.knowledge.postings import INCLUSION, REFERENCE, Shape
from memassay.retrieval.text import Analyzer, Stemming, StopWords

# (page key, target as written, whether it is a wiki link) -> the key that it means, or None.
Aim = Callable[[str, str, bool], str | None]


@dataclass(frozen=True, slots=True)
class Settings:
    """What an index is made and asked with; another value makes another index, but for ``tokens``.

    Attributes:
        tokens: the tokenizer that budgets are counted with.
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
        made = asdict(self)
        del made["tokens"]  # counted when a passage is first shown
        return json.dumps(made, sort_keys=True)


class Entry(NamedTuple):
    """What an index keeps of a page.

    Attributes:
        names: see :func:`memassay.knowledge.mentions.names`.
        heads: for each passage what :func:`memassay.knowledge.passages.head` says.
        shapes: its passages.
        title: the title, or what stands for it, as words to be indexed; "" if there are none.
        texts: for each passage the words that find it, those of the title as often as they count.
        edges: its links to pages as (key, ``INCLUSION`` or ``REFERENCE``, passage), without repetitions.
        tails: last segments of the keys that its wiki links mean: a new page of that name may be meant instead.
    """

    page: Page
    digest: str
    names: list[str]
    heads: list[str]
    shapes: list[Shape]
    title: str
    texts: list[str]
    edges: list[tuple[str, int, int]]
    tails: list[str]


class Indexing:
    """Makes entries. Safe for concurrent threads."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._analyzer = Analyzer(settings.stemmer, settings.stop_words)

    def terms(self, text: str) -> list[str]:
        """The terms of a question."""
        return self._analyzer.terms(text)

    def terms_of(self, pieces: Iterable[bytes]) -> list[tuple[str, ...]]:
        """The terms of each piece of a text (see :func:`memassay.retrieval.text.pieces`)."""
        return self._analyzer.terms_of(pieces)

    def entry(self, page: Page, aim: Aim) -> Entry:
        """What to keep of a page."""
        cuts = passages.cut(page, self.settings.max_chars)
        title = passages.short_title(page) or ("" if page.title else tail(page.key))
        weighted = f"{title}\n" * self.settings.title_weight
        edges, tails = self._edges(page, cuts, aim)
        return Entry(
            page=page,
            digest=digest_text(page.text),
            names=names(page.title or tail(page.key)),
            heads=[passages.head(page, cut) for cut in cuts],
            shapes=[Shape(*cut.span, cut.section) for cut in cuts],
            title=title,
            texts=[weighted + own for own in passages.searched(page, cuts)],
            edges=edges,
            tails=tails,
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
