"""Protocols of our own: templates whose every protocol obeys the rules of ``rules`` or is not made."""

from memassay.suites.lifecycle.templates.build import DEFAULT_PROTOCOLS, INTERFERENCE, MOST_PROTOCOLS, generate
from memassay.suites.lifecycle.templates.forms import TEMPLATES
from memassay.suites.lifecycle.templates.rules import lint, lint_set

__all__ = ["DEFAULT_PROTOCOLS", "INTERFERENCE", "MOST_PROTOCOLS", "TEMPLATES", "generate", "lint", "lint_set"]
