"""From a question to an order of passages: lexical seeds, their links, and what a passage adds to those before it.

Three ideas, in this order. A passage that shares words with the question is a *seed*. A passage that a seed links to,
or is linked from, is worth what the two cover **together**: for every word of the question the better of both. And in a
dossier that is cut at a budget a passage is worth what it **adds**, so that words of the question which earlier
passages hold count less. The constants were chosen on train questions of HotPotQA alone (docs/suites/hotpotqa.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]

# How many passages compete for the front; those behind keep the order of their scores.
_FRONT = 60


class Linked(Protocol):
    """What a ranking asks of an index. Passages are numbered from 0."""

    def scores(self, terms: Sequence[str]) -> NDArray[np.floating]:
        """One BM25 score per passage, 0 where no term stands."""
        ...

    def weights(self, terms: Sequence[str], passages: Ids) -> NDArray[np.floating]:
        """``[len(terms), len(passages)]``: what each term gives to the score of each passage."""
        ...

    def idf(self, terms: Sequence[str]) -> NDArray[np.floating]:
        """How rare each term is, 0 where it stands nowhere."""
        ...

    def neighbours(self, passages: Ids) -> tuple[Ids, Ids]:
        """Pairs (position in ``passages``, passage): what they link to and what links to them, without repetitions."""
        ...


@dataclass(frozen=True, slots=True)
class Weights:
    """How a ranking weighs.

    Attributes:
        seeds: passages that are expanded.
        depth: links that are followed from a seed; 0 follows none.
        link: what a pair counts for each link between its two, 0 to 1.
        anchor: what a page that the question names gains, in units of the rarest word of the question.
        novelty: how far a word that earlier passages hold stops counting, 0 (never) to 1.
    """

    seeds: int = 20
    depth: int = 1
    link: float = 0.8
    anchor: float = 0.75
    novelty: float = 0.5


@dataclass(frozen=True, slots=True)
class Ranking:
    """An order: passages best first, their scores, and for each the seed whose link brought it, or -1."""

    passages: Ids
    scores: Floats
    via: Ids


def rank(index: Linked, terms: Sequence[str], named: Ids, weights: Weights, *, limit: int = 200) -> Ranking:
    """Order the passages for a question.

    Args:
        index: an open index.
        terms: the question as terms; a term that stands twice counts once.
        named: passages of pages that the question names.
        weights: how to weigh.
        limit: most passages of the result.

    Returns:
        Passages with a score above 0. Equal scores keep the order of the passages.
    """
    distinct = list(dict.fromkeys(terms))
    rarity = index.idf(distinct)
    own = np.asarray(index.scores(distinct), dtype=np.float64).copy()
    own[named] += weights.anchor * float(rarity.max(initial=0.0))
    seeds = top(own, weights.seeds)
    found, together, via = _expanded(index, distinct, own, seeds, weights)
    total = own.copy()
    total[found] = np.maximum(own[found], together)
    first = top(total, max(limit, _FRONT))
    order = np.concatenate([_by_novelty(index, distinct, total, first[:_FRONT], weights.novelty), first[_FRONT:]])
    brought = np.full(len(own), -1, dtype=np.int64)
    brought[found[together > own[found]]] = via[together > own[found]]
    order = order[:limit]
    return Ranking(order, total[order], brought[order])


def top(scores: Floats, count: int) -> Ids:
    """The highest ``count`` of the scores above 0, best first; equal scores keep their order."""
    matched = np.flatnonzero(scores > 0)
    if 0 < count < len(matched):
        least = np.partition(scores[matched], len(matched) - count)[len(matched) - count]
        matched = matched[scores[matched] >= least]
    order: Ids = matched[np.argsort(-scores[matched], kind="stable")][:count]
    return order


def _expanded(
    index: Linked, terms: Sequence[str], own: Floats, seeds: Ids, weights: Weights
) -> tuple[Ids, Floats, Ids]:
    """What links make of passages: (passages, the best pair each is part of, the other one of that pair)."""
    ends: list[tuple[Ids, Ids, Floats]] = []
    owner, reached, factor = np.arange(len(seeds)), seeds, 1.0
    for _ in range(weights.depth):
        step, nearer = index.neighbours(reached)
        owner, reached = owner[step], nearer
        factor *= weights.link
        seed = seeds[owner]
        apart = seed != reached
        owner, reached, seed = owner[apart], reached[apart], seed[apart]
        if not len(reached):
            break
        both = factor * _coverage(index, terms, own, seed, reached)
        ends += [(reached, seed, both), (seed, reached, both)]
    if not ends:
        nothing = np.empty(0, dtype=np.int64)
        return nothing, np.empty(0), nothing
    passage, partner, value = (np.concatenate(parts) for parts in zip(*ends, strict=True))
    order = np.lexsort((partner, -value, passage))
    passage, partner, value = passage[order], partner[order], value[order]
    best = np.flatnonzero(np.concatenate([[True], passage[1:] != passage[:-1]]))
    return passage[best], value[best], partner[best]


def _coverage(index: Linked, terms: Sequence[str], own: Floats, left: Ids, right: Ids) -> Floats:
    """For each pair, the sum over the terms of the better of both, and the better of both gains for a name."""
    passages, at = np.unique(np.concatenate([left, right]), return_inverse=True)
    by_term = index.weights(terms, passages)
    name = own[passages] - by_term.sum(axis=0)
    here, there = at[: len(left)], at[len(left) :]
    both: Floats = np.maximum(by_term[:, here], by_term[:, there]).sum(axis=0) + np.maximum(name[here], name[there])
    return both


def _by_novelty(index: Linked, terms: Sequence[str], total: Floats, passages: Ids, novelty: float) -> Ids:
    """Take again and again the passage that adds most.

    A word counts ``1 - novelty * share`` less for each passage taken, where ``share`` is what the passage has of the
    most that any passage here has of that word; and half of a score at most is at stake, the rest stays.
    """
    if novelty == 0 or len(passages) < 2:
        return passages
    by_term = np.asarray(index.weights(terms, passages), dtype=np.float64)
    most = by_term.max(axis=1, keepdims=True)
    share = np.divide(by_term, most, out=np.zeros_like(by_term), where=most > 0)
    kept = total[passages] - 0.5 * by_term.sum(axis=0)
    counts = np.full(len(terms), 0.5)
    order = []
    for _ in range(len(passages)):
        best = int(np.argmax(kept + counts @ by_term))
        order.append(best)
        kept[best] = -np.inf
        counts *= 1 - novelty * share[:, best]
    return passages[order]
