"""What judges of pairs work with: two dossiers for one question, blind, and what was said of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from pydantic import JsonValue

from memassay.core.types import ModelKind, Task, Usage


@dataclass(frozen=True, slots=True)
class Pairing:
    """Two dossiers for one question as a judge of pairs sees them: blind, in one order.

    Attributes:
        task: its gold is for the harness; a judge is shown ``reference`` and nothing else of it.
        reference: what a right dossier must hold, or "" where gold is hidden or there is none.
        first, second: the rendered dossiers in the order shown; "" where nothing was found.
    """

    task: Task
    reference: str
    first: str
    second: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a judge of pairs said; memories are looked up by the harness, never by the judge.

    Attributes:
        position: the better place, or None where no reply could be read (``status`` is then ``failed``).
        labels: of the first and the second dossier, where the judge gives any.
        replied: the name that the model went by, where it is not the one that was asked for.
        raw: everything that came back, failed attempts too.
    """

    position: Literal["first", "second", "tie"] | None
    labels: tuple[str, str] | None = None
    replied: str = ""
    explanation: str = ""
    status: Literal["ok", "failed"] = "ok"
    raw: str | None = None
    usage: Usage = field(default_factory=Usage)


class PairJudge(Protocol):
    """A grader of two dossiers at once. ``id``, ``config`` and ``model`` are as of a judge of answers.

    Attributes:
        pairs: True, here and on what makes it (a class, or a function); what tells it from a judge of single answers.
        family: of the model, in one word (``claude``, ``gpt``); two judges of one family count as one opinion.
    """

    id: str
    model: ModelKind
    pairs: Literal[True]
    family: str

    @property
    def config(self) -> Mapping[str, JsonValue]: ...

    def compare(self, pairing: Pairing) -> Comparison | Awaitable[Comparison]:
        """Which of the two is better for the question. A failure is a status, never an exception."""
        ...


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """One comparison on record, for what a suite concludes of pairs.

    Attributes:
        judge, family, model: who compared.
        probe: "" for two arms; else the control that it is of (``same``, ``shuffled``, ``random``, ``truncated``,
            ``padded``), where ``a`` is the text as it should be and ``b`` what was done to it.
        task: the question's id.
        a, b: arms in the order of the plan; ``order`` 0 shows ``a`` first, 1 shows ``b`` first.
        repetition: from 0.
        position: the place that was named, or None.
        labels: of the first and the second place, where given.
        asked: False where the two texts were the same, which is a tie that nobody was asked about.
    """

    judge: str
    family: str
    model: ModelKind
    probe: str
    task: str
    a: str
    b: str
    build: int
    order: int
    repetition: int
    position: Literal["first", "second", "tie"] | None
    labels: tuple[str, str] | None = None
    asked: bool = True


@dataclass(frozen=True, slots=True)
class Pairs:
    """How a suite has dossiers compared in pairs.

    Attributes:
        budget: context tokens at which dossiers are cut.
        between: pairs of arms, the one that favours positive gaps first.
        reference: what judges are shown of a task's gold, one fact a line; "" hides it.
        repeated: questions of the first pair that are asked ``times`` times, for the stability of a judge.
        times: at least 1.
    """

    budget: int
    between: tuple[tuple[str, str], ...]
    reference: Callable[[Task], str]
    repeated: int = 16
    times: int = 3
