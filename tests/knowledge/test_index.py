from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenes import assert_equal, keys, page_text

from memassay.core.digest import digest_folder
from memassay.core.errors import EnvironmentProblem
from memassay.knowledge import index as index_module
from memassay.knowledge.catalog import FILE
from memassay.knowledge.entries import Settings
from memassay.knowledge.index import Incoming, Index
from memassay.knowledge.links import Resolver
from memassay.knowledge.pages import parse
from memassay.knowledge.passages import cut, searched
from memassay.retrieval.bm25 import Bm25Index
from memassay.retrieval.text import Analyzer

SETTINGS = Settings(tokens="chars4", max_chars=120)


def put(
    index: Index, pages: dict[str, str], changed: list[str] | None = None, removed: list[str] | None = None
) -> None:
    def read(key: str) -> Incoming | None:
        return Incoming(pages[key]) if key in pages else None

    index.update(sorted(pages) if changed is None else changed, read, removed or [])


def built(pages: dict[str, str], given: Settings = SETTINGS) -> Index:
    index = Index.private(given)
    put(index, pages)
    return index


@pytest.fixture
def pages() -> dict[str, str]:
    draw = random.Random(3)
    return {key: page_text(draw) for at, key in enumerate(keys()) if at % 4}


@pytest.fixture
def small_bases(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new base after a few edits, pages committed three at a time."""
    monkeypatch.setattr(index_module, "_LEAST_FRESH", 7)
    monkeypatch.setattr(index_module, "_BATCH", 3)


# -- what it answers -----------------------------------------------------------------------------------------------


def test_scores_are_those_of_the_engine(pages: dict[str, str]) -> None:
    analyzer = Analyzer()
    terms = []
    for key in sorted(pages):
        page = parse(key, pages[key])
        title = analyzer.terms(page.title if page.title is not None else key.rpartition("/")[2])
        terms += [title * 2 + analyzer.terms(text) for text in searched(page, cut(page, SETTINGS.max_chars))]
    engine = Bm25Index.build(terms)
    snapshot = built(pages).snapshot
    assert snapshot.passages == len(terms) > len(pages)
    for query in (["ada"], ["engin", "river", "ada"], ["poem", "poem", "stone"], ["nowhere"], []):
        found = snapshot.scores(query)
        assert found.dtype == np.float32
        assert found == pytest.approx(engine.scores(query), rel=1e-5)
        distinct = list(dict.fromkeys(query))
        by_term = snapshot.weights(distinct, np.arange(snapshot.passages))
        assert by_term.sum(axis=0) == pytest.approx(snapshot.scores(distinct), rel=1e-5)
        with_all = [at for at in range(len(terms)) if set(query) <= set(terms[at])]
        assert snapshot.holding(query).tolist() == with_all
    assert snapshot.df(["ada", "nowhere"]).tolist() == [sum("ada" in found for found in terms), 0]
    assert snapshot.idf(["nowhere"]).tolist() == [0.0]


def test_links_are_those_of_the_pages(pages: dict[str, str]) -> None:
    snapshot = built(pages).snapshot
    names = snapshot.keys()
    resolver = Resolver(pages)
    out = {
        key: {(aim, link.kind) for link in parse(key, pages[key]).links if (aim := resolver.resolve(key, link))}
        for key in names
    }
    kinds = ("inclusion", "reference")
    for page, key in enumerate(names):
        assert {(target, kinds[kind]) for target, kind in snapshot.targets(page)} == out[key]
        edges = snapshot.out_edges([page])
        assert {(names[to], kinds[kind]) for to, kind in zip(edges.pages, edges.kinds, strict=True)} == {
            (target, kind) for target, kind in out[key] if target in pages and target != key
        }
        back = snapshot.in_edges([page], kind=1)
        assert [names[at] for at in back.pages] == [
            source for source in names if source != key and (key, "reference") in out[source]
        ]
    missing = sorted({target for targets in out.values() for target, _ in targets} - set(pages))
    assert missing
    for target in missing:
        assert snapshot.find(target) == -1
        assert {source for source, _ in snapshot.sources(target)} == {
            key for key in names if target in {aim for aim, _ in out[key]}
        }
    at, there = snapshot.neighbours(np.arange(snapshot.passages))
    pairs = set(zip(at.tolist(), there.tolist(), strict=True))
    assert pairs and all((b, a) in pairs for a, b in pairs)
    linked = {(names[snapshot.page_of[a]], names[snapshot.page_of[b]]) for a, b in pairs}
    assert linked == {
        pair for key in names for aim, _ in out[key] if aim in pages and aim != key for pair in ((key, aim), (aim, key))
    }


def test_scores_of_pages_names_and_terms() -> None:
    index = built({"a": "# Kiss (film)\n\nred red blue", "b/kiss": "red", "c": "# Long\n\n" + "green tree. " * 40})
    snapshot = index.snapshot
    scores = snapshot.scores(["red", "green"])
    c = slice(int(snapshot.starts[2]), int(snapshot.starts[3]))
    assert c.stop - c.start > 1
    assert snapshot.page_scores(scores, "max").tolist()[2] == scores[c].max()
    assert snapshot.page_scores(scores, "sum").tolist()[2] == pytest.approx(scores[c].sum())
    assert snapshot.named("kiss").tolist() == [0, 1] and snapshot.named("kiss film").tolist() == [0]
    assert not len(snapshot.named("green tree")) and len(snapshot.named("long"))
    ids, counts = snapshot.terms_of(0)
    held = dict(zip(ids.tolist(), counts.tolist(), strict=True))
    red, kiss, nothing = snapshot.term_ids(["red", "kiss", "nothing"]).tolist()
    assert held[red] == 2 and held[kiss] == 2 and nothing == -1
    assert snapshot.title_terms(0).tolist() == snapshot.term_ids(["kiss", "film"]).tolist()
    assert [snapshot.title(page) for page in range(3)] == ["Kiss (film)", "b/kiss", "Long"]


def test_an_empty_index() -> None:
    snapshot = Index.private(SETTINGS).snapshot
    assert (snapshot.pages, snapshot.passages, snapshot.find("a")) == (0, 0, -1)
    assert snapshot.scores(["a"]).tolist() == [] and snapshot.page_scores(snapshot.scores([])).tolist() == []
    assert snapshot.out_edges([]).pages.tolist() == [] and snapshot.neighbours(np.arange(0))[0].tolist() == []
    assert snapshot.keys() == [] and snapshot.holding(["a"]).tolist() == []


# -- following edits -----------------------------------------------------------------------------------------------


def edited(draw: random.Random, pages: dict[str, str]) -> tuple[list[str], list[str]]:
    """Change some pages; the keys that changed and those that are gone."""
    some = draw.sample(keys(), draw.choice((1, 1, 1, 2, 8)))
    gone = [key for key in some if key in pages and draw.random() < 0.4]
    for key in gone:
        del pages[key]
    changed = [key for key in some if key not in gone]
    for key in changed:
        pages[key] = page_text(draw)
    return sorted(changed), gone


@pytest.mark.parametrize("edits", [60, pytest.param(200, marks=pytest.mark.slow)])
def test_random_edits_equal_a_rebuild(tmp_path: Path, small_bases: None, edits: int) -> None:
    draw = random.Random(edits)
    pages: dict[str, str] = {}
    folder = tmp_path / "index-0"
    index = Index.write(folder, SETTINGS)
    for step in range(edits):
        changed, gone = edited(draw, pages)
        put(index, pages, changed, gone)
        if step % 9 == 4:  # the process dies here: what is on disk now is all there is
            crashed = tmp_path / f"index-{step}"
            shutil.copytree(folder, crashed)
            index.close()
            folder, index = crashed, Index.write(crashed, SETTINGS)
        if step % 20 == 19:
            assert_equal(index.snapshot, built(pages).snapshot)
            reader = Index.read(folder, SETTINGS)
            assert reader is not None
            assert_equal(reader.snapshot, index.snapshot)
            reader.close()
    assert index.snapshot.pages == len(pages)
    index.compact()
    assert_equal(index.snapshot, built(pages).snapshot)
    index.close()
    assert len(list(folder.glob("base-*.arrays"))) == 2


@given(st.randoms(use_true_random=False))
@settings(max_examples=12)
def test_any_short_history_equals_a_rebuild(draw: random.Random) -> None:
    pages: dict[str, str] = {}
    index = Index.private(SETTINGS)
    for _ in range(draw.randint(1, 6)):
        put(index, pages, *edited(draw, pages))
        if draw.random() < 0.2:
            index.compact()
    assert_equal(index.snapshot, built(pages).snapshot)


def test_a_new_page_takes_wiki_links_over(small_bases: None) -> None:
    pages = {"a": "[[ada]] and [[deep/ada]]", "x/y/deep/ada": "first", "b": "see [[ada]]"}
    index = built(pages)
    assert index.snapshot.targets(0) == [("x/y/deep/ada", 1)]
    pages["ada"] = "nearer to the root"
    put(index, pages, ["ada"])
    assert index.snapshot.targets(0) == [("ada", 1), ("x/y/deep/ada", 1)]
    put(index, pages, [], ["ada", "x/y/deep/ada"])
    assert index.snapshot.targets(0) == [("ada", 1), ("deep/ada", 1)]
    assert index.snapshot.sources("ada") == [("a", 1), ("b", 1)]


def test_a_page_that_is_gone_when_it_is_read(small_bases: None) -> None:
    index = built({"a": "[[ada]]"})
    names = ["p/ada", "q1", "q2", "q3", "q4"]
    index.update(names, lambda key: None if key == "p/ada" else Incoming("[[ada]]"))
    assert index.snapshot.keys() == ["a", *names[1:]]
    assert index.snapshot.targets(0) == [("ada", 0)] == index.snapshot.targets(1)


def test_an_error_in_the_middle_changes_nothing() -> None:
    index = built({"a": "old words", "b": "[[a]]"})
    before = index.snapshot

    def read(key: str) -> Incoming:
        if key == "c":
            raise OSError("gone")
        return Incoming("new words")

    with pytest.raises(OSError, match="gone"):
        index.update(["a", "c"], read)
    assert_equal(index.snapshot, before)
    put(index, {"a": "new words", "c": "third"}, ["a", "c"])
    assert_equal(index.snapshot, built({"a": "new words", "b": "[[a]]", "c": "third"}).snapshot)


def test_a_process_that_dies_between_batches(tmp_path: Path, small_bases: None) -> None:
    pages = {"a": "[[zoo]]", "m/zoo": "far", "n1": "x", "n2": "x", "n3": "x", "zoo": "near"}
    index = Index.write(tmp_path / "index", SETTINGS)

    def dies(key: str) -> Incoming:
        if key == "zoo":
            raise KeyboardInterrupt
        return Incoming(pages[key])

    with pytest.raises(KeyboardInterrupt):
        index.update(sorted(pages), dies)
    assert index.snapshot.keys() == ["a", "m/zoo", "n1"]
    index.close()
    del pages["zoo"]
    again = Index.write(tmp_path / "index", SETTINGS)
    put(again, pages, ["n2", "n3"])
    assert_equal(again.snapshot, built(pages).snapshot)
    again.close()


def test_an_old_snapshot_goes_on(pages: dict[str, str], small_bases: None) -> None:
    index = built(pages)
    old, copy = index.snapshot, built(pages).snapshot
    changed = {key: "entirely new" for key in pages}
    put(index, changed, sorted(changed)[:9])
    put(index, changed, [], sorted(changed)[9:12])
    assert_equal(old, copy)


# -- on disk -------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, pages: dict[str, str]) -> Path:
    with_base = Index.write(tmp_path / "index", SETTINGS)
    put(with_base, pages)
    with_base.compact()
    put(with_base, pages | {"fresh": "fresh words"}, ["fresh"])
    with_base.close()
    return tmp_path / "index"


def test_reading_changes_no_byte(folder: Path, pages: dict[str, str]) -> None:
    before = digest_folder(folder)
    index = Index.read(folder, SETTINGS)
    assert index is not None and not index.writable and index.shared
    assert_equal(index.snapshot, built(pages | {"fresh": "fresh words"}).snapshot)
    assert not index.refresh()
    assert digest_folder(folder) == before
    index.close()
    assert digest_folder(folder) == before


def test_a_reader_follows_a_writer_that_comes_and_goes(folder: Path, small_bases: None) -> None:
    reader = Index.read(folder, SETTINGS)
    assert reader is not None
    old = reader.snapshot
    for round in range(3):
        writer = Index.write(folder, SETTINGS)
        for step in range(12):
            put(writer, {f"new{step}": f"words of round {round}"}, [f"new{step}"])
            assert reader.refresh() and not reader.refresh()
            assert_equal(reader.snapshot, writer.snapshot)
        writer.close()
        new = reader.snapshot.find("new3")
        assert reader.snapshot.stored(new).text == f"words of round {round}"
    assert old.keys() != reader.snapshot.keys()
    reader.close()


def test_one_writer(folder: Path) -> None:
    writer = Index.write(folder, SETTINGS)
    with pytest.raises(
        EnvironmentProblem, match="open for writing; end it first, or open the store read-only"
    ) as found:
        Index.write(folder, SETTINGS)
    assert "\n" not in str(found.value)
    writer.close()
    Index.write(folder, SETTINGS).close()


@pytest.mark.parametrize("damage", ["no base", "cut base", "base of garbage", "garbage", "cut catalog", "no catalog"])
def test_what_is_damaged_is_made_again(folder: Path, pages: dict[str, str], damage: str) -> None:
    base = max(folder.glob("base-*.arrays"))
    if damage == "no base":
        base.unlink()
    elif damage == "cut base":
        base.write_bytes(base.read_bytes()[:-200])
    elif damage == "base of garbage":
        base.write_bytes(b"{}\n" * 99)
    elif damage == "no catalog":
        (folder / FILE).unlink()
    else:
        data = (folder / FILE).read_bytes()
        (folder / FILE).write_bytes(b"garbage" * 999 if damage == "garbage" else data[: len(data) // 3])
    kept = pages | {"fresh": "fresh words"}
    reader = Index.read(folder, SETTINGS)
    if damage in ("garbage", "cut catalog", "no catalog"):
        assert reader is None
    else:
        assert reader is not None
        assert_equal(reader.snapshot, built(kept).snapshot)
        reader.close()
    writer = Index.write(folder, SETTINGS)
    put(writer, kept)
    assert_equal(writer.snapshot, built(kept).snapshot)
    writer.close()
    again = Index.read(folder, SETTINGS)
    assert again is not None
    assert_equal(again.snapshot, built(kept).snapshot)
    again.close()


def test_other_settings_make_another_index(folder: Path, pages: dict[str, str]) -> None:
    other = Settings(tokens="chars4", max_chars=120, title_weight=5)
    assert Index.read(folder, other) is None
    writer = Index.write(folder, other)
    assert writer.snapshot.pages == 0
    put(writer, pages)
    assert_equal(writer.snapshot, built(pages, other).snapshot)
    writer.close()
    assert Index.read(folder, SETTINGS) is None


def test_a_copy_of_its_own(folder: Path, pages: dict[str, str]) -> None:
    before = digest_folder(folder)
    index = Index.read(folder, SETTINGS)
    assert index is not None
    index.separate()
    assert index.writable and not index.shared
    pages |= {"fresh": "other words", "more": "[[fresh]]"}
    put(index, pages, ["fresh", "more"])
    assert_equal(index.snapshot, built(pages).snapshot)
    index.close()
    assert digest_folder(folder) == before


WRITER = """
import random
import sys
from pathlib import Path
from memassay.knowledge import index as index_module
from memassay.knowledge.entries import Settings
from memassay.knowledge.index import Incoming, Index
from scenes import keys, page_text
index_module._LEAST_FRESH, index_module._BATCH = 7, 3
index = Index.write(Path(sys.argv[1]), Settings(tokens="chars4", max_chars=120))
draw = random.Random(int(sys.argv[2]))
print("ready", flush=True)
while True:
    changed = sorted(draw.sample(keys(), draw.choice((1, 2, 8))))
    gone = [key for key in changed if draw.random() < 0.3]
    index.update([key for key in changed if key not in gone], lambda key: Incoming(page_text(draw)), gone)
"""


@pytest.mark.slow
def test_a_writer_that_is_killed_at_any_moment(tmp_path: Path) -> None:
    draw = random.Random(5)
    folder = tmp_path / "index"
    here = str(Path(__file__).parent)
    for kill in range(20):
        child = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder), str(kill)],
            stdout=subprocess.PIPE,
            text=True,
            env={"PYTHONPATH": here, "PATH": ""},
        )
        with child:
            assert child.stdout is not None and child.stdout.readline() == "ready\n"
            time.sleep(draw.random())
            child.kill()
        index = Index.write(folder, SETTINGS)
        snapshot = index.snapshot
        kept = {key: snapshot.stored(page).text for page, key in enumerate(snapshot.keys())}
        # Whatever the last edit left undone is done by the next one, and then nothing tells the history.
        put(index, kept, sorted(kept)[:1])
        assert_equal(index.snapshot, built(kept).snapshot)
        index.close()


# -- concurrency ---------------------------------------------------------------------------------------------------

READER = """
import sys
from pathlib import Path
from memassay.knowledge.entries import Settings
from memassay.knowledge.index import Index
index = Index.read(Path(sys.argv[1]), Settings(tokens="chars4", max_chars=120))
print("ready", flush=True)
seen = set()
for line in sys.stdin:
    index.refresh()
    snapshot = index.snapshot
    (passage,) = snapshot.holding(["counter"]).tolist()
    number = snapshot.text(passage).split()[1]
    assert snapshot.scores([number])[passage] > 0, number
    seen.add(number)
    print(number, flush=True)
"""


def test_processes_read_while_one_writes(folder: Path, small_bases: None) -> None:
    writer = Index.write(folder, SETTINGS)
    put(writer, {"counter": "counter n0"}, ["counter"])
    child = subprocess.Popen(
        [sys.executable, "-c", READER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with child:
        assert child.stdin is not None and child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        for step in range(40):
            put(writer, {"counter": f"counter n{step}"}, ["counter"])
            child.stdin.write("\n")
            child.stdin.flush()
            assert child.stdout.readline().strip() == f"n{step}"
        child.stdin.close()
    assert child.returncode == 0
    writer.close()


def test_threads_read_while_one_writes(small_bases: None) -> None:
    index = built({f"p{at}": "counter n0" for at in range(3)})

    def read() -> bool:
        seen: set[str] = set()
        while len(seen) < 6:
            snapshot = index.snapshot
            texts = {snapshot.text(passage) for passage in range(snapshot.passages)}
            assert len(texts) == 1, texts
            (number,) = {text.split()[1] for text in texts}
            assert (snapshot.scores([number]) > 0).all()
            seen.add(number)
        return True

    with ThreadPoolExecutor(3) as pool:
        reading = [pool.submit(read) for _ in range(3)]
        step = 0
        while not all(done.done() for done in reading):
            step += 1
            put(index, {key: f"counter n{step}" for key in ("p0", "p1", "p2")})
        assert all(done.result() for done in reading)
