"""LOCOMO's conversations as corpora and its questions as tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from memassay.core.digest import digest_of
from memassay.core.types import Corpus, Document, Evidence, Gold, Task, Unit
from memassay.suites.locomo.corrections import CORRECTED, EXCLUDED, ORIGINAL, Corrections
from memassay.suites.locomo.evidence import Resolver
from memassay.suites.locomo.load import ADVERSARIAL, Conversation, Question, Session, citable_ids

RENDERING = 1
"""Version of :func:`document`; part of the suite's identity."""

DEV = frozenset({"conv-26", "conv-30"})
PUBLISHED = frozenset(f"conv-{n}" for n in (26, 30, 41, 42, 43, 44, 47, 48, 49, 50))


# -- corpora -------------------------------------------------------------------------------------------------------


def corpora(conversations: Sequence[Conversation]) -> list[Corpus]:
    """One corpus per conversation, one document per session in which something is said."""
    return [corpus(conversation) for conversation in conversations]


def corpus(conversation: Conversation) -> Corpus:
    documents = tuple(document(conversation.id, session) for session in conversation.sessions if session.turns)
    content = {"id": conversation.id, "variant": "default", "documents": [d.model_dump(mode="json") for d in documents]}
    return Corpus(id=conversation.id, documents=documents, digest=digest_of(content))


def document(conversation: str, session: Session) -> Document:
    """A session as lines ``speaker: text [caption]``; the units are the turns, their spans the words of the turn.

    A turn with neither text nor caption keeps its line and is no unit: nothing could show that it was found.
    """
    lines: list[str] = []
    units: list[Unit] = []
    at = 0
    for turn in session.turns:
        head = f"{turn.speaker}: "
        line = head + turn.text + (f"{' ' if turn.text else ''}[{turn.caption}]" if turn.caption else "")
        if turn.citable:
            start = at + len(head) + (0 if turn.text else 1)
            units.append(
                Unit(
                    id=turn.id,
                    text=turn.citable,
                    speaker=turn.speaker,
                    note=turn.caption,
                    span=(start, start + len(turn.citable)),
                )
            )
        lines.append(line)
        at += len(line) + 1
    return Document(
        id=f"{conversation}/session_{session.number}",
        title=f"Session {session.number}",
        text="\n".join(lines),
        date=session.date,
        units=tuple(units),
        meta={"conversation": conversation, "session": session.number},
    )


# -- tasks ---------------------------------------------------------------------------------------------------------


def task_id(conversation: Conversation, question: Question) -> str:
    return f"{conversation.id}/q{question.index}"


def tasks(conversations: Sequence[Conversation], corrections: Corrections | None = None) -> list[Task]:
    """Every question of every conversation, in the order of the file."""
    dev = dev_conversations([conversation.id for conversation in conversations])
    return [
        task
        for conversation in conversations
        for task in _tasks_of(conversation, "dev" if conversation.id in dev else "test", corrections)
    ]


def dev_conversations(ids: Sequence[str]) -> frozenset[str]:
    """The conversations that something may be chosen on.

    conv-26 and conv-30 wherever any of the ten published conversations is in the file (so a part of the file keeps the
    split of the whole); in a file of other conversations, or in the sample, the first two.
    """
    return DEV & frozenset(ids) if PUBLISHED & frozenset(ids) else frozenset(ids[:2])


def _tasks_of(conversation: Conversation, split: str, corrections: Corrections | None) -> list[Task]:
    resolver = Resolver(citable_ids(conversation))
    words = {turn.id: turn.citable for turn in conversation.turns}
    repeats = repetitions(conversation)
    made = []
    for question in conversation.questions:
        name = task_id(conversation, question)
        resolved = resolver.resolve(question.evidence)
        gold = {ORIGINAL: _gold(question.answer, resolved.ids, resolved.unresolved, words)}
        payload: dict[str, JsonValue] = {"category_number": question.category}
        if question.answer_is_number:
            payload["answer_type"] = "number"
        if resolved.repaired:
            payload["evidence_repaired"] = True
        if resolved.partly:
            payload["partly_unresolved"] = True
        payload.update(repeats.get(name, {}))
        if corrections is not None:
            correction = corrections.by_task.get(name)
            gold[EXCLUDED] = gold[CORRECTED] = gold[ORIGINAL]
            if correction is not None:
                payload["audit"] = correction.kind
                gold[EXCLUDED] = _excluded(gold[ORIGINAL], correction.kind, correction.corrupts_answer)
                fixed = resolver.resolve(correction.evidence)
                gold[CORRECTED] = _gold(
                    correction.answer if correction.corrupts_answer else question.answer,
                    fixed.ids,
                    fixed.unresolved,
                    words,
                    excluded=None if fixed.ids else f"{correction.kind}: the audit names no turn as evidence",
                )
        made.append(
            Task(
                id=name,
                suite="locomo",
                scope=conversation.id,
                cluster=conversation.id,
                category=question.category_name,
                split=split,
                prompt=question.question,
                as_of=conversation.now,
                payload=payload,
                gold=gold,
            )
        )
    return made


def _gold(
    answer: str | None,
    ids: Sequence[str],
    unresolved: Sequence[str],
    words: Mapping[str, str],
    excluded: str | None = None,
) -> Gold:
    return Gold(
        answer=answer,
        evidence=tuple(Evidence(id=name, text=words[name]) for name in ids),
        unresolved=tuple(unresolved),
        excluded=excluded,
    )


def _excluded(original: Gold, kind: str, corrupts_answer: bool) -> Gold:
    """The gold under the key that leaves audited items out.

    A corrupt answer leaves the question out altogether; a wrong citation leaves it without evidence, so that its answer
    still counts and its recall does not.
    """
    if corrupts_answer:
        return original.model_copy(update={"excluded": f"{kind}: the audit found the answer key wrong"})
    return original.model_copy(update={"evidence": (), "unresolved": ()})


def repetitions(conversation: Conversation) -> dict[str, dict[str, JsonValue]]:
    """Questions that repeat an earlier one of the conversation word for word, by task id.

    ``duplicate_of`` where both have one category of 1 to 4, so that the question would be scored twice; ``repeats``
    where the category differs, as it does when an answerable question comes back as an adversarial one.
    """
    found: dict[str, dict[str, JsonValue]] = {}
    first: dict[str, list[Question]] = {}
    for question in conversation.questions:
        earlier = first.setdefault(question.question, [])
        same = next((q for q in earlier if q.category == question.category), None)
        if same is not None and question.category != ADVERSARIAL:
            found[task_id(conversation, question)] = {"duplicate_of": task_id(conversation, same)}
        elif same is None and earlier:
            found[task_id(conversation, question)] = {"repeats": task_id(conversation, earlier[0])}
        earlier.append(question)
    return found
