"""A protocol of our own in words, as plain values, and attempts at it."""

from __future__ import annotations

import copy
from typing import Any

from memassay.suites.lifecycle.protocol import Protocol, protocol_of

URN = "urn:li:dataset:(urn:li:dataPlatform:sqlite,main.boats,PROD)"

TRANSFER: dict[str, Any] = {
    "id": "p-1",
    "title": "Zlorp boats",
    "fact": "In main.boats, a 'zlorp' boat is a boat of three masts.",
    "entity_urn": URN,
    "sink": "knowledge_page",
    "page": {"slug": "zlorp", "title": "Zlorp", "summary": "Three masts.", "body": "# Zlorp\n\nThree masts."},
    "budget_tool_calls": 15,
    "teach": {"prompt": "Remember: in main.boats, a 'zlorp' boat is a boat of three masts."},
    "recall": {
        "prompt": "How many zlorp boats does main.boats hold?",
        "grading": {"kind": "numeric", "value": 41, "abs_tolerance": 0.5},
    },
    "transfer": {
        "prompt": "How many zlorp boats does main.boats hold?",
        "grading": {"kind": "numeric", "value": 41, "abs_tolerance": 0.5},
    },
    "abstain": {"prompt": "What is the average crew of a zlorp boat?"},
}

UPDATE: dict[str, Any] = {
    **TRANSFER,
    "id": "p-2",
    "sink": "datahub",
    "recall": {
        "prompt": "Which port is the gvund port of main.boats?",
        "grading": {"kind": "entity", "aliases": ["Riga"], "wrong_aliases": ["Turku", "Gdansk"]},
    },
    "update": {
        "prompt": "I was wrong about main.boats.",
        "fact": "In main.boats, the 'gvund' port is the second.",
        "recall": {
            "prompt": "Which port is the gvund port of main.boats?",
            "grading": {"kind": "entity", "aliases": ["Turku"], "wrong_aliases": ["Riga", "Gdansk"]},
        },
    },
}
del UPDATE["transfer"], UPDATE["page"]


def values(base: dict[str, Any] = TRANSFER, **changes: Any) -> dict[str, Any]:
    """Plain values with changes by dotted path (``recall__grading__kind``); None takes a field out."""
    made = copy.deepcopy(base)
    for path, value in changes.items():
        *parents, name = path.split("__")
        place = made
        for parent in parents:
            place = place[parent]
        if value is None:
            del place[name]
        else:
            place[name] = value
    return made


def protocol(base: dict[str, Any] = TRANSFER, **changes: Any) -> Protocol:
    return protocol_of(values(base, **changes), "a test")
