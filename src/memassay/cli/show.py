"""``memassay show RUN TASK``: one task, explained to a person."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command(help="One task of a run: question, gold, what each arm found of it and where, and why not.")
    def show(
        run: Annotated[Path, typer.Argument(help="The run's folder.")],
        task: Annotated[
            str, typer.Argument(help="The task's id, such as conv-26/q12; 'missed' lists what was missed.")
        ],
        arm: Annotated[str | None, typer.Option("--arm", help="Only this arm.")] = None,
        repetition: Annotated[
            int, typer.Option("--repetition", help="Which answer, where each question was asked several times.")
        ] = 1,
        json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    ) -> None:
        from memassay.cli.output import print_json
        from memassay.reporting import explain, missed, print_explanation
        from memassay.runs.folder import RunFolder

        folder = RunFolder.existing(run)
        if task == "missed":
            for line in missed(folder, arm):
                typer.echo(line)
            return
        explanation = explain(folder, task, arm, repetition)
        if json_:
            print_json(explanation.as_json())
        else:
            print_explanation(explanation)
