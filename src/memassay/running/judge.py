"""From answers to judgements: needs the run folder only, neither store nor agent."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import inspect
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from memassay.core.contracts import Cell, Judge
from memassay.core.digest import canonical_json, digest_file, digest_of
from memassay.core.errors import DataError
from memassay.core.types import Answer, Dossier, Judgement, Task
from memassay.running.calls import redact, without_secrets
from memassay.running.judges import ModelJudge
from memassay.running.markers import MARKER
from memassay.running.money import Purse
from memassay.runs.folder import FINAL, Counted, RunFolder
from memassay.runs.lines import LineWriter
from memassay.runs.records import Key, key_of, to_line
from memassay.runs.replaced import each_replaced, set_aside
from memassay.version import __version__

AT_ONCE = 4
"""Questions that wait for a judge's model at a time."""
FAILURES_IN_A_ROW = 5
_NO_MONEY = "judging stopped at --max-usd; a higher one goes on: memassay judge RUN --max-usd …"


class _Work(NamedTuple):
    """An answer and the judges that are yet to judge it, by number."""

    cell: Cell
    mark: str
    judges: list[int]


def judge_run(
    run: RunFolder,
    judges: Sequence[Judge],
    tasks: Sequence[Task],
    counted: Mapping[Key, Counted],
    controls: set[str],
    on_cell: Callable[[], None] = lambda: None,
    purse: Purse | None = None,
) -> str:
    """Judge every counted answer that has no current verdict; a dossier is read once for all judges.

    Args:
        run: where the answers are and the verdicts go.
        judges: the first is the primary and judges controls and planted tasks too; the others judge only the arms.
        tasks: with gold.
        counted: the records that count.
        controls: names of the control arms.
        on_cell: called once per answer.
        purse: what judges with a model may spend.

    Returns:
        Why it ended before everything was judged, or "".

    Raises:
        GuardError: a judge of that id has judged here with other settings.
        RunLocked: another process is judging.
    """
    return asyncio.run(_judged(run, judges, tasks, counted, controls, on_cell, purse or Purse()))


def begin_anew(run: RunFolder, judges: Sequence[Judge]) -> None:
    """Set aside what the judges of a suite have said, so that :func:`judge_run` asks them for all of it anew.

    ``regraded.jsonl`` then holds, of each, its settings, the digest of its settings and code, and the version.
    """
    for judge in judges:
        config = json.loads(canonical_json(judge.config))
        about = {"grader": grader_digest(judge), "config": config, "memassay": __version__}
        at = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        set_aside(run, judge.id, {**about, "at": at})


def grader_digest(judge: Judge) -> str:
    """A digest of a judge's settings and of the code of its package; where that is one module, of that module."""
    kind = type(judge)
    file = Path(inspect.getfile(kind))
    alone = not sys.modules[kind.__module__].__package__
    files = [file] if alone else sorted(file.parent.rglob("*.py"))
    code = [[path.relative_to(file.parent).as_posix(), digest_file(path)] for path in files]
    return digest_of({"config": judge.config, "code": code})


def unlike(run: RunFolder, judge: str, replaced: str) -> int | None:
    """How many answers a judge has judged otherwise than before; None where what it said then cannot be read.

    Args:
        run: the run.
        judge: its id.
        replaced: where the older verdicts are, as ``regraded.jsonl`` names it.
    """
    try:
        old = {_subject(verdict): _said(verdict) for verdict in each_replaced(run, replaced)}
    except DataError:
        return None
    new = {_subject(verdict): _said(verdict) for verdict in run.each_judgement(judge)}
    return sum(old.get(subject) != said for subject, said in new.items())


def _subject(verdict: Judgement) -> tuple[Key, int, str]:
    return key_of(verdict.subjects[0]), verdict.attempt, verdict.answer


def _said(verdict: Judgement) -> tuple[object, ...]:
    return verdict.status, dict(verdict.scores), dict(verdict.labels)


def unjudged(
    run: RunFolder, judge: str, tasks: Sequence[Task], counted: Mapping[Key, Counted], controls: set[str]
) -> int:
    """How many counted answers a judge with a model is yet to judge; the arguments as of :func:`judge_run`."""
    held = run.judged(judge)
    asked = {task.id for task in tasks if task.category != MARKER}
    return sum(
        key[0] in asked
        and key[1] not in controls
        and record.status.kind in FINAL
        and held.get(key) != (record.attempt, record.mark)
        for key, record in counted.items()
    )


async def _judged(
    run: RunFolder,
    judges: Sequence[Judge],
    tasks: Sequence[Task],
    counted: Mapping[Key, Counted],
    controls: set[str],
    on_cell: Callable[[], None],
    purse: Purse,
) -> str:
    for judge in judges:
        if isinstance(judge, ModelJudge):
            await judge.prepare()  # before its manifest is written: a judge without a key leaves nothing behind
    by_id = {task.id: task for task in tasks}
    with contextlib.ExitStack() as stack:
        writers = [stack.enter_context(run.judge_writer(judge.id, judge.config)) for judge in judges]
        held = [run.judged(judge.id) for judge in judges]

        def work() -> Iterator[_Work]:
            for answer in run.each(counted):
                on_cell()
                task = by_id.get(answer.cell.task)
                if task is None or answer.status.kind not in FINAL:
                    continue
                mark = counted[key_of(answer.cell)].mark
                wanted = [
                    number
                    for number in range(1 if task.category == MARKER or answer.cell.arm in controls else len(judges))
                    if held[number].get(key_of(answer.cell)) != (answer.attempt, mark)
                ]
                if wanted:
                    # A memory failure (a limit of an agent too) is wrong whatever it had retrieved by then.
                    dossier = None if answer.status.kind == "memory" else _dossier(run, answer)
                    yield _Work(Cell(task=task, answer=answer, dossier=dossier), mark, wanted)

        return await _Bench(judges, writers, purse).judge(work())


class _Bench:
    """Judges side by side: those without a model at once, those with one a few at a time."""

    def __init__(self, judges: Sequence[Judge], writers: Sequence[LineWriter], purse: Purse) -> None:
        self._judges, self._writers, self._purse = judges, writers, purse
        self._failed_in_a_row: dict[int, int] = {}
        self._over: dict[int, str] = {}
        self._no_money = False

    async def judge(self, work: Iterator[_Work]) -> str:
        try:
            return await self._judge(work)
        finally:
            for judge in self._judges:
                if isinstance(judge, ModelJudge):
                    await judge.close()

    async def _judge(self, work: Iterator[_Work]) -> str:
        waiting: set[asyncio.Task[None]] = set()
        for item in work:
            for number in item.judges:
                verdict = None
                if not isinstance(self._judges[number], ModelJudge):
                    found = self._judges[number].judge(item.cell)
                    verdict = await found if inspect.isawaitable(found) else found
                elif number not in self._over and not self._no_money:
                    known = self._purse.limit is None or self._purse.judged_once
                    if len(waiting) >= (AT_ONCE if known else 1):
                        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                        for task in done:
                            task.result()
                    if number in self._over:
                        continue
                    if not self._purse.may_judge(len(waiting)):
                        self._no_money = True
                        continue
                    waiting.add(asyncio.create_task(self._ask(number, item)))
                if verdict is not None:
                    self._write(number, item, verdict)
        await asyncio.gather(*waiting)
        return "; ".join([*self._over.values(), *([_NO_MONEY] if self._no_money else [])])

    async def _ask(self, number: int, item: _Work) -> None:
        found = self._judges[number].judge(item.cell)
        verdict = await found if inspect.isawaitable(found) else found
        if verdict is None:
            return
        self._write(number, item, verdict)
        self._purse.judged(verdict.usage)
        failed = self._failed_in_a_row.get(number, 0) + 1 if verdict.status == "failed" else 0
        self._failed_in_a_row[number] = failed
        if failed >= FAILURES_IN_A_ROW:
            said = redact(verdict.explanation or verdict.raw or "no reply")
            self._over[number] = (
                f"judge {self._judges[number].id} failed {failed} times in a row, the last with: {said}; mend it and "
                "go on: memassay judge RUN"
            )

    def _write(self, number: int, item: _Work, verdict: Judgement) -> None:
        safe = {
            "explanation": without_secrets(verdict.explanation),
            "raw": verdict.raw and without_secrets(verdict.raw),
        }
        self._writers[number].append(to_line(verdict.model_copy(update={"answer": item.mark, **safe})))


def _dossier(run: RunFolder, answer: Answer) -> Dossier | None:
    digest = next((step.dossier for step in answer.steps if step.dossier), None)
    return run.dossier(digest) if digest else None
