"""Where in a text the target of a link is written, so that it can be written anew and nothing else."""

from __future__ import annotations

import re

from memassay.knowledge.links import NOWHERE

Span = tuple[int, int]

_TO_TARGET = re.compile(r"\s*\]\(\s*")
_POINTED = re.compile(r"<(?:[^<>\\\r\n]|\\.)*>")
_DEFINITION = re.compile(r"\[(?:[^\\\[\]]|\\.)*\]:\s*", re.DOTALL)


def inline(text: str, inner: int, end: int) -> Span:
    """Of ``[words](target "title")``: ``inner`` is where the words end, ``end`` where the link does."""
    found = _TO_TARGET.match(text, inner, end)
    return _target(text, found.end(), end) if found else NOWHERE


def defined(text: str, start: int) -> Span:
    """Of the definition ``[label]: target "title"`` that begins at ``start``."""
    found = _DEFINITION.match(text, start)
    return _target(text, found.end(), len(text)) if found else NOWHERE


def wiki(text: str, span: Span, target: str, bar: bool) -> tuple[Span, Span]:
    """Of ``[[target]]`` or ``[[target|words]]``: where the target and where the words are written."""
    start, end = span[0] + 2, span[1] - 2
    aim = (start, start + len(target)) if text.startswith(target, start) else NOWHERE
    at = text.find("|", start, end) if bar else -1
    return aim, ((start, end) if at < 0 else (at + 1, end))


def label(written: str) -> str:
    """The form in which labels are compared."""
    return " ".join(written.split()).casefold()


def _target(text: str, start: int, end: int) -> Span:
    """Where the target that begins at ``start`` is written, without angle brackets."""
    pointed = _POINTED.match(text, start, end)
    if pointed:
        return pointed.start() + 1, pointed.end() - 1
    depth, at = 0, start
    while at < end:
        letter = text[at]
        if letter == "\\" and at + 1 < end:
            at += 1
        elif letter.isspace() or (letter == ")" and not depth):
            break
        depth += (letter == "(") - (letter == ")")
        at += 1
    return (start, at) if start < at else NOWHERE
