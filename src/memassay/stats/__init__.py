"""The statistics contract: one function per row of docs/statistics.md; nothing else feeds a verdict.

=========================================  =====================================================================
row                                        function
=========================================  =====================================================================
locomo: one arm                            ``question_mean``, with ``cluster_mean`` printed beside it
locomo: two arms                           ``paired_difference``, then ``verdict`` for the primary pair
locomo: >= 3 arms, budgets, categories     ``max_t`` (``holm`` for comparison only)
hotpotqa: one arm, two arms                ``question_share`` (Wilson), ``paired_shares`` (``tango``, ``mcnemar_exact``)
association: correctness                   ``material_loss``, ``tasks_needed``
association: cost, tokens, turns           ``paired_ratio``
canary: weighted gap of a pair             ``aggregate_gaps`` (many at once: ``gap_bounds``), ``stratified_flip``
canary: >= 3 memories                      ``best_set``; to describe, ``davidson`` and ``length_adjusted_gap``
canary: fabrication                        ``clopper_pearson``, ``mcnemar_exact``
judges: kappa, AC1, consistency            ``agreement``, ``positions``, ``repetition_stability``
lifecycle: a rate, pass^k                  ``attempt_share``, ``pass_hat``
lifecycle: arm, ablation                   ``paired_difference`` of rates by protocol
any: regression gate                       ``regression_gate``
controls                                   ``draw_band``, ``check_oracle``, ``check_empty``, ``check_random``,
                                           ``check_shuffled_gold``
power before spending                      ``pilot``, ``detectable_difference``, ``power_of``, ``verdict_power``,
                                           ``mcnemar_detectable``, ``mcnemar_power``
unit: repeated measures of a task          ``average_within``, ``rerun_noise``
shares                                     ``clopper_pearson``, ``wilson``, ``korn_graubard``
which row a suite takes                    ``DESIGNS``, by the suite's attribute ``design``
=========================================  =====================================================================

Functions are pure and take numpy arrays; labels that serve many calls are factorised once with ``Clusters.of``. Random
draws come from a generator that the caller names. Nothing here reads a file or keeps state.
"""

from memassay.stats.agreement import Agreement, Positions, agreement, positions, repetition_stability
from memassay.stats.attempts import attempt_share, pass_hat
from memassay.stats.bands import (
    SHUFFLED_ALLOWANCE,
    Band,
    ControlCheck,
    check_empty,
    check_oracle,
    check_random,
    check_shuffled_gold,
    draw_band,
)
from memassay.stats.clustered import cluster_mean, question_mean
from memassay.stats.clusters import Clusters
from memassay.stats.designs import DEFAULT_DESIGN, DESIGNS, Design
from memassay.stats.dirichlet import GapBounds, gap_bounds
from memassay.stats.discordant import McNemar, mcnemar_exact, tango
from memassay.stats.families import holm, max_t
from memassay.stats.gaps import Aggregates, WeightedGap, aggregate_gaps
from memassay.stats.gate import GateResult, Leg, regression_gate
from memassay.stats.independent import paired_shares, question_share
from memassay.stats.material import RATE_LIMIT, MaterialLoss, PairedRatio, material_loss, paired_ratio, tasks_needed
from memassay.stats.paired import Paired, paired_difference
from memassay.stats.pairwise import Davidson, LengthAdjusted, davidson, length_adjusted_gap
from memassay.stats.power import (
    DEFAULT_PILOT,
    MATERIAL,
    Pilot,
    Power,
    detectable_difference,
    mcnemar_detectable,
    mcnemar_power,
    pilot,
    power_of,
    verdict_power,
)
from memassay.stats.proportion import clopper_pearson, korn_graubard, wilson
from memassay.stats.repeats import RerunNoise, average_within, rerun_noise
from memassay.stats.stratified import BestSet, FlipTest, PairTest, best_set, flip_ps, stratified_flip
from memassay.stats.verdicts import Verdict, verdict

__all__ = [
    "DEFAULT_DESIGN",
    "DEFAULT_PILOT",
    "DESIGNS",
    "MATERIAL",
    "RATE_LIMIT",
    "SHUFFLED_ALLOWANCE",
    "Aggregates",
    "Agreement",
    "Band",
    "BestSet",
    "Clusters",
    "ControlCheck",
    "Davidson",
    "Design",
    "FlipTest",
    "GapBounds",
    "GateResult",
    "Leg",
    "LengthAdjusted",
    "MaterialLoss",
    "McNemar",
    "PairTest",
    "Paired",
    "PairedRatio",
    "Pilot",
    "Positions",
    "Power",
    "RerunNoise",
    "Verdict",
    "WeightedGap",
    "aggregate_gaps",
    "agreement",
    "attempt_share",
    "average_within",
    "best_set",
    "check_empty",
    "check_oracle",
    "check_random",
    "check_shuffled_gold",
    "clopper_pearson",
    "cluster_mean",
    "davidson",
    "detectable_difference",
    "draw_band",
    "flip_ps",
    "gap_bounds",
    "holm",
    "korn_graubard",
    "length_adjusted_gap",
    "material_loss",
    "max_t",
    "mcnemar_detectable",
    "mcnemar_exact",
    "mcnemar_power",
    "paired_difference",
    "paired_ratio",
    "paired_shares",
    "pass_hat",
    "pilot",
    "positions",
    "power_of",
    "question_mean",
    "question_share",
    "regression_gate",
    "repetition_stability",
    "rerun_noise",
    "stratified_flip",
    "tango",
    "tasks_needed",
    "verdict",
    "verdict_power",
    "wilson",
]
