from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memassay.core.errors import UsageError
from memassay.core.types import Task
from memassay.running.experiment import experiment_of
from memassay.running.markers import MARKER, marker_corpora
from memassay.running.plan import Plan, make_plan

Made = Callable[..., Plan]


@pytest.fixture
def made(small_file: Callable[..., Path]) -> Made:
    def make(clusters: int = 4, questions: int = 6, **tables: Any) -> Plan:
        path = small_file(clusters, questions, f"plan-{clusters}-{questions}.json")
        return make_plan(
            experiment_of(
                {
                    "suite": "locomo",
                    "options": {"data": str(path)},
                    "memories": {"files": {"use": "files"}},
                    "tokens": "chars4",
                    **tables,
                }
            )
        )

    return make


def questions(plan: Plan) -> list[Task]:
    return [t for t in plan.tasks if t.category != MARKER]


def test_ids_and_tasks_do_not_depend_on_any_filter(made: Made) -> None:
    everything = {t.id: t for t in questions(made())}
    assert len(everything) == 24
    for filters in (
        {"limit": 7},
        {"categories": ["multi-hop"]},
        {"scopes": ["conv-902"]},
        {"categories": ["4", "2"], "scopes": ["conv-901", "conv-903"], "limit": 3},
    ):
        for task in questions(made(**filters)):
            assert task == everything[task.id]


@pytest.mark.parametrize(
    ("number", "name"),
    [("1", "multi-hop"), ("2", "temporal"), ("3", "open-domain"), ("4", "single-hop"), ("4", "Single_Hop")],
)
def test_categories_by_number_and_by_name(made: Made, number: str, name: str) -> None:
    one, two = (questions(made(categories=[c])) for c in (number, name))
    assert one == two
    assert {t.payload["category_number"] for t in one} == {int(number)}


def test_conversations_choose_clusters(made: Made) -> None:
    plan = made(scopes=["conv-903", "conv-900"])
    assert {t.scope for t in questions(plan)} == {"conv-900", "conv-903"}
    assert set(plan.corpora) == {s + m for s in ("conv-900", "conv-903") for m in ("", "+marker")}


@pytest.mark.parametrize("limit", [1, 3, 4, 5, 10, 23, 24, 500])
def test_limit_is_in_all_and_round_robin_over_clusters_in_the_frozen_order(made: Made, limit: int) -> None:
    every = questions(made())
    chosen = questions(made(limit=limit))
    assert len(chosen) == min(limit, len(every))
    place = {t.id: n for n, t in enumerate(every)}
    assert [place[t.id] for t in chosen] == sorted(place[t.id] for t in chosen)
    sizes = Counter(t.cluster for t in chosen)
    assert max(sizes.values()) - min([*sizes.values(), *([0] if len(sizes) < 4 and limit >= 4 else [])]) <= 1
    for cluster, size in sizes.items():
        assert [t.id for t in chosen if t.cluster == cluster] == [t.id for t in every if t.cluster == cluster][:size]


def test_a_smaller_limit_is_part_of_a_larger_one(made: Made) -> None:
    before: set[str] = set()
    for limit in range(1, 25):
        now = {t.id for t in questions(made(limit=limit))}
        assert before < now
        before = now


@settings(max_examples=30)
@given(n=st.integers(1, 7))
def test_shards_partition_the_cells(n: int) -> None:
    plan = _sample()
    whole = list(plan.cells())
    parts = [list(plan.cells((i, n))) for i in range(1, n + 1)]
    assert Counter(c for part in parts for c in part) == Counter(whole)
    assert len(set(whole)) == len(whole) == plan.count()
    for part in parts:  # whole tasks belong to one shard: arms stay paired in it
        for other in parts:
            if part is not other:
                assert not {c.task for c in part} & {c.task for c in other}


def _sample(cache: list[Plan] = []) -> Plan:  # noqa: B006
    if not cache:
        cache.append(
            make_plan(
                experiment_of(
                    {
                        "suite": "locomo",
                        "options": {"sample": True},
                        "memories": {"files": {"use": "files"}, "lexical": {"use": "lexical"}},
                        "builds": 2,
                        "limit": 20,
                    }
                )
            )
        )
    return cache[0]


def test_cells_are_tasks_times_arms_times_builds() -> None:
    plan = _sample()
    tasks, markers = len(questions(plan)), len(plan.tasks) - len(questions(plan))
    contenders, controls = 2, 4
    assert plan.count() == tasks * (contenders * 2 + controls) + markers * contenders * 2


def test_controls_are_arms_of_their_own_role_and_can_be_left_out(made: Made) -> None:
    plan = made()
    assert [a.name for a in plan.arms if a.role == "control"] == ["oracle", "empty", "random", "shuffled-gold"]
    bare = made(controls=False)
    assert [a.role for a in bare.arms] == ["contender"]
    assert not [t for t in bare.tasks if t.category == MARKER]


def test_a_marker_is_planted_per_cluster_and_leaves_the_corpora_alone(made: Made) -> None:
    plan, bare = made(), made(controls=False)
    for name, corpus in bare.corpora.items():
        assert plan.corpora[name] == corpus
    markers = [t for t in plan.tasks if t.category == MARKER]
    assert Counter(t.cluster for t in markers) == Counter(t.cluster for t in plan.tasks if t not in markers) & Counter(
        {t.cluster: 1 for t in markers}
    )
    for task in markers:
        texts = [d.text for d in plan.corpora[task.scope].documents]
        gold = task.gold["original"].evidence[0].text
        assert sum(gold in text for text in texts) == 1
        assert gold.rpartition(": ")[2] not in task.prompt
    assert len({t.gold["original"].evidence[0].text for t in markers}) == len(markers)


def test_markers_do_not_depend_on_the_run(made: Made) -> None:
    corpora = list(made(controls=False).corpora.values())
    assert marker_corpora(corpora) == marker_corpora(corpora)
    assert [c.digest for c in marker_corpora(corpora[:1])] == [c.digest for c in marker_corpora(corpora)][:1]


# -- identity ------------------------------------------------------------------------------------------------------

BASE: dict[str, Any] = {"budgets": [100, 200], "ks": [1], "limit": 12}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"tokens": "o200k_base"}, "tokens"),
        ({"budgets": [100]}, "budgets"),
        ({"ks": [2]}, "ks"),
        ({"categories": ["4"]}, "categories"),
        ({"scopes": ["conv-900"]}, "conversations"),
        ({"limit": 11}, "limit"),
        ({"seed": 1}, "seed"),
        ({"builds": 2}, "builds"),
        ({"controls": False}, "controls"),
        ({"memories": {"files": {"use": "files"}, "lexical": {"use": "lexical"}}}, "arms"),
        ({"memories": {"lexical": {"use": "lexical"}}}, "arms"),
        ({"memories": {"other": {"use": "files"}}}, "arms"),
        ({"memories": {"files": {"use": "files", "role": "baseline"}}}, "arms"),
        ({"primary": {"metric": "all@100", "a": "files", "b": "files"}}, "primary"),
        ({"limits": {"retrieve_seconds": 1.0}}, "limits"),
        ({"clusters": 5}, "suite_settings"),
    ],
)
def test_whatever_can_change_a_number_is_in_the_identity(made: Made, change: dict[str, Any], field: str) -> None:
    one, two = made(**BASE).identity, made(**{**BASE, **change}).identity
    assert one[field] != two[field]
    json.dumps(two)


def test_the_identity_is_that_of_the_content_not_of_the_place(made: Made, tmp_path: Path) -> None:
    one = made(**BASE)
    elsewhere = tmp_path / "other é"
    elsewhere.mkdir()
    copy = elsewhere / "renamed.json"
    copy.write_bytes(Path(str(one.experiment.options["data"])).read_bytes())
    two = made(**BASE, options={"data": str(copy)})
    assert one.identity == two.identity


def test_one_letter_of_the_data_changes_it(made: Made, tmp_path: Path) -> None:
    one = made(**BASE)
    other = tmp_path / "other.json"
    text = Path(str(one.experiment.options["data"])).read_text(encoding="utf-8")
    other.write_text(text.replace("lovely", "lovelz"), encoding="utf-8")
    assert made(**BASE, options={"data": str(other)}).identity["suite_settings"] != one.identity["suite_settings"]


def test_a_default_written_out_is_the_same_run(made: Made) -> None:
    written = {"files": {"use": "files", **made(**BASE).arms[0].options}}
    assert made(**BASE, memories=written).identity == made(**BASE).identity


# -- refusals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"suite": "locmo", "options": {}}, ["locmo", "Did you mean 'locomo'"]),
        ({"options": {"dta": "x"}}, ["dta", "Did you mean 'data'"]),
        ({"memories": {}}, ["memory", "--memory"]),
        ({"memories": {"x": {"use": "lexcal"}}}, ["lexcal", "'lexical'"]),
        ({"memories": {"x": {"use": "lexical", "windw": 3}}}, ["windw", "'window'"]),
        ({"memories": {"x": {"use": "lexical", "window": "many"}}}, ["window", "many"]),
        ({"memories": {"oracle": {"use": "files"}}}, ["oracle"]),
        ({"memories": {"a b": {"use": "files"}}}, ["a b"]),
        ({"memories": {"../up": {"use": "files"}}}, ["../up"]),
        ({"memories": {"x": {"use": "files/tools"}}}, ["tools", "dossier"]),
        ({"agent": "nop"}, ["nop", "Known: api, claude-code"]),
        ({"tokens": "o200k"}, ["o200k", "o200k_base"]),
        ({"categories": ["multihop"]}, ["multihop", "'multi-hop'"]),
        ({"categories": ["7"]}, ["7"]),
        ({"scopes": ["conv-90"]}, ["'conv-90'", "'conv-90"]),
        ({"primary": {"metric": "all@4001", "a": "files", "b": "files"}}, ["all@4001", "all@4000"]),
        ({"primary": {"metric": "all@4000", "a": "fles", "b": "files"}}, ["fles", "'files'"]),
        ({"primary": {"metric": "all@4000", "a": "files", "b": "files", "split": "tset"}}, ["tset", "'test'"]),
    ],
)
def test_what_does_not_fit_is_one_sentence(made: Made, change: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(UsageError) as raised:
        made(**change)
    message = str(raised.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def test_filters_that_leave_nothing(made: Made) -> None:
    with pytest.raises(UsageError, match=r"no task|No task"):
        made(questions=1, categories=["multi-hop"])
