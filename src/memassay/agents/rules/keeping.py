"""What the agent does when it is told something: keeps a fact, corrects one, or takes one back."""

from __future__ import annotations

from memassay.agents.rules.findings import CORRECTION, ENTITIES, INSIGHTS, OWN, Finding, entities, table_of
from memassay.agents.rules.prompts import Told
from memassay.agents.rules.scripts import Behaviour
from memassay.agents.rules.tools import Tools, named

MOST_BYTES = 4000
_LISTED = 100  # records of a page of one's own list


async def keep(told: Told, tools: Tools, behaviour: Behaviour) -> str:
    """Do what was told; returns a line that says what came of it.

    Raises:
        TimeoutError: it is late.
        ToolsMissing: the server is gone.
    """
    if behaviour.burns and told.kind == "keep":
        await tools.overspend()
        return await _capture(told, [], "business_context", tools)
    await tools.search(told.fact)
    if told.kind == "forget":
        return await _forget(told, tools) if behaviour.forgets else "All right."
    if behaviour.copies == 0:
        return "All right."
    if told.kind == "correct":
        return await _correct(told, tools, behaviour)
    return await _keep(told, tools, behaviour)


async def note(text: str, tools: Tools) -> None:
    """Keep something for oneself alone, on no dataset."""
    await tools.use("memory_capture", type="episodic_event", content=_fitting(text), entity_urns=[])


async def _keep(told: Told, tools: Tools, behaviour: Behaviour) -> str:
    urns = await _filed_on(told, tools, behaviour)
    if behaviour.copies == 2:
        # First: a record on a dataset is compared with records on that dataset alone, so neither replaces the other.
        await _capture(told, [], "business_context", tools)
    return await _capture(told, urns, "business_context", tools)


async def _correct(told: Told, tools: Tools, behaviour: Behaviour) -> str:
    if behaviour.corrects == "nothing":
        return "All right."
    if behaviour.corrects == "rewrites":
        for record in await own(told.fact, tools):
            done = await tools.use("memory_manage", command="update", id=record.id, content=_fitting(told.fact))
            if done is not None:
                return "Updated."
    if behaviour.corrects == "rejects":
        old = [record.id for record in await own(told.fact, tools)]
        if old:
            why = "Its owner has corrected it."
            await tools.use("apply_knowledge", action="reject", insight_ids=old, review_notes=why)
    urns = await _filed_on(told, tools, behaviour)
    return await _capture(told, urns, CORRECTION, tools)


async def _forget(told: Told, tools: Tools) -> str:
    records = await own(told.prompt, tools)
    done = [await tools.use("memory_manage", command="forget", id=record.id) for record in records]
    gone = sum(result is not None for result in done)
    return f"Forgotten: {gone} of {len(records)}."


async def own(prompt: str, tools: Tools, **filters: str) -> list[Finding]:
    """One's own records that define a term of a prompt, the newest first: live ones, if ``filters`` ask for no others.

    They do not count as delivered: a list is no answer of the memory to a question.
    """
    records: list[Finding] = []
    while True:
        before = len(tools.delivered)
        page = await tools.use("memory_manage", command="list", limit=_LISTED, offset=len(records), **filters)
        found = [one for one in tools.delivered[before:] if one.source == OWN]
        del tools.delivered[before:]
        records += found
        total = page.get("total") if page else None
        if not found or not isinstance(total, int) or len(records) >= total:
            return [record for record in records if record.id and record.about(prompt) and not _foreign(record, tools)]


def _foreign(record: Finding, tools: Tools) -> bool:
    """Whether it is somebody else's: what waits for review is shown to its owner alone, which tells who one is."""
    waiting = (one for one in tools.delivered if one.source == INSIGHTS and one.status in ("pending", "approved"))
    owner = next((one.owner for one in waiting if one.owner), record.owner)
    return record.owner != owner


async def _capture(told: Told, urns: list[str], category: str, tools: Tools) -> str:
    content = _fitting(told.fact)
    done = await tools.use("memory_capture", type="schema_entity", content=content, category=category, entity_urns=urns)
    return "I could not keep it." if done is None else f"Kept{f', on {urns[0]}' if urns else ''}."


async def _filed_on(told: Told, tools: Tools, behaviour: Behaviour) -> list[str]:
    """The dataset that it is about: the one that is named, that of what is known of the term, or the nearest."""
    if behaviour.files == "another":
        return await _another(told, tools)
    if not told.dataset:
        records = (one for one in tools.delivered if one.urns and one.source != ENTITIES)
        known = next((one.urns for one in records if one.about(told.fact)), ())
        return list(known[:1]) or entities(tools.delivered)[:1]
    named = _named(told, tools)
    if not named:
        await tools.use("search", intent=told.dataset, sources=[ENTITIES])
        named = _named(told, tools)
    if not named:
        await tools.describe(told.dataset)
        named = _named(told, tools)
    return named[:1]


async def _another(told: Told, tools: Tools) -> list[str]:
    """A dataset of the catalogue or the warehouse that is not the one that is named."""
    await tools.use("search", intent=told.dataset or told.fact, sources=[ENTITIES])
    where = {name: part for name, part in named(told.dataset).items() if name != "table"}
    if not _others(told, tools) and "catalog" in where:
        browsed = await tools.use("trino_browse", **where)
        tables = browsed.get("items") if browsed else None
        for table in tables if isinstance(tables, list) else ():
            if isinstance(table, str) and not _same_name(table, told.dataset):
                await tools.describe(f"{where['catalog']}.{where['schema']}.{table}")
                break
    return _others(told, tools)[:1]


def _others(told: Told, tools: Tools) -> list[str]:
    return [urn for urn in entities(tools.delivered) if not _names(urn, told.dataset)]


def _named(told: Told, tools: Tools) -> list[str]:
    return [urn for urn in entities(tools.delivered) if _names(urn, told.dataset)]


def _names(urn: str, dataset: str) -> bool:
    """Whether a URN is of a dataset, which may be named without its catalog."""
    return _same_name(table_of(urn), dataset)


def _same_name(full: str, name: str) -> bool:
    longer, shorter = sorted((f".{full.lower()}", f".{name.lower()}"), key=len, reverse=True)
    return shorter != "." and longer.endswith(shorter)


def _fitting(text: str) -> str:
    """A text of at most as many bytes as a record may have."""
    return text.encode()[:MOST_BYTES].decode("utf-8", "ignore")
