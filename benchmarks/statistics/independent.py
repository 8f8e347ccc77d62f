"""Coverage and size of the design ``independent-binary``: questions sampled one by one, some joined by a gold page.

A share of the questions is joined into pairs. ``alike`` is the chance that the second question of a pair repeats the
outcome of the first in every arm: at 0 joining means nothing, at 1 a pair is one question asked twice.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from tables import covers, error, heading, mark, row

from memassay.stats import (
    Clusters,
    Pilot,
    detectable_difference,
    mcnemar_detectable,
    mcnemar_power,
    paired_shares,
    question_share,
    regression_gate,
    tango,
    verdict,
    wilson,
)

Array = npt.NDArray[np.float64]

SIZES = (50, 289, 300)
JOINS = ((0.0, 0.0), (0.05, 0.0), (0.05, 1.0), (0.2, 0.0), (0.2, 1.0))  # (share joined, how alike)
SIZE_LIMIT = 0.06
FLIPS = 999  # drawn patterns where a rule needs them: the package draws 9,999


def pairs(n: int, joined: float) -> Clusters:
    """Cluster labels: the first questions in pairs, the rest alone."""
    two = round(joined * n / 2)
    return Clusters.of(np.r_[np.repeat(np.arange(two), 2), np.arange(two, n - two)])


def kinds(rng: np.random.Generator, groups: Clusters, alike: float, chances: tuple[float, ...]) -> Array:
    """The kind of outcome of every question: an index into ``chances`` (what is left is the last kind)."""
    edges = np.cumsum(chances)
    own = np.searchsorted(edges, rng.random(groups.n), side="right")
    of_cluster = np.searchsorted(edges, rng.random(groups.count), side="right")
    shared = groups.sizes[groups.codes] > 1
    return np.where(shared & (rng.random(groups.count) < alike)[groups.codes], of_cluster[groups.codes], own)


def one_arm(runs: int, rng: np.random.Generator) -> None:
    heading(
        f"Independent questions, one arm: coverage of the 95 % interval, {runs:,} runs a cell",
        *("n", "joined", "alike", "p", "ours", "mean width", "Wilson at n", "z", "MC error"),
    )
    for n in SIZES:
        for joined, alike in JOINS:
            groups = pairs(n, joined)
            for p in (0.5, 0.87, 0.95, 0.98, 0.99, 0.995, 1.0):
                hits, width = np.zeros(3), 0.0
                for _ in range(runs):
                    x = (kinds(rng, groups, alike, (p,)) == 0).astype(np.float64)
                    ours = question_share(x, groups)
                    mean = float(x.mean())
                    half = 1.96 * np.sqrt(mean * (1 - mean) / n)
                    hits += [
                        covers(ours.low, ours.high, p),
                        covers(*wilson(float(x.sum()), n), p),
                        covers(mean - half, mean + half, p),
                    ]
                    width += (ours.high or 0) - (ours.low or 0)
                r = hits / runs
                shown = p if p < 1 else "all ones"
                cells = [mark(value, value < 0.93) for value in r]
                row(n, joined, alike, shown, cells[0], f"{width / runs:.3f}", *cells[1:], f"{error(r[0], runs):.4f}")


def two_arms(runs: int, rng: np.random.Generator) -> None:
    heading(
        f"Independent questions, two arms: coverage of the true difference and verdicts, {runs:,} runs a cell",
        *("n", "joined", "alike", "a", "b", "differ", "ours", "mean width", "Tango at n", "question t"),
        *("p <= .05", "verdict", "McNemar over questions <= .05"),
    )
    scenes = [  # (both right, only a, only b)
        (0.85, 0.10, 0.02),
        (0.84, 0.06, 0.06),
        (0.970, 0.015, 0.010),
        (0.985, 0.005, 0.005),
        (1.0, 0.0, 0.0),
    ]
    for n in SIZES:
        for joined, alike in JOINS:
            groups = pairs(n, joined)
            for both, only_a, only_b in scenes:
                truth = only_a - only_b
                total, width = np.zeros(6), 0.0
                for _ in range(runs):
                    kind = kinds(rng, groups, alike, (both, only_a, only_b))
                    a, b = (kind <= 1).astype(np.float64), ((kind == 0) | (kind == 2)).astype(np.float64)
                    found = paired_shares(a, b, groups)
                    mean, half = found.diff.value or 0.0, 1.97 * (found.sd or 0.0) / np.sqrt(n)
                    total += [
                        covers(found.diff.low, found.diff.high, truth),
                        covers(*tango(found.wins, found.losses, n), truth),
                        covers(mean - half, mean + half, truth),
                        found.p is not None and found.p <= 0.05,
                        verdict(found, primary=True).word in ("better", "worse"),
                        found.mcnemar is not None and found.mcnemar.p <= 0.05,
                    ]
                    width += (found.diff.high or 0) - (found.diff.low or 0)
                r = total / runs
                cover = [mark(value, value < 0.93) for value in r[:3]]
                words = [mark(value, truth == 0 and value > SIZE_LIMIT) for value in r[3:]]
                arms = ("all ones", "all ones", 0) if both == 1 else (both + only_a, both + only_b, only_a + only_b)
                shown = [arm if isinstance(arm, str) else f"{arm:.3g}" for arm in arms]
                row(n, joined, alike, *shown, cover[0], f"{width / runs:.3f}", *cover[1:], *words)
    fractions(runs, rng)


def fractions(runs: int, rng: np.random.Generator) -> None:
    heading(
        f"Independent questions, recall of two gold pages: the clustered rules over joined questions, {runs:,} runs",
        *("n", "joined", "alike", "p", "one arm", "share KG", "two arms", f"sign-flip p <= .05 ({FLIPS} drawn)"),
    )
    for n in (50, 289):
        for joined, alike in ((0.0, 0.0), (0.2, 1.0)):
            groups = pairs(n, joined)
            for p in (0.7, 0.95):
                total = np.zeros(4)
                for _ in range(runs):
                    kind = kinds(rng, groups, alike, _recalls(p))
                    a, b = kind // 3 / 2.0, kind % 3 / 2.0
                    one = question_share(a, groups)
                    two = paired_shares(a, b, groups, rng=rng, draws=FLIPS)
                    total += [
                        covers(one.low, one.high, p),
                        one.method.startswith("korn"),
                        covers(two.diff.low, two.diff.high, 0.0),
                        two.p is not None and two.p <= 0.05,
                    ]
                r = total / runs
                row(
                    *(n, joined, alike, p, mark(r[0], r[0] < 0.93), f"{r[1]:.2f}", mark(r[2], r[2] < 0.93)),
                    mark(r[3], r[3] > SIZE_LIMIT),
                )


def _recalls(p: float) -> tuple[float, ...]:
    """Chances of the nine pairs of recalls (0, 1/2, 1 in each arm): half of the time both arms have the same one."""
    one = np.array([(1 - p) ** 2, 2 * p * (1 - p), p**2])
    return tuple(((np.outer(one, one) + np.diag(one)) / 2).ravel().tolist())


def mostly_joined(runs: int, rng: np.random.Generator) -> None:
    heading(
        f"Mostly joined questions: the clustered rules take over, {runs:,} runs a cell ({FLIPS} flips drawn)",
        *("n", "groups", "effective", "largest", "icc", "p", "one arm", "two arms, no difference", "false verdict"),
    )
    layouts = (  # (size of a group, how many)
        ((7, 12), (6, 4)),  # the suite's generated sample
        ((30, 1), (4, 24), (1, 163)),
        ((120, 1), (1, 880)),
    )
    for layout in layouts:
        members = np.concatenate([np.full(count, size) for size, count in layout])
        joined = Clusters.of(np.repeat(np.arange(len(members)), members))
        for icc in (0.0, 0.02, 0.1):
            for p in (0.7, 0.95):
                total = np.zeros(3)
                for _ in range(runs):
                    common, *own = (_arm(rng, joined, p, icc) for _ in range(3))
                    a, b = (np.where(rng.random(joined.n) < 0.2, arm, common) for arm in own)
                    one = question_share(a, joined)
                    two = paired_shares(a, b, joined, rng=rng, draws=FLIPS)
                    total += [
                        covers(one.low, one.high, p),
                        covers(two.diff.low, two.diff.high, 0.0),
                        verdict(two, primary=True).word in ("better", "worse"),
                    ]
                r = total / runs
                shown = (joined.n, joined.count, f"{joined.effective:.0f}", members.max(), icc, p)
                row(*shown, *(mark(value, value < 0.93) for value in r[:2]), mark(r[2], r[2] > SIZE_LIMIT))


def _arm(rng: np.random.Generator, joined: Clusters, p: float, icc: float) -> Array:
    """Right or wrong, with a rate of its own for every group."""
    total = 1 / icc - 1 if icc else 0.0
    rates = rng.beta(p * total, (1 - p) * total, joined.count) if icc else np.full(joined.count, p)
    return (rng.random(joined.n) < rates[joined.codes]).astype(np.float64)


def gate(runs: int, rng: np.random.Generator) -> None:
    heading(
        f"Independent questions, regression gate, margin .03, {runs:,} runs a cell ({FLIPS} flips drawn)",
        *("n", "metrics", "true change", "passed", "failed", "no decision", "point drop > 0 would fail"),
    )
    for n, m in ((289, 1), (289, 4), (1000, 1)):
        groups = pairs(n, 0.05)
        for change in (0.0, -0.03, -0.06):
            seen = {"passed": 0, "failed": 0, "no decision": 0}
            point = 0
            for _ in range(runs):
                kind = kinds(rng, groups, 1.0, (0.83, 0.04, 0.04 - change))
                arms = np.stack([kind <= 1, (kind == 0) | (kind == 2)])
                kept = rng.random((2, n, m)) < 0.97
                new, old = (arms[:, :, None] & kept).astype(np.float64)
                seen[regression_gate(new, old, groups, margin=0.03, rng=rng, draws=FLIPS).verdict] += 1
                point += bool((new.mean(axis=0) < old.mean(axis=0)).any())
            row(n, m, f"{change:+.3f}", *(f"{v / runs:.3f}" for v in seen.values()), f"{point / runs:.3f}")


def power(runs: int, rng: np.random.Generator) -> None:
    heading(
        f"Independent questions, power: verdicts at the difference that is said to be found, {runs:,} runs a cell",
        *("n", "joined", "alike", "sd", "McNemar's difference", "says", "verdict"),
        *("t formula's difference", "mcnemar_power says", "verdict"),
    )
    for n in SIZES:
        for joined, alike in ((0.0, 0.0), (0.2, 1.0)):
            groups = pairs(n, joined)
            for sd in (0.25, 0.4):
                pilot = Pilot(sd, 0.0, "simulation")
                ours = mcnemar_detectable(groups.sizes, pilot=pilot)
                assert ours is not None
                cells: list[str] = []
                for gap in (ours.detectable, detectable_difference(groups.sizes, pilot=pilot).detectable):
                    differ = max(sd**2 + gap**2, gap)
                    chances = ((differ + gap) / 2, (differ - gap) / 2)
                    better = 0
                    for _ in range(runs):
                        kind = kinds(rng, groups, alike, chances)
                        found = paired_shares((kind == 0).astype(np.float64), (kind == 1).astype(np.float64), groups)
                        better += verdict(found, primary=True).word == "better"
                    says = mcnemar_power(gap, groups.sizes, pilot=pilot)
                    cells += [f"{gap:.3f}", f"{says:.3f}", f"{better / runs:.3f}"]
                row(n, joined, alike, sd, *cells)
