"""Small questions in HotPotQA's format, written for the tests."""

from __future__ import annotations

from typing import Any

from memassay.suites.hotpotqa.load import Page, Question

PAGES: dict[str, list[str]] = {
    "Alder Mill": ["Alder Mill is a mill in Brankton.", " It grinds  oats."],
    "Brankton": ["Brankton is a town on the Cole.", " It has nine bridges."],
    "Cole (river)": ["The Cole is a river.", " It is short."],
    "Dunes": ["Dunes are heaps of sand."],
    "Eel House": ["The Eel House is an inn in Brankton.", " It is older than Alder Mill."],
}


def record(
    name: str = "q1",
    facts: list[list[Any]] | None = None,
    titles: list[str] | None = None,
    kind: str = "bridge",
    **more: Any,
) -> dict[str, Any]:
    """One question as the file has it."""
    return {
        "_id": name,
        "question": f"What of {name}?",
        "answer": "oats",
        "type": kind,
        "level": "hard",
        "supporting_facts": [["Alder Mill", 0], ["Brankton", 1]] if facts is None else facts,
        "context": [[title, PAGES[title]] for title in (PAGES if titles is None else titles)],
        **more,
    }


def question(name: str, gold: list[tuple[str, int]], context: dict[str, list[str]], kind: str = "bridge") -> Question:
    """One question as the suite has it."""
    pages = tuple(Page(title, tuple(sentences)) for title, sentences in context.items())
    return Question(name, f"What of {name}?", "x", kind, "", tuple(gold), pages)
