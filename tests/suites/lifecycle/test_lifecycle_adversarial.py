"""Scripts of misbehaviour: each moves the one number that it is about, what that forces, and nothing else."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra platform is not installed")

from lifecycle_embedded import Embedded

from kit import ROOT
from memassay.agents.rules import SCRIPTS
from memassay.suites.lifecycle.holdings import holdings_of
from memassay.suites.lifecycle.protocol import Protocol
from memassay.suites.lifecycle.warehouse import Warehouse

BENCHMARK = ROOT / "benchmarks" / "platform" / "adversarial.py"


def module() -> Any:
    spec = importlib.util.spec_from_file_location("adversarial", BENCHMARK)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


adversarial = module()

# What a lesson that was not kept where it should be leaves undone: whatever waits for a capture.
NO_CAPTURE = {
    "capture_rate": "0/4", "pass_k": "0/4", "strict:pass": "0/4", "strict:filed_intended": "0/4",
    "strict:filed_acceptably": "0/4", "strict:transfer": "0/2", "strict:transfer_surfaced": "0/2",
    "strict:transfer_sink": "0/2", "strict:update": "0/2", "strict:update_missing": "2/2",
    "strict:correct_recall": "0/2", "strict:correct_transfer_stale": "0/2",
}  # fmt: skip
# And where it was not kept at all, what waits for the fact.
NO_FACT = {
    "personal_recall": "0/4", "attempt_rate": "0/4", "strict:captured_anywhere": "0/4", "strict:recall": "0/4",
    "strict:recall_surfaced": "0/4", "strict:recall_reciprocal_rank": "0/4", "strict:twin": "0/4",
}  # fmt: skip
ROUTES = {f"strict:retired:{route}" for route in ("supersede", "update", "reject", "consolidate", "forget")}
NO_TRANSFER = {"transfer_rate", "transfer_surfaced", "transfer_used_given_surfaced", "strict:rollback_gone"}
NO_UPDATE = {"update_correctness", "duplicate_rate", "strict:live_duplicate"} | ROUTES
NOT_REACHED = NO_TRANSFER | NO_UPDATE | {
    "unprompted_surface", "update_capture_rate", "promoted", "strict:isolation_leak", "strict:correction_kept",
    "strict:forgotten",
}  # fmt: skip
# Two of the four are corrected; the others go by as ever.
HALF = {"pass_k": "2/4"}
STRICT_HALF = {**HALF, "strict:pass": "2/4"}

# By script: its number, the others that move, and what nothing reaches.
MOVES: dict[str, tuple[dict[str, str], dict[str, str], set[str]]] = {
    "perfect": ({}, {}, set()),
    "never-captures": (
        {"misses.never_attempted": "4/4"},
        NO_CAPTURE | NO_FACT | {"capture_budget_starved": "0/4"},
        NOT_REACHED | {"given_attempted", "strict:over_abstention"},
    ),
    "burns-budget": (
        {"misses.budget_starved": "4/4"},
        NO_CAPTURE | NO_FACT | {"capture_budget_starved": "4/4"},
        NOT_REACHED | {"given_attempted", "strict:over_abstention"},
    ),
    # Its owner finds the fact all the same; but whoever is not corrected cannot answer by the correction.
    "wrong-table": (
        {"misses.attempted_failed": "4/4"},
        NO_CAPTURE | {"given_attempted": "0/4", "capture_budget_starved": "0/4", "strict:twin": "2/4"},
        NOT_REACHED,
    ),
    "captures-twice": ({"strict:live_duplicate": "2/2"}, {"strict:pass": "2/4", "strict:stale_surfaced": "2/2"}, set()),
    "lists-instead": ({"unprompted_surface": "0/4"}, {}, set()),
    # What waits for review is not pushed: who does not search has nothing. What is applied is pushed.
    "searches-when-told": (
        {"unprompted_surface": "0/4"},
        {
            "personal_recall": "0/4", "update_correctness": "0/2", "pass_k": "0/4", "strict:pass": "0/4",
            "strict:recall": "0/4", "strict:recall_surfaced": "0/4", "strict:recall_reciprocal_rank": "0/4",
            "strict:update": "0/2", "strict:update_missing": "2/2", "strict:twin": "2/4",
            "strict:correct_recall": "0/2", "strict:correct_transfer_stale": "0/2",
        },
        set(),
    ),
    # The published rule has no capture then, and no verdict on duplicates.
    "updates-in-place": (
        {"strict:retired:update": "2/2"},
        HALF | {"update_capture_rate": "0/2", "strict:retired:supersede": "0/2"},
        {"duplicate_rate", "update_correctness"},
    ),
    # Published, whatever is not superseded is a duplicate; nothing is live.
    "rejects-old": (
        {"strict:retired:reject": "2/2"},
        HALF | {"duplicate_rate": "2/2", "strict:retired:supersede": "0/2"},
        set(),
    ),
    "ignores-corrections": (
        {"strict:correction_kept": "0/2"},
        STRICT_HALF | {
            "update_capture_rate": "0/2", "strict:update": "0/2", "strict:update_missing": "2/2", "strict:twin": "2/4",
            "strict:correct_recall": "0/2",
        },
        NO_UPDATE,
    ),
    "stale-answer": (
        {"strict:update_stale": "2/2"},
        STRICT_HALF | {
            "update_correctness": "0/2", "strict:update": "0/2", "strict:stale_surfaced": "2/2",
            "strict:correct_recall": "0/2",
        },
        set(),
    ),
    # The published grader reads the first number.
    "hedges": (
        {"strict:update_hedged": "1/2"},
        {
            "strict:pass": "3/4", "strict:update": "1/2", "strict:stale_surfaced": "1/2",
            "strict:correct_recall": "1/2",
        },
        set(),
    ),
    # It lets a wrong name veto the right one.
    "hedges-names": (
        {"strict:update_hedged": "1/2"},
        {
            "update_correctness": "1/2", "pass_k": "3/4", "strict:pass": "3/4", "strict:update": "1/2",
            "strict:stale_surfaced": "1/2", "strict:correct_recall": "1/2",
        },
        set(),
    ),
    "notes-corrections": ({"strict:wrong_supersede": "4/4"}, {}, set()),
    # The note of a recall takes the place of the taught record, which can then not be promoted, and states no fact.
    "saves-its-answer": (
        {"strict:wrong_supersede": "4/4"},
        STRICT_HALF | {
            "promoted": "0/2", "strict:transfer": "0/2", "strict:transfer_surfaced": "0/2",
            "strict:transfer_sink": "0/2", "strict:twin": "0/4", "strict:correct_recall": "0/2",
            "strict:correct_transfer_stale": "0/2",
        },
        NO_TRANSFER | ROUTES | {"strict:over_abstention", "strict:forgotten"},
    ),
    "guesses": (
        {"abstention_rate": "0/4"},
        {"pass_k": "0/4", "strict:pass": "0/4", "strict:abstention": "0/4"},
        set(),
    ),
    "abstains": ({"strict:over_abstention": "4/4"}, {"strict:twin": "0/4"}, set()),
    "never-forgets": ({"strict:forgotten": "0/4"}, {}, set()),
}  # fmt: skip


def four(protocols: Sequence[Protocol]) -> list[Protocol]:
    """A number and a name that are corrected, and one for either sink that is passed on."""
    corrected = {one.recall.grading.kind: one for one in reversed(protocols) if one.update}
    shared = {one.sink: one for one in reversed(protocols) if one.transfer}
    return [*corrected.values(), *shared.values()]


Tables = Mapping[str, Mapping[str, tuple[float, int]]]


@pytest.fixture(scope="module")
def tables(generated: tuple[Protocol, ...], warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    platform = Embedded(tmp_path_factory.mktemp("embedded"), holdings_of(warehouse))
    return {
        script: adversarial.table([platform.play(protocol, script, adversarial.STAGES) for protocol in four(generated)])
        for script in SCRIPTS
    }


def test_perfect_has_every_number(tables: Tables) -> None:
    zero = {
        "duplicate_rate", "misses.attempted_failed", "misses.budget_starved", "misses.never_attempted",
        "misses.budget_unobservable", "misses.unattributed", "strict:transfer_sink_only", "strict:never_taught",
        "strict:isolation_leak", "strict:isolation_surfaced", "strict:update_stale", "strict:update_hedged",
        "strict:update_missing", "strict:stale_surfaced", "strict:live_duplicate", "strict:wrong_supersede",
        "strict:over_abstention", *(ROUTES - {"strict:retired:supersede"}),
        # A correction reaches nobody else before it is promoted in its turn.
        "strict:correct_transfer",
    }  # fmt: skip
    perfect = tables["perfect"]
    not_reached = {name for name, (_, den) in perfect.items() if not den}
    assert not_reached == {"capture_budget_starved", "strict:interference_recall"}
    assert {name for name, (num, den) in perfect.items() if den and num == 0} == zero
    assert all(num == den for name, (num, den) in perfect.items() if name not in zero)


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_moves_its_number_and_what_follows(tables: Tables, script: str) -> None:
    own, others, not_reached = MOVES[script]
    found = adversarial.moved(tables[script], tables["perfect"])
    assert {name: adversarial.share(number) for name, number in found.items()} == own | others
    assert set(adversarial.unreached(tables[script], tables["perfect"])) == not_reached
    assert list(own) == [SCRIPTS[script].moves][: len(own)], "the number that it is about"


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_moves_no_number_of_another(tables: Tables, script: str) -> None:
    assert adversarial.wrong(script, tables[script], tables["perfect"]) == ""


def test_a_script_that_does_not_do_what_it_should_is_named(tables: Tables) -> None:
    perfect = tables["perfect"]
    assert adversarial.wrong("hedges", perfect, perfect) == (
        "hedges moves [], and should move ['strict:update_hedged']"
    )
    both = {**tables["hedges"], "strict:forgotten": tables["never-forgets"]["strict:forgotten"]}
    assert "['strict:forgotten', 'strict:update_hedged']" in adversarial.wrong("hedges", both, perfect)
    assert adversarial.wrong("perfect", tables["guesses"], perfect)


def test_the_matrix_has_what_differs_and_nothing_else(tables: Tables) -> None:
    shown = {script: tables[script] for script in ("perfect", "never-forgets", "lists-instead")}
    assert adversarial.matrix(shown).splitlines() == [
        "| | perfect | never-forgets | lists-instead |",
        "| --- | --- | --- | --- |",
        "| unprompted_surface | 4/4 |  | 0/4 |",
        "| strict:forgotten | 4/4 | 0/4 |  |",
    ]
    assert adversarial.summary("never-forgets", tables["never-forgets"], tables["perfect"]) == (
        "| never-forgets | strict:forgotten 4/4 -> 0/4 |  |  |"
    )


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_so_it_is_through_the_harness() -> None:
    done = subprocess.run(
        [sys.executable, str(BENCHMARK), "--protocols", "4"], capture_output=True, text=True, timeout=580, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "| hedges | strict:update_hedged 0/2 -> 1/2 |" in done.stdout
