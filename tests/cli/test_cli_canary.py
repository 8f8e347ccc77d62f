"""The command ``memassay canary``."""

from __future__ import annotations

from kit import Cli


def test_the_published_result_is_played_back(cli: Cli) -> None:
    ran = cli("canary", "replay", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["left_open"] == {"gap": [0.0825, 0.43], "tied": [0, 51], "fabricated": [1, 4]}
    assert len(ran.json["readings"]) == 9 and len(ran.json["fit_under_every_reading"]) == 3
