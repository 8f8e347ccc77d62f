"""How many calls a user may make in a minute."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable

_WINDOW_SECONDS = 60.0
_ROUNDING = 1e-6  # of sums of seconds


class Rates:
    """At most so many calls of each user in any sixty seconds; a call that is refused is not counted.

    Counts are kept in this process alone, one time for each call that still counts. Any thread may ask.

    Args:
        most: calls of one user, or 0 for any number.
        clock: seconds that never go backwards.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = most, clock
        self._calls: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def wait(self, user: str) -> int:
        """Count a call of a user.

        Returns:
            0, or where it is one too many the seconds, at least 1, until there is room for one more.
        """
        if not self._most:
            return 0
        with self._lock:
            now, calls = self._clock(), self._calls.setdefault(user, deque())
            while calls and now - calls[0] >= _WINDOW_SECONDS - _ROUNDING:
                calls.popleft()
            if len(calls) >= self._most:
                return max(1, math.ceil(_WINDOW_SECONDS - (now - calls[0]) - _ROUNDING))
            calls.append(now)
            return 0
