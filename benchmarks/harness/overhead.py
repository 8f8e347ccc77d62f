"""What a cell costs when memory and agent cost nothing, beside Inspect AI with its mock model; as a ratio in one run.

    python benchmarks/harness/overhead.py                      # ours: 1,000 cells, then 10,000 tasks x 1 and x 10 arms
    python benchmarks/harness/overhead.py --inspect PYTHON     # PYTHON: an interpreter with inspect-ai installed

Each measurement is a process of its own. Times are CPU seconds of the whole process less those of a run with one
cell, so start-up does not count on either side.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent

OURS = """
import sys
from pathlib import Path
from memassay.running.experiment import experiment_of
from memassay.running.pipeline import Place, run_experiment
folder, cells, here, arms = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
experiment = experiment_of({
    "suite": f"{here}/noop.py:NoopSuite", "options": {"tasks": cells // arms}, "agent": "noop", "controls": False,
    "memories": {f"nothing-{i}": {"use": f"{here}/noop.py:Nothing"} for i in range(arms)},
})
run_experiment(experiment, Place(out=Path(folder), workers=8))
"""

INSPECT = """
import sys
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match
from inspect_ai.solver import generate
folder, cells = sys.argv[1], int(sys.argv[2])
def outputs():
    while True:
        reply = ModelOutput.from_content("mockllm/model", "35")
        reply.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        yield reply
task = Task(dataset=MemoryDataset([Sample(input=f"Question {i}?", target="35") for i in range(cells)]),
            solver=generate(), scorer=match())
eval(task, model=get_model("mockllm/model", custom_outputs=outputs()), log_dir=folder, display="none",
     max_samples=8)
"""


def cost(python: str, code: str, cells: int, arms: int = 1) -> tuple[float, float]:
    """CPU seconds and peak resident megabytes of one child process."""
    with tempfile.TemporaryDirectory() as folder:
        child = {k: os.environ[k] for k in ("PATH", "LANG") if k in os.environ} | {"HOME": folder}
        process = subprocess.Popen(
            [python, "-c", code, f"{folder}/run", str(cells), str(HERE), str(arms)],
            env=child,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(process.stderr.read().decode()[-2000:])
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--inspect", metavar="PYTHON")
    parser.add_argument("--cells", type=int, default=1000)
    parser.add_argument("--many", type=int, default=100_000)
    chosen = parser.parse_args()
    start, _ = cost(sys.executable, OURS, 1)
    few, few_rss = cost(sys.executable, OURS, chosen.cells)
    mine = (few - start) / chosen.cells * 1000
    print(f"memassay, {chosen.cells:,} cells: {mine:.3f} ms of CPU per cell, peak {few_rss:.0f} MB")
    if chosen.many:
        for arms in (1, 10):
            many, many_rss = cost(sys.executable, OURS, chosen.many * arms // 10, arms)
            each = (many - start) / (chosen.many * arms // 10) * 1000
            what = f"{chosen.many // 10:,} tasks x {arms} arms"
            print(f"memassay, {what}: {each:.3f} ms of CPU per cell, peak {many_rss:.0f} MB")
    if chosen.inspect:
        start, _ = cost(chosen.inspect, INSPECT, 1)
        theirs, rss = cost(chosen.inspect, INSPECT, chosen.cells)
        other = (theirs - start) / chosen.cells * 1000
        print(f"Inspect AI, {chosen.cells:,} samples: {other:.3f} ms of CPU per sample, peak {rss:.0f} MB")
        print(f"ratio: {other / mine:.1f}x")


if __name__ == "__main__":
    main()
