"""Where a run reads and writes: disk, data sets, the table of prices."""

from __future__ import annotations

import json
import shutil
import tempfile
from importlib import resources
from pathlib import Path

from memassay.data.catalogue import CATALOGUE
from memassay.data.places import present
from memassay.models.prices import TABLE_DATE
from memassay.running.doctor.finding import Finding

_LITTLE_BYTES = 1024**3
_OTHER_TEMPORARY = "set TMPDIR to a folder that can be written"


def shortened(path: Path) -> str:
    """A path that names nobody: below the home folder as ``~/…``, elsewhere the last name alone."""
    try:
        return f"~/{path.relative_to(Path.home())}"
    except ValueError:
        return path.name or "/"


def disk() -> list[Finding]:
    """Whether the folders that a run writes to can be written, and how much is free there."""
    try:
        temporary = Path(tempfile.gettempdir())
    except FileNotFoundError as error:
        lacking = Finding("disk", "temporary folder", "missing", str(error), _OTHER_TEMPORARY)
        return [_folder("working folder", Path(), "go to another folder"), lacking]
    return [
        _folder("working folder", Path(), "go to another folder"),
        _folder("temporary folder", temporary, _OTHER_TEMPORARY),
    ]


def data_sets() -> list[Finding]:
    """Which data sets of the catalogue are here."""
    found = []
    for entry in CATALOGUE.values():
        get_it = f"memassay data fetch {entry.name}" + ("" if entry.url else " --from FILE")
        here = present(entry.name) is not None
        found.append(
            Finding("data", entry.name, "ok", "here")
            if here
            else Finding("data", entry.name, "note", "not here", get_it)
        )
    return found


def prices() -> list[Finding]:
    """The date of the table of prices and the models in it."""
    table = json.loads(resources.files("memassay.models").joinpath("prices.json").read_text(encoding="utf-8"))
    return [Finding("prices", f"table of {TABLE_DATE}", "ok", ", ".join(sorted(table["models"])))]


def _folder(name: str, folder: Path, fix: str) -> Finding:
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix="memassay-doctor-") as file:
            file.write(b"\0" * 4096)
            file.flush()
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Finding("disk", name, "missing", f"it cannot be written: {error.strerror or error}", fix)
    detail = f"{free / 1024**3:,.1f} GB free"
    if free < _LITTLE_BYTES:
        return Finding(
            "disk", name, "note", detail, "make room: runs, stores and the folders of the cells are written to disk"
        )
    return Finding("disk", name, "ok", detail)
