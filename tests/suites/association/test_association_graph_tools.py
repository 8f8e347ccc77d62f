from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from association_forms import build, ref_of, world_of

from kit import child_environment
from memassay.core.errors import EnvironmentProblem, UnknownName, UsageError
from memassay.suites.association.truth import TASK_RULES, TYPES, Links, score
from memassay.suites.association.world import LAST_DAY, Node, date_of, day_of

pytest.importorskip("mushroomdb")

from memassay.suites.association.graph import Graph
from memassay.suites.association.graph.offers import TOOLS
from memassay.suites.association.graph.store import GraphReader
from memassay.suites.association.graph.tools import HEAD, Tools

THREE = ["INDUSTRY_ALIGNMENT", "SPECIALTY_MATCH", "LOCATION_FIT"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(Graph(), tmp_path_factory.mktemp("graph"))


@pytest.fixture(scope="module")
def reader(place: Path) -> Iterator[GraphReader]:
    with GraphReader.opened(place) as opened:
        yield opened


@pytest.fixture(scope="module")
def tools(reader: GraphReader) -> Tools:
    return Tools(reader)


@pytest.fixture(scope="module")
def live() -> Mapping[str, Node]:
    return world_of().state(LAST_DAY)


@pytest.fixture(scope="module")
def today(live: Mapping[str, Node]) -> Links:
    return Links(live)


@pytest.fixture(scope="module")
def talent(live: Mapping[str, Node], today: Links) -> str:
    """A talent that three types link to a company."""
    return next(key for key in sorted(live) if key.startswith("talent") and today.others(key, THREE, "Company"))


def told(tools: Tools, name: str, **arguments: Any) -> Any:
    """The JSON of an answer."""
    return json.loads(tools.call(name, {**arguments, "json": True}))


def lines(tools: Tools, name: str, **arguments: Any) -> list[str]:
    """The lines of an answer below the first, which says that they are data."""
    head, *rest = tools.call(name, arguments).split("\n")
    assert head == HEAD
    return rest


def rows(tools: Tools, name: str, **arguments: Any) -> list[Any]:
    return [json.loads(line) for line in lines(tools, name, **arguments)]


# -- answers -------------------------------------------------------------------------------------------------------


def test_the_tools_are_the_product_s() -> None:
    assert {name: list(tool.takes.schema_of()["properties"]) for name, tool in TOOLS.items()} == {
        "explain_association": ["a", "b", "json"],
        "edges_at": ["key", "edge_type", "all_of", "label", "direction", "limit", "json", "at"],
        "was_linked": ["a", "b", "edge_type", "at"],
        "node_history": ["key"],
        "edge_history": ["a", "b"],
        "node_info": ["key"],
        "node_edges": ["key", "edge_type", "all_of", "label", "direction", "limit", "json"],
        "query": ["cypher", "params", "mask", "role"],
        "what_if": ["key", "field", "value", "edge_type", "label", "limit", "json"],
        "stats": [],
        "recall": ["topic", "json"],
    }


def test_explain_gives_rule_score_predicate_and_what_is_shared(
    tools: Tools, live: Mapping[str, Node], today: Links, talent: str
) -> None:
    company = today.others(talent, THREE, "Company")[0]
    found = told(tools, "explain_association", a=company, b=talent)
    assert [link["edge_type"] for link in found["links"]] == sorted(today.types(talent, company))
    rules = {rule.name: rule for rule in TASK_RULES}
    for link in found["links"]:
        rule = rules[link["rule"]]
        assert link["score"] == pytest.approx(score(rule, live[talent], live[company]))
        assert link["predicate"]["field"] == rule.field
    by_type = {link["edge_type"]: link for link in found["links"]}
    specialties = [set(live[key].fields["specialties"]) for key in (talent, company)]
    assert by_type["SPECIALTY_MATCH"]["shared"] == sorted(specialties[0] & specialties[1])
    assert by_type["INDUSTRY_ALIGNMENT"]["shared"] == live[talent].fields["industry"]
    assert "shared" not in by_type["LOCATION_FIT"]
    text = lines(tools, "explain_association", a=talent, b=company)
    assert text[0] == f"{talent} and {company}:"
    assert [line.partition(":")[0] for line in text[1:]] == list(by_type)


def test_explain_says_that_nothing_links_two(tools: Tools) -> None:
    assert told(tools, "explain_association", a="company-000000", b="job-000000")["links"] == []
    assert lines(tools, "explain_association", a="company-000000", b="job-000000")[-1] == "They are not linked."


@pytest.mark.parametrize("label", [None, "Company", "Job"])
def test_node_edges_by_all_of_several_types(tools: Tools, today: Links, talent: str, label: Any) -> None:
    found = told(tools, "node_edges", key=talent, all_of=THREE, **({"label": label} if label else {}))
    assert found["keys"] == today.others(talent, THREE, label)
    assert (found["key"], found["types"], found["total"]) == (talent, THREE, len(found["keys"]))


def test_node_edges_grouped_by_type(tools: Tools, today: Links, talent: str) -> None:
    found = told(tools, "node_edges", key=talent, limit=2)
    assert [group["edge_type"] for group in found["groups"]] == sorted(
        name for name in TYPES if today.others(talent, [name])
    )
    for group in found["groups"]:
        keys = today.others(talent, [group["edge_type"]])
        assert (group["total"], group["keys"]) == (len(keys), keys[:2])
    [first, *_] = lines(tools, "node_edges", key=talent, limit=1)
    assert first.startswith(f"{talent} is now linked by INDUSTRY_ALIGNMENT (")
    assert first.endswith(", ...")


def test_links_go_out_of_talents(tools: Tools, today: Links, talent: str) -> None:
    company = today.others(talent, THREE, "Company")[0]
    everything = told(tools, "node_edges", key=talent)
    assert told(tools, "node_edges", key=talent, direction="out") == everything
    assert told(tools, "node_edges", key=talent, direction="in")["groups"] == []
    assert told(tools, "node_edges", key=company, edge_type="LOCATION_FIT", direction="in")["keys"] == today.talents(
        company, ["LOCATION_FIT"]
    )


@pytest.mark.parametrize("day", [0, 1, 30, 60, 88, 89])
def test_edges_at_gives_the_day_that_was(tools: Tools, reader: GraphReader, day: int) -> None:
    state = world_of().state(day)
    then = Links(state)
    for key in sorted(key for key in state if key.startswith("talent"))[:6]:
        by_date = told(tools, "edges_at", key=key, at=date_of(day), edge_type="SPECIALTY_MATCH")
        assert by_date["keys"] == then.others(key, ["SPECIALTY_MATCH"])
        assert (by_date["commit"], by_date["date"]) == (reader.calendar.ends[day], date_of(day))
        by_commit = told(tools, "edges_at", key=key, at=reader.calendar.ends[day], edge_type="SPECIALTY_MATCH")
        assert by_commit["keys"] == by_date["keys"]
        jobs = told(tools, "edges_at", key=key, at=date_of(day), all_of=["INDUSTRY_ALIGNMENT"], label="Job")
        assert jobs["keys"] == then.others(key, ["INDUSTRY_ALIGNMENT"], "Job")


def test_a_frame_in_the_middle_of_a_commit_is_read_as_the_whole_commit(tools: Tools, reader: GraphReader) -> None:
    inner = [frame for frame in range(reader.calendar.ends[-1]) if reader.db.commit_time_ms(frame) is None]
    change = next(c for c in world_of().changes if c.field == "industry" and c.key.startswith("talent"))
    [event] = [e for e in reader.history(change.key) if e.field == "industry" and e.day == change.day]
    assert event.commit - 1 in inner
    whole = told(tools, "edges_at", key=change.key, at=event.commit)
    assert told(tools, "edges_at", key=change.key, at=event.commit - 1) == whole
    assert told(tools, "edges_at", key=change.key, at=event.commit - 2) != whole


def test_was_linked_by_date_and_by_commit(tools: Tools, reader: GraphReader, today: Links, talent: str) -> None:
    other = today.others(talent, THREE, "Company")[0]
    for at in (date_of(LAST_DAY), reader.calendar.ends[-1]):
        [line] = lines(tools, "was_linked", a=talent, b=other, edge_type="LOCATION_FIT", at=at)
        assert line.startswith("yes: they were linked by LOCATION_FIT at the end of 2026-08-2")
    apart = next(key for key in world_of().state(LAST_DAY) if key.startswith("company") and key not in
                 today.others(talent, ["LOCATION_FIT"]))  # fmt: skip
    [line] = lines(tools, "was_linked", a=apart, b=talent, edge_type="LOCATION_FIT", at="2026-08-29")
    assert line.startswith("no: they were not linked by LOCATION_FIT")


def test_a_commit_in_the_middle_of_a_day_is_not_said_to_end_it(tools: Tools, reader: GraphReader, talent: str) -> None:
    middle, day = next(
        moment
        for frame in range(reader.calendar.ends[0] + 1, reader.calendar.ends[-1])
        if (moment := reader.calendar.moment(frame))[0] != reader.calendar.ends[moment[1]]
    )
    linked = {"a": talent, "b": "company-000001", "edge_type": "LOCATION_FIT"}
    [line] = lines(tools, "was_linked", **linked, at=middle)
    assert line.endswith(f" after commit {middle} (on {date_of(day)}).")
    assert lines(tools, "edges_at", key=talent, at=middle)[0].startswith(
        f"After commit {middle} (on {date_of(day)}) {talent} was linked by "
    )
    end = reader.calendar.ends[day]
    assert lines(tools, "edges_at", key=talent, at=end)[0].startswith(f"At the end of {date_of(day)} (commit {end}) ")


def test_node_history_has_every_change_with_its_date(tools: Tools) -> None:
    for change in world_of().changes[::20]:
        wanted = {"set_prop": "set", "insert_node": "inserted", "delete_node": "deleted"}[change.op]
        [row] = [
            r for r in rows(tools, "node_history", key=change.key) if r["event"] == wanted and r["date"] == change.date
        ]
        if change.field is not None:
            value = list(change.value) if isinstance(change.value, tuple) else change.value
            assert (row["field"], row["value"]) == (change.field, value)


def test_edge_history_tells_when_links_came_and_went(tools: Tools) -> None:
    change = next(c for c in world_of().changes if c.field == "industry" and c.key.startswith("talent"))
    before, after = (Links(world_of().state(day)) for day in (change.day - 1, change.day))
    gone = set(before.others(change.key, ["INDUSTRY_ALIGNMENT"])) - set(
        after.others(change.key, ["INDUSTRY_ALIGNMENT"])
    )
    found = rows(tools, "edge_history", a=change.key, b=min(gone))
    last = [row for row in found if row["edge_type"] == "INDUSTRY_ALIGNMENT" and row["date"] == change.date]
    assert [row["event"] for row in last] == ["retracted"]
    assert lines(tools, "edge_history", a="company-000000", b="company-000001") == ["They were never linked."]


def test_node_info_gives_the_fields(tools: Tools, live: Mapping[str, Node], talent: str) -> None:
    [found] = rows(tools, "node_info", key=talent)
    assert found["label"] == "Talent"
    assert found["fields"] == json.loads(json.dumps(dict(live[talent].fields)))


def test_what_if_says_what_would_be_lost_and_gained(tools: Tools, live: Mapping[str, Node], today: Links) -> None:
    company = next(key for key in sorted(live) if key.startswith("company"))
    bucket = 6 - live[company].fields["size_bucket"] if live[company].fields["size_bucket"] != 3 else 1
    changed = today.replaced(company, "size_bucket", bucket)
    before, after = (set(links.talents(company, ["SIMILAR_SIZE"])) for links in (today, changed))
    found = told(tools, "what_if", key=company, field="size_bucket", value=bucket, edge_type="SIMILAR_SIZE")
    for name, keys in (("lost", before - after), ("gained", after - before)):
        wanted = [{"edge_type": "SIMILAR_SIZE", "total": len(keys), "keys": sorted(keys)}] if keys else []
        assert found[name] == wanted
    assert found["lost"] or found["gained"]
    same = live[company].fields["industry"]
    text = lines(tools, "what_if", key=company, field="industry", value=same)
    assert text == [f'If industry of {company} were "{same}", it would', "lose and gain nothing."]


def test_a_query_as_a_role_sees_what_the_role_sees(tools: Tools, today: Links, talent: str) -> None:
    asked = f"MATCH (t:Talent {{id: '{talent}'}})-[:INDUSTRY_ALIGNMENT]->(o) RETURN key(o) AS key"
    for role, label in ((None, None), ("recruiter", "Job")):
        count, *found = lines(tools, "query", cypher=asked, **({"role": role} if role else {}))
        keys = sorted(json.loads(row)["key"] for row in found)
        assert keys == today.others(talent, ["INDUSTRY_ALIGNMENT"], label)  # type: ignore[arg-type]
        assert count == f"{len(keys)} rows"
    assert lines(tools, "query", cypher=asked, role="client") == ["0 rows"]


def test_a_query_takes_parameters_and_a_mask(tools: Tools, live: Mapping[str, Node]) -> None:
    old = [key for key, node in live.items() if node.fields.get("years_of_experience", -1) >= 10]
    asked = "MATCH (n) WHERE n.years_of_experience >= $years RETURN key(n) AS key"
    assert lines(tools, "query", cypher=asked, params={"years": 10})[0] == f"{len(old)} rows"
    masked = lines(tools, "query", cypher=asked, params={"years": 10}, mask=old[:1])
    assert masked == ["1 row", json.dumps({"key": old[0]})]


def test_long_answers_to_a_query_are_cut(tools: Tools) -> None:
    count, *found = lines(
        tools, "query", cypher="MATCH (a:Talent), (b:Talent), (c:Company) RETURN key(a) AS a LIMIT 1500"
    )
    assert count == "1,500 rows, the first 1,000 of which follow"
    assert len(found) == 1000


def test_stats_and_recall(tools: Tools, live: Mapping[str, Node], today: Links, reader: GraphReader) -> None:
    [found] = rows(tools, "stats")
    assert found["entities"] == len(live)
    assert found["rules"] == today.counts()
    assert found["links"] == sum(today.counts().values())
    assert (found["first"], found["last"], found["commits"]) == (
        "2026-06-01",
        "2026-08-29",
        [0, reader.calendar.ends[-1]],
    )
    assert lines(tools, "recall", topic="talents") == ["The store was not asked to remember any note."]
    assert told(tools, "recall", topic="talents") == {"topic": "talents", "indexed": False, "hits": []}


def test_equal_calls_give_equal_answers(place: Path, tools: Tools, talent: str) -> None:
    calls = [("node_edges", {"key": talent}), ("edges_at", {"key": talent, "at": 100}), ("stats", {})]
    with GraphReader.opened(place) as again:
        other = Tools(again)
        assert [other.call(*call) for call in calls] == [tools.call(*call) for call in calls]


# -- refusals ------------------------------------------------------------------------------------------------------

COMPANY = {"key": "company-000001"}
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("edges_at", {**COMPANY, "at": "2026-05-31"}, "2026-05-31 is outside the window"),
    ("edges_at", {**COMPANY, "at": "2026-08-30"}, "2026-08-30 is outside the window"),
    ("edges_at", {**COMPANY, "at": "yesterday"}, "'yesterday' is no date"),
    ("edges_at", {**COMPANY, "at": 100_000}, "The graph store has no commit 100000: its commits are 0 to "),
    ("edges_at", {**COMPANY, "at": -1}, "The graph store has no commit -1"),
    ("edges_at", {**COMPANY, "at": True}, "edges_at: at"),
    ("edges_at", COMPANY, "edges_at needs the parameter 'at'."),
    ("edges_at", {"key": "company-1", "at": 3}, "There never was an entity 'company-1'"),
    ("was_linked", {"a": "x", "b": "y", "edge_type": "SIMILAR_SIZE", "at": 3}, "There never was an entity 'x'"),
    ("was_linked", {"a": "x", "b": "y", "edge_type": "SIMILAR", "at": 3}, "Unknown link type 'SIMILAR'. Did you mean"),
    ("node_edges", {"key": "company-1"}, "There is no entity 'company-1' now"),
    ("node_edges", {**COMPANY, "all_of": ["NOPE"]}, "Unknown link type 'NOPE'"),
    ("node_edges", {**COMPANY, "edge_type": "SIMILAR_SIZE", "all_of": ["SIMILAR_SIZE"]}, "exclude each other"),
    ("node_edges", {**COMPANY, "limit": 0}, "node_edges: limit is 0"),
    ("node_edges", {**COMPANY, "direction": "up"}, "node_edges: direction is 'up'"),
    ("node_edges", {**COMPANY, "label": "company"}, "Unknown label 'company'. Did you mean 'Company'?"),
    ("edges_at", {**COMPANY, "at": 3, "label": "Companies"}, "Unknown label 'Companies'. Did you mean 'Company'?"),
    ("what_if", {**COMPANY, "field": "industry", "value": "both", "label": "X"}, "Known: Company, Job, Talent."),
    ("stats", {"a": 1}, "stats has no parameter 'a': it takes none."),
    ("node_edges", {**COMPANY, "edge": "x"}, "node_edges has no parameter 'edge'."),
    ("explain_association", {"a": "company-000001", "b": "nobody"}, "There is no entity 'nobody' now"),
    ("node_info", {"key": ""}, "There is no entity '' now"),
    ("node_history", {"key": "nobody"}, "There never was an entity 'nobody'"),
    ("edge_history", {"a": "company-000001", "b": "nobody"}, "There never was an entity 'nobody'"),
    ("what_if", {**COMPANY, "field": "size", "value": 3}, "Unknown field of company-000001 'size'. Did you mean"),
    ("what_if", {**COMPANY, "field": "size_bucket", "value": "3"}, "is a number, and the value is a text"),
    ("what_if", {**COMPANY, "field": "specialties", "value": None}, "is a list, and the value is nothing that"),
    ("what_if", {**COMPANY, "field": "industry", "value": "both", "edge_type": "X"}, "Unknown link type 'X'"),
    ("query", {"cypher": "SELECT 1"}, "query cannot be answered: parse: "),
    ("query", {"cypher": "CREATE (n:X {id: '1'}) RETURN n"}, "query cannot be answered: "),
    ("query", {"cypher": "MATCH (n) WHERE n.x = $y RETURN n"}, "query cannot be answered: execute: missing parameter"),
    ("query", {"cypher": "MATCH (n) WHERE n.x = $y RETURN n", "params": {"y": None}}, "query cannot be answered: "),
    ("query", {"cypher": "MATCH (n) RETURN n", "role": "boss"}, "Unknown role 'boss'. Known: client, recruiter."),
    ("query", {"cypher": "MATCH (n) RETURN n", "role": "client", "mask": []}, "role and mask exclude each other"),
    ("query", {}, "query needs the parameter 'cypher'."),
    ("remember", {"text": "x"}, "Unknown tool 'remember'"),
]


@pytest.mark.parametrize(("name", "arguments", "says"), REFUSED)
def test_what_cannot_be_answered_is_one_sentence(tools: Tools, name: str, arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError) as error:
        tools.call(name, arguments)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


MANY = "x" * 100_000
HOSTILE: list[tuple[str, dict[str, Any]]] = [
    ("node_info", {"key": MANY}),
    ("node_info", {**COMPANY, MANY: 1}),
    ("node_history", {"key": MANY}),
    ("node_edges", {**COMPANY, "label": MANY}),
    ("node_edges", {**COMPANY, "all_of": [MANY]}),
    ("edges_at", {**COMPANY, "at": MANY}),
    ("edges_at", {**COMPANY, "at": 10**4000}),
    ("what_if", {**COMPANY, "field": MANY, "value": 1}),
    ("query", {"cypher": MANY}),
    ("query", {"cypher": "MATCH (n) RETURN n", "role": MANY}),
    (MANY, {}),
]


@pytest.mark.parametrize(("name", "arguments"), HOSTILE)
def test_a_refusal_repeats_the_beginning_of_what_it_was_given(
    tools: Tools, name: str, arguments: dict[str, Any]
) -> None:
    with pytest.raises(UsageError) as error:
        tools.call(name, arguments)
    assert len(str(error.value)) < 500


def test_an_answer_repeats_the_beginning_of_what_it_was_given(tools: Tools) -> None:
    change = {**COMPANY, "field": "specialties", "value": ["x"] * 100_000, "edge_type": "SIMILAR_SIZE"}
    assert len(lines(tools, "what_if", **change)[0]) < 300
    assert told(tools, "what_if", **change)["value"].endswith("...")
    assert len(told(tools, "recall", topic=MANY)["topic"]) < 300
    types = told(tools, "node_edges", **COMPANY, all_of=["SIMILAR_SIZE"] * 100_000)["types"]
    assert types == ["SIMILAR_SIZE"]


def test_a_tool_that_is_not_there_is_named(tools: Tools) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'node_edges'"):
        tools.call("node_edge", {})


def test_a_deleted_entity_is_known_to_the_past_only(tools: Tools) -> None:
    gone = next(change for change in world_of().changes if change.op == "delete_node")
    with pytest.raises(UsageError, match="There is no entity"):
        tools.call("node_info", {"key": gone.key})
    assert told(tools, "edges_at", key=gone.key, at="2026-08-29")["groups"] == []
    assert rows(tools, "node_history", key=gone.key)[-1]["date"] == gone.date
    assert day_of(gone.date) == gone.day


# -- the server ----------------------------------------------------------------------------------------------------

mcp = pytest.importorskip("mcp")

from memassay.agents.toolbox import ToolResult, open_toolbox  # noqa: E402
from memassay.suites.association.graph import server  # noqa: E402
from memassay.suites.association.graph.server import Desk  # noqa: E402


def ask(store: Any, *calls: tuple[str, dict[str, Any]]) -> list[ToolResult]:
    async def asked() -> list[ToolResult]:
        async with open_toolbox(store.toolset()) as box:
            assert [tool.name for tool in box.tools] == list(TOOLS)
            return [await box.call(name, arguments) for name, arguments in calls]

    return asyncio.run(asked())


def group_of(store: Any) -> int:
    process = store._service._process
    assert process is not None
    return int(process.pid)


def members(group: int) -> list[int]:
    """The processes of a group that still run."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            found.append(int(entry.parent.name))
    return found


def wait_until_gone(group: int) -> None:
    until = time.monotonic() + 10
    while members(group) and time.monotonic() < until:
        time.sleep(0.05)
    assert members(group) == []


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_one_server_serves_every_cell_and_ends_with_the_store(
    place: Path, tools: Tools, talent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    store = Graph().open(ref_of(place))
    try:
        calls = [("node_edges", {"key": talent}), ("edges_at", {"key": talent, "at": "2026-07-14", "json": True})]
        for _ in range(2):
            answers = ask(store, *calls, ("query", {"cypher": "MATCH (n) RETURN n", "role": "boss"}))
            assert [answer.text for answer in answers[:2]] == [tools.call(*call) for call in calls]
            assert (answers[2].is_error, answers[2].text) == (True, "Unknown role 'boss'. Known: client, recruiter.")
        [shown] = store.toolset().servers
        assert (shown.name, shown.writes, shown.tools) == ("mushroomdb", False, tuple(TOOLS))
        assert shown.url is not None and shown.url.startswith("http://127.0.0.1:")
        running = members(group_of(store))
        assert len(running) >= 4  # the shell, what it waits with, the server, the process with the store
        environments = [Path(f"/proc/{process}/environ").read_bytes() for process in running]
        assert not any(b"SOME_API_KEY" in environment for environment in environments)
    finally:
        group = group_of(store)
        store.close()
    wait_until_gone(group)
    store.close()  # a second time does nothing


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_server_ends_when_its_parent_is_killed(place: Path, own_home: Path) -> None:
    program = (
        "import sys, time\n"
        "from memassay.core.types import StoreRef\n"
        "from memassay.suites.association.graph import Graph\n"
        "store = Graph().open(StoreRef(key='k', location=sys.argv[1]))\n"
        "store.toolset()\n"
        "print(store._service._process.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program, str(place)],
        stdout=subprocess.PIPE, text=True, env=child_environment(own_home),
    )  # fmt: skip
    with parent:
        assert parent.stdout is not None
        group = int(parent.stdout.readline())
        assert members(group)
        parent.kill()
    wait_until_gone(group)


def test_a_store_that_cannot_be_opened_is_one_line(place: Path, tmp_path: Path) -> None:
    store = Graph().open(ref_of(place))
    store._service._place = tmp_path  # what lies there is no store
    with pytest.raises(EnvironmentProblem) as error:
        store.toolset()
    assert "The graph's tool server could not be started: " in str(error.value)
    assert "days.json is missing" in str(error.value)


@pytest.mark.slow
def test_a_call_that_takes_too_long_is_ended_and_the_next_one_is_answered(place: Path) -> None:
    desk = Desk(place, seconds=1.0)
    try:
        with pytest.raises(UsageError, match=r"took more than 1 s and was ended; ask for less"):
            desk.call("query", {"cypher": "MATCH (a), (b), (c), (d), (e) RETURN count(*) AS n"})
        [answer] = desk.call("query", {"cypher": "MATCH (n:Job) RETURN count(n) AS n"})
        assert answer.startswith(f"{HEAD}\n1 row\n")
    finally:
        desk.close()
    desk.close()


def test_a_process_that_dies_in_a_call_is_said_and_replaced(place: Path) -> None:
    desk = Desk(place)
    try:
        process = desk._worker._process
        assert process is not None and process.pid is not None
        os.kill(process.pid, 9)
        with pytest.raises(UsageError, match="The call broke off"):
            desk.call("stats", {})
        assert desk.call("stats", {})[0].startswith(HEAD)
    finally:
        desk.close()


@pytest.mark.parametrize("arguments", [[], ["a", "b"]])
def test_the_command_says_how_it_is_used(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert server.main(arguments) == 2
    assert capsys.readouterr().err.startswith("usage: python -m memassay.suites.association.graph.server PLACE")


def test_the_command_refuses_a_folder_without_a_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert server.main([str(tmp_path)]) == 3
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("memassay: The store in ")
