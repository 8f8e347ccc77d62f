"""Who gets what, for every route that the application itself names, in the main workspace and in another."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the extra platform is not installed")

from serving_kit import CONTROL, Live

from memassay.platform import app as app_module
from memassay.platform.app import App, Route

OPEN = {"/review", "/review/review.js", "/review/review.css"}
ANY_AGENT = {
    "/", "/mcp", "/api/v1/portal/knowledge-pages", "/api/v1/portal/knowledge-pages/{id}", "/api/v1/memassay/me",
    "/api/v1/openapi.json",
}  # fmt: skip
WORKSPACE = "/w/other"
MAY = {"agent": ("anyone",), "reviewer": ("anyone", "reviewer"), "admin": ("anyone", "reviewer", "admin")}
KEYS = {role: f"one-with-the-role-{role}" for role in MAY}


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """People of another workspace and of the main one, under the same keys."""
    made = Live(tmp_path_factory.mktemp("routes"))
    holders = [
        {"key": key, "identity": {"user_id": role, "email": role, "name": role, "roles": [role]}}
        for role, key in KEYS.items()
    ]
    reply = made.control("PUT", "/workspaces/other", settings={"embedder": "none"}, holders=holders)
    assert reply.status_code == 201, reply.text
    for holder in holders:
        made.spaces.main.add_identity(holder["key"], made.spaces.get("other").authenticate(holder["key"]))
    yield made
    made.close()


@pytest.fixture(scope="module")
def routes(live: Live) -> list[Route]:
    """Every route, those of a workspace also below it."""
    named = App(live.spaces, control_key=CONTROL).routes
    assert len(named) == len(set(named)) > 30
    return [*named, *(it._replace(path=WORKSPACE + it.path) for it in named if it.who != "starter")]


def plain(path: str) -> str:
    return re.sub(r"\{\w+\}", "0" * 32, path)


def test_nobody_gets_more_than_the_page(live: Live, routes: list[Route]) -> None:
    for key in (None, "no-such-key"):
        http = live.speaker(key).http
        for route in routes:
            reply = http.request(route.method, plain(route.path))
            free = route.path.removeprefix(WORKSPACE) in OPEN
            assert free == (route.who == "anybody")
            assert reply.status_code == (200 if free else 401), (route, reply.text)


@pytest.mark.parametrize("role", MAY)
def test_a_role_gets_what_is_its_own_and_no_more(live: Live, routes: list[Route], role: str) -> None:
    http = live.speaker(KEYS[role]).http
    for route in routes:
        if route.who == "anybody":
            continue
        status = http.request(route.method, plain(route.path)).status_code
        if route.who == "starter":
            assert status == 401, route
        elif route.who in MAY[role]:
            assert status not in (401, 403) and status < 500, (route, status)
        else:
            assert status == 403, (route, status)


def test_what_every_agent_may_is_named(routes: list[Route]) -> None:
    assert {it.path for it in routes if it.who == "anyone"} == ANY_AGENT | {WORKSPACE + path for path in ANY_AGENT}
    assert {(it.method, it.path) for it in routes if it.who == "anyone" and it.method != "GET"} == {
        ("POST", base + path) for base in ("", WORKSPACE) for path in ("/", "/mcp")
    }


def test_no_route_is_missing_from_the_list(routes: list[Route]) -> None:
    """Every path that the module names is a route of the list, or the beginning of some."""
    tree = ast.parse(Path(app_module.__file__).read_text("utf-8"))
    named = {
        node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and str(node.value).startswith("/")
    }
    there = {it.path for it in routes}
    assert {path for path in named if path not in there} <= {"/w/"}
