"""What the memory's own audit log says of a session: published beside every episode, and no part of any verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memassay.core.errors import MemoryFailure
from memassay.core.taught import Audited
from memassay.suites.lifecycle.records import Audit
from memassay.suites.lifecycle.sharing import called


async def audited(store: object, session: str) -> tuple[Audit | None, str]:
    """The log of a session in sums, and why it could not be read, or "".

    Args:
        store: of the memory; None comes back where it keeps no log.
        session: as the calls are noted under; "" where there was none.
    """
    if not isinstance(store, Audited) or not session:
        return None, ""
    try:
        return summed(await called(store.audit, session)), ""
    except MemoryFailure as problem:
        return None, str(problem)


def summed(events: Sequence[Mapping[str, Any]]) -> Audit:
    """Events as the published record sums them up."""
    return Audit(
        audited_calls=len(events),
        errors=sum(event.get("success") is False for event in events),
        total_duration_ms=_sum(events, "duration_ms"),
        enriched_calls=sum(bool(event.get("enrichment_applied")) for event in events),
        enrichment_tokens_full=_sum(events, "enrichment_tokens_full"),
        enrichment_tokens_dedup=_sum(events, "enrichment_tokens_dedup"),
    )


def _sum(events: Sequence[Mapping[str, Any]], name: str) -> int:
    return round(sum(float(event.get(name) or 0) for event in events))
