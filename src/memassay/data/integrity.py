"""How a file proves to be what it should be: its checksum, its JSON, and the shape of what the JSON says.

Whatever is wrong with a file becomes one :class:`~memassay.core.errors.DataError` of one line that names the file and,
where it is known, the line or the place inside the JSON.
"""

from __future__ import annotations

import json
import math
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from memassay.core.digest import digest_file
from memassay.core.errors import DataError

MAX_BYTES = 64 * 1024 * 1024
"""Largest JSON file that is read unless a caller says otherwise; LOCOMO has 2.8 MB."""

_STRING = r'"(?:[^"\\]|\\.)*+"'
_STRING_OR_CONSTANT = re.compile(rf"{_STRING}|(-?Infinity|NaN)")
_STRING_OR_NUMBER = re.compile(rf"{_STRING}|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)")
_STRING_OR_MARK = re.compile(rf"({_STRING})\s*(:?)|([{{}}])")


def sha256_of(path: Path) -> str:
    """Checksum of a file's bytes, lower-case hexadecimal.

    Raises:
        DataError: the file is missing or cannot be read.
    """
    try:
        return digest_file(path)
    except OSError as error:
        raise DataError(_unreadable(path, error)) from None


def looks_like_html(head: bytes) -> bool:
    """Whether the first bytes of what should be JSON are those of a web page."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"<"


# -- reading JSON --------------------------------------------------------------------------------------------------


class _Refused(Exception):
    """Raised inside the JSON parser, which does not tell its hooks where it is; the place is searched afterwards."""

    def __init__(self, what: str, line: int | None = None) -> None:
        self.what, self.line = what, line
        super().__init__(what)


class _DuplicateKey(_Refused):
    pass


def read_json(path: Path, *, max_bytes: int = MAX_BYTES) -> Any:
    """The value in a JSON file, read strictly: UTF-8, no NaN or Infinity, no key twice in one object.

    Args:
        path: a regular file.
        max_bytes: a larger file is refused before it is read.

    Raises:
        DataError: anything else than that; one line with the file and, where it is known, the line.
    """
    raw = _bytes_of(path, max_bytes)
    if not raw.strip():
        raise DataError(f"{path}: the file is empty, JSON was expected.")
    if looks_like_html(raw[:256]):
        raise DataError(f"{path}: this is a web page (HTML), not JSON; download the raw file.")
    if raw.startswith(b"version https://git-lfs"):
        raise DataError(f"{path}: this is a Git LFS pointer, not the file itself; run `git lfs pull` or download it.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}, line {line}: byte {error.start} is not UTF-8; save the file as UTF-8.") from None
    try:
        value = json.loads(
            text, parse_constant=_no_constant, parse_float=_finite, parse_int=_short, object_pairs_hook=_unique
        )
        if "\\ud" in text or "\\uD" in text:
            _encodable(value)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {error.lineno}, column {error.colno}: not JSON ({_lower(error.msg)}).") from None
    except RecursionError:
        raise DataError(f"{path}: lists or objects are nested too deeply.") from None
    except _Refused as error:
        line_of = _line_of_duplicate(text) if isinstance(error, _DuplicateKey) else _line_of_number(text)
        place = f", line {line_of}" if line_of else ""
        raise DataError(f"{path}{place}: {error.what}.") from None
    return value


def _bytes_of(path: Path, max_bytes: int) -> bytes:
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise DataError(f"{path} is a folder, a JSON file was expected.")
        if not stat.S_ISREG(mode):
            raise DataError(f"{path} is not a regular file.")
        with path.open("rb") as file:
            raw = file.read(max_bytes + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise DataError(_unreadable(path, error)) from None
    if len(raw) > max_bytes:
        raise DataError(f"{path} is larger than {max_bytes:,} bytes, which no file of this kind is.")
    return raw


def _unreadable(path: Path, error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{path}: no such file."
    if isinstance(error, IsADirectoryError):
        return f"{path} is a folder, a file was expected."
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"{str(path)!r} cannot be read: {_lower(reason)}."


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _no_constant(word: str) -> NoReturn:
    raise _Refused(f"{word} is not a JSON number")


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise _Refused("a number is too large")
    return value


def _short(number: str) -> int:
    # Python refuses to parse integers of more than 4,300 digits; no data file has one of more than twenty.
    if len(number) > 20:
        raise _Refused("a number has more than 20 digits")
    return int(number)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _DuplicateKey(f"the key {_short_repr(key)} stands twice in one object")
            seen.add(key)
    return value


def _encodable(value: Any) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise _Refused("a text holds half of a surrogate pair (\\ud800 to \\udfff), which is not Unicode") from None


def _line_of_number(text: str) -> int | None:
    """Where the first number stands that the hooks refuse (only run when one of them did)."""
    for match in _STRING_OR_CONSTANT.finditer(text):
        if match[1]:
            return text.count("\n", 0, match.start()) + 1
    for match in _STRING_OR_NUMBER.finditer(text):
        number = match[1]
        if number and (len(number) > 20 if number.lstrip("-").isdigit() else not math.isfinite(float(number))):
            return text.count("\n", 0, match.start()) + 1
    return None


def _line_of_duplicate(text: str) -> int | None:
    """Where a key comes for the second time in one object (only run when that happened)."""
    open_objects: list[set[str]] = []
    for match in _STRING_OR_MARK.finditer(text):
        if match[3] == "{":
            open_objects.append(set())
        elif match[3] == "}":
            open_objects.pop()
        elif match[2] and open_objects:
            key = json.loads(match[1])
            if key in open_objects[-1]:
                return text.count("\n", 0, match.start()) + 1
            open_objects[-1].add(key)
    return None


# -- checking the shape --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Located:
    """A JSON value that knows where it stands, so that a wrong one can be named.

    Attributes:
        value: the value.
        file: what the messages call the file.
        where: the place inside the file, ``conversation 3 ("conv-41"), qa[12].question``; "" for the whole.
        fix: what a user can do about it, without a full stop.
    """

    value: Any
    file: str
    where: str = ""
    fix: str = ""

    def fail(self, problem: str) -> NoReturn:
        """Raise a DataError that says ``problem`` of this place."""
        place = f"{self.file}: {self.where}: " if self.where else f"{self.file}: "
        raise DataError(f"{place}{problem}{f'; {self.fix}' if self.fix else ''}.")

    def named(self, where: str) -> Located:
        """The same value under another name of its place."""
        return replace(self, where=where)

    def keys(self) -> Sequence[str]:
        """The keys of an object, in the order of the file."""
        return list(self._typed(dict, "an object"))

    def has(self, key: str) -> bool:
        return key in self._typed(dict, "an object")

    def get(self, key: str) -> Located:
        """The value under ``key`` of an object; a missing key is an error."""
        held = self._typed(dict, "an object")
        if key not in held:
            self.fail(f"the key {_short_repr(key)} is missing")
        name = key if re.fullmatch(r"\w+", key) else f"[{_short_repr(key)}]"
        joint = "" if not self.where else ", " if self.where.endswith(")") else "."
        return replace(self, value=held[key], where=f"{self.where}{joint}{name}")

    def items(self) -> Iterator[Located]:
        """The values of a list."""
        for index, value in enumerate(self._typed(list, "a list")):
            yield replace(self, value=value, where=f"{self.where}[{index}]")

    def text(self, *, max_chars: int, empty: bool = True) -> str:
        """A text of at most ``max_chars`` characters, and not blank unless ``empty``."""
        value: str = self._typed(str, "text")
        if len(value) > max_chars:
            self.fail(f"the text has {len(value):,} characters, more than the {max_chars:,} that are allowed")
        if not empty and not value.strip():
            self.fail("expected text, found an empty one")
        return value

    def whole(self) -> int:
        """A whole number (``true`` is none)."""
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            self.fail(f"expected a whole number, found {kind_of(self.value)}")
        return self.value

    def _typed(self, kind: type, name: str) -> Any:
        if not isinstance(self.value, kind):
            self.fail(f"expected {name}, found {kind_of(self.value)}")
        return self.value


def kind_of(value: Any) -> str:
    """What a JSON value is, in words (``a number``, ``text``, ``null``)."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    names = {int: "a number", float: "a number", str: "text", list: "a list", dict: "an object"}
    return next((name for kind, name in names.items() if isinstance(value, kind)), type(value).__name__)


def _short_repr(text: str) -> str:
    """A text in quotes, cut so that a hostile file cannot flood the terminal."""
    return json.dumps(text if len(text) <= 60 else text[:57] + "...")
