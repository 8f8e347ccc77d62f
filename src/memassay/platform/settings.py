"""Every knob of a workspace. The defaults are those of the published platform; the whole goes into the manifest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from memassay.core.types import Frozen

EmbedderName = Literal["minilm", "e5", "hash", "none"]
BARS: Mapping[str, Mapping[str, float]] = {"e5": {"supersede": 0.98, "similar": 0.95, "duplicate_page": 0.98}}
"""What a served memory takes for knobs that nobody set, by embedder: to ``e5`` all texts are alike at the published
values, and a new fact would replace nearly every old one (docs/platform.md)."""


class Faults(Frozen):
    """Faults on purpose, for tests of what uses a platform.

    Attributes:
        refuse_apply: ``apply`` answers with a tool error.
        lose_apply: ``apply`` says that all went well, but the sink is not written.
        no_changeset_ref: an applied insight does not name its changeset, nor does the reply.
        lose_audit: audit events are not kept.
        slow_sink_s: seconds before a sink is written; the caller waits.
        drop_connection: name of the tool after which the connection is dropped: the work is done, the reply is lost.
        conflict: ``approve``, ``reject`` and ``apply`` answer with a conflict.
    """

    refuse_apply: bool = False
    lose_apply: bool = False
    no_changeset_ref: bool = False
    lose_audit: bool = False
    slow_sink_s: float = Field(default=0.0, ge=0)
    drop_connection: str = ""
    conflict: bool = False


class Settings(Frozen):
    """Knobs of a workspace.

    Attributes:
        gate: warehouse queries are refused until the user has searched (``search_required``).
        push: results that name an entity carry what is known about it.
        push_scope: whose records are pushed: of everybody with the caller's persona, or the caller's own.
        shared_applied: whether search shows everybody's applied insights.
        page_sink: whether insights can be applied to knowledge pages, and search shows pages.
        entity_sink: whether insights can be applied to entities, and results push descriptions.
        description_ttl_s: how long a pushed description may be old; 0 is never.
        supersede: cosine from which a new record of the same owner replaces an old one.
        similar: cosine from which a record is reported as similar.
        supersede_same_class: a new record only replaces one of its own type that shares an entity with it; without
            this, the type plays no part, and a record without entities may replace any.
        embedder: what turns texts into vectors; ``none`` switches supersede off and search to words.
        reviewer_tools: whether those who are no reviewers may use ``apply_knowledge``.
        duplicate_page: cosine from which a new page is refused as a near-duplicate.
        purpose: whether reading tools need a ``purpose``.
        session_hours: how long a session handle lives.
        discovery_minutes: how long a search opens the gate; every search begins it anew.
        stale_days: after how many days without a change ``review_stale`` calls a record stale.
        rate_limit: calls that each user may make in a minute, tools and REST together; 0 is any number.
        warehouse_schema: ``catalog.schema`` of the warehouse's tables.
        durable: whether an acknowledged write also survives a power failure. A killed process loses none either way.
    """

    gate: bool = True
    push: bool = True
    push_scope: Literal["persona", "owner"] = "persona"
    shared_applied: bool = True
    page_sink: bool = True
    entity_sink: bool = True
    description_ttl_s: float = Field(default=300.0, ge=0)
    supersede: float = Field(default=0.90, ge=0, le=1)
    similar: float = Field(default=0.75, ge=0, le=1)
    supersede_same_class: bool = False
    embedder: EmbedderName = "minilm"
    reviewer_tools: bool = True
    duplicate_page: float = Field(default=0.85, ge=0, le=1)
    purpose: bool = True
    session_hours: float = Field(default=8.0, gt=0)
    discovery_minutes: float = Field(default=30.0, gt=0)
    stale_days: float = Field(default=90.0, gt=0)
    rate_limit: int = Field(default=0, ge=0, le=100_000)
    warehouse_schema: str = "warehouse.main"
    durable: bool = True
    faults: Faults = Faults()
