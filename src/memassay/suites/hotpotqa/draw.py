"""Which questions of a file are asked: drawn once, by a rule that is the same everywhere, and then frozen.

The ids are sorted by their bytes and shuffled from the end with xorshift64; the first 50 are ``dev``, the next 300
``test``. That is the draw of the published memory study on HotPotQA, so its samples come out of the full file again.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memassay.core.errors import DataError, UsageError

SEED = 20260718
DEV = 50
TEST = 300

_MASK = (1 << 64) - 1
_SUFFIX = ".draw.json"


def xorshift64(seed: int) -> Iterator[int]:
    """The states of Marsaglia's generator (shifts 13, 7, 17), each of 64 bits; a seed of 0 is taken as 1."""
    state = max(seed, 1) & _MASK
    while True:
        state ^= (state << 13) & _MASK
        state ^= state >> 7
        state ^= (state << 17) & _MASK
        yield state


def permutation(n: int, seed: int = SEED) -> list[int]:
    """The numbers below ``n`` in the order of the draw: Fisher-Yates from the end, ``j = state mod (i + 1)``."""
    order = list(range(n))
    states = xorshift64(seed)
    for i in range(n - 1, 0, -1):
        j = next(states) % (i + 1)
        order[i], order[j] = order[j], order[i]
    return order


@dataclass(frozen=True, slots=True)
class Draw:
    """The ids that are asked, in the order of the draw. ``whole``: every question of the file is among them."""

    dev: tuple[str, ...]
    test: tuple[str, ...]
    whole: bool

    @property
    def ids(self) -> tuple[str, ...]:
        return self.dev + self.test


def draw(ids: Sequence[str], dev: int | None = None, test: int | None = None) -> Draw:
    """Draw from the ids of a file.

    Args:
        ids: each once, in any order.
        dev: how many are ``dev``; 50 if the file has 350 or more, else all that are not ``test``.
        test: how many are ``test``; 300 if the file has 350 or more, else none.

    Raises:
        UsageError: the file has fewer questions than were asked for.
    """
    ordered = sorted(ids, key=lambda name: name.encode())
    shuffled = [ordered[i] for i in permutation(len(ordered))]
    large = len(shuffled) >= DEV + TEST
    tests = test if test is not None else TEST if large else 0
    devs = dev if dev is not None else DEV if large else max(0, len(shuffled) - tests)
    if min(devs, tests) < 0 or devs + tests < 1:
        raise UsageError(
            f"Settings dev and test of hotpotqa: give whole numbers from 0, not both 0 (got {dev}, {test})."
        )
    if devs + tests > len(shuffled):
        raise UsageError(
            f"The file has {len(shuffled):,} questions, fewer than the {devs:,} for dev and {tests:,} for test; "
            "give smaller numbers for dev and test in the experiment's [options]."
        )
    chosen = tuple(shuffled[: devs + tests])
    return Draw(chosen[:devs], chosen[devs:], devs + tests == len(shuffled))


# -- frozen --------------------------------------------------------------------------------------------------------


def check(drawn: Draw, file: Path, sha256: str, folder: Path) -> None:
    """Compare a draw with those that were frozen for this file; writes nothing.

    Args:
        drawn: the draw.
        file: the data file. The draw of a file is named after it; a copy under another name or in another folder is
            known by its digest, in the data folder and beside the copy.
        sha256: of the data file.
        folder: the data folder.

    Raises:
        DataError: another draw was frozen, or the one under this name cannot be read.
    """
    mine = _value(drawn, file, sha256)
    for place, held in _frozen(file, sha256, folder).items():
        if held is None:
            raise DataError(f"{place} is not a frozen draw of questions; remove it, or draw anew with --force.")
        difference = _difference(held, mine)
        if difference:
            raise DataError(
                f"{place} holds another draw: {difference}; use the data file and settings of that draw, or draw anew "
                "with --force."
            )


def freeze(drawn: Draw, file: Path, sha256: str, folder: Path, *, force: bool = False) -> None:
    """Keep a draw in the data folder, unless it is kept already.

    A draw of the whole file leaves nothing to draw and is not kept. Where the folder cannot be written to, the draw is
    guarded by the manifest of each run alone.

    Args:
        drawn: the draw.
        file: the data file.
        sha256: of the data file.
        folder: the data folder.
        force: replace frozen draws that differ.

    Raises:
        DataError: see :func:`check`; never with ``force``.
    """
    if not force:
        check(drawn, file, sha256, folder)
    mine = _value(drawn, file, sha256)
    kept = _frozen(file, sha256, folder)
    if not kept and not drawn.whole:
        _write(_place(file, folder), mine)
    for place, held in kept.items():
        if held is None or _difference(held, mine):
            _write(place, mine)


def _value(drawn: Draw, file: Path, sha256: str) -> dict[str, Any]:
    return {"file": file.name, "sha256": sha256, "seed": SEED, "dev": list(drawn.dev), "test": list(drawn.test)}


def _place(file: Path, folder: Path) -> Path:
    return folder / f"{file.stem}{_SUFFIX}"


def _frozen(file: Path, sha256: str, folder: Path) -> dict[Path, dict[str, Any] | None]:
    """The frozen draws of a file: the one under its name (None if it is damaged), then those of the same content."""
    own = _place(file, folder)
    found = {own: _read(own)} if os.path.lexists(own) else {}
    for around in dict.fromkeys(place.resolve() for place in (folder, file.parent)):
        for place in sorted(around.glob(f"*{_SUFFIX}")):
            held = None if place == own.resolve() else _read(place)
            if held is not None and held["sha256"] == sha256:
                found[place] = held
    return found


def _read(place: Path) -> dict[str, Any] | None:
    try:
        held = json.loads(place.read_text(encoding="utf-8"))
        return dict(held) if {"sha256", "seed", "dev", "test"} <= held.keys() else None
    except (OSError, ValueError, AttributeError):
        return None


def _difference(held: dict[str, Any], mine: dict[str, Any]) -> str:
    for split in ("dev", "test"):
        if held[split] != mine[split]:
            had, draws = len(held[split]), len(mine[split])
            return f"its {split} sample has {had} questions, and this run would draw {draws} others"
    if held["sha256"] != mine["sha256"]:
        return f"it is of a file with the checksum {str(held['sha256'])[:12]}…, this one has {mine['sha256'][:12]}…"
    return ""


def _write(place: Path, value: dict[str, Any]) -> None:
    text = json.dumps(value, indent=1) + "\n"
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{place.name}.", suffix=".part", dir=place.parent)
    except OSError:
        return  # a read-only data folder: see freeze
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        temporary.chmod(0o644)
        temporary.replace(place)
    except OSError:
        pass
    finally:
        temporary.unlink(missing_ok=True)
