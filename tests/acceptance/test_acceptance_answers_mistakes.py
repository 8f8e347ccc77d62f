"""Published mistakes of other harnesses with answers and judges (landscape.md, section 2): none happens here."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from test_acceptance_answers import counted, golds, jsonl, kind, records, replies, run, said, talk
from test_acceptance_answers_accounting import ARMS, TWO, scripted
from test_acceptance_answers_judges import metric, script, verdict, verdicts

from kit import Cli, small_conversation

ODDITY = '''
"""An agent that ends as it is told, with a text beside."""

import json
from pathlib import Path

from memassay.core.types import Status, Step


class Oddity:
    model = "scripted"
    accesses = frozenset({"dossier"})

    def __init__(self, *, status: str = "ok", text: str | None = None, wrong: str = "", log: str = "") -> None:
        self.status, self.text, self.wrong, self.log = status, text, wrong, log

    def identity(self):
        return {"version": 1}

    async def answer(self, request):
        if self.log:
            with open(self.log, "a") as log:
                log.write(json.dumps({"arm": request.cell.arm, "as_of": request.as_of}) + "\\n")
        if self.wrong == "type":
            return self.text
        if self.wrong == "exit":
            raise SystemExit(0)
        return Step(status=Status(self.status), detail="as told", text=self.text)
'''


@pytest.fixture
def oddity(workplace: Path) -> Callable[..., list[str]]:
    """``oddity(status="api-error", text="…")``: the flags of that agent."""
    (workplace / "oddity.py").write_text(ODDITY, encoding="utf-8")

    def flags(**more: str) -> list[str]:
        settings = [word for key, value in more.items() for word in ("--set", f"agent.{key}={value}")]
        return ["--agent", "./oddity.py:Oddity", *settings]

    return flags


def one_gold(folder: Path, n: int = 4) -> Path:
    return talk(folder, [{"question": f"Question {k}?", "answer": "Oslo"} for k in range(n)])


@pytest.mark.parametrize("status", ["api-error", "rate-limit", "network", "harness-error"])
def test_the_text_of_an_error_is_never_graded(
    status: str, cli: Cli, tmp_path: Path, oddity: Callable[..., list[str]], no_backoff: None
) -> None:
    # The text is the gold itself: if it were graded it would be right.
    judge = script(tmp_path, "j.json", {"text": verdict("CORRECT")})
    out = tmp_path / "r"
    agent = oddity(status=status, text="Oslo")
    ran = cli(*run(one_gold(tmp_path), out, "--arm", "lexical/dossier", *agent, "--judge", judge))
    assert "Traceback" not in ran.err
    arm = ran.json["arms"]["lexical/dossier"]
    assert arm["failures"]["harness" if status == "harness-error" else "provider"] == 4
    for name in ("f1", "exact_match", "bleu1"):
        assert (arm["metrics"][name]["value"], arm["metrics"][name]["n"]) == (None, 0)
    # A judge that had nothing to judge is no column, and the run says so.
    assert ran.json["judges"] == [] and "j" not in arm["metrics"]
    assert any("gave no verdict" in reason for reason in ran.json["publishable"]["reasons"])
    assert not any(j["scores"] for lines in verdicts(out).values() for j in lines)
    assert not ran.json["publishable"]["value"]


def test_a_run_that_measured_nothing_does_not_end_well(
    cli: Cli, tmp_path: Path, oddity: Callable[..., list[str]], no_backoff: None
) -> None:
    ran = cli(*run(one_gold(tmp_path), tmp_path / "r", "--arm", "lexical/dossier", *oddity(status="network")))
    assert ran.json["arms"]["lexical/dossier"]["n"] == 0
    assert ran.code != 0, "no question has a number"


@pytest.mark.parametrize("status", ["limit-turns", "limit-time", "limit-money", "memory-crash"])
def test_what_was_said_before_a_limit_is_no_answer(
    status: str, cli: Cli, tmp_path: Path, oddity: Callable[..., list[str]]
) -> None:
    judge = script(tmp_path, "j.json", {"text": verdict("CORRECT")})
    agent = oddity(status=status, text="Oslo")
    ran = cli(*run(one_gold(tmp_path), tmp_path / "r", "--arm", "lexical/dossier", *agent, "--judge", judge))
    assert ran.code == 0, ran.err
    arm = ran.json["arms"]["lexical/dossier"]
    assert (arm["n"], arm["failures"]["memory"]) == (4, 4), "it stays in the denominator"
    for name in ("f1", "exact_match", "bleu1", "locomo_f1", metric(ran.json, "j.json")):
        assert arm["metrics"][name]["value"] == 0
        assert arm["secondary"]["answered_only"]["metrics"][name]["value"] is None


def test_an_agent_with_a_bug_is_the_harness_and_no_zero(
    cli: Cli, tmp_path: Path, oddity: Callable[..., list[str]]
) -> None:
    agent = oddity(wrong="type", text="Oslo")
    ran = cli(*run(one_gold(tmp_path), tmp_path / "r", "--arm", "lexical/dossier", *agent))
    assert "Traceback" not in ran.err
    arm = ran.json["arms"]["lexical/dossier"]
    assert arm["failures"] == {"memory": 0, "provider": 0, "harness": 4}
    assert arm["metrics"]["f1"]["value"] is None
    assert not ran.json["publishable"]["value"]


def test_an_agent_that_leaves_does_not_end_the_command_as_if_all_were_well(
    cli_process: Cli, tmp_path: Path, oddity: Callable[..., list[str]]
) -> None:
    out = tmp_path / "r"
    ran = cli_process(*run(one_gold(tmp_path), out, "--arm", "lexical/dossier", *oddity(wrong="exit")))
    assert "Traceback" not in ran.err
    assert (out / "summary.json").exists(), f"it ended with code {ran.code} and said {ran.out!r}"
    assert ran.json["arms"]["lexical/dossier"]["failures"]["harness"] == 4


def test_no_text_at_all_is_an_empty_answer(cli: Cli, tmp_path: Path, oddity: Callable[..., list[str]]) -> None:
    ran = cli(*run(one_gold(tmp_path), tmp_path / "r", "--arm", "lexical/dossier", *oddity()))
    assert ran.code == 0, ran.err
    arm = ran.json["arms"]["lexical/dossier"]
    assert (arm["n"], arm["metrics"]["f1"]["value"], sum(arm["failures"].values())) == (4, 0, 0)


# -- a memory that is dead -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["build_fault=raise", "build_fault=empty-store", "fault=raise"])
def test_a_dead_memory_is_wrong_and_not_missing_and_its_agent_is_not_paid(
    fault: str, cli: Cli, tmp_path: Path, toy: str, oddity: Callable[..., list[str]]
) -> None:
    log = tmp_path / "log.jsonl"
    arms = ["--memory", f"dead={toy},alive={toy}", "--set", f"dead.{fault}"]
    ran = cli(*run(one_gold(tmp_path), tmp_path / "r", *arms, *oddity(text="Oslo", log=str(log))))
    assert ran.code == 0, ran.err
    dead, alive = (ran.json["arms"][name] for name in ("dead", "alive"))
    assert (dead["n"], dead["failures"]["memory"], dead["metrics"]["f1"]["value"]) == (4, 4, 0)
    assert (alive["n"], alive["metrics"]["f1"]["value"]) == (4, 1)
    assert {note["arm"] for note in jsonl(log)} == {"alive"}, "nobody is asked about a memory that is not there"
    diff = next(c["diff"] for c in ran.json["comparisons"] if c["metric"] == "f1")
    assert (abs(diff["value"]), diff["n"]) == (1, 4)


def test_a_memory_whose_network_failed_leaves_every_arm_alike(
    cli: Cli, tmp_path: Path, toy: str, oddity: Callable[..., list[str]], no_backoff: None
) -> None:
    arms = ["--memory", f"dead={toy},alive={toy}", "--set", "dead.fault=network", "--set", "dead.where=Question 1"]
    ran = cli(*run(one_gold(tmp_path), tmp_path / "r", *arms, *oddity(text="Oslo")))
    assert ran.code == 0, ran.err
    assert {name: arm["n"] for name, arm in ran.json["arms"].items()} == {"dead": 3, "alive": 3}
    assert ran.json["arms"]["dead"]["failures"]["provider"] == 1


def test_an_empty_dossier_is_asked_about_and_scored(
    cli: Cli, tmp_path: Path, toy: str, oddity: Callable[..., list[str]]
) -> None:
    log = tmp_path / "log.jsonl"
    arms = ["--memory", f"toy={toy}", "--set", "toy.keep=0"]
    ran = cli(*run(one_gold(tmp_path), tmp_path / "r", *arms, *oddity(text="Oslo", log=str(log))))
    assert ran.code == 0, ran.err
    arm = ran.json["arms"]["toy"]
    assert (arm["n"], sum(arm["failures"].values()), arm["metrics"]["exact_match"]["value"]) == (4, 0, 1)
    assert len(jsonl(log)) == 4


# -- categories, dates, golds --------------------------------------------------------------------------------------


def test_the_names_of_the_categories_and_the_sum_of_the_table(cli: Cli, tmp_path: Path) -> None:
    names = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
    asked = [{"question": f"Question {n}?", "answer": "Oslo", "category": n % 4 + 1} for n in range(10)]
    told = {f"conv-900/q{n}": "Oslo" if n % 3 else "Rome" for n in range(10)}
    ran = cli(*run(talk(tmp_path, asked), tmp_path / "r", "--arm", "lexical/dossier", *replies(tmp_path, told)))
    assert ran.code == 0, ran.err
    arm = ran.json["arms"]["lexical/dossier"]
    for number, name in names.items():
        mine = [n for n in range(10) if n % 4 + 1 == number]
        assert arm["categories"][name]["n"] == len(mine)
        right = sum(n % 3 > 0 for n in mine) / len(mine)
        assert arm["categories"][name]["exact_match"]["value"] == pytest.approx(right)
    table = [(found["n"], found["exact_match"]["value"]) for found in arm["categories"].values()]
    assert sum(n for n, _ in table) == arm["n"] == 10, "no question is in a category and not in the whole"
    assert sum(n * value for n, value in table) / 10 == pytest.approx(arm["metrics"]["exact_match"]["value"])


def test_adversarial_questions_without_a_gold_answer_have_no_score(cli: Cli, tmp_path: Path) -> None:
    asked: list[dict[str, Any]] = [{"question": "What did Bo paint?", "adversarial_answer": "a boat", "category": 5}]
    asked += [{"question": "Where?", "answer": "Oslo"}]
    data = talk(tmp_path, asked)
    wrong = ({"when": word, "text": verdict("CORRECT")} for word in ("a boat", "undefined", "None"))
    judge = script(tmp_path, "j.json", {"when": "Oslo", "text": verdict("WRONG")}, *wrong)
    agent = replies(tmp_path, {}, "a boat")
    arms = ["--arm", "lexical/dossier"]
    usual = cli(*run(data, tmp_path / "a", *arms, *agent))
    assert usual.json["arms"]["lexical/dossier"]["n"] == 1, "left out by default, as the field does"
    ran = cli(*run(data, tmp_path / "b", *arms, *agent, "--categories", "4,5", "--judge", judge))
    assert ran.code == 0, ran.err
    found = ran.json["arms"]["lexical/dossier"]["categories"]["adversarial"]
    for name in ("f1", "exact_match", "bleu1", metric(ran.json, "j.json")):
        estimate = found.get(name)
        assert estimate is None or estimate["value"] is None, f"{name} compares with something that is no gold"
    overall = ran.json["arms"]["lexical/dossier"]["metrics"]
    assert overall["f1"]["n"] == 1, "and not in the denominator of the whole either"


def test_now_is_the_last_session_that_was_held(cli: Cli, tmp_path: Path, oddity: Callable[..., list[str]]) -> None:
    base = small_conversation(0, 2, sessions=11)
    for session in range(1, 12):
        base["conversation"][f"session_{session}_date_time"] = f"1:00 pm on {session + 3} May, 2023"
    base["conversation"]["session_12_date_time"] = "1:00 pm on 1 January, 2024"
    data = tmp_path / "eleven.json"
    data.write_text(json.dumps([base]), encoding="utf-8")
    log = tmp_path / "log.jsonl"
    ran = cli(*run(data, tmp_path / "r", "--arm", "lexical/dossier", *oddity(text="x", log=str(log))))
    assert ran.code == 0, ran.err
    asked = {note["as_of"][:10] for note in jsonl(log)}
    assert asked == {"2023-05-14"}, "session 11, neither session 9 nor a date without a session"


@pytest.mark.parametrize(("gold", "answer", "right"), [(3, "3", 1), (0, "0", 1), (2022, "2022", 1), (3, "4", 0)])
def test_a_number_as_gold_is_its_digits(gold: int, answer: str, right: int, cli: Cli, tmp_path: Path) -> None:
    data = talk(tmp_path, [{"question": "How many?", "answer": gold}])
    judge = script(tmp_path, "j.json", {"when": f"\n{gold}\n", "text": verdict("CORRECT")}, {"text": verdict("WRONG")})
    agent = replies(tmp_path, {}, answer)
    ran = cli(*run(data, tmp_path / "r", "--arm", "lexical/dossier", *agent, "--judge", judge))
    assert ran.code == 0, ran.err
    arm = ran.json["arms"]["lexical/dossier"]["metrics"]
    assert arm["exact_match"]["value"] == right
    assert arm[metric(ran.json, "j.json")]["value"] == 1, "the judge gets the number"


# -- records -------------------------------------------------------------------------------------------------------


def _again(out: Path, changed: Sequence[tuple[str, str]]) -> None:
    """Another writer's records of the run's first cell, with another text."""
    path = next(out.glob("answers-*.jsonl"))
    line = path.read_text("utf-8").split("\n")[0]
    for old, new in changed:
        assert old in line
        line = line.replace(old, new)
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")


def test_a_cell_that_was_answered_twice_counts_once_and_by_its_first(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "r"
    args = run(one_gold(tmp_path), out, "--arm", "lexical/dossier", *replies(tmp_path, {}, "Rome"))
    assert cli(*args).code == 0
    _again(out, [('"text":"Rome"', '"text":"Oslo"')])
    ran = cli("judge", out, "--json")
    assert ran.code == 0, ran.err
    arm = ran.json["arms"]["lexical/dossier"]
    assert (arm["n"], arm["metrics"]["f1"]["value"]) == (4, 0)
    assert ran.json["cells"]["duplicates"] == 1
    assert not ran.json["publishable"]["value"]


def test_every_planned_cell_has_a_record(
    cli: Cli, small_file: Callable[..., Path], tmp_path: Path, no_backoff: None
) -> None:
    out = tmp_path / "r"
    every = "refused,limit-time,limit-money,rate-limit,crash"
    ran = cli(*run(small_file(3, 8), out, *TWO, *scripted(every, 0.4)))
    assert ran.code == 0, ran.err
    ended = counted(out)
    assert {(task, arm) for task, arm, _ in ended} == {(task, arm) for task in golds(out) for arm in ARMS}
    for arm in ARMS:
        kinds = [kind(record) for (_, of, _), record in ended.items() if of == arm]
        assert ran.json["arms"][arm]["failures"] == {k: kinds.count(k) for k in ("memory", "provider", "harness")}
    crashed = [r for r in records(out) if "planted crash" in r["detail"]]
    assert crashed
    assert {r["status"] for r in crashed} == {"harness-error"}
    assert all(said(r) == "" for r in crashed)


def test_a_stand_in_is_never_published_and_never_in_a_table_with_a_model(
    cli: Cli, small_file: Callable[..., Path], tmp_path: Path
) -> None:
    ran = cli(*run(small_file(1, 4), tmp_path / "r", "--arm", "lexical/dossier", *scripted()))
    assert ran.json["arms"]["lexical/dossier"]["model"] == "scripted"
    assert any("scripted" in reason for reason in ran.json["publishable"]["reasons"])
    assert {record["model"] for record in records(tmp_path / "r")} == {"scripted"}
