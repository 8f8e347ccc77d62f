"""An agent that reads definitions in prose as a model would, and works answers out with ``trino_query``.

It knows three ways to define something, and nothing else: what it counts must have come out of the memory.
"""

from __future__ import annotations

import json
import re
from typing import Any

from memassay.agents.toolbox import open_toolbox
from memassay.core.types import Request, Step, Usage
from memassay.platform.entities import dataset_urn

NOT_KNOWN = "INSUFFICIENT INFORMATION"
YARD = "fleet.yard"
DEFINITIONS = (
    (re.compile(r"A 'tall' boat has at least (\d+) masts"), "SELECT count(*) FROM {yard}.boats WHERE masts >= {0}"),
    (
        re.compile(r"The 'home' port is the one with the most boats launched in (\d{4})"),
        "SELECT port FROM {yard}.boats WHERE launched_at LIKE '{0}-%' GROUP BY port ORDER BY count(*) DESC LIMIT 1",
    ),
    (
        re.compile(r"The 'refit' sum is over (\w+) boats"),
        "SELECT round(sum(r.cost), 2) FROM {yard}.refits r JOIN {yard}.boats b ON b.boat_id = r.boat_id "
        "WHERE b.state = '{0}'",
    ),
)


class Analyst:
    """Keeps what it is told on the dataset that is named, and answers by the newest definition that it finds."""

    model = "none"
    accesses = frozenset({"tools"})

    def identity(self) -> dict[str, Any]:
        return {"version": 1}

    async def answer(self, request: Request) -> Step:
        async with open_toolbox(request.toolset) as box:
            calls: list[str] = []

            async def use(name: str, **arguments: Any) -> Any:
                said = await box.call(name, arguments)
                calls.append(f"{name} {json.dumps(arguments)}\n{said.text}")
                assert not said.is_error, calls[-1]
                return json.JSONDecoder().raw_decode(said.text)[0]  # what is pushed may come after it

            telling = request.prompt.startswith("Remember")
            text = await (self._keep(request, use) if telling else self._answer(request, use))
        usage = Usage(tool_calls=len(calls), turns=1, cost_usd=0.0)
        return Step(text=text, usage=usage, evidence="\n".join([*calls, text]).encode())

    async def _keep(self, request: Request, use: Any) -> str:
        fact = request.prompt.removeprefix("Remember: ")
        table = re.search(rf"{YARD}\.\w+", fact)
        assert table is not None
        await use("memory_capture", type="schema_entity", content=fact, entity_urns=[dataset_urn(table.group())])
        return "Kept."

    async def _answer(self, request: Request, use: Any) -> str:
        found = await use("search", intent=request.prompt)
        hits = [hit for group in found["groups"] for hit in group["hits"]]
        newest = sorted(hits, key=lambda hit: str(hit.get("created_at") or ""), reverse=True)
        texts = [" ".join(str(value) for value in hit.values()) for hit in newest]
        asked = set(re.findall(r"'(\w+)'", request.prompt))
        for pattern, sql in DEFINITIONS:
            known = next((known for text in texts if (known := pattern.search(text))), None)
            if (
                known is not None
                and set(re.findall(r"'(\w+)'", known.group())) & asked
                and "crew" not in request.prompt
            ):
                result = await use("trino_query", sql=sql.format(known.group(1), yard=YARD))
                [row] = result["rows"]
                [cell] = row.values()
                return f"FINAL ANSWER: {cell}"
        return NOT_KNOWN
