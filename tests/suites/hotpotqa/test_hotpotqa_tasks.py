from __future__ import annotations

import pytest
from hotpotqa_files import question, record
from hypothesis import given
from hypothesis import strategies as st

from memassay.suites.hotpotqa.draw import draw
from memassay.suites.hotpotqa.linking import Plain
from memassay.suites.hotpotqa.load import Question, parse
from memassay.suites.hotpotqa.pool import Links, corpus, pool
from memassay.suites.hotpotqa.tasks import held_elsewhere, joined, tasks


def made(*questions: Question) -> dict[str, object]:
    drawn = draw([q.id for q in questions])
    return {task.id: task for task in tasks(questions, drawn, pool(questions))}


def small() -> tuple[Question, ...]:
    return parse([record("q1"), record("q2", [["Eel House", 1], ["Brankton", 0]])], file="f").questions


# -- the pool ------------------------------------------------------------------------------------------------------


def test_the_pool_is_every_page_once_and_the_first_words_win() -> None:
    first = question("a", [], {"X": ["one."], "Y": ["two.", "  three. "]})
    again = question("b", [], {"Y": ["other words"], "Z": []})
    assert pool([first, again]) == [Plain("x", "X", "one."), Plain("y", "Y", "two. three."), Plain("z", "Z", "")]
    assert [page.body for page in pool([again, first])] == ["one.", "other words", ""]


def test_keys_are_given_in_the_order_of_the_titles() -> None:
    found = pool([question("a", [], {"b!": [""], "B": [""], "b": [""], "b 2": [""], "?": [""], "!": [""]})])
    # By bytes: "!", "?", "B", "b", "b 2", "b!".
    assert {p.title: p.key for p in found} == {
        "!": "article", "?": "article-2", "B": "b", "b": "b-2", "b 2": "b-2-2", "b!": "b-3",
    }  # fmt: skip


@pytest.mark.parametrize("links", ["none", "titles"])
def test_a_page_is_a_document_whose_unit_is_the_plain_body(links: Links) -> None:
    pages = pool(small())
    found = corpus(pages, links)
    assert (found.id, found.variant) == ("pool", links)
    by_key = {d.id: d for d in found.documents}
    mill = by_key["alder-mill"]
    plain = "Alder Mill is a mill in Brankton. It grinds oats."
    shown = plain.replace("Brankton", "[Brankton](brankton.md)") if links == "titles" else plain
    assert (mill.title, mill.text) == ("Alder Mill", f"# Alder Mill\n\n{shown}\n")
    assert mill.links == (("brankton",) if links == "titles" else ())
    (unit,) = mill.units
    assert (unit.id, unit.text) == ("alder-mill", plain)
    assert unit.span is not None and mill.text[slice(*unit.span)] == shown
    assert by_key["brankton"].links == (("cole-river",) if links == "titles" else ())


def test_the_variants_differ_in_text_and_digest_and_in_nothing_that_is_graded() -> None:
    pages = pool(small())
    plain, linked = corpus(pages, "none"), corpus(pages, "titles")
    assert plain.digest != linked.digest
    assert [u.text for d in plain.documents for u in d.units] == [u.text for d in linked.documents for u in d.units]
    assert corpus(pages, "titles") == linked


def test_a_page_without_words_has_no_unit() -> None:
    found = corpus(pool([question("a", [], {"Void": [" ", ""]})]), "none").documents[0]
    assert (found.text, found.units) == ("# Void\n\n\n", ())


# -- gold ----------------------------------------------------------------------------------------------------------


def test_the_gold_is_the_two_pages_and_apart_from_it_the_sentences() -> None:
    task = made(*small())["q1"]
    pages, facts = task.gold["original"], task.gold["facts"]  # type: ignore[attr-defined]
    assert [(e.id, e.text) for e in pages.evidence] == [
        ("alder-mill", "Alder Mill is a mill in Brankton. It grinds oats."),
        ("brankton", "Brankton is a town on the Cole. It has nine bridges."),
    ]
    assert [(e.id, e.text) for e in facts.evidence] == [
        ("alder-mill#0", "Alder Mill is a mill in Brankton."),
        ("brankton#1", "It has nine bridges."),
    ]
    assert (pages.answer, pages.unresolved, facts.unresolved) == ("oats", (), ())
    assert (task.category, task.scope, task.split, task.payload) == (  # type: ignore[attr-defined]
        "bridge", "pool", "dev", {"level": "hard"},
    )  # fmt: skip


def test_what_cannot_be_looked_for_is_unresolved() -> None:
    context = {"A": ["One. ", ""], "Void": [" "], "B": ["Two."]}
    lost = question("a", [("A", 0), ("A", 9), ("A", 1), ("Nowhere", 0), ("Void", 0)], context)
    none = question("b", [("Nowhere", 0)], context)
    # B is in the pool and not in the context of this question.
    stranger = question("c", [("B", 0)], {"A": ["One."]})
    found = made(lost, none, stranger)
    a, b, c = (found[name] for name in "abc")
    assert [e.id for e in a.gold["original"].evidence] == ["a"]  # type: ignore[attr-defined]
    assert a.gold["original"].unresolved == ("Nowhere", "Void")  # type: ignore[attr-defined]
    assert a.gold["facts"].unresolved == ("A#9", "A#1", "Nowhere#0", "Void#0")  # type: ignore[attr-defined]
    assert a.payload == {"partly_unresolved": True}  # type: ignore[attr-defined]
    for task in (b, c):
        assert task.gold["original"].evidence == () and task.payload == {}  # type: ignore[attr-defined]
        assert len(task.gold["original"].unresolved) == 1  # type: ignore[attr-defined]


def test_a_sentence_that_the_pool_shows_in_other_words_is_unresolved() -> None:
    first = question("a", [("A", 0)], {"A": ["First words."]})
    other = question("b", [("A", 0)], {"A": ["Other words."]})
    drawn = draw(["a", "b"])
    found = {t.id: t for t in tasks([first, other], drawn, pool([first, other]))}
    assert found["b"].gold["original"].evidence[0].text == "First words."
    assert (found["b"].gold["facts"].evidence, found["b"].gold["facts"].unresolved) == ((), ("A#0",))


def test_gold_that_stands_on_another_page_is_marked() -> None:
    context = {"A": ["Short words."], "B": ["Before. Short words. After."], "C": ["Shorter."], "D": ["Short words."]}
    found = made(question("a", [("A", 0), ("C", 0)], context), question("b", [("B", 0)], context))
    assert found["a"].payload == {"gold_elsewhere": ["a"]}  # type: ignore[attr-defined]
    assert found["b"].payload == {}  # type: ignore[attr-defined]


def test_words_inside_words_are_not_words_on_another_page() -> None:
    rows = [Plain("a", "A", "Art is"), Plain("b", "B", "smart isle; art is long"), Plain("c", "C", "Start island")]
    assert held_elsewhere(["a", "c"], rows) == {"a": "b"}
    assert held_elsewhere([], rows) == {}


# -- clusters ------------------------------------------------------------------------------------------------------


def test_questions_that_share_a_gold_page_are_one_cluster() -> None:
    found = joined([("q3", ["x", "y"]), ("q2", ["z"]), ("q1", ["y", "w"]), ("q4", []), ("q0", ["w"])])
    assert found == {"q3": "q0", "q1": "q0", "q0": "q0", "q2": "q2", "q4": "q4"}


@given(st.lists(st.lists(st.integers(0, 12), max_size=3), max_size=14))
def test_clusters_are_the_components(golds: list[list[int]]) -> None:
    rows = [(f"q{n:02}", [str(page) for page in gold]) for n, gold in enumerate(golds)]
    found = joined(rows)
    # By hand: spread the smallest id until nothing changes.
    wanted = {name: name for name, _ in rows}
    for _ in rows:
        for name, keys in rows:
            near = [wanted[other] for other, theirs in rows if set(keys) & set(theirs)]
            wanted[name] = min([wanted[name], *near])
    assert found == wanted
    assert joined(rows[::-1]) == found
