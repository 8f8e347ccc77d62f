"""From pairs of dossiers to comparisons: needs the run folder only, neither store nor memory.

A judge of pairs is first asked about texts of which it is known how they differ (``running/probes.py``), then about
every question of every pair that the suite names, in both orders. It sees two texts and never an arm; which arm stood
where is on record.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from typing import Any, NamedTuple

from memassay.core.dossier import rendering
from memassay.core.pairs import Comparison, Pairing, Pairs, PairVerdict
from memassay.core.tokens import tokenizer
from memassay.core.types import CellKey, Dossier, Judgement, Task
from memassay.judging.verdicts import REPLIED
from memassay.running.calls import redact, without_secrets
from memassay.running.estimate import comparing_purse
from memassay.running.judge import AT_ONCE, FAILURES_IN_A_ROW
from memassay.running.judges import ENTRY
from memassay.running.markers import MARKER
from memassay.running.money import Purse
from memassay.running.pair_judges import PairModelJudge
from memassay.running.plan import Plan, pairs_of
from memassay.running.probes import probes, spread
from memassay.running.usage import usage_of_verdicts
from memassay.runs.folder import FINAL, Counted, RunFolder
from memassay.runs.lines import LineWriter
from memassay.runs.records import Key, key_of, to_line

_PROBE = "probe:"
_NO_MONEY = "comparing stopped at --max-usd; a higher one goes on: memassay judge RUN --max-usd …"


class Place(NamedTuple):
    """Which comparison it is: what a resume goes by."""

    task: str
    a: str
    b: str
    build: int
    order: int
    repetition: int


@dataclass(frozen=True, slots=True)
class Work:
    """One comparison that is wanted.

    Attributes:
        texts: reads those of ``a`` and ``b``.
        mark: which answers they are of.
    """

    place: Place
    task: Task
    texts: Callable[[], tuple[str, str]]
    mark: str


def wanted(run: RunFolder, plan: Plan, counted: Mapping[Key, Counted], pairs: Pairs) -> Iterator[Work]:
    """Every comparison that a judge is to make: the probes, then question by question; one reading of the answers."""
    tasks = [task for task in plan.tasks if task.category != MARKER]
    arms = {arm for pair in pairs.between for arm in pair}
    held: dict[Key, tuple[str | None, str]] = {}
    for answer in run.each(counted):
        if answer.cell.arm in arms and answer.cell.repetition == 0 and answer.status.kind in FINAL:
            digest = next((step.dossier for step in answer.steps if step.dossier), None)
            failed = answer.status.kind == "memory"
            held[key_of(answer.cell)] = (None if failed else digest, counted[key_of(answer.cell)].mark)

    @lru_cache(maxsize=4 * max(1, len(arms)))
    def text(digest: str | None) -> str:
        return rendering(run.dossier(digest), plan.experiment.tokens).cut(pairs.budget) if digest else ""

    def both(one: str | None, other: str | None) -> tuple[str, str]:
        return text(one), text(other)

    def dossier(task: Task) -> Dossier | None:
        """That of the first arm which found anything."""
        found = (held.get((task.id, arm, 0, 0)) for arm in dict.fromkeys(chain.from_iterable(pairs.between)))
        each = (run.dossier(digest) for digest, _ in filter(None, found) if digest)
        return next((one for one in each if one.passages), None)

    for probe in probes(tasks, dossier, tokenizer(plan.experiment.tokens), pairs.budget):
        name = _PROBE + probe.name
        for order in (0, 1):
            place = Place(probe.task.id, name, name, 0, order, 0)
            yield Work(place, probe.task, partial(tuple[str, str], (probe.a, probe.b)), "")
    again = {task.id for _, task in spread(tasks, pairs.repeated)}
    builds = max((plan.replicates(arm)[0] for arm in plan.contenders), default=1)
    for task in tasks:
        for number, (a, b) in enumerate(pairs.between):
            for build in range(builds):
                one, other = held.get((task.id, a, build, 0)), held.get((task.id, b, build, 0))
                if one is None or other is None:
                    continue  # unfinished: the provider or the harness failed, and it will be asked again
                for repetition in range(pairs.times if number == 0 and build == 0 and task.id in again else 1):
                    for order in (0, 1):
                        place = Place(task.id, a, b, build, order, repetition)
                        yield Work(place, task, partial(both, one[0], other[0]), f"{one[1]} {other[1]}")


def compare_pairs(
    run: RunFolder,
    plan: Plan,
    counted: Mapping[Key, Counted],
    unavailable: Mapping[str, str],
    on_verdict: Callable[[], None] = lambda: None,
) -> str:
    """Have every pair compared that has no current verdict.

    Args:
        run: where the answers are and the verdicts go.
        plan: the run's, with who compares and what may be spent.
        counted: the records that count.
        unavailable: arms that cannot be measured.
        on_verdict: called once per comparison.

    Returns:
        Why it ended before everything was compared, or "".

    Raises:
        GuardError: a judge of that id has compared here with other settings.
        RunLocked: another process is comparing.
    """
    pairs = pairs_of(plan, unavailable)
    if pairs is None or not plan.pair_judges:
        return ""
    purse = comparing_purse(plan, run, pairs)

    async def all_of_them() -> str:
        said = [
            await _Desk(run, plan, pairs, judge, purse, on_verdict).compare(wanted(run, plan, counted, pairs))
            for judge in plan.pair_judges
        ]
        return "; ".join(dict.fromkeys(filter(None, said)))

    return asyncio.run(all_of_them())


class _Desk:
    """One judge at work: a few comparisons at a time, stopped by failures in a row, by its controls, by money."""

    def __init__(
        self,
        run: RunFolder,
        plan: Plan,
        pairs: Pairs,
        judge: PairModelJudge,
        purse: Purse,
        on_verdict: Callable[[], None],
    ) -> None:
        self._run, self._plan, self._pairs, self._judge = run, plan, pairs, judge
        self._purse, self._on_verdict = purse, on_verdict
        self._failed = 0
        self._over = ""

    async def compare(self, work: Iterator[Work]) -> str:
        await self._judge.prepare()  # before its manifest is written: a judge without a key leaves nothing behind
        try:
            with self._run.pair_writer(self._judge.id, self._judge.config) as lines:
                return await self._compare(work, lines)
        finally:
            await self._judge.close()

    async def _compare(self, work: Iterator[Work], lines: LineWriter) -> str:
        held = _held(self._run, self._judge.id)
        waiting: set[asyncio.Task[None]] = set()
        probed: list[Work] = []
        probing = True
        for item in work:
            if item.place.a.startswith(_PROBE):
                probed.append(item)
            elif probing:
                await asyncio.gather(*waiting)
                probing, waiting = False, set()
                if self._over or unfit(self._run, self._plan, self._judge.id, probed):
                    return self._over  # if it is "", the tables of its controls say why nothing more is spent on it
            if held.get(item.place) == item.mark:
                continue
            known = self._purse.limit is None or self._purse.judged_once
            if len(waiting) >= (AT_ONCE if known else 1):
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
            if self._over:
                break
            a, b = item.texts()
            if a == b and not item.place.a.startswith(_PROBE):
                self._write(item, Comparison("tie", explanation="The two dossiers are the same."), lines, asked=False)
                continue
            if not self._purse.may_judge(len(waiting)):
                self._over = _NO_MONEY
                break
            waiting.add(asyncio.create_task(self._ask(item, a, b, lines)))
        await asyncio.gather(*waiting)
        return self._over

    async def _ask(self, item: Work, a: str, b: str, lines: LineWriter) -> None:
        first, second = (a, b) if item.place.order == 0 else (b, a)
        found = await self._judge.compare(Pairing(item.task, self._pairs.reference(item.task), first, second))
        self._write(item, found, lines, asked=True)
        self._purse.judged(found.usage)
        self._failed = self._failed + 1 if found.status == "failed" else 0
        if self._failed >= FAILURES_IN_A_ROW and not self._over:
            said = redact(found.explanation or found.raw or "no reply")
            self._over = (
                f"judge {self._judge.id} failed {self._failed} times in a row, the last with: {said}; mend it and go "
                "on: memassay judge RUN"
            )

    def _write(self, item: Work, found: Comparison, lines: LineWriter, *, asked: bool) -> None:
        place = item.place
        labels = dict(zip(("first", "second"), found.labels, strict=True)) if found.labels else {}
        verdict = Judgement(
            id=f"{self._judge.id}/{place.task}/{place.a}/{place.b}/{place.build}.{place.repetition}.{place.order}",
            judge=self._judge.id,
            subjects=tuple(CellKey(task=place.task, arm=arm, build=place.build) for arm in (place.a, place.b)),
            answer=item.mark,
            data=self._plan.suite.data,
            model=self._judge.model,
            order=place.order,
            repetition=place.repetition,
            status=found.status,
            position=found.position,
            labels={**labels, "asked": asked} | ({REPLIED: found.replied} if found.replied else {}),
            explanation=without_secrets(found.explanation),
            raw=found.raw and without_secrets(found.raw),
            usage=found.usage,
        )
        lines.append(to_line(verdict))
        self._on_verdict()


def standing(
    run: RunFolder, plan: Plan, counted: Mapping[Key, Counted], unavailable: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Every judge of pairs that was begun in a run: who it is, what is left for it, and what it used.

    ``left`` is None where it made no comparison, and 0 where its controls say that it is not to be asked further.
    """
    pairs = pairs_of(plan, unavailable)
    work = list(wanted(run, plan, counted, pairs)) if pairs is not None and run.pair_manifests() else []
    found = []
    for name, about in run.pair_manifests():
        said = list(run.each_pair_verdict(name))
        left = 0 if unfit(run, plan, name, work) else uncompared(run, name, work)
        found.append(
            {
                "id": name,
                "use": about[ENTRY]["use"],
                "name": about[ENTRY]["model"],
                "family": about["family"],
                "model": about["kind"],
                "left": left if said else None,
                "usage": usage_of_verdicts(said),
            }
        )
    return found


def unfit(run: RunFolder, plan: Plan, judge: str, work: Iterable[Work]) -> str:
    """Why a judge that has finished its controls is asked no further, or ""."""
    asks = getattr(plan.suite, "unfit", None)
    if asks is None or uncompared(run, judge, (item for item in work if item.place.a.startswith(_PROBE))):
        return ""
    return str(asks([verdict for verdict in pair_verdicts(run, judge) if verdict.probe]))


def uncompared(run: RunFolder, judge: str, work: Iterable[Work]) -> int:
    """How many of these comparisons a judge has yet to make."""
    held = _held(run, judge)
    return sum(held.get(item.place) != item.mark for item in work)


def pair_verdicts(run: RunFolder, judge: str, counted: Mapping[Key, Counted] | None = None) -> list[PairVerdict]:
    """What a judge of pairs said, the last word on each place; a failed one has no position.

    Args:
        run: the folder.
        judge: its id.
        counted: the records that count; what was said of others is left out. None takes everything.
    """
    about = dict(run.pair_manifests()).get(judge, {})
    last: dict[Place, Judgement] = {}
    for verdict in run.each_pair_verdict(judge):
        place = _place(verdict)
        if counted is not None and not _current(place, verdict.answer, counted):
            continue
        if verdict.status != "failed" or place not in last:
            last[place] = verdict
    return [
        PairVerdict(
            judge=judge,
            family=str(about.get("family", "")),
            model=verdict.model,
            probe=place.a.removeprefix(_PROBE) if place.a.startswith(_PROBE) else "",
            task=place.task,
            a=place.a,
            b=place.b,
            build=place.build,
            order=place.order,
            repetition=place.repetition,
            position=verdict.position if verdict.status == "ok" else None,  # type: ignore[arg-type]
            labels=_labels(verdict),
            asked=verdict.labels.get("asked") is not False,
        )
        for place, verdict in last.items()
    ]


def _current(place: Place, mark: str, counted: Mapping[Key, Counted]) -> bool:
    if place.a.startswith(_PROBE):
        return True
    held = [counted.get(key_of(CellKey(task=place.task, arm=arm, build=place.build))) for arm in (place.a, place.b)]
    return mark == " ".join(found.mark if found else "?" for found in held)


def _labels(verdict: Judgement) -> tuple[str, str] | None:
    said = [verdict.labels.get(place) for place in ("first", "second")]
    return (said[0], said[1]) if isinstance(said[0], str) and isinstance(said[1], str) else None


def _held(run: RunFolder, judge: str) -> dict[Place, str]:
    return {_place(v): v.answer for v in run.each_pair_verdict(judge) if v.status != "failed"}


def _place(verdict: Judgement) -> Place:
    a, b = verdict.subjects
    return Place(a.task, a.arm, b.arm, a.build, verdict.order, verdict.repetition)
