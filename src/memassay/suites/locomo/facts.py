"""What is in a LOCOMO file, counted: its size, its categories under their right names, and its defects by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from memassay.core.types import Frozen
from memassay.suites.locomo.corrections import CORRUPTING, WRONG_CITATION, Corrections
from memassay.suites.locomo.evidence import Resolver
from memassay.suites.locomo.load import ADVERSARIAL, CATEGORIES, Conversation, citable_ids
from memassay.suites.locomo.tasks import repetitions, task_id


class Fact(Frozen):
    """A count, what it counts, and the ids of what was counted where they are worth naming."""

    label: str
    count: int
    names: tuple[str, ...] = ()


def facts(conversations: Sequence[Conversation]) -> Mapping[str, Fact]:
    """Every fact of a file by a stable key, in the order in which ``memassay data verify locomo`` prints them."""
    found = {
        "conversations": Fact(label="conversations", count=len(conversations)),
        "sessions": Fact(label="sessions", count=sum(len(c.sessions) for c in conversations)),
        "turns": Fact(label="turns", count=sum(len(c.turns) for c in conversations)),
        "questions": Fact(label="questions", count=sum(len(c.questions) for c in conversations)),
    }
    per_category = Counter(q.category for c in conversations for q in c.questions)
    for number, name in CATEGORIES.items():
        found[f"category_{number}"] = Fact(label=f"category {number}, {name}", count=per_category[number])
    found.update(_evidence_facts(conversations))
    found.update(_answer_facts(conversations))
    found.update(_session_facts(conversations))
    return found


def audit_facts(corrections: Corrections) -> Mapping[str, Fact]:
    """Every fact of an audit file by a stable key: its corrections, and how many are of which kind."""
    kinds = {
        kind.lower(): Fact(label=kind.lower().replace("_", " "), count=corrections.count(kind))
        for kind in (WRONG_CITATION, *CORRUPTING)
    }
    return {
        "corrections": Fact(label="corrected questions", count=corrections.count()),
        "corrupting": Fact(label="of these, with a wrong answer", count=corrections.count(*CORRUPTING)),
        **kinds,
    }


def _named(label: str, names: Sequence[str]) -> Fact:
    return Fact(label=label, count=len(names), names=tuple(names))


def _evidence_facts(conversations: Sequence[Conversation]) -> Mapping[str, Fact]:
    scored = with_evidence = 0
    unresolvable: list[str] = []
    repaired: list[str] = []
    partly: list[str] = []
    lost: list[str] = []
    without: list[str] = []
    for conversation in conversations:
        resolver = Resolver(citable_ids(conversation))
        for question in conversation.questions:
            name = task_id(conversation, question)
            resolved = resolver.resolve(question.evidence)
            with_evidence += bool(resolved.ids)
            scored += bool(resolved.ids) and question.category != ADVERSARIAL
            if not question.evidence:
                without.append(name)
            if not resolved.as_written:
                unresolvable.append(name)
            if resolved.repaired:
                repaired.append(name)
            elif resolved.partly:
                partly.append(name)
            elif resolved.unresolved:
                lost.append(name)
    return {
        "with_evidence": Fact(label="questions with evidence", count=with_evidence),
        "with_evidence_1_to_4": Fact(label="questions with evidence, categories 1 to 4", count=scored),
        "unresolvable": _named("questions with an evidence id that names no turn as written", unresolvable),
        "repaired": _named("of these, repaired by parsing", repaired),
        "partly_resolvable": _named("of these, resolvable in part", partly),
        "lost": _named("of these, not resolvable at all", lost),
        "without_evidence": _named("questions without evidence", without),
    }


def _answer_facts(conversations: Sequence[Conversation]) -> Mapping[str, Fact]:
    duplicates: list[str] = []
    repeats: list[str] = []
    numbers: list[str] = []
    unanswered = 0
    for conversation in conversations:
        for second, marks in repetitions(conversation).items():
            if "duplicate_of" in marks:
                duplicates.append(f"{marks['duplicate_of']} = {second}")
            else:
                repeats.append(f"{marks['repeats']} = {second}")
        for question in conversation.questions:
            if question.answer_is_number:
                numbers.append(task_id(conversation, question))
            unanswered += question.category == ADVERSARIAL and question.answer is None
    return {
        "duplicate_pairs": _named("pairs of one question asked twice in categories 1 to 4", duplicates),
        "cross_category_repeats": _named("questions repeated under another category", repeats),
        "number_answers": _named("answers that are numbers, read as text", numbers),
        "adversarial_without_answer": Fact(label="adversarial questions without an answer", count=unanswered),
    }


def _session_facts(conversations: Sequence[Conversation]) -> Mapping[str, Fact]:
    phantoms = [f"{c.id}/session_{number}" for c in conversations for number in c.phantoms]
    silent = [f"{c.id}/session_{s.number}" for c in conversations for s in c.sessions if not s.turns]
    blank = [f"{c.id}/{turn.id}" for c in conversations for turn in c.turns if not turn.text]
    return {
        "phantom_session_dates": _named("dates of sessions that do not exist, never used", phantoms),
        "empty_sessions": _named("sessions without a turn", silent),
        "turns_without_text": _named("turns without text, found by their caption", blank),
        "turns_with_picture": Fact(
            label="turns with a picture", count=sum(turn.picture for c in conversations for turn in c.turns)
        ),
        "turns_with_caption": Fact(
            label="turns with a caption", count=sum(bool(turn.caption) for c in conversations for turn in c.turns)
        ),
    }
