"""The log of a store without the links that its rules derived: what is left says all there is to say of entities.

The package reads the whole log for one history and replays it for one past state (1 s and 17 s at scale 2,000), and all
but 1 % of the log are derived links, which are part of no history and of no entity. From a copy without them the same
histories and states are read in milliseconds.

The log is a row of frames, each its length and its checksum (4 bytes each) before its content. A frame is copied as it
is or left out; nothing here looks into one.
"""

from __future__ import annotations

import contextlib
import struct
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from memassay.suites.association.graph.store import LOG, STORE, Calendar, GraphReader, midnight_ms, open_handle
from memassay.suites.association.world import DAYS

_HEAD = struct.Struct("<II")


@contextlib.contextmanager
def without_links(reader: GraphReader, place: Path) -> Iterator[GraphReader]:
    """A reader of the entities' past alone: its ``state`` of a day and its ``history`` say what the store's own say.

    Its commits have numbers of their own. Where the log is no row of frames as it is known here, say because another
    version of the package wrote it, this is the store's own reader, and everything takes its time.

    Args:
        reader: of the store, whose rules were made on day 0 after its entities, as :mod:`loading` does.
        place: the folder of the store.

    Raises:
        DataError: the package refuses the copy.
    """
    frames = frames_of(place / STORE / LOG)
    if len(frames) != reader.calendar.ends[-1] + 1:
        yield reader
        return
    kept, days = _of_entities(reader.calendar, len(reader.db.rules()))
    with tempfile.TemporaryDirectory(prefix="memassay-") as folder:
        copy = Path(folder)
        (copy / STORE).mkdir()
        with (place / STORE / LOG).open("rb") as log, (copy / STORE / LOG).open("wb") as entities:
            for frame in kept:
                start, size = frames[frame]
                log.seek(start)
                entities.write(log.read(size))
        ends = [sum(day <= last for day in days) - 1 for last in range(DAYS)]
        with contextlib.closing(open_handle(copy)) as db:
            yield GraphReader(db, Calendar(ends, lambda commit: midnight_ms(days[commit])))


def frames_of(path: Path) -> list[tuple[int, int]]:
    """Where each frame of a log begins and how long it is, in bytes; empty where they do not fill the file exactly."""
    frames, at, end = [], 0, path.stat().st_size
    with path.open("rb") as log:
        while len(head := log.read(_HEAD.size)) == _HEAD.size:
            length, _ = _HEAD.unpack(head)
            frames.append((at, _HEAD.size + length))
            at = log.seek(length, 1)
    return frames if at == end and not head else []


def _of_entities(calendar: Calendar, rules: int) -> tuple[Sequence[int], Sequence[int]]:
    """The first frame of every commit but those that made the rules, and the day of each.

    What a commit makes rules derive stands in a second frame.
    """
    found: list[tuple[int, int]] = []
    last = -1
    for frame in range(calendar.ends[-1] + 1):
        commit, day = calendar.moment(frame)
        if commit != last:
            found.append((frame, day))
        last = commit
    loaded = sum(day == 0 for _, day in found)
    kept = found[: loaded - rules] + found[loaded:]
    return [frame for frame, _ in kept], [day for _, day in kept]
