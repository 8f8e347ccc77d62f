"""Answers out of a graph's tool server: the tool that is there for the kind of question, once or twice."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memassay.agents.reference.calls import Calls, NotThere, Unreadable
from memassay.agents.reference.questions import Alike, Links, Multihop, Question, Retraction, Why
from memassay.agents.reference.rules import TALENT, TYPES
from memassay.agents.toolbox import Toolbox

_MOST = 2_000  # the most keys that a tool gives at once

# A query begins with the type that has the fewest links, which are the fewest to look at.
_RAREST_FIRST = (
    "LOCATION_FIT",
    "MATCHES_DESIGN_STYLE",
    "SIMILAR_SIZE_STRICT",
    "SPECIALTY_MATCH",
    "INDUSTRY_ALIGNMENT",
    "SIMILAR_SIZE",
)


async def solve(box: Toolbox, question: Question, calls: Calls) -> list[str]:
    """The values that answer a question, in a fixed order.

    Raises:
        NotThere: a tool says that it cannot answer, such as for a key that the graph does not have.
        Unreadable: the server lacks a tool, or a result is cut or is not what it should be.
        ToolsMissing: the server is gone.
        TimeoutError: it takes too long.
    """
    tools = _Tools(box, calls)
    try:
        match question:
            case Why():
                return await _why(tools, question)
            case Multihop():
                return await _multihop(tools, question)
            case Retraction():
                return await _retraction(tools, question)
            case Links():
                return await _links(tools, question)
            case Alike():
                return await _alike(tools, question)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise Unreadable(f"the tools' results are not what they should be: {type(error).__name__}: {error}") from error


async def _why(tools: _Tools, asked: Why) -> list[str]:
    told = await tools.report("explain_association", a=asked.talent, b=asked.company)
    links = {link["edge_type"]: link for link in told["links"]}
    types = [name for name in TYPES if name in links]
    if "SPECIALTY_MATCH" in links:
        return [*types, *sorted(links["SPECIALTY_MATCH"]["shared"])]
    # They may share too few specialties for a link, and then nothing is said of those.
    talent, company = [await tools.fields(key) for key in (asked.talent, asked.company)]
    return [*types, *sorted(set(talent["specialties"]) & set(company["specialties"]))]


async def _multihop(tools: _Tools, asked: Multihop) -> list[str]:
    rows = await tools.rows(
        f"MATCH {_chain('(t:Talent)', '->', '(o:Company)', asked.types)} "
        "WHERE t.status = 'published' AND t.years_of_experience >= $years "
        "WITH o, count(t) AS talents WHERE talents >= $talents RETURN key(o) AS key",
        {"years": asked.years, "talents": asked.talents},
    )
    return _keys(rows)


async def _retraction(tools: _Tools, asked: Retraction) -> list[str]:
    now = await tools.keys("node_edges", key=asked.company, all_of=list(asked.types), label=TALENT)
    would = await tools.report(
        "what_if", key=asked.company, field=asked.field, value=asked.value, label=TALENT, limit=_MOST
    )
    lost = {key for group in would["lost"] if group["edge_type"] in asked.types for key in _whole(group)}
    return [key for key in now if key in lost]


async def _links(tools: _Tools, asked: Links) -> list[str]:
    only = {"all_of": list(asked.types), **({} if asked.label is None else {"label": asked.label})}
    if asked.date is not None:
        then = await tools.keys("edges_at", key=asked.key, at=asked.date, **only)
        if not then and not await tools.was_there(asked.key, asked.date):
            raise NotThere(f"there is no {asked.key} on that day")
        return then
    if asked.role is None:
        return await tools.keys("node_edges", key=asked.key, **only)
    chain = _chain("(n {id: $key})", "-", "(o)", asked.types)
    return await _seen(tools, f"MATCH {chain} RETURN key(o) AS key", asked.key, asked.role)


async def _alike(tools: _Tools, asked: Alike) -> list[str]:
    """Cypher compares all but the lists; what they share is for the reader to see."""
    cypher = (
        "MATCH (n {id: $key}), (o) WHERE o.industry = n.industry AND o.size_bucket = n.size_bucket "
        "RETURN key(o) AS key, o.specialties AS theirs, n.specialties AS ours"
    )
    return await _seen(tools, cypher, asked.key, asked.role)


async def _seen(tools: _Tools, cypher: str, key: str, role: str | None) -> list[str]:
    rows = await tools.rows(cypher, {"key": key}, role)
    if not rows:
        await tools.fields(key)  # refuses a key that is not there
    others = [row for row in rows if row["key"] != key]
    return _keys(row for row in others if "ours" not in row or set(row["ours"]) & set(row["theirs"]))


def _chain(start: str, link: str, end: str, types: Sequence[str]) -> str:
    """A pattern in which every type links the same two nodes, each named by one letter."""
    rarest, *rest = sorted(types, key=_RAREST_FIRST.index)
    more = [f"({start[1]})-[:{name}]{link}({end[1]})" for name in rest]
    return ", ".join([f"{start}-[:{rarest}]{link}{end}", *more])


def _keys(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    return sorted({row["key"] for row in rows})


def _whole(group: Mapping[str, Any]) -> list[str]:
    """The keys of a group or a list.

    Raises:
        Unreadable: it has more than it shows.
    """
    if len(group["keys"]) != group["total"]:
        raise Unreadable(f"a tool shows {len(group['keys']):,} of {group['total']:,} keys")
    return list(group["keys"])


class _Tools:
    def __init__(self, box: Toolbox, calls: Calls) -> None:
        self._box, self._calls = box, calls
        self._names = {tool.name for tool in box.tools}

    async def report(self, name: str, **arguments: Any) -> Any:
        """What a tool answers as JSON."""
        return json.loads(await self._text(name, {**arguments, "json": True}))

    async def keys(self, name: str, **arguments: Any) -> list[str]:
        """All keys that a tool lists, sorted."""
        return sorted(_whole(await self.report(name, **arguments, limit=_MOST)))

    async def fields(self, key: str) -> Any:
        """The fields of an entity."""
        return json.loads((await self._text("node_info", {"key": key})).splitlines()[-1])["fields"]

    async def was_there(self, key: str, date: str) -> bool:
        """Whether an entity was there at the end of a day; nothing that was deleted comes back."""
        lines = (await self._text("node_history", {"key": key})).split("\n")[1:]
        events = {event["event"] for line in lines if (event := json.loads(line))["date"] <= date}
        return "inserted" in events and "deleted" not in events

    async def rows(self, cypher: str, params: Mapping[str, Any], role: str | None = None) -> list[Any]:
        """The rows of a query. Before them stand a line that is none and a line that begins with how many there are."""
        seen = {} if role is None else {"role": role}
        text = await self._text("query", {"cypher": cypher, "params": dict(params), **seen})
        _, counted, *rows = text.split("\n")
        total = int(counted.partition(" ")[0].replace(",", ""))
        if len(rows) != total:
            raise Unreadable(f"a query shows {len(rows):,} of {total:,} rows")
        return [json.loads(row) for row in rows]

    async def _text(self, name: str, arguments: Mapping[str, Any]) -> str:
        if name not in self._names:
            raise Unreadable(f"the tool server has no tool {name!r}")
        self._calls.before()
        result = await self._box.call(name, arguments)
        self._calls.note(name, arguments, result.text)
        if result.is_error:
            raise NotThere(f"{name} says: {result.text}")
        return result.text
