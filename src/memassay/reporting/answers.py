"""What was answered: every arm at every metric of answers, what an answer cost, and how much a re-run moves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memassay.core.types import Estimate
from memassay.reporting import figures
from memassay.reporting.grid import Cell, Col, Grid, Row, row
from memassay.reporting.metric import Metric
from memassay.reporting.part import Part, columns, level
from memassay.reporting.reading import ArmReading, Reading, listed
from memassay.reporting.values import estimate, mapping, sequence, words

KINDS = ("input", "output", "cache_read", "cache_write")
_SAME = "every repetition gave the same scores"
RATES = (("false_accept", "judge: wrong answers accepted"), ("false_reject", "judge: right answers rejected"))


def answers(reading: Reading) -> Part | None:
    """Arms x metrics of answers; what a script judged stands in a table of its own."""
    if not reading.of_answers:
        return None
    times = figures.finite(reading.raw.get("repetitions")) or 1
    often = "once, so how much a re-run would move was not measured" if times == 1 else f"{times:.0f} times"
    text = (
        f"Each question was answered by {reading.agent or 'an agent'} {often}. A failure of the memory counts as "
        f"wrong; the second treatment leaves it out. {level(reading, reading.of_answers)}"
    )
    grids = [_grid(reading, group) for group in reading.answer_groups]
    return Part("answers", "Answers", (text,), tuple(grids))


def _grid(reading: Reading, metrics: Sequence[Metric]) -> Grid:
    head = reading.headline if reading.headline in metrics else None
    cols = [Col("arm", "arm"), Col("n", "integer")]
    for metric in metrics:
        cols += columns([metric], reading.headline)
        if metric == head:
            cols.append(Col(f"{metric.name}, answered only", "estimate", "failures of the memory left out"))
    rows = []
    for arm in reading.arms:
        cells: list[Cell] = [arm.name, arm.n]
        for metric in metrics:
            cells.append(arm.estimate(metric.name))
            if metric == head:
                cells.append(arm.estimate(metric.name, "secondary", "answered_only", "metrics"))
        rows.append(row(cells))
    rows += _rates(reading, metrics, head)
    scripted = any(map(reading.scripted, metrics))
    title = "Judged by a script, which says nothing about the answers" if scripted else "Every arm at every metric"
    return Grid(title, tuple(cols), tuple(rows))


def _rates(reading: Reading, metrics: Sequence[Metric], head: Metric | None) -> list[Row]:
    """How often each judge is wrong, under the score that it gave."""
    judges = {metric: reading.judge(metric) for metric in metrics}
    if not any(judges.values()):
        return []
    made = []
    for name, label in RATES:
        cells: list[Cell] = [label, ""]
        for metric, judge in judges.items():
            cells.append(judge.rate(name) if judge else "")
            cells += [""] if metric == head else []
        made.append(row(cells, "reference"))
    return made


# -- what it cost --------------------------------------------------------------------------------------------------


def cost(reading: Reading) -> tuple[Grid, ...]:
    """Tokens by kind, turns and time of an answer; then the money, where any was spent."""
    used = [arm for arm in reading.arms if arm.at("usage", "answers")]
    if not used:
        return ()
    cols = (
        Col("arm", "arm"),
        Col("answers", "integer"),
        *(
            Col(title, "integer", hint)
            for title, hint in (
                ("input", "tokens that no cache served, per answer"),
                ("output", "tokens per answer"),
                ("cache read", "tokens per answer"),
                ("cache write", "tokens per answer"),
            )
        ),
        Col("turns", "number", "mean per answer, and the 95th percentile"),
        Col("tool calls", "number", "mean per answer, and the 95th percentile"),
        Col("time p50", "number", "retrieval and answer together"),
        Col("time p95", "number", "retrieval and answer together"),
    )
    paid = any(_money(arm) for arm in used)
    note = "" if paid else "No model was asked, so the answers cost no money."
    first = Grid("Tokens, turns and time per answer", cols, tuple(row(_tokens(arm)) for arm in used), note)
    return (first, _money_grid(reading, used)) if paid else (first,)


def _tokens(arm: ArmReading) -> list[Cell]:
    used = arm.at("usage", "answers")
    per_answer, seconds = mapping(used.get("tokens_per_answer")), mapping(used.get("seconds"))
    return [
        arm.name,
        figures.finite(used.get("n")),
        *(figures.finite(per_answer.get(kind)) for kind in KINDS),
        *(_spread(mapping(used.get(name))) for name in ("turns", "tool_calls")),
        *(figures.seconds(seconds.get(q)) for q in ("p50", "p95")),
    ]


def _spread(found: Mapping[str, Any]) -> str:
    mean, most = figures.finite(found.get("mean")), figures.finite(found.get("p95"))
    if mean is None or not most:
        return figures.DASH if mean is None else f"{mean:g}"
    return f"{mean:.1f} (p95 {most:g})"


def _money(arm: ArmReading) -> bool:
    """Whether anything is known of what the arm's answers cost."""
    used = arm.at("usage", "answers")
    known = [figures.finite(used.get(name)) for name in ("cost_usd", "reported_usd", "attempts_usd")]
    return any(known) or arm.raw.get("model") == "real"


def _money_grid(reading: Reading, used: Sequence[ArmReading]) -> Grid:
    right = _right(reading)
    cols = (
        Col("arm", "arm"),
        Col("by our table", "number", "tokens times our dated prices; the answers that count"),
        Col("as reported", "number", "what the provider's own client says"),
        Col("difference", "number", "ours less theirs"),
        Col("every attempt", "number", "retries and failures too"),
        Col("per answer", "number"),
        Col(f"per right answer ({right.name})" if right else "per right answer", "number"),
    )
    rows = []
    for arm in used:
        found = {name: figures.finite(value) for name, value in arm.at("usage", "answers").items()}
        ours, theirs, tried = (found.get(name) for name in ("cost_usd", "reported_usd", "attempts_usd"))
        n, paid = found.get("n"), ours if ours is not None else theirs
        per_answer = paid / n if paid is not None and n else None
        unknown: Cell = Estimate(value=None, reason="our table of prices lacks the model")
        rows.append(
            row(
                [
                    arm.name,
                    figures.money(ours) if ours is not None else unknown,
                    figures.money(theirs) if theirs is not None else _none("no client reported what it cost"),
                    figures.money(found.get("cost_difference_usd"), signed=True),
                    figures.money(tried) if tried or paid is not None else unknown,
                    figures.money(per_answer),
                    _per_right(per_answer, arm, right),
                ]
            )
        )
    note = "Money is in US dollars. Per answer: by our table, as reported where our table lacks the model."
    return Grid("What the answers cost", cols, tuple(rows), note)


def _per_right(per_answer: float | None, arm: ArmReading, right: Metric | None) -> Cell:
    share = arm.estimate(right.name).value if right else None
    if per_answer is None or share is None:
        return None
    return figures.money(per_answer / share) if share > 0 else _none("no answer was right")


def _right(reading: Reading) -> Metric | None:
    """The metric that says whether an answer is right: by a judge if one judged, else by being equal to the gold."""
    judged = [m for m in reading.main if reading.judge(m)] or [
        m for m in reading.of_answers if reading.judge(m) and not reading.scripted(m)
    ]
    return next((m for m in [*judged, *reading.of_answers] if m in judged or m.name == "exact_match"), None)


def _none(reason: str) -> Estimate:
    return Estimate(value=None, reason=reason)


# -- how they ended, and what a re-run moves -----------------------------------------------------------------------


def statuses(reading: Reading) -> Grid | None:
    """How the answers that count ended, by status."""
    used = {arm.name: arm.at("usage", "answers") for arm in reading.arms}
    names = sorted({words(name) for found in used.values() for name in mapping(found.get("statuses"))})
    if not names:
        return None
    cols = (
        Col("arm", "arm"),
        *(Col(name, "integer") for name in names),
        Col("stores changed", "integer", "answers after which the store was no longer what it had been"),
    )
    rows = []
    for name, found in used.items():
        ended = {words(k): figures.finite(v) for k, v in mapping(found.get("statuses")).items()}
        rows.append(row([name, *(ended.get(n, 0) for n in names), figures.finite(found.get("stores_changed"))]))
    return Grid("How the answers ended", cols, tuple(rows))


def answered_only(reading: Reading) -> Grid | None:
    """Every metric of answers with the memory's failures left out."""
    if not reading.of_answers:
        return None
    path = ("secondary", "answered_only")
    rows = [
        row([arm.name, figures.finite(arm.at(*path).get("n")), *_metrics(arm, reading.main, *path, "metrics")])
        for arm in reading.arms
    ]
    cols = (Col("arm", "arm"), Col("n answered", "integer"), *columns(reading.main, reading.headline))
    return Grid("Answered only, every metric", cols, tuple(rows), folded=True)


def _metrics(arm: ArmReading, metrics: Iterable[Metric], *path: str) -> list[Cell]:
    return [arm.estimate(metric.name, *path) for metric in metrics]


def repetitions(reading: Reading) -> Part | None:
    """Mean and standard deviation over the repetitions: re-run noise, which is no error bar."""
    if not any(arm.at("repetitions") for arm in reading.arms):
        return None
    most = max(len(_means(arm, m)) for arm in reading.arms for m in reading.of_answers)
    grids = []
    head = reading.headline if reading.headline in reading.of_answers else reading.answer_groups[0][0]
    grids.append(_repetitions(reading, [head], most, head.name))
    for group in reading.answer_groups:
        rest = [m for m in group if m != head]
        if rest:
            title = "Judged by a script" if any(map(reading.scripted, rest)) else "Every other metric"
            grids.append(_repetitions(reading, rest, most, title, folded=True))
    text = (
        "The same questions asked again. A task's repetitions are averaged before anything is compared; what they "
        "differ by is re-run noise, not an error bar."
    )
    return Part("repetitions", "Repetitions", (text,), tuple(grids))


def _means(arm: ArmReading, metric: Metric) -> Sequence[Any]:
    return sequence(arm.at("repetitions", metric.name).get("means"))


def _repetitions(reading: Reading, metrics: Sequence[Metric], most: int, title: str, *, folded: bool = False) -> Grid:
    cols = (
        Col("arm", "arm"),
        # A table of the headline alone has its name as the title.
        *((Col("metric"),) if folded else ()),
        Col("tasks", "integer"),
        *(Col(f"run {n}", "share") for n in range(1, most + 1)),
        Col("mean", "share"),
        Col("SD of runs", "estimate", "standard deviation of the means of the repetitions"),
        Col("SD in a task", "estimate", "standard deviation of a task's own scores, averaged over the tasks"),
    )
    rows = []
    for metric in metrics:
        for arm in reading.arms:
            found = arm.at("repetitions", metric.name)
            reason = _no_noise(arm, words(found.get("reason"))) or None
            means = [figures.finite(mean) for mean in _means(arm, metric)]
            rows.append(
                row(
                    [
                        arm.name,
                        *((metric.name,) if folded else ()),
                        figures.finite(found.get("tasks")),
                        *means,
                        *([None] * (most - len(means))),
                        figures.finite(found.get("mean")),
                        *(estimate({"value": found.get(k), "reason": reason}) for k in ("sd", "within_task_sd")),
                    ]
                )
            )
    return Grid(title, cols, tuple(rows), folded=folded)


def _no_noise(arm: ArmReading, reason: str) -> str:
    """Why there is no re-run noise; of a model, equal scores do not show that it is deterministic."""
    return _SAME if reason.startswith(_SAME) and arm.raw.get("model") != "none" else reason


def without_dossier(reading: Reading) -> str:
    """Which arms gave their agent no dossier, and what they gave instead; "" where every arm gave one."""
    said = {}
    for arm in reading.arms:
        if not arm.has_dossier:
            said[arm.name] = listed(["files" if a == "folder" else a for a in arm.access])
    if not said:
        return ""
    named = "; ".join(f"{name} ({what})" for name, what in said.items())
    return f"No dossier, so no recall: {named}."
