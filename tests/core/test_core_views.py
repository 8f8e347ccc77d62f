from __future__ import annotations

import numpy as np
import pytest

from memassay.core.errors import UnknownName
from memassay.core.types import Corpus, Document, Dossier, Evidence, Gold, Passage, Task, Unit
from memassay.core.views import CONTROLS, Surroundings, applicable, view

UNITS = [Unit(id=f"D{d}:{n}", text=f"words {d} {n}", speaker="Ada") for d in (1, 2) for n in range(1, 7)]
CORPUS = Corpus(
    id="c",
    documents=tuple(
        Document(id=f"c/{d}", text="", units=tuple(u for u in UNITS if u.id.startswith(f"D{d}:"))) for d in (1, 2)
    ),
    digest="d",
)


def task(name: str, *ids: str) -> Task:
    texts = {u.id: u.text for u in UNITS}
    gold = Gold(answer="a", evidence=tuple(Evidence(id=i, text=texts.get(i, f"text of {i}")) for i in ids))
    return Task(id=name, suite="s", scope="c", cluster="c", category="x", prompt="?", gold={"original": gold})


TASKS = [task("q0", "D1:1"), task("q1", "D1:1"), task("q2"), task("q3", "D2:2", "D1:3"), task("q4", "D2:5")]


def around(tasks: list[Task] = TASKS, seed: int = 0) -> Surroundings:
    return Surroundings(CORPUS, tasks, seed)


FULL = Dossier(passages=(Passage(text="something the memory said"),))


def ids(dossier: Dossier) -> list[str]:
    return [unit for p in dossier.passages for unit in p.unit_ids]


def test_the_controls_of_the_contract() -> None:
    assert set(CONTROLS) == {"oracle", "empty", "random", "shuffled-gold", "stale"}
    with pytest.raises(UnknownName, match="oracle"):
        view("orcle")


def test_empty_shows_nothing_whatever_it_is_given() -> None:
    assert view("empty")(TASKS[0], FULL, around()).passages == ()


def test_oracle_shows_the_gold_and_nothing_else() -> None:
    shown = view("oracle")(TASKS[3], FULL, around())
    assert ids(shown) == ["D2:2", "D1:3"]
    assert "words 2 2" in shown.passages[0].text
    assert view("oracle")(TASKS[2], FULL, around()).status == "empty"


def test_random_shows_every_unit_once_in_an_order_fixed_by_seed_and_task() -> None:
    first = view("random")(TASKS[0], FULL, around(seed=1))
    assert sorted(ids(first)) == sorted(u.id for u in UNITS)
    assert ids(first) == ids(view("random")(TASKS[0], Dossier(), around(seed=1)))
    assert ids(first) != ids(view("random")(TASKS[0], FULL, around(seed=2)))
    assert ids(first) != ids(view("random")(TASKS[1], FULL, around(seed=1)))


def test_random_is_fair() -> None:
    first = [ids(view("random")(task(f"t{n}", "D1:1"), Dossier(), around(seed=3)))[0] for n in range(1200)]
    counts = np.unique(first, return_counts=True)[1]
    assert len(counts) == len(UNITS)
    assert counts.min() > 60  # 100 expected, standard deviation below 10
    assert counts.max() < 140


@pytest.mark.parametrize("asked", TASKS, ids=lambda t: t.id)
def test_shuffled_gold_is_another_questions_and_never_ones_own(asked: Task) -> None:
    mine = {e.id for e in asked.gold["original"].evidence}
    shown = set(ids(view("shuffled-gold")(asked, FULL, around())))
    assert shown
    assert shown != mine
    assert shown in [{e.id for e in t.gold["original"].evidence} for t in TASKS if t.id != asked.id]


def test_shuffled_gold_does_not_hand_over_the_own_gold_inside_a_larger_one() -> None:
    """Gold {a} shuffled to gold {a, b} would still answer the question: that is no control."""
    tasks = [task("q0", "D1:1"), task("q1", "D1:1", "D1:2"), task("q2", "D2:4")]
    assert not {"D1:1"} <= set(ids(view("shuffled-gold")(tasks[0], Dossier(), around(tasks))))


def test_shuffled_gold_without_another_question_is_empty() -> None:
    assert view("shuffled-gold")(TASKS[0], FULL, around(TASKS[:2])).status == "empty"


@pytest.mark.parametrize("name", sorted(CONTROLS))
def test_views_are_pure(name: str) -> None:
    before = [t.model_dump() for t in TASKS], CORPUS.model_dump()
    twice = [view(name)(TASKS[3], FULL, around()) for _ in range(2)]
    assert twice[0] == twice[1]
    assert before == ([t.model_dump() for t in TASKS], CORPUS.model_dump())


def test_stale_shows_what_was_true_before_and_only_where_a_task_says_so() -> None:
    changed = TASKS[0].model_copy(update={"payload": {"stale": [["polls every hour", "c/1"], ["by hand", ""]]}})
    shown = view("stale")(changed, FULL, around())
    assert [(p.text, p.doc_ids) for p in shown.passages] == [("polls every hour", ("c/1",)), ("by hand", ())]
    assert view("stale")(TASKS[1], FULL, around()).status == "empty"
    assert "stale" not in applicable(TASKS) and applicable([*TASKS, changed]) == list(CONTROLS)
