"""What the acceptance tests of ``run hotpotqa`` share: questions, a memory whose hits are known, scores of a run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

KEYS = ("both@1000", "both@2000", "both@4000", "both@k10")

RunCases = Callable[..., dict[str, Any]]

# A memory whose hits are known beforehand: what the suite counts can be said without asking it.
CHOSEN = '''
import json
import re
from pathlib import Path

from memassay.core.types import Passage


class Chosen:
    """Gives the first gold page of "case N", and the second if N % modulus < below."""

    def __init__(self, *, modulus: int = 1, below: int = 1, pad: int = 0, shape: str = "text", dump: str = "") -> None:
        self.modulus, self.below, self.pad, self.shape, self.dump = modulus, below, pad, shape, dump

    def build(self, corpus, place, context):
        rows = {d.id: [d.text, [u.text for u in d.units], list(d.links), d.title] for d in corpus.documents}
        (Path(place) / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
        if self.dump:
            Path(self.dump).write_text(json.dumps(rows), encoding="utf-8")
        return {"passages": len(rows)}

    def open(self, ref):
        return Store(self, json.loads((Path(ref.location) / "rows.json").read_text(encoding="utf-8")))


class Store:
    def __init__(self, memory, rows):
        self.memory, self.rows = memory, rows

    def retrieve(self, query):
        found = re.search(r"case (\\d+)", query.text)
        if found is None:
            return []
        number, memory = int(found[1]), self.memory
        first, second = (self.page(f"case-{number}-{name}") for name in ("alpha", "beta"))
        passages = [first]
        if memory.shape == "thrice":
            passages = [first] * 3
        if memory.shape == "nameless":
            passages = [first, *(Passage(text=f"remark {n}") for n in range(9))]
        if memory.pad and number % 5 == 0:
            passages.append(Passage(text="x" * memory.pad))
        return passages + ([second] if number % memory.modulus < memory.below else [])

    def page(self, key):
        text = self.rows[key][0]
        if self.memory.shape == "unit":
            text = self.rows[key][1][0]
        if self.memory.shape == "half":
            text = text[: len(text) * 2 // 3]
        return Passage(text=text, doc_ids=(key,))
'''


def case(number: int, words: str = "") -> dict[str, Any]:
    """A question with two gold pages of its own and one other page; every third one compares."""
    first, second = f"Case {number} Alpha", f"Case {number} Beta"
    return {
        "_id": hashlib.sha256(str(number).encode()).hexdigest()[:24],
        "question": f"How many goats live where the ship of case {number} sank?",
        "answer": str(number + 7),
        "type": "bridge" if number % 3 else "comparison",
        "level": "hard",
        "supporting_facts": [[first, 1], [second, 1]],
        "context": [
            [first, [f"The vessel of matter {number} was a brig.", f" She went down near {second}. {words}"]],
            [f"Noise {number}", [f"Nothing of {number} is told here."]],
            [second, [f"An island, number {number}.", f" It has {number + 7} goats. {words}"]],
        ],
    }


def page(title: str, body: str) -> list[Any]:
    return [title, [body]]


def of_pages(*pages: list[Any]) -> list[dict[str, Any]]:
    """One question for every two pages, so that all of them are pooled."""
    questions = []
    for n in range(0, len(pages), 2):
        context = [*pages[n : n + 2]]
        gold = [[title, 0] for title, _ in (context * 2)[:2]]
        questions.append({**case(n), "context": context, "supporting_facts": gold})
    return questions


def scores(run: Path, metric: str, arm: str) -> dict[str, float]:
    """A metric of every question of an arm, from the judgements of the run, without the planted document's."""
    tasks = map(json.loads, (run / "tasks.jsonl").read_text("utf-8").splitlines())
    asked = {task["id"] for task in tasks if not task["category"].startswith("control:")}
    found = {}
    for line in (run / "judgements" / "evidence.jsonl").read_text("utf-8").splitlines():
        record = json.loads(line)
        if record["subjects"][0]["arm"] == arm and record["subjects"][0]["task"] in asked:
            found[record["subjects"][0]["task"]] = record["scores"][metric]
    return found
