"""How an agent without a model behaves: the rules, and one deviation from them at a time.

Each script is there to move one number of a lifecycle and leave the others, so that the numbers are known to mean what
their names say.
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
        searches: searches before anything else; else it looks at rows first, and searches when it is made to.
        copies: how often it keeps a fact: not at all, once, or once more on no dataset.
        files: keeps it on the dataset that is named, or on another.
        corrects: keeps the new words (what was there is the memory's to replace), rewrites the old record, rejects the
            old record and keeps the new words, or does nothing.
        forgets: takes back what it is asked to.
        answers: by the newest definition, by the oldest of its own where there are several, or by both.
        adapts: answers also where another aggregate is asked for than the definition's own.
        guesses: where nothing was delivered, says how many rows there are, or which value is the commonest.
        notes: keeps its answer, with the definition, as a note on no dataset.
        burns: spends all calls on searches before it keeps anything.
    """

    searches: bool = True
    copies: Literal[0, 1, 2] = 1
    files: Literal["named", "another"] = "named"
    corrects: Literal["keeps", "rewrites", "rejects", "nothing"] = "keeps"
    forgets: bool = True
    answers: Literal["newest", "oldest", "both"] = "newest"
    adapts: bool = True
    guesses: bool = False
    notes: bool = False
    burns: bool = False


@dataclass(frozen=True, slots=True)
class Script:
    """A behaviour by name, and what it moves.

    Attributes:
        moves: the number of the suite that differs from ``perfect``, in words; "" for ``perfect``.
    """

    behaviour: Behaviour
    moves: str = ""


SCRIPTS: Mapping[str, Script] = MappingProxyType(
    {
        "perfect": Script(Behaviour()),
        "searches-when-told": Script(
            Behaviour(searches=False), "unprompted surface and recall; transfer too without gate and push"
        ),
        "never-captures": Script(Behaviour(copies=0), "capture, as never attempted"),
        "captures-twice": Script(Behaviour(copies=2), "live duplicates"),
        "wrong-table": Script(Behaviour(files="another"), "capture on the intended dataset, not capture anywhere"),
        "burns-budget": Script(Behaviour(burns=True), "capture, as starved of budget"),
        "updates-in-place": Script(
            Behaviour(corrects="rewrites"), "update capture as published counts it; the route is update"
        ),
        "rejects-old": Script(Behaviour(corrects="rejects"), "published duplicates; none is live"),
        "ignores-corrections": Script(Behaviour(corrects="nothing"), "update capture"),
        "stale-answer": Script(Behaviour(answers="oldest"), "update correctness, as stale"),
        "hedges": Script(
            Behaviour(answers="both"), "hedged answers; update correctness too where the answer is a name"
        ),
        "never-forgets": Script(Behaviour(forgets=False), "forgetting"),
        "saves-its-answer": Script(Behaviour(notes=True), "wrong supersedes, and the promotion that they prevent"),
        "guesses": Script(Behaviour(guesses=True), "every refusal: abstention, and the question after forgetting"),
        "abstains": Script(Behaviour(adapts=False), "abstention on questions that have an answer"),
    }
)
