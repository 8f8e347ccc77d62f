"""The documents that a memory is checked with, and what is asked about them; made up, the same in every process."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence

from memassay.core.types import Corpus, Document, Unit

BIG_CHARS = 10_000_000
NEEDLE = "heliotrope"
BIG_QUESTION = f"Which {NEEDLE} does the seed catalogue list?"

_THINGS = (
    "lighthouse", "windmill", "harmonium", "telescope", "sundial", "weathervane", "gramophone", "barometer",
    "hourglass", "typewriter", "chandelier", "kaleidoscope", "metronome", "sextant", "astrolabe", "carousel",
    "harpsichord", "treadmill", "accordion", "pendulum", "microscope", "lantern", "mandolin", "compass",
)  # fmt: skip
_TOWNS = ("Ostia", "Arven", "Tellow", "Morrin", "Quayle", "Dunmere", "Halden", "Selwick")
_PEOPLE = ("Zoë", "Tomás", "Ingrid", "Bilal", "Chiara")
_DAY_WORDS = ("rain", "frost", "fair wind", "thick fog", "thunder", "hail")


def corpus(name: str) -> Corpus:
    """The corpus of that name, made anew at every call so that nothing a memory does to one reaches the next."""
    return Corpus(id=f"check-{name}", documents=tuple(_CORPORA[name]()), digest=name.ljust(64, "0"))


# -- notes: what most checks are made on ---------------------------------------------------------------------------


def _notes() -> Iterator[Document]:
    """Documents of three shapes: paragraphs as units, a conversation with speakers, and text without any unit."""
    for number, thing in enumerate(_THINGS):
        told = _told(number)
        about = {"id": f"note-{number:02d}-{thing}", "title": f"About the {thing}", "date": _date(number)}
        speakers = _PEOPLE[:2] if number % 4 == 1 else ("",)
        text, units = _document(f"n{number:02d}", told, speakers, "\n" if number % 4 == 1 else "\n\n")
        yield Document(**about, text=text, units=() if number % 4 == 3 else units, meta={"number": number})


def _told(number: int) -> list[str]:
    thing, town, person = _THINGS[number], _TOWNS[number % 8], _PEOPLE[number % 5]
    return [
        f"The {thing} came to {town} on a barge, and {person} wrote the number {4100 + 37 * number} on its crate.",
        f"For {number + 3} years it stood in the hall of the customs house, where nobody was allowed to touch it.",
        f"When the roof was mended after the {_DAY_WORDS[number % 6]}, it was carried over the bridge by {person}.",
    ]


def _date(number: int) -> str:
    return f"2024-{number % 12 + 1:02d}-{number + 1:02d}T09:30"


def note_questions() -> list[str]:
    """One question per document of the notes, in their order; each names what only its document is about."""
    return [f"Which number stood on the crate of the {thing}?" for thing in _THINGS]


def shared_questions() -> list[str]:
    """Questions that every document of the notes answers as well as the others: ties, where an order can slip."""
    return ["Who wrote the number on the crate?", "What stood in the hall of the customs house?", "bridge roof barge"]


# -- the others ----------------------------------------------------------------------------------------------------


def _ledger() -> Iterator[Document]:
    """Many documents that all match one question, far more than a small budget asks for."""
    for number in range(150):
        thing, town, weather = _THINGS[number % 24], _TOWNS[number % 8], _DAY_WORDS[number % 6]
        entry = (
            f"Entry {number} of the harbour ledger. A {thing} from {town} was weighed on the quay in {weather}; the "
            f"harbour master signed the ledger, the clerk counted {number * 7 + 11} coins, and the mate of the ship "
            f"asked for a copy of the entry, which was written out by hand and given to him before the tide turned and "
            f"the harbour was closed for the night."
        )
        text, units = _document(f"entry-{number}", [entry])
        yield Document(id=f"entry-{number}", text=text, units=units)


LEDGER_QUESTION = "Which entry of the harbour ledger did the harbour master sign?"

MANY = 400


def _many() -> Iterator[Document]:
    """More documents than a memory may happen to look at; each has words that no other has together."""
    for number in range(MANY):
        person, thing, town = _parcel(number)
        told = f"{person} sent the {thing} to {town} and paid {number + 3} coins for the carriage."
        text, units = _document(f"parcel-{number}", [told])
        yield Document(id=f"parcel-{number:03d}", text=text, units=units)


def many_question(number: int) -> str:
    """What only that one of the many documents answers."""
    person, thing, town = _parcel(number)
    return f"What did {person} pay for the {thing} that went to {town}?"


def _parcel(number: int) -> tuple[str, str, str]:
    return _PEOPLE[number // 192], _THINGS[number % 24], _TOWNS[number // 24 % 8]


SCRIPTS = {
    "Chinese": "图书馆星期二下午三点开门",
    "Japanese": "昨日は京都で抹茶を飲みました",
    "Korean": "도서관은 화요일 오후에 문을 엽니다",
    "Cyrillic": "Вчера купили синий велосипед",
    "Greek": "Αύριο φεύγουμε για Θεσσαλονίκη",
    "Hebrew, right to left": "הספרייה נפתחת ביום שלישי",
    "Arabic, right to left": "تفتح المكتبة أبوابها يوم الثلاثاء",
    "Hindi, with combining signs": "पुस्तकालय मंगलवार 4711 खुलता",
    "emoji": "Fireworks 🎆 family 👩‍👩‍👧 flag 🇳🇴 thumbs 👍🏽",
    "Gothic, outside the basic plane": "𐌼𐌰𐌲 𐌲𐌻𐌴𐍃 𐌹̈𐍄𐌰𐌽 𐌸𐌰𐌿𐌷𐌿",
    "decomposed letters, asked for composed": unicodedata.normalize("NFD", "Crème brûlée, jalapeño, Ångström, piñata"),
    "composed letters, asked for decomposed": unicodedata.normalize("NFC", "Façade, smörgåsbord, naïveté, señorita"),
}
"""A line of text by what is tried with it."""


def script_question(tried: str) -> str:
    """The question that must find a line of ``SCRIPTS``: its own words, in the other normal form for the last two."""
    if "asked for" not in tried:
        return SCRIPTS[tried]
    return unicodedata.normalize("NFC" if tried.endswith(" composed") else "NFD", SCRIPTS[tried])


def _scripts() -> Iterator[Document]:
    text, units = _document("script", list(SCRIPTS.values()), between="\n")
    yield Document(id="scripts", title="Scripts", text=text, units=units)


def _names() -> Iterator[Document]:
    """Ids that share a base name, or differ only by what a file name cannot hold."""
    for name, thing in NAMES.items():
        text, units = _document(f"{name}#", [f"Whoever looks for the {thing} finds it behind the pantry door."])
        yield Document(id=name, title="Notes", text=text, units=units)


NAMES = {"a/notes.md": "bicycle", "b/notes.md": "umbrella", "a_notes.md": "teapot", "A/Notes.md": "snowshovel"}
"""Ids of documents, and what only that document is about."""

HOSTILE = {
    "marmalade": "Before the NUL\x00behind it the marmalade is kept.",
    "tangerine": "A line ends as on Windows.\r\nThe second one names the tangerine.\r\n\r\nThe third is short.",
    "gooseberry": "Half a character \ud83d stands before the gooseberry.",
    "apricot": "<b>A page</b> of </script> {{braces}} %s and '; DROP TABLE notes; -- hides the apricot.",
    "quince": "x" * 20_000 + " quince",
    "mulberry": "\ufeffA byte order mark,\u2028a separator\u200b and \u202ea turn stand before the mulberry.",
}
"""Texts that break what was not built for them, by the word that must bring each back."""
PERSIMMON = "persimmon"
"""The word that must bring back the document whose id is hostile."""

HOSTILE_QUESTIONS = (
    "", " \n\t ", "\x00", "?!", '"AND" OR (NEAR* -x', "'; DROP TABLE notes; --", "half a \ud83d", "who what the of",
    "word " * 5_000,
)  # fmt: skip


def _hostile() -> Iterator[Document]:
    text, units = _document("plain", ["The walnut table was sold in the first week of June."])
    yield Document(id="plain", text=text, units=units)
    text, units = _document("hostile", list(HOSTILE.values()))
    yield Document(id="hostile", text=text, units=units)
    yield Document(id="nothing", text="")
    yield Document(id="blank", title="Blank", text=" \n\n\t", units=(Unit(id="blank:1", text="", speaker="Ann"),))
    text, units = _document("../up\n'; -- \u202e\\*?", [f"A {PERSIMMON} lies on the window sill."])
    yield Document(id="../up\n'; -- \u202e\\*?", title="\t", text=text, units=units)


def _big() -> Iterator[Document]:
    # Its 576 paragraphs repeat: only the length is meant to be hard, and a memory that embeds a text once has it easy.
    pieces: list[str] = []
    size = 0
    while size < BIG_CHARS:
        thing, other = _THINGS[len(pieces) % 24], _THINGS[len(pieces) // 24 % 24]
        pieces.append(
            f"The long report says that the {thing} was moved beside the {other}, counted twice, and written into the "
            f"yearly book of the harbour office.\n\n"
        )
        size += len(pieces[-1])
    pieces.insert(len(pieces) // 2, f"The seed catalogue lists one {NEEDLE}, which nobody ordered.\n\n")
    yield Document(id="big", title="The long report", text="".join(pieces))


def _document(
    prefix: str, texts: Sequence[str], speakers: Sequence[str] = ("",), between: str = "\n\n"
) -> tuple[str, tuple[Unit, ...]]:
    """A text and its units with their places in it, the speakers taking turns."""
    text, units = "", []
    for number, said in enumerate(texts):
        speaker = speakers[number % len(speakers)]
        text += between if text else ""
        text += f"{speaker}: " if speaker else ""
        span = (len(text), len(text) + len(said))
        units.append(Unit(id=f"{prefix}:{number + 1}", text=said, speaker=speaker, span=span))
        text += said
    return text, tuple(units)


_CORPORA: dict[str, Callable[[], Iterator[Document]]] = {
    "notes": _notes,
    "ledger": _ledger,
    "many": _many,
    "scripts": _scripts,
    "names": _names,
    "hostile": _hostile,
    "big": _big,
    "empty": lambda: iter(()),
}
