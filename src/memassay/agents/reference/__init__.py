"""An agent without a model that answers the questions of the suite ``association`` with what the arm gives it.

It shows what each form can answer at all, and at how many calls and tokens. It knows the wording of the questions and
what the README of the data says, and nothing of the suite: every rule here is its own.
"""

from __future__ import annotations

from memassay.agents.reference.agent import UNKNOWN, Reference

__all__ = ["UNKNOWN", "Reference"]
