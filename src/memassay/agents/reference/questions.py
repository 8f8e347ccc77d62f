"""What is asked, read out of the wording that the suite ``association`` keeps to.

A question is one paragraph of the prompt and has to fit a pattern from its first word to its last; anything else is not
understood.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from memassay.agents.reference.rules import TYPES


@dataclass(frozen=True, slots=True)
class Why:
    """Every type that links a talent and a company, then every specialty that they share."""

    talent: str
    company: str


@dataclass(frozen=True, slots=True)
class Multihop:
    """The companies that all of ``types`` link to at least ``talents`` published talents of ``years`` or more."""

    types: tuple[str, ...]
    talents: int
    years: int


@dataclass(frozen=True, slots=True)
class Retraction:
    """The talents that all of ``types`` link to a company now and no more if its ``field`` became ``value``."""

    company: str
    field: str
    value: Any
    types: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Links:
    """What all of ``types`` link to ``key``: a question about a day, about a role, or about neither.

    Attributes:
        date: at the end of this day, ``YYYY-MM-DD``, or None: after the whole history.
        label: only entities of this label, or None.
        role: only what this role may see, or None.
    """

    key: str
    types: tuple[str, ...]
    date: str | None = None
    label: str | None = None
    role: str | None = None


@dataclass(frozen=True, slots=True)
class Alike:
    """The other entities with the industry and size bucket of ``key`` and a specialty of it, as far as a role sees."""

    key: str
    role: str | None


Question = Why | Multihop | Retraction | Links | Alike

_NAMED = r"(?P<types>[A-Z_]+(?:, [A-Z_]+)* and [A-Z_]+)"


def read(prompt: str) -> Question | None:
    """The question of a prompt, or None where no paragraph of it, or more than one, is a question that is known."""
    found = [(match, make) for part in prompt.split("\n\n") for form, make in _FORMS if (match := form.fullmatch(part))]
    if len(found) != 1:
        return None
    match, make = found[0]
    words = match.groupdict()
    types = tuple(re.findall(r"[A-Z_]+", words.get("types", "")))
    if not set(types) <= set(TYPES):
        return None
    try:
        return make(words, types)
    except ValueError:  # a value that is no JSON
        return None


def _why(words: Mapping[str, str], types: tuple[str, ...]) -> Question:
    return Why(words["talent"], words["company"])


def _multihop(words: Mapping[str, str], types: tuple[str, ...]) -> Question:
    return Multihop(types, int(words["talents"]), int(words["years"]))


def _retraction(words: Mapping[str, str], types: tuple[str, ...]) -> Question:
    return Retraction(words["company"], words["field"], json.loads(words["value"]), types)


def _timetravel(words: Mapping[str, str], types: tuple[str, ...]) -> Question:
    return Links(words["talent"], types, date=words["date"], label="Company")


def _visibility(words: Mapping[str, str], types: tuple[str, ...]) -> Question:
    return Links(words["key"], types, role=words["role"])


def _alike(words: Mapping[str, str], types: tuple[str, ...]) -> Question:
    return Alike(words["key"], words["role"])


_FORMS: tuple[tuple[re.Pattern[str], Callable[[Mapping[str, str], tuple[str, ...]], Question]], ...] = (
    (
        re.compile(
            r"After the whole history, why are (?P<talent>talent-\d+) and (?P<company>company-\d+) associated\? "
            r"List every relationship type that links the two, then every specialty they share\."
        ),
        _why,
    ),
    (
        re.compile(
            rf"After the whole history, which companies are linked by {_NAMED}, by all three to the same talent, "
            r"to at least (?P<talents>\d+) talents that have the status published and at least (?P<years>\d+) years of "
            r"experience\? List the company keys\."
        ),
        _multihop,
    ),
    (
        re.compile(
            r"After the whole history, suppose that (?P<field>[a-z_]+) of (?P<company>company-\d+) became "
            rf"(?P<value>.+)\. Which talents that are now linked to it by all of {_NAMED} would no longer be linked to "
            r"it by all three\? List the talent keys\."
        ),
        _retraction,
    ),
    (
        re.compile(
            r"At the end of (?P<date>\d{4}-\d\d-\d\d), to which companies was (?P<talent>talent-\d+) linked by all of "
            rf"{_NAMED}\? List the company keys\."
        ),
        _timetravel,
    ),
    (
        re.compile(
            r"After the whole history, and seen with the role (?P<role>[\w-]+), to which entities is "
            rf"(?P<key>[a-z]+-\d+) linked by (?:all|both) of {_NAMED}\? List the keys\."
        ),
        _visibility,
    ),
    (
        re.compile(
            r"After the whole history, and seen with the role (?P<role>[\w-]+), which other entities have the industry "
            r"and the size bucket of (?P<key>[a-z]+-\d+) and at least one of its specialties\? List the keys\."
        ),
        _alike,
    ),
)
