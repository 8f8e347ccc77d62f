"""``run hotpotqa`` as its users call it: keys, report, defects of the data, refusals."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from acceptance_tools import stable
from hotpotqa_kit import KEYS, RunCases, case
from test_acceptance_locomo import check_shape

from kit import Cli
from memassay.data.catalogue import CATALOGUE

# -- the interface -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("links", ["none", "titles"])
def test_the_stable_interface_holds_with_the_defaults(links: str, run_cases: RunCases, workplace: Path) -> None:
    summary = run_cases([case(n) for n in range(48)], "--links", links, "--memory", "lexical,markdown")
    check_shape(summary, {"lexical", "markdown"})
    assert summary["suite"] == "hotpotqa"
    assert summary["suite_settings"]["links"] == links
    assert summary["suite_settings"]["pool"] == {"pages": 144, "links": 48 if links == "titles" else 0}
    assert summary["headline_metric"] in KEYS
    for arm in summary["arms"].values():
        assert arm["n"] == 48
        assert {"both@1000", "both@2000", "both@4000", "both@k10", "rec@1000", "rec@k10"} <= set(arm["metrics"])
        assert {name: block["n"] for name, block in arm["categories"].items()} == {"bridge": 32, "comparison": 16}
        for block in arm["categories"].values():
            assert set(KEYS) <= set(block)
        for key in KEYS:
            estimate = arm["metrics"][key]
            assert (estimate["n"], estimate["clusters"], estimate["method"]) == (48, 48, "wilson")
    assert json.loads((workplace / "r" / "summary.json").read_text("utf-8")) == summary


def test_the_report_has_the_curve_and_the_default_table_is_at_equal_tokens(
    run_cases: RunCases, workplace: Path
) -> None:
    run_cases([case(n) for n in range(6)], "--memory", "lexical,files", "--no-controls")
    html = (workplace / "r" / "report.html").read_text("utf-8")
    chart = re.search(r"<svg[^>]*aria-label=\"both@B against budget[^\"]*\"[^>]*>(.*?)</svg>", html, re.DOTALL)
    assert chart is not None
    assert all(name in chart[1] for name in ("lexical", "files"))
    drawn = re.findall(r"<(?:path|polyline)[^>]*(?:points|\bd)=\"([^\"]+)\"", chart[1])
    assert any(len(re.findall(r"[-\d.]+[ ,][-\d.]+", line)) >= 4 for line in drawn), "no line through the budgets"
    text = (workplace / "r" / "summary.md").read_text("utf-8")
    first = next(line for line in text.splitlines() if line.startswith("| arm"))
    assert [cell.strip() for cell in first.strip("|").split("|")] == ["arm", "n", "1k", "2k", "4k", "8k", "12k"]
    assert "https://" not in re.sub(r"<a [^>]*>", "", html), "the report loads nothing"


# -- defects and refusals ------------------------------------------------------------------------------------------


def test_defects_of_the_data_are_counted_and_not_guessed_away(run_cases: RunCases, cli: Cli, workplace: Path) -> None:
    questions = [case(n) for n in range(9)]
    questions.append({**case(0), "question": "Something else?"})
    questions[1]["supporting_facts"].append(["Nowhere", 0])
    questions[2]["supporting_facts"][1][1] = 9
    summary = run_cases(questions, "--memory", "files", "--no-controls")
    assert summary["arms"]["files"]["n"] == 9
    assert summary["suite_settings"]["repeated_ids"] == 1
    assert summary["suite_settings"]["unresolved_questions"] == 1
    tasks = [json.loads(line) for line in (workplace / "r" / "tasks.jsonl").read_text("utf-8").splitlines()]
    assert "Something else?" not in {task["prompt"] for task in tasks}, "the first of an id is kept"
    ran = cli("data", "verify", "hotpotqa", "--data", "cases.json", "--json")
    assert ran.code == 1, "it is not the catalogue's file"
    assert ran.json["checksum"] is False
    counts = {name: fact["count"] for name, fact in ran.json["facts"].items()}
    assert (counts["questions"], counts["bridge"], counts["comparison"]) == (9, 6, 3)
    assert (counts["pages"], counts["title_links"]) == (27, 9)
    assert (counts["repeated"], counts["lost_titles"], counts["lost_sentences"]) == (1, 1, 2)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda q: q["supporting_facts"][0].__setitem__(1, "x"), "supporting_facts[0][1]"),
        (lambda q: q.pop("question"), "question"),
        (lambda q: q["context"][1].__setitem__(1, "one text"), "context[1]"),
        (lambda q: q.__setitem__("type", 3), "type"),
        (lambda q: q.__setitem__("_id", ""), "_id"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line_that_says_where(
    change: Callable[[dict[str, Any]], Any], says: str, cli: Cli, workplace: Path
) -> None:
    questions = [case(n) for n in range(5)]
    change(questions[3])
    Path("bad.jsonl").write_text("\n".join(json.dumps(q) for q in questions), encoding="utf-8")
    ran = cli("run", "hotpotqa", "--data", "bad.jsonl", "--memory", "files", "--out", "r")
    assert ran.code == 2
    assert "bad.jsonl" in ran.complaint
    assert "line 4" in ran.complaint
    assert says in ran.complaint
    assert not (workplace / "r").exists()


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", "[1, 2]", '{"data": [', "\x00", "[" * 100_000])
def test_what_is_no_hotpotqa_at_all_is_refused(text: str, cli: Cli, workplace: Path) -> None:
    Path("bad.json").write_text(text, encoding="utf-8")
    ran = cli("run", "hotpotqa", "--data", "bad.json", "--memory", "files", "--out", "r")
    assert ran.code == 2
    assert "bad.json" in ran.complaint


@pytest.mark.parametrize(
    ("flags", "word"),
    [
        (["--links", "wiki"], "titles"),
        (["--memory", "nothing"], "nothing"),
        (["--data", "missing.json"], "missing.json"),
    ],
)
def test_wrong_words_are_answered_with_one_sentence(flags: list[str], word: str, cli: Cli, workplace: Path) -> None:
    Path("cases.json").write_text(json.dumps([case(n) for n in range(3)]), encoding="utf-8")
    given = ["--memory", "files", "--data", "cases.json", "--out", "r"]
    ran = cli("run", "hotpotqa", *given, *flags)
    assert ran.code in (2, 3)
    assert word in ran.complaint


def test_the_corpus_and_the_data_are_guarded_on_reentry(run_cases: RunCases, cli: Cli, workplace: Path) -> None:
    run_cases([case(n) for n in range(4)], "--memory", "files", "--no-controls")
    again = ["run", "hotpotqa", "--data", "cases.json", "--tokens", "chars4", "--memory", "files", "--no-controls"]
    refused = cli(*again, "--out", "r", "--links", "titles")
    assert refused.code == 2
    assert "links" in refused.complaint or "corpora" in refused.complaint
    Path("cases.json").write_text(json.dumps([case(n) for n in range(5)]), encoding="utf-8")
    refused = cli(*again, "--out", "r")
    assert refused.code == 2


def test_judged_again_without_the_data_and_the_stores(run_cases: RunCases, cli: Cli, workplace: Path) -> None:
    import shutil

    summary = run_cases([case(n) for n in range(8)], "--memory", "lexical,markdown", "--links", "titles")
    shutil.rmtree(workplace / "stores")
    Path("cases.json").unlink()
    shutil.rmtree(workplace / "r" / "judgements")
    ran = cli("judge", "r", "--json")
    assert ran.code == 0, ran.err
    assert stable(ran.json) == stable(summary)


def test_the_catalogue_pins_the_snapshot_of_the_original_address(cli: Cli) -> None:
    names = {row["name"]: row for row in cli("data", "list", "--json").json}
    assert {"hotpotqa", "hotpotqa-289", "hotpotqa-200"} <= set(names)
    assert CATALOGUE["hotpotqa"].url == (
        "https://web.archive.org/web/20260310132809id_/"
        "http://curtis.ml.cmu.edu/datasets/hotpot/hotpot_dev_distractor_v1.json"
    )
    assert re.fullmatch("[0-9a-f]{64}", CATALOGUE["hotpotqa"].sha256)
