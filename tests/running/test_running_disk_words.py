"""A disk that is full is nobody's failure, whoever says so."""

from __future__ import annotations

import errno

import pytest

from memassay.core.errors import EnvironmentProblem, MemoryFailure
from memassay.running.build import disk_error
from memassay.running.failures import classify


class TheirError(Exception):
    """Of a package that only quotes the operating system."""


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("IoError: io error: No space left on device (os error 28)", errno.ENOSPC),
        ("cannot write: Read-only file system", errno.EROFS),
        ("the index is damaged", None),
    ],
)
def test_a_package_that_quotes_the_operating_system(said: str, code: int | None) -> None:
    found = disk_error(TheirError(said))
    assert (found and found.errno) == code


def test_a_full_disk_is_no_failure_of_the_memory() -> None:
    with pytest.raises(EnvironmentProblem, match="the disk is full"):
        classify(TheirError("No space left on device"))
    assert classify(TheirError("odd"))[0].kind == "memory"
    assert disk_error(MemoryFailure("No space left on device")) is None  # its own word counts
