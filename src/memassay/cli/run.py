"""``memassay run``, ``memassay plan``, and a run stage by stage."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memassay.cli.endings import refuse_stopped, refuse_unfinished, refuse_unmeasured
from memassay.cli.experiment import takes_experiment
from memassay.cli.flags import shard_of
from memassay.cli.registration import Amend, Register

if TYPE_CHECKING:
    from memassay.core.types import BuildReport
    from memassay.running.experiment import Experiment

RUN_HELP = """Plan, build, answer, judge and report; resumable.

Repeat the same command to go on where a run stopped. What could change a number is guarded.

    memassay run locomo --memory files,lexical --out runs/first

    memassay run locomo --memory turns=lexical,lexical --set turns.window=1 --out runs/two

    memassay run experiment.toml --out runs/frozen

    memassay run locomo --memory markdown --agent api --model MODEL --judge MODEL --max-usd 5

    memassay run experiment.toml --out runs/frozen --register
"""

Out = Annotated[Path | None, typer.Option("--out", "-o", help="The run folder; runs/SUITE by default.")]
Stores = Annotated[Path | None, typer.Option("--stores", help="Folder of built stores; beside the run folder.")]
Workers = Annotated[int, typer.Option("--workers", min=1, max=256, help="Cells in flight.")]
Shard = Annotated[str, typer.Option("--shard", help="This writer's part, i/n.")]


def run(
    experiment: Experiment,
    out: Out = None,
    stores: Stores = None,
    workers: Workers = 4,
    shard: Shard = "1/1",
    register: Register = False,
    amend: Amend = "",
    json_: Annotated[bool, typer.Option("--json", help="Print summary.json.")] = False,
) -> None:
    from memassay.cli.estimate import AnnouncingBar
    from memassay.cli.output import print_json, print_summary, say
    from memassay.cli.registration import register_only
    from memassay.reporting import write_reports
    from memassay.running.pipeline import Place, run_experiment, sections_of

    folder = out or Path("runs") / experiment.suite
    place = Place(out=folder, stores=stores, shard=shard_of(shard), workers=workers)
    if register:
        register_only(experiment, place, amend, json_=json_)
        return
    with AnnouncingBar(experiment) as bar:
        summary = run_experiment(experiment, place, bar, amend=amend)
    write_reports(folder, summary, sections_of(summary))
    reasons = {name: arm["reason"] for name, arm in summary["arms"].items()}
    if json_:
        print_json(summary)
        refuse_unmeasured(reasons)
        refuse_stopped(summary)
        refuse_unfinished(summary)
        return
    print_summary(summary)
    refuse_unmeasured(reasons)
    if summary["test_reads"]:
        times = "time" if summary["test_reads"] == 1 else "times"
        say(f"test read {summary['test_reads']} {times} beside this run")
    say(f"report: {folder / 'report.html'}")
    refuse_stopped(summary)
    refuse_unfinished(summary)


def build(experiment: Experiment, out: Out = None, stores: Stores = None) -> None:
    from memassay.cli.progress import Bar
    from memassay.running.pipeline import Place, advance

    folder = out or Path("runs") / experiment.suite
    with Bar() as bar:
        made, intended, unavailable, _ = advance(experiment, Place(out=folder, stores=stores), bar, answers=False)
    reports = made.builds()
    for report in reports:
        typer.echo(_stored(report))
    typer.echo(f"{sum(1 for r in reports if r.store)} of {len(reports)} stores are there")
    for arm, reason in unavailable.items():
        typer.echo(f"{arm} cannot be measured here: {reason}")
    refuse_unmeasured({arm.name: unavailable.get(arm.name) for arm in intended.contenders})


def _stored(report: BuildReport) -> str:
    """A line on one store."""
    if report.store is None:
        return f"{report.memory:<20} {report.scope:<20} {report.status}"
    size, seconds = (report.bytes or 0) / 1e6, report.usage.wall_ms / 1000
    found = " (found, built earlier)" if report.reused else ""
    return f"{report.memory:<20} {report.scope:<20} {size:10,.1f} MB {seconds:8.1f} s{found}"


def answer(
    experiment: Experiment, out: Out = None, stores: Stores = None, workers: Workers = 4, shard: Shard = "1/1"
) -> None:
    from memassay.cli.progress import Bar
    from memassay.running.pipeline import Place, advance

    folder = out or Path("runs") / experiment.suite
    with Bar() as bar:
        place = Place(out=folder, stores=stores, shard=shard_of(shard), workers=workers)
        made, plan, unavailable, stopped = advance(experiment, place, bar)
    refuse_unmeasured({arm.name: unavailable.get(arm.name) for arm in plan.contenders})
    done, _ = made.finished()
    planned = sum(1 for c in plan.cells() if c.arm not in unavailable)
    typer.echo(f"{len(done)} of {planned} cells are recorded; next: memassay judge {folder}")
    refuse_stopped({"stopped": stopped})


def plan(
    experiment: Experiment,
    json_: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
) -> None:
    from memassay.cli.estimate import estimate_without_programs, shown
    from memassay.cli.output import print_json

    estimate = estimate_without_programs(experiment)
    if json_:
        print_json(estimate)
        return
    for name, value in estimate.items():
        typer.echo(f"{name:<24} {shown(name, value)}")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(help=RUN_HELP)(takes_experiment(run))
    app.command(help="Build the stores of a run and stop.")(takes_experiment(build))
    app.command(help="Build and answer, without judging; memassay judge goes on from there.")(takes_experiment(answer))
    app.command(help="Show what a run would do and the difference it can detect. Builds and spends nothing.")(
        takes_experiment(plan)
    )
