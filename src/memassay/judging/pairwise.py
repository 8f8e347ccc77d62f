"""A model says which of two dossiers serves a question better; what it was told and what it said is on record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import JsonValue, StrictStr

from memassay.core.digest import digest_text
from memassay.core.errors import UsageError
from memassay.core.pairs import Comparison, Pairing
from memassay.judging import pair_prompts
from memassay.judging.asking import Asking, ReplyShape, file_name, parsed
from memassay.judging.lineage import family_of
from memassay.judging.pair_prompts import Label, Winner
from memassay.models.chat import ChatModel, Reply

VERSION = 1


class _Reply(ReplyShape):
    explanation: StrictStr
    winner: Winner
    first: Label
    second: Label


class PairwiseJudge(Asking):
    """Asks a model which of two texts it would rather answer a question from, and for a label of each.

    It sees the question, its time, the reference where there is one, and the two texts; nothing of memories.

    Args:
        model: who judges; see ``memassay.models.names.open_model``.
        criteria: what a suite asks of a dossier; "" takes the judge's own.
        family: of the model, in one word; "" reads it from the name.
        temperature: of the model, or None to leave it to the provider.
        max_tokens: longest reply.
        seconds: longest wait for one request.

    Raises:
        UsageError: the family is more than one word.
    """

    pairs: Literal[True] = True

    def __init__(
        self,
        *,
        model: ChatModel,
        criteria: str = "",
        family: str = "",
        temperature: float | None = 0.0,
        max_tokens: int = 1024,
        seconds: float = 120.0,
    ) -> None:
        if family and len(family.split()) != 1:
            raise UsageError(f"family must be one word, such as claude, not {family!r}.")
        self._criteria = criteria.strip() or pair_prompts.CRITERIA
        super().__init__(
            model,
            system=f"{pair_prompts.INSTRUCTIONS}Criteria\n{self._criteria}",
            schema=pair_prompts.SCHEMA,
            temperature=temperature,
            max_tokens=max_tokens,
            seconds=seconds,
        )
        self.family = family.strip().lower() or family_of(model.name)
        self.id = f"pairwise-{file_name(model.name)}"

    @property
    def config(self) -> Mapping[str, JsonValue]:
        return {
            "judge": "pairwise",
            "version": VERSION,
            "family": self.family,
            "prompt": pair_prompts.PROMPT,
            "criteria": digest_text(self._criteria),
            **self.asking,
        }

    async def compare(self, pairing: Pairing) -> Comparison:
        """The better place, and a label of each text.

        A provider's failure, a provider that lets another model reply, and a reply that cannot be read twice, give
        status ``failed`` with everything that came back in ``raw``. At an address of the user's own, the name of
        another model is kept in ``replied``; the family stays that of the model that was asked for.

        Raises:
            UsageError, EnvironmentProblem: the model cannot be asked from here.
        """
        asked = await self.ask(pair_prompts.case(pairing), read)
        if asked.found is None:
            return Comparison(None, explanation=asked.problem, status="failed", raw=asked.raw, usage=asked.usage)
        found = asked.found
        return Comparison(
            found.winner,
            (found.first, found.second),
            replied=asked.replied,
            explanation=found.explanation,
            raw=asked.raw,
            usage=asked.usage,
        )


def read(reply: Reply) -> _Reply:
    """Winner, labels and explanation of a reply that is one JSON object of exactly these four keys.

    Raises:
        Unreadable: it is anything else, with the reason.
    """
    return parsed(reply, _Reply)
