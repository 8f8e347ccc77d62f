from __future__ import annotations

from typing import Any

import pytest
from lifecycle_protocols import TRANSFER, UPDATE, protocol, values

from memassay.core.errors import DataError
from memassay.suites.lifecycle.protocol import problems, protocol_of

QUESTION = {"prompt": "Which?", "grading": {"kind": "entity", "aliases": ["a"]}}


@pytest.mark.parametrize("base", [TRANSFER, UPDATE], ids=["transfer", "update"])
def test_a_whole_protocol_is_accepted(base: dict[str, Any]) -> None:
    made = protocol_of(base, "a test")
    assert made.id == base["id"]
    assert not list(problems(made))
    assert made.cluster == made.id
    assert made.entities == (made.entity_urn,)


RULES: list[tuple[dict[str, Any], str]] = [
    ({"id": ""}, "id is empty"),
    ({"title": ""}, "title is empty"),
    ({"fact": ""}, "fact is empty"),
    ({"entity_urn": ""}, "entity_urn is empty"),
    ({"budget_tool_calls": 0}, "budget_tool_calls is 0"),
    ({"budget_tool_calls": -3}, "budget_tool_calls is -3"),
    ({"sink": "wiki"}, "sink is 'wiki'; write datahub or knowledge_page"),
    ({"page": None}, "page.slug is missing"),
    ({"page__slug": ""}, "page.slug is missing"),
    ({"page__title": ""}, "page.title is missing"),
    ({"page__summary": None}, "page.summary is missing"),
    ({"page__body": ""}, "page.body is missing"),
    ({"teach__prompt": ""}, "teach.prompt is empty"),
    ({"recall__prompt": ""}, "recall.prompt is empty"),
    ({"recall__grading__value": None}, "recall.grading.value is missing"),
    ({"recall__grading__abs_tolerance": -0.5}, "recall.grading.abs_tolerance is -0.5"),
    ({"recall__grading": {"kind": "entity"}}, "recall.grading.aliases is empty"),
    ({"recall__grading": {"kind": "entity", "aliases": ["", ""]}}, "recall.grading.aliases is empty"),
    (
        {"recall__grading": {"kind": "entity", "aliases": ["West End"], "wrong_aliases": ["west"]}},
        "'west', which stands",
    ),
    ({"recall__grading__kind": "exec_sql"}, "recall.grading.kind is exec_sql"),
    ({"recall__grading__kind": "state"}, "recall.grading.kind is 'state'"),
    ({"transfer__prompt": ""}, "transfer.prompt is empty"),
    ({"transfer__grading__value": None}, "transfer.grading.value is missing"),
    ({"update": UPDATE["update"]}, "transfer and update exclude each other"),
    ({"abstain__prompt": ""}, "abstain.prompt is empty"),
    ({"extras": {"twin": {"prompt": "", "grading": QUESTION["grading"]}}}, "extras.twin.prompt is empty"),
    ({"extras": {"never_taught": {"prompt": "?", "grading": {"kind": "x"}}}}, "extras.never_taught.grading.kind"),
    ({"extras": {"forget": {"prompt": ""}}}, "extras.forget.prompt is empty"),
    (
        {"extras": {"interference": [{"prompt": "p", "fact": "", "entity_urn": "u"}]}},
        "extras.interference[0].fact is empty",
    ),
    ({"fact": "half \ud83d of it"}, "fact holds half of a surrogate pair"),
]


@pytest.mark.parametrize(("changes", "said"), RULES, ids=[said[:40] for _, said in RULES])
def test_every_rule_is_one_sentence_with_the_field(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError) as caught:
        protocol(**changes)
    sentence = str(caught.value)
    assert sentence.startswith("a test: ")
    assert said in sentence
    assert "\n" not in sentence and sentence.endswith(".")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"update__prompt": ""}, "update.prompt is empty"),
        ({"update__fact": ""}, "update.fact is empty"),
        ({"update__recall__prompt": ""}, "update.recall.prompt is empty"),
        ({"update__recall__grading__aliases": []}, "update.recall.grading.aliases is empty"),
        ({"extras": {"correction": UPDATE["update"]}}, "extras.correction corrects a promoted fact"),
    ],
)
def test_every_rule_of_a_correction(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError, match=said.replace(".", r"\.")):
        protocol(UPDATE, **changes)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"id": None}, "id is missing; add it."),
        ({"recall__grading": None}, "recall.grading is missing; add it."),
        ({"title": 2025}, "title must be text; put it in quotes, not 2025."),
        ({"title": True}, "title must be text; put it in quotes, not true."),
        ({"teach": "x"}, "teach must be a mapping, not 'x'."),
        ({"budget_tool_calls": 1.5}, "budget_tool_calls must be a whole number, not 1.5."),
        ({"budget_tool_calls": True}, "budget_tool_calls must be a whole number, not true."),
        ({"recall__grading__value": "41"}, "recall.grading.value must be a number, not '41'."),
        ({"recall__grading__value": True}, "recall.grading.value must be a number, not true."),
        ({"recall__grading__value": float("inf")}, "recall.grading.value must be a finite number, not inf."),
        ({"recall__grading__aliases": "Riga"}, "recall.grading.aliases must be a list, not 'Riga'."),
        ({"recall__grading__aliases": ["a", 3]}, "recall.grading.aliases[1] must be text; put it in quotes, not 3."),
        ({"promote": {}}, "promote is no field of a protocol."),
        ({"recall__grading__alias": []}, "recall.grading.alias is no field of a protocol. Did you mean 'aliases' or"),
        ({"extras": {"naive": [{"reading": "x", "answer": []}]}}, "extras.naive[0].answer must be a number, not []."),
    ],
)
def test_a_wrong_type_is_one_sentence_with_the_field(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError) as caught:
        protocol(**changes)
    assert str(caught.value).startswith(f"a test: {said}")
    assert "\n" not in str(caught.value)


def test_a_number_of_thousands_of_digits_is_refused() -> None:
    with pytest.raises(DataError, match=r"recall\.grading\.value"):
        protocol(recall__grading__value=10**400)


@pytest.mark.parametrize("data", [None, [], "id: x", 3])
def test_what_is_no_mapping_is_refused(data: object) -> None:
    with pytest.raises(DataError, match="a test is no protocol"):
        protocol_of(data, "a test")


def test_the_first_published_pages_had_no_summary() -> None:
    old = values(page__summary=None)
    assert protocol_of(old, "a test", original=True).page.summary is None  # type: ignore[union-attr]
    with pytest.raises(DataError, match=r"page\.summary is missing"):
        protocol_of(old, "a test")


def test_a_page_may_stand_beside_the_other_sink_and_tolerance_may_be_left_out() -> None:
    made = protocol(sink="datahub", recall__grading__abs_tolerance=None)
    assert made.page is not None
    assert made.recall.grading.abs_tolerance == 0
