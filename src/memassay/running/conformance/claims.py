"""Whether what a passage says of itself is true: its sources exist, its words stand there, its place is right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memassay.core.types import Corpus, Document, Passage, Unit
from memassay.core.wording import normalise, stands

_EDGE_WORDS = 3
# A line with fewer characters of its own is a head ("Date: ", a file's ending), not a quotation.
_FRAME_CHARS = 20


def shows(passages: Iterable[Passage], text: str) -> bool:
    """Whether the words of ``text`` stand in one of the passages, by the rule that scores a run."""
    wanted = normalise(text)
    return any(stands(wanted, normalise(passage.text)) for passage in passages)


def found(document: Document, passages: Sequence[Passage]) -> bool:
    """Whether a passage cites the document or one of its units, or shows some of its words."""
    units = {unit.id for unit in document.units}
    if any(document.id in passage.doc_ids or units & set(passage.unit_ids) for passage in passages):
        return True
    return any(shows(passages, piece) for piece in _pieces(document))


class Claims:
    """The claims that are true of a corpus."""

    def __init__(self, corpus: Corpus) -> None:
        self._documents = {document.id: document for document in corpus.documents}
        self._units: dict[str, tuple[Document, Unit]] = {
            unit.id: (document, unit) for document in corpus.documents for unit in document.units
        }
        self._texts = {document.id: normalise(document.text) for document in corpus.documents}

    def unknown(self, passage: Passage) -> str | None:
        """The first id of a passage that the corpus does not have, in words, or None."""
        for name in passage.doc_ids:
            if name not in self._documents:
                return f"doc_ids names {short(name)}, which is no document of the corpus"
        for name in passage.unit_ids:
            if name not in self._units:
                return f"unit_ids names {short(name)}, which is no unit of the corpus"
            owner = self._units[name][0].id
            if passage.doc_ids and owner not in passage.doc_ids:
                return f"unit_ids names {short(name)}, which is in {short(owner)} and not in doc_ids"
        return None

    def misquoted(self, passage: Passage) -> str | None:
        """What a verbatim passage says that its sources, as far as they are known, do not, in words, or None."""
        if passage.kind != "verbatim":
            return None
        lines = [line for line in map(normalise, passage.text.splitlines()) if line]
        whole = " ".join(lines)
        for name in filter(self._units.__contains__, passage.unit_ids):
            said = normalise(self._units[name][1].text)
            cuts = (line.strip(" .…") for line in lines if len(line) >= _FRAME_CHARS)
            if said not in whole and not any(cut in said for cut in cuts):
                return f"a verbatim passage claims {short(name)}, whose words it lacks: {short(passage.text, 120)}"
        named = [self._documents[name] for name in passage.doc_ids if name in self._documents]
        sources = named or list(self._documents.values())
        if not any(self._quotes(lines, document) for document in sources):
            return f"a verbatim passage has words that stand in no document it names: {short(passage.text, 120)}"
        return self._misplaced(passage, named[0], whole) if len(named) == 1 else None

    def _quotes(self, lines: Sequence[str], document: Document) -> bool:
        """Whether the longest line stands in the document, leaving out its title, id and date wherever they stand."""
        frame = [normalise(part) for part in (document.title, document.id, document.date or "") if part]
        longest = max((_without(line, frame) for line in lines), key=len, default="")
        if len(longest) < _FRAME_CHARS or longest in self._texts[document.id]:
            return True
        # A speaker or a sign may stand before the words.
        return any(piece in longest for piece in map(normalise, _pieces(document)) if piece)

    def _misplaced(self, passage: Passage, document: Document, shown: str) -> str | None:
        if passage.span is None:
            return None
        start, end = passage.span
        text = document.text
        there = text[start:end].split() if 0 <= start < end <= len(text) else []
        edges = (there[:_EDGE_WORDS], there[-_EDGE_WORDS:])
        if there and all(stands(normalise(" ".join(words)), shown) for words in edges):
            return None
        return (
            f"span ({start}, {end}) of {short(document.id)} holds {short(text[max(start, 0) : max(end, 0)])}, "
            f"not the passage {short(passage.text)}; a span counts characters of Document.text"
        )


def short(text: str, chars: int = 60) -> str:
    """A text in quotation marks, its end left out if it is long."""
    return repr(text if len(text) <= chars else f"{text[:chars]}…")


def _without(line: str, frame: Sequence[str]) -> str:
    for part in frame:
        line = line.replace(part, " ")
    return line.strip(" .…:")


def _pieces(document: Document) -> list[str]:
    """What a document is made of: the words of its units, or else its lines."""
    pieces = [unit.text for unit in document.units] or document.text.splitlines()
    return [piece for piece in pieces if piece.strip()]
