"""A parsed ``summary.json`` as a report reads it: whatever is missing or malformed becomes "nothing", never a crash."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from memassay.core.types import Estimate
from memassay.reporting import figures
from memassay.reporting.metric import Metric, metric
from memassay.reporting.text import one_line
from memassay.reporting.values import estimate, mapping, sequence, words

_EXPONENT = re.compile(r"(?<=\d)e-(?=\d)")
_TITLES = {"association": "associations", "locomo": "LOCOMO", "hotpotqa": "HotPotQA", "custom": "your own questions"}
_TESTS = {
    "exact sign-flip": "exact sign-flip over joined questions (McNemar where none is joined)",
    "exact McNemar": "exact McNemar, as no question is joined to another",
    "sign-flip": "sign-flip of whole clusters",
}
_SHORT = 24
USUAL_BUDGET = 4000
"""Where recall stands for a run whose headline is about answers."""
NOT_AUDITED = "the judge was not audited, so how often it is wrong is not known (memassay audit judge RUN)"


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

    @property
    def access(self) -> tuple[str, ...]:
        """What its agent was given; empty where no agent was asked."""
        return tuple(words(access) for access in sequence(self.raw.get("access")))

    @property
    def has_dossier(self) -> bool:
        """Whether what it found is recorded as a dossier: not where its agent had tools or files instead."""
        return not self.access or "dossier" in self.access

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
class JudgeReading:
    """A judge with a model, and the metric that it gives."""

    metric: Metric
    raw: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Its model."""
        return words(self.raw.get("name")) or words(self.raw.get("id"))

    @property
    def use(self) -> str:
        """Its wording: ``binary`` (strict) or ``lenient``."""
        return words(self.raw.get("use"))

    @property
    def scripted(self) -> bool:
        """Whether a script judges, not a model."""
        return self.raw.get("model") == "scripted"

    @property
    def audit(self) -> Mapping[str, Any]:
        """What ``memassay audit judge`` found of it; empty where nobody asked."""
        return mapping(self.raw.get("audit"))

    def rate(self, name: str) -> Estimate:
        """``false_accept`` or ``false_reject``, with its interval, or why there is none."""
        if not self.audit:
            return Estimate(value=None, reason=NOT_AUDITED)
        return estimate(self.audit.get(name))


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
        """Whether the data only show that everything works: no number of such a run carries a verdict."""
        return bool(self.raw.get("sample", self.raw.get("data") == "generated"))

    @cached_property
    def no_verdict(self) -> str:
        """Why no number of the run may carry a verdict, or ""."""
        if self.sample:
            return "the data are a generated sample"
        if self.raw.get("model") == "scripted":
            return "a script answered, not a model"
        primary = words(mapping(self.raw.get("primary")).get("metric"))
        return "a script judged, not a model" if primary and self.scripted(self.metric(primary)) else ""

    @cached_property
    def concluded(self) -> str:
        """What the suite itself concludes, in one paragraph, or ""."""
        said = sequence(mapping(self.raw.get("conclusion")).get("said"))
        return " ".join(one_line(words(one)) for one in said)

    @cached_property
    def stopped(self) -> str:
        """That the run stopped before its end and why, in one sentence, or ""."""
        why = self.text("stopped").rstrip(".")
        return f"Stopped before the end: {why}." if why else ""

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
        title = words(mapping(self.raw.get("titles")).get(name))
        # The name of a judged metric may hold a model's, and that an "@" with a date.
        return Metric(name, name, title=title) if name in self._names_of_answers else metric(name, title)

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
        """What stands beside the headline in its tables.

        Its family at every budget; of answers, all that the same sort of judge gave, the headline first.
        """
        if self.headline in self.of_answers:
            scripted = self.scripted(self.headline)
            beside = (m for m in self.of_answers if m != self.headline and self.scripted(m) == scripted)
            return (self.headline, *beside)
        return self.recall

    @cached_property
    def recall(self) -> tuple[Metric, ...]:
        """The metrics of what was found: one family at every budget, the headline's where it is one of them."""
        head = self.found_headline
        return (self.family(head.family, head.passages) or (head,)) if head else ()

    @cached_property
    def found_headline(self) -> Metric | None:
        """The headline where it is about what was found, else the metric of that sort that stands for the run."""
        if self.headline not in self.of_answers:
            return self.headline
        at = [m for m in self.metrics if m.at is not None and not m.passages and m.family != "cited"]
        at = [m for m in at if m.family == at[0].family]
        return next((m for m in at if m.at == USUAL_BUDGET), at[-1] if at else None)

    @cached_property
    def _names_of_answers(self) -> tuple[str, ...]:
        return tuple(words(name) for name in sequence(self.raw.get("answer_metrics")))

    @cached_property
    def of_answers(self) -> tuple[Metric, ...]:
        """The metrics of answers, judged ones first; empty where no agent answered."""
        return tuple(self.metric(name) for name in self._names_of_answers)

    @cached_property
    def answer_groups(self) -> tuple[tuple[Metric, ...], ...]:
        """The metrics of answers, those that may share a table together: ``main``, then those of the other sort."""
        first = self.main if self.headline in self.of_answers else ()
        if not first:
            first = tuple(m for m in self.of_answers if not self.scripted(m))
        rest = tuple(m for m in self.of_answers if m not in first)
        return tuple(group for group in (first, rest) if group)

    @cached_property
    def agent(self) -> str:
        """Who answered: ``api, MODEL``, ``extractive`` or ``a script (FILE)``; "" where nobody did.

        Of a file only its name is said.
        """
        about = mapping(self.raw.get("agent"))
        model = words(mapping(about.get("options")).get("model"))
        if model.startswith("scripted/"):
            return f"a script ({model.rpartition('/')[2]})"
        if model.startswith("local/"):
            model = f"local/{model.rpartition('/')[2]}"
        return ", ".join(filter(None, [words(about.get("name")), model]))

    @cached_property
    def judges(self) -> tuple[JudgeReading, ...]:
        """The judges with a model, in the order of their metrics."""
        found = [mapping(raw) for raw in sequence(self.raw.get("judges"))]
        return tuple(JudgeReading(self.metric(words(raw.get("metric"))), raw) for raw in found)

    def judge(self, of: Metric) -> JudgeReading | None:
        """The judge with a model that gives a metric, if one does."""
        return next((judge for judge in self.judges if judge.metric == of), None)

    def measured(self, of: Metric) -> bool:
        """Whether any arm has a value at the metric."""
        return any(arm.estimate(of.name).value is not None for arm in self.arms)

    def scripted(self, of: Metric) -> bool:
        """Whether a script gave the metric, as opposed to a model or a rule."""
        judge = self.judge(of)
        return judge is not None and judge.scripted

    @cached_property
    def stand_ins(self) -> tuple[str, ...]:
        """A sentence for each script that stands where a model should: its numbers say nothing about any model."""
        said = ["The answers are a script's, not a model's."] if self.raw.get("model") == "scripted" else []
        names = [judge.metric.name for judge in self.judges if judge.scripted]
        if names:
            said.append(f"{listed(names)}: the verdicts are a script's, not a model's.")
        return tuple(said)

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
