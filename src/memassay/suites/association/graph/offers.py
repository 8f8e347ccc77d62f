"""What the graph's tools are called and what they take: names and parameters as the product documents them.

A date is taken wherever the product takes the number of a commit: a model that had to guess numbers guessed wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from memassay.knowledge.arguments import Arguments
from memassay.knowledge.tools import Offer

MOST_KEYS = 2000
INSTRUCTIONS = (
    "A graph store of talents, companies and jobs, the links between them and 90 days of history. "
    "explain_association says why two are linked, node_edges and edges_at what one is linked to now and on a date, "
    "what_if what a change would do, query answers Cypher. Keys look like talent-000012."
)

Key = Annotated[str, Field(description="A key, such as talent-000012.")]
At = Annotated[
    int | str, Field(description="A date (YYYY-MM-DD, means the end of that day), or the number of a commit.")
]
Limit = Annotated[
    int | None, Field(ge=1, le=MOST_KEYS, description="The most keys; of each type where there are several.")
]
Json = Annotated[bool, Field(alias="json", description="Answer with one JSON object.")]
EdgeType = Annotated[str | None, Field(description="Only links of this type.")]
Label = Annotated[str | None, Field(description="Only links to entities of this label.")]


class Query(Arguments):
    """Arguments of ``query``."""

    cypher: str = Field(
        description="A read query, such as MATCH (t:Talent {id: 'talent-000012'})-[:LOCATION_FIT]->(o:Job) "
        "RETURN key(o) AS key. It is fast where it begins at an {id: ...}; begin chains with the rarest link."
    )
    params: dict[str, Any] = Field(default={}, description="Values for $names in the query.")
    mask: list[str] | None = Field(default=None, description="See only the entities with these keys; not with role.")
    role: str | None = Field(default=None, description="See only what this role sees; not with mask.")


class Explain(Arguments):
    """Arguments of ``explain_association``."""

    a: Key
    b: Key
    as_json: Json = False


class NodeInfo(Arguments):
    """Arguments of ``node_info``."""

    key: Key


class NodeEdges(Arguments):
    """Arguments of ``node_edges``."""

    key: Key
    edge_type: EdgeType = None
    all_of: list[str] | None = Field(default=None, description="Only entities linked by every one of these types.")
    label: Label = None
    direction: Literal["out", "in", "any"] = Field(default="any", description="Links from the key, to it, or both.")
    limit: Limit = None
    as_json: Json = False


class EdgesAt(NodeEdges):
    """Arguments of ``edges_at``."""

    at: At


class WasLinked(Arguments):
    """Arguments of ``was_linked``."""

    a: Key
    b: Key
    edge_type: str = Field(description="The type of the link.")
    at: At


class WhatIf(Arguments):
    """Arguments of ``what_if``."""

    key: Key
    field: str = Field(description="The field that would change.")
    value: Any = Field(description="Its new value: a text, a number, or a list of texts.")
    edge_type: EdgeType = None
    label: Label = None
    limit: Limit = None
    as_json: Json = False


class History(Arguments):
    """Arguments of ``node_history``."""

    key: Key


class EdgeHistory(Arguments):
    """Arguments of ``edge_history``."""

    a: Key
    b: Key


class Stats(Arguments):
    """Arguments of ``stats``."""


class Recall(Arguments):
    """Arguments of ``recall``."""

    topic: str = Field(description="What to look for among the notes that the store was asked to remember.")
    as_json: Json = False


_OFFERS = (
    Offer(
        "explain_association",
        "Why two entities are linked: every link with its rule, score and shared values.",
        Explain,
    ),
    Offer("edges_at", "What an entity was linked to at the end of a day.", EdgesAt),
    Offer("was_linked", "Whether two entities were linked by one type at the end of a day.", WasLinked),
    Offer("node_history", "What happened to an entity: when it came, what was set, when it went.", History),
    Offer("edge_history", "When the links between two entities came and went.", EdgeHistory),
    Offer("node_info", "The fields of an entity as they are now.", NodeInfo),
    Offer(
        "node_edges", "What an entity is linked to now, by type, by one type, or by all of several types.", NodeEdges
    ),
    Offer("query", "A read query in Cypher over what is there now, in full or as a role sees it.", Query),
    Offer(
        "what_if", "Which links an entity would lose and gain if a field had another value; nothing changes.", WhatIf
    ),
    Offer("stats", "How many entities, links and commits there are, and the links of each rule.", Stats),
    Offer("recall", "Notes that the store was asked to remember.", Recall),
)
TOOLS: Mapping[str, Offer] = {offer.name: offer for offer in _OFFERS}
