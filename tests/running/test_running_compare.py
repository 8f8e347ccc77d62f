from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memassay.core.errors import DataError, UsageError
from memassay.core.types import Evidence, Gold, Task
from memassay.running.basis import MUST_EQUAL
from memassay.running.compare import Gate, Scored, arm_of, compare, gate_of, save_baseline, scored

Run = Callable[..., tuple[Any, Path]]
G, PER = 8, 30
TASKS = [
    Task(
        id=f"c{c}/q{n}", suite="s", scope=f"c{c}", cluster=f"c{c}", category="x", split="dev" if c < 2 else "test",
        prompt="?", gold={"original": Gold(evidence=(Evidence(id="D1:1", text="t"),))},
    )
    for c in range(G)
    for n in range(PER)
]  # fmt: skip
BASIS: dict[str, Any] = {**{key: f"value of {key}" for key in MUST_EQUAL}, "headline": "all@4000"}


def side(values: Any, name: str = "new", basis: Mapping[str, Any] = BASIS, tasks: Any = TASKS) -> Scored:
    return Scored(name=name, basis=basis, tasks=tasks, scores={"m": {"all@4000": np.asarray(values, dtype=float)}})


def base(p: float = 0.7, seed: int = 1) -> np.ndarray[Any, Any]:
    return (np.random.default_rng(seed).random(len(TASKS)) < p).astype(float)


NO_WORSE = gate_of("no-worse")


def verdict(new: Any, old: Any, gate: Gate = NO_WORSE) -> str:
    return str(compare(side(new), side(old, "old"), None, None, gate)["gate"]["verdict"])


def test_the_same_scores_pass() -> None:
    assert verdict(base(), base()) == "passed"


def test_a_better_run_passes() -> None:
    better = base().copy()
    better[::4] = 1.0
    assert verdict(better, base()) == "passed"


def test_a_clearly_worse_run_fails() -> None:
    worse = base().copy()
    worse[::3] = 0.0
    assert verdict(worse, base()) == "failed"


def test_a_noisy_one_is_no_decision() -> None:
    other = base(0.7, seed=2)
    assert verdict(other, base()) == "no decision"


def test_the_difference_is_new_minus_old_on_the_same_tasks() -> None:
    new, old = base(seed=3), base(seed=4)
    found = compare(side(new), side(old, "old"), None, None, None)
    (row,) = found["comparisons"]
    assert row["diff"]["value"] == pytest.approx(float((new - old).mean()))
    assert (row["wins"], row["losses"]) == (int((new > old).sum()), int((new < old).sum()))
    assert (found["n"], found["clusters"]) == (len(TASKS), G)
    assert found["gate"] is None
    back = compare(side(old), side(new, "old"), None, None, None)["comparisons"][0]
    assert back["diff"]["value"] == pytest.approx(-row["diff"]["value"])


def test_a_split_of_the_gate() -> None:
    found = compare(side(base()), side(base(), "old"), None, None, Gate(split="test"))
    assert (found["n"], found["clusters"]) == (PER * 6, 6)
    with pytest.raises(UsageError, match="Did you mean 'test'"):
        compare(side(base()), side(base(), "old"), None, None, Gate(split="tst"))


def test_a_task_that_one_side_lacks_leaves_both_and_many_prevent_a_pass() -> None:
    new = base().copy()
    new[0] = np.nan
    found = compare(side(new), side(base(), "old"), None, None, NO_WORSE)
    assert (found["n"], found["lost_tasks"]) == (len(TASKS) - 1, 1)
    assert found["gate"]["verdict"] == "passed"
    new[:10] = np.nan
    found = compare(side(new), side(base(), "old"), None, None, NO_WORSE)
    assert found["gate"]["verdict"] == "no decision"
    assert "missing" in found["gate"]["reasons"][0]


def test_a_task_undefined_on_both_sides_is_no_loss() -> None:
    both = base().copy()
    both[:100] = np.nan
    found = compare(side(both), side(both, "old"), None, None, NO_WORSE)
    assert (found["n"], found["lost_tasks"], found["gate"]["verdict"]) == (len(TASKS) - 100, 0, "passed")


@pytest.mark.parametrize("field", MUST_EQUAL)
def test_what_must_be_equal_is_named(field: str) -> None:
    other = side(base(), "old", {**BASIS, field: "something else"})
    with pytest.raises(UsageError) as raised:
        compare(side(base()), other, None, None, NO_WORSE)
    assert f"{field}:" in str(raised.value)
    assert "something else" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_what_must_be_equal_covers_the_contract() -> None:
    assert {"suite", "suite_settings", "tokens", "categories", "limit", "tasks"} <= set(MUST_EQUAL)


# -- gates ---------------------------------------------------------------------------------------------------------


def test_a_gate_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "gate.toml"
    path.write_text('margin = 0.2\nmetrics = ["all@4000"]\n')
    gate = gate_of(str(path))
    assert (gate.margin, gate.metrics) == (0.2, ("all@4000",))
    assert verdict(base(0.7, seed=2), base(), gate) == "passed"


@pytest.mark.parametrize(
    ("text", "words"),
    [("margn = 0.1", "'margin'"), ("margin = 0", "margin"), ("margin = 'x'", "margin"), ("margin =", "TOML")],
)  # fmt: skip
def test_a_gate_that_does_not_fit(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "gate.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=words) as raised:
        gate_of(str(path))
    assert "\n" not in str(raised.value)


def test_an_unknown_gate() -> None:
    with pytest.raises(UsageError, match="Did you mean 'no-worse'"):
        gate_of("no-wrose")


def test_a_metric_that_is_not_there() -> None:
    with pytest.raises(UsageError, match=r"'all@4000'"):
        compare(side(base()), side(base(), "old"), None, None, Gate(metrics=("all@400",)))


# -- arms and baselines --------------------------------------------------------------------------------------------


def test_several_arms_need_a_name() -> None:
    two = Scored("r", BASIS, TASKS, {"a": {}, "b": {}})
    with pytest.raises(UsageError, match="--arm"):
        arm_of(two, None)
    with pytest.raises(UsageError, match="no arm"):
        arm_of(two, "c")
    assert arm_of(two, "b") == "b"


def test_a_baseline_cannot_be_the_new_side() -> None:
    with pytest.raises(UsageError, match="first"):
        compare(side(base(), tasks=None), side(base(), "old"), None, None, None)


def test_a_baseline_file_is_small_holds_no_text_and_reads_back(tmp_path: Path) -> None:
    values = base()
    values[3] = np.nan
    path = tmp_path / "b.json"
    save_baseline(side(values), path, "m")
    assert path.stat().st_size < 2000
    old = scored(path)
    assert old.tasks is None
    assert np.array_equal(old.scores["m"]["all@4000"], values, equal_nan=True)
    assert compare(side(values), old, None, None, NO_WORSE)["gate"]["verdict"] == "passed"


def test_shares_survive_a_baseline_file(tmp_path: Path) -> None:
    values = np.tile([1 / 3, 0.5, 1.0, 0.0], len(TASKS) // 4)
    save_baseline(side(values), tmp_path / "b.json", None)
    found = compare(side(values), scored(tmp_path / "b.json"), None, None, NO_WORSE)
    assert found["comparisons"][0]["diff"]["value"] == pytest.approx(0, abs=1e-6)
    assert found["gate"]["verdict"] == "passed"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", "{}", '{"format": 9}', '{"format": 1, "arms": {"a": {"m": "01x"}}, "basis": {}}']
)
def test_a_damaged_baseline_is_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "b.json"
    path.write_text(text)
    with pytest.raises(DataError, match=r"b\.json"):
        scored(path)


def test_a_baseline_of_another_length_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    save_baseline(side(base()), path, None)
    content = json.loads(path.read_text())
    content["arms"]["m"]["all@4000"] = content["arms"]["m"]["all@4000"][:-1]
    path.write_text(json.dumps(content))
    with pytest.raises((DataError, UsageError)):
        compare(side(base()), scored(path), None, None, NO_WORSE)


def test_nothing_to_compare_with(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no run folder"):
        scored(tmp_path / "nothing")


# -- real runs -----------------------------------------------------------------------------------------------------


def test_two_runs_of_other_memories_are_comparable_whatever_may_differ(small_run: Run, tmp_path: Path) -> None:
    _, old = small_run("old", {"x": {}})
    _, new = small_run("new", {"x": {"keep": 0.5}, "y": {}}, controls=False, seed=3, builds=2, workers=1)
    found = compare(scored(new), scored(old), "x", None, NO_WORSE)
    assert found["n"] == 24
    assert found["comparisons"][0]["diff"]["value"] < 0
    same = compare(scored(new), scored(old), "y", "x", NO_WORSE)
    assert same["gate"]["verdict"] == "passed"
    assert same["comparisons"][0]["diff"]["value"] == 0


@pytest.mark.parametrize(
    ("change", "field"),
    [({"tokens": "o200k_base"}, "tokens"), ({"limit": 8}, "limit"), ({"questions": 7}, "suite_settings"),
     ({"categories": ["4"]}, "categories"), ({"scopes": ["conv-901"]}, "conversations")],
)  # fmt: skip
def test_two_runs_that_did_other_things_are_refused(small_run: Run, change: dict[str, Any], field: str) -> None:
    _, old = small_run("old", controls=False)
    _, new = small_run("new", controls=False, **change)
    with pytest.raises(UsageError, match=field):
        compare(scored(new), scored(old), None, None, NO_WORSE)


def test_a_run_and_its_own_baseline(small_run: Run, tmp_path: Path) -> None:
    _, folder = small_run("r")
    save_baseline(scored(folder), tmp_path / "b.json", None)
    text = (tmp_path / "b.json").read_text()
    assert "kettle" not in text
    assert compare(scored(folder), scored(tmp_path / "b.json"), None, None, NO_WORSE)["gate"]["verdict"] == "passed"
