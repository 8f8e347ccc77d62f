from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memassay.core.errors import UsageError
from memassay.running.experiment import (
    BUDGETS,
    apply_settings,
    experiment_of,
    memory_entries,
    read_experiment,
)

GOOD: dict[str, Any] = {"suite": "locomo", "memories": {"lexical": {"use": "lexical", "window": 3}}}


def refused(tables: dict[str, Any]) -> str:
    with pytest.raises(UsageError) as raised:
        experiment_of(tables)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_the_defaults_of_the_contract() -> None:
    made = experiment_of(GOOD)
    assert made.budgets == BUDGETS == (1000, 2000, 4000, 8000, 12000)
    assert (made.tokens, made.stage, made.seed, made.limit, made.controls) == ("o200k_base", "retrieval", 0, None, True)
    assert made.memories["lexical"].options == {"window": 3}
    assert made.primary is None


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({"budgtes": [1]}, ["budgtes", "Did you mean 'budgets'"]),
        ({"memory": {}}, ["memory", "'memories'"]),
        ({"limits": {"build_second": 3}}, ["limits.build_second", "'build_seconds'"]),
        ({"primary": {"metrc": "x", "metric": "all@1000", "a": "x", "b": "y"}}, ["primary.metrc", "'metric'"]),
    ],
)
def test_an_unknown_key_gets_a_suggestion(extra: dict[str, Any], words: list[str]) -> None:
    message = refused({**GOOD, **extra})
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({"limit": 0}, ["limit"]),
        ({"limit": "many"}, ["limit", "many"]),
        ({"seed": "x"}, ["seed", "'x'"]),
        ({"budgets": []}, ["budgets"]),
        ({"budgets": [1000, 1000]}, ["budgets", "twice"]),
        ({"budgets": [2000, 1000]}, ["budgets", "ascending"]),
        ({"budgets": [0]}, ["budgets"]),
        ({"budgets": [-5, 5]}, ["budgets"]),
        ({"budgets": "1000"}, ["budgets"]),
        ({"ks": [3, 2]}, ["ks"]),
        ({"builds": 0}, ["builds"]),
        ({"stage": "answers"}, ["stage"]),
        ({"limits": {"retrieve_seconds": 0}}, ["limits.retrieve_seconds"]),
        ({"limits": {"retrieve_seconds": float("nan")}}, ["limits.retrieve_seconds"]),
        ({"memories": {"a": {}}}, ["memories.a.use"]),
        ({"memories": {"a": {"use": "files", "role": "control"}}}, ["memories.a.role"]),
        ({"memories": ["files"]}, ["memories"]),
        ({"memories": {"a": "files"}}, ["memories.a"]),
        ({"options": "data"}, ["options"]),
        ({"primary": {"metric": "all@1000"}}, ["primary"]),
        ({"categories": "multi-hop"}, ["categories"]),
    ],
)
def test_a_wrong_value_is_named(extra: dict[str, Any], words: list[str]) -> None:
    message = refused({**GOOD, **extra})
    for word in words:
        assert word in message


def test_a_suite_has_to_be_named() -> None:
    assert "suite" in refused({"memories": {}})


# -- files ---------------------------------------------------------------------------------------------------------


def test_an_experiment_file(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text('suite = "locomo"\n[memories.lexical]\nuse = "lexical"\nwindow = 3\n', encoding="utf-8")
    assert experiment_of(read_experiment(path)) == experiment_of(GOOD)


@pytest.mark.parametrize("content", [b"suite = ", b"\xff\xfe", b"suite = 'a'\nsuite = 'b'"])
def test_a_file_that_is_not_toml(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"x\.toml"):
        read_experiment(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no experiment file"):
        read_experiment(tmp_path / "x.toml")
    with pytest.raises(UsageError, match=tmp_path.name):
        read_experiment(tmp_path)


# -- flags ---------------------------------------------------------------------------------------------------------


def test_memories_by_flag() -> None:
    assert memory_entries("files, turns=lexical,./my mem.py:Mine") == {
        "files": {"use": "files"},
        "turns": {"use": "lexical"},
        "Mine": {"use": "./my mem.py:Mine"},
    }


@pytest.mark.parametrize(
    ("names", "words"),
    [("files,files", "files-2=files"), ("files,,x", "empty"), ("", "empty"), ("a=x,a=y", "'a' twice")],
)
def test_wrong_memory_flags(names: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        memory_entries(names)


def test_settings_by_flag_are_json_where_they_parse() -> None:
    entries: dict[str, dict[str, Any]] = {"m": {"use": "x"}, "a.b": {"use": "y"}}
    apply_settings(entries, ["m.n=3", "m.s=three", "m.b=true", 'm.l=["a"]', "a.b.c=1", "m.e=", "m.q=a=b"])
    assert entries["m"] == {"use": "x", "n": 3, "s": "three", "b": True, "l": ["a"], "e": "", "q": "a=b"}
    assert entries["a.b"]["c"] == 1


@pytest.mark.parametrize("setting", ["m.n", "n=3", ".n=3", "m.=3", "="])
def test_malformed_settings(setting: str) -> None:
    with pytest.raises(UsageError, match=r"NAME\.key=value"):
        apply_settings({"m": {"use": "x"}}, [setting])


def test_a_setting_for_a_memory_that_is_not_here() -> None:
    with pytest.raises(UsageError, match="Did you mean 'lexical'"):
        apply_settings({"lexical": {"use": "lexical"}}, ["lexcal.window=3"])
