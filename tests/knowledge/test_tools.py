"""The tools over a small folder of notes: what they take, what they give, what they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tools_kit import EDITORS, PAGES, READERS, contents, keys, value

from memassay.core.errors import MemassayError, UnknownName, UsageError
from memassay.core.tokens import tokenizer
from memassay.knowledge.store import KnowledgeStore
from memassay.knowledge.tools import TOOLS, Desk

# -- which tools there are -----------------------------------------------------------------------------------------


def test_a_reading_desk_offers_no_tool_that_edits(desk: Desk, editor: Desk) -> None:
    assert list(desk.tools) == READERS
    assert list(editor.tools) == READERS + EDITORS


def test_tools_can_be_chosen_and_renamed(notes: Path) -> None:
    with KnowledgeStore.open(notes) as store:
        desk = Desk(store, names=["find", "query"], prefix="iwe_")
        assert list(desk.tools) == ["iwe_find", "iwe_query"]
        assert desk.call("iwe_query", {"operation": "count", "document": ""}) == ['{"count":3}']
        with pytest.raises(UnknownName, match="Did you mean 'iwe_find'"):
            desk.call("find", {})
        with pytest.raises(UnknownName, match="Did you mean 'squash'"):
            Desk(store, names=["squish"])
        with pytest.raises(UsageError, match="'create' edits the pages; say --write"):
            Desk(store, names=["create"])


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_schemas_stand_alone_and_refuse_other_names(tool: Any) -> None:
    schema = tool.takes.schema_of()
    assert schema["type"] == "object" and schema["additionalProperties"] is False
    assert "$ref" not in json.dumps(schema)
    for name, about in schema["properties"].items():
        assert about["description"].endswith("."), name
    assert len(tool.says) < 130 and tool.says.endswith(".")


# -- what they give ------------------------------------------------------------------------------------------------


def test_find(desk: Desk) -> None:
    assert keys(value(desk, "find", lexical="gas sensor")) == ["house/boiler"]
    assert keys(value(desk, "find", fuzzy="pplada")) == ["people/ada"]
    assert keys(value(desk, "find", refs_to="people/ada")) == ["house/boiler", "index"]
    assert keys(value(desk, "find", refs_from="people/ada")) == ["house/boiler"]
    assert value(desk, "find", project=["key", "status"], limit=1, sort={"year": -1}) == [
        {"key": "house/boiler", "status": "open"}
    ]
    assert value(desk, "find", lexical="gas", project=["key"]) == [{"key": "house/boiler"}]
    [found] = value(desk, "find", lexical="gas", add_fields=["content"])
    assert found["year"] == 2014 and found["content"] == PAGES["house/boiler"].partition("---\n# ")[2].join(["# ", ""])


def test_the_selector_follows_inclusions_to_the_end(notes: Path) -> None:
    (notes / "top.md").write_text("# Top\n\n[Index](index.md)\n")
    with KnowledgeStore.open(notes) as store:
        desk = Desk(store)
        assert set(keys(value(desk, "find", **{"in": ["top"]}))) == {"index", "house/boiler", "people/ada"}
        assert set(keys(value(desk, "find", **{"in": ["top"], "max_depth": 1}))) == {"index"}
        deeper = {"in": [{"key": "top", "depth": 2}], "max_depth": 1, "not_in": ["index"]}
        assert keys(value(desk, "find", **deeper)) == ["index"]
        assert keys(value(desk, "retrieve", keys=["people/ada", "top"], in_any=["index"])) == ["people/ada"]
        assert keys(value(desk, "tree", in_any=["index"])) == ["house/boiler", "people/ada"]


def test_retrieve(desk: Desk) -> None:
    [ada, boiler, garden] = value(desk, "retrieve", keys=["people/ada"], expand={"references": 1}, children=True)
    assert (ada["key"], ada["content"]) == ("people/ada", PAGES["people/ada"])
    assert keys(ada["references"]) == ["garden", "house/boiler"] and keys(ada["includedBy"]) == ["index"]
    assert {boiler["key"], garden["key"]} == {"house/boiler", "garden"}
    dangling = boiler if boiler["key"] == "garden" else garden
    assert (dangling["title"], dangling["content"]) == ("garden", "")
    assert keys(value(desk, "retrieve", search="gas", limit=1, expand={"includedBy": 1})) == ["house/boiler", "index"]
    assert value(desk, "retrieve", keys=["people/ada"], backlinks=False)[0]["referencedBy"] == []
    assert keys(value(desk, "retrieve", keys=["index", "people/ada"], exclude=["index"])) == ["people/ada"]
    assert len(value(desk, "retrieve")) == 3


def test_search_gives_passages_with_their_place(desk: Desk) -> None:
    [found, *_] = value(desk, "search", text="what does F28 mean")
    start, end = found["span"]
    assert found["key"] == "house/boiler" and "F28 means no gas" in found["text"]
    assert PAGES["house/boiler"][start:end] == found["text"]
    assert found["sectionPath"][0] == "The boiler" and len(found["digest"]) == 16


def test_search_cuts_around_the_answer(notes: Path) -> None:
    sections = "".join(
        f"## Part {n}\n\nThis section says nothing that anybody asked for, and that at quite some length.\n\n"
        for n in range(5)
    )
    (notes / "valve.md").write_text(f"# The valve\n\n{sections}- E11: close the valve, wait a minute, open it\n")
    with KnowledgeStore.open(notes) as store:
        [found, *_] = value(Desk(store), "search", text="what about E11", max_tokens=100)
        assert found["clipped"] and found["text"].endswith("- E11: close the valve, wait a minute, open it")
        assert (notes / "valve.md").read_text()[slice(*found["span"])] == found["text"]
        (piece,) = store.search("what about E11", max_tokens=40, limit=1).pieces
        assert piece.clipped and piece.text.endswith("wait a minute, open it")


def test_tree_squash_stats_query(desk: Desk) -> None:
    [root] = value(desk, "tree")
    assert root["key"] == "index" and keys(root["children"]) == ["house/boiler", "people/ada"]
    assert value(desk, "tree", keys=["index"], depth=1) == [root]
    [squashed] = desk.call("squash", {"key": "index"})
    assert "## The boiler" in squashed and "### Faults" in squashed and "until spring" not in squashed
    totals = value(desk, "stats")
    assert totals["pages"] == 3 and totals["brokenLinks"] == [{"key": "garden", "sources": ["people/ada"]}]
    assert value(desk, "stats", key="people/ada")["similarPages"] == []
    assert keys(value(desk, "query", operation="find", document="filter: {year: {$gt: 2000}}")) == ["house/boiler"]
    assert value(desk, "query", operation="count", document="filter: {$content: {$item: {$text: F28}}}") == {"count": 1}


# -- budgets -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [1, 40, 70, 100, 150, 400])
def test_search_stays_within_its_budget_as_it_is_sent(desk: Desk, budget: int) -> None:
    counter = tokenizer("o200k_base")
    texts = desk.call("search", {"text": "boiler ada key garden", "max_tokens": budget})
    found = json.loads(texts[0])
    assert counter.marks(texts[0]) <= budget or found == []
    if len(texts) == 1:
        assert len(found) == 3
        return
    note = json.loads(texts[1])
    assert set(note) == {"truncated", "emitted", "matched", "clipped", "tokens", "budget", "hint"}
    assert (note["emitted"], note["matched"], note["budget"]) == (len(found), 3, budget)
    assert note["truncated"] or note["clipped"]


def test_a_larger_budget_of_search_shows_no_less(desk: Desk) -> None:
    shown = [
        len("".join(item["text"] for item in value(desk, "search", text="boiler ada key", max_tokens=budget)))
        for budget in range(20, 260, 20)
    ]
    assert shown == sorted(shown) and shown[0] < shown[-1]


def test_what_is_left_out_is_told_in_a_second_text(desk: Desk) -> None:
    first, second = desk.call("retrieve", {"keys": ["index", "house/boiler", "people/ada"], "max_tokens": 60})
    note = json.loads(second)
    assert keys(json.loads(first)) == ["index"]
    assert (note["truncated"], note["emitted"], note["matched"], note["budget"]) == (True, 1, 3, 60)
    first, second = desk.call("retrieve", {"keys": ["house/boiler"], "max_document_tokens": 5})
    assert "tokens omitted" in json.loads(first)[0]["content"] and json.loads(second)["clipped"] == 1


def test_a_call_that_names_no_budget_has_one(notes: Path) -> None:
    for number in range(60):
        (notes / f"long-{number}.md").write_text(f"# Long {number}\n\n" + "many words stand here " * 250)
    with KnowledgeStore.open(notes) as store:
        first, second = Desk(store).call("retrieve", {})
        assert tokenizer("o200k_base").marks(first) <= 20_000
        assert json.loads(second)["matched"] == 63
        assert len(Desk(store).call("retrieve", {"max_tokens": 0})) == 1


# -- what they refuse ----------------------------------------------------------------------------------------------

HUGE = 10**30
HOSTILE: list[tuple[str, dict[str, Any], str]] = [
    ("find", {"limt": 3}, "find has no parameter 'limt'. Did you mean 'limit'?"),
    ("find", {"limit": "3"}, "find: limit is '3', but input should be a valid integer."),
    ("find", {"limit": -1}, "limit is -1"),
    ("find", {"limit": HUGE}, "less than or equal to 1000000000"),
    ("find", {"limit": True}, "limit is True"),
    ("find", {"lexical": ["a"]}, "input should be a valid string"),
    ("find", {"in": "index"}, "in is 'index', but input should be a valid list"),
    ("find", {"in": [{"key": "index", "deep": 1}]}, "A selector holds keys or {key, depth}"),
    ("find", {"in": [{"key": "index", "depth": -1}]}, "depth is a whole number from 0 on"),
    ("find", {"in": [7]}, "A selector holds keys"),
    ("find", {"in": ["nowhere"]}, "There is no page 'nowhere'"),
    ("find", {"max_depth": 256}, "less than or equal to 255"),
    ("find", {"project": ["key"], "add_fields": ["title"]}, "give one of them"),
    ("find", {"project": 7}, "project is a list of names"),
    ("find", {"sort": "year:2"}, "sort is a field with 1"),
    ("find", {"refs_from": "../../etc/passwd"}, "There is no page '../../etc/passwd'"),
    ("retrieve", {"keys": "people/ada"}, "keys is 'people/ada', but input should be a valid list"),
    ("retrieve", {"keys": ["peple/ada"]}, "There is no page 'peple/ada'. Did you mean 'people/ada'?"),
    ("retrieve", {"keys": ["../secret"]}, "There is no page '../secret'"),
    ("retrieve", {"keys": ["/etc/passwd"]}, "There is no page '/etc/passwd'"),
    ("retrieve", {"keys": ["people/ada\x00"]}, "There is no page"),
    ("retrieve", {"expand": {"reference": 1}}, "expand knows no 'reference'. Did you mean 'references'"),
    ("retrieve", {"expand": {"references": 1000}}, "expand.references is 1000"),
    ("retrieve", {"expand": [1]}, "expand is [1]"),
    ("retrieve", {"order": "best"}, "order is 'best'"),
    ("search", {}, "search needs the parameter 'text'."),
    ("search", {"text": None}, "text is None"),
    ("search", {"text": " \n"}, "The question is empty"),
    ("squash", {"key": "../x"}, "There is no page '../x'"),
    ("squash", {"key": "index", "depth": 1.5}, "depth is 1.5"),
    ("tree", {"keys": ["nope"]}, "There is no page 'nope'"),
    ("stats", {"key": "nope"}, "There is no page 'nope'"),
    ("query", {"operation": "drop", "document": ""}, "operation is 'drop'"),
    ("query", {"operation": "find", "document": "a: [" * 5_000}, ""),
    ("query", {"operation": "find", "document": "filter: {$gte: 3}"}, ""),
    ("query", {"operation": "find", "document": "fliter: {}"}, "find knows no 'fliter'. Did you mean 'filter'"),
    ("query", {"operation": "find", "document": "filter: {$content: {$item: {$matches: '('}}}"}, ""),
    ("query", {"operation": "find", "document": "&a [*a, *a]"}, ""),
]


@pytest.mark.parametrize(("tool", "arguments", "says"), HOSTILE)
def test_a_wrong_call_is_one_sentence(desk: Desk, tool: str, arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(MemassayError) as caught:
        desk.call(tool, arguments)
    sentence = str(caught.value)
    assert says in sentence and "\n" not in sentence and sentence.endswith((".", "?")) and len(sentence) < 400


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["index", "people/ada", "house/boiler", "../x", "$key", "key", "depth", "filter: {}", "find"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@given(data=st.data())
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_call_is_answered_or_refused_in_one_sentence(desk: Desk, data: st.DataObject) -> None:
    tool = data.draw(st.sampled_from(READERS))
    names = sorted(TOOLS[tool].takes.schema_of()["properties"])
    arguments = data.draw(st.dictionaries(st.sampled_from([*names, "wrong"]), JSON, max_size=4))
    try:
        texts = desk.call(tool, arguments)
    except MemassayError as error:
        assert "\n" not in str(error).strip() and len(str(error)) < 1_000
    else:
        assert tool == "squash" or json.loads(texts[0]) is not None


WRITES: list[tuple[str, dict[str, Any]]] = [
    ("query", {"operation": "delete", "document": "{filter: {}, expect: 3}"}),
    ("query", {"operation": "update", "document": "{filter: {}, update: {$set: {a: 1}}, expect: 3}"}),
]


@pytest.mark.parametrize(("tool", "arguments"), WRITES)
def test_reading_writes_nothing(notes: Path, desk: Desk, tool: str, arguments: dict[str, Any]) -> None:
    before = contents(notes)
    with pytest.raises(UsageError, match="served to be read; start the server with --write"):
        desk.call(tool, arguments)
    dry = value(desk, tool, **arguments, dry_run=True)
    assert dry["dry_run"] is True and dry["matched"] == 3
    for reader in READERS[:-1]:
        desk.call(reader, {"key": "index"} if reader == "squash" else {"text": "ada"} if reader == "search" else {})
    assert contents(notes) == before
