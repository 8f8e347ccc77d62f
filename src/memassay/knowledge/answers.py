"""What the tools do, one method each, on an open store: the same answers for an agent and for the command line."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from memassay.core.errors import UsageError
from memassay.core.tokens import Tokenizer, tokenizer
from memassay.knowledge import arguments as given
from memassay.knowledge import packing, views
from memassay.knowledge import query as queries
from memassay.knowledge.arguments import Selecting
from memassay.knowledge.conditions import condition
from memassay.knowledge.edits import Change
from memassay.knowledge.fields import Fields, Item
from memassay.knowledge.fitting import fitted
from memassay.knowledge.grains import candidate
from memassay.knowledge.listing import Limits, Listing, Overflow, as_json
from memassay.knowledge.packing import Packed, Packing
from memassay.knowledge.pages import Page, parse
from memassay.knowledge.selection import Selector
from memassay.knowledge.store import KnowledgeStore

_DIGEST = 16
_NO_BUDGET = 1 << 40


@dataclass(frozen=True, slots=True)
class Reply:
    """What a tool says: a JSON-ready value or a text, and a note on what is missing from it."""

    value: Any
    note: Item | None = None

    def texts(self) -> list[str]:
        """The blocks of text that a protocol sends."""
        said = self.value if isinstance(self.value, str) else as_json(self.value)
        return [said] if self.note is None else [said, as_json(self.note)]


class Answers:
    """The tools on one store. Threads may share it.

    Args:
        store: an open store.
    """

    def __init__(self, store: KnowledgeStore) -> None:
        self._store = store

    def find(self, asked: given.Find) -> Reply:
        """Pages as their fields."""
        return _listed(
            self._store.find(
                lexical=asked.lexical,
                fuzzy_query=asked.fuzzy,
                selector=selector(asked),
                refs_to=asked.refs_to,
                refs_from=asked.refs_from,
                sort=asked.sort,
                limit=asked.limit,
                fields=Fields(asked.project, asked.add_fields),
                limits=self._limits(asked.max_tokens, asked.max_document_tokens),
            )
        )

    def retrieve(self, asked: given.Retrieve) -> Reply:
        """Whole pages."""
        library = self._store.library
        chosen = selector(asked)
        seeds = [self._store.key(key) for key in asked.keys]
        if chosen != Selector():
            allowed = set(chosen.keys(library))
            seeds = [key for key in seeds if key in allowed]
        if not asked.keys or asked.search is not None or asked.fuzzy is not None:
            seeds += views.seeds(
                library, chosen.keys(library), lexical=asked.search, fuzzy_query=asked.fuzzy, rank=self._store.ranked
            )
        return _listed(
            self._store.retrieve(
                seeds[: asked.limit] if asked.limit else seeds,
                expansion=views.Expansion.read(asked.expand),
                order=asked.order,
                backlinks=asked.backlinks,
                children=asked.children,
                exclude=asked.exclude,
                limits=self._limits(asked.max_tokens, asked.max_document_tokens, asked.max_documents, asked.overflow),
            )
        )

    def search(self, asked: given.Search) -> Reply:
        """Passages that answer a question, best first, within the budget as they are sent.

        Their places and digests are of the text with line ends counted as one character and without a byte-order mark.
        """
        if not asked.text.strip():
            raise UsageError("The question is empty; say what to look for.")
        packed, value, tokens = self._fitting(asked)
        clipped = sum(piece.clipped or piece.part for piece in packed.pieces)
        if not packed.left_out and not clipped:
            return Reply(value)
        note: Item = {
            "truncated": bool(packed.left_out),
            "emitted": len(value),
            "matched": len(value) + len(packed.left_out),
            "clipped": clipped,
            "tokens": tokens,
            "budget": asked.max_tokens,
            "hint": "Raise max_tokens, or read whole pages with retrieve.",
        }
        return Reply(value, note)

    def tree(self, asked: given.Tree) -> Reply:
        """Which pages include which."""
        chosen = selector(asked)
        fields = None if asked.project is None else Fields(asked.project)
        if chosen == Selector():
            return self._fitted(self._store.tree(asked.keys or None, asked.depth, fields), asked.max_tokens)
        allowed = chosen.keys(self._store.library)
        keys = [self._store.key(key) for key in asked.keys] or allowed
        found = self._store.tree([key for key in keys if key in set(allowed)], asked.depth, fields)
        return self._fitted(found, asked.max_tokens)

    def squash(self, asked: given.Squash) -> Reply:
        """A page with what it includes."""
        return self._fitted(self._store.squash(asked.key, asked.depth), asked.max_tokens)

    def stats(self, asked: given.Stats) -> Reply:
        """Counts over all pages or the selected ones, or the figures of one."""
        chosen = selector(asked)
        if asked.key is not None and chosen != Selector():
            raise UsageError("stats is of one page or of selected pages; give key or a selector, not both.")
        keys = None if chosen == Selector() else chosen.keys(self._store.library)
        similar = asked.similar or asked.key is not None
        found = self._store.stats(asked.key, keys=keys, similar=similar, threshold=asked.threshold)
        return self._fitted(found, asked.max_tokens)

    def query(self, asked: given.Query) -> Reply:
        """Find, count or change by a query."""
        outcome = queries.run(
            self._store.library,
            asked.operation,
            asked.document,
            rank=self._store.ranked,
            strict=asked.strict,
            limits=self._limits(asked.max_tokens),
        )
        if asked.operation in ("find", "count"):
            return Reply(outcome.result, outcome.note)
        self._store.apply(outcome.changes, dry_run=asked.dry_run)
        told = {"dry_run": True, **outcome.result} if asked.dry_run else changes(outcome.changes)
        return self._fitted(told, asked.max_tokens)

    def create(self, asked: given.Create) -> Reply:
        """Write a new page."""
        key = self._store.key(asked.key)
        return Reply({"key": key, "created": self._store.create(asked.key, asked.content, if_exists=asked.if_exists)})

    def update(self, asked: given.Update) -> Reply:
        """Write a page anew."""
        change = self._store.update(asked.key, asked.content)
        titles = [parse(change.key, text or "").name for text in (change.before, change.after)]
        return Reply({"key": change.key, "previous_title": titles[0], "new_title": titles[1]})

    def delete(self, asked: given.Delete) -> Reply:
        """Take a page away."""
        return self._fitted(changes(self._store.delete(asked.key, dry_run=asked.dry_run)), asked.max_tokens)

    def rename(self, asked: given.Rename) -> Reply:
        """Give a page another key."""
        made = self._store.rename(asked.old_key, asked.new_key, dry_run=asked.dry_run)
        return self._fitted(changes(made), asked.max_tokens)

    def _fitting(self, asked: given.Search) -> tuple[Packing, list[Item], int]:
        """The most that fits once it is written as JSON: keys, places and quoting are paid out of the same budget."""
        snapshot = self._store.snapshot
        order, scores = self._store.finder(snapshot, asked.text)
        terms = self._store.terms(asked.text)
        shown = (candidate(snapshot, passage, asked.grain) for passage in order[: asked.limit or None])
        candidates = list(dict.fromkeys(shown))  # the passages of a section share one
        counter = tokenizer(snapshot.tokens)
        page = functools.cache(lambda key: parse(key, snapshot.stored(snapshot.find(key)).text))

        def packed(budget: int) -> tuple[Packing, list[Item], int]:
            found = packing.pack(snapshot, candidates, budget, scores=scores, terms=terms, analyze=self._store.terms)
            value = [_passage(page(piece.key), piece) for piece in found.pieces]
            return found, value, -(-counter.marks(as_json(value)) // counter.marks_per_token)

        most = asked.max_tokens or _NO_BUDGET
        best = tried = packed(most)
        if best[2] <= most:
            return best
        low, high, budget = -1, most, _paid(tried, counter, most)
        while low + 1 < high:
            budget = min(max(budget, low + 1), high - 1)
            tried = packed(budget)
            if tried[2] <= most:
                # Up to what it was short of, a larger budget shows the same.
                low, best = budget + tried[0].short - 1, tried
                budget = max(low + 1, tried[0].tokens + most - tried[2])
            else:
                high = min(budget, max(tried[0].tokens, low + 1))
                budget = max(high - (tried[2] - most), (low + high) // 2)
        return best

    def _fitted(self, value: Any, tokens: int) -> Reply:
        return Reply(*fitted(value, tokens, self._store.snapshot.tokens))

    def _limits(self, tokens: int, document_tokens: int = 0, documents: int = 0, overflow: Overflow = "stop") -> Limits:
        counter = self._store.snapshot.tokens
        return Limits(documents or None, document_tokens or None, tokens or None, overflow, counter)


def _paid(packed: tuple[Packing, list[Item], int], counter: Tokenizer, most: int) -> int:
    """About which budget leaves room for what JSON takes beside the words of these passages."""
    budget, room = 0, most * counter.marks_per_token
    for piece, item in zip(packed[0].pieces, packed[1], strict=True):
        sent = counter.marks(as_json(item))
        if sent > room:
            budget += max(room - (sent - piece.marks), 0)
            break
        budget, room = budget + piece.marks, room - sent
    return budget // counter.marks_per_token


def changes(made: Iterable[Change]) -> Item:
    """Changes as ``{creates: [{key, content}], updates: [{key, content}], removes: [key]}``."""
    value: dict[str, list[Any]] = {"creates": [], "updates": [], "removes": []}
    for change in made:
        if change.after is None:
            value["removes"].append(change.key)
        else:
            value["creates" if change.before is None else "updates"].append(
                {"key": change.key, "content": change.after}
            )
    return value


def selector(asked: Selecting) -> Selector:
    """The pages that the arguments keep to; where an entry has no depth of its own, ``max_depth`` is its depth."""
    inside, any_of, outside = (
        [_with_depth(entry, asked.max_depth) for entry in entries]
        for entries in (asked.inside, asked.in_any, asked.not_in)
    )
    return Selector.read(inside, any_of, outside, None if asked.filter is None else condition(asked.filter))


def _with_depth(entry: Any, depth: int) -> Any:
    if isinstance(entry, str):
        return {"key": entry, "depth": depth}
    return {"depth": depth, **entry} if isinstance(entry, dict) else entry


def _listed(listing: Listing) -> Reply:
    return Reply(listing.items, listing.note)


def _passage(page: Page, piece: Packed) -> Item:
    path = page.path(page.section_at(piece.span[0]))
    item: Item = {"key": piece.key, "sectionPath": path, "span": list(piece.span), "digest": piece.digest[:_DIGEST]}
    if page.title and page.title not in path:
        item["title"] = page.title
    item["text"] = piece.text
    return item | {"clipped": True} if piece.clipped or piece.part else item
