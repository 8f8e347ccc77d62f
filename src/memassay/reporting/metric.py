"""A metric's name taken apart, and what it counts, in words."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from memassay.reporting import figures

_TITLE = re.compile(r"(?P<what>.+?) (?:within|in the first|among the first) [\d,]+ (?P<unit>.+)")
_METRIC = re.compile(r"(?P<family>.+)@(?P<passages>k)?(?P<at>\d{1,12})")
_GOLD = {
    "all": "every gold item",
    "both": "both gold pages",
    "any": "at least one gold item",
    "rec": "mean share of the gold items",
}
_OTHERS = {"cited": "every gold item claimed as a source"}


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric's name taken apart: ``all@4000`` is family ``all`` at 4,000 tokens, ``all@k5`` at 5 passages.

    ``title`` is the suite's own sentence about it, "" where the summary has none.
    """

    name: str
    family: str
    at: int | None = None
    passages: bool = False
    title: str = field(default="", compare=False)

    @property
    def short(self) -> str:
        """The cut-off alone, for a column: ``4k`` or ``k = 5``."""
        if self.at is None:
            return self.name
        return f"k = {self.at}" if self.passages else figures.short_integer(self.at)

    @property
    def label(self) -> str:
        """``all@4k``, ``all@k5``."""
        return (
            f"{self.family}@{'k' if self.passages else ''}{self.at if self.passages else self.short}"
            if (self.at is not None)
            else self.name
        )

    @property
    def gold(self) -> str:
        """The gold that must be there, in the suite's words: ``every gold turn``; "" if unknown."""
        found = _TITLE.fullmatch(self.title)
        return found["what"] if found and self.family in _GOLD and self.family != "both" else _GOLD.get(self.family, "")

    @property
    def what(self) -> str:
        """What the metric counts, in words, whatever the cut-off."""
        if self.at is None and self.title:
            return self.title
        return f"{self.gold} in the dossier" if self.gold else _OTHERS.get(self.family, self.family)

    @property
    def unit(self) -> str:
        """What the cut-off counts, in the suite's words."""
        found = _TITLE.fullmatch(self.title)
        return "tokens" if not self.passages else found["unit"] if found else "passages"

    @property
    def phrase(self) -> str:
        """What the metric counts, in words, with its cut-off."""
        return self.what if self.at is None else f"{self.what} within {self.at:,} {self.unit}"


def metric(name: str, title: str = "") -> Metric:
    """The parts of a metric's name; a name without a cut-off is its own family."""
    found = _METRIC.fullmatch(name)
    if not found:
        return Metric(name, name, title=title)
    return Metric(name, found["family"], int(found["at"]), bool(found["passages"]), title)
