from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit import printed_elsewhere, shared_words
from memassay.core.digest import digest_of
from memassay.core.dossier import dossier_of, rendering
from memassay.core.tokens import tokenizer
from memassay.core.types import Passage
from memassay.core.wording import normalise
from memassay.suites.custom.sample import generate
from memassay.suites.custom.suite import Custom


@pytest.fixture(scope="module")
def suite() -> Custom:
    return Custom(sample=True)


def test_a_seed_gives_the_same_handbook_in_every_process(suite: Custom, tmp_path: Any) -> None:
    program = (
        "from memassay.suites.custom.suite import Custom; from memassay.core.digest import digest_of;"
        "s = Custom(sample=True); print(digest_of([s.corpora()[0].digest, list(s.tasks())]))"
    )
    here = digest_of([suite.corpora()[0].digest, list(suite.tasks())])
    assert printed_elsewhere(program, tmp_path) == {here}


@pytest.mark.parametrize("seed", [20261130, 1, 2, 3])
def test_size(seed: int) -> None:
    suite = Custom(sample=True, seed=seed)
    (corpus,) = suite.corpora()
    tasks = suite.tasks()
    graded = [task for task in tasks if task.gold["original"].evidence]
    kinds = Counter(task.category for task in graded)
    assert len(corpus.documents) == 30
    assert tokenizer().marks("\n".join(d.text for d in corpus.documents)) >= 15_000
    assert len(graded) >= 120 and len(tasks) == len(graded) + 3
    assert set(kinds) == {"detail", "rule", "compare", "changed"} and min(kinds.values()) >= 12
    assert len({task.cluster for task in graded}) >= 20
    assert max(Counter(task.cluster for task in graded).values()) <= len(graded) / 6
    assert Counter(task.split for task in graded).keys() == {"dev", "test"}
    assert max(Counter(task.prompt for task in tasks).values()) == 1


@settings(max_examples=15, deadline=None)
@given(st.integers(-(2**40), 2**40))
def test_every_seed_makes_a_handbook_without_a_hole(seed: int) -> None:
    suite = Custom(sample=True, seed=seed)
    (corpus,) = suite.corpora()
    texts = [d.text for d in corpus.documents] + [d.title for d in corpus.documents]
    texts += [text for t in suite.tasks() for text in (t.prompt, t.gold["original"].answer or "")]
    assert not [text for text in texts if re.search(r"[{}|<>\[\]]|\b(None|null)\b", text)]
    for text in texts:
        assert not re.search(r"[.!?] [a-z]", text), text


def test_another_seed_gives_another_handbook() -> None:
    assert generate(1) != generate(2)


def test_gold_stands_in_one_document_only(suite: Custom) -> None:
    """Else a passage about the wrong workshop would count as found."""
    (corpus,) = suite.corpora()
    texts = [normalise(document.text) for document in corpus.documents]
    for task in suite.tasks():
        for evidence in task.gold["original"].evidence:
            assert sum(normalise(evidence.text) in text for text in texts) == 1, evidence.text


def test_the_gold_of_every_question_fits_the_smallest_budget(suite: Custom) -> None:
    for task in suite.tasks():
        gold = task.gold["original"].evidence
        shown = normalise(rendering(dossier_of(Passage(text=e.text) for e in gold), "o200k_base").cut(250))
        assert all(normalise(e.text) in shown for e in gold)


def test_questions_are_not_worded_like_their_evidence(suite: Custom) -> None:
    """Else the sample could not tell one retriever from another."""
    (corpus,) = suite.corpora()
    units = [unit for document in corpus.documents for unit in document.units]
    ranks = []
    for task in suite.tasks():
        gold = {evidence.id for evidence in task.gold["original"].evidence}
        if gold:
            order = sorted(units, key=lambda unit: -shared_words(task.prompt, unit.text))
            ranks.append(max(rank for rank, unit in enumerate(order) if unit.id in gold))
    assert 0.02 < sum(rank < 10 for rank in ranks) / len(ranks) < 0.4


def test_comparisons_and_changes_need_two_documents(suite: Custom) -> None:
    for task in suite.tasks():
        documents = {evidence.id.partition("#")[0] for evidence in task.gold["original"].evidence}
        expected = {"compare": (2,), "changed": (2,), "detail": (1,), "rule": (0, 1)}[task.category]
        assert len(documents) in expected
