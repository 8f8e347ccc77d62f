"""From a run folder to the explanation of one task, and to the list of what was missed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from memassay.core.errors import DataError, UnknownName, UsageError
from memassay.core.types import Answer, Dossier, Judgement, Task
from memassay.reporting.explanation import Explanation
from memassay.reporting.figures import share
from memassay.reporting.given import given
from memassay.reporting.show import Cell, explain_task
from memassay.reporting.text import one_line, shorten
from memassay.reporting.values import mapping, sequence
from memassay.runs.folder import RunFolder
from memassay.runs.lines import read_lines
from memassay.runs.records import Key, key_of

HINTS = "oracle"
"""The control whose dossier shows every gold turn with its speaker."""


def explain(folder: RunFolder, task: str, arm: str | None = None, repetition: int = 1) -> Explanation:
    """One task of a run, explained, for every arm or for one.

    Args:
        folder: the run.
        task: the task's id.
        arm: only this arm (controls can be asked for by name).
        repetition: which of an arm's answers, from 1; of an arm with fewer (a control) the last.

    Raises:
        UnknownName: no such task, or no such arm, with the closest names.
        UsageError: no arm has so many repetitions.
        DataError: the run folder is damaged.
    """
    identity = mapping(folder.manifest["identity"])
    tasks = {t.id: t for t in folder.tasks()}
    if task not in tasks:
        raise UnknownName("task", task, [t for t, found in tasks.items() if not _planted(found)])
    roles = {name: mapping(a).get("role") for name, a in mapping(identity.get("arms")).items()}
    if arm is not None and arm not in roles:
        raise UnknownName("arm", arm, roles)
    counted, _ = folder.counted()
    counted = {key: record for key, record in counted.items() if key[0] == task}
    asked = _repetitions(counted)
    answers = {a.cell.arm: a for a in _of_repetition(folder.each(counted), repetition, asked)}
    wanted = [arm] if arm is not None else _order(folder, [n for n, role in roles.items() if role != "control"])
    most = max((asked[name] for name in wanted if name in asked), default=1)
    if not 1 <= repetition <= most:
        raise UsageError(f"--repetition is from 1 to {most} here, not {repetition}.")
    verdicts = _judgements(folder, {key_of(answer.cell) for answer in answers.values()})
    cells: list[Cell] = [
        (name, answers[name], _dossier(folder, answers[name]), verdicts.get(name, {}))
        for name in wanted
        if name in answers
    ]
    if not cells:
        raise DataError(f"No answer to {task!r} is recorded yet; run the same memassay run command again.")
    oracle = _dossier(folder, answers[HINTS]) if HINTS in answers else None
    budgets = [int(b) for b in sequence(identity.get("budgets"))]
    tokens = str(identity.get("tokens"))
    hints = [oracle] if oracle else []
    links = any(mapping(judge).get("links") == "words" for judge in mapping(identity.get("judges")).values())
    arms = mapping(identity.get("arms"))
    answered = {
        name: found
        for name, answer, _, judgements in cells
        if (
            found := given(
                answer,
                judgements,
                _transcript(folder, answer),
                access=[str(access) for access in sequence(mapping(arms.get(name)).get("access"))],
                repetitions=asked[name],
            )
        )
    }
    return explain_task(
        tasks[task],
        cells,
        tokens,
        budgets,
        headline=_headline_budget(folder, budgets),
        hints=hints,
        links=links,
        given=answered,
    )


def missed(folder: RunFolder, arm: str | None = None) -> Iterator[str]:
    """Tasks in which an arm is below 1 at the headline metric, one line each: task, arm, category, question.

    What was found and what was answered alike, repetitions averaged; a score between 0 and 1 stands with its metric
    before the question. Questions that a control plants do not count. The first lines say what is counted, how many
    tasks each arm missed, and what was not judged.

    Args:
        folder: the run, judged.
        arm: only this arm; every contender where None.

    Raises:
        UnknownName: no such arm.
    """
    identity = mapping(folder.manifest["identity"])
    roles = {name: mapping(a).get("role") for name, a in mapping(identity.get("arms")).items()}
    if arm is not None and arm not in roles:
        raise UnknownName("arm", arm, roles)
    wanted = {arm} if arm is not None else {name for name, role in roles.items() if role != "control"}
    metric = str(folder.summary().get("headline_metric"))
    tasks = {t.id: t for t in folder.tasks() if not _planted(t)}
    order = {name: number for number, name in enumerate(tasks)}
    scores: dict[tuple[int, str], dict[tuple[int, int], float]] = {}
    for record in _records(folder, judge) if (judge := _judge_of(folder, metric)) else ():
        subject = record["subjects"][0]
        score = mapping(record.get("scores")).get(metric)
        if subject["arm"] in wanted and subject["task"] in tasks and isinstance(score, (int, float)):
            # A later verdict on a cell is about a later answer to it.
            cell = subject["build"], subject["repetition"]
            scores.setdefault((order[subject["task"]], subject["arm"]), {})[cell] = score
    means = {key: sum(found.values()) / len(found) for key, found in scores.items()}
    lost = {key: mean for key, mean in means.items() if mean < 1}
    names = _order(folder, sorted(wanted))
    judged, counts = Counter(name for _, name in means), Counter(name for _, name in lost)
    if judged:
        said = ", ".join(f"{one_line(name)} {counts[name]:,} of {judged[name]:,}" for name in names if judged[name])
        yield f"missed (below 1 at {one_line(metric)}): {said}"
    yield from _not_judged(folder, tasks, names, judged, metric)
    every = list(tasks.values())
    for (number, name), mean in sorted(lost.items()):
        found = every[number]
        # What was found is all there or not; an answer may be right in part.
        part = f"  {one_line(metric)} {share(mean)}" if mean > 0 else ""
        about = f"{one_line(found.id)}  {one_line(name)}  {one_line(found.category)}{part}"
        yield f"{about}  {shorten(found.prompt, 100)}"


def _planted(task: Task) -> bool:
    """Whether the harness asks it itself, as a control."""
    return task.category.startswith("control:")


def _not_judged(
    folder: RunFolder, tasks: Container[str], names: Sequence[str], judged: Mapping[str, int], metric: str
) -> Iterator[str]:
    """A line for each arm with answers that no judge can score, by status, and for an arm without a verdict."""
    found: dict[str, Counter[str]] = {}
    for (task, name, _, _), record in folder.counted()[0].items():
        if task in tasks and record.status.kind in ("provider", "harness"):
            found.setdefault(name, Counter())[record.status] += 1
    for name in names:
        if name in found:
            why = ", ".join(f"{status} {n:,}" for status, n in sorted(found[name].items()))
        elif not judged.get(name):
            why = "no verdict is recorded (memassay judge RUN)"
        else:
            continue
        yield f"not judged at {one_line(metric)}: {one_line(name)}: {why}"


def _judge_of(folder: RunFolder, metric: str) -> str:
    """Id of the judge that gives a metric: the first whose verdicts have it, a suite's own before others."""
    own = list(mapping(mapping(folder.manifest["identity"]).get("judges")))
    for judge in dict.fromkeys([*own, *folder.judgement_files()]):
        if any(metric in mapping(record.get("scores")) for record in _records(folder, judge)):
            return judge
    return ""


def _headline_budget(folder: RunFolder, budgets: list[int]) -> int | None:
    """The budget of the headline metric, if the run is summed up and has one."""
    try:
        at = str(folder.summary().get("headline_metric")).partition("@")[2]
    except DataError:
        return None
    return int(at) if at.isdecimal() and int(at) in budgets else None


def _repetitions(keys: Iterable[Key]) -> dict[str, int]:
    """How often each arm was asked."""
    found: dict[str, int] = {}
    for _, arm, _, repetition in keys:
        found[arm] = max(found.get(arm, 0), repetition + 1)
    return found


def _of_repetition(answers: Iterator[Answer], repetition: int, asked: Mapping[str, int]) -> list[Answer]:
    """One answer per arm: of the first build, and of the repetition or the arm's last one."""
    wanted = (a for a in answers if a.cell.repetition + 1 == min(repetition, asked[a.cell.arm]))
    ordered = sorted(wanted, key=lambda a: key_of(a.cell), reverse=True)
    return list({a.cell.arm: a for a in ordered}.values())


def _order(folder: RunFolder, names: list[str]) -> list[str]:
    """The arms in the order of the summary, if there is one; a manifest has them by name."""
    try:
        first = list(mapping(folder.summary().get("arms")))
    except DataError:
        return names
    return sorted(names, key=lambda name: first.index(name) if name in first else len(first))


def _dossier(folder: RunFolder, answer: Answer) -> Dossier | None:
    digest = next((step.dossier for step in answer.steps if step.dossier), None)
    return None if digest is None else folder.dossier(digest)


def _transcript(folder: RunFolder, answer: Answer) -> str:
    digest = next((step.transcript for step in reversed(answer.steps) if step.transcript), None)
    return "" if digest is None else folder.transcripts.get(digest)


def _judgements(folder: RunFolder, cells: Container[Key]) -> dict[str, dict[str, Judgement]]:
    """The verdicts on some cells of one task: arm, then judge id; only their own records are validated."""
    found: dict[str, dict[str, Judgement]] = {}
    for judge in folder.judgement_files():
        for record in _records(folder, judge):
            subject = record["subjects"][0]
            if (subject["task"], subject["arm"], subject["build"], subject["repetition"]) in cells:
                found.setdefault(subject["arm"], {})[judge] = Judgement.model_validate(record)
    return found


def _records(folder: RunFolder, judge: str) -> Iterator[dict[str, Any]]:
    path = folder.path / "judgements" / f"{judge}.jsonl"
    for number, record in read_lines(path):
        subjects = record.get("subjects")
        if not (isinstance(subjects, list) and subjects and isinstance(subjects[0], dict)):
            raise DataError(f"{path.name}, line {number} is not a judgement.")
        yield record
