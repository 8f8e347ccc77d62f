"""One pair as judges saw it: the outcome of all that are used, of each alone, and how far they agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

from memassay.stats.agreement import Agreement
from memassay.suites.canary.ballots import Ballots, Joint
from memassay.suites.canary.comparing import Compared, as_mapping, generator
from memassay.suites.canary.fabrication import fabrication
from memassay.suites.canary.families import Weights
from memassay.suites.canary.pairs import Pair, measure
from memassay.suites.canary.rules import RULES, Thresholds
from memassay.suites.canary.standings import Standings

NO_JUDGE = "no judge is in use"
NO_ANSWER = "no question has an answer of every judge in both orders"
NO_WEIGHT = "every family that was answered has the weight 0"


@dataclass(frozen=True)
class JudgedPair:
    """A pair with what judges said of it.

    Attributes:
        found: the memories, and what holds of them without judges.
        used: judges whose votes are counted.
    """

    ballots: Ballots
    found: Standings
    weights: Weights
    thresholds: Thresholds
    used: tuple[str, ...]

    @cached_property
    def outcomes(self) -> dict[str, Joint]:
        """Of the questions that every judge in use answered, in both orders of every build."""
        return self._answered(self.used)

    @cached_property
    def compared(self) -> Compared | None:
        """The pair by every rule, on all questions that have an outcome; None where there is nothing to go by."""
        return self.on(self.outcomes)

    @property
    def reason(self) -> str:
        """Why there is nothing to go by, or ""."""
        if self.compared is not None:
            return ""
        return NO_WEIGHT if self.outcomes else NO_ANSWER if self.used else NO_JUDGE

    def on(self, questions: Mapping[str, object]) -> Compared | None:
        """The pair by every rule on some of its questions; what is fabricated counts on all that were compared."""
        a, b, asked = self.ballots.a, self.ballots.b, self.thresholds
        pair = self._pair({question: self.outcomes[question] for question in questions})
        if pair is None:
            return None
        measured = measure(pair, generator("judged", a, b), level=asked.level)
        fabricated = fabrication(self.found.pair(a, b, self.weights), asked.level)
        return Compared(measured, fabricated, {name: rule(measured, fabricated, asked) for name, rule in RULES.items()})

    def mapping(self, judges: Sequence[str]) -> dict[str, object]:
        """Everything that the tables of the pair are made of.

        Args:
            judges: all of them, used or not.
        """
        ballots, one = self.ballots, self.compared
        result = None
        if one is not None:
            kept = _kept(self.found, self.outcomes)
            result = {**as_mapping(one, kept, self.thresholds), "tie_reasons": _reasons(self.outcomes)}
        return {
            "a": ballots.a,
            "b": ballots.b,
            "builds": len(ballots.builds),
            "dropped": len(self.found.questions) - len(self.outcomes),
            "result": result,
            "reason": self.reason or None,
            "judges": [self._alone(judge) for judge in judges],
            "agreement": [
                {"first": first, "second": second, "agreement": self._agreement(first, second)}
                for first, second in combinations(judges, 2)
            ],
        }

    def _agreement(self, first: str, second: str) -> Agreement:
        rng = generator("agreement", first, second, self.ballots.a, self.ballots.b)
        return self.ballots.agreement(first, second, rng, self.thresholds.level)

    def _alone(self, judge: str) -> dict[str, object]:
        """What one judge alone says of the pair."""
        level = self.thresholds.level
        outcomes = self._answered([judge])
        pair = self._pair(outcomes)
        signs = Counter(outcome.sign for outcome in outcomes.values())
        rng = generator("judged", judge, self.ballots.a, self.ballots.b)
        measured = None if pair is None else measure(pair, rng, level=level)
        return {
            "judge": judge,
            "wins": signs[1],
            "losses": signs[-1],
            "ties": signs[0],
            "tie_reasons": _reasons(outcomes),
            "dropped": len(self.found.questions) - len(outcomes),
            "weighted": None if measured is None else measured.gaps.weighted.gap,
            "flip_p": None if measured is None else measured.test.p,
            "positions": self.ballots.positions(judge, level),
        }

    def _answered(self, judges: Sequence[str]) -> dict[str, Joint]:
        return {
            question: outcome for question, outcome in self.ballots.joint(judges).items() if outcome.sign is not None
        }

    def _pair(self, outcomes: Mapping[str, Joint]) -> Pair | None:
        kept = _kept(self.found, outcomes)
        if not any(self.weights.shares[asked.family] for asked in kept.questions):
            return None
        labelled = kept.pair(self.ballots.a, self.ballots.b, self.weights)
        questions = tuple(replace(one, outcome=outcomes[one.question].sign or 0) for one in labelled.questions)
        return replace(labelled, questions=questions)


def _kept(found: Standings, questions: Mapping[str, object]) -> Standings:
    return replace(found, questions=tuple(asked for asked in found.questions if asked.id in questions))


def _reasons(outcomes: Mapping[str, Joint]) -> dict[str, int]:
    """Why questions are ties, most frequent first."""
    counted = Counter(outcome.reason for outcome in outcomes.values() if outcome.reason is not None)
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))
