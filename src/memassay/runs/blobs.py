"""Content-addressed, compressed texts: dossiers and transcripts. Equal content is stored once, whoever writes it."""

from __future__ import annotations

import gzip
import os
import threading
import zlib
from pathlib import Path

from memassay.core.digest import digest_text
from memassay.core.errors import DataError
from memassay.runs.lines import disk_errors


class Blobs:
    """A folder of texts under their own SHA-256, ``ab/cdef….gz``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, digest: str) -> Path:
        return self.folder / digest[:2] / f"{digest[2:]}.gz"

    def put(self, text: str) -> str:
        """Store a text (once) and return its digest. Level 1: 48 kB of dossier take about a millisecond."""
        digest = digest_text(text)
        path = self.path(digest)
        if not path.exists():
            temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.tmp")
            with disk_errors(path):
                try:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    temporary.write_bytes(gzip.compress(text.encode("utf-8", "surrogatepass"), 1, mtime=0))
                    temporary.replace(path)
                except OSError:
                    temporary.unlink(missing_ok=True)
                    raise
        return digest

    def get(self, digest: str) -> str:
        """The text under a digest.

        Raises:
            DataError: it is missing or is not what its name says.
        """
        path = self.path(digest)
        try:
            text = gzip.decompress(path.read_bytes()).decode("utf-8", "surrogatepass")
        except (OSError, EOFError, ValueError, zlib.error) as error:
            raise DataError(
                f"{path.parent.parent.name}/{digest[:12]}… is missing or damaged in this run folder."
            ) from error
        if digest_text(text) != digest:
            raise DataError(
                f"{path.parent.parent.name}/{digest[:12]}… does not hold what its digest says; restore the run folder."
            )
        return text
