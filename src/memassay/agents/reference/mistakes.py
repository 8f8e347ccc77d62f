"""Ways to be wrong on purpose: each spoils one kind of question in a way whose price is known beforehand.

A grader that does not take off exactly that is wrong itself. By the rules of the suite (recall, less a quarter for each
of the five near-misses that is named, at least 0):

=========  ====================================================================================  ==============
mistake    what it does                                                                          a task's score
=========  ====================================================================================  ==============
``first``  says only the first value of every answer                                             1 / values
``size``   adds SIMILAR_SIZE to every "why"; no pair that is asked about has it                  0.75
``short``  is content with one talent fewer in a multi-hop question: what is short is near       0
``stays``  names every talent that is linked now, also those that the change leaves: they are    0
           near
``today``  answers for the last day, not for the day that was asked: what holds today only is    0
           near
``blind``  ignores the role: what the role may not see is near                                   0
=========  ====================================================================================  ==============
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from memassay.agents.reference.questions import Alike, Links, Multihop, Question, Retraction, Why
from memassay.agents.reference.rules import TALENT


def _as_asked(question: Question) -> Question:
    return question


def _as_found(question: Question, values: list[str]) -> list[str]:
    return values


@dataclass(frozen=True, slots=True)
class Mistake:
    """How a question is misread and what is made of the values that were found."""

    ask: Callable[[Question], Question] = _as_asked
    say: Callable[[Question, list[str]], list[str]] = _as_found


def _first(question: Question, values: list[str]) -> list[str]:
    return values[:1]


def _size(question: Question, values: list[str]) -> list[str]:
    return [*values, "SIMILAR_SIZE"] if isinstance(question, Why) else values


def _short(question: Question) -> Question:
    return replace(question, talents=question.talents - 1) if isinstance(question, Multihop) else question


def _stays(question: Question) -> Question:
    return Links(question.company, question.types, label=TALENT) if isinstance(question, Retraction) else question


def _today(question: Question) -> Question:
    return replace(question, date=None) if isinstance(question, Links) else question


def _blind(question: Question) -> Question:
    return replace(question, role=None) if isinstance(question, Links | Alike) else question


MISTAKES: Mapping[str, Mistake] = {
    "": Mistake(),
    "blind": Mistake(ask=_blind),
    "first": Mistake(say=_first),
    "short": Mistake(ask=_short),
    "size": Mistake(say=_size),
    "stays": Mistake(ask=_stays),
    "today": Mistake(ask=_today),
}
"""By name; "" makes none."""
