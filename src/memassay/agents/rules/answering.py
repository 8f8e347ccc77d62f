"""What the agent does when it is asked: looks for a definition, runs it, and says what came out, or that it cannot."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from memassay.agents.rules.findings import CORRECTION, PAGES, PUSHED, Finding, definitions, entities, table_of
from memassay.agents.rules.keeping import note, own
from memassay.agents.rules.prompts import Asked
from memassay.agents.rules.scripts import Behaviour
from memassay.agents.rules.statements import adapted, clauses
from memassay.agents.rules.tools import Tools
from memassay.agents.rules.words import words

UNKNOWN = "INSUFFICIENT INFORMATION"
_MOST_FETCHES = 3
_WHICH = re.compile(r"\bwhich ([a-z_]\w*)", re.IGNORECASE)
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_SHORT = 4  # letters; shorter words tell nothing about a page


async def answer(asked: Asked, tools: Tools, behaviour: Behaviour) -> str:
    """The answer by what the tools deliver.

    Raises:
        TimeoutError: it is late.
        ToolsMissing: the server is gone.
    """
    found = await _look(asked, tools, behaviour)
    sql = await _statement(asked, found, tools, behaviour)
    value = await _value(sql, tools) if sql else None
    if value is None:
        return await _guess(asked, tools) if behaviour.guesses else UNKNOWN
    before = None
    if behaviour.hedges == ("numbers" if _NUMBER.fullmatch(value) else "names") and not asked.function:
        oldest = (await _by_age(asked, found, tools))[0]
        before = await _value(oldest.sql, tools) if oldest.sql and oldest != found[0] else None
    if behaviour.notes == "answers":
        await note(f"{asked.prompt} The answer was {value}. SQL: {found[0].sql};", tools)
    elif behaviour.notes == "corrections" and found[0].category == CORRECTION:
        await note(f"{found[0].text} The answer was {value}.", tools)
    return f"FINAL ANSWER: {value}{f' (before it was corrected: {before})' if before else ''}"


async def _look(asked: Asked, tools: Tools, behaviour: Behaviour) -> list[Finding]:
    """Definitions of what is asked about, the best first; each place is only looked at if those before had none."""
    if behaviour.looks == "list":
        tools.delivered += await own(asked.prompt, tools)
    if behaviour.looks == "searches" or (behaviour.looks == "list" and not tools.delivered):
        await tools.search(asked.prompt)
    elif behaviour.looks == "rows" and asked.dataset:
        await tools.use("trino_query", sql=f"SELECT * FROM {asked.dataset} LIMIT 5")
    await _open([one for one in tools.delivered if _is_page_about(one, asked)], tools)
    found = definitions(tools.delivered, asked.prompt)
    if not found and asked.dataset:
        await tools.describe(asked.dataset)
        await _open([one for one in tools.delivered if _is_cut(one, asked)], tools)
        found = definitions(tools.delivered, asked.prompt)
    if behaviour.answers == "oldest" and found and not asked.function:
        return await _by_age(asked, found, tools)
    return found


async def _by_age(asked: Asked, found: list[Finding], tools: Tools) -> list[Finding]:
    """The definitions that were found and one's own that were superseded, the oldest first."""
    superseded = await own(asked.prompt, tools, filter_status="superseded")
    return sorted((one for one in (*found, *superseded) if one.sql), key=lambda one: one.created_at)


async def _open(cut: list[Finding], tools: Tools) -> None:
    """Read the whole of what was delivered in part."""
    for one in cut[:_MOST_FETCHES]:
        fetched = await tools.use("fetch", reference=one.reference)
        document = fetched.get("document") if fetched else None
        body = document.get("body") if isinstance(document, Mapping) else None
        if isinstance(body, str):
            text = f"{one.text}\n{body}" if one.source == PAGES else body
            tools.delivered.append(replace(one, text=text, whole=True))


def _is_page_about(one: Finding, asked: Asked) -> bool:
    """Whether it is a page whose summary has no definition, but words of the question."""
    if one.source != PAGES or one.sql or not one.reference:
        return False
    wanted = set(words(asked.prompt)) - set(words(asked.dataset))
    return any(len(word) >= _SHORT and word in wanted for word in words(one.text))


def _is_cut(one: Finding, asked: Asked) -> bool:
    """Whether it came along with a result, and without its end, or as a reference alone."""
    if one.source != PUSHED or one.whole or one.sql or not one.reference.startswith("mcp:"):
        return False
    return not one.text or one.about(asked.prompt)


async def _statement(asked: Asked, found: list[Finding], tools: Tools, behaviour: Behaviour) -> str | None:
    """The statement to run: that of the best definition, or of another aggregate over its rows; None without one."""
    sql = found[0].sql if found else None
    if asked.function is None or sql is None:
        return sql
    if not behaviour.adapts:
        return None
    table = clauses(sql).get("from", "").partition(" ")[0]
    column = _column(asked.subject, await tools.describe(table))
    return adapted(sql, asked.function, column) if column else None


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
    cell = next(iter(row.values()), None) if isinstance(row, Mapping) else None
    if isinstance(cell, float):
        return f"{cell:.4f}".rstrip("0").rstrip(".")
    return str(cell) if isinstance(cell, (int, str)) and not isinstance(cell, bool) else None


async def _guess(asked: Asked, tools: Tools) -> str:
    """The default reading: how many rows the table has, or the commonest value of the column that is asked for."""
    named = asked.dataset or next(map(table_of, entities(tools.delivered)), "")
    if not named:
        return UNKNOWN
    which = _WHICH.search(asked.prompt) if not asked.function else None
    common = f"SELECT {which.group(1)} FROM {named} GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1" if which else ""
    value = await _value(common, tools) if common else None
    value = value or await _value(f"SELECT count(*) FROM {named}", tools)
    return f"FINAL ANSWER: {value}" if value else UNKNOWN
