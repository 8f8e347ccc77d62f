"""Who speaks in an attempt: identities of a pool of keys, by role."""

from __future__ import annotations

import threading
from collections.abc import Callable

from memassay.core.errors import UsageError

ROLES = ("teacher", "learner", "bystander", "stranger")
"""Roles that always have the same numbers of a pool that is an attempt's own."""
AGENTS = 8
"""Of such a pool."""

_USED: dict[str, int] = {}
_lock = threading.Lock()


class People:
    """The identities of one store.

    Args:
        key: of the pool's admin, ``KEY``; agents have ``KEY-001`` ….
        number: the next number of the pool for a role that has none yet.
    """

    def __init__(self, key: str, number: Callable[[str], int]) -> None:
        self._key, self._number = key, number
        self._numbers: dict[str, int] = {}
        self._lock = threading.Lock()

    def email(self, role: str, attempt: int) -> str:
        """Who plays a role in an attempt: the same one whenever it is asked for."""
        with self._lock:
            name = f"{role}-{attempt}"
            if name not in self._numbers:
                self._numbers[name] = self._number(role)
            return email_of(self._numbers[name])

    def key(self, email: str) -> str:
        """The key of somebody of the pool.

        Raises:
            UsageError: the pool has nobody of that name.
        """
        head, _, tail = email.partition("@")
        number = head.removeprefix("bench-agent-")
        if not number.isdigit() or email_of(int(number)) != email or not tail:
            raise UsageError(f"The pool has nobody called {email!r}; ask identity() for a name.")
        return f"{self._key}-{number}"

    def emails(self) -> tuple[str, ...]:
        """Of everybody who plays a role, in the order of the pool."""
        with self._lock:
            return tuple(email_of(number) for number in sorted(self._numbers.values()))


def own_numbers() -> Callable[[str], int]:
    """Numbers of a pool that belongs to one attempt."""
    others: list[str] = []

    def number(role: str) -> int:
        if role in ROLES:
            return ROLES.index(role) + 1
        others.append(role)
        if len(ROLES) + len(others) > AGENTS:
            raise UsageError(f"An attempt has {AGENTS} identities; {role!r} would be one more.")
        return len(ROLES) + len(others)

    return number


def shared_numbers(platform: str, first: int, untouched: Callable[[int], bool]) -> Callable[[str], int]:
    """Numbers of a pool that all attempts share: each is given out once, and not to anybody who has kept something.

    Args:
        platform: whose pool.
        first: where to begin.
        untouched: whether the holder of a number has kept nothing yet.
    """

    def number(_: str) -> int:
        with _lock:
            found = max(first, _USED.get(platform, 0) + 1)
            while not untouched(found):
                found += 1
            _USED[platform] = found
            return found

    return number


def email_of(number: int) -> str:
    """Of an agent of a pool; records name their owners so."""
    return f"bench-agent-{number:03d}@apikey.local"
