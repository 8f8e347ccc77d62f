"""What a child of ours sees: lists of our own, never the environment of the harness."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

# Every variable that Claude Code reads has a default that may change with a version; these are fixed by name.
FIXED: Mapping[str, str] = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
    # A refusal is an answer. Claude Code would ask a second time, or another model.
    "CLAUDE_CODE_DISABLE_REFUSAL_RETRY": "1",
    "CLAUDE_CODE_DISABLE_REFUSAL_FALLBACK": "1",
    "CLAUDE_CODE_DISABLE_MODEL_ACCESS_FALLBACK": "1",
    # Milliseconds for a tool server to come up; Claude Code goes on without one that takes longer.
    "MCP_TIMEOUT": "60000",
}


def machine(home: Path) -> dict[str, str]:
    """What any program needs: where programs are, and a home and a place for temporary files below ``home``."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "HOME": str(home),
        "TMPDIR": str(home),
    }
