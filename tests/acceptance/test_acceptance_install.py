"""Python 3.11 reads a .pth as ASCII where the locale is C, before any code of ours: no path may stand in one."""

from __future__ import annotations

import sysconfig
from pathlib import Path


def test_no_path_of_the_checkout_stands_in_a_pth() -> None:
    found = list(Path(sysconfig.get_paths()["purelib"]).glob("*memassay*.pth"))
    assert found, "the tests run on the editable install that `make dev` makes"
    for path in found:
        assert all(line.startswith("import ") for line in path.read_text("ascii").split("\n") if line)
