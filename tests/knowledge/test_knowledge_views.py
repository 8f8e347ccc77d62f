"""Views: searching, retrieving with expansion within a budget, fields, order."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from knowledge_texts import shelf

from memassay.core.errors import UsageError
from memassay.core.tokens import count
from memassay.knowledge.fields import Fields
from memassay.knowledge.library import Shelf
from memassay.knowledge.listing import Limits, as_json
from memassay.knowledge.selection import Selector
from memassay.knowledge.views import Expansion, find, retrieve

LIBRARY = shelf(
    index="# Start\n\n## People\n\n[Ada](people/ada)\n\n[Bob](people/bob.md)\n\n## Else\n\n[gone](missing)\n",
    people_ada="---\nborn: 1815\ntags: [maths, engine]\n_hidden: 1\ntitle: Ada\n---\n"
    "# A\n\nKnows [[bob]] and the [engine](/engine).\n",
    people_bob="---\nborn: 1791\nauthor:\n  name: Z\n---\n"
    "# Bob\n\n## Work\n\n- built the [[engine]]\n- built the [[engine]] twice\n",
    engine="# Engine\n\nAnalytical.\n\n```py\nrun(1)\n```\n",
    lone="no header, [ada](people/ada)\n",
)


def keys(listing: object) -> list[str]:
    return [item["key"] for item in listing.items]  # type: ignore[attr-defined]


# -- retrieve ------------------------------------------------------------------------------------------------------


def test_a_document_is_the_text_as_written_with_its_links() -> None:
    [ada] = retrieve(LIBRARY, ["people/ada"]).items
    assert ada == {
        "key": "people/ada",
        "title": "Ada",
        "content": "# A\n\nKnows [[bob]] and the [engine](/engine).\n",
        "references": [],
        "includes": [],
        "referencedBy": [{"key": "lone", "title": "lone", "sectionPath": []}],
        "includedBy": [{"key": "index", "title": "Start", "sectionPath": ["Start", "People"]}],
    }
    [hub] = retrieve(LIBRARY, ["index"], children=True, backlinks=False).items
    assert [edge["key"] for edge in hub["includes"]] == ["missing", "people/ada", "people/bob"]
    assert hub["includes"][0] == {"key": "missing", "title": "missing", "sectionPath": ["Start", "Else"]}
    assert hub["referencedBy"] == []
    bob = retrieve(LIBRARY, ["people/bob"], expansion=Expansion(references=1)).items[0]
    assert bob["references"] == [{"key": "engine", "title": "Engine", "sectionPath": ["Bob", "Work"]}]


def test_every_seed_brings_in_what_lies_around_it_once() -> None:
    around = Expansion.read({"includes": 1, "includedBy": 1, "references": 1, "referencedBy": 1})
    assert keys(retrieve(LIBRARY, ["people/ada", "lone"], expansion=around)) == [
        "people/ada", "index", "engine", "people/bob", "lone",
    ]  # fmt: skip
    seeds_first = retrieve(LIBRARY, ["people/ada", "lone"], expansion=around, order="seeds-first")
    assert keys(seeds_first) == ["people/ada", "lone", "index", "engine", "people/bob"]
    assert keys(retrieve(LIBRARY, ["people/ada", "people/ada"])) == ["people/ada"]
    assert keys(retrieve(LIBRARY, ["index"], expansion=Expansion(includes=1), exclude=["index"])) == [
        "missing", "people/ada", "people/bob",
    ]  # fmt: skip


def test_parents_of_children_come_with_both_inclusions() -> None:
    library = shelf(a="[c](c)\n", b="[c](c)\n", c="# C\n")
    both = Expansion(includes=1, included_by=1)
    assert keys(retrieve(library, ["a"], expansion=both)) == ["a", "c", "b"]
    assert keys(retrieve(library, ["a"], expansion=Expansion(includes=1))) == ["a", "c"]


def test_a_dangling_target_is_an_empty_document_that_says_who_wants_it() -> None:
    documents = retrieve(LIBRARY, ["index"], expansion=Expansion(includes=0)).items
    gone = next(document for document in documents if document["key"] == "missing")
    assert gone["content"] == "" and gone["title"] == "missing"
    assert [edge["key"] for edge in gone["includedBy"]] == ["index"]
    with pytest.raises(UsageError, match=r"There is no page 'people/adda'\. Did you mean 'people/ada'"):
        retrieve(LIBRARY, ["people/adda"])


def test_cycles_end() -> None:
    ring = shelf(a="[b](b)\n\n[a](a)\n", b="[a](a)\n")
    everything = Expansion(0, 0, 0, 0)
    assert keys(retrieve(ring, ["a"], expansion=everything)) == ["a", "b"]


@settings(max_examples=60)
@given(
    st.integers(1, 900),
    st.sampled_from(["stop", "skip"]),
    st.sampled_from(["o200k_base", "chars4"]),
    st.sampled_from([None, 3, 30]),
)
def test_a_budget_is_kept_as_json_and_keeps_the_first_document(
    budget: int, overflow: str, counter: str, document_tokens: int | None
) -> None:
    limits = Limits(tokens=budget, overflow=overflow, counter=counter, document_tokens=document_tokens)  # type: ignore[arg-type]
    everything = Expansion(0, 0, 0, 0)
    listing = retrieve(LIBRARY, ["people/ada", "index"], expansion=everything, limits=limits)
    spent = count(as_json(listing.items), counter)
    assert keys(listing)[0] == "people/ada"
    assert len(listing.items) == 1 or spent <= budget
    whole = keys(retrieve(LIBRARY, ["people/ada", "index"], expansion=everything))
    assert [key for key in whole if key in keys(listing)] == keys(listing)
    if overflow == "stop":
        assert keys(listing) == whole[: len(listing.items)]
    if len(listing.items) < len(whole):
        assert listing.note is not None and listing.note["truncated"] and listing.note["matched"] == len(whole)
        assert listing.note["tokens"] == spent and listing.note["budget"] == budget
    assert json.loads(as_json(listing.items)) == listing.items


def test_more_budget_never_shows_less() -> None:
    around = Expansion(0, 0, 0, 0)
    shown: list[str] = []
    for budget in range(50, 700, 25):
        now = keys(retrieve(LIBRARY, ["index"], expansion=around, limits=Limits(tokens=budget)))
        assert now[: len(shown)] == shown
        shown = now


def test_long_content_gives_way_to_a_marker() -> None:
    library = shelf(a="word " * 100)
    listing = retrieve(library, ["a"], limits=Limits(document_tokens=10))
    assert listing.items[0]["content"] == "word" + " word" * 9 + "\n\n⋯ truncated (91 tokens omitted)"
    assert listing.note is not None and listing.note["clipped"] == 1 and not listing.note["truncated"]
    assert retrieve(library, ["a"], limits=Limits(document_tokens=200)).note is None
    two = shelf(a="a", b="b")
    assert keys(retrieve(two, ["a", "b"], limits=Limits(documents=1))) == ["a"]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"include": 1}, "expand knows no 'include'. Did you mean 'includes'"),
        ({"includes": -1}, "expand.includes is a whole number from 0 on, not -1"),
        ({"includes": True}, "expand.includes is a whole number from 0 on, not True"),
    ],
)
def test_a_wrong_expansion_is_refused(given: dict[str, object], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        Expansion.read(given)
    with pytest.raises(UsageError, match="Unknown order 'seeds'"):
        retrieve(LIBRARY, ["index"], order="seeds")  # type: ignore[arg-type]


# -- find ----------------------------------------------------------------------------------------------------------


def test_without_a_question_the_most_linked_pages_come_first() -> None:
    assert keys(find(LIBRARY)) == ["engine", "people/ada", "people/bob", "index", "lone"]
    assert keys(find(LIBRARY, limit=2)) == ["engine", "people/ada"]
    assert keys(find(LIBRARY, limit=0)) == keys(find(LIBRARY))


def test_the_usual_fields_are_links_and_front_matter() -> None:
    bob = next(item for item in find(LIBRARY).items if item["key"] == "people/bob")
    assert list(bob) == ["key", "title", "references", "includes", "referencedBy", "includedBy", "born", "author"]
    ada = next(item for item in find(LIBRARY).items if item["key"] == "people/ada")
    assert ada["title"] == "Ada" and "_hidden" not in ada and ada["tags"] == ["maths", "engine"]


def test_fields_can_be_chosen_renamed_and_computed() -> None:
    chosen = Fields({"key": 1, "name": "$title", "who": "author.name", "code": {"$blocks": {"$code": True}}})
    engine = find(LIBRARY, fields=chosen, limit=1).items[0]
    assert engine == {
        "key": "engine",
        "name": "Engine",
        "code": [{"type": "code", "text": "run(1)", "sectionPath": ["Engine"], "content": "```py\nrun(1)\n```"}],
    }
    rows = find(LIBRARY, fields=Fields("key, author.name"), sort="key").items
    assert rows[-1] == {"key": "people/bob", "author.name": "Z"}
    added = find(LIBRARY, fields=Fields(add={"links": {"$matches": r"\[\[(\w+)\]\]"}}), sort="key").items[-1]
    assert added["links"] == ["[[engine]]", "[[engine]]"] and "referencedBy" in added


@pytest.mark.parametrize(
    ("project", "add", "complaint"),
    [
        (["key"], ["key"], "give one of them"),
        ({"a": "$titel"}, None, r"project.a knows no '\$titel'. Did you mean '\$title'"),
        ({"a": {"$block": 1}}, None, "project.a shows true, a name"),
        ({"a": {"$matches": "("}}, None, r"project.a.\$matches: '\(' is not a regular expression"),
        (5, None, "project is a list of names or a mapping"),
    ],
)
def test_wrong_fields_are_refused(project: object, add: object, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        Fields(project, add)


def test_pages_are_found_by_words_by_letters_and_by_both() -> None:
    def rank(text: str) -> list[str]:
        assert text == "engine"
        return ["engine", "people/bob", "people/ada"]

    assert keys(find(LIBRARY, lexical="engine", rank=rank)) == ["engine", "people/bob", "people/ada"]
    assert keys(find(LIBRARY, fuzzy_query="ad")) == ["people/ada"]
    assert keys(find(LIBRARY, fuzzy_query="PPBB")) == ["people/bob"]
    assert keys(find(LIBRARY, lexical="engine", rank=rank, fuzzy_query="bob")) == ["people/bob", "engine", "people/ada"]
    assert keys(find(LIBRARY, fuzzy_query=" ")) == []
    with pytest.raises(UsageError, match="have no index of words"):
        find(LIBRARY, lexical="engine")


def test_pages_are_selected_by_what_is_above_them() -> None:
    library = shelf(top="[a](a)\n", a="[b](b)\n", b="x", c="[b](b)\n", d="y")
    assert keys(find(library, selector=Selector.read(inside=["top"]), sort="key")) == ["a", "b"]
    assert keys(find(library, selector=Selector.read(inside=[{"key": "top", "depth": 1}]))) == ["a"]
    assert keys(find(library, selector=Selector.read(inside=["top", "c"]))) == ["b"]
    assert keys(find(library, selector=Selector.read(any_of=["top", "c"]), sort="key")) == ["a", "b"]
    assert keys(find(library, selector=Selector.read(outside=["top"]), sort="key")) == ["c", "d", "top"]
    with pytest.raises(UsageError, match=r"There is no page 'tops'\. Did you mean 'top'"):
        find(library, selector=Selector.read(inside=["tops"]))
    for wrong in (5, {"keys": "a"}, {"key": "a", "depth": -1}):
        with pytest.raises(UsageError):
            Selector.read(inside=[wrong])


def test_pages_are_selected_by_their_links() -> None:
    assert keys(find(LIBRARY, refs_to="engine", sort="key")) == ["people/ada", "people/bob"]
    assert keys(find(LIBRARY, refs_from="index", sort="key")) == ["people/ada", "people/bob"]
    assert keys(find(LIBRARY, refs_to="missing")) == ["index"]
    with pytest.raises(UsageError, match="There is no page 'missing'"):
        find(LIBRARY, refs_from="missing")


def test_pages_are_sorted_by_fields() -> None:
    assert keys(find(LIBRARY, sort={"born": 1})) == ["people/bob", "people/ada", "engine", "index", "lone"]
    assert keys(find(LIBRARY, sort="born:-1")) == ["people/ada", "people/bob", "engine", "index", "lone"]
    assert keys(find(LIBRARY, sort=["born:1", {"key": -1}]))[2:] == ["lone", "index", "engine"]
    assert keys(find(LIBRARY, sort="title"))[:2] == ["people/ada", "people/bob"]
    for wrong in ("born:2", {"born": "up"}, {"born": True}, ":1"):
        with pytest.raises(UsageError, match="sort is a field with 1"):
            find(LIBRARY, sort=wrong)


def test_results_are_the_same_in_any_order_of_making() -> None:
    texts = {key: LIBRARY.page(key).text for key in reversed(LIBRARY.keys())}  # type: ignore[union-attr]
    assert as_json(find(Shelf(texts)).items) == as_json(find(LIBRARY).items)
