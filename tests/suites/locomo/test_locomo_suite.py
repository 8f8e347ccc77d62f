from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memassay.core.contracts import Grading
from memassay.core.errors import DataError, UnknownName, UsageError
from memassay.core.registry import suites
from memassay.suites.locomo.suite import Locomo

GRADING = Grading(tokens="chars4", budgets=(1000, 2000), ks=(5, 10))
Made = list[dict[str, Any]]


@pytest.fixture
def file(tmp_path: Path, made: Made) -> Path:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(made), encoding="utf-8")
    return path


@pytest.fixture
def audit(tmp_path: Path, made: Made) -> Path:
    items = [
        {
            "question_id": f"locomo_0_qa{place}",
            "question": made[0]["qa"][place]["question"],
            "error_type": kind,
            "correct_evidence": ["D1:1"],
            "correct_answer": "corrected",
        }
        for place, kind in ((0, "WRONG_CITATION"), (1, "HALLUCINATION"))
    ]
    path = tmp_path / "audit.json"
    path.write_text(json.dumps(items), encoding="utf-8")
    return path


def test_it_is_registered() -> None:
    assert suites.get("locomo") is Locomo


def test_real_or_generated(file: Path) -> None:
    assert Locomo(sample=True).data == "generated"
    assert Locomo(data=str(file)).data == "real"
    with pytest.raises(UsageError, match="either a data file or the sample"):
        Locomo(data=str(file), sample=True)


def test_nothing_is_read_before_it_is_needed(tmp_path: Path) -> None:
    suite = Locomo(data=str(tmp_path / "none.json"), corrections=str(tmp_path / "none-either.json"))
    assert suite.gold_keys == ("original", "audit-excluded", "audit-corrected")
    with pytest.raises(DataError, match=r"none\.json: no such file"):
        suite.tasks()


def test_the_identity_says_what_could_change_a_number(file: Path, audit: Path) -> None:
    one, two = Locomo(sample=True).identity(), Locomo(sample=True, seed=1).identity()
    assert one["sample"] != two["sample"] and "data" not in one
    mine = Locomo(data=str(file)).identity()
    assert mine["data"]["catalogue"] is False  # type: ignore[index, call-overload]
    with_audit = Locomo(data=str(file), corrections=str(audit)).identity()
    assert with_audit["data"] == mine["data"]
    assert with_audit["corrections"]["catalogue"] is False  # type: ignore[index, call-overload]
    moved = file.rename(file.with_name("elsewhere.json"))
    assert Locomo(data=str(moved)).identity() == mine
    moved.write_text(moved.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert Locomo(data=str(moved)).identity() != mine


def test_graders_and_metrics(file: Path, audit: Path) -> None:
    plain, audited = Locomo(data=str(file)), Locomo(data=str(file), corrections=str(audit))
    assert [judge.id for judge in plain.judges(GRADING)] == ["evidence"]
    keys = [judge.config["key"] for judge in audited.judges(GRADING)]
    assert keys == ["original", "audit-excluded", "audit-corrected"]
    metrics = plain.metrics(GRADING)
    assert [m.name for m in metrics] == [
        "all@1000", "all@2000", "any@1000", "any@2000", "rec@1000", "rec@2000",
        "all@k5", "all@k10", "any@k5", "any@k10", "rec@k5", "rec@k10",
    ]  # fmt: skip
    assert [m.budget for m in metrics] == [1000, 2000] * 3 + [None] * 6
    assert all(m.title for m in metrics)


@pytest.mark.parametrize(
    ("token", "name"),
    [("1", "multi-hop"), (" 2 ", "temporal"), ("Open-Domain", "open-domain"), ("single_hop", "single-hop"),
     ("multi hop", "multi-hop"), ("5", "adversarial")],
)  # fmt: skip
def test_categories_by_number_and_name(token: str, name: str) -> None:
    assert Locomo(sample=True).category_name(token) == name


@pytest.mark.parametrize("token", ["0", "6", "", "multihop", "singlehop"])
def test_an_unknown_category_gets_a_suggestion(token: str) -> None:
    with pytest.raises(UnknownName, match="Unknown category") as caught:
        Locomo(sample=True).category_name(token)
    assert "multi-hop" in str(caught.value) or "single-hop" in str(caught.value)


def test_the_default_categories_are_one_to_four() -> None:
    suite = Locomo(sample=True)
    assert suite.default_categories == suite.categories[:4]
    assert suite.categories[4] == "adversarial"


def test_sensitivities_name_what_is_left_out(file: Path) -> None:
    suite = Locomo(data=str(file))
    ((title, ids),) = suite.sensitivities().items()
    assert title == "without duplicates and partly resolvable"
    marks = {t.id: t.payload for t in suite.tasks()}
    assert len(ids) == 2
    assert {"duplicate_of", "partly_unresolved"} == {key for i in ids for key in marks[i]} - {"category_number"}
    few = [t for t in suite.tasks() if "duplicate_of" in t.payload]
    assert suite.sensitivities(few) == {title: {few[0].id}}


def test_verify_counts(file: Path) -> None:
    assert Locomo.verify("locomo", file)["conversations"].count == 8


def test_an_audit_for_another_file_is_refused(file: Path, audit: Path, made: Made) -> None:
    made[0]["qa"].insert(0, made[0]["qa"].pop())
    file.write_text(json.dumps(made), encoding="utf-8")
    with pytest.raises(DataError, match=r"audit\.json: item 0 .*the audit asks"):
        Locomo(data=str(file), corrections=str(audit)).tasks()


@pytest.mark.data
def test_the_suite_on_the_real_files(real: Callable[[str], Path]) -> None:
    suite = Locomo(data=str(real("locomo10.json")), corrections=str(real("locomo_audit_errors.json")))
    identity = json.loads(json.dumps(suite.identity()))
    assert identity["data"]["catalogue"] is True and identity["corrections"]["catalogue"] is True
    found = suite.tasks()
    assert len(found) == len({t.id for t in found}) == 1986
    run = [t for t in found if t.category in suite.default_categories and t.gold["original"].evidence]
    assert len(run) == 1536
    assert sum(t.split == "test" for t in run) == 1305
    assert {t.scope for t in run if t.split == "dev"} == {"conv-26", "conv-30"}
    assert len(suite.sensitivities()["without duplicates and partly resolvable"]) == 14
    units = {(c.id, u.id): u for c in suite.corpora() for d in c.documents for u in d.units}
    assert len(units) == 5882
    for task in run:
        assert all(units[task.scope, e.id].text == e.text for e in task.gold["original"].evidence)
    assert next(t for t in found if t.id == "conv-30/q95").payload["repeats"] == "conv-30/q61"
    assert sum(len(c.documents) for c in suite.corpora()) == 272
