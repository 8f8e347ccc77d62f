"""``platform``: a memory with a review queue, the embedded one or another that keeps to the same wire contract."""

from __future__ import annotations

from memassay.memories.platform.memory import PlatformMemory

__all__ = ["PlatformMemory"]
