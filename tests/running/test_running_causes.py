"""Whose fault was it? Networks and disks are nobody's, a limit is the memory's; words are kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from odd_memories import Run, builds, records, value

from kit import Cli
from memassay.core.errors import GuardError
from memassay.core.types import Status
from memassay.runs.folder import RunFolder


def asked_in_vain(folder: Path) -> set[str]:
    """The tasks that "retrieve CAUSE" happens to."""
    tasks = RunFolder(folder).tasks()
    found = {task.id for task in tasks if "hedgehog" in task.prompt or "marathon" in task.prompt}
    assert 0 < len(found) < len(tasks)
    return found


# -- the network ---------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_backoff")
@pytest.mark.parametrize("what", ["connection", "name", "library"])
@pytest.mark.parametrize("stage", ["build", "open", "retrieve"])
def test_what_cannot_be_reached_is_tried_again(
    small_run: Run, odd: Callable[..., str], cause: Path, stage: str, what: str
) -> None:
    memories = {"odd": {"use": odd(), "cause": str(cause)}, "good": {}}
    cause.write_text(f"{stage} {what}")
    first, folder = small_run("r", memories, clusters=2, controls=False)
    failed = [r for r in records(folder) if r["status"] != "ok"]
    assert failed and {r["status"] for r in failed} == {"network"}
    assert Status.NETWORK.kind == "provider"
    tasks = {r["cell"]["task"] for r in failed}
    assert tasks == (asked_in_vain(folder) if stage == "retrieve" else {t.id for t in RunFolder(folder).tasks()})
    # A store that cannot be built in this call of the command is not asked three times.
    assert len(failed) == len(tasks) * (1 if stage == "build" else 3)
    assert first["arms"]["odd"]["failures"] == {"memory": 0, "provider": len(tasks), "harness": 0}
    assert first["arms"]["good"]["n"] == first["arms"]["odd"]["n"] == 12 - len(tasks)
    if stage == "build":
        assert {(b.status, b.store) for b in builds(folder)} == {("network", None)}

    cause.unlink()
    again, _ = small_run("r", memories, clusters=2, controls=False)
    assert again["arms"]["odd"]["failures"] == {"memory": 0, "provider": 0, "harness": 0}
    assert again["arms"]["good"]["n"] == again["arms"]["odd"]["n"] == 12
    assert {b.status for b in builds(folder)[-2:]} == {"ok"}
    whole, _ = small_run("whole", memories, clusters=2, controls=False)
    assert value(again) == value(whole) > 0.5


# -- the disk ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stage", "what"), [("build", "full"), ("build", "quota"), ("retrieve", "full"), ("open", "full")]
)
def test_a_full_disk_stops_the_command_and_blames_nobody(
    cli: Cli,
    workplace: Path,
    odd: Callable[..., str],
    cause: Path,
    small_file: Callable[..., Path],
    stage: str,
    what: str,
) -> None:
    command = [
        "run", "locomo", "--data", small_file(2, 6), "--memory", f"odd={odd()},files", "--set", f"odd.cause={cause}",
        "--tokens", "chars4", "--no-controls", "--out", "runs/r", "--json",
    ]  # fmt: skip
    cause.write_text(f"{stage} {what}")
    ran = cli(*command)
    assert ran.code == 3 and ran.out == ""
    assert ("quota" if what == "quota" else "full") in ran.complaint and "run the same command again" in ran.complaint
    folder = workplace / "runs" / "r"
    stopped = asked_in_vain(folder) if stage == "retrieve" else {t.id for t in RunFolder(folder).tasks()}
    assert stopped and not stopped & {r["cell"]["task"] for r in records(folder)}
    assert {r["status"] for r in records(folder)} <= {"ok"}
    assert {b.status for b in builds(folder)} <= {"ok"}
    if stage == "build":
        assert builds(folder) == []
    assert not (folder / "summary.json").exists()
    cause.unlink()
    again = cli(*command)
    assert again.code == 0, again.err
    assert again.json["cells"]["counted"] == again.json["cells"]["planned"] == 24
    assert again.json["arms"]["odd"]["failures"] == {"memory": 0, "provider": 0, "harness": 0}


# -- time ----------------------------------------------------------------------------------------------------------

OWN = "TimeoutError: my index gave up after 3 rounds"


@pytest.mark.parametrize("name", ["Odd", "Awaited"])
@pytest.mark.parametrize("stage", ["retrieve", "open"])
def test_a_time_out_of_the_memorys_own_keeps_its_words(
    small_run: Run, odd: Callable[..., str], cause: Path, name: str, stage: str
) -> None:
    cause.write_text(f"{stage} timeout")
    _, folder = small_run("r", {"odd": {"use": odd(name), "cause": str(cause)}}, clusters=2, controls=False)
    failed = [r for r in records(folder) if r["status"] != "ok"]
    assert failed and {(r["status"], r["detail"]) for r in failed} == {("memory-timeout", OWN)}


def test_a_time_out_of_the_memorys_own_while_building_keeps_its_words(
    small_run: Run, odd: Callable[..., str], cause: Path
) -> None:
    cause.write_text("build timeout")
    _, folder = small_run("r", {"odd": {"use": odd(), "cause": str(cause)}}, clusters=2, controls=False)
    for report in builds(folder):
        assert report.status.startswith("memory-") and report.detail == OWN
    assert {r["detail"] for r in records(folder)} == {f"no store: {OWN}"}


def test_the_harnesss_limit_says_so(small_run: Run, odd: Callable[..., str], cause: Path) -> None:
    memories = {"odd": {"use": odd(), "cause": str(cause)}}
    more = {"clusters": 1, "controls": False, "limits": {"retrieve_seconds": 0.11, "build_seconds": 0.12}}
    cause.write_text("retrieve hang")
    _, folder = small_run("r", memories, **more)
    failed = {(r["status"], r["detail"]) for r in records(folder) if r["status"] != "ok"}
    assert failed == {("memory-timeout", "nothing retrieved after 0.11 s")}
    cause.write_text("build hang")
    _, folder = small_run("b", memories, **{**more, "seed": 5})
    assert {(b.status, b.detail) for b in builds(folder)} == {("memory-timeout", "no store after 0.12 s")}


def test_a_store_that_does_not_open_in_time_names_the_limit_that_was_reached(
    small_run: Run, odd: Callable[..., str], cause: Path
) -> None:
    """Opening has the limit of building; a record must not speak of another number of seconds."""
    cause.write_text("open hang")
    _, folder = small_run(
        "r", {"odd": {"use": odd(), "cause": str(cause)}}, clusters=1, limit=2, controls=False,
        limits={"retrieve_seconds": 50, "build_seconds": 0.12},
    )  # fmt: skip
    assert {r["status"] for r in records(folder)} == {"memory-timeout"}
    for record in records(folder):
        assert "0.12 s" in record["detail"] and "50 s" not in record["detail"]


# -- agents --------------------------------------------------------------------------------------------------------

AGENT = '''
from memassay.core.types import Status, Step


class Tired:
    """Gives up."""

    async def answer(self, request):
        return Step(name="answer", status=Status.LIMIT_TURNS, detail="40 turns", text=request.dossier)
'''


def test_an_agent_that_reached_its_turns_scores_nothing_whatever_was_retrieved(small_run: Run, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    summary, folder = small_run("r", agent=f"{tmp_path / 'agent.py'}:Tired", clusters=2)
    found = records(folder, "toy")
    assert {r["status"] for r in found} == {"limit-turns"}
    assert all(RunFolder(folder).dossier(r["steps"][0]["dossier"]).passages for r in found), "it was given something"
    arm = summary["arms"]["toy"]
    assert arm["failures"] == {"memory": 12, "provider": 0, "harness": 0} and arm["n"] == 12
    assert {e["value"] for e in arm["metrics"].values()} == {0.0}
    assert {e["value"] for e in arm["cited"].values()} == {0.0}
    assert arm["secondary"]["answered_only"]["n"] == 0
    without, _ = small_run("without", clusters=2)
    assert value(without, "toy") > 0.5


def test_another_agent_under_the_same_name_is_refused(small_run: Run, tmp_path: Path) -> None:
    path = tmp_path / "agent.py"
    path.write_text(AGENT, encoding="utf-8")
    agent = f"{path}:Tired"
    _, folder = small_run("r", agent=agent, clusters=1, limit=2, controls=False)
    small_run("r", agent=agent, clusters=1, limit=2, controls=False)
    before = {p.name: p.read_bytes() for p in folder.glob("*.json*")}
    path.write_text(AGENT.replace("Gives up.", "Gives up soon."), encoding="utf-8")
    with pytest.raises(GuardError, match=r"arms\.toy\.agent_source") as refused:
        small_run("r", agent=agent, clusters=1, limit=2, controls=False)
    assert "\n" not in str(refused.value)
    assert {p.name: p.read_bytes() for p in folder.glob("*.json*")} == before


# -- passages that no validation saw -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    ["doc_ids=None", "unit_ids=None", "doc_ids='d'", "unit_ids=(1,)", "span=(1, 2, 3)", "kind='quote'", "kind=None",
     "score='high'", "text=None", "text=b'bytes'", "native_id=7"],
)  # fmt: skip
def test_a_passage_made_without_validation_is_its_memorys_crash(
    small_run: Run, odd: Callable[..., str], fields: str
) -> None:
    summary, folder = small_run(
        "r", {"odd": {"use": odd("Unchecked", f"dict({fields})")}, "good": {}}, clusters=1, limit=3, controls=False
    )
    found = records(folder)
    assert {r["status"] for r in found} == {"memory-crash"}
    assert all("\n" not in r["detail"] for r in found)
    assert summary["arms"]["odd"]["failures"]["memory"] == 3
    assert value(summary) == 0.0
    assert summary["arms"]["good"]["n"] == 3 and value(summary, "good") > 0.5
    assert {r["status"] for r in records(folder, "good")} == {"ok"}


def test_a_passage_made_without_validation_but_right_counts(small_run: Run, odd: Callable[..., str]) -> None:
    memories = {"odd": {"use": odd("Unchecked")}, "plain": {"use": odd("Odd")}}
    summary, _ = small_run("r", memories, clusters=1, controls=False)
    assert value(summary) == value(summary, "plain") > 0.5


def test_a_lone_surrogate_in_a_passage_does_no_harm(small_run: Run, odd: Callable[..., str]) -> None:
    memories = {"odd": {"use": odd("Surrogates")}, "plain": {"use": odd("Odd")}}
    summary, folder = small_run("r", memories, clusters=2, controls=False)
    assert {r["status"] for r in records(folder)} == {"ok"}
    assert value(summary) == value(summary, "plain") > 0.5
    digest = records(folder)[0]["steps"][0]["dossier"]
    assert RunFolder(folder).dossier(digest).passages[0].text.startswith("? I saw the ")
