"""Money: what a plan says before, a limit that stops whole tasks, and sums that are those of the records."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from acceptance_tools import Process, tree
from test_acceptance_answers import SMALL, counted, jsonl, records, refusal, run
from test_acceptance_answers_accounting import ARMS, TWO, scripted

from kit import Cli, child_environment

PLAN = ["--agent", "api", "--model", "claude-sonnet-4-6"]


def paid(out: Path) -> float:
    return sum(r["usage"]["cost_usd"] or 0.0 for r in records(out))


def per_task(out: Path) -> dict[str, set[tuple[str, int]]]:
    """Which cells every begun task has."""
    found: dict[str, set[tuple[str, int]]] = {}
    for task, arm, repetition in counted(out):
        found.setdefault(task, set()).add((arm, repetition))
    return found


@pytest.mark.parametrize("workers", [pytest.param("1", marks=pytest.mark.slow), "4"])
def test_a_limit_stops_whole_tasks_and_more_money_goes_on(
    workers: str, cli: Cli, small_file: Callable[..., Path], tmp_path: Path
) -> None:
    out = tmp_path / "r"
    flags = [*TWO, *scripted(cost_usd=0.25), "--repetitions", "2", "--workers", workers]
    args = run(small_file(2, 12), out, *flags)
    first = cli(*args, "--max-usd", "7.3")
    assert first.code == 3
    assert "7.3" in refusal(first)
    begun = per_task(out)
    assert 0 < len(begun) < 24
    assert all(len(cells) == 4 for cells in begun.values()), "every arm and repetition of each task that was begun"
    counts = {arm: first.json["arms"][arm]["n"] for arm in ARMS}
    assert set(counts.values()) == {len(begun)}
    assert 6.3 <= paid(out) <= 7.3, "as far as the money goes, and no further"
    assert not first.json["publishable"]["value"]
    assert first.json["stopped"]
    last = cli(*args, "--max-usd", "100")
    assert last.code == 0, last.err
    assert len(per_task(out)) == 24
    assert len(records(out)) == 96, "nothing was paid twice"
    assert last.json["stopped"] == ""
    assert sum(a["usage"]["answers"]["cost_usd"] for a in last.json["arms"].values()) == pytest.approx(24.0)


def test_the_same_command_again_spends_no_more(cli: Cli, small_file: Callable[..., Path], tmp_path: Path) -> None:
    out = tmp_path / "r"
    args = run(small_file(2, 12), out, *TWO, *scripted(cost_usd=0.25), "--repetitions", "2", "--max-usd", "7.3")
    assert cli(*args).code == 3
    begun = per_task(out)
    assert cli(*args).code == 3
    assert per_task(out) == begun, f"spent {paid(out)} of 7.3"


def test_a_limit_holds_although_nothing_was_known_of_the_price(
    cli: Cli, small_file: Callable[..., Path], tmp_path: Path
) -> None:
    out = tmp_path / "r"
    ran = cli(*run(small_file(2, 12), out, *TWO, *scripted(cost_usd=1.0), "--max-usd", "3.5", "--workers", "1"))
    assert ran.code == 3, ran.err
    assert paid(out) <= 3.5, f"spent {paid(out)}"


def test_a_limit_that_pays_for_nothing_asks_nothing(cli: Cli, small_file: Callable[..., Path], tmp_path: Path) -> None:
    out = tmp_path / "r"
    args = run(small_file(2, 12), out, *TWO, *scripted(cost_usd=1.0), "--workers", "1")
    assert cli(*args, "--max-usd", "30").code in (0, 3)
    before = len(records(out))
    assert cli(*args, "--max-usd", "0.5").code == 3
    assert len(records(out)) == before, "what was spent before counts"


def test_the_limit_is_that_of_all_who_write_side_by_side(
    workplace: Path, own_home: Path, small_file: Callable[..., Path]
) -> None:
    """Each has a task in flight that the other cannot see, of two answers at .25; alone each could spend it all."""
    flags = [*TWO, *scripted(cost_usd=0.25, seconds=0.2), "--workers", "1", "--max-usd", "7.3"]
    args = run(small_file(2, 24), "r", *flags)
    both = [Process([*args, "--shard", f"{i}/2"], child_environment(own_home), workplace) for i in (1, 2)]
    ended = [process.end() for process in both]
    assert [code for code, _, _ in ended] == [3, 3], [err for _, _, err in ended]
    assert 6.8 < paid(workplace / "r") <= 7.3 + 0.5
    shares = [sum(r["usage"]["cost_usd"] for r in jsonl(p)) for p in (workplace / "r").glob("answers-*.jsonl")]
    assert len(shares) == 2 and min(shares) > 0, "both have answered"
    assert all(len(cells) == 2 for cells in per_task(workplace / "r").values()), "tasks are whole all the same"


def test_the_limit_covers_the_judges(cli: Cli, small_file: Callable[..., Path], tmp_path: Path) -> None:
    path = tmp_path / "j.json"
    text = json.dumps({"explanation": "x", "label": "WRONG"})
    path.write_text(json.dumps({"replies": [{"text": text, "usage": {"input": 9, "cost_usd": 0.5}}]}))
    out = tmp_path / "r"
    flags = [*TWO, *scripted(cost_usd=0.5), "--judge", f"scripted/{path}", "--max-usd", "10", "--workers", "1"]
    ran = cli(*run(small_file(2, 12), out, *flags))
    assert ran.code == 3, ran.err
    judged = ran.json["judges"][0]["usage"]["cost_usd"] or 0.0
    by_task: dict[str, set[str]] = {}
    for line in jsonl(*(out / "judgements").glob("binary*.jsonl")):
        by_task.setdefault(line["subjects"][0]["task"], set()).add(line["subjects"][0]["arm"])
    assert all(arms == set(ARMS) for arms in by_task.values()), "verdicts, too, are of whole tasks"
    assert set(by_task) == set(per_task(out)), "what was answered can be judged"
    assert paid(out) + judged <= 10.0 + 1e-9, f"answers {paid(out)}, verdicts {judged}"


def test_the_limit_is_no_part_of_what_a_run_is(cli: Cli, small_file: Callable[..., Path], tmp_path: Path) -> None:
    base = [*TWO, *scripted(cost_usd=0.01)]
    one = cli(*run(small_file(1, 4), tmp_path / "a" / "r", *base, "--max-usd", "5")).json
    two = cli(*run(small_file(1, 4), tmp_path / "b" / "r", *base)).json
    assert one["identity_digest"] == two["identity_digest"]
    assert {name: arm["metrics"] for name, arm in one["arms"].items()} == {
        name: arm["metrics"] for name, arm in two["arms"].items()
    }


def test_tokens_of_four_kinds_and_the_difference_to_what_the_client_reports(
    cli: Cli, small_file: Callable[..., Path], tmp_path: Path
) -> None:
    told = {"input_tokens": 11, "output_tokens": 3, "cache_read_tokens": 500, "cache_write_tokens": 70, "turns": 4}
    money = {"cost_usd": 0.02, "reported_usd": 0.03, "tool_calls": 2}
    ran = cli(*run(small_file(1, 5), tmp_path / "r", "--arm", "lexical/dossier", *scripted(**told, **money)))
    assert ran.code == 0, ran.err
    usage = ran.json["arms"]["lexical/dossier"]["usage"]["answers"]
    assert usage["tokens"] == {"input": 55, "output": 15, "cache_read": 2500, "cache_write": 350}
    assert usage["cost_usd"] == pytest.approx(0.1)
    assert usage["reported_usd"] == pytest.approx(0.15)
    assert abs(usage["cost_difference_usd"]) == pytest.approx(0.05)
    assert usage["turns"]["mean"] == 4
    assert usage["tool_calls"]["mean"] == 2


# -- the plan ------------------------------------------------------------------------------------------------------


def plan(cli: Cli, data: Path, *more: str | Path) -> dict[str, Any]:
    ran = cli("plan", "locomo", "--data", data, *SMALL, *more, "--json")
    assert ran.code == 0, ran.err
    found: dict[str, Any] = ran.json
    return found


def test_a_plan_says_cells_tokens_money_and_the_difference_it_can_detect_and_makes_nothing(
    cli: Cli, workplace: Path, small_file: Callable[..., Path]
) -> None:
    pytest.importorskip("anthropic")
    data = small_file(8, 6)
    found = plan(cli, data, *TWO, *PLAN, "--repetitions", "3", "--judge", "claude-sonnet-4-6")
    assert found["tasks"] == 48
    assert found["cells"] == found["answers"] == found["judgements"] == 48 * 2 * 3
    assert found["tokens sent"]
    assert found["cost in US dollars"] > 0
    assert 0 < found["detectable difference"] < 1
    assert tree(workplace) == {}
    ran = cli("plan", "locomo", "--data", data, *SMALL, *TWO, *PLAN)
    for word in ("cells", "tokens", "dollars", "detectable difference"):
        assert word in ran.out


def test_money_and_tokens_grow_with_what_is_asked(cli: Cli, small_file: Callable[..., Path]) -> None:
    pytest.importorskip("anthropic")
    data = small_file(8, 6)
    one = plan(cli, data, "--arm", "lexical/dossier", *PLAN)["cost in US dollars"]
    assert plan(cli, data, *TWO, *PLAN)["cost in US dollars"] == pytest.approx(2 * one, rel=0.05)
    again = plan(cli, data, "--arm", "lexical/dossier", *PLAN, "--repetitions", "3")["cost in US dollars"]
    assert again == pytest.approx(3 * one, rel=0.05)
    judged = plan(cli, data, "--arm", "lexical/dossier", *PLAN, "--judge", "claude-sonnet-4-6")["cost in US dollars"]
    assert judged > one
    tools = plan(cli, data, "--arm", "lexical/tools", *PLAN)["cost in US dollars"]
    assert tools > 2 * one, "an agent with tools asks more than once"


def test_more_conversations_detect_smaller_differences(cli: Cli, small_file: Callable[..., Path]) -> None:
    agent = ["--agent", "extractive", "--arm", "lexical/dossier"]
    few, many = (plan(cli, small_file(n, 6), *agent)["detectable difference"] for n in (4, 10))
    assert many < few
    assert plan(cli, small_file(1, 6), *agent)["detectable difference"] is None, "one cluster decides nothing"


def test_a_price_that_is_not_known_is_said_and_no_limit_is_promised(
    cli: Cli, workplace: Path, small_file: Callable[..., Path]
) -> None:
    pytest.importorskip("anthropic")
    unknown = ["--arm", "lexical/dossier", "--agent", "api", "--model", "anthropic/no-such-model"]
    data = small_file(2, 4)
    found = plan(cli, data, *unknown)
    assert found["cost in US dollars"] is None
    ran = cli("run", "locomo", "--data", data, "--out", "r", *SMALL, *unknown, "--max-usd", "1")
    assert ran.code == 2
    assert "price" in refusal(ran)
    assert not any(path.read_text() for path in workplace.rglob("answers-*.jsonl"))
    assert not (workplace / "stores").exists(), "a build may cost money, so nothing is built either"


def test_the_estimate_comes_before_the_run(cli: Cli, workplace: Path, small_file: Callable[..., Path]) -> None:
    ran = cli(*run(small_file(1, 4), "r", *TWO, *scripted(), "--repetitions", "2"))
    assert ran.code == 0
    head = ran.err.splitlines()[:3]
    assert any("answers: 16" in line for line in head)
    assert Counter(arm for _, arm, _ in counted(workplace / "r")) == dict.fromkeys(ARMS, 8)
