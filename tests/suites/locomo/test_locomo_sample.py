from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit import printed_elsewhere, shared_words
from memassay.core.dossier import dossier_of, rendering
from memassay.core.tokens import count
from memassay.core.types import Passage
from memassay.core.wording import normalise
from memassay.suites.locomo.load import MONTHS, parse
from memassay.suites.locomo.sample import Draw, generate
from memassay.suites.locomo.suite import Locomo

Made = list[dict[str, Any]]
SEED = 20261130


@pytest.fixture(scope="module")
def suite() -> Locomo:
    return Locomo(sample=True)


def test_a_seed_gives_the_same_conversations_in_every_process(tmp_path: Any) -> None:
    program = (
        "import json, hashlib; from memassay.suites.locomo.sample import generate;"
        f"print(hashlib.sha256(json.dumps(generate({SEED})).encode()).hexdigest())"
    )
    here = hashlib.sha256(json.dumps(generate(SEED)).encode()).hexdigest()
    assert printed_elsewhere(program, tmp_path) == {here}


def test_another_seed_gives_other_conversations() -> None:
    assert generate(1) != generate(2)


def test_size(suite: Locomo) -> None:
    kinds = Counter(t.category for t in suite.tasks() if t.gold["original"].evidence)
    assert len(suite.corpora()) == 8
    assert sum(kinds.values()) - kinds["adversarial"] >= 150
    assert kinds.keys() == set(suite.categories)
    assert min(kinds.values()) >= 10
    for corpus in suite.corpora():
        assert len(corpus.documents) >= 10
        assert sum(len(d.units) for d in corpus.documents) / len(corpus.documents) >= 12
        assert 3700 <= count("\n".join(d.text for d in corpus.documents), "chars4") <= 8000
    assert Counter(t.split for t in suite.tasks()).keys() == {"dev", "test"}


@settings(max_examples=15, deadline=None)
@given(st.integers(-(2**40), 2**40))
def test_every_seed_makes_a_file_without_a_hole(seed: int) -> None:
    made = generate(seed)
    assert json.loads(json.dumps(made)) == made
    conversations = parse(made, file="sample")
    for conversation in conversations:
        names = {turn.speaker for turn in conversation.turns}
        assert len(names) == 2
        said = [text for turn in conversation.turns for text in (turn.text, turn.caption)]
        said += [text for entry in conversation.questions for text in (entry.question, entry.answer or "")]
        assert not [text for text in said if re.search(r"[{}|\[\]#]", text)]
        dates = [s.date for s in conversation.sessions]
        assert dates == sorted(dates)
        for entry in conversation.questions:
            assert any(name in entry.question for name in names) or not entry.evidence


def test_evidence_belongs_to_the_one_who_is_asked_about(made: Made) -> None:
    for conversation in parse(made, file="sample"):
        speakers = {turn.id: turn.speaker for turn in conversation.turns}
        for entry in conversation.questions:
            ids = [i for piece in entry.evidence for i in re.split("; ", piece) if i in speakers]
            said_by = {speakers[i] for i in ids}
            if ids:
                (who,) = said_by  # a question is about one person's story
                assert (who in entry.question) != (entry.category == 5)


def test_a_relative_time_means_the_date_that_the_answer_says(made: Made) -> None:
    checked = 0
    for conversation in parse(made, file="sample"):
        sessions = {turn.id: session for session in conversation.sessions for turn in session.turns}
        words = {turn.id: turn.text for turn in conversation.turns}
        for entry in conversation.questions:
            if entry.category != 2:
                continue
            said = words[entry.evidence[0]].lower()
            day = dt.date.fromisoformat(sessions[entry.evidence[0]].date[:10])
            back = {
                "the day before yesterday": 2,
                "three days ago": 3,
                "a week ago today": 7,
                "two weeks ago today": 14,
                "ten days ago": 10,
            }
            back |= {"yesterday": 1} if "before yesterday" not in said else {}
            steps = [days for phrase, days in back.items() if phrase in said]
            if steps:
                then = day - dt.timedelta(days=steps[0])
                assert entry.answer == f"{then.day} {MONTHS[then.month - 1]} {then.year}"
                checked += 1
            elif match := re.search(r"last (\w+day)", said):
                then = day - dt.timedelta(days=1)
                while then.strftime("%A").lower() != match[1]:
                    then -= dt.timedelta(days=1)
                assert entry.answer == f"{then.day} {MONTHS[then.month - 1]} {then.year}"
                checked += 1
            elif "next month" in said:
                month = day.month % 12
                assert entry.answer == f"{MONTHS[month]} {day.year + (day.month == 12)}"
                checked += 1
    assert checked >= 20


def test_the_gold_of_every_question_fits_the_smallest_budget(suite: Locomo) -> None:
    for task in suite.tasks():
        gold = task.gold["original"].evidence
        dossier = dossier_of(Passage(text=e.text) for e in gold)
        shown = normalise(rendering(dossier, "chars4").cut(250))
        assert all(normalise(e.text) in shown for e in gold)


def test_questions_are_not_worded_like_their_evidence(suite: Locomo) -> None:
    """Else the sample could not tell one retriever from another."""
    corpora = {corpus.id: corpus for corpus in suite.corpora()}
    ranks = []
    for task in suite.tasks():
        gold = {e.id for e in task.gold["original"].evidence}
        if not gold or task.category == "adversarial":
            continue
        units = [unit for d in corpora[task.scope].documents for unit in d.units]
        order = sorted(units, key=lambda unit: -shared_words(task.prompt, unit.text))
        ranks.append(max(i for i, unit in enumerate(order) if unit.id in gold))
    first_ten = sum(rank < 10 for rank in ranks) / len(ranks)
    assert 0.1 < first_ten < 0.6


@given(st.text(), st.lists(st.integers(), max_size=20))
def test_a_draw_keeps_what_it_shuffles(seed: str, items: list[int]) -> None:
    assert sorted(Draw(seed).shuffled(items)) == sorted(items)
    assert Draw(seed).shuffled(items) == Draw(seed).shuffled(items)
    assert all(0 <= Draw(seed).below(7) < 7 for _ in range(3))
