"""Generated conversations in LOCOMO's own format, for a run without a download.

Two people talk once every few weeks. Each conversation weaves ten stories into a dozen sessions; a story is told in
three sessions, its questions are worded unlike the telling, and the other person says something with the same words
about another matter. The text stands in ``sample_text/*.toml``. Numbers made from it carry no verdict.
"""

from __future__ import annotations

import datetime as dt
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from memassay.core.draws import Draw
from memassay.suites.locomo.load import MONTHS

VERSION = 1
"""Version of generator and text together; part of the suite's identity."""

CONVERSATIONS = 8
STORIES = 10
QUESTIONS = 20  # answerable ones per conversation
MULTI_HOP = 6
ADVERSARIAL = 2

_FILES = ("people.toml", "threads_home.toml", "threads_outside.toml")
_CATEGORIES = {"multi-hop": 1, "temporal": 2, "open-domain": 3, "single-hop": 4, "adversarial": 5}
_LINE = re.compile(r"(?P<who>[AB])(?:#(?P<label>\w+))?: (?P<text>.*?)(?: \[\[(?P<caption>.*)\]\])?", re.DOTALL)
_HOLE = re.compile(r"\{(\w+)(?:\.(\w+))?\}")
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(slots=True)
class Story:
    """One thread of one conversation: whose it is, what fills its holes, and the turns that its questions name."""

    thread: Mapping[str, Any]
    owner: str
    other: str
    slots: Mapping[str, str]
    when: dict[str, str] = field(default_factory=dict)
    dates: dict[str, str] = field(default_factory=dict)
    turns: dict[str, str] = field(default_factory=dict)

    def fill(self, text: str, *, swapped: bool = False) -> str:
        """The text with names, slots and times in place; ``swapped`` where the other person tells it."""
        owner, other = (self.other, self.owner) if swapped else (self.owner, self.other)

        def hole(match: re.Match[str]) -> str:
            key, sub = match.groups()
            if sub:
                value = (self.dates if key == "date" else self.when)[sub]
            else:
                value = {"A": owner, "B": other}.get(key) or self.slots[key.lower()]
            return value[:1].upper() + value[1:] if key[0].isupper() else value

        return _HOLE.sub(hole, text)


def generate(seed: int) -> list[dict[str, Any]]:
    """The conversations of a seed, as LOCOMO's file has them after ``json.load``."""
    text = _text()
    draw = Draw(f"locomo sample {seed}")
    names = draw.shuffled(text["names"])
    threads = text["thread"]
    orders = {t["name"]: {s: draw.shuffled(v) for s, v in t["slots"].items()} for t in threads}
    used = {t["name"]: 0 for t in threads}
    made = []
    for index in range(CONVERSATIONS):
        # The threads used least so far come first, so that all of them are used about equally often.
        chosen = sorted(draw.shuffled(threads), key=lambda t: used[t["name"]])[:STORIES]
        speakers = (names[2 * index], names[2 * index + 1])
        stories = []
        for place, thread in enumerate(chosen):
            slots = {s: v[used[thread["name"]] % len(v)] for s, v in orders[thread["name"]].items()}
            used[thread["name"]] += 1
            stories.append(Story(thread, speakers[place % 2], speakers[1 - place % 2], slots))
        made.append(_conversation(index, speakers, stories, text, Draw(f"locomo sample {seed} {index}")))
    _add_defects(made)
    return made


def _text() -> dict[str, Any]:
    folder = resources.files("memassay.suites.locomo") / "sample_text"
    merged: dict[str, Any] = {"thread": []}
    for name in _FILES:
        loaded = tomllib.loads((folder / name).read_text(encoding="utf-8"))
        merged["thread"] += loaded.pop("thread", [])
        merged.update(loaded)
    return merged


# -- one conversation ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Block:
    """Lines of one story said in one session; ``swapped`` where the other person tells them."""

    story: Story
    lines: Sequence[str]
    swapped: bool = False

    def speaker(self, letter: str) -> str:
        return self.story.owner if (letter == "A") != self.swapped else self.story.other


def _conversation(
    index: int, speakers: tuple[str, str], stories: Sequence[Story], text: Mapping[str, Any], draw: Draw
) -> dict[str, Any]:
    count = 11 + draw.below(3)
    plan = _schedule(stories, count, draw)
    openers, closers, small_talk = (draw.shuffled(text[key]) for key in ("openers", "closers", "small_talk"))
    day = dt.date(2022 + draw.below(2), 1 + draw.below(12), 1 + draw.below(28))
    talk: dict[str, Any] = {"speaker_a": speakers[0], "speaker_b": speakers[1]}
    for number in range(1, count + 1):
        session = _Session(number, day, speakers, text["bridges"], draw)
        blocks = plan[number - 1]
        # The one who opens is the one who goes on after the answer.
        first = blocks[0].speaker(blocks[0].lines[0][0]) if blocks else draw.pick(speakers)
        session.chat([f"{who}: {line}" for who, line in zip("AB", openers.pop(), strict=True)], first)
        # One chat in every session, a second in the thin ones as long as there are enough for the rest.
        spare = len(small_talk) - (count - number + 1)
        chats = 2 if len(blocks) < 4 and spare > 0 else 1
        pauses = draw.shuffled(range(1, len(blocks) + 1))[:chats]
        for place, block in enumerate(blocks, start=1):
            session.tell(block)
            if place in pauses:
                session.chat(small_talk.pop())
        session.chat([f"{who}: {line}" for who, line in zip("AB", closers[number % len(closers)], strict=True)])
        talk[f"session_{number}_date_time"] = session.clock()
        talk[f"session_{number}"] = session.turns
        day += dt.timedelta(days=14 + draw.below(19))
    return {"qa": _questions(stories, draw), "conversation": talk, "sample_id": f"sample-{index + 1}"}


def _schedule(stories: Sequence[Story], count: int, draw: Draw) -> list[list[Block]]:
    """What is told in which session: the scenes of a story in order and two sessions apart, the echo anywhere."""
    plan: list[list[Block]] = [[] for _ in range(count)]

    def place(session: int, block: Block) -> None:
        plan[session].insert(draw.below(len(plan[session]) + 1), block)

    for story in stories:
        scenes = story.thread["scene"]
        spare = count - 2 * (len(scenes) - 1)
        tries = []
        for _ in range(12):
            steps = sorted(draw.below(spare) for _ in scenes)
            tries.append([step + 2 * i for i, step in enumerate(steps)])
        best = min(tries, key=lambda sessions: sum(len(plan[s]) ** 2 for s in sessions))
        for session, scene in zip(best, scenes, strict=True):
            place(session, Block(story, scene))
        lightest = min(draw.shuffled(range(count)), key=lambda s: len(plan[s]))
        place(lightest, Block(story, story.thread["echo"], swapped=True))
    return plan


class _Session:
    """A session while it is written."""

    def __init__(
        self, number: int, day: dt.date, speakers: tuple[str, str], bridges: Sequence[str], draw: Draw
    ) -> None:
        self.number, self.day, self.speakers, self.draw = number, day, speakers, draw
        self.turns: list[dict[str, Any]] = []
        self._bridges = draw.shuffled(bridges)

    def clock(self) -> str:
        hour, minute = 1 + self.draw.below(12), self.draw.below(60)
        half = "am" if 8 <= hour <= 11 else "pm"
        return f"{hour}:{minute:02} {half} on {self.day.day} {MONTHS[self.day.month - 1]}, {self.day.year}"

    def chat(self, lines: Sequence[str], first: str | None = None) -> None:
        """Lines that belong to no story, begun by ``first``, else by the one who did not speak last."""
        first = first or self._listener()
        self.tell(Block(Story({}, first, self._other(first), {}), lines))

    def tell(self, block: Block) -> None:
        story = block.story
        for place, line in enumerate(block.lines):
            match = _LINE.fullmatch(line)
            if match is None:
                raise ValueError(f"not a line of a scene: {line!r}")
            speaker = block.speaker(match["who"])
            if place == 0 and self.turns and self.turns[-1]["speaker"] == speaker:
                self._say(self._other(speaker), self._bridges.pop())
            wording = self.draw.pick(match["text"].split(" || "))
            for key, name in _HOLE.findall(wording):
                if key.lower() == "when":
                    story.when[name], story.dates[name] = _time(story.thread["times"][name], self.day, self.draw)
            caption = story.fill(match["caption"], swapped=block.swapped) if match["caption"] else None
            turn = self._say(speaker, story.fill(wording, swapped=block.swapped), caption)
            if match["label"]:
                story.turns[match["label"]] = turn

    def _say(self, speaker: str, words: str, caption: str | None = None) -> str:
        name = f"D{self.number}:{len(self.turns) + 1}"
        turn = {"speaker": speaker, "dia_id": name, "text": words}
        self.turns.append(turn | ({"blip_caption": caption} if caption else {}))
        return name

    def _other(self, speaker: str) -> str:
        return self.speakers[1] if speaker == self.speakers[0] else self.speakers[0]

    def _listener(self) -> str:
        return self._other(self.turns[-1]["speaker"])


def _time(kind: str, day: dt.date, draw: Draw) -> tuple[str, str]:
    """A relative time as it is said on ``day``, and the date that it means."""
    if kind in ("month", "next-month"):
        ahead = kind == "next-month"
        months = day.year * 12 + day.month - 1 + (1 if ahead else -1)
        said = draw.pick(["next month", "at the start of next month"] if ahead else ["last month"])
        return said, f"{MONTHS[months % 12]} {months // 12}"
    if kind == "weekend":
        saturday = day - dt.timedelta(days=(day.weekday() - 5) % 7 or 7)
        said, at = draw.pick([("last Saturday", saturday), ("last weekend", None)])
        return said, _long(at) if at else f"the weekend of {_long(saturday)}"
    if kind == "week":
        back, said = draw.pick([(7, "a week ago today"), (14, "two weeks ago today"), (10, "ten days ago")])
        return said, _long(day - dt.timedelta(days=back))
    back, said = draw.pick([(1, "yesterday"), (2, "the day before yesterday"), (3, "three days ago"), (0, "last")])
    if not back:
        back = 2 + draw.below(4)
        said = f"last {_WEEKDAYS[(day - dt.timedelta(days=back)).weekday()]}"
    return said, _long(day - dt.timedelta(days=back))


def _long(day: dt.date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


# -- questions -----------------------------------------------------------------------------------------------------


def _questions(stories: Sequence[Story], draw: Draw) -> list[dict[str, Any]]:
    """Some multi-hop questions, every open-domain one, as many others as are missing, a few about the wrong person."""
    asked = [(story, question) for story in stories for question in story.thread["question"]]
    by_category = {name: draw.shuffled([pair for pair in asked if pair[1]["category"] == name]) for name in _CATEGORIES}
    rare = by_category["multi-hop"][:MULTI_HOP] + by_category["open-domain"]
    others = draw.shuffled(by_category["single-hop"] + by_category["temporal"])
    kept = [*rare, *others[: QUESTIONS - len(rare)], *by_category["adversarial"][:ADVERSARIAL]]
    return [_question(story, question) for story, question in draw.shuffled(kept)]


def _question(story: Story, question: Mapping[str, Any]) -> dict[str, Any]:
    answer: str | int = _third_person(story.fill(question["answer"]), story.owner)
    if question.get("number"):
        answer = int(answer)
    made: dict[str, Any] = {"question": story.fill(question["ask"])}
    made["adversarial_answer" if question["category"] == "adversarial" else "answer"] = answer
    made["evidence"] = [story.turns[label] for label in question["evidence"]]
    made["category"] = _CATEGORIES[question["category"]]
    return made


def _third_person(text: str, name: str) -> str:
    for word, instead in (("my", f"{name}'s"), ("our", f"{name}'s"), ("I", name), ("me", name), ("we", "they")):
        text = re.sub(rf"\b{word}\b", instead, text)
    return text


def _add_defects(conversations: Sequence[dict[str, Any]]) -> None:
    """The defects of the real file, once each, so that a run on the sample goes the same ways."""
    two_hops = next(q for q in conversations[0]["qa"] if len(q["evidence"]) == 2 and q["category"] == 1)
    two_hops["evidence"] = ["; ".join(two_hops["evidence"])]
    for number in (20, 21):
        conversations[1]["conversation"][f"session_{number}_date_time"] = "10:00 am on 1 January, 2026"
    twice = next(q for q in conversations[2]["qa"] if q["category"] == 4)
    conversations[2]["qa"].append(dict(twice))
    lost = next(q for q in conversations[3]["qa"] if q["category"] == 1)
    lost["evidence"] = [*lost["evidence"], "D99:1"]
    conversations[4]["qa"].append(
        {"question": "What would surprise the two of them?", "answer": "silence", "evidence": [], "category": 3}
    )
