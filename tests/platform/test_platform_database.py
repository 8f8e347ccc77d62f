"""The file: time, faults of the machine, snapshots, many threads."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from platform_kit import CORRECTION, FACT, NOISE, ORDERS, START, Bench, hits, refused

from memassay.core.digest import digest_file
from memassay.platform.database import moment, rfc3339
from memassay.platform.errors import PlatformError
from memassay.platform.service import Platform
from memassay.platform.settings import Settings
from memassay.platform.shapes import InsightFilter

HASH = Settings(embedder="hash", durable=False)


# -- time ----------------------------------------------------------------------------------------------------------


def test_times_are_rfc_3339_and_sort_as_texts() -> None:
    assert rfc3339(START) == "2027-01-15T08:00:00.000000Z"
    assert moment("2027-01-15T08:00:00Z") == moment("2027-01-15T09:00:00.000000+01:00") == START
    assert moment("2027-01-15T08:00:00.123456789Z") == START + 123456
    assert moment(rfc3339(START + 1)) == START + 1
    for bad in ("", "now", "2027-01-15", "2027-01-15T08:00:00", "2027-13-01T00:00:00Z", "1", "9" * 40):
        with refused("invalid"):
            moment(bad)


def test_a_clock_that_goes_back_neither_reorders_nor_repeats(place: Bench) -> None:
    ids = []
    for at, step in enumerate((0, 0, -3600, 5, -86_400, 0, 90_000)):
        place.clock.move(step)
        ids.append(place.capture(f"Metric {'abcdefg'[at] * 5} of the desk.", f"urn:{at}").id)
    newest = [insight.id for insight in place.platform.list_insights(place.admin).data]
    assert newest == ids[::-1]
    at = [place.platform.get_insight(place.admin, id).created_at for id in ids]
    assert at == sorted(set(at))
    since = place.platform.list_insights(place.admin, InsightFilter(since=at[3]), order="oldest").data
    assert [insight.id for insight in since] == ids[3:]
    times = [row[0] for row in place.table("SELECT updated FROM records UNION ALL SELECT at FROM audit")]
    assert len(times) == len(set(times))


def test_the_clock_is_remembered_by_the_file(tmp_path: Path) -> None:
    one = Bench(tmp_path / "w")
    first = one.platform.get_insight(one.admin, one.capture(FACT).id).created_at
    one.platform.close()
    two = Platform(tmp_path / "w", HASH, clock=lambda: START - 10**12)
    assert two.platform_info(one.admin).session_expires_at > first
    two.close()


def test_a_session_that_has_ended_stays_ended_when_the_clock_goes_back(place: Bench) -> None:
    place.clock.move(9 * 3600)
    place.caller(place.admin)  # the file has seen this time
    for step in (0, -8 * 3600):
        place.clock.move(step)
        with refused("session_expired"):
            place.capture(FACT)


# -- what the machine does -----------------------------------------------------------------------------------------


def test_a_full_disk_is_said_and_nothing_is_half_written(place: Bench) -> None:
    made = place.capture(FACT)
    con = place.platform._database._writer
    pages = con.execute("PRAGMA page_count").fetchone()[0]
    before = {name: place.table(f"SELECT count(*) FROM {name}") for name in ("records", "records_vectors", "history")}
    con.execute(f"PRAGMA max_page_count = {pages}")
    kept = []
    for number in range(40):  # the file still has room inside its pages for some
        try:
            kept.append(place.capture(f"{NOISE} {number} " + "many words of padding " * 90, f"urn:{number}").id)
        except PlatformError as problem:
            assert problem.code == "unavailable"
            assert "full" in problem.message
            break
    else:
        raise AssertionError("the disk was never full")
    with refused("unavailable"):
        place.publish(made.id, text="words " * 300)
    assert place.status(made.id) == "pending"
    assert hits(place.platform.search(place.teacher, "zorblat"))[0].ref == made.id  # reading goes on
    con.execute("PRAGMA max_page_count = 1000000")
    assert place.table("SELECT count(*) FROM records") == [(before["records"][0][0] + len(kept),)]
    assert place.table("SELECT count(*) FROM records_vectors") == [(before["records"][0][0] + len(kept),)]
    assert place.publish(made.id).status == "applied"
    whole(place.folder)


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes anywhere")
def test_a_folder_that_cannot_be_written_by_its_rights(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir(mode=0o500)
    with refused("unavailable"):
        Platform(tmp_path / "w", HASH)


def test_a_file_that_became_read_only(place: Bench) -> None:
    made = place.capture(FACT)
    place.platform._database._writer.execute("PRAGMA query_only = 1")
    with refused("unavailable"):
        place.capture(NOISE)
    with refused("unavailable"):
        place.platform.set_insight_status(place.admin, made.id, "approved")
    assert hits(place.platform.search(place.teacher, "zorblat"))[0].ref == made.id
    place.platform._database._writer.execute("PRAGMA query_only = 0")
    assert place.status(made.id) == "pending"


def test_what_is_no_workspace_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "platform.sqlite").write_text("This is no database, it is a text. " * 100)
    other = tmp_path / "other" / "platform.sqlite"
    other.parent.mkdir()
    with sqlite3.connect(other) as con:
        con.execute("CREATE TABLE x (y)")
    con.close()
    newer = Bench(tmp_path / "newer")
    newer.platform._database._writer.execute("PRAGMA user_version = 99")
    newer.platform.close()
    (tmp_path / "file").write_text("x")
    for name in ("text", "other", "newer", "file"):
        path = tmp_path / name / "platform.sqlite"
        digest = digest_file(path) if path.is_file() else ""
        with refused("unavailable"):
            Platform(tmp_path / name, HASH)
        assert digest == (digest_file(path) if path.is_file() else "")


def test_a_closed_workspace_says_so(place: Bench) -> None:
    place.platform.close()
    place.platform.close()
    for act in (lambda: place.capture(FACT), lambda: place.platform.search(place.teacher, "x")):
        with refused("unavailable"):
            act()


def test_a_write_that_fails_midway_leaves_nothing(place: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    made = place.capture(FACT)

    def fail(*_: object) -> None:
        raise RuntimeError("a defect of ours")

    monkeypatch.setattr("memassay.platform.changes._mark", fail)
    with pytest.raises(RuntimeError):
        place.publish(made.id)
    monkeypatch.undo()
    assert place.platform.list_pages(place.admin).total == 0
    assert place.platform.list_changesets(place.admin).total == 0
    assert place.status(made.id) == "pending"
    (last, *_) = place.platform.list_audit(place.admin).data
    assert (last.tool_name, last.success, last.error_message) == ("apply_knowledge", False, "a defect of ours")
    assert place.publish(made.id).status == "applied"


def test_acknowledged_writes_are_synced_and_the_others_are_not(tmp_path: Path) -> None:
    for durable, expected in ((True, 2), (False, 1)):
        with Platform(tmp_path / str(durable), Settings(embedder="hash", durable=durable)) as platform:
            with platform._database.write() as writing:
                assert writing.con.execute("PRAGMA synchronous").fetchone()[0] == expected
            with platform._database.write(durable=False) as writing:
                assert writing.con.execute("PRAGMA synchronous").fetchone()[0] == 1
                assert writing.con.execute("PRAGMA journal_mode").fetchone()[0] == "wal"


# -- snapshots -----------------------------------------------------------------------------------------------------


def test_restore_makes_the_workspace_what_it_was(place: Bench, tmp_path: Path) -> None:
    made = place.capture(FACT)
    place.platform.snapshot(tmp_path / "one")
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["one"]
    digest = digest_file(tmp_path / "one")
    newer = place.capture(CORRECTION)
    place.describe(newer.id)
    place.platform.add_pool("L", 1)
    late = place.platform.list_audit(place.admin).data[0].timestamp
    place.clock.move(-(10**6))
    place.platform.restore(tmp_path / "one")
    assert place.status(made.id) == "pending"
    assert [hit.ref for hit in hits(place.platform.search(place.teacher, "zorblat"))] == [made.id]
    meant = place.platform.search(place.teacher, "bicycle")  # no word of it: found by its vector alone
    assert [hit.ref for hit in hits(meant)] == [made.id]
    with refused("not_found"):
        place.platform.get_insight(place.admin, newer.id)
    with refused("not_found"):
        place.platform.get_entity(ORDERS)
    with refused("unauthenticated"):
        place.platform.authenticate("L")
    again = place.capture(NOISE)
    assert place.platform.get_insight(place.admin, again.id).created_at > late
    assert digest_file(tmp_path / "one") == digest
    place.platform.restore(tmp_path / "one")
    place.platform.snapshot(tmp_path / "one")  # an existing file is replaced
    whole(place.folder)


def test_a_snapshot_opens_as_a_workspace(place: Bench, tmp_path: Path) -> None:
    made = place.capture(FACT)
    (tmp_path / "copy").mkdir()
    place.platform.snapshot(tmp_path / "copy" / "platform.sqlite")
    with Platform(tmp_path / "copy", HASH, clock=place.clock) as copy:
        assert copy.get_insight(place.admin, made.id).insight_text == FACT


def test_only_snapshots_are_restored(place: Bench, tmp_path: Path) -> None:
    made = place.capture(FACT)
    (tmp_path / "text").write_text("no database at all, " * 100)
    with sqlite3.connect(tmp_path / "other") as con:
        con.execute("CREATE TABLE x (y)")
    con.close()
    with refused("not_found"):
        place.platform.restore(tmp_path / "nothing")
    for name in ("text", "other"):
        with refused("invalid"):
            place.platform.restore(tmp_path / name)
    with refused("unavailable"):
        place.platform.snapshot(tmp_path / "no" / "folder")
    assert place.status(made.id) == "pending"


def test_the_fingerprint_tells_settings_embedder_and_warehouse(bench: Callable[..., Bench], orders: Path) -> None:
    plain, same = bench().platform.fingerprint(), bench().platform.fingerprint()
    assert plain == same
    assert plain.embedder is not None
    assert plain.embedder.name == "hash"
    others = [bench(gate=False), bench(embedder="none"), bench(warehouse=orders), bench(supersede=0.7)]
    digests = {plain.digest, *(other.platform.fingerprint().digest for other in others)}
    assert len(digests) == 5
    assert plain.settings["supersede"] == 0.6


# -- many at once --------------------------------------------------------------------------------------------------


def test_64_threads_leave_correct_counts(place: Bench) -> None:
    agents = place.platform.add_pool("M", 64)
    failures: list[BaseException] = []
    kept: list[str] = []
    start = threading.Barrier(64)

    def work(at: int) -> None:
        try:
            who = place.caller(agents[at])
            start.wait()
            for number in range(3):
                made = place.capture(f"Agent {at} keeps thing {number}.", f"urn:{at}:{number}", who=who)
                kept.append(made.id)
                assert hits(place.platform.search(who, f"thing {number}"), "insights")
        except BaseException as problem:
            failures.append(problem)

    threads = [threading.Thread(target=work, args=(at,)) for at in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(set(kept)) == 192
    assert place.platform.insight_stats(place.admin).total_pending == 192
    assert place.platform.list_insights(place.admin).total == 192
    audit = place.platform.list_audit(place.admin)
    assert audit.total == 4 + 64 + 2 * 192
    whole(place.folder)


def test_of_two_equal_captures_at_once_one_is_live(place: Bench) -> None:
    for at in range(6):
        both = threading.Barrier(2)

        def capture(at: int = at, both: threading.Barrier = both) -> None:
            both.wait()
            place.capture(f"The measure {'pqrstu'[at] * 4} is counted once.", f"urn:{at}")

        threads = [threading.Thread(target=capture) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    stats = place.platform.insight_stats(place.admin)
    assert (stats.by_status["pending"], stats.by_status["superseded"]) == (6, 6)


def whole(folder: Path) -> None:
    """The file and its word indexes are consistent."""
    con = sqlite3.connect(folder / "platform.sqlite")
    assert con.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    live = "SELECT count(*) FROM records WHERE lifecycle IN ('active', 'stale')"
    found = "SELECT count(*) FROM records_words WHERE records_words MATCH 'labels : (pending OR approved OR applied)'"
    assert con.execute(found).fetchone() == con.execute(f"{live} AND status IS NOT NULL").fetchone()
    con.close()
