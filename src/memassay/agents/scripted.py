"""An agent that says what it was told to say and fails where it was told to fail; for tests of everything around it."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from memassay.core.digest import canonical_json, digest_text
from memassay.core.errors import UnknownName, UsageError
from memassay.core.types import CellKey, ModelKind, Request, Status, Step, Usage

VERSION = 1

_STATUSES = {
    "refused": Status.REFUSED,
    "limit-time": Status.LIMIT_TIME,
    "limit-turns": Status.LIMIT_TURNS,
    "limit-money": Status.LIMIT_MONEY,
    "rate-limit": Status.RATE_LIMIT,
    "api-error": Status.API_ERROR,
    "network": Status.NETWORK,
    "harness": Status.HARNESS,
}
CRASH, HANG = "crash", "hang"
FAULTS = (*_STATUSES, CRASH, HANG)


class Replies(BaseModel):
    """The file of replies.

    Attributes:
        tasks: by task id, a reply or replies by arm.
        arms: by arm.
        default: for every other cell.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    tasks: Mapping[str, str | Mapping[str, str]] = Field(default_factory=dict)
    arms: Mapping[str, str] = Field(default_factory=dict)
    default: str | None = None

    def of(self, cell: CellKey) -> str | None:
        """The reply to a cell: by task and arm, by task, by arm, or the default."""
        told = self.tasks.get(cell.task)
        if isinstance(told, Mapping):
            told = told.get(cell.arm)
        return told if told is not None else self.arms.get(cell.arm, self.default)


class Scripted:
    """Fixed replies and planted failures; stands in for a model, and its numbers are marked ``scripted``.

    A planted fault is a matter of the cell alone, so it is the same in every process and order: see :func:`planted`.
    A fault of a provider or the harness costs nothing; every other answer costs the usage that is set here.

    Args:
        file: a JSON file with ``tasks`` (by task id a reply, or replies by arm), ``arms`` and ``default``.
        text: the reply where the file has none.
        faults: kinds of failure, with commas: refused, limit-time, limit-turns, limit-money, rate-limit, api-error,
            network, harness, crash (raises) and hang (never answers).
        share: the share of the cells that fail, in [0, 1].
        seed: moves the failures to other cells.
        lasts: a fault is met by the first so many attempts at a cell; 0 is all of them.
        seconds: how long each answer takes.
        input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, turns, tool_calls: of one answer.
        cost_usd, reported_usd: of one answer, or None where it is not known.
    """

    model: ModelKind = "scripted"
    accesses = frozenset({"dossier", "tools", "folder"})

    def __init__(
        self,
        *,
        file: str = "",
        text: str = "",
        faults: str = "",
        share: float = 0.0,
        seed: int = 0,
        lasts: int = 0,
        seconds: float = 0.0,
        input_tokens: int = 0,
        output_tokens: int = 0,
        cache_read_tokens: int = 0,
        cache_write_tokens: int = 0,
        turns: int = 1,
        tool_calls: int = 0,
        cost_usd: float | None = None,
        reported_usd: float | None = None,
    ) -> None:
        self._faults = tuple(name.strip() for name in faults.split(",") if name.strip())
        for name in self._faults:
            if name not in FAULTS:
                raise UnknownName("fault", name, FAULTS)
        if not 0 <= share <= 1:
            raise UsageError(f"The agent 'scripted' takes a share between 0 and 1, not {share}.")
        if share and not self._faults:
            raise UsageError(
                "The agent 'scripted' has a share of failures and no kinds; name some with faults=network,refused."
            )
        self._digest: str | None = None
        self._replies = Replies()
        if file:
            self._replies, self._digest = _read(file)
        self._text, self._share, self._seed, self._lasts, self._seconds = text, share, seed, lasts, seconds
        self._usage = Usage(
            input=input_tokens,
            output=output_tokens,
            cache_read=cache_read_tokens,
            cache_write=cache_write_tokens,
            cost_usd=cost_usd,
            reported_usd=reported_usd,
            turns=turns,
            tool_calls=tool_calls,
        )

    def identity(self) -> Mapping[str, JsonValue]:
        """The digest of the file of replies, or None."""
        return {"version": VERSION, "replies": self._digest}

    async def answer(self, request: Request) -> Step:
        """The reply to the cell, or its planted failure."""
        cell = request.cell
        if self._seconds:
            await asyncio.sleep(self._seconds)
        fault = planted(cell, self._faults, self._share, self._seed)
        if self._lasts and request.attempt > self._lasts:
            fault = ""
        if fault == CRASH:
            raise RuntimeError("a planted crash")
        if fault == HANG:
            await asyncio.Event().wait()
        if fault:
            status = _STATUSES[fault]
            free = status.kind in ("provider", "harness")
            return self._step(cell, status, f"planted {fault}", None, Usage() if free else self._usage)
        told = self._replies.of(cell)
        return self._step(cell, Status.OK, "", self._text if told is None else told, self._usage)

    def _step(self, cell: CellKey, status: Status, detail: str, text: str | None, usage: Usage) -> Step:
        seen = {"cell": cell, "status": status.value, "text": text}
        evidence = f"{canonical_json(seen)}\n".encode("utf-8", "replace")
        return Step(name="answer", status=status, detail=detail, text=text, usage=usage, evidence=evidence)


def planted(cell: CellKey, faults: Sequence[str], share: float, seed: int) -> str:
    """The fault of a cell, or "".

    From SHA-256 of the JSON text ``[seed,"task","arm",build,repetition]``: the first eight bytes, read as a fraction of
    2**64, are below ``share`` where the cell fails; the next eight, modulo the number of faults, choose which.
    """
    name = canonical_json([seed, cell.task, cell.arm, cell.build, cell.repetition])
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
    if not faults or int.from_bytes(digest[:8], "big") >= share * 2**64:
        return ""
    return faults[int.from_bytes(digest[8:16], "big") % len(faults)]


def _read(file: str) -> tuple[Replies, str]:
    try:
        text = Path(file).read_text(encoding="utf-8")
        return Replies.model_validate(json.loads(text)), digest_text(text)
    except OSError as error:
        raise UsageError(f"The replies {file!r} of the agent 'scripted' cannot be read: {error.strerror}.") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UsageError(f"The replies {file!r} of the agent 'scripted', at {place!r}: {first['msg']}.") from error
    except ValueError as error:
        raise UsageError(f"The replies {file!r} of the agent 'scripted' are no JSON in UTF-8: {error}.") from error
