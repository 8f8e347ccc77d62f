"""When a relationship holds, as the README of the data says it. Nothing here is shared with the suite.

An entity is a mapping of its fields, ``label`` among them. A field that is missing or of a wrong type matches nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

Entity = Mapping[str, Any]

TALENT, COMPANY, JOB = LABELS = ("Talent", "Company", "Job")

FIRST_DAY, LAST_DAY = "2026-06-01", "2026-08-29"

SPECIALTIES_SHARE = 0.15
STYLES_SHARE = 0.2
NEAR_KM = 160.9
EARTH_KM = 6371.0088
SIZES_APART = 1

REACHES: Mapping[str, tuple[str, ...]] = {
    "INDUSTRY_ALIGNMENT": (COMPANY, JOB),
    "SPECIALTY_MATCH": (COMPANY, JOB),
    "LOCATION_FIT": (COMPANY, JOB),
    "SIMILAR_SIZE": (COMPANY,),
    "MATCHES_DESIGN_STYLE": (COMPANY,),
    "SIMILAR_SIZE_STRICT": (COMPANY,),
}
"""The labels that a relationship leads to, by its type; it always starts at a talent."""

TYPES = tuple(REACHES)


def holds(name: str, talent: Entity, other: Entity) -> bool:
    """Whether a talent and another entity are linked by that type."""
    return other["label"] in REACHES[name] and _TESTS[name](talent, other)


def all_hold(names: tuple[str, ...], talent: Entity, other: Entity) -> bool:
    """Whether they are linked by every one of the types."""
    return all(holds(name, talent, other) for name in names)


def shared(a: Entity, b: Entity, field: str) -> list[str]:
    """What the lists of two entities have in common, sorted."""
    return sorted(_values(a, field) & _values(b, field))


def distance_km(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Haversine length of the great circle between two places, each (latitude, longitude) in degrees."""
    (lat_a, lon_a), (lat_b, lon_b) = ((math.radians(lat), math.radians(lon)) for lat, lon in (a, b))
    h = math.sin((lat_b - lat_a) / 2) ** 2 + math.cos(lat_a) * math.cos(lat_b) * math.sin((lon_b - lon_a) / 2) ** 2
    return 2 * EARTH_KM * math.asin(min(1.0, math.sqrt(h)))


def _same_industry(a: Entity, b: Entity) -> bool:
    return isinstance(a.get("industry"), str) and a["industry"] == b.get("industry")


def _overlap(field: str, share: float) -> Callable[[Entity, Entity], bool]:
    def test(a: Entity, b: Entity) -> bool:
        ours, theirs = _values(a, field), _values(b, field)
        return bool(ours & theirs) and len(ours & theirs) / len(ours | theirs) >= share

    return test


def _near(a: Entity, b: Entity) -> bool:
    places = [tuple(place) for each in (a, b) if isinstance(place := each.get("location"), (list, tuple))]
    return len(places) == 2 and distance_km(places[0], places[1]) <= NEAR_KM


def _sizes_within(most: int) -> Callable[[Entity, Entity], bool]:
    def test(a: Entity, b: Entity) -> bool:
        sizes = [size for each in (a, b) if isinstance(size := each.get("size_bucket"), int)]
        return len(sizes) == 2 and abs(sizes[0] - sizes[1]) <= most

    return test


def _values(entity: Entity, field: str) -> set[str]:
    values = entity.get(field)
    return set(values) if isinstance(values, (list, tuple)) else set()


_TESTS: Mapping[str, Callable[[Entity, Entity], bool]] = {
    "INDUSTRY_ALIGNMENT": _same_industry,
    "SPECIALTY_MATCH": _overlap("specialties", SPECIALTIES_SHARE),
    "LOCATION_FIT": _near,
    "SIMILAR_SIZE": _sizes_within(SIZES_APART),
    "MATCHES_DESIGN_STYLE": _overlap("design_styles", STYLES_SHARE),
    "SIMILAR_SIZE_STRICT": _sizes_within(0),
}
