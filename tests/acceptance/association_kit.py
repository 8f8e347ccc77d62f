"""What the acceptance tests of ``association`` share: a run made once, its scores, refusals, the graph's tools."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kit import Ran, child_environment

KINDS = ("why", "multihop", "retraction", "timetravel", "visibility")
SMALL = 774
"""The smallest world of the default seed that has twenty tasks."""

SEED, SCALE = 97, 600
"""A smaller world with twenty tasks, found by trial: the time of a graph grows with the square of the scale."""

FACTS = "3107779e2a7d1dd0"
"""Digest of the published world's facts."""

EDGES = {
    "INDUSTRY_ALIGNMENT": {"Company": 244_368, "Job": 116_926},
    "SPECIALTY_MATCH": {"Company": 228_746, "Job": 110_205},
    "LOCATION_FIT": {"Company": 49_506, "Job": 23_878},
    "SIMILAR_SIZE": {"Company": 309_173},
    "MATCHES_DESIGN_STYLE": {"Company": 66_709},
    "SIMILAR_SIZE_STRICT": {"Company": 118_822},
}
"""On day 89, by the nine rules of the questions."""

FORMS = ("json-files", "sqlite", "graph")
FILES = "json-files,sqlite"
# Characters, since it takes a second to load the default tokenizer.
_QUICK = ("--tokens", "chars4")
FEW = ("association", "--scale", "627", "--tasks", "1", "--memory", FILES, *_QUICK)
THREE = ("association", "--set", f"association.seed={SEED}", "--scale", str(SCALE), *_QUICK)
WORLD_FILE = {"json-files": "form/changes.jsonl", "sqlite": "form/world.sqlite", "graph": "world.mushroomdb/wal.bin"}

MISTAKES: Mapping[str, tuple[tuple[str, ...], float | None]] = {
    "first": (KINDS, None),
    "size": (("why",), 0.75),
    "short": (("multihop",), 0.0),
    "stays": (("retraction",), 0.0),
    "today": (("timetravel",), 0.0),
    "blind": (("visibility",), 0.0),
}
"""By the name of a mistake: the kinds that suffer and what is left of a task's score (None: one value of its many)."""


def command(cwd: Path, *args: str | Path, timeout: float = 600) -> Ran:
    """The command as a process of its own, for what is made once per module."""
    (cwd / "home").mkdir(exist_ok=True)
    program = str(Path(sys.executable).with_name("memassay"))
    done = subprocess.run(
        [program, *map(str, args)],
        env=child_environment(cwd / "home", NO_PROXY="127.0.0.1"),
        cwd=cwd,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=timeout,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def refusal(ran: Ran) -> str:
    """The one line of a command that refuses; the lines that say what was planned may stand before it."""
    assert ran.code in (2, 3), (ran.code, ran.err)
    said = [
        line for line in ran.err.splitlines() if line.strip() and not line.startswith(("answers: ", "judgements: "))
    ]
    said = [line for line in said if not line.startswith(("building ", "world of seed "))]
    assert len(said) == 1, ran.err
    assert said[0].startswith("memassay: "), ran.err
    assert "Traceback" not in ran.err + ran.out
    assert ran.out == ""
    return said[0]


def nothing_graded(run: Path) -> None:
    """Assert that a run folder has no answer, no verdict and no summary, if it is there at all."""
    assert not (run / "summary.json").exists()
    assert not (run / "judgements").exists() or not any((run / "judgements").iterdir())
    assert [path.name for path in run.glob("answers-*.jsonl") if path.read_bytes()] == []


def tasks_of(run: Path) -> list[dict[str, Any]]:
    """The tasks of a run."""
    return [json.loads(line) for line in (run / "tasks.jsonl").read_text("utf-8").splitlines()]


def answer_of(task: Mapping[str, Any]) -> list[str]:
    """The right values of a task."""
    return str(task["gold"]["original"]["answer"]).splitlines()


def near_of(task: Mapping[str, Any]) -> list[str]:
    """The near misses of a task."""
    return str(task["gold"]["near"]["answer"]).splitlines()


def scores(run: Path) -> dict[str, dict[str, float]]:
    """By arm and task the score, as the judgements have it."""
    found: dict[str, dict[str, float]] = {}
    for line in (run / "judgements" / "set.jsonl").read_text("utf-8").splitlines():
        record = json.loads(line)
        [cell] = record["subjects"]
        found.setdefault(cell["arm"], {})[cell["task"]] = record["scores"]["score"]
    return found


def expected_after(mistake: str, tasks: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """What every task must score under a mistake."""
    kinds, left = MISTAKES[mistake]
    return {
        task["id"]: 1.0
        if task["category"] not in kinds
        else round(1 / len(answer_of(task)), 4)
        if left is None
        else left
        for task in tasks
    }


def place_of(stores: Path, form: str) -> Path:
    """The store of a form among the stores of a run."""
    [found] = [p for p in stores.iterdir() if (p / "store" / WORLD_FILE[form]).is_file()]
    return found / "store"


def copied(stores: Path, to: Path) -> Path:
    """A copy of built stores, to be spoilt."""
    return Path(shutil.copytree(stores, to, ignore=shutil.ignore_patterns(".*")))


class GraphTools:
    """The graph's tool server over a store, as a process; ``call`` gives whether it refused, and what it said."""

    def __init__(self, place: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "memassay.suites.association.graph.server", str(place)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()

    def call(self, name: str, **arguments: Any) -> tuple[bool, str]:
        from memassay.agents.toolbox import open_toolbox
        from memassay.core.types import Server, Toolset

        async def ask() -> tuple[bool, str]:
            async with open_toolbox(Toolset(servers=(Server(name="graph", url=self.address),))) as box:
                result = await box.call(name, arguments)
                return result.is_error, result.text

        return asyncio.run(ask())

    def close(self) -> tuple[str, str]:
        """End the server; what it said since."""
        self._process.terminate()
        return self._process.communicate(timeout=30)
