"""Coverage, size and error rates of the rules of the suite ``canary``, with the published rule beside them.

    nice python benchmarks/statistics/canary.py               all tables, 4,000 runs a cell (about ten minutes)
    nice python benchmarks/statistics/canary.py --runs 500    faster and rougher

Families weigh .50 .20 .10 and five times .04. Questions are independent unless a table says otherwise. A star marks
coverage under .93 or a size over .06 (.07 for an interval alone). Monte Carlo error at .95 and 4,000 runs: .0034; at
1,000 runs: .0069.
"""

from __future__ import annotations

import argparse
from itertools import combinations

import numpy as np
import numpy.typing as npt
from tables import covers, heading, mark, row

from memassay.stats import Clusters, aggregate_gaps, agreement, best_set, gap_bounds, stratified_flip
from memassay.stats.agreement import ac1s, kappas
from memassay.stats.gaps import question_weights
from memassay.suites.canary.families import FAMILIES, WEIGHTS
from memassay.suites.canary.power import decide, evidence, fabrications
from memassay.suites.canary.rules import RULES, Thresholds

Array = npt.NDArray[np.float64]
GOOD, SIZE = 0.93, 0.06
SHARES = np.array([WEIGHTS[family] for family in FAMILIES])
EVEN = np.full(8, 1 / 8)
DESIGNS = {
    "64, 8 each": [8] * 8,
    "64 by weight": [22, 12, 8, 5, 5, 4, 4, 4],
    "120 by weight": [50, 20, 10, 8, 8, 8, 8, 8],
    "32, 4 each": [4] * 8,
}
DRAWS, FLIPS = 1000, 999
OUTCOMES = [-1.0, 0.0, 0.5, 1.0]


def chances(gaps: float | list[float], ties: float | list[float]) -> Array:
    """Shape (8, 3): chances to win, lose and tie of each family."""
    gap, tied = (np.broadcast_to(np.asarray(x, dtype=np.float64), (8,)) for x in (gaps, ties))
    return np.stack([(1 - tied + gap) / 2, (1 - tied - gap) / 2, tied], axis=1).clip(0, 1)


TRUTHS = {
    "equal, no ties": chances(0, 0),
    "equal, 20 % ties": chances(0, 0.2),
    "equal, 40 % ties": chances(0, 0.4),
    "equal, 80 % ties": chances(0, 0.8),
    "equal in sum, families apart": chances([0.3, -0.6, -0.5, 0.4, 0.4, -0.4, -0.4, 0.5], 0.2),
    "4 points, 40 % ties": chances(0.04, 0.4),
    "36 points, 40 % ties": chances(0.36, 0.4),
    "36 points, lopsided": chances([0.6, 0.5, -0.6, 0, -0.2, 0.1, 0, -0.3], 0.2),
    "50 points, never lost": chances(0.5, 0.5),
    "70 points, 20 % ties": chances(0.7, 0.2),
    "85 points, 10 % ties": chances(0.85, 0.1),
    "95 points, no ties": chances(0.95, 0),
    "98 points, never lost": chances(0.98, 0.02),
    "first family unanimous": chances([0.98, 0.9, 0, 0, 0, 0, 0, 0], [0.02, 0.1, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4]),
}


def drawn(rng: np.random.Generator, sizes: list[int], p: Array, runs: int) -> npt.NDArray[np.int64]:
    return np.stack([rng.multinomial(n, p[f], runs) for f, n in enumerate(sizes)], axis=1).astype(np.int64)


def coverage(runs: int, rng: np.random.Generator) -> None:
    heading(
        f"Canary, gap of a pair: coverage of the true gap by the 95 % interval, {runs:,} runs a cell",
        *("questions", "truth", "weighted", "mean width", "Jeffreys alone", "width", "plug-in outside Jeffreys"),
        *("uniform", "Jeffreys alone", "weighted - uniform"),
    )
    for design, sizes in DESIGNS.items():
        for name, p in TRUTHS.items():
            counts = drawn(rng, sizes, p, runs)
            truths = p[:, 0] - p[:, 1]
            cells = []
            for weights in (SHARES, EVEN, SHARES - EVEN):
                found = gap_bounds(counts, weights, rng, draws=DRAWS)
                truth = float(weights @ truths)
                ours = float(((found.low <= truth + 1e-9) & (found.high >= truth - 1e-9)).mean())
                inner = (found.jeffreys_low <= truth + 1e-9) & (found.jeffreys_high >= truth - 1e-9)
                cells.append((ours, float(inner.mean()), found, weights))
            (ours, plain, found, weights), (even, plain_even, _, _), (difference, _, _, _) = cells
            plug_in = ((counts[:, :, 0] - counts[:, :, 1]) / counts.sum(axis=2)) @ weights
            outside = float(((plug_in < found.jeffreys_low) | (plug_in > found.jeffreys_high)).mean())
            row(
                design,
                name,
                mark(ours, ours < GOOD),
                f"{(found.high - found.low).mean():.2f}",
                mark(plain, plain < GOOD),
                f"{(found.jeffreys_high - found.jeffreys_low).mean():.2f}",
                f"{outside:.2f}",
                mark(even, even < GOOD),
                mark(plain_even, plain_even < GOOD),
                mark(difference, difference < GOOD),
            )


def size(runs: int, rng: np.random.Generator) -> None:
    heading(
        f"Canary, two equal memories: how often each rule says that they differ, {runs:,} runs a cell",
        *("questions", "truth", "sign flip p < .05", "interval excludes 0", "default decides", "seed-v1"),
        *("seed-v1, 1 % fabrications", "default, 1 % fabrications"),
    )
    for design, sizes in DESIGNS.items():
        for name, p in list(TRUTHS.items())[:5]:
            counts = drawn(rng, sizes, p, runs)
            shown = evidence(counts, SHARES.tolist(), 0.95, rng)
            clear = float(((shown.bounds.low > 0) | (shown.bounds.high < 0)).mean())
            flips = float((shown.p < 0.05).mean())
            said = {}
            for rate in (0.0, 0.01):
                fabricated = fabrications(sum(sizes), rate, runs, rng)
                for rule in RULES:
                    said[rule, rate] = float(decide(rule, shown, fabricated, Thresholds()).spoke.mean())
            row(
                design,
                name,
                mark(flips, flips > SIZE),
                mark(clear, clear > 1 - GOOD),
                mark(said["default", 0.0], said["default", 0.0] > SIZE),
                mark(said["seed-v1", 0.0], said["seed-v1", 0.0] > SIZE),
                mark(said["seed-v1", 0.01], said["seed-v1", 0.01] > SIZE),
                mark(said["default", 0.01], said["default", 0.01] > SIZE),
            )


def clustered(runs: int, rng: np.random.Generator) -> None:
    runs = runs // 4
    heading(
        f"Canary, questions in clusters, equal memories and 40 % ties: coverage and size, {runs:,} runs a cell",
        *("questions", "clusters of", "spread over families", "alike", "weighted", "width", "counts not scaled"),
        *("sign flip of clusters", "sign flip of questions"),
    )
    for design in ("64, 8 each", "120 by weight"):
        sizes = DESIGNS[design]
        families = np.repeat(np.arange(8), sizes)
        strata = Clusters.of(families)
        each = question_weights(strata, SHARES)
        weights = dict(enumerate(SHARES.tolist()))
        n = len(families)
        for of in (2, 4):
            for spread in (True, False):
                inside = np.concatenate([100 * f + np.arange(size) // of for f, size in enumerate(sizes)])
                for alike in (0.0, 0.5, 1.0):
                    hits, plain, width, whole, single = 0, 0, 0.0, 0, 0
                    for _ in range(runs):
                        groups = Clusters.of(rng.permutation(n) // of if spread else inside)
                        own, shared = (rng.choice([1.0, -1.0, 0.0], k, p=[0.3, 0.3, 0.4]) for k in (n, groups.count))
                        d = np.where((rng.random(groups.count) < alike)[groups.codes], shared[groups.codes], own)
                        gap = aggregate_gaps(d, strata, weights, groups, rng=rng, draws=500).weighted.gap
                        assert gap.low is not None and gap.high is not None
                        hits += covers(gap.low, gap.high, 0.0)
                        width += gap.high - gap.low
                        alone = aggregate_gaps(d, strata, weights, np.arange(n), rng=rng, draws=500).weighted.gap
                        plain += covers(alone.low, alone.high, 0.0)
                        whole += stratified_flip(d, each, groups, rng=rng, draws=FLIPS).p < 0.05
                        single += stratified_flip(d, each, np.arange(n), rng=rng, draws=FLIPS).p < 0.05
                    r = [count / runs for count in (hits, plain, whole, single)]
                    row(
                        design,
                        of,
                        "yes" if spread else "no",
                        alike,
                        mark(r[0], r[0] < GOOD),
                        f"{width / runs:.2f}",
                        mark(r[1], r[1] < GOOD),
                        mark(r[2], r[2] > SIZE),
                        mark(r[3], r[3] > SIZE),
                    )


def several(runs: int, rng: np.random.Generator) -> None:
    heading(
        f"Canary, eight equal memories: how often one is left out of the best, {runs:,} runs a cell",
        *("questions", "same label on a question", "max-T", "any of 28 pairs, unadjusted p < .05"),
    )
    names = [f"m{number}" for number in range(8)]
    pairs = np.array(list(combinations(range(8), 2)))
    for design, sizes in DESIGNS.items():
        each = question_weights(Clusters.of(np.repeat(np.arange(8), sizes)), SHARES)
        n = sum(sizes)
        for shared in (0.0, 0.5, 0.9):
            left_out = unadjusted = 0
            for _ in range(runs):
                own, common = (
                    rng.choice([-1.0, 0.0, 0.5, 1.0], shape, p=[0.1, 0.3, 0.2, 0.4]) for shape in ((n, 8), n)
                )
                values = np.where(rng.random((n, 8)) < shared, common[:, None], own)
                signs = np.sign(values[:, pairs[:, 0]] - values[:, pairs[:, 1]])
                found = best_set(names, signs, each, np.arange(n), rng=rng, draws=FLIPS)
                left_out += len(found.members) < 8 or found.cycle
                patterns = rng.integers(0, 2, (FLIPS, n)) * 2.0 - 1
                sums = np.abs(patterns @ (signs * each[:, None]))
                p = (1 + (sums >= np.abs(each @ signs) - 1e-12).sum(axis=0)) / (1 + FLIPS)
                unadjusted += bool((p < 0.05).any())
            rate = left_out / runs
            row(design, shared, mark(rate, rate > SIZE), f"{unadjusted / runs:.3f}")


def raters(runs: int, rng: np.random.Generator) -> None:
    runs = runs // 4
    heading(
        f"Canary, two judges: coverage of kappa and AC1, {runs:,} runs a cell",
        *("questions", "labels", "true kappa", "kappa", "true AC1", "AC1"),
    )
    for n in (32, 64, 120):
        for labels, shares in (
            (("a", "b", "tie"), (0.3, 0.25, 0.45)),
            (("correct", "partial", "incorrect", "abstained", "hallucinated"), (0.55, 0.2, 0.15, 0.06, 0.04)),
        ):
            k = len(labels)
            for same in (0.0, 0.3, 0.6, 0.85, 0.95):
                joint = same * np.diag(shares) + (1 - same) * np.outer(shares, shares)
                truth, truth_ac1 = float(kappas(joint[None])[0]), float(ac1s(joint[None])[0])
                hits = other = 0
                for _ in range(runs):
                    cells = rng.choice(k * k, n, p=joint.ravel())
                    first, second = ([labels[code] for code in codes] for codes in (cells // k, cells % k))
                    found = agreement(first, second, labels, np.arange(n), rng=rng)
                    hits += covers(found.kappa.low, found.kappa.high, truth)
                    other += covers(found.ac1.low, found.ac1.high, truth_ac1)
                r = (hits / runs, other / runs)
                row(n, k, f"{truth:.2f}", mark(r[0], r[0] < GOOD), f"{truth_ac1:.2f}", mark(r[1], r[1] < GOOD))


TABLES = {"coverage": coverage, "size": size, "clustered": clustered, "several": several, "raters": raters}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=4000)
    parser.add_argument("--only", choices=list(TABLES), help="one table")
    given = parser.parse_args()
    for number, (name, table) in enumerate(TABLES.items()):
        if given.only in (None, name):
            table(given.runs, np.random.Generator(np.random.PCG64([20260519, number])))


if __name__ == "__main__":
    main()
