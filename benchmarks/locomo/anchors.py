"""LOCOMO's two BM25 anchors, reproduced under ``chars4``; the same runs at 1 and 8 workers compared line by line.

    python benchmarks/locomo/anchors.py FILE

The anchors were measured before this code existed (all@B over all ten conversations, and multi-hop all@4k). Exit code 1
if a row is more than .01 below its anchor, or if the two runs' records differ in anything but times.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

BUDGETS = (1000, 2000, 4000, 8000, 12000)
ANCHORS = {
    "turns": ("BM25 over turns", (0.590, 0.653, 0.722, 0.795, 0.859), 0.365),
    "windows": ("BM25 over 5-turn windows", (0.708, 0.773, 0.831, 0.876, 0.915), 0.475),
}
# Chosen on all ten conversations to meet the anchor, and the first defaults of ``lexical``.
PUBLISHED = {
    "unit": "window",
    "window": 5,
    "stride": 2,
    "k1": 1.5,
    "b": 0.75,
    "stemmer": "english",
    "stop_words": "questions",
    "dates": "day",
    "index_dates": False,
    "title_weight": 2,
    "fill": "oldest",
}
ARMS = {
    "windows": PUBLISHED,
    "turns": {**PUBLISHED, "window": 1, "stop_words": "lucene"},
    "turns-questions": {**PUBLISHED, "window": 1},
}
TOLERANCE = 0.01


def run(data: str, out: Path, workers: int, hash_seed: int) -> dict:
    child = {k: os.environ[k] for k in ("PATH", "LANG") if k in os.environ} | {"PYTHONHASHSEED": str(hash_seed)}
    command = [sys.executable, "-m", "memassay", "run", "locomo", "--data", data, "--tokens", "chars4"]
    command += ["--memory", ",".join(f"{arm}=lexical" for arm in ARMS)]
    for arm, settings in ARMS.items():
        for name, value in settings.items():
            command += ["--set", f"{arm}.{name}={str(value).lower()}"]
    command += ["--out", str(out), "--workers", str(workers), "--json"]
    done = subprocess.run(command, env=child, capture_output=True, check=True)
    return json.loads(done.stdout)


def canonical(folder: Path) -> set[str]:
    """Every answer and judgement of a run as a canonical line without times."""
    lines: set[str] = set()
    for path in [*folder.glob("answers-*.jsonl"), *folder.glob("judgements/*.jsonl")]:
        for line in path.read_text("utf-8").splitlines():
            lines.add(json.dumps(_timeless(json.loads(line)), sort_keys=True))
    return lines


def _timeless(value):
    if isinstance(value, dict):
        return {k: _timeless(v) for k, v in value.items() if k not in ("at", "wall_ms")}
    return [_timeless(v) for v in value] if isinstance(value, list) else value


def main() -> int:
    data = str(Path(sys.argv[1]).resolve())
    bad = 0
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        one, eight = Path(first) / "one", Path(second) / "eight"
        summary = run(data, one, 1, 1)
        run(data, eight, 8, 2)
        for arm, (title, row, hops) in [*ANCHORS.items(), ("turns-questions", ANCHORS["turns"])]:
            found = summary["arms"][arm]
            for split, metrics in [("all", found["metrics"]), *((s, v["metrics"]) for s, v in found["splits"].items())]:
                scores = [metrics[f"all@{b}"]["value"] for b in BUDGETS]
                print(f"{arm:<15} {split:<5}", " ".join(f"{s:.4f}" for s in scores))
                if split == "all":
                    multi = found["categories"]["multi-hop"]["all@4000"]["value"]
                    gaps = [s - r for s, r in zip([*scores, multi], [*row, hops], strict=True)]
                    print(f"{title:<20}", " ".join(f"{r:.4f}" for r in row), f"multi-hop {multi:.4f} against {hops}")
                    print(f"{'difference':<20}", " ".join(f"{g:+.4f}" for g in gaps))
                    bad += min(gaps) < -TOLERANCE
        a, b = canonical(one), canonical(eight)
        print(f"1 worker: {len(a):,} records; 8 workers: {len(b):,} records; different: {len(a ^ b)}")
        bad += bool(a ^ b)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
