"""Where a command writes: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def emit(text: str) -> None:
    """A result on standard output; a reader that has left changes no verdict."""
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115


def print_json(value: Any) -> None:
    """A result as JSON on standard output."""
    emit(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False))


def say(text: str) -> None:
    """A message on standard error."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def print_summary(summary: Mapping[str, Any]) -> None:
    """The table of a summary on standard output, as wide as the terminal."""
    from memassay.reporting import print_arms

    print_arms(summary)
