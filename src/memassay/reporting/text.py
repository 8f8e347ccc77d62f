"""Strings of strangers made safe to print: no control characters, no terminal commands, no hidden direction marks."""

from __future__ import annotations

import re
import unicodedata

from rich.cells import cell_len

# CSI and OSC sequences with what belongs to them, then any other escape pair; the one-byte C1 forms as well.
_TERMINAL = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[@-Z\\-_a-z0-9=>]?"
)
# Everything that is a control (C0, C1, DEL), a lone surrogate, or overrides the direction of the text around it.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_SPACES = re.compile(r"\s+")
_TYPOGRAPHY = str.maketrans(
    dict(zip("–—−·×“”‘’─━│▸↑\u00a0", "---|x\"\"''--|>^ ", strict=True))
    | {"…": "...", "≤": "<=", "≥": ">=", "→": "->", "✓": "yes", "✗": "no"}
)


def clean(text: str) -> str:
    """The text without terminal sequences, controls and direction overrides; line ends and tabs stay."""
    kept = _TERMINAL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _SURROGATE.sub("\ufffd", _CONTROL.sub("", kept))


def one_line(text: str) -> str:
    """The cleaned text with every run of white space as one blank."""
    return _SPACES.sub(" ", clean(text)).strip()


def shorten(text: str, width: int) -> str:
    """One line of at most ``width`` terminal cells; what is cut off leaves an ellipsis."""
    line = one_line(text)
    if cell_len(line) <= width:
        return line
    if width <= 1:
        return "…"[:width]
    room = width - 1
    kept: list[str] = []
    for character in line:
        room -= cell_len(character)
        if room < 0:
            break
        kept.append(character)
    return "".join(kept).rstrip() + "…"


def middle(text: str, width: int) -> str:
    """Like :func:`shorten`, but keeps both ends: names of arms often differ in the last letters."""
    line = one_line(text)
    if cell_len(line) <= width or width < 8:
        return shorten(line, width)
    tail = (width - 1) // 3
    end = ""
    for character in reversed(line):
        if cell_len(character + end) > tail:
            break
        end = character + end
    return shorten(line, width - cell_len(end)) + end


def fit_encoding(text: str, encoding: str | None) -> str:
    """The text as the terminal's encoding can hold it: typographic characters in ASCII, others as ``?``.

    Args:
        text: what is to be printed.
        encoding: ``sys.stdout.encoding``; None is read as ASCII.
    """
    name = encoding or "ascii"
    try:
        text.encode(name)
        return text
    except (UnicodeEncodeError, LookupError):
        pass
    plain = text.translate(_TYPOGRAPHY)
    try:
        return plain.encode(name, "replace").decode(name)
    except LookupError:
        return unicodedata.normalize("NFKD", plain).encode("ascii", "replace").decode("ascii")
