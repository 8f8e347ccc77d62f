"""The first sentences of a report of answers: what was observed, in whose favour, and that a run stopped."""

from __future__ import annotations

from typing import Any

import pytest
from summaries import answered, diff, est, summary
from test_report_answers import page

from memassay.reporting import arm_table, markdown
from memassay.reporting.finding import finding
from memassay.reporting.reading import Reading


def every_form(made: dict[str, Any]) -> list[str]:
    """The Markdown, the page and the terminal's text, each with its white space joined and without escapes."""
    texts = (markdown.render(made).replace("\\", ""), page(made).text(0), arm_table(made, 100))
    return [" ".join(text.split()) for text in texts]


def test_a_run_that_stopped_says_so_first() -> None:
    made = answered() | {"stopped": "the limit of $5 is reached"}
    said = "Stopped before the end: the limit of $5 is reached."
    assert arm_table(made, 100).splitlines()[0] == said
    assert markdown.render(made).replace("\\", "").split("\n\n")[1] == f"> **{said}**"
    found = page(made)
    assert found.text(found.find("p", "stopped")[0]) == said
    assert found.find("p", "stopped")[0] < found.find("p", "finding")[0]
    for text in every_form(answered()):
        assert "Stopped before" not in text


def test_a_difference_says_whom_it_favours() -> None:
    made = answered()
    for row in made["comparisons"]:
        row |= {"verdict": "no decision", "diff": diff(-0.05, 0.1)}
    more = finding(Reading(made)).more
    assert more.startswith("Observed: j differs by −.050 [−.150, +.050] in favour of files/folder, sign-flip p")
    for row in made["comparisons"]:
        row["diff"] = diff(0.0, 0.1)
    assert "in favour" not in finding(Reading(made)).more
    assert "in favour" not in finding(Reading(answered())).sentence, "the verdict says it"


def test_a_headline_without_a_value_does_not_hide_the_others() -> None:
    made = answered(audited=False) | {"primary": None}
    for arm in made["arms"].values():
        arm["metrics"]["j"] = est(None, reason="no question is defined here")
    for text in every_form(made)[:2]:
        assert "Nothing was measured" not in text
        assert "j has no value in any arm. Observed j_lenient, share judged right (lenient, some-large-model): " in text
    assert "\nj: the judge was not audited" not in arm_table(made, 100), "it has judged nothing"
    for arm in made["arms"].values():
        arm["metrics"] = {name: est(None) for name in arm["metrics"]}
    assert "Nothing was measured." in markdown.render(made)


@pytest.mark.parametrize("decided", [True, False])
def test_what_a_suite_concludes_by_its_own_rule_is_the_finding(decided: bool) -> None:
    made = summary(3)
    made |= {
        "primary": None,
        "conclusion": {"said": ["Keep lexical: \x1b[31mthe rule", "says so."], "decided": decided},
    }
    for text in every_form(made):
        assert "Keep lexical: the rule says so." in text.replace("**", "") and "No verdict" not in text
        assert "\x1b[31m" not in text
    made["sample"] = True
    for text in every_form(made):
        assert "No verdict: the data are a generated sample." in text
