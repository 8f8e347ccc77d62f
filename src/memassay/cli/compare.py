"""``memassay compare`` and ``memassay baseline``: the regression gate for CI."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

_EXIT = {"passed": 0, "failed": 1, "no decision": 4}

COMPARE_HELP = """Compare a run with an older one, task by task.

With --gate the exit code is the verdict: 0 passed, 1 failed, 4 no decision.

    memassay baseline runs/main --arm lexical --out baseline.json

    memassay compare runs/branch --baseline baseline.json --gate no-worse
"""


def register(app: typer.Typer) -> None:
    """Add the commands."""

    @app.command(help=COMPARE_HELP)
    def compare(
        new: Annotated[Path, typer.Argument(help="The new run's folder.")],
        baseline: Annotated[Path, typer.Option("--baseline", help="The old run's folder, or a baseline file.")],
        gate: Annotated[str | None, typer.Option("--gate", help="no-worse, or a TOML file of your own.")] = None,
        arm: Annotated[str | None, typer.Option("--arm", help="Which arm, where a run has several.")] = None,
        old_arm: Annotated[str | None, typer.Option("--old-arm", help="The old run's arm, if named otherwise.")] = None,
        json_: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    ) -> None:
        from memassay.cli.output import emit, print_json
        from memassay.running.compare import compare as pair
        from memassay.running.compare import gate_of, scored

        conditions = gate_of(gate) if gate is not None else None
        found = pair(scored(new), scored(baseline), arm, old_arm, conditions)
        if json_:
            print_json(found)
        else:
            emit("\n".join(_lines(found)))
        if found["gate"] is not None:
            raise typer.Exit(_EXIT[found["gate"]["verdict"]])

    @app.command(help="Write a run's scores as one small file to commit; compare takes it as --baseline.")
    def baseline(
        run: Annotated[Path, typer.Argument(help="The run's folder.")],
        out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")],
        arm: Annotated[str | None, typer.Option("--arm", help="Only this arm.")] = None,
    ) -> None:
        from memassay.running.compare import save_baseline, scored_run

        found = save_baseline(scored_run(run), out, arm)
        typer.echo(f"{found['baseline']}: {', '.join(found['arms'])}, {found['bytes']:,} bytes")


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    """A comparison in words."""
    new, old = found["new"], found["old"]
    yield f"{new['arm']} ({new['run']}) against {old['arm']} ({old['run']})"
    yield f"{found['n']} tasks in {found['clusters']} clusters, split {found['split']}"
    yield from found["notes"]
    for row in found["comparisons"]:
        diff = row["diff"]
        value = "-" if diff["value"] is None else f"{diff['value']:+.4f}"
        between = "no interval" if diff["low"] is None else f"{diff['low']:+.4f} to {diff['high']:+.4f}"
        yield f"  {row['metric']:<12} {value}  ({between})  {row['wins']} won, {row['losses']} lost"
    if found["gate"] is not None:
        yield f"gate: {found['gate']['verdict']} (margin {found['gate']['margin']:g})"
        yield "  (above: two-sided 95 % intervals; below: the gate's one-sided bounds)"
        yield from (f"  {reason}" for reason in found["gate"]["reasons"])
