"""A file of questions to be filled in: for each family what to ask, and words of the user's own documents to ask about.

Nothing is generated: the words are those of the documents, in an order that depends on them alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType

from pydantic import JsonValue

from memassay.core.errors import DataError, UsageError
from memassay.core.types import Document
from memassay.suites.canary.families import (
    ASKS,
    CURRENT,
    ENTITY,
    FALSE_PREMISE,
    FAMILIES,
    FLOOR,
    HANDOFF,
    LINKS,
    MULTI_HOP,
    SUPERSESSION,
    TITLES,
    UPDATE,
)
from memassay.suites.canary.spans import Found, chains, linked, namesakes, sentences
from memassay.suites.custom.lines import MAX_QUESTION_LINE, read_rows

WHAT_TO_WRITE: Mapping[str, str] = MappingProxyType(
    {
        CURRENT: "Ask for what these words say, in words of your own, and shorten required to what must be said.",
        HANDOFF: "Ask where this stopped or what comes next, as somebody would who takes over.",
        ENTITY: "Several documents use this name. Ask about one of the things so that it is clear which, and answer.",
        SUPERSESSION: "Ask what replaced what, or since when. What is no longer true can be listed under forbidden.",
        MULTI_HOP: "Ask something that needs all of these documents, and answer it with words of the last one.",
        UPDATE: "Ask what is new here against how it was before.",
        FALSE_PREMISE: "Ask about something that your documents do not have, as if they had. There is no answer.",
        LINKS: "Ask which documents link to this one. The answer names them.",
    }
)
"""What the user is to do with a line of a family."""


def draft(documents: Sequence[Document], per_family: int = FLOOR) -> list[dict[str, JsonValue]]:
    """Lines of a questions file in which ``query`` is left to be written.

    Args:
        documents: the user's.
        per_family: at most so many lines of each family; fewer where the documents offer no more.

    Returns:
        Objects in the order of the families, the same for the same documents in whatever order.
    """
    ordered = sorted(documents, key=lambda document: document.id)
    finders: Mapping[str, Callable[[Sequence[Document]], Iterator[Found]]] = {
        ENTITY: namesakes,
        MULTI_HOP: chains,
        LINKS: linked,
        FALSE_PREMISE: lambda _: iter([Found(())] * per_family),
    }
    rows: list[dict[str, JsonValue]] = []
    for family in FAMILIES:
        found = finders[family](ordered) if family in finders else sentences(ordered, family)
        for number, one in enumerate(_spread(family, found)[:per_family], start=1):
            rows.append(_row(f"{family}-{number:03}", family, one))
    return rows


def write_draft(path: Path, rows: Sequence[Mapping[str, JsonValue]]) -> None:
    """Write the lines to a new file.

    Raises:
        UsageError: the file is there already.
        DataError: it cannot be written.
    """
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    except FileExistsError:
        raise UsageError(f"{path} is there already and stays as it is; name a new file with --out.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}; choose another place.") from None


def refuse_unfilled(path: Path) -> None:
    """Refuse a file in which a question is still to be written.

    Raises:
        DataError: so it is, with the first such line.
    """
    lines = [(row.line, row.value.get("query")) for row in read_rows(path, max_line=MAX_QUESTION_LINE)]
    open_lines = [line for line, query in lines if isinstance(query, str) and not query.strip()]
    if open_lines:
        count = f"{len(open_lines)} of {len(lines)} are" if len(open_lines) > 1 else "this one is"
        raise DataError(
            f"{path}, line {open_lines[0]}: query is not filled in yet ({count} open); write the question, or delete "
            "the line."
        )


def _row(name: str, family: str, one: Found) -> dict[str, JsonValue]:
    row: dict[str, JsonValue] = {"id": name, "family": family, "query": ""}
    if family == FALSE_PREMISE:
        row["premise_valid"] = False
    else:
        row["answer"] = one.answer
        if one.required:
            row["required"] = [fact.model_dump(exclude_defaults=True) for fact in one.required]
        row |= {"doc": one.docs[0]} if len(one.docs) == 1 else {"expected_doc_ids": [*one.docs]}
    row["notes"] = " ".join(
        part for part in (f"{TITLES[family]}: {ASKS[family]}", WHAT_TO_WRITE[family], one.about) if part
    )
    return row


def _spread(family: str, found: Iterator[Found]) -> list[Found]:
    """The drafts so that every document comes once before one comes twice, in an order that says nothing of them."""
    turns: dict[str, int] = {}
    keyed: list[tuple[int, str, Found]] = []
    for one in found:
        name = one.docs[0] if one.docs else ""
        turns[name] = turns.get(name, -1) + 1
        keyed.append((turns[name], sha256(f"{family}\n{name}".encode()).hexdigest(), one))
    return [one for _, _, one in sorted(keyed, key=lambda item: item[:2])]
