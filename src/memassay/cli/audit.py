"""``memassay audit judge``: how often a judge is wrong, by answers whose verdict is known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from memassay.cli.flags import above_zero
from memassay.cli.runs import JudgeSettings, judges_named

app = typer.Typer(help="Look into what a number rests on.", no_args_is_help=True)

_JUDGE_HELP = """Plant answers to a run's own questions, right and wrong ones, and count what its judges say to them.

    memassay audit judge runs/locomo

    memassay audit judge runs/locomo --judge MODEL --judge lenient:MODEL --per-kind 200 --max-usd 2

The rates are kept in the run and stand beside its scores. It asks each judge about six kinds of answers, and says first
how many requests that is and what they are expected to cost.
"""


@app.callback()
def root() -> None:
    """Look into what a number rests on."""


@app.command(help=_JUDGE_HELP)
def judge(
    run: Annotated[Path, typer.Argument(help="The run's folder.")],
    by: Annotated[
        list[str] | None,
        typer.Option("--judge", help="A judge, MODEL or lenient:MODEL; those of the run where none is named."),
    ] = None,
    set_: JudgeSettings = None,
    per_kind: Annotated[int, typer.Option("--per-kind", min=1, help="Planted answers of a kind, at most.")] = 100,
    seed: Annotated[int, typer.Option("--seed", help="Seed of what is planted where.")] = 20261130,
    max_usd: Annotated[
        float | None,
        typer.Option(
            "--max-usd", callback=above_zero, help="End it before it costs more dollars (above 0); needs a known price."
        ),
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    from memassay.cli.output import print_json
    from memassay.reporting import write_reports
    from memassay.running.auditing import audit_run
    from memassay.running.pipeline import sections_of
    from memassay.runs.folder import RunFolder

    folder = RunFolder.existing(run)
    found = audit_run(
        folder, judges_named(by, set_), per_kind=per_kind, seed=seed, max_usd=max_usd, on_estimate=_announce
    )
    if (run / "summary.json").exists():
        summary = folder.summary()
        write_reports(run, summary, sections_of(summary))
    if json_:
        print_json(found)
        return
    _print(found)


def _announce(requests: int, cost: float | None) -> None:
    from memassay.cli.output import say
    from memassay.running.estimate import dollars

    say(f"about {requests:,} requests; cost in US dollars: {dollars(cost)}")


def _print(found: dict[str, Any]) -> None:
    from memassay.running.estimate import dollars

    kinds = found["kinds"]
    for name, account in found["judges"].items():
        typer.echo(f"{name}")
        for kind, row in account["kinds"].items():
            rate = row["rate"]
            if rate["value"] is None:
                typer.echo(f"  {kind:<22} {row['error']:<13} none judged ({row['failed']} failed)")
                continue
            low, high = row["wilson"]["low"], row["wilson"]["high"]
            few = "" if kinds[kind]["enough"] else "  (few)"
            typer.echo(
                f"  {kind:<22} {row['error']:<13} {rate['value']:.3f} [{low:.3f}, {high:.3f}]  n {row['n']}{few}"
            )
        if account["model"] != "real" and account["usage"]["cost_usd"] is None:
            continue  # a script costs nothing
        tokens = sum(account["usage"][kind] for kind in ("input", "output", "cache_read", "cache_write"))
        typer.echo(f"  cost in US dollars: {dollars(account['usage']['cost_usd'])} ({tokens:,} tokens)")


def register(parent: typer.Typer) -> None:
    """Add the commands."""
    parent.add_typer(app, name="audit")
