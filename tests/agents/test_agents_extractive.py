from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import ROOT, child_environment
from memassay.agents.extractive import UNKNOWN, Extractive, pick
from memassay.agents.sentences import sentences
from memassay.agents.spans import Kind, kind_of, time_in
from memassay.core.contracts import Agent, BuildContext
from memassay.core.dossier import dossier_of, rendering
from memassay.core.types import CellKey, Passage, Query, Request, Status, StoreRef
from memassay.judging.scores import f1
from memassay.memories.lexical import Lexical
from memassay.suites.locomo.suite import Locomo

TALK = """\
[1] 2023-05-08
Ada: I moved into the house by the lake last week, with my three dogs.
Bo: How lovely! Did you know that the ferry stops there?
[2] 2023-06-09T13:00:00
Ada: Yesterday I started at the bakery in Grimstad, Uncle Karl works there too.
Bo: I never liked bread.
"""
PAGES = """\
[1] Tove Lind
Tove Lind (born 4 March 1971) is a Norwegian painter. She studied in Bergen for six years.
[2] Harald Moe
Harald Moe was born in 1954. He is a sculptor.
"""


@pytest.mark.parametrize(
    ("question", "dossier", "expected"),
    [
        ("When did Ada start at the bakery?", TALK, "8 June 2023"),
        ("When did Ada move into the house?", TALK, "The week before 8 May 2023"),
        ("How many dogs does Ada have?", TALK, "three"),
        ("Who works at the bakery with Ada?", TALK, "Grimstad"),
        ("Does Bo like bread?", TALK, "No"),
        ("Did Ada move by the lake?", TALK, "Yes"),
        ("What does Bo think of bread?", TALK, "I never liked bread."),
        ("When was Tove Lind born?", PAGES, "4 March 1971"),
        ("How long did Tove Lind study?", PAGES, "six years"),
        ("Where did Tove Lind study?", PAGES, "Bergen"),
        ("Who was born first, Tove Lind or Harald Moe?", PAGES, "Harald Moe"),
        ("Who is younger, Tove Lind or Harald Moe?", PAGES, "Tove Lind"),
        ("Which one is a painter, Harald Moe or Tove Lind?", PAGES, "Tove Lind"),
    ],
)
def test_it_takes_what_is_asked_for(question: str, dossier: str, expected: str) -> None:
    assert pick(question, dossier) == expected


@pytest.mark.parametrize("dossier", [None, "", "  \n", "[1] Nothing of the kind stands here.\n"])
def test_it_does_not_know_where_nothing_fits(dossier: str | None) -> None:
    request = Request(cell=CellKey(task="q", arm="a"), prompt="Where is Grimstad?", dossier=dossier)
    step = asyncio.run(Extractive().answer(request))
    assert (step.status, step.text) == (Status.OK, UNKNOWN)


def test_what_it_is() -> None:
    agent = Extractive()
    assert isinstance(agent, Agent)
    assert (agent.model, agent.accesses) == ("none", frozenset({"dossier"}))
    assert agent.identity() == {"version": 1}


def test_sentences_know_what_stands_above_them() -> None:
    read = sentences(f"Before all.\n{TALK}{PAGES}")
    assert [(s.rank, s.text) for s in read[:3]] == [
        (0, "Before all."),
        (1, "I moved into the house by the lake last week, with my three dogs."),
        (1, "How lovely!"),
    ]
    assert [(s.speaker, str(s.date), s.title) for s in read if "bakery" in s.text] == [("Ada", "2023-06-09", "")]
    assert [(s.speaker, s.date, s.title) for s in read if "sculptor" in s.text] == [("", None, "Harald Moe")]


def test_a_day_that_is_none_is_no_date() -> None:
    (sentence,) = sentences("[1] 2023-02-31\nAda: I baked yesterday.\n")
    assert sentence.date is None
    assert time_in(sentence.text, sentence.date) == ""


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When did it rain?", Kind.TIME),
        ("In which year was it built?", Kind.TIME),
        ("How old is he?", Kind.NUMBER),
        ("To whom did she write?", Kind.NAME),
        ("Has she been there?", Kind.YES_OR_NO),
        ("Which is older, Rome or Paris?", Kind.ONE_OF_TWO),
        ("Did she go to the sea or stay?", Kind.YES_OR_NO),
        ("Why did it rain?", Kind.WORDS),
        ("", Kind.WORDS),
    ],
)
def test_kinds_of_questions(question: str, kind: Kind) -> None:
    assert kind_of(question) == kind


@given(st.text(), st.text())
def test_any_text_gets_an_answer(question: str, dossier: str) -> None:
    assert pick(question, f"[1] {dossier}").strip()


@pytest.mark.parametrize(
    ("question", "dossier"),
    [
        ("Who or " + "A B " * 50_000, TALK),
        ("Where is " + "A" * 200_000, TALK),
        ("What is A?", "[1] " + "A " * 100_000),
        ("When is A?", "[1] " + "A of of " * 30_000),
        ("How long is A?", "[1] A " + "1 " * 50_000),
        ("What is it?", f"[{'9' * 5_000}] It is."),
        ("What is it?", "[1] It is." + " " * 100_000 + "x"),
    ],
)
@pytest.mark.timeout(20)
def test_it_is_never_slow(question: str, dossier: str) -> None:
    assert pick(question, dossier)


def test_the_same_words_in_every_process(tmp_path: Path) -> None:
    code = (
        "import sys; from memassay.agents.extractive import pick; "
        "q = ['What did Ada do?', 'Where does Karl work?', 'Who is a painter?']; "
        "print([pick(question, sys.stdin.read() if n == 0 else sys.argv[1]) for n, question in enumerate(q)])"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code, PAGES + TALK],
            input=TALK + PAGES,
            env=child_environment(tmp_path, PYTHONHASHSEED=seed),
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(said) == 1
    assert said.pop().count("'") >= 6


@pytest.mark.slow
@pytest.mark.data
def test_it_is_clearly_better_than_the_first_passage_on_the_dev_conversations(
    locomo_file: Path, tmp_path: Path
) -> None:
    suite = Locomo(data=str(locomo_file))
    corpus = next(c for c in suite.corpora() if c.id == "conv-30")
    memory = Lexical()
    memory.build(corpus, tmp_path, BuildContext())
    store = memory.open(StoreRef(key="k", location=str(tmp_path)))
    ours, theirs = [], []
    for task in suite.tasks():
        gold = task.gold["original"].answer
        if task.scope != "conv-30" or gold is None or task.category == "adversarial":
            continue
        query = Query(text=task.prompt, as_of=task.as_of, budget_tokens=4000)
        passages: list[Passage] = list(store.retrieve(query))
        ours.append(f1(pick(task.prompt, rendering(dossier_of(passages), "chars4").cut(4000)), gold))
        theirs.append(f1(passages[0].text if passages else "", gold))
    assert len(ours) == 81
    print(json.dumps({"extractive": sum(ours) / 81, "first passage": sum(theirs) / 81}))
    assert sum(ours) > 4 * sum(theirs)
