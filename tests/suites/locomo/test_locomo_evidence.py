from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memassay.suites.locomo.evidence import Resolver, canonical

KNOWN = [f"D{session}:{turn}" for session in range(1, 31) for turn in range(1, 27)]


@pytest.mark.parametrize(
    ("entries", "ids", "unresolved"),
    [
        (["D1:3"], ["D1:3"], []),
        (["D8:6; D9:17"], ["D8:6", "D9:17"], []),
        (["D9:1 D4:4 D4:6"], ["D9:1", "D4:4", "D4:6"], []),
        (["D1:1,D1:2;\tD1:3 "], ["D1:1", "D1:2", "D1:3"], []),
        (["D:11:26"], ["D11:26"], []),
        (["D30:05"], ["D30:5"], []),
        (["D1:18", "D", "D1:20"], ["D1:18", "D1:20"], ["D"]),
        (["D10:99"], [], ["D10:99"]),
        (["D4:5", "D4:5", "D4:05"], ["D4:5"], []),
        (["D2:2", "D1:1"], ["D2:2", "D1:1"], []),
        (["", " ", ";"], [], []),
        ([], [], []),
        (["d1:1", "1:1", "D1:1x", "D1-1", "D1:١"], [], ["d1:1", "1:1", "D1:1x", "D1-1", "D1:١"]),
        (["D1:1 nonsense D1:2"], ["D1:1", "D1:2"], ["nonsense"]),
    ],
)
def test_entries_as_they_are_written(entries: list[str], ids: list[str], unresolved: list[str]) -> None:
    found = Resolver(KNOWN).resolve(entries)
    assert list(found.ids) == ids
    assert list(found.unresolved) == unresolved


def test_the_three_ways_an_entry_can_end() -> None:
    resolver = Resolver(KNOWN)
    right, repaired, partly, lost = (
        resolver.resolve(entries) for entries in (["D1:1"], ["D1:1;D1:2"], ["D1:1", "D99:1"], ["D99:1"])
    )
    assert (right.as_written, right.repaired, right.partly) == (True, False, False)
    assert (repaired.as_written, repaired.repaired, repaired.partly) == (False, True, False)
    assert (partly.as_written, partly.repaired, partly.partly) == (False, False, True)
    assert (lost.as_written, lost.repaired, lost.partly) == (False, False, False)


def test_ids_of_another_form_are_found_exactly_and_by_number() -> None:
    resolver = Resolver(["D01:02", "turn 7", "D3:1", "D03:1"])
    assert resolver.resolve(["turn 7"]).ids == ("turn 7",)
    assert resolver.resolve(["D1:2"]).ids == ("D01:02",)
    assert resolver.resolve(["D3:01"]).ids == ("D03:1",)  # the first in sorted order, whatever the hash seed
    assert canonical("turn 7") is None


@given(st.lists(st.sampled_from(KNOWN), min_size=1, max_size=6), st.sampled_from([" ", ";", "; ", ", ", "\n"]))
def test_joining_ids_loses_none(ids: list[str], joint: str) -> None:
    found = Resolver(KNOWN).resolve([joint.join(ids)])
    assert list(found.ids) == list(dict.fromkeys(ids))
    assert found.unresolved == ()


@given(st.lists(st.text(max_size=30), max_size=5))
def test_what_is_found_exists_and_nothing_is_made_up(entries: list[str]) -> None:
    found = Resolver(KNOWN).resolve(entries)
    assert set(found.ids) <= set(KNOWN)
    assert not set(found.unresolved) & set(KNOWN)
    assert all(any(piece in entry for entry in entries) for piece in found.unresolved)
