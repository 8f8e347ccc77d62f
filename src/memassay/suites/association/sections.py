"""What the suite adds to a report, in the order of the study's summary, from the summary's own mapping alone.

Tables have few columns, so that they can be read on a telephone; the 23 columns of a cell are three tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memassay.core.report import Column, Section, Table
from memassay.core.types import Estimate
from memassay.suites.association.cellwise import adoption, answers, below_one, per_cell
from memassay.suites.association.legs import MINUS, signed
from memassay.suites.association.published import METHOD
from memassay.suites.association.writing import BLANK, METRICS, Cell, columns, written

_COUNTS: Mapping[str, str] = {
    "cells": "all",
    "timeouts": "out of time",
    "out_of_turns": "out of turns",
    "errors": "not answered",
    "without_score": "without a score",
    "without_cost": "without a cost",
    "without_tokens": "without tokens",
    "without_turns": "without turns",
}


def sections(results: Mapping[str, Any], settings: Mapping[str, Any] | None = None) -> list[Section]:
    """Every section; none for a mapping that is not of ``conclude``.

    Args:
        results: what ``conclude`` gave.
        settings: the suite's own, of which ``equal_briefs`` is read.
    """
    if not results.get("gate"):
        return []
    return [
        _conditions(results, settings or {}),
        _gate(results),
        per_cell(results),
        _aggregate(results),
        _deltas(results),
        _correctness(results),
        below_one(results),
        adoption(results),
        answers(results),
    ]


def _conditions(results: Mapping[str, Any], settings: Mapping[str, Any]) -> Section:
    said = [
        f"{results['tasks']} tasks of one generated world; arms {', '.join(results['arms'])}, of which the baseline is "
        f"{results['baseline']}. Every number holds given this world."
    ]
    equal = settings.get("equal_briefs")
    if equal is True:
        said.append("The briefs were equal: every arm got a worked example of each kind of question, for its own form.")
    elif equal is False:
        said.append(
            "The briefs were NOT equal, as in the published study: only the graph got a worked example of each kind of "
            "question. What it gained by that cannot be told from what it gained by the graph."
        )
    said.append(
        "What a cell did not measure is left out of the means and of the paired differences and never counts as 0; the "
        "tables say how many. Its score counts all the same, and a failure of the memory scores 0."
    )
    return Section(title="Arms and briefs", text=" ".join(said))


# -- the gates -----------------------------------------------------------------------------------------------------


def _gate(results: Mapping[str, Any]) -> Section:
    gate = results["gate"]
    published, ours = gate["published"], gate["ours"]
    verdicts: list[tuple[Cell, ...]] = [
        (f"as published, wording {gate['wording']}", published["verdict"].upper(), "; ".join(published["reasons"])),
        ("ours", ours["verdict"].upper(), "; ".join(ours["reasons"])),
        *(
            (f"for comparison: wording {name}", verdict, "")
            for name, verdict in gate["wordings"].items()
            if name != gate["wording"]
        ),
    ]
    tables = [Table(title="Verdicts", columns=columns("gate", "verdict", "reasons"), rows=tuple(verdicts))]
    for name, one in (("as published", published), ("ours", ours)):
        for arm in one["arms"]:
            rows = tuple((leg["leg"], leg["asks"], leg["outcome"], leg["reason"]) for leg in arm["legs"])
            title = f"{arm['arm']}, {name}: {arm['verdict']}"
            tables.append(Table(title=title, columns=columns("leg", "asks that", "outcome", "why"), rows=rows))
    text = [
        f"The wording {gate['wording']} is {gate['said']}.",
        _best(results["best"], results["baseline"]),
        *published["notes"],
        "Ours bounds on how many tasks points are lost, and asks for a cost that is shown to be lower.",
    ]
    return Section(title="Gate", text=" ".join(text), tables=tuple(tables))


def _best(arms: Sequence[str], baseline: str) -> str:
    """Which arm is the most correct, and the cheapest of those; or that several are alike."""
    match arms:
        case []:
            return "No arm is best."
        case [arm]:
            return f"The best arm, most correct and then cheapest, is {arm}{', the baseline' * (arm == baseline)}."
        case _:
            return f"No arm is best: {', '.join(arms[:-1])} and {arms[-1]} tie."


# -- arms and tasks ------------------------------------------------------------------------------------------------


def _aggregate(results: Mapping[str, Any]) -> Section:
    arms, baseline, found = results["arms"], results["baseline"], results["aggregate"]

    def value(name: str, arm: str) -> str:
        number = written(found["means"][name][arm], METRICS[name][1])
        change = found["change_percent"][name].get(arm)
        return number if change is None else f"{number} ({signed(change, 1)} %)"

    means = tuple((METRICS[name][0], *(value(name, arm) for arm in arms)) for name in found["means"])
    counts = tuple((said, *(found["counts"][arm][name] for arm in arms)) for name, said in _COUNTS.items())
    return Section(
        title="Aggregate",
        text=f"Means per cell; in brackets the change against {baseline}.",
        tables=(
            Table(title="Means", columns=columns("metric", *arms), rows=means),
            Table(title="How cells ended", columns=columns("cells", *arms, kind="integer"), rows=counts),
        ),
    )


def _deltas(results: Mapping[str, Any]) -> Section:
    baseline = results["baseline"]
    published, ours = [], []
    for delta in results["deltas"]:
        title, digits = METRICS[delta["metric"]]
        name = f"{delta['arm']} {MINUS} {baseline}, {title}"
        one = delta["published"]
        means = " / ".join(written(delta[side], digits) for side in ("arm_mean", "baseline_mean"))
        around = f"[{signed(one['low'], digits + 1)}, {signed(one['high'], digits + 1)}]" if one else BLANK
        change = signed(one["value"], digits + 1) if one else BLANK
        published.append((name, means, change, around, one["n"] if one else 0, delta["missing"]))
        for key, said in (("ours", ""), ("ours_at_cap", ", missing costs at the limit")):
            if rule := delta.get(key):
                mark = MINUS if rule["kind"] == "difference" else "/"
                estimate = Estimate.model_validate(rule["estimate"])
                p = None if rule["p"] is None else f"{rule['p']:.2g}"
                ours.append((f"{delta['arm']} {mark} {baseline}, {title}{said}", estimate, p, estimate.n))
    tasks = Column(title="tasks", kind="integer")
    return Section(
        title=f"Deltas against {baseline}",
        text="One difference per task, of means over repetitions. Compare only inside a run: published costs "
        "moved by a factor of two between days on which nothing else did. Ours are ratios, but for the score: 0.5 is "
        f"half of what {baseline} took. They are taken on the {results['complete_tasks']} of {results['tasks']} tasks "
        "that every arm finished, and are exploratory but for the legs of the gate.",
        tables=(
            Table(
                title=METHOD.capitalize(),
                columns=(
                    *columns("comparison", f"means, arm / {baseline}", "delta", "95 % interval"),
                    tasks,
                    Column(title="cells left out", kind="integer"),
                ),
                rows=tuple(published),
            ),
            Table(
                title="Ours",
                columns=(
                    Column(title="comparison"),
                    Column(title="difference or ratio", kind="estimate"),
                    Column(title="p", hint="sign flip over tasks, unadjusted"),
                    tasks,
                ),
                rows=tuple(ours),
            ),
        ),
    )


def _correctness(results: Mapping[str, Any]) -> Section:
    arms = results["arms"]
    rows = [
        (task["task"], *(written(task["scores"][arm], 2) for arm in arms), task["best"] or BLANK)
        for task in results["correctness"]
    ]
    rows.append(("mean of cells", *(written(results["aggregate"]["means"]["score"][arm], 3) for arm in arms), ""))
    table = Table(title="Scores", columns=columns("task", *arms, "best"), rows=tuple(rows))
    return Section(title="Correctness by task", text="Mean score over repetitions.", tables=(table,))
