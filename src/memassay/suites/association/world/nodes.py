"""The entities: what each label carries and how one is drawn.

The order of the draws is part of the format: the published world comes out only in this one. A node of the history is
drawn by the same builder as one of day 0, from another generator.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Any

from memassay.core.errors import UsageError
from memassay.suites.association.world.vocabulary import (
    BUCKETS,
    COMPANY_SIZES,
    DESIGN_STYLES,
    FOUNDED,
    INDUSTRIES,
    INDUSTRY_SHARES,
    KM_PER_DEGREE,
    LABELS,
    METRO_RADIUS_KM,
    METROS,
    SHARES,
    SPECIALTIES,
    YEARS,
    Label,
)

# What every form carries, by label; the embedding is no fact and stands in none of them.
FIELDS: Mapping[Label, tuple[str, ...]] = MappingProxyType(
    {
        "Talent": (
            "name", "email", "user_id", "status", "industry", "specialties", "design_styles", "size_bucket",
            "years_of_experience", "location", "address",
        ),
        "Company": (
            "name", "email", "user_id", "status", "industry", "specialties", "design_styles", "size_bucket",
            "company_size", "founded_year", "location", "address",
        ),
        "Job": (
            "name", "user_id", "status", "industry", "specialties", "design_styles", "size_bucket",
            "company_name", "company_id", "company_size", "location", "address",
        ),
    }
)  # fmt: skip

_MOST_EXTRAS = 3
_MOST_STYLES = 5

# The specialties that may stand beside a primary one.
_BESIDE = {primary: tuple(s for s in SPECIALTIES if s != primary) for primary in SPECIALTIES}


@dataclass(frozen=True, slots=True)
class Node:
    """An entity as it is on some day.

    Attributes:
        key: ``talent-000012``, ``company-000012`` or ``job-000012``; six digits, so no key is part of another.
        label: what it is.
        fields: the fields of ``FIELDS[label]``, in that order. Lists are tuples: ``specialties`` (the primary one
            first), ``design_styles``, ``location`` as (latitude, longitude) in degrees.
    """

    key: str
    label: Label
    fields: Mapping[str, Any]


def split(scale: int) -> Mapping[Label, int]:
    """How many nodes of each label a world of that many has on day 0: 70, 20 and 10 %, the remainder as jobs.

    Where the shares of a world of 3 or 4 would leave a label empty, it gets one of the talents instead.
    """
    companies = max(1, scale * SHARES["Company"] // 10)
    talents = min(scale * SHARES["Talent"] // 10, scale - companies - 1)
    return {"Talent": talents, "Company": companies, "Job": scale - talents - companies}


def day_zero(rng: Random, counts: Mapping[Label, int]) -> tuple[Node, ...]:
    """The nodes of day 0: talents, companies, jobs, each in the order of their indexes.

    Raises:
        UsageError: a label would be empty.
    """
    for label in LABELS:
        if counts[label] < 1:
            raise UsageError(f"The world would have no {label}: every label needs at least one entity.")
    industries = {label: _industries(rng, counts[label]) for label in LABELS}
    return tuple(
        draw_node(rng, label, index, industry, counts["Company"])
        for label in LABELS
        for index, industry in enumerate(industries[label])
    )


def draw_node(rng: Random, label: Label, index: int, industry: str, companies: int) -> Node:
    """A new node of that label; a job belongs to one of the first ``companies`` companies."""
    key = key_of(label, index)
    specialties, styles, location = _profile(rng, index)
    bucket = index % BUCKETS
    fields: dict[str, Any] = {"name": f"{label} {index}"}
    if label != "Job":
        fields["email"] = f"{key}@example.com"
    fields |= {
        "user_id": f"{_USERS[label]}{index:06d}",
        "status": "published",
        "industry": industry,
        "specialties": specialties,
        "design_styles": styles,
        "size_bucket": bucket + 1,
    }
    if label == "Talent":
        fields["years_of_experience"] = rng.randint(*YEARS[bucket])
    elif label == "Company":
        fields |= {"company_size": COMPANY_SIZES[bucket], "founded_year": rng.randint(*FOUNDED)}
    else:
        company = index % companies
        fields |= {
            "company_name": f"Company {company}",
            "company_id": key_of("Company", company),
            "company_size": COMPANY_SIZES[bucket],
        }
    return Node(key, label, fields | {"location": location, "address": METROS[index % len(METROS)][0]})


def key_of(label: Label, index: int) -> str:
    return f"{label.lower()}-{index:06d}"


def draw_specialties(rng: Random, primary: str, extras: int) -> tuple[str, ...]:
    return (primary, *rng.sample(_BESIDE[primary], extras))


def draw_extras(rng: Random) -> int:
    return rng.randint(0, _MOST_EXTRAS)


def draw_location(rng: Random, metro: int) -> tuple[float, float]:
    """A point of the disk around a metro, uniform over its area, as (latitude, longitude)."""
    _, latitude, longitude = METROS[metro]
    radius = METRO_RADIUS_KM * math.sqrt(rng.random())
    angle = 2.0 * math.pi * rng.random()
    north = radius * math.cos(angle) / KM_PER_DEGREE
    east = radius * math.sin(angle) / (KM_PER_DEGREE * math.cos(math.radians(latitude)))
    return latitude + north, (longitude + east + 180.0) % 360.0 - 180.0


_USERS: Mapping[Label, str] = {"Talent": "user-", "Company": "user-c-", "Job": "user-j-"}


def _profile(rng: Random, index: int) -> tuple[tuple[str, ...], tuple[str, ...], tuple[float, float]]:
    """Specialties, design styles and location. Index 0 has the fewest words that there can be, index 1 the most."""
    fixed = index < 2
    extras = index * _MOST_EXTRAS if fixed else draw_extras(rng)
    specialties = draw_specialties(rng, SPECIALTIES[index % len(SPECIALTIES)], extras)
    number = index * _MOST_STYLES if fixed else rng.randint(0, _MOST_STYLES)
    styles = tuple(rng.sample(DESIGN_STYLES, number))
    return specialties, styles, draw_location(rng, index % len(METROS))


def _industries(rng: Random, count: int) -> list[str]:
    """The industries of a label: exact shares, shuffled; what rounding leaves over is ``both``."""
    bag = [
        word for word, share in zip(INDUSTRIES[:-1], INDUSTRY_SHARES, strict=False) for _ in range(round(share * count))
    ]
    bag += [INDUSTRIES[-1]] * (count - len(bag))
    rng.shuffle(bag)
    return bag
