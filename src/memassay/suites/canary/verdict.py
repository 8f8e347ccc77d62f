"""The decision of a run as one short paragraph with its numbers, from the mapping of ``conclude`` alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

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
    for one in choice["challenges"]:
        # What was not adopted is told only where that is the whole decision, or open.
        if verdict != "adopt" or one["challenger"] == choice["adopted"]:
            yield f"{one['challenger']}: {one['verdict']}, since {'; '.join(one['reasons'])}."
    yield (
        f"All at {results['budget']:,} tokens, on {asked['compared']} of {asked['asked']} questions, weights "
        f"{results['weights']['name']}, rule {results['rule']}."
    )
    best = choice["best"]
    if best and len(best["members"]) < len(results["memories"]):
        yield f"Not shown to be worse than another memory: {', '.join(best['members'])}."
    if verdict not in DECIDED:
        yield "No decision is not a tie."
    if asked["without_gold"]:
        yield (
            f"{asked['without_gold']} questions have no gold and decide nothing: write their answer and the doc in "
            "which it stands (memassay choose init drafts such lines), or what an answer must hold under required."
        )


def _lower(sentence: str) -> str:
    """A sentence after a colon; a name at its beginning stays as it is."""
    first, _, rest = sentence.partition(" ")
    return f"{first.lower()} {rest}" if first in ("The", "No", "Nothing", "About") else sentence
