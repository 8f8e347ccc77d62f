"""The fake platform and its agents under the names that the suite asks for, for runs through the harness."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest
from fake_platform import EMPTY, Knobs, Plain, Reviewed
from lifecycle_play import Rules, Talk

from memassay.core import registry
from memassay.core.types import Request, Status, Step, Usage
from memassay.suites.lifecycle.holdings import Holdings


class Platform:
    """Builds from the native form alone."""

    access = ("tools",)
    held: ClassVar[Holdings | None] = None

    def __init__(
        self,
        *,
        shared: bool = True,
        push: bool = True,
        review: bool = True,
        supersede: float = 0.6,
        similar: float = 0.6,
    ) -> None:
        self._knobs = Knobs(similar=min(supersede, similar), shared=shared, push=push)
        self._kind = Reviewed if review else Plain

    def build(self, corpus: Any, place: Path, context: Any) -> None:
        type(self).held = corpus.native
        (place / "state.json").write_text(json.dumps(EMPTY), "utf-8")
        (place / "entities.json").write_text(json.dumps([one.urn for one in corpus.native.entities]), "utf-8")

    def open(self, ref: Any) -> Plain:
        assert Platform.held is not None and Platform.held.warehouse is not None
        state = json.loads((Path(ref.location) / "state.json").read_text("utf-8"))
        return self._kind(Platform.held.warehouse, self._knobs, state)


class Speaker:
    """Follows the rules; ``planned`` is what happens at the n-th request instead, once it has been answered."""

    model = "none"
    accesses = frozenset({"tools"})
    planned: ClassVar[dict[int, Any]] = {}
    asked: ClassVar[list[Request]] = []

    def identity(self) -> dict[str, Any]:
        return {}

    async def answer(self, request: Request) -> Step:
        Speaker.asked.append(request)
        text = Rules()(Talk(request.system, request.prompt, request.toolset))
        what = Speaker.planned.get(len(Speaker.asked))
        if isinstance(what, Status):
            return Step(status=what, detail="planned")
        if what is not None:
            raise what
        return Step(text=text, evidence=b"seen", usage=Usage(input=5, output=2, cost_usd=0.0, turns=1))


class Follows(Speaker):
    def __init__(self, *, guesses: bool = False) -> None:
        self.guesses = guesses


class Script(Speaker):
    def __init__(self, *, script: str = "perfect") -> None:
        assert script == "perfect"


NAMES: dict[str, tuple[Any, Any]] = {
    "platform": (registry.memories, Platform),
    "rules": (registry.agents, Follows),
    "scripted-lifecycle": (registry.agents, Script),
}


def register(monkeypatch: pytest.MonkeyPatch) -> None:
    Speaker.planned, Speaker.asked = {}, []
    for name, (known, factory) in NAMES.items():
        monkeypatch.setitem(known._loaded, name, factory)
    source = registry.Registry.source

    def told(self: registry.Registry, name: str) -> registry.Source:
        fake = name in NAMES and NAMES[name][0] is self
        return registry.Source(name, "fake", "1", "code:0") if fake else source(self, name)

    monkeypatch.setattr(registry.Registry, "source", told)
