"""What a run costs: spent so far, expected of the next task, and where it must stop.

``Purse(limit, expected, judging, bill)``; ``open(task, arms) -> bool`` before a task is begun, ``pay(task, arm,
usage)`` after an answer. A task is begun whole or not at all, so that a limit never leaves one arm with more answers
than another. The limit is the run folder's: before anything is begun the purse reads what other writers have recorded
since. What it cannot see is what they have begun and not yet recorded.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memassay.core.types import Usage
from memassay.runs.folder import FINAL, RunFolder
from memassay.runs.lines import NewLines
from memassay.runs.records import Key, answer_head, verdict_head


def paid(usage: Usage) -> float:
    """What a usage cost: by our price table, else by the provider's own word, else nothing."""
    return usage.cost_usd if usage.cost_usd is not None else usage.reported_usd or 0.0


class Bill:
    """What the records of a run folder have cost, whoever wrote them.

    Args:
        run: with the records.
        arms: those whose answers may cost something.
        judges: ids of those with a model, each of which is to judge these answers.

    Attributes:
        spent: US dollars, those of attempts that do not count and of audits too.
        dearest: by arm, the most that an answer has cost.
        given_up: by arm, answers of a model that were cut off with no word on what they had used.
    """

    def __init__(self, run: RunFolder, arms: Collection[str], judges: Collection[str]) -> None:
        self._run, self._arms = run, frozenset(arms)
        self._lines = NewLines()
        self._recorded = 0.0
        self._answered: set[Key] = set()
        self._judged: dict[str, set[Key]] = {judge: set() for judge in judges}
        self.spent = 0.0
        self.dearest: dict[str, float] = {}
        self.given_up: dict[str, int] = {}

    @property
    def owed(self) -> int:
        """Answers that some judge with a model is yet to judge."""
        return max((len(self._answered - judged) for judged in self._judged.values()), default=0)

    def read(self) -> None:
        """Read on: what was recorded since the last time.

        Raises:
            DataError: a record is damaged.
        """
        for path in self._run.segments():
            for number, record in self._lines.of(path):
                key, status, _ = answer_head(path, number, record)
                cost = _cost(record)
                self._recorded += cost
                if key[1] in self._arms and any(step.get("name") != "retrieve" for step in record.get("steps") or ()):
                    self.dearest[key[1]] = max(cost, self.dearest.get(key[1], 0.0))
                    if status.kind in FINAL:
                        self._answered.add(key)
                    if status.kind == "memory" and record.get("model") == "real" and not _known(record):
                        self.given_up[key[1]] = self.given_up.get(key[1], 0) + 1
        for judge in self._run.judgement_files():
            path = self._run.verdicts(judge)
            for number, record in self._lines.of(path):
                self._recorded += _cost(record)
                if judge in self._judged and record.get("status") != "failed":
                    self._judged[judge].add(verdict_head(path, number, record)[0])
        for judge in self._run.pair_files():
            for _, record in self._lines.of(self._run.pair_verdicts(judge)):
                self._recorded += _cost(record)
        # An audit's file is written whole, and again by the next one.
        self.spent = self._recorded + sum(_cost(self._run.audit(judge) or {}) for judge in self._run.audited())


def _known(record: Mapping[str, Any]) -> bool:
    usage = record.get("usage") or {}
    return any(usage.get(name) is not None for name in ("cost_usd", "reported_usd"))


def _cost(record: Mapping[str, Any]) -> float:
    usage = record.get("usage") or {}
    cost = usage.get("cost_usd")
    return (usage.get("reported_usd") if cost is None else cost) or 0.0


@dataclass
class Purse:
    """The money of a run; without a limit it only counts.

    Attributes:
        limit: US dollars that the run may cost, or None.
        expected: by arm, what one answer and its judgements are expected to cost, before anything is known.
        judging: what the judgements of one answer are expected to cost.
        bill: what is recorded, by all writers; None where nothing is but what is paid here.
        spent: what was paid so far.
        dearest: by arm, the most that an answer has cost so far.
        owed: answers that are yet to be judged.
    """

    limit: float | None = None
    expected: Mapping[str, float] = field(default_factory=dict)
    judging: float = 0.0
    bill: Bill | None = None
    spent: float = 0.0
    dearest: dict[str, float] = field(default_factory=dict)
    owed: int = 0
    _open: dict[str, list[str]] = field(default_factory=dict)
    _dearest_verdict: float = 0.0
    judged_once: bool = False

    @property
    def reason(self) -> str:
        """Why no further task was begun, for a person."""
        return (
            f"the next task could cost more than what is left of the ${self.limit:g} of --max-usd; "
            "run the same command again with a higher one to go on"
        )

    def open(self, task: str, arms: Sequence[str]) -> bool:
        """Begin a task with these cells' arms, or say that it cannot be paid."""
        if self.limit is not None:
            self._read()
            owed = sum(self._each(arm) for cells in self._open.values() for arm in cells) + self.owed * self.judging
            if self.spent + owed + sum(self._each(arm) for arm in arms) > self.limit:
                return False
        self._open[task] = list(arms)
        return True

    def pay(self, task: str, arm: str, usage: Usage, *, ended: bool = True) -> None:
        """Note what an attempt cost; ``ended`` says that the cell needs no further one."""
        cost = paid(usage)
        self.spent += cost
        self.dearest[arm] = max(cost, self.dearest.get(arm, 0.0))
        if ended:
            self.owed += 1
            waiting = self._open.get(task, [])
            if arm in waiting:
                waiting.remove(arm)
            if not waiting:
                self._open.pop(task, None)

    def knows(self, arms: Sequence[str]) -> bool:
        """Whether it is known of each arm what an answer costs, or does not matter."""
        return self.limit is None or all(arm in self.dearest for arm in arms)

    def may_judge(self, waiting: int) -> bool:
        """Whether one more judgement can be paid beside those that wait; one whose cost is not known waits for none."""
        if self.limit is None:
            return True
        self._read()
        each = max(self.judging, self._dearest_verdict)
        return self.spent < self.limit and self.spent + (waiting + 1) * each <= self.limit

    def judged(self, usage: Usage) -> None:
        """Note what a judgement cost."""
        cost = paid(usage)
        self.spent += cost
        self._dearest_verdict = max(cost, self._dearest_verdict)
        self.judged_once = True

    def _read(self) -> None:
        """Take in what is recorded: what was paid here, since that comes first, and what others have paid."""
        if self.bill is not None:
            self.bill.read()
            self.dearest.update(self.bill.dearest)
            # What was cut off has cost something too, which nobody says: an answer's price is taken for it.
            unsaid = sum(number * self._price(arm) for arm, number in self.bill.given_up.items())
            self.spent, self.owed = self.bill.spent + unsaid, self.bill.owed

    def _each(self, arm: str) -> float:
        return self._price(arm) + self.judging

    def _price(self, arm: str) -> float:
        return max(self.dearest.get(arm, 0.0), self.expected.get(arm, 0.0))
