"""Planted fabrications of every kind, and what must not be taken for one."""

from __future__ import annotations

from typing import Any

import pytest
from canary_documents import DOCUMENTS, POLLS, TABLE, checker, passage

from memassay.suites.canary.claims import Finding
from memassay.suites.canary.supersessions import Supersession

CLEAN = Finding()


def check(text: str, *doc_ids: str, query: str = "", table: Any = TABLE, **given: Any) -> Finding:
    return checker(table).check(passage(text, *doc_ids, **given), query)


# -- sources -------------------------------------------------------------------------------------------------------


def test_a_document_that_does_not_exist_is_a_fabricated_source() -> None:
    assert check("The worker polls.", "adr/0099-queue.md") == Finding(source=True)
    found = check(POLLS.text, "adr/0007-queue.md", "adr/0099-queue.md")
    assert found.source and found.fabricated and not found.text


def test_two_documents_of_one_base_name_are_two() -> None:
    assert check("The warehouse opens at six in the morning", "a/README.md") == CLEAN
    assert check("The office opens at nine, and closes", "b/README.md") == CLEAN
    assert check("The office opens at nine, and closes", "a/README.md").elsewhere
    assert check("The office opens at nine, and closes", "README.md") == Finding(source=True)


def test_citing_everything_is_no_fabrication() -> None:
    assert check(POLLS.text, *(document.id for document in DOCUMENTS)) == CLEAN


# -- words ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "We keep the orders in one table. A worker polls it every 40 seconds.",
        "we keep\r\nthe ORDERS   in one table.",
        "eep the orders in one table. A worker polls it ev",
        "\ufffdep the orders in one table. A worker polls it\ufffd",
        "2025-01-10 ADR-0007: Queue of Borealis\nWe keep the orders in one table.",
        "10 January 2025\nADR-0007: Queue of Borealis > Limits\nA job of more than 2,500 lines is split.",
        "2025-01-10_adr_0007-queue.md.txt\nAt most 12 retries, see the runbook.",
        "title: ADR-0007: Queue of Borealis\n* At most **12** retries, see [the runbook](else.md).",
        "A worker polls it every 40 seconds.\nWe keep the orders in one table.",
        "We keep the orders in one table ... A job of more than 2,500 lines is split.",
        "Limits",
        "---",
    ],
)
def test_a_copy_is_a_copy_whatever_its_form(text: str) -> None:
    assert check(text, "adr/0007-queue.md") == CLEAN


@pytest.mark.parametrize(
    "text",
    [
        "We keep the orders in two tables.",
        "We keep the orders in one table. A worker polls it every 45 seconds.",
        "A worker polls it.\nWe keep the orders in one table.",
        "every\n45\nseconds\npolls",
        "ADR-0007: Queue of Borealis is void",
        "Borealis: Queue of ADR-0007",
    ],
)
def test_words_that_the_document_does_not_have_are_fabricated_text(text: str) -> None:
    found = check(text, "adr/0007-queue.md")
    assert found.text and found.fabricated and not found.elsewhere


def test_units_may_be_shown_with_or_without_their_speaker() -> None:
    assert check("2025-08-01\nAda: The import stopped at shard 77.\nBo: I will look.", "talk") == CLEAN
    assert check("I will look.", "talk") == CLEAN
    assert check("Bo: The import stopped at shard 77.", "talk").text


def test_without_a_source_a_copy_is_real_and_the_rest_is_read_as_derived() -> None:
    assert check("The office opens at nine, and closes when Wilma Quist goes.") == CLEAN
    assert check("The office has hours of its own.") == Finding(undetermined=True)
    assert check("The office opens at nine, says Tor Halvorsen.").invented == ("Tor", "Halvorsen")


# -- derived passages ----------------------------------------------------------------------------------------------


def test_a_paraphrase_without_a_term_of_its_own_is_undetermined() -> None:
    found = check("Orders live in a single table.", "adr/0007-queue.md", kind="fact")
    assert found == Finding(undetermined=True)
    assert check("The worker of Borealis retries 12 times.", "adr/0007-queue.md", kind="summary").undetermined


def test_a_derived_passage_in_the_words_of_its_document_is_real() -> None:
    assert check("A worker polls it every 40 seconds.", "adr/0007-queue.md", kind="fact") == CLEAN
    assert check("ADR-0007: Queue of Borealis, 2025-01-10", "adr/0007-queue.md", kind="metadata") == CLEAN


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("The worker polls every 47 minutes.", "47"),
        ("It was decided on 5 May 2019.", "5 May 2019"),
        ("Orders go through kafka_topic_9.", "kafka_topic_9"),
        ("The worker was written by Tor.", "Tor"),
    ],
)
def test_a_term_that_no_document_has_is_invented(text: str, term: str) -> None:
    found = check(text, "adr/0007-queue.md", kind="fact")
    assert found.invented == found.novel == (term,)
    assert found.fabricated and not found.undetermined


def test_a_term_of_another_document_is_novel_and_not_invented() -> None:
    found = check("Orders go through order_stream.", "adr/0007-queue.md", kind="fact")
    assert found == Finding(novel=("order_stream",), undetermined=True)


def test_words_of_the_question_are_no_invention() -> None:
    text = "Nothing is known of Zephyr-9."
    assert check(text, "adr/0007-queue.md", kind="fact").invented == ("Zephyr-9",)
    assert check(text, "adr/0007-queue.md", kind="fact", query="Who owns Zephyr-9?") == Finding(undetermined=True)


# -- replacements --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "ADR-0012 replaced ADR-0007 for good.",
        "ADR-0007 has been superseded by ADR-0012.",
        "ADR-0007 was retired in favour of ADR-0012 on 2 June 2025.",
    ],
)
def test_a_replacement_of_the_table_is_true(text: str) -> None:
    assert check(text, "adr/0012-queue.md", "adr/0007-queue.md", kind="fact") == CLEAN


@pytest.mark.parametrize(
    "text",
    [
        "ADR-0013 replaces ADR-0012.",
        "ADR-0012 is superseded by ADR-0013: Cache of Borealis.",
        "ADR-0007 replaced ADR-0012.",
        "ADR-0012 replaced ADR-0007 on 2024-02-02.",
    ],
)
def test_a_replacement_that_nobody_recorded_is_fabricated(text: str) -> None:
    found = check(text, "adr/0012-queue.md", "adr/0013-cache.md", "adr/0007-queue.md", kind="fact")
    assert found.supersession and found.fabricated


@pytest.mark.parametrize(
    "text",
    [
        "ADR-0013 does not replace ADR-0012.",
        "ADR-0013 may replace ADR-0012 one day.",
        "The cache replaces the stream.",
        "ADR-0013 and ADR-0012 replace it.",
        "ADR-0013 adds to ADR-0012.",
    ],
)
def test_what_cannot_be_matched_cleanly_is_undetermined(text: str) -> None:
    assert check(text, "adr/0012-queue.md", "adr/0013-cache.md", kind="fact").undetermined


def test_without_a_table_no_replacement_is_fabricated() -> None:
    text = "ADR-0013 replaces ADR-0012."
    assert check(text, "adr/0012-queue.md", "adr/0013-cache.md", kind="fact", table=None).undetermined
    assert check(POLLS.text, "adr/0007-queue.md", valid_to="2030-01-01", table=None) == Finding(undetermined=True)


# -- ends ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("valid_to", "doc"),
    [
        ("2025-06-02", "adr/0007-queue.md"),
        ("2025-06-02T00:00:00Z", "adr/0007-queue.md"),
        ("9999-12-31", "adr/0007-queue.md"),
        ("2026-03-03", "adr/0012-queue.md"),
    ],
)
def test_an_end_of_the_table_or_of_a_cited_document_is_true(valid_to: str, doc: str) -> None:
    text = {"adr/0007-queue.md": POLLS.text, "adr/0012-queue.md": "Orders go through `order_stream`"}[doc]
    assert check(text, doc, valid_to=valid_to) == CLEAN


def test_an_end_that_nothing_ended_is_fabricated_also_on_a_copy() -> None:
    found = check(POLLS.text, "adr/0007-queue.md", valid_to="2024-12-24")
    assert found == Finding(supersession=True)
    assert check("Beside the stream stands a cache.", "adr/0013-cache.md", valid_to="2025-12-01").supersession


@pytest.mark.parametrize("valid_to", ["soon", "2025-06-01", "2025-06-03"])
def test_an_end_that_nearly_matches_is_undetermined(valid_to: str) -> None:
    assert check(POLLS.text, "adr/0007-queue.md", valid_to=valid_to) == Finding(undetermined=True)


def test_the_end_of_something_else_on_the_same_day_is_undetermined() -> None:
    found = check("Beside the stream stands a cache.", "adr/0013-cache.md", valid_to="2025-06-02")
    assert found == Finding(undetermined=True)


def test_a_beginning_is_no_claim_of_an_end() -> None:
    assert check(POLLS.text, "adr/0007-queue.md", valid_from="1999-01-01") == CLEAN


def test_a_name_of_two_documents_matches_neither() -> None:
    table = (Supersession(old="README", new="ADR-0013", date="2025-09-09", doc="adr/0013-cache.md"),)
    assert check("README replaced ADR-0013.", "adr/0013-cache.md", kind="fact", table=table).supersession
    assert "readme" not in checker(()).manifest.entities
