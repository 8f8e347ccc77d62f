"""A model says CORRECT or WRONG; what it was told and what it said is on record."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue, StrictStr

from memassay.core.contracts import Cell
from memassay.core.digest import digest_text
from memassay.core.types import Judgement
from memassay.judging import prompts
from memassay.judging.asking import Asking, ReplyShape, Unreadable, file_name, parsed
from memassay.judging.prompts import LABELS, Variant
from memassay.judging.verdicts import REPLIED, gold_of, judge_id, said, spent, spoken_by, verdict
from memassay.models.chat import ChatModel, Reply

__all__ = ["VERSION", "BinaryJudge", "file_name"]

VERSION = 1


class _Reply(ReplyShape):
    explanation: StrictStr
    label: StrictStr


class BinaryJudge(Asking):
    """Asks a model whether an answer says what the gold answer says; scores 1 for CORRECT and 0 for WRONG.

    Nothing is asked where nothing was said: an empty answer and every failure of the memory are WRONG.

    Args:
        model: who judges; see ``memassay.models.names.open_model``.
        variant: ``binary`` (the same thing, whatever its form) or ``lenient`` (the generous criteria of the field).
        criteria: what a suite asks of an answer; "" takes the variant's own.
        key: which gold of the task is right.
        metric: name of the score.
        temperature: of the model, or None to leave it to the provider.
        max_tokens: longest reply.
        seconds: longest wait for one request.
    """

    def __init__(
        self,
        *,
        model: ChatModel,
        variant: Variant = "binary",
        criteria: str = "",
        key: str = "original",
        metric: str = "j",
        temperature: float | None = 0.0,
        max_tokens: int = 1024,
        seconds: float = 120.0,
    ) -> None:
        self._criteria = criteria.strip() or prompts.criteria(variant)
        super().__init__(
            model,
            system=f"{prompts.INSTRUCTIONS}{self._criteria}",
            schema=prompts.SCHEMA,
            temperature=temperature,
            max_tokens=max_tokens,
            seconds=seconds,
        )
        self.key, self.variant, self.metric = key, variant, metric
        self.id = judge_id(f"{variant}-{file_name(model.name)}", key)

    @property
    def config(self) -> Mapping[str, JsonValue]:
        return {
            "judge": self.variant,
            "version": VERSION,
            "key": self.key,
            "metric": self.metric,
            "prompt": prompts.PROMPT,
            "criteria": digest_text(self._criteria),
            **self.asking,
        }

    async def judge(self, cell: Cell) -> Judgement | None:
        """The verdict on one answer; None where this key leaves the task out, undefined where it has no gold answer.

        A provider's failure, a provider that lets another model reply, and a reply that cannot be read twice, give
        status ``failed`` with everything that came back in ``raw``. At an address of the user's own, the name of
        another model is kept in the label ``replied``.

        Raises:
            UsageError, EnvironmentProblem: the model cannot be asked from here.
        """
        gold = gold_of(cell, self.key)
        if gold is None:
            return None
        model = spoken_by(cell, self.model)
        if gold.answer is None or not gold.answer.strip():
            return verdict(self.id, cell, {self.metric: None}, model=model)
        answer = said(cell.answer)
        if not answer:
            return verdict(
                self.id,
                cell,
                {self.metric: 0.0},
                labels={"label": "WRONG", "asked": False},
                explanation="Nothing was said.",
                usage=spent(()),
                model=model,
            )
        asked = await self.ask(prompts.case(cell.task.prompt, gold.answer, answer), read)
        if asked.found is None:
            return verdict(
                self.id,
                cell,
                {self.metric: None},
                status="failed",
                explanation=asked.problem,
                raw=asked.raw,
                usage=asked.usage,
                model=model,
            )
        label, explanation = asked.found
        return verdict(
            self.id,
            cell,
            {self.metric: float(label == "CORRECT")},
            labels={"label": label, "asked": True} | ({REPLIED: asked.replied} if asked.replied else {}),
            explanation=explanation,
            raw=asked.raw,
            usage=asked.usage,
            model=model,
        )


def read(reply: Reply) -> tuple[str, str]:
    """Label and explanation of a reply that is one JSON object of exactly these two keys.

    Raises:
        Unreadable: it is anything else, with the reason.
    """
    found = parsed(reply, _Reply)
    if found.label not in LABELS:
        raise Unreadable(f"the label must be {' or '.join(LABELS)}")
    return found.label, found.explanation
