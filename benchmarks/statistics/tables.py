"""How the tables of the simulations are printed."""

from __future__ import annotations

import numpy as np


def covers(low: float | None, high: float | None, truth: float) -> bool:
    assert low is not None and high is not None
    return low - 1e-12 <= truth <= high + 1e-12


def mark(value: float, bad: bool) -> str:
    return f"{value:.3f}{'*' if bad else ' '}"


def row(*cells: object) -> None:
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def heading(title: str, *columns: str) -> None:
    print(f"\n{title}\n")
    row(*columns)
    row(*["---"] * len(columns))


def error(value: float, runs: int) -> float:
    return float(np.sqrt(max(value * (1 - value), 0.25 / runs) / runs))
