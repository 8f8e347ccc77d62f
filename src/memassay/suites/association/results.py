"""What a run of the suite comes to, as one mapping for the summary: gates, cells, means, differences, answers.

Every number that was not measured is null. Answers, details and reasons are text of strangers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from pydantic import JsonValue
from pydantic_core import to_jsonable_python

from memassay.core.contracts import Outcome
from memassay.core.types import Status
from memassay.stats import paired_difference
from memassay.suites.association.cells import (
    Cells,
    Measure,
    cache_hit_ratio,
    cost,
    mean,
    measured,
    score,
    total_tokens,
    turns,
)
from memassay.suites.association.gate import WORDINGS, published_gate
from memassay.suites.association.material import cost_ratio, generator, our_gate, ratio
from memassay.suites.association.published import published_interval

BASELINE, GATED = "sqlite", "graph"
"""The arms that the study holds against each other, by their usual names."""
DIFFERENCES: Mapping[str, Measure] = {
    "score": score,
    "cost_usd": cost,
    "total_tokens": total_tokens,
    "turns": turns,
    "cache_hit_ratio": cache_hit_ratio,
}
MEANS = (
    "score", "score_substring", "recall", "wrong_extra", "cost_usd", "total_tokens", "input_tokens", "output_tokens",
    "cache_read_tokens", "cache_write_tokens", "cache_hit_ratio", "tool_calls", "server_calls", "tool_search_calls",
    "turns", "seconds", "adopted",
)  # fmt: skip
UNCLASSIFIED = "unclassified"
TIE = "tie"
_SERVED = "mcp__"
_TOOL_SEARCH = "ToolSearch"


def conclude(
    rows: Sequence[Outcome],
    wording: str = "release",
    *,
    server_tools: Collection[str] = (),
    cap_usd: float | None = None,
    planned: Collection[str] = (),
) -> dict[str, JsonValue]:
    """Everything that the sections of a report are made of.

    The baseline is the arm ``sqlite``, else the only arm with the role; under the gate is the arm ``graph``, else every
    contender; nobody where a graph was planned and could not be measured.

    Args:
        rows: every cell of every arm, in any order.
        wording: of the published gate: ``draft``, ``2026-09-11`` or ``release``.
        server_tools: names of the tools that the memory's own server offers; names that begin with ``mcp__`` count
            as well.
        planned: names of all arms of the run, measured or not.
        cap_usd: the limit of US dollars of one cell, to stand in for a missing cost; or None.

    Returns:
        A mapping of JSON values, the same whatever the order of the rows.

    Raises:
        UnknownName: no wording is called so.
    """
    roles = {row.arm: row.role for row in rows}
    baselines = [arm for arm, role in roles.items() if role == "baseline"]
    baseline = baselines[0] if BASELINE not in roles and len(baselines) == 1 else BASELINE
    # A graph that was planned and could not be measured has nobody to stand in for it at its gate.
    others = sorted(arm for arm, role in roles.items() if role == "contender")
    gated = [GATED] if GATED in {*roles, *planned} else others
    cells = Cells(rows, baseline, gated)
    listed = [_cell(row, server_tools) for row in cells.rows]
    found = {
        "baseline": baseline,
        "arms": cells.arms,
        "gated": cells.gated,
        "tasks": len(cells.tasks),
        "complete_tasks": len(cells.complete()),
        "best": _best(cells),
        "gate": {
            "wording": wording,
            "said": WORDINGS[wording].said if wording in WORDINGS else "",
            "published": published_gate(cells, wording),
            "wordings": {name: published_gate(cells, name).verdict for name in WORDINGS},
            "ours": our_gate(cells, cap_usd),
        },
        "cells": listed,
        "aggregate": _aggregate(cells, listed),
        "deltas": [_delta(cells, arm, name, cap_usd) for arm in _others(cells) for name in DIFFERENCES],
        "correctness": [_task(cells, task.id, task.category) for task in cells.tasks],
        "below_one": [_below_one(row) for row in sorted(cells.rows, key=_lowest) if _lowest(row) < 1],
        "adoption": {arm: _adoption(cells.of(arm), server_tools) for arm in cells.arms},
        "answers": [{"cell": _id(row), "text": row.text} for row in cells.rows],
    }
    plain: dict[str, JsonValue] = to_jsonable_python(found)
    return plain


def _others(cells: Cells) -> list[str]:
    return [arm for arm in cells.arms if arm != cells.baseline]


def _best(cells: Cells) -> list[str]:
    """The arms with the highest mean score and, of those, the lowest mean cost; several where they tie."""
    scores = {arm: round(value, 4) for arm in cells.arms if (value := cells.mean(arm, score)) is not None}
    first = [arm for arm, value in scores.items() if value == max(scores.values())]
    costs = {arm: round(value, 6) for arm in first if (value := cells.mean(arm, cost)) is not None}
    # An arm whose cost is not known may be the cheapest.
    return [arm for arm in first if costs[arm] == min(costs.values())] if len(costs) == len(first) else first


def _id(row: Outcome) -> str:
    return f"{row.task.id}/{row.arm}/{row.build}.{row.number}"


def _lowest(row: Outcome) -> float:
    """For sorting and for what is below 1; an unfinished cell has no score to lose."""
    value = score(row)
    return 1.0 if value is None else value


# -- one cell ------------------------------------------------------------------------------------------------------


def _cell(row: Outcome, server_tools: Collection[str]) -> dict[str, object]:
    usage, known = row.usage, measured(row)
    tokens = total_tokens(row)
    kinds = ("input", "output", "cache_read", "cache_write")
    served = sum(count for name, count in row.tools.items() if _served(name, server_tools))
    return {
        "cell": _id(row),
        "task": row.task.id,
        "kind": row.task.category,
        "arm": row.arm,
        "build": row.build,
        "repetition": row.number,
        "status": str(row.status),
        "detail": row.detail,
        "timed_out": row.status is Status.LIMIT_TIME,
        **{name: row.scores.get(name) for name in ("score", "score_substring", "recall", "wrong_extra")},
        **{f"{kind}_tokens": None if tokens is None else getattr(usage, kind) for kind in kinds},
        "total_tokens": tokens,
        "cache_hit_ratio": cache_hit_ratio(row),
        "cost_usd": cost(row),
        "turns": turns(row),
        "seconds": round(usage.wall_ms / 1000, 3) or None,
        "tools": dict(sorted(row.tools.items())),
        "tool_calls": usage.tool_calls or sum(row.tools.values()) if known else None,
        "server_calls": served if known else None,
        "tool_search_calls": row.tools.get(_TOOL_SEARCH, 0) if known else None,
        "adopted": served > 0 if known else None,
    }


def _served(name: str, server_tools: Collection[str]) -> bool:
    return name.startswith(_SERVED) or name.rpartition("__")[2] in server_tools


def _below_one(row: Outcome) -> dict[str, object]:
    kind, why = row.classified or (UNCLASSIFIED, "")
    return {
        "cell": _id(row),
        "score": score(row),
        **{name: row.labels.get(name) for name in ("found", "of", "missed", "forbidden")},
        "status": str(row.status),
        "detail": row.detail,
        "classification": kind,
        "why": why,
    }


# -- arms ----------------------------------------------------------------------------------------------------------


def _aggregate(cells: Cells, listed: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Means per arm with the change against the baseline in per cent, and how many cells ended how."""
    means = {
        name: {arm: mean(_number(cell[name]) for cell in listed if cell["arm"] == arm) for arm in cells.arms}
        for name in MEANS
    }
    return {
        "means": means,
        "change_percent": {
            name: {arm: _change(by_arm[arm], by_arm.get(cells.baseline)) for arm in _others(cells)}
            for name, by_arm in means.items()
        },
        "counts": {
            arm: {
                "cells": len(cells.of(arm)),
                "timeouts": sum(row.status is Status.LIMIT_TIME for row in cells.of(arm)),
                "out_of_turns": sum(row.status is Status.LIMIT_TURNS for row in cells.of(arm)),
                "errors": sum(row.status.kind != "answered" for row in cells.of(arm)),
                "without_score": cells.missing(arm, score),
                "without_cost": cells.missing(arm, cost),
                "without_tokens": cells.missing(arm, total_tokens),
                "without_turns": cells.missing(arm, turns),
            }
            for arm in cells.arms
        },
    }


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _change(value: float | None, baseline: float | None) -> float | None:
    return None if value is None or not baseline else (value - baseline) / baseline * 100


def _delta(cells: Cells, arm: str, name: str, cap_usd: float | None) -> dict[str, object]:
    """The published difference beside our rule: a difference of scores, a ratio of everything else."""
    measure, tasks = DIFFERENCES[name], cells.complete()
    found: dict[str, object] = {
        "arm": arm,
        "metric": name,
        "arm_mean": cells.mean(arm, measure),
        "baseline_mean": cells.mean(cells.baseline, measure),
        "missing": cells.missing(arm, measure) + cells.missing(cells.baseline, measure),
        "published": published_interval(cells.pairs(arm, measure)),
    }
    if name == "score":
        pairs = cells.pairs(arm, measure, tasks)
        mine, theirs = ([pair[side] for pair in pairs.values()] for side in (0, 1))
        compared = paired_difference(mine, theirs, list(pairs), rng=generator(f"score/{arm}"))
        return {**found, "ours": {"kind": "difference", "estimate": compared.diff, "p": compared.p}}
    if name == "cost_usd":
        both = cost_ratio(cells, arm, tasks, cap_usd)
        capped = both.at_cap and {"kind": "ratio", "estimate": both.at_cap.ratio, "p": both.at_cap.p}
        ours = {"kind": "ratio", "estimate": both.measured.ratio, "p": both.measured.p}
        return {**found, "ours": ours, "ours_at_cap": capped}
    one = ratio(cells, arm, lambda row: measure(row) or None, tasks, name)
    return {**found, "ours": {"kind": "ratio", "estimate": one.ratio, "p": one.p}}


def _task(cells: Cells, task: str, kind: str) -> dict[str, object]:
    """The mean score of every arm on a task, and which is best; where all are, it is a tie."""
    scores = {arm: cells.task_mean(arm, task, score) for arm in cells.arms}
    there = {arm: round(value, 4) for arm, value in scores.items() if value is not None}
    best = [arm for arm, value in there.items() if value == max(there.values())]
    named = TIE if len(best) > 1 and best == list(there) else ", ".join(best)
    return {"task": task, "kind": kind, "scores": scores, "best": named or None}


def _adoption(rows: Sequence[Outcome], server_tools: Collection[str]) -> dict[str, object]:
    """How many sessions called a tool of the memory's server, and all calls by tool, most called first."""
    known = [row for row in rows if measured(row)]
    calls: Counter[str] = Counter()
    for row in known:
        calls.update(row.tools)
    ordered = sorted(calls.items(), key=lambda item: (-item[1], item[0]))
    return {
        "cells": len(known),
        "adopted": sum(any(_served(name, server_tools) and n for name, n in row.tools.items()) for row in known),
        "server": {name: n for name, n in ordered if _served(name, server_tools)},
        "other": {name: n for name, n in ordered if not _served(name, server_tools)},
    }
