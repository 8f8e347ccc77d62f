"""``memassay classify``: whose fault was it that a cell lost a point?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from memassay.running.plan import Plan
    from memassay.runs.folder import RunFolder
    from memassay.runs.records import Key

_METRIC = "score"
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
        from memassay.running.rereading import plan_of
        from memassay.runs.classifications import KINDS
        from memassay.runs.classifications import classify as note
        from memassay.runs.folder import RunFolder
        from memassay.runs.records import key_of

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
        plan = plan_of(folder)
        if arm in {a.name for a in plan.arms if a.role == "control"}:
            raise UsageError(
                f"{arm!r} is a control arm, whose answers are not classified; name a contender with --arm."
            )
        wanted = next((key for key in cells if key[1] == arm and key[3] == repetition - 1), None)
        numbers = {key[3] + 1 for key in cells if key[1] == arm}
        if not numbers:
            hint = suggestion(arm, {key[1] for key in cells})
            raise UsageError(f"{run} has no answer of the arm {arm!r} to {task}.{hint}")
        if wanted is None:
            has = ", ".join(map(str, sorted(numbers)))
            raise UsageError(
                f"{run} has no answer {repetition} of the arm {arm!r} to {task}; --repetition can be {has}."
            )
        if any(metric.name == _METRIC for metric in plan.metrics):
            found = _score(folder, plan, wanted, counted[wanted].mark)
            if found is None or found >= 1:
                told = "no score" if found is None else f"the score {found:g}"
                raise UsageError(f"{task}, {arm}, answer {repetition} has {told}: only a score below 1 is classified.")
        cell = next(a.cell for a in folder.each({wanted: counted[wanted]}) if key_of(a.cell) == wanted)
        note(run, cell, kind, why.strip())
        summary = rejudge(folder, amend=why)
        write_reports(run, summary, sections_of(summary))
        typer.echo(f"{task}, {arm}, answer {repetition}: {kind} ({KINDS[kind]}); the report is written anew")


def _score(folder: RunFolder, plan: Plan, cell: Key, mark: str) -> float | None:
    """The score of the answer of a cell that counts, or None where it has none."""
    verdicts = [folder.judgements(judge.id).get(cell) for judge in plan.judges]
    said = [v.scores.get(_METRIC) for v in verdicts if v is not None and v.answer == mark]
    return next((score for score in said if score is not None), None)
