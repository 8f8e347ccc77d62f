"""How to read a run: what it claims, what each claim rests on, and what would show it to be wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memassay.core.report import Column, Section, Table
from memassay.suites.canary.families import TITLES
from memassay.suites.canary.judged_sections import rested
from memassay.suites.canary.writing import points, size

Claim = tuple[str, str, str]
"""What is claimed, what it is (measured, not shown, scope), and what would falsify it."""

_SHOWN = 0.0005  # less is printed as 0.0 points
MEASURED, OPEN, SCOPE = "measured", "not shown", "scope"


def explained(results: Mapping[str, Any], sample: bool = False) -> Section:
    """The section "How to read it", every sentence made from the mapping of ``conclude``."""
    return Section(
        title="How to read it",
        text="A gap is the share of questions won less the share lost, by the weights of the families. A label says "
        "what stands in the retrieved text, and nothing about what an agent would make of it.",
        tables=(
            Table(
                title="Claims",
                columns=(Column(title="claim"), Column(title="is"), Column(title="would be falsified by")),
                rows=tuple(claims(results, sample)),
            ),
        ),
    )


def claims(results: Mapping[str, Any], sample: bool = False) -> Iterator[Claim]:
    """Every claim of a run."""
    choice = results["choice"]
    for pair in rested(results):
        if pair["b"] == choice["incumbent"]:
            yield from _of_pair(pair, results)
    yield from _of_set(results)
    for memory in results["memories"]:
        yield from _of_memory(memory, results)
    yield from _scope(results, sample)


def _of_pair(pair: Mapping[str, Any], results: Mapping[str, Any]) -> Iterator[Claim]:
    a, b, gap = pair["a"], pair["b"], pair["weighted"]["gap"]
    verdict = next(one for one in results["choice"]["challenges"] if one["challenger"] == a)
    margin = results["thresholds"]["margin"]
    numbers = f"the gap is {points(gap['value'])} points{_interval(gap)} at {size(results)}"
    again = f"new questions on which the interval reaches 0, or the gap falls under {100 * margin:.3g} points"
    if verdict["verdict"] == "adopt":
        yield f"{a} beats {b}: {numbers}.", MEASURED, f"{again}."
    elif verdict["verdict"] == "reject":
        why = "; ".join(verdict["reasons"])
        yield f"{a} does not replace {b}: {why}.", MEASURED, "new questions on which these conditions do not hold."
    else:
        yield (
            f"Whether {a} or {b} is better stays open; {numbers}.",
            OPEN,
            "nothing: it is no claim that they are equal. That would need an interval inside a margin set beforehand.",
        )
    difference = pair["difference"]["gap"]
    if difference["low"] is not None and not difference["low"] <= 0 <= difference["high"]:
        yield (
            f"The weights matter for {a} and {b}: they move the gap by {points(difference['value'])} points"
            f"{_interval(difference)}.",
            MEASURED,
            "a log of queries whose families are asked equally often.",
        )
    turned = [one for one in pair["sensitivity"]["without_family"] if _other_sign(one["gap"], gap["value"])]
    if turned:
        names = ", ".join(TITLES[one["family"]] for one in turned)
        yield (
            f"Which of {a} and {b} is ahead hangs on one family ({names}).",
            MEASURED,
            "a larger set of questions of the other families with the same sign.",
        )


def _of_set(results: Mapping[str, Any]) -> Iterator[Claim]:
    best = results["choice"]["best"]
    beaten = [memory["memory"] for memory in results["memories"] if best and memory["memory"] not in best["members"]]
    if beaten:
        yield (
            f"{', '.join(beaten)}: shown to be worse than another memory of this run.",
            MEASURED,
            "new questions on which max-T over all pairs no longer separates them.",
        )


def _of_memory(memory: Mapping[str, Any], results: Mapping[str, Any]) -> Iterator[Claim]:
    name, found = memory["memory"], memory["fabrication"]
    if not found:
        return
    n = found["rate"]["n"]
    limit = results["thresholds"]["undetermined"]
    share = memory["undetermined"]["share"]
    if share is not None and share > limit:
        yield (
            f"How often {name} invents something is not measured: on {memory['undetermined']['questions']} of {n} "
            "questions a passage cannot be checked without a model.",
            OPEN,
            "nothing: judges with a model, or a memory that gives its sources word for word, can measure it.",
        )
    elif found["count"]:
        yield (
            f"{name} gave something fabricated on {found['count']} of {n} questions{_interval(found['rate'], True)}.",
            MEASURED,
            "an audit of those passages that finds their words in the documents that they name.",
        )
    else:
        yield (
            f"{name} fabricated nothing on {n} questions; its rate is at most {found['highest']:.1%}.",
            MEASURED,
            f"fabrications on more than {found['highest']:.1%} of new questions, or one of these passages in no "
            "document.",
        )
    if memory["failed"]:
        yield (
            f"{name} failed on {memory['failed']} of {n} questions, which count 0.",
            MEASURED,
            "a run in which it answers them.",
        )


def _scope(results: Mapping[str, Any], sample: bool) -> Iterator[Claim]:
    documents = "one generated set of documents" if sample else "these documents"
    yield (
        f"Everything holds for {documents}, {results['questions']['compared']} questions, one budget and the builds "
        "of this run.",
        SCOPE,
        "nothing: another set of documents is another question.",
    )
    weights = results["weights"]
    counted = "" if weights["queries"] is None else f", counted from {weights['queries']:,} queries"
    yield (
        f"The weights of the families are those of {weights['name']}{counted}."
        if weights["name"] != "uniform"
        else "The families count alike.",
        SCOPE,
        "a log of your own queries with other shares; see how many weightings turn the sign.",
    )
    if results["questions"]["without_gold"]:
        yield (
            f"{results['questions']['without_gold']} questions have no gold and decide nothing.",
            OPEN,
            "gold or judges for them.",
        )


def _other_sign(value: float | None, other: float | None) -> bool:
    return value is not None and other is not None and abs(value) >= _SHOWN and value * other < 0


def _interval(estimate: Mapping[str, Any], share: bool = False) -> str:
    if estimate["low"] is None:
        return ""
    low, high = estimate["low"], estimate["high"]
    shown = f"{low:.1%} to {high:.1%}" if share else f"{points(low)} to {points(high)}"
    return f" (95 % interval {shown})" if estimate["level"] == 0.95 else f" ({estimate['level']:.0%} interval {shown})"
