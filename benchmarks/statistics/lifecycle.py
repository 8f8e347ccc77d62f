"""Coverage of the intervals of the suite ``lifecycle``: a rate over attempts, and pass^k, both over protocols.

    nice python benchmarks/statistics/lifecycle.py               both tables, 4,000 runs a cell (some minutes)
    nice python benchmarks/statistics/lifecycle.py --runs 500    faster and rougher

Protocols are drawn anew in every run: each has its own rate from a Beta distribution with the mean ``p`` and the
correlation ``alike`` between two attempts at one protocol, and its k attempts are Bernoulli. The design effect of a
rate is then 1 + (k - 1) x alike: 1 where attempts at a protocol have nothing in common, k where they are all the same.
pass^j is the mean of (a protocol's rate)^j. A star marks coverage under .93; Monte Carlo error at .95 and 4,000 runs:
.0034.
"""

from __future__ import annotations

import argparse
import functools
import math

import numpy as np
import numpy.typing as npt
from tables import covers, heading, mark, row

from memassay.core.types import Estimate
from memassay.stats import Clusters, attempt_share, pass_hat
from memassay.stats.clustered import cluster_se
from memassay.stats.distributions import two_sided_t

PROTOCOLS = (18, 30, 36)
ATTEMPTS = (1, 3, 5)
RATES = (0.5, 0.9, 0.98, 1.0)
ALIKE = (0.0, 0.25, 0.5, 0.75, 1.0)
RESAMPLES = 999
GOOD = 0.93

Counts = npt.NDArray[np.int64]


def counts_of(rng: np.random.Generator, runs: int, n: int, k: int, p: float, alike: float) -> Counts:
    """Right attempts of every protocol, shape (runs, n)."""
    if alike == 1:
        return k * rng.binomial(1, p, (runs, n))
    total = 1 / alike - 1 if alike else 0.0
    rates = rng.beta(p * total, (1 - p) * total, (runs, n)) if alike and p < 1 else np.full((runs, n), p)
    return rng.binomial(k, rates)


def moment(p: float, alike: float, j: int) -> float:
    """The mean of (a protocol's rate)^j."""
    if alike == 0 or p == 1:
        return p**j
    if alike == 1:
        return p
    total = 1 / alike - 1
    return math.prod((p * total + i) / (total + i) for i in range(j))


@functools.cache
def rated(counts: tuple[int, ...], k: int) -> tuple[Estimate, tuple[float, float]]:
    """Our interval of a rate, and mean +- t x standard error."""
    n = len(counts)
    values = np.array([at < count for count in counts for at in range(k)], dtype=np.float64)
    groups = Clusters.of(np.repeat(np.arange(n), k))
    mean, half = float(values.mean()), two_sided_t(0.95, n - 1) * cluster_se(values, groups)
    return attempt_share(values.tolist(), groups), (mean - half, mean + half)


def bootstrap(rng: np.random.Generator, counts: tuple[int, ...], k: int) -> tuple[float, float]:
    """The percentile bootstrap over protocols, as published."""
    held = np.bincount(counts, minlength=k + 1)
    means = rng.multinomial(len(counts), held / len(counts), RESAMPLES) @ np.arange(k + 1) / (k * len(counts))
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)


@functools.cache
def passes(counts: tuple[int, ...], k: int, j: int) -> Estimate:
    attempts = {f"{at:02d}": [True] * count + [False] * (k - count) for at, count in enumerate(counts)}
    return pass_hat(attempts, k, j)


def cells(runs: int, rng: np.random.Generator) -> None:
    heading(
        f"Lifecycle, a rate over attempts: coverage of the 95 % interval, {runs:,} runs a cell",
        *("protocols", "attempts", "p", "alike", "design effect", "ours", "mean width", "t over protocols"),
        f"percentile bootstrap ({RESAMPLES} draws)",
    )
    for n in PROTOCOLS:
        for k in ATTEMPTS:
            for p in RATES:
                for alike in ALIKE if k > 1 and p < 1 else (0.0,):
                    hits, width = np.zeros(3), 0.0
                    for counts in map(tuple, np.sort(counts_of(rng, runs, n, k, p, alike)).tolist()):
                        ours, t = rated(counts, k)
                        hits += [
                            covers(ours.low, ours.high, p),
                            covers(*t, p),
                            covers(*bootstrap(rng, counts, k), p),
                        ]
                        width += (ours.high or 0) - (ours.low or 0)
                    found = [mark(value, value < GOOD) for value in hits / runs]
                    effect = f"{1 + (k - 1) * alike:g}"
                    row(n, k, p, alike, effect, found[0], f"{width / runs:.3f}", *found[1:])
        rated.cache_clear()


def all_passed(runs: int, rng: np.random.Generator) -> None:
    heading(
        f"Lifecycle, pass^j: coverage of the 95 % interval, {runs:,} runs a cell",
        *("protocols", "k", "p", "alike", "j", "true pass^j", "ours", "mean width"),
    )
    for n in PROTOCOLS:
        for k in ATTEMPTS:
            for p in RATES[:-1]:
                for alike in ALIKE if k > 1 else (0.0,):
                    drawn = [tuple(one) for one in np.sort(counts_of(rng, runs, n, k, p, alike)).tolist()]
                    for j in sorted({k, (k + 1) // 2}):
                        truth = moment(p, alike, j)
                        found = [passes(counts, k, j) for counts in drawn]
                        share = sum(covers(one.low, one.high, truth) for one in found) / runs
                        width = sum((one.high or 0) - (one.low or 0) for one in found) / runs
                        row(n, k, p, alike, j, f"{truth:.3f}", mark(share, share < GOOD), f"{width:.3f}")
        passes.cache_clear()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=4000)
    given = parser.parse_args()
    for number, table in enumerate((cells, all_passed)):
        table(given.runs, np.random.Generator(np.random.PCG64([20261130, number])))


if __name__ == "__main__":
    main()
