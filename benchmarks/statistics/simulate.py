"""Coverage and size of every rule of the statistics contract that is built, by simulation.

    python benchmarks/statistics/simulate.py                  all tables, 4,000 runs a cell (about half an hour)
    python benchmarks/statistics/simulate.py one-arm gate     some of them
    python benchmarks/statistics/simulate.py --runs 500       faster and rougher

Clusters are drawn anew in every run: cluster g has its own success rate from a Beta distribution with the wanted mean
and intra-cluster correlation (icc), and its questions are Bernoulli. Values under .93 (coverage) and over .07 (size)
are marked. Monte Carlo error at .95 and 4,000 runs: .0034; at .5: .0079.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import independent
import numpy as np
import numpy.typing as npt
from tables import covers, error, heading, mark, row

from memassay.stats import (
    Clusters,
    check_random,
    detectable_difference,
    draw_band,
    holm,
    max_t,
    paired_difference,
    question_mean,
    regression_gate,
    verdict,
    verdict_power,
)
from memassay.stats.clustered import cluster_se
from memassay.stats.distributions import two_sided_t, two_sided_z
from memassay.stats.power import Pilot

Array = npt.NDArray[np.float64]

SHARES = (0.1, 0.3, 0.5, 0.8, 0.9, 0.95, 0.99, 1.0)
RESAMPLES = 999
MEASURED_ICC = 0.02  # all@4000 of BM25 over 5-turn windows on LOCOMO: .023; over turns: .004


def sizes(design: str, count: int) -> npt.NDArray[np.int64]:
    """Questions per cluster: as unequal as LOCOMO's conversations, its rarest category, or a small private test."""
    if design == "conversations":
        return np.linspace(60, 200, count).round().astype(np.int64)
    if design == "open-domain":
        return np.linspace(5, 14, count).round().astype(np.int64)
    total = int(design.split()[0])
    return np.full(count, total // count) + (np.arange(count) < total % count)


def clusters_of(design: str, count: int) -> Clusters:
    return Clusters.of(np.repeat(np.arange(count), sizes(design, count)))


def rates(rng: np.random.Generator, p: float, icc: float, count: int) -> Array:
    if icc == 0 or p in (0.0, 1.0):
        return np.full(count, p)
    total = 1 / icc - 1
    return rng.beta(p * total, (1 - p) * total, count)


def bootstrap(rng: np.random.Generator, sums: Array, n: Array) -> tuple[float, float]:
    """The percentile bootstrap over clusters, as most reports use it."""
    picked = rng.integers(0, len(n), (RESAMPLES, len(n)))
    means = np.sort(sums[picked].sum(axis=1) / n[picked].sum(axis=1))
    return float(means[int(0.025 * RESAMPLES)]), float(means[int(0.975 * RESAMPLES)])


# -- locomo: one arm -----------------------------------------------------------------------------------------------


def one_arm(runs: int, rng: np.random.Generator) -> None:
    heading(
        f"One arm: coverage of the 95 % interval, {runs:,} runs a cell",
        *("design", "G", "icc", "p", "ours", "mean width", "share KG", "warned", "z", "bootstrap", "MC error"),
    )
    plan = [
        ("conversations", 8, MEASURED_ICC),
        ("conversations", 10, MEASURED_ICC),
        ("conversations", 8, 0.0),
        ("conversations", 8, 0.1),
        ("conversations", 5, MEASURED_ICC),
        ("conversations", 3, MEASURED_ICC),
        ("open-domain", 8, MEASURED_ICC),
        ("60 tasks", 10, MEASURED_ICC),
        ("20 tasks", 10, MEASURED_ICC),
        ("fractions", 8, MEASURED_ICC),
    ]
    for design, count, icc in plan:
        groups = clusters_of("conversations" if design == "fractions" else design, count)
        for p in SHARES:
            hits, width, kg, warned = np.zeros(3), 0.0, 0, 0
            for _ in range(runs):
                chance = rates(rng, p, icc, count)[groups.codes]
                if design == "fractions":  # a question with two gold units: recall is 0, 1/2 or 1
                    x = rng.binomial(2, chance) / 2.0
                else:
                    x = (rng.random(groups.n) < chance).astype(np.float64)
                ours = question_mean(x, groups)
                mean, half = float(x.mean()), two_sided_z(0.95) * cluster_se(x, groups)
                low, high = bootstrap(rng, groups.sums(x), groups.sizes)
                hits += [
                    covers(ours.low, ours.high, p),
                    covers(mean - half, mean + half, p),
                    covers(low, high, p),
                ]
                width += (ours.high or 0) - (ours.low or 0)
                kg += ours.method.startswith("korn")
                warned += "," in ours.method
            ours_, z, boot = hits / runs
            row(
                *(design, count, icc, p if p < 1 else "all ones", mark(ours_, ours_ < 0.93), f"{width / runs:.3f}"),
                *(
                    f"{kg / runs:.2f}",
                    f"{warned / runs:.2f}",
                    mark(z, z < 0.93),
                    mark(boot, boot < 0.93),
                    f"{error(ours_, runs):.4f}",
                ),
            )


# -- locomo: two arms ----------------------------------------------------------------------------------------------


def outcomes(rng: np.random.Generator, groups: Clusters, p: float, icc: float) -> npt.NDArray[np.bool_]:
    """Right or wrong for every question, with cluster rates drawn anew."""
    return rng.random(groups.n) < rates(rng, p, icc, groups.count)[groups.codes]


def arms_like(
    rng: np.random.Generator, groups: Clusters, p: float, icc: float, churn: float, means: Sequence[float]
) -> Array:
    """Scores of shape (n, arms): every arm takes a common outcome, but redraws a share ``churn`` with its own mean."""
    common = outcomes(rng, groups, p, icc)
    arms = [np.where(rng.random(groups.n) < churn, outcomes(rng, groups, mean, icc), common) for mean in means]
    return np.stack(arms, axis=1).astype(np.float64)


def two_arms(runs: int, rng: np.random.Generator) -> None:
    heading(
        f"Two arms, no true difference: coverage of 0 and false verdicts, {runs:,} runs a cell",
        *("design", "G", "icc", "p", "churn", "ours", "cluster t alone", "z", "bootstrap"),
        *("sign-flip p <= .05", "false verdict", "McNemar p <= .05"),
    )
    plan = [
        ("conversations", 8, MEASURED_ICC, 0.2),
        ("conversations", 10, MEASURED_ICC, 0.2),
        ("conversations", 8, 0.1, 0.2),
        ("conversations", 8, MEASURED_ICC, 0.01),
        ("open-domain", 8, MEASURED_ICC, 0.2),
        ("60 tasks", 10, MEASURED_ICC, 0.2),
        ("20 tasks", 10, MEASURED_ICC, 0.2),
    ]
    for design, count, icc, churn in plan:
        groups = clusters_of(design, count)
        for p in (0.1, 0.5, 0.8, 0.95, 0.99, 1.0):
            total = np.zeros(7)
            for _ in range(runs):
                a, b = arms_like(rng, groups, p, icc, churn, (p, p)).T
                result = paired_difference(a, b, groups)
                mean, se = result.diff.value or 0.0, result.se or 0.0
                t_half = two_sided_t(0.95, count - 1) * se
                low, high = bootstrap(rng, groups.sums(a - b), groups.sizes)
                word = verdict(result, primary=True).word
                total += [
                    covers(result.diff.low, result.diff.high, 0.0),
                    covers(mean - t_half, mean + t_half, 0.0),
                    covers(mean - 1.96 * se, mean + 1.96 * se, 0.0),
                    covers(low, high, 0.0),
                    result.p is not None and result.p <= 0.05,
                    word in ("better", "worse"),
                    result.mcnemar is not None and result.mcnemar.p <= 0.05,
                ]
            r = total / runs
            row(
                *(design, count, icc, p if p < 1 else "all ones", churn),
                *(mark(value, value < 0.93) for value in r[:4]),
                *(mark(value, value > 0.07) for value in r[4:]),
            )


# -- locomo: many comparisons --------------------------------------------------------------------------------------


def family(runs: int, rng: np.random.Generator) -> None:
    heading(
        f"Ten comparisons of five arms, {runs:,} runs a cell: any false rejection; share of true differences found",
        *("G", "true gap of one arm", "max-T any false", "Holm any false", "unadjusted any false"),
        *("max-T found", "Holm found"),
    )
    names = [(i, j) for i in range(5) for j in range(i)]
    for count in (8, 10):
        groups = clusters_of("conversations", count)
        for gap in (0.0, 0.04, 0.08):
            false, found = np.zeros(3), np.zeros(2)
            real = np.array([gap > 0 and 4 in pair for pair in names])
            for _ in range(runs):
                means = [0.75] * 4 + [0.75 + gap / 0.4]
                x = arms_like(rng, groups, 0.75, MEASURED_ICC, 0.4, means)
                d = np.stack([x[:, i] - x[:, j] for i, j in names], axis=1)
                single = np.array([max_t(d[:, k], groups)[0] for k in range(len(names))], dtype=np.float64)
                adjusted = np.array(max_t(d, groups), dtype=np.float64)
                stepped = np.array(holm(single.tolist()))
                for position, p in enumerate((adjusted, stepped, single)):
                    false[position] += (p[~real] <= 0.05).any()
                if real.any():
                    found += [(adjusted[real] <= 0.05).mean(), (stepped[real] <= 0.05).mean()]
            rate = false / runs
            power = [f"{value / runs:.3f}" for value in found] if real.any() else ["", ""]
            row(count, gap, *(mark(value, value > 0.07) for value in rate), *power)


# -- regression gate -----------------------------------------------------------------------------------------------


def gate(runs: int, rng: np.random.Generator) -> None:
    heading(
        f"Regression gate, margin .03, {runs:,} runs a cell: what it says when the true change is as given",
        *("G", "metrics", "true change", "passed", "failed", "no decision", "point drop > 0 would fail"),
    )
    for count in (8, 10):
        groups = clusters_of("conversations", count)
        for m in (1, 4):
            for change in (0.0, 0.02, -0.015, -0.03, -0.06):
                seen = {"passed": 0, "failed": 0, "no decision": 0}
                point = 0
                for _ in range(runs):
                    arms = arms_like(rng, groups, 0.6, MEASURED_ICC, 0.2, (0.6, 0.6 + change / 0.19))
                    # Several metrics: the same outcome, each with its own one in twenty lost.
                    kept = rng.random((2, groups.n, m)) < 0.95
                    old, new = arms.T[:, :, None] * kept
                    seen[regression_gate(new, old, groups, margin=0.03).verdict] += 1
                    point += bool((new.mean(axis=0) < old.mean(axis=0)).any())
                row(
                    count,
                    m,
                    f"{change:+.3f}",
                    *(f"{v / runs:.3f}" for v in seen.values()),
                    f"{point / runs:.3f}",
                )


# -- control bands -------------------------------------------------------------------------------------------------


def controls(runs: int, rng: np.random.Generator) -> None:
    heading(
        f"Band of the random control from 200 draws, level .999, {runs:,} runs a cell: one more draw outside",
        *("questions", "chance", "ours", "mean +- 3.29 sd"),
    )
    for n in (20, 60, 1305):
        for chance in (0.02, 0.1, 0.4):
            out = np.zeros(2)
            for _ in range(runs):
                draws = rng.binomial(n, chance, 201) / n
                band = draw_band(draws[:200])
                normal = abs(draws[200] - band.mean) > 3.2905 * band.sd
                out += [not check_random(float(draws[200]), band).passed, normal]
            row(n, chance, *(f"{value / runs:.4f}" for value in out))


# -- power ---------------------------------------------------------------------------------------------------------


def power(runs: int, rng: np.random.Generator) -> None:
    heading(
        f"Power: verdicts at the difference that is said to be found in 80 % of runs, {runs:,} runs a cell",
        *(
            "design",
            "G",
            "sd",
            "icc",
            "detectable",
            "interval excludes 0",
            "sign-flip p <= .05",
            "verdict",
            "verdict_power says",
        ),
    )
    for design, count in (("conversations", 8), ("conversations", 10), ("open-domain", 8), ("60 tasks", 10)):
        for icc in (0.0, 0.003, 0.012):
            groups = clusters_of(design, count)
            pilot = Pilot(sd=0.4, icc=icc, source="simulation")
            gap = detectable_difference(sizes(design, count), pilot=pilot).detectable
            hits = np.zeros(3)
            for _ in range(runs):
                # The differences are -1, 0 or 1 with the wanted mean, standard deviation and correlation.
                shift = gap + rng.normal(0, 0.4 * np.sqrt(icc), count)[groups.codes]
                spread = 0.16 * (1 - icc) + shift**2
                u = rng.random(groups.n)
                up, down = (spread + shift) / 2, (spread - shift) / 2
                a = (u < up).astype(np.float64)
                b = ((u >= up) & (u < up + np.maximum(down, 0))).astype(np.float64)
                result = paired_difference(a, b, groups)
                low = result.diff.low or 0.0
                hits += [low > 0, (result.p or 1.0) <= 0.05, verdict(result, primary=True).word == "better"]
            predicted = verdict_power(gap, sizes(design, count), rng=rng, pilot=pilot)
            rate = [f"{value / runs:.3f}" for value in hits]
            row(design, count, 0.4, icc, f"{gap:.3f}", *rate, f"{predicted:.3f}")


TABLES: dict[str, Callable[[int, np.random.Generator], None]] = {
    "one-arm": one_arm,
    "two-arms": two_arms,
    "family": family,
    "gate": gate,
    "controls": controls,
    "power": power,
    "independent-one-arm": independent.one_arm,
    "independent-two-arms": independent.two_arms,
    "independent-gate": independent.gate,
    "independent-power": independent.power,
    "independent-groups": independent.mostly_joined,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"any of {', '.join(TABLES)}; default: all")
    parser.add_argument("--runs", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=20260101)
    options = parser.parse_args()
    for name in options.tables or TABLES:
        if name not in TABLES:
            parser.error(f"unknown table {name!r}; known: {', '.join(TABLES)}")
        started = time.perf_counter()
        TABLES[name](options.runs, np.random.default_rng([options.seed, list(TABLES).index(name)]))
        limit = independent.SIZE_LIMIT if name.startswith("independent") else 0.07
        print(f"\n({time.perf_counter() - started:.0f} s; * marks coverage under .93 or size over {limit})")


if __name__ == "__main__":
    main()
