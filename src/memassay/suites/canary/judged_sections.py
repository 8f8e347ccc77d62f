"""What judges of pairs add to a report, from the mapping of ``judged.as_mapping`` alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memassay.core.report import Column, Section, Table
from memassay.suites.canary import judge_tables, pair_tables
from memassay.suites.canary.families import FAMILIES, TITLES
from memassay.suites.canary.writing import BLANK, SHOWN, columns, estimate, named, p_value


def sections(results: Mapping[str, Any] | None) -> list[Section]:
    """Every section about judges; none where no judge of pairs was asked.

    Args:
        results: what ``judged.as_mapping`` gave, as JSON values.
    """
    if not results:
        return []
    return [
        _judges(results),
        _pairs(results),
        *_sensitivity(results),
        judge_tables.agreement(results),
        judge_tables.labels(results),
    ]


def rested(results: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The pairs that the choice of a run was made from: as judged where real models judged, else by labels.

    Args:
        results: of the whole run, with what ``judged.as_mapping`` gave as ``judged``.
    """
    found = results.get("judged")
    if not found or not found["real"]:
        return list(results["pairs"])
    return [pair["result"] for pair in found["pairs"] if pair["result"]]


# -- who is used ---------------------------------------------------------------------------------------------------


def _judges(results: Mapping[str, Any]) -> Section:
    used = ", ".join(results["used"]) or "nobody"
    text = [
        "Judges saw two dossiers at a time, in both orders, and no memory's name.",
        f"Counted: {used}." if results["real"] else f"Stand-ins for a model, counted in these tables alone: {used}.",
        "The decision rests on them."
        if results["rests"]
        else f"The decision does not rest on them: {results['reason']}.",
        "Before, each judged texts of which it is known how they differ; who fails that is not counted.",
    ]
    probes = tuple(
        (
            judge["judge"],
            probe["name"],
            probe["questions"],
            probe["missing"],
            probe["a"],
            probe["b"],
            probe["ties"],
            BLANK if probe["raw_ties"] is None else f"{probe['raw_ties']:.0%}",
            probe["asks"],
            "yes" if probe["passed"] else f"no: {probe['reason']}",
        )
        for judge in results["judges"]
        for probe in judge["probes"]
    )
    counts = columns("", "", "questions", "unanswered", "right text", "changed text", "ties", kind="integer")[2:]
    return Section(
        title="Judges",
        text=" ".join(text),
        tables=(
            Table(
                title="Who judged",
                columns=columns("judge", "family", "model", "counted", "why not"),
                rows=tuple(
                    (
                        judge["judge"],
                        judge["family"],
                        judge["model"],
                        _counted(judge),
                        judge["reason"] or BLANK,
                    )
                    for judge in results["judges"]
                ),
            ),
            Table(
                title="Controls of the judges",
                columns=(
                    *columns("judge", "control"),
                    *counts,
                    Column(title="single answers that tie"),
                    *columns("asks for", "passed"),
                ),
                rows=probes,
                note="Wins and ties are of both orders together. same: a dossier against itself; shuffled: against its "
                "passages in another order; random: the facts against those of another question; truncated: against "
                "half of them; padded: against the same with others behind.",
            ),
        ),
    )


def _counted(judge: Mapping[str, Any]) -> str:
    if not judge["used"]:
        return "no"
    return "yes" if judge["model"] == "real" else "stand-in"


# -- what they said ------------------------------------------------------------------------------------------------


def _pairs(results: Mapping[str, Any]) -> Section:
    compared = [pair["result"] for pair in results["pairs"] if pair["result"]]
    drawn = pair_tables.pairs({"pairs": compared, "rules": results["rules"], "false_alarms": None})
    alone = tuple(
        (
            named(pair),
            one["judge"],
            one["wins"],
            one["losses"],
            one["ties"],
            one["dropped"],
            estimate(one["weighted"]) if one["weighted"] else None,
            p_value(one["flip_p"]),
            _reasons(one["tie_reasons"]),
        )
        for pair in results["pairs"]
        for one in pair["judges"]
    )
    missing = [f"{named(pair)}: {pair['reason']}." for pair in results["pairs"] if pair["reason"]]
    dropped = [f"{named(pair)} {pair['dropped']}" for pair in results["pairs"] if pair["dropped"]]
    text = [
        "Wins less losses of the first memory, as the counted judges saw them: a judge prefers a memory if it does in "
        "both orders, and a question is won where all judges prefer the same. That makes many ties, which are no sign "
        "of equality. Fabrications are those found by rule.",
        *missing,
    ]
    if dropped:
        text.append(f"Questions without every answer, out of {results['questions']}: {', '.join(dropped)}.")
    return Section(
        title="Pairs as judged",
        text=" ".join(text),
        tables=(
            *(_open(table, results["reason"]) for table in drawn.tables),
            *(_families(pair) for pair in compared[:SHOWN]),
            Table(
                title="Each judge alone",
                columns=(
                    *columns("pair", "judge"),
                    *columns("", "wins", "losses", "ties", "dropped", kind="integer")[1:],
                    Column(title="weighted gap", kind="estimate"),
                    Column(title="p, weighted"),
                    Column(title="why ties"),
                ),
                rows=alone,
            ),
        ),
    )


def _sensitivity(results: Mapping[str, Any]) -> list[Section]:
    """What the judged gaps hang on; nothing where no pair has one."""
    compared = [pair["result"] for pair in results["pairs"] if pair["result"]][:SHOWN]
    asked = {one["family"] for pair in compared for one in pair["families"]}
    families = [family for family in FAMILIES if family in asked]
    return [pair_tables.sensitivity_of(compared, families, "Sensitivity as judged")] if compared else []


def _open(table: Table, reason: str | None) -> Table:
    """What the rules say of pairs decides nothing where the judges may not."""
    if table.title != "Both rules" or not reason:
        return table
    return table.model_copy(update={"note": f"What the rules would say; nothing is decided, since {reason}."})


def _families(pair: Mapping[str, Any]) -> Table:
    rows = tuple(
        (TITLES[one["family"]], one["wins"], one["losses"], one["ties"], estimate(one["gap"]))
        for one in pair["families"]
    )
    titles = (*columns("family", "wins", "losses", "ties", kind="integer"), Column(title="gap", kind="estimate"))
    return Table(title=f"By family: {named(pair)}", columns=titles, rows=rows)


def _reasons(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{reason.replace('_', ' ')} {count}" for reason, count in counted.items())
