"""What a report says, in order, before anyone decides how it looks. Markdown and HTML draw the same parts."""

from __future__ import annotations

from collections.abc import Sequence

from memassay.core.report import Section
from memassay.reporting import figures
from memassay.reporting.answers import answered_only, answers, cost, repetitions, statuses, without_dossier
from memassay.reporting.grid import Col, Grid, Row, from_table, row
from memassay.reporting.identity import failures, identity, usage
from memassay.reporting.judges import judges
from memassay.reporting.metric import Metric
from memassay.reporting.part import UNEQUAL, Part, columns, family_title, level
from memassay.reporting.reading import Comparison, Reading
from memassay.reporting.slices import categories, cited, controls, keys, sensitivity, splits
from memassay.reporting.values import mapping, sequence, words

FEW_ROWS = 12
"""Comparisons of answers up to which every metric is shown at once, not the headline's alone."""
OPEN_ROWS = 28
"""Comparisons shown at once (all pairs of eight arms); a table of every comparison is folded below."""


def parts(reading: Reading, sections: Sequence[Section]) -> list[Part]:
    """Every part that has something to say, in the order of the page: answers first where there are any."""
    answered = bool(reading.of_answers)
    recall = arms(reading)
    made = [
        answers(reading) if answered else recall,
        comparisons(reading),
        *((usage_part(reading), failures_part(reading)) if answered else ()),
        repetitions(reading),
        judges(reading),
        recall if answered else None,
        splits(reading),
        categories(reading),
        controls(reading),
        keys(reading),
        sensitivity(reading),
        cited(reading),
        *((failures_part(reading), usage_part(reading)) if not answered else ()),
        *(suite_section(section, number) for number, section in enumerate(sections, start=1)),
        notes(reading),
        identity_part(reading),
    ]
    return [part for part in made if part is not None]


# -- arms ----------------------------------------------------------------------------------------------------------


def arms(reading: Reading) -> Part | None:
    """Arms x budgets: the family that stands for recall with its references, the other families, then fixed k."""
    main = [m for m in reading.recall if m.family != "cited"]
    grids = [_arms_grid(reading, main, family_title(main), references=True)] if main else []
    families = [name for name in reading.families if name != "cited"]
    for equal in map(reading.family, families):
        if equal and equal != tuple(main):
            grids.append(_arms_grid(reading, equal, family_title(equal), references=True))
    for fixed in (reading.family(name, passages=True) for name in families):
        if fixed and fixed != tuple(main):
            grids.append(_arms_grid(reading, fixed, f"{family_title(fixed)}, at unequal context", folded=True))
    shown = {*main, *reading.of_answers}
    loose = [m for m in reading.metrics if m.at is None and m not in shown]
    if loose:
        grids.append(_arms_grid(reading, loose, "Other metrics"))
    if reading.of_answers and not grids:
        return None
    unmeasured = [f"{arm.name} could not be measured: {arm.reason}" for arm in reading.arms if arm.reason]
    text = "Every arm is cut at the same number of context tokens by the harness, not by the memory. "
    title = "Recall at equal budgets" if reading.of_answers else "Arms at equal budgets"
    said = tuple(filter(None, [*unmeasured, without_dossier(reading)]))
    return Part("arms", title, (text + level(reading, main),), tuple(grids), listed=said)


def _arms_grid(
    reading: Reading, metrics: Sequence[Metric], title: str, references: bool = False, folded: bool = False
) -> Grid:
    rows = [row([arm.name, arm.n, *(arm.estimate(m.name) for m in metrics)]) for arm in reading.arms]
    if references:
        rows += _references(reading, metrics, blanks=1)
    return Grid(
        title, (Col("arm", "arm"), Col("n", "integer"), *columns(metrics, reading.headline)), tuple(rows), "", folded
    )


def _references(reading: Reading, metrics: Sequence[Metric], blanks: int) -> list[Row]:
    made = []
    for name, label in (("ceiling", "ceiling: gold that fits"), ("chance", "chance")):
        found = [reading.reference(name, m.name) for m in metrics]
        if any(found):
            made.append(row([label, *([""] * blanks), *found], "reference"))
    return made


# -- comparisons ---------------------------------------------------------------------------------------------------


def comparisons(reading: Reading) -> Part | None:
    """Paired differences: the primary and the headline metric first, the rest folded away."""
    if not reading.comparisons:
        return None
    first = shown_comparisons(reading)
    grids = [_comparison_grid(reading, "Primary and headline metric", first)] if first else []
    alike, others = _by_sort(reading)
    if len(first) < len(alike):
        grids.append(_comparison_grid(reading, f"All {len(alike)} comparisons", alike, folded=True))
    if others:
        other = "Judged by a script" if not reading.scripted(reading.headline) else "Not judged by a script"
        grids.append(_comparison_grid(reading, f"{other}: {len(others)} comparisons", others, folded=True))
    text = (
        "Differences are taken question by question on the same tasks. Only the primary comparison, named before the "
        "run, carries a verdict; every other line is exploratory."
    )
    if reading.tests:
        text += f" The test: {'; '.join(reading.tests)}."
    return Part("comparisons", "Paired comparisons", (text,), tuple(grids), listed=_primary_in_words(reading))


def _by_sort(reading: Reading) -> tuple[list[Comparison], list[Comparison]]:
    """The comparisons at metrics that may share a table with the headline's, and the others."""
    scripted = reading.scripted(reading.headline)
    alike = [c for c in reading.comparisons if reading.scripted(c.metric) == scripted]
    return alike, [c for c in reading.comparisons if reading.scripted(c.metric) != scripted]


def _primary_in_words(reading: Reading) -> tuple[str, ...]:
    """The verdict with its reason, in one sentence, if there is a verdict to explain."""
    c = reading.primary
    if c is None or reading.no_verdict or not c.reason:
        return ()
    return (f"Primary, {c.a} − {c.b} at {c.metric.label} on {c.split}: {c.verdict}, because {c.reason.rstrip('.')}.",)


def shown_comparisons(reading: Reading) -> tuple[Comparison, ...]:
    """The primary and every pair at the headline metric, on the primary's split, at most OPEN_ROWS.

    Where nothing is at the headline metric, whatever there is; of answers the other metrics too, where they are few.
    """
    split = reading.primary.split if reading.primary else "all"
    alike, _ = _by_sort(reading)
    of_answers = [c for m in reading.main for c in alike if c.metric == m and c.split == split]
    at_headline = [c for c in alike if c.metric.name == reading.headline.name]
    chosen = [c for c in at_headline if c.split == split] or at_headline or alike
    if reading.headline in reading.of_answers and len(of_answers) <= FEW_ROWS:
        chosen = of_answers or chosen
    first = [c for c in alike if c.primary]
    return tuple([*first, *(c for c in chosen if not c.primary)][:OPEN_ROWS])


def verdict_words(comparison: Comparison, reading: Reading) -> str:
    """The verdict, if this comparison may have one."""
    if reading.no_verdict or not comparison.primary:
        return "exploratory" if comparison.diff.value is not None else "not measured"
    return comparison.verdict


def _comparison_grid(reading: Reading, title: str, found: Sequence[Comparison], folded: bool = False) -> Grid:
    cols = (
        Col("a − b"),
        Col("metric"),
        Col("split"),
        Col("difference", "difference"),
        Col("mean over clusters", "difference", "every cluster with one weight"),
        Col("p", "number", f"{'; '.join(reading.tests) or 'of the paired difference'}, unadjusted"),
        Col("p adj.", "number", "max-T over the family"),
        Col("wins / ties / losses", "number"),
        Col("verdict"),
    )
    unequal = [c.raw.get("equal_budget") is False for c in found]
    note = (
        f"{UNEQUAL[0].upper()}{UNEQUAL[1:]} in every line of this table; see How to read this." if all(unequal) else ""
    )
    rows = []
    for c, differs in zip(found, unequal, strict=True):
        verdict = verdict_words(c, reading)
        if differs and not note:
            verdict += f", {UNEQUAL}"
        counts = [c.raw.get(key) for key in ("wins", "ties", "losses")]
        score = " / ".join(figures.integer(x) for x in counts) if any(x is not None for x in counts) else figures.DASH
        rows.append(
            row(
                [
                    f"{c.a} − {c.b}",
                    c.metric.label,
                    c.split,
                    c.diff,
                    figures.finite(c.raw.get("mean_over_clusters")),
                    figures.p_value(c.raw.get("p")),
                    figures.p_value(c.raw.get("p_adjusted")),
                    score,
                    f"primary: {verdict}" if c.primary else verdict,
                ],
                "primary" if c.primary else "",
            )
        )
    return Grid(title, cols, tuple(rows), note, folded)


# -- the rest ------------------------------------------------------------------------------------------------------


def failures_part(reading: Reading) -> Part | None:
    grid = failures(reading)
    text = (
        "A memory that times out, crashes or builds an empty store counts as wrong in the primary number; unfinished "
        "provider failures leave the task out for all arms; a harness failure makes the run unpublishable."
    )
    if reading.of_answers:
        text += " A limit of time, turns or money is a failure of the memory; a refusal is an answer."
    cells = mapping(reading.raw.get("cells"))
    said = {"attempts": "retried", "duplicates": "recorded twice"}
    known = {said.get(k, words(k)): v for k, v in cells.items() if figures.finite(v) is not None}
    counts = ", ".join(f"{figures.integer(v)} {k}" for k, v in known.items())
    texts = (text, f"Cells: {counts}.") if counts else (text,)
    grids = tuple(found for found in (grid, statuses(reading), answered_only(reading)) if found)
    return Part("failures", "Failures and the other treatment", texts, grids) if grid else None


def usage_part(reading: Reading) -> Part | None:
    """What answers cost, by kind of token and in money, and what building and finding did."""
    grids = [*cost(reading), *filter(None, [usage(reading)])]
    text = "Times are of this machine and differ between equal runs; they carry no verdict."
    return Part("cost", "Cost and latency", (text,), tuple(grids)) if grids else None


def suite_section(section: Section, number: int) -> Part:
    """What the suite adds."""
    text = (section.text,) if section.text else ()
    return Part(f"suite-{number}", section.title, text, tuple(map(from_table, section.tables)), section.charts)


def notes(reading: Reading) -> Part | None:
    found = tuple(words(note) for note in sequence(reading.raw.get("notes")) if words(note))
    return Part("notes", "Notes", listed=found) if found else None


def identity_part(reading: Reading) -> Part:
    text = "Whatever can change a number is part of the run's identity; a re-entry with a difference is refused."
    return Part("identity", "Identity of the run", (text,), identity(reading))
