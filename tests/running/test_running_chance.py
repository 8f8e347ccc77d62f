"""What the controls must show, for gold that is short, a quotation, or a number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from memassay.core.dossier import trimmed
from memassay.core.types import Corpus, Document, Dossier, Evidence, Gold, Task, Unit
from memassay.core.views import Surroundings, view
from memassay.judging.evidence import EvidenceJudge
from memassay.running.controls import ceilings, chance_bands

SEEDS = 40


def corpus_of(texts: Sequence[str]) -> Corpus:
    units = tuple(Unit(id=f"u{n}", text=text, speaker="Bo" if n % 2 else "") for n, text in enumerate(texts))
    return Corpus(id="c", documents=(Document(id="d", text="\n".join(texts), units=units),), digest="x")


def task_of(number: int, *gold: tuple[int, str]) -> Task:
    """A question whose evidence are these words of these units."""
    evidence = tuple(Evidence(id=f"u{unit}", text=text) for unit, text in gold)
    return Task(
        id=f"q{number}", suite="s", scope="c", cluster="c", category="x", prompt="?",
        gold={"original": Gold(evidence=evidence)},
    )  # fmt: skip


def shown(control: str, task: Task, corpus: Corpus, tokens: str, budgets: Sequence[int], seed: int = 0) -> list[float]:
    """The control's own scores of ``all@B``: its view, the cut, the grader."""
    judge = EvidenceJudge(key="original", tokens=tokens, budgets=budgets, ks=())
    dossier = trimmed(view(control)(task, Dossier(), Surroundings(corpus, (), seed)), tokens, max(budgets))
    found = judge.scores(dossier, task.gold["original"].evidence)
    return [found[f"all@{budget}"] or 0.0 for budget in budgets]


def agree(tasks: list[Task], corpus: Corpus, tokens: str, budgets: tuple[int, ...]) -> list[float]:
    """Assert that the bands hold the random control; returns their means, over the seeds."""
    inside = np.zeros(len(budgets))
    means = np.zeros(len(budgets))
    scores = np.zeros(len(budgets))
    for seed in range(SEEDS):
        bands = chance_bands(tasks, {"c": corpus}, tokens, budgets, seed)
        found = np.mean([shown("random", task, corpus, tokens, budgets, seed) for task in tasks], axis=0)
        for number, budget in enumerate(budgets):
            band = bands[f"all@{budget}"]
            inside[number] += float(found[number]) in band
            means[number] += band.mean / SEEDS
            scores[number] += found[number] / SEEDS
    assert (inside >= SEEDS - 1).all(), "a 99.9 % band"
    n = SEEDS * len(tasks)
    for mean, score in zip(means, scores, strict=True):
        assert score == pytest.approx(mean, abs=4 * (max(mean * (1 - mean), 0.01) / n) ** 0.5)
    return [float(mean) for mean in means]


@pytest.mark.parametrize("tokens", ["chars4", "o200k_base"])
def test_short_gold_is_no_part_of_longer_words(tokens: str) -> None:
    """ "ok" is in every "look" and stands in two units of thirty."""
    texts = [f"please look at the book about cookery that is number {n} on our shelf today" for n in range(30)]
    texts[7] = "that is ok with me, since the weather on monday is going to be fine anyway"
    texts[19] = "well then, ok, let us go to the market by noon and buy what we need there"
    corpus = corpus_of(texts)
    tasks = [task_of(n, (7 if n % 2 else 19, "ok")) for n in range(16)]
    budgets = (40, 200) if tokens == "chars4" else (30, 150)
    means = agree(tasks, corpus, tokens, budgets)
    assert means[0] < 0.3, "a part of a word would be found at once"
    assert 0.2 < means[1] < 0.9


@pytest.mark.parametrize("tokens", ["chars4", "o200k_base"])
def test_a_short_quotation_of_a_long_unit_needs_no_whole_unit(tokens: str) -> None:
    filler = "and then we went on for a good while about this and that and nothing in particular "
    texts = [f"the answer number {n} is here {filler * 7}" for n in range(20)]
    corpus = corpus_of(texts)
    tasks = [task_of(n, (n, f"the answer number {n} is here")) for n in range(20)]
    budgets = (60, 300) if tokens == "chars4" else (50, 250)
    means = agree(tasks, corpus, tokens, budgets)
    assert means[0] > 0.03, "one unit in twenty comes first, and its first words fit"
    assert means[1] > means[0]


@pytest.mark.parametrize("tokens", ["chars4", "o200k_base"])
def test_a_quotation_at_the_end_of_a_long_unit_needs_the_unit(tokens: str) -> None:
    filler = "and then we went on for a good while about this and that and nothing in particular "
    corpus = corpus_of([f"{filler * 7} the answer number {n}" for n in range(20)])
    tasks = [task_of(n, (n, f"the answer number {n}")) for n in range(20)]
    budgets = (60, 400) if tokens == "chars4" else (50, 350)
    means = agree(tasks, corpus, tokens, budgets)
    assert means[0] == 0.0 and means[1] > 0.03


# -- ceilings ------------------------------------------------------------------------------------------------------

NUMBERS = [
    [(0, "2")],
    [(0, "1")],
    [(1, "10 12 1"), (0, "2")],
    [(2, "1 2 3")],
    [(0, "I have 2 cats, 1 dog and 12 hens"), (1, "2"), (2, "3")],
    [(1, "3"), (2, "3"), (0, "3")],
    [(2, "on 12 May 2023, 1 2 3")],
    [(1, "[1]")],
    [(1, "[2] 2"), (0, "1")],
]


@pytest.mark.parametrize("tokens", ["chars4", "o200k_base", "cl100k_base"])
def test_a_ceiling_is_the_oracles_score_whatever_digits_are_in_the_gold(tokens: str) -> None:
    """The number in front of a passage is no text: gold "2" does not stand in the second "[2] "."""
    corpus = corpus_of(["I have 2 cats, 1 dog and 12 hens", "10 12 1, or 2: 3 [1] [2] 2", "on 12 May 2023, 1 2 3"])
    budgets = tuple(range(1, 40))
    for number, gold in enumerate(NUMBERS):
        task = task_of(number, *gold)
        found = ceilings([task], {"c": corpus}, tokens, budgets)
        oracle = shown("oracle", task, corpus, tokens, budgets)
        assert found == {f"all@{b}": score for b, score in zip(budgets, oracle, strict=True)}, gold
        assert found["all@1"] == 0.0, "the first token is the number"
        assert found["all@39"] == 1.0


def test_the_ceiling_of_many_questions_is_the_oracles_mean() -> None:
    corpus = corpus_of(["I have 2 cats, 1 dog and 12 hens", "10 12 1, or 2: 3 [1] [2] 2", "on 12 May 2023, 1 2 3"])
    tasks = [task_of(number, *gold) for number, gold in enumerate(NUMBERS)]
    budgets = (1, 2, 3, 4, 6, 9, 13, 20)
    found = ceilings(tasks, {"c": corpus}, "chars4", budgets)
    mean = np.mean([shown("oracle", task, corpus, "chars4", budgets) for task in tasks], axis=0)
    assert list(found.values()) == pytest.approx(list(mean))
    assert 0 < found["all@2"] < found["all@9"] < 1
