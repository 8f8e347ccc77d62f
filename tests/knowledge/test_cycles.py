from __future__ import annotations

import gc
import threading

import pytest

from memassay.knowledge.cycles import Uncollected
from memassay.knowledge.entries import Settings
from memassay.knowledge.index import Incoming, Index


def test_cycles_are_looked_for_again_when_the_last_one_is_out() -> None:
    pause = Uncollected()
    with pause:
        assert not gc.isenabled()
        other = threading.Thread(target=lambda: pause.__enter__())
        other.start()
        other.join()
    assert not gc.isenabled(), "another thread is still inside"
    pause.__exit__(None, None, None)
    assert gc.isenabled()


def test_who_had_switched_it_off_finds_it_off() -> None:
    gc.disable()
    try:
        with Uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_an_update_leaves_the_switch_as_it_was() -> None:
    index = Index.private(Settings(tokens="chars4"))
    seen = []

    def read(key: str) -> Incoming:
        seen.append(gc.isenabled())
        if key == "broken":
            raise OSError("cannot be read")
        return Incoming("words")

    index.update(["a"], read)
    assert gc.isenabled()
    with pytest.raises(OSError, match="cannot be read"):
        index.update(["broken"], read)
    assert gc.isenabled()
    assert seen == [False, False]
    index.close()
