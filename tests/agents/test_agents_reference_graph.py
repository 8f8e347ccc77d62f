"""The agent ``reference`` over a graph's tools: a script in their place, and the real store on a small world."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from agents_marketplace import (
    C1,
    C2,
    J1,
    J2,
    MULTIHOP,
    T1,
    T2,
    T3,
    T5,
    THREE,
    likeness,
    prompt,
    retraction,
    timetravel,
    visibility,
    why,
)

from memassay.agents.reference import UNKNOWN, Reference, agent
from memassay.agents.toolbox import ToolResult, ToolsMissing
from memassay.core.contracts import BuildContext
from memassay.core.types import CellKey, Corpus, Request, Server, Status, Step, StoreRef, Toolset

TYPES = ["INDUSTRY_ALIGNMENT", "SPECIALTY_MATCH", "LOCATION_FIT"]
TOOLS = ("explain_association", "edges_at", "node_info", "node_edges", "node_history", "query", "what_if")
SERVED = Toolset(servers=(Server(name="graph", url="http://127.0.0.1:9/mcp"),))


class Script:
    """A toolbox that gives its answers in their order and keeps what it was asked."""

    def __init__(self, *answers: Any, tools: tuple[str, ...] = TOOLS) -> None:
        self.answers = list(answers)
        self.tools = [SimpleNamespace(name=name) for name in tools]
        self.calls: list[tuple[str, Any]] = []

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        self.calls.append((name, dict(arguments)))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if callable(answer):
            answer = await answer()
        return answer if isinstance(answer, ToolResult) else ToolResult(answer)


def rows(*found: Any, total: int | None = None) -> str:
    head = f"{len(found) if total is None else total:,} rows"
    return "\n".join(["Data follows.", head, *map(json.dumps, found)])


def keys(*found: str, total: int | None = None) -> str:
    return json.dumps({"total": len(found) if total is None else total, "keys": list(found)})


def group(name: str, *found: str, total: int | None = None) -> Any:
    return {"edge_type": name, **json.loads(keys(*found, total=total))}


def ask(
    monkeypatch: pytest.MonkeyPatch,
    box: Script,
    question: str,
    mistake: str = "",
    toolset: Toolset = SERVED,
    **more: Any,
) -> Step:
    @asynccontextmanager
    async def opened(toolset: Toolset) -> AsyncIterator[Script]:
        yield box

    monkeypatch.setattr(agent, "open_toolbox", opened)
    request = Request(cell=CellKey(task="q", arm="a"), prompt=prompt(question), toolset=toolset, **more)
    return asyncio.run(Reference(mistake=mistake).answer(request))


EXPLAINED = json.dumps(
    {
        "links": [
            {"edge_type": "SPECIALTY_MATCH", "shared": ["retail", "civic"]},
            {"edge_type": "SEMANTIC_MATCH"},
            {"edge_type": "INDUSTRY_ALIGNMENT", "shared": "architecture"},
        ]
    }
)
UNRELATED = json.dumps({"links": [{"edge_type": "LOCATION_FIT"}]})
LOST = json.dumps({"lost": [group("SPECIALTY_MATCH", T1, T2), group("SIMILAR_SIZE", T5)], "gained": []})
WHY = {"a": T1, "b": C1, "json": True}
LINKED = {"key": C1, "all_of": TYPES, "label": "Talent", "limit": 2000, "json": True}


@pytest.mark.parametrize(
    ("question", "answers", "calls", "text"),
    [
        (
            why(T1, C1),
            [EXPLAINED],
            [("explain_association", WHY)],
            "INDUSTRY_ALIGNMENT\nSPECIALTY_MATCH\ncivic\nretail",
        ),
        (
            # One specialty of many is no match, but it is shared.
            why(T1, C1),
            [
                UNRELATED,
                f"Data follows.\n{json.dumps({'fields': {'specialties': ['civic', 'office']}})}",
                f"Data follows.\n{json.dumps({'fields': {'specialties': ['retail', 'civic']}})}",
            ],
            [("explain_association", WHY), ("node_info", {"key": T1}), ("node_info", {"key": C1})],
            "LOCATION_FIT\ncivic",
        ),
        (
            retraction("specialties", ["office"], THREE),
            [keys(T3, T1, T2), LOST],
            [
                ("node_edges", LINKED),
                (
                    "what_if",
                    {
                        "key": C1,
                        "field": "specialties",
                        "value": ["office"],
                        "label": "Talent",
                        "limit": 2000,
                        "json": True,
                    },
                ),
            ],
            f"{T1}\n{T2}",
        ),
        (
            timetravel("2026-07-14", T1),
            [keys(C2, C1)],
            [
                (
                    "edges_at",
                    {
                        "key": T1,
                        "at": "2026-07-14",
                        "all_of": TYPES,
                        "label": "Company",
                        "limit": 2000,
                        "json": True,
                    },
                )
            ],
            f"{C1}\n{C2}",
        ),
    ],
)
def test_the_tool_for_the_kind_is_asked(
    monkeypatch: pytest.MonkeyPatch, question: str, answers: list[str], calls: list[Any], text: str
) -> None:
    box = Script(*answers)
    step = ask(monkeypatch, box, question)
    assert (step.status, step.detail, step.text) == (Status.OK, "", text)
    assert box.calls == calls
    assert step.tools == {name: [called for called, _ in calls].count(name) for name, _ in calls}
    assert (step.usage.tool_calls, step.usage.turns) == (len(calls), len(calls) + 1)
    assert step.usage.input == -(-(len(prompt(question)) + sum(map(len, answers))) // 4)


def test_many_are_counted_in_the_query(monkeypatch: pytest.MonkeyPatch) -> None:
    box = Script(rows({"key": C2}, {"key": C1}))
    assert ask(monkeypatch, box, MULTIHOP).text == f"{C1}\n{C2}"
    ((name, arguments),) = box.calls
    assert (name, arguments["params"]) == ("query", {"years": 10, "talents": 3})
    assert "role" not in arguments
    assert arguments["cypher"].startswith("MATCH (t:Talent)-[:LOCATION_FIT]->(o:Company), (t)-[:SPECIALTY_MATCH]->(o),")


def test_the_role_is_the_tools_to_keep(monkeypatch: pytest.MonkeyPatch) -> None:
    box = Script(rows({"key": J2}, {"key": J1}))
    assert ask(monkeypatch, box, visibility("recruiter", T1, f"all of {THREE}")).text == f"{J1}\n{J2}"
    ((_, arguments),) = box.calls
    assert (arguments["role"], arguments["params"]) == ("recruiter", {"key": T1})
    blind = Script(keys(C1, J1))
    assert ask(monkeypatch, blind, visibility("recruiter", T1, f"all of {THREE}"), "blind").text == f"{C1}\n{J1}"
    assert blind.calls == [("node_edges", {"key": T1, "all_of": TYPES, "limit": 2000, "json": True})]


def test_what_shares_no_specialty_is_not_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = ["civic", "retail"]
    same = [{"key": C1, "ours": ours, "theirs": ["office"]}, {"key": J1, "ours": ours, "theirs": ["civic"]}]
    box = Script(rows({"key": C2, "ours": ours, "theirs": ours}, *same))
    assert ask(monkeypatch, box, likeness("client", C2)).text == J1
    assert box.calls[0][1]["role"] == "client"


def test_nothing_found_is_an_answer_if_the_key_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    question = visibility("client", T1, f"all of {THREE}")
    there = Script(rows(), f"Data follows.\n{json.dumps({'fields': {}})}")
    assert ask(monkeypatch, there, question).text == "none"
    gone = Script(rows(), ToolResult(f"There is no entity '{T1}' now.", is_error=True))
    step = ask(monkeypatch, gone, question)
    assert (step.status, step.text) == (Status.OK, UNKNOWN)
    assert step.detail == f"node_info says: There is no entity '{T1}' now."


@pytest.mark.parametrize(
    ("date", "text"), [("2026-06-03", UNKNOWN), ("2026-06-04", "none"), ("2026-06-30", "none"), ("2026-07-01", UNKNOWN)]
)
def test_who_was_not_there_is_not_known(monkeypatch: pytest.MonkeyPatch, date: str, text: str) -> None:
    told = [
        {"date": "2026-06-04", "event": "inserted"},
        {"date": "2026-06-20", "event": "set"},
        {"date": "2026-07-01", "event": "deleted"},
    ]
    box = Script(keys(), "\n".join(["Data follows.", *map(json.dumps, told)]))
    step = ask(monkeypatch, box, timetravel(date, T5))
    assert (step.status, step.text) == (Status.OK, text)
    assert step.detail == (f"there is no {T5} on that day" if text == UNKNOWN else "")
    assert box.calls[1] == ("node_history", {"key": T5})


def test_a_complaint_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    box = Script(ToolResult("Unknown role 'boss'.", is_error=True))
    step = ask(monkeypatch, box, likeness("boss", C1))
    assert (step.status, step.text, step.detail) == (Status.OK, UNKNOWN, "query says: Unknown role 'boss'.")
    assert step.tools == {"query": 1}


@pytest.mark.parametrize(
    ("question", "answers", "detail"),
    [
        (MULTIHOP, [rows({"key": C1}, total=1200)], "a query shows 1 of 1,200 rows"),
        (timetravel("2026-07-14", T1), [keys(C1, total=2001)], "a tool shows 1 of 2,001 keys"),
        (
            retraction("size_bucket", 3, THREE),
            [keys(T1), json.dumps({"lost": [group("LOCATION_FIT", T1, total=9)]})],
            "a tool shows 1 of 9 keys",
        ),
        (why(T1, C1), ["They are linked."], "the tools' results are not what they should be: JSONDecodeError"),
        (why(T1, C1), ["{}"], "the tools' results are not what they should be: KeyError"),
        (MULTIHOP, ["Data follows."], "the tools' results are not what they should be: ValueError"),
        (MULTIHOP, [ToolsMissing("The tool server 'graph' ended in a call of 'query'.")], "The tool server 'graph'"),
    ],
)
def test_results_that_cannot_be_read_are_a_fault_of_the_harness(
    monkeypatch: pytest.MonkeyPatch, question: str, answers: list[Any], detail: str
) -> None:
    step = ask(monkeypatch, Script(*answers), question)
    assert (step.status, step.text) == (Status.HARNESS, None)
    assert step.detail.startswith(detail)


def test_a_server_without_the_tool_is_a_fault_of_the_harness(monkeypatch: pytest.MonkeyPatch) -> None:
    step = ask(monkeypatch, Script(tools=("search",)), MULTIHOP)
    assert (step.status, step.detail) == (Status.HARNESS, "the tool server has no tool 'query'")


def test_a_server_that_is_not_there_is_a_fault_of_the_harness() -> None:
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    request = Request(cell=CellKey(task="q", arm="a"), prompt=prompt(MULTIHOP), toolset=SERVED)
    step = asyncio.run(Reference().answer(request))
    assert (step.status, step.text) == (Status.HARNESS, None)
    assert step.detail.startswith("The tool server 'graph' could not be reached")


def test_the_limits_hold_for_tools_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async def slow() -> str:
        await asyncio.sleep(30)
        return rows()

    late = ask(monkeypatch, Script(slow), MULTIHOP, limit_seconds=0.05)
    assert (late.status, late.text, late.detail) == (Status.LIMIT_TIME, None, "no answer after 0.05 s")
    box = Script(keys(T1))
    busy = ask(monkeypatch, box, retraction("size_bucket", 3, THREE), limit_turns=2)
    assert (busy.status, busy.detail) == (Status.LIMIT_TURNS, "no answer after 2 turns")
    assert len(box.calls) == 1


def test_tools_are_asked_before_a_folder_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    toolset = SERVED.model_copy(update={"folder": str(tmp_path)})
    assert ask(monkeypatch, Script(keys(C1)), timetravel("2026-07-14", T1), toolset=toolset).text == C1


# -- the real store ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Toolset]]:
    """A world of 60 as a graph behind its tool server, as files and as a database."""
    for module in ("mushroomdb", "mcp"):
        pytest.importorskip(module, reason=f"the extra {module} is not installed")
    from memassay.suites.association.forms.json_files import JsonFiles
    from memassay.suites.association.forms.sqlite import Sqlite
    from memassay.suites.association.graph.memory import Graph
    from memassay.suites.association.world import make_world

    corpus = Corpus(id="world", documents=(), native=make_world(scale=60), digest="")
    place = tmp_path_factory.mktemp("forms")
    found = {}
    for name, memory in (("files", JsonFiles()), ("sqlite", Sqlite()), ("graph", Graph())):
        (place / name).mkdir()
        memory.build(corpus, place / name, BuildContext())
        found[name] = Toolset(folder=str(place / name / "form"))
    store = Graph().open(StoreRef(key="k", location=str(place / "graph")))
    try:
        yield {**found, "graph": store.toolset()}
    finally:
        store.close()


@pytest.mark.slow
def test_three_forms_of_a_world_give_the_same_answers(forms: dict[str, Toolset]) -> None:
    from memassay.suites.association.world import make_world

    live = make_world(scale=60).state(89)
    talents = [key for key in live if key.startswith("talent")][::8]
    companies = [key for key in live if key.startswith("company")][::4]
    two, sizes = (
        "both of INDUSTRY_ALIGNMENT and SPECIALTY_MATCH",
        "INDUSTRY_ALIGNMENT, SPECIALTY_MATCH and SIMILAR_SIZE",
    )
    days = ("2026-06-01", "2026-07-14", "2026-08-29")
    questions = [
        *(why(talent, company) for talent in talents[:4] for company in companies[:3]),
        *(MULTIHOP.replace("3 talents", f"{n} talents").replace("10 years", "1 years") for n in (1, 2)),
        retraction("specialties", ["civic"], sizes).replace(C1, companies[0]),
        retraction("size_bucket", 5, sizes).replace(C1, companies[1]),
        *(timetravel(date, talent).replace(THREE, sizes) for talent in talents[:3] for date in days),
        *(visibility("recruiter", talent, two) for talent in talents),
        visibility("client", talents[0], two),
        *(likeness("client", company) for company in companies),
        why("talent-999999", companies[0]),
    ]

    async def asked(toolset: Toolset, question: str) -> Step:
        request = Request(cell=CellKey(task="q", arm="a"), prompt=prompt(question), toolset=toolset)
        return await Reference().answer(request)

    answers = {name: [asyncio.run(asked(toolset, q)) for q in questions] for name, toolset in forms.items()}
    said = {name: [(step.status, step.text) for step in steps] for name, steps in answers.items()}
    assert said["graph"] == said["files"] == said["sqlite"]
    assert {status for status, _ in said["graph"]} == {Status.OK}
    told = [text for _, text in said["graph"] if text not in ("none", UNKNOWN)]
    assert len(told) > len(questions) / 2
    tools = {name for step in answers["graph"] for name in step.tools}
    assert tools >= {"edges_at", "explain_association", "node_edges", "query", "what_if"}
