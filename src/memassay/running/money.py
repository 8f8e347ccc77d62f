"""What a run costs: spent so far, expected of the next task, and where it must stop.

``Purse(limit, spent, expected)``; ``open(task, arms) -> bool`` before a task is begun, ``pay(task, arm, usage)`` after
an answer. A task is begun whole or not at all, so that a limit never leaves one arm with more answers than another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memassay.core.types import Usage


def paid(usage: Usage) -> float:
    """What a usage cost: by our price table, else by the provider's own word, else nothing."""
    return usage.cost_usd if usage.cost_usd is not None else usage.reported_usd or 0.0


@dataclass
class Purse:
    """The money of a run; without a limit it only counts.

    Attributes:
        limit: US dollars that the run may cost, or None.
        spent: what its records have cost so far.
        expected: by arm, what one answer and its judgements are expected to cost, before anything is known.
        judging: what the judgements of one answer are expected to cost.
        dearest: by arm, the most that an answer has cost so far.
        owed: answers that are yet to be judged.
    """

    limit: float | None = None
    spent: float = 0.0
    expected: Mapping[str, float] = field(default_factory=dict)
    judging: float = 0.0
    dearest: dict[str, float] = field(default_factory=dict)
    _open: dict[str, list[str]] = field(default_factory=dict)
    owed: int = 0
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
        each = max(self.judging, self._dearest_verdict)
        return self.spent < self.limit and self.spent + (waiting + 1) * each <= self.limit

    def judged(self, usage: Usage) -> None:
        """Note what a judgement cost."""
        cost = paid(usage)
        self.spent += cost
        self._dearest_verdict = max(cost, self._dearest_verdict)
        self.judged_once = True

    def _each(self, arm: str) -> float:
        return max(self.dearest.get(arm, 0.0), self.expected.get(arm, 0.0)) + self.judging
