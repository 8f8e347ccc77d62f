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
    "files": {"use": "files"},
    "full-context": {"use": "full-context"},
    "lexical": {"use": "lexical"},
    "markdown": {"use": "markdown"},
    "passages-words": {"use": "passages", "embedder": "none"},
}
_OWN: dict[str, dict[str, Any]] = {
    "association": {"memories": {"json-files": {"use": "json-files"}, "sqlite": {"use": "sqlite", "role": "baseline"}}},
    "canary": {
        "memories": {name: _MEMORIES[name] for name in ("files", "lexical", "markdown")},
        "budgets": (1000, 2000),
    },
}
"""What a suite runs in the demo where the five memories are not what it is for."""
_WITH_EXTRA = ("lifecycle",)
"""Suites whose sample needs an extra: left out, so that the demo is the same for everyone."""
_ANSWERED = "locomo"
"""The sample whose questions are answered too, in a run of its own."""
_LEAD = "Sample data, generated: they show that everything works and carry no verdict."
_NEXT = (
    "data fetch locomo",
    "run locomo --memory files,lexical --out runs/first",
    "data fetch hotpotqa",
    "run hotpotqa --memory markdown,lexical --links titles --out runs/pages",
    'store search "a question to your own notes" --dir notes',
    "memory new my-memory",
)


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command(
        help="Build memories on every sample that needs no extra, score them, answer questions of two samples without "
        "a model, and write a report. No key needed."
    )
    def demo(
        out: Annotated[Path, typer.Option("--out", "-o", help="Where the demo writes its runs.")] = Path("demo"),
        json_: Annotated[bool, typer.Option("--json", help="Print the summaries as JSON.")] = False,
    ) -> None:
        from memassay.cli.output import print_json, print_summary
        from memassay.cli.progress import Bar
        from memassay.reporting import contents, write_reports
        from memassay.running.pipeline import Place, run_experiment, sections_of
        from memassay.runs.lines import write_whole

        summaries: dict[str, Any] = {}
        experiments = {suite: demo_experiment(suite) for suite in suites_with_sample()}
        experiments[f"{_ANSWERED}-answers"] = answers_experiment()
        for name, experiment in experiments.items():
            folder = out / name
            with Bar() as bar:
                summary = run_experiment(experiment, Place(out=folder), bar)
            write_reports(folder, summary, sections_of(summary))
            summaries[name] = summary
            if not json_:
                print_summary(summary)
        reports = {f"{name}/report.html": summary for name, summary in summaries.items()}
        write_whole(out / "report.html", contents.render("The demo", _LEAD, reports))
        if json_:
            print_json(summaries)
            return
        typer.echo("")
        for name in summaries:
            typer.echo(f"report of {name}: {out / name / 'report.html'}")
        typer.echo(f"report: {out / 'report.html'} (leads to all of them)")
        typer.echo(_LEAD)
        typer.echo("Next:")
        for arguments in _NEXT:
            typer.echo(f"  {_command()} {arguments}")


def _command() -> str:
    """How to call memassay from here: by name where it is on the path, else as it was called."""
    return "memassay" if shutil.which("memassay") else shlex.quote(sys.argv[0])


def suites_with_sample() -> list[str]:
    """Suites of memassay itself that can generate their own data and need no extra."""
    import inspect

    from memassay.core import registry

    return [
        name
        for name in registry.suites.names()
        if name not in _WITH_EXTRA
        and registry.suites.source(name).origin == "memassay"
        and "sample" in inspect.signature(registry.suites.get(name)).parameters
    ]


def demo_experiment(suite: str) -> Any:
    """Arms that need no extra, on a suite's sample: the five memories, or those that the suite is for.

    ``passages`` runs by words alone, and is called so.
    """
    from memassay.running.experiment import experiment_of

    return experiment_of(
        {
            "suite": suite,
            "options": {"sample": True},
            "memories": _MEMORIES,
            "budgets": SAMPLE_BUDGETS,
            **_OWN.get(suite, {}),
        }
    )


def answers_experiment() -> Any:
    """Two memories whose dossiers are answered from by the reader that needs no model, so that answers are scored."""
    from memassay.running.experiment import experiment_of

    return experiment_of(
        {
            "suite": _ANSWERED,
            "options": {"sample": True},
            "memories": {name: _MEMORIES[name] for name in ("lexical", "files")},
            "agent": "extractive",
            "budgets": SAMPLE_BUDGETS,
        }
    )
