"""Getting a data file: downloaded or copied, checked, and only then put in its place.

The bytes go to a temporary file in the target folder and are renamed when size and checksum are right, so a file under
its catalogue name is always whole and nothing half-written is left behind.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shlex
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

from memassay.core.errors import DataError, EnvironmentProblem, UsageError
from memassay.data.catalogue import CATALOGUE, Entry
from memassay.data.integrity import looks_like_html, sha256_of

_CHUNK = 64 * 1024
_TIMEOUT = 30.0  # seconds without a byte
_HEAD = 512

Progress = Callable[[int, int], None]


def fetch(
    entry: Entry,
    folder: Path,
    *,
    source: Path | None = None,
    url: str | None = None,
    progress: Progress = lambda done, total: None,
) -> Path:
    """Put the file of ``entry`` into ``folder``, unless it is there already, and return where it is.

    Args:
        entry: which file.
        folder: where to; it is made if it is not there.
        source: a local copy to take instead of downloading.
        url: another address to download from; the checksum stays the same.
        progress: called with bytes so far and bytes in all.

    Raises:
        DataError: what came is not the file (checksum, size, a web page), or ``source`` is not there.
        EnvironmentProblem: the network or the disk stands in the way.
    """
    target = folder / entry.file_name
    if target.is_file() and problem_with(entry, target) is None:
        return target
    # Opened before the folder is made, so that a wrong path leaves nothing behind at all.
    chunks = _copied(entry, source) if source is not None else _downloaded(entry, url or entry.url)
    with contextlib.closing(chunks):
        first = next(chunks, b"")
        problem = _store(entry, target, first, chunks, progress)
    if problem is not None:
        raise DataError(_refusal(entry, problem) if source is None else _wrong_copy(entry, problem, source))
    return target


def problem_with(entry: Entry, path: Path) -> str | None:
    """Why a local file is not that of the catalogue (without a full stop), or None where it is.

    Raises:
        DataError: the file is missing or cannot be read.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {_reason(error)}.") from None
    return _problem(entry, size, head, sha256_of(path) if size == entry.size else "")


def verify(entry: Entry, path: Path) -> None:
    """Nothing where the file is that of the catalogue.

    Raises:
        DataError: it is another, with the fix.
    """
    problem = problem_with(entry, path)
    if problem is not None:
        raise DataError(f"{path} {problem}; get the right one with: memassay data fetch {entry.name}.")


def _problem(entry: Entry, size: int, head: bytes, sha256: str) -> str | None:
    if size == entry.size and sha256 == entry.sha256:
        return None
    if looks_like_html(head):
        return "is a web page (HTML), not the data file"
    if size == 0:
        return "is empty"
    if size < entry.size:
        return f"is truncated: it has {size:,} of {entry.size:,} bytes"
    if size > entry.size:
        return f"is larger than the {entry.size:,} bytes of the catalogue's file"
    return f"has another checksum: {sha256[:12]}… where {entry.sha256[:12]}… was expected"


# -- where the bytes come from -------------------------------------------------------------------------------------


def _copied(entry: Entry, source: Path) -> Generator[bytes, None, None]:
    try:
        with source.open("rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk
    except (OSError, ValueError) as error:
        raise DataError(
            f"{str(source)!r} cannot be read: {_reason(error)}; give --from a local copy of {entry.file_name}."
        ) from None


def _downloaded(entry: Entry, url: str) -> Generator[bytes, None, None]:
    import httpx2

    if not url:
        raise UsageError(
            f"{entry.file_name} has no address; take a local copy with: memassay data fetch {entry.name} --from FILE."
        )
    local = f"or take a local copy with: memassay data fetch {entry.name} --from FILE"
    came = 0
    try:
        # identity: the size that is checked against is that of the file, not that of a compressed transfer.
        with httpx2.stream(
            "GET", url, follow_redirects=True, timeout=_TIMEOUT, headers={"Accept-Encoding": "identity"}
        ) as response:
            if response.status_code != 200:
                raise EnvironmentProblem(
                    f"{url} answered with status {response.status_code}; try again later, {local}."
                )
            for chunk in response.iter_bytes(_CHUNK):
                came += len(chunk)
                yield chunk
    except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
        raise UsageError(f"{url!r} is not an address to download from ({error}); it begins with https://.") from None
    except httpx2.HTTPError as error:
        if came:
            raise EnvironmentProblem(
                f"The download of {entry.file_name} broke off after {came:,} of {entry.size:,} bytes; "
                f"run it again, {local}."
            ) from None
        host = httpx2.URL(url).host
        raise EnvironmentProblem(f"{host} cannot be reached ({_reason(error)}); check the network, {local}.") from None


# -- where they go -------------------------------------------------------------------------------------------------


def _store(entry: Entry, target: Path, first: bytes, rest: Iterator[bytes], progress: Progress) -> str | None:
    """Write to a temporary file, check, rename; what is wrong with the bytes, or None where they were kept."""
    with _disk(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{entry.file_name}.", suffix=".part", dir=target.parent)
    temporary = Path(name)
    try:
        digest, size, chunk = hashlib.sha256(), 0, first
        # closefd and no buffering: what is not written fails here and not in a late close.
        with os.fdopen(handle, "wb", buffering=0) as file:
            while chunk and size <= entry.size:  # one chunk more than allowed is enough to know
                digest.update(chunk)
                size += len(chunk)
                with _disk(target):
                    _write(file.fileno(), chunk)
                progress(min(size, entry.size), entry.size)
                chunk = next(rest, b"")
            with _disk(target):
                os.fsync(file.fileno())
        problem = _problem(entry, size, first[:_HEAD], digest.hexdigest())
        if problem is None:
            with _disk(target):
                temporary.chmod(0o644)  # mkstemp makes files that only their owner may read
                temporary.replace(target)
        return problem
    finally:
        temporary.unlink(missing_ok=True)


def _refusal(entry: Entry, problem: str) -> str:
    return (
        f"What came for {entry.file_name} {problem}; nothing was kept, try again, or take a checked copy with: "
        f"memassay data fetch {entry.name} --from FILE."
    )


def _wrong_copy(entry: Entry, problem: str, source: Path) -> str:
    """The refusal of a local copy: what it is instead, as far as that can be told."""
    if not source.is_file():  # a pipe, say: it is empty now
        return f"{source} is not {entry.name}: it {problem}; nothing was kept."
    size = source.stat().st_size
    said = f"it {problem}"
    if size != entry.size:
        with source.open("rb") as file:
            page = "a web page (HTML) of " if looks_like_html(file.read(_HEAD)) else ""
        said = f"{page}{size:,} bytes, expected {entry.size:,}"
    refused = f"{source} is not {entry.name}: {said}; nothing was kept"
    twins = [other for other in CATALOGUE.values() if other.size == size]
    checksum = sha256_of(source) if twins else ""
    for other in twins:
        if other.sha256 == checksum:
            return f"{refused}. It is {other.name}: memassay data fetch {other.name} --from {shlex.quote(str(source))}."
    return f"{refused}, give a copy of {entry.file_name}."


def _write(descriptor: int, chunk: bytes) -> None:
    view = memoryview(chunk)
    while view:
        view = view[os.write(descriptor, view) :]


@contextlib.contextmanager
def _disk(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise EnvironmentProblem(
            f"{target} cannot be written: {_reason(error)}; free some space or set MEMASSAY_DATA to another folder."
        ) from None


def _reason(error: Exception) -> str:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error) or type(error).__name__
    return reason[:1].lower() + reason[1:]
