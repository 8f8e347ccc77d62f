"""An agent without a model for the suite ``lifecycle``: it keeps what it is told and answers from what it was given.

It sees a request and the tools of a memory platform, and nothing else: no gold, nothing of the suite. So a switch of
the platform that changes what is delivered changes its answers. The agent ``scripted-lifecycle`` is the same rules
with one deviation (:mod:`memassay.agents.rules.scripts`).
"""

from __future__ import annotations

from memassay.agents.rules.agent import BUDGET, UNKNOWN, Rules
from memassay.agents.rules.scripts import SCRIPTS, Script

__all__ = ["BUDGET", "SCRIPTS", "UNKNOWN", "Rules", "Script"]
