"""What a run comes to: memories, pairs, decisions, and the report of them."""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Mapping
from typing import Any

import pytest
from canary_outcomes import BUDGET, Label, cell, named, run

from memassay.core.contracts import Outcome
from memassay.core.types import Estimate
from memassay.stats.gaps import aggregate_gaps
from memassay.suites.canary import pairs as pairs_module
from memassay.suites.canary import power as power_module
from memassay.suites.canary import results as results_module
from memassay.suites.canary.costs import FREE, UNPRICED, cheapest, cost_of
from memassay.suites.canary.families import CURRENT, FALSE_PREMISE, FAMILIES, PUBLISHED, UNIFORM
from memassay.suites.canary.results import conclude
from memassay.suites.canary.sections import sections
from memassay.suites.canary.verdict import in_words


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few draws: what is tested here does not hang on the last digit of an interval."""
    monkeypatch.setattr(pairs_module, "aggregate_gaps", functools.partial(aggregate_gaps, draws=400))
    monkeypatch.setattr(results_module, "_RUNS", 10)
    monkeypatch.setattr(power_module, "_GAP_RUNS", 100)


def half(family: str, number: int) -> Label:
    return "correct" if number % 2 else "incorrect"


def most(family: str, number: int) -> Label:
    return "correct" if number % 4 else "incorrect"


def concluded(cells: list[Outcome], **given: Any) -> dict[str, Any]:
    about: dict[str, Any] = {"weights": PUBLISHED, "budget": BUDGET, "incumbent": "lexical", **given}
    return conclude(cells, **about)


def challenge(results: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = next(one for one in results["choice"]["challenges"] if one["challenger"] == name)
    return found


def texts(results: Mapping[str, Any]) -> str:
    drawn = sections(results)
    cells = [cell for section in drawn for table in section.tables for row in table.rows for cell in row]
    return "\n".join([*(section.text for section in drawn), *(cell for cell in cells if isinstance(cell, str))])


# -- decisions -----------------------------------------------------------------------------------------------------


def test_a_clearly_better_memory_is_adopted() -> None:
    results = concluded(run(16, lexical="incorrect", markdown=most))
    choice, pair = results["choice"], results["pairs"][0]
    assert (choice["verdict"], choice["adopted"], choice["cheapest"]) == ("adopt", "markdown", "markdown")
    assert (pair["a"], pair["b"], pair["wins"], pair["losses"], pair["ties"]) == ("markdown", "lexical", 96, 0, 32)
    assert pair["weighted"]["gap"]["value"] == pytest.approx(0.75)
    assert pair["tie_reasons"] == {"both_incorrect": 32}
    assert [leg["outcome"] for leg in challenge(results, "markdown")["legs"]] == ["for"] * 4
    assert challenge(results, "markdown")["adjusted_p"] is None
    assert "markdown beats lexical by the rule." in texts(results)


def test_a_memory_against_itself_is_no_decision() -> None:
    results = concluded(run(8, lexical=half, files=half))
    pair = results["pairs"][0]
    assert results["choice"]["verdict"] == "no decision"
    assert (pair["wins"], pair["losses"], pair["flip"]["p"]) == (0, 0, 1.0)
    assert pair["weighted"]["gap"]["value"] == 0
    assert pair["weighted"]["gap"]["low"] < 0 < pair["weighted"]["gap"]["high"]
    assert pair["sensitivity"]["weightings"] is None
    assert results["choice"]["best"]["members"] == ["files", "lexical"]
    assert "No decision is not a tie." in texts(results)


def test_a_worse_challenger_is_rejected_and_the_incumbent_kept() -> None:
    results = concluded(run(16, lexical=most, files="incorrect"))
    assert (results["choice"]["verdict"], results["choice"]["cheapest"]) == ("keep", "lexical")
    assert challenge(results, "files")["verdict"] == "reject"
    assert results["pairs"][0]["weighted"]["gap"]["value"] == pytest.approx(-0.75)


def test_a_fabricating_memory_is_rejected_whatever_its_gap() -> None:
    def lies(family: str, number: int) -> Label:
        return "hallucinated" if number < 4 else "correct"

    results = concluded(run(16, lexical="incorrect", liar=lies))
    assert challenge(results, "liar")["verdict"] == "reject"
    found = named(results, "liar")
    assert (found["fabrication"]["count"], found["fabricated_passages"]["n_fabricated_text"]) == (32, 32)
    assert found["fabrication"]["rate"]["value"] == 0.25
    assert results["pairs"][0]["fabrication"]["only_a"] == 32
    assert "liar gave something fabricated on 32 of 128 questions" in texts(results)


def test_undetermined_passages_leave_the_rate_of_fabrication_open() -> None:
    def told(family: str, number: int) -> Label:
        return "undetermined" if number < 2 else "correct"

    results = concluded(run(16, lexical="incorrect", graph=told))
    found = named(results, "graph")
    assert found["undetermined"] == {"labels": 16, "questions": 16, "share": 0.125}
    assert found["fabrication"]["count"] == 0 and found["fabrication"]["highest"] > 0.125
    assert challenge(results, "graph")["legs"][3]["outcome"] == "not measured"
    assert results["choice"]["verdict"] == "no decision"
    assert "How often graph invents something is not measured" in texts(results)


def test_an_empty_memory_abstains_and_only_wins_on_a_false_premise() -> None:
    results = concluded(run(8, lexical="incorrect", empty="abstained"))
    assert named(results, "empty")["labels"] == {"abstained": 64}
    families = {one["family"]: (one["wins"], one["losses"]) for one in results["pairs"][0]["families"]}
    assert families == {family: (8 if family == FALSE_PREMISE else 0, 0) for family in FAMILIES}
    assert results["pairs"][0]["weighted"]["gap"]["value"] == pytest.approx(0.04)
    assert results["pairs"][0]["uniform"]["gap"]["value"] == pytest.approx(0.125)
    assert results["pairs"][0]["difference"]["gap"]["value"] == pytest.approx(0.04 - 0.125)


def test_a_memory_that_failed_counts_0_and_is_counted_apart() -> None:
    results = concluded(run(8, lexical="incorrect", crash="failed"))
    assert named(results, "crash")["failed"] == 64
    assert named(results, "crash")["labels"] == {"failed": 64}
    assert results["pairs"][0]["tie_reasons"] == {"equal_outcome": 64}
    assert "crash failed on 64 of 64 questions" in texts(results)


# -- several memories ----------------------------------------------------------------------------------------------


def test_several_memories_make_a_set_and_the_cheapest_of_it() -> None:
    cells = run(16, lexical="incorrect", dear=most, slow=most, plain=most)
    cells = [cell_ for cell_ in cells if cell_.arm not in ("dear", "slow")]
    for family in FAMILIES:
        cells += [cell("dear", number, family, most(family, number), usd=0.01, input=500) for number in range(16)]
        cells += [cell("slow", number, family, most(family, number), wall_ms=4000) for number in range(16)]
    results = concluded(cells)
    choice = results["choice"]
    assert choice["best"]["members"] == ["dear", "plain", "slow"]
    assert (choice["verdict"], choice["adopted"], choice["cheapest"]) == ("adopt", "plain", "plain")
    assert all(one["adjusted_p"] is not None and one["adjusted_p"] < 0.05 for one in choice["challenges"])
    assert [(pair["a"], pair["b"]) for pair in results["pairs"]] == [
        ("dear", "lexical"), ("dear", "plain"), ("dear", "slow"), ("plain", "lexical"), ("slow", "lexical"),
        ("plain", "slow"),
    ]  # fmt: skip
    assert named(results, "dear")["cost"]["usd_per_1000"] == pytest.approx(10)
    assert named(results, "slow")["cost"]["speed"] == 4
    assert results["strengths"]["names"] == ["dear", "lexical", "plain", "slow"]
    assert "3 memories beat lexical by the rule; plain is the cheapest of them." in texts(results)


def test_what_rests_on_the_gap_needs_the_adjusted_p_where_there_are_several(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = run(16, lexical="incorrect", one=most, other="incorrect")
    monkeypatch.setattr("memassay.suites.canary.choosing.max_t", lambda table, clusters, rng: (0.06, 1.0))
    results = concluded(cells)
    found = challenge(results, "one")
    assert (found["rule_said"], found["verdict"]) == ("adopt", "no decision")
    assert "adjusted p is 0.06" in found["reasons"][0]
    assert results["choice"]["verdict"] == "no decision"
    published = concluded(cells, rule="seed-v1")
    assert challenge(published, "one")["verdict"] == "adopt"


def test_the_cheapest_by_the_rule() -> None:
    def costs(**given: Any) -> Any:
        return cost_of("m", [cell("m", 1, CURRENT, "correct", **given)])

    free, dear, unpriced, slow = costs(), costs(usd=0.2), costs(input=9), costs(wall_ms=3000.0)
    assert (free.reason, dear.reason, unpriced.reason) == (FREE, None, UNPRICED)
    assert (free.usd_per_1000, dear.usd_per_1000, unpriced.usd_per_1000) == (None, pytest.approx(200), None)
    listed = {"dear": dear, "free": free, "slow": slow, "unpriced": unpriced, "again": free}
    assert cheapest(listed, listed, None) == "again"
    assert cheapest(listed, listed, "free") == "free"
    assert cheapest(["unpriced", "dear"], listed, "unpriced") == "dear"
    assert cheapest(["slow", "dear"], listed, None) == "slow"
    assert cheapest([], listed, None) is None
    assert costs(wall_ms=0.0).wall_ms is None


# -- what the mapping promises -------------------------------------------------------------------------------------


def test_the_mapping_mirrors_when_two_memories_swap_names() -> None:
    def other(family: str, number: int) -> Label:
        return ("hallucinated", "correct", "partial", "abstained", "correct")[number % 5]

    one = concluded(run(8, a=half, b=other), incumbent=None)["pairs"][0]
    two = concluded(run(8, a=other, b=half), incumbent=None)["pairs"][0]
    assert (one["wins"], one["losses"], one["ties"]) == (two["losses"], two["wins"], two["ties"])
    for kind in ("weighted", "uniform", "difference"):
        gap, back = one[kind]["gap"], two[kind]["gap"]
        assert (gap["value"], gap["low"], gap["high"]) == (-back["value"], -back["high"], -back["low"])
    assert (one["flip"]["p"], one["sign_p"], one["tie_reasons"]) == (
        two["flip"]["p"],
        two["sign_p"],
        two["tie_reasons"],
    )
    assert one["fabrication"]["only_a"] == two["fabrication"]["only_b"]
    assert one["sensitivity"]["one_question"]["shift"] == -two["sensitivity"]["one_question"]["shift"]


def test_the_order_of_the_cells_does_not_count() -> None:
    cells = run(4, lexical=half, files=most, markdown="partial")
    first = concluded(cells)
    random.Random(3).shuffle(cells)
    assert json.dumps(concluded(cells)) == json.dumps(first)


def test_conventions_for_ties_stand_side_by_side() -> None:
    conventions = concluded(run(8, lexical=half, markdown=most))["pairs"][0]["conventions"]
    strict, credit, decisive = ((one["a"], one["b"]) for one in conventions)
    assert strict == pytest.approx((0.25, 0))  # of four questions the third is won and the others are ties
    assert credit[0] + credit[1] == pytest.approx(1)
    assert decisive[0] + decisive[1] == pytest.approx(1)


def test_an_incumbent_that_is_not_there_is_said() -> None:
    results = concluded(run(4, files=half, markdown=most), incumbent="hybrid")
    assert results["incumbent"] == {"name": "hybrid", "reason": "it is not among the memories of the run"}
    assert results["choice"]["verdict"] is None and results["choice"]["best"] is not None
    assert "No incumbent is in the run." in texts(results)
    assert "no incumbent is in the run. hybrid was not run or could not be measured; run it too" in in_words(results)


def test_one_memory_has_labels_and_no_choice() -> None:
    results = concluded(run(4, lexical=half))
    assert results["pairs"] == [] and results["choice"]["best"] is None
    assert results["choice"]["reason"] == "Nothing was run beside lexical."
    assert named(results, "lexical")["fabrication"]["count"] == 0
    assert results["false_alarms"] is None
    assert "There is no set of the best" in texts(results)


def test_without_a_question_that_all_finished_everything_is_null_with_a_reason() -> None:
    results = concluded([cell("lexical", 1, CURRENT, "correct"), cell("files", 1, CURRENT, None)])
    assert results["questions"]["left_out"] == {"current_canonical-001": ["files"]}
    assert results["questions"]["reason"] == "no question was finished by every memory"
    for memory in results["memories"]:
        assert memory["fabrication"] is None and memory["fabrication_reason"]
        assert memory["outcome"]["weighted"] is None and memory["outcome"]["mean"] is None
        assert memory["coverage"]["value"] is None and memory["coverage"]["reason"]
        assert memory["undetermined"]["share"] is None and memory["tokens"] is None
    assert results["choice"]["verdict"] is None and results["choice"]["cheapest"] is None
    assert "no question was finished by every memory" in texts(results)
    assert sections(concluded([])) == []


def test_a_budget_that_the_run_has_not_is_said() -> None:
    results = concluded(run(2, lexical=half, files=half), budget=500)
    assert results["questions"]["reason"] == "nothing was scored at 500 tokens; name one of the budgets of the run"
    assert "nothing was scored at 500 tokens" in texts(results)


def test_questions_without_gold_are_named() -> None:
    cells = []
    for arm in ("lexical", "files"):
        for number in range(8):
            row = cell(arm, number, CURRENT, "undetermined")
            cells.append(Outcome(**{**_fields(row), "scores": {**row.scores, f"covered@{BUDGET}": None}}))
    results = concluded(cells)
    assert results["questions"]["without_gold"] == 8
    assert named(results, "files")["coverage"]["reason"] == "no question says what an answer must hold"
    assert "write the facts into required" in texts(results)


def test_one_family_and_one_cluster_are_no_error() -> None:
    cells = [cell(arm, number, CURRENT, label, cluster="all") for number in range(6) for arm, label in _TWO]
    results = concluded(cells, weights=UNIFORM)
    assert results["choice"]["best_reason"] == "the questions are of one cluster, so that nothing can be tested"
    assert results["pairs"][0]["weighted"]["gap"]["low"] is None
    assert results["choice"]["verdict"] == "no decision"
    assert sections(results)


def test_families_without_weight_are_said() -> None:
    weights = PUBLISHED.model_copy(update={"shares": {**dict.fromkeys(FAMILIES, 0.0), FALSE_PREMISE: 1.0}})
    results = concluded([cell(arm, 1, CURRENT, label) for arm, label in _TWO], weights=weights)
    assert results["questions"]["reason"] == "every family that was asked has the weight 0"
    assert results["pairs"] == [] and results["choice"]["verdict"] is None
    assert in_words(results).startswith("No decision: every family that was asked has the weight 0. All at ")
    assert sections(results)
    assert sections(concluded([cell("files", 1, CURRENT, "correct")], weights=weights))


# -- the report ----------------------------------------------------------------------------------------------------


def test_every_section_is_there_and_every_row_fits_its_columns() -> None:
    drawn = sections(concluded(run(8, lexical=half, files=most, markdown="partial")), sample=True)
    assert [section.title for section in drawn] == [
        "Decision", "Labels", "Pairs", "By family", "Fabrication", "Sensitivity",
        "What the published result leaves open", "How to read it",
    ]  # fmt: skip
    for section in drawn:
        for table in section.tables:
            assert table.rows, table.title
            for row in table.rows:
                assert len(row) == len(table.columns), table.title
                for column, value in zip(table.columns, row, strict=True):
                    kinds: dict[str, type | tuple[type, ...]] = {"estimate": Estimate, "integer": int, "text": str}
                    assert isinstance(value, kinds[column.kind]), (table.title, column.title)
    assert "generated" in drawn[0].text


def test_the_costs_name_building_and_have_no_column_that_is_always_empty() -> None:
    decision = sections(concluded(run(8, lexical=half, files=most)))[0]
    table = next(table for table in decision.tables if table.title == "Cost")
    assert [column.title for column in table.columns] == [
        "memory", "US dollars per 1,000 queries", "95th percentile, s",
    ]  # fmt: skip
    assert table.note.startswith("No paid call was counted;")
    assert table.note.endswith("it is also what a change or a deletion takes, since a store is then built anew.")


def test_claims_come_with_what_would_falsify_them() -> None:
    results = concluded(run(16, lexical="incorrect", markdown=most, files="incorrect"))
    table = sections(results)[-1].tables[0]
    claims = {str(row[0]): (row[1], row[2]) for row in table.rows}
    assert all(len(str(falsifier)) > 10 for _, falsifier in claims.values())
    adopted = next(claim for claim in claims if claim.startswith("markdown beats lexical: the gap is +75.0 points"))
    assert claims[adopted][0] == "measured" and "10 points" in str(claims[adopted][1])
    assert any(claim.startswith("Whether files or lexical is better stays open") for claim in claims)
    assert "files, lexical: shown to be worse than another memory of this run." in claims


def test_strengths_of_three_memories_stand_in_the_report_and_decide_nothing() -> None:
    def strengths(**labels: Any) -> list[Any]:
        drawn = sections(concluded(run(8, **labels)))
        return [table for section in drawn for table in section.tables if table.title == "Strengths"]

    (table,) = strengths(lexical=half, files=most, markdown="incorrect")
    assert "decides nothing. No three memories beat each other in a circle." in table.note
    assert table.rows[-1][0] == "markdown"
    assert strengths(lexical=half, files=most) == []


def test_no_number_of_the_report_is_a_bare_minus() -> None:
    found = texts(concluded(run(8, lexical=half, files="incorrect")))
    assert "\N{MINUS SIGN}" in found and "\N{MINUS SIGN}0.0" not in found


_TWO = (("lexical", "incorrect"), ("files", "correct"))


def _fields(row: Outcome) -> dict[str, Any]:
    return {name: getattr(row, name) for name in Outcome.__slots__}


def test_the_published_rule_stands_beside_how_often_it_speaks_of_equal_memories() -> None:
    results = concluded(run(8, lexical=half, files=most), rule="seed-v1")
    decision, *_, how = sections(results)
    rates = [one["share"] for one in results["false_alarms"]["rules"]["seed-v1"]]
    says = f"The rule seed-v1 speaks of two equal memories in {rates[0]:.0%} of simulated runs of these questions"
    assert says in decision.text and f"{rates[1]:.0%} where both invent on 1%" in decision.text
    assert says in in_words(results)
    both = next(table for section in sections(results) for table in section.tables if table.title == "Both rules")
    assert says in both.note and "The rule default speaks" in both.note
    assert "simulated runs" not in in_words(concluded(run(8, lexical=half, files=most)))
    assert how.title == "How to read it"
