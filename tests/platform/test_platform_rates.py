"""The limit of calls per user: the count itself, and what tools and REST make of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra platform is not installed")

from hypothesis import given
from hypothesis import strategies as st
from platform_kit import Bench
from serving_kit import KEYS, SETTINGS, Live, Speaker

from memassay.core.errors import UsageError
from memassay.platform import tools
from memassay.platform.errors import PlatformError
from memassay.platform.rates import Rates
from memassay.platform.rest import ENDPOINTS, PREFIX
from memassay.platform.serve import settings_of
from memassay.platform.settings import Settings

MOST = 5


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_so_many_in_any_minute_and_no_more() -> None:
    clock = Clock()
    rates = Rates(3, clock)
    waits = []
    for second in (0, 10, 20, 30, 59, 60, 61, 70, 71):
        clock.now = 1000.0 + second
        waits.append(rates.wait("ada"))
    assert waits == [0, 0, 0, 30, 1, 0, 9, 0, 9]


def test_users_do_not_share_it_and_refusals_do_not_count() -> None:
    clock = Clock()
    rates = Rates(1, clock)
    assert [rates.wait("ada"), rates.wait("ben"), rates.wait("ada"), rates.wait("ben")] == [0, 0, 60, 60]
    clock.now += 60
    assert [rates.wait("ada"), rates.wait("ada")] == [0, 60]


def test_zero_is_any_number() -> None:
    rates = Rates(0, Clock())
    assert not any(rates.wait("ada") for _ in range(1000))


@given(st.lists(st.floats(min_value=0, max_value=30), max_size=60), st.integers(min_value=1, max_value=6))
def test_no_minute_holds_more_and_whoever_waits_gets_in(gaps: list[float], most: int) -> None:
    clock = Clock()
    rates, done = Rates(most, clock), []
    for gap in gaps:
        clock.now += gap
        if (wait := rates.wait("ada")) == 0:
            done.append(clock.now)
        else:
            assert 1 <= wait <= 60
            again = Rates(most, Clock())
            again._calls, again._clock = {"ada": rates._calls["ada"].copy()}, lambda: clock.now + wait
            assert again.wait("ada") == 0
    for last, at in zip(done[most:], done, strict=False):
        assert last - at >= 60 - 1e-6


# -- served --------------------------------------------------------------------------------------------------------


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[Live]:
    made = Live(tmp_path / "memory", SETTINGS.model_copy(update={"rate_limit": MOST}))
    yield made
    made.close()


def refusal(speaker: Speaker) -> dict[str, Any]:
    result = speaker.raw("platform_info")
    assert result["isError"]
    assert "(code: rate_limited)" in result["content"][0]["text"]
    return dict(result["structuredContent"]["error"])


def test_tools_and_rest_count_together_for_each_user(limited: Live) -> None:
    ada, ben = limited.speaker("ada"), limited.speaker("ben")
    for _ in range(MOST - 2):
        assert not ada.raw("platform_info")["isError"]
    assert ada.http.get(f"{PREFIX}/memassay/me").status_code == 200
    assert ada.http.get(f"{PREFIX}/nowhere").status_code == 404, "a request that is refused for something else counts"
    said = refusal(ada)
    assert (said["code"], said["category"]) == ("rate_limited", "limit")
    assert "5 calls a minute" in said["message"] and said["hint"].startswith("Try again in ")
    reply = ada.http.get(f"{PREFIX}/memassay/me")
    problem = reply.json()
    assert (reply.status_code, problem["code"], problem["status"]) == (429, "rate_limited", 429)
    assert reply.headers["content-type"] == "application/problem+json"
    assert 1 <= int(reply.headers["retry-after"]) <= 60
    assert problem["hint"] == f"Try again in {reply.headers['retry-after']} s."
    assert ben.http.get(f"{PREFIX}/memassay/me").status_code == 200
    assert not ben.raw("platform_info")["isError"]


def test_a_refused_call_does_nothing_and_leaves_no_event(limited: Live) -> None:
    ada, platform = limited.speaker("ada"), limited.spaces.main
    ada.tool("search", intent="what there is")
    for _ in range(MOST):
        ada.raw("search", session_id=ada.session, purpose="A test.", intent="more")
    assert refusal(ada)["code"] == "rate_limited"
    events = platform.list_audit(platform.authenticate(KEYS["admin"])).data
    assert sum(event.tool_name == "search" for event in events) == MOST - 1


def test_who_has_no_key_is_nobody_and_tools_may_be_listed(limited: Live) -> None:
    nobody = limited.speaker(None)
    assert {nobody.http.get(f"{PREFIX}/memassay/me").status_code for _ in range(MOST + 2)} == {401}
    ada = limited.speaker("ada")
    for _ in range(MOST + 2):
        assert ada.rpc("tools/list")["result"]["tools"]


def test_it_is_off_unless_set(tmp_path: Path, bench: Callable[..., Bench]) -> None:
    assert Settings().rate_limit == 0
    place = bench()
    for _ in range(200):
        tools.call(place.platform, place.admin, "platform_info", {})
    few = bench(rate_limit=1)
    tools.call(few.platform, few.admin, "platform_info", {})
    with pytest.raises(PlatformError) as caught:
        tools.call(few.platform, few.admin, "platform_info", {})
    assert (caught.value.code, caught.value.status) == ("rate_limited", 429)
    assert 1 <= caught.value.retry_after <= 60


def test_the_knob() -> None:
    assert settings_of(["rate_limit=120"]).rate_limit == 120
    with pytest.raises(UsageError, match="rate_limit"):
        settings_of(["rate_limit=-1"])


def test_the_document_knows_of_it(tmp_path: Path) -> None:
    live = Live(tmp_path / "memory")
    told = live.speaker("ada").get("/openapi.json")
    live.close()
    operations = [about for path in told["paths"].values() for about in path.values()]
    assert len(operations) == len(ENDPOINTS)
    for about in operations:
        assert about["responses"]["429"]["headers"]["Retry-After"]["schema"] == {"type": "integer", "minimum": 1}
