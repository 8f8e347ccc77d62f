"""When not to look for cycles of dead objects."""

from __future__ import annotations

import gc
import threading


class Uncollected:
    """While anybody is inside, Python does not look for cycles of dead objects, which takes a twelfth of a build.

    Threads may share it. Whoever goes in leaves soon: what cycles there are stay until the last one is out.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before = False

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._before = gc.isenabled()
                gc.disable()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside and self._before:
                gc.enable()


# One for the process, as the switch that it turns is.
UNCOLLECTED = Uncollected()
