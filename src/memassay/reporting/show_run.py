"""From a run folder to the explanation of one task, and to the list of what was missed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from memassay.core.errors import DataError, UnknownName
from memassay.core.types import Answer, Dossier, Judgement
from memassay.reporting.explanation import Explanation
from memassay.reporting.figures import share
from memassay.reporting.given import given
from memassay.reporting.show import Cell, explain_task
from memassay.reporting.text import one_line, shorten
from memassay.reporting.values import mapping, sequence
from memassay.runs.folder import RunFolder, key_of
from memassay.runs.lines import read_lines

HINTS = "oracle"
"""The control whose dossier shows every gold turn with its speaker."""


def explain(folder: RunFolder, task: str, arm: str | None = None) -> Explanation:
    """One task of a run, explained, for every arm or for one.

    Args:
        folder: the run.
        task: the task's id.
        arm: only this arm (controls can be asked for by name).

    Raises:
        UnknownName: no such task, or no such arm, with the closest names.
        DataError: the run folder is damaged.
    """
    identity = mapping(folder.manifest["identity"])
    tasks = {t.id: t for t in folder.tasks()}
    if task not in tasks:
        raise UnknownName("task", task, [t for t, found in tasks.items() if not found.category.startswith("control:")])
    roles = {name: mapping(a).get("role") for name, a in mapping(identity.get("arms")).items()}
    if arm is not None and arm not in roles:
        raise UnknownName("arm", arm, roles)
    counted, _ = folder.counted()
    counted = {key: record for key, record in counted.items() if key[0] == task}
    answers = {a.cell.arm: a for a in _first(folder.each(counted))}
    asked = Counter(key[1] for key in counted)
    wanted = [arm] if arm is not None else _order(folder, [n for n, role in roles.items() if role != "control"])
    verdicts = _judgements(folder, task)
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

    What was found and what was answered alike; a score between 0 and 1 stands before the question.

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
    tasks = {t.id: t for t in folder.tasks()}
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
    if lost:
        counts = Counter(name for _, name in lost)
        said = ", ".join(f"{one_line(name)} {counts[name]:,}" for name in _order(folder, list(counts)))
        yield f"missed at {one_line(metric)}: {said}"
    every = list(tasks.values())
    for (number, name), mean in sorted(lost.items()):
        found = every[number]
        # What was found is all there or not; an answer may be right in part.
        part = f"  {share(mean)}" if mean > 0 else ""
        about = f"{one_line(found.id)}  {one_line(name)}  {one_line(found.category)}{part}"
        yield f"{about}  {shorten(found.prompt, 100)}"


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


def _first(answers: Iterator[Answer]) -> list[Answer]:
    """One answer per arm: the first build and repetition."""
    ordered = sorted(answers, key=lambda a: key_of(a.cell), reverse=True)
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


def _judgements(folder: RunFolder, task: str) -> dict[str, dict[str, Judgement]]:
    """The verdicts on one task: arm, then judge id; only its own records are validated."""
    found: dict[str, dict[str, Judgement]] = {}
    for judge in folder.judgement_files():
        for record in _records(folder, judge):
            subject = record["subjects"][0]
            if subject["task"] == task and (subject["build"], subject["repetition"]) == (0, 0):
                found.setdefault(subject["arm"], {})[judge] = Judgement.model_validate(record)
    return found


def _records(folder: RunFolder, judge: str) -> Iterator[dict[str, Any]]:
    path = folder.path / "judgements" / f"{judge}.jsonl"
    for number, record in read_lines(path):
        subjects = record.get("subjects")
        if not (isinstance(subjects, list) and subjects and isinstance(subjects[0], dict)):
            raise DataError(f"{path.name}, line {number} is not a judgement.")
        yield record
