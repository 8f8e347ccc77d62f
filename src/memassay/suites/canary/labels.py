"""What a retrieval is, without a model: correct, partial, incorrect, abstained, hallucinated, or undetermined.

Sources, copied words, ends and replacements, and terms of derived passages are checked (:mod:`.claims`); what is left
of a paraphrase is undetermined. Then the required atoms are looked for.

=================  ===================================================================================================
label              where
=================  ===================================================================================================
``abstained``      no passage stands within the budget
``hallucinated``   at least one passage is fabricated
``correct``        every required atom stands there
``partial``        some do
``undetermined``   none does, but a derived passage may say it in words of its own; or there is nothing to look for and
                   an expected document is shown, or none is expected
``incorrect``      none does, and every passage is what it says it is; or the premise is false and anything is shown
=================  ===================================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal, get_args

from memassay.core.dossier import rendering
from memassay.core.tokens import DEFAULT_TOKENS
from memassay.core.types import Dossier, Passage
from memassay.core.wording import common_start, stands
from memassay.suites.canary.claims import Checker, Finding
from memassay.suites.canary.fixture import Atom, Question
from memassay.suites.canary.reading import plain
from memassay.suites.canary.staleness import outdated

Found = Literal["correct", "partial", "incorrect", "abstained", "hallucinated", "undetermined"]
FOUND: tuple[Found, ...] = get_args(Found)
"""The five labels, and what no rule can decide."""

Precedence = Literal["fabrication", "coverage"]
PRECEDENCES: tuple[Precedence, ...] = get_args(Precedence)
"""Whether one fabricated passage decides (the default), or a dossier that holds every required atom is correct."""

OUTCOMES: Mapping[Found, float] = {
    "correct": 1.0,
    "partial": 0.5,
    "incorrect": 0.0,
    "abstained": 0.0,
    "undetermined": 0.0,
    "hallucinated": -1.0,
}


@dataclass(frozen=True, slots=True)
class Parts:
    """What a label is made of; published beside it, since one dossier can hold the answer and an invention.

    Attributes:
        shown: passages within the budget, the one that is cut included.
        n_fabricated: passages with anything fabricated.
        n_fabricated_source, n_fabricated_text, n_fabricated_supersession: those with each kind.
        n_elsewhere: of ``n_fabricated_text``, those whose words another document has.
        n_novel: terms of derived passages that the documents they name do not have.
        n_invented: of ``n_novel``, those that no document has.
        n_undetermined: passages without a fabrication that cannot be checked without a model.
        atoms, atoms_covered: required, and those that stand there.
        stale_atoms: forbidden ones that stand there.
    """

    shown: int = 0
    n_fabricated: int = 0
    n_fabricated_source: int = 0
    n_fabricated_text: int = 0
    n_fabricated_supersession: int = 0
    n_elsewhere: int = 0
    n_novel: int = 0
    n_invented: int = 0
    n_undetermined: int = 0
    atoms: int = 0
    atoms_covered: int = 0
    stale_atoms: int = 0

    @property
    def covered(self) -> float | None:
        """Share of the required atoms, in [0, 1]; None where none is required."""
        return self.atoms_covered / self.atoms if self.atoms else None

    def as_dict(self) -> dict[str, int]:
        """By name, in order."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A label with its parts.

    Attributes:
        novel: the terms behind ``n_novel``, in order.
        stale: whether something that was true before the question stands there; None where nothing was.
    """

    label: Found
    parts: Parts
    novel: tuple[str, ...] = ()
    stale: bool | None = None


def label(
    question: Question,
    dossier: Dossier,
    budget: int,
    checker: Checker,
    *,
    tokens: str = DEFAULT_TOKENS,
    precedence: Precedence = "fabrication",
) -> Labelled:
    """The label of a dossier within a budget.

    Args:
        question: with its atoms.
        dossier: as it was stored, uncut.
        budget: in tokens.
        checker: of the corpus that was remembered.
        tokens: the tokenizer's name.
        precedence: what decides where a dossier holds both the answer and an invention.
    """
    shown = shown_within(dossier, budget, tokens)
    findings = [finding(checker, one, question.query) for one in shown]
    required, stale = _standing(question.required, shown), _standing(question.forbidden, shown)
    parts = Parts(
        shown=len(shown),
        n_fabricated=sum(found.fabricated for found in findings),
        n_fabricated_source=sum(found.source for found in findings),
        n_fabricated_text=sum(found.text for found in findings),
        n_fabricated_supersession=sum(found.supersession for found in findings),
        n_elsewhere=sum(found.elsewhere for found in findings),
        n_novel=len({term for found in findings for term in found.novel}),
        n_invented=len({term for found in findings for term in found.invented}),
        n_undetermined=sum(found.undetermined for found in findings),
        atoms=len(question.required),
        atoms_covered=sum(required),
        stale_atoms=sum(stale),
    )
    novel = dict.fromkeys(term for found in findings for term in found.novel)
    before = outdated(question)
    return Labelled(
        _label(question, parts, [one.passage for one in shown], precedence),
        parts,
        tuple(novel),
        any(_standing(before, shown)) if before else None,
    )


def outcome_of(found: Found, question: Question) -> float:
    """What a label counts without judges: in [-1, 1]; an abstention is right where the premise is false."""
    return 1.0 if found == "abstained" and not question.premise_valid else OUTCOMES[found]


def _label(question: Question, parts: Parts, passages: Sequence[Passage], precedence: Precedence) -> Found:
    if not parts.shown:
        return "abstained"
    complete = question.premise_valid and parts.atoms > 0 and parts.atoms_covered == parts.atoms
    if parts.n_fabricated and not (complete and precedence == "coverage"):
        return "hallucinated"
    if not question.premise_valid:
        return "incorrect"
    if complete:
        return "correct"
    if parts.atoms_covered:
        return "partial"
    if parts.atoms:
        return "undetermined" if parts.n_undetermined else "incorrect"
    expected = set(question.expected_doc_ids)
    missed = expected and expected.isdisjoint(name for passage in passages for name in passage.doc_ids)
    return "incorrect" if missed and not parts.n_undetermined else "undetermined"


# -- what stands within the budget ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shown:
    """A passage, and how much of its text the budget leaves: all of it where ``left`` is None."""

    passage: Passage
    left: str | None = None


def shown_within(dossier: Dossier, budget: int, tokens: str = DEFAULT_TOKENS) -> list[Shown]:
    """The passages within a budget, in order; of the last one maybe only the beginning."""
    text = rendering(dossier, tokens)
    whole, rest = text.head(budget)
    shown = [Shown(passage) for passage in dossier.passages[:whole]]
    left = rest[len(f"[{whole + 1}] ") :]
    # The line end after a passage is none of its words.
    if left.strip():
        last = dossier.passages[whole]
        shown.append(Shown(last) if left.strip() == last.text.strip() else Shown(last, left))
    return shown


def finding(checker: Checker, shown: Shown, query: str = "") -> Finding:
    """The finding on what is shown of a passage."""
    found = checker.check(shown.passage, query)
    if shown.left is None or found == Finding():
        return found
    # Half a word is no term.
    text = shown.left.strip()
    after = shown.passage.text.strip()[len(text) : len(text) + 1]
    if after.strip() and " " in text:
        text = text[: text.rindex(" ")]
    return checker.check(shown.passage.model_copy(update={"text": text}), query, cut=True)


def _standing(atoms: Iterable[Atom], shown: Sequence[Shown]) -> list[bool]:
    """For each atom, whether its words stand in one of the passages, and end before the cut."""
    wanted = [plain(atom.text) for atom in atoms]
    texts = [plain(one.passage.text) for one in shown]
    ends = [
        len(text) if one.left is None else common_start(text, plain(one.left))
        for one, text in zip(shown, texts, strict=True)
    ]
    return [any(stands(want, text, end) for text, end in zip(texts, ends, strict=True)) for want in wanted]
