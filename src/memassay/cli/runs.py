"""``memassay judge``, ``report``, ``ledger``: what is done with runs that exist."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memassay.cli.flags import above_zero
from memassay.cli.registration import Amend

if TYPE_CHECKING:
    from memassay.running.experiment import JudgeEntry

RunPath = Annotated[Path, typer.Argument(help="The run's folder.")]
JudgeSettings = Annotated[
    list[str] | None,
    typer.Option("--set", help="How the judges of --judge are reached: judge.base_url=URL, judge.key_env=NAME, …"),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def judges_named(by: Sequence[str] | None, settings: Sequence[str] | None, usual: str = "binary") -> list[JudgeEntry]:
    """The judges of ``--judge`` with the settings of ``--set judge.key=value``; ``usual`` where only a model is named.

    Raises:
        UsageError: a flag is wrong, or a setting looks like a secret.
    """
    from memassay.core.errors import UsageError
    from memassay.running.experiment import JUDGE, JudgeEntry, apply_settings, judge_entry
    from memassay.running.secrets import refuse_secrets

    for setting in settings or ():
        if not setting.startswith(f"{JUDGE}."):
            raise UsageError(f"--set {setting!r}: only judges have settings here; write --set judge.key=value.")
    if settings and not by:
        raise UsageError("--set judge.… is about the judges of --judge; name one.")
    options: dict[str, Any] = {}
    apply_settings({}, settings or (), {JUDGE: options})
    refuse_secrets(options, "the judges")
    return [JudgeEntry(**judge_entry(text, usual), options=options) for text in by or ()]


def register(app: typer.Typer) -> None:
    """Add the commands."""

    @app.command(
        help="Judge a run again and sum it up, from its folder alone: no store, no agent, no data file. "
        "Judges with a model that were stopped go on, unless others are named."
    )
    def judge(
        run: RunPath,
        by: Annotated[
            list[str] | None,
            typer.Option(
                "--judge", help="A model that judges too: MODEL (the same as binary:MODEL), or lenient:MODEL."
            ),
        ] = None,
        set_: JudgeSettings = None,
        max_usd: Annotated[
            float | None,
            typer.Option(
                "--max-usd", callback=above_zero, help="Stop before the run costs more dollars in all (above 0)."
            ),
        ] = None,
        again: Annotated[
            bool,
            typer.Option(
                "--again",
                help="The suite's graders, which need no model, judge everything anew; old verdicts are kept.",
            ),
        ] = False,
        amend: Amend = "",
        json_: Json = False,
    ) -> None:
        from memassay.cli.endings import refuse_stopped
        from memassay.cli.output import print_json, print_summary, say
        from memassay.cli.progress import Bar
        from memassay.reporting import write_reports
        from memassay.running.continuing import continuing, continuing_pairs
        from memassay.running.judge import unlike
        from memassay.running.pipeline import rejudge, sections_of
        from memassay.runs.folder import RunFolder
        from memassay.runs.replaced import regraded

        folder = RunFolder.existing(run)
        named = judges_named(by, set_)
        more: list[Any] = [] if named else [*continuing(folder, max_usd, say), *continuing_pairs(folder, max_usd, say)]
        before = len(regraded(folder))
        with Bar() as bar:
            summary = rejudge(folder, bar, named, max_usd, more, amend, anew=again)
        for record in regraded(folder)[before:]:
            differ = unlike(folder, record["judge"], record["replaced"])
            say(
                f"{record['judge']} gave its {record['verdicts']:,} verdicts again, "
                f"{'of old ones that cannot be read' if differ is None else f'{differ:,} of them otherwise'}; "
                f"the old ones are in {record['replaced']}"
            )
        write_reports(run, summary, sections_of(summary))
        if json_:
            print_json(summary)
        else:
            print_summary(summary)
        refuse_stopped(summary)

    @app.command(help="Write summary.md and report.html of a run from its summary.json.")
    def report(run: RunPath) -> None:
        from memassay.reporting import write_reports
        from memassay.running.pipeline import sections_of
        from memassay.runs.folder import RunFolder

        summary = RunFolder.existing(run).summary()
        for path in write_reports(run, summary, sections_of(summary)):
            typer.echo(str(path))

    @app.command(help="Every run under a folder, one line each.")
    def ledger(
        folder: Annotated[Path, typer.Argument(help="A folder with runs below it.")] = Path("runs"), json_: Json = False
    ) -> None:
        from memassay.cli.output import print_json
        from memassay.core.errors import DataError
        from memassay.runs.ledger import ledger as entries
        from memassay.runs.ledger import test_reads

        if not folder.is_dir():
            raise DataError(f"There is no folder {str(folder)!r}; give one that has runs below it.")
        found = list(entries(folder))
        reads = test_reads(folder)
        if json_:
            print_json({"runs": found, "test_reads": reads})
            return
        for entry in found:
            scores = ", ".join(f"{n} {v:.3f}" if v is not None else f"{n} -" for n, v in entry["scores"].items())
            state = {True: "publishable", False: "not publishable", None: "not summed up"}[entry["publishable"]]
            typer.echo(f"{entry['run']}  {entry['suite']}  {entry['metric'] or ''}  {scores}  {state}")
        if not found:
            typer.echo(f"No run under {folder}.")
        if reads:
            typer.echo(f"test read {reads} {'time' if reads == 1 else 'times'}")
