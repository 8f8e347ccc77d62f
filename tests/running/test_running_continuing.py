"""``memassay judge RUN`` goes on with the judges of the run that were stopped."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openai", reason="the extra openai is not installed")

from kit import Cli
from memassay.running.pipeline import rejudge
from memassay.runs.folder import RunFolder
from servers.openai import CompletionsServer, Say

RIGHT = Say(json.dumps({"explanation": "as the script says", "label": "CORRECT"}))
QUICK = ["--sample", "--limit", "4", "--tokens", "chars4", "--budgets", "400", "--ks", "5", "--no-controls"]
JUDGE = "binary-gpt-4o"


@pytest.fixture
def server() -> Any:
    with CompletionsServer([RIGHT]) as running:
        yield running


@pytest.fixture
def stopped(cli: Cli, tmp_path: Path, server: CompletionsServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of four answers whose judge was stopped after the first."""
    monkeypatch.setenv("MY_KEY", "dummy-local-12345")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    folder = tmp_path / "r"
    agent = ["--memory", "lexical", "--agent", "scripted", "--set", "agent.text=2022"]
    judge = ["--judge", "gpt-4o", "--set", f"judge.base_url={server.url}", "--set", "judge.key_env=MY_KEY"]
    assert cli("run", "locomo", *QUICK, *agent, *judge, "--out", folder).code == 0
    keep(folder, 1)
    server.bodies.clear()
    return folder


def keep(folder: Path, verdicts: int) -> None:
    path = folder / "judgements" / f"{JUDGE}.jsonl"
    path.write_text("".join(path.read_text("utf-8").splitlines(keepends=True)[:verdicts]), "utf-8")


def change(folder: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    """Let the judge's manifest say something else, and the experiment the same."""
    path = folder / "judgements" / f"{JUDGE}.json"
    manifest = json.loads(path.read_text("utf-8"))
    edit(manifest)
    path.write_text(json.dumps(manifest), "utf-8")
    rename(folder, manifest["entry"])


def rename(folder: Path, *judges: dict[str, Any]) -> None:
    """Let the experiment name these judges."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    (entry,) = manifest["experiment"]["judges"]
    manifest["experiment"]["judges"] = [{**entry, **judge} for judge in judges]
    path.write_text(json.dumps(manifest), "utf-8")


def judged(folder: Path) -> int:
    return len((folder / "judgements" / f"{JUDGE}.jsonl").read_text("utf-8").splitlines())


def test_a_stopped_judge_goes_on_with_what_is_left(cli: Cli, stopped: Path, server: CompletionsServer) -> None:
    manifest = (stopped / "judgements" / f"{JUDGE}.json").read_bytes()
    ran = cli("judge", stopped, "--json")
    assert ran.code == 0, ran.err
    assert ran.err.splitlines()[0].startswith(f"judge {JUDGE} goes on: 3 answers; cost in US dollars: 0.00")
    assert len(server.bodies) == 3 and judged(stopped) == 4
    assert server.headers[-1]["authorization"] == "Bearer dummy-local-12345", "as it was reached before"
    assert ran.json["arms"]["lexical"]["metrics"]["j"]["n"] == 4
    assert ran.json["judges"][0]["unjudged"] == 0
    assert (stopped / "judgements" / f"{JUDGE}.json").read_bytes() == manifest
    again = cli("judge", stopped, "--json")
    assert (again.code, again.err, len(server.bodies)) == (0, "", 3), "nothing is left and nothing is said"
    written = b"".join(path.read_bytes() for path in stopped.rglob("*") if path.is_file())
    assert b"dummy-local" not in written


def test_it_goes_on_after_a_kill(cli: Cli, stopped: Path, server: CompletionsServer) -> None:
    path = stopped / "judgements" / f"{JUDGE}.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + whole[: len(whole) // 2])
    ran = cli("judge", stopped, "--json")
    assert ran.code == 0 and ran.json["arms"]["lexical"]["metrics"]["j"]["n"] == 4, ran.err
    assert path.read_bytes().startswith(whole) and judged(stopped) == 4 and len(server.bodies) == 3


def test_what_is_named_is_asked_alone(cli: Cli, stopped: Path, server: CompletionsServer) -> None:
    ran = cli("judge", stopped, "--judge", "lenient:gpt-4o", "--set", f"judge.base_url={server.url}", "--json")
    assert ran.code == 0, ran.err
    assert "goes on" not in ran.err and len(server.bodies) == 4 and judged(stopped) == 1
    assert f"judge {JUDGE} has not judged 3 answers; go on: memassay judge RUN" in ran.json["publishable"]["reasons"]


def test_what_only_sums_up_asks_nobody(stopped: Path, server: CompletionsServer) -> None:
    assert rejudge(RunFolder(stopped))["judges"][0]["unjudged"] == 3
    assert server.bodies == []


def test_a_failed_verdict_is_asked_for_again(cli: Cli, stopped: Path, server: CompletionsServer) -> None:
    path = stopped / "judgements" / f"{JUDGE}.jsonl"
    failed = {**json.loads(path.read_text("utf-8")), "status": "failed", "scores": {"j": None}}
    path.write_text(json.dumps(failed) + "\n", "utf-8")
    assert "goes on: 4 answers" in cli("judge", stopped).err
    assert len(server.bodies) == 4


def elsewhere(manifest: dict[str, Any]) -> None:
    manifest["entry"]["options"] = {"base_url": "https://models.example/v1"}
    manifest["model"]["address"] = "https://models.example/v1"


def another_prompt(manifest: dict[str, Any]) -> None:
    manifest["prompt"] = "0" * 64


def a_file(manifest: dict[str, Any]) -> None:
    manifest["entry"]["model"] = "scripted/judge.json"


def unknown(manifest: dict[str, Any]) -> None:
    manifest["entry"]["use"] = "binery"


@pytest.mark.parametrize(
    ("edit", "flags", "why"),
    [
        (elsewhere, [], "There is no key for https://models.example/v1: set the variable OPENAI_API_KEY"),
        (another_prompt, [], "made again here it differs in prompt, so its verdicts would be those of another judge"),
        (a_file, [], f"The model of judge {JUDGE} is a file of yours"),
        (unknown, [], "Unknown judge 'binery'. Did you mean 'binary'?"),
    ],
)
def test_one_that_cannot_go_on_is_left_out_with_the_reason(
    edit: Callable[[dict[str, Any]], None],
    flags: list[str],
    why: str,
    cli: Cli,
    stopped: Path,
    server: CompletionsServer,
) -> None:
    change(stopped, edit)
    ran = cli("judge", stopped, *flags, "--json")
    assert ran.code == 0, ran.err
    (line,) = ran.err.splitlines()
    assert line.startswith(f"judge {JUDGE} is left out, with 3 answers to judge: {why}")
    assert server.bodies == [] and judged(stopped) == 1
    assert ran.json["arms"]["lexical"]["metrics"]["j"]["n"] == 1, "what it has judged is kept"


def test_a_limit_that_could_not_be_kept_leaves_a_judge_out_and_one_that_can_stops_it(
    cli: Cli, stopped: Path, server: CompletionsServer
) -> None:
    ran = cli("judge", stopped, "--max-usd", "0.0001")
    assert ran.code == 3 and server.bodies == []
    assert "judging stopped at --max-usd; a higher one goes on: memassay judge RUN --max-usd …" in ran.err
    ran = cli("judge", stopped, "--max-usd", "1")
    assert ran.code == 0 and len(server.bodies) == 3, ran.err

    def without_a_price(manifest: dict[str, Any]) -> None:
        manifest["entry"]["model"] = manifest["model"]["model"] = "odd"

    keep(stopped, 1)
    change(stopped, without_a_price)
    ran = cli("judge", stopped, "--max-usd", "1")
    assert "no price is known for it, so --max-usd 1 could not be kept." in ran.err and len(server.bodies) == 3
    ran = cli("judge", stopped)
    assert "goes on: 3 answers; cost in US dollars: not known" in ran.err and len(server.bodies) == 6


def test_several_judges_go_on_each_with_what_it_lacks(cli: Cli, stopped: Path, server: CompletionsServer) -> None:
    flags = ["--judge", "lenient:gpt-4o", "--set", f"judge.base_url={server.url}", "--set", "judge.key_env=MY_KEY"]
    assert cli("judge", stopped, *flags).code == 0
    lenient = stopped / "judgements" / "lenient-gpt-4o.jsonl"
    lenient.write_text("".join(lenient.read_text("utf-8").splitlines(keepends=True)[:2]), "utf-8")
    server.bodies.clear()
    ran = cli("judge", stopped, "--json")
    assert ran.code == 0, ran.err
    assert [line.partition(";")[0] for line in ran.err.splitlines()] == [
        f"judge {JUDGE} goes on: 3 answers",
        "judge lenient-gpt-4o goes on: 2 answers",
    ]
    assert len(server.bodies) == 5
    assert {judge["id"]: judge["unjudged"] for judge in ran.json["judges"]} == {JUDGE: 0, "lenient-gpt-4o": 0}


# -- killed before anybody judged ----------------------------------------------------------------------------------


@pytest.fixture
def unjudged(stopped: Path) -> Path:
    """The same run as if it had been killed after three of its four answers."""
    (answers,) = stopped.glob("answers-*.jsonl")
    answers.write_text("".join(answers.read_text("utf-8").splitlines(keepends=True)[:3]), "utf-8")
    for name in (f"judgements/{JUDGE}.json", f"judgements/{JUDGE}.jsonl", "summary.json"):
        (stopped / name).unlink()
    return stopped


def test_a_judge_that_a_killed_run_never_came_to_begins(cli: Cli, unjudged: Path, server: CompletionsServer) -> None:
    ran = cli("judge", unjudged, "--json")
    assert ran.code == 0, ran.err
    assert ran.err.splitlines()[0].startswith(f"judge {JUDGE} begins: 3 answers; cost in US dollars: 0.00")
    assert len(server.bodies) == 3 and judged(unjudged) == 3
    assert server.headers[-1]["authorization"] == "Bearer dummy-local-12345", "reached as the experiment says"
    assert ran.json["arms"]["lexical"]["metrics"]["j"]["n"] == 3
    assert any("cells are missing; run the same command again" in r for r in ran.json["publishable"]["reasons"])
    again = cli("judge", unjudged, "--json")
    assert (again.code, again.err, len(server.bodies)) == (0, "", 3)
    agent = ["--memory", "lexical", "--agent", "scripted", "--set", "agent.text=2022"]
    judge = ["--judge", "gpt-4o", "--set", f"judge.base_url={server.url}", "--set", "judge.key_env=MY_KEY"]
    ran = cli("run", "locomo", *QUICK, *agent, *judge, "--out", unjudged, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["arms"]["lexical"]["metrics"]["j"]["n"] == 4 == judged(unjudged), "it is the judge of the run"


def test_several_begin_each_under_a_metric_of_its_own(cli: Cli, unjudged: Path, server: CompletionsServer) -> None:
    rename(unjudged, {}, {"model": "gpt-4o-mini"}, {"use": "lenient"})
    ran = cli("judge", unjudged, "--json")
    assert ran.code == 0, ran.err
    metrics = ran.json["arms"]["lexical"]["metrics"]
    assert [metrics[name]["n"] for name in ("j", "j:gpt-4o-mini", "j_lenient")] == [3, 3, 3]
    assert len(server.bodies) == 9 and len(ran.err.splitlines()) == 3


def test_one_has_judged_and_another_begins(cli: Cli, stopped: Path, server: CompletionsServer) -> None:
    rename(stopped, {"use": "lenient"}, {})
    ran = cli("judge", stopped, "--json")
    assert ran.code == 0, ran.err
    assert [line.partition(";")[0] for line in ran.err.splitlines()] == [
        f"judge {JUDGE} goes on: 3 answers",
        "judge lenient-gpt-4o begins: 4 answers",
    ]
    assert len(server.bodies) == 7


@pytest.mark.parametrize(
    ("judge", "flags", "why"),
    [
        ({"options": {"base_url": "https://models.example/v1"}}, [], "There is no key for https://models.example/v1"),
        ({"model": "scripted/judge.json"}, [], "The model of judge binary:scripted/judge.json is a file of yours"),
        ({"use": "binery"}, [], "Unknown judge 'binery'. Did you mean 'binary'?"),
        ({"model": "odd"}, ["--max-usd", "1"], "no price is known for it, so --max-usd 1 could not be kept."),
    ],
)
def test_one_that_cannot_begin_is_left_out_with_the_reason(
    judge: dict[str, Any], flags: list[str], why: str, cli: Cli, unjudged: Path, server: CompletionsServer
) -> None:
    rename(unjudged, judge)
    ran = cli("judge", unjudged, *flags, "--json")
    assert ran.code == 0, ran.err
    (line,) = ran.err.splitlines()
    name = f"{judge.get('use', 'binary')}:{judge.get('model', 'gpt-4o')}"
    assert line.startswith(f"judge {name} is left out, with 3 answers to judge: {why}")
    assert server.bodies == [] and not list((unjudged / "judgements").glob("*gpt*"))


def test_the_same_judge_reached_in_another_way_is_not_asked_twice(
    cli: Cli, stopped: Path, server: CompletionsServer
) -> None:
    rename(stopped, {"model": "openai/gpt-4o"})
    ran = cli("judge", stopped, "--json")
    assert ran.code == 0, ran.err
    assert len(server.bodies) == 3, "one judge, three verdicts"
    assert f"a judge {JUDGE} that is reached in another way has judged here; its verdicts count." in ran.err
