"""A memory platform within the process: what the suite needs of one, and knobs for what can be wrong with it.

``Plain`` has no review queue; ``Reviewed`` has one. Tools answer in the shapes of ``memassay.platform.shapes``.
"""

from __future__ import annotations

import copy
import json
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from memassay.core.errors import MemoryFailure
from memassay.core.taught import BUDGET_EXHAUSTED, MemoryRecord, SharedPage, ToolCall
from memassay.core.types import Server, Toolset
from memassay.suites.lifecycle.warehouse import Warehouse

KNOWLEDGE = ("schema_entity", "business_knowledge", "operational_rule")
EMPTY: dict[str, Any] = {"records": [], "pages": {}, "descriptions": {}, "changes": {}, "number": 0}


@dataclass
class Knobs:
    """``similar``: from which share of common words a record gives way to a new one of its owner."""

    similar: float = 0.6
    shared: bool = True
    push: bool = True
    refuse_apply: bool = False
    lose_apply: bool = False
    keep_rolled_back: bool = False
    keep_change: bool = False
    lose_on_restart: bool = False
    broken_at: str = ""


class Plain:
    """Keeps records; everything it knows is in ``state``, its log of calls is not."""

    opened: ClassVar[dict[str, Plain]] = {}
    data: ClassVar[dict[str, sqlite3.Connection]] = {}

    def __init__(self, warehouse: Warehouse, knobs: Knobs | None = None, state: dict[str, Any] | None = None) -> None:
        self.warehouse, self.knobs = warehouse, knobs or Knobs()
        self.state = copy.deepcopy(EMPTY if state is None else state)
        self.log: list[ToolCall] = []
        self.restarts = 0
        self.most: int | None = None
        self.name = f"place-{len(Plain.opened)}"
        Plain.opened[self.name] = self

    # -- what the suite uses ---------------------------------------------------------------------------------------

    def toolset(self, identity: str = "") -> Toolset:
        return Toolset(servers=(Server(env={"PLACE": self.name, "WHO": identity}, writes=True),))

    def identity(self, role: str, attempt: int) -> str:
        return f"{role}-{attempt}"

    def budget(self, calls: int) -> None:
        self.most = calls

    async def calls(self) -> Sequence[ToolCall]:
        return tuple(self.log)

    def snapshot(self, place: Path) -> None:
        (place / "state.json").write_text(json.dumps(self.state), "utf-8")

    def restore(self, place: Path) -> None:
        self.state = json.loads((place / "state.json").read_text("utf-8"))

    async def restart(self) -> None:
        self.restarts += 1
        self.log.clear()
        if self.knobs.lose_on_restart:
            self.state["records"].clear()

    async def records(self, *, owner: str = "", entity: str = "") -> Sequence[MemoryRecord]:
        return [
            MemoryRecord(**{name: value for name, value in one.items() if name in MemoryRecord.model_fields})
            for one in self.state["records"]
            if (not owner or one["owner"] == owner) and (not entity or entity in one["entities"])
        ]

    # -- what agents use -------------------------------------------------------------------------------------------

    def call(self, who: str, session: str, tool: str, **given: Any) -> Any:
        """A call of a tool; returns the JSON, or None for an error. Every call is in the log."""
        if tool == self.knobs.broken_at:
            raise RuntimeError("the platform broke")
        said, error = None, ""
        if self.most is not None and sum(one.session == session for one in self.log) >= self.most:
            refused = {"error": True, "code": BUDGET_EXHAUSTED, "sent": False}
            self.log.append(ToolCall(session=session, identity=who, tool=tool, arguments=given, **refused))
            return None
        try:
            said = getattr(self, f"_{tool}")(who, **given)
        except (KeyError, ValueError, AttributeError, MemoryFailure) as problem:
            error = f"{type(problem).__name__}: {problem}"
        result = error or json.dumps(said)
        note = ToolCall(session=session, identity=who, tool=tool, arguments=given, result=result, error=bool(error))
        self.log.append(note)
        return said

    def session(self) -> str:
        self.state["number"] += 1
        return f"s-{self.state['number']}"

    def record(self, name: str) -> dict[str, Any]:
        found = next((one for one in self.state["records"] if one["id"] == name), None)
        if found is None:
            raise MemoryFailure(f"there is no record {name}")
        return found

    def _memory_capture(self, who: str, *, type: str, content: str, entity_urns: Sequence[str] = ()) -> dict[str, Any]:
        self.state["number"] += 1
        name, gone = f"r-{self.state['number']}", []
        for old in self.state["records"]:
            near = _alike(old["text"], content)
            related = not entity_urns or set(entity_urns) & set(old["entities"])
            if old["owner"] == who and old["live"] and related and near >= self.knobs.similar:
                old.update(status="superseded", live=False, superseded_by=name, score=round(near, 4))
                gone.append(old["id"])
        status = "pending" if type in KNOWLEDGE else "active"
        made = {
            "id": name, "owner": who, "text": content, "kind": type, "entities": list(entity_urns), "status": status,
            "live": True, "superseded_by": "", "score": None, "change": "",
        }  # fmt: skip
        self.state["records"].append(made)
        return {"id": name, "sink_class": type, "status": "active", "superseded_ids": gone}

    def _memory_manage(self, who: str, *, command: str, id: str, content: str = "") -> dict[str, Any]:
        one = self.record(id)
        if one["owner"] != who:
            raise ValueError("not yours")
        if command == "update":
            one["text"] = content
        else:
            one.update(status="archived", live=False)
        return {"command": command, "id": id, "status": one["status"]}

    def _apply_knowledge(self, who: str, *, action: str, insight_ids: Sequence[str]) -> dict[str, Any]:
        assert action == "reject"
        for name in insight_ids:
            self.record(name).update(status="rejected", live=False)
        return {"action": action, "insight_ids": list(insight_ids)}

    def _search(self, who: str, *, intent: str) -> dict[str, Any]:
        def hits(found: Sequence[tuple[str, str, str]]) -> list[dict[str, Any]]:
            ranked = sorted((one for one in found if _common(intent, one[2])), key=lambda one: -_common(intent, one[2]))
            return [{"ref": name, "text": f"{title}\n{text}".strip()} for name, title, text in ranked[:5]]

        mine = [one for one in self.state["records"] if one["live"] and one["owner"] == who]
        others = [one for one in self.state["records"] if one["status"] == "applied" and one["owner"] != who]
        insights = [one for one in mine if one["kind"] in KNOWLEDGE] + (others if self.knobs.shared else [])
        notes = [one for one in mine if one["kind"] not in KNOWLEDGE]
        groups = {
            "insights": [(one["id"], "", one["text"]) for one in insights],
            "memory": [(one["id"], "", one["text"]) for one in notes],
            "knowledge_pages": [(slug, page["title"], page["summary"]) for slug, page in self.state["pages"].items()],
            "catalog": [(urn, urn, text) for urn, text in self.state["descriptions"].items()],
        }
        return {"groups": [{"source": source, "hits": hits(found)} for source, found in groups.items()]}

    def _trino_query(self, who: str, *, sql: str) -> dict[str, Any]:
        if self.warehouse.digest not in Plain.data:
            Plain.data[self.warehouse.digest] = self.warehouse.connect()
        rows = Plain.data[self.warehouse.digest].execute(sql).fetchall()
        said: dict[str, Any] = {"rows": [{"value": value} for value, *_ in rows], "row_count": len(rows)}
        table = re.search(r"FROM (main\.\w+)", sql)
        if self.knobs.push and table is not None:
            said |= self._enrichment(who, table.group(1))
        return said

    def _enrichment(self, who: str, table: str) -> dict[str, Any]:
        about = [urn for urn in self.state["descriptions"] if f".{table}," in urn]
        known = [
            one
            for one in self.state["records"]
            if one["live"]
            and any(f".{table}," in urn for urn in one["entities"])
            and (one["status"] == "applied" or (one["owner"] == who and one["kind"] not in KNOWLEDGE))
        ]
        return {
            "memory_context": [{"id": one["id"], "summary": one["text"]} for one in known],
            "additional_tables": [{"urn": urn, "description": self.state["descriptions"][urn]} for urn in about],
        }


class Reviewed(Plain):
    """The same with a review queue, pages and descriptions."""

    async def approve(self, record: str, notes: str = "") -> None:
        if self.record(record)["status"] != "pending":
            raise MemoryFailure(f"409: {record} is {self.record(record)['status']}")
        self.record(record)["status"] = "approved"

    async def reject(self, record: str, notes: str = "") -> None:
        self.record(record).update(status="rejected", live=False)

    async def apply(
        self, record: str, *, entity: str = "", description: str = "", page: SharedPage | None = None
    ) -> str:
        if self.knobs.refuse_apply:
            raise MemoryFailure("the sink refuses")
        self.state["number"] += 1
        change = f"c-{self.state['number']}"
        kind, key = ("pages", page.slug) if page is not None else ("descriptions", entity)
        before = self.state[kind].get(key)
        self.state["changes"][change] = {"record": record, "kind": kind, "key": key, "before": before, "undone": False}
        if not self.knobs.lose_apply:
            self.state[kind][key] = page.model_dump() if page is not None else description
        self.record(record).update(status="applied", change=change)
        return change

    async def applied(self, change: str, record: str) -> bool:
        return self.record(record)["status"] == "applied" and self.stands(change, record)

    def stands(self, change: str, record: str) -> bool:
        held = self.state["changes"].get(change)
        return held is not None and held["record"] == record and not held["undone"]

    async def description(self, entity: str) -> str | None:
        return self.state["descriptions"].get(entity)

    def page(self, slug: str) -> SharedPage | None:
        held = self.state["pages"].get(slug)
        return None if held is None else SharedPage(**held)

    async def roll_back(self, change: str) -> None:
        held = self.state["changes"][change]
        held["undone"] = not self.knobs.keep_change
        if not self.knobs.keep_rolled_back:
            if held["before"] is None:
                self.state[held["kind"]].pop(held["key"])
            else:
                self.state[held["kind"]][held["key"]] = held["before"]
            self.record(held["record"]).update(status="pending", change="")


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _common(one: str, other: str) -> int:
    return len(_words(one) & _words(other))


def _alike(one: str, other: str) -> float:
    """The share of common words, halved where the quoted terms differ: a platform tells definitions apart."""
    same = _terms(one) == _terms(other)
    return _common(one, other) / len(_words(one) | _words(other)) * (1 if same else 0.5)


def _terms(text: str) -> set[str]:
    return set(re.findall(r"'(\w+)' (?:hire|kind|desk|month|plan|take|score)", text))
