from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from association_forms import SMALL, build, corpus_of, ref_of, world_of

from kit import printed_elsewhere
from memassay.core.contracts import BuildContext, Closes, Folder, Retrieves, Serves
from memassay.core.digest import digest_folder
from memassay.core.errors import CannotMeasure, DataError, MissingExtra
from memassay.suites.association.truth import RULES, TASK_RULES, TYPES, Links
from memassay.suites.association.world import LAST_DAY, ROLES, date_of, make_world

mushroomdb = pytest.importorskip("mushroomdb")

from memassay.suites.association.graph import Graph, loading, memory  # noqa: E402
from memassay.suites.association.graph.store import GraphReader, open_handle  # noqa: E402


@pytest.fixture
def copy(place: Path, tmp_path: Path) -> Path:
    return shutil.copytree(place, tmp_path / "copy")


def stamp_of(place: Path) -> Any:
    return json.loads((place / "stamp.json").read_text())


# -- the build -----------------------------------------------------------------------------------------------------


def test_the_links_are_those_of_the_truth(place: Path, today: Links) -> None:
    assert stamp_of(place)["links"] == today.counts()


def test_the_stamp_says_that_every_history_was_compared(place: Path) -> None:
    changed = {change.key for change in world_of().changes}
    assert stamp_of(place)["checked"] == {"days": [0, 89], "histories": len(changed)}


def test_the_folder_of_an_agent_has_three_files_and_not_the_store(place: Path) -> None:
    assert sorted(path.name for path in (place / "form").iterdir()) == ["README.md", "days.json", "schema.json"]
    schema = json.loads((place / "form" / "schema.json").read_text())
    assert schema["roles"] == {role: list(labels) for role, labels in ROLES.items()}
    assert list(schema["links"]) == list(TYPES)
    assert schema["links"]["SPECIALTY_MATCH"] == {"from": "Talent", "to": ["Company", "Job"]}


def test_a_day_ends_at_its_last_commit(place: Path, reader: GraphReader) -> None:
    days = json.loads((place / "form" / "days.json").read_text())
    assert [(row["day"], row["date"]) for row in days] == [(day, date_of(day)) for day in range(90)]
    # The day map of the published builder: the frames after the day's changes, less one.
    assert all(reader.db.resolve_date(row["date"]) == row["commit"] for row in days[::7])
    changes = Counter(change.day for change in world_of().changes)
    for before, row in pairwise(days):
        frames = row["commit"] - before["commit"]
        assert changes[row["day"]] <= frames <= 2 * changes[row["day"]]
    assert days[0]["commit"] == 2 * len(TASK_RULES)
    assert days[-1]["commit"] == reader.db.wal_total_commits() - 1 == stamp_of(place)["frames"] - 1


def test_nothing_is_cut_and_no_rule_is_capped(reader: GraphReader) -> None:
    stats = reader.db.stats()
    assert stats["history_floor"] == 0
    assert not any(rule["tripped"] for rule in stats["rules"])
    assert {rule["name"]: rule["max_edges"] for rule in reader.db.rules()} == {r.name: None for r in TASK_RULES}


def test_equal_worlds_give_equal_stores(place: Path, tmp_path: Path) -> None:
    program = (
        "import sys, tempfile, pathlib\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from association_forms import build\n"
        "from memassay.core.digest import digest_folder\n"
        "from memassay.suites.association.graph import Graph\n"
        "print(digest_folder(build(Graph(), pathlib.Path(tempfile.mkdtemp()))))"
    )
    assert printed_elsewhere(program, tmp_path) == {digest_folder(place)}


def test_what_a_build_tells(tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []
    context = BuildContext(progress=lambda done, total: steps.append((done, total)))
    told = Graph().build(corpus_of(world_of(12)), tmp_path, context)
    assert told["passages"] == 12
    assert told["facts"]["digest"] == world_of(12).digest
    assert told["facts"]["histories compared"] == len({change.key for change in world_of(12).changes})
    assert {"entities", "rules", "changes", "opening", "reading back"} <= set(told["facts"]["seconds"])
    assert steps == sorted(steps)
    assert len({total for _, total in steps}) == 1
    assert steps[-1][0] == steps[-1][1]


def test_a_world_with_few_entities_works(tmp_path: Path) -> None:
    assert stamp_of(build(Graph(), tmp_path, world_of(3)))["scale"] == 3


def test_the_semantic_rule_comes_on_demand(tmp_path: Path) -> None:
    world = world_of(20)
    build(Graph(semantic=True), tmp_path, world)
    Graph(semantic=True).verify(ref_of(tmp_path), corpus_of(world))
    stamp = stamp_of(tmp_path)
    assert stamp["links"].keys() == {rule.name for rule in RULES}
    assert stamp["links"]["semantic_match_tc"] > 0
    with GraphReader.opened(tmp_path) as opened:
        assert opened.calendar.ends[0] == 2 * len(RULES)
        assert opened.state() == world.state(LAST_DAY)
        assert opened.state(0) == world.state(0)
    with pytest.raises(DataError, match="it was built with the semantic rule"):
        Graph().verify(ref_of(tmp_path), corpus_of(world))


def test_a_store_that_is_not_the_world_is_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = loading._definition
    monkeypatch.setattr(loading, "_definition", lambda rule: {**right(rule), "max_edges": 2})
    with pytest.raises(
        DataError, match=r"^The graph store that was built is not the world: in its links, rule .* more"
    ):
        build(Graph(), tmp_path)


def test_a_change_that_is_not_stored_as_it_is_is_found_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change = next(change for change in world_of().changes if change.value == "archived")
    right = loading._plain
    monkeypatch.setattr(loading, "_plain", lambda value: "draft" if value == "archived" else right(value))
    says = f"is not the world: after change {change.seq}, {change.key} differs in status"
    with pytest.raises(DataError, match=says):
        build(Graph(), tmp_path)


def test_too_many_links_cannot_be_measured() -> None:
    class Full:
        def stats(self) -> Any:
            return {"rules": [{"name": "similar_size_tc", "tripped": True}]}

    load = loading._Loading(world_of(), Path(), False, lambda done, total: None)
    load._check_limit(Full(), "industry_alignment_tc")  # type: ignore[arg-type]
    with pytest.raises(
        CannotMeasure, match="at most 1,000,000 links per rule, and similar_size_tc has more at scale 40"
    ):
        load._check_limit(Full(), "similar_size_tc")  # type: ignore[arg-type]


def test_another_corpus_cannot_be_measured(tmp_path: Path) -> None:
    with pytest.raises(CannotMeasure, match="builds only from the world of the suite association"):
        Graph().build(corpus_of(None), tmp_path, BuildContext())


def test_without_the_package_only_this_form_is_not_measured(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    assert Graph().identity() == {"mushroomdb": metadata.version("mushroomdb")}
    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(CannotMeasure, match=r"pip install 'memassay\[mushroomdb\]'"):
        Graph()
    monkeypatch.setitem(sys.modules, "mushroomdb", None)
    with pytest.raises(MissingExtra, match=r"pip install 'memassay\[mushroomdb\]'"):
        open_handle(place)


def test_what_an_open_store_can(place: Path) -> None:
    store = Graph().open(ref_of(place))
    assert isinstance(store, Folder) and isinstance(store, Serves) and isinstance(store, Closes)
    assert not isinstance(store, Retrieves)
    assert store.folder() == place / "form"
    store.close()  # no server was started, so there is nothing to end
    assert Graph.access == ("tools", "folder")


@pytest.mark.slow
def test_the_published_store(tmp_path: Path) -> None:
    world = make_world()
    build(Graph(), tmp_path, world)
    Graph().verify(ref_of(tmp_path), corpus_of(world))
    days = json.loads((tmp_path / "form" / "days.json").read_text())
    assert [days[day]["commit"] for day in (0, 43, 89)] == [18, 315, 585]
    stamp = stamp_of(tmp_path)
    assert (stamp["facts"], stamp["frames"], sum(stamp["links"].values())) == ("3107779e2a7d1dd0", 586, 1_268_333)
    assert stamp["checked"] == {"days": [0, 89], "histories": 290}


# -- damage --------------------------------------------------------------------------------------------------------


def snapshot(place: Path) -> None:
    db = open_handle(place, read_only=False)
    db.snapshot()
    db.close()


def one_more_commit(place: Path) -> None:
    db = open_handle(place, read_only=False)
    db.set_prop("company-000000", "status", "x")
    db.close()


def cut(name: str, keep: int) -> Callable[[Path], None]:
    def act(place: Path) -> None:
        path = place / name
        path.write_bytes(path.read_bytes()[:keep])

    return act


def replaced(name: str, old: str, new: str) -> Callable[[Path], None]:
    def act(place: Path) -> None:
        path = place / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    return act


def removed(name: str) -> Callable[[Path], None]:
    return lambda place: (place / name).unlink()


STORE = "world.mushroomdb"
DAMAGE = [
    pytest.param(snapshot, "its history was cut by a snapshot: it begins at commit", id="snapshot"),
    pytest.param(one_more_commit, r"its history has \d+ of \d+ commits", id="more"),
    pytest.param(cut(f"{STORE}/wal.bin", 200_000), r"its history has \d+ of \d+ commits", id="cut"),
    pytest.param(cut(f"{STORE}/wal.bin", 10), r"its history has 0 of \d+ commits", id="cut to nothing"),
    pytest.param(removed(f"{STORE}/wal.bin"), r"world\.mushroomdb/wal\.bin is missing", id="no log"),
    pytest.param(removed(f"{STORE}/roles.json"), r"world\.mushroomdb/roles\.json is missing", id="no roles"),
    pytest.param(replaced(f"{STORE}/roles.json", "Job", "Company"), "roles.json was changed", id="roles"),
    pytest.param(cut(f"{STORE}/commit_times.bin", 100), "commit_times.bin was changed", id="times"),
    pytest.param(replaced("form/days.json", '"commit": 18', '"commit": 17'), "days.json was changed", id="days"),
    pytest.param(replaced("form/days.json", "2026-06-01", "2026-06-02"), "days.json cannot be read", id="dates"),
    pytest.param(removed("form/days.json"), "days.json is missing", id="no days"),
    pytest.param(replaced("stamp.json", '"frames"', '"fames"'), r"stamp\.json cannot be read", id="stamp"),
    pytest.param(replaced("stamp.json", 'db": "0', 'db": "7'), "it was built with mushroomdb 7", id="version"),
]  # fmt: skip


@pytest.mark.parametrize(("damage", "says"), DAMAGE)
def test_a_damaged_store_is_refused_in_one_line(copy: Path, damage: Callable[[Path], None], says: str) -> None:
    Graph().verify(ref_of(copy), corpus_of(world_of()))
    damage(copy)
    with pytest.raises(DataError, match=says) as error:
        Graph().verify(ref_of(copy), corpus_of(world_of()))
    assert str(error.value).endswith(f"; delete {copy} and build again.")
    assert "\n" not in str(error.value)


def test_a_store_of_another_world_is_refused(place: Path) -> None:
    with pytest.raises(DataError, match="the world of this run has the facts"):
        Graph().verify(ref_of(place), corpus_of(world_of(SMALL, seed=8)))


def test_reading_changes_no_byte(place: Path) -> None:
    before = digest_folder(place)
    with GraphReader.opened(place) as opened:
        opened.state()
        opened.history("talent-000001")
    assert digest_folder(place) == before


def test_the_stamped_version_is_the_installed_one(place: Path) -> None:
    assert stamp_of(place)["versions"] == {"mushroomdb": metadata.version("mushroomdb")}
    assert memory.version() == metadata.version("mushroomdb")
