"""JSON Lines as people write them: one object per line, and whatever is wrong named by file and line, with the fix."""

from __future__ import annotations

import datetime
import json
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from memassay.core.errors import DataError, suggestion

MAX_LINE = 64 * 1024 * 1024
"""Most bytes of a line of documents; nothing longer is ever read into memory."""
MAX_QUESTION_LINE = 1024 * 1024
"""Most bytes of a line of questions."""
MAX_ID = 200

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ].+)?", re.ASCII)
_KINDS: Mapping[type, str] = {bool: "true or false", int: "a number", float: "a number", str: "text"}


@dataclass(frozen=True, slots=True)
class Row:
    """One object and where it stands, so that a wrong one can be named.

    Attributes:
        value: the object.
        file: what messages call the file.
        line: its number, from 1.
    """

    value: Mapping[str, Any]
    file: str
    line: int

    def fail(self, problem: str) -> NoReturn:
        """Raise a DataError that says ``problem`` of this line; a full stop is added where there is none."""
        end = "" if problem.endswith((".", "?")) else "."
        raise DataError(f"{self.file}, line {self.line}: {problem}{end}")

    def only(self, known: Sequence[str]) -> None:
        """Refuse a key that means nothing."""
        for key in self.value:
            if key not in known:
                self.fail(f"unknown key {shown(key)}.{suggestion(key, known)}")

    def text(self, key: str) -> str | None:
        """A text that says something, or None where the key is missing or null."""
        value = self.value.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            self.fail(f"{key} must be text in quotes, found {kind_of(value)}")
        if not value.strip():
            self.fail(f"{key} is empty; fill it in or leave it out")
        self._encodable(key, value)
        return value

    def needed(self, key: str) -> str:
        """A text that must be there."""
        text = self.text(key)
        if text is None:
            self.fail(f'{key} is missing; write "{key}": "..."')
        return text

    def name(self, key: str) -> str | None:
        """A name on one line, of at most ``MAX_ID`` characters; a whole number is taken as its digits."""
        value = self.value.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        text = self.text(key)
        if text is not None and (len(text) > MAX_ID or not text.isprintable() or text != text.strip()):
            self.fail(f"{key} {shown(text)} must be one line of at most {MAX_ID} characters without blanks around it")
        return text

    def date(self, key: str) -> str | None:
        """A date, or date and time, of ISO 8601 with the day written out."""
        text = self.text(key)
        if text is None:
            return None
        try:
            if not _DATE.fullmatch(text):
                raise ValueError
            datetime.datetime.fromisoformat(text)
        except ValueError:
            self.fail(f"{key} {shown(text)} is no date; write it as 2026-03-31 or 2026-03-31T09:30")
        return text

    def items(self, key: str) -> list[Any]:
        """A list, or an empty one where the key is missing or null."""
        value = self.value.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            self.fail(f'{key} must be a list, found {kind_of(value)}; write "{key}": ["..."]')
        return value

    def texts(self, key: str) -> list[str]:
        """A list of texts, none of them empty."""
        return [self._item(key, number, item) for number, item in enumerate(self.items(key), start=1)]

    def _item(self, key: str, number: int, item: Any) -> str:
        return Row({f"item {number} of {key}": item}, self.file, self.line).needed(f"item {number} of {key}")

    def _encodable(self, key: str, text: str) -> None:
        try:
            text.encode()
        except UnicodeEncodeError:
            self.fail(f"{key} holds half of a surrogate pair (\\ud800 to \\udfff); write the character itself")


def read_rows(path: Path, *, max_line: int = MAX_LINE) -> Iterator[Row]:
    """The objects of a JSONL file, line by line; a byte order mark, CRLF and blank lines are tolerated.

    Args:
        path: a regular file.
        max_line: a line of more bytes is refused without reading the rest of it.

    Raises:
        DataError: no such file, an empty one, or a line that is not one JSON object, by number and with the fix.
    """
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise DataError(f"{path} is a folder; give a JSONL file, one JSON object per line.")
        if not stat.S_ISREG(mode):
            raise DataError(f"{path} is not a regular file; give a JSONL file, one JSON object per line.")
        with path.open("rb") as file:
            number = found = 0
            while raw := file.readline(max_line + 1):
                number += 1
                if len(raw) > max_line:
                    size = f"{max_line // 1024**2:,} MB"
                    raise DataError(f"{path}, line {number}: the line is longer than {size}; split it up.")
                if number == 1:
                    raw = raw.removeprefix(b"\xef\xbb\xbf")
                if raw.strip():
                    found += 1
                    yield Row(_object(raw, path, number), str(path), number)
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file; check the path.") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise DataError(f"{str(path)!r} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    if not found:
        raise DataError(f"{path} is empty; write one JSON object per line.")


def _object(raw: bytes, path: Path, number: int) -> Mapping[str, Any]:
    place = f"{path}, line {number}"
    try:
        value = json.loads(raw.decode("utf-8"), object_pairs_hook=_unique)
    except UnicodeDecodeError as error:
        raise DataError(f"{place}: byte {error.start + 1} is not UTF-8; save the file as UTF-8.") from None
    except json.JSONDecodeError as error:
        what = f"{error.msg[:1].lower()}{error.msg[1:]} at column {error.colno}"
        raise DataError(f"{place}: not JSON ({what}); write one whole JSON object per line.") from None
    except RecursionError:
        raise DataError(f"{place}: lists or objects are nested too deeply; the known keys need no nesting.") from None
    except _Twice as error:
        raise DataError(f"{place}: the key {shown(error.key)} stands twice; keep one of them.") from None
    except ValueError:  # an integer of more than 4,300 digits
        raise DataError(f"{place}: a number has too many digits; write it as text in quotes.") from None
    if not isinstance(value, dict):
        raise DataError(f"{place}: expected a JSON object in braces, found {kind_of(value)}; write one per line.")
    return value


class _Twice(Exception):
    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(key)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for key, item in pairs:
        if key in value:
            raise _Twice(key)
        value[key] = item
    return value


def kind_of(value: Any) -> str:
    """What a JSON value is, in words."""
    if value is None:
        return "null"
    return _KINDS.get(type(value), "a list" if isinstance(value, list) else "an object")


def shown(text: str, chars: int = 60) -> str:
    """A text in quotes, cut so that a hostile file cannot flood a terminal."""
    return json.dumps(text if len(text) <= chars else f"{text[:chars]}...", ensure_ascii=not text.isprintable())
