"""How long a run with a million records takes to know what is left, against reading its bytes alone.

python benchmarks/harness/resume.py [--records 1000000]
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

from memassay.core.types import Answer, CellKey, Status, Step, Usage
from memassay.runs.folder import RunFolder
from memassay.runs.lines import LineWriter
from memassay.runs.records import to_line


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=1_000_000)
    records = parser.parse_args().records
    step = Step(name="retrieve", dossier="0" * 64, usage=Usage(wall_ms=1.5))
    pattern = to_line(
        Answer(
            cell=CellKey(task="TASK", arm="lexical"),
            status=Status.OK,
            steps=(step,),
            usage=Usage(wall_ms=1.5),
            at="2026-11-30",
        )
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers-1of1.jsonl"
        with path.open("w") as handle:
            handle.writelines(pattern.replace("TASK", f"conv-{i % 10}/q{i}") + "\n" for i in range(records))
        began = time.perf_counter()
        with path.open("rb") as handle:
            lines = sum(1 for _ in handle)
        plain = time.perf_counter() - began
        began = time.perf_counter()
        with LineWriter(path):
            done, _ = RunFolder(Path(folder)).finished()
        took = time.perf_counter() - began
        assert len(done) == lines == records
        size = path.stat().st_size / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{records:,} records, {size:,.0f} MB: {took:.1f} s to the first new cell, peak {peak:,.0f} MB")
    print(f"reading the lines alone: {plain:.2f} s; ratio {took / plain:.1f}x")


if __name__ == "__main__":
    main()
