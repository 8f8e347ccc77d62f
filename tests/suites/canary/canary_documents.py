"""A small corpus with what replaced what, and passages of it, for tests of the labels."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from memassay.core.dossier import dossier_of
from memassay.core.types import Document, Dossier, Passage, Unit
from memassay.suites.canary.claims import Checker
from memassay.suites.canary.fixture import Atom, Question
from memassay.suites.canary.manifest import Manifest
from memassay.suites.canary.supersessions import Supersession

DOCUMENTS = (
    Document(
        id="adr/0007-queue.md",
        title="ADR-0007: Queue of Borealis",
        date="2025-01-10",
        text="# ADR-0007: Queue of Borealis\n\nWe keep the orders in one table. A worker polls it every 40 seconds.\n\n"
        "## Limits\n\n- At most 12 retries, see [the runbook](../runbooks/borealis.md).\n- A job of more than 2,500 "
        "lines is split.\n",
    ),
    Document(
        id="adr/0012-queue.md",
        title="ADR-0012: Queue of Borealis",
        date="2025-06-02",
        text="# ADR-0012: Queue of Borealis\n\nReplaces ADR-0007 since 2025-06-02. Orders go through `order_stream`, "
        "and the worker reads it.\n\nThe trial license expires on 3 March 2026.\n",
    ),
    Document(
        id="adr/0013-cache.md",
        title="ADR-0013: Cache of Borealis",
        date="2025-07-01",
        text="# ADR-0013: Cache of Borealis\n\nBeside the stream stands a cache. It adds to ADR-0012 and changes "
        "nothing of it.\n",
    ),
    Document(
        id="a/README.md",
        title="README",
        text="The warehouse opens at six in the morning, whatever the weather says.\n",
    ),
    Document(id="b/README.md", title="README", text="The office opens at nine, and closes when Wilma Quist goes.\n"),
    Document(
        id="talk",
        title="Standup",
        date="2025-08-01",
        text="Ada: The import stopped at shard 77.\nBo: I will look.",
        units=(
            Unit(id="t1", speaker="Ada", text="The import stopped at shard 77."),
            Unit(id="t2", speaker="Bo", text="I will look."),
        ),
    ),
)
TABLE = (
    Supersession(old="ADR-0007", new="ADR-0012", date="2025-06-02", doc="adr/0012-queue.md", subject="Queue"),
    Supersession(old="every 40 seconds", new="order_stream", date="2025-06-02", doc="adr/0012-queue.md"),
)


def checker(table: Sequence[Supersession] | None = TABLE) -> Checker:
    """Of the small corpus."""
    return Checker(Manifest(DOCUMENTS), table)


def truth(*questions: Question) -> Any:
    """What a judge needs of a suite."""
    return SimpleNamespace(questions=questions, documents=DOCUMENTS, supersessions=TABLE)


def question(**given: Any) -> Question:
    """How often the worker polls: one required fact in ADR-0007."""
    about: dict[str, Any] = {
        "id": "q1", "family": "current_canonical", "query": "How often does the worker poll?",
        "required": (Atom(text="every 40 seconds", doc="adr/0007-queue.md"),),
        "expected_doc_ids": ("adr/0007-queue.md",), "cluster": "queue",
    }  # fmt: skip
    return Question(**{**about, **given})


def passage(text: str, *doc_ids: str, **given: Any) -> Passage:
    """A passage; verbatim unless said otherwise."""
    return Passage(text=text, doc_ids=doc_ids, **given)


def dossier(*passages: Passage) -> Dossier:
    """As a memory's answer is stored."""
    return dossier_of(passages)


POLLS = passage("We keep the orders in one table. A worker polls it every 40 seconds.", "adr/0007-queue.md")
