"""From answers to judgements: needs the run folder only, neither store nor agent."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence

from memassay.core.contracts import Cell, Judge
from memassay.core.types import Answer, Dossier, Task
from memassay.runs.folder import Counted, Key, RunFolder, key_of, to_line


def judge_run(
    run: RunFolder,
    judges: Sequence[Judge],
    tasks: Sequence[Task],
    counted: Mapping[Key, Counted],
    controls: set[str],
    on_cell: Callable[[], None] = lambda: None,
) -> None:
    """Judge every counted answer that has no current verdict; a dossier is read once for all judges.

    Args:
        run: where the answers are and the verdicts go.
        judges: the first is the primary and judges controls too; the others judge only the arms.
        tasks: with gold.
        counted: the records that count.
        controls: names of the control arms.
        on_cell: called once per answer.

    Raises:
        GuardError: a judge of that id has judged here with other settings.
        RunLocked: another process is judging.
    """
    by_id = {task.id: task for task in tasks}
    with contextlib.ExitStack() as stack:
        writers = [stack.enter_context(run.judge_writer(judge.id, judge.config)) for judge in judges]
        held = [run.judged(judge.id) for judge in judges]
        for answer in run.each(counted):
            on_cell()
            task = by_id.get(answer.cell.task)
            if task is None or answer.status.kind in ("provider", "harness"):
                continue
            wanted = [
                number
                for number in range(1 if answer.cell.arm in controls else len(judges))
                if held[number].get(key_of(answer.cell)) != (answer.attempt, counted[key_of(answer.cell)].mark)
            ]
            if not wanted:
                continue
            # A memory failure (a limit of an agent too) is wrong whatever it had retrieved by then.
            dossier = None if answer.status.kind == "memory" else _dossier(run, answer)
            cell = Cell(task=task, answer=answer, dossier=dossier)
            for number in wanted:
                verdict = judges[number].judge(cell)
                if verdict is not None:
                    mark = counted[key_of(answer.cell)].mark
                    writers[number].append(to_line(verdict.model_copy(update={"answer": mark})))


def _dossier(run: RunFolder, answer: Answer) -> Dossier | None:
    digest = next((step.dossier for step in answer.steps if step.dossier), None)
    return run.dossier(digest) if digest else None
