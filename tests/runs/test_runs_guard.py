from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memassay.core.errors import GuardError
from memassay.runs.guard import differences, guard

BASE: dict[str, Any] = {
    "tokens": "o200k_base",
    "budgets": [1000, 4000],
    "seed": 0,
    "limit": None,
    "arms": {"lexical": {"options": {"window": 5}}},
    "suite_settings": {"data": {"sha256": "a" * 64}},
}


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("tokens", "chars4"),
        ("budgets", [1000]),
        ("seed", 1),
        ("limit", 5),
        ("arms.lexical.options.window", 6),
        ("suite_settings.data.sha256", "b" * 64),
        ("arms.files", {"options": {}}),
    ],
)
def test_the_field_is_named_with_both_values(place: str, value: Any) -> None:
    import copy

    new = copy.deepcopy(BASE)
    inner = new
    *path, last = place.split(".")
    for key in path:
        inner = inner[key]
    inner[last] = value
    with pytest.raises(GuardError) as raised:
        guard(BASE, new, "runs/x")
    message = str(raised.value)
    assert f"{place}:" in message
    assert "runs/x" in message
    assert "--out" in message
    assert "\n" not in message
    if not isinstance(value, dict):
        assert repr(value)[:40] in message
    with pytest.raises(GuardError):
        guard(new, BASE, "runs/x")


def test_the_same_is_let_in() -> None:
    guard(BASE, dict(reversed(BASE.items())), "runs/x")


def test_many_differences_are_counted_not_poured_out() -> None:
    with pytest.raises(GuardError, match=r"and 7 more") as raised:
        guard({f"k{i}": i for i in range(10)}, {f"k{i}": -1 - i for i in range(10)}, "x")
    assert len(str(raised.value)) < 600


LEAF = st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3)
TREE = st.recursive(LEAF, lambda t: st.dictionaries(st.sampled_from("abc"), t, max_size=3) | st.lists(t, max_size=2))


@given(a=TREE, b=TREE)
def test_no_difference_exactly_when_equal(a: Any, b: Any) -> None:
    import json

    same = json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)
    assert (list(differences(a, b)) == []) == same
