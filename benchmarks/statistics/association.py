"""Coverage and error rates of the two rules of the suite ``association``, and of the published ones beside them.

    python benchmarks/statistics/association.py               all tables, 4,000 runs a cell (about three minutes)
    python benchmarks/statistics/association.py --runs 500    faster and rougher

Tasks are independent, given one world. A star marks coverage under .93. Monte Carlo error at .95 and 4,000 runs: .0034;
at .5: .0079.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from tables import covers, heading, mark, row

from memassay.stats import material_loss, paired_ratio

Array = npt.NDArray[np.float64]
TASKS = (20, 65)
REPETITIONS = 3
GOOD = 0.93
RESAMPLES, LOW, HIGH = 2000, 50, 1949  # as in memassay.suites.association.published


def published(rng: np.random.Generator, differences: Array) -> tuple[float, float]:
    """The published percentile bootstrap, with numpy's generator in the place of Python's at seed 0."""
    n = len(differences)
    means = np.sort(differences[rng.integers(0, n, (RESAMPLES, n))].mean(axis=1))
    return float(means[LOW]), float(means[HIGH])


def ceiling(runs: int, rng: np.random.Generator) -> None:
    """How much is lost on a task does not count: interval and difference scale with it."""
    heading(
        f"Percentile bootstrap, as published, near the ceiling: coverage of the true mean difference, {runs:,} runs",
        *("tasks", "tasks truly lost", "coverage", "interval [0, 0]"),
    )
    for n in TASKS:
        for rate in (0.01, 0.02, 0.05, 0.1, 0.2):
            hits = nothing = 0
            for _ in range(runs):
                differences = np.where(rng.random(n) < rate, -1.0, 0.0)
                hits += covers(*published(rng, differences), -rate)
                nothing += not differences.any()
            row(n, rate, mark(hits / runs, hits / runs < GOOD), f"{nothing / runs:.3f}")


def correctness(runs: int, rng: np.random.Generator) -> None:
    heading(
        f"Correctness: how often a gate passes, {runs:,} runs",
        *("tasks", "truly lost", "truly won", "published: mean >= 0", "ours passes", "ours fails", "no decision"),
    )
    for n in (20, 29, 65):
        for lost, won in (
            (0.0, 0.0),
            (0.01, 0.0),
            (0.02, 0.02),
            (0.05, 0.05),
            (0.1, 0.0),
            (0.1, 0.1),
            (0.2, 0.2),
            (0.3, 0.0),
        ):
            counts = {"passed": 0, "failed": 0, "no decision": 0}
            above = 0
            for _ in range(runs):
                drawn = rng.random(n)
                contender = np.where(drawn < lost, 0.0, 1.0)
                baseline = np.where(drawn > 1 - won, 0.0, 1.0)
                above += float((contender - baseline).mean()) >= 0
                counts[material_loss(contender, baseline).outcome] += 1
            row(n, lost, won, f"{above / runs:.3f}", *(f"{counts[key] / runs:.3f}" for key in counts))


def _even(rng: np.random.Generator, n: int) -> Array:
    return np.exp(rng.normal(0, 0.4, (n, REPETITIONS)))


def _runaway(rng: np.random.Generator, n: int) -> Array:
    """One session in ten takes four times as much: it ran until a limit."""
    return _even(rng, n) * np.where(rng.random((n, REPETITIONS)) < 0.1, 4.0, 1.0)


def _tasks(rng: np.random.Generator, n: int) -> Array:
    """One task in ten takes four times as much, in this arm."""
    return _even(rng, n) * np.where(rng.random((n, 1)) < 0.1, 4.0, 1.0)


COSTS: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "even": _even, "runaway sessions": _runaway, "runaway tasks": _tasks,
}  # fmt: skip


def costs(runs: int, rng: np.random.Generator) -> None:
    heading(
        f"Cost, equal arms: {runs:,} runs",
        *("tasks", "costs", "ours covers 1", "ours errs", "published covers 0", "published wholly below 0"),
    )
    for n in TASKS:
        for name, draw in COSTS.items():
            hits = errs = theirs = below = 0
            for _ in range(runs):
                task = np.exp(rng.normal(0, 0.7, n))
                a, b = (task * draw(rng, n).mean(axis=1) for _ in range(2))
                found = paired_ratio(a, b, rng=rng, draws=999)
                inside = covers(found.ratio.low, found.ratio.high, 1.0)
                hits += inside
                errs += not inside and (found.p or 1) <= 0.05
                low, high = published(rng, a - b)
                theirs += covers(low, high, 0.0)
                below += high < 0
            covered, covered_there = (mark(count / runs, count / runs < GOOD) for count in (hits, theirs))
            row(n, name, covered, f"{errs / runs:.3f}", covered_there, f"{below / runs:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=4000)
    runs = parser.parse_args().runs
    for number, table in enumerate((ceiling, correctness, costs)):
        table(runs, np.random.Generator(np.random.PCG64([20260910, number])))


if __name__ == "__main__":
    main()
