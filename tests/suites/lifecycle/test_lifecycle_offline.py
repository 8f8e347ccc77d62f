"""A run is graded again from its records alone, where neither memory nor agent is installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from lifecycle_registered import register

from kit import child_environment
from memassay.running.experiment import experiment_of
from memassay.running.pipeline import Place, run_experiment
from memassay.runs.folder import RunFolder
from memassay.runs.replaced import regraded

WITHOUT = """
import sys

class Missing:
    gone = (
        "memassay.memories", "memassay.agents", "memassay.platform.service", "memassay.platform.app",
        "mcp", "starlette", "uvicorn", "onnxruntime", "tokenizers",
    )

    def find_spec(self, name, path=None, target=None):
        if any(name == one or name.startswith(one + ".") for one in self.gone):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None

sys.meta_path.insert(0, Missing())
sys.argv = ["memassay", "judge", sys.argv[1], "--again", "--json"]
from memassay.cli.main import main
main()
"""


def test_a_graded_fact_is_restored_without_memory_or_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    folder = tmp_path / "runs" / "r"
    experiment = experiment_of({"suite": "lifecycle", "options": {"count": 4}})
    before = run_experiment(experiment, Place(out=folder, workers=2))
    path = RunFolder(folder).verdicts("lifecycle")
    first = path.read_text("utf-8")
    records = [json.loads(line) for line in first.splitlines()]
    for record in records:  # every graded fact of the arm turned round: in its scores and in the attempt they came from
        if record["subjects"][0]["arm"] == "platform":
            record["scores"] = {name: value if value is None else 1 - value for name, value in record["scores"].items()}
            attempt = record["labels"]["attempt"]
            attempt["recall_correct"] = not attempt["recall_correct"]
            for episode in attempt["episodes"]:
                episode["verdict"] = "stale"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    shutil.rmtree(tmp_path / "runs" / "stores")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(folder)],
        env=child_environment(tmp_path, PYTHONPATH=os.pathsep.join(sys.path)),
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert path.read_text("utf-8") == first
    after = json.loads(done.stdout)
    for part in ("arms", "controls", "conclusion", "cells"):
        assert after[part] == before[part], part
    assert "lifecycle gave its 12 verdicts again, 4 of them otherwise" in " ".join(done.stderr.split())
    [told] = regraded(RunFolder(folder))
    assert told["config"] == json.loads(path.with_suffix(".json").read_text("utf-8"))
