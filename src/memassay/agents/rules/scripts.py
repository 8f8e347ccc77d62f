"""How an agent without a model behaves: the rules, and one deviation from them at a time.

Each script is there to move one number of a lifecycle and leave the others, so that the numbers are known to mean what
their names say. ``benchmarks/platform/adversarial.py`` measures what each moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What the rules leave open; the defaults are the rules.

    Attributes:
        looks: it searches first; or it looks at rows, and searches when it is made to; or it reads the list of its own
            records, and searches where that has nothing.
        copies: how often it keeps a fact: not at all, once, or once more on no dataset.
        files: keeps it on the dataset that is named, or on another.
        corrects: keeps the new words (what was there is the memory's to replace), rewrites the old record, rejects the
            old record and keeps the new words, or does nothing.
        forgets: takes back what it is asked to.
        answers: by the newest definition, or by the oldest of its own where there are several.
        hedges: names beside an answer of this kind the one from before a correction.
        adapts: answers also where another aggregate is asked for than the definition's own.
        guesses: where nothing was delivered, says how many rows there are, or which value is the commonest.
        notes: keeps, as a note on no dataset, each answer with its question and query, or a corrected definition with
            its answer.
        burns: spends all calls on searches, and keeps the fact with one more.
    """

    looks: Literal["searches", "rows", "list"] = "searches"
    copies: Literal[0, 1, 2] = 1
    files: Literal["named", "another"] = "named"
    corrects: Literal["keeps", "rewrites", "rejects", "nothing"] = "keeps"
    forgets: bool = True
    answers: Literal["newest", "oldest"] = "newest"
    hedges: Literal["nothing", "numbers", "names"] = "nothing"
    adapts: bool = True
    guesses: bool = False
    notes: Literal["nothing", "answers", "corrections"] = "nothing"
    burns: bool = False


@dataclass(frozen=True, slots=True)
class Script:
    """A behaviour by name, and what it moves.

    Attributes:
        moves: the one number of the suite that it is about, by its name; "" for ``perfect``.
    """

    behaviour: Behaviour
    moves: str = ""


SCRIPTS: Mapping[str, Script] = MappingProxyType(
    {
        "perfect": Script(Behaviour()),
        "never-captures": Script(Behaviour(copies=0), "misses.never_attempted"),
        "burns-budget": Script(Behaviour(burns=True), "misses.budget_starved"),
        "wrong-table": Script(Behaviour(files="another"), "misses.attempted_failed"),
        "captures-twice": Script(Behaviour(copies=2), "strict:live_duplicate"),
        "lists-instead": Script(Behaviour(looks="list"), "unprompted_surface"),
        "searches-when-told": Script(Behaviour(looks="rows"), "unprompted_surface"),
        "updates-in-place": Script(Behaviour(corrects="rewrites"), "strict:retired:update"),
        "rejects-old": Script(Behaviour(corrects="rejects"), "strict:retired:reject"),
        "ignores-corrections": Script(Behaviour(corrects="nothing"), "strict:correction_kept"),
        "stale-answer": Script(Behaviour(answers="oldest"), "strict:update_stale"),
        "hedges": Script(Behaviour(hedges="numbers"), "strict:update_hedged"),
        "hedges-names": Script(Behaviour(hedges="names"), "strict:update_hedged"),
        "notes-corrections": Script(Behaviour(notes="corrections"), "strict:wrong_supersede"),
        "saves-its-answer": Script(Behaviour(notes="answers"), "strict:wrong_supersede"),
        "guesses": Script(Behaviour(guesses=True), "abstention_rate"),
        "abstains": Script(Behaviour(adapts=False), "strict:over_abstention"),
        "never-forgets": Script(Behaviour(forgets=False), "strict:forgotten"),
    }
)
