"""Each reason why a run may not be published, one by one (statistics.md, Publishable)."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from memassay.core.types import Status
from memassay.running.experiment import Primary, experiment_of
from memassay.running.plan import Plan, make_plan
from memassay.running.publishable import publishable
from memassay.runs.folder import Counted, RunFolder
from memassay.runs.records import Key, key_of
from memassay.stats import Band

GOOD_CONTROLS: dict[str, Any] = {"oracle": {"passed": True, "checks": []}}


@pytest.fixture
def good(small_file: Callable[..., Path], tmp_path: Path) -> dict[str, Any]:
    """The arguments of a run that may be published."""
    plan = make_plan(
        experiment_of(
            {
                "suite": "locomo",
                "options": {"data": str(small_file(8, 30))},
                "memories": {"a": {"use": "files"}, "b": {"use": "lexical"}},
                "tokens": "chars4",
                "primary": {"metric": "all@4000", "a": "a", "b": "b"},
            }
        )
    )
    settings = {**plan.identity["suite_settings"], "data": {"sha256": "x", "catalogue": True}}
    plan = dataclasses.replace(plan, identity={**plan.identity, "suite_settings": settings})
    unused = dict.fromkeys(Counted._fields, "")
    counted = {
        key_of(cell): Counted(**{**unused, "status": Status.OK, "attempt": 1, "segment": 0, "line": line})
        for line, cell in enumerate(plan.cells(), start=1)
    }
    run = RunFolder(tmp_path / "r")
    clean = {"memassay": "0.1.0", "source_dirty": False}
    run.enter(plan.identity, {}, "1of1", clean, [])
    return {
        "plan": plan,
        "run": run,
        "counted": counted,
        "planned": len(counted),
        "controls": GOOD_CONTROLS,
        "unavailable": {},
        "chance": {},
        "headline": "all@4000",
    }


def reasons(arguments: Mapping[str, Any]) -> list[str]:
    found = publishable(**arguments)
    assert found["value"] == (not found["reasons"])
    return list(found["reasons"])


def ended(good: dict[str, Any], status: Status, arm: str, count: int) -> dict[Key, Counted]:
    """``count`` cells of an arm that ended otherwise."""
    keys = [key for key in good["counted"] if key[1] == arm][:count]
    return {**good["counted"], **{key: good["counted"][key]._replace(status=status) for key in keys}}


def changed(plan: Plan, **fields: Any) -> Plan:
    return dataclasses.replace(plan, experiment=plan.experiment.model_copy(update=fields))


def test_nothing_stands_in_the_way(good: dict[str, Any]) -> None:
    assert reasons(good) == []


def test_a_missing_cell(good: dict[str, Any]) -> None:
    good["counted"].popitem()
    assert [r for r in reasons(good) if "missing" in r and r.startswith("1 of ")]


def test_a_harness_failure(good: dict[str, Any]) -> None:
    good["counted"] = ended(good, Status.HARNESS, "b", 1)
    assert [r for r in reasons(good) if "harness" in r]


def test_provider_failures_over_one_percent(good: dict[str, Any]) -> None:
    good["counted"] = ended(good, Status.RATE_LIMIT, "a", 6)
    good["counted"] = ended(good, Status.RATE_LIMIT, "b", 6)  # the same in both arms: 6 of 248 are 2.4 %
    assert [r for r in reasons(good) if "provider" in r]


def test_provider_failures_that_differ_between_arms(good: dict[str, Any]) -> None:
    good["counted"] = ended(good, Status.NETWORK, "a", 3)  # 1.2 % against 0
    assert [r for r in reasons(good) if "provider" in r and "between arms" in r]


def test_a_few_provider_failures_are_no_reason(good: dict[str, Any]) -> None:
    good["counted"] = ended(good, Status.NETWORK, "a", 2)  # .8 %
    assert reasons(good) == []


def test_memory_failures_are_results_not_reasons(good: dict[str, Any]) -> None:
    good["counted"] = ended(good, Status.MEMORY_CRASH, "a", 200)
    assert reasons(good) == []


def test_a_control_that_failed_is_named_with_its_reason(good: dict[str, Any]) -> None:
    checks = [{"metric": "all@4000", "passed": False, "detail": "oracle scored .9 instead of 1"}]
    good["controls"] = {**GOOD_CONTROLS, "oracle": {"passed": False, "checks": checks}}
    (reason,) = reasons(good)
    assert "oracle" in reason
    assert "scored .9" in reason


def test_a_control_that_was_not_measured(good: dict[str, Any]) -> None:
    unmeasured = {"metric": "all@4000", "passed": None, "detail": "random was not measured"}
    for control in ({"passed": None, "checks": []}, {"passed": None, "checks": [unmeasured]}):
        good["controls"] = {"random": control}
        assert reasons(good) == ["control random was not measured"]


def test_controls_switched_off(good: dict[str, Any]) -> None:
    good["plan"], good["controls"] = changed(good["plan"], controls=False), {}
    assert [r for r in reasons(good) if "controls" in r]


def test_data_that_are_not_the_catalogues(good: dict[str, Any]) -> None:
    identity = dict(good["plan"].identity)
    identity["suite_settings"] = {"data": {"sha256": "x", "catalogue": False}}
    good["plan"] = dataclasses.replace(good["plan"], identity=identity)
    assert [r for r in reasons(good) if "catalogue" in r]


def test_corrections_that_are_not_the_catalogues(good: dict[str, Any]) -> None:
    identity = dict(good["plan"].identity)
    identity["suite_settings"] = {**identity["suite_settings"], "corrections": {"sha256": "y", "catalogue": False}}
    good["plan"] = dataclasses.replace(good["plan"], identity=identity)
    assert [r for r in reasons(good) if "catalogue" in r]


@pytest.mark.parametrize("fields", [{"limit": 5}, {"categories": ("4",)}, {"scopes": ("conv-900",)}])
def test_a_filter(good: dict[str, Any], fields: dict[str, Any]) -> None:
    good["plan"] = changed(good["plan"], **fields)
    assert [r for r in reasons(good) if "filter" in r]


def test_no_primary(good: dict[str, Any]) -> None:
    good["plan"] = changed(good["plan"], primary=None)
    assert [r for r in reasons(good) if "primary" in r]
    good["plan"] = changed(good["plan"], primary=Primary(metric="all@4000", a="a", b="b"))
    assert reasons(good) == []


def rewritten(good: dict[str, Any], **writers: list[dict[str, Any]]) -> None:
    path = good["run"].path / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "writers": writers}))


def test_a_source_tree_with_changes(good: dict[str, Any]) -> None:
    rewritten(good, w=[{"memassay": "0.1.0", "source_dirty": True}])
    assert [r for r in reasons(good) if "uncommitted" in r]
    rewritten(good, w=[{"memassay": "0.1.0", "source_dirty": None}])  # not a checkout: nothing to say
    assert reasons(good) == []


def test_writers_of_two_versions(good: dict[str, Any]) -> None:
    rewritten(good, a=[{"memassay": "0.1.0"}], b=[{"memassay": "0.2.0"}])
    assert [r for r in reasons(good) if "version" in r]


def test_a_budget_at_which_chance_finds_nearly_all(good: dict[str, Any]) -> None:
    for mean, stands in ((0.95, True), (0.5, False)):
        good["chance"] = {"all@4000": Band(low=0.0, high=1.0, mean=mean, sd=0.01, draws=200, level=0.999)}
        assert bool([r for r in reasons(good) if "chance" in r]) is stands


def test_generated_data(small_run: Callable[..., Any]) -> None:
    summary, _ = small_run("r", options={"sample": True}, limit=8, controls=False)
    assert [r for r in summary["publishable"]["reasons"] if "sample" in r]
    assert summary["sample"] is True
    assert [n for n in summary["notes"] if "no verdict" in n.lower() or "carry no verdict" in n]


def test_an_arm_that_cannot_be_measured_is_no_reason(good: dict[str, Any]) -> None:
    good["unavailable"] = {"b": "needs a model"}
    good["counted"] = {k: v for k, v in good["counted"].items() if k[1] != "b"}
    good["planned"] = len(good["counted"])
    assert reasons(good) == []


def test_no_arm_that_can_be_measured(good: dict[str, Any]) -> None:
    good["unavailable"] = {"a": "needs a model", "b": "needs a model"}
    good["counted"], good["planned"] = {}, 0
    assert reasons(good) == ["no arm could be measured"]


def test_a_suite_that_decides_by_its_own_rule_needs_no_primary(good: dict[str, Any]) -> None:
    plan = good["plan"]
    without = dataclasses.replace(plan, experiment=plan.experiment.model_copy(update={"primary": None}))
    assert any("no primary comparison" in reason for reason in reasons(good | {"plan": without}))
    plan.suite.decides = True
    assert reasons(good | {"plan": without}) == []


@pytest.mark.parametrize(
    ("registration", "counts"), [(None, True), ({}, False), ({"first": False}, False), ({"first": True}, True)]
)
def test_a_run_that_was_not_registered_first_is_told(
    good: dict[str, Any], registration: dict[str, bool] | None, counts: bool
) -> None:
    found = reasons(good | {"registration": registration})
    assert any("was not registered before its first record" in reason for reason in found) is not counts
