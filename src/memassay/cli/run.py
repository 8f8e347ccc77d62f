"""``memassay run``, ``memassay plan``: an experiment from a suite's name or a file, with flags on top."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from memassay.cli.endings import refuse_stopped, refuse_unfinished, refuse_unmeasured
from memassay.cli.flags import above_zero, numbers_of, primary_of, shard_of, table_of, with_options, words_of

if TYPE_CHECKING:
    from memassay.running.experiment import Experiment

RUN_HELP = """Plan, build, answer, judge and report; resumable.

Repeat the same command to go on where a run stopped. What could change a number is guarded.

    memassay run locomo --memory files,lexical --out runs/first

    memassay run locomo --memory turns=lexical,lexical --set turns.window=1 --out runs/two

    memassay run experiment.toml --out runs/frozen

    memassay run locomo --memory markdown --agent api --model MODEL --judge MODEL --max-usd 5
"""

Target = Annotated[str, typer.Argument(metavar="SUITE|EXPERIMENT.toml", help="A suite's name, or an experiment file.")]
Memory = Annotated[
    str | None,
    typer.Option("--memory", "-m", help="Memories, comma-separated: NAME, NAME=MEMORY or ./file.py:Class."),
]
Arms = Annotated[list[str] | None, typer.Option("--arm", help="An arm as MEMORY/ACCESS; may be repeated.")]
Settings = Annotated[list[str] | None, typer.Option("--set", help="A setting, NAME.key=value; may be repeated.")]
Data = Annotated[Path | None, typer.Option("--data", help="The suite's data file.")]
Corrections = Annotated[Path | None, typer.Option("--corrections", help="An audit of the gold (locomo).")]
Documents = Annotated[Path | None, typer.Option("--docs", help="A folder or JSONL of documents (custom).")]
Questions = Annotated[Path | None, typer.Option("--questions", help="A JSONL of questions (custom).")]
Links = Annotated[
    str | None, typer.Option("--links", help="The corpus: 'none', or 'titles' linked from page to page (hotpotqa).")
]
Force = Annotated[
    bool, typer.Option("--force", help="Draw the questions anew where another draw is frozen (hotpotqa).")
]
Sample = Annotated[bool, typer.Option("--sample", help="Use the built-in generated sample instead of a file.")]
Tokens = Annotated[str | None, typer.Option("--tokens", help="o200k_base (default), cl100k_base or chars4.")]
Budgets = Annotated[str | None, typer.Option("--budgets", help="Context budgets in tokens, comma-separated.")]
Cutoffs = Annotated[str | None, typer.Option("--ks", help="Numbers of passages to score at, comma-separated.")]
Categories = Annotated[str | None, typer.Option("--categories", help="Categories by name or number, comma-separated.")]
Conversations = Annotated[str | None, typer.Option("--conversations", help="Ids of conversations (scopes).")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="This many tasks in all, over all clusters.")]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of every random choice of the run.")]
Builds = Annotated[int | None, typer.Option("--builds", min=1, help="Build replicates of every store.")]
PrimaryFlag = Annotated[
    str | None,
    typer.Option("--primary", help="The one comparison with a verdict: METRIC[@SPLIT]:A>B, as in test/all@4000:A>B."),
]
NoControls = Annotated[bool, typer.Option("--no-controls", help="Leave the controls out (never publishable).")]
Stage = Annotated[
    str | None, typer.Option("--stage", help="How far an arm goes: 'retrieval', or 'answer' where there is an agent.")
]
AgentFlag = Annotated[str | None, typer.Option("--agent", help="What answers; 'extractive' needs no key and no model.")]
Model = Annotated[str | None, typer.Option("--model", help="The agent's model.")]
Judges = Annotated[
    list[str] | None,
    typer.Option("--judge", help="A model that judges: MODEL (the same as binary:MODEL), or lenient:MODEL."),
]


MaxUsd = Annotated[
    float | None,
    typer.Option("--max-usd", callback=above_zero, help="Stop before the run costs more dollars (above 0)."),
]
Repetitions = Annotated[int | None, typer.Option("--repetitions", min=1, help="Answers per question and arm.")]
Preset = Annotated[str | None, typer.Option("--preset", help="A published line-up of arms, such as iwe-2026.")]
StoreFolder = Annotated[
    Path | None, typer.Option("--store", help="A folder of finished stores, for the arms that take one (curated).")
]


def experiment_from(
    target: Target,
    stage: Stage = None,
    memory: Memory = None,
    arm: Arms = None,
    preset: Preset = None,
    store: StoreFolder = None,
    agent: AgentFlag = None,
    model: Model = None,
    judge: Judges = None,
    repetitions: Repetitions = None,
    max_usd: MaxUsd = None,
    set_: Settings = None,
    data: Data = None,
    corrections: Corrections = None,
    docs: Documents = None,
    questions: Questions = None,
    links: Links = None,
    force: Force = False,
    sample: Sample = False,
    tokens: Tokens = None,
    budgets: Budgets = None,
    ks: Cutoffs = None,
    categories: Categories = None,
    conversations: Conversations = None,
    limit: Limit = None,
    seed: Seed = None,
    builds: Builds = None,
    primary: PrimaryFlag = None,
    no_controls: NoControls = False,
) -> Experiment:
    """Merge an experiment file (or a suite's name) with flags; flags win.

    Raises:
        UsageError: any of it does not fit, in one sentence.
    """
    from memassay.core.errors import UsageError
    from memassay.running.experiment import (
        AGENT,
        JUDGE,
        apply_settings,
        experiment_of,
        judge_entry,
        memory_entries,
        read_experiment,
    )
    from memassay.running.presets import check_stores, give_store, preset_budgets, preset_entries

    tables: dict[str, Any] = read_experiment(Path(target)) if target.endswith(".toml") else {"suite": target}
    if stage not in (None, "retrieval", "answer"):
        raise UsageError(f"Unknown stage {stage!r}. Known: retrieval, answer.")
    entries: dict[str, dict[str, Any]] = {
        name: table_of(f"memories.{name}", entry)
        for name, entry in table_of("memories", tables.get("memories", {})).items()
    }
    named = [*([memory] if memory else []), *(arm or [])]
    given: dict[str, dict[str, Any]] = {}
    if preset is not None:
        wide = preset_budgets(preset, str(tables.get("suite")))
        tables |= {"budgets": list(wide)} if wide and "budgets" not in tables else {}
        given |= preset_entries(preset, str(tables.get("suite")), named)
    elif named:
        given = memory_entries(",".join(named))
    if given:
        # A name from the file keeps its table; the flag chooses and orders.
        entries = {name: entries.get(name, entry) for name, entry in given.items()}
    agent_options = table_of("agent_options", tables.get("agent_options", {}))
    if model is not None:
        agent_options["model"] = model
    judge_options: dict[str, Any] = {}
    apply_settings(entries, set_ or [], {AGENT: agent_options, JUDGE: judge_options})
    if store is not None:
        give_store(entries, store)
    if given:
        check_stores(entries)
    options = table_of("options", tables.get("options", {}))
    for name, path in (("data", data), ("corrections", corrections), ("docs", docs), ("questions", questions)):
        if path is not None:
            options[name] = str(path)
    if links is not None:
        options["links"] = links
    if force:
        options["force"] = True
    if sample:
        options["sample"] = True
    tables |= {"memories": entries, "options": options, "agent_options": agent_options}
    flags: dict[str, Any] = {
        "tokens": tokens,
        "budgets": numbers_of("--budgets", budgets),
        "ks": numbers_of("--ks", ks),
        "categories": words_of(categories),
        "scopes": words_of(conversations),
        "limit": limit,
        "seed": seed,
        "builds": builds,
        "stage": stage,
        "agent": agent,
        "judges": [{**judge_entry(text), "options": judge_options} for text in judge] if judge else None,
        "repetitions": repetitions,
        "max_usd": max_usd,
        "primary": primary_of(primary),
        "controls": False if no_controls else None,
    }
    tables |= {name: value for name, value in flags.items() if value is not None}
    if judge_options and not judge:
        tables["judges"] = [with_options(entry, judge_options) for entry in tables.get("judges", [])]
        if not tables["judges"]:
            raise UsageError("--set judge.… is about the judges of --judge; name one.")
    return experiment_of(tables)


def takes_experiment(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the flags of ``experiment_from``; it gets the finished experiment as ``experiment``."""
    flags = inspect.signature(experiment_from)
    own = inspect.signature(command)
    hints = get_type_hints(experiment_from, globalns=globals(), localns={"Experiment": object}, include_extras=True)
    hints |= get_type_hints(command, globalns=globals(), localns={"Experiment": object}, include_extras=True)

    @functools.wraps(command)
    def wrapped(**values: Any) -> None:
        experiment = experiment_from(**{name: values.pop(name) for name in flags.parameters})
        command(experiment, **values)

    parameters = [*flags.parameters.values(), *(p for name, p in own.parameters.items() if name != "experiment")]
    typed = [p.replace(annotation=hints[p.name], kind=p.KEYWORD_ONLY) for p in parameters]
    wrapped.__signature__ = inspect.Signature(typed)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in typed} | {"return": None}
    del wrapped.__wrapped__
    return wrapped


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
    json_: Annotated[bool, typer.Option("--json", help="Print summary.json.")] = False,
) -> None:
    from memassay.cli.estimate import AnnouncingBar
    from memassay.cli.output import print_json, print_summary, say
    from memassay.reporting import write_reports
    from memassay.running.pipeline import Place, run_experiment, sections_of

    folder = out or Path("runs") / experiment.suite
    place = Place(out=folder, stores=stores, shard=shard_of(shard), workers=workers)
    with AnnouncingBar(experiment) as bar:
        summary = run_experiment(experiment, place, bar)
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
    typer.echo(f"{sum(1 for r in reports if r.store)} of {len(reports)} stores are there")
    for arm, reason in unavailable.items():
        typer.echo(f"{arm} cannot be measured here: {reason}")
    refuse_unmeasured({arm.name: unavailable.get(arm.name) for arm in intended.contenders})


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
