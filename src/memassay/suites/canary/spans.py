"""Words of a user's documents that a question can be written about, picked by simple signs, with no model.

The signs are those of English: a number, a date, a word of deciding or of replacing.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import unquote

from memassay.core.types import Document
from memassay.core.wording import find, normalise
from memassay.suites.canary.families import CURRENT, HANDOFF, SUPERSESSION, UPDATE
from memassay.suites.canary.fixture import Atom

_SHORTEST, _LONGEST = 25, 280  # characters of a sentence that says something and can be quoted
_NAMESAKES = (2, 4)  # of more documents the heading is a form, and no name
_SOURCES = (2, 6)
_WORD = re.compile(r"\w+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[\"'(\u201c\w])")
_MARKS = re.compile(r"^\s*(?:[-*+>]\s+|\d+[.)]\s+)+")
_HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[[^\]\n]+\]\(<?([^)\s>]+)>?\)|\[\[([^\]|#\n]+)")
_LINKED = re.compile(r"\[([^\]\n]+)\]\([^)\s]+\)")
_NUMBER = re.compile(r"\d")
_DATE = re.compile(r"\b\d{4}-\d{2}(?:-\d{2})?\b|\b(?:19|20)\d{2}\b")
_DECIDED = re.compile(r"\b(?:must|shall|always|never|decided|decision|agreed|rule|limit|default|required)\b", re.I)
_REPLACED = re.compile(
    r"\b(?:replac\w+|supersed\w+|deprecat\w+|no longer|instead of|renamed|formerly|previously|moved|migrat\w+)\b", re.I
)
_NEW = re.compile(r"\b(?:new|now|since|added|changed|updated|from now on|introduc\w+|raised|lowered)\b", re.I)
_NEXT = re.compile(
    r"\b(?:next|to ?do|open|remain\w*|continue|pending|blocked|follow[- ]up|left off|hand\w*over)\b", re.I
)

_SIGNS: Mapping[str, tuple[re.Pattern[str], ...]] = MappingProxyType(
    {
        CURRENT: (_DECIDED, _NUMBER),
        HANDOFF: (_NEXT,),
        SUPERSESSION: (_REPLACED, _DATE),
        UPDATE: (_NEW, _DATE, _NUMBER),
    }
)
_NEEDED: Mapping[str, re.Pattern[str]] = MappingProxyType({SUPERSESSION: _REPLACED, UPDATE: _NEW, HANDOFF: _NEXT})
"""Without this sign a sentence is not of the family; a rule may stand in any."""


@dataclass(frozen=True, slots=True)
class Found:
    """Something to ask about.

    Attributes:
        docs: the documents that it is about, the main one first.
        answer: words of the main one, or "".
        required: what a dossier must hold: the words of the answer as they stand in the documents, with their place.
        about: where to look, for the notes.
    """

    docs: tuple[str, ...]
    answer: str = ""
    required: tuple[Atom, ...] = ()
    about: str = ""


class Quote(NamedTuple):
    """A sentence as a person reads it, and the place of its characters in the text, with the marks of its links."""

    words: str
    start: int
    end: int


# -- sentences -----------------------------------------------------------------------------------------------------


def sentences(documents: Sequence[Document], family: str) -> Iterator[Found]:
    """Sentences with the signs of a family, of each document those with the most signs first.

    What stands in several documents is a form, and is left out.
    """
    needed = _NEEDED.get(family)
    picked = {document.id: quotable(document.text) for document in documents}
    common = Counter(quote.words for listed in picked.values() for quote in listed)
    for document in documents:
        found = [
            (sum(bool(sign.search(quote.words)) for sign in _SIGNS[family]), quote)
            for quote in picked[document.id]
            if common[quote.words] == 1 and (needed is None or needed.search(quote.words))
        ]
        for signs, (words, start, end) in sorted(found, key=lambda item: -item[0]):
            if signs:
                fact = Atom(text=document.text[start:end], doc=document.id, start=start, end=end)
                yield Found((document.id,), words, (fact,))


def quotable(text: str) -> list[Quote]:
    """Sentences on one line, none of headings, tables and programs, links read as their words; each once."""
    found: dict[str, Quote] = {}
    fenced = False
    at = 0
    for line in text.split("\n"):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and not line.lstrip().startswith(("#", "|")):
            for words, start, end in _sentences(line):
                if _SHORTEST <= len(words) <= _LONGEST and len(_WORD.findall(words)) >= 4:
                    found.setdefault(words, Quote(words, at + start, at + end))
        at += len(line) + 1
    return list(found.values())


def _sentences(line: str) -> Iterator[Quote]:
    """The sentences of a line without the marks before it; a link belongs to each sentence that has some of its words.

    The places are those in the line.
    """
    marks = _MARKS.match(line)
    at = marks.end() if marks else 0
    shown: list[str] = []
    places: list[tuple[int, int]] = []  # of what each shown character stands for
    for link in _LINKED.finditer(line, at):
        shown += [line[at : link.start()], link[1]]
        places += [(place, place + 1) for place in range(at, link.start())] + [link.span()] * len(link[1])
        at = link.end()
    shown.append(line[at:])
    places += [(place, place + 1) for place in range(at, len(line))]
    whole = "".join(shown)
    first = 0
    for last, following in [*(gap.span() for gap in _SENTENCE.finditer(whole)), (len(whole), len(whole))]:
        words = whole[first:last].strip()
        if words:
            first = whole.index(words, first)
            yield Quote(words, places[first][0], places[first + len(words) - 1][1])
        first = following


# -- names and links -----------------------------------------------------------------------------------------------


def namesakes(documents: Sequence[Document]) -> Iterator[Found]:
    """Titles and headings that several documents have, but not so many that it is only a form."""
    shown: dict[str, str] = {}
    users: dict[str, list[str]] = {}
    for document in documents:
        names = {normalise(name): name for name in (document.title, *_HEADING.findall(document.text)) if name}
        for key, name in names.items():
            shown.setdefault(key, name)
            users.setdefault(key, []).append(document.id)
    for key in sorted(users):
        if _NAMESAKES[0] <= len(users[key]) <= _NAMESAKES[1]:
            yield Found((min(users[key]),), about=f"Name: {shown[key]!r}, in {', '.join(sorted(users[key]))}.")


def _links(documents: Sequence[Document]) -> dict[str, list[str]]:
    """By document, the documents that it links to by a path or, in double brackets, by a name; each once, in order."""
    ids = {document.id for document in documents}
    names: dict[str, list[str]] = {}
    for document in documents:
        stem = posixpath.splitext(document.id)[0]
        for name in {normalise(alias) for alias in (document.title, stem, posixpath.basename(stem)) if alias}:
            names.setdefault(name, []).append(document.id)
    links: dict[str, list[str]] = {}
    for document in documents:
        targets: dict[str, None] = dict.fromkeys(document.links)
        for match in _LINK.finditer(document.text):
            if match[1]:
                path = unquote(match[1].partition("#")[0])
                targets.setdefault(posixpath.normpath(posixpath.join(posixpath.dirname(document.id), path)))
            elif len(called := names.get(normalise(match[2]), [])) == 1:
                targets.setdefault(called[0])
        links[document.id] = [target for target in targets if target in ids and target != document.id]
    return links


def chains(documents: Sequence[Document]) -> Iterator[Found]:
    """A document, one that it links to, and one that this links to where there is one."""
    links = _links(documents)
    for first, seconds in sorted(links.items()):
        for second in seconds:
            thirds = [third for third in links[second] if third != first]
            chain = (first, second, *thirds[:1])
            yield Found(chain, about=f"Links: {' to '.join(chain)}.")


def _own_name(document: Document) -> Atom | None:
    """What a document calls itself in its text, or None."""
    heading = _HEADING.search(document.text)
    if heading:
        return Atom(text=heading[1], doc=document.id, start=heading.start(1), end=heading.end(1))
    said = find(normalise(document.title), normalise(document.text)) >= 0
    return Atom(text=document.title, doc=document.id) if said else None


def linked(documents: Sequence[Document]) -> Iterator[Found]:
    """Documents to which a few others link, with these as the answer, if they say their titles themselves."""
    titles = {document.id: name for document in documents if (name := _own_name(document))}
    linking: dict[str, list[str]] = {}
    for source, targets in sorted(_links(documents).items()):
        for target in targets:
            linking.setdefault(target, []).append(source)
    for target, sources in sorted(linking.items()):
        if _SOURCES[0] <= len(sources) <= _SOURCES[1] and all(source in titles for source in sources):
            required = tuple(titles[source] for source in sources)
            answer = "; ".join(title.text for title in required)
            yield Found(tuple(sources), answer, required, f"Linked to: {target}.")
