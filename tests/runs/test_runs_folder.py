from __future__ import annotations

import itertools
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memassay.core.errors import DataError, GuardError
from memassay.core.types import (
    Answer,
    BuildReport,
    CellKey,
    Dossier,
    Evidence,
    Gold,
    Judgement,
    Passage,
    Status,
    Task,
)
from memassay.runs.folder import RunFolder
from memassay.runs.ledger import ledger, log_test_read
from memassay.runs.ledger import test_reads as count_test_reads
from memassay.runs.records import key_of, to_line

IDENTITY: dict[str, Any] = {"suite": "s", "tokens": "chars4", "arms": {"a": {"options": {"k": 1}}}}
TASKS = [
    Task(
        id=f"c/q{n}", suite="s", scope="c", cluster="c", category="x", prompt=f"é {n}?",
        gold={"original": Gold(answer="a", evidence=(Evidence(id="D1:1", text="t"),))},
    )
    for n in range(3)
]  # fmt: skip


def cell(task: str = "c/q0", arm: str = "a") -> CellKey:
    return CellKey(task=task, arm=arm)


def answer(status: Status, attempt: int = 1, task: str = "c/q0", arm: str = "a") -> Answer:
    return Answer(cell=cell(task, arm), attempt=attempt, status=status)


def entered(path: Path, writer: str = "1of1", **identity: Any) -> RunFolder:
    run = RunFolder(path)
    run.enter({**IDENTITY, **identity}, {}, writer, {"python": "3"}, TASKS)
    return run


def record(run: RunFolder, *answers: Answer, writer: str = "1of1") -> None:
    with run.answer_writer(writer) as lines:
        for one in answers:
            lines.append(to_line(one))


# -- entering ------------------------------------------------------------------------------------------------------


def test_a_new_folder_holds_manifest_and_tasks(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "a" / "b c é")
    assert run.enter(IDENTITY, {"suite": "s"}, "1of1", {"python": "3"}, TASKS) is False
    assert run.tasks() == TASKS
    assert run.manifest["identity"] == IDENTITY
    assert run.manifest["writers"] == {"1of1": [{"python": "3"}]}
    assert run.enter(IDENTITY, {"suite": "s"}, "1of1", {"python": "3"}, TASKS) is True


def test_writers_and_machines_are_recorded_not_guarded(tmp_path: Path) -> None:
    run = entered(tmp_path / "r")
    digest = run.manifest["identity_digest"]
    run.enter(IDENTITY, {}, "1of1", {"python": "4"}, TASKS)
    run.enter(IDENTITY, {}, "2of2", {"python": "3"}, TASKS)
    assert run.manifest["writers"] == {"1of1": [{"python": "3"}, {"python": "4"}], "2of2": [{"python": "3"}]}
    assert run.manifest["identity_digest"] == digest


def test_a_different_run_is_refused_and_the_folder_untouched(tmp_path: Path) -> None:
    run = entered(tmp_path / "r")
    before = {p.name: p.read_bytes() for p in run.path.iterdir()}
    with pytest.raises(GuardError, match="tokens"):
        run.enter({**IDENTITY, "tokens": "o200k_base"}, {}, "9of9", {"python": "5"}, TASKS[:1])
    assert {p.name: p.read_bytes() for p in run.path.iterdir()} == before


DAMAGED = ["", "{", "[]", '"x"', "{}", '{"identity": 3, "format": 1}', '{"identity": {}, "format": 99}']


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_manifest_is_one_sentence(tmp_path: Path, text: str) -> None:
    run = entered(tmp_path / "r")
    (run.path / "manifest.json").write_text(text)
    with pytest.raises(DataError) as raised:
        run.enter(IDENTITY, {}, "1of1", {}, TASKS)
    assert "\n" not in str(raised.value)


def test_no_run_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not a run folder"):
        RunFolder.existing(tmp_path)


def test_writers_that_enter_at_once_are_all_recorded(tmp_path: Path) -> None:
    threads = [threading.Thread(target=entered, args=(tmp_path / "r", f"{n}of8")) for n in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(RunFolder(tmp_path / "r").manifest["writers"]) == [f"{n}of8" for n in range(1, 9)]


# -- what counts ---------------------------------------------------------------------------------------------------

BY_KIND = {
    "answered": Status.OK, "memory": Status.MEMORY_CRASH, "provider": Status.RATE_LIMIT, "harness": Status.HARNESS,
}  # fmt: skip
HISTORIES = [h for n in (1, 2, 3, 4) for h in itertools.product(BY_KIND, repeat=n)]


def expected_attempt(history: tuple[str, ...]) -> int:
    """The rule of architecture.md, principle 2: the first attempt of the other kinds, else the last."""
    final = [n for n, kind in enumerate(history, start=1) if kind in ("answered", "memory")]
    return final[0] if final else len(history)


def test_every_history_of_up_to_four_attempts_counts_by_the_rule(tmp_path: Path) -> None:
    run = entered(tmp_path / "r")
    tasks = {f"t{i}": history for i, history in enumerate(HISTORIES)}
    for turn in range(4):
        record(
            run,
            *(answer(BY_KIND[h[turn]], turn + 1, task) for task, h in tasks.items() if turn < len(h)),
        )
    counted, _ = run.counted()
    done, open_attempts = run.finished()
    for task, history in tasks.items():
        key = (task, "a", 0, 0)
        assert counted[key].attempt == expected_attempt(history), history
        finished = any(kind in ("answered", "memory") for kind in history)
        assert (key in done) == finished, history
        if not finished:
            assert open_attempts[key] == len(history)
    assert not done & set(open_attempts)


def test_a_resume_redoes_provider_and_harness_only(tmp_path: Path) -> None:
    run = entered(tmp_path / "r")
    record(run, *(answer(status, 1, str(status)) for status in Status))
    done, again = run.finished()
    assert {key[0] for key in done} == {str(s) for s in Status if s.kind in ("answered", "memory")}
    assert {key[0] for key in again} == {str(s) for s in Status if s.kind in ("provider", "harness")}


def test_duplicates_are_kept_counted_and_do_not_count(tmp_path: Path) -> None:
    run = entered(tmp_path / "r")
    record(run, answer(Status.OK), answer(Status.MEMORY_CRASH, task="c/q1"), writer="1of2")
    record(run, answer(Status.EMPTY), answer(Status.OK, task="c/q2"), writer="2of2")
    answers, extra = run.answers()
    assert extra["duplicates"] == 1
    assert {key[0]: a.status for key, a in answers.items()} == {
        "c/q0": Status.OK, "c/q1": Status.MEMORY_CRASH, "c/q2": Status.OK,
    }  # fmt: skip
    assert sum(len(p.read_bytes().splitlines()) for p in run.segments()) == 4


def test_retries_are_counted_as_attempts(tmp_path: Path) -> None:
    run = entered(tmp_path / "r")
    record(run, answer(Status.NETWORK, 1), answer(Status.NETWORK, 2), answer(Status.OK, 3))
    assert run.counted()[1] == {"attempts": 2, "duplicates": 0, "differing": 0}


@settings(deadline=None, max_examples=40)
@given(
    events=st.lists(
        st.tuples(*(st.sampled_from(names) for names in (("c/q0", "c/q1"), sorted(BY_KIND), ("1of2", "2of2")))),
        max_size=14,
    )
)
def test_answers_and_counts_add_up(
    events: list[tuple[str, str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = entered(tmp_path_factory.mktemp("run") / "r")
    attempts: dict[tuple[str, str], int] = {}
    for task, kind, writer in events:
        attempts[task, writer] = attempts.get((task, writer), 0) + 1
        record(run, answer(BY_KIND[kind], attempts[task, writer], task), writer=writer)
    counted, extra = run.counted()
    assert len(counted) + extra["attempts"] + extra["duplicates"] == len(events)
    assert set(counted) == {(task, "a", 0, 0) for task, _, _ in events}
    answers, _ = run.answers()
    assert {k: (a.status, a.attempt) for k, a in answers.items()} == {
        k: (c.status, c.attempt) for k, c in counted.items()
    }
    assert run.finished()[0] == {k for k, c in counted.items() if c.status.kind in ("answered", "memory")}


@pytest.mark.parametrize(
    "line",
    ['{}', '{"cell":{},"status":"ok","attempt":1}', '{"cell":3,"status":"ok","attempt":1}',
     '{"cell":{"task":"t","arm":"a","build":0,"repetition":0},"status":"fine","attempt":1}',
     '{"cell":{"task":["t"],"arm":"a","build":0,"repetition":0},"status":"ok","attempt":1}',
     '{"cell":{"task":"t","arm":"a","build":0,"repetition":0},"status":["ok"],"attempt":1}',
     '{"cell":{"task":"t","arm":"a","build":0,"repetition":0},"status":"rate-limit","attempt":"x"}'],
)  # fmt: skip
def test_a_line_that_is_no_answer_is_named(tmp_path: Path, line: str) -> None:
    run = entered(tmp_path / "r")
    record(run, answer(Status.RATE_LIMIT, task="t"))
    with (run.path / "answers-1of1.jsonl").open("a") as segment:
        segment.write(line + "\n")
    for read in (run.finished, run.answers):
        with pytest.raises(DataError, match=r"answers-1of1.jsonl, line 2"):
            read()


@pytest.mark.parametrize("steps", [None, 3, [3], [{}], {}])
def test_an_answer_with_a_good_head_and_odd_steps_is_named(tmp_path: Path, steps: object) -> None:
    run = entered(tmp_path / "r")
    odd = answer(Status.OK).model_dump(mode="json") | {"steps": steps}
    if steps is None:
        del odd["steps"]
    with run.answer_writer("1of1") as lines:
        lines.append(json.dumps(odd))
    try:
        run.answers()
    except DataError as error:
        assert "answers-1of1.jsonl, line 1" in str(error)


def test_a_record_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    run = entered(tmp_path / "r")
    newer = {**answer(Status.OK).model_dump(mode="json"), "schema_version": 2}
    with run.answer_writer("1of1") as lines:
        lines.append(json.dumps(newer))
    with pytest.raises(DataError, match="version"):
        run.answers()


# -- builds, judgements, dossiers, summary -------------------------------------------------------------------------


def test_builds_from_many_writers_take_turns(tmp_path: Path) -> None:
    run = entered(tmp_path / "r")
    threads = [
        threading.Thread(target=run.record_build, args=(BuildReport(memory="m", scope=f"s{n}"),)) for n in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(b.scope for b in run.builds()) == sorted(f"s{n}" for n in range(12))


def test_a_judges_settings_are_guarded(tmp_path: Path) -> None:
    run = entered(tmp_path / "r")
    verdict = Judgement(id="j/1", judge="j", subjects=(cell(),), scores={"all@1": 1.0, "rec@1": None})
    with run.judge_writer("j", {"version": 1}) as lines:
        lines.append(to_line(verdict))
    assert run.judgements("j") == {key_of(cell()): verdict}
    assert set(run.judged("j")) == {key_of(cell())}
    assert run.judgement_files() == ["j"]
    with pytest.raises(GuardError, match="version"):
        run.judge_writer("j", {"version": 2})


def test_dossiers_come_back(tmp_path: Path) -> None:
    run = entered(tmp_path / "r")
    dossier = Dossier(passages=(Passage(text="é🙂", unit_ids=("D1:1",), score=0.5, rank=1),))
    digest = run.put_dossier(dossier)
    assert run.dossier(digest).passages == dossier.passages
    assert run.dossier(digest).digest == digest
    assert run.put_dossier(dossier) == digest
    assert run.dossier(run.put_dossier(Dossier(status="empty"))).status == "empty"


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_a_score_that_json_cannot_say_does_not_spoil_the_folder(tmp_path: Path, score: float) -> None:
    run = entered(tmp_path / "r")
    digest = run.put_dossier(Dossier(passages=(Passage(text="x", score=score),)))
    assert run.dossier(digest).passages[0].text == "x"
    json.loads(run.dossiers.get(digest), parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


def test_a_blob_that_is_no_dossier_is_one_sentence(tmp_path: Path) -> None:
    run = entered(tmp_path / "r")
    digest = run.dossiers.put('{"not": "passages"}')
    with pytest.raises(DataError):
        run.dossier(digest)


def test_no_summary_yet(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="memassay"):
        entered(tmp_path / "r").summary()


# -- the ledger ----------------------------------------------------------------------------------------------------


def summary(value: float | None = 0.5) -> dict[str, Any]:
    return {
        "headline_metric": "all@4000",
        "publishable": {"value": False, "reasons": ["x"]},
        "data": "generated",
        "arms": {"a": {"metrics": {"all@4000": {"value": value}}}},
    }


def test_every_run_has_one_entry(tmp_path: Path) -> None:
    for name in ("b", "a", "deep/c"):
        entered(tmp_path / name)
    RunFolder(tmp_path / "a").write_summary(summary())
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "manifest.json").write_text('{"name": "some web app"}')
    found = {e["run"]: e for e in ledger(tmp_path)}
    assert sorted(found) == ["a", "b", "deep/c"]
    assert found["a"]["scores"] == {"a": 0.5}
    assert found["a"]["publishable"] is False
    assert found["b"]["publishable"] is None


@pytest.mark.parametrize("text", ["{}", '{"headline_metric": "x"}', "[]", "{"])
def test_a_damaged_summary_does_not_hide_the_other_runs(tmp_path: Path, text: str) -> None:
    for name in ("a", "b"):
        RunFolder(entered(tmp_path / name).path).write_summary(summary())
    (tmp_path / "a" / "summary.json").write_text(text)
    assert [e["run"] for e in ledger(tmp_path)] == ["a", "b"]


def test_reads_of_a_test_split_are_counted_beside_the_run(tmp_path: Path) -> None:
    runs = [entered(tmp_path / "runs" / name) for name in ("a", "b")]
    assert [log_test_read(runs[n].path, "d") for n in (0, 1, 0)] == [1, 2, 3]
    assert count_test_reads(tmp_path / "runs") == 3
    assert count_test_reads(tmp_path) == 0


def test_reads_at_the_same_moment_are_all_counted(tmp_path: Path) -> None:
    run, errors = entered(tmp_path / "runs" / "a"), []

    def read() -> None:
        try:
            log_test_read(run.path, "d")
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert count_test_reads(tmp_path / "runs") == 12
