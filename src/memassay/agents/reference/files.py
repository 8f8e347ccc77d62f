"""Answers out of a folder of JSON files: read what the question needs, replay the history, apply the rules.

Everything is read anew for every question, and a call is the reading of one file.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from memassay.agents.reference.calls import Calls, NotThere, Unreadable
from memassay.agents.reference.questions import Alike, Links, Multihop, Question, Retraction, Why
from memassay.agents.reference.rules import COMPANY, LABELS, TALENT, TYPES, Entity, all_hold, holds, shared

CHANGES = "changes.jsonl"
ROLES = "roles.json"
_CLOCK = 100  # entities between two looks at the clock

State = Mapping[str, Entity]


def solve(folder: Path, question: Question, calls: Calls) -> list[str]:
    """The values that answer a question, in a fixed order.

    Raises:
        NotThere: the files know no such key or role.
        Unreadable: a file is missing or is not what it should be.
        TimeoutError: it takes too long.
    """
    files = _Files(folder, calls)
    try:
        match question:
            case Why():
                return _why(files, question)
            case Multihop():
                return _multihop(files, question)
            case Retraction():
                return _retraction(files, question)
            case Links():
                return _links(files, question)
            case Alike():
                return _alike(files, question)
    except (KeyError, TypeError, ValueError) as error:
        raise Unreadable(f"the files are not what they should be: {type(error).__name__}: {error}") from error


def _why(files: _Files, asked: Why) -> list[str]:
    state = files.state({TALENT, COMPANY})
    talent, company = _entity(state, asked.talent), _entity(state, asked.company)
    return [*(name for name in TYPES if holds(name, talent, company)), *shared(talent, company, "specialties")]


def _multihop(files: _Files, asked: Multihop) -> list[str]:
    state = files.state({TALENT, COMPANY})
    talents = [
        talent
        for talent in _of(state, TALENT)
        if talent.get("status") == "published" and talent.get("years_of_experience", -1) >= asked.years
    ]
    return [
        company["key"]
        for company in files.on_the_clock(_of(state, COMPANY))
        if sum(all_hold(asked.types, talent, company) for talent in talents) >= asked.talents
    ]


def _retraction(files: _Files, asked: Retraction) -> list[str]:
    state = files.state({TALENT, COMPANY})
    company = _entity(state, asked.company)
    supposed = {**company, asked.field: asked.value}
    return [
        talent["key"]
        for talent in files.on_the_clock(_of(state, TALENT))
        if all_hold(asked.types, talent, company) and not all_hold(asked.types, talent, supposed)
    ]


def _links(files: _Files, asked: Links) -> list[str]:
    seen = files.labels_of(asked.role) if asked.role is not None else LABELS
    wanted = [label for label in seen if asked.label in (None, label)]
    state = files.state({_label(asked.key), *wanted}, asked.date)
    entity = _entity(state, asked.key)
    if entity["label"] not in seen:  # a link is seen by who sees both of its ends
        return []

    def linked(other: Entity) -> bool:
        talent, end = (entity, other) if entity["label"] == TALENT else (other, entity)
        return talent["label"] == TALENT and all_hold(asked.types, talent, end)

    others = [other for label in wanted for other in _of(state, label)]
    return sorted(other["key"] for other in files.on_the_clock(others) if linked(other))


def _alike(files: _Files, asked: Alike) -> list[str]:
    seen = files.labels_of(asked.role) if asked.role is not None else LABELS
    state = files.state({_label(asked.key), *seen})
    entity = _entity(state, asked.key)
    if entity["label"] not in seen:
        return []
    return sorted(
        key
        for key, other in state.items()
        if key != asked.key
        and all(entity.get(field) == other.get(field) for field in ("industry", "size_bucket"))
        and shared(entity, other, "specialties")
    )


def _of(state: State, label: str) -> list[Entity]:
    return [state[key] for key in sorted(state) if state[key]["label"] == label]


def _entity(state: State, key: str) -> Entity:
    if key not in state:
        raise NotThere(f"there is no {key} on that day")
    return state[key]


def _label(key: str) -> str:
    return key.partition("-")[0].capitalize()


class _Files:
    def __init__(self, folder: Path, calls: Calls) -> None:
        self._folder, self._calls = folder, calls

    def state(self, labels: Collection[str], date: str | None = None) -> State:
        """The entities of some labels at the end of a day, by key; after the whole history without one."""
        state: dict[str, Entity] = {}
        for label in LABELS:
            if label in labels:
                entities = json.loads(self._read(f"entities/{label.lower()}.json"))
                state |= {entity["key"]: {**entity, "label": label} for entity in entities}
        for line in self._read(CHANGES).split("\n"):
            if not line:
                continue
            change = json.loads(line)
            key = change["key"]
            if date is not None and change["date"] > date:
                continue
            if change["op"] == "insert_node" and change["node"]["label"] in labels:
                state[key] = change["node"]
            elif change["op"] == "delete_node":
                state.pop(key, None)
            elif change["op"] == "set_prop" and key in state:
                state[key] = {**state[key], change["field"]: change["value"]}
        return state

    def labels_of(self, role: str) -> list[str]:
        """What a role may see."""
        roles = json.loads(self._read(ROLES))
        if role not in roles:
            raise NotThere(f"there is no role {role!r}; there are {', '.join(sorted(roles))}")
        return [label for label in LABELS if label in roles[role]]

    def on_the_clock(self, entities: Iterable[Entity]) -> Iterator[Entity]:
        """The same, with a look at the clock now and then."""
        for number, entity in enumerate(entities):
            if number % _CLOCK == 0:
                self._calls.look_at_the_clock()
            yield entity

    def _read(self, name: str) -> str:
        self._calls.before()
        try:
            text = (self._folder / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise Unreadable(f"{name} cannot be read: {reason}") from error
        self._calls.note("read", {"path": name}, text)
        return text
