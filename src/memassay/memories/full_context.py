"""``full-context``: every document whole, one after another, until the budget is spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

from pydantic import JsonValue

from memassay.core.contracts import BuildContext
from memassay.core.types import Corpus, Passage, Query, StoreRef
from memassay.memories.folder import damaged, seal, unseal
from memassay.memories.settings import check_choice
from memassay.memories.sources import DATES, Dates, Filling, Source, passage, read_sources, source, write_sources

Order = Literal["oldest", "newest"]

_BUILT_WITH: dict[str, JsonValue] = {}


class FullContext:
    """Gives the whole corpus and asks nothing: the question does not matter, only the budget does.

    Args:
        order: documents from the ``oldest`` or from the ``newest``. A document without a date stands beside the one
            before it in the corpus; without any dates the order of the corpus counts as oldest first.
        dates: the date above a document: the ``day``, ``full`` as the document gives it, or ``none``.
    """

    native: int | None = None  # all of it

    def __init__(self, *, order: Order = "oldest", dates: Dates = "day") -> None:
        check_choice("order", order, get_args(Order))
        check_choice("dates", dates, DATES)
        self._order, self._dates = order, dates

    def build(self, corpus: Corpus, place: Path, context: BuildContext) -> Mapping[str, int]:
        """Write the documents, oldest first, under ``place``; each is one passage."""
        sources = [source(document, whole=True) for document in corpus.documents]
        sources = [item for item in sources if item.lines]
        documents = write_sources(place, _oldest_first(sources))
        seal(place, "full-context", _BUILT_WITH, [documents])
        context.progress(len(sources), len(sources))
        return {"passages": len(sources)}

    def open(self, ref: StoreRef) -> FullContextStore:
        """Load the store into memory."""
        place = unseal(ref, "full-context", _BUILT_WITH)
        try:
            sources = read_sources(place)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise damaged(place, f"a file of it cannot be read ({type(error).__name__})") from error
        return FullContextStore(sources[::-1] if self._order == "newest" else sources, self._dates)


class FullContextStore:
    """An open store; any number of threads may ask it."""

    def __init__(self, sources: Sequence[Source], dates: Dates) -> None:
        self._sources, self._dates = sources, dates

    def retrieve(self, query: Query) -> list[Passage]:
        """The documents in order, whatever the question."""
        filling = Filling(query)
        for item in self._sources:
            if filling.full:
                break
            rank = len(filling.passages) + 1
            filling.add(passage(item, item.lines, dates=self._dates, rank=rank, native_id=item.id))
        return filling.passages


def _oldest_first(sources: Sequence[Source]) -> list[Source]:
    keys: list[str] = []
    for item in sources:
        keys.append(item.date if item.date is not None else keys[-1] if keys else "")
    return [sources[at] for at in sorted(range(len(sources)), key=lambda at: (keys[at], at))]
