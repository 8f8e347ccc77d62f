"""An agent without a model: it picks its answer out of the words of the dossier.

It finds the sentence that shares most with the question and takes from it what the question asks for: a date, a number,
a name, one of two, or else the words themselves. It understands nothing, costs nothing, and says the same in every
process. It is for tests, for the demo, and as the floor that an agent with a model has to clear.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from pydantic import JsonValue

from memassay.agents.sentences import Sentence, sentences
from memassay.agents.spans import Kind, capitalised, denies, kind_of, number_in, options, runs, time_in, written_day
from memassay.core.types import ModelKind, Request, Status, Step, Usage
from memassay.retrieval.text import Analyzer, words

VERSION = 1
UNKNOWN = "I do not know"

_ANALYZER = Analyzer(stemmer="english", stop_words="anchor")
# Chosen on LOCOMO's dev conversations (233 questions) and on 200 questions of HotPotQA, each with what `lexical` (the
# settings of its published row) finds
# in 4,000 tokens: F1 .303 and .307, where the first passage as the answer has .043 and .052. In brackets: without it.
_READ = 8  # sentences that are searched for what is asked for (3 of them: .299, .277)
_BESIDE = 0.3  # in a conversation the answer stands beside the question: what the better neighbour adds (.289, .310)
_RANK = 0.2  # how much a passage that was found later is marked down (.290, .299)
_ASKING = 0.3  # a sentence that asks is seldom the one that answers (.295, .307)
_NAMED = 1.5  # of a text, a run of capitalised words is more often what is asked for (.303, .295)
_REPEATED = 0.3  # and so is what several of its sentences say (.303, .271)

_EARLIER = dict.fromkeys(("first", "earlier", "earliest", "older", "oldest", "before"), 1)
_LATER = dict.fromkeys(("last", "later", "latest", "younger", "youngest", "newer", "newest", "after", "recently"), -1)
_ORDER = _EARLIER | _LATER


class Extractive:
    """Picks its answer out of the dossier, word for word; no model, no key."""

    model: ModelKind = "none"
    accesses = frozenset({"dossier"})

    def identity(self) -> Mapping[str, JsonValue]:
        """The version of its rules."""
        return {"version": VERSION}

    async def answer(self, request: Request) -> Step:
        """The answer; "I do not know" where the dossier is empty or shares no word with the question."""
        started = time.perf_counter()
        text = pick(request.prompt, request.dossier or "")
        wall = round((time.perf_counter() - started) * 1000, 3)
        return Step(name="answer", status=Status.OK, text=text, usage=Usage(wall_ms=wall))


def pick(question: str, dossier: str) -> str:
    """What of a rendered dossier answers the question best."""
    asked = _terms(question)
    ranked = _ranked(asked, sentences(dossier))
    if not ranked:
        return UNKNOWN
    best = ranked[:_READ]
    reader = _READERS.get(kind_of(question))
    return (reader(question, best) if reader else "") or _words(best, asked)


def _terms(text: str) -> frozenset[str]:
    return frozenset(_ANALYZER.terms(text))


def _ranked(asked: frozenset[str], read: Sequence[Sentence]) -> list[Sentence]:
    """Sentences that share a word with the question, best first.

    A word of the question is worth more the fewer sentences have it; the speaker's name and the title are read as part
    of the sentence.
    """
    terms = [_terms(f"{s.speaker} {s.title} {s.text}") & asked for s in read]
    seen = Counter(term for found in terms for term in found)
    worth = {term: math.log(1 + len(read) / count) for term, count in seen.items()}
    own = [sum(worth[term] for term in sorted(found)) for found in terms]
    scores: list[float] = []
    for place, sentence in enumerate(read):
        near = (n for n in (place - 1, place + 1) if sentence.speaker and 0 <= n < len(read))
        beside = max((own[n] for n in near if read[n].rank == sentence.rank), default=0.0)
        asks = _ASKING if sentence.text.endswith("?") else 1.0
        scores.append((own[place] + _BESIDE * beside) * asks / (1 + _RANK * sentence.rank))
    order = sorted((n for n in range(len(read)) if own[n]), key=lambda n: (-scores[n], n))
    return [read[n] for n in order]


# -- by what is asked for: "" where the sentences have nothing of that kind ----------------------------------------


def _yes_or_no(question: str, best: Sequence[Sentence]) -> str:
    return "No" if denies(best[0].text) else "Yes"


def _time(question: str, best: Sequence[Sentence]) -> str:
    """A time that the best sentences speak of, else the day on which the best one was said."""
    found = next((found for s in best[:3] if (found := time_in(s.text, s.date))), "")
    return found or next((written_day(s.date) for s in best if s.date), "")


def _number(question: str, best: Sequence[Sentence]) -> str:
    return next((found for s in best if (found := number_in(s.text, question))), "")


def _name(question: str, best: Sequence[Sentence]) -> str:
    """The first capitalised words that neither the question nor the speakers' names have."""
    known = _terms(question) | {term for s in best for term in _terms(s.speaker)}
    return next((name for s in best for name in capitalised(s.text) if not known & _terms(name)), "")


def _one_of_two(question: str, best: Sequence[Sentence]) -> str:
    """Of two that the question names the earlier or later by year, if it asks for that; else what fits it better."""
    first, second = options(question)
    about = [[s for s in best if _terms(option) <= _terms(f"{s.title} {s.text}")] for option in (first, second)]
    years = [next((s.year for s in said if s.year is not None), None) for said in about]
    order = next((by for word in words(question) if (by := _ORDER.get(word))), 0)
    if order and years[0] is not None and years[1] is not None:
        return first if (years[1] - years[0]) * order >= 0 else second
    rest = _terms(question) - _terms(first) - _terms(second)
    shared = [max((len(rest & _terms(s.text)) for s in said), default=0) for said in about]
    return second if shared[1] > shared[0] else first


_READERS: Mapping[Kind, Callable[[str, Sequence[Sentence]], str]] = {
    Kind.YES_OR_NO: _yes_or_no,
    Kind.TIME: _time,
    Kind.NUMBER: _number,
    Kind.NAME: _name,
    Kind.ONE_OF_TWO: _one_of_two,
}


def _words(best: Sequence[Sentence], asked: frozenset[str]) -> str:
    """Of a conversation the best sentence; of a text the run of words that says most beside the question."""
    if best[0].speaker:
        return best[0].text
    seen = Counter(term for s in best for term in _terms(s.text))
    chosen, worth = best[0].text, 0.0
    for place, sentence in enumerate(best):
        names = set(capitalised(sentence.text))
        for run in runs(sentence.text):
            new = _terms(run) - asked
            if not new:
                continue
            repeated = max(seen[term] for term in new) - 1
            value = (_NAMED if run in names else 1.0) * (1 + _REPEATED * repeated) / (1 + place)
            if value > worth:
                chosen, worth = run, value
    return chosen
