"""Paired comparisons of answers: unequal budgets, and a wide plot whose texts and bars keep apart."""

from __future__ import annotations

import itertools
import re

import pytest
from summaries import ARMS, answered, diff
from test_report_answers import column, found_text, page, tables
from test_report_finding import every_form

from memassay.reporting import svg


def test_unequal_budgets_are_said_once_and_explained() -> None:
    made = answered()
    for text in every_form(made):
        assert "nequal budgets" not in text
    for row in made["comparisons"]:
        row["equal_budget"] = False
    found = page(made)
    assert column(tables(found, "comparisons")[0], "verdict") == ["primary: better", "exploratory", "exploratory"]
    notes = [found.text(i) for i in found.find("p", "note", within=found.by_id("comparisons"))]
    assert notes == ["Unequal budgets in every line of this table; see How to read this."] * 2
    assert "did not read the same amount of context" in found_text(found, "guide")
    made["comparisons"][0]["equal_budget"] = True
    whole = tables(page(made), "comparisons")[-1]
    assert {"exploratory", "exploratory, unequal budgets"} <= set(column(whole, "verdict"))


@pytest.mark.parametrize("names", [("a", "b", "c"), ("a-memory-with-a-very-long-name", "another/tools+folder", "c")])
def test_nothing_stands_on_anything_else_in_the_wide_forest(names: tuple[str, ...]) -> None:
    made = answered()
    made["arms"] = dict(zip(names, made["arms"].values(), strict=True))
    renamed = dict(zip(ARMS, names, strict=True))
    for row in made["comparisons"]:
        row |= {"a": renamed[row["a"]], "b": renamed[row["b"]], "diff": diff(0.175, 0.293), "verdict": "no decision"}
    made["primary"] |= {"a": names[0], "b": names[2]}
    found = page(made)
    wide = found.find("svg", "wide", within=found.by_id("comparisons"))[0]
    primary = found.find("g", "primary", within=wide)[0]
    spans = []
    for i in found.find("text", within=primary):
        about = found.elements[i][1]
        hints = found.find("title", within=i)
        said = found.text(i).removeprefix(found.text(hints[0]) if hints else "")
        bold = 1 if "tick" in about["class"] else 1.14
        x, width = float(about["x"]), svg.text_width(said.strip(), svg.WIDE.font) * bold
        spans.append((x - width, x) if about["text-anchor"] == "end" else (x, x + width))
    path = found.elements[found.find("path", "bar", within=primary)[0]][1]["d"]
    ends = [float(x) for x in re.findall(r"[ML](-?[\d.]+) ", path)]
    spans.append((min(ends), max(ends)))
    spans.sort()
    assert len(spans) == 5
    assert all(before[1] < after[0] for before, after in itertools.pairwise(spans)), spans
    assert spans[0][0] >= 0 and spans[-1][1] <= svg.WIDE.width
