"""What each script of misbehaviour moves: every number of the suite that differs from ``perfect``, as num/den.

    python benchmarks/platform/adversarial.py                       # 18 protocols, some minutes
    python benchmarks/platform/adversarial.py --protocols 4 --script hedges guesses

All scripts play the same protocols through the harness itself, as arms of one run, on the platform of the suite's
control ``perfect``, whose threshold is so low that every correction replaces what it corrects. Every other fact of the
same dataset replaces it there as well, so the stage ``interference`` is left out.

Each script is about one number (``moves`` in ``memassay.agents.rules.scripts``). A number is moved where its rate is
another one; a number that nothing reached any more (0/0) is no rate. The command ends with 1 where a script does not
move its number, or moves that of another script.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from memassay.agents.rules import SCRIPTS
from memassay.core.contracts import Control
from memassay.core.types import Judgement
from memassay.running.experiment import experiment_of
from memassay.running.pipeline import Place, run_experiment
from memassay.runs.folder import RunFolder
from memassay.suites.lifecycle.grading import ATTEMPT, PASS
from memassay.suites.lifecycle.metrics import published_metrics
from memassay.suites.lifecycle.records import Attempt
from memassay.suites.lifecycle.stages import CHOICES
from memassay.suites.lifecycle.suite import PERFECT, Lifecycle

PLAYED = 18
"""Two of each template; of both kinds nine, in either sink."""
STAGES = tuple(choice for choice in CHOICES if choice != "interference")
NUMBERS = frozenset(script.moves for script in SCRIPTS.values() if script.moves)
"""Those that some script is about."""

Table = Mapping[str, tuple[float, int]]
"""(num, den) by the name of a number."""


class Adversarial(Lifecycle):
    """The suite with an arm for every script.

    Args:
        count: how many protocols.
        scripts: whose arms.
    """

    def __init__(self, count: int = PLAYED, scripts: tuple[str, ...] = tuple(SCRIPTS)) -> None:
        super().__init__(count=count, choices=STAGES)
        self._scripts = scripts

    def controls(self) -> Sequence[Control]:
        arms = (
            PERFECT.model_copy(update={"name": script, "agent_options": {"script": script}})
            for script in self._scripts
            if script != PERFECT.name
        )
        return [Control(arm, PASS, 0.0, 1.0) for arm in arms]


def played(count: int, scripts: Sequence[str]) -> dict[str, Table]:
    """The numbers of ``perfect`` and of every script, each of which plays so many protocols."""
    experiment = experiment_of(
        {
            "suite": f"{__file__}:{Adversarial.__name__}",
            "options": {"count": count, "scripts": list(scripts)},
            "memories": {PERFECT.name: {"use": PERFECT.memory, **PERFECT.options}},
            "agent": PERFECT.agent,
            "agent_options": dict(PERFECT.agent_options),
        }
    )
    verdicts: dict[str, list[Judgement]] = {script: [] for script in (PERFECT.name, *scripts)}
    with tempfile.TemporaryDirectory() as folder:
        run_experiment(experiment, Place(Path(folder) / "run"))
        for verdict in RunFolder(Path(folder) / "run").each_judgement("lifecycle"):
            verdicts[verdict.subjects[0].arm].append(verdict)
    return {script: table(found) for script, found in verdicts.items()}


def table(verdicts: Sequence[Judgement]) -> Table:
    """Every published number, the causes of missed captures, and every strict one."""
    attempts = [Attempt.model_validate(verdict.labels[ATTEMPT]) for verdict in verdicts]
    published = published_metrics(attempts, 1).model_dump()
    split = published.pop("capture_split")
    misses = split.pop("misses")
    rates = {name: rate for name, rate in (published | split).items() if isinstance(rate, dict)}
    found = {name: (rate["num"], rate["den"]) for name, rate in rates.items()}
    found |= {f"misses.{cause}": (times, len(attempts)) for cause, times in misses.items() if cause != "total"}
    # Of one attempt each, ``pass`` is pass^k.
    scored = [name for name in verdicts[0].scores if name not in found and name != PASS]
    return found | {name: counted(verdict.scores[name] for verdict in verdicts) for name in scored}


def counted(scores: Iterable[float | None]) -> tuple[float, int]:
    """The sum of the scores that there are, and how many."""
    known = [score for score in scores if score is not None]
    return round(sum(known), 6), len(known)


def moved(numbers: Table, perfect: Table) -> dict[str, tuple[float, int]]:
    """The numbers whose rate differs from that of ``perfect``; one that nothing reached has no rate."""
    return {
        name: (num, den)
        for name, (num, den) in numbers.items()
        if den and (not perfect[name][1] or num / den != perfect[name][0] / perfect[name][1])
    }


def unreached(numbers: Table, perfect: Table) -> list[str]:
    """The numbers that ``perfect`` has and nothing reached here."""
    return [name for name, (_, den) in numbers.items() if not den and perfect[name][1]]


def wrong(script: str, numbers: Table, perfect: Table) -> str:
    """Why a script does not do what it should, or ""."""
    found = moved(numbers, perfect).keys() & NUMBERS
    wanted = {SCRIPTS[script].moves} - {""}
    return "" if found == wanted else f"{script} moves {sorted(found)}, and should move {sorted(wanted)}"


def share(number: tuple[float, int]) -> str:
    return f"{number[0]:g}/{number[1]}"


def summary(script: str, numbers: Table, perfect: Table) -> str:
    """One row: the script's number, from and to, what else it moves, and how many numbers nothing reached."""
    found, about = moved(numbers, perfect), SCRIPTS[script].moves
    own = f"{about} {share(perfect[about])} -> {share(numbers[about])}" if about else ""
    rest = ", ".join(f"{name} {share(number)}" for name, number in found.items() if name != about)
    return f"| {script} | {own} | {rest} | {', '.join(unreached(numbers, perfect))} |"


def matrix(tables: Mapping[str, Table]) -> str:
    """Numbers in rows, scripts in columns; empty where a script leaves a number as it is."""
    perfect = tables[PERFECT.name]
    others = [script for script in tables if script != PERFECT.name]
    rows = [f"| | {' | '.join([PERFECT.name, *others])} |", "| --- " * (len(others) + 2) + "|"]
    for name, usual in perfect.items():
        cells = [share(tables[script][name]) if tables[script][name] != usual else "" for script in others]
        if any(cells):
            rows.append(f"| {name} | {share(usual)} | {' | '.join(cells)} |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--protocols", type=int, default=PLAYED)
    parser.add_argument("--script", nargs="+", choices=sorted(SCRIPTS), default=list(SCRIPTS))
    args = parser.parse_args()
    began = time.perf_counter()
    tables = played(args.protocols, args.script)
    perfect = tables[PERFECT.name]
    print(f"{args.protocols} protocols, {len(tables)} scripts, {time.perf_counter() - began:.0f} s\n")
    print(f"{matrix(tables)}\n\n| script | its number | what else moves | what is not reached |\n{'| --- ' * 4}|")
    for script, numbers in tables.items():
        print(summary(script, numbers, perfect))
    faults = [fault for script, numbers in tables.items() if (fault := wrong(script, numbers, perfect))]
    sys.exit("\n".join(faults) or 0)


if __name__ == "__main__":
    main()
