from __future__ import annotations

import re

import pytest
from summaries import BUDGETS, est, summary
from test_report_html import HOSTILE

from memassay.reporting import markdown

CELL = re.compile(r"(?<!\\)\|")


def tables(text: str) -> list[list[list[str]]]:
    """Every pipe table as cells, as a Markdown reader splits them."""
    found: list[list[list[str]]] = []
    block: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            block.append(line)
        elif block:
            found.append([[cell.strip() for cell in CELL.split(row)[1:-1]] for row in block])
            block = []
    return found


@pytest.mark.parametrize("arms", (1, 2, 8))
def test_tables_are_well_formed(arms: int) -> None:
    text = markdown.render(summary(arms, primary=arms > 1))
    found = tables(text)
    assert len(found) >= 9
    for table in found:
        assert {len(row) for row in table} == {len(table[0])}
        assert all(re.fullmatch(r"-{3}:?", cell) for cell in table[1])
    first = found[0]
    assert [row[0] for row in first[2:]][:arms] == list(summary(arms)["arms"])
    assert first[2][2] == r".600 \[.565, .631\]"
    assert first[0][2:] == [f"{b // 1000}k" for b in BUDGETS]


@pytest.mark.parametrize("hostile", [*HOSTILE, "a|b", "![x](http://evil.example/y.png)", "`code` *b* _i_\n# no\n- no"])
def test_hostile_strings_are_escaped(hostile: str) -> None:
    made = summary(2)
    made["arms"][hostile] = made["arms"].pop("files")
    made["notes"] = [hostile]
    made["arms"][hostile]["metrics"]["all@1000"] = est(None, reason=hostile)
    text = markdown.render(made)
    for table in tables(text):
        assert {len(row) for row in table} == {len(table[0])}
    assert not re.search(r"<[a-zA-Z!/]", text), "no HTML"
    assert not re.search(r"(?<!\\)!\[|(?<!\\)\]\(", text), "no image, no link"
    assert "://" not in text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", text)
    assert len(re.findall(r"^# ", text, re.MULTILINE)) == 1


def test_nulls_have_a_dash_and_a_reason() -> None:
    text = markdown.render(summary(3, unmeasured=True))
    assert "– (a)" in text
    assert "- a: the platform needs a model and none was given" in text
    assert "None" not in text
    assert "nan" not in text.lower().replace("canary", "")


def test_head_says_finding_and_publishable() -> None:
    text = markdown.render(summary(3))
    assert text.startswith("# lexical, files and full-context on LOCOMO\n\n**lexical is better than files")
    assert "Publishable: **yes**" in text
    sample = markdown.render(summary(3, sample=True))
    assert "**sample**" in sample
    assert "is better" not in sample
    assert "- the source tree was not clean" in sample


def test_nothing_at_all() -> None:
    assert markdown.render({}).startswith("# No arm on an unnamed suite")
