"""A sound memory, and memories that differ from it in exactly one defect each."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import tempfile
import time
import unicodedata
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from memassay.core.contracts import BuildContext
from memassay.core.errors import CannotMeasure, MissingExtra
from memassay.core.types import Corpus, Document, Passage, Query, StoreRef

Row = list[Any]  # document, unit, text, start, end


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", unicodedata.normalize("NFC", text).lower()))


class Sound:
    """Ranks units by shared words."""

    def __init__(self, *, top_k: int = 500) -> None:
        self.top_k = top_k

    def build(self, corpus: Corpus, place: Path, context: BuildContext) -> Any:
        rows = [row for document in self.kept(corpus) for row in self.rows(document)]
        (place / "rows.json").write_text(json.dumps(rows), encoding="utf-8")

    def kept(self, corpus: Corpus) -> list[Document]:
        return list(corpus.documents)

    def rows(self, document: Document) -> list[Row]:
        if document.units:
            return [[document.id, unit.id, unit.text, *(unit.span or (0, 0))] for unit in document.units]
        found = re.finditer(r"\S(?:[^\n]|\n(?!\n))*", document.text)
        return [[document.id, None, piece.group(), *piece.span()] for piece in found]

    def open(self, ref: StoreRef) -> Store:
        return Store(self, self.loaded(ref), Path(ref.location))

    def loaded(self, ref: StoreRef) -> list[Row]:
        return json.loads((Path(ref.location) / "rows.json").read_text("utf-8"))  # type: ignore[no-any-return]

    def passages(self, rows: list[Row], query: Query) -> list[Passage]:
        found, room = [], 8 * query.budget_tokens
        for row in rows[: self.top_k][: query.limit]:
            if room > 0:
                found.append(self.passage(row))
                room -= len(row[2])
        return found

    def passage(self, row: Row) -> Passage:
        doc, unit, text, start, end = row
        return Passage(text=text, doc_ids=(doc,), unit_ids=(unit,) if unit else (), span=(start, end))


class Store:
    def __init__(self, memory: Any, rows: list[Row], place: Path) -> None:
        self.memory, self.rows, self.place = memory, rows, place
        self.words = [words(row[2]) for row in rows]

    def retrieve(self, query: Query) -> list[Passage]:
        return self.memory.passages(self.ranked(words(query.text)), query)  # type: ignore[no-any-return]

    def ranked(self, asked: set[str]) -> list[Row]:
        scores = [len(asked & found) for found in self.words]
        return [self.rows[n] for n in sorted(range(len(scores)), key=lambda n: (-scores[n], n)) if scores[n]]


class Wraps(Sound):
    """Opens a store of its own kind."""

    store: type[Store]

    def open(self, ref: StoreRef) -> Store:
        return self.store(self, self.loaded(ref), Path(ref.location))


# -- settings ------------------------------------------------------------------------------------------------------


class AnySetting(Sound):
    def __init__(self, *, top_k: int = 500, **more: Any) -> None:
        super().__init__(top_k=top_k)


class UnsayableSetting(Sound):
    def __init__(self, *, top_k: int = 500, weight: Any = float("nan")) -> None:
        super().__init__(top_k=top_k)


# -- documents -----------------------------------------------------------------------------------------------------


class LosesEverySeventh(Sound):
    def kept(self, corpus: Corpus) -> list[Document]:
        return [document for number, document in enumerate(corpus.documents) if number % 7 != 6]


class ReadsTwoHundred(Sound):
    def kept(self, corpus: Corpus) -> list[Document]:
        return list(corpus.documents[:200])


# -- sources -------------------------------------------------------------------------------------------------------


class InventsUnits(Sound):
    def passage(self, row: Row) -> Passage:
        return super().passage(row).model_copy(update={"unit_ids": (f"{row[1]}-{row[3]}",)})


class Paraphrases(Sound):
    def rows(self, document: Document) -> list[Row]:
        return [
            [doc, unit, re.sub(r"\b(?:[Tt]he|a|of|on|was|it|by) ", "", text), *span]
            for doc, unit, text, *span in super().rows(document)
        ]


# -- budget --------------------------------------------------------------------------------------------------------


class IgnoresBudget(Sound):
    def passages(self, rows: list[Row], query: Query) -> list[Passage]:
        return [self.passage(row) for row in rows[: query.limit]]


class IgnoresLimit(Sound):
    def passages(self, rows: list[Row], query: Query) -> list[Passage]:
        return super().passages(rows, query.model_copy(update={"limit": None}))


# -- deterministic -------------------------------------------------------------------------------------------------


class SetOrder(Wraps):
    class store(Store):
        def ranked(self, asked: set[str]) -> list[Row]:
            scores = {(row[0], n): len(asked & self.words[n]) for n, row in enumerate(self.rows)}
            best = sorted(set(scores), key=lambda place: -scores[place])
            return [self.rows[n] for doc, n in best if scores[doc, n]]


class LearnsFromQuestions(Wraps):
    class store(Store):
        def ranked(self, asked: set[str]) -> list[Row]:
            found = super().ranked(asked)
            self.last = found[:1]
            return found

        def retrieve(self, query: Query) -> list[Passage]:
            before = [self.memory.passage(row) for row in getattr(self, "last", [])]
            return [*super().retrieve(query), *before][: query.limit]


# -- read-only -----------------------------------------------------------------------------------------------------


class WritesWhileReading(Wraps):
    class store(Store):
        def retrieve(self, query: Query) -> list[Passage]:
            (self.place / "cache.json").write_text("[]", encoding="utf-8")
            return super().retrieve(query)


class WritesAtHome(Sound):
    def build(self, corpus: Corpus, place: Path, context: BuildContext) -> Any:
        (Path.home() / ".memory.log").write_text("built", encoding="utf-8")
        super().build(corpus, place, context)


class ChangesCorpus(Sound):
    def build(self, corpus: Corpus, place: Path, context: BuildContext) -> Any:
        super().build(corpus, place, context)
        for document in corpus.documents:
            document.meta["seen"] = True  # type: ignore[index]


# -- unicode -------------------------------------------------------------------------------------------------------


class RaisesOnChinese(Sound):
    def rows(self, document: Document) -> list[Row]:
        if re.search("[\u4e00-\u9fff]", document.text):
            raise KeyError("no glyph for it")
        return super().rows(document)


class CountsBytes(Sound):
    def rows(self, document: Document) -> list[Row]:
        before = [0]
        for letter in document.text:
            before.append(before[-1] + (1 if letter < "\u0400" or "\ud800" <= letter < "\ue000" else 3))
        return [[doc, unit, text, before[start], before[end]] for doc, unit, text, start, end in super().rows(document)]


# -- empty-store, same-names, hostile, big-document, odd-path ------------------------------------------------------


class NeedsDocuments(Sound):
    def build(self, corpus: Corpus, place: Path, context: BuildContext) -> Any:
        max(len(document.text) for document in corpus.documents)
        super().build(corpus, place, context)


class BaseNames(Sound):
    def kept(self, corpus: Corpus) -> list[Document]:
        return list({Path(document.id).name: document for document in corpus.documents}.values())


class QuestionIsAPattern(Wraps):
    class store(Store):
        def retrieve(self, query: Query) -> list[Passage]:
            re.compile(query.text)
            return super().retrieve(query)


class HangsOnBlank(Wraps):
    class store(Store):
        def retrieve(self, query: Query) -> list[Passage]:
            while not query.text.strip():
                time.sleep(0.1)
            return super().retrieve(query)


class DiesOnNul(Sound):
    def rows(self, document: Document) -> list[Row]:
        if "\x00" in document.text:
            print("a string ends here", flush=True)
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().rows(document)


class Recursive(Sound):
    def rows(self, document: Document) -> list[Row]:
        def deeper(left: int) -> int:
            return 0 if left <= 0 else deeper(left - 1000)

        deeper(len(document.text))
        return super().rows(document)


class Quadratic(Sound):
    def rows(self, document: Document) -> list[Row]:
        text, paragraphs = document.text, 0
        while "\n\n" in text:
            paragraphs, text = paragraphs + 1, text.replace("\n\n", "\n", 1)
        return super().rows(document)


class AsciiPath(Sound):
    def build(self, corpus: Corpus, place: Path, context: BuildContext) -> Any:
        super().build(corpus, Path(str(place).encode("ascii").decode()), context)


# -- concurrent-reads ----------------------------------------------------------------------------------------------


class SharesItsQuestion(Wraps):
    class store(Store):
        def ranked(self, asked: set[str]) -> list[Row]:
            self.asked = asked
            time.sleep(0.0005)  # as a memory that reads a file here would let the others go on
            scores = [len(self.asked & found) for found in self.words]
            return [self.rows[n] for n in sorted(range(len(scores)), key=lambda n: (-scores[n], n)) if scores[n]]


# -- reopening -----------------------------------------------------------------------------------------------------


class KeepsInMemory(Sound):
    kept_rows: ClassVar[dict[str, list[Row]]] = {}

    def build(self, corpus: Corpus, place: Path, context: BuildContext) -> Any:
        self.kept_rows[str(place)] = [row for document in corpus.documents for row in self.rows(document)]

    def loaded(self, ref: StoreRef) -> list[Row]:
        return self.kept_rows[ref.location]


class KeepsElsewhere(Sound, ABC):
    """Writes and reads its rows in a folder that is not the store's."""

    @abstractmethod
    def elsewhere(self, place: str) -> Path: ...

    def build(self, corpus: Corpus, place: Path, context: BuildContext) -> Any:
        super().build(corpus, place, context)
        kept, rows = self.elsewhere(str(place)), place / "rows.json"
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(rows.read_text("utf-8"), encoding="utf-8")
        rows.unlink()

    def loaded(self, ref: StoreRef) -> list[Row]:
        return json.loads(self.elsewhere(ref.location).read_text("utf-8"))  # type: ignore[no-any-return]


def stamp(place: str) -> str:
    return f"planted-{hashlib.sha256(place.encode()).hexdigest()[:16]}.json"


class KeepsInCache(KeepsElsewhere):
    def elsewhere(self, place: str) -> Path:
        return Path.home() / ".cache" / "planted" / stamp(place)


class KeepsInTemporary(KeepsElsewhere):
    def elsewhere(self, place: str) -> Path:
        return Path(tempfile.gettempdir(), stamp(place))


class ForgetsWithoutItsCache(KeepsInCache):
    """What it cannot find any more it does without."""

    def loaded(self, ref: StoreRef) -> list[Row]:
        return super().loaded(ref) if self.elsewhere(ref.location).exists() else []


class KeepsInVarTmp(KeepsElsewhere):
    def elsewhere(self, place: str) -> Path:
        return Path("/var/tmp", stamp(place))


class LeavesItsLock(Sound):
    def build(self, corpus: Corpus, place: Path, context: BuildContext) -> Any:
        lock = Path(tempfile.gettempdir()) / "memory.lock"
        lock.open("x").close()
        super().build(corpus, place, context)
        lock.unlink()


class LocksWhileOpen(Wraps):
    class store(Store):
        def __init__(self, memory: Any, rows: list[Row], place: Path) -> None:
            super().__init__(memory, rows, place)
            (place / "lock").open("x").close()

        def close(self) -> None:
            (self.place / "lock").unlink()


# -- not to be measured here ---------------------------------------------------------------------------------------


class NeedsModel(Sound):
    def build(self, corpus: Corpus, place: Path, context: BuildContext) -> Any:
        raise CannotMeasure("it writes with a model and was given none")


class NeedsExtra(Sound):
    def __init__(self) -> None:
        raise MissingExtra("onnxruntime", "hybrid")


class ReturnsWords(Sound):
    def passages(self, rows: list[Row], query: Query) -> Any:
        return ["x"]


class RaisesItsQuestion(Wraps):
    class store(Store):
        def retrieve(self, query: Query) -> list[Passage]:
            raise ValueError(query.text)


class CannotBeMade(Sound):
    def __init__(self) -> None:
        raise ValueError("no")


class HangsAtBirth(Sound):
    def __init__(self) -> None:
        time.sleep(60)


class StartsAProcess(Sound):
    def open(self, ref: StoreRef) -> Store:
        started = subprocess.Popen(["sleep", "60"])
        Path(os.environ["STARTED"]).write_text(str(started.pid), encoding="ascii")
        return super().open(ref)


MUST_SHOW: dict[type[Sound], tuple[str, str]] = {
    LosesEverySeventh: (
        "documents",
        "3 of 24 were not, all of them with units: 'note-06-gramophone', 'note-13-sextant'",
    ),
    ReadsTwoHundred: ("many-documents", "15 of 30 that were asked for were not found: 'parcel-210', 'parcel-224'"),
    InventsUnits: ("sources", "unit_ids names 'n00:1-0', which is no unit of the corpus"),
    Paraphrases: ("sources", "a verbatim passage claims 'n00:1', whose words it lacks: 'lighthouse came"),
    IgnoresBudget: ("budget", r"characters came back for a budget of 250 tokens, \d\d times as much"),
    SetOrder: ("deterministic", "in a second build, in a process with another PYTHONHASHSEED"),
    WritesWhileReading: ("read-only", "'cache.json' in the store changed while it was read"),
    RaisesOnChinese: ("unicode", "KeyError: 'no glyph for it'"),
    NeedsDocuments: ("empty-store", r"ValueError: max\(\)"),
    BaseNames: ("same-names", "'a/notes.md' was lost beside 'b/notes.md', 'a_notes.md', 'A/Notes.md'"),
    SharesItsQuestion: ("concurrent-reads", "asked by 8 threads together"),
    KeepsInMemory: ("reopening", "KeyError"),
    KeepsInCache: ("self-contained", "FileNotFoundError.*, after the home folder and the temporary files were emptied"),
    KeepsInTemporary: ("self-contained", "FileNotFoundError.*, after the home folder"),
    Recursive: ("big-document", "RecursionError"),
}
"""The check that catches each, and what it says that it saw (a pattern)."""

MORE: dict[type[Sound], tuple[str, str]] = {
    AnySetting: ("settings", r"the constructor takes \*\*more"),
    UnsayableSetting: ("settings", "the value of 'weight' cannot be written as JSON"),
    IgnoresLimit: ("budget", r"\d+ passages came back with limit=1"),
    WritesAtHome: ("read-only", "memory.log' was written, outside the store"),
    KeepsInVarTmp: ("read-only", "'/var/tmp/planted-.*' was written, outside the store"),
    ChangesCorpus: ("read-only", r"the corpus was changed by build\(\)"),
    CountsBytes: ("unicode", "a span counts characters of Document.text"),
    QuestionIsAPattern: ("hostile", r"the question '\?!' raised .*nothing to repeat"),
    HangsOnBlank: ("hostile", "no answer after 6 s"),
    DiesOnNul: ("hostile", "its process was ended by SIGSEGV after it printed 'a string ends here'"),
    AsciiPath: ("odd-path", "UnicodeEncodeError"),
    LeavesItsLock: ("reopening", "FileExistsError"),
    ForgetsWithoutItsCache: ("self-contained", r"gave \d+ passages, and 0 after the home folder"),
    LocksWhileOpen: ("reopening", "'lock' in the store changed when a reader was killed"),
    Quadratic: ("big-document", "no answer after 60 s"),
}
