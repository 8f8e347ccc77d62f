"""What judges of pairs said, made by judges without a model, for tests of what the canary makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from memassay.core.pairs import PairVerdict
from memassay.core.types import ModelKind
from memassay.suites.canary.collapse import ORDERS, ScriptedJudge
from memassay.suites.canary.families import FAMILIES

Merits = Mapping[str, tuple[float, float]]
PROBED = 16
TEXTS: Mapping[str, tuple[float, float]] = {
    "same": (1.0, 1.0),
    "shuffled": (1.0, 1.0),
    "random": (1.0, 0.0),
    "truncated": (1.0, 0.5),
    "padded": (1.0, 1.0),
}
"""Merits of the two texts of each probe, as somebody who reads them sees it."""


def merits(of: Callable[[str, int], tuple[float, float]], each: int = 8) -> dict[str, tuple[float, float]]:
    """Merits of both memories on ``each`` questions of every family, named as ``canary_outcomes.run`` names them."""
    return {f"{family}-{number:03d}": of(family, number) for family in FAMILIES for number in range(each)}


def said(
    judge: ScriptedJudge,
    seen: Merits,
    *,
    family: str = "",
    model: ModelKind = "real",
    probe: str = "",
    a: str = "markdown",
    b: str = "lexical",
    labels: Callable[[str, str], str] | None = None,
    build: int = 0,
    repetition: int = 0,
) -> list[PairVerdict]:
    """One judge on one pair, in both orders; ``labels`` are by question and memory."""
    found = []
    for question, (one, two) in seen.items():
        for order, name in enumerate(ORDERS):
            shown = (a, b) if order == 0 else (b, a)
            found.append(
                PairVerdict(
                    judge=judge.name,
                    family=family or judge.name,
                    model=model,
                    probe=probe,
                    task=question,
                    a=a,
                    b=b,
                    build=build,
                    order=order,
                    repetition=repetition,
                    position=judge.place(question, one, two, name),
                    labels=None if labels is None else (labels(question, shown[0]), labels(question, shown[1])),
                )
            )
    return found


def controls(
    judge: ScriptedJudge, *, family: str = "", model: ModelKind = "real", texts: Merits = TEXTS, probed: int = PROBED
) -> list[PairVerdict]:
    """What a judge says of the probes; one that favours a memory knows none there."""
    blind = replace(judge, favours="")
    return [
        verdict
        for probe, seen in texts.items()
        for verdict in said(
            blind,
            {f"{probe}-{number}": seen for number in range(probed)},
            family=family,
            model=model,
            probe=probe,
            a=f"probe:{probe}",
            b=f"probe:{probe}",
        )
    ]


def swapped(verdicts: Iterable[PairVerdict]) -> list[PairVerdict]:
    """The same words with the memories swapped everywhere."""
    return [one if one.probe else replace(one, a=one.b, b=one.a, order=1 - one.order) for one in verdicts]
