"""Lists of documents as they are handed out: JSON-ready, within a budget of tokens, with a note on what is missing."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from memassay.core.tokens import DEFAULT_TOKENS, tokenizer

Overflow = Literal["stop", "skip"]
Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Listing:
    """Documents and, where some were left out or cut, what a caller should know about it."""

    items: list[Item]
    note: Item | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be handed out; None has no limit.

    Attributes:
        documents: the most documents.
        document_tokens: the most tokens of one document's content; the rest gives way to a marker.
        tokens: the most tokens of the list as compact JSON, keys, titles and edges included. The first document is kept
            whatever it costs.
        overflow: at the first document that does not fit, ``stop``, or ``skip`` it and go on.
        counter: name of the tokenizer.
    """

    documents: int | None = None
    document_tokens: int | None = None
    tokens: int | None = None
    overflow: Overflow = "stop"
    counter: str = DEFAULT_TOKENS

    def listing(self, items: Iterable[Item], matched: int) -> Listing:
        """The items that fit, in their order. ``items`` is read only as far as needed."""
        kept: list[Item] = []
        spent = clipped = 0
        whole = True
        for item in items:
            if self.documents is not None and len(kept) >= max(self.documents, 1):
                whole = False
                break
            shown, cut = self._clipped(item)
            cost = 0 if self.tokens is None else self._count(as_json(shown) + ",")
            if self.tokens is not None and not kept and self._count(as_json([shown])) > self.tokens:
                # The first is always given, and a page of any size must not break the budget: it is cut.
                shown, cut = self._fitted(shown)
                cost = self._count(as_json(shown) + ",")
            if self.tokens is not None and kept and spent + cost > self.tokens:
                whole = False
                if self.overflow == "stop":
                    break
                continue
            kept.append(shown)
            spent += cost
            clipped += cut
        # Joined, the pieces can count a token more than apart.
        while self.tokens is not None and len(kept) > 1 and self._count(as_json(kept)) > self.tokens:
            kept.pop()
            whole = False
        if whole and not clipped and (self.tokens is None or spent <= self.tokens):
            return Listing(kept)
        note: Item = {"truncated": not whole, "emitted": len(kept), "matched": matched, "clipped": clipped}
        if self.tokens is not None:
            note |= {"tokens": self._count(as_json(kept)), "budget": self.tokens}
        note["hint"] = "Raise the limit, ask for less, or read the missing pages by their keys."
        return Listing(kept, note)

    def _clipped(self, item: Item) -> tuple[Item, bool]:
        return (item, False) if self.document_tokens is None else self._cut(item, self.document_tokens)

    def _fitted(self, item: Item) -> tuple[Item, bool]:
        """An item whose content is cut so that the item as JSON keeps the budget, as far as the rest of it does."""
        room = self.tokens or 0
        shown, cut = item, False
        while room > 0 and self._count(as_json([shown])) > (self.tokens or 0):
            room = room * 3 // 4
            shown, cut = self._cut(item, room)
        return shown, cut

    def _cut(self, item: Item, tokens: int) -> tuple[Item, bool]:
        content = item.get("content")
        if not isinstance(content, str):
            return item, False
        counter = tokenizer(self.counter)
        least = tokens * counter.marks_per_token
        marks = counter.marks(content)
        if marks <= least:
            return item, False
        omitted = -(-(marks - least) // counter.marks_per_token)
        head = counter.cut(content, least).rstrip()
        return item | {"content": f"{head}\n\n⋯ truncated ({omitted} tokens omitted)"}, True

    def _count(self, text: str) -> int:
        counter = tokenizer(self.counter)
        return -(-counter.marks(text) // counter.marks_per_token)


def as_json(value: Any) -> str:
    """Compact JSON, letters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
