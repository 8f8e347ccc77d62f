"""A parsed ``summary.json`` as a report reads it: whatever is missing or malformed becomes "nothing", never a crash."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from memassay.core.types import Estimate
from memassay.reporting import figures
from memassay.reporting.text import one_line

_TITLE = re.compile(r"(?P<what>.+?) (?:within|in the first|among the first) [\d,]+ (?P<unit>.+)")
_EXPONENT = re.compile(r"(?<=\d)e-(?=\d)")
_METRIC = re.compile(r"(?P<family>.+)@(?P<passages>k)?(?P<at>\d{1,12})")
_TITLES = {"locomo": "LOCOMO", "hotpotqa": "HotPotQA", "custom": "your own questions"}
_GOLD = {
    "all": "every gold item",
    "both": "both gold pages",
    "any": "at least one gold item",
    "rec": "mean share of the gold items",
}
_OTHERS = {"cited": "every gold item claimed as a source"}
_TESTS = {
    "exact sign-flip": "exact sign-flip over joined questions (McNemar where none is joined)",
    "exact McNemar": "exact McNemar, as no question is joined to another",
    "sign-flip": "sign-flip of whole clusters",
}
_SHORT = 24


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


def mapping(value: object) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def sequence(value: object) -> Sequence[Any]:
    """The value if it is a list or tuple, else an empty one."""
    return value if isinstance(value, (list, tuple)) else ()


def words(value: object) -> str:
    """The value as one clean line, "" for None."""
    return "" if value is None else one_line(str(value))


def estimate(value: object) -> Estimate:
    """An Estimate from its JSON form, from a bare number, or from nothing; never NaN, never an unexplained null."""
    if isinstance(value, Estimate):
        value = value.model_dump()
    if not isinstance(value, Mapping):
        number = figures.finite(value)
        return Estimate(value=number, reason=None if number is not None else "not measured")
    number = figures.finite(value.get("value"))
    low, high = figures.finite(value.get("low")), figures.finite(value.get("high"))
    if number is None or low is None or high is None:
        low = high = None
    reason = words(value.get("reason")) or None
    return Estimate(
        value=number,
        low=low,
        high=high,
        level=figures.finite(value.get("level")) or 0.95,
        n=int(figures.finite(value.get("n")) or 0),
        clusters=int(figures.finite(value.get("clusters")) or 0),
        method=words(value.get("method")),
        reason=reason or ("not measured" if number is None else None),
    )


@dataclass(frozen=True)
class ArmReading:
    """One arm of the summary."""

    name: str
    raw: Mapping[str, Any]
    index: int

    @property
    def reason(self) -> str:
        """Why the arm cannot be measured, or ""."""
        return words(self.raw.get("reason"))

    @property
    def n(self) -> int | None:
        number = figures.finite(self.raw.get("n"))
        return None if number is None else int(number)

    def at(self, *path: str) -> Mapping[str, Any]:
        """The mapping under a path of keys, or an empty one."""
        here: Mapping[str, Any] = self.raw
        for key in path:
            here = mapping(here.get(key))
        return here

    def estimate(self, name: str, *path: str) -> Estimate:
        """A metric under a path (default ``metrics``), with the arm's own reason where there is none."""
        return self.explain(estimate(self.at(*(path or ("metrics",))).get(name)))

    def explain(self, found: Estimate) -> Estimate:
        """The estimate; a null without a reason of its own takes the arm's."""
        if found.value is None and self.reason and found.reason == "not measured":
            return found.model_copy(update={"reason": self.reason})
        return found


@dataclass(frozen=True)
class Comparison:
    """A paired comparison, arm ``a`` minus arm ``b``."""

    a: str
    b: str
    metric: Metric
    split: str
    diff: Estimate
    raw: Mapping[str, Any]
    primary: bool

    @property
    def verdict(self) -> str:
        return words(self.raw.get("verdict")) or "exploratory"

    @property
    def reason(self) -> str:
        """Why the verdict; a number such as 1e−17 is written so that it is never broken over two lines."""
        return _EXPONENT.sub(f"e{figures.MINUS}", words(self.raw.get("reason")))

    @property
    def test(self) -> str:
        """What made p, or ""."""
        return words(self.raw.get("test"))


class Reading:
    """The summary with its arms in order, its metrics sorted into families, and its primary comparison found."""

    def __init__(self, summary: Mapping[str, Any]) -> None:
        self.raw = mapping(summary)

    def text(self, key: str, default: str = "") -> str:
        """A top-level value as one clean line."""
        return words(self.raw.get(key)) or default

    @cached_property
    def suite_title(self) -> str:
        name = self.text("suite", "an unnamed suite")
        return _TITLES.get(name, name)

    @property
    def sample(self) -> bool:
        """Whether the data are generated: no number of such a run carries a verdict."""
        return bool(self.raw.get("sample")) or self.raw.get("data") == "generated"

    @cached_property
    def units(self) -> tuple[str, str]:
        """What a task and a cluster are called here, in the plural."""
        named = mapping(self.raw.get("words"))
        return words(named.get("tasks")) or "questions", words(named.get("clusters")) or "clusters"

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """What of the suite can change a number, by name: the corpus that was measured, its file, its draw."""
        return mapping(self.raw.get("suite_settings"))

    @cached_property
    def corpus(self) -> tuple[tuple[str, str], ...]:
        """The settings of the suite that a reader needs at once: choices of one word, and the size of the pool."""
        chosen = [(words(k), words(v)) for k, v in self.settings.items() if isinstance(v, str) and len(v) <= _SHORT]
        pages = figures.finite(mapping(self.settings.get("pool")).get("pages"))
        return tuple([*chosen, *([("pool", f"{figures.integer(pages)} pages")] if pages is not None else [])])

    @cached_property
    def subject(self) -> str:
        """Suite and corpus in a few words: ``HotPotQA, links titles, pool of 2,846 pages``."""
        said = [f"{label} of {value}" if label == "pool" else f"{label} {value}" for label, value in self.corpus]
        return ", ".join([self.suite_title, *said])

    @cached_property
    def tests(self) -> tuple[str, ...]:
        """The tests behind the p-values, in words, each once."""
        named = dict.fromkeys(c.test for c in self.comparisons if c.test)
        # Where some subsets hold joined questions and others none, the first sentence covers both.
        exact = ["exact sign-flip"] if "exact sign-flip" in named else []
        return tuple(_TESTS.get(name, name) for name in [*exact, *(n for n in named if not exact or "exact" not in n)])

    def metric(self, name: str) -> Metric:
        """The parts of a metric's name, with the suite's sentence about it."""
        return metric(name, words(mapping(self.raw.get("titles")).get(name)))

    @cached_property
    def arms(self) -> tuple[ArmReading, ...]:
        found = mapping(self.raw.get("arms"))
        return tuple(ArmReading(name, mapping(raw), i) for i, (name, raw) in enumerate(found.items()))

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """Every metric of any arm, in order of first appearance."""
        names: dict[str, None] = {}
        for arm in self.arms:
            names.update(dict.fromkeys(arm.at("metrics")))
        return tuple(self.metric(name) for name in names)

    @cached_property
    def headline(self) -> Metric:
        """What stands for the run: the metric it names, else the primary's, else a middle budget."""
        named = self.text("headline_metric") or words(mapping(self.raw.get("primary")).get("metric"))
        if named:
            return self.metric(named)
        budgets = [m for m in self.metrics if m.at is not None and not m.passages]
        first = [m for m in budgets if m.family == budgets[0].family]
        return first[len(first) // 2] if first else (self.metrics[0] if self.metrics else Metric("all", "all"))

    def family(self, name: str, passages: bool = False) -> tuple[Metric, ...]:
        """The metrics of a family at token budgets (or at numbers of passages), by cut-off."""
        found = [m for m in self.metrics if m.family == name and m.at is not None and m.passages == passages]
        return tuple(sorted(found, key=lambda m: m.at or 0))

    @cached_property
    def main(self) -> tuple[Metric, ...]:
        """The headline's family at every budget; the headline alone where it has no budget."""
        return self.family(self.headline.family, self.headline.passages) or (self.headline,)

    @cached_property
    def families(self) -> tuple[str, ...]:
        """Names of the families, the headline's first."""
        names = dict.fromkeys([self.headline.family, *(m.family for m in self.metrics)])
        return tuple(names)

    def reference(self, name: str, metric_name: str) -> Estimate | None:
        """``chance`` or ``ceiling`` (of the first key) at a metric, or None."""
        if name == "chance":
            found = mapping(self.raw.get("chance")).get(metric_name)
            if isinstance(found, Mapping) and "mean" in found:
                found = {"value": found.get("mean"), "low": found.get("low"), "high": found.get("high")}
        else:
            keys = mapping(self.raw.get("ceilings"))
            first = "original" if "original" in keys else next(iter(keys), "")
            found = mapping(keys.get(first)).get(metric_name)
        result = estimate(found)
        return None if result.value is None else result

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Every comparison, the primary first."""
        primary = mapping(self.raw.get("primary"))
        wanted = tuple(words(primary.get(key)) for key in ("a", "b", "metric", "split"))
        made = []
        for raw in map(mapping, sequence(self.raw.get("comparisons"))):
            a, b, name, split = (words(raw.get(key)) for key in ("a", "b", "metric", "split"))
            split = split or "all"
            found = estimate(raw.get("diff"))
            if found.value is None and raw.get("reason"):
                found = found.model_copy(update={"reason": words(raw.get("reason"))})
            matches = (a, b, name, split) == (*wanted[:3], wanted[3] or "all")
            is_primary = bool(primary) and (matches or raw.get("primary") is True)
            made.append(Comparison(a, b, self.metric(name), split, found, raw, is_primary))
        return tuple(sorted(made, key=lambda c: not c.primary))

    @cached_property
    def primary(self) -> Comparison | None:
        """The one comparison that was named before the run, if it was computed."""
        return next((c for c in self.comparisons if c.primary), None)

    @cached_property
    def publishable(self) -> tuple[bool, tuple[str, ...]]:
        """Whether the run may be published, and every reason why not."""
        found = mapping(self.raw.get("publishable"))
        reasons = tuple(words(r) for r in sequence(found.get("reasons")) if words(r))
        if not found:
            return False, ("the summary does not say whether the run may be published",)
        return found.get("value") is True, reasons

    @cached_property
    def counts(self) -> tuple[int | None, int | None]:
        """Tasks and clusters behind the headline metric."""
        headline = [arm.estimate(self.headline.name) for arm in self.arms]
        n = max((e.n for e in headline), default=0) or max((arm.n or 0 for arm in self.arms), default=0)
        clusters = max((e.clusters for e in headline), default=0)
        return n or None, clusters or None


def listed(names: Iterable[str], last: str = "and") -> str:
    """``a, b and c``."""
    items = list(names)
    return f" {last} ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)
