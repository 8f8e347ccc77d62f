"""What every operation shares: the workspace's parts, the gates before a call and the event after it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from memassay.platform import audit, enrichment, entities, pages, records, sessions
from memassay.platform.audit import Call
from memassay.platform.database import FILE, Database, Wall, Writing
from memassay.platform.entities import DescriptionCache
from memassay.platform.errors import ConnectionDropped, PlatformError
from memassay.platform.meaning import Meaning
from memassay.platform.rates import Rates
from memassay.platform.settings import Settings
from memassay.platform.shapes import Caller, Enrichment, Identity
from memassay.platform.warehouse import Warehouse

PURPOSE_TOOLS: frozenset[str] = frozenset(
    {
        "search",
        "fetch",
        "trino_query",
        "trino_describe_table",
        "datahub_get_entity",
        "datahub_search",
    }
)
"""Tools that need a ``purpose`` where ``Settings.purpose`` is on; their schema then advertises it as required."""

# Rows after the last that a list can begin at; a reader who is there has lost the way.
_FARTHEST = 1_000_000_000

_SIEVES = {records.TABLE: records.SIEVE, pages.TABLE: pages.SIEVE, entities.TABLE: entities.SIEVE}


class Desk:
    """The parts of an open workspace; see ``Platform`` for the arguments."""

    def __init__(self, folder: Path, settings: Settings, warehouse: Path | None, clock: Wall) -> None:
        self.settings = settings
        self._meaning = Meaning(settings.embedder, _SIEVES)
        self._warehouse = None if warehouse is None else Warehouse(warehouse, settings.warehouse_schema)
        self._descriptions = DescriptionCache(settings.description_ttl_s)
        self._rates = Rates(settings.rate_limit)
        self._database = Database(folder / FILE, clock, settings.durable)

    # -- calls -----------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _tool(self, caller: Caller, name: str, *, gated: bool = False, discovers: bool = False) -> Iterator[Call]:
        """A tool call: refused before it begins, or done and noted.

        Args:
            caller: who calls.
            name: of the tool.
            gated: whether the user must have searched before.
            discovers: whether it counts as a search.
        """
        with self._database.read() as con:
            now = self._database.now(con)
            sessions.check(con, caller, now)
            if self.settings.purpose and name in PURPOSE_TOOLS and not caller.purpose.strip():
                raise PlatformError(
                    "purpose_required", f"{name} needs a purpose.", "Say in one sentence what you want to find out."
                )
            if gated and self.settings.gate:
                minutes = self.settings.discovery_minutes
                if not sessions.has_discovered(con, caller.identity, now, minutes):
                    raise PlatformError(
                        "search_required", f"{name} comes after a search.", "Call search for what is known first."
                    )
        with self._noted(Call(caller.identity, name, "tool", caller.session), discovers) as call:
            yield call

    @contextlib.contextmanager
    def _admin(self, identity: Identity, name: str) -> Iterator[Call]:
        """A change through REST by a reviewer."""
        self._reviewer(identity)
        with self._noted(Call(identity, name, "admin")) as call:
            yield call

    @contextlib.contextmanager
    def _noted(self, call: Call, discovers: bool = False) -> Iterator[Call]:
        """Leave an event, whatever happens; a write that is done has left it with its own transaction."""
        try:
            yield call
        except Exception as problem:
            self._note(call, error=str(problem))
            raise
        if not call.kept or discovers:
            self._note(call, discovers=discovers)
        if self.settings.faults.drop_connection == call.name:
            raise ConnectionDropped(call.name)

    def _note(self, call: Call, *, discovers: bool = False, error: str | None = None) -> None:
        """What a call that wrote nothing leaves. Reading goes on where that cannot be kept (a full disk)."""
        with contextlib.suppress(PlatformError), self._database.write(durable=False) as writing:
            if not call.kept and not self.settings.faults.lose_audit:
                audit.add(writing, call, error)
            if discovers:
                sessions.mark_discovery(writing, call.identity)
            for urn, digest in call.told:
                sessions.tell(writing, call.session, urn, digest)

    @contextlib.contextmanager
    def _write(self, call: Call) -> Iterator[Writing]:
        """The transaction of a call, with its event: both are kept, or neither."""
        with self._database.write() as writing:
            yield writing
            if not self.settings.faults.lose_audit:
                audit.add(writing, call)
        call.kept = True

    def _enrichment(
        self, caller: Caller, call: Call, urns: Sequence[str], *, described: bool = False
    ) -> Enrichment | None:
        """What the result of a call carries along about these entities; ``described``: it says itself what they are."""
        with self._database.read() as con:
            now = self._database.now(con)
            found = enrichment.enrich(con, caller, urns, described, self.settings, self._descriptions, now)
        call.enrichment, call.tokens, call.told = found
        return call.enrichment

    # -- who may ---------------------------------------------------------------------------------------------------

    def admit(self, identity: Identity) -> None:
        """Count a call of somebody's; raises ``rate_limited`` where it is one too many. For whatever takes requests."""
        if wait := self._rates.wait(identity.user_id):
            most = f"{self.settings.rate_limit:,} calls a minute are allowed, and you have made them."
            raise PlatformError("rate_limited", most, f"Try again in {wait} s.", retry_after=wait)

    def may_review(self, identity: Identity) -> bool:
        """Whether ``apply_knowledge`` is for this identity (and so shown to it)."""
        return identity.reviews or self.settings.reviewer_tools

    def _reviewer(self, identity: Identity) -> None:
        if not identity.reviews:
            refuse("Only a reviewer may do this.")

    def _administrator(self, identity: Identity) -> None:
        if not identity.administers:
            refuse("Only an admin may do this.")


def refuse(message: str) -> NoReturn:
    """Raise ``unauthorized``."""
    raise PlatformError("unauthorized", message, "Use a key with that role.")


def bounded(name: str, value: int, low: int, high: int = _FARTHEST) -> int:
    """A number within its limits; raises ``invalid``."""
    if not low <= value <= high:
        raise PlatformError("invalid", f"{name} must be from {low} to {high:,}, not {value:,}.")
    return value


def some(name: str, values: Sequence[str], most: int, least: int = 0) -> tuple[str, ...]:
    """Texts, each once, in order; raises ``invalid`` where they are too few or too many."""
    unique = tuple(dict.fromkeys(values))
    if not least <= len(unique) <= most:
        raise PlatformError("invalid", f"{name} must have {least} to {most} items, not {len(unique)}.")
    return unique
