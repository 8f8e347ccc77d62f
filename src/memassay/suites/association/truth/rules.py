"""The ten rules that link a talent to a company or a job, exactly as the graph engine reads them.

The types count: 3 is not 3.0 to an equality, and True is no number. A field that is missing, or of a type that its rule
does not read, never matches.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from memassay.suites.association.world.nodes import Node
from memassay.suites.association.world.vocabulary import Label

EARTH_RADIUS_KM = 6371.0088

Scalar = str | tuple[type, Any]

Kind = Literal["equal", "overlap", "distance", "difference", "cosine"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One linking rule; it always starts from a talent.

    Attributes:
        name: its own name (two rules can give the same type of edge).
        to: the label at the other end.
        edge_type: the relationship that it derives.
        kind: how it compares the field at the two ends: ``equal`` scalars of one type; ``overlap``, the Jaccard index
            of two lists; ``distance`` of two (latitude, longitude) in km; ``difference`` of two numbers; ``cosine``.
        field: the field that it reads at both ends.
        threshold: the least overlap or cosine, the largest distance or difference that still links (unused by
            ``equal``).
    """

    name: str
    to: Label
    edge_type: str
    kind: Kind
    field: str
    threshold: float = 0.0


RULES: tuple[Rule, ...] = (
    Rule("industry_alignment_tc", "Company", "INDUSTRY_ALIGNMENT", "equal", "industry"),
    Rule("industry_alignment_tj", "Job", "INDUSTRY_ALIGNMENT", "equal", "industry"),
    Rule("specialty_match_tc", "Company", "SPECIALTY_MATCH", "overlap", "specialties", 0.15),
    Rule("specialty_match_tj", "Job", "SPECIALTY_MATCH", "overlap", "specialties", 0.15),
    Rule("location_fit_tc", "Company", "LOCATION_FIT", "distance", "location", 160.9),
    Rule("location_fit_tj", "Job", "LOCATION_FIT", "distance", "location", 160.9),
    Rule("similar_size_tc", "Company", "SIMILAR_SIZE", "difference", "size_bucket", 1.0),
    Rule("matches_design_style_tc", "Company", "MATCHES_DESIGN_STYLE", "overlap", "design_styles", 0.2),
    Rule("semantic_match_tc", "Company", "SEMANTIC_MATCH", "cosine", "embedding", 0.85),
    Rule("similar_size_strict_tc", "Company", "SIMILAR_SIZE_STRICT", "difference", "size_bucket", 0.0),
)

# What a task may ask about: the embedding is in one form only.
TASK_RULES: tuple[Rule, ...] = tuple(rule for rule in RULES if rule.kind != "cosine")
TYPES: tuple[str, ...] = tuple(dict.fromkeys(rule.edge_type for rule in TASK_RULES))

_OF_TYPE = {name: tuple(rule for rule in TASK_RULES if rule.edge_type == name) for name in TYPES}


def holds(rule: Rule, talent: Node, other: Node) -> bool:
    """Whether the rule links the two nodes; never where the labels are not the rule's."""
    return score(rule, talent, other) is not None


def score(rule: Rule, talent: Node, other: Node) -> float | None:
    """The score of the edge that the rule derives between two nodes, 0..1, or None where it derives none.

    1 for equal fields; the Jaccard index; 1 minus the share of the distance or difference that is allowed, so an edge
    at the very border has 0; the cosine, at most 1.
    """
    if talent.label != "Talent" or other.label != rule.to:
        return None
    ours, theirs = talent.fields.get(rule.field), other.fields.get(rule.field)
    match rule.kind:
        case "equal":
            a, b = scalar(ours), scalar(theirs)
            return 1.0 if a is not None and a == b else None
        case "overlap":
            found = _jaccard(tokens(ours), tokens(theirs))
            return found if found and found >= rule.threshold else None
        case "distance":
            here, there = place(ours), place(theirs)
            return _nearness(haversine(here, there), rule.threshold) if here and there else None
        case "difference":
            one, two = number(ours), number(theirs)
            return _nearness(abs(one - two), rule.threshold) if one is not None and two is not None else None
        case "cosine":
            cosine = _cosine(vector(ours), vector(theirs))
            return cosine if cosine >= rule.threshold else None


def linked(talent: Node, other: Node, types: Iterable[str]) -> bool:
    """Whether a talent and a company or job are linked by all of those types of edge."""
    return all(any(holds(rule, talent, other) for rule in _OF_TYPE.get(name, ())) for name in types)


def scalar(value: Any) -> Scalar | None:
    """What equality and overlap compare: a text as it is, a number or truth value with its type; else None."""
    if type(value) is str:
        return value
    if type(value) not in (int, float, bool) or value != value:
        return None
    return type(value), value


def tokens(value: Any) -> frozenset[Scalar]:
    """The distinct scalars of a list; none where it is no list."""
    if not isinstance(value, list | tuple):
        return frozenset()
    return frozenset(token for token in map(scalar, value) if token is not None)


def number(value: Any) -> float | None:
    """A finite number, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def place(value: Any) -> tuple[float, float] | None:
    """A latitude and a longitude in range, in degrees, or None."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        return None
    latitude, longitude = number(value[0]), number(value[1])
    if latitude is None or longitude is None or abs(latitude) > 90 or abs(longitude) > 180:
        return None
    return latitude, longitude


def vector(value: Any) -> Sequence[float]:
    """A list of finite numbers; empty where it is none."""
    if not isinstance(value, list | tuple):
        return ()
    found = [number(item) for item in value]
    return [item for item in found if item is not None] if None not in found else ()


def haversine(here: tuple[float, float], there: tuple[float, float]) -> float:
    """The great-circle distance in km of two (latitude, longitude) in degrees."""
    (lat1, lon1), (lat2, lon2) = here, there
    half = math.sin(math.radians(lat2 - lat1) / 2) ** 2
    half += math.cos(math.radians(lat1)) * math.cos(math.radians(lat2)) * math.sin(math.radians(lon2 - lon1) / 2) ** 2
    half = min(1.0, half)
    return 2 * EARTH_RADIUS_KM * math.atan2(math.sqrt(half), math.sqrt(1 - half))


def _jaccard(ours: frozenset[Scalar], theirs: frozenset[Scalar]) -> float:
    shared = len(ours & theirs)
    return shared / len(ours | theirs) if shared else 0.0


def _nearness(apart: float, allowed: float) -> float | None:
    if apart > allowed:
        return None
    return 1.0 - apart / allowed if allowed else 1.0


def _cosine(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The cosine, at most 1; -1 where there is none (other lengths, no direction)."""
    norms = math.sqrt(math.fsum(x * x for x in ours)) * math.sqrt(math.fsum(x * x for x in theirs))
    if len(ours) != len(theirs) or not norms:
        return -1.0
    return min(1.0, math.fsum(x * y for x, y in zip(ours, theirs, strict=True)) / norms)
