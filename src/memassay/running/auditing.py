"""A run's own judges audited on its own questions; what is found is kept in the run, beside its scores."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from memassay.core.contracts import Cell
from memassay.core.errors import EnvironmentProblem, UsageError
from memassay.core.types import Judgement
from memassay.running.audit import audit
from memassay.running.estimate import cost_of_verdict, dollars, unkept
from memassay.running.experiment import JudgeEntry
from memassay.running.gathering import tasks_of
from memassay.running.judges import ModelJudge, model_judges, of_models, reopened, with_kept
from memassay.running.money import Purse
from memassay.running.plan import Plan
from memassay.running.planted import Planted, plant
from memassay.running.rereading import plan_of, unavailable_arms
from memassay.running.summarise import summarise
from memassay.runs.folder import RunFolder


def audit_run(
    run: RunFolder,
    judges: Sequence[JudgeEntry] = (),
    *,
    per_kind: int,
    seed: int,
    max_usd: float | None = None,
    on_estimate: Callable[[int, float | None], None] = lambda requests, cost: None,
) -> dict[str, Any]:
    """Audit judges on the questions of a run.

    Args:
        run: the run.
        judges: those to audit; the run's own where there are none.
        per_kind: planted answers of a kind, at most.
        seed: what is planted where.
        max_usd: US dollars that the audit may cost, or None. An audit that would cost more is not begun, one that turns
            out to cost more is ended and nothing of it is kept: a part of it would be about some kinds only.
        on_estimate: called before anything is asked, with the number of requests and the dollars that they are expected
            to cost, None where a price is not known.

    Raises:
        UsageError: there is no judge to audit, no question with a gold answer, a price is not known and there is a
            limit, or the limit is too low.
        EnvironmentProblem: a key or a package is missing, the limit was reached, or a judge failed on and on.
    """
    plan = plan_of(run)
    manifests = run.judge_manifests()
    experiment = plan.experiment.model_copy(update={"judges": tuple(judges)})
    own = of_models(manifests) if not judges else {}
    asked = (
        *model_judges(experiment, plan.suite),
        *(reopened(name, manifest, plan.suite) for name, manifest in own.items()),
    )
    if not asked:
        raise UsageError("No judge with a model has judged this run; name one: --judge MODEL.")
    items = plant(tasks_of(plan), per_kind=per_kind, seed=seed)
    costs = [(judge.name, cost_of_verdict(judge)) for judge in asked]
    known = [cost for _, cost in costs if cost is not None]
    expected = len(items) * sum(known) if len(known) == len(costs) else None
    if max_usd is not None and expected is None:
        raise unkept(max_usd, list(dict.fromkeys(f"the judge {name}" for name, cost in costs if cost is None)))
    if max_usd is not None and expected is not None and expected > max_usd:
        raise UsageError(
            f"--max-usd {max_usd:g}: the audit is expected to cost ${dollars(expected)}; give a higher limit, or plant "
            "fewer answers with --per-kind."
        )
    if (run.path / "summary.json").exists():
        # A damaged record is told now, before anything is paid for.
        summarise(run, plan_with(plan, manifests), unavailable_arms(run), log_reads=False)
    asyncio.run(_ready(asked))
    on_estimate(len(items) * len(asked), expected)
    purse = Purse(max_usd, judging=max(known, default=0.0))
    found = asyncio.run(_audit(items, [_Metered(judge, purse) for judge in asked], plan.design.name))
    about = {name: value for name, value in found.items() if name != "judges"}
    for judge in asked:
        run.record_audit(judge.id, {**about, "model": judge.model, **found["judges"][judge.id]})
    if (run.path / "summary.json").exists():
        plan = plan_with(plan, manifests)
        with run.concluding():
            run.write_summary(summarise(run, plan, unavailable_arms(run), log_reads=False))
    return found


def plan_with(plan: Plan, manifests: Iterable[tuple[str, Mapping[str, Any]]]) -> Plan:
    """The plan with the judges that have judged the run."""
    return replace(plan, model_judges=with_kept((), manifests))


async def _ready(judges: Sequence[ModelJudge]) -> None:
    for judge in judges:
        await judge.prepare()


async def _audit(items: Sequence[Planted], judges: Sequence[_Metered], design: str) -> dict[str, Any]:
    try:
        return await audit(items, judges, design=design)
    finally:
        for judge in judges:
            await judge.close()


class _Metered:
    """A judge that is asked only while it can be paid."""

    def __init__(self, judge: ModelJudge, purse: Purse) -> None:
        self._judge, self._purse, self._waiting = judge, purse, 0
        self.id, self.config, self.model = judge.id, judge.config, judge.model
        self.close = judge.close

    async def judge(self, cell: Cell) -> Judgement | None:
        if not self._purse.may_judge(self._waiting):
            raise EnvironmentProblem(
                f"The audit was ended at ${dollars(self._purse.spent)}, since the next verdict could cost more than "
                f"the ${self._purse.limit:g} of --max-usd; nothing of it is kept: give more, or a lower --per-kind."
            )
        self._waiting += 1
        try:
            verdict = await self._judge.judge(cell)
        finally:
            self._waiting -= 1
        if verdict is not None:
            self._purse.judged(verdict.usage)
        return verdict
