"""The generated company: consistent, the same everywhere, and neither trivial nor impossible to search."""

from __future__ import annotations

import posixpath
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from kit import printed_elsewhere, shared_words
from memassay.core.contracts import BuildContext
from memassay.core.digest import digest_of
from memassay.core.dossier import Rendering
from memassay.core.tokens import tokenizer
from memassay.core.types import Corpus, Passage, Query, StoreRef
from memassay.core.wording import normalise, stands
from memassay.memories.lexical import Lexical
from memassay.suites.canary.families import PUBLISHED, allocate
from memassay.suites.canary.fixture import Question, read_fixture, write_fixture
from memassay.suites.canary.lint import lint
from memassay.suites.canary.world import FEWEST, LAST_DAY, SEED, World, make_world
from memassay.suites.canary.world.history import make_table

BUDGET = 1000


@cache
def world(seed: int = SEED, documents: int = 130) -> World:
    return make_world(seed, documents)


def of(family: str, made: World) -> list[Question]:
    return [question for question in made.questions if question.family == family]


DIGEST = """
from memassay.core.digest import digest_of
from memassay.suites.canary.world import make_world
made = make_world()
print(digest_of([list(made.documents), list(made.questions), list(made.supersessions)]))
"""


def test_a_world_is_the_same_in_every_process_and_another_with_another_seed(tmp_path: Path) -> None:
    here = world()
    digest = digest_of([list(here.documents), list(here.questions), list(here.supersessions)])
    assert printed_elsewhere(DIGEST, tmp_path) == {digest}
    assert world(1).documents != here.documents


@pytest.mark.parametrize("documents", [FEWEST, 97, 130, 400])
def test_it_has_as_many_documents_as_asked_for_and_always_128_questions(documents: int) -> None:
    made = world(2, documents)
    assert len(made.documents) == len({document.id for document in made.documents}) == documents
    assert Counter(question.family for question in made.questions) == allocate(PUBLISHED, 128)
    assert len({question.query for question in made.questions}) == len({q.id for q in made.questions}) == 128


@pytest.mark.parametrize("documents", [FEWEST - 1, 5001])
def test_a_size_that_cannot_be_is_refused(documents: int) -> None:
    with pytest.raises(ValueError, match="60 to 5,000 documents"):
        make_world(1, documents)


@pytest.mark.parametrize(("seed", "documents"), [(SEED, 130), (3, FEWEST), (4, 400)])
def test_every_place_is_right_and_the_linter_finds_nothing(seed: int, documents: int) -> None:
    made = world(seed, documents)
    texts = {document.id: document.text for document in made.documents}
    for question in made.questions:
        for atom in (*question.required, *question.forbidden):
            assert atom.doc is not None
            assert texts[atom.doc][atom.start : atom.end] == atom.text
        assert {atom.doc for atom in question.required} <= set(question.expected_doc_ids)
    assert lint(made.questions, made.documents) == []


def test_documents_have_front_matter_sections_as_units_and_links_that_lead_somewhere() -> None:
    made = world()
    ids = {document.id for document in made.documents}
    for document in made.documents:
        assert document.date is not None and document.date <= LAST_DAY
        assert document.text.startswith(f"---\ndate: {document.date}\n")
        assert f"\n# {document.title}\n" in document.text and set(document.links) <= ids
        assert len({unit.id for unit in document.units}) == len(document.units) > 2
        for unit in document.units:
            assert unit.span is not None and document.text[slice(*unit.span)] == unit.text
    assert {document.id.split("/")[0] for document in made.documents} == {
        "adr", "designs", "handoffs", "incidents", "invariants", "runbooks", "teams", "tickets",
    }  # fmt: skip


def test_some_documents_share_a_base_name_in_different_folders() -> None:
    names = Counter(posixpath.basename(document.id) for document in world().documents)
    titles = Counter(document.title for document in world().documents)
    assert sum(count > 1 for count in names.values()) >= 2
    assert [title for title, count in titles.items() if count > 1]


def test_a_required_fact_stands_nowhere_but_in_its_document() -> None:
    made = world()
    texts = {document.id: normalise(document.text) for document in made.documents}
    for question in made.questions:
        for atom in question.required:
            others = [name for name, text in texts.items() if name != atom.doc and stands(normalise(atom.text), text)]
            # A stale runbook still gives the bound of old, which a question about the change asks for.
            stale = question.family == "temporal_supersession" and all(name.startswith("runbooks/") for name in others)
            assert not others or stale, (question.id, atom.text, others)


def test_what_a_false_premise_asks_about_is_nowhere() -> None:
    everything = "\n".join(document.text for document in world().documents).casefold()
    for question in of("abstention_false_premise", world()):
        name = question.cluster.removeprefix("nothing: ")
        assert name in question.query and name.casefold() not in everything
        assert not question.premise_valid and question.expected_label == "abstained" and not question.required


def test_links_are_the_whole_set_of_the_link_graph() -> None:
    made = world()
    for question in of("link_graph", made):
        linking = {document.id for document in made.documents if question.cluster in document.links}
        assert set(question.expected_doc_ids) == linking == {atom.doc for atom in question.required}
        assert 2 <= len(linking) <= 4


def test_an_update_is_the_difference_of_two_versions() -> None:
    made = world()
    texts = {document.id: document.text for document in made.documents}
    for question in of("knowledge_update", made):
        (second,) = question.expected_doc_ids
        points = [set(_points(texts[name])) for name in (second.replace("-v2", "-v1"), second)]
        assert {atom.text for atom in question.required} <= points[1] - points[0]
        assert {atom.text for atom in question.forbidden} == points[0] - points[1]
        if len(question.required) > 1:
            assert len(question.required) == len(points[1] - points[0]) - 1


def _points(text: str) -> list[str]:
    return [line.removeprefix("- ") for line in text.splitlines() if line.startswith("- ")]


def test_chains_are_linked_from_the_decision_to_the_incident() -> None:
    made = world()
    links = {document.id: document.links for document in made.documents}
    for question in of("multi_hop", made):
        decision, ticket, incident = question.expected_doc_ids
        assert ticket in links[decision] and incident in links[ticket]


def test_what_was_replaced_is_in_the_table_with_its_day_and_document() -> None:
    made = world()
    texts = {document.id: document.text for document in made.documents}
    for row in made.supersessions:
        assert row.new.casefold() in texts[row.doc].casefold() and row.old != row.new and row.date <= LAST_DAY
    replaced = {(row.old.casefold(), row.date) for row in made.supersessions}
    for question in made.questions:
        for atom in question.forbidden:
            if atom.until is not None:
                assert (atom.text.casefold(), atom.until) in replaced
    assert len({(row.old, row.new) for row in made.supersessions}) == len(made.supersessions)


def test_a_question_about_an_earlier_day_wants_what_held_then() -> None:
    made = world()
    dates = {document.id: document.date or "" for document in made.documents}
    earlier = [q for q in of("temporal_supersession", made) if q.as_of and q.as_of < LAST_DAY]
    assert earlier
    for question in earlier:
        assert question.as_of is not None
        (right,), (wrong,) = question.required, question.forbidden
        assert dates[right.doc or ""] <= question.as_of < dates[wrong.doc or ""]


def test_a_handoff_wants_the_latest_note_only() -> None:
    made = world()
    for question in of("handoff_continuity", made):
        (latest,) = question.expected_doc_ids
        notes = sorted(d.id for d in made.documents if d.id.startswith(posixpath.dirname(latest) + "/"))
        assert latest == notes[-1] and [atom.doc for atom in question.forbidden] == notes[:-1]


def test_things_of_one_name_have_each_other_as_the_wrong_answer() -> None:
    for question in of("entity_disambiguation", world()):
        (right,), (wrong,) = question.required, question.forbidden
        assert right.doc != wrong.doc and right.text != wrong.text and question.cluster in question.query


def test_names_that_changed_are_aliases_and_documents_keep_the_name_of_their_day() -> None:
    table = make_table(SEED, 130)
    renamed = [service for service in table.services if service.former]
    assert renamed and len({service.name for service in table.services}) == len(table.services)
    asked = [q for q in world().questions if q.aliases]
    assert {alias for q in asked for alias in q.aliases} <= {name for s in renamed for name in (s.former, s.name)}
    rule = next(d for d in world().documents if d.id.startswith(f"invariants/{renamed[0].former.lower()}-"))
    assert renamed[0].name not in rule.text


def test_the_splits_share_no_document_about_a_service() -> None:
    made = world()
    gold = {
        split: {name for q in made.questions if q.split == split for name in q.expected_doc_ids}
        for split in ("dev", "sealed")
    }
    shared = gold["dev"] & gold["sealed"]
    assert all(name.startswith("teams/") for name in shared) and min(len(found) for found in gold.values()) > 20


def test_the_words_of_a_question_are_often_not_those_of_the_answer() -> None:
    made = world()
    units = [unit for document in made.documents for unit in document.units]
    few = 0
    asked = [q for q in made.questions if len(q.required) == 1]
    for question in asked:
        section = next(unit.text for unit in units if question.required[0].text in unit.text)
        few += shared_words(question.query, section) <= 1
    assert 0.3 < few / len(asked) < 0.9


def test_a_fixture_of_it_is_read_back_as_it_is(tmp_path: Path) -> None:
    write_fixture(tmp_path / "q.jsonl", world().questions)
    assert read_fixture(tmp_path / "q.jsonl") == world().questions


# -- neither trivial nor impossible --------------------------------------------------------------------------------


def covered(question: Question, passages: list[Passage]) -> bool:
    text = normalise(Rendering(passages, tokenizer()).cut(BUDGET))
    return all(stands(normalise(atom.text), text) for atom in question.required)


@pytest.mark.parametrize("seed", [SEED, 5])
def test_word_search_finds_some_of_it_and_gold_all(seed: int, tmp_path: Path) -> None:
    made = world(seed)
    Lexical().build(Corpus(id="canary", documents=made.documents, digest="any"), tmp_path, BuildContext())
    store = Lexical().open(StoreRef(key="any", location=str(tmp_path)))
    asked = [question for question in made.questions if question.premise_valid]
    queries = [Query(text=question.query, as_of=question.as_of, budget_tokens=BUDGET) for question in asked]
    share = sum(covered(q, store.retrieve(query)) for q, query in zip(asked, queries, strict=True)) / len(asked)
    assert 0.4 < share < 0.9
    units = {document.id: document.units for document in made.documents}
    for question in asked:
        gold = [
            unit.text
            for atom in question.required
            for unit in units[atom.doc or ""]
            if unit.span and atom.start is not None and unit.span[0] <= atom.start < unit.span[1]
        ]
        assert covered(question, [Passage(text=text) for text in dict.fromkeys(gold)]), question.id


@pytest.mark.slow
def test_the_largest_world_holds_together() -> None:
    made = make_world(1, 5000)
    assert len({document.id for document in made.documents}) == 5000
    assert lint(made.questions, made.documents) == []
