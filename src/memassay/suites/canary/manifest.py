"""What the documents of a corpus say, as far as a claim about them can be checked without a model."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import cached_property

from memassay.core.types import Corpus, Document
from memassay.core.wording import normalise, stands
from memassay.retrieval.passages import date_words, day, unit_line
from memassay.suites.canary.reading import Term, dated, day_of, numbers, plain_lines, word_run

# A shorter piece of a passage must be a whole line of the document: the letters of a short one stand in any text.
LONG_PIECE = 24

_HEADING = re.compile(r"(?m)^#{1,6}\s+(.+)$")
# Words that a memory writes beside what it names a document by, file endings among them.
_FIELDS = frozenset(
    ["date", "doc", "document", "file", "html", "id", "jsonl", "md", "page", "path", "pdf", "section", "source",
     "title", "txt"]
)  # fmt: skip
_DIGEST = re.compile(r"[0-9a-f]{8}")
_NAME_CHARS = 80  # of an id, in the file names that memories make of ids
_EDGES = ".\ufffd "  # what a border of a chunk leaves: an ellipsis, half a character
_ELLIPSIS = re.compile(r"\.{3,}")


class Told:
    """One document, read for checking. Everything is made when it is first needed.

    Attributes:
        document: as the corpus has it.
        aliases: other names of it: its title, what stands in front of a colon there (``ADR-12: Use one queue``), and
            what ``meta["aliases"]`` lists.
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        more = document.meta.get("aliases")
        listed = more if isinstance(more, list) else [more]
        title, colon, _ = document.title.partition(": ")
        names = [document.title, title if colon else "", *(name for name in listed if isinstance(name, str))]
        self.aliases = tuple(dict.fromkeys(name for name in names if name.strip()))

    def holds(self, pieces: Sequence[str], *, cut: bool = False) -> bool:
        """Whether the lines of a passage are words of the document, one after another or each for itself.

        Args:
            pieces: as of ``plain_lines``.
            cut: the last one was cut, and may be short.
        """
        body = list(pieces)
        while body and self.names(body[0]):
            body.pop(0)
        return (
            not body
            or self._run(" ".join(body))
            or all(self.line(piece, cut=cut and at == len(body) - 1) for at, piece in enumerate(body))
        )

    def copied(self, text: str) -> bool:
        """Whether a text, less first lines that only name the document, is a stretch of it with all its marks.

        So a chunk is, wherever it was cut: inside of a word, or of the target of a link, which is none of the words.
        """
        lines = text.splitlines()
        while lines and all(map(self.names, plain_lines(lines[0]))):
            lines.pop(0)
        run = normalise("\n".join(lines)).strip(_EDGES)
        return run in self._marked if len(run) >= LONG_PIECE else bool(run) and self._marked.endswith(run)

    def line(self, piece: str, *, cut: bool = False) -> bool:
        """Whether one line of a passage is of the document: its words, or what it is named by."""
        if piece in self._lines or (len(piece) >= LONG_PIECE and self._run(piece)):
            return True
        if (cut and piece in self.text) or self.names(piece):
            return True
        parts = [part.strip() for part in _ELLIPSIS.split(piece) if part.strip()]
        return len(parts) > 1 and all(len(part) >= LONG_PIECE and part in self.text for part in parts)

    def _run(self, words: str) -> bool:
        """Whether the words stand in the text as they are; a long run may begin and end inside of a word."""
        bare = words.strip(_EDGES)
        return bare in self.text if len(bare) >= LONG_PIECE else stands(words, self.text)

    def names(self, line: str) -> bool:
        """Whether a line only says which document and which part of it this is: title, id, date, headings."""
        left = word_run(line)
        for phrase in self._phrases:
            while phrase in left:
                left = left.replace(phrase, " ", 1)
        return all(word in _FIELDS or _DIGEST.fullmatch(word) for word in left.split())

    def knows(self, term: Term) -> bool:
        """Whether a term stands in the document, or is part of what it is named by."""
        if term.kind == "date":
            return term.key in self._days
        if term.kind == "number":
            return term.key in self._numbers
        return term.key in self.words

    def dates(self, day: date) -> bool:
        """Whether a day stands in the document, or is its own."""
        return day.isoformat() in self._days

    @cached_property
    def text(self) -> str:
        """Its words, normalised; the lines of its units follow on lines of their own."""
        told = [" ".join(plain_lines(self.document.text)), *self._units]
        return "\n".join(told)

    @cached_property
    def _marked(self) -> str:
        """Its text with the marks of Markdown, normalised, without what a border of a chunk leaves at its end."""
        return normalise(self.document.text).rstrip(_EDGES)

    @cached_property
    def words(self) -> str:
        """Every word of it, its names included, for words that follow each other."""
        return "".join(map(word_run, (self.text, self.document.id, *self.aliases, self.document.date or "")))

    @cached_property
    def _units(self) -> tuple[str, ...]:
        return tuple(line for unit in self.document.units for line in plain_lines(unit_line(unit)))

    @cached_property
    def _lines(self) -> frozenset[str]:
        said = (line for unit in self.document.units for line in plain_lines(unit.text))
        return frozenset([*plain_lines(self.document.text), *self._units, *said])

    @cached_property
    def _phrases(self) -> tuple[str, ...]:
        """What it is named by, as runs of words, longest first."""
        name, when = self.document.id, self.document.date or ""
        plain_name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
        dates = (when, day(when), date_words(when)) if when else ()
        headings = _HEADING.findall(self.document.text)
        said = (*self.aliases, name, name[:_NAME_CHARS], plain_name[:_NAME_CHARS], *headings, *dates)
        lined = (*said, *(line for text in said for line in plain_lines(text)))
        return tuple(sorted({run for run in map(word_run, lined) if run}, key=lambda run: (-len(run), run)))

    @cached_property
    def _numbers(self) -> frozenset[str]:
        return numbers(f"{self.document.text}\n{self.words}")

    @cached_property
    def _days(self) -> frozenset[str]:
        own = day_of(self.document.date or "")
        listed = [found.isoformat() for _, _, found in dated(self.document.text)]
        return frozenset([*listed, *([own.isoformat()] if own else [])])


class Manifest:
    """The documents of one corpus by id.

    Args:
        documents: in their order.
    """

    def __init__(self, documents: Iterable[Document]) -> None:
        self.told: Mapping[str, Told] = {document.id: Told(document) for document in documents}
        self._quoted: dict[tuple[str, tuple[str, ...], bool], bool] = {}

    @classmethod
    def of(cls, corpus: Corpus) -> Manifest:
        """The manifest of a corpus."""
        return cls(corpus.documents)

    def named(self, ids: Iterable[str]) -> list[Told]:
        """The documents with these ids that there are, each once."""
        return [self.told[name] for name in dict.fromkeys(ids) if name in self.told]

    def quotes(self, text: str, ids: Iterable[str] | None = None, *, cut: bool = False) -> bool:
        """Whether a text is copied from documents, from the words of one or line by line from several.

        Blanks, case, Unicode forms and the marks of Markdown do not count, the text may begin and end inside of a word,
        and lines that only name a document are passed over. What stands between two copied lines may be left out.

        Args:
            text: of a passage.
            ids: of the documents; None takes all of them.
            cut: the text was cut, so that its last line may be short.
        """
        key = (text, tuple(self.told if ids is None else dict.fromkeys(ids)), cut)
        if key not in self._quoted:
            told, pieces = self.named(key[1]), plain_lines(text)
            self._quoted[key] = any(one.copied(text) or one.holds(pieces, cut=cut) for one in told) or (
                len(told) > 1
                and all(any(one.line(piece, cut=cut and piece == pieces[-1]) for one in told) for piece in pieces)
            )
        return self._quoted[key]

    @cached_property
    def entities(self) -> Mapping[str, str]:
        """Names (normalised) of documents, by which each is known alone, and the ids that they stand for."""
        owners: dict[str, set[str]] = {}
        for name, told in self.told.items():
            for alias in (name, *told.aliases):
                owners.setdefault(normalise(alias), set()).add(name)
        return {alias: next(iter(ids)) for alias, ids in owners.items() if len(ids) == 1 and alias}

    def __iter__(self) -> Iterator[Told]:
        return iter(self.told.values())
