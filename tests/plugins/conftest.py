from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

# Six documents, so that there are six clusters; every fact is a unit of its own.
_TOWNS = {"Ostia": "bricks", "Arven": "salt", "Tellow": "glass", "Morrin": "wool", "Quay": "rope", "Dunmere": "honey"}


@pytest.fixture
def towns(workplace: Path) -> tuple[Path, Path]:
    """Documents and questions in the working folder: ``docs.jsonl`` and ``questions.jsonl``."""
    documents, questions = [], []
    for town, goods in _TOWNS.items():
        text = (
            f"The market of {town} is held on the square.\n\nPeople come to {town} for {goods}.\n\nIt closes at noon."
        )
        documents.append({"id": town, "title": f"About {town}", "text": text})
        questions.append({"question": f"What do people come to {town} for?", "evidence": [f"{town}#2"]})
    paths = workplace / "docs.jsonl", workplace / "questions.jsonl"
    for path, rows in zip(paths, (documents, questions), strict=True):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return paths


Measure = Callable[..., Any]


@pytest.fixture
def measure(towns: tuple[Path, Path], workplace: Path) -> Measure:
    """``measure({"mine": {"use": "./m.py:Mine"}}, limits={...})``: the summary of a run over the towns, in process."""
    from memassay.running.experiment import experiment_of
    from memassay.running.pipeline import Place, run_experiment

    def run(memories: Mapping[str, Mapping[str, Any]], *, out: str = "runs/one", **tables: Any) -> Any:
        options = {"docs": str(towns[0]), "questions": str(towns[1])}
        defaults = {"suite": "custom", "options": options, "tokens": "chars4", "budgets": [200, 4000], "ks": [1, 5]}
        experiment = experiment_of({**defaults, "memories": memories, **tables})
        return run_experiment(experiment, Place(out=workplace / out))

    return run


@pytest.fixture
def write(workplace: Path) -> Callable[[str, str], str]:
    """``write("m.py", source)`` writes a file into the working folder and gives ``./m.py``."""

    def write_file(name: str, source: str) -> str:
        (workplace / name).parent.mkdir(parents=True, exist_ok=True)
        (workplace / name).write_text(source, encoding="utf-8")
        return f"./{name}"

    return write_file
