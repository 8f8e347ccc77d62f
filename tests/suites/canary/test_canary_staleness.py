"""What was true before a question was asked."""

from __future__ import annotations

import pytest
from canary_documents import TABLE, checker, dossier, passage, question

from memassay.suites.canary.fixture import Atom
from memassay.suites.canary.labels import label
from memassay.suites.canary.staleness import outdated, with_table

OLD = Atom(text="every 40 seconds", doc="adr/0007-queue.md", until="2025-06-02")
NEW = (Atom(text="order_stream", doc="adr/0012-queue.md"),)


@pytest.mark.parametrize(
    ("given", "count"),
    [
        ({}, 1),
        ({"as_of": "2025-06-02T09:30"}, 1),
        ({"as_of": "2025-06-01"}, 0),
        ({"premise_valid": False}, 0),
        ({"forbidden": (OLD.model_copy(update={"until": None}),)}, 0),
        ({"required": (Atom(text="40 seconds"),)}, 0),
        ({"required": (Atom(text="0 seconds"),)}, 1),
        ({"forbidden": ()}, 0),
    ],
)
def test_what_had_stopped_being_true_when_it_was_asked(given: dict[str, object], count: int) -> None:
    asked = question(**{"forbidden": (OLD,), "required": NEW, **given})
    assert outdated(asked) == (OLD,) * count


def test_a_table_says_what_a_required_fact_replaced() -> None:
    asked = with_table(question(required=NEW), TABLE)
    assert asked.forbidden == (Atom(text="every 40 seconds", until="2025-06-02"),)
    assert outdated(asked) == asked.forbidden
    assert with_table(asked, TABLE) == asked
    plain = question()
    assert with_table(plain, TABLE) is plain


def test_an_old_value_is_stale_and_never_correct() -> None:
    asked = question(forbidden=(OLD,), required=NEW)
    text = "A worker polls it every 40 seconds."
    found = label(asked, dossier(passage(text, "adr/0007-queue.md")), 200, checker())
    assert (found.label, found.stale, found.parts.stale_atoms) == ("incorrect", True, 1)
    both = dossier(passage(text, "adr/0007-queue.md"), passage("Orders go through `order_stream`", "adr/0012-queue.md"))
    assert (label(asked, both, 200, checker()).label, label(asked, both, 200, checker()).stale) == ("correct", True)
    assert label(asked, dossier(), 200, checker()).stale is False
    assert label(question(), both, 200, checker()).stale is None
