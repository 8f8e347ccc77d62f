"""From the bytes of a page's file to its text and back.

A text is what a file says without its byte-order mark, with LF for line ends if all of them are CRLF (a file that mixes
them keeps them in its text). Writing puts both back, so what an edit does not touch stays the same byte for byte.
"""

from __future__ import annotations

from dataclasses import dataclass

from memassay.core.errors import DataError

_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Source:
    """What a file says and how it is written.

    Attributes:
        text: the text as described above.
        mark: it begins with a byte-order mark.
        crlf: every line ends with CRLF.
        invalid: number of the first byte that is not UTF-8, or None. Such a text is repaired with U+FFFD and is never
            written back.
    """

    text: str
    mark: bool = False
    crlf: bool = False
    invalid: int | None = None

    @classmethod
    def read(cls, data: bytes) -> Source:
        """What the bytes of a file say; any bytes do."""
        mark = data.startswith(_MARK)
        body = data[len(_MARK) :] if mark else data
        crlf = b"\r\n" in body and body.count(b"\n") == body.count(b"\r") == body.count(b"\r\n")
        if crlf:
            body = body.replace(b"\r\n", b"\n")
        try:
            return cls(body.decode("utf-8"), mark, crlf)
        except UnicodeDecodeError as error:
            return cls(body.decode("utf-8", "replace"), mark, crlf, error.start)

    def write(self, text: str) -> bytes:
        """The bytes of a file that is written as this one and says ``text``.

        Raises:
            DataError: the text has a character that UTF-8 cannot hold (half of a surrogate pair).
        """
        if self.crlf:
            text = text.replace("\r\n", "\n").replace("\n", "\r\n")
        if self.mark and not self.text.startswith("\ufeff"):
            text = text.removeprefix("\ufeff")
        try:
            return (_MARK if self.mark else b"") + text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise DataError(
                f"The text cannot be written: its character {error.start} is half of a surrogate pair; leave it out."
            ) from None


NEW = Source("")
