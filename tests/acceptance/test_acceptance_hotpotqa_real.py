"""``hotpotqa`` on the real files: they verify, and the goals are met."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hotpotqa_kit import scores

from kit import ROOT, Cli

DATA = ROOT.parent / "shared" / "data"
# The declared settings of the published rows, benchmarks/locomo/anchors.py.
PUBLISHED = {
    "unit": "window", "window": 5, "stride": 2, "k1": 1.5, "b": 0.75, "stemmer": "english", "stop_words": "questions",
    "dates": "day", "index_dates": False, "title_weight": 2, "fill": "oldest",
}  # fmt: skip


def real(name: str) -> Path:
    if not (DATA / name).is_file():
        pytest.skip(f"{name} is not in ../shared/data")
    return DATA / name


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "file", "facts"),
    [
        ("hotpotqa-200", "hotpot_distractor_200.jsonl", (200, 151, 49, 1969)),
        ("hotpotqa-289", "hotpot_dev_289.jsonl", (289, 203, 86, 2846)),
    ],
)
def test_the_real_files_verify(name: str, file: str, facts: tuple[int, ...], cli: Cli) -> None:
    ran = cli("data", "verify", name, "--data", real(file), "--json")
    assert ran.code == 0, ran.err
    assert ran.json["checksum"] is True
    counts = {key: fact["count"] for key, fact in ran.json["facts"].items()}
    assert tuple(counts[key] for key in ("questions", "bridge", "comparison", "pages")) == facts
    rows = [json.loads(line) for line in real(file).read_text("utf-8").splitlines() if line.strip()]
    assert len(rows) == facts[0]
    assert len({title for row in rows for title, _ in row["context"]}) == facts[3]


@pytest.mark.data
@pytest.mark.slow
def test_the_goal_on_the_dev_questions_is_met(cli: Cli, workplace: Path) -> None:
    """The goal row of hotpot_dev_289: .95 in 1k tokens, .98 in 2k, .99 in 4k; ``lexical`` within .03 of BM25."""
    ran = cli(
        "run", "hotpotqa", "--stage", "retrieval", "--links", "titles", "--memory", "markdown,lexical", "--data",
        real("hotpot_dev_289.jsonl"), "--tokens", "chars4", "--primary", "both@1000:markdown>lexical", "--out", "r",
        "--json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    arms = ran.json["arms"]
    assert ran.json["suite_settings"]["pool"]["pages"] == 2846
    for key, goal in (("both@1000", 0.95), ("both@2000", 0.98), ("both@4000", 0.99)):
        estimate = arms["markdown"]["metrics"][key]
        judged = scores(workplace / "r", key, "markdown")
        assert estimate["value"] == pytest.approx(sum(judged.values()) / 289, abs=1e-12)
        assert estimate["value"] >= goal, (key, estimate)
    (row,) = (r for r in ran.json["comparisons"] if r["primary"])
    mine, other = (scores(workplace / "r", "both@1000", arm) for arm in ("markdown", "lexical"))
    b = sum(mine[task] > other[task] for task in mine)
    c = sum(mine[task] < other[task] for task in mine)
    assert (row["wins"], row["losses"]) == (b, c)
    assert row["verdict"] == "better"
    assert row["diff"]["method"].startswith("tango")


@pytest.mark.data
@pytest.mark.slow
def test_lexical_is_within_three_points_of_the_anchor(cli: Cli, workplace: Path) -> None:
    """BM25 of goals.md over title (twice) and body, no links: .322 @2, .612 @5, .820 @10, .924 @20.

    ``published`` has the declared settings of the reproduction. The defaults were chosen on other questions to be
    better, and may be above the row by any amount.
    """
    flags = [word for name, value in PUBLISHED.items() for word in ("--set", f"published.{name}={str(value).lower()}")]
    ran = cli(
        "run", "hotpotqa", "--links", "none", "--memory", "lexical,published=lexical", *flags, "--data",
        real("hotpot_dev_289.jsonl"), "--tokens", "chars4", "--no-controls", "--out", "r", "--json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    ours, declared = (ran.json["arms"][arm]["metrics"] for arm in ("lexical", "published"))
    for key, anchor in (("both@k2", 0.322), ("both@k5", 0.612), ("both@k10", 0.820), ("both@k20", 0.924)):
        assert abs(declared[key]["value"] - anchor) <= 0.03, (key, declared[key]["value"])
        assert ours[key]["value"] >= anchor - 0.03, (key, ours[key]["value"])
