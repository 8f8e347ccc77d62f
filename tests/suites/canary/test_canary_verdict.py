from __future__ import annotations

from typing import Any

import pytest

from memassay.suites.canary.verdict import in_words


def conclusion(verdict: str | None, *challenges: tuple[str, str, list[str]], **choice: Any) -> dict[str, Any]:
    return {
        "budget": 2000,
        "rule": "default",
        "weights": {"name": "uniform"},
        "questions": {"asked": 66, "compared": 64, "without_gold": 0},
        "memories": [{}] * (1 + len(challenges)),
        "choice": {
            "verdict": verdict,
            "incumbent": "lexical",
            "adopted": None,
            "reason": "The rule says something.",
            "best": None,
            "challenges": [{"challenger": n, "verdict": v, "reasons": why} for n, v, why in challenges],
            **choice,
        },
    }


def test_what_is_adopted_and_why() -> None:
    text = in_words(
        conclusion(
            "adopt",
            ("markdown", "adopt", ["the weighted gap is +21.0 points", "sign-flip p = 0.001"]),
            ("files", "reject", ["the weighted gap is -30.0 points"]),
            ("hybrid", "no decision", ["the weighted gap is +1.0 points"]),
            adopted="markdown",
            reason="markdown beats lexical by the rule.",
            best={"members": ["markdown"]},
        )
    )
    assert text == (
        "Adopt markdown: markdown beats lexical by the rule. markdown: the weighted gap is +21.0 points; sign-flip "
        "p = 0.001. Rejected: files. All at 2,000 tokens, on 64 of 66 questions, weights uniform, rule default. Not "
        "shown to be worse than another memory: markdown."
    )


def test_the_incumbent_is_kept_with_a_number_for_every_challenger() -> None:
    two = [("files", "reject", ["gap -30", "p = 0.001"]), ("full-context", "reject", ["gap -40", "p = 0.002"])]
    text = in_words(conclusion("keep", *two))
    assert text.startswith("Keep lexical: the rule says something. files: gap -30. full-context: gap -40. All at ")
    assert "files: gap -30; p = 0.001." in in_words(conclusion("keep", two[0]))


@pytest.mark.parametrize("verdict", ["no decision", None])
def test_no_decision_is_not_a_tie(verdict: str | None) -> None:
    found = conclusion(verdict, ("markdown", "no decision", ["gap +4", "p = 0.4"]), reason="About 300 would settle it.")
    text = in_words(found)
    assert text.startswith("No decision: about 300 would settle it.") and text.endswith("No decision is not a tie.")
    assert ("markdown: gap +4; p = 0.4." in text) == (verdict is not None)
    found["questions"]["without_gold"] = 3
    assert "3 questions have no gold and decide nothing: write an answer and the doc in which" in in_words(found)
    found["questions"]["without_gold"] = 1
    assert "1 question has no gold and decides nothing: write" in in_words(found)


def test_the_cheapest_of_the_set_of_the_best() -> None:
    best = {"members": ["hybrid", "lexical"]}
    found = conclusion("no decision", ("hybrid", "no decision", ["gap +4"]), best=best, cheapest="lexical")
    found["memories"].append({})
    assert "another memory: hybrid, lexical. The cheapest of them by the rule for costs: lexical." in in_words(found)


def test_stand_ins_are_named_and_real_judges_speak_for_themselves() -> None:
    found = conclusion("keep", ("files", "reject", ["gap -30"]))
    found["judged"] = {"real": False, "reason": "scripted judges decide nothing"}
    assert "The choice does not rest on the judges: scripted judges decide nothing." in in_words(found)
    found["judged"] = {"real": True, "reason": None}
    assert "the judges" not in in_words(found)
