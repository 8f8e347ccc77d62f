"""The log of a store without derived links says of every entity and day what the whole log says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from association_forms import build, world_of

from memassay.core.errors import DataError
from memassay.suites.association.world import DAYS

pytest.importorskip("mushroomdb")

from memassay.suites.association.graph import Graph, loading, log
from memassay.suites.association.graph.log import frames_of, without_links
from memassay.suites.association.graph.store import LOG, STORE, Event, GraphReader, open_handle

_SLOW = "MUSHROOMDB_SLOW_QUERY_MS"


def said(events: list[Event]) -> list[tuple[Any, ...]]:
    """A history without the numbers of its commits, which the two count differently."""
    return [(event.day, event.kind, event.field, event.value) for event in events]


def test_histories_and_days_are_those_of_the_whole_log(place: Path, reader: GraphReader) -> None:
    keys = {node.key for node in world_of().nodes} | {change.key for change in world_of().changes}
    with without_links(reader, place) as past:
        assert past is not reader
        for key in sorted(keys):
            assert said(past.history(key)) == said(reader.history(key)), key
        for day in range(0, DAYS, 11):
            assert past.state(day) == reader.state(day) == world_of().state(day)
        assert past.db.stats()["edges"] == 0
    assert not list(place.glob("memassay-*"))


def test_the_frames_of_a_log_fill_it(place: Path, reader: GraphReader, tmp_path: Path) -> None:
    whole = (place / STORE / LOG).read_bytes()
    frames = frames_of(place / STORE / LOG)
    assert len(frames) == reader.db.wal_total_commits()
    assert sum(size for _, size in frames) == len(whole)
    for content in (whole[:-1], whole[:-400], whole + b"\x01", b"x" * 1000):
        (tmp_path / LOG).write_bytes(content)
        assert len(frames_of(tmp_path / LOG)) != len(frames)
    (tmp_path / LOG).write_bytes(b"")
    assert frames_of(tmp_path / LOG) == []


def test_a_log_of_another_shape_is_read_as_a_whole(
    place: Path, reader: GraphReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "frames_of", lambda path: [])
    with without_links(reader, place) as past:
        assert past is reader
    build(Graph(), tmp_path)
    assert (tmp_path / "stamp.json").read_bytes() == (place / "stamp.json").read_bytes()


def test_one_history_that_is_not_the_change_log_s_is_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sampled = loading._Loading(world_of(), tmp_path, False, lambda done, total: None)._sample
    lost = next(change.key for change in world_of().changes if change.key not in sampled)

    class Forgetful(GraphReader):
        def history(self, key: str) -> list[Event]:
            events = super().history(key)
            return events[:-1] if key == lost else events

    @contextmanager
    def forgetful(reader: GraphReader, place: Path) -> Iterator[GraphReader]:
        with without_links(reader, place) as past:
            yield Forgetful(past.db, past.calendar)

    monkeypatch.setattr(loading, "without_links", forgetful)
    with pytest.raises(DataError, match=f"is not the world: in its history, {lost}: the log has "):
        build(Graph(), tmp_path)


@pytest.mark.parametrize(("own", "prints"), [("", False), ("1", True)])
def test_the_package_says_nothing_of_slow_queries_unless_it_is_asked(
    own: str, prints: bool, place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(_SLOW, own)
    if not own:
        monkeypatch.delenv(_SLOW)
    with closing(open_handle(place)) as db:
        db.query("MATCH (a), (b), (c), (d:Job) RETURN count(*) AS n")
    assert ("slow query" in capfd.readouterr().err) is prints
