"""LOCOMO's own file format, parsed into frozen values.

The file is a list of conversations. Each has ``sample_id``, ``qa`` and ``conversation``; the last holds the turns under
``session_1``, ``session_2``, ... and the dates under ``session_1_date_time``, ... Other keys (summaries, observations,
events) are derived data of other tasks and are not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from memassay.data.integrity import Located, read_json

CATEGORIES = MappingProxyType({1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"})
"""The right names of the category numbers.

The numbers' meaning follows from the official scorer, which gives category 1 the multi-answer F1; several published
tables rotate the names. See docs/suites/locomo.md.
"""

ADVERSARIAL = 5

MAX_TEXT = 100_000
"""Longest text of a field, in characters. The longest turn of the real file has 454."""

MAX_ID = 200

_SESSION = re.compile(r"session_(\d{1,9})")
_SESSION_DATE = re.compile(r"session_(\d{1,9})_date_time")
_FIX = "correct the file, or get a fresh copy with: memassay data fetch locomo"
# fmt: off
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
          "November", "December")
# fmt: on
_DATE = re.compile(r"(\d{1,2}):(\d{2})\s*([ap])m on (\d{1,2}) (" + "|".join(MONTHS) + r"),? (\d{4})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance. White space inside ``text`` and ``caption`` is single spaces, so that a turn is one line.

    Attributes:
        id: the file's ``dia_id``, ``D3:11``.
        speaker: who says it.
        text: the words; may be empty.
        caption: what a captioning model saw in the picture of the turn, or "".
        picture: whether the turn shows a picture.
    """

    id: str
    speaker: str
    text: str
    caption: str = ""
    picture: bool = False

    @property
    def citable(self) -> str:
        """The words by which the turn is found: its text, or the caption where there is no text."""
        return self.text or self.caption


@dataclass(frozen=True, slots=True)
class Session:
    """One sitting: its number in the file, its date (ISO 8601) and its turns (perhaps none)."""

    number: int
    date: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """One entry of ``qa``.

    Attributes:
        index: 0-based place in ``qa``; ids are made of it, so that no filter can move them.
        answer: the gold answer as text, or None where the file has none.
        answer_is_number: the file has the answer as a number.
        adversarial_answer: the plausible wrong answer of a category 5 question, or None.
        evidence: the evidence entries as written in the file.
    """

    index: int
    category: int
    question: str
    answer: str | None
    answer_is_number: bool
    adversarial_answer: str | None
    evidence: tuple[str, ...]

    @property
    def category_name(self) -> str:
        return CATEGORIES[self.category]


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation.

    Attributes:
        index: 0-based place in the file; the audit names questions by it.
        id: ``sample_id``.
        sessions: sorted by number, not by the string (``session_10`` comes after ``session_9``).
        phantoms: numbers of sessions that have a date and nothing else.
    """

    index: int
    id: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]
    phantoms: tuple[int, ...]

    @property
    def turns(self) -> tuple[Turn, ...]:
        return tuple(turn for session in self.sessions for turn in session.turns)

    @property
    def now(self) -> str | None:
        """The date of the last session in which something was said: the "now" of every question."""
        return next((session.date for session in reversed(self.sessions) if session.turns), None)


def load(path: Path) -> tuple[Conversation, ...]:
    """The conversations of a file.

    Raises:
        DataError: the file is not LOCOMO's format; one line that says where.
    """
    return parse(read_json(path), file=str(path))


def parse(value: Any, *, file: str) -> tuple[Conversation, ...]:
    """The conversations of a parsed JSON value; ``file`` is what errors call it.

    Raises:
        DataError: as in :func:`load`.
    """
    root = Located(value, file, fix=_FIX)
    conversations: list[Conversation] = []
    seen: dict[str, int] = {}
    for index, item in enumerate(root.items()):
        conversation = _conversation(index, item.named(f"conversation {index + 1}"))
        if conversation.id in seen:
            item.named(f"conversation {index + 1}").fail(
                f'the sample_id "{conversation.id}" is already that of conversation {seen[conversation.id]}'
            )
        seen[conversation.id] = index + 1
        conversations.append(conversation)
    if not conversations:
        root.fail("the list of conversations is empty")
    return tuple(conversations)


def _conversation(index: int, item: Located) -> Conversation:
    name = item.get("sample_id").text(max_chars=MAX_ID, empty=False)
    if not re.fullmatch(r"[\w.-]+", name):
        item.get("sample_id").fail("a sample_id holds letters, digits, '.', '_' and '-' only")
    item = item.named(f'{item.where} ("{name}")')
    talk = item.get("conversation")
    keys = talk.keys()
    numbers = {int(match[1]): key for key in keys if (match := _SESSION.fullmatch(key))}
    if len(numbers) < sum(_SESSION.fullmatch(key) is not None for key in keys):
        talk.fail("two keys name one session (such as session_1 and session_01)")
    sessions = []
    owners: dict[str, str] = {}
    for number, key in sorted(numbers.items()):
        turns = tuple(_turn(turn) for turn in talk.get(key).items())
        for turn in turns:
            if turn.id in owners:
                talk.get(key).fail(f'the dia_id "{turn.id}" already stands in {owners[turn.id]}')
            owners[turn.id] = key
        sessions.append(Session(number, _date(talk.get(f"{key}_date_time")), turns))
    dated = [int(match[1]) for key in keys if (match := _SESSION_DATE.fullmatch(key))]
    return Conversation(
        index=index,
        id=name,
        sessions=tuple(sessions),
        questions=tuple(_question(i, entry) for i, entry in enumerate(item.get("qa").items())),
        phantoms=tuple(sorted(set(dated) - set(numbers))),
    )


def _turn(item: Located) -> Turn:
    return Turn(
        id=item.get("dia_id").text(max_chars=MAX_ID, empty=False).strip(),
        speaker=_line(item.get("speaker").text(max_chars=MAX_ID, empty=False)),
        text=_line(item.get("text").text(max_chars=MAX_TEXT)),
        caption=_line(item.get("blip_caption").text(max_chars=MAX_TEXT)) if _given(item, "blip_caption") else "",
        picture=_given(item, "img_url") and bool(item.get("img_url").value),
    )


def _question(index: int, item: Located) -> Question:
    category = item.get("category").whole()
    if category not in CATEGORIES:
        item.get("category").fail(f"expected a category from 1 to 5, found {category}")
    answer, is_number = None, False
    if _given(item, "answer"):
        given = item.get("answer")
        is_number = isinstance(given.value, int | float) and not isinstance(given.value, bool)
        answer = str(given.value) if is_number else given.text(max_chars=MAX_TEXT)
    elif category != ADVERSARIAL:
        item.get("answer").text(max_chars=MAX_TEXT)  # says what is wrong: missing, or null
    wrong = item.get("adversarial_answer").text(max_chars=MAX_TEXT) if _given(item, "adversarial_answer") else None
    return Question(
        index=index,
        category=category,
        question=item.get("question").text(max_chars=MAX_TEXT, empty=False).strip(),
        answer=answer,
        answer_is_number=is_number,
        adversarial_answer=wrong,
        evidence=tuple(entry.text(max_chars=MAX_TEXT) for entry in item.get("evidence").items()),
    )


def _given(item: Located, key: str) -> bool:
    return item.has(key) and item.get(key).value is not None


def _line(text: str) -> str:
    return " ".join(text.split())


def _date(item: Located) -> str:
    """ISO 8601 of ``1:56 pm on 8 May, 2023``; parsed by hand because ``strptime`` depends on the locale."""
    text = item.text(max_chars=MAX_ID)
    match = _DATE.fullmatch(text.strip())
    if match:
        hour, minute, half, day, month, year = match.groups()
        try:
            clock = int(hour) % 12 + (12 if half.lower() == "p" else 0) if 1 <= int(hour) <= 12 else -1
            moment = datetime(int(year), MONTHS.index(month.capitalize()) + 1, int(day), clock, int(minute))  # noqa: DTZ001
            return moment.isoformat()
        except ValueError:
            pass
    item.fail(f'expected a date such as "1:56 pm on 8 May, 2023", found {text[:40]!r}')


def citable_ids(conversation: Conversation) -> Sequence[str]:
    """Ids of the turns that can be found: those with a text or a caption."""
    return [turn.id for turn in conversation.turns if turn.citable]
