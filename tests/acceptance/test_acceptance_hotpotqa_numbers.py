"""The numbers of ``run hotpotqa``, computed anew, and what counts as found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hotpotqa_kit import KEYS, RunCases, case, scores
from scipy.optimize import brentq, minimize_scalar
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import proportion_confint

# -- the numbers ---------------------------------------------------------------------------------------------------


def tango(b: int, c: int, n: int) -> tuple[float, float]:
    """Tango's interval with the constrained likelihood maximised numerically, not by the closed form."""
    import numpy as np

    def score(d: float) -> float:
        def loss(q: float) -> float:
            parts = ((b, q + d), (c, q), (n - b - c, 1 - 2 * q - d))
            return -sum(k * np.log(max(p, 1e-300)) for k, p in parts if k)

        low, high = max(0.0, -d), (1 - d) / 2
        q = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-12}).x
        return float((b - c - n * d) / np.sqrt(n * (2 * q + d - d * d)))

    z = 1.959963984540054
    middle = (b - c) / n
    ends = (brentq(lambda d: score(d) - z, -0.999, middle - 1e-9), brentq(lambda d: score(d) + z, middle + 1e-9, 0.999))
    return float(ends[0]), float(ends[1])


def test_every_number_is_what_scipy_and_statsmodels_make_of_the_judgements(
    run_cases: RunCases, chosen: str, workplace: Path
) -> None:
    numbers = range(60)
    settings = ["a.modulus=10", "a.below=8", "a.pad=6000", "b.modulus=4", "b.below=2"]
    flags = [word for setting in settings for word in ("--set", setting)]
    summary = run_cases(
        [case(n) for n in numbers], "--memory", f"a={chosen},b={chosen}", *flags, "--no-controls",
        "--primary", "both@2000:a>b",
    )  # fmt: skip
    # What the arms must score follows from the memories alone: 6,000 letters are 1,500 tokens of chars4.
    hits = {
        ("a", "both@1000"): [n % 10 < 8 and n % 5 != 0 for n in numbers],
        ("a", "both@2000"): [n % 10 < 8 for n in numbers],
        ("a", "both@4000"): [n % 10 < 8 for n in numbers],
        ("a", "both@k10"): [n % 10 < 8 for n in numbers],
        ("a", "both@k2"): [n % 10 < 8 and n % 5 != 0 for n in numbers],
    } | {("b", key): [n % 4 < 2 for n in numbers] for key in (*KEYS, "both@k2")}
    ids = [case(n)["_id"] for n in numbers]
    for (arm, key), expected in hits.items():
        judged = scores(workplace / "r", key, arm)
        assert [judged[i] for i in ids] == [float(hit) for hit in expected], (arm, key)
        kinds = {
            None: expected,
            "bridge": [hit for n, hit in zip(numbers, expected, strict=True) if n % 3],
            "comparison": [hit for n, hit in zip(numbers, expected, strict=True) if not n % 3],
        }
        for kind, found in kinds.items():
            block = summary["arms"][arm]["categories"][kind] if kind else summary["arms"][arm]["metrics"]
            estimate = block[key]
            low, high = proportion_confint(sum(found), len(found), method="wilson")
            assert estimate["value"] == pytest.approx(sum(found) / len(found), abs=1e-12)
            if (
                len(found) - sum(found) <= 4
            ):  # next to 1 the far end is an exact bound (docs/statistics.md), never shorter
                assert high <= estimate["high"] < 1
                high = estimate["high"]
            assert (estimate["low"], estimate["high"]) == pytest.approx((low, high), abs=1e-9), (arm, key, kind)
            assert estimate["method"].startswith("wilson")
        recall = summary["arms"][arm]["metrics"][key.replace("both", "rec")]["value"]
        assert recall == pytest.approx((sum(expected) + 60) / 120, abs=1e-12)
    for key in ("both@1000", "both@2000", "both@4000"):
        (row,) = (r for r in summary["comparisons"] if r["metric"] == key and r["split"] == "all")
        pairs = list(zip(hits["a", key], hits["b", key], strict=True))
        b, c = pairs.count((True, False)), pairs.count((False, True))
        both = pairs.count((True, True))
        assert (row["a"], row["b"], row["wins"], row["losses"], row["ties"]) == ("a", "b", b, c, 60 - b - c)
        assert row["diff"]["value"] == pytest.approx((b - c) / 60, abs=1e-12)
        assert (row["diff"]["low"], row["diff"]["high"]) == pytest.approx(tango(b, c, 60), abs=1e-6)
        assert row["diff"]["method"] == "tango"
        assert row["test"] == "exact McNemar"
        expected_p = mcnemar([[both, b], [c, 60 - both - b - c]], exact=True).pvalue
        assert row["p"] == pytest.approx(expected_p, abs=1e-9)
        assert row["equal_budget"] is True
        assert row["primary"] is (key == "both@2000")
    assert summary["primary"]["metric"] == "both@2000"


def test_an_adjusted_p_is_never_below_the_p(run_cases: RunCases, chosen: str) -> None:
    flags = ["--set", "a.modulus=10", "--set", "a.below=8", "--set", "b.modulus=4", "--set", "b.below=2"]
    summary = run_cases([case(n) for n in range(60)], "--memory", f"a={chosen},b={chosen}", *flags, "--no-controls")
    for row in summary["comparisons"]:
        assert row["p_adjusted"] >= row["p"] - 1e-9, (row["metric"], row["p"], row["p_adjusted"])


def test_intervals_never_end_at_the_value_where_all_or_none_is_found(run_cases: RunCases, chosen: str) -> None:
    flags = ["--set", "none.below=0", "--no-controls"]
    summary = run_cases([case(n) for n in range(50)], "--memory", f"every={chosen},none={chosen}", *flags)
    for arm, value in (("every", 1.0), ("none", 0.0)):
        estimate = summary["arms"][arm]["metrics"]["both@1000"]
        low, high = proportion_confint(50 * value, 50, method="wilson")
        assert estimate["value"] == value
        assert estimate["low"] <= low + 1e-9
        assert estimate["high"] >= high - 1e-9
        assert estimate["method"] == "wilson"
    row = next(r for r in summary["comparisons"] if r["metric"] == "both@1000" and r["split"] == "all")
    assert row["diff"]["value"] == 1.0
    assert row["diff"]["low"] < 1.0
    assert row["p"] == pytest.approx(2 * 0.5**50, rel=1e-6)


def test_questions_that_share_a_gold_page_are_joined(run_cases: RunCases, chosen: str, workplace: Path) -> None:
    questions = [case(n) for n in range(50)]
    questions[7]["supporting_facts"][1] = ["Case 8 Beta", 0]
    questions[7]["context"].append(questions[8]["context"][2])
    summary = run_cases(questions, "--memory", f"a={chosen}", "--set", "a.modulus=2", "--no-controls")
    estimate = summary["arms"]["a"]["metrics"]["both@1000"]
    assert (estimate["n"], estimate["clusters"]) == (50, 49)
    low, high = proportion_confint(25, 50, method="wilson")
    assert estimate["high"] - estimate["low"] > high - low, "joined questions are worth less than single ones"
    clusters = {}
    for line in (workplace / "r" / "tasks.jsonl").read_text("utf-8").splitlines():
        task = json.loads(line)
        clusters[task["id"]] = task["cluster"]
    assert clusters[questions[7]["_id"]] == clusters[questions[8]["_id"]]


# -- what counts as found ------------------------------------------------------------------------------------------


def test_k_counts_distinct_pages_and_a_nameless_passage_is_one(run_cases: RunCases, chosen: str) -> None:
    arms = {"thrice": "thrice", "nameless": "nameless", "half": "half"}
    flags = [word for arm, shape in arms.items() for word in ("--set", f"{arm}.shape={shape}")]
    memories = ",".join(f"{arm}={chosen}" for arm in arms)
    summary = run_cases(
        [case(n, "Its coast is long.") for n in range(6)], "--memory", memories, *flags, "--no-controls"
    )
    value = {arm: {k: e["value"] for k, e in block["metrics"].items()} for arm, block in summary["arms"].items()}
    assert value["thrice"]["both@k2"] == 1, "a page in three pieces is one page"
    assert value["nameless"]["both@k5"] == value["nameless"]["both@k10"] == 0, "ten passages came before the second"
    assert value["nameless"]["both@k20"] == 1
    assert value["half"]["both@4000"] == value["half"]["rec@4000"] == 0, "half a page is not shown"


HOSTILE_WORDS = (
    "He wrote it [sic] (in 1990), see [a](b.md) and ![x](y.png).",
    "Array[0](x) and a]b[c, (d) [e",
    "Stars *here* and `code` and _lines_ and <b>tags</b> and 3 < 4 > 2.",
    r"A back\slash, \[not a link\](really), and C:\[x](y).",
    "Wiki [[brackets]] and [[two|words]], and a footnote [^1].",
    "Addresses such as https://example.org/(x)_[y] and [words](https://example.org/z.md).",
)


@pytest.mark.parametrize("shape", ["text", "unit"])
def test_both_corpora_are_graded_alike_whatever_brackets_a_page_has(
    shape: str, run_cases: RunCases, chosen: str
) -> None:
    questions = [case(n, HOSTILE_WORDS[n % len(HOSTILE_WORDS)]) for n in range(12)]
    value = {}
    for links in ("none", "titles"):
        flags = ["--set", f"m.shape={shape}", "--links", links, "--budgets", "4000,8000"]
        summary = run_cases(questions, "--memory", f"m={chosen},lexical,markdown", *flags, out=f"r-{links}")
        assert all(check["passed"] for check in summary["controls"]["oracle"]["checks"])
        arms = summary["arms"]
        value[links] = {arm: [arms[arm]["metrics"][f"both@{k}"]["value"] for k in (8000, "k10")] for arm in arms}
        assert value[links]["m"] == [1.0, 1.0], "a whole page was shown and not seen"
        assert value[links]["markdown"][0] == value[links]["lexical"][0] == 1.0
    assert value["none"]["m"] == value["titles"]["m"]
