"""What a report says of answers: scores, both treatments, cost, failures, repetitions, judges, recall after it."""

from __future__ import annotations

import copy
import math
import re
from typing import Any

import pytest
from pages import Page
from rich.cells import cell_len
from summaries import ARMS, BUDGETS, OF_ANSWERS, answered, est, summary
from test_report_html import HOSTILE

from memassay.reporting import arm_table, html, markdown
from memassay.reporting.reading import Reading


def page(made: dict[str, Any]) -> Page:
    found = Page(html.render(made))
    assert found.unbalanced == []
    return found


def tables(found: Page, part: str) -> list[list[list[str]]]:
    """Every table of a part; of cells with an interval the value alone."""
    made = []
    for table in found.find("table", within=found.by_id(part)):
        made.append([[found.text(values[0]) if (values := found.find("span", "v", within=cell)) else found.text(cell)
                      for cell in found.cells(row)] for row in found.find("tr", within=table)])  # fmt: skip
    return made


def column(table: list[list[str]], title: str) -> list[str]:
    return [row[table[0].index(title)] for row in table[1:]]


def test_answers_stand_first_and_recall_after_them() -> None:
    found = page(answered())
    ids = [attrs["id"] for tag, attrs in found.elements if tag == "section" and "id" in attrs]
    assert ids[:7] == ["answers", "comparisons", "cost", "failures", "repetitions", "judges", "arms"]
    assert not found.find("section", "lead")
    assert len(found.find("svg", "chart", within=found.by_id("arms"))) == 2
    assert len(found.find("svg", "chart", within=found.by_id("comparisons"))) == 2
    assert found.text(found.find("h1")[0]).endswith("on LOCOMO, answered by api, some-model")
    assert "Each question was answered by api, some-model 3 times" in found.text(found.by_id("answers"))
    retrieval = page(summary(3))
    assert "answers" not in [attrs.get("id") for _, attrs in retrieval.elements]


def test_every_metric_with_the_headlines_second_treatment_beside_it() -> None:
    made = answered()
    table = tables(page(made), "answers")[0]
    assert table[0] == ["arm", "n", "j", "j, answered only", "j_lenient", "f1", "exact_match", "bleu1", "locomo_f1"]
    assert [row[0] for row in table[1:4]] == list(ARMS)
    assert table[1][2:4] == [".620", ".630"]
    made["headline_metric"] = "f1"
    made["primary"] = None
    assert tables(page(made), "answers")[0][0][2:5] == ["f1", "f1, answered only", "j"]


def test_what_a_judge_is_worth_stands_under_every_score_of_it() -> None:
    found = page(answered())
    table = tables(found, "answers")[0]
    rows = {row[0]: row for row in table[1:]}
    accepted, rejected = rows["judge: wrong answers accepted"], rows["judge: right answers rejected"]
    lenient = table[0].index("j_lenient")
    assert (accepted[2], accepted[lenient]) == (".031", ".370")
    assert (rejected[2], rejected[lenient]) == (".052", ".010")
    assert accepted[table[0].index("f1")] == "", "no model judged it"
    whole = found.text(found.find("table", within=found.by_id("answers"))[0])
    assert "[.011, .049]" in whole and "[.350, .388]" in whole
    assert "the judge accepts .031 [.011, .049] of the wrong answers" in found.text(found.find("p", "more")[0])
    screen = " ".join(arm_table(answered(), 80).split())
    assert "j_lenient: by the audit the judge accepts .370 [.350, .388] of the wrong answers" in screen
    assert screen.count("j: by the audit") == 1


def test_a_judge_that_nobody_audited_says_so() -> None:
    made = answered(audited=False)
    found = page(made)
    assert tables(found, "answers")[0][-2][2] == "–"
    notes = found.text(found.find("ul", "footnotes", within=found.by_id("answers"))[0])
    assert "the judge was not audited" in notes and "memassay audit judge RUN" in notes
    assert "how often it is wrong is not known" in " ".join(arm_table(made, 80).split())
    assert "How often they are wrong" not in found.text(found.by_id("judges"))
    half = answered()
    half["judges"][0]["audit"]["false_accept"] = est(None, reason="no answer was judged")
    assert "no answer was judged" in found_text(page(half), "judges")


def found_text(found: Page, part: str) -> str:
    return found.text(found.by_id(part))


def test_judges_are_named_with_wording_cost_and_errors() -> None:
    found = page(answered())
    judges, audit = tables(found, "judges")
    assert [row[:5] for row in judges[1:]] == [
        ["j", "binary", "some-large-model", "13,824", "2"],
        ["j_lenient", "lenient", "some-large-model", "13,824", "0"],
    ]
    assert column(judges, "cost") == ["$3.24", "$3.24"]
    assert len(audit) == 1 + 2 * 6
    assert audit[3] == ["j", "vague", "false accept", "100", "1", ".031", "[.011, .061]"]
    assert found.elements[found.find("tr", "bad", within=found.by_id("judges"))[0]]
    said = found_text(found, "judges")
    assert "binary: the same entity" in said and "lenient: touches on the same thing" in said


def test_real_and_scripted_never_share_a_table() -> None:
    made = answered("scripted")
    found = page(made)
    assert found.text(found.find("p", "banner")[0]) == "j and j_lenient: the verdicts are a script's, not a model's."
    assert "scripted stand-in" in [found.text(i) for i in found.find("li", "badge")]
    scripted, rules = tables(found, "answers")
    assert scripted[0] == ["arm", "n", "j", "j, answered only", "j_lenient"]
    assert rules[0] == ["arm", "n", "f1", "exact_match", "bleu1", "locomo_f1"]
    for part in ("comparisons", "repetitions"):
        for table in tables(found, part):
            names = set(column(table, "metric")) if "metric" in table[0] else {"j"}
            assert not (names & {"j", "j_lenient"}) or names <= {"j", "j_lenient"}, (part, names)
    for table in tables(found, "categories"):
        assert "category" in table[0]
    for width in (60, 120):
        text = arm_table(made, width)
        head = next(line for line in text.splitlines() if line.startswith("arm "))
        assert "f1" not in head.split() and "j" in head.split()
        assert "the verdicts are a script's" in text
    both = answered("scripted")
    both["judges"][1]["model"] = "real"
    metrics = [set(table[0]) & set(OF_ANSWERS) for table in tables(page(both), "answers")]
    assert metrics == [{"j"}, {"j_lenient", "f1", "exact_match", "bleu1", "locomo_f1"}]
    assert "**scripted stand-in**" in markdown.render(made)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (answered("scripted"), "No verdict: a script judged, not a model."),
        (answered(agent_model="scripted"), "No verdict: a script answered, not a model."),
    ],
)
def test_a_script_never_gets_a_verdict(made: dict[str, Any], why: str) -> None:
    found = page(made)
    assert found.text(found.find("p", "finding")[0]) == why
    assert "primary: exploratory" in found_text(found, "comparisons")
    for text in (markdown.render(made), arm_table(made, 100), found.text(found.find("main")[0])):
        assert "is better" not in text and "primary: better" not in text
    real = page(answered())
    assert "lexical/dossier is better than files/folder: j differs" in real.text(real.find("p", "finding")[0])


def test_tokens_of_four_kinds_and_both_columns_of_money() -> None:
    tokens, money, building = tables(page(answered()), "cost")
    assert tokens[1] == [
        "lexical/dossier", "4,608", "4,100", "48", "900", "100", "3.2 (p95 7)", "2.2 (p95 6)", "4.2 s", "11.9 s",
    ]  # fmt: skip
    assert money[0][-1] == "per right answer (j)"
    assert money[1][1:5] == ["$61.20", "$61.50", "−$0.30", "$62.75"]
    assert money[1][5:] == ["$0.013", "$0.021"]
    assert "retrieve p50" not in building[0], "a cell's time is retrieval and answer together"
    assert "retrieve p50" in tables(page(summary(2)), "cost")[0][0]


def test_money_that_is_not_known_is_no_zero() -> None:
    made = answered()
    lexical, tools, files = (arm["usage"]["answers"] for arm in made["arms"].values())
    lexical |= {"cost_usd": None, "cost_difference_usd": None}
    tools |= {"reported_usd": None, "cost_difference_usd": None}
    files |= {"cost_usd": None, "reported_usd": None, "cost_difference_usd": None, "attempts_usd": 0.0}
    made["arms"]["markdown/tools"]["metrics"]["j"] = est(0.0)
    found = page(made)
    money = tables(found, "cost")[1]
    assert [cell[0] for cell in money[1][1:5]] == ["–", "$", "–", "$"]
    assert money[1][5] == "$0.013", "as reported, where our table lacks the model"
    assert money[2][-1] == "–"
    assert money[3][1:] == ["–"] * 6
    notes = found.text(found.find("ul", "footnotes", within=found.by_id("cost"))[0])
    assert "our table of prices lacks the model" in notes and "no answer was right" in notes


def test_no_model_no_money() -> None:
    made = answered(agent_model="none")
    for arm in made["arms"].values():
        arm["usage"]["answers"] |= {"cost_usd": None, "reported_usd": None, "attempts_usd": 0.0}
    found = page(made)
    assert len(tables(found, "cost")) == 2
    assert "No model was asked, so the answers cost no money." in found_text(found, "cost")


def test_failures_by_kind_and_by_status() -> None:
    made = answered()
    made["arms"]["files/folder"]["usage"]["answers"]["statuses"] = {"ok": 4600, "limit-money": 8}
    made["arms"]["files/folder"]["usage"]["answers"]["stores_changed"] = 2
    kinds, ended, only = tables(page(made), "failures")
    assert kinds[1][:2] == ["lexical/dossier", "15"]
    assert (column(kinds, "j, failures wrong")[0], column(kinds, "j, answered only")[0]) == (".620", ".630")
    assert ended[0] == ["arm", "limit-money", "limit-turns", "memory-timeout", "ok", "refused", "stores changed"]
    assert ended[1][1:] == ["0", "12", "3", "4,590", "3", "0"]
    assert ended[3][1:] == ["8", "0", "0", "4,600", "0", "2"]
    assert only[0][1:4] == ["n answered", "j", "j_lenient"]
    assert only[1][1:3] == ["1,521", ".630"]


def test_repetitions_or_why_there_are_none() -> None:
    made = answered()
    why = "every repetition gave the same scores"
    whole = f"{why}: a deterministic agent has one repetition"
    made["arms"]["files/folder"]["repetitions"]["j"] |= {"sd": None, "within_task_sd": None, "reason": whole}
    found = page(made)
    first, rest = tables(found, "repetitions")
    assert first[0] == ["arm", "tasks", "run 1", "run 2", "run 3", "mean", "SD of runs", "SD in a task"]
    assert first[1] == ["lexical/dossier", "1,536", ".616", ".620", ".624", ".620", ".004", ".070"]
    assert first[3][-2:] == ["–", "–"]
    assert why in found_text(found, "repetitions")
    assert "deterministic" not in found_text(found, "repetitions"), "said of a model, it would be a guess"
    made["arms"]["files/folder"]["model"] = "none"
    assert whole in found_text(page(made), "repetitions")
    assert len(rest) == 1 + 5 * 3
    once = answered() | {"repetitions": 1}
    for arm in once["arms"].values():
        arm["repetitions"] = {}
    single = page(once)
    assert "repetitions" not in [attrs.get("id") for _, attrs in single.elements]
    said = "answered by api, some-model once, so how much a re-run would move was not measured"
    assert said in found_text(single, "answers")


def test_arms_of_tools_and_files_have_no_dossier() -> None:
    found = page(answered())
    recall = found.by_id("arms")
    assert "No dossier, so no recall: markdown/tools (tools); files/folder (files)." in found.text(recall)
    table = tables(found, "arms")[0]
    assert table[1][2:] == [".600", ".685", ".770", ".855", ".905"]
    assert table[2][2:] == ["–"] * len(BUDGETS)
    assert "no dossier, so what it found cannot be graded" in found.text(
        found.find("ul", "footnotes", within=recall)[0]
    )
    wide = found.find("svg", "wide", within=recall)[0]
    assert len(found.find("g", "series", within=wide)) == 1


def test_few_comparisons_show_every_metric_and_many_the_headline() -> None:
    table = tables(page(answered()), "comparisons")[0]
    assert column(table, "metric") == ["j"] * 3, "18 on this split are too many"
    made = answered()
    made["comparisons"] = [
        row for row in made["comparisons"] if {row["a"], row["b"]} == {"lexical/dossier", "files/folder"}
    ]
    first = tables(page(made), "comparisons")[0]
    assert column(first, "metric") == list(OF_ANSWERS)
    assert column(first, "verdict")[0] == "primary: better"


def test_a_metric_named_after_a_model_with_a_date_is_no_budget() -> None:
    made = answered()
    name = "j:some-model@20250514"
    made["answer_metrics"] = [name, *made["answer_metrics"]]
    for arm in made["arms"].values():
        arm["metrics"][name] = est(0.5)
    assert name in tables(page(made), "answers")[0][0]
    assert Reading(made).metric(name).at is None
    assert {m.family for m in Reading(made).recall} == {"all"}


def test_a_headline_about_recall_keeps_its_chart_in_focus() -> None:
    made = answered() | {"headline_metric": "all@4000", "primary": None}
    found = page(made)
    assert tables(found, "answers")[0][0][:3] == ["arm", "n", "j"]
    assert found.find("rect", "focus", within=found.by_id("arms"))
    assert tables(found, "splits")[0][0][3:] == ["1k", "2k", "4k", "8k", "12k"]
    assert arm_table(made, 100).splitlines()[0] == "LOCOMO: all@B"


def test_controls_are_those_of_recall_and_keys_leave_judges_out() -> None:
    found = page(answered())
    assert "Controls at all@4k" in found_text(found, "controls")
    first = tables(found, "keys")[0]
    assert first[0] == ["key", "arm", "n", "f1", "exact_match", "bleu1", "locomo_f1"]
    assert "ceiling: gold that fits" not in [row[1] for row in first]


def test_the_guide_says_what_each_metric_counts() -> None:
    found = page(answered())
    guide = found_text(found, "guide")
    for said in ("share judged right (binary, some-large-model)", "as sets (F1)", "the data set's own score"):
        assert said in guide
    assert "all@Bthe share of questions" in guide and "answered onlythe same number" in guide
    assert "answered only" not in found_text(page(summary(2)), "guide")


def test_identity_names_agent_access_and_judges() -> None:
    made = answered()
    made["agent"]["options"]["model"] = "scripted//home/someone/replies.json"
    found = page(made)
    run, arms = tables(found, "identity")
    assert ["agent: name", "api"] in run and ["judge of j", "binary, some-large-model"] in run
    assert ["repetitions", "3"] in run
    assert column(arms, "access") == ["dossier", "tools", "folder"]
    assert "/home/someone" not in found.text(found.find("header")[0])
    assert found.text(found.find("h1")[0]).endswith("answered by a script (replies.json)")


def test_arms_without_a_dossier_have_no_tokens_of_one() -> None:
    building = tables(page(answered()), "cost")[2]
    assert column(building, "tokens per dossier p50") == ["11,960", "–", "–"]


def test_other_metrics_have_their_names_in_every_table_of_repetitions() -> None:
    found = page(answered("scripted"))
    first, scripted, rules = tables(found, "repetitions")
    assert "metric" not in first[0]
    assert set(column(scripted, "metric")) == {"j_lenient"}
    assert set(column(rules, "metric")) == {"f1", "exact_match", "bleu1", "locomo_f1"}
    titles = [found.text(i) for i in found.find("summary", within=found.by_id("repetitions"))]
    assert titles == ["Judged by a script", "Every other metric"]


def test_a_script_that_answers_and_one_that_judges() -> None:
    made = answered("scripted", agent_model="scripted")
    made["agent"]["options"]["model"] = "scripted/replies.json"
    found = page(made)
    banners = [found.text(i) for i in found.find("p", "banner")]
    assert banners[0] == "The answers are a script's, not a model's."
    assert len(banners) == 2
    titles = [found.text(i) for i in found.find("summary", within=found.by_id("comparisons"))]
    assert titles[-1].startswith("Not judged by a script")
    assert arm_table(made, 100).splitlines()[0] == "LOCOMO: answers by a script (replies.json)"
    only = answered(agent_model="scripted")
    only["judges"] = []
    words = found_text(page(only), "answers") + found_text(page(only), "comparisons")
    assert "by a script" not in words, "its answers were judged by rules"


@pytest.mark.parametrize("width", (24, 60, 80, 120))
@pytest.mark.parametrize("judge_model", ("real", "scripted"))
def test_the_terminal_keeps_its_width(width: int, judge_model: str) -> None:
    text = arm_table(answered(judge_model, audited=False), width)
    assert max(map(cell_len, text.splitlines())) <= width
    assert "answers by api" in " ".join(text.split())


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_strings_in_what_an_agent_leaves(hostile: str) -> None:
    made = answered()
    made["agent"] = {"name": hostile, "options": {"model": hostile}, hostile: hostile}
    made["judges"][0] |= {"name": hostile, "use": hostile, "id": hostile}
    made["judges"][0]["audit"]["kinds"] = {hostile: {"error": hostile, "rate": est(None, reason=hostile)}}
    made["titles"]["j"] = hostile
    for arm in made["arms"].values():
        arm["access"] = [hostile]
        arm["usage"]["answers"]["statuses"] = {hostile: 3}
        arm["repetitions"]["j"] = {"reason": hostile, "means": [hostile]}
    text = html.render(made)
    found = page(made)
    assert {tag for tag, _ in found.elements} <= {tag for tag, _ in page(answered()).elements} | {"circle"}
    for _, attrs in found.elements:
        assert not [name for name in attrs if name.startswith("on")]
    for said in (text, markdown.render(made), arm_table(made, 60)):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", said)
    assert not re.search(r"<[a-zA-Z!/]", markdown.render(made))


def test_broken_and_half_summaries_still_make_a_page() -> None:
    whole = answered()
    for broken in (
        whole | {"judges": [None, {"metric": "j"}], "agent": 3},
        whole | {"answer_metrics": ["j"], "judges": "no", "comparisons": []},
        {"answer_metrics": ["f1"], "arms": {"a": {"usage": {"answers": {"n": math.nan}}}}},
        {"answer_metrics": ["f1"], "arms": {"a": {"repetitions": {"f1": None}, "metrics": {"f1": 0.5}}}},
        {"answer_metrics": ["f1"]},
    ):
        copied = copy.deepcopy(broken)
        page(copied)
        assert markdown.render(copied).startswith("# ")
        assert arm_table(copied, 60)
