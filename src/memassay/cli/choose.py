"""``memassay choose``: from a folder of documents and a file of questions to a decision, in one command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from memassay.cli.experiment import Registered
from memassay.cli.flags import above_zero
from memassay.cli.registration import Amend, Register

if TYPE_CHECKING:
    from memassay.running.experiment import Experiment, JudgeEntry
    from memassay.suites.canary.families import Weights
    from memassay.suites.canary.fixture import Question
    from memassay.suites.canary.suite import Canary

CHOOSE_HELP = """Choose a memory for your own documents, by a rule that is fixed before anything is retrieved.

Ends with 0 for a decision and 4 for none. Without --docs and --questions it shows the way on a generated sample.

    memassay choose init notes/ --out questions.jsonl

    memassay choose plan --docs notes/ --questions questions.jsonl

    memassay choose --docs notes/ --questions questions.jsonl --out runs/choice
"""
_INIT_HELP = """Write a file of questions to fill in: per family what to ask, and words of your documents to ask about.

    memassay choose init notes/ --out questions.jsonl
"""
_PLAN_HELP = """Say what the questions can show, what it costs and where text is sent. Builds and sends nothing.

    memassay choose plan --docs notes/ --questions questions.jsonl
"""
LINE_UP = ("files", "lexical", "markdown", "full-context", "hybrid")
"""Memories that need neither a key nor a language model; those that need an extra are left out where it is missing."""

_SAMPLE = (
    "This is the generated sample: it shows the way and carries no verdict on your documents; give --docs and "
    "--questions."
)
_NO_DECISION = 4

Docs = Annotated[Path | None, typer.Option("--docs", help="Your documents: a folder, or a JSONL file.")]
Questions = Annotated[Path | None, typer.Option("--questions", help="Your questions: a JSONL file.")]
MemoryFlag = Annotated[
    str | None, typer.Option("--memory", "-m", help="Memories instead of the usual ones, comma-separated.")
]
Incumbent = Annotated[str, typer.Option("--incumbent", help="The memory that another one has to beat.")]
WeightsFlag = Annotated[
    str | None, typer.Option("--weights", help="A TOML file with how often each family is asked; else all alike.")
]
Judges = Annotated[
    list[str] | None,
    typer.Option("--judge", help="A model that compares what memories found: MODEL; name two of different families."),
]
JudgeSettings = Annotated[
    list[str] | None, typer.Option("--set", help="How to reach the judges: judge.base_url=…, judge.key_env=NAME.")
]
MaxUsd = Annotated[
    float | None,
    typer.Option("--max-usd", callback=above_zero, help="Stop before the run costs more dollars in all (above 0)."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
PAIRWISE = "pairwise"


def register(app: typer.Typer) -> None:
    """Add the command and its two subcommands."""
    group = typer.Typer(invoke_without_command=True, help=CHOOSE_HELP)
    group.callback()(choose)
    group.command(help=_INIT_HELP)(init)
    group.command(help=_PLAN_HELP)(plan)
    app.add_typer(group, name="choose")


def choose(
    context: typer.Context,
    docs: Docs = None,
    questions: Questions = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The run folder.")] = Path("runs/choose"),
    memory: MemoryFlag = None,
    incumbent: Incumbent = "lexical",
    weights: WeightsFlag = None,
    judge: Judges = None,
    set_: JudgeSettings = None,
    max_usd: MaxUsd = None,
    register: Register = False,
    registered: Registered = None,
    amend: Amend = "",
    json_: Json = False,
) -> None:
    from memassay.core.errors import UsageError

    if context.invoked_subcommand is not None:
        if any(_given(context, name) for name in context.params):
            raise UsageError(f"Write the options after {context.invoked_subcommand}.")
        return
    from memassay.cli.checking import read_both, skipped, warnings
    from memassay.cli.endings import refuse_stopped, refuse_unmeasured
    from memassay.cli.output import emit, print_json, say
    from memassay.cli.progress import Bar
    from memassay.cli.registration import register_only
    from memassay.cli.runs import judges_named
    from memassay.reporting import write_reports
    from memassay.running.pipeline import Place, run_experiment, sections_of
    from memassay.suites.canary.verdict import DECIDED, in_words

    experiment, left_out = _experiment(docs, questions, memory, incumbent, weights)
    judging = {"judges": tuple(judges_named(judge, set_, PAIRWISE)), "max_usd": max_usd}
    experiment = experiment.model_copy(update={"registered": registered, **judging})
    if docs is None or questions is None:
        _suite(experiment)  # refuses one of the two without the other
        say(_SAMPLE)
    else:
        found, asked = read_both(docs, questions)
        _refuse_unweighted(asked, _suite(experiment).weights)
        for line in (*skipped(found), *warnings(asked, found, docs, questions)):
            say(line)
    for name, reason in left_out.items():
        say(f"left out: {name}: {reason}")
    if register:
        register_only(experiment, Place(out=out), amend, json_=json_)
        return
    with Bar() as bar:
        summary = run_experiment(experiment, Place(out=out), bar, amend=amend)
    write_reports(out, summary, sections_of(summary))
    reasons = {name: arm["reason"] for name, arm in summary["arms"].items()}
    refuse_unmeasured(reasons)
    for name, reason in reasons.items():
        if reason:
            say(f"not measured: {name}: {reason}")
    refuse_stopped(summary)
    conclusion = summary["conclusion"]
    if json_:
        print_json(summary)
    else:
        emit(in_words(conclusion))
        emit(f"report: {out / 'report.html'}")
    if conclusion["choice"]["verdict"] not in DECIDED:
        raise typer.Exit(_NO_DECISION)


def init(
    docs: Annotated[Path, typer.Argument(help="Your documents: a folder, or a JSONL file.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write; it must not be there yet.")] = Path(
        "questions.jsonl"
    ),
    per_family: Annotated[int, typer.Option("--per-family", min=1, max=1000, help="Lines of each family.")] = 8,
) -> None:
    from memassay.cli.checking import skipped
    from memassay.cli.output import say
    from memassay.suites.canary.drafting import draft, write_draft
    from memassay.suites.canary.families import FAMILIES
    from memassay.suites.canary.ingest import ingest

    found = ingest(docs, leave_out=out)
    rows = draft(found.documents, per_family)
    write_draft(out, rows)
    for line in skipped(found):
        say(line)
    counted = Counter(str(row["family"]) for row in rows)
    typer.echo(f"{out}: {len(rows)} lines about {len(found.documents)} documents")
    few = [family for family in FAMILIES if counted[family] < per_family]
    if few:
        typer.echo(f"Nothing more was found for {', '.join(few)}; write lines of your own, or do without.")
    typer.echo(
        "Fill in every query, shorten text in required to what must be said (then without start and end), and delete "
        "what does not fit. Then:"
    )
    typer.echo(f"  memassay choose plan --docs {docs} --questions {out}")


def plan(
    docs: Docs = None,
    questions: Questions = None,
    memory: MemoryFlag = None,
    incumbent: Incumbent = "lexical",
    weights: WeightsFlag = None,
    judge: Judges = None,
    set_: JudgeSettings = None,
    json_: Json = False,
) -> None:
    from memassay.cli.checking import read_both, skipped, warnings
    from memassay.cli.output import emit, print_json, say
    from memassay.cli.runs import judges_named
    from memassay.core import registry
    from memassay.core.errors import UsageError
    from memassay.running.estimate import dollars, estimate_of
    from memassay.running.plan import make_plan
    from memassay.suites.canary.outlook import outlook, told

    if docs is None or questions is None:
        raise UsageError("choose plan needs --docs FOLDER and --questions FILE.jsonl: it says what they can show.")
    experiment, left_out = _experiment(docs, questions, memory, incumbent, weights)
    incumbent = str(experiment.options["incumbent"])
    found, asked = read_both(docs, questions)
    weighted = _suite(experiment).weights
    _refuse_unweighted(asked, weighted)
    for line in warnings(asked, found, docs, questions):
        say(line)
    shown = outlook(found.documents, asked, weighted)
    judges = judges_named(judge, set_, PAIRWISE)
    estimate = estimate_of(make_plan(experiment.model_copy(update={"judges": tuple(judges)})))
    cost = estimate.get("comparing in US dollars", 0.0)
    lacking = left_out | {
        name: reason
        for name, entry in experiment.memories.items()
        for reason in _lacking((registry.with_access(entry.use)[0],)).values()
    }
    memories = {name: entry.use for name, entry in experiment.memories.items() if name not in lacking}
    lacking |= _lacking(tuple(sorted({*registry.memories.names()} - {*LINE_UP, *experiment.memories})))
    if json_:
        more = {"skipped": dict(found.skipped), "incumbent": incumbent, "memories": [*memories], "left_out": lacking}
        print_json({**shown, **more, "cost_usd": cost, "text_sent_to": [_address(one) for one in judges]})
        return
    for line in skipped(found):
        say(line)
    rows = {
        **dict(told(shown)),
        "incumbent": incumbent,
        "memories": ", ".join(memories),
        "not tested": "; ".join(f"{name}: {reason}" for name, reason in lacking.items()) or "none that is installed",
        "cost in US dollars": dollars(cost),
        **({"comparisons": estimate["comparisons"]} if judges else {}),
        "text is sent": (
            f"{', '.join(map(_address, judges)) or 'nowhere: no judge'}, and no memory with a language model"
            f"{_foreign(memories.values())}"
        ),
    }
    for name, value in rows.items():
        emit(f"{name:<20} {value}")


def _address(judge: JudgeEntry) -> str:
    """Where a judge's questions, reference answers and dossiers go."""
    at = judge.options.get("base_url")
    return f"to {judge.model}{f' at {at}' if at else ''}"


# -- the experiment ------------------------------------------------------------------------------------------------


def _given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _experiment(
    docs: Path | None, questions: Path | None, memory: str | None, incumbent: str, weights: str | None
) -> tuple[Experiment, dict[str, str]]:
    """The experiment, and the memories that are usually in it and cannot be here, with the reason."""
    from memassay.core.errors import UsageError
    from memassay.running.experiment import experiment_of, memory_entries

    if not incumbent.strip():
        raise UsageError("--incumbent has an empty name; name the memory that another one has to beat, as lexical.")
    entries, left_out = ({}, {}) if memory else _line_up()
    entries |= memory_entries(memory) if memory else {}
    if incumbent not in entries:
        named = memory_entries(incumbent)
        if len(named) > 1:
            raise UsageError(f"--incumbent names {len(named)} memories; name the one that another one has to beat.")
        incumbent = next(iter(named))  # of a memory in a file, the arm has the name of the class
        entries = {**named, **entries} if incumbent in entries else entries | named
    entries[incumbent]["role"] = "baseline"
    options = {"docs": docs, "questions": questions, "weights": weights, "incumbent": incumbent}
    said: dict[str, Any] = {name: str(value) for name, value in options.items() if value is not None}
    if docs is None and questions is None:
        said["sample"] = True
    return experiment_of({"suite": "canary", "options": said, "memories": entries}), left_out


def _line_up() -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    lacking = _lacking(LINE_UP)
    return {name: {"use": name} for name in LINE_UP if name not in lacking}, lacking


def _lacking(names: tuple[str, ...]) -> dict[str, str]:
    """The memories that say that they cannot be measured here, with the reason."""
    from memassay.core import registry
    from memassay.core.errors import CannotMeasure

    found: dict[str, str] = {}
    for name in names:
        try:
            registry.memories.get(name)()
        except CannotMeasure as error:
            found[name] = str(error)
        except TypeError:  # it needs a setting of the user's, and is only run by name
            continue
    return found


def _suite(experiment: Experiment) -> Canary:
    from memassay.running.plan import load_suite

    return cast("Canary", load_suite(experiment))


def _refuse_unweighted(asked: Iterable[Question], weights: Weights) -> None:
    """Refuse questions of which none counts."""
    from memassay.core.errors import DataError

    families = {question.family for question in asked}
    if not any(weights.shares[family] for family in families):
        counting = ", ".join(family for family, share in weights.shares.items() if share)
        raise DataError(
            f"No question counts: every family that is asked ({', '.join(sorted(families))}) has the weight 0 in the "
            f"weights {weights.name}; ask about {counting}, or weigh what is asked with --weights."
        )


def _foreign(uses: Iterable[str]) -> str:
    """Memories that are not of memassay, of which nobody here knows what they send."""
    from memassay.core import registry

    names = [registry.with_access(use)[0] for use in uses]
    others = [name for name in names if registry.is_file(name) or registry.memories.source(name).origin != "memassay"]
    return f"; what {', '.join(others)} sends, its own documentation says" if others else ""
