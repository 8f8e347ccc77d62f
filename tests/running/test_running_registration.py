"""A run is registered before anything is built, and what changes beside its identity is an amendment."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit import Cli, child_environment
from memassay.core import registry
from memassay.core.digest import digest_of
from memassay.core.errors import DataError, GuardError
from memassay.core.pairs import Comparison, Pairing
from memassay.core.types import CellKey
from memassay.running import registration
from memassay.running.experiment import Experiment, experiment_of
from memassay.running.observing import Silent
from memassay.running.pipeline import Place, advance, register_experiment, rejudge, run_experiment
from memassay.running.registration import registration_of
from memassay.runs.classifications import classify
from memassay.runs.folder import RunFolder
from memassay.runs.prereg import FILE, chain, extend

QUICK: dict[str, Any] = {
    "suite": "locomo", "options": {"sample": True}, "memories": {"lexical": {"use": "lexical"}}, "tokens": "chars4",
    "budgets": [400], "ks": [5], "limit": 4, "controls": False,
}  # fmt: skip
RIGHT = {"text": json.dumps({"explanation": "as the script says", "label": "CORRECT"})}
ANSWERED: dict[str, Any] = {"agent": "scripted", "agent_options": {"text": "2022"}}


def experiment(**tables: Any) -> Experiment:
    return experiment_of({**QUICK, **tables})


def judge(folder: Path, use: str = "binary") -> dict[str, str]:
    path = folder / "judge.json"
    path.write_text(json.dumps({"replies": [RIGHT]}), encoding="utf-8")
    return {"use": use, "model": f"scripted/{path}"}


def tree(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def amendments(folder: Path) -> list[tuple[list[str], str]]:
    """Of each amendment, the fields and the reason."""
    said = [entry.content for entry in chain(folder)[1:]]
    return [([change["field"] for change in one["changes"]], one["reason"]) for one in said]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "r"


# -- the registration ----------------------------------------------------------------------------------------------


def test_it_stands_before_anything_is_built(out: Path) -> None:
    held: list[int] = []

    class Watch(Silent):
        def stage(self, name: str, total: int | None) -> None:
            if name == "build":
                held.append(len(chain(out)))
                assert not (out / "builds.jsonl").exists() and not (out.parent / "stores").exists()

    summary = run_experiment(experiment(), Place(out=out), Watch())
    assert held == [1]
    (entry,) = chain(out)
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    assert entry.kind == "registration"
    assert entry.content["identity"] == manifest["identity"]
    assert entry.content["identity_digest"] == manifest["identity_digest"] == digest_of(manifest["identity"])
    told = {"at": entry.at, "hash": entry.hash, "alone": False, "first": True, "amendments": [], "head": entry.hash}
    assert summary["registration"] == told
    assert rejudge(RunFolder(out)) == summary
    assert "before the first record" in told_of(out, summary)


def told_of(folder: Path, summary: Any) -> str:
    from memassay.reporting import write_reports

    write_reports(folder, summary)
    assert summary["registration"]["hash"] in (folder / "report.html").read_text("utf-8")
    return (folder / "summary.md").read_text("utf-8").partition("### Pre-registration")[2]


def test_the_same_command_and_other_shards_add_nothing(out: Path) -> None:
    for shard in ((1, 2), (2, 2), (1, 1)):
        run_experiment(experiment(), Place(out=out, shard=shard))
    rejudge(RunFolder(out))
    assert len(chain(out)) == 1


def test_a_registration_on_its_own_builds_nothing_and_the_run_goes_on_from_it(out: Path) -> None:
    run = register_experiment(experiment(), Place(out=out))
    assert sorted(p.name for p in out.iterdir() if p.name[0] != ".") == [
        "expected.json", "manifest.json", FILE, "tasks.jsonl",
    ]  # fmt: skip
    assert not (out.parent / "stores").exists()
    before = (out / FILE).read_bytes()
    register_experiment(experiment(), Place(out=out))
    found = registration_of(run)
    assert found is not None and found["alone"] is True
    summary = run_experiment(experiment(registered=found["hash"]), Place(out=out))
    assert summary["registration"] == found and (out / FILE).read_bytes() == before


@pytest.mark.parametrize("kept", [(FILE,), (FILE, "manifest.json", "tasks.jsonl")])
def test_another_run_is_refused_by_the_name_of_the_field_and_nothing_is_written(
    out: Path, kept: tuple[str, ...]
) -> None:
    register_experiment(experiment(), Place(out=out))
    for path in out.iterdir():
        if path.name not in kept:
            path.unlink()
    before = tree(out)
    with pytest.raises(GuardError, match=r"holds a different run. seed: 0 in the folder, 3 now"):
        run_experiment(experiment(seed=3), Place(out=out), amend="I want to")
    with pytest.raises(GuardError, match=r"arms\.lexical\.options\.window: 3 in the folder, 5 now"):
        run_experiment(experiment(memories={"lexical": {"use": "lexical", "window": 5}}), Place(out=out))
    assert tree(out) == before
    assert run_experiment(experiment(), Place(out=out))["registration"]["first"]


def test_a_manifest_that_was_changed_to_fit_is_not_what_was_registered(out: Path) -> None:
    run_experiment(experiment(), Place(out=out))
    path = out / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    manifest["identity"]["seed"] = 3
    manifest["identity_digest"] = digest_of(manifest["identity"])
    path.write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(DataError, match=r"manifest.json is not the run that prereg.jsonl registers: seed differs;"):
        rejudge(RunFolder(out))
    with pytest.raises(GuardError, match="seed"):
        run_experiment(experiment(seed=3), Place(out=out))
    with pytest.raises(GuardError, match="seed"):
        run_experiment(experiment(), Place(out=out))


def test_a_broken_chain_is_refused_by_everything_that_writes(cli: Cli, out: Path) -> None:
    run_experiment(experiment(), Place(out=out))
    path = out / FILE
    path.write_bytes(path.read_bytes().replace(b'"seed":0', b'"seed":1'))
    before = tree(out)
    says = "prereg.jsonl: entry 0 of the pre-registration was changed; restore the file from a copy"
    with pytest.raises(DataError, match=says):
        run_experiment(experiment(), Place(out=out))
    assert says in cli("judge", out).complaint
    assert tree(out) == before


@pytest.mark.parametrize("content", [{}, {"identity": 3}, {"reason": "x", "changes": []}])
def test_entries_that_another_version_wrote_are_one_sentence(out: Path, content: dict[str, Any]) -> None:
    out.mkdir(parents=True)
    extend(out, lambda _: ("registration", content))
    with pytest.raises(DataError, match="entry 0 is no registration as this memassay writes it"):
        run_experiment(experiment(), Place(out=out))


def test_a_run_of_an_earlier_memassay_has_none_until_it_is_entered(out: Path) -> None:
    run_experiment(experiment(), Place(out=out))
    (out / FILE).unlink()
    time.sleep(0.002)  # times are kept in milliseconds
    assert rejudge(RunFolder(out))["registration"] is None
    assert not (out / FILE).exists()
    summary = run_experiment(experiment(), Place(out=out))
    assert summary["registration"]["first"] is False, "it is younger than the records"
    assert "after the first record" in told_of(out, summary)


def test_no_place_and_no_secret_stands_in_it(
    tmp_path: Path, out: Path, toy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", "sk-very-secret-12345")
    memories = {"toy": {"use": toy}}
    chosen = experiment(memories=memories, judges=[judge(tmp_path)], **ANSWERED)
    run_experiment(chosen, Place(out=out))
    named = experiment(memories=memories, judges=[judge(tmp_path, "lenient")], **ANSWERED)
    run_experiment(named, Place(out=out), amend="with sk-very-secret-12345\n of mine")
    assert amendments(out) == [(["judges.lenient-judge.json"], "with [MY_API_KEY] of mine")]
    text = (out / FILE).read_text("utf-8")
    assert str(tmp_path) not in text and "secret-1" not in text


# -- the hash that was published -----------------------------------------------------------------------------------


def test_a_hash_that_is_not_in_the_chain_is_refused(out: Path) -> None:
    with pytest.raises(GuardError, match="has no registration 'abc': nothing is registered there"):
        run_experiment(experiment(registered="abc"), Place(out=out))
    assert not out.exists()
    first = registration_of(register_experiment(experiment(), Place(out=out)))
    assert first is not None
    with pytest.raises(GuardError, match=f"registration '{'0' * 64}': the registration there is {first['hash']}"):
        run_experiment(experiment(registered="0" * 64), Place(out=out))
    assert not (out / "builds.jsonl").exists()
    run_experiment(experiment(registered=f" {first['hash'].upper()}"), Place(out=out))


# -- amendments ----------------------------------------------------------------------------------------------------


def test_a_judge_that_is_named_later_is_logged_with_its_reason(tmp_path: Path, out: Path) -> None:
    run_experiment(experiment(judges=[judge(tmp_path)], **ANSWERED), Place(out=out))
    assert amendments(out) == [], "it was named before"
    assert chain(out)[0].content["beside"]["judges.binary-judge.json"]["entry"]["model"] == "scripted/judge.json"
    rejudge(RunFolder(out), judges=experiment(judges=[judge(tmp_path, "lenient")], **ANSWERED).judges)
    assert amendments(out) == [(["judges.lenient-judge.json"], "none given")]
    summary = rejudge(RunFolder(out))
    assert len(chain(out)) == 2
    found = summary["registration"]
    assert found["head"] == chain(out)[1].hash != found["hash"]
    (entry,) = found["amendments"]
    assert entry["changes"][0]["before"] is None and entry["changes"][0]["after"]["judge"] == "lenient"
    assert "judges.lenient-judge.json added. Reason: none given" in told_of(out, summary).replace("\\", "")
    # A second strict judge gets another metric's name for its own, and is no other judge for that.
    run_experiment(experiment(judges=[judge(tmp_path)], **ANSWERED), Place(out=out))
    assert len(chain(out)) == 2


class First:
    """A judge of pairs that prefers what comes first."""

    pairs = True
    family = "toy"
    model = "scripted"

    def __init__(self, *, model: str = "m", criteria: str = "") -> None:
        self.id, self.config = f"first-{model}", {"judge": "first"}

    async def compare(self, pairing: Pairing) -> Comparison:
        return Comparison("first", ("correct", "correct"))


def test_a_judge_of_pairs_that_is_named_later_is_logged_too(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    get = registry.judges.get
    monkeypatch.setattr(registry.judges, "get", lambda name: First if name == "first" else get(name))
    chosen: dict[str, Any] = {
        "suite": "canary", "options": {"sample": True, "documents": 60, "budget": 400}, "limit": 2,
        "memories": {"lexical": {"use": "lexical"}, "files": {"use": "files"}},
    }  # fmt: skip
    early, late = [{"use": "first", "model": "a"}], [{"use": "first", "model": "b"}]
    run_experiment(experiment(**chosen, judges=early), Place(out=out))
    assert chain(out)[0].content["beside"]["pairs.first-a"]["judge"] == "first"
    run_experiment(experiment(**chosen), Place(out=out))
    assert amendments(out) == []
    rejudge(RunFolder(out), judges=experiment(**chosen, judges=late).judges, amend="a second family")
    rejudge(RunFolder(out))
    assert amendments(out) == [(["pairs.first-b"], "a second family")]


def test_another_limit_of_money_is_logged_where_there_is_something_to_spend(tmp_path: Path, out: Path) -> None:
    chosen = {"judges": [judge(tmp_path)], **ANSWERED}
    for limit, reason in ((1.0, ""), (2.0, "there was more"), (2.0, ""), (None, "")):
        run_experiment(experiment(max_usd=limit, **chosen), Place(out=out), amend=reason)
    rejudge(RunFolder(out))
    assert amendments(out) == [(["max_usd"], "there was more"), (["max_usd"], "none given")]
    free = out.with_name("free")
    run_experiment(experiment(max_usd=1.0), Place(out=free))
    run_experiment(experiment(max_usd=2.0), Place(out=free))
    rejudge(RunFolder(free))
    assert amendments(free) == []


def test_another_version_of_memassay_is_logged(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_experiment(experiment(), Place(out=out))
    monkeypatch.setattr(registration, "__version__", "99.1")
    summary = rejudge(RunFolder(out))
    assert amendments(out) == [(["memassay"], "none given")]
    assert "→ 99.1" in told_of(out, summary)


def test_what_a_person_says_of_an_answer_is_logged(out: Path) -> None:
    run_experiment(experiment(), Place(out=out))
    run = RunFolder(out)
    cell = CellKey(task=run.tasks()[0].id, arm="lexical")
    for kind, why in (("tool", "it missed it"), ("grader", "it did not")):
        classify(out, cell, kind, why)
        rejudge(run, amend=why)
    field = f"classifications.{cell.task}/lexical/1/1"
    assert amendments(out) == [([field], "it missed it"), ([field], "it did not")]
    changes = chain(out)[2].content["changes"]
    assert changes == [{"field": field, "before": "tool: it missed it", "after": "grader: it did not"}]


def test_what_was_registered_on_its_own_is_only_amended_with_a_reason(tmp_path: Path, out: Path) -> None:
    chosen = experiment(**ANSWERED)
    more = experiment(judges=[judge(tmp_path)], **ANSWERED)
    register_experiment(chosen, Place(out=out))
    before = tree(out)
    says = r"was registered on its own, and this differs: judges.binary-judge.json. Say why with --amend"
    with pytest.raises(GuardError, match=says):
        run_experiment(more, Place(out=out))
    assert tree(out) == before
    run_experiment(chosen, Place(out=out))
    answered = tree(out)
    with pytest.raises(GuardError, match=says):
        rejudge(RunFolder(out), judges=more.judges)
    assert tree(out) == answered
    rejudge(RunFolder(out), judges=more.judges, amend="a referee asked")
    assert amendments(out) == [(["judges.binary-judge.json"], "a referee asked")]
    rejudge(RunFolder(out))
    advance(more, Place(out=out), answers=False)
    assert len(chain(out)) == 2


# -- the command ---------------------------------------------------------------------------------------------------

FLAGS = ["locomo", "--sample", "--memory", "lexical", "--limit", "4", "--tokens", "chars4", "--budgets", "400",
         "--ks", "5", "--no-controls"]  # fmt: skip


def test_the_command_prints_the_hash_and_later_asks_for_it(cli: Cli, out: Path) -> None:
    ran = cli("run", *FLAGS, "--out", out, "--register")
    assert (ran.code, ran.out) == (0, f"{chain(out)[0].hash}\n"), ran.err
    assert ran.err.startswith(f"registered {chain(out)[0].at} in {out / FILE};")
    assert cli("run", *FLAGS, "--out", out, "--register", "--json").json == registration_of(RunFolder(out))
    ran = cli("run", *FLAGS, "--out", out, "--registered", "f" * 64)
    assert ran.code == 2 and "has no registration" in ran.complaint
    ran = cli("run", *FLAGS, "--out", out, "--registered", chain(out)[0].hash, "--json")
    assert ran.code == 0 and ran.json["registration"]["alone"], ran.err


def test_an_experiment_file_can_ask_for_the_hash(cli: Cli, out: Path, workplace: Path) -> None:
    tables = (
        'suite = "locomo"\ntokens = "chars4"\nbudgets = [400]\nks = [5]\nlimit = 4\ncontrols = false\n{more}\n'
        '[options]\nsample = true\n[memories.lexical]\nuse = "lexical"\n'
    )
    file = workplace / "e.toml"
    file.write_text(tables.format(more=""), "utf-8")
    hash_ = cli("run", file, "--out", out, "--register").out.strip()
    for asked, code in (("0" * 64, 2), (hash_, 0)):
        file.write_text(tables.format(more=f'registered = "{asked}"'), "utf-8")
        assert cli("run", file, "--out", out).code == code


def test_judge_takes_the_reason(cli: Cli, tmp_path: Path, out: Path) -> None:
    agent = ["--agent", "scripted", "--set", "agent.text=2022"]
    assert cli("run", *FLAGS, *agent, "--out", out, "--register").code == 0
    assert cli("run", *FLAGS, *agent, "--out", out).code == 0
    named = ["--judge", judge(tmp_path)["model"]]
    ran = cli("judge", out, *named)
    assert ran.code == 2 and "Say why with --amend" in ran.complaint
    assert cli("judge", out, *named, "--amend", "a referee asked").code == 0
    assert amendments(out) == [(["judges.binary-judge.json"], "a referee asked")]


# -- kills ---------------------------------------------------------------------------------------------------------

_REGISTERING = """
import json, sys
from pathlib import Path
from memassay.running.experiment import experiment_of
from memassay.running.pipeline import Place, register_experiment
chosen = experiment_of(json.loads(sys.argv[1]))
register_experiment(chosen, Place(out=Path(sys.argv[2]) / "0"))
print("go", flush=True)
number = 0
while True:
    number += 1
    register_experiment(chosen, Place(out=Path(sys.argv[2]) / f"{number}"))
"""


def test_a_kill_while_registering_leaves_nothing_or_an_entry(
    tmp_path: Path, own_home: Path, small_file: Callable[..., Path]
) -> None:
    tables = {**QUICK, "options": {"data": str(small_file(1, 4))}}
    for moment in (0.0, 0.02, 0.05, 0.09):
        folder = tmp_path / f"{moment}"
        process = subprocess.Popen(
            [sys.executable, "-c", _REGISTERING, json.dumps(tables), folder],
            stdout=subprocess.PIPE,
            env=child_environment(own_home),
        )
        assert process.stdout is not None and process.stdout.readline() == b"go\n"
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        last = max(folder.iterdir(), key=lambda path: int(path.name))
        for run in folder.iterdir():
            assert [entry.kind for entry in chain(run)] in ([], ["registration"])
            assert run == last or chain(run)
        register_experiment(experiment_of(tables), Place(out=last))
        assert len(chain(last)) == 1
