"""An experiment from a suite's name or a file, with flags on top: what ``run``, ``plan`` and others have in common."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from memassay.cli.flags import above_zero, numbers_of, primary_of, table_of, with_options, words_of

if TYPE_CHECKING:
    from memassay.running.experiment import Experiment

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
Scale = Annotated[int | None, typer.Option("--scale", help="Entities of the generated world (association).")]
TaskCount = Annotated[int | None, typer.Option("--tasks", help="Questions per kind, else the published (association).")]
EqualBriefs = Annotated[
    bool, typer.Option("--equal-briefs", help="Worked examples for the agents of every arm, the default (association).")
]
PublishedBriefs = Annotated[
    bool, typer.Option("--published-briefs", help="Worked examples for the graph alone, as published (association).")
]
Semantic = Annotated[
    bool, typer.Option("--semantic", help="The rule on embeddings too, in memories that have it; slow (association).")
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
Registered = Annotated[
    str | None,
    typer.Option("--registered", help="Refuse unless this hash stands in the run's pre-registration, prereg.jsonl."),
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
    registered: Registered = None,
    set_: Settings = None,
    data: Data = None,
    corrections: Corrections = None,
    docs: Documents = None,
    questions: Questions = None,
    links: Links = None,
    scale: Scale = None,
    tasks: TaskCount = None,
    equal_briefs: EqualBriefs = False,
    published_briefs: PublishedBriefs = False,
    semantic: Semantic = False,
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
        suite_defaults,
    )
    from memassay.running.presets import check_stores, give_semantic, give_store, preset_budgets, preset_entries

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
    suite = str(tables.get("suite"))
    if not entries:
        entries = {name: dict(entry) for name, entry in suite_defaults(suite).get("memories", {}).items()}
    if semantic:
        give_semantic(entries)
    options = table_of("options", tables.get("options", {}))
    agent_options = table_of("agent_options", tables.get("agent_options", {}))
    if model is not None:
        agent_options["model"] = model
    judge_options: dict[str, Any] = {}
    apply_settings(entries, set_ or [], {AGENT: agent_options, JUDGE: judge_options, suite: options})
    if store is not None:
        give_store(entries, store)
    if given:
        check_stores(entries)
    for name, path in (("data", data), ("corrections", corrections), ("docs", docs), ("questions", questions)):
        if path is not None:
            options[name] = str(path)
    if equal_briefs and published_briefs:
        raise UsageError("--equal-briefs and --published-briefs exclude each other; leave one out.")
    briefs = True if equal_briefs else False if published_briefs else None
    for name, value in (("links", links), ("scale", scale), ("tasks", tasks), ("equal_briefs", briefs)):
        if value is not None:
            options[name] = value
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
        "registered": registered,
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
    hints |= get_type_hints(command, globalns=command.__globals__, localns={"Experiment": object}, include_extras=True)

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
