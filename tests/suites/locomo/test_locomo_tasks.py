from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from locomo_files import conversation, question, turn

from memassay.core.types import Task
from memassay.suites.locomo.load import Conversation, parse
from memassay.suites.locomo.tasks import corpora, corpus, dev_conversations, tasks

Made = list[dict[str, Any]]


def loaded(*items: dict[str, Any]) -> tuple[Conversation, ...]:
    return parse(list(items), file="f")


# -- corpora -------------------------------------------------------------------------------------------------------


def test_a_session_becomes_a_document() -> None:
    one = conversation(
        session_10=[turn("D10:1", "Late.")],
        session_2=[
            turn("D2:1", "Look at this!", blip_caption="a photo of a dog"),
            turn("D2:2", "", blip_caption="a cat"),
            turn("D2:3", ""),
            turn("D2:4", "Two\nlines."),
        ],
    )
    early, late = corpora(loaded(one))[0].documents
    assert (early.id, late.id) == ("conv-1/session_2", "conv-1/session_10")
    assert early.date == "2023-05-02T13:09:00"
    assert early.text == "Ada: Look at this! [a photo of a dog]\nAda: [a cat]\nAda: \nAda: Two lines."
    assert [(u.id, u.text, u.note) for u in early.units] == [
        ("D2:1", "Look at this!", "a photo of a dog"),
        ("D2:2", "a cat", "a cat"),
        ("D2:4", "Two lines.", ""),
    ]


_words = st.text(st.characters(exclude_categories=["Cs"]), max_size=25)


@given(st.lists(st.tuples(_words, _words), min_size=1, max_size=8))
def test_every_span_cuts_out_the_words_of_its_unit(said: list[tuple[str, str]]) -> None:
    turns = [turn(f"D1:{i}", text, blip_caption=caption) for i, (text, caption) in enumerate(said)]
    for document in corpora(loaded(conversation(session_1=turns)))[0].documents:
        assert len(document.text.split("\n")) == len(turns)
        for unit in document.units:
            assert unit.span is not None and unit.text
            assert document.text[slice(*unit.span)] == unit.text


def test_a_session_in_which_nothing_is_said_is_no_document() -> None:
    one = conversation(session_1=[], session_2=[turn("D2:1")])
    assert [d.id for d in corpora(loaded(one))[0].documents] == ["conv-1/session_2"]


def test_the_digest_follows_the_content(made: Made) -> None:
    before = [c.digest for c in corpora(parse(made, file="f"))]
    assert len(set(before)) == len(before)
    made[1]["conversation"]["session_1"][0]["text"] += "!"
    made[2]["qa"] = []
    after = [c.digest for c in corpora(parse(made, file="f"))]
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, False] + [True] * (len(made) - 2)


# -- tasks ---------------------------------------------------------------------------------------------------------


def by_id(*items: dict[str, Any]) -> dict[str, Task]:
    return {task.id: task for task in tasks(loaded(*items))}


def test_ids_are_places_in_the_file() -> None:
    found = by_id(conversation("conv-7", qa=[question(category=n) for n in (5, 1, 5, 2)]))
    assert list(found) == ["conv-7/q0", "conv-7/q1", "conv-7/q2", "conv-7/q3"]
    last = found["conv-7/q3"]
    assert (last.category, last.scope, last.cluster, last.suite) == ("temporal", "conv-7", "conv-7", "locomo")
    assert last.as_of == "2023-05-01T13:09:00"


def test_as_of_is_the_last_session_that_is_there() -> None:
    one = conversation(**{f"session_{n}": [turn(f"D{n}:1")] for n in (1, 9, 10)})
    one["conversation"]["session_20_date_time"] = "1:00 pm on 1 January, 2030"
    assert by_id(one)["conv-1/q0"].as_of == "2023-05-10T13:09:00"


@pytest.mark.parametrize(
    ("ids", "dev"),
    [
        (["conv-26", "conv-30", "conv-41"], {"conv-26", "conv-30"}),
        (["conv-41", "conv-30"], {"conv-30"}),
        (["conv-41", "conv-42", "conv-43"], set()),  # a part of the published file keeps the split of the whole
        (["sample-1", "sample-2", "sample-3"], {"sample-1", "sample-2"}),
        (["mine"], {"mine"}),
    ],
)
def test_splits(ids: list[str], dev: set[str]) -> None:
    assert dev_conversations(ids) == dev
    found = tasks(loaded(*[conversation(name) for name in ids]))
    assert {t.scope for t in found if t.split == "dev"} == dev
    assert {t.split for t in found} <= {"dev", "test"}


def test_evidence_is_the_words_of_the_turns() -> None:
    talk = {"session_1": [turn("D1:1", "One."), turn("D1:2", "", blip_caption="a cat"), turn("D1:3", "")]}
    qa = [
        question(evidence=["D1:1 D1:02"]),
        question("B?", evidence=["D1:1", "D1:3"]),  # a turn that nothing could show
        question("C?", evidence=[]),
        question("D?", evidence=["D9:9"]),
    ]
    found = by_id(conversation(qa=qa, **talk))
    golds = [task.gold["original"] for task in found.values()]
    assert [[(e.id, e.text) for e in gold.evidence] for gold in golds] == [
        [("D1:1", "One."), ("D1:2", "a cat")], [("D1:1", "One.")], [], [],
    ]  # fmt: skip
    assert [gold.unresolved for gold in golds] == [(), ("D1:3",), (), ("D9:9",)]
    assert found["conv-1/q0"].payload["evidence_repaired"] is True
    assert found["conv-1/q1"].payload["partly_unresolved"] is True
    assert all(not {"evidence_repaired", "partly_unresolved"} & found[f"conv-1/q{i}"].payload.keys() for i in (2, 3))


def test_duplicates_are_named_and_other_repetitions_told_apart() -> None:
    first = conversation(
        "conv-1",
        qa=[
            question("Same?"),
            question("Same?"),
            question(" Same? "),
            question("Same?", category=5),
            question("Same?", category=5),
            question("same?"),
        ],
    )
    found = by_id(first, conversation("conv-2", qa=[question("Same?")]))
    marks = {
        name: {k: v for k, v in t.payload.items() if k in ("duplicate_of", "repeats")} for name, t in found.items()
    }
    assert marks == {
        "conv-1/q0": {},
        "conv-1/q1": {"duplicate_of": "conv-1/q0"},
        "conv-1/q2": {"duplicate_of": "conv-1/q0"},
        "conv-1/q3": {"repeats": "conv-1/q0"},
        "conv-1/q4": {},
        "conv-1/q5": {},
        "conv-2/q0": {},
    }


def test_nothing_outside_the_gold_tells_the_answer(made: Made) -> None:
    for entry in made[0]["qa"]:
        entry["adversarial_answer" if entry["category"] == 5 else "answer"] = "XYZZY"
    for task in tasks(parse(made[:1], file="f")):
        assert "XYZZY" not in json.dumps(task.model_dump(mode="json", exclude={"gold"}))


def test_the_gold_of_an_adversarial_question_has_no_answer(made: Made) -> None:
    wrong = [t for t in tasks(parse(made, file="f")) if t.category == "adversarial"]
    assert wrong
    assert all(t.gold["original"].answer is None and t.gold["original"].evidence for t in wrong)


def test_a_filter_in_the_file_does_not_move_what_is_left(made: Made) -> None:
    everything = {t.id: t for t in tasks(parse(made, file="f"))}
    some = tasks(parse(made[:3], file="f"))
    assert all(everything[t.id] == t for t in some)


def test_a_corpus_alone_is_that_of_the_list(made: Made) -> None:
    conversations = parse(made, file="f")
    assert corpus(conversations[4]) == corpora(conversations)[4]
