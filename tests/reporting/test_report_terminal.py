from __future__ import annotations

import io
import re

import pytest
from rich.cells import cell_len
from summaries import BUDGETS, NAMES, est, pool, summary
from test_report_html import HOSTILE

from memassay.reporting import arm_table, print_arms
from memassay.reporting.terminal import wrapped

WIDTHS = (24, 40, 60, 80, 120, 200)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("arms", (1, 3, 8))
def test_no_line_is_wider_than_the_terminal(width: int, arms: int) -> None:
    text = arm_table(summary(arms, primary=arms > 1, unmeasured=arms == 8), width)
    assert max(map(cell_len, text.splitlines())) <= width
    assert "\x1b" not in text


@pytest.mark.parametrize("width", (60, 80, 120))
def test_names_and_every_budget_stand_at_sixty_columns(width: int) -> None:
    lines = arm_table(summary(8), width).splitlines()
    head = next(line for line in lines if line.startswith("arm "))
    assert head.split()[1 : 1 + len(BUDGETS)] == ["1k", "2k", "4k", "8k", "12k"]
    for name in NAMES:
        assert [line for line in lines if line.startswith(f"{name} ")], name
    row = next(line for line in lines if line.startswith("lexical "))
    assert (".77 " if width == 60 else ".770") in row
    assert any("chance" in line for line in lines)


def test_intervals_stand_beside_or_below() -> None:
    assert ".770 [.735, .801]" in arm_table(summary(2), 120)
    assert ".735–.801" in arm_table(summary(2), 80)
    assert ".73–.80" in arm_table(summary(2), 60)


@pytest.mark.parametrize("width", (60, 80, 120))
def test_wide_intervals_and_long_names_never_garble(width: int) -> None:
    made = summary(2)
    made["arms"]["记忆系统" * 12] = made["arms"].pop("files")
    made["arms"]["a-very-long-name-of-a-memory-with-settings-and-version-1.2.3"] = made["arms"]["lexical"]
    for budget in BUDGETS:
        made["arms"]["lexical"]["metrics"][f"all@{budget}"] = est(1.0) | {"low": 1.0, "high": 1.0}
    text = arm_table(made, width)
    assert max(map(cell_len, text.splitlines())) <= width
    assert "…" in text


@pytest.mark.parametrize("hostile", [*HOSTILE, "[bold]x[/bold]", ":smile:", "a\nb\tc"])
def test_hostile_names_are_plain_text(hostile: str) -> None:
    made = summary(2)
    made["arms"][hostile] = made["arms"].pop("files") | {"reason": hostile}
    made["publishable"] = {"value": False, "reasons": [hostile]}
    for width in (60, 120):
        text = arm_table(made, width)
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", text)
        assert max(map(cell_len, text.splitlines())) <= width
    if hostile == "[bold]x[/bold]":
        assert hostile in text


def test_null_and_nan_are_dashes_with_a_reason() -> None:
    made = summary(3, unmeasured=True)
    made["arms"]["files"]["metrics"]["all@4000"]["value"] = float("nan")
    text = arm_table(made, 80)
    assert "– full-context: the platform needs a model and none was given" in text
    assert "nan" not in text.lower()


def test_colour_only_when_asked_and_plain_when_piped(capsys: pytest.CaptureFixture[str]) -> None:
    assert "\x1b[" in arm_table(summary(2), 80, color=True)
    print_arms(summary(2))
    out = capsys.readouterr().out
    assert "lexical" in out
    assert "\x1b" not in out


def test_a_terminal_of_another_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    with io.TextIOWrapper(raw, encoding="latin-1", errors="strict") as stream:
        monkeypatch.setattr("sys.stdout", stream)
        print_arms(summary(3, unmeasured=True) | {"suite": "记忆"})
        stream.flush()
        text = raw.getvalue().decode("latin-1")
    assert "- full-context" in text
    assert "??" in text


def test_sample_and_empty_summaries() -> None:
    text = arm_table(summary(2, sample=True), 60)
    assert "sample" in text.splitlines()[0]
    assert "No verdict" in text
    assert arm_table({}, 60)


def test_names_break_after_a_mark() -> None:
    assert wrapped("entity-links", 10) == ["entity-", "links"]
    assert wrapped("short", 10) == ["short"]
    assert wrapped("unbrokenname", 6) == ["unbrok", "enname"]
    assert all(cell_len(line) <= 6 for line in wrapped("x" * 40, 6))


def test_the_corpus_stands_in_the_first_line_and_the_test_in_the_last() -> None:
    text = arm_table(pool(), 120)
    assert text.splitlines()[0] == "HotPotQA, links titles, pool of 2,846 pages: both@B"
    assert "exact sign-flip p < .001" in text
    assert "p = <" not in text
    assert arm_table(summary(2), 80).splitlines()[0] == "LOCOMO: all@B"


def test_only_the_headlines_column_is_bold() -> None:
    lines = arm_table(pool(), 120, color=True).splitlines()
    head = next(line for line in lines if "12k" in line)
    bold = "".join(re.findall(r"\x1b\[1m([^\x1b]*)", head))
    assert bold.split() == ["1k"]
    row = next(line for line in lines if line.startswith("lexical"))
    assert re.search(r"\x1b\[1m *\.600", row)
    assert not re.search(r"\x1b\[1m *\.685", row)
