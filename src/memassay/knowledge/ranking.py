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
_FRONT = 30


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
        dense: what the passage gains that an embedding model finds most similar, in the same units as ``anchor``.
    """

    seeds: int = 10
    depth: int = 1
    link: float = 0.8
    anchor: float = 0.75
    novelty: float = 0.5
    dense: float = 1.0


@dataclass(frozen=True, slots=True)
class Ranking:
    """An order: passages best first, their scores, and for each the seed whose link brought it, or -1."""

    passages: Ids
    scores: Floats
    via: Ids


def rank(
    index: Linked,
    terms: Sequence[str],
    named: Ids,
    weights: Weights,
    *,
    similar: tuple[Ids, Floats] | None = None,
    limit: int = 200,
) -> Ranking:
    """Order the passages for a question.

    Args:
        index: an open index.
        terms: the question as terms; a term that stands twice counts once.
        named: passages of pages that the question names.
        weights: how to weigh.
        similar: passages that an embedding model finds near the question, and how near, as a share of the nearest.
        limit: most passages of the result.

    Returns:
        Passages with a score above 0. Equal scores keep the order of the passages.
    """
    distinct = list(dict.fromkeys(terms))
    own = np.array(index.scores(distinct), dtype=np.float64)
    if len(named) or similar is not None:
        rarest = float(np.max(index.idf(distinct), initial=0.0)) or 1.0
        own[named] += weights.anchor * rarest
        if similar is not None:
            own[similar[0]] += weights.dense * rarest * similar[1]
    best = top(own, max(weights.seeds, _FRONT))
    seed, reached, factor = _pairs(index, best[: weights.seeds], weights)
    # Everything that can come to the front: what takes part in a pair, and the best without one.
    pool = np.unique(np.concatenate([seed, reached, best[:_FRONT]]))
    by_term = np.asarray(index.weights(distinct, pool), dtype=np.float64)
    together, via = _together(by_term, own[pool], np.searchsorted(pool, seed), np.searchsorted(pool, reached), factor)
    brought = np.full(len(own), -1, dtype=np.int64)
    better = together > own[pool]
    brought[pool[better]] = pool[via[better]]
    total = own
    total[pool] = np.maximum(own[pool], together)
    order = top(total, max(limit, _FRONT))
    front = order[:_FRONT]
    order[:_FRONT] = front[_by_novelty(by_term[:, np.searchsorted(pool, front)], total[front], weights.novelty)]
    order = order[:limit]
    return Ranking(order, total[order], brought[order])


def top(scores: Floats, count: int) -> Ids:
    """The highest ``count`` of the scores above 0, best first; equal scores keep their order."""
    matched = np.flatnonzero(scores > 0)
    values = scores.take(matched)
    if 0 < count < len(matched):
        at = len(matched) - count
        high = np.flatnonzero(values >= np.partition(values, at)[at])
        matched, values = matched.take(high), values.take(high)
    order: Ids = matched.take(np.argsort(-values, kind="stable")[:count])
    return order


def _pairs(index: Linked, seeds: Ids, weights: Weights) -> tuple[Ids, Ids, Floats]:
    """(seed, passage that links lead to from it, what the pair counts), nearer ones first."""
    found: list[tuple[Ids, Ids, Floats]] = [(seeds[:0], seeds[:0], np.empty(0))]
    owner, reached, factor = np.arange(len(seeds)), seeds, 1.0
    for _ in range(weights.depth if len(seeds) else 0):
        step, nearer = index.neighbours(reached)
        apart = seeds[owner[step]] != nearer
        owner, reached = owner[step][apart], nearer[apart]
        factor *= weights.link
        found.append((seeds[owner], reached, np.full(len(reached), factor)))
    seed, there, value = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return seed, there, value


def _together(by_term: Floats, own: Floats, left: Ids, right: Ids, factor: Floats) -> tuple[Floats, Ids]:
    """For each passage the best pair that it is part of, and the other one of that pair (0 and -1 without a pair).

    A pair is worth, for every term, the better of its two, and the better of what the two gain for a name.

    Args:
        by_term: ``[terms, passages]``.
        own: ``[passages]``, each passage alone.
        left: the one of each pair, as its place.
        right: the other one.
        factor: what each pair counts.
    """
    name = own - by_term.sum(axis=0)
    both = np.maximum(by_term[:, left], by_term[:, right]).sum(axis=0) + np.maximum(name[left], name[right])
    worth = factor * both
    value = np.concatenate([worth, worth])
    passage, partner = np.concatenate([right, left]), np.concatenate([left, right])
    order = np.lexsort((partner, -value, passage))
    passage, partner, value = passage[order], partner[order], value[order]
    first = np.flatnonzero(np.concatenate([passage[:1] >= 0, passage[1:] != passage[:-1]]))
    best, via = np.zeros(len(own)), np.full(len(own), -1, dtype=np.int64)
    best[passage[first]], via[passage[first]] = value[first], partner[first]
    return best, via


def _by_novelty(by_term: Floats, total: Floats, novelty: float) -> Ids:
    """An order of passages, as places: take again and again the one that adds most.

    A word counts ``1 - novelty * share`` less for each passage taken, where ``share`` is what the passage has of the
    most that any passage here has of that word; and half of a score at most is at stake, the rest stays.

    Args:
        by_term: ``[terms, passages]``.
        total: ``[passages]``, their scores, best first.
        novelty: see :class:`Weights`.
    """
    if novelty == 0 or not by_term.size:
        return np.arange(len(total))
    most = by_term.max(axis=1, keepdims=True)
    left = 1 - novelty * np.divide(by_term, most, out=np.zeros_like(by_term), where=most > 0)
    kept = total - 0.5 * by_term.sum(axis=0)
    counts = np.full(len(by_term), 0.5)
    after = list(left.T)
    order = []
    for _ in range(len(total)):
        best = (kept + counts @ by_term).argmax()
        order.append(best)
        kept[best] = -np.inf
        counts *= after[best]
    return np.array(order, dtype=np.int64)
