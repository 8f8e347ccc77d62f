"""The comparison of what arms send."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

from claude_kit import MODEL, Fake, init, result

from memassay.agents.claude_code.probe import differences, request_bodies, settled
from memassay.core.types import Request, Status


def test_what_differs_from_moment_to_moment_is_left_out() -> None:
    def body(day: str, folder: str, session: str) -> dict[str, object]:
        text = (
            f"cc_version=2.1.3{day};\n - Primary working directory: {folder}\nToday's date is 2026-11-{day}. {folder}/x"
        )
        return {"metadata": {"user_id": session}, "system": [{"text": text}]}

    first, second = body("29", "/tmp/a", "s1"), body("30", "/tmp/a b", "s2")
    assert settled(first, "/tmp/a") == settled(second, "/tmp/a b")
    assert settled(first) != settled(second)
    assert "metadata" not in settled(first)


def test_differences_are_named_by_their_place() -> None:
    first = {"tools": [{"name": "a"}], "same": [1, 2], "only": 1}
    second = {"tools": [{"name": "b"}], "same": [1, 2], "more": [1]}
    assert differences(first, second) == ["more", "only", "tools.0.name"]
    assert differences({"tools": []}, {"tools": [1]}) == ["tools"]
    assert differences(first, json.loads(json.dumps(first))) == []


def test_one_sample_per_arm_without_a_key(fake: Fake, asked: Callable[..., Request]) -> None:
    fake.plays([init(), result()])
    found = asyncio.run(request_bodies({"a": asked(), "b": asked(dossier="x")}, model=MODEL, binary=fake.path))
    assert list(found) == ["a", "b"]
    assert {probe.step.status for probe in found.values()} == {Status.OK}
    assert found["a"].body is None, "the program that plays asks no model"
    assert fake.seen["environment"]["ANTHROPIC_BASE_URL"].startswith("http://127.0.0.1:")
