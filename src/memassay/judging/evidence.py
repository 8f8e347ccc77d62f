"""Evidence recall: is the gold in the dossier, word for word, after the harness has cut it?

The grader looks only at text (principle 6): a memory that cites every unit and shows none scores nothing. What a memory
merely cites is scored apart, as ``cited@B``.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import JsonValue

from memassay.core.contracts import Cell
from memassay.core.dossier import rendering
from memassay.core.types import Dossier, Evidence, Judgement
from memassay.core.wording import common_start, normalise, stands

VERSION = 2
# A link of Markdown: its words, in which brackets come in pairs, and where it leads. Possessive, so never slow.
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*+\])*+)\]\([^()\s]*+\)")


def words_of_links(text: str, end: int | None = None) -> str:
    """The text as a reader of the rendered page sees it: of every Markdown link ``[words](target)`` only the words.

    Args:
        text: a whole passage.
        end: only what stands in front of this offset; a link that is cut counts as far as its words are there.
    """
    limit = len(text) if end is None else end
    if "](" not in text:
        return text[:limit]
    shown: list[str] = []
    at = 0
    for found in _LINK.finditer(text):
        if found.start() >= limit:
            break
        shown += [text[at : found.start()], text[found.start(1) : min(found.end(1), limit)]]
        at = found.end()
    return "".join([*shown, text[at:limit]])


_read_links = functools.lru_cache(maxsize=1 << 16)(lambda text: normalise(words_of_links(text)))
_read_text = functools.lru_cache(maxsize=1 << 16)(normalise)


class EvidenceJudge:
    """Scores ``any``, ``all`` and ``rec`` at every budget and cut-off, and ``cited@B``.

    Args:
        key: which gold of the task is right (``original``, ``audit-corrected``, …).
        tokens: name of the run's tokenizer.
        budgets: in tokens.
        ks: numbers of passages, or of documents.
        alias: a second name that ``all`` is scored under (``both`` where the gold is a pair); "" for none.
        count: what a cut-off counts: ``passages``, or the distinct ``documents`` that the passages before it are from.
            A passage that names no document counts as one of its own.
        links: read a Markdown link as its words, in dossier and gold, after the dossier was cut as it stands.
    """

    def __init__(
        self,
        *,
        key: str,
        tokens: str,
        budgets: Sequence[int],
        ks: Sequence[int],
        alias: str = "",
        count: Literal["passages", "documents"] = "passages",
        links: bool = False,
    ) -> None:
        self.key, self.tokens, self.budgets, self.ks = key, tokens, tuple(budgets), tuple(ks)
        self.id = "evidence" if key == "original" else f"evidence-{key}"
        self._alias, self._count, self._links = alias, count, links

    @property
    def config(self) -> Mapping[str, JsonValue]:
        more: dict[str, JsonValue] = {}
        # Only what differs from the plain judge: a run that was judged before these settings came stays the same run.
        if self._alias:
            more["alias"] = self._alias
        if self._count != "passages":
            more["count"] = self._count
        if self._links:
            more["links"] = "words"
        return more | {
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
        read = _read_links if self._links else _read_text
        wanted = [read(e.text) for e in evidence]
        texts = [read(p.text) for p in dossier.passages]
        first = _first(texts, wanted)
        out: dict[str, float | None] = {}
        cited: dict[str, float | None] = {}
        for budget in self.budgets:
            whole, rest = text.head(budget)
            # The passage that the cut falls into counts as far as it is left: a match must end before the cut.
            part = texts[whole] if rest else ""
            left = self._left(part, dossier.passages[whole].text, rest, whole + 1) if rest else 0
            found = [
                (at is not None and at < whole) or stands(w, part, left) for at, w in zip(first, wanted, strict=True)
            ]
            self._add(out, str(budget), found)
            shown = {unit for p in dossier.passages[: whole + bool(rest)] for unit in p.unit_ids}
            cited[f"cited@{budget}"] = float(all(e.id in shown for e in evidence))
        reach = _documents(dossier) if self._count == "documents" else range(1, len(texts) + 1)
        for k in self.ks:
            self._add(out, f"k{k}", [at is not None and reach[at] <= k for at in first])
        return out | cited

    def _left(self, read: str, text: str, rest: str, rank: int) -> int:
        """How much of a passage, as it is read, stands in what the cut left of its block.

        The number in front is no text.
        """
        shown = rest[len(f"[{rank}] ") :]
        return common_start(read, normalise(words_of_links(text.strip(), len(shown)) if self._links else shown))

    def _add(self, out: dict[str, float | None], at: str, found: Sequence[bool]) -> None:
        out[f"all@{at}"] = float(all(found))
        out[f"any@{at}"] = float(any(found))
        out[f"rec@{at}"] = sum(found) / len(found)
        if self._alias:
            out[f"{self._alias}@{at}"] = out[f"all@{at}"]


def first_blocks(dossier: Dossier, wanted: Sequence[str], *, links: bool = False) -> list[int | None]:
    """For each normalised gold text, the index of the first passage that holds it, or None.

    A gold text cannot stand across two passages: the renderer puts a number between them. ``links`` reads links
    as their words.
    """
    read = _read_links if links else _read_text
    return _first([read(p.text) for p in dossier.passages], wanted)


def _first(texts: Sequence[str], wanted: Sequence[str]) -> list[int | None]:
    joined = "\n".join(texts)
    found: list[int | None] = []
    for want in wanted:
        if not want or want not in joined:
            found.append(None)
            continue
        found.append(next((i for i, text in enumerate(texts) if stands(want, text)), None))
    return found


def _documents(dossier: Dossier) -> list[int]:
    """For each passage, how many distinct documents the passages up to and including it are from."""
    seen: set[str] = set()
    nameless = 0
    reach: list[int] = []
    for passage in dossier.passages:
        seen.update(passage.doc_ids)
        nameless += not passage.doc_ids
        reach.append(len(seen) + nameless)
    return reach
