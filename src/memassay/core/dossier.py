"""From passages to the text that counts: rendered by the harness, cut by the harness (principle 6)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from memassay.core.tokens import Tokenizer, tokenizer
from memassay.core.types import Dossier, Passage


def dossier_of(passages: Iterable[Passage]) -> Dossier:
    """A dossier in the given order; passages without words are dropped, ranks are set by order."""
    kept = tuple(
        passage if passage.rank == rank else passage.model_copy(update={"rank": rank})
        for rank, passage in enumerate((_storable(p) for p in passages if p.text.strip()), start=1)
    )
    return Dossier(status="ok" if kept else "empty", passages=kept)


def _storable(passage: Passage) -> Passage:
    """The passage, with what UTF-8 cannot say (a lone surrogate) as a question mark."""
    if passage.text.isascii():
        return passage
    text = passage.text.encode("utf-8", "replace").decode("utf-8")
    return passage if text == passage.text else passage.model_copy(update={"text": text})


def trimmed(dossier: Dossier, tokens: str, budget: int) -> Dossier:
    """The dossier without the passages that begin beyond ``budget`` tokens: nothing there can ever count."""
    whole, rest = Rendering(dossier.passages, tokenizer(tokens), budget).head(budget)
    keep = whole + bool(rest)
    if keep >= len(dossier.passages):
        return dossier
    return dossier.model_copy(update={"passages": dossier.passages[:keep]})


def block(rank: int, text: str) -> str:
    """One passage as it is rendered: a number that an answer can cite, then the words."""
    return f"[{rank}] {text.strip()}\n"


class Rendering:
    """A dossier as text under one tokenizer.

    Attributes:
        blocks: the rendered passages, in order.
        ends: for each block, the marks up to and including it. Every block starts with ``[``, which no byte-pair rule
            joins to a line end, so the sum over blocks is the count of the whole (tested).

    Args:
        passages: best first.
        tokens: what counts.
        budget: in tokens; what begins beyond it is left out, so that a whole pool in a random order costs no more than
            what is kept of it. None renders everything.
    """

    def __init__(self, passages: Sequence[Passage], tokens: Tokenizer, budget: int | None = None) -> None:
        self.tokens = tokens
        self.blocks: list[str] = []
        self.ends: list[int] = []
        total = 0
        for rank, passage in enumerate(passages, start=1):
            if budget is not None and total > budget * tokens.marks_per_token:
                break
            self.blocks.append(block(rank, passage.text))
            total += tokens.marks(self.blocks[-1])
            self.ends.append(total)

    @property
    def total_tokens(self) -> int:
        """Tokens of the whole dossier, rounded up."""
        return -(-(self.ends[-1] if self.ends else 0) // self.tokens.marks_per_token)

    def head(self, budget: int) -> tuple[int, str]:
        """How many blocks stand whole in the first ``budget`` tokens, and what is left of the next one."""
        marks = budget * self.tokens.marks_per_token
        whole = bisect_right(self.ends, marks)
        if whole == len(self.blocks):
            return whole, ""
        return whole, self.tokens.cut(self.blocks[whole], marks - (self.ends[whole - 1] if whole else 0))

    def cut(self, budget: int) -> str:
        """The first ``budget`` tokens as text."""
        whole, rest = self.head(budget)
        return "".join(self.blocks[:whole]) + rest

    def tokens_before(self, index: int) -> int:
        """Tokens in front of block ``index``, rounded up."""
        return -(-(self.ends[index - 1] if index else 0) // self.tokens.marks_per_token)


_LAST: dict[tuple[str, str], Rendering] = {}


def rendering(dossier: Dossier, tokens: str) -> Rendering:
    """The rendering of a dossier; that of the last stored one is kept, since several graders read it in a row."""
    key = (dossier.digest, tokens)
    if not dossier.digest:
        return Rendering(dossier.passages, tokenizer(tokens))
    if key not in _LAST:
        _LAST.clear()
        _LAST[key] = Rendering(dossier.passages, tokenizer(tokens))
    return _LAST[key]
