from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit import printed_elsewhere
from memassay.core.dossier import dossier_of, rendering
from memassay.core.types import Passage
from memassay.core.wording import normalise
from memassay.suites.hotpotqa.load import parse
from memassay.suites.hotpotqa.sample import BRIDGE, COMPARISON, DEV, TEST, generate
from memassay.suites.hotpotqa.suite import HotpotQA

SEED = 20261130


@pytest.fixture(scope="module")
def suite() -> HotpotQA:
    return HotpotQA(sample=True, links="titles")


def test_a_seed_gives_the_same_questions_in_every_process(tmp_path: Any) -> None:
    program = (
        "import json, hashlib; from memassay.suites.hotpotqa.suite import HotpotQA;"
        "s = HotpotQA(sample=True, links='titles');"
        "made = [[t.model_dump(mode='json') for t in s.tasks()], s.corpora()[0].digest];"
        "print(hashlib.sha256(json.dumps(made).encode()).hexdigest())"
    )
    made = HotpotQA(sample=True, links="titles")
    here = [[t.model_dump(mode="json") for t in made.tasks()], made.corpora()[0].digest]
    assert printed_elsewhere(program, tmp_path) == {hashlib.sha256(json.dumps(here).encode()).hexdigest()}


@settings(max_examples=10)
@given(st.integers(-(2**40), 2**40))
def test_every_seed_makes_a_file_without_a_hole(seed: int) -> None:
    made = generate(seed)
    assert json.loads(json.dumps(made)) == made
    questions = parse(made, file="sample").questions
    assert Counter(q.type for q in questions) == {"bridge": BRIDGE, "comparison": COMPARISON}
    for question in questions:
        context = {page.title: page for page in question.context}
        assert len(context) == len(question.context) == 10
        said = [question.question, question.answer or "", *(page.body for page in question.context)]
        assert not [text for text in said if re.search(r"[{}|\[\]#]|\ba [aeio]", text)]
        assert len(question.titles) == 2
        for title, number in question.facts:
            assert context[title].sentences[number].strip()
        first, second = question.titles
        if question.type == "bridge":
            # The question does not name the second page; the first one does, and the second has the answer.
            assert second.partition(" (")[0] not in question.question.replace(first.partition(" (")[0], "")
            assert second.partition(" (")[0] in context[first].body
            assert question.answer and question.answer in context[second].body
        else:
            assert all(title.partition(" (")[0] in question.question for title in question.titles)
            assert question.answer in [title.partition(" (")[0] for title in question.titles]


def test_size_and_splits(suite: HotpotQA) -> None:
    tasks, (corpus,) = suite.tasks(), suite.corpora()
    assert Counter(task.split for task in tasks) == {"dev": DEV, "test": TEST}
    assert len({task.cluster for task in tasks}) >= 10
    assert len(corpus.documents) > 100
    assert sum(bool(document.links) for document in corpus.documents) > 0.8 * len(corpus.documents)


def test_the_title_links_lead_from_one_gold_page_to_the_other(suite: HotpotQA) -> None:
    links = {document.id: document.links for document in suite.corpora()[0].documents}
    bridges = [t for t in suite.tasks() if t.category == "bridge"]
    joined = sum(t.gold["original"].evidence[1].id in links[t.gold["original"].evidence[0].id] for t in bridges)
    assert joined > 0.8 * len(bridges)


def test_the_gold_of_every_question_fits_the_smallest_budget(suite: HotpotQA) -> None:
    for task in suite.tasks():
        gold = task.gold["original"].evidence
        assert len(gold) == 2 and not task.gold["original"].unresolved and not task.payload.keys() - {"level"}
        shown = normalise(rendering(dossier_of(Passage(text=e.text) for e in gold), "chars4").cut(250))
        assert all(normalise(e.text) in shown for e in gold)
