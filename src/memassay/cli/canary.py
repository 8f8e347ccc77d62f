"""``memassay canary``: what only this suite needs: linter, power of a design, the sample as files, the replay."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_LINT_HELP = """Find what is wrong with a set of questions, all of it at once. Ends with 1 if a question cannot be used.

    memassay canary lint questions.jsonl --docs notes/
"""
_POWER_HELP = """What a set of questions can show, before anything is spent: detectable gap, false alarms of the rule.

    memassay canary power --questions questions.jsonl --weights weights.toml

    memassay canary power --per-family 8 --rule seed-v1 --json
"""
_SAMPLE_HELP = """Write the generated sample as files: documents, questions, and what replaced what.

    memassay canary sample --out sample/

    memassay canary lint sample/questions.jsonl --docs sample/docs
"""
_REPLAY_HELP = """Play the published result back: records that fit what was published, and how far those differ.

    memassay canary replay

    memassay canary replay --json
"""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(no_args_is_help=True, help="The suite canary: linter, power, sample, replay.")
    group.command(help=_LINT_HELP)(lint)
    group.command(help=_POWER_HELP)(power)
    group.command(help=_SAMPLE_HELP)(sample)
    group.command(help=_REPLAY_HELP)(replay)
    app.add_typer(group, name="canary")


def lint(
    questions: Annotated[Path, typer.Argument(help="A JSONL file of questions.")],
    docs: Annotated[Path, typer.Option("--docs", help="The documents that they are about: a folder, or a JSONL file.")],
    json_: Json = False,
) -> None:
    from memassay.cli.output import print_json
    from memassay.suites.canary.fixture import read_fixture
    from memassay.suites.canary.ingest import ingest
    from memassay.suites.canary.lint import lint as findings_of

    documents = ingest(docs, leave_out=questions).documents
    asked = read_fixture(questions, checked=False)
    findings = findings_of(asked, documents)
    errors = sum(finding.severity == "error" for finding in findings)
    if json_:
        print_json(
            {"questions": len(asked), "errors": errors, "findings": [f.model_dump(mode="json") for f in findings]}
        )
    else:
        for finding in findings:
            where = f"line {finding.line} ({finding.id}), {finding.field}: " if finding.line else ""
            typer.echo(f"{finding.severity:<8} {where}{finding.message}")
        typer.echo(f"{len(asked)} questions, {errors} errors, {len(findings) - errors} warnings")
    if errors:
        raise typer.Exit(1)


def power(
    questions: Annotated[Path | None, typer.Option("--questions", help="Count the questions of this file.")] = None,
    per_family: Annotated[int | None, typer.Option("--per-family", min=1, help="So many of each family.")] = None,
    weights: Annotated[
        str, typer.Option("--weights", help="published, uniform, or a TOML file with how often each is asked.")
    ] = "published",
    ties: Annotated[float, typer.Option("--ties", min=0, max=0.99, help="The expected share of ties.")] = 0.4,
    gap: Annotated[float, typer.Option("--gap", help="A true gap, above 0; how often it would be found.")] = 0.2,
    rule: Annotated[str, typer.Option("--rule", help="default, or seed-v1 as published.")] = "default",
    json_: Json = False,
) -> None:
    import dataclasses
    from collections import Counter

    from memassay.cli.output import print_json
    from memassay.core.errors import UsageError
    from memassay.suites.canary.families import FAMILIES, PUBLISHED, UNIFORM, allocate, read_weights
    from memassay.suites.canary.fixture import read_fixture
    from memassay.suites.canary.power import power as power_of
    from memassay.suites.canary.world import QUESTIONS

    if questions is not None and per_family is not None:
        raise UsageError("--questions and --per-family exclude each other; leave one out.")
    named = {"published": PUBLISHED, "uniform": UNIFORM}
    weighted = named[weights] if weights in named else read_weights(Path(weights))
    if questions is not None:
        counts = Counter(question.family for question in read_fixture(questions))
        planned = {family: counts[family] for family in FAMILIES}
    elif per_family is not None:
        planned = dict.fromkeys(FAMILIES, per_family)
    else:
        planned = allocate(weighted, QUESTIONS)
    found = power_of(planned, weighted.shares, ties, rule=rule, target=gap)
    if json_:
        print_json(dataclasses.asdict(found))
        return
    each = ", ".join(f"{count} {family}" for family, count in planned.items())
    typer.echo(f"{found.questions} questions ({each}), weights {weighted.name}, {ties:.0%} ties expected")
    for name, precision in (("weighted", found.weighted), ("uniform", found.uniform)):
        typer.echo(
            f"{name:<9} standard error {precision.se:.3f}, 95 % half-width {precision.half_width:.2f}, "
            f"detectable with 80 % power {precision.detectable:.2f}"
        )
    typer.echo(f"two equal memories show a gap of .20 or more in {found.large_gap:.0%} of runs")
    for rate, alarms in found.false_alarms:
        typer.echo(f"rule {found.rule}: false alarms in {alarms:.0%} of runs where both fabricate in {rate:.0%}")
    kind = "confirmatory" if found.confirmatory else "exploratory"
    typer.echo(f"a true gap of {found.target:.2f} is found in {found.found:.0%} of runs: {kind}")
    for size, equal, by_weight in found.needed:
        typer.echo(f"a gap of {size:.2f} needs {equal} questions in equal shares, {by_weight} by weight")


def sample(
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write; new or empty.")],
    documents: Annotated[int, typer.Option("--documents", help="How many documents.")] = 130,
    seed: Annotated[int | None, typer.Option("--seed", help="Of the sample.")] = None,
) -> None:
    from memassay.core.errors import UsageError
    from memassay.runs.lines import disk_errors
    from memassay.suites.canary.fixture import write_fixture
    from memassay.suites.canary.supersessions import write_supersessions
    from memassay.suites.canary.world import SEED, make_world

    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} is not empty; name a new folder with --out.")
    world = make_world(seed=SEED if seed is None else seed, documents=documents)
    with disk_errors(out):
        for document in world.documents:
            path = out / "docs" / document.id
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(document.text, encoding="utf-8", newline="\n")
        write_fixture(out / "questions.jsonl", world.questions)
        write_supersessions(out / "supersessions.jsonl", world.supersessions)
    typer.echo(
        f"{out}: {len(world.documents)} documents, {len(world.questions)} questions, "
        f"{len(world.supersessions)} replacements"
    )


def replay(json_: Json = False) -> None:
    from memassay.cli.output import emit, print_json
    from memassay.suites.canary.published import lines, played_back

    found = played_back()
    if json_:
        print_json(found)
        return
    for line in lines(found):
        emit(line)
