"""What makes a protocol measure memory and not guessing: every rule as code, one sentence for each that is broken.

The rules read a protocol alone (and the words of its warehouse), so they hold for imported protocols too. That a key is
what its definition says is checked where the key is made (``build``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from memassay.suites.lifecycle.answers import published_correct, same_answer
from memassay.suites.lifecycle.protocol import ENTITY_SINK, Extras, Grading, Protocol, Question
from memassay.suites.lifecycle.templates.terms import invented
from memassay.suites.lifecycle.templates.topics import answerable

# Words that a question and a fact may share without the one giving the other away.
_FUNCTION = frozenset((
    "a", "an", "and", "answer", "any", "are", "as", "at", "by", "count", "did", "do", "does", "each", "every",
    "for", "from", "had", "has", "have", "how", "in", "is", "it", "its", "many", "means", "of", "on", "or", "our",
    "over", "select", "sql", "that", "the", "there", "this", "to", "was", "we", "were", "what", "when", "where",
    "which", "who", "with",
))  # fmt: skip
_WORD = re.compile(r"[^\W\d_]+")
_DIGITS = re.compile(r"\d")


def lint(protocol: Protocol, vocabulary: Collection[str] = ()) -> tuple[str, ...]:
    """Why a protocol does not measure what it should, one sentence each; none for a sound one.

    Args:
        protocol: ours or an imported one.
        vocabulary: every word that its warehouse's columns, values and derived metrics go by, in lower case; without
            it abstain questions are not looked at.
    """
    return tuple(_broken(protocol, vocabulary))


def lint_set(protocols: Sequence[Protocol]) -> tuple[str, ...]:
    """Why a set does not measure what it should, one sentence each."""
    return tuple(_broken_set(protocols))


def dataset_name(urn: str) -> str:
    """Schema and table of a dataset URN (``main.hires_ardley``), or the URN itself where it is none."""
    found = re.fullmatch(r"urn:li:dataset:\(urn:li:dataPlatform:[^,]+,([^,]+),[^,)]+\)", urn)
    return ".".join(found.group(1).split(".")[-2:]) if found else urn


def _broken(protocol: Protocol, vocabulary: Collection[str]) -> Iterator[str]:
    extras = protocol.extras or Extras()
    dataset = dataset_name(protocol.entity_urn)
    yield from _stated("teach.prompt", protocol.teach.prompt, dataset)
    yield from _stated("fact", protocol.fact, dataset)
    if extras.term and not invented(extras.term):
        yield f"The term {extras.term!r} has a meaning of its own; invent another."
    keys = [("recall", protocol.recall, protocol.fact)]
    for name, update in (("update", protocol.update), ("extras.correction", extras.correction)):
        if update is not None:
            yield from _stated(f"{name}.prompt", update.prompt, dataset)
            keys.append((f"{name}.recall", update.recall, update.fact))
            if same_answer(protocol.recall.grading, update.recall.grading):
                yield f"{name} leaves the answer as it was, so that nobody can tell whether it was learnt."
    for name, question, fact in keys:
        yield from _asked(name, question, fact, extras.term, dataset)
        for guess in extras.naive:
            if guesses(guess.answer, question.grading):
                yield f"{name} is answered by who was never taught: {guess.reading} gives {guess.answer} too."
    for name, other in (("transfer", protocol.transfer), ("extras.never_taught", extras.never_taught)):
        if other is not None and other != protocol.recall:
            yield f"{name} asks something else than recall, so that the two cannot be compared."
    if protocol.abstain is not None and vocabulary:
        known = answerable(_subject(protocol.abstain.prompt, protocol.recall.prompt, dataset), vocabulary)
        if known:
            yield f"abstain.prompt can be answered: the warehouse knows {', '.join(sorted(known))}."
    if extras.twin is not None and protocol.abstain is None:
        yield "extras.twin stands beside no abstain question."


def _broken_set(protocols: Sequence[Protocol]) -> Iterator[str]:
    for what, values in (
        ("dataset", [protocol.entity_urn for protocol in protocols]),
        ("term", [protocol.extras.term for protocol in protocols if protocol.extras and protocol.extras.term]),
    ):
        for value, times in Counter(values).items():
            if times > 1:
                yield f"{times} protocols share the {what} {value}, so that one can undo what another did."
    for what, count in (
        (f"have the sink {ENTITY_SINK}", sum(protocol.sink == ENTITY_SINK for protocol in protocols)),
        ("are corrected", sum(protocol.update is not None for protocol in protocols)),
    ):
        if abs(2 * count - len(protocols)) > 1:
            yield f"{count} of {len(protocols)} protocols {what}, which is not half of them."


def guesses(answer: float | str, grading: Grading) -> bool:
    """Whether a guess is right by a key."""
    return published_correct(f"FINAL ANSWER: {answer!r}" if isinstance(answer, float) else answer, grading)


def _stated(name: str, text: str, dataset: str) -> Iterator[str]:
    if dataset.lower() not in text.lower():
        yield f"{name} does not say which dataset it is about ({dataset}), so that it can be filed on another."


def _asked(name: str, question: Question, fact: str, term: str, dataset: str) -> Iterator[str]:
    prompt, grading = question.prompt, question.grading
    plain = re.sub(re.escape(dataset), " ", prompt, flags=re.IGNORECASE)
    if _right_anywhere(plain, grading):
        yield f"{name}.prompt has its own answer in it."
    shared = _content(plain, fact, term) & _content(fact, fact, term) - _words(dataset)
    if shared:
        yield f"{name}.prompt restates the definition: {', '.join(sorted(shared))}."
    if _DIGITS.search(plain):
        yield f"{name}.prompt has a number in it, which belongs to the definition."


def _right_anywhere(text: str, grading: Grading) -> bool:
    """Whether any piece of a text alone would be graded right."""
    if grading.kind == "numeric":
        return any(published_correct(number, grading) for number in re.findall(r"\d[\d,]*(?:\.\d+)?", text))
    return published_correct(" ".join(text.split()), grading.model_copy(update={"wrong_aliases": ()}))


def _content(text: str, fact: str, term: str) -> set[str]:
    """The words that carry the meaning: not those of grammar, of the term, or the noun that the term qualifies."""
    defined = re.search(r"'([^']+)'\s*([^\W\d_]*)", fact)
    own = _words(f"{term} {defined.group(0) if defined else ''}")
    own |= {f"{word}s" for word in own}
    return {word for word in _words(text) if len(word) > 2} - own - _FUNCTION


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}


def _subject(prompt: str, recall: str, dataset: str) -> str:
    """What an abstain question asks about: its words without grammar, the dataset and the recall question."""
    own = _words(dataset) | _words(recall) | _FUNCTION
    own |= {word.removesuffix("s") for word in own}
    words = _WORD.findall(re.sub(re.escape(dataset), " ", prompt, flags=re.IGNORECASE))
    return " ".join(word for word in words if word.lower() not in own)
