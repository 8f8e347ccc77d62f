"""What a set of questions can show, before anything is retrieved and before any text leaves the machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memassay.core.types import Document
from memassay.suites.canary.families import FAMILIES, Weights
from memassay.suites.canary.fixture import Question
from memassay.suites.canary.power import power

TIES = 0.4
"""Share of ties that is assumed where nothing is known yet."""
RUNS = 1000
"""Simulated experiments: a Monte Carlo error of .016 at .5, .005 at .03."""


def outlook(
    documents: Sequence[Document], questions: Sequence[Question], weights: Weights, rule: str = "default"
) -> dict[str, Any]:
    """Counts, and the power of these questions under the weights.

    Returns:
        JSON values; ``detectable_gap`` and what follows it are null where one family or more is asked and none has
        a weight.
    """
    counted = Counter(question.family for question in questions)
    families = {family: counted[family] for family in FAMILIES if counted[family]}
    without = sum(question.premise_valid and not question.required for question in questions)
    found: dict[str, Any] = {
        "documents": len(documents),
        "questions": len(questions),
        "families": families,
        "without_gold": without,
        "weights": weights.model_dump(mode="json"),
        "rule": rule,
        "tie_rate": TIES,
        "detectable_gap": None,
        "adopted_at": None,
        "adopted": None,
        "confirmatory": False,
        "false_alarms": None,
        "needed": None,
    }
    if any(weights.shares[family] for family in families):
        measured = power(families, weights.shares, TIES, rule=rule, runs=RUNS)
        found |= {
            "detectable_gap": measured.weighted.detectable,
            "adopted_at": measured.target,
            "adopted": measured.found,
            "confirmatory": measured.confirmatory,
            "false_alarms": measured.false_alarms[0][1],
            "needed": [{"gap": gap, "questions": by_weight} for gap, _, by_weight in measured.needed],
        }
    return found


def told(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The same for a person: names and values."""
    yield "documents", f"{found['documents']:,}"
    by_family = ", ".join(f"{n} {family}" for family, n in found["families"].items())
    yield "questions", f"{found['questions']:,} ({by_family})"
    if found["without_gold"]:
        yield "without gold", f"{found['without_gold']:,}, which decide nothing: give an answer and the doc of each"
    yield "weights", _weights(found["weights"])
    yield "rule", found["rule"]
    if found["detectable_gap"] is None:
        yield "detectable gap", "none: every family that is asked has the weight 0"
        return
    gap, adopted = 100 * found["detectable_gap"], found["adopted"]
    yield "detectable gap", f"{gap:.0f} points with 80 % power, at {100 * found['tie_rate']:.0f} % ties"
    enough = "" if found["confirmatory"] else ", where 80 % is asked: what is found is exploratory"
    yield "a gap of 20 points", f"is adopted in {adopted:.0%} of such runs{enough}"
    yield "false alarms", f"in {found['false_alarms']:.1%} of runs on two memories that are alike"
    needed = " and ".join(f"{one['questions']:,} for {100 * one['gap']:.0f} points" for one in found["needed"])
    yield "questions needed", f"{needed}, shared out by weight"


def _weights(weights: Mapping[str, Any]) -> str:
    if weights["queries"] is not None:
        return f"{weights['name']}, counted from {weights['queries']:,} queries"
    if len(set(weights["shares"].values())) == 1:
        return f"{weights['name']}: every family counts alike; --weights FILE says how often each is asked"
    return str(weights["name"])
