"""What the suite adds to a report, from the mapping of ``conclude`` alone. Positive gaps favour the first memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memassay.core.report import Column, Section, Table
from memassay.suites.canary import judged_sections, pair_tables, published
from memassay.suites.canary.costs import BUILDING
from memassay.suites.canary.explaining import explained
from memassay.suites.canary.standings import LABELS
from memassay.suites.canary.writing import Cell, columns, estimate, false_alarms, number, p_value, size


def sections(results: Mapping[str, Any], sample: bool = False) -> list[Section]:
    """Every section; none for a mapping that is not of ``conclude``.

    Args:
        results: what ``conclude`` gave.
        sample: the documents are generated, so that no choice follows from the numbers.
    """
    if not results.get("memories"):
        return []
    return [
        _decision(results, sample),
        _labels(results),
        *judged_sections.sections(results.get("judged")),
        pair_tables.pairs(results),
        pair_tables.families(results),
        pair_tables.fabrication(results),
        pair_tables.sensitivity(results),
        published.section(),
        explained(results, sample),
    ]


# -- decision ------------------------------------------------------------------------------------------------------


def _decision(results: Mapping[str, Any], sample: bool) -> Section:
    choice, asked = results["choice"], results["questions"]
    text = [
        f"At {size(results)}, on {asked['compared']} questions in {len(asked['families'])} families, "
        f"weights {results['weights']['name']}, rule {results['rule']}.",
        f"{_word(choice['verdict'])}: {choice['reason']}",
    ]
    if choice["verdict"] == "no decision":
        text.append("No decision is not a tie.")
    text.append(false_alarms(results, results["rule"]))
    if results.get("native"):
        text.append("Every memory gives as many passages as it does unasked, so a longer text may win by its length: "
                    "this stands second to equal budgets.")  # fmt: skip
    if choice["best"]:
        best = choice["best"]["members"]
        if choice["best"]["cycle"]:
            text.append("Every memory is beaten by another one, so there is no best; all stay in the set.")
        elif len(best) == len(results["memories"]):
            text.append("No memory is shown to be worse than another one.")
        else:
            text.append(f"Not shown to be worse than another memory: {', '.join(best)}.")
        text.append(f"Of those the rule for costs takes {choice['cheapest']}: {choice['cost_rule']}.")
    else:
        text.append(f"There is no set of the best: {choice['best_reason']}.")
    if sample:
        text.append("The documents are generated: the numbers show that everything works, and which memory serves "
                    "yours they do not say.")  # fmt: skip
    alarms = results["false_alarms"]
    tables = [
        Table(
            title="Against the incumbent",
            columns=columns("memory", "verdict", "rule alone", "adjusted p", "why"),
            rows=tuple(
                (
                    one["challenger"],
                    one["verdict"],
                    one["rule_said"],
                    p_value(one["adjusted_p"]),
                    "; ".join(one["reasons"]),
                )
                for one in choice["challenges"]
            ),
            note="Max-T over the challengers; with one challenger nothing is adjusted.",
        ),
        *(
            Table(
                title=f"Conditions for {one['challenger']}",
                columns=columns("condition", "asks for", "speaks", "numbers"),
                rows=tuple((leg["leg"], leg["asks"], leg["outcome"], leg["reason"]) for leg in one["legs"]),
            )
            for one in choice["challenges"]
        ),
        Table(
            title="Cost",
            columns=columns("memory", "US dollars per 1,000 queries", "95th percentile, s"),
            rows=tuple(_cost_row(memory["cost"]) for memory in results["memories"]),
            note=f"{_why_blank(results)} {BUILDING}".strip(),
        ),
    ]
    if alarms:
        rows = [(rule, *(f"{one['share']:.0%}" for one in shares)) for rule, shares in sorted(alarms["rules"].items())]
        rates = [f"both invent on {one['rate']:.0%}" for one in alarms["rules"][results["rule"]]]
        tables.append(
            Table(
                title="How often each rule speaks of two equal memories",
                columns=columns("rule", *rates),
                rows=tuple(rows),
                note=f"{alarms['runs']} simulated experiments of these questions at {alarms['tie_rate']:.0%} ties.",
            )
        )
    return Section(
        title="Decision", text=" ".join(filter(None, text)), tables=tuple(table for table in tables if table.rows)
    )


def _word(verdict: str | None) -> str:
    return {"adopt": "Adopt", "keep": "Keep", "no decision": "No decision"}.get(verdict or "", "No verdict")


def _cost_row(cost: Mapping[str, Any]) -> tuple[Cell, ...]:
    wall = None if cost["wall_ms"] is None else cost["wall_ms"] / 1000
    return cost["memory"], number(cost["usd_per_1000"], 2), number(wall, 2)


def _why_blank(results: Mapping[str, Any]) -> str:
    reasons = dict.fromkeys(memory["cost"]["reason"] for memory in results["memories"])
    return " ".join(f"{reason[0].upper()}{reason[1:]}." for reason in reasons if reason)


# -- memories ------------------------------------------------------------------------------------------------------


def _labels(results: Mapping[str, Any]) -> Section:
    memories, asked = results["memories"], results["questions"]
    used = [label for label in LABELS if any(memory["labels"].get(label) for memory in memories)]
    rows = tuple((memory["memory"], *(memory["labels"].get(label, 0) for label in used)) for memory in memories)
    more = tuple(
        (
            memory["memory"],
            estimate(memory["coverage"]),
            number(memory["outcome"]["weighted"]),
            memory["stale"],
            number(memory["tokens"], 0),
        )
        for memory in memories
    )
    text = ["One label per question and memory, given by rule: no model was asked."]
    if asked["left_out"]:
        text.append(f"{len(asked['left_out'])} questions are left out, since not every memory finished them.")
    if asked["without_gold"]:
        text.append(
            f"{asked['without_gold']} questions do not say what an answer must hold. Their labels are mostly "
            "undetermined and make ties: write the facts into required, or an answer with its document, or ask judges."
        )
    return Section(
        title="Labels",
        text=" ".join(text),
        tables=(
            Table(title="Questions with each label", columns=columns("memory", *used, kind="integer"), rows=rows),
            Table(
                title="Beside the labels",
                columns=(
                    Column(title="memory"),
                    Column(title="required facts there", kind="estimate"),
                    Column(title="weighted outcome", hint="correct 1, partial .5, fabrication -1"),
                    Column(title="with a stale or forbidden fact", kind="integer", hint="at the largest budget"),
                    Column(title="tokens given"),
                ),
                rows=more,
            ),
        ),
    )
