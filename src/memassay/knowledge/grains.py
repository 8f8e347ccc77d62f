"""What is shown of a page for a passage that answers: the passage, its section, or the page."""

from __future__ import annotations

from typing import Literal, get_args

from memassay.knowledge.packing import Candidate, of_page, of_passage, of_section
from memassay.knowledge.snapshot import Snapshot

Grain = Literal["passage", "section", "page"]
GRAINS: tuple[str, ...] = get_args(Grain)


def candidate(snapshot: Snapshot, passage: int, grain: Grain) -> Candidate:
    """What is shown together for a passage; a section is shown without the deeper ones inside it."""
    if grain == "page":
        return of_page(snapshot, int(snapshot.page_of[passage]))
    return (of_section if grain == "section" else of_passage)(snapshot, passage)
