"""The decision of a run as one short paragraph with its numbers, from the mapping of ``conclude`` alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memassay.suites.canary.choosing import PUBLISHED_RULE
from memassay.suites.canary.writing import false_alarms, size

DECIDED = ("adopt", "keep")
"""Verdicts that decide something; every other one is no decision."""


def in_words(results: Mapping[str, Any]) -> str:
    """What the run comes to, why, and where nothing is decided what would settle it."""
    return " ".join(_sentences(results))


def _sentences(results: Mapping[str, Any]) -> Iterator[str]:
    choice, asked = results["choice"], results["questions"]
    verdict = choice["verdict"]
    if verdict == "adopt":
        yield f"Adopt {choice['adopted']}: {_lower(choice['reason'])}"
    elif verdict == "keep":
        yield f"Keep {choice['incumbent']}: {_lower(choice['reason'])}"
    else:
        yield f"No decision: {_lower(choice['reason'])}"
    named = results.get("incumbent", {}).get("name")
    if named and choice["incumbent"] is None:
        yield f"{named} was not run or could not be measured; run it too, or name another incumbent."
    yield from _reasons(choice)
    yield (
        f"All at {size(results)}, on {asked['compared']} of {asked['asked']} questions, weights "
        f"{results['weights']['name']}, rule {results['rule']}."
    )
    if results["rule"] == PUBLISHED_RULE:  # never told without how often it speaks of two equal memories
        yield from filter(None, [false_alarms(results, PUBLISHED_RULE)])
    best = choice["best"]
    if best and len(best["members"]) < len(results["memories"]):
        yield f"Not shown to be worse than another memory: {', '.join(best['members'])}."
        if len(best["members"]) > 1:
            yield f"The cheapest of them by the rule for costs: {choice['cheapest']}."
    judged = results.get("judged")
    if judged and not judged["real"]:
        yield f"The choice does not rest on the judges: {judged['reason']}."
    if verdict not in DECIDED:
        yield "No decision is not a tie."
    without = asked["without_gold"]
    if without:
        yield (
            f"{_without_gold(without)} nothing: write an answer and the doc in which it stands (memassay choose init "
            "drafts such lines), or what an answer must hold under required."
        )


def _reasons(choice: Mapping[str, Any]) -> Iterator[str]:
    """Why, in full for what the decision rests on; what was rejected beside it is only named."""
    verdict, challenges = choice["verdict"], choice["challenges"]
    for one in challenges:
        name, reasons = one["challenger"], "; ".join(one["reasons"])
        if name == choice["adopted"] or one["verdict"] == verdict == "no decision":
            yield f"{name}: {reasons}."
        elif verdict == "keep":
            yield f"{name}: {one['reasons'][0] if len(challenges) > 1 else reasons}."
    rejected = [one["challenger"] for one in challenges if one["verdict"] == "reject"]
    if rejected and verdict != "keep":
        yield f"Rejected: {', '.join(rejected)}."


def _without_gold(count: int) -> str:
    return "1 question has no gold and decides" if count == 1 else f"{count:,} questions have no gold and decide"


def _lower(sentence: str) -> str:
    """A sentence after a colon; a name at its beginning stays as it is."""
    first, _, rest = sentence.partition(" ")
    return f"{first.lower()} {rest}" if first in ("The", "No", "Nothing", "About", "Every") else sentence
