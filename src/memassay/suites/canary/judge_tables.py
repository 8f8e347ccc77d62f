"""The tables that say how far judges of pairs can be trusted, from the mapping of ``judged.as_mapping`` alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memassay.core.report import Column, Section, Table
from memassay.core.types import Estimate
from memassay.suites.canary.writing import BLANK, SHOWN, Cell, columns, estimate, named, p_value

_WINNERS = ("first memory", "second memory", "tie")


def agreement(results: Mapping[str, Any]) -> Section:
    """How far judges keep to their word, and agree with each other."""
    between = [(pair, one, one["agreement"]) for pair in results["pairs"] for one in pair["agreement"]]
    places = tuple(
        (
            named(pair),
            one["judge"],
            estimate(one["positions"]["consistency"]),
            one["positions"]["first_twice"],
            one["positions"]["second_twice"],
            one["positions"]["half"],
            estimate(one["positions"]["first_share"]),
            p_value(one["positions"]["p"]),
        )
        for pair in results["pairs"]
        for one in pair["judges"]
    )
    stable = tuple(
        (judge["judge"], estimate(judge["stability"]), estimate(judge["labels"]["changed"]))
        for judge in results["judges"]
    )
    figures: tuple[tuple[Cell, ...], ...] = tuple(
        (named(pair), f"{one['first']} and {one['second']}", *_figures(found)) for pair, one, found in between
    )
    return Section(
        title="Agreement of judges",
        text="The unit is the question: two orders and several judges are readings of one and the same. Dossiers that "
        "are equal were not shown to anybody and are not in these tables.",
        tables=tuple(
            table
            for table in (
                Table(
                    title="Place",
                    columns=(
                        *columns("pair", "judge"),
                        Column(title="same in both orders", kind="estimate"),
                        *columns("", "twice the first", "twice the second", "a tie in one order", kind="integer")[1:],
                        Column(title="first place among flips", kind="estimate"),
                        Column(title="p", hint="exact, flips against one half"),
                    ),
                    rows=places,
                ),
                Table(
                    title="Repetition, and labels in the other order",
                    columns=(
                        Column(title="judge"),
                        Column(title="same place when asked again", kind="estimate"),
                        Column(title="another label in the other order", kind="estimate"),
                    ),
                    rows=stable,
                    note="A label is of one dossier, so it cannot depend on the order: what changes is noise.",
                ),
                _agreed("Between judges", columns("pair", "judges"), figures),
                *(
                    Table(
                        title=f"{named(pair)}: {one['first']} (rows) and {one['second']} (columns)",
                        columns=columns("", *_WINNERS, kind="integer"),
                        rows=tuple((winner, *row) for winner, row in zip(_WINNERS, found["table"], strict=True)),
                    )
                    for pair, one, found in between[:SHOWN]
                ),
            )
            if table.rows
        ),
    )


def labels(results: Mapping[str, Any]) -> Section:
    """The labels of each judge beside those by rule."""
    tables = [table for judge in results["judges"] for table in _of_judge(judge)]
    agreed: tuple[tuple[Cell, ...], ...] = tuple(
        (judge["judge"], *_figures(judge["labels"]["agreement"])) for judge in results["judges"] if tables
    )
    return Section(
        title="Labels of judges",
        text="The labels of judges beside those given by rule, which alone decide what is fabricated: a judge sees no "
        "documents. A dossier counts once for every pair in which it was seen, if it got one label in both orders."
        if tables
        else "No judge gave a label.",
        tables=(_agreed("The five labels, by a judge and by rule", columns("judge"), agreed), *tables)
        if tables
        else (),
    )


def _of_judge(judge: Mapping[str, Any]) -> Iterator[Table]:
    found = judge["labels"]
    shown = [at for at, _ in enumerate(found["columns"]) if any(row[at] for row in found["table"])]
    if not shown:
        return
    yield Table(
        title=f"{judge['judge']} (rows) and the rule (columns)",
        columns=columns("", *(found["columns"][at] for at in shown), kind="integer"),
        rows=tuple(
            (label, *(row[at] for at in shown)) for label, row in zip(found["rows"], found["table"], strict=True)
        ),
    )
    yield Table(
        title=f"{judge['judge']} and the rule, label by label",
        columns=(
            *columns("label", "by the judge", "by rule", "by both", kind="integer"),
            Column(title="agreement", hint="2 x both / (judge + rule)"),
        ),
        rows=tuple(
            (
                one["label"],
                one["first"],
                one["second"],
                one["both"],
                BLANK if one["share"] is None else f"{one['share']:.0%}",
            )
            for one in found["agreement"]["per_label"]
        ),
    )


def _figures(found: Mapping[str, Any]) -> tuple[Estimate, ...]:
    return tuple(estimate(found[name]) for name in ("raw", "kappa", "ac1"))


def _agreed(title: str, names: tuple[Column, ...], rows: tuple[tuple[Cell, ...], ...]) -> Table:
    measures = (
        Column(title="equal", kind="estimate"),
        Column(title="kappa", kind="estimate", hint="low where one answer is rare"),
        Column(title="AC1", kind="estimate"),
    )
    return Table(title=title, columns=(*names, *measures), rows=rows)
