"""Stores of Markdown pages that the knowledge graph iwe reads: ``iwe`` writes them, ``curated`` takes finished ones."""

from __future__ import annotations

from memassay.memories.iwe.curated import Curated
from memassay.memories.iwe.memory import Iwe

__all__ = ["Curated", "Iwe"]
