"""The set as one JSON file, shaped as the published one: who has a reader of that has a reader of this.

Two values differ by intent: ``world_digest`` is the digest of the facts, and the words of the prompts are ours.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memassay.suites.association.tasks import wording
from memassay.suites.association.tasks.multihop import STATUS
from memassay.suites.association.tasks.pilot import Pilot, fingerprint
from memassay.suites.association.tasks.record import SUITE, Draft, name_of, placed, task_of
from memassay.suites.association.tasks.scene import TODAY
from memassay.suites.association.world import FIRST_DAY, World


def file_of(world: World, drafts: Sequence[Draft], pilot: Pilot | None = None) -> dict[str, Any]:
    """The content of the file.

    Args:
        world: the world that the tasks are about.
        drafts: its tasks, kind by kind, as ``drafts_of`` gives them.
        pilot: adds each task's stamp, and what was dropped.
    """
    content: dict[str, Any] = {
        "suite": SUITE,
        "seed": world.seed,
        "scale": world.scale,
        "day_zero": FIRST_DAY,
        "last_day": TODAY,
        "world_digest": world.digest,
        "prefix": wording.OPENING,
        "tasks": [_task(draft, number, place, pilot) for number, place, draft in placed(drafts)],
    }
    if pilot is not None:
        if pilot.avoid:
            content["dropped_targets"] = list(pilot.avoid)
        content["pilot"] = {
            "min_turns": pilot.floor,
            "dropped": [name for one in pilot.rounds for name in one.dropped],
            "rounds": [one.model_dump(mode="json") for one in pilot.rounds],
        }
    return content


def write_tasks(path: Path, world: World, drafts: Sequence[Draft], pilot: Pilot | None = None) -> None:
    """Write ``tasks.json``; the same tasks give the same bytes. See :func:`file_of` for the arguments."""
    path.write_text(json.dumps(file_of(world, drafts, pilot), indent=2) + "\n", encoding="utf-8")


def _task(draft: Draft, number: int, place: int, pilot: Pilot | None) -> dict[str, Any]:
    answer, near = list(draft.answer), list(draft.near)
    content: dict[str, Any] = {
        "id": number,
        "key": name_of(draft.kind, place),
        "suite": SUITE,
        "kind": draft.kind,
        "prompt": wording.closed(draft.question),
        "truth": {
            "as_of": draft.as_of,
            **_asked(draft),
            **draft.more,
            "answer": answer,
            "size": len(answer),
            "forbid": near,
        },
        "checks": [{"kind": "set", "values": answer, "forbid": near}],
        "extras": {"kind": "none"},
        "verify": None,
        "full_prompt": wording.prompt(draft.question),
    }
    stamp = fingerprint(task_of(draft, number, place, ""))
    if pilot is not None and stamp in pilot.stamps:
        content |= {"min_baseline_turns": pilot.stamps[stamp], "pilot_fingerprint": stamp}
    return content


def _asked(draft: Draft) -> dict[str, Any]:
    """What the question is about, under the published names."""
    asked = dict(draft.asks)
    asked.pop("date", None)  # as_of has it
    if "types" in asked:
        asked["edge_types"] = asked.pop("types")
    if draft.kind == "multihop":
        asked["min_talents"] = asked.pop("talents")
        asked["talent_filter"] = {"status": STATUS, "years_of_experience_min": asked.pop("years")}
    return asked
