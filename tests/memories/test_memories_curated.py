"""The memory ``curated``, read by our own engine everywhere and by the real iwe where it is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from memories_corpora import ask, ref

from memassay.core.contracts import BuildContext, Folder, Retrieves, Serves
from memassay.core.digest import digest_folder
from memassay.core.errors import CannotMeasure, EnvironmentProblem, UsageError
from memassay.core.types import Corpus, Document
from memassay.memories.iwe import Curated
from memassay.running.serving import lay_out
from peer_programs import use_peer

CONFIG = 'version = 3\nformat = "markdown"\n\n[library]\npath = ""\n'


@pytest.fixture
def stores(tmp_path: Path) -> Path:
    root = tmp_path / "stores"
    for name, friend in (("conv-1", "Bo"), ("conv-2", "Cy")):
        folder = root / name
        (folder / ".iwe" / "schemas").mkdir(parents=True)
        (folder / ".iwe" / "config.toml").write_text(CONFIG, encoding="utf-8")
        (folder / ".iwe" / "schemas" / "hub.yaml").write_text("maxTokens: 1500\n", encoding="utf-8")
        (folder / "people").mkdir()
        (folder / "people" / "ann.md").write_text(f"# Ann\n\n- likes tea, met {friend}\n", encoding="utf-8")
        (folder / "2023-05-08.md").write_text(
            f"# A walk\n\n- [Ann](people/ann.md) met {friend} by the harbour\n", encoding="utf-8"
        )
        (folder / "curate-log.jsonl").write_text('{"gold": "harbour"}\n', encoding="utf-8")
        (folder / "notes.txt").write_text("no page", encoding="utf-8")
        (folder / ".draft.md").write_text("# Hidden\n\nharbour\n", encoding="utf-8")
        (folder / "gold.md").symlink_to(tmp_path / "gold.md")
    (tmp_path / "gold.md").write_text("# Gold\n\nThe answer is harbour.\n", encoding="utf-8")
    (root / "README.md").write_text("# Stores made in May\n", encoding="utf-8")
    return root


@pytest.fixture(params=["markdown", pytest.param("iwe", marks=pytest.mark.peer)])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "iwe":
        use_peer("iwe", monkeypatch)
    return str(request.param)


def scope(name: str, **more: Any) -> Corpus:
    return Corpus(id=name, digest="0" * 64, **{"documents": (Document(id="x", text="The harbour."),), **more})


def opened(memory: Curated, corpus: Corpus, place: Path) -> Any:
    place.mkdir(exist_ok=True)
    memory.build(corpus, place, BuildContext())
    return memory.open(ref(place))


def test_a_log_of_the_curation_is_no_page_whatever_its_ending(stores: Path, tmp_path: Path) -> None:
    before = Curated(store=str(stores), engine="markdown").identity()
    for place, name in ((stores / "conv-1", "curate-log.md"), (stores / "conv-1" / "people", "Curate-Log.md")):
        (place / name).write_text("# Log\n\nGold: by the harbour Ann met the captain.\n", encoding="utf-8")
    (stores / "curate-log.md").write_text("# Log of all\n", encoding="utf-8")
    memory = Curated(store=str(stores), engine="markdown")
    store = opened(memory, scope("conv-1"), tmp_path / "conv-1")
    laid = lay_out(store.folder(), tmp_path / "work")
    assert sorted(path.name for path in laid.rglob("*.md")) == ["2023-05-08.md", "ann.md"]
    assert "captain" not in "\n".join(passage.text for passage in store.retrieve(ask("Whom did Ann meet? Captain?")))
    assert memory.identity() == before
    with pytest.raises(CannotMeasure, match="no pages of its own"):  # the log alone is no store for all
        opened(memory, scope("conv-9"), tmp_path / "conv-9")


def test_each_scope_gets_its_own_pages_and_nothing_else(engine: str, stores: Path, tmp_path: Path) -> None:
    memory = Curated(store=str(stores), engine=engine)  # type: ignore[arg-type]
    for name, friend in (("conv-1", "Bo"), ("conv-2", "Cy")):
        store = opened(memory, scope(name), tmp_path / name)
        assert isinstance(store, Retrieves) and isinstance(store, Serves) and isinstance(store, Folder)
        laid = lay_out(store.folder(), tmp_path / f"work-{name}")
        files = {
            path.relative_to(laid).as_posix(): path.read_text(encoding="utf-8")
            for path in laid.rglob("*")
            if path.is_file()
        }
        original = stores / name
        assert files == {
            key: (original / key).read_text(encoding="utf-8") for key in ("2023-05-08.md", "people/ann.md")
        }
        text = "\n".join(passage.text for passage in store.retrieve(ask("Whom did Ann meet by the harbour?")))
        assert f"met {friend} by the harbour" in text and "likes tea" in text  # the walk, and Ann, who is linked there
        assert "answer is" not in text and "Hidden" not in text


def test_what_it_finds_claims_no_source(engine: str, stores: Path, tmp_path: Path) -> None:
    store = opened(Curated(store=str(stores), engine=engine), scope("conv-1"), tmp_path / "store")  # type: ignore[arg-type]
    passages = store.retrieve(ask("harbour"))
    assert passages
    assert all((p.kind, p.doc_ids, p.unit_ids) == ("summary", (), ()) for p in passages)


def test_one_folder_serves_every_scope(engine: str, stores: Path, tmp_path: Path) -> None:
    memory = Curated(store=str(stores / "conv-2"), engine=engine)  # type: ignore[arg-type]
    for name in ("conv-1", "conv-9"):
        assert "Cy" in opened(memory, scope(name), tmp_path / name).retrieve(ask("harbour"))[0].text


def test_a_scope_without_pages_cannot_be_measured(engine: str, stores: Path, tmp_path: Path) -> None:
    with pytest.raises(CannotMeasure, match="has no folder 'conv-3' and no pages of its own"):
        opened(Curated(store=str(stores), engine=engine), scope("conv-3"), tmp_path / "store")  # type: ignore[arg-type]


def test_the_marker_of_the_harness_is_written_by_the_harness(engine: str, stores: Path, tmp_path: Path) -> None:
    planted = Document(id="m", title="Logbook", text="The keeper wrote a phrase.")
    marker = scope("conv-1+marker", variant="marker", documents=(planted,))
    store = opened(Curated(store=str(stores), engine=engine), marker, tmp_path / "store")  # type: ignore[arg-type]
    assert "The keeper wrote a phrase." in store.retrieve(ask("keeper phrase"))[0].text


def test_pages_that_change_are_another_store(engine: str, stores: Path, tmp_path: Path) -> None:
    memory = Curated(store=str(stores), engine=engine)  # type: ignore[arg-type]
    before = memory.identity()
    place = tmp_path / "store"
    opened(memory, scope("conv-1"), place)
    (stores / "conv-1" / "curate-log.jsonl").write_text("{}\n", encoding="utf-8")
    assert memory.identity() == before
    (stores / "conv-2" / "people" / "ann.md").write_text("# Ann\n", encoding="utf-8")
    assert memory.identity() != before
    memory.open(ref(place))
    (stores / "conv-1" / "people" / "ann.md").write_text("# Ann\n", encoding="utf-8")
    with pytest.raises(EnvironmentProblem, match="have changed since; delete it and build again"):
        memory.open(ref(place))


def test_equal_pages_make_equal_bytes_and_reading_changes_none(engine: str, stores: Path, tmp_path: Path) -> None:
    memory = Curated(store=str(stores), engine=engine)  # type: ignore[arg-type]
    first = opened(memory, scope("conv-1"), tmp_path / "one")
    opened(memory, scope("conv-1"), tmp_path / "two")
    first.retrieve(ask("harbour"))
    assert digest_folder(tmp_path / "one") == digest_folder(tmp_path / "two")


@pytest.mark.peer
def test_with_iwe_the_settings_of_the_store_are_taken(
    stores: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_peer("iwe", monkeypatch)
    own = stores / "conv-1" / ".iwe" / "config.toml"
    memory = Curated(store=str(stores))
    before = memory.identity()
    own.write_text(CONFIG + '\n[schemas.hub]\nmatch = "[a-z]*"\n', encoding="utf-8")
    assert memory.identity() != before
    opened(memory, scope("conv-1"), tmp_path / "store")
    copied = tmp_path / "store" / "pages" / ".iwe"
    assert (copied / "config.toml").read_bytes() == own.read_bytes()
    assert (copied / "schemas" / "hub.yaml").is_file()


def test_the_tools_are_those_of_the_engine(stores: Path, tmp_path: Path) -> None:
    for query in (False, True):
        memory = Curated(store=str(stores), engine="markdown", query=query)
        [server] = opened(memory, scope("conv-1"), tmp_path / str(query)).toolset().servers
        assert server.tools == ("find", "retrieve", "search", "tree", "squash", "stats") + ("query",) * query
        assert server.command[-1] == str(tmp_path / str(query) / "pages") and not server.writes


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"store": "nowhere"}, r"There is no folder 'nowhere' of curated pages; give one: --set curated\.store=DIR"),
        ({"engine": "iew"}, "Did you mean 'iwe'"),
        ({"engine": "markdown", "anchors": True}, "Settings inbound and anchors are for engine=iwe"),
        ({"seeds": 0}, "Setting seeds must be a whole number of at least 1"),
    ],
)
def test_a_setting_that_cannot_be_is_said(given: dict[str, Any], says: str, stores: Path) -> None:
    with pytest.raises(UsageError, match=says):
        Curated(**{"store": str(stores), **given})


def test_the_name_of_a_scope_does_not_lead_out_of_the_folder(stores: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("# Outside\n", encoding="utf-8")
    for name in ("..", ".", "", str(tmp_path)):
        with pytest.raises(CannotMeasure, match="has no folder"):
            Curated(store=str(stores), engine="markdown").build(scope(name), tmp_path, BuildContext())
