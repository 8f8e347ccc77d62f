"""Why retrieval missed: one task, its gold, and where each arm's dossier holds it. Pure: records in, values out."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence

from memassay.core.dossier import Rendering, rendering
from memassay.core.types import Answer, Dossier, Evidence, Gold, Judgement, Passage, Task, Unit
from memassay.core.wording import normalise
from memassay.judging.evidence import first_blocks, words_of_links
from memassay.reporting import figures
from memassay.reporting.explanation import ArmView, Explanation, GoldTurn, OtherKey, Shown, Sighting
from memassay.reporting.given import Given
from memassay.reporting.reading import listed
from memassay.reporting.text import clean, one_line
from memassay.retrieval.text import Analyzer, words

Cell = tuple[str, Answer, Dossier | None, Mapping[str, Judgement]]
"""Arm name, the answer that counts, its dossier, and judgements by judge id."""

PARTLY = 0.6
"""From this share of a gold turn's terms on, a passage is said to hold "most of its words"."""


def explain_task(
    task: Task,
    cells: Sequence[Cell],
    tokens: str,
    budgets: Sequence[int],
    *,
    key: str | None = None,
    headline: int | None = None,
    units: Mapping[str, Unit] | None = None,
    hints: Sequence[Dossier] = (),
    passages: int = 3,
    links: bool = False,
    given: Mapping[str, Given] | None = None,
) -> Explanation:
    """One task, explained.

    Args:
        task: with its gold.
        cells: one per arm, in the order to show.
        tokens: name of the run's tokenizer.
        budgets: in tokens, ascending.
        key: which gold key to follow; the first one where None.
        headline: the budget at which a miss is explained; the largest where None.
        units: the corpus's units by id, if at hand; they name the speakers.
        hints: dossiers whose passages may name the speakers (the oracle's), where there are no units.
        passages: how many of the first passages are shown per arm.
        links: the run's grader reads a Markdown link as its words.
        given: what agents answered, by arm.
    """
    name = key if key is not None and key in task.gold else next(iter(task.gold), "original")
    gold = task.gold.get(name, Gold())
    seen = [*hints, *(dossier for _, _, dossier, _ in cells if dossier)]
    turns = tuple(_turn(e, task.prompt, units or {}, seen) for e in gold.evidence)
    at = headline if headline is not None else max(budgets, default=0)
    answered = given or {}
    arms = [
        _arm(
            cell,
            task.prompt,
            gold.evidence,
            tokens,
            tuple(sorted(budgets)),
            at,
            passages,
            links,
            answered.get(cell[0]),
        )
        for cell in cells
    ]
    return Explanation(
        task=task.id,
        question=task.prompt,
        category=task.category,
        split=task.split,
        as_of=task.as_of,
        answer=gold.answer,
        key=name,
        gold=turns,
        unresolved=gold.unresolved,
        excluded=gold.excluded,
        others=tuple(
            OtherKey(k, tuple(e.id for e in g.evidence), g.excluded)
            for k, g in task.gold.items()
            if k != name and (g.excluded or [e.id for e in g.evidence] != [e.id for e in gold.evidence])
        ),
        tokens=tokens,
        budgets=tuple(sorted(budgets)),
        arms=tuple(arms),
    )


# -- question and gold ---------------------------------------------------------------------------------------------


def _turn(evidence: Evidence, question: str, units: Mapping[str, Unit], dossiers: Sequence[Dossier]) -> GoldTurn:
    unit = units.get(evidence.id)
    speaker = unit.speaker if unit else next((s for d in dossiers if (s := _speaker(evidence, d))), "")
    return GoldTurn(evidence.id, speaker, evidence.text, shared_words(question, evidence.text))


def _speaker(evidence: Evidence, dossier: Dossier) -> str:
    """Who said it, where a passage shows the turn as ``Speaker: words`` at the start of a line."""
    first = evidence.text.split("\n", 1)[0]
    for passage in dossier.passages:
        for line in passage.text.splitlines():
            head, found, _ = line.partition(first) if first else (line, "", "")
            match = _SPEAKER.fullmatch(head) if found else None
            if match:
                return match[1]
    return ""


_SPEAKER = re.compile(r"\s*(?:\[[^\]]{0,60}\]\s*)?([^\s:\[\]][^:\[\]\n]{0,40}):\s*")


def shared_words(question: str, text: str) -> tuple[str, ...]:
    """Words of ``text`` whose stem the question has too, each once, in order; function words do not count."""
    analyzer = Analyzer(stop_words="questions")
    asked = set(analyzer.terms(question))
    shared: dict[str, str] = {}
    for word in words(text):
        terms = analyzer.terms(word)
        if terms and terms[0] in asked:
            shared.setdefault(terms[0], word)
    return tuple(shared.values())


# -- one arm -------------------------------------------------------------------------------------------------------


def _arm(
    cell: Cell,
    question: str,
    evidence: Sequence[Evidence],
    tokens: str,
    budgets: tuple[int, ...],
    at: int,
    passages: int,
    links: bool,
    given: Given | None,
) -> ArmView:
    name, answer, dossier, judgements = cell
    held = dossier or Dossier(status="empty")
    text = rendering(held, tokens)
    sightings = tuple(_sightings(held, text, evidence, budgets, links))
    detail = answer.detail or next((step.detail for step in answer.steps if step.detail), "")
    view = ArmView(
        arm=name,
        status=str(answer.status),
        kind=answer.status.kind,
        detail=detail,
        passages=len(held.passages),
        tokens=text.total_tokens,
        sightings=sightings,
        why=(),
        shown=tuple(_shown(held, text, i, sightings) for i in range(min(passages, len(held.passages)))),
        scores={judge: dict(verdict.scores) for judge, verdict in judgements.items()},
        given=given,
    )
    return dataclasses.replace(view, why=tuple(_why(view, dossier, question, budgets, at)))


def _sightings(
    dossier: Dossier, text: Rendering, evidence: Sequence[Evidence], budgets: Sequence[int], links: bool
) -> list[Sighting]:
    wanted = [normalise(words_of_links(e.text) if links else e.text) for e in evidence]
    first = first_blocks(dossier, wanted, links=links)
    made = []
    for e, want, at in zip(evidence, wanted, first, strict=True):
        claimed = next((i for i, p in enumerate(dossier.passages, start=1) if e.id in p.unit_ids), None)
        found = tuple(_counts(text, want, at, budget, links) for budget in budgets)
        if at is None:
            made.append(Sighting(e.id, None, None, None, found, claimed, _nearest(dossier, e)))
        else:
            needs = _needs(text, want, at, links)
            made.append(Sighting(e.id, at + 1, text.tokens_before(at), needs, found, claimed, None))
    return made


def _counts(text: Rendering, want: str, at: int | None, budget: int, links: bool) -> bool:
    """Whether the grader counts a gold turn at a budget: its own rule, on the same cut."""
    whole, rest = text.head(budget)
    if at is not None and at < whole:
        return True
    return bool(rest) and first_blocks(Dossier(passages=(Passage(text=rest),)), [want], links=links)[0] is not None


def _needs(text: Rendering, want: str, at: int, links: bool) -> int:
    """The smallest budget at which the turn in block ``at`` counts."""
    low, high = text.tokens_before(at), text.tokens_before(at + 1)
    while low < high:
        middle = (low + high) // 2
        if _counts(text, want, at, middle, links):
            high = middle
        else:
            low = middle + 1
    return low


def _nearest(dossier: Dossier, evidence: Evidence) -> tuple[int, float] | None:
    """The passage that holds the largest share of the turn's terms, if it is most of them."""
    analyzer = Analyzer()
    wanted = set(analyzer.terms(evidence.text))
    if len(wanted) < 3:
        return None
    best = max(
        (
            (len(wanted & set(analyzer.terms(p.text))) / len(wanted), -i)
            for i, p in enumerate(dossier.passages, start=1)
        ),
        default=(0.0, 0),
    )
    return (-best[1], round(best[0], 3)) if best[0] >= PARTLY else None


def _shown(dossier: Dossier, text: Rendering, index: int, sightings: Sequence[Sighting]) -> Shown:
    passage = dossier.passages[index]
    gold = tuple(s.id for s in sightings if s.rank == index + 1)
    return Shown(index + 1, text.tokens_before(index), passage.kind, passage.text, gold)


def _why(view: ArmView, dossier: Dossier | None, question: str, budgets: Sequence[int], at: int) -> list[str]:
    """Sentences that say what happened, the most telling first."""
    if view.kind != "answered":
        blame = {
            "memory": "this counts as wrong",
            "provider": "the task is left out for every arm",
            "harness": "the run cannot be published",
        }[view.kind]
        return [f"It failed: {view.status}{f' ({one_line(view.detail)})' if view.detail else ''}; {blame}."]
    if dossier is None and view.given is not None and "dossier" not in view.given.access:
        what = listed(["files" if access == "folder" else access for access in view.given.access])
        return [f"It was given no dossier: its agent had {what or 'nothing'}."]
    if dossier is None:
        return [f"No dossier was recorded (status {view.status})."]
    if not view.passages:
        return ["It returned nothing: the dossier is empty."]
    largest = budgets[-1] if budgets else 0
    # A recorded dossier ends with the passage in which the largest budget ends: beyond it nothing can count.
    within = f" within {figures.integer(largest)} tokens" if view.tokens >= largest else ""
    said = [sentence for s in view.sightings if (sentence := _sentence(s, at, within))]
    late = next((s for s in view.sightings if s.rank is not None and s.needs is not None and s.needs > at), None)
    if late is not None and late.rank is not None and late.rank > 1:
        ahead = _listed(shared_words(question, dossier.passages[0].text))
        own = _listed(shared_words(question, dossier.passages[late.rank - 1].text))
        said.append(f"Passage 1 came first: it shares {ahead} with the question; the one with {late.id} shares {own}.")
    return said


def _listed(found: Sequence[str]) -> str:
    return ", ".join(one_line(word) for word in dict.fromkeys(w.casefold() for w in found)) or "no word"


def _sentence(s: Sighting, at: int, within: str) -> str:
    if s.rank is None:
        said = f"{s.id} is not in the dossier: nothing of it was returned{within}."
        if s.nearest is not None:
            rank, part = s.nearest
            said = f"{s.id} is not in the dossier: passage {rank} has {part:.0%} of its words, not the turn itself."
        if s.claimed is not None:
            said += f" Passage {s.claimed} claims it as a source."
        return said
    if s.needs is not None and s.needs > at:
        return (
            f"{s.id} stands at rank {s.rank}, {figures.integer(s.offset)} tokens in: it needs a budget of "
            f"{figures.integer(s.needs)}, more than {figures.integer(at)}."
        )
    return ""


def excerpt(text: str, gold: str | None, width: int) -> tuple[str, str, str]:
    """A passage in about ``width`` characters as (before, gold, after); the gold in the middle if it is there."""
    line = one_line(text)
    want = one_line(clean(gold or ""))
    match = re.search(r"\s+".join(map(re.escape, want.split())), line, re.IGNORECASE) if want else None
    if match is None:
        return (line if len(line) <= width else line[: width - 1] + "…"), "", ""
    found = match[0] if len(match[0]) <= width else match[0][: width - 1] + "…"
    room = max(0, width - len(found))
    start = max(0, match.start() - room // 2)
    before = ("…" if start else "") + line[start : match.start()]
    rest = line[match.end() :] if not found.endswith("…") else ""
    keep = max(0, room - len(before))
    return before, found, rest if len(rest) <= keep else rest[: max(0, keep - 1)] + "…"
