"""``memory check`` and ``memory list`` as their users call them, and the store that a memory leaves in a run."""

from __future__ import annotations

from pathlib import Path

import pytest
from knowledge_kit import tree

from kit import Cli

# -- memory check and memory list ----------------------------------------------------------------------------------


# One memory through every check of the command, by default: tests/running/test_conformance.py.
@pytest.mark.slow
@pytest.mark.parametrize("memory", ["files", "lexical", "markdown"])
def test_memory_check_passes_on_ours(memory: str, cli: Cli) -> None:
    ran = cli("memory", "check", memory, "--json")
    assert ran.code == 0, ran.out
    assert ran.json["passed"] is True
    status = {check["name"]: check["status"] for check in ran.json["checks"]}
    needed = {"documents", "sources", "budget", "deterministic", "read-only", "unicode", "empty-store", "same-names",
              "concurrent-reads", "big-document", "reopening"}  # fmt: skip
    assert needed <= set(status)
    assert {status[name] for name in needed} == {"passed"}


FAULTY = """
import json
from pathlib import Path

from memassay.core.errors import CannotMeasure
from memassay.core.types import Passage


class Faulty:
    def __init__(self, *, fault: str = "") -> None:
        self.fault = fault

    def build(self, corpus, place, context):
        if self.fault == "cannot":
            raise CannotMeasure("it needs a model and has none")
        rows = [[d.id, d.text or " ".join(u.text for u in d.units)] for d in corpus.documents]
        (Path(place) / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
        return {"passages": len(rows)}

    def open(self, ref):
        return Store(self.fault, Path(ref.location))


class Store:
    def __init__(self, fault, place):
        self.fault, self.place, self.asked = fault, place, 0
        self.rows = json.loads((place / "rows.json").read_text(encoding="utf-8"))

    def retrieve(self, query):
        self.asked += 1
        if self.fault == "writes":
            (self.place / "log.txt").write_text(str(self.asked), encoding="utf-8")
        words = set(query.text.casefold().split())
        rows = sorted(self.rows, key=lambda row: -len(words & set(row[1].casefold().split())))
        if self.fault == "moody" and self.asked % 2:
            rows.reverse()
        name = (lambda key: "invented") if self.fault == "invents" else (lambda key: key)
        return [Passage(text=text, doc_ids=(name(key),)) for key, text in rows[:50] if text.strip()]
"""


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        pytest.param("writes", "read-only", marks=pytest.mark.slow),
        pytest.param("moody", "deterministic", marks=pytest.mark.slow),
        ("invents", "sources"),
    ],
)
def test_memory_check_names_the_defect_and_ends_with_1(fault: str, check: str, cli: Cli, workplace: Path) -> None:
    Path("faulty.py").write_text(FAULTY, encoding="utf-8")
    ran = cli("memory", "check", "./faulty.py:Faulty", "--set", f"Faulty.fault={fault}", "--json")
    assert ran.code == 1, ran.out
    assert ran.json["passed"] is False
    failed = {row["name"]: row for row in ran.json["checks"] if row["status"] == "failed"}
    assert check in failed, set(failed)
    assert failed[check]["seen"] and failed[check]["fix"]


def test_memory_check_ends_with_2_or_3_where_there_is_nothing_to_check(cli: Cli, workplace: Path) -> None:
    Path("faulty.py").write_text(FAULTY, encoding="utf-8")
    ran = cli("memory", "check", "./faulty.py:Faulty", "--set", "Faulty.fault=cannot")
    assert ran.code == 3
    assert "it needs a model and has none" in ran.out + ran.err
    assert cli("memory", "check", "marckdown").code == 2
    assert "markdown" in cli("memory", "check", "marckdown").complaint
    assert cli("memory", "check", "./faulty.py:Other").code == 2
    assert cli("memory", "check", "markdown", "--set", "markdown.seed=3").code == 2


def test_memory_list_names_ours_with_their_settings(cli: Cli) -> None:
    listed = {row["name"]: row for row in cli("memory", "list", "--json").json}
    assert {"files", "lexical", "full-context", "markdown", "hybrid", "passages"} <= set(listed)
    names = {setting["name"] for setting in listed["markdown"]["settings"]}
    assert {"seeds", "depth", "whole", "max_chars"} <= names


# -- the store of a run --------------------------------------------------------------------------------------------


def test_the_store_of_a_run_can_be_read_and_served_and_not_edited(cli: Cli, workplace: Path) -> None:
    run = [
        "run",
        "hotpotqa",
        "--sample",
        "--links",
        "titles",
        "--memory",
        "markdown",
        "--limit",
        "4",
        "--tokens",
        "chars4",
    ]
    assert cli(*run, "--no-controls", "--out", "r").code == 0
    (folder,) = [path for path in workplace.glob("stores/*/store")]
    before = tree(folder)
    (place,) = {path.parent for path in folder.rglob("*.md")}
    assert len(list(place.glob("*.md"))) == 127
    ran = cli("store", "search", "town on the river", "--dir", place, "--json")
    assert ran.code == 0
    assert ran.json
    assert all((place / f"{row['key']}.md").is_file() for row in ran.json)
    stats = cli("store", "stats", "--dir", place, "--json").json
    assert (stats["pages"], stats["brokenLinks"]) == (127, [])
    assert tree(folder) == before
    again = cli(*run, "--no-controls", "--out", "again", "--json")
    assert again.code == 0, again.err
