"""A model says CORRECT or WRONG; what it was told and what it said is on record."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, JsonValue, StrictStr, ValidationError

from memassay.core.contracts import Cell
from memassay.core.digest import canonical_json, digest_text
from memassay.core.types import Judgement, ModelKind, Usage
from memassay.judging import prompts
from memassay.judging.prompts import LABELS, Variant
from memassay.judging.verdicts import REPLIED, gold_of, judge_id, said, spent, spoken_by, verdict
from memassay.models.access import Access
from memassay.models.chat import Chat, ChatModel, Message, Reply
from memassay.models.prices import same_model
from memassay.models.retries import attempts

VERSION = 1

_READINGS = 2  # a reply that cannot be read is asked for once more
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 80
# What may stand before a model's name without being a part of it.
PROVIDERS = ("anthropic", "openai", "local", "scripted")


class Unreadable(ValueError):
    """A reply that is no verdict; ``str()`` says why, in words that the model gets to read."""


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    explanation: StrictStr
    label: StrictStr


class BinaryJudge:
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
        own = prompts.criteria(variant)
        self._criteria = criteria.strip() or own
        self.key, self.variant, self.metric = key, variant, metric
        self.id = judge_id(f"{variant}-{file_name(model.name)}", key)
        self.model: ModelKind = model.kind
        self._model, self._temperature, self._max_tokens, self._seconds = model, temperature, max_tokens, seconds
        # A gateway may have names of its own; the provider itself must reply with the model that was asked for.
        access = getattr(model, "access", None)
        self._remote = isinstance(access, Access)
        self._named = isinstance(access, Access) and access.base_url is None and model.kind == "real"

    @property
    def config(self) -> Mapping[str, JsonValue]:
        return {
            "judge": self.variant,
            "version": VERSION,
            "key": self.key,
            "metric": self.metric,
            "model": dict(self._model.identity()),
            "prompt": prompts.PROMPT,
            "criteria": digest_text(self._criteria),
            "temperature": self._temperature,
            "max_tokens": self._max_tokens,
        }

    def price(self, usage: Usage) -> float | None:
        """US dollars for that many tokens of the model, or None where the price is not known."""
        return self._model.price(usage)

    async def prepare(self) -> None:
        """See that the model can be asked; nothing is asked yet.

        Raises:
            EnvironmentProblem: a package or a key is missing, in one sentence.
        """
        await self._model.prepare()

    async def close(self) -> None:
        """Let go of the model."""
        await self._model.close()

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
        return await self._ask(cell, prompts.case(cell.task.prompt, gold.answer, answer), model)

    def chat(self, *messages: Message) -> Chat:
        """A request of this judge."""
        return Chat(
            messages=messages,
            system=f"{prompts.INSTRUCTIONS}{self._criteria}",
            schema=prompts.SCHEMA,
            max_tokens=self._max_tokens,
            temperature=self._temperature,
            seconds=self._seconds,
        )

    async def _ask(self, cell: Cell, question: str, model: ModelKind) -> Judgement:
        raw: list[JsonValue] = []
        usages: list[Usage] = []
        messages = [Message("user", question)]
        problem = ""
        for _ in range(_READINGS):
            outcome = await attempts(self._model, self.chat(*messages))
            raw += [attempt.record() for attempt in outcome.failed]
            if outcome.reply is None:
                last = outcome.failed[-1].failure
                problem = f"{last.status}: {last.detail}"
                break
            reply = outcome.reply
            raw.append(_record(reply))
            usages.append(reply.usage)
            another = self._remote and not same_model(self._model.name, reply.model)
            if another and self._named:
                problem = f"asked {self._model.name}, but {reply.model or 'no model'} replied"
                break
            try:
                label, explanation = read(reply)
            except Unreadable as error:
                problem = f"unreadable: {error}"
                messages += [reply.message, Message("user", prompts.AGAIN.replace("{reason}", str(error)))]
                continue
            return verdict(
                self.id,
                cell,
                {self.metric: float(label == "CORRECT")},
                labels={"label": label, "asked": True} | ({REPLIED: reply.model} if another else {}),
                explanation=explanation,
                raw=canonical_json(raw),
                usage=spent(usages),
                model=model,
            )
        return verdict(
            self.id,
            cell,
            {self.metric: None},
            status="failed",
            explanation=problem,
            raw=canonical_json(raw),
            usage=spent(usages),
            model=model,
        )


def read(reply: Reply) -> tuple[str, str]:
    """Label and explanation of a reply that is one JSON object of exactly these two keys.

    Raises:
        Unreadable: it is anything else, with the reason.
    """
    if reply.stop in ("refusal", "length"):
        raise Unreadable("it was refused" if reply.stop == "refusal" else "it was cut off at its longest length")
    try:
        found = _Reply.model_validate(json.loads(reply.text, object_pairs_hook=_once))
    except ValidationError as error:
        first = error.errors()[0]
        raise Unreadable(f"{'.'.join(map(str, first['loc'])) or 'the whole'}: {first['msg'].lower()}") from error
    except (ValueError, RecursionError) as error:
        raise Unreadable("it is no JSON object") from error
    if found.label not in LABELS:
        raise Unreadable(f"the label must be {' or '.join(LABELS)}")
    return found.label, found.explanation


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key stands there twice")
    return dict(pairs)


def _record(reply: Reply) -> dict[str, JsonValue]:
    notes: list[JsonValue] = [*reply.notes]
    return {"model": reply.model, "stop": reply.stop, "text": reply.text, "notes": notes, "response": reply.response}


def file_name(model: str) -> str:
    """A model's name as a part of a file's name: what stands after the last slash, in safe letters.

    Where that says less than the name did (an owner, a tag after a colon), six digits of its digest follow.
    """
    owner, _, last = model.rstrip("/").rpartition("/")
    safe = _UNSAFE.sub("-", last).strip(".-")[:_LONGEST_NAME] or "model"
    whole = safe == last and owner in ("", *PROVIDERS)
    return safe if whole else f"{safe}-{digest_text(model)[:6]}"
