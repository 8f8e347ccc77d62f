"""The agent ``claude-code``: one fresh, isolated Claude Code per request."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from memassay.agents.claude_code import binary as binaries
from memassay.agents.claude_code.environment import FIXED, machine
from memassay.agents.claude_code.gate import Verdict, checks, verdict
from memassay.agents.claude_code.launch import COMMON, Launch, Offer, last_words, launch
from memassay.agents.claude_code.process import Ended, run
from memassay.agents.claude_code.profiles import API_KEY, SUBSCRIPTION, profile_of
from memassay.agents.claude_code.stream import Session, cost_check
from memassay.core.errors import MemassayError, UsageError
from memassay.core.types import Check, ModelKind, Request, Status, Step, Usage
from memassay.models.access import Access
from memassay.models.prices import TABLE_DATE, price

_OFFICIAL = "https://api.anthropic.com"
_HERE = "127.0.0.1,localhost,::1"


class ClaudeCode:
    """Claude Code headless: the user's own ``claude``, or a pinned one, one fresh process per request.

    Args:
        model: a full name (``claude-opus-4-8``): what a shorter one means changes with the version.
        profile: ``bare``, or ``scoped`` for arms with a folder and for a subscription; see :mod:`.profiles`.
        binary: the program, or ``pinned``: the copy of ``make peers`` or of the extra ``claude-pinned``, whatever else
            there is. None is ``CLAUDE_BIN``, what ``make peers`` installed, ``claude`` on the path, that of the extra.
        base_url: another address than Anthropic's (a gateway).
        key_env: the name of the variable that holds the key. A variable that Claude Code knows keeps its name
            (``ANTHROPIC_AUTH_TOKEN``, ``CLAUDE_CODE_OAUTH_TOKEN`` from ``claude setup-token``), any other becomes the
            API key.
        thinking_tokens: budget of thinking, 0 turns it off. None leaves it to Claude Code, and models that choose for
            themselves heed nothing but 0.
        max_output_tokens: longest reply of a turn; None leaves it to Claude Code.
        retries: how often Claude Code itself sends a failed request again; each is on record.
        tell_budget: whether the limit of money is handed to Claude Code, which tells the model of it: that changes what
            is measured. Else money is counted when the answer is there.
        shell: whether arms with files may also run commands and write in their folder (Bash, Edit, Write), as the study
            of associations let them. A command can reach whatever its user can: run such arms in a container.
        pass_env: names of more variables that Claude Code is to see (``HTTPS_PROXY``, ``NODE_EXTRA_CA_CERTS``).
        scripted: whether a script answers at the address, not a model: its figures never stand beside a model's.
    """

    retries_itself = True

    def __init__(
        self,
        *,
        model: str,
        profile: str = "bare",
        binary: str | None = None,
        base_url: str | None = None,
        key_env: str = API_KEY,
        thinking_tokens: int | None = None,
        max_output_tokens: int | None = None,
        retries: int = 2,
        tell_budget: bool = False,
        shell: bool = False,
        pass_env: tuple[str, ...] = (),
        scripted: bool = False,
    ) -> None:
        self.model: ModelKind = "scripted" if scripted else "real"
        self._asked = model.removeprefix("anthropic/")
        self._profile = profile_of(profile)
        self.accesses = self._profile.accesses
        self._named = binary
        self._access = Access(base_url, "ANTHROPIC_BASE_URL", _OFFICIAL, key_env)
        self._credential = key_env if key_env in (*self._profile.credentials, SUBSCRIPTION) else API_KEY
        if self._credential not in self._profile.credentials:
            raise UsageError(
                f"Claude Code in the profile {profile!r} reads no subscription: take agent.profile=scoped or a key."
            )
        self._tell_budget, self._pass_env, self._shell = tell_budget, pass_env, shell
        self.writes = shell
        numbers = {
            "CLAUDE_CODE_MAX_RETRIES": retries,
            "MAX_THINKING_TOKENS": thinking_tokens,
            "CLAUDE_CODE_MAX_OUTPUT_TOKENS": max_output_tokens,
        }
        for name, number in numbers.items():
            if number is not None and number < (name == "CLAUDE_CODE_MAX_OUTPUT_TOKENS"):
                raise UsageError(f"{name} cannot be {number}.")
        self._fixed = {**FIXED, **self._profile.environment, **{k: str(v) for k, v in numbers.items() if v is not None}}

    def check(self, access: frozenset[str]) -> None:
        """Refuse an arm that the profile cannot run.

        Raises:
            UsageError: the arm gives a folder and the profile is ``bare``.
        """
        self._profile.check(access)

    async def prepare(self) -> None:
        """Say before anything is spent what would stop the first cell.

        Raises:
            EnvironmentProblem: no ``claude``, or no key.
        """
        self._access.key()
        await asyncio.to_thread(self._binary)

    def identity(self) -> Mapping[str, JsonValue]:
        """Version and digest of the program, how it is started, where its model is, the date of the price table."""
        about = self._binary()
        return {
            "claude": about.version,
            "sha256": about.sha256,
            "profile": self._profile.name,
            "flags": [*self._profile.flags, *COMMON],
            "environment": dict(sorted(self._fixed.items())),
            "address": self._access.shown,
            "prices": TABLE_DATE,
        }

    def price(self, usage: Usage) -> float | None:
        """US dollars by our table, or None where it lacks the model."""
        return price(self._asked, usage)

    async def answer(self, request: Request) -> Step:
        """See :class:`memassay.core.contracts.Agent`."""
        try:
            await self.prepare()
        except MemassayError as error:
            return Step(status=Status.HARNESS, detail=str(error))
        # Nothing that a cell leaves behind is there for the next one: home, configuration, files of its servers.
        with tempfile.TemporaryDirectory(prefix="memassay-claude-", ignore_cleanup_errors=True) as name:
            place = Path(name).resolve()
            budget = request.limit_usd if self._tell_budget else None
            try:
                start = launch(
                    request, model=self._asked, profile=self._profile, place=place, budget=budget, shell=self._shell
                )
                ended = await run(
                    [str(self._binary().path), *start.arguments],
                    environment=self._environment(place / "home"),
                    folder=start.folder,
                    text=start.text,
                    seconds=request.limit_seconds,
                )
            except OSError as error:
                return Step(status=Status.HARNESS, detail=f"Claude Code cannot be started: {error}")
            words = {server.name: last_words(place, server.name) for server in request.toolset.servers}
        return self._step(request, start, ended, words)

    def _step(self, request: Request, start: Launch, ended: Ended, words: Mapping[str, str]) -> Step:
        session = Session.parse(ended.out)
        usage = session.usage(ended.seconds)
        found = checks(session, Offer.of(request, shell=self._shell), model=self._asked, version=self._binary().version)
        end = verdict(session, ended, found, usage, request)
        if any(check.name == "servers" and check.passed is False for check in found):
            said = "; ".join(f"{name}: {text}" for name, text in words.items() if text)
            end = Verdict(end.status, f"{end.detail}{' (' + said + ')' if said else ''}")
        notes: list[Check] = [cost_check(usage)] if session.result is not None else []
        if session.denied:
            notes.append(Check(name="denied tools", passed=None, observed=list(session.denied)))
        return Step(
            identity=next(iter(session.speakers), ""),
            status=end.status,
            detail=self._access.without_key(end.detail),
            text=None if end.text is None else self._access.without_key(end.text),
            checks=(*found, *notes),
            tools=session.tools,
            usage=usage,
            evidence=self._evidence(start, ended, words),
        )

    def _evidence(self, start: Launch, ended: Ended, words: Mapping[str, str]) -> bytes:
        """A line on how it was started, every line that it wrote, a line on how it ended; no key in any of them."""
        launched = {"event": "launch", **start.record, "environment": self._fixed}
        closed = {
            "event": "end",
            "code": ended.code,
            "timed_out": ended.timed_out,
            "errors": ended.err.decode("utf-8", "replace"),
            "servers": words,
        }
        stream = ended.out if not ended.out or ended.out.endswith(b"\n") else ended.out + b"\n"
        text = b"".join((_line(launched), stream, _line(closed))).decode("utf-8", "surrogateescape")
        clean: str = self._access.without_key(text)
        return clean.encode("utf-8", "surrogateescape")

    def _environment(self, home: Path) -> dict[str, str]:
        passed = {name: os.environ[name] for name in self._pass_env if name in os.environ}
        if passed:
            # It asks through a proxy whatever is not excepted, a tool server on this machine too.
            passed["NO_PROXY"] = ",".join([*filter(None, [passed.get("NO_PROXY")]), _HERE])
        environment = {
            **passed,
            **machine(home),
            **self._fixed,
            "CLAUDE_CONFIG_DIR": str(home / "config"),
            self._credential: self._access.key(),
        }
        if not self._access.is_official:
            environment["ANTHROPIC_BASE_URL"] = self._access.address
        return environment

    def _binary(self) -> binaries.Binary:
        return binaries.inspect(binaries.find(self._named))


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True).encode("utf-8", "replace") + b"\n"
