"""What a snapshot asks for that is not in its arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from memassay.core.dossier import block
from memassay.core.tokens import tokenizer
from memassay.knowledge.postings import Numbers


class Stored(NamedTuple):
    """What the catalog holds of a page.

    Attributes:
        key: the page's key.
        title: its title, or None.
        digest: SHA-256 of ``text``.
        front: its front matter as JSON.
        text: as parsed; spans are places in it.
        numbers: its passages, terms and links.
        heads: for each passage the line that says where it stands, or "".
        counted: marks of passages ``(first, last, with head)`` of the page, as far as they were counted.
    """

    key: str
    title: str | None
    digest: str
    front: str
    text: str
    numbers: Numbers
    heads: tuple[str, ...]
    counted: dict[tuple[int, int, bool], int]

    def marks(self, first: int, last: int, heads: bool, tokens: str) -> int:
        """Marks of passages of the page, as in :meth:`memassay.knowledge.snapshot.Snapshot.marks`."""
        marks = self.counted.get((first, last, heads))
        if marks is None:
            head = self.heads[first] if heads else ""
            text = self.text[self.numbers.starts[first] : self.numbers.ends[last - 1]]
            marks = tokenizer(tokens).marks(block(1, f"{head}\n{text}" if head else text))
            self.counted[first, last, heads] = marks
        return marks


class Archive(Protocol):
    """Where a snapshot finds what is not in its arrays."""

    def stored(self, page: int) -> Stored:
        """What is kept of the page that has this number in the catalog."""
        ...

    def term_ids(self, terms: Sequence[str]) -> list[int]:
        """The numbers of terms, -1 for one that no page ever held."""
        ...

    def node_keys(self, nodes: Sequence[int]) -> list[str]:
        """The keys of nodes."""
        ...

    def node_of(self, key: str) -> int:
        """The node of a key, -1 for one that is no page and that no link ever meant."""
        ...
