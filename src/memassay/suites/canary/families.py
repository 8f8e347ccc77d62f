"""The eight families of questions, how often each is asked, and how many questions each gets."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from memassay.core.errors import DataError, suggestion
from memassay.core.types import Frozen

CURRENT = "current_canonical"
HANDOFF = "handoff_continuity"
ENTITY = "entity_disambiguation"
SUPERSESSION = "temporal_supersession"
MULTI_HOP = "multi_hop"
UPDATE = "knowledge_update"
FALSE_PREMISE = "abstention_false_premise"
LINKS = "link_graph"

FAMILIES = (CURRENT, HANDOFF, ENTITY, SUPERSESSION, MULTI_HOP, UPDATE, FALSE_PREMISE, LINKS)
"""In the order of the published table, which is that of every table and vector of the suite."""

TITLES: Mapping[str, str] = MappingProxyType(
    {
        CURRENT: "current canonical text",
        HANDOFF: "handoff continuity",
        ENTITY: "entity disambiguation",
        SUPERSESSION: "temporal supersession",
        MULTI_HOP: "multi-hop traversal",
        UPDATE: "knowledge update",
        FALSE_PREMISE: "abstention on a false premise",
        LINKS: "link-graph traversal",
    }
)
ASKS: Mapping[str, str] = MappingProxyType(
    {
        CURRENT: "What is the rule, the decision or the value now?",
        HANDOFF: "Where did the last session stop, and what is next?",
        ENTITY: "Which of several things of one name is meant?",
        SUPERSESSION: "What replaced what, and when?",
        MULTI_HOP: "Which chain of documents led to a decision?",
        UPDATE: "What does the new version say that the old one did not?",
        FALSE_PREMISE: "A question about something that does not exist.",
        LINKS: "Which documents link to this one?",
    }
)
WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        CURRENT: 0.50,
        HANDOFF: 0.20,
        ENTITY: 0.10,
        SUPERSESSION: 0.04,
        MULTI_HOP: 0.04,
        UPDATE: 0.04,
        FALSE_PREMISE: 0.04,
        LINKS: 0.04,
    }
)
"""Published shares of about 2,400 queries of one team in six weeks."""

FLOOR = 8
"""Fewest questions of a family."""

_PRIOR = 0.5  # Jeffreys, as for the outcomes
_KEYS = ("name", "counts", "shares")


class Weights(Frozen):
    """How much each family counts, fixed before anything is measured.

    Attributes:
        name: what reports call them.
        shares: by family, all eight, summing to 1.
        queries: how many queries they were counted from, or None where they were set without counting.
    """

    name: str
    shares: Mapping[str, float]
    queries: int | None = None

    @property
    def vector(self) -> tuple[float, ...]:
        """The shares in the order of ``FAMILIES``."""
        return tuple(self.shares[family] for family in FAMILIES)

    @property
    def concentration(self) -> tuple[float, ...] | None:
        """Parameters of the Dirichlet posterior of the shares (Jeffreys prior), or None where nothing was counted."""
        if self.queries is None:
            return None
        return tuple(share * self.queries + _PRIOR for share in self.vector)


PUBLISHED = Weights(name="published", shares=WEIGHTS, queries=2400)
UNIFORM = Weights(name="uniform", shares=dict.fromkeys(FAMILIES, 1 / len(FAMILIES)))


def read_weights(path: Path) -> Weights:
    """The weights of a TOML file: ``name``, and a table ``counts`` (queries seen) or ``shares`` (summing to 1).

    A family that the table leaves out counts nothing.

    Raises:
        DataError: the file cannot be read, or says something wrong, in one sentence with the fix.
    """
    try:
        value = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file; check the path of the weights.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read as text ({type(error).__name__}); give a TOML file.") from None
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{path}: not TOML ({error}); write a table [counts] with one number per family.") from None
    for key in value:
        if key not in _KEYS:
            raise DataError(f"{path}: unknown key {key!r}.{suggestion(key, _KEYS)}")
    name = value.get("name", path.stem)
    if not isinstance(name, str) or not name.strip():
        raise DataError(f"{path}: name must be text in quotes; name the weights or leave it out.")
    given = [key for key in ("counts", "shares") if key in value]
    if len(given) != 1:
        raise DataError(f"{path}: give one table, [counts] or [shares], with a number per family.")
    table = _table(path, given[0], value[given[0]])
    total = math.fsum(table.values())
    if given == ["shares"]:
        if abs(total - 1) > 0.001:
            raise DataError(f"{path}: the shares sum to {total:.4g}; make them sum to 1, or call the table [counts].")
        return Weights(name=name, shares={family: share / total for family, share in table.items()})
    if not total:
        raise DataError(f"{path}: every count is 0; say how many queries of each family were seen.")
    return Weights(name=name, shares={family: count / total for family, count in table.items()}, queries=round(total))


def _table(path: Path, name: str, value: Any) -> dict[str, float]:
    if not isinstance(value, dict):
        raise DataError(f"{path}: {name} must be a table; write [{name}] and a line such as {CURRENT} = 12.")
    for family, number in value.items():
        if family not in FAMILIES:
            raise DataError(f"{path}: [{name}] has the unknown family {family!r}.{suggestion(family, FAMILIES)}")
        kinds = (int,) if name == "counts" else (int, float)
        if isinstance(number, bool) or not isinstance(number, kinds) or not 0 <= number < math.inf:
            what = "a whole number" if name == "counts" else "a number"
            raise DataError(f"{path}: {family} in [{name}] must be {what} of 0 or more, found {number!r}.")
    return {family: float(value.get(family, 0)) for family in FAMILIES}


def allocate(weights: Weights, questions: int, floor: int = FLOOR) -> dict[str, int]:
    """How many questions each family gets: by weight, by the largest remainder, but never fewer than the floor.

    A family whose share falls below the floor gets the floor, and the others share the rest by weight. Of equal
    remainders the earlier family comes first. The published weights give 55, 22, 11 and five times 8 of 128.

    Raises:
        ValueError: fewer questions than the floors need.
    """
    if questions < floor * len(FAMILIES):
        raise ValueError(f"{len(FAMILIES)} families of at least {floor} need {floor * len(FAMILIES)} questions")
    free = list(FAMILIES)
    while True:
        rest = questions - floor * (len(FAMILIES) - len(free))
        total = math.fsum(weights.shares[family] for family in free)
        exact = {family: weights.shares[family] / total * rest for family in free}
        above = [family for family in free if exact[family] >= floor]
        if above == free:
            break
        free = above
    # Rounded, so that 0.1 * 128 / 0.8 does not lose a question to the last bit of a float.
    exact = {family: round(value, 9) for family, value in exact.items()}
    counts = {family: math.floor(exact.get(family, floor)) for family in FAMILIES}
    by_remainder = sorted(free, key=lambda family: (counts[family] - exact[family], FAMILIES.index(family)))
    for family in by_remainder[: questions - sum(counts.values())]:
        counts[family] += 1
    return counts
