"""The judges with a model: who they are, what they were asked, and how often they are wrong."""

from __future__ import annotations

from collections.abc import Sequence

from memassay.core.types import Estimate
from memassay.reporting import figures
from memassay.reporting.grid import Cell, Col, Grid, Row, row
from memassay.reporting.part import Part
from memassay.reporting.reading import JudgeReading, Reading
from memassay.reporting.values import estimate, mapping, words

_WORDINGS = {
    "binary": "binary: the same entity, value, date and polarity as the gold answer; vague or hedging is wrong",
    "lenient": "lenient: touches on the same thing, as the judges of published rows ask; for a look beside them",
}


def judges(reading: Reading) -> Part | None:
    """Every judge with its wording, cost and error rates; scripts in a table of their own."""
    if not reading.judges:
        return None
    real = [judge for judge in reading.judges if not judge.scripted]
    scripts = [judge for judge in reading.judges if judge.scripted]
    grids = [_judges("Judges", real)] if real else []
    grids += [_judges("Scripts that stand in for a judge", scripts)] if scripts else []
    grids += [_audit("How often they are wrong, by planted answer", found) for found in [_audited(real)] if found]
    grids += [_audit("The same of the scripts", found) for found in [_audited(scripts)] if found]
    text = (
        "A judge reads question, gold answer and answer and says CORRECT or WRONG. Its score is worth what the judge "
        "is worth: the audit asks it about answers of which it is known whether they are right."
    )
    used = dict.fromkeys(judge.use for judge in reading.judges)
    return Part("judges", "Judges", (text,), tuple(grids), listed=tuple(_WORDINGS[u] for u in used if u in _WORDINGS))


def _judges(title: str, found: Sequence[JudgeReading]) -> Grid:
    cols = (
        Col("metric"),
        Col("wording"),
        Col("model"),
        Col("verdicts", "integer"),
        Col("failed", "integer", "no verdict could be had; asked again at the next judging"),
        Col("input", "integer", "tokens"),
        Col("output", "integer", "tokens"),
        Col("cost", "estimate", "US dollars, by our table"),
        Col("wrong answers accepted", "estimate", "false accepts, by the audit"),
        Col("right answers rejected", "estimate", "false rejects, by the audit"),
    )
    return Grid(title, cols, tuple(_judge(judge) for judge in found))


def _judge(judge: JudgeReading) -> Row:
    used = mapping(judge.raw.get("usage"))
    tokens, paid = mapping(used.get("tokens")), figures.finite(used.get("cost_usd"))
    cost: Cell = Estimate(value=None, reason="our table of prices lacks the model")
    if judge.scripted:
        cost = "none"
    failed = figures.finite(used.get("failed"))
    cells = [
        judge.metric.name,
        judge.use,
        judge.name,
        figures.finite(used.get("n")),
        failed,
        *(figures.finite(tokens.get(kind)) for kind in ("input", "output")),
        cost if paid is None else figures.money(paid),
        judge.rate("false_accept"),
        judge.rate("false_reject"),
    ]
    return row(cells, "bad" if failed else "")


def _audited(found: Sequence[JudgeReading]) -> list[JudgeReading]:
    return [judge for judge in found if judge.audit]


def _audit(title: str, found: Sequence[JudgeReading]) -> Grid:
    """Planted answers down; of each judge the share that it got wrong, with both intervals."""
    cols = (
        Col("metric"),
        Col("planted answers"),
        Col("error"),
        Col("judged", "integer"),
        Col("failed", "integer"),
        Col("rate", "estimate", "interval over clusters"),
        Col("as if independent", "number", "Wilson's interval over the answers"),
    )
    rows = []
    for judge in found:
        for kind, raw in mapping(judge.audit.get("kinds")).items():
            about = mapping(raw)
            ends = mapping(about.get("wilson"))
            rows.append(
                row(
                    [
                        judge.metric.name,
                        words(kind),
                        words(about.get("error")),
                        figures.finite(about.get("n")),
                        figures.finite(about.get("failed")),
                        estimate(about.get("rate")),
                        figures.interval(ends.get("low"), ends.get("high")) or figures.DASH,
                    ]
                )
            )
    return Grid(title, cols, tuple(rows), folded=True)
