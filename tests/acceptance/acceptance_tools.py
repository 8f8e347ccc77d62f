"""What the acceptance tests share: records without their times, a command that is killed, a run in many processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TIMES = {"at", "wall_ms", "seconds"}


def timeless(value: Any) -> Any:
    """A record without the fields that say when and how long."""
    if isinstance(value, dict):
        return {key: timeless(inner) for key, inner in value.items() if key not in TIMES}
    return [timeless(inner) for inner in value] if isinstance(value, list) else value


def lines(paths: Sequence[Path]) -> list[str]:
    """Every record of some files as a canonical line without times."""
    found = []
    for path in paths:
        for line in path.read_text("utf-8").splitlines():
            found.append(json.dumps(timeless(json.loads(line)), sort_keys=True, ensure_ascii=False))
    return found


def answers(run: Path) -> list[str]:
    """The answer records of a run, as canonical lines."""
    return lines(sorted(run.glob("answers-*.jsonl")))


def judgements(run: Path) -> list[str]:
    """The judgement records of a run, as canonical lines."""
    return lines(sorted((run / "judgements").glob("*.jsonl")))


def cells(run: Path) -> Counter[tuple[str, str, int, int]]:
    """How many finished records every cell has; a torn last line is none."""
    found: Counter[tuple[str, str, int, int]] = Counter()
    for path in run.glob("answers-*.jsonl"):
        for line in path.read_bytes().split(b"\n")[:-1]:
            cell = json.loads(line)["cell"]
            found[cell["task"], cell["arm"], cell["build"], cell["repetition"]] += 1
    return found


def equal_runs(one: Path, two: Path) -> None:
    """Assert that two run folders hold the same records, as sets of canonical lines without times."""
    for read in (answers, judgements):
        a, b = read(one), read(two)
        assert len(set(a)) == len(a), "a record stands twice"
        assert set(a) == set(b)
    assert (one / "tasks.jsonl").read_bytes() == (two / "tasks.jsonl").read_bytes()
    assert json.loads((one / "expected.json").read_text()) == json.loads((two / "expected.json").read_text())
    a, b = (json.loads((run / "manifest.json").read_text()) for run in (one, two))
    assert (a["identity"], a["identity_digest"]) == (b["identity"], b["identity_digest"])


def stable(summary: dict[str, Any]) -> dict[str, Any]:
    """A summary without what names the folder, says when, measures time or counts reads."""
    kept = {k: v for k, v in summary.items() if k not in ("run", "registration", "test_reads")}
    kept["arms"] = {
        name: {k: v for k, v in arm.items() if k != "usage"} | {"tokens": arm["usage"]["tokens_per_dossier"]}
        for name, arm in summary["arms"].items()
    }
    if "conclusion" in summary:
        kept["conclusion"] = timeless(summary["conclusion"])
    # Whether the source tree is clean may change while the tests run.
    kept["publishable"] = [r for r in summary["publishable"]["reasons"] if "uncommitted" not in r]
    return kept


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its bytes."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


_START = """
import sys
import memassay.running.pipeline, memassay.judging.evidence, bpe_openai, bm25s
from memassay.cli import main
sys.argv = ["memassay", *sys.argv[1:]]
print("go", flush=True)
main.main()
"""


class Process:
    """The command as a process that can be killed; it has imported everything when this returns."""

    def __init__(self, args: Sequence[str | Path], env: dict[str, str], cwd: Path) -> None:
        self.popen = subprocess.Popen(
            [sys.executable, "-c", _START, *map(str, args)],
            env=env,
            cwd=cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self.popen.stdout is not None
        assert self.popen.stdout.readline() == b"go\n"

    def kill_after(self, seconds: float) -> bool:
        """``kill -9`` after so long; whether the process was still running."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.popen.poll() is None:
            time.sleep(0.002)
        running = self.popen.poll() is None
        if running:
            os.kill(self.popen.pid, signal.SIGKILL)
        self.end()
        return running

    def end(self, timeout: float = 120) -> tuple[int, str, str]:
        out, err = self.popen.communicate(timeout=timeout)
        return self.popen.returncode, out.decode(), err.decode()
