"""A parsed ``summary.json`` as a report reads it: whatever is missing or malformed becomes "nothing", never a crash."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from memassay.core.types import Estimate
from memassay.reporting import figures
from memassay.reporting.text import one_line

_METRIC = re.compile(r"(?P<family>.+)@(?P<passages>k)?(?P<at>\d{1,12})")
_TITLES = {"locomo": "LOCOMO", "hotpotqa": "HotPotQA", "custom": "your own questions"}
_FAMILIES = {
    "all": "every gold item in the dossier",
    "both": "both gold pages in the dossier",
    "any": "at least one gold item in the dossier",
    "rec": "mean share of the gold items in the dossier",
    "cited": "every gold item claimed as a source",
}


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric's name taken apart: ``all@4000`` is family ``all`` at 4,000 tokens, ``all@k5`` at 5 passages."""

    name: str
    family: str
    at: int | None = None
    passages: bool = False

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
    def phrase(self) -> str:
        """What the metric counts, in words."""
        what = _FAMILIES.get(self.family, self.family)
        if self.at is None:
            return what
        return f"{what} within {self.at:,} {'passages' if self.passages else 'tokens'}"


def metric(name: str) -> Metric:
    """The parts of a metric's name; a name without a cut-off is its own family."""
    found = _METRIC.fullmatch(name)
    if not found:
        return Metric(name, name)
    return Metric(name, found["family"], int(found["at"]), bool(found["passages"]))


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
        return words(self.raw.get("reason"))


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
    def arms(self) -> tuple[ArmReading, ...]:
        found = mapping(self.raw.get("arms"))
        return tuple(ArmReading(name, mapping(raw), i) for i, (name, raw) in enumerate(found.items()))

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """Every metric of any arm, in order of first appearance."""
        names: dict[str, None] = {}
        for arm in self.arms:
            names.update(dict.fromkeys(arm.at("metrics")))
        return tuple(metric(name) for name in names)

    @cached_property
    def headline(self) -> Metric:
        """What stands for the run: the metric it names, else the primary's, else a middle budget."""
        named = self.text("headline_metric") or words(mapping(self.raw.get("primary")).get("metric"))
        if named:
            return metric(named)
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
            made.append(Comparison(a, b, metric(name), split, found, raw, is_primary))
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
