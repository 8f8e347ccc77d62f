"""The questions, word for word. Keys, types, dates and numbers are plain words in them, for a program to read.

A prompt is three paragraphs: the opening, the question, the closing. The closing asks for names alone, because a
near-miss counts against an answer wherever it stands, even in an explanation of why it is none.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

OPENING = (
    "Use only the data you were given: the files in your folder, or your tools. Be concise: one key or name per line."
)
CLOSING = "Name nothing else: no near misses, no workings, no explanation."


def prompt(question: str) -> str:
    """The whole prompt of a question."""
    return f"{OPENING}\n\n{closed(question)}"


def closed(question: str) -> str:
    """A question with the closing, without the opening."""
    return f"{question}\n\n{CLOSING}"


def why(talent: str, company: str) -> str:
    return (
        f"After the whole history, why are {talent} and {company} associated? "
        "List every relationship type that links the two, then every specialty they share."
    )


def multihop(types: Sequence[str], talents: int, years: int) -> str:
    return (
        f"After the whole history, which companies are linked by {_list(types)}, by all three to the same talent, "
        f"to at least {talents} talents that have the status published and at least {years} years of experience? "
        "List the company keys."
    )


def retraction(company: str, field: str, value: Any, types: Sequence[str]) -> str:
    return (
        f"After the whole history, suppose that {field} of {company} became {json.dumps(value)}. "
        f"Which talents that are now linked to it by all of {_list(types)} would no longer be linked to it by all "
        "three? List the talent keys."
    )


def timetravel(date: str, talent: str, types: Sequence[str]) -> str:
    return (
        f"At the end of {date}, to which companies was {talent} linked by all of {_list(types)}? List the company keys."
    )


def visibility(role: str, talent: str, types: Sequence[str]) -> str:
    return (
        f"After the whole history, and seen with the role {role}, to which entities is {talent} linked by "
        f"{'both' if len(types) == 2 else 'all'} of {_list(types)}? List the keys."
    )


def likeness(role: str, company: str) -> str:
    """The question for a role that sees no talent, and so no relationship: see ``visibility.py``."""
    return (
        f"After the whole history, and seen with the role {role}, which other entities have the industry and the size "
        f"bucket of {company} and at least one of its specialties? List the keys."
    )


def _list(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
