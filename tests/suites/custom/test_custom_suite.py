from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memassay.core.contracts import Grading
from memassay.core.errors import DataError, UnknownName, UsageError
from memassay.core.registry import bind_options, suites
from memassay.suites.custom.suite import Custom

GRADING = Grading(tokens="chars4", budgets=(1000, 2000), ks=(5, 10))
Write = Callable[..., Path]


@pytest.fixture
def questions(jsonl: Write) -> Path:
    return jsonl(
        {"question": "Where is the tea?", "evidence": ["Tea is kept in the blue tin."], "category": "Kitchen things"},
        {"question": "What floods?", "evidence": ["The cellar floods in March."], "category": "cellar"},
        {"question": "Why?"},
    )


@pytest.fixture
def mine(folder: Path, questions: Path) -> Custom:
    return Custom(docs=str(folder), questions=str(questions))


def test_it_is_registered_and_takes_its_settings() -> None:
    assert suites.get("custom") is Custom
    bound = bind_options(Custom, {"docs": "a", "questions": "b"}, "suite")
    assert bound == {"docs": "a", "questions": "b", "sample": False, "seed": 20261130}


def test_nothing_is_read_before_it_is_needed(tmp_path: Path) -> None:
    """A report is made from the run folder alone, where the documents may be gone."""
    suite = Custom(docs=str(tmp_path / "none"), questions=str(tmp_path / "none.jsonl"))
    assert suite.data == "real" and suite.categories == suite.default_categories == ()
    assert suite.judges(GRADING) and suite.metrics(GRADING) and suite.sections({}) == ()
    with pytest.raises(DataError, match="there is no such folder or file"):
        suite.tasks()


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({}, "--docs FOLDER and --questions FILE.jsonl; or try it with --sample"),
        ({"docs": "a"}, "needs --questions FILE.jsonl;"),
        ({"questions": "a"}, "needs --docs FOLDER;"),
    ],
)
def test_what_is_missing_is_named(given: dict[str, str], missing: str) -> None:
    with pytest.raises(UsageError) as caught:
        Custom(**given).corpora()  # type: ignore[arg-type]
    assert missing in str(caught.value)


def test_a_sample_and_documents_exclude_each_other() -> None:
    with pytest.raises(UsageError, match="leave one of them out"):
        Custom(docs="a", sample=True)
    assert Custom(sample=True).data == "generated"


def test_corpora_and_tasks_fit_together(mine: Custom) -> None:
    (corpus,) = mine.corpora()
    units = {unit.id: unit for document in corpus.documents for unit in document.units}
    tasks = mine.tasks()
    assert [task.id for task in tasks] == ["q1", "q2", "q3"]
    for task in tasks:
        assert task.scope == corpus.id
        assert all(evidence.text in units[evidence.id].text for evidence in task.gold["original"].evidence)
    assert mine.tasks() is tasks and mine.corpora()[0] is corpus


def test_the_identity_follows_the_content_and_nothing_else(folder: Path, questions: Path, tmp_path: Path) -> None:
    def identity() -> Any:
        found = Custom(docs=str(folder), questions=str(questions)).identity()
        assert json.loads(json.dumps(found)) == found
        return found

    first = identity()
    assert first["documents"]["count"] == 4 and first["documents"]["skipped"] == 0
    assert first["questions"] == {"count": 3, "with_evidence": 2, "digest": first["questions"]["digest"]}
    moved = folder.rename(tmp_path / "elsewhere")
    assert Custom(docs=str(moved), questions=str(questions)).identity() == first
    moved.rename(folder)
    questions.write_text("\ufeff" + questions.read_text("utf-8").replace("\n", "\r\n"), encoding="utf-8")
    assert identity() == first
    (folder / "tea.md").write_text((folder / "tea.md").read_text("utf-8") + "\nNew.\n", encoding="utf-8")
    changed = identity()
    assert changed["documents"]["digest"] != first["documents"]["digest"]
    assert changed["questions"] == first["questions"]
    (folder / "scan.pdf").write_bytes(b"%PDF\0")
    assert identity()["documents"]["skipped_names"] == ["scan.pdf"]
    with questions.open("a", encoding="utf-8") as file:
        file.write('{"question": "Another?"}\n')
    assert identity()["questions"]["digest"] != first["questions"]["digest"]
    assert Custom(sample=True).identity() != Custom(sample=True, seed=1).identity()


def test_graders_and_metrics(mine: Custom) -> None:
    assert [judge.id for judge in mine.judges(GRADING)] == ["evidence"]
    metrics = mine.metrics(GRADING)
    assert [m.name for m in metrics] == [
        "all@1000", "all@2000", "any@1000", "any@2000", "rec@1000", "rec@2000",
        "all@k5", "all@k10", "any@k5", "any@k10", "rec@k5", "rec@k10",
    ]  # fmt: skip
    assert [m.budget for m in metrics] == [1000, 2000] * 3 + [None] * 6
    assert all(m.title for m in metrics)


@pytest.mark.parametrize(
    ("token", "name"), [("cellar", "cellar"), ("kitchen-things", "Kitchen things"), ("General", "general")]
)
def test_categories_are_those_of_the_questions(mine: Custom, token: str, name: str) -> None:
    assert mine.category_name(token) == name


def test_an_unknown_category_gets_a_suggestion(mine: Custom) -> None:
    with pytest.raises(UnknownName, match=r"Unknown category 'celar'\. Did you mean 'cellar'\?"):
        mine.category_name("celar")


# -- what it adds to a report --------------------------------------------------------------------------------------


def summary(n: int, clusters: int, **more: Any) -> dict[str, Any]:
    estimate = {"value": 0.5 if n else None, "n": n, "clusters": clusters}
    return {"headline_metric": "all@4000", "arms": {"a": {"reason": None, "metrics": {"all@4000": estimate}}}, **more}


@pytest.mark.parametrize(
    ("n", "clusters", "there", "missing"),
    [
        (20, 3, ["20 questions", "only large differences", "fewer than 6 sources"], ["About 120"]),
        (80, 8, ["80 questions", "About 120 of them"], ["only large", "sources no"]),
        (150, 9, ["150 questions", "9 independent sources."], ["About 120", "only large", "left out"]),
        (150, 1, ["1 independent source."], []),
        (0, 0, ["No question names evidence"], ["independent"]),
    ],
)
def test_sections_say_how_far_the_questions_reach(n: int, clusters: int, there: list[str], missing: list[str]) -> None:
    (section,) = Custom().sections(summary(n, clusters))
    assert all(words in section.text for words in there)
    assert not any(words in section.text for words in missing)


def test_sections_name_the_files_that_were_left_out() -> None:
    settings = {"documents": {"skipped": 2, "skipped_names": ["a.pdf", "b.pdf"]}}
    (section,) = Custom().sections(summary(150, 9, suite_settings=settings))
    assert "2 files of the folder were left out because they are not text: a.pdf, b.pdf." in section.text


@pytest.mark.parametrize("odd", [{}, {"arms": 3}, {"arms": {"a": None}}, {"arms": {"a": {"reason": "no model"}}}])
def test_sections_of_an_odd_summary(odd: dict[str, Any]) -> None:
    assert len(Custom().sections(odd)) <= 1
