"""What an agent answered to one task, what every judge said to it, and what it took. Pure: records in, values out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memassay.core.types import Answer, Judgement, ModelKind, Usage
from memassay.reporting.metric import metric
from memassay.reporting.transcript import Use, uses


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one judge said; ``label`` is "" where it only gives scores, ``model`` is scripted where either side is."""

    judge: str
    model: ModelKind
    status: str
    label: str
    scores: Mapping[str, float | None]
    explanation: str


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens by kind, money by our table and as reported, turns and seconds, retrieval among them."""

    input: int
    output: int
    cache_read: int
    cache_write: int
    cost_usd: float | None
    reported_usd: float | None
    turns: int
    tool_calls: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Given:
    """An agent's answer.

    Attributes:
        text: its words, or None where there are none.
        repetition, repetitions: which of how many answers this is, from 1.
        access: what the agent was given.
        verdicts: what the judges of answers said.
        uses: the tools that it used.
    """

    text: str | None
    repetition: int
    repetitions: int
    access: tuple[str, ...]
    model: ModelKind
    verdicts: tuple[Verdict, ...]
    spent: Spent
    uses: tuple[Use, ...]


def given(
    answer: Answer, judgements: Mapping[str, Judgement], transcript: str, *, access: Sequence[str], repetitions: int
) -> Given | None:
    """What an agent answered; None where no agent was asked.

    Args:
        answer: the record that counts.
        judgements: by judge id.
        transcript: what the agent saw, or "".
        access: of the arm.
        repetitions: how many answers to the task the arm has.
    """
    step = next((s for s in reversed(answer.steps) if s.name != "retrieve"), None)
    if step is None:
        return None
    return Given(
        text=step.text,
        repetition=answer.cell.repetition + 1,
        repetitions=repetitions,
        access=tuple(access),
        model=answer.model,
        verdicts=tuple(_verdict(name, found) for name, found in judgements.items() if _of_answers(found)),
        spent=_spent(answer.usage),
        uses=uses(transcript),
    )


def _of_answers(judgement: Judgement) -> bool:
    """Whether a verdict is about the answer, and not about what was found (whose metrics have a cut-off)."""
    return "label" in judgement.labels or any(metric(name).at is None for name in judgement.scores)


def _verdict(judge: str, found: Judgement) -> Verdict:
    label = found.labels.get("label")
    return Verdict(
        judge=judge,
        model=found.model,
        status=found.status,
        label=label if isinstance(label, str) else "",
        scores=dict(found.scores),
        explanation=found.explanation,
    )


def _spent(usage: Usage) -> Spent:
    return Spent(
        input=usage.input,
        output=usage.output,
        cache_read=usage.cache_read,
        cache_write=usage.cache_write,
        cost_usd=usage.cost_usd,
        reported_usd=usage.reported_usd,
        turns=usage.turns,
        tool_calls=usage.tool_calls,
        seconds=usage.wall_ms / 1000,
    )
