"""One generated marketplace: talents, companies and jobs on day 0, and what changed in the 89 days after it."""

from memassay.suites.association.world.embedding import DIMENSIONS, EMBEDDED, embedding
from memassay.suites.association.world.facts import facts_digest
from memassay.suites.association.world.history import (
    CHANGES,
    DAYS,
    FIRST_DAY,
    LAST_DAY,
    MUTABLE,
    Change,
    Operation,
    date_of,
    day_of,
)
from memassay.suites.association.world.nodes import FIELDS, Node, split
from memassay.suites.association.world.vocabulary import (
    DESIGN_STYLES,
    INDUSTRIES,
    LABELS,
    METROS,
    ROLES,
    SPECIALTIES,
    STATUSES,
    Label,
)
from memassay.suites.association.world.world import MAX_SCALE, MIN_SCALE, SCALE, SEED, World, make_world

__all__ = [
    "CHANGES",
    "DAYS",
    "DESIGN_STYLES",
    "DIMENSIONS",
    "EMBEDDED",
    "FIELDS",
    "FIRST_DAY",
    "INDUSTRIES",
    "LABELS",
    "LAST_DAY",
    "MAX_SCALE",
    "METROS",
    "MIN_SCALE",
    "MUTABLE",
    "ROLES",
    "SCALE",
    "SEED",
    "SPECIALTIES",
    "STATUSES",
    "Change",
    "Label",
    "Node",
    "Operation",
    "World",
    "date_of",
    "day_of",
    "embedding",
    "facts_digest",
    "make_world",
    "split",
]
