"""The labels that judges gave beside those that were given by rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from memassay.core.pairs import PairVerdict
from memassay.core.types import Estimate
from memassay.stats.agreement import Agreement, agreement
from memassay.stats.clustered import question_mean
from memassay.suites.canary.labels import Found
from memassay.suites.canary.standings import LABELS, Standings

FIVE: tuple[str, ...] = tuple(label for label in get_args(Found) if label != "undetermined")
"""What a judge may say, in the order of every table."""


@dataclass(frozen=True)
class Labelling:
    """The labels of one judge. A reading is a dossier as it was seen in one pair, in both orders.

    Attributes:
        changed: share of the readings whose label is another one in the other order, though no label depends on it.
        rows, columns: of ``table``: the judge's labels, and those by rule.
        table: readings with one label in both orders.
        agreement: of those that have one of the five labels by rule.
    """

    changed: Estimate
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    table: tuple[tuple[int, ...], ...]
    agreement: Agreement


def labelling(verdicts: Sequence[PairVerdict], found: Standings, rng: np.random.Generator, level: float) -> Labelling:
    """The labels of one judge.

    Args:
        verdicts: all of this judge's, without probes, on questions that count.
        found: labels by rule.
        rng: named generator.
        level: two-sided confidence level.
    """
    clusters = {asked.id: asked.cluster for asked in found.questions}
    readings: dict[tuple[str, str, str, int, str], dict[int, str]] = {}
    for one in verdicts:
        if one.repetition or one.labels is None:
            continue
        shown = (one.a, one.b) if one.order == 0 else (one.b, one.a)
        for memory, label in zip(shown, one.labels, strict=True):
            if label in FIVE:
                readings.setdefault((one.task, one.a, one.b, one.build, memory), {})[one.order] = label
    both = sorted((key, said[0], said[1]) for key, said in readings.items() if len(said) == 2)
    kept = [(key[0], label, found.by[key[4]][key[0]].label) for key, label, other in both if label == other]
    counted = Counter((label, rule) for _, label, rule in kept)
    decided = [row for row in kept if row[2] in FIVE]
    return Labelling(
        changed=question_mean(
            [float(label != other) for _, label, other in both], [clusters[key[0]] for key, _, _ in both], level=level
        ),
        rows=FIVE,
        columns=LABELS,
        table=tuple(tuple(counted[label, rule] for rule in LABELS) for label in FIVE),
        agreement=agreement(
            [row[1] for row in decided],
            [row[2] for row in decided],
            FIVE,
            [clusters[row[0]] for row in decided],
            rng=rng,
            level=level,
        ),
    )
