"""Answers whose verdict is known beforehand, made from the user's own tasks: what a judge is audited with.

Right are the reference itself and the reference in another form. Wrong are a vague answer about the question's topic,
the reference of another question, the same wrong answer at length (so that the two differ in length alone), and not
knowing. No model writes them, equal tasks give equal answers, and none that should be wrong holds a word of the
reference but a year.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from memassay.core.draws import Draw
from memassay.core.types import Task
from memassay.retrieval.text import Analyzer

VERSION = 1

RIGHT = ("right", "paraphrased")
WRONG = ("vague", "specific", "too-long", "abstaining")
KINDS = (*RIGHT, *WRONG)

# fmt: off
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
           "december")
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
# fmt: on
_ANALYZER = Analyzer(stemmer="english", stop_words="anchor")
_MONTH = {stem: number for number, name in enumerate(_MONTHS) for stem in _ANALYZER.terms(name)}
_DIGITS = {stem: str(number) for number, name in enumerate(_NUMBERS) for stem in _ANALYZER.terms(name)}
_UNKNOWN = frozenset(_ANALYZER.terms("unknown none nothing nobody unclear unspecified mentioned information known"))
_ASKS = re.compile(r"\b(?:who|whom|whose|when|where|why|how (?:many|much|long|old|often)|how|which|what)\b")
_WORD = re.compile(r"[\w'’-]+")
_YEAR = re.compile(r"(?:1\d|20)\d\d")
_DAY = re.compile(rf"\b(\d{{1,2}}) ({'|'.join(_MONTHS)}),? (\d{{4}})\b", re.IGNORECASE)

_SENTENCES = (
    "The answer is: {}.",
    "As far as I can tell: {}.",
    "That would be the following: {}.",
    "Going by what was said, {}.",
)
_VAGUE = (
    "It was something around {}, and it mattered to everybody involved.",
    "Various things that go with {}, as one would expect.",
    "That is part of a longer story about {}.",
    "There were several moments with {}, each special in a way of its own.",
)
_ABSTAINING = (
    "I do not know.",
    "Sorry, that cannot be said from what I have.",
    "Impossible to tell.",
)
_LENGTHY = (
    "Let me go through everything that I was able to find, and then settle on something.",
    "The material touches this matter in several places, and I read each of those passages with care.",
    "On the surface several readings seem possible, so I weighed them and compared what they rest on.",
    "Some passages only hint at it, others are far more explicit, and I gave more weight to the latter.",
    "Taken together they leave little room for doubt, and I checked them against each other twice.",
    "I also considered whether somebody else might be meant, which does not seem to be the case.",
    "Nothing that I came across later speaks against this reading.",
    "To sum up, and with every detail that I have seen taken into account, this is my conclusion.",
    "I hope that this explanation makes it clear how I arrived at it.",
)


@dataclass(frozen=True, slots=True)
class Planted:
    """An answer with a known verdict; ``kind`` is one of ``KINDS``."""

    kind: str
    task: Task
    text: str

    @property
    def right(self) -> bool:
        return self.kind in RIGHT


@dataclass(frozen=True, slots=True)
class _Item:
    task: Task
    gold: str
    words: frozenset[str]

    @property
    def shape(self) -> str:
        """What sort of answer it is, so that a wrong one looks like it."""
        if self.words & {"yes", "no"}:
            return "yes or no"
        if any(_YEAR.fullmatch(word) or word in _MONTH for word in self.words):
            return "time"
        if any(word.isdigit() for word in self.words):
            return "number"
        return "name" if self.gold[:1].isupper() else "words"

    @property
    def asks(self) -> str:
        """The question word, or ""."""
        found = _ASKS.search(self.task.prompt.lower())
        return found[0] if found else ""


def plant(tasks: Sequence[Task], *, key: str = "original", per_kind: int = 100, seed: int = 20261130) -> list[Planted]:
    """Planted answers of every kind, kind by kind.

    Args:
        tasks: those with a gold answer under ``key`` are used, cluster by cluster in turn.
        key: which gold is right.
        per_kind: how many of each kind, where there are tasks enough; one at most per task and kind.
        seed: which tasks, and which wrong answers.
    """
    items = _in_turn([item for task in tasks if (item := _item(task, key)) is not None], seed)
    makers: Mapping[str, Callable[[_Item, int], str | None]] = {
        "right": lambda item, number: item.gold,
        "paraphrased": lambda item, number: _SENTENCES[number % len(_SENTENCES)].format(_reworded(item.gold)),
        "vague": _vague,
        "specific": lambda item, number: _other(item, items, seed),
        "too-long": lambda item, number: _lengthy(item, _other(item, items, seed)),
        "abstaining": _abstaining,
    }
    found: list[Planted] = []
    for kind in KINDS:
        made: list[Planted] = []
        for number, item in enumerate(items):
            if len(made) == per_kind:
                break
            text = makers[kind](item, number)
            if text is not None:
                made.append(Planted(kind, item.task, text))
        found += made
    return found


def content(text: str) -> frozenset[str]:
    """The words of a text that say something, as stems; numbers up to twelve as digits, no function words."""
    terms = (_DIGITS.get(term, term) for term in _ANALYZER.terms(text))
    return frozenset(term.lstrip("0") or "0" if term.isdigit() else term for term in terms)


def shared(text: str, gold: str) -> frozenset[str]:
    """The words of the reference that an answer holds, years left out."""
    return frozenset(word for word in content(text) & content(gold) if not _YEAR.fullmatch(word))


def _item(task: Task, key: str) -> _Item | None:
    gold = task.gold.get(key)
    if gold is None or gold.excluded is not None or gold.answer is None:
        return None
    words = content(gold.answer)
    return _Item(task, gold.answer.strip(), words) if words else None


def _in_turn(items: Sequence[_Item], seed: int) -> list[_Item]:
    """Shuffled inside each cluster; one of each cluster, then the next of each, so that few are not all of one."""
    by_cluster: dict[str, list[_Item]] = {}
    for item in items:
        by_cluster.setdefault(item.task.cluster, []).append(item)
    queues = [Draw(f"{seed}/audit/{name}").shuffled(queue) for name, queue in sorted(by_cluster.items())]
    longest = max(map(len, queues), default=0)
    return [queue[n] for n in range(longest) for queue in queues if n < len(queue)]


# -- right ---------------------------------------------------------------------------------------------------------


def _reworded(gold: str) -> str:
    """The same in another form where that is safe: a date, a small number, a list of three or more; else as it is."""
    plain = gold.rstrip(".")
    if plain.isdigit() and int(plain) < len(_NUMBERS):
        return _NUMBERS[int(plain)]
    if plain.lower() in _NUMBERS:
        return str(_NUMBERS.index(plain.lower()))
    dated = _DAY.sub(lambda m: f"{m[2].capitalize()} {int(m[1])}, {m[3]}", plain)
    pieces = [piece.strip() for piece in plain.split(",")]
    if dated == plain and len(pieces) > 2 and all(pieces) and not re.search(r"\d|;|\b(?:and|or|but)\b", plain):
        return f"{', '.join(pieces[1:])} and {pieces[0]}"
    return dated


# -- wrong ---------------------------------------------------------------------------------------------------------


def _vague(item: _Item, number: int) -> str | None:
    """A sentence made of the question's own words and of no word of the reference."""
    asked = [word for word in _WORD.findall(item.task.prompt) if content(word) and not content(word) & item.words]
    if not asked:
        return None
    topic = " and ".join(dict.fromkeys(sorted(asked, key=lambda word: -len(word))[:2]))
    turned = _VAGUE[number % len(_VAGUE) :] + _VAGUE[: number % len(_VAGUE)]
    return _without_gold((text.format(topic) for text in turned), item)


def _abstaining(item: _Item, number: int) -> str | None:
    turned = _ABSTAINING[number % len(_ABSTAINING) :] + _ABSTAINING[: number % len(_ABSTAINING)]
    # A reference that says that nothing is known would make it right.
    if item.words & _UNKNOWN:
        return None
    return _without_gold(turned, item)


def _other(item: _Item, items: Sequence[_Item], seed: int) -> str | None:
    """The reference of another question: as much like the right one as there is, and certainly not the same."""
    if item.shape == "yes or no":
        if {"yes", "no"} <= item.words:
            return None
        return "No." if "yes" in item.words else "Yes."
    start = Draw(f"{seed}/audit/{item.task.id}").below(len(items))
    turned = [*items[start:], *items[:start]]
    fits = [other for other in turned if other.shape == item.shape and _differ(item, other)]
    # Of another scope first: what is true of the same world could answer the question as well.
    best = min(
        fits,
        key=lambda o: (o.task.scope == item.task.scope, o.asks != item.asks, o.task.category != item.task.category),
        default=None,
    )
    return None if best is None else best.gold


def _differ(one: _Item, other: _Item) -> bool:
    """Whether two references are about different things: no word in common, and times that are months apart.

    "The week before 1 July" and "28 June" have no word in common, so months have to be two apart; then a year may be in
    common. Words of the question are no way to be wrong.
    """
    if shared(other.gold, one.gold) or other.words <= content(one.task.prompt):
        return False
    mine, theirs = ([_MONTH[word] for word in item.words if word in _MONTH] for item in (one, other))
    if mine and theirs:
        return all(min((a - b) % 12, (b - a) % 12) > 1 for a in mine for b in theirs)
    return not one.words & other.words


def _lengthy(item: _Item, wrong: str | None) -> str | None:
    if wrong is None:
        return None
    padding = [sentence for sentence in _LENGTHY if not shared(sentence, item.gold)]
    said = f"The answer is: {wrong.rstrip('.')}."
    if len(padding) < len(_LENGTHY) - 2 or shared(said, item.gold):
        return None
    return " ".join([*padding[:-2], said, *padding[-2:]])


def _without_gold(texts: Iterable[str], item: _Item) -> str | None:
    """The first text that has no word of the reference, years included."""
    return next((text for text in texts if not content(text) & item.words), None)
