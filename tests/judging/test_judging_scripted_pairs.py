"""The stand-in for a judge of pairs: by facts, with faults that can be set."""

from __future__ import annotations

import math

import pytest
from judging_pairs import pairing

from memassay.core.errors import UsageError
from memassay.core.registry import judges
from memassay.judging.scripted_pairs import ScriptedPairJudge

BOTH = "[1] The port is 7443. Dana owns the gateway.\n"
ONE = "[1] The port is 7443.\n"
NONE = "[1] The port is 7000.\n"


@pytest.mark.parametrize(
    ("first", "second", "position", "labels"),
    [
        (BOTH, ONE, "first", ("correct", "partial")),
        (NONE, ONE, "second", ("incorrect", "partial")),
        (BOTH, BOTH, "tie", ("correct", "correct")),
        (NONE, "", "tie", ("incorrect", "abstained")),
        ("[1] the PORT is\n7443.\n", NONE, "first", ("partial", "incorrect")),
    ],
)
def test_more_of_the_reference_is_better(first: str, second: str, position: str, labels: tuple[str, str]) -> None:
    found = ScriptedPairJudge().compare(pairing(first, second))
    assert (found.position, found.labels, found.status) == (position, labels, "ok")
    assert found.usage.cost_usd == 0


def test_without_a_reference_it_can_tell_nothing() -> None:
    found = ScriptedPairJudge().compare(pairing(BOTH, "", reference=""))
    assert (found.position, found.labels) == ("tie", ("incorrect", "abstained"))


def test_a_bias_favours_the_place() -> None:
    biased = ScriptedPairJudge(bias=math.inf)
    assert biased.compare(pairing(NONE, BOTH)).position == biased.compare(pairing(BOTH, NONE)).position == "first"
    assert ScriptedPairJudge(bias=0.3).compare(pairing(ONE, ONE)).position == "first"
    assert ScriptedPairJudge(bias=0.3).compare(pairing(ONE, BOTH)).position == "second", "half a merit is more"


def test_a_judge_that_favours_the_longer() -> None:
    padded = ONE + "[2] Something else.\n" * 100
    assert ScriptedPairJudge().compare(pairing(ONE, padded)).position == "tie"
    assert ScriptedPairJudge(longer=1.0).compare(pairing(ONE, padded)).position == "second"


def test_noise_is_that_of_the_seed_the_name_and_the_comparison() -> None:
    def places(judge: ScriptedPairJudge) -> list[str | None]:
        return [judge.compare(pairing(f"[1] {n}\n", f"[1] -{n}\n")).position for n in range(40)]

    one = places(ScriptedPairJudge(model="one", noise=0.3))
    assert one == places(ScriptedPairJudge(model="one", noise=0.3))
    assert one != places(ScriptedPairJudge(model="two", noise=0.3))
    assert one != places(ScriptedPairJudge(model="one", noise=0.3, seed=1))
    assert len(set(one)) == 3


def test_two_of_them_have_names_of_their_own() -> None:
    made = [judges.get("scripted-pairs")(model=name, criteria="ignored") for name in ("", "one", "two")]
    assert [judge.id for judge in made] == ["scripted-pairs", "scripted-pairs-one", "scripted-pairs-two"]
    assert [judge.family for judge in made] == ["scripted", "one", "two"]
    assert {judge.model for judge in made} == {"scripted"}
    assert made[1].config != made[2].config


@pytest.mark.parametrize("name", ["noise", "band"])
def test_a_negative_width_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=name):
        ScriptedPairJudge(**{name: -1.0})  # type: ignore[arg-type]
