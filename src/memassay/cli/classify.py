"""``memassay classify``: whose fault was it that a cell lost a point?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_HELP = """Write down whose fault a lost point was, after reading the cell with memassay show.

    memassay classify runs/association assoc-why-2 --arm sqlite --as model --why "named the type that does not hold"
"""


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command(help=_HELP)
    def classify(
        run: Annotated[Path, typer.Argument(help="The run's folder.")],
        task: Annotated[str, typer.Argument(help="The task's id.")],
        arm: Annotated[str, typer.Option("--arm", help="The arm.")],
        kind: Annotated[str, typer.Option("--as", help="tool, model or grader.")],
        why: Annotated[str, typer.Option("--why", help="What you saw, in a sentence.")],
        repetition: Annotated[int, typer.Option("--repetition", min=1, help="Which answer, from 1.")] = 1,
    ) -> None:
        from memassay.core.errors import UsageError, suggestion
        from memassay.reporting import write_reports
        from memassay.running.pipeline import rejudge, sections_of
        from memassay.runs.classifications import KINDS
        from memassay.runs.classifications import classify as note
        from memassay.runs.folder import RunFolder, key_of

        if kind not in KINDS:
            known = "; ".join(f"{name}: {meaning}" for name, meaning in KINDS.items())
            raise UsageError(f"--as {kind!r}: write {known}.")
        if not why.strip():
            raise UsageError("--why is empty; say what you saw in a sentence.")
        folder = RunFolder.existing(run)
        counted, _ = folder.counted()
        cells = {key for key in counted if key[0] == task}
        if not cells:
            raise UsageError(f"{run} has no answer to a task {task!r}.{suggestion(task, {key[0] for key in counted})}")
        wanted = next((key for key in cells if key[1] == arm and key[3] == repetition - 1), None)
        if wanted is None:
            hint = suggestion(arm, {key[1] for key in cells})
            raise UsageError(f"{run} has no answer {repetition} of the arm {arm!r} to {task}.{hint}")
        cell = next(a.cell for a in folder.each({wanted: counted[wanted]}) if key_of(a.cell) == wanted)
        note(run, cell, kind, why.strip())
        summary = rejudge(folder)
        write_reports(run, summary, sections_of(summary))
        typer.echo(f"{task}, {arm}, answer {repetition}: {kind} ({KINDS[kind]}); the report is written anew")
