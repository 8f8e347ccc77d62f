"""What a run cost, in one line of every report, and how money is written."""

from __future__ import annotations

import math

import pytest
from summaries import answered, summary
from test_report_finding import every_form

from memassay.reporting import arm_table, figures, markdown


def test_what_the_run_cost_stands_at_its_head() -> None:
    made = answered()
    made["judging"]["audits"] = [{"cost_usd": 0.0412}]
    line = "$194.77 (answers $188.25, judges $6.48, audits $0.041)"
    for text in every_form(made):
        assert line in text
    assert f"cost: {line}" in arm_table(made, 100)
    head = markdown.render(made).partition("## ")[0]
    assert "cost: \\$194.77" in head


def test_a_cost_that_is_partly_unknown_says_so_and_none_is_not_mentioned() -> None:
    made = answered()
    made["judging"]["judges"][1]["cost_usd"] = None
    for arm in made["arms"].values():
        arm["usage"]["answers"] |= {"cost_usd": None, "reported_usd": None, "attempts_usd": None}
    said = "cost: $3.24 (judges $3.24), and answers and judges at prices that our table lacks"
    assert said in " ".join(arm_table(made, 100).split())
    made["judging"] = {}
    assert "cost: not known: answers at prices that our table lacks" in arm_table(made, 100)
    for arm in made["arms"].values():
        arm["usage"]["answers"]["attempts_usd"] = 0.0
    assert "cost:" not in arm_table(made, 100) and "cost:" not in markdown.render(made)
    assert "cost:" not in arm_table(summary(3), 100)


def test_the_prices_of_a_script_are_called_so() -> None:
    text = arm_table(answered("scripted", agent_model="scripted"), 100)
    assert "cost: $188.25 (answers, as the script says $188.25)" in text


@pytest.mark.parametrize(
    ("value", "said"),
    [(0, "$0.00"), (1e-9, "$0.00"), (0.000069, "$0.000069"), (0.0028, "$0.0028"), (0.0749, "$0.075"),
     (0.1, "$0.10"), (0.4153, "$0.42"), (1234.5, "$1,234.50"), (None, "–"), (math.nan, "–")],
)  # fmt: skip
def test_money_has_one_precision(value: float | None, said: str) -> None:
    assert figures.money(value) == said
    signed = figures.money(value, signed=True)
    assert signed == (said if said in ("–", "$0.00") else f"+{said}")
    if value and signed.startswith("+"):
        assert figures.money(-value) == f"−{said}"
