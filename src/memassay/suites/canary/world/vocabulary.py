"""The words of the generated company, each drawn once where a question could ask for it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

from memassay.core.draws import Draw

Row = Mapping[str, str]

# A combination that is taken is drawn anew; slots are made so large that even 5,000 documents leave some free.
_TRIES = 10_000


def read_text(name: str) -> dict[str, Any]:
    """A file of ``text/`` that ships with the package."""
    folder = resources.files("memassay.suites.canary.world") / "text"
    return tomllib.loads((folder / name).read_text(encoding="utf-8"))


class Vocabulary:
    """Draws names, rows and slots.

    Args:
        draw: what every choice comes from.
    """

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self._text = read_text("vocabulary.toml")
        self._taken: set[str] = set()

    def rows(self, name: str) -> list[Any]:
        """A list of the vocabulary."""
        rows: list[Any] = self._text[name]
        return rows

    def fresh(self, make: Callable[[], str]) -> str:
        """A text that was never drawn before."""
        for _ in range(_TRIES):
            text = make()
            if text not in self._taken:
                self._taken.add(text)
                return text
        raise ValueError("the vocabulary is too small for so many documents")

    def slot(self, name: str) -> str:
        """A combination of the parts of a slot."""
        parts: list[list[str]] = self._text["slots"][name]
        return self.fresh(lambda: self._numbered(" ".join(self.draw.pick(part) for part in parts)))

    def bound(self, topic: Row) -> str:
        """A number with its unit."""
        return self.fresh(lambda: self._numbered(topic["value"]))

    def product(self) -> str:
        """The name of a service."""
        return self.fresh(lambda: self.draw.pick(self.rows("name_starts")) + self.draw.pick(self.rows("name_ends")))

    def person(self) -> str:
        return self.fresh(
            lambda: f"{self.draw.pick(self.rows('first_names'))} {self.draw.pick(self.rows('last_names'))}"
        )

    def team(self) -> str:
        return self.fresh(lambda: self.draw.pick(self.rows("team_words")) + self.draw.pick(self.rows("team_tails")))

    def between(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        return low + self.draw.below(high - low + 1)

    def _numbered(self, text: str) -> str:
        return text.replace("{n}", str(self.between(12, 999) * 10))
