"""Pairings to judge."""

from __future__ import annotations

import json

from memassay.core.pairs import Pairing
from memassay.core.types import Gold, Task

REFERENCE = "The port is 7443.\nDana owns the gateway."
SECRET = "nobody may see this note"


def pairing(
    first: str = "[1] The port is 7443.\n",
    second: str = "[1] The port is 7000.\n",
    reference: str = REFERENCE,
    *,
    as_of: str | None = None,
) -> Pairing:
    """One question with two dossiers; the gold of the task holds the reference and a secret."""
    task = Task(
        id="q1", suite="canary", scope="docs", cluster="q1", category="current_canonical",
        prompt="Which port does the gateway use?", as_of=as_of,
        payload={"note": SECRET}, gold={"original": Gold(answer=f"{REFERENCE} {SECRET}")},
    )  # fmt: skip
    return Pairing(task, reference, first, second)


def reply(winner: str = "first", first: str = "correct", second: str = "incorrect") -> str:
    """What a judge replies."""
    return json.dumps({"explanation": "One has the port.", "winner": winner, "first": first, "second": second})
