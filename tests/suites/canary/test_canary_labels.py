"""Labels of whole dossiers, at a budget."""

from __future__ import annotations

from typing import Any

import pytest
from canary_documents import DOCUMENTS, POLLS, checker, dossier, passage, question, truth

from memassay.core.contracts import Cell, Grading
from memassay.core.errors import UsageError
from memassay.core.types import Answer, CellKey, Dossier, Evidence, Judgement, Passage, Status, Task
from memassay.judging.evidence import EvidenceJudge
from memassay.suites.canary.fixture import Atom, Question
from memassay.suites.canary.grading import LabelJudge, label_metrics
from memassay.suites.canary.labels import Labelled, label, outcome_of, shown_within

CHECKER = checker()
REAL = passage("At most 12 retries, see the runbook.", "adr/0007-queue.md")
INVENTED = passage("The worker was rewritten by nobody in a hurry.", "adr/0007-queue.md")
PARAPHRASE = passage("It looks at the table now and then.", "adr/0007-queue.md", kind="fact")
BOTH = question(required=(Atom(text="every 40 seconds"), Atom(text="`order_stream`")))
NOTHING = question(family="abstention_false_premise", premise_valid=False, required=(), expected_doc_ids=())
V1 = question(required=())


def labelled(asked: Question, *passages: Passage, budget: int = 4000, **given: Any) -> Labelled:
    return label(asked, dossier(*passages), budget, CHECKER, **given)


@pytest.mark.parametrize(
    ("asked", "passages", "expected"),
    [
        (question(), (), "abstained"),
        (question(), (POLLS,), "correct"),
        (question(), (REAL,), "incorrect"),
        (question(), (REAL, PARAPHRASE), "undetermined"),
        (question(), (POLLS, PARAPHRASE), "correct"),
        (question(), (POLLS, INVENTED), "hallucinated"),
        (question(), (INVENTED,), "hallucinated"),
        (BOTH, (POLLS,), "partial"),
        (BOTH, (POLLS, PARAPHRASE), "partial"),
        (NOTHING, (), "abstained"),
        (NOTHING, (REAL,), "incorrect"),
        (NOTHING, (PARAPHRASE,), "incorrect"),
        (NOTHING, (INVENTED,), "hallucinated"),
        (V1, (REAL,), "undetermined"),
        (V1, (passage("The office opens at nine", "b/README.md"),), "incorrect"),
        (question(required=(), expected_doc_ids=()), (REAL,), "undetermined"),
    ],
)
def test_every_label_is_earned(asked: Question, passages: tuple[Passage, ...], expected: str) -> None:
    assert labelled(asked, *passages).label == expected


def test_the_facts_count_only_in_the_words_of_a_passage() -> None:
    everything = [passage("README", document.id) for document in DOCUMENTS if document.title == "README"]
    assert labelled(question(), *everything).label == "incorrect"
    apart = (passage("A worker polls it every 40", "adr/0007-queue.md"), passage("seconds.", "adr/0007-queue.md"))
    assert labelled(question(), *apart).parts.atoms_covered == 0
    assert labelled(question(required=(Atom(text="very 40 second"),)), POLLS).parts.atoms_covered == 0


def test_precedence_is_a_setting_and_the_parts_are_published_either_way() -> None:
    first = labelled(question(), POLLS, INVENTED, PARAPHRASE)
    other = labelled(question(), POLLS, INVENTED, PARAPHRASE, precedence="coverage")
    assert (first.label, other.label) == ("hallucinated", "correct")
    assert first.parts == other.parts
    assert (first.parts.n_fabricated, first.parts.n_fabricated_text, first.parts.n_undetermined) == (1, 1, 1)
    assert labelled(BOTH, POLLS, INVENTED, precedence="coverage").label == "hallucinated"


def test_parts_count_every_kind() -> None:
    asked = question(forbidden=(Atom(text="12 retries"), Atom(text="13 retries")))
    found = labelled(
        asked,
        POLLS,
        REAL,
        passage("x", "adr/0099.md"),
        passage("The office opens at nine", "adr/0007-queue.md"),
        passage("It changed on 5 May 2019, says Tor.", "adr/0007-queue.md", kind="fact"),
        passage("Orders go through order_stream.", "adr/0007-queue.md", kind="fact"),
        passage("Beside the stream stands a cache.", "adr/0013-cache.md", valid_to="2001-01-01"),
    )
    assert found.parts.as_dict() == {
        "shown": 7, "n_fabricated": 4, "n_fabricated_source": 1, "n_fabricated_text": 1,
        "n_fabricated_supersession": 1, "n_elsewhere": 1, "n_novel": 3, "n_invented": 2, "n_undetermined": 1,
        "atoms": 1, "atoms_covered": 1, "stale_atoms": 1,
    }  # fmt: skip
    assert found.novel == ("5 May 2019", "Tor", "order_stream")


# -- budgets -------------------------------------------------------------------------------------------------------


def test_what_stands_beyond_the_budget_does_not_count() -> None:
    assert labelled(question(), REAL, POLLS, budget=12).label == "incorrect"
    assert labelled(question(), POLLS, INVENTED, budget=24).label == "correct"
    assert labelled(question(), POLLS, INVENTED, budget=200).label == "hallucinated"
    assert labelled(question(), POLLS, budget=0).label == "abstained"


@pytest.mark.parametrize("budget", range(1, 60))
def test_a_cut_makes_no_fabrication_of_a_copy(budget: int) -> None:
    copies = (
        POLLS,
        passage("2025-08-01 Standup\nAda: The import stopped at shard 77.\nBo: I will look.", "talk"),
        REAL,
    )
    assert labelled(question(), *copies, budget=budget).parts.n_fabricated == 0


@pytest.mark.parametrize("budget", range(1, 40))
def test_a_cut_makes_no_new_term_of_half_a_word(budget: int) -> None:
    derived = passage(
        "ADR-0007 keeps 2,500 lines and order_stream apart, polled 40 times.", "adr/0007-queue.md", kind="fact"
    )
    assert labelled(question(), derived, budget=budget).parts.n_invented == 0


def test_an_invention_behind_the_cut_is_not_shown() -> None:
    half = passage("We keep the orders in one table. Then the office burnt down in a night.", "adr/0007-queue.md")
    cut = [labelled(question(), half, budget=budget).label for budget in (9, 40)]
    assert cut == ["incorrect", "hallucinated"]
    assert [one.left for one in shown_within(dossier(POLLS), 5)] == ["We keep"]


def test_a_fact_must_end_before_the_cut_and_not_in_a_longer_word() -> None:
    asked = question(required=(Atom(text="one tab"), Atom(text="the orders")))
    assert [labelled(asked, POLLS, budget=budget).parts.atoms_covered for budget in (5, 9, 10, 40)] == [0, 1, 1, 1]


def test_facts_are_found_as_the_evidence_grader_finds_them() -> None:
    asked = question(required=tuple(Atom(text=text) for text in ("every 40 seconds", "12 retries", "one table")))
    judge = EvidenceJudge(key="original", tokens="o200k_base", budgets=[8, 16, 24, 40], ks=[])
    stored = dossier(POLLS, REAL)
    scores = judge.scores(stored, [Evidence(id=atom.text, text=atom.text) for atom in asked.required])
    for budget in (8, 16, 24, 40):
        assert label(asked, stored, budget, CHECKER).parts.covered == scores[f"rec@{budget}"]


# -- what a label counts -------------------------------------------------------------------------------------------


def test_outcomes() -> None:
    assert [outcome_of(one, question()) for one in ("correct", "partial", "incorrect", "abstained")] == [1, 0.5, 0, 0]
    assert [outcome_of(one, question()) for one in ("undetermined", "hallucinated")] == [0, -1]
    assert outcome_of("abstained", NOTHING) == 1
    assert outcome_of("incorrect", NOTHING) == 0


# -- the grader ----------------------------------------------------------------------------------------------------


def verdict(asked: Question, *passages: Passage, status: Status = Status.OK, **given: Any) -> Judgement:
    judge = LabelJudge(truth(asked), **{"tokens": "o200k_base", "budgets": [200, 8], **given})
    task = Task(id=asked.id, suite="canary", scope="docs", cluster="c", category=asked.family, prompt=asked.query)
    answer = Answer(cell=CellKey(task=asked.id, arm="m"), status=status)
    found = judge.judge(Cell(task, answer, dossier(*passages) if passages else None))
    assert found is not None
    return found


def test_the_grader_scores_every_budget() -> None:
    found = verdict(question(), POLLS, INVENTED)
    assert found.judge == "labels" and found.id == "labels/q1/m/0.0"
    assert {name: score for name, score in found.scores.items() if score} == {
        "incorrect@8": 1.0, "hallucinated@200": 1.0, "covered@200": 1.0, "fabricated@200": 1.0, "outcome@200": -1.0,
    }  # fmt: skip
    assert (found.labels["label@8"], found.labels["label@200"]) == ("incorrect", "hallucinated")
    assert found.labels["n_fabricated_text"] == 1
    assert found.labels["tokens@8"] == 8 and found.labels["tokens@200"] == 33


def test_every_score_but_the_outcome_is_a_share() -> None:
    found = verdict(question(), INVENTED)
    assert all(score is not None and 0 <= score <= 1 for name, score in found.scores.items() if "outcome" not in name)
    listed = [spec.name for spec in label_metrics(Grading(tokens="o200k_base", budgets=(8, 200), ks=()))]
    assert {*listed, "outcome@8", "outcome@200"} == set(found.scores)
    assert "covered@8" in listed and "outcome@8" not in listed


def test_a_derived_passage_is_unchecked_and_no_fabrication() -> None:
    found = verdict(question(), PARAPHRASE)
    assert (found.scores["unchecked@200"], found.scores["undetermined@200"], found.scores["fabricated@200"]) == (
        1,
        1,
        0,
    )
    assert verdict(question(), POLLS, PARAPHRASE).scores["unchecked@200"] == 1


def test_a_memory_that_fails_is_not_one_that_abstains() -> None:
    failed = verdict(NOTHING, status=Status.MEMORY_CRASH)
    assert set(failed.scores.values()) == {0.0, None}
    assert failed.labels == {"label@8": "failed", "label@200": "failed"}
    empty = verdict(NOTHING, status=Status.EMPTY)
    assert (empty.scores["abstained@200"], empty.scores["outcome@200"]) == (1, 1)
    assert verdict(question(), status=Status.EMPTY).scores["outcome@200"] == 0


def test_a_question_without_facts_has_no_coverage() -> None:
    assert verdict(NOTHING, REAL).scores["covered@200"] is None
    assert verdict(V1, status=Status.MEMORY_TIMEOUT).scores["covered@200"] is None


def test_another_task_is_left_out_and_a_wrong_setting_is_refused() -> None:
    judge = LabelJudge(truth(), tokens="o200k_base", budgets=[8])
    task = Task(id="q1", suite="canary", scope="docs", cluster="c", category="multi_hop", prompt="?")
    assert judge.judge(Cell(task, Answer(cell=CellKey(task="q1", arm="m"), status=Status.OK), Dossier())) is None
    assert judge.config["precedence"] == "fabrication"
    with pytest.raises(UsageError, match="coverage"):
        LabelJudge(truth(), tokens="o200k_base", budgets=[8], precedence="coverag")  # type: ignore[arg-type]
