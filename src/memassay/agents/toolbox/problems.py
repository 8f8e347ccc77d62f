"""What is wrong with a set of tools."""

from __future__ import annotations

from memassay.core.errors import MemassayError


class ToolsMissing(MemassayError):
    """A tool server could not be started, lacks a tool that the arm is to have, or is gone: a harness fault.

    An answer that was given without the tools of its arm says nothing about the memory, so it must not count.
    """
