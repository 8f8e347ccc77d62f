from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from locomo_files import conversation, question, turn

from memassay.data.catalogue import CATALOGUE
from memassay.data.integrity import sha256_of
from memassay.suites.locomo.corrections import load_corrections
from memassay.suites.locomo.facts import audit_facts, facts
from memassay.suites.locomo.load import load, parse

Made = list[dict[str, Any]]


def counts(value: Any) -> dict[str, int]:
    return {key: fact.count for key, fact in facts(parse(value, file="f")).items()}


def test_every_defect_is_counted_and_named() -> None:
    talk = {
        "session_1": [turn("D1:1"), turn("D1:2", "", blip_caption="a cat", img_url=["x"]), turn("D1:3", "")],
        "session_2": [],
    }
    qa = [
        question("A?", evidence=["D1:1;D1:02"]),
        question("B?", evidence=["D1:1", "D9:9"], category=1),
        question("C?", evidence=["D9:9"], category=2),
        question("D?", evidence=[], category=3, answer=7),
        question("A?"),
        question("A?", category=5),
    ]
    del qa[5]["answer"]
    one = conversation(qa=qa, **talk)
    one["conversation"]["session_8_date_time"] = "1:00 pm on 1 January, 2030"
    found = facts(parse([one], file="f"))
    assert {key: fact.count for key, fact in found.items()} == {
        "conversations": 1,
        "sessions": 2,
        "turns": 3,
        "questions": 6,
        "category_1": 1,
        "category_2": 1,
        "category_3": 1,
        "category_4": 2,
        "category_5": 1,
        "with_evidence": 4,
        "with_evidence_1_to_4": 3,
        "unresolvable": 3,
        "repaired": 1,
        "partly_resolvable": 1,
        "lost": 1,
        "without_evidence": 1,
        "duplicate_pairs": 1,
        "cross_category_repeats": 1,
        "number_answers": 1,
        "adversarial_without_answer": 1,
        "phantom_session_dates": 1,
        "empty_sessions": 1,
        "turns_without_text": 2,
        "turns_with_picture": 1,
        "turns_with_caption": 1,
    }
    assert found["unresolvable"].names == ("conv-1/q0", "conv-1/q1", "conv-1/q2")
    assert found["duplicate_pairs"].names == ("conv-1/q0 = conv-1/q4",)
    assert found["cross_category_repeats"].names == ("conv-1/q0 = conv-1/q5",)
    assert found["phantom_session_dates"].names == ("conv-1/session_8",)


def test_the_sample_has_facts_of_its_own(made: Made) -> None:
    found = counts(made)
    assert found["conversations"] == 8
    assert found["turns"] == sum(
        len(turns) for c in made for key, turns in c["conversation"].items() if isinstance(turns, list)
    )
    assert sum(found[f"category_{n}"] for n in range(1, 6)) == found["questions"] == sum(len(c["qa"]) for c in made)
    assert found["unresolvable"] == found["repaired"] + found["partly_resolvable"] + found["lost"] == 2
    assert (found["phantom_session_dates"], found["duplicate_pairs"], found["without_evidence"]) == (2, 1, 1)


@pytest.mark.data
def test_the_facts_of_the_real_file(real: Callable[[str], Path]) -> None:
    path = real("locomo10.json")
    entry = CATALOGUE["locomo"]
    assert (path.stat().st_size, sha256_of(path)) == (entry.size, entry.sha256)
    found = facts(load(path))
    assert {key: fact.count for key, fact in found.items()} == {
        "conversations": 10,
        "sessions": 272,
        "turns": 5882,
        "questions": 1986,
        "category_1": 282,
        "category_2": 321,
        "category_3": 96,
        "category_4": 841,
        "category_5": 446,
        "with_evidence": 1982,
        "with_evidence_1_to_4": 1536,
        "unresolvable": 9,
        "repaired": 6,
        "partly_resolvable": 3,
        "lost": 0,
        "without_evidence": 4,
        "duplicate_pairs": 11,
        "cross_category_repeats": 1,
        "number_answers": 6,
        "adversarial_without_answer": 444,
        "phantom_session_dates": 16,
        "empty_sessions": 0,
        "turns_without_text": 0,
        "turns_with_picture": 910,
        "turns_with_caption": 1226,
    }
    assert [fact.label for key, fact in found.items() if key.startswith("category_")] == [
        "category 1, multi-hop",
        "category 2, temporal",
        "category 3, open-domain",
        "category 4, single-hop",
        "category 5, adversarial",
    ]
    repaired = ("conv-26/q37", "conv-43/q18", "conv-49/q31", "conv-49/q38", "conv-49/q46", "conv-50/q69")
    assert found["repaired"].names == repaired
    assert found["partly_resolvable"].names == ("conv-42/q58", "conv-42/q88", "conv-47/q38")
    assert found["without_evidence"].names == ("conv-26/q30", "conv-26/q46", "conv-50/q39", "conv-50/q42")
    pairs = ["16/89", "25/90", "42/91", "58/92", "61/93", "62/94", "63/95", "67/96", "69/97", "72/98", "74/99"]
    assert found["duplicate_pairs"].names == tuple(
        f"conv-48/q{a} = conv-48/q{b}" for a, b in (pair.split("/") for pair in pairs)
    )
    assert found["cross_category_repeats"].names == ("conv-30/q61 = conv-30/q95",)
    assert found["phantom_session_dates"].names == tuple(f"conv-26/session_{n}" for n in range(20, 36))


@pytest.mark.data
def test_the_facts_of_the_real_audit(real: Callable[[str], Path]) -> None:
    path = real("locomo_audit_errors.json")
    entry = CATALOGUE["locomo-audit"]
    assert (path.stat().st_size, sha256_of(path)) == (entry.size, entry.sha256)
    found = audit_facts(load_corrections(path, load(real("locomo10.json"))))
    assert {key: found[key].count for key in ("corrections", "corrupting", "wrong_citation")} == {
        "corrections": 156,
        "corrupting": 99,
        "wrong_citation": 57,
    }
