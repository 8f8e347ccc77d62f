"""An installed package whose code is edited without a new version is another memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit import Cli

MEMORY = '''
import json
import re
from pathlib import Path

from memassay.core.types import Passage

IMPORT


class Owl:
    """Ranks units by shared words."""

    def build(self, corpus, place, context):
        rows = [[u.id, u.text] for d in corpus.documents for u in d.units]
        (Path(place) / "rows.json").write_text(json.dumps(rows))

    def open(self, ref):
        return Store(json.loads((Path(ref.location) / "rows.json").read_text()))


class Store:
    def __init__(self, rows):
        self.rows = rows

    def retrieve(self, query):
        asked = set(re.findall(r"\\w+", query.text))
        rows = sorted(self.rows, key=lambda row: (SIGN * len(asked & set(re.findall(r"\\w+", row[1]))), row[0]))
        return [Passage(text=text, unit_ids=(unit,)) for unit, text in rows[:1]]
'''
WORST, BEST = "SIGN = +1", "SIGN = -1"
# Where the edited line is: beside the class, in a helper of its package, or in a package without an __init__.py.
LAYOUTS = {
    "module": ("owl.py", "owl:Owl", {"owl.py": MEMORY}),
    "package": (
        "owl/deep/ranking.py",
        "owl.memory:Owl",
        {
            "owl/__init__.py": "",
            "owl/deep/__init__.py": "",
            "owl/deep/ranking.py": "IMPORT\n",
            "owl/memory.py": MEMORY.replace("IMPORT", "from owl.deep.ranking import SIGN"),
        },
    ),
    "namespace": (
        "owls/night/ranking.py",
        "owls.night.memory:Owl",
        {
            "owls/night/ranking.py": "IMPORT\n",
            "owls/night/memory.py": MEMORY.replace("IMPORT", "from owls.night.ranking import SIGN"),
        },
    ),
}


def installed(site: Path, layout: str, line: str) -> dict[str, str]:
    """A package as an installer leaves it; returns the environment of a process that finds it."""
    edited, point, files = LAYOUTS[layout]
    for name, text in files.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text.replace("IMPORT", line) if name == edited else text, encoding="utf-8")
    about = site / "night_owl-1.0.dist-info"
    about.mkdir(parents=True, exist_ok=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: night-owl\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(f"[memassay.memories]\nowl = {point}\n", encoding="utf-8")
    return {"PYTHONPATH": str(site)}


def stores(workplace: Path) -> set[str]:
    return {p.parent.name for p in (workplace / "runs" / "stores").glob("*/built.json")}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_code_that_was_edited_without_a_new_version_is_another_memory(
    cli_process: Callable[..., Any], towns: tuple[Path, Path], workplace: Path, tmp_path: Path, layout: str
) -> None:
    site = tmp_path / "site"
    command = [
        "run", "custom", "--docs", "docs.jsonl", "--questions", "questions.jsonl", "--memory", "owl", "--tokens",
        "chars4", "--budgets", "4000", "--no-controls", "--json", "--out",
    ]  # fmt: skip
    ran = cli_process(*command, "runs/one", env=installed(site, layout, WORST))
    assert ran.code == 0, ran.err
    first = ran.json["arms"]["owl"]
    assert first["metrics"]["all@4000"]["value"] == 0.0
    assert (first["source"]["origin"], first["source"]["version"]) == ("night-owl", "1.0")
    before = stores(workplace)
    assert len(before) == 1

    env = installed(site, layout, BEST)
    ran = cli_process(*command, "runs/two", env=env)
    assert ran.code == 0, ran.err
    second = ran.json["arms"]["owl"]
    assert second["metrics"]["all@4000"]["value"] == 1.0
    assert second["source"]["version"] == "1.0" and second["source"]["code"] != first["source"]["code"]
    assert before < stores(workplace) and len(stores(workplace)) == 2, "the old code's store is not the new code's"

    kept = (workplace / "runs" / "one" / "answers-1of1.jsonl").read_bytes()
    refused = cli_process(*command, "runs/one", env=env)
    assert refused.code == 2 and refused.out == ""
    assert "arms.owl.source" in refused.complaint
    assert (workplace / "runs" / "one" / "answers-1of1.jsonl").read_bytes() == kept


def test_the_same_code_is_the_same_memory(
    cli_process: Callable[..., Any], towns: tuple[Path, Path], workplace: Path, tmp_path: Path, cli: Cli
) -> None:
    """The code's digest stands in the identity, follows from the files alone, and a judge needs no package for it."""
    command = [
        "run", "custom", "--docs", "docs.jsonl", "--questions", "questions.jsonl", "--memory", "owl", "--tokens",
        "chars4", "--budgets", "4000", "--no-controls", "--json", "--out",
    ]  # fmt: skip
    for number in (1, 2):
        ran = cli_process(*command, "runs/one", env=installed(tmp_path / f"site-{number}", "package", BEST))
        assert ran.code == 0, ran.err
    assert len(stores(workplace)) == 1
    source = ran.json["arms"]["owl"]["source"]
    identity = json.loads((workplace / "runs" / "one" / "manifest.json").read_text("utf-8"))["identity"]
    assert identity["arms"]["owl"]["source"] == f"night-owl 1.0 {source['code']}"
    assert len(source["code"]) == 12
    judged = cli("judge", "runs/one", "--json")
    assert judged.code == 0, judged.err
    assert judged.json["arms"]["owl"]["source"] == source
