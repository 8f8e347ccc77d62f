"""What the agent does when it is asked: looks for a definition, runs it, and says what came out, or that it cannot."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from memassay.agents.rules.findings import ENTITIES, PAGES, PUSHED, Finding, definitions
from memassay.agents.rules.keeping import note, own
from memassay.agents.rules.prompts import Asked
from memassay.agents.rules.scripts import Behaviour
from memassay.agents.rules.statements import adapted, clauses
from memassay.agents.rules.tools import Tools
from memassay.agents.rules.words import words

UNKNOWN = "INSUFFICIENT INFORMATION"
_MOST_FETCHES = 3
_CUT = "\N{HORIZONTAL ELLIPSIS}"
_WHICH = re.compile(r"\bwhich ([a-z_]\w*)", re.IGNORECASE)
_SHORT = 4  # letters; shorter words tell nothing about a page


async def answer(asked: Asked, tools: Tools, behaviour: Behaviour) -> str:
    """The answer by what the tools deliver.

    Raises:
        TimeoutError: it is late.
        ToolsMissing: the server is gone.
    """
    found = await _look(asked, tools, behaviour)
    sqls = await _statements(asked, found, tools, behaviour)
    values = [value for sql in sqls if (value := await _value(sql, tools)) is not None]
    if not values:
        return await _guess(asked, tools) if behaviour.guesses else UNKNOWN
    first, *others = values
    others = [value for value in others if value != first]
    said = f"FINAL ANSWER: {first}{f' (before it was corrected: {others[0]})' if others else ''}"
    if behaviour.notes:
        await note(f"{found[0].text} The answer was {first}.", tools)
    return said


async def _look(asked: Asked, tools: Tools, behaviour: Behaviour) -> list[Finding]:
    """Definitions of what is asked about, the best first; each place is only looked at if those before had none."""
    if behaviour.searches:
        await tools.search(asked.prompt)
    elif asked.dataset:
        await tools.use("trino_query", sql=f"SELECT * FROM {asked.dataset} LIMIT 5")
    await _open([one for one in tools.delivered if _is_page_about(one, asked)], tools)
    found = definitions(tools.delivered, asked.prompt)
    if not found and asked.dataset:
        await tools.use("trino_describe_table", table=asked.dataset)
        await _open([one for one in tools.delivered if _is_cut(one, asked)], tools)
        found = definitions(tools.delivered, asked.prompt)
    if not found or asked.function or behaviour.answers == "newest":
        return found
    superseded = await own(asked.prompt, tools, filter_lifecycle="superseded")
    known = sorted((one for one in (*found, *superseded) if one.sql), key=lambda one: one.created_at)
    return known[:1] if behaviour.answers == "oldest" else [found[0], *known[:1]]


async def _open(cut: list[Finding], tools: Tools) -> None:
    """Read the whole of what was delivered in part."""
    for one in cut[:_MOST_FETCHES]:
        fetched = await tools.use("fetch", reference=one.reference)
        document = fetched.get("document") if fetched else None
        content = document.get("content") if isinstance(document, Mapping) else None
        if isinstance(content, str):
            tools.delivered.append(replace(one, text=content))


def _is_page_about(one: Finding, asked: Asked) -> bool:
    """Whether it is a page whose summary has no definition, but words of the question."""
    if one.source != PAGES or one.sql or not one.reference:
        return False
    wanted = set(words(asked.prompt)) - set(words(asked.dataset))
    return any(len(word) >= _SHORT and word in wanted for word in words(f"{one.title} {one.text}"))


def _is_cut(one: Finding, asked: Asked) -> bool:
    """Whether it came along with a result, and without its end, or as a reference alone."""
    if one.source != PUSHED or one.sql or not one.reference.startswith("mcp:"):
        return False
    return not one.text or (one.text.endswith(_CUT) and one.about(asked.prompt))


async def _statements(asked: Asked, found: list[Finding], tools: Tools, behaviour: Behaviour) -> list[str]:
    """The statements to run: of the best definition (of two where both are wanted), or of another aggregate."""
    own_sqls = [one.sql for one in found[: 2 if behaviour.answers == "both" else 1] if one.sql]
    if asked.function is None or not own_sqls:
        return own_sqls
    if not behaviour.adapts:
        return []
    table = clauses(own_sqls[0]).get("from", "").partition(" ")[0]
    column = _column(asked.subject, await tools.use("trino_describe_table", table=table))
    sql = adapted(own_sqls[0], asked.function, column) if column else None
    return [sql] if sql else []


def _column(subject: str, described: Mapping[str, Any] | None) -> str | None:
    """The column that a subject means: all of its words are in the subject; the one with the most, or None.

    "fee in cents" is ``fee_cents``; a unit alone means no column that says more than the unit.
    """
    said = {word.removesuffix("s") for word in words(subject)}
    columns = described.get("columns") if described else None
    names = [
        name
        for column in (columns if isinstance(columns, list) else ())
        if isinstance(column, Mapping) and isinstance(name := column.get("name"), str) and name.isidentifier()
    ]
    fitting = [name for name in names if words(name) and {word.removesuffix("s") for word in words(name)} <= said]
    most = max((len(words(name)) for name in fitting), default=0)
    best = [name for name in fitting if len(words(name)) == most]
    return best[0] if len(best) == 1 else None


async def _value(sql: str, tools: Tools) -> str | None:
    """The first cell of a statement's result, as an answer has it; None where there is none."""
    result = await tools.use("trino_query", sql=sql)
    rows = result.get("rows") if result else None
    row = rows[0] if isinstance(rows, list) and rows else None
    cell = row[0] if isinstance(row, list) and row else None
    if isinstance(cell, float):
        return f"{cell:.4f}".rstrip("0").rstrip(".")
    return str(cell) if isinstance(cell, (int, str)) and not isinstance(cell, bool) else None


async def _guess(asked: Asked, tools: Tools) -> str:
    """The default reading: how many rows the table has, or the commonest value of the column that is asked for."""
    named = asked.dataset or next((one.title for one in tools.delivered if one.source == ENTITIES and one.title), "")
    if not named:
        return UNKNOWN
    which = _WHICH.search(asked.prompt) if not asked.function else None
    common = f"SELECT {which.group(1)} FROM {named} GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1" if which else ""
    value = await _value(common, tools) if common else None
    value = value or await _value(f"SELECT count(*) FROM {named}", tools)
    return f"FINAL ANSWER: {value}" if value else UNKNOWN
