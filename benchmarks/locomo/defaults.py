"""The defaults of our memories, tried on LOCOMO's dev conversations and train questions of HotPotQA.

    python benchmarks/locomo/defaults.py LOCOMO HOTPOT_200              # all memories
    python benchmarks/locomo/defaults.py LOCOMO HOTPOT_200 --memory lexical
    python benchmarks/locomo/defaults.py LOCOMO HOTPOT_200 --published  # how those of lexical came about

LOCOMO is ``locomo10.json``, of which conv-26 and conv-30 are asked and nothing else; HOTPOT_200 must be the slice of
200 train questions. Tokens are characters / 4.

The rule, written down before the first run of this script:

1. The score of a question is the mean of ``all@B`` over the budgets, and that of a row the mean over the questions.
2. Every setting is varied alone or with the one that it belongs to, around the defaults; one more row has the best
   values of all groups together.
3. The defaults stay if, on both sets, they are within one standard error of the best row. The standard error is that
   of the best row's mean over the questions, as in the usual one-standard-error rule: with as many rows as here the
   best one is too good by luck. Differences to the defaults are printed with the standard error of the pairs as well,
   for the reader.
4. Else the best row of the set on which they are not takes their place.
5. That row must be within one standard error of the best row of the other set as well, itself among the rows. Else its
   ``k1`` and ``b`` alone are chosen anew: of the pairs of the grid, with all else as in the row, the one with the best
   mean of the two sets' means, and of equal ones the first. (Written down before such a row was run on HotPotQA.)

The first run had of ``hybrid`` its ``fusion`` and ``weight`` only. What it shares with ``lexical`` was added before
any such row was run here, with the same values as there and under the rule as it was. ``embedder`` and ``search`` are
not varied: the one is another package, the other a matter of size.

Of ``markdown`` it has what was taken over from ``lexical`` and how pages are cut, on linked pages of HotPotQA, and on
LOCOMO what is built in; of ``passages`` it has what is built in (``built_in.py``).

``lexical`` had the settings of the published row first (``anchors.py``). Around these the rule asks for others, which
are its defaults now; ``--published`` tries it once more around them.

Exit code 1 if the rule asks for other defaults.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import itertools
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev

import built_in
from anchors import PUBLISHED

from memassay.data.catalogue import CATALOGUE
from memassay.memories.hybrid import Hybrid
from memassay.memories.lexical import Lexical

DEV = ("conv-26", "conv-30")
Row = Mapping[str, object]


def grid(**values: Sequence[object]) -> list[Row]:
    """Every combination of the values."""
    return [dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values())]


WEIGHING = {
    "saturation": grid(k1=[0.9, 1.2, 1.5, 2.0], b=[0.25, 0.5, 0.75, 1.0]),
    "words": grid(stemmer=["english", "suffix", "none"], stop_words=["questions", "lucene", "anchor", "none"]),
}
FUSION = {"fusion": grid(fusion=["scores", "ranks"], weight=[0.2, 0.3, 0.4, 0.5, 0.6, 0.8])}
CUT = [row for row in grid(window=[1, 3, 5, 7, 10], stride=[1, 2, 3, 5]) if row["stride"] <= row["window"]]

LOCOMO: Mapping[str, Sequence[Row]] = {
    "passages": [*CUT, {"unit": "document"}],
    **WEIGHING,
    "dates": grid(dates=["day", "full", "none"], index_dates=[False, True]),
    "filling": grid(fill=["oldest", "newest", "none"]),
}
HOTPOTQA: Mapping[str, Sequence[Row]] = {"title": grid(title_weight=[0, 1, 2, 3, 4]), **WEIGHING}
MARKDOWN: Mapping[str, Sequence[Row]] = {
    "title": grid(title_weight=[0, 1, 2, 3, 4]),
    **WEIGHING,
    "chars": grid(max_chars=[500, 1000, 2000]),
    "whole": grid(whole=[0, 250, 500, 1000], grain=["passage", "section", "page"]),
    "dates": grid(dates=["day", "full", "none"]),
}
SWEEPS: Mapping[str, Mapping[str, Mapping[str, Sequence[Row]]]] = {
    "lexical": {"locomo": LOCOMO, "hotpotqa": HOTPOTQA},
    "hybrid": {"locomo": {**LOCOMO, **FUSION}, "hotpotqa": {**HOTPOTQA, **FUSION}},
    "markdown": {"locomo": WEIGHING, "hotpotqa": MARKDOWN},
    "passages": {"locomo": WEIGHING, "hotpotqa": WEIGHING},
}
BUDGETS = {"locomo": (1000, 2000, 4000, 8000, 12000), "hotpotqa": (1000, 2000, 4000)}
CLASSES = {"lexical": Lexical, "hybrid": Hybrid, "markdown": built_in.Markdown, "passages": built_in.Passages}
USES = {name: f"{built_in.__file__}:{found.__name__}" if found.__module__ == "built_in" else name
        for name, found in CLASSES.items()}  # fmt: skip


def defaults(memory: str) -> dict[str, object]:
    return {name: found.default for name, found in inspect.signature(CLASSES[memory]).parameters.items()}


def differing(row: Row, start: Row) -> dict[str, object]:
    """What of a row differs from the settings that it is varied around."""
    return {name: value for name, value in row.items() if value != start[name]}


def scores(suite: str, data: Path, memory: str, rows: Sequence[Row]) -> list[dict[str, list[float]]]:
    """For every row the scores of each question at the budgets, through the harness."""
    command = [
        sys.executable,
        "-m",
        "memassay",
        "run",
        suite,
        "--data",
        str(data),
        "--tokens",
        "chars4",
        "--no-controls",
    ]
    command += ["--budgets", ",".join(map(str, BUDGETS[suite])), "--json"]
    command += ["--memory", ",".join(f"r{at}={USES[memory]}" for at in range(len(rows)))]
    for at, row in enumerate(rows):
        for name, value in row.items():
            command += ["--set", f"r{at}.{name}={str(value).lower()}"]
    if memory == "markdown" and suite == "hotpotqa":
        command += ["--links", "titles"]
    if suite == "locomo":
        command += ["--conversations", ",".join(DEV)]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([*command, "--out", f"{folder}/run"], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr)
        lines = (Path(folder) / "run/judgements/evidence.jsonl").read_text("utf-8").splitlines()
    found: list[dict[str, list[float]]] = [{} for _ in rows]
    for judgement in map(json.loads, lines):
        (subject,) = judgement["subjects"]
        task, arm = subject["task"], subject["arm"]
        assert suite != "locomo" or task.split("/")[0] in DEV, task
        if f"all@{BUDGETS[suite][0]}" in judgement["scores"]:  # not so where a question has no evidence
            found[int(arm[1:])][task] = [judgement["scores"][f"all@{budget}"] for budget in BUDGETS[suite]]
    assert len({tuple(sorted(row)) for row in found}) == 1, "every row must have the same questions"
    return found


def error(values: Sequence[float]) -> float:
    return stdev(values) / math.sqrt(len(values))


def sweep(memory: str, suite: str, data: Path, start: Row) -> tuple[bool, Row]:
    """Print the table of a memory on a set, varied around ``start``.

    Returns:
        Whether the defaults are within the error of the best row, and that row.
    """
    groups = SWEEPS[memory][suite]
    table: dict[str, dict[str, list[float]]] = {}
    settings: dict[str, Row] = {}
    centre = "the defaults" if start == defaults(memory) else "the published row"

    def label(row: Row) -> str:
        if {**start, **row} == defaults(memory):
            return "the defaults"
        return ", ".join(f"{k}={str(v).lower()}" for k, v in row.items()) or centre

    def add(rows: Sequence[Row]) -> list[str]:
        different = [differing(row, start) for row in rows]
        fresh = {label(row): row for row in different if label(row) not in table}
        if fresh:
            full = [{**differing(start, defaults(memory)), **row} for row in fresh.values()]
            table.update(zip(fresh, scores(suite, data, memory, full), strict=True))
            settings.update(fresh)
        return [label(row) for row in different]

    def mean(label: str) -> float:
        return fmean(map(fmean, table[label].values()))

    # One run for all groups: a text is embedded once in it.
    labels = iter(add([*(row for rows in groups.values() for row in rows), {}, defaults(memory)]))
    best_of = [max(itertools.islice(labels, len(rows)), key=mean) for rows in groups.values()]
    add([{name: value for label in best_of for name, value in settings[label].items()}])
    present = table[centre]
    print(f"\n{memory} on {suite}, n = {len(present)}\n")
    print("| settings |", " | ".join(f"all@{b}" for b in BUDGETS[suite]), f"| mean | to {centre} |")
    print("| --- |", " | ".join("---" for _ in range(len(BUDGETS[suite]) + 2)), "|")
    for row in sorted(table, key=mean, reverse=True):
        at = [fmean(column) for column in zip(*table[row].values(), strict=True)]
        gains = [fmean(found) - fmean(present[task]) for task, found in table[row].items()]
        pairs = f"{fmean(gains):+.4f} ± {error(gains):.4f}" if row != centre else ""
        print(f"| {row} |", " | ".join(f"{x:.3f}" for x in at), f"| {mean(row):.4f} | {pairs} |", flush=True)
    best = max(table, key=mean)
    margin = error([fmean(found) for found in table[best].values()])
    limit = mean(best) - margin - 1e-12  # a row at the very end is within it, however that is rounded
    within = [row for row in table if mean(row) >= limit]
    print(
        f"\nbest: {best}, {mean(best):.4f}, standard error {margin:.4f}; within it {len(within)} of {len(table)} rows"
    )
    for row in dict.fromkeys((centre, "the defaults")):
        print(f"{row}: {mean(row):.4f}, {'within' if row in within else 'NOT within'} it")
    return "the defaults" in within, settings[best]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("locomo", type=Path)
    parser.add_argument("hotpotqa", type=Path)
    parser.add_argument("--memory", choices=sorted(SWEEPS))
    parser.add_argument("--published", action="store_true", help="of lexical, around the settings of the published row")
    given = parser.parse_args()
    if hashlib.sha256(given.hotpotqa.read_bytes()).hexdigest() != CATALOGUE["hotpotqa-200"].sha256:
        sys.exit(f"{given.hotpotqa} is not the slice of train questions (hotpotqa-200 of the catalogue).")
    stay = True
    for memory in ["lexical"] if given.published else [given.memory] if given.memory else SWEEPS:
        for suite in SWEEPS[memory]:
            start = PUBLISHED if given.published else defaults(memory)
            near, best = sweep(memory, suite, getattr(given, suite).resolve(), start)
            if not near:
                print(f"the rule asks for other defaults of {memory}: {best}")
            stay &= near
    print("\nthe rule keeps the defaults" if stay else "\nthe rule does not keep the defaults")
    return 0 if stay else 1


if __name__ == "__main__":
    sys.exit(main())
