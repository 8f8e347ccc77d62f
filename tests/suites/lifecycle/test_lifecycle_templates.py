from __future__ import annotations

import re
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from lifecycle_protocols import TRANSFER, UPDATE, protocol

from memassay.core.errors import UsageError
from memassay.suites.lifecycle.answers import published_correct, same_answer
from memassay.suites.lifecycle.loading import load_protocols
from memassay.suites.lifecycle.protocol import Extras, Naive, Protocol, problems
from memassay.suites.lifecycle.templates import DEFAULT_PROTOCOLS, TEMPLATES, build, generate, lint, lint_set
from memassay.suites.lifecycle.templates.queries import Average, Clause, Query, Total, from_sql
from memassay.suites.lifecycle.templates.rules import dataset_name
from memassay.suites.lifecycle.templates.terms import invented, terms
from memassay.suites.lifecycle.templates.topics import ANSWERABLE, UNANSWERABLE, answerable
from memassay.suites.lifecycle.warehouse import Warehouse, make_warehouse


def extras(one: Protocol) -> Extras:
    assert one.extras is not None
    return one.extras


def test_at_least_thirty_from_at_least_eight_templates_in_full_balance(generated: tuple[Protocol, ...]) -> None:
    assert len(generated) == DEFAULT_PROTOCOLS >= 30
    assert len(TEMPLATES) >= 8
    for template in TEMPLATES:
        own = [one for one in generated if one.template == template.name]
        assert Counter((one.sink, one.update is not None) for one in own) == {
            (sink, update): 1 for sink in ("datahub", "knowledge_page") for update in (False, True)
        }


@pytest.mark.parametrize("count", [2, 10, 30, 34])
def test_every_even_number_has_as_many_of_either(generated: tuple[Protocol, ...], count: int) -> None:
    some = generated[:count]
    assert sum(one.sink == "datahub" for one in some) == count // 2
    assert sum(one.update is not None for one in some) == count // 2


def test_every_rule_holds(generated: tuple[Protocol, ...], warehouse: Warehouse) -> None:
    assert not lint_set(generated)
    for one in generated:
        assert not list(problems(one))
        assert not lint(one, warehouse.vocabulary)


def test_every_key_is_what_the_stated_sql_gives(generated: tuple[Protocol, ...], warehouse: Warehouse) -> None:
    with closing(warehouse.connect()) as connection:
        for one in generated:
            correction = one.update or extras(one).correction
            assert correction is not None
            pairs = [(one.fact, one.recall), (correction.fact, correction.recall)]
            for fact, question in pairs:
                stated = re.search("SQL: (SELECT .*);", fact)
                assert stated is not None
                found = from_sql(connection, stated[1])
                shown = f"{found:.2f}" if isinstance(found, float) else str(found)
                assert published_correct(f"FINAL ANSWER: {shown}", question.grading), one.id


def test_every_twin_is_answered_by_the_column_over_the_stated_hires(
    generated: tuple[Protocol, ...], warehouse: Warehouse
) -> None:
    columns = dict(ANSWERABLE)
    with closing(warehouse.connect()) as connection:
        for one in generated:
            twin = extras(one).twin
            assert twin is not None
            subject = re.search("average (.*?) of ", twin.prompt)
            assert subject is not None
            sql = extras(one).corrected_query if one.update else extras(one).query
            table = dataset_name(one.entity_urn)
            if one.recall.grading.kind == "numeric":
                where = sql[sql.index(" WHERE ") :]
            else:
                grouped = sql[len("SELECT ") : sql.index(" FROM main.hires")]
                where = f" WHERE {grouped} = ({sql})"
            found = from_sql(connection, f"SELECT avg({columns[subject[1]]}) FROM {table}{where}")
            assert isinstance(found, float)
            assert published_correct(f"FINAL ANSWER: {found:.2f}", twin.grading), one.id


def test_what_is_asked_in_every_stage(generated: tuple[Protocol, ...]) -> None:
    for one in generated:
        more = extras(one)
        assert (one.transfer is None) != (one.update is None)
        assert one.abstain is not None and more.twin is not None and more.forget is not None
        assert more.never_taught == one.recall
        assert (more.correction is None) == (one.transfer is None)
        assert len(more.interference) == 3
        assert len({fact.fact for fact in more.interference} | {one.fact}) == 4
        assert one.fact in one.teach.prompt and more.term in one.recall.prompt
        # The twin differs from the abstain question in its subject alone.
        start, end = "What is the average ", f" in {dataset_name(one.entity_urn)}?"
        for prompt in (one.abstain.prompt, more.twin.prompt):
            assert prompt.startswith(start) and prompt.endswith(end) and more.term in prompt


def test_a_small_set_is_the_beginning_of_a_large_one(generated: tuple[Protocol, ...], warehouse: Warehouse) -> None:
    assert generate(make_warehouse(warehouse.seed, 7), 7) == generated[:7]
    fewer = generate(make_warehouse(warehouse.seed, 2), 2, interference=0)
    assert [one.recall for one in fewer] != [] and all(not extras(one).interference for one in fewer)


def test_another_seed_gives_other_protocols(generated: tuple[Protocol, ...]) -> None:
    other = generate(make_warehouse(12, 3), 3)
    assert {extras(one).term for one in other}.isdisjoint(extras(one).term for one in generated[:3])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_many_seeds_have_sound_protocols(seed: int) -> None:
    made = make_warehouse(seed, DEFAULT_PROTOCOLS)
    assert len(generate(made)) == DEFAULT_PROTOCOLS


@pytest.mark.slow
def test_hundreds_of_protocols() -> None:
    made = make_warehouse(3, 300)
    protocols = generate(made, 300)
    assert len({extras(one).term for one in protocols}) == 300


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"protocols": 0}, "protocols is 0"),
        ({"protocols": 5000}, "protocols is 5,000"),
        ({"protocols": 37}, "need as many ledgers"),
        ({"interference": 13}, "interference is 13"),
    ],
)
def test_numbers_that_are_refused(warehouse: Warehouse, arguments: dict[str, int], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        generate(warehouse, **arguments)


def test_a_key_that_sql_does_not_give_is_noticed(generated: tuple[Protocol, ...], warehouse: Warehouse) -> None:
    one = generated[0]
    wrong = one.recall.grading.model_copy(update={"value": (one.recall.grading.value or 0) + 1})
    broken = one.model_copy(update={"recall": one.recall.model_copy(update={"grading": wrong})})
    with closing(warehouse.connect()) as connection:
        build._check_keys(one, connection)
        with pytest.raises(AssertionError, match="in SQL and"):
            build._check_keys(broken, connection)


# -- the weak items of the published set, each refused ---------------------------------------------------------------


def changed(base: dict[str, Any] = TRANSFER, **changes: Any) -> tuple[str, ...]:
    return lint(protocol(base, **changes), {"crewless", "masts", "boat", "crews"})


def test_the_protocol_of_the_tests_is_sound() -> None:
    assert lint(protocol(), {"masts"}) == ()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"recall__prompt": "Which of the 41 zlorp boats?"}, "recall.prompt has its own answer"),
        ({"recall__prompt": "How many zlorp boats of many masts?"}, "recall.prompt restates the definition: masts"),
        ({"recall__prompt": "How many zlorp boats in 2024?"}, "recall.prompt has a number in it"),
        ({"fact": "A 'zlorp' boat is a boat of three masts."}, "fact does not say which dataset"),
        ({"teach__prompt": "Remember."}, "teach.prompt does not say which dataset"),
        ({"transfer__prompt": "How many?"}, "transfer asks something else than recall"),
        ({"abstain__prompt": "How many masts has a zlorp boat?"}, "can be answered: the warehouse knows masts"),
        ({"abstain__prompt": "What is the average crew of a boat?"}, "can be answered: the warehouse knows crew"),
        ({"extras": {"naive": [{"reading": "all boats", "answer": 41.2}]}}, "all boats gives 41.2 too"),
        ({"extras": {"term": "target"}}, "The term 'target' has a meaning of its own"),
    ],
)  # fmt: skip
def test_weak_items_are_refused(changes: dict[str, Any], said: str) -> None:
    found = changed(**changes)
    assert any(said in sentence for sentence in found), found


def test_a_correction_that_changes_nothing_is_refused() -> None:
    same = protocol(UPDATE, update__recall__grading=UPDATE["recall"]["grading"])
    assert any("update leaves the answer as it was" in sentence for sentence in lint(same))
    assert any("update.prompt does not say" in sentence for sentence in lint(protocol(UPDATE, update__prompt="No.")))


def test_a_guess_by_name_is_refused() -> None:
    guessed = [{"reading": "the commonest port", "answer": "Turku"}]
    found = lint(protocol(UPDATE, extras={"naive": guessed}))
    assert found == ("update.recall is answered by who was never taught: the commonest port gives Turku too.",)


def test_protocols_that_share_a_dataset_or_a_term_are_refused() -> None:
    twice = [protocol(extras={"term": "zvolmabik"}), protocol(UPDATE, extras={"term": "zvolmabik"})]
    found = lint_set(twice)
    assert any("2 protocols share the dataset" in sentence for sentence in found)
    assert any("2 protocols share the term zvolmabik" in sentence for sentence in found)
    assert lint_set([protocol(id=f"p-{number}", entity_urn=f"u{number}") for number in range(4)]) == (
        "0 of 4 protocols have the sink datahub, which is not half of them.",
        "0 of 4 protocols are corrected, which is not half of them.",
    )


@pytest.mark.data
def test_the_known_defects_of_the_published_set_are_found(published_folder: Path) -> None:
    known = {"region", "tier", "status", "refund", "discount", "rate", "amount", "created"}
    found = {one.id: lint(one, known) for one in load_protocols(published_folder)}
    assert any("restates the definition" in sentence for sentence in found["lc-top-line"])
    assert any("restates the definition" in sentence for sentence in found["lc-closeout-total"])
    assert any("knows refund" in sentence for sentence in found["lc-standard-order"])
    assert any("knows discount, rate" in sentence for sentence in found["lc-benchmark-month"])
    assert any("which dataset" in sentence for sentence in found["lc-anchor-region"])
    assert any("share the dataset" in sentence for sentence in lint_set(load_protocols(published_folder)))


# -- terms, subjects, queries ----------------------------------------------------------------------------------------


def test_terms_are_all_different() -> None:
    some = [word for word, _ in zip(terms(3), range(500), strict=False)]
    assert len(set(some)) == 500
    assert next(terms(3)) == some[0] != next(terms(4))


@pytest.mark.parametrize("word", ["target", "premium", "quiet", "holiday", "cohort", "window", "flagship"])
def test_words_that_somebody_uses_are_no_terms(word: str) -> None:
    assert not invented(word)


@pytest.mark.parametrize("subject", UNANSWERABLE)
def test_subjects_that_nothing_answers(warehouse: Warehouse, subject: str) -> None:
    assert not answerable(subject, warehouse.vocabulary)


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        ("discount rate in percent", {"discount", "rate"}),
        ("refunds", set()),
        ("returns", {"returns"}),
        ("rentals per customer", {"rentals", "customer"}),
        ("season of the year", {"season"}),
    ],
)
def test_subjects_that_a_column_or_a_derived_metric_answers(
    warehouse: Warehouse, subject: str, words: set[str]
) -> None:
    assert answerable(subject, warehouse.vocabulary) == words


@pytest.mark.parametrize("known", [subject for subject, _ in ANSWERABLE])
def test_subjects_of_twins_are_known(warehouse: Warehouse, known: str) -> None:
    assert answerable(known, warehouse.vocabulary)


def test_python_and_sql_agree_on_every_form_of_query(warehouse: Warehouse) -> None:
    clauses = (
        Clause("plan", "=", "barn"), Clause("kind", "=", "pump"), Clause("desk", "=", "kiosk"),
        Clause("state", "=", "overdue"), Clause("days", ">=", 4), Clause("days", "<=", 9),
        Clause("fee_cents", ">=", 3000), Clause("fee_cents", "<=", 9000), Clause("taken_on", ">=", "2024-03-05"),
        Clause("taken_on", "<=", "2024-09-01"),
    )  # fmt: skip
    totals = (
        Total(), Total((("fee_cents", 1), ("rebate_cents", -1)), per=100), Total((("days", 3),), constant=5),
        Total((("days", -2), ("fee_cents", 1))),
    )  # fmt: skip
    table = next(iter(warehouse.ledgers))
    checked = 0
    with closing(warehouse.connect()) as connection:
        for clause in (None, *clauses):
            for total in totals:
                for group, place in ((None, 1), ("kind", 1), ("desk", 2), ("plan", 3), ("month", 2)):
                    query = Query(table, (clause,) if clause else (), total, group, place)
                    answer, found = query.answer(warehouse), from_sql(connection, query.sql)
                    assert found == (pytest.approx(answer) if isinstance(answer, float) else answer), query.sql
                    average = Average(query, "deposit_cents")
                    assert from_sql(connection, average.sql) == pytest.approx(average.answer(warehouse)), average.sql
                    checked += 1
    assert checked == 11 * 4 * 5


def test_a_shared_place_has_no_one_answer(warehouse: Warehouse) -> None:
    table = next(iter(warehouse.ledgers))
    tied = [
        (day, place)
        for day in range(1, 22)
        for place in range(1, 7)
        if Query(table, (Clause("days", ">=", day),), group="month", place=place).tied(warehouse)
    ]
    assert tied
    assert Query(table, group="month", place=13).tied(warehouse)
    assert Query(table, (Clause("days", ">=", 99),)).answer(warehouse) is None


def test_no_guess_is_right(generated: tuple[Protocol, ...]) -> None:
    for one in generated:
        more = extras(one)
        correction = one.update or more.correction
        assert correction is not None
        keys = (one.recall.grading, correction.recall.grading)
        assert not same_answer(*keys)
        assert len(more.naive) >= 1 and len({guess.answer for guess in more.naive}) == len(more.naive)
        for guess in more.naive:
            assert isinstance(guess, Naive)
            assert not any(published_correct(str(guess.answer), key) for key in keys)
        assert published_correct(more.stale[0], keys[0]) and not published_correct(more.stale[0], keys[1])
