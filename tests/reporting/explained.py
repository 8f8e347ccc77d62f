"""A question with two pieces of gold, and what ``memassay show`` is asked to explain of it."""

from __future__ import annotations

from memassay.core.dossier import dossier_of
from memassay.core.types import Answer, CellKey, Dossier, Evidence, Gold, Passage, Status, Step, Task
from memassay.reporting.explanation import Explanation
from memassay.reporting.show import explain_task

BUDGETS = (20, 50, 200)
TURTLE = "I finally adopted a turtle and called it Shelly!"
BEACH = "We walked along the shore all evening."
FILLER = "Nothing of interest was said about the weather on that day, or on any other."


def task(prompt: str = "Which pets did Nate adopt?", **more: object) -> Task:
    gold = Gold(answer="a turtle", evidence=(Evidence(id="D3:11", text=TURTLE), Evidence(id="D7:2", text=BEACH)))
    values = {
        "id": "conv-1/q4",
        "suite": "locomo",
        "scope": "conv-1",
        "cluster": "conv-1",
        "category": "multi-hop",
        "split": "test",
        "as_of": "2023-11-02",
        "prompt": prompt,
        "gold": {"original": gold, "audit-excluded": Gold(excluded="WRONG: the key is wrong")},
    }
    return Task.model_validate(values | more)


def answer(arm: str, status: Status = Status.OK, detail: str = "", dossier: str | None = None) -> Answer:
    steps = (Step(status=status, detail=detail, dossier=dossier),)
    return Answer(cell=CellKey(task="conv-1/q4", arm=arm), status=status, detail=detail, steps=steps)


def dossier(*texts: str, **units: tuple[str, ...]) -> Dossier:
    return dossier_of(Passage(text=t, unit_ids=units.get(f"p{i}", ())) for i, t in enumerate(texts, start=1))


def explained(*cells: tuple, **more: object) -> Explanation:
    return explain_task(task(), [(*cell, {}) if len(cell) == 3 else cell for cell in cells], "chars4", BUDGETS, **more)  # type: ignore[arg-type]
