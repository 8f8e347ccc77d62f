"""The tables about pairs: gaps, families, fabrications, sensitivity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memassay.core.report import Column, Section, Table
from memassay.suites.canary.families import TITLES
from memassay.suites.canary.writing import BLANK, columns, estimate, false_alarms, named, number, p_value, points, shown

_KINDS: Mapping[str, str] = {
    "n_fabricated_source": "passages that name a document which does not exist",
    "n_fabricated_text": "passages given as verbatim, with words that the document does not have",
    "n_fabricated_supersession": "passages that end or replace something which nothing ended or replaced",
    "n_invented": "terms of derived passages that no document has",
}


def pairs(results: Mapping[str, Any]) -> Section:
    """Gaps, counts, conventions, posteriors and rules of every pair."""
    found = results["pairs"]
    gaps = tuple(
        (
            named(pair),
            *(estimate(pair[kind]["gap"]) for kind in ("weighted", "uniform", "difference")),
            p_value(pair["flip"]["p"]),
            p_value(pair["sign_p"]),
        )
        for pair in found
    )
    counts = tuple((named(pair), pair["wins"], pair["losses"], pair["ties"], _reasons(pair)) for pair in found)
    conventions = tuple((named(pair), *(_score(one) for one in pair["conventions"])) for pair in found)
    posterior = tuple(
        (
            named(pair),
            estimate(pair["weighted"]["jeffreys"]),
            estimate(pair["weighted"]["drawn"] or {"value": None, "reason": "the weights were not counted"}),
            "yes" if pair["weighted"]["outside"] else "no",
        )
        for pair in found
    )
    verdicts = tuple(
        (named(pair), *(pair["decisions"][rule]["verdict"] for rule in results["rules"])) for pair in found
    )
    estimates = tuple(Column(title=title, kind="estimate") for title in ("weighted gap", "uniform gap", "difference"))
    return Section(
        title="Pairs",
        text="Wins less losses of the first memory. The unit is the question; ties stay in the denominator of a gap. "
        "Only the pairs of the decision carry a verdict; the rest is exploratory.",
        tables=(
            Table(
                title="Gaps",
                columns=(
                    Column(title="pair"),
                    *estimates,
                    Column(title="p, weighted", hint="stratified sign flip, whole clusters"),
                    Column(title="p, uniform", hint="exact sign test, unadjusted"),
                ),
                rows=gaps,
            ),
            Table(
                title="Counts",
                columns=(*columns("pair", "wins", "losses", "ties", kind="integer"), Column(title="why ties")),
                rows=counts,
            ),
            Table(
                title="Weighted shares under each convention for ties",
                columns=columns("pair", *(one["convention"] for one in found[0]["conventions"])) if found else (),
                rows=conventions,
            ),
            Table(
                title="Posterior of the weighted gap",
                columns=(
                    Column(title="pair"),
                    Column(title="Jeffreys prior, median", kind="estimate"),
                    Column(title="weights drawn", kind="estimate"),
                    Column(title="gap outside of it", hint="then the prior pulls a lopsided result to the middle"),
                ),
                rows=posterior,
            ),
            *_strengths(results.get("strengths")),
            Table(
                title="Both rules",
                columns=columns("pair", *results["rules"]),
                rows=verdicts,
                note=" ".join(false_alarms(results, rule) for rule in results["rules"]).strip(),
            ),
        )
        if found
        else (),
    )


def families(results: Mapping[str, Any]) -> Section:
    """What each memory did in each family, and each pair."""
    shares = results["weights"]["shares"]
    memories = results["memories"]
    correct = tuple(
        (
            TITLES[family],
            count,
            f"{shares[family]:.0%}",
            *(f"{memory['families'][family].get('correct', 0)}" for memory in memories),
        )
        for family, count in results["questions"]["families"].items()
    )
    tables = [
        Table(
            title="Questions labelled correct",
            columns=(
                Column(title="family"),
                Column(title="questions", kind="integer"),
                *columns("weight", *(memory["memory"] for memory in memories)),
            ),
            rows=correct,
            note="On a false premise an abstention is right and no question can be correct.",
        )
    ]
    for pair in shown(results):
        rows = tuple(
            (TITLES[one["family"]], one["wins"], one["losses"], one["ties"], estimate(one["gap"]))
            for one in pair["families"]
        )
        titles = (*columns("family", "wins", "losses", "ties", kind="integer"), Column(title="gap", kind="estimate"))
        tables.append(Table(title=named(pair), columns=titles, rows=rows))
    return Section(
        title="By family",
        text="A family of eight questions shows large effects only; no family has a verdict of its own.",
        tables=tuple(tables),
    )


def fabrication(results: Mapping[str, Any]) -> Section:
    """How often each memory made something up."""
    rows, kinds = [], []
    for memory in results["memories"]:
        found = memory["fabrication"]
        kinds.append((memory["memory"], *(memory["fabricated_passages"][kind] for kind in _KINDS)))
        if found:
            weighted, upper = f"{found['weighted']:.1%}", f"{found['highest']:.1%}"
            rows.append(
                (memory["memory"], found["count"], estimate(found["rate"]), weighted, found["undetermined"], upper)
            )
    against = tuple(
        (
            named(pair),
            one["only_a"],
            one["only_b"],
            p_value(one["p"]),
            BLANK if one["ratio"] is None else f"{one['ratio']:.1f}",
        )
        for pair in results["pairs"]
        for one in [pair["fabrication"]]
    )
    return Section(
        title="Fabrication",
        text="Counted by distinct questions. A passage that no rule can decide counts in the last column only.",
        tables=(
            Table(
                title="Questions with a fabrication",
                columns=(
                    Column(title="memory"),
                    Column(title="questions", kind="integer"),
                    Column(title="share", kind="estimate"),
                    Column(title="weighted share"),
                    Column(title="undetermined", kind="integer"),
                    Column(title="highest", hint="upper end if all of the undetermined were fabricated"),
                ),
                rows=tuple(rows),
            ),
            Table(
                title="Kinds, counted in passages at the largest budget",
                columns=columns("memory", *_KINDS.values(), kind="integer"),
                rows=tuple(kinds),
            ),
            Table(
                title="Pairs",
                columns=(
                    *columns("pair", "only the first", "only the second", kind="integer"),
                    Column(title="exact p", hint="McNemar"),
                    Column(title="ratio"),
                ),
                rows=against,
                note="A ratio is printed only from five questions on, and with an exact p below .05.",
            ),
        ),
    )


def sensitivity(results: Mapping[str, Any]) -> Section:
    """What the gaps hang on."""
    return sensitivity_of(shown(results), results["questions"]["families"], "Sensitivity")


def sensitivity_of(found: Sequence[Mapping[str, Any]], asked: Iterable[str], title: str) -> Section:
    """What the gaps of some pairs hang on.

    Args:
        found: the pairs, each with its ``sensitivity``.
        asked: the families, in order.
        title: of the section.
    """
    general = tuple(
        (
            named(pair),
            _share(pair["sensitivity"]["weightings"], "anywhere"),
            _share(pair["sensitivity"]["weightings"], "counted"),
            _dropped(pair["sensitivity"]["one_question"]),
            points(pair["sensitivity"]["one_question"]["turned"]),
            estimate(
                (pair["sensitivity"]["equal_length"] or {}).get("gap") or {"value": None, "reason": "not counted"}
            ),
        )
        for pair in found
    )
    without = tuple((TITLES[family], *(_without(pair, family) for pair in found)) for family in asked)
    return Section(
        title=title,
        text="How far the weighted gap hangs on weights, on one family, on one question and on length.",
        tables=(
            Table(
                title="Weights, single questions, length",
                columns=(
                    *columns(
                        "pair",
                        "other sign, any weights",
                        "other sign, counted weights",
                        "largest shift by dropping a question",
                        "one heavy question turned",
                    ),
                    Column(title="gap at equal length", kind="estimate"),
                ),
                rows=general,
            ),
            Table(
                title="Weighted gap without a family, in points",
                columns=columns("left out", *(named(pair) for pair in found)),
                rows=without,
            ),
        )
        if found
        else (),
    )


def _score(one: Mapping[str, Any]) -> str:
    return BLANK if one["a"] is None else f"{one['a']:.1%} to {one['b']:.1%} ({one['questions']})"


def _dropped(one: Mapping[str, Any]) -> str:
    return f"{points(one['shift'])} ({one['question']})"


def _share(found: Mapping[str, Any] | None, name: str) -> str:
    return BLANK if found is None or found[name] is None else f"{found[name]:.1%}"


def _strengths(found: Mapping[str, Any] | None) -> tuple[Table, ...]:
    """The strongest first, of three memories or more: the gap of two says it all."""
    if found is None:
        return ()
    strengths = found["strengths"] or [None] * len(found["names"])
    ranked = sorted(zip(strengths, found["names"], strict=True), key=lambda one: (-(one[0] or 0.0), one[1]))
    circles = ["Three memories beat each other in a circle: " + ", ".join(circle) + "." for circle in found["cycles"]]
    told = " ".join(circles or ["No three memories beat each other in a circle."])
    undefined = f" None is defined: {found['reason']}." if found["reason"] else ""
    return (
        Table(
            title="Strengths",
            columns=(Column(title="memory"), Column(title="strength", hint="a natural logarithm, mean 0")),
            rows=tuple((name, number(strength, 2)) for strength, name in ranked),
            note="Bradley-Terry with ties (Davidson) over all pairs, every question alike; it describes and decides "
            f"nothing. {told}{undefined}",
        ),
    )


def _reasons(pair: Mapping[str, Any]) -> str:
    return ", ".join(f"{reason.replace('_', ' ')} {count}" for reason, count in pair["tie_reasons"].items())


def _without(pair: Mapping[str, Any], family: str) -> str:
    return next((points(one["gap"]) for one in pair["sensitivity"]["without_family"] if one["family"] == family), BLANK)
