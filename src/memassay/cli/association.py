"""``memassay association``: what only this suite needs: questions as a file, the pilot, a second opinion."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from memassay.core.types import Answer, Task
    from memassay.running.plan import Plan
    from memassay.runs.folder import RunFolder
    from memassay.suites.association.graph.crosscheck import Settled

_BASELINE = "sqlite"

RunPath = Annotated[Path, typer.Argument(help="A run of the suite association.")]
Pilot = Annotated[Path | None, typer.Option("--pilot", help="The file of the pilot so far.")]

_TASKS_HELP = """Write the questions with their answers as one JSON file, shaped as the published one.

    memassay association tasks --out tasks.json

    memassay association tasks --seed 7 --scale 5000 --tasks 13 --out tasks.json
"""
_PILOT_HELP = """Find the questions that are too easy, and have the next run replace them.

    memassay run association --arm sqlite --agent claude-code --model MODEL --out runs/pilot-1

    memassay association pilot runs/pilot-1 --out pilot.json

    memassay run association --set association.pilot=pilot.json …
"""
_CHECK_HELP = """Compare the forms, and ask the graph's engine for a second opinion on the truth and on each question.

What the engine disputes is replaced: --out is the list of it that the next run takes, and every question that is then
asked has been put to the engine too.

    memassay association check runs/association

    memassay association check runs/association --out avoid.json
"""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(no_args_is_help=True, help="The suite association: questions as a file, pilot, cross-check.")
    group.command(help=_TASKS_HELP)(tasks)
    group.command(help=_PILOT_HELP)(pilot)
    group.command(help=_CHECK_HELP)(check)
    app.add_typer(group, name="association")


def tasks(
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")] = Path("tasks.json"),
    seed: Annotated[int, typer.Option("--seed", help="Of the world and its questions.")] = 20260910,
    scale: Annotated[int, typer.Option("--scale", help="Entities on the first day.")] = 2000,
    count: Annotated[int | None, typer.Option("--tasks", min=1, help="Questions per kind; four, as published.")] = None,
    pilot: Pilot = None,
) -> None:
    from memassay.runs.lines import disk_errors
    from memassay.suites.association.tasks import drafts_of, load_pilot, write_tasks
    from memassay.suites.association.world import make_world

    world = make_world(seed=seed, scale=scale)
    known = load_pilot(pilot, world.digest) if pilot else None
    drafts = drafts_of(world, count=count, avoid=known.avoid if known else None)
    with disk_errors(out):
        write_tasks(out, world, drafts, known)
    typer.echo(f"{out}: {len(drafts)} questions about the world {world.digest}")


def pilot(
    run: RunPath,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file of the pilot after this round.")],
    pilot: Pilot = None,
    arm: Annotated[str, typer.Option("--arm", help="The arm whose turns count.")] = _BASELINE,
    floor: Annotated[int, typer.Option("--floor", min=1, help="Turns that a question must take.")] = 5,
) -> None:
    from memassay.core.errors import UsageError
    from memassay.core.types import Status
    from memassay.running.contenders import SPEAKS
    from memassay.runs.lines import disk_errors
    from memassay.suites.association import tasks as asked
    from memassay.suites.association.tasks import CAP, judged, load_pilot, write_pilot

    _, plan, answers = _run(run)
    if (plan.identity.get("agent") or {SPEAKS: "none"}).get(SPEAKS) == "none":
        raise UsageError(f"The agent of {run} has no model, so its turns say nothing: run it with --agent and --model.")
    facts = plan.identity["suite_settings"]["facts"]
    known = load_pilot(pilot, facts) if pilot else asked.Pilot(floor=floor)
    mine = [a for a in answers if a.cell.arm == arm and a.cell.repetition == 0 and a.status is Status.OK]
    turns = {a.cell.task: a.usage.turns or None for a in mine}
    if not any(turns.values()):
        raise UsageError(f"{run} has no answer of the arm {arm!r} with turns; name an arm that answered with --arm.")
    after = judged(known, plan.tasks, turns, cap=plan.experiment.limits.turns or CAP)
    after = after.model_copy(update={"facts": facts})
    with disk_errors(out):
        write_pilot(after, out)
    easy = after.rounds[-1].dropped
    typer.echo(f"{len(turns)} answered, {len(easy)} took fewer than {after.floor} turns: {', '.join(easy) or 'none'}")
    typer.echo(f"next: memassay run association --set association.pilot={out} …" if easy else "the set stands")


def check(
    run: RunPath,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="A pilot's file for what is disputed.")] = None,
    pilot: Pilot = None,
    stores: Annotated[Path | None, typer.Option("--stores", help="Folder of built stores; beside the run.")] = None,
    every_day: Annotated[bool, typer.Option("--every-day", help="Compare the forms on every day; slow.")] = False,
) -> None:
    from memassay.cli.output import say
    from memassay.runs.lines import disk_errors
    from memassay.suites.association.forms.equivalence import equivalent
    from memassay.suites.association.graph.crosscheck import cross_check, settle
    from memassay.suites.association.graph.store import GraphReader
    from memassay.suites.association.tasks import Pilot as Known
    from memassay.suites.association.tasks import load_pilot, tasks_of, write_pilot
    from memassay.suites.association.truth import Links
    from memassay.suites.association.world import make_world

    folder, plan, _ = _run(run)
    forms = _forms(folder, plan, stores)
    settings = plan.identity["suite_settings"]
    world = make_world(seed=settings["seed"], scale=settings["scale"])
    known = load_pilot(pilot, world.digest) if pilot else Known()
    say(f"comparing the forms {', '.join(forms)} …")
    complaints = equivalent(forms, every_day=every_day)
    typer.echo(f"{len(forms)} forms compared: {len(complaints)} disagreements")
    links = functools.cache(lambda day: Links(world.state(day)))
    say("opening the graph …")
    with GraphReader.opened(forms["graph"]) as reader:
        say("240 probes of the engine …")
        probes = cross_check(world, links, reader, world.seed)
        typer.echo(f"240 probes of the engine (200 pairs, 20 links, 20 histories): {len(probes)} disagreements")
        wanted = {task.id: number for number, task in enumerate(plan.tasks, 1)}

        def redraw(avoid: Collection[str]) -> list[Task]:
            drawn = tasks_of(world, count=settings["tasks_per_kind"], avoid=avoid)
            return [task for task in drawn if task.id in wanted]

        def asking(task: Task) -> None:
            say(f"question {wanted[task.id]} of {len(wanted)} …")

        settled = settle(plan.tasks, {*known.avoid, *settings["avoided"]}, redraw, reader, asking)
    typer.echo(f"{len(wanted)} questions put to the engine: {len(settled.disputed)} disputed")
    for line in (*complaints, *probes, *settled.disputed):
        typer.echo(f"  {line}")
    if out is not None:
        with disk_errors(out):
            write_pilot(known.model_copy(update={"avoid": settled.avoid, "facts": world.digest}), out)
    for line in _next(run, out, settings, settled):
        typer.echo(line)
    if complaints or probes or settled.disputed:
        raise typer.Exit(1)


def _next(run: Path, out: Path | None, settings: Mapping[str, Any], settled: Settled) -> list[str]:
    """What to do about disputed questions: nothing, or the commands that have them replaced."""
    if not settled.disputed:
        return []
    if not settled.stands:
        return ["What replaces them is disputed as well, so the engine and the truth do not agree on this world."]
    size = settings["tasks_per_kind"]
    asked = f"--set association.seed={settings['seed']} --scale {settings['scale']}{f' --tasks {size}' if size else ''}"
    listed = out or Path("avoid.json")
    again = f"memassay run association {asked} --set association.pilot={listed} --out NEW"
    first = [] if out else [f"memassay association check {run} --out {listed}"]
    return ["The engine agrees with what is asked in their place after:", *(f"  {line}" for line in (*first, again))]


def _forms(folder: RunFolder, plan: Plan, stores: Path | None) -> dict[str, Path]:
    """The folders of a run's stores by the name of their form, the graph last.

    Raises:
        UsageError: the graph or a second form was not built, or a store is gone.
    """
    from memassay.core.errors import UsageError
    from memassay.running.pipeline import Place

    beside = Place(out=folder.path, stores=stores).stores_folder
    memories = {arm.name: arm.memory for arm in plan.arms}
    built = {memories[r.memory]: beside / r.store.location for r in folder.builds() if r.store is not None}
    forms: dict[str, Path] = {name: built[name] for name in ("json-files", "sqlite", "graph") if name in built}
    if "graph" not in forms or len(forms) < 2:
        raise UsageError(f"{folder.path} has not built the graph and a second form; run it with the suite's own arms.")
    for name, place in forms.items():
        if not place.is_dir():
            raise UsageError(
                f"The store of {name!r} is not in {beside}; name the folder of the stores with --stores, or build it "
                "again with the options of the run and memassay build."
            )
    return forms


def _run(path: Path) -> tuple[RunFolder, Plan, list[Answer]]:
    """A run of this suite, its plan and the answers that count.

    Raises:
        UsageError: it is a run of another suite.
    """
    from memassay.core.errors import UsageError
    from memassay.running.rereading import plan_of
    from memassay.runs.folder import RunFolder

    folder = RunFolder.existing(path)
    suite = folder.manifest["identity"]["suite"]
    if suite != "association":
        raise UsageError(f"{path} is a run of the suite {suite!r}; name one of association.")
    return folder, plan_of(folder), list(folder.each(folder.counted()[0]))
