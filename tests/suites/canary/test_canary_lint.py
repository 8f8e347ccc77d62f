"""What the linter finds, and that it finds nothing where nothing is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from memassay.core.types import Document
from memassay.suites.canary.families import FAMILIES
from memassay.suites.canary.fixture import Atom, Question
from memassay.suites.canary.lint import Finding, lint

TEXT = "The gate closes at nine. No more than 340 rows may go into one load of the pump, whatever the tide."
DOCUMENTS = (
    Document(id="a.md", text=TEXT, date="2025-01-01"),
    Document(id="b.md", text="The gate closed at eight until 2025-02-01.", date="2025-06-01"),
)


def asked(number: int = 1, **more: Any) -> Question:
    about: dict[str, Any] = {
        "id": f"q{number}",
        "family": "current_canonical",
        "query": f"When is the door shut, number {number}?",
        "required": (Atom(text="closes at nine", doc="a.md", start=9, end=23),),
        "expected_doc_ids": ("a.md",),
        "line": number,
    }
    return Question(**about | more)


def found(*questions: Question) -> list[Finding]:
    """What is found about single questions."""
    return [finding for finding in lint(questions, DOCUMENTS) if finding.line]


def test_a_right_question_gives_nothing() -> None:
    forbidden = (Atom(text="closed at eight", doc="b.md", start=9, end=24, until="2025-02-01"),)
    assert found(asked(forbidden=forbidden, as_of="2025-06-05")) == []


WRONG: list[tuple[dict[str, Any], str, str, str]] = [
    ({"family": "multihop"}, "family", "error", 'the family "multihop" is unknown. Did you mean \'multi_hop\'?'),
    ({"expected_doc_ids": ("a.mdx",)}, "expected_doc_ids", "error", 'no document is "a.mdx". Did you mean \'a.md\''),
    ({"required": (Atom(text="x", doc="c.md"),)}, "required[0].doc", "error", 'no document is "c.md"'),
    ({"required": (Atom(text="at nine", doc="a.md", start=0, end=7),)}, "required[0].start", "error",
     "the words stand at 16 to 23; write these."),
    ({"required": (Atom(text="at ten", doc="a.md", start=16, end=22),)}, "required[0].start", "error",
     "the words are nowhere"),
    ({"required": (Atom(text="at ten", doc="a.md"),)}, "required[0].text", "error", "does not stand in a.md"),
    ({"required": (Atom(text="at ten", doc="a.md", weak=True),)}, "required[0].text", "warning", "does not stand"),
    ({"forbidden": (Atom(text="at ten", doc="b.md"),)}, "forbidden[0].text", "error", "does not stand in b.md"),
    ({"forbidden": (Atom(text="Closes  at nine"),)}, "required[0]", "error", "is forbidden as well"),
    ({"required": ()}, "required", "warning", "only judges can label it"),
    ({"family": "abstention_false_premise"}, "premise_valid", "error", "has no true premise; write false"),
    ({"premise_valid": False}, "required", "error", "the premise is false"),
    ({"premise_valid": False, "required": ()}, "expected_doc_ids", "error", "the premise is false"),
    ({"as_of": "2024-12-31"}, "as_of", "error", "before the first document (2025-01-01)"),
    ({"as_of": "2036-06-05"}, "as_of", "warning", "check the year"),
    ({"query": "Is it true that the gate closes AT NINE?"}, "query", "error", "holds its own answer"),
    ({"query": "Why may no more than 340 rows go? No more than 340 rows may go into where?"}, "query", "warning",
     'it quotes a.md ("no more than 340 rows may go into")'),
    ({"notes": "LightRAG should win this one"}, "notes", "warning", "the notes name a memory (LightRAG)"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "field", "severity", "says"), WRONG)
def test_each_kind_of_mistake_is_found_once_with_its_field_and_fix(
    change: dict[str, Any], field: str, severity: str, says: str
) -> None:
    (finding,) = found(asked(1), asked(2, **change))
    assert (finding.line, finding.id, finding.field, finding.severity) == (2, "q2", field, severity)
    assert says in finding.message and finding.message.endswith((".", "?"))


def test_ids_and_words_used_twice_name_the_first_line() -> None:
    twice = found(asked(1), asked(2, id="q1"), asked(3, query="when is the DOOR shut: number 1"))
    assert [(finding.line, finding.field) for finding in twice] == [(2, "id"), (3, "query")]
    assert "line 1" in twice[0].message and "line 1" in twice[1].message
    assert found(asked(1), asked(2, query=asked(1).query, as_of="2025-02-02")) == []


def test_small_families_and_families_without_questions_are_warnings_about_all() -> None:
    every = [
        asked(number, family=family, premise_valid=family != FAMILIES[6])
        for number, family in enumerate([FAMILIES[0]] * 8 + [FAMILIES[1]] * 7, start=1)
    ]
    small, missing = lint(every, DOCUMENTS)
    assert (small.line, small.severity, missing.severity) == (0, "warning", "warning")
    assert small.message.startswith("handoff_continuity has 7 questions; write 8 or more")
    assert "current_canonical" not in missing.message and "link_graph" in missing.message


def test_a_fact_that_most_documents_hold_needs_no_retrieval() -> None:
    documents = [Document(id=f"{n}.md", text=f"The rule of room {n} is shelf {40 + n}.") for n in range(12)]
    named = [f"{n}.md" for n in range(12)]
    both = (Atom(text="the rule", doc="3.md"), Atom(text="shelf 43", doc="3.md"))
    (finding,) = [one for one in lint([asked(required=both, expected_doc_ids=(named[3],))], documents) if one.line]
    assert (finding.field, finding.severity) == ("required[0].text", "warning")
    assert '"the rule" stands in 12 of 12 documents, so that any of them would do' in finding.message
    assert not [one for one in lint([asked(required=both, expected_doc_ids=("3.md",))], documents[:7]) if one.line]
