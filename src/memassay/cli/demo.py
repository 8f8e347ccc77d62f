"""``memassay demo``: a real result on every suite that has a sample, without a key, a download or a setting."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

SAMPLE_BUDGETS = (250, 500, 1000, 2000)
"""Samples are small: at larger budgets a whole conversation fits and every memory looks alike."""
# What runs after a plain installation: the same for everyone, whatever else is installed.
_MEMORIES: dict[str, dict[str, Any]] = {
    "files": {},
    "full-context": {},
    "lexical": {},
    "markdown": {},
    "passages": {"embedder": "none"},
}
_NEXT = (
    "data fetch locomo",
    "run locomo --memory files,lexical --out runs/first",
    "memory new my-memory",
)


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command(
        help="Build the embedded memories on every built-in sample, score them and write a report. No key needed."
    )
    def demo(
        out: Annotated[Path, typer.Option("--out", "-o", help="Where the demo writes its runs.")] = Path("demo"),
        json_: Annotated[bool, typer.Option("--json", help="Print the summaries as JSON.")] = False,
    ) -> None:
        from memassay.cli.output import print_json, print_summary
        from memassay.cli.progress import Bar
        from memassay.core import registry
        from memassay.reporting import write_reports
        from memassay.running.pipeline import Place, run_experiment, sections_of

        summaries: dict[str, Any] = {}
        for suite in suites_with_sample():
            experiment = demo_experiment(suite)
            folder = out / suite
            with Bar() as bar:
                summary = run_experiment(experiment, Place(out=folder), bar)
            write_reports(folder, summary, sections_of(summary))
            summaries[suite] = summary
            if not json_:
                print_summary(summary)
        first = registry.suites.names()[0] if "locomo" not in summaries else "locomo"
        shutil.copyfile(out / first / "report.html", out / "report.html")
        if json_:
            print_json(summaries)
            return
        typer.echo("")
        for suite in summaries:
            typer.echo(f"report of {suite}: {out / suite / 'report.html'}")
        typer.echo(f"report: {out / 'report.html'} (that of {first})")
        typer.echo("Sample data, generated: they show that everything works and carry no verdict.")
        typer.echo("Next:")
        for arguments in _NEXT:
            typer.echo(f"  {_command()} {arguments}")


def _command() -> str:
    """How to call memassay from here: by name where it is on the path, else as it was called."""
    return "memassay" if shutil.which("memassay") else shlex.quote(sys.argv[0])


def suites_with_sample() -> list[str]:
    """Suites of memassay itself that can generate their own data."""
    import inspect

    from memassay.core import registry

    return [
        name
        for name in registry.suites.names()
        if registry.suites.source(name).origin == "memassay"
        and "sample" in inspect.signature(registry.suites.get(name)).parameters
    ]


def demo_experiment(suite: str) -> Any:
    """Every embedded memory that needs no extra on a suite's sample."""
    from memassay.running.experiment import experiment_of

    return experiment_of(
        {
            "suite": suite,
            "options": {"sample": True},
            "memories": {name: {"use": name, **options} for name, options in _MEMORIES.items()},
            "budgets": SAMPLE_BUDGETS,
        }
    )
