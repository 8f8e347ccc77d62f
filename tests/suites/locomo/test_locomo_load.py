from __future__ import annotations

import json
import locale
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from locomo_files import conversation, question, turn

from memassay.core.errors import DataError
from memassay.suites.locomo import load
from memassay.suites.locomo.load import parse

Made = list[dict[str, Any]]


def first(value: Any) -> load.Conversation:
    return parse(value, file="f.json")[0]


# -- what is read --------------------------------------------------------------------------------------------------


def test_sessions_sort_as_numbers() -> None:
    talk = conversation(**{f"session_{n}": [turn(f"D{n}:1")] for n in (10, 9, 2, 1, 11)})
    found = first([talk])
    assert [session.number for session in found.sessions] == [1, 2, 9, 10, 11]
    assert found.now == found.sessions[-1].date == "2023-05-11T13:09:00"


def test_now_is_the_last_session_that_is_there() -> None:
    talk = conversation(session_1=[turn("D1:1")], session_2=[turn("D2:1")], session_3=[])
    talk["conversation"]["session_17_date_time"] = "1:00 pm on 1 January, 2030"
    found = first([talk])
    assert found.phantoms == (17,)
    assert [len(session.turns) for session in found.sessions] == [1, 1, 0]
    assert found.now == found.sessions[1].date


def test_a_conversation_without_a_turn_has_no_now() -> None:
    found = first([conversation(session_1=[], qa=[])])
    assert found.now is None and found.turns == ()


@pytest.mark.parametrize(
    ("written", "iso"),
    [
        ("1:56 pm on 8 May, 2023", "2023-05-08T13:56:00"),
        ("12:06 am on 11 November, 2022", "2022-11-11T00:06:00"),
        ("12:09 pm on 13 September, 2023", "2023-09-13T12:09:00"),
        ("9:55 AM on 22 october, 2023", "2023-10-22T09:55:00"),
        (" 11:01 am on 29 February 2024 ", "2024-02-29T11:01:00"),
    ],
)
def test_dates(written: str, iso: str) -> None:
    talk = conversation()
    talk["conversation"]["session_1_date_time"] = written
    assert first([talk]).sessions[0].date == iso


@given(st.datetimes().map(lambda moment: moment.replace(second=0, microsecond=0)))
def test_every_date_comes_back(moment: Any) -> None:
    hour = moment.hour % 12 or 12
    written = f"{hour}:{moment.minute:02} {'pm' if moment.hour >= 12 else 'am'} on {moment.day} "
    talk = conversation()
    talk["conversation"]["session_1_date_time"] = f"{written}{load.MONTHS[moment.month - 1]}, {moment.year:04}"
    assert first([talk]).sessions[0].date == moment.isoformat()


def test_dates_do_not_depend_on_the_locale() -> None:
    before = locale.setlocale(locale.LC_ALL)
    for name in ("de_DE.UTF-8", "C"):
        try:
            locale.setlocale(locale.LC_ALL, name)
        except locale.Error:
            continue
        try:
            assert first([conversation()]).sessions[0].date == "2023-05-01T13:09:00"
        finally:
            locale.setlocale(locale.LC_ALL, before)


def test_answers_that_are_numbers_become_text() -> None:
    found = first([conversation(qa=[question(answer=2022), question("Why?", answer="2022")])])
    assert [(q.answer, q.answer_is_number) for q in found.questions] == [("2022", True), ("2022", False)]


def test_adversarial_questions_may_lack_an_answer_and_keep_the_wrong_one_apart() -> None:
    entry = question(category=5, adversarial_answer="a lie")
    del entry["answer"]
    both = question("And?", category=5, adversarial_answer="a lie")
    without, with_one = first([conversation(qa=[entry, both])]).questions
    assert (without.answer, without.adversarial_answer) == (None, "a lie")
    assert (with_one.answer, with_one.adversarial_answer) == ("that", "a lie")


def test_the_names_of_the_categories() -> None:
    found = first([conversation(qa=[question(category=n) for n in (1, 2, 3, 4, 5)])])
    assert [q.category_name for q in found.questions] == [
        "multi-hop", "temporal", "open-domain", "single-hop", "adversarial",
    ]  # fmt: skip


def test_turns_are_single_lines_and_pictures_are_noticed() -> None:
    talk = conversation(
        session_1=[
            turn("D1:1", " two\n\nlines ", blip_caption="a  photo", img_url=["x"], query="secret"),
            turn("D1:2", "", blip_caption="only a photo", img_url=[]),
            turn("D1:3", " ", blip_caption=None),
        ]
    )
    one, two, three = first([talk]).turns
    assert (one.text, one.caption, one.picture, one.citable) == ("two lines", "a photo", True, "two lines")
    assert (two.text, two.picture, two.citable) == ("", False, "only a photo")
    assert three.citable == ""
    assert load.citable_ids(first([talk])) == ["D1:1", "D1:2"]


def test_unknown_keys_are_let_pass() -> None:
    talk = conversation()
    talk |= {"event_summary": {"x": 1}, "observation": [], "session_summary": None, "new": {"deep": [1]}}
    talk["conversation"] |= {"session_1_notes": 3, "sessions": 1, "session_x": 2}
    talk["qa"][0]["difficulty"] = 7
    assert parse([talk], file="f") == parse([conversation()], file="f")


# -- what is refused -----------------------------------------------------------------------------------------------


def set_at(value: Any, path: list[Any], new: Any) -> None:
    for key in path[:-1]:
        value = value[key]
    if new is KeyError:
        del value[path[-1]]
    else:
        value[path[-1]] = new


TALK = [2, "conversation"]
HOSTILE: list[tuple[list[Any], Any, str]] = [
    ([2], "text", r"conversation 3: expected an object, found text"),
    ([2, "sample_id"], KeyError, r'conversation 3: the key "sample_id" is missing'),
    ([2, "sample_id"], 7, r"conversation 3\.sample_id: expected text, found a number"),
    ([2, "sample_id"], "../../etc", r"conversation 3\.sample_id: a sample_id holds letters"),
    ([2, "sample_id"], "", r"conversation 3\.sample_id: expected text, found an empty one"),
    ([2, "sample_id"], "sample-1", r'conversation 3: the sample_id "sample-1" is already that of conversation 1'),
    ([2, "conversation"], [], r'conversation 3 \("sample-3"\), conversation: expected an object, found a list'),
    ([2, "conversation"], KeyError, r'conversation 3 \("sample-3"\): the key "conversation" is missing'),
    ([2, "qa"], KeyError, r'conversation 3 \("sample-3"\): the key "qa" is missing'),
    ([2, "qa"], {}, r'\("sample-3"\), qa: expected a list, found an object'),
    ([2, "qa", 12], None, r'\("sample-3"\), qa\[12\]: expected an object, found null'),
    ([2, "qa", 12, "question"], 5, r'\("sample-3"\), qa\[12\]\.question: expected text, found a number'),
    ([2, "qa", 12, "question"], " ", r"qa\[12\]\.question: expected text, found an empty one"),
    ([2, "qa", 12, "question"], KeyError, r'qa\[12\]: the key "question" is missing'),
    ([2, "qa", 12, "answer"], [], r"qa\[12\]\.answer: expected text, found a list"),
    ([2, "qa", 12, "answer"], True, r"qa\[12\]\.answer: expected text, found true or false"),
    ([2, "qa", 12, "evidence"], "D1:1", r"qa\[12\]\.evidence: expected a list, found text"),
    ([2, "qa", 12, "evidence"], KeyError, r'qa\[12\]: the key "evidence" is missing'),
    ([2, "qa", 12, "evidence"], ["D1:1", 3], r"qa\[12\]\.evidence\[1\]: expected text, found a number"),
    ([2, "qa", 12, "category"], "4", r"qa\[12\]\.category: expected a whole number, found text"),
    ([2, "qa", 12, "category"], True, r"qa\[12\]\.category: expected a whole number, found true or false"),
    ([2, "qa", 12, "category"], 6, r"qa\[12\]\.category: expected a category from 1 to 5, found 6"),
    ([*TALK, "session_2"], "x", r"conversation\.session_2: expected a list, found text"),
    ([*TALK, "session_2", 1], [], r"conversation\.session_2\[1\]: expected an object, found a list"),
    ([*TALK, "session_2", 1, "text"], KeyError, r'session_2\[1\]: the key "text" is missing'),
    ([*TALK, "session_2", 1, "text"], None, r"session_2\[1\]\.text: expected text, found null"),
    ([*TALK, "session_2", 1, "text"], "x" * 100_001, r"session_2\[1\]\.text: the text has 100,001 characters"),
    ([*TALK, "session_2", 1, "speaker"], "", r"session_2\[1\]\.speaker: expected text, found an empty one"),
    ([*TALK, "session_2", 1, "blip_caption"], 4, r"session_2\[1\]\.blip_caption: expected text, found a number"),
    ([*TALK, "session_2", 1, "dia_id"], 4, r"session_2\[1\]\.dia_id: expected text, found a number"),
    ([*TALK, "session_2", 1, "dia_id"], "D1:1", r'session_2: the dia_id "D1:1" already stands in session_1'),
    ([*TALK, "session_2", 1, "dia_id"], "D2:1", r'session_2: the dia_id "D2:1" already stands in session_2'),
    ([*TALK, "session_2_date_time"], KeyError, r'conversation: the key "session_2_date_time" is missing'),
    ([*TALK, "session_2_date_time"], "2023-05-08", r"session_2_date_time: expected a date such as"),
    ([*TALK, "session_2_date_time"], "1:56 pm on 31 June, 2023", r"session_2_date_time: expected a date such as"),
    ([*TALK, "session_2_date_time"], "13:56 pm on 8 May, 2023", r"session_2_date_time: expected a date such as"),
    ([*TALK, "session_2_date_time"], "0:56 am on 8 May, 2023", r"session_2_date_time: expected a date such as"),
    ([*TALK, "session_02"], [], r"conversation: two keys name one session"),
]


@pytest.mark.parametrize(("path", "new", "says"), HOSTILE)
def test_one_line_says_where(made: Made, path: list[Any], new: Any, says: str) -> None:
    kinds = [q["category"] for q in made[2]["qa"]]
    made[2]["qa"].insert(12, made[2]["qa"].pop(kinds.index(4)))
    set_at(made, path, new)
    with pytest.raises(DataError, match=says) as caught:
        parse(made, file="f.json")
    message = str(caught.value)
    assert message.startswith("f.json: ") and message.endswith("memassay data fetch locomo.")
    assert "\n" not in message and len(message) < 400


def test_an_answerable_question_needs_an_answer(made: Made) -> None:
    for wrong in (KeyError, None):
        entry = question()
        set_at(entry, ["answer"], wrong)
        with pytest.raises(DataError, match=r"qa\[0\]"):
            parse([conversation(qa=[entry])], file="f")


@pytest.mark.parametrize(("value", "says"), [([], "is empty"), ({}, "expected a list"), ("x", "expected a list")])
def test_a_file_of_another_shape(value: Any, says: str) -> None:
    with pytest.raises(DataError, match=says):
        parse(value, file="f")


def test_a_file_with_a_text_of_100_mb(tmp_path: Path, made: Made) -> None:
    made[0]["conversation"]["session_1"][0]["text"] = "x" * 100_000_000
    path = tmp_path / "huge.json"
    path.write_text(json.dumps(made), encoding="utf-8")
    with pytest.raises(DataError, match=r"huge\.json is larger than 67,108,864 bytes") as caught:
        load.load(path)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("raw", [b"\xff\xfe", b"<html>", b"", b"[", b"[NaN]", b'[{"a":1,"a":2}]'])
def test_a_file_that_is_not_json(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(raw)
    with pytest.raises(DataError, match=r"bad\.json"):
        load.load(path)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in steps:
        found += places(inner, (*path, key))
    return found


SMALL = [conversation("conv-1", qa=[question(), question("Who?", category=5, adversarial_answer="x")])]


@given(
    st.sampled_from(places(SMALL)[1:]),
    st.sampled_from([None, True, 3, 2.5, "", "text", [], {}, [None], {"a": 1}, KeyError]),
)
def test_any_change_is_read_or_refused_in_one_line(path: tuple[Any, ...], new: Any) -> None:
    value = json.loads(json.dumps(SMALL))
    set_at(value, list(path), new)
    try:
        parse(value, file="f")
    except DataError as error:
        assert re.fullmatch(r"f: [^\n]+\.", str(error))


@pytest.mark.data
def test_the_real_file_loads(real: Callable[[str], Path]) -> None:
    conversations = load.load(real("locomo10.json"))
    assert [c.id for c in conversations[:3]] == ["conv-26", "conv-30", "conv-41"]
    assert conversations[0].now == "2023-10-22T09:55:00"
    for c in conversations:
        dates = [session.date for session in c.sessions]
        assert dates == sorted(dates) and c.now == dates[-1]
