from __future__ import annotations

import copy
import math
import re

import pytest
from pages import Page
from summaries import BUDGETS, NAMES, diff, est, pool, summary

from memassay.core.report import Chart, Column, Curve, Section, Table
from memassay.core.types import Estimate
from memassay.reporting import html

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "]]></style><svg onload=alert(1)>",
    "\x1b[31mred\x1b]0;title\x07\x9b2J",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
    "\u202egnp.exe\ud800",
)


def page(made: dict, sections: tuple = ()) -> tuple[str, Page]:
    text = html.render(made, sections)
    return text, Page(text)


@pytest.mark.parametrize("arms", range(1, 9))
def test_every_number_of_arms_gets_its_rows_and_series(arms: int) -> None:
    _, found = page(summary(arms, primary=arms > 1))
    assert found.unbalanced == []
    table = found.find("table", within=found.by_id("arms"))[0]
    rows = found.rows(table)
    assert [row[0] for row in rows[1:]] == [*NAMES[:arms], "ceiling: gold that fits", "chance"]
    assert all(len(row) == 2 + len(BUDGETS) for row in rows)
    lead = found.find("section", "lead")[0]
    drawings = found.find("svg", "chart", within=lead)
    assert [found.elements[i][1]["class"] for i in drawings] == ["chart wide", "chart narrow"]
    wide = drawings[0]
    series = found.find("g", "series", within=wide)
    assert len(series) == arms
    assert len(found.find("g", "reference", within=wide)) == 2
    for group in series:
        marks = [i for tag in ("path", "circle") for i in found.find(tag, "mark", within=group)]
        assert len(marks) == len(BUDGETS)
        assert len(found.find("path", "bar", within=group)) == len(BUDGETS)
        assert len(found.find("path", "line", within=group)) == 1
    names = [found.elements[i][1]["class"] for i in found.find("text", "name", within=wide)]
    assert len(names) == arms + 2, "every line is labelled at its end"


def test_a_drawn_point_stands_where_its_number_says() -> None:
    made = summary(1)
    _, found = page(made)
    wide = found.find("svg", "wide", within=found.find("section", "lead")[0])[0]
    heights = [float(found.elements[i][1]["cy"]) for i in found.find("circle", "mark", within=wide)]
    values = [made["arms"]["lexical"]["metrics"][f"all@{b}"]["value"] for b in BUDGETS]
    slopes = [(heights[0] - h) / (v - values[0]) for h, v in zip(heights[1:], values[1:], strict=True)]
    assert all(math.isclose(s, slopes[0], rel_tol=1e-3) for s in slopes), "height is linear in the value"
    assert slopes[0] > 0


def test_order_of_the_page() -> None:
    _, found = page(summary(3))
    ids = [attrs["id"] for tag, attrs in found.elements if tag == "section" and "id" in attrs]
    assert ids == [
        "arms", "comparisons", "splits", "categories", "controls", "keys", "sensitivity", "cited", "failures", "cost",
        "notes", "identity", "guide",
    ]  # fmt: skip
    links = {attrs["href"][1:] for tag, attrs in found.elements if tag == "a"}
    assert links == set(ids)


def test_drawings_can_be_read_aloud() -> None:
    _, found = page(summary(3))
    charts = found.find("svg", "chart")
    assert len(charts) == 6, "curves, forest and dots, each for two widths"
    for chart in charts:
        attrs = found.elements[chart][1]
        assert attrs["role"] == "img"
        assert attrs["aria-label"]
        assert found.find("title", within=chart)
    for swatch in found.find("svg", "swatch"):
        assert found.elements[swatch][1]["aria-hidden"] == "true"


def test_forest_marks_the_primary_and_its_verdict() -> None:
    _, found = page(summary(3))
    wide = found.find("svg", "wide", within=found.by_id("comparisons"))[0]
    assert len(found.find("g", "difference", within=wide)) == 3
    primary = found.find("g", "primary", within=wide)
    assert len(primary) == 1
    assert "better" in found.text(primary[0])
    assert len(found.find("line", "zero", within=wide)) == 1
    assert "lexical is better than files" in found.text(found.find("p", "finding")[0])


def test_only_the_primary_gets_a_verdict_word() -> None:
    made = summary(3)
    for comparison in made["comparisons"]:
        if comparison["split"] == "all":
            comparison["verdict"] = "better"
    _, found = page(made)
    verdicts = [row[-1] for row in found.rows(found.find("table", within=found.by_id("comparisons"))[0])[1:]]
    assert verdicts == ["primary: better", "exploratory", "exploratory"]


def test_a_sample_never_carries_a_verdict() -> None:
    made = summary(3, sample=True)
    for comparison in made["comparisons"]:
        comparison["verdict"] = "better"
    text, found = page(made)
    assert "No verdict: the data are a generated sample." in found.text(found.find("p", "finding")[0])
    assert found.find("li", "sample")
    comparisons = found.by_id("comparisons")
    assert "better" not in found.text(comparisons)
    assert "is better" not in text


def test_no_primary_says_why_there_is_no_verdict() -> None:
    _, found = page(summary(3, primary=False))
    finding = found.find("p", "finding")[0]
    assert "No verdict: no primary comparison was named before the run." in found.text(finding)
    assert "none" in found.elements[finding][1]["class"].split()


def test_reasons_against_publishing_are_listed() -> None:
    made = summary(3)
    made["publishable"] = {"value": False, "reasons": ["control oracle failed", "12 cells are missing"]}
    _, found = page(made)
    assert found.text(found.find("li", "no")[0]) == "not publishable"
    assert found.text(found.find("ul", "reasons")[0]) == "control oracle failed 12 cells are missing"


def test_null_is_a_dash_with_its_reason() -> None:
    made = summary(3, unmeasured=True)
    text, found = page(made)
    rows = found.rows(found.find("table", within=found.by_id("arms"))[0])
    assert rows[3][2:] == ["–"] * len(BUDGETS)
    notes = found.find("ul", "footnotes", within=found.by_id("arms"))
    assert "the platform needs a model and none was given" in found.text(notes[0])
    assert found.text(found.find("figcaption", within=found.find("section", "lead")[0])[0]).endswith("none was given.")
    assert "None" not in re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)


def test_nan_and_infinity_are_never_printed() -> None:
    made = summary(3)
    for name, value in zip(BUDGETS, (math.nan, math.inf, -math.inf, math.nan, math.nan), strict=True):
        made["arms"]["files"]["metrics"][f"all@{name}"] = est(0.5) | {"value": value}
        made["arms"]["lexical"]["metrics"][f"all@{name}"] = est(0.5) | {"low": value, "high": math.nan}
    made["chance"] = {"all@1000": {"mean": math.nan, "low": 0.0, "high": math.inf}}
    made["comparisons"][0]["diff"] = diff(0.1) | {"value": math.nan}
    made["comparisons"][1] |= {"p": math.nan, "mean_over_clusters": math.inf, "wins": math.nan}
    made["arms"]["files"]["usage"]["build"] = {"seconds": math.nan, "bytes": math.inf, "cost_usd": math.nan}
    made["controls"]["oracle"]["checks"][0] |= {"value": math.nan, "low": math.nan}
    chart = Chart(
        title="c",
        x_title="x",
        y_title="y",
        curves=(Curve(name="k", points=((math.nan, Estimate(value=1)), (2, Estimate(value=math.nan)))),),
    )
    table = Table(title="t", columns=(Column(title="v", kind="share"),), rows=((math.nan,), (math.inf,)))
    text, found = page(made, (Section(title="own", tables=(table,), charts=(chart,)),))
    assert found.unbalanced == []
    assert not re.search(r"(?i)\b(nan|inf|infinity)\b", text)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_strings_everywhere(hostile: str) -> None:
    made = summary(3)
    plain_page = page(summary(3, unmeasured=True))[1]
    arm = made["arms"].pop("files")
    arm["reason"] = None
    arm["memory"] = arm["options"][hostile] = hostile
    arm["source"] = {"origin": hostile, "version": hostile}
    arm["categories"] = {hostile: {"n": 5, "all@4000": est(None, reason=hostile)}, "x": {"n": 3, "all@4000": est(0.4)}}
    arm["secondary"]["sensitivity"] = {hostile: {"n": 3, "metrics": arm["metrics"]}}
    arm["splits"][hostile] = {"n": 3, "metrics": arm["metrics"]}
    made["arms"][hostile] = arm
    for comparison in made["comparisons"]:
        comparison["b"] = comparison["b"].replace("files", hostile)
        comparison["reason"] = hostile
    made |= {"run": hostile, "tokens": hostile, "suite": hostile, "notes": [hostile], "version": hostile}
    made["publishable"] = {"value": False, "reasons": [hostile]}
    made["controls"][hostile] = {"passed": False, "checks": [{"metric": hostile, "passed": False, "detail": hostile}]}
    section = Section(
        title=hostile,
        text=hostile,
        tables=(
            Table(title=hostile, columns=(Column(title=hostile, hint=hostile),), rows=((hostile,),), note=hostile),
        ),
        charts=(
            Chart(
                title=hostile,
                x_title=hostile,
                y_title=hostile,
                note=hostile,
                curves=(Curve(name=hostile, points=((1, Estimate(value=0.5)), (2, Estimate(value=0.6)))),),
            ),
        ),
    )
    text, found = page(made, (section,))
    assert found.unbalanced == []
    tags = {tag for tag, _ in found.elements}
    assert tags <= {tag for tag, _ in plain_page.elements} | {"circle"}, "no element that the template does not make"
    for _, attrs in found.elements:
        assert not [name for name in attrs if name.startswith("on")]
        assert attrs.get("href", "#").startswith("#")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", text)
    assert "49" not in found.text(found.find("h1")[0]), "strings are never templates"
    text.encode("utf-8")


def test_the_page_needs_nothing_else() -> None:
    text, found = page(summary(8, unmeasured=True))
    assert not found.find("script")
    assert not found.find("link")
    assert not found.find("img")
    assert not [a for _, attrs in found.elements for a in attrs if a in ("src", "srcset", "action", "style")]
    assert not re.search(r"(?i)url\(|@import|https?:", text)
    policy = next(attrs["content"] for _, attrs in found.elements if attrs.get("http-equiv"))
    assert "default-src 'none'" in policy
    assert "script-src" not in policy


def test_an_empty_or_broken_summary_still_makes_a_page() -> None:
    for broken in (
        {},
        {"arms": {}},
        {"arms": {"a": None, "b": {"metrics": "no"}}, "comparisons": [None, {"a": 1}], "controls": [], "budgets": 7},
        {"arms": {"a": {"metrics": {"all@4000": 0.4, "accuracy": est(0.7)}}}},
    ):
        _, found = page(broken)  # type: ignore[arg-type]
        assert found.unbalanced == []
        assert found.find("h1")


def test_keys_sensitivity_and_cited_are_left_out_where_there_are_none() -> None:
    made = summary(2)
    for arm in made["arms"].values():
        arm["cited"], arm["secondary"] = {}, {}
    _, found = page(made)
    ids = {attrs.get("id") for _, attrs in found.elements}
    assert not ids & {"keys", "sensitivity", "cited"}
    assert "failures" in ids


def test_the_original_key_is_shown_once_and_a_score_above_its_ceiling_is_flagged() -> None:
    made = summary(2)
    for arm in made["arms"].values():
        arm["secondary"]["keys"] = {"original": {"n": 1536, "metrics": arm["metrics"]}} | arm["secondary"]["keys"]
    made["ceilings"]["audit-corrected"]["all@1000"] = 0.5
    _, found = page(made)
    keys = found.by_id("keys")
    rows = found.rows(found.find("table", within=keys)[0])
    assert [row[0] for row in rows[1:]].count("original") == 3
    assert "lexical is above the ceiling of audit-corrected at all@1k" in found.text(keys)
    assert "files is above" not in found.text(keys)


def test_failed_controls_stand_out() -> None:
    made = summary(2)
    made["controls"]["oracle"]["checks"][4] |= {"passed": False, "value": 0.4}
    _, found = page(made)
    controls = found.by_id("controls")
    assert "1 of 9 checks failed" in found.text(controls)
    table = found.find("table", within=controls)[0]
    bad = found.find("tr", "bad", within=table)
    assert len(bad) == 1
    assert "FAILED" in found.text(bad[0])


def test_sections_of_the_suite_stand_before_the_identity() -> None:
    chart = Chart(
        title="hops",
        x_title="seeds",
        y_title="both",
        curves=(Curve(name="linked", points=((5, Estimate(value=0.8, low=0.7, high=0.9)), (10, Estimate(value=0.9)))),),
    )
    table = Table(
        title="own",
        columns=(Column(title="k"), Column(title="v", kind="estimate")),
        rows=(("x", Estimate(value=0.25)),),
    )
    _, found = page(summary(2), (Section(title="Links", text="One hop.", tables=(table,), charts=(chart,)),))
    part = found.by_id("suite-1")
    assert part < found.by_id("identity")
    assert len(found.find("svg", "chart", within=part)) == 2
    assert found.rows(found.find("table", within=part)[0])[1] == ["x", ".250"]


def test_long_and_wide_names_are_kept_whole_in_the_tables() -> None:
    made = summary(2)
    long = "记忆" * 20 + "-" + "x" * 60
    made["arms"][long] = copy.deepcopy(made["arms"]["files"])
    _, found = page(made)
    rows = found.rows(found.find("table", within=found.by_id("arms"))[0])
    assert rows[3][0] == long
    labels = [found.text(i) for i in found.find("text", "name", within=found.find("svg", "wide")[0])]
    assert any("…" in label for label in labels)


def test_the_page_says_which_corpus_was_measured() -> None:
    _, found = page(pool())
    facts = dict(
        zip(
            (found.text(i) for i in found.find("dt", within=found.find("dl", "facts")[0])),
            (found.text(i) for i in found.find("dd", within=found.find("dl", "facts")[0])),
            strict=True,
        )
    )
    assert (facts["links"], facts["pool"]) == ("titles", "2,846 pages")
    assert "rendering" not in facts
    rows = dict(row for row in found.rows(found.find("table", within=found.by_id("identity"))[0])[1:])
    assert rows["suite: links"] == "titles"
    assert "hotpotqa-289" in rows["suite: data"] and "53" * 32 in rows["suite: data"]
    assert rows["suite: draw"].startswith("seed 20260718, dev 289, test 0, digest 6e")
    assert rows["suite: pool"] == "pages 2846, links 1457"
    assert rows["k (distinct pages)"] == "5, 10, 20"


def test_a_test_is_named_as_the_rows_name_it() -> None:
    _, found = page(pool())
    comparisons = found.text(found.by_id("comparisons"))
    assert "The test: exact sign-flip over joined questions (McNemar where none is joined)." in comparisons
    assert "exact sign-flip p < .001" in found.text(found.find("p", "finding")[0])
    assert "1e−17" in comparisons and "1e-17" not in comparisons, "a hyphen would let the number break"
    made = pool()
    for row in made["comparisons"]:
        row["test"] = "exact McNemar"
    _, single = page(made)
    assert "The test: exact McNemar, as no question is joined" in single.text(single.by_id("comparisons"))
    _, old = page(summary(2))  # a summary of before the field
    assert "The test" not in old.text(old.by_id("comparisons"))


def test_the_guide_explains_what_the_report_shows() -> None:
    _, found = page(pool())
    guide = found.text(found.by_id("guide"))
    assert "both@Bthe share of questions with both gold pages" in guide
    assert "at least one gold page" in guide and "k distinct pages" in guide
    assert "all@" not in guide and "gold item" not in found.text(found.find("main")[0])
    _, plain = page(summary(2))
    assert "all@Bthe share of questions with every gold item" in plain.text(plain.by_id("guide"))


def test_values_at_the_end_of_the_lines_name_their_budget() -> None:
    made = pool()
    _, found = page(made)
    wide = found.find("svg", "wide", within=found.find("section", "lead")[0])[0]
    assert "at 12k" in [found.text(i) for i in found.find("text", "tick", within=wide)]
    made["arms"]["files"]["metrics"]["both@12000"] = est(None, reason="not asked")
    _, short = page(made)
    wide = short.find("svg", "wide", within=short.find("section", "lead")[0])[0]
    assert "at the end" in [short.text(i) for i in short.find("text", "tick", within=wide)]


def test_no_line_runs_through_a_name_on_a_phone_and_both_sides_are_named() -> None:
    made = pool()
    for row in made["comparisons"]:
        row["diff"] = diff(0.5, 0.05)
    _, found = page(made)
    narrow = found.find("svg", "narrow", within=found.by_id("comparisons"))[0]
    words = [found.text(i) for i in found.find("text", "tick", within=narrow)]
    assert "← second higher" in words and "first higher →" in words
    upright = [found.elements[i][1] for i in found.find("line", "zero", within=narrow)]
    spans = [(float(line["y1"]), float(line["y2"])) for line in upright]
    names = [float(found.elements[i][1]["y"]) for i in found.find("text", "name", within=narrow)]
    assert len(spans) == len(names) > 1
    assert not [y for y in names for low, high in spans if low - 6 <= y <= high + 3]
