"""The same answers cut in other ways: splits, categories, controls, gold keys, sensitivity, claimed sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memassay.core.types import Estimate
from memassay.reporting import figures
from memassay.reporting.grid import Cell, Col, Grid, Row, row
from memassay.reporting.metric import Metric, metric
from memassay.reporting.part import Part, columns, family_title
from memassay.reporting.reading import Reading
from memassay.reporting.values import estimate, mapping, sequence, words


def _tables(reading: Reading) -> list[tuple[tuple[Metric, ...], str, bool]]:
    """Metrics that share a table, its title, and whether it is folded: the headline's, then answers or recall."""
    of_answers = reading.answer_groups[:1]
    found = [reading.main, *(group for group in (*of_answers, reading.recall) if group and group != reading.main)]
    return [
        (group, "Answers" if group in of_answers else family_title(group), bool(number))
        for number, group in enumerate(found)
    ]


def splits(reading: Reading) -> Part | None:
    """Dev and test apart, at the headline's family; of answers recall too."""
    names = dict.fromkeys(name for arm in reading.arms for name in arm.at("splits"))
    if not names:
        return None
    grids = []
    for metrics, title, folded in _tables(reading):
        rows = [
            row(
                [
                    split,
                    arm.name,
                    figures.finite(arm.at("splits", split).get("n")),
                    *(arm.estimate(m.name, "splits", split, "metrics") for m in metrics),
                ]
            )
            for split in names
            for arm in reading.arms
            if arm.at("splits", split)
        ]
        cols = (Col("split"), Col("arm", "arm"), Col("n", "integer"), *columns(metrics, reading.headline))
        grids.append(Grid(title, cols, tuple(rows), folded=folded))
    reads = figures.finite(reading.raw.get("test_reads"))
    text = "Settings may be chosen on dev; nothing may be chosen on test."
    if reads is not None:
        text += f" The test split has been read {reads:.0f} {'time' if reads == 1 else 'times'}."
    return Part("splits", "Dev and test", (text,), tuple(grids))


def category_names(reading: Reading) -> list[str]:
    """Every category of any arm, in order of first appearance."""
    return list(dict.fromkeys(name for arm in reading.arms for name in arm.at("categories")))


def category_n(reading: Reading, name: str) -> int | None:
    found = [figures.finite(arm.at("categories", name).get("n")) for arm in reading.arms]
    known = [int(n) for n in found if n is not None]
    return max(known) if known else None


def categories(reading: Reading) -> Part | None:
    """Categories x arms at the headline metric; of answers at the other metrics and at recall too."""
    names = category_names(reading)
    if not names:
        return None
    head = reading.headline
    shown = [head]
    if reading.of_answers:
        shown += [*reading.answer_groups[0], *([reading.found_headline] if reading.found_headline else [])]
    cols = (Col("category"), Col("n", "integer"), *(Col(arm.name, "estimate") for arm in reading.arms))
    grids = []
    for at in dict.fromkeys(shown):
        rows = [
            row([name, category_n(reading, name), *(arm.estimate(at.name, "categories", name) for arm in reading.arms)])
            for name in names
        ]
        grids.append(Grid(f"{at.label} by category", cols, tuple(rows), folded=at != head))
    text = f"{head.label}: {head.phrase}. Exploratory, with pointwise intervals."
    return Part("categories", "Categories", (text,), tuple(grids))


# -- proofs --------------------------------------------------------------------------------------------------------


_PROVES = {
    "oracle": "exactly the gold: the share of questions whose gold fits the budget",
    "empty": "nothing returned, nothing found: exactly 0",
    "random": "a random order of all units: inside the band of random draws",
    "shuffled-gold": "the gold of another question: near random, below every arm",
    "marker": "one planted document per cluster: every arm finds it",
}


def controls(reading: Reading) -> Part | None:
    """Every control at the headline metric with its band, whatever failed, and every check folded below."""
    found = mapping(reading.raw.get("controls"))
    if not found:
        return None
    head = reading.found_headline.name if reading.found_headline else ""
    first: list[Row] = []
    every: list[Row] = []
    for name, control in found.items():
        checks = [mapping(c) for c in sequence(mapping(control).get("checks"))]
        checks = checks or [{"passed": mapping(control).get("passed")}]
        rows = [_check(name, check) for check in checks]
        every += rows
        at_headline = [c.get("metric") == head for c in checks]
        stands_for_all = at_headline.index(True) if any(at_headline) else 0
        proves = _PROVES.get(name, str(rows[stands_for_all].cells[6]))
        shown = rows[stands_for_all]
        if shown.tone != "bad":
            shown = Row((*shown.cells[:6], proves))
        first += [shown, *(r for r in rows if r.tone == "bad" and r is not rows[stands_for_all])]
    failed = sum(r.tone == "bad" for r in every)
    passed_all = all(r.cells[5] == "passed" for r in every)
    text = "Control arms go through the same renderer, cut, tokenizer and grader as every arm. "
    if failed:
        text += f"{failed} of {len(every)} checks failed: the harness measured itself wrong, so it proves nothing here."
    else:
        text += f"All {len(every)} checks passed." if passed_all else "No check failed, but not all of them were run."
    cols = (
        Col("control"),
        Col("metric"),
        Col("observed", "share"),
        Col("expected", "share"),
        Col("band", "number"),
        Col("result"),
        Col("what it checks"),
    )
    at = "the headline metric" if head == reading.headline.name else metric(head).label
    grids = [Grid(f"Controls at {at}", cols, tuple(first))]
    if len(every) > len(first):
        grids.append(Grid(f"All {len(every)} checks", cols, tuple(every), folded=True))
    return Part("controls", "Controls", (text,), tuple(grids))


def _check(name: str, check: Mapping[str, Any]) -> Row:
    passed = check.get("passed")
    arm, detail = words(check.get("arm")), words(check.get("detail"))
    low, high = figures.finite(check.get("low")), figures.finite(check.get("high"))
    band = f"= {figures.share(low)}" if low is not None and low == high else figures.interval(low, high)
    return row(
        [
            name,
            metric(words(check.get("metric"))).label,
            figures.finite(check.get("value")),
            figures.finite(check.get("expected")),
            band or figures.DASH,
            "passed" if passed is True else "FAILED" if passed is False else "not run",
            detail if detail.startswith(arm) else f"{arm}: {detail}",
        ],
        "bad" if passed is False else "",
    )


def keys(reading: Reading) -> Part | None:
    """The same cells under each gold key, each key with its ceiling."""
    found_keys = dict.fromkeys(name for arm in reading.arms for name in arm.at("secondary", "keys"))
    ceilings = mapping(reading.raw.get("ceilings"))
    first = "original" if "original" in found_keys else next((c for c in ceilings if c not in found_keys), "original")
    others = [name for name in found_keys if name != first]
    if not others:
        return None
    grids: list[Grid] = []
    above: list[str] = []
    for metrics, title, folded in _tables(reading):
        # A judge with a model judges by the original key alone.
        kept = [m for m in metrics if reading.judge(m) is None]
        if not kept:
            continue
        rows: list[Row] = []
        for key in (first, *others):
            for arm in reading.arms:
                path = ("metrics",) if key == first else ("secondary", "keys", key, "metrics")
                n = arm.n if key == first else figures.finite(arm.at("secondary", "keys", key).get("n"))
                found = [arm.estimate(m.name, *path) for m in kept]
                rows.append(row([key, arm.name, n, *found]))
                above += [
                    f"{arm.name} is above the ceiling of {key} at {m.label}: the key or the cut is wrong."
                    for m, e in zip(kept, found, strict=True)
                    if _above(e, mapping(ceilings.get(key)).get(m.name))
                ]
            bounds = [_bare(mapping(ceilings.get(key)).get(m.name)) for m in kept]
            if any(b is not None for b in bounds):
                rows.append(row([key, "ceiling: gold that fits", "", *bounds], "reference"))
        cols = (Col("key"), Col("arm", "arm"), Col("n", "integer"), *columns(kept, reading.headline))
        grids.append(Grid(title, cols, tuple(rows), folded=folded))
    text = (
        "One set of dossiers, scored under each gold key. The ceiling is the share of questions whose gold fits the "
        "budget."
    )
    if reading.of_answers:
        text = f"One set of answers, scored under each gold key. {text}"
    return Part("keys", "Gold keys", (text,), tuple(grids), listed=tuple(above))


def _bare(value: object) -> Cell:
    number = figures.finite(value)
    return None if number is None else Estimate(value=number)


def _above(found: Estimate, ceiling: object) -> bool:
    bound = figures.finite(ceiling)
    return bound is not None and found.value is not None and found.value > bound + 1e-9


def sensitivity(reading: Reading) -> Part | None:
    """The score without the tasks that a reader may doubt."""
    names = dict.fromkeys(name for arm in reading.arms for name in arm.at("secondary", "sensitivity"))
    if not names:
        return None
    grids = []
    for metrics, title, folded in _tables(reading):
        rows: list[Row] = []
        for arm in reading.arms:
            rows.append(row(["all tasks", arm.name, arm.n, *(arm.estimate(m.name) for m in metrics)]))
            for name in names:
                path = ("secondary", "sensitivity", name)
                n = figures.finite(arm.at(*path).get("n"))
                rows.append(row([name, arm.name, n, *(arm.estimate(m.name, *path, "metrics") for m in metrics)]))
        rows.sort(key=lambda r: ["all tasks", *names].index(str(r.cells[0])))
        cols = (Col("tasks"), Col("arm", "arm"), Col("n", "integer"), *columns(metrics, reading.headline))
        grids.append(Grid(title, cols, tuple(rows), folded=folded))
    text = "The score without tasks whose data a reader may doubt."
    return Part("sensitivity", "Sensitivity", (text,), tuple(grids))


def cited(reading: Reading) -> Part | None:
    """Claimed sources, in a table of their own."""
    found = {arm.name: arm.at("cited") or {k: v for k, v in arm.at("metrics").items() if k.startswith("cited@")}
             for arm in reading.arms}  # fmt: skip
    names = dict.fromkeys(name for claims in found.values() for name in claims)
    if not names or not any(arm.has_dossier for arm in reading.arms):
        return None
    metrics = sorted((metric(name) for name in names), key=lambda m: m.at or 0)
    rows = [
        row([arm.name, arm.n, *(arm.explain(estimate(found[arm.name].get(m.name))) for m in metrics)])
        for arm in reading.arms
    ]
    cols = (Col("arm", "arm"), Col("n", "integer"), *(Col(m.short, "estimate", m.name) for m in metrics))
    text = (
        "What a memory claims as its sources, whether or not it shows their words. This is not recall and is never "
        "compared with it."
    )
    return Part("cited", "Cited sources", (text,), (Grid("cited@B: every gold item claimed", cols, tuple(rows)),))
