"""The platforms that the contract is checked against: the embedded one, and a real one where there is one.

A real one is named by ``MEMASSAY_PLATFORM_URL`` and ``MEMASSAY_PLATFORM_KEY``; the key is an admin's, and ``KEY-001``
to ``KEY-020`` are agents'. ``MEMASSAY_PLATFORM_ENTITY`` is the URN of a dataset that is there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

pytest.importorskip("mcp", reason="the extra platform is not installed")

from contract_target import Target
from platform_kit import ORDERS
from serving_kit import SETTINGS, Live

URL = os.environ.get("MEMASSAY_PLATFORM_URL", "")
KEY = os.environ.get("MEMASSAY_PLATFORM_KEY", "")
ENTITY = os.environ.get("MEMASSAY_PLATFORM_ENTITY", ORDERS)


@pytest.fixture(
    scope="module",
    params=[
        "embedded",
        pytest.param("real", marks=pytest.mark.skipif(not (URL and KEY), reason="MEMASSAY_PLATFORM_URL is not set")),
    ],
)
def target(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    if request.param == "real":
        made = Target(URL, KEY, ENTITY)
        yield made
        made.close()
        return
    live = Live(tmp_path_factory.mktemp("contract") / "memory", SETTINGS)
    live.spaces.main.add_pool("contract-key-0123456789", 20)
    made = Target(live.url, "contract-key-0123456789", ENTITY)
    yield made
    made.close()
    live.close()


if URL:

    @pytest.fixture(autouse=True)
    def no_network() -> None:
        """A real platform may be anywhere."""
