"""What a run cost, in one line: answers, verdicts and audits."""

from __future__ import annotations

from memassay.reporting import figures
from memassay.reporting.reading import Reading, listed
from memassay.reporting.values import mapping, sequence

_JUDGING = ("judges", "comparisons", "audits")


def spending(reading: Reading) -> str:
    """``$0.10 (answers $0.08, judges $0.02)``, every attempt counted; "" where nothing cost anything.

    What a script is told to cost is in it, since a limit of money counts it too. A part with a price that is not known
    is named: the sum is too low by it.
    """
    answers = [arm.at("usage", "answers") for arm in reading.arms]
    paid = {"answers": [figures.finite(used.get("attempts_usd")) for used in answers]}
    for part in _JUDGING:
        used_up = [mapping(used) for used in sequence(mapping(reading.raw.get("judging")).get(part))]
        paid[part] = [figures.finite(used.get("cost_usd")) for used in used_up if used.get("n") != 0]
    if reading.raw.get("model") == "scripted":
        # No provider was paid: the prices stand in the script.
        paid["answers, as the script says"] = paid.pop("answers")
    sums = {name: sum(filter(None, found)) for name, found in paid.items()}
    total = sum(sums.values())
    unknown = [name for name in _JUDGING if None in paid[name]]
    if any(used.get("n") and used.get("attempts_usd", 0.0) is None for used in answers):
        unknown.insert(0, "answers")
    if not total:
        return f"not known: {listed(unknown)} at prices that our table lacks" if unknown else ""
    said = ", ".join(f"{name} {figures.money(amount)}" for name, amount in sums.items() if amount)
    least = f", and {listed(unknown)} at prices that our table lacks" if unknown else ""
    return f"{figures.money(total)} ({said}){least}"


def cost_line(reading: Reading) -> str:
    """``cost: $0.10 (answers $0.08, judges $0.02)``, or ""."""
    spent = spending(reading)
    return f"cost: {spent}" if spent else ""
