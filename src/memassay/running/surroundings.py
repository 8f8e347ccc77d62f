"""What is recorded of the machine and the programs that a run was made with."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from memassay.version import __version__


def environment() -> dict[str, Any]:
    """What is recorded of a writer: versions and machine, nothing secret, nothing that names a person."""
    libraries = ("bm25s", "bpe-openai", "numpy", "pydantic", "PyStemmer", "scipy")
    return {
        "memassay": __version__,
        "python": platform.python_version(),
        "libraries": {name: importlib.metadata.version(name) for name in libraries},
        "system": platform.system(),
        "machine": platform.machine(),
        "source_dirty": _source_dirty(),
    }


def _source_dirty() -> bool | None:
    """Whether memassay runs from a checkout with uncommitted changes; None where that cannot be told."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return None
    child = {k: os.environ[k] for k in ("PATH", "SYSTEMROOT") if k in os.environ}
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", "-C", str(root), "status", "--porcelain", "--untracked-files=no"],
            capture_output=True,
            timeout=10,
            check=True,
            env=child,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return bool(done.stdout.strip())
