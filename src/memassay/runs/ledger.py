"""What lies beside the runs: one line per run, and every read of a test split."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memassay.core.errors import DataError
from memassay.runs.folder import RunFolder
from memassay.runs.lines import LineWriter, read_lines

TEST_READS = "test-reads.jsonl"


def log_test_read(run: Path, identity: str) -> int:
    """Note that a run has scored a test split; returns how many times that has happened beside this run."""
    path = run.resolve().parent / TEST_READS
    at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    with LineWriter(path, wait=True) as lines:
        lines.append(json.dumps({"at": at, "run": run.name, "identity": identity}, ensure_ascii=False))
    return sum(1 for _ in read_lines(path))


def ledger(folder: Path) -> Iterator[dict[str, Any]]:
    """Every run below a folder, oldest first by name: suite, arms, headline numbers, publishable or why not."""
    for manifest in sorted(folder.rglob("manifest.json")):
        try:
            run = RunFolder.existing(manifest.parent)
            identity = run.manifest["identity"]
        except DataError:
            continue
        entry: dict[str, Any] = {
            "run": manifest.parent.relative_to(folder).as_posix() or manifest.parent.name,
            "suite": identity.get("suite"),
            "identity_digest": run.manifest.get("identity_digest"),
            "publishable": None,
            "scores": {},
            "metric": None,
        }
        try:
            summary = run.summary()
            metric = summary["headline_metric"]
            entry |= {
                "metric": metric,
                "publishable": summary["publishable"]["value"],
                "data": summary["data"],
                "scores": {n: arm["metrics"].get(metric, {}).get("value") for n, arm in summary["arms"].items()},
            }
        except (DataError, KeyError, TypeError, AttributeError):
            # Not summed up yet, or damaged: the run is listed all the same.
            pass
        yield entry


def test_reads(folder: Path) -> int:
    """How many times a test split was scored by runs directly in a folder."""
    return sum(1 for _ in read_lines(folder / TEST_READS))
