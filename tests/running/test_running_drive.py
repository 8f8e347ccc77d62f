"""What becomes of a memory that fails: a record of one of the four kinds, never a lost cell or a dead run."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memassay.core.types import Status
from memassay.running.experiment import experiment_of
from memassay.running.observing import Silent
from memassay.running.pipeline import Place, rejudge, run_experiment
from memassay.runs.folder import RunFolder
from memassay.runs.lines import read_lines

Run = Callable[..., tuple[Any, Path]]


def statuses(folder: Path, arm: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for segment in RunFolder(folder).segments():
        for _, record in read_lines(segment):
            if record["cell"]["arm"] == arm and not record["cell"]["task"].startswith("marker/"):
                found.setdefault(record["cell"]["task"], []).append(record["status"])
    return found


def value(summary: Any, arm: str, metric: str = "all@400") -> Any:
    return summary["arms"][arm]["metrics"][metric]["value"]


def test_a_memory_that_works(small_run: Run) -> None:
    summary, folder = small_run("r", {"toy": {}, "async": {}})
    assert summary["cells"] == {"planned": 152, "counted": 152, "attempts": 0, "duplicates": 0, "differing": 0}
    assert value(summary, "toy") == value(summary, "async") > 0.5
    assert {s for tries in statuses(folder, "toy").values() for s in tries} == {"ok"}
    assert all(control["passed"] for control in summary["controls"].values()), summary["publishable"]


def test_async_methods_are_awaited(small_run: Run, toy: str) -> None:
    memories = {"sync": {}, "async": {"use": toy.replace(":Toy", ":AsyncToy")}}
    summary, _ = small_run("r", memories, limit=8)
    assert value(summary, "sync") == value(summary, "async") is not None


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        ("raise", "memory-crash"),
        ("empty-store", "memory-empty-store"),
        ("string", "memory-crash"),
        ("wrong-item", "memory-crash"),
        ("none", "memory-crash"),
    ],
)
def test_a_failing_memory_is_wrong_in_the_primary_and_shown_the_other_way_too(
    small_run: Run, fault: str, status: str
) -> None:
    summary, folder = small_run("r", {"toy": {"fault": fault, "where": "kettle"}, "good": {}})
    found = statuses(folder, "toy")
    failed = [task for task, tries in found.items() if tries == [status]]
    assert 0 < len(failed) < len(found)
    assert {s for tries in found.values() for s in tries} == {status, "ok"}
    assert summary["arms"]["toy"]["failures"]["memory"] == len(failed)
    assert summary["arms"]["toy"]["n"] == summary["arms"]["good"]["n"] == 24
    assert value(summary, "toy") == pytest.approx(value(summary, "good") - lost(folder, failed) / 24)
    second = summary["arms"]["toy"]["secondary"]["answered_only"]
    assert second["n"] == 24 - len(failed)
    for _, record in read_lines(folder / "answers-1of1.jsonl"):
        assert "\n" not in record["detail"]
        if record["status"] == status and fault == "raise":
            assert "it broke" in record["detail"]


def lost(folder: Path, tasks: list[str]) -> float:
    """How many of these tasks the good arm got right."""
    verdicts = RunFolder(folder).judgements("evidence")
    return sum(verdicts[task, "good", 0, 0].scores["all@400"] or 0.0 for task in tasks)


def test_a_memory_that_hangs_times_out(small_run: Run) -> None:
    started = time.monotonic()
    summary, folder = small_run(
        "r", {"toy": {"fault": "hang", "where": "kettle"}}, limits={"retrieve_seconds": 0.1}, controls=False
    )
    assert time.monotonic() - started < 10
    found = {tries[0] for tries in statuses(folder, "toy").values()}
    assert found == {"ok", "memory-timeout"}
    assert summary["arms"]["toy"]["failures"]["memory"] > 0


@pytest.mark.parametrize("fault", ["raise", "empty-store"])
def test_a_failing_build_counts_against_the_memory(small_run: Run, fault: str) -> None:
    summary, folder = small_run("r", {"toy": {"build_fault": fault}, "good": {}}, limit=8)
    assert value(summary, "toy") == 0.0
    assert value(summary, "good") > 0
    assert summary["arms"]["toy"]["failures"]["memory"] == 8
    builds = [b for b in RunFolder(folder).builds() if b.memory == "toy"]
    assert builds
    assert all(b.status.startswith("memory-") and b.store is None for b in builds)


def test_a_full_disk_while_building_is_not_the_memorys_failure(small_run: Run) -> None:
    from memassay.core.errors import EnvironmentProblem

    with pytest.raises(EnvironmentProblem, match="full"):
        small_run("r", {"toy": {"build_fault": "disk"}}, limit=4)


def test_a_build_that_hangs_times_out(small_run: Run) -> None:
    summary, folder = small_run(
        "r", {"toy": {"build_fault": "hang"}}, clusters=2, limits={"build_seconds": 0.1}, controls=False
    )
    assert {b.status for b in RunFolder(folder).builds()} == {"memory-timeout"}
    assert value(summary, "toy") == 0.0


def test_a_memory_that_cannot_be_measured_is_null_with_the_reason_and_no_obstacle(small_run: Run) -> None:
    summary, folder = small_run("r", {"toy": {"build_fault": "cannot"}, "good": {}})
    arm = summary["arms"]["toy"]
    assert "needs a model" in arm["reason"]
    for estimate in arm["metrics"].values():
        assert estimate["value"] is estimate["low"] is None
        assert "needs a model" in estimate["reason"]
    assert statuses(folder, "toy") == {}
    assert value(summary, "good") > 0
    assert not [r for r in summary["publishable"]["reasons"] if "missing" in r]
    again = rejudge(RunFolder(folder))
    assert again["arms"] == summary["arms"]


def test_a_store_that_nobody_can_ask_is_null_with_the_reason(small_run: Run) -> None:
    """Principle 6: where a memory cannot be measured the value is null with a reason, never 0."""
    summary, _ = small_run("r", {"toy": {"fault": "no-retrieve"}, "good": {}}, limit=8)
    estimate = summary["arms"]["toy"]["metrics"]["all@400"]
    assert estimate["value"] is None
    assert "retrieve" in estimate["reason"]


def test_a_memory_that_says_at_a_question_that_it_cannot_be_measured_is_null(small_run: Run) -> None:
    summary, _ = small_run("r", {"toy": {"fault": "cannot"}, "good": {}}, limit=8)
    assert value(summary, "toy") is None


def test_a_wrong_setting_found_by_the_constructor_is_the_users_mistake(small_run: Run) -> None:
    from memassay.core.errors import MemassayError

    with pytest.raises(MemassayError, match="does not like this"):
        small_run("r", {"toy": {"fault": "constructor"}})


def test_an_odd_score_of_a_passage_does_no_harm(small_run: Run) -> None:
    summary, folder = small_run("r", {"toy": {"fault": "nan"}}, limit=8, controls=False)
    assert value(summary, "toy") is not None
    assert {s for tries in statuses(folder, "toy").values() for s in tries} <= {"ok", "memory-crash"}
    json.loads((folder / "summary.json").read_text(), parse_constant=lambda word: pytest.fail(word))


# -- providers -----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_backoff")
def test_an_unfinished_provider_failure_removes_the_task_from_all_arms(small_run: Run) -> None:
    summary, folder = small_run("r", {"toy": {"fault": "network", "where": "kettle"}, "good": {}})
    found = statuses(folder, "toy")
    failed = {task for task, tries in found.items() if set(tries) == {"network"}}
    assert failed
    assert all(len(found[task]) == 3 for task in failed)
    assert summary["arms"]["toy"]["n"] == summary["arms"]["good"]["n"] == 24 - len(failed)
    assert summary["arms"]["toy"]["failures"]["provider"] == len(failed)
    assert any("provider" in reason for reason in summary["publishable"]["reasons"])
    assert summary["cells"]["attempts"] >= 2 * len(failed)


@pytest.mark.usefixtures("no_backoff")
def test_a_resume_retries_provider_failures_only_and_counts_on(small_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    memories = {"toy": {"fault": "network", "where": "kettle"}, "bad": {"fault": "raise", "where": "violin"}}
    _, folder = small_run("r", memories)
    before = statuses(folder, "toy"), statuses(folder, "bad")
    from memassay.core import registry

    factory: Any = registry.memories.get([n for n in registry.memories._loaded if n.endswith(":Toy")][-1])
    go_wrong = vars(__import__("sys").modules[factory.__module__])
    monkeypatch.setitem(go_wrong, "go_wrong", lambda fault: None)  # the network is back, the memory is mended
    summary, _ = small_run("r", memories)
    after = statuses(folder, "toy"), statuses(folder, "bad")
    assert after[1] == before[1], "a memory's failure counts and is not tried again"
    for task, tries in after[0].items():
        assert tries == before[0][task] + (["ok"] if "network" in before[0][task] else [])
    assert summary["arms"]["toy"]["n"] == 24
    attempts = [r["attempt"] for _, r in read_lines(folder / "answers-1of1.jsonl") if r["cell"]["arm"] == "toy"]
    assert max(attempts) == 4


def test_no_time_is_spent_after_the_last_attempt(small_run: Run) -> None:
    started = time.monotonic()
    small_run("s", {"toy": {"fault": "network"}}, clusters=2, limit=1, controls=False)
    assert time.monotonic() - started < 3.2  # two waits of .5 and 1 second between three attempts


# -- the harness ---------------------------------------------------------------------------------------------------


def test_a_bug_of_the_harness_is_not_the_memorys(small_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Principle 2: our bug is of the kind "harness" and makes the run unpublishable; the memory is not blamed."""
    from memassay.running import drive

    def broken(*args: Any) -> None:
        raise ZeroDivisionError("a bug of ours")

    monkeypatch.setattr(drive, "trimmed", broken)
    summary, folder = small_run("r", limit=4)
    kinds = {Status(s).kind for tries in statuses(folder, "toy").values() for s in tries}
    assert kinds == {"harness"}
    assert any("harness" in reason for reason in summary["publishable"]["reasons"])


# -- workers, resume -----------------------------------------------------------------------------------------------


def test_a_finished_run_asks_and_builds_nothing_again(small_run: Run, tmp_path: Path) -> None:
    log = tmp_path / "log"
    first, folder = small_run("r", {"toy": {"log": str(log)}})
    calls = log.read_text()
    assert calls.count("ask ") == 28
    assert calls.count("build ") == 8
    files = {p.name: p.read_bytes() for p in folder.glob("*.jsonl")}
    second, _ = small_run("r", {"toy": {"log": str(log)}})
    assert log.read_text() == calls
    assert {p.name: p.read_bytes() for p in folder.glob("*.jsonl")} == files
    assert {**second, "test_reads": 0} == {**first, "test_reads": 0}


def test_stores_are_shared_between_runs(small_run: Run, tmp_path: Path) -> None:
    log = tmp_path / "log"
    small_run("one", {"toy": {"log": str(log)}})
    small_run("two", {"again": {"log": str(log)}}, budgets=[50])
    assert log.read_text().count("build ") == 8
    _, third = small_run("three", {"toy": {"log": str(log), "note": "other settings"}})
    assert log.read_text().count("build ") == 16
    assert all(b.reused is False for b in RunFolder(third).builds())


def test_a_store_that_was_changed_is_refused(small_run: Run, tmp_path: Path) -> None:
    from memassay.core.errors import EnvironmentProblem

    _, folder = small_run("r")
    rows = next((tmp_path / "runs" / "stores").rglob("rows.json"))
    rows.write_text("[]")
    (folder / "answers-1of1.jsonl").unlink()
    with pytest.raises(EnvironmentProblem, match="changed"):
        small_run("r")


def test_builds_are_replicates_inside_a_task(small_run: Run, tmp_path: Path) -> None:
    log = tmp_path / "log"
    summary, _ = small_run("r", {"toy": {"log": str(log)}}, builds=3)
    assert log.read_text().count("build ") == 24
    assert summary["arms"]["toy"]["n"] == 24
    assert summary["cells"]["planned"] == 24 * (3 + 4) + 4 * 3


def test_workers_run_at_once(small_run: Run) -> None:
    times = []
    for workers in (1, 8):
        started = time.monotonic()
        small_run(f"w{workers}", {"toy": {"delay": 0.03}}, controls=False, workers=workers)
        times.append(time.monotonic() - started)
    assert times[0] > 24 * 0.03
    assert times[1] < times[0] * 0.7


def test_the_agents_answer_is_recorded(small_run: Run) -> None:
    _, folder = small_run("r", agent="noop", limit=4, controls=False)
    for _, record in read_lines(folder / "answers-1of1.jsonl"):
        assert [step["name"] for step in record["steps"]] == ["retrieve", "answer"]


SPY = """
class Spy:
    def build(self, corpus, place, context):
        self.note(corpus.model_dump_json())

    def open(self, ref):
        return self

    def retrieve(self, query):
        self.note(query.model_dump_json())
        return []

    def note(self, line):
        with open(SEEN, "a", encoding="utf-8") as file:
            file.write(line + "\\n")
"""


def test_gold_never_reaches_a_memory(small_file: Callable[..., Path], tmp_path: Path) -> None:
    """A query holds the question and its date; nothing of task or gold."""
    seen = tmp_path / "seen"
    path = tmp_path / "spy.py"
    path.write_text(SPY.replace("SEEN", repr(str(seen))), encoding="utf-8")
    experiment = experiment_of(
        {
            "suite": "locomo",
            "options": {"data": str(small_file(2, 4))},
            "memories": {"spy": {"use": f"{path}:Spy"}},
            "tokens": "chars4",
            "budgets": [40],
            "controls": False,
        }
    )
    run_experiment(experiment, Place(out=tmp_path / "r"))
    lines = seen.read_text(encoding="utf-8").splitlines()
    queries = [json.loads(line) for line in lines if '"budget_tokens"' in line]
    assert len(queries) == 8
    for query in queries:
        assert set(query) == {"text", "as_of", "budget_tokens", "limit"}
        assert query["budget_tokens"] == 40
        assert query["as_of"].startswith("2023-05-07")  # the real last session
    assert "answer 0" not in "".join(lines)


def test_whoever_watches_is_told_what_is_being_built(small_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(Silent, "building", lambda self, text: said.append(text))
    small_run("r", {"plain": {"use": "files"}}, clusters=2, limit=2, controls=False)
    assert said[:2] == ["building plain, 4 documents", "building plain, 4 documents, 25 % done"]
    assert said.count("building plain, 4 documents, 100 % done") == 2
    said.clear()
    small_run("again", {"plain": {"use": "files"}}, clusters=2, limit=2, controls=False)
    assert said == [], "nothing is built"
