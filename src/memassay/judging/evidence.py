"""Evidence recall: is the gold in the dossier, word for word, after the harness has cut it?

The grader looks only at text (principle 6): a memory that cites every unit and shows none scores nothing. What a memory
merely cites is scored apart, as ``cited@B``.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from memassay.core.contracts import Cell
from memassay.core.dossier import rendering
from memassay.core.types import Dossier, Evidence, Judgement
from memassay.core.wording import common_start, normalise, stands

VERSION = 2
_normalise = functools.lru_cache(maxsize=1 << 16)(normalise)


class EvidenceJudge:
    """Scores ``any``, ``all`` and ``rec`` at every budget and cut-off, and ``cited@B``.

    Args:
        key: which gold of the task is right (``original``, ``audit-corrected``, …).
        tokens: name of the run's tokenizer.
        budgets: in tokens.
        ks: numbers of passages.
    """

    def __init__(self, *, key: str, tokens: str, budgets: Sequence[int], ks: Sequence[int]) -> None:
        self.key, self.tokens, self.budgets, self.ks = key, tokens, tuple(budgets), tuple(ks)
        self.id = "evidence" if key == "original" else f"evidence-{key}"

    @property
    def config(self) -> Mapping[str, JsonValue]:
        return {
            "judge": "evidence",
            "version": VERSION,
            "key": self.key,
            "tokens": self.tokens,
            "budgets": list(self.budgets),
            "ks": list(self.ks),
        }

    def judge(self, cell: Cell) -> Judgement | None:
        """Scores of one cell; None where this key leaves the task out or has no evidence to look for."""
        gold = cell.task.gold.get(self.key)
        if gold is None or gold.excluded is not None or not gold.evidence:
            return None
        dossier = cell.dossier or Dossier(status="empty")
        answer = cell.answer
        return Judgement(
            id=f"{self.id}/{cell.task.id}/{answer.cell.arm}/{answer.cell.build}.{answer.cell.repetition}",
            judge=self.id,
            subjects=(answer.cell,),
            attempt=answer.attempt,
            data=answer.data,
            model=answer.model,
            labels={"tokens": rendering(dossier, self.tokens).total_tokens, "passages": len(dossier.passages)},
            scores=self.scores(dossier, gold.evidence),
        )

    def scores(self, dossier: Dossier, evidence: Sequence[Evidence]) -> dict[str, float | None]:
        """Every metric of one dossier against one gold, each in [0, 1]."""
        text = rendering(dossier, self.tokens)
        wanted = [normalise(e.text) for e in evidence]
        first = first_blocks(dossier, wanted)
        out: dict[str, float | None] = {}
        cited: dict[str, float | None] = {}
        texts = [_normalise(p.text) for p in dossier.passages]
        for budget in self.budgets:
            whole, rest = text.head(budget)
            # The passage that the cut falls into counts as far as it is left: a match must end before the cut.
            part = texts[whole] if rest else ""
            left = _left(part, rest, whole + 1)
            found = [
                (at is not None and at < whole) or stands(w, part, left) for at, w in zip(first, wanted, strict=True)
            ]
            _add(out, str(budget), found)
            shown = {unit for p in dossier.passages[: whole + bool(rest)] for unit in p.unit_ids}
            cited[f"cited@{budget}"] = float(all(e.id in shown for e in evidence))
        for k in self.ks:
            _add(out, f"k{k}", [at is not None and at < k for at in first])
        return out | cited


def first_blocks(dossier: Dossier, wanted: Sequence[str]) -> list[int | None]:
    """For each normalised gold text, the index of the first passage that holds it, or None.

    A gold text cannot stand across two passages: the renderer puts a number between them.
    """
    texts = [_normalise(p.text) for p in dossier.passages]
    joined = "\n".join(texts)
    found: list[int | None] = []
    for want in wanted:
        if not want or want not in joined:
            found.append(None)
            continue
        found.append(next((i for i, text in enumerate(texts) if stands(want, text)), None))
    return found


def _left(text: str, rest: str, rank: int) -> int:
    """How much of a normalised passage stands in what the cut left of its block; the number in front is no text."""
    return common_start(text, normalise(rest[len(f"[{rank}] ") :]))


def _add(out: dict[str, float | None], at: str, found: Sequence[bool]) -> None:
    out[f"all@{at}"] = float(all(found))
    out[f"any@{at}"] = float(any(found))
    out[f"rec@{at}"] = sum(found) / len(found)
