"""What a memory finds out while it builds stands in the run: in the record, in the summary, in the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kit import Cli

MEMORY = """
class Tells:
    '''Tells something of its build.'''

    def __init__(self, *, facts: str = "plain") -> None:
        self.facts = facts

    def build(self, corpus, place, context):
        odd = {"nan": {"x": float("nan")}, "list": ["exact"], "object": {"x": object()}}
        return {"passages": 1, "facts": odd.get(self.facts, {"search": "exact", "rounds": 3})}

    def open(self, ref):
        return self

    def retrieve(self, query):
        return []
"""


def records(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "builds.jsonl").read_text("utf-8").splitlines()]


def test_facts_of_a_plug_in_are_kept_as_they_are(cli: Cli, workplace: Path) -> None:
    Path("tells.py").write_text(MEMORY, encoding="utf-8")
    base = ["run", "custom", "--sample", "--memory", "./tells.py:Tells,files", "--tokens", "chars4", "--no-controls",
            "--limit", "2", "--json"]  # fmt: skip
    ran = cli(*base, "--out", "runs/one")
    assert ran.code == 0, ran.err
    facts = {record["memory"]: record["facts"] for record in records(workplace / "runs" / "one")}
    assert facts == {"Tells": {"search": "exact", "rounds": 3}, "files": {}}
    assert ran.json["arms"]["Tells"]["usage"]["build"]["facts"] == {"search": ["exact"], "rounds": [3]}
    page = (workplace / "runs" / "one" / "summary.md").read_text("utf-8")
    assert "| built with |" in page and '| rounds = 3, search = "exact" |' in page
    assert cli(*base, "--out", "runs/two").code == 0
    again = next(record for record in records(workplace / "runs" / "two") if record["memory"] == "Tells")
    assert again["reused"] and again["facts"] == {"search": "exact", "rounds": 3}


def test_the_search_of_an_arm_stands_in_the_manifest(cli: Cli, workplace: Path) -> None:
    base = ["run", "custom", "--sample", "--memory", "hybrid", "--set", "hybrid.embedder=hash", "--no-controls",
            "--limit", "1", "--json"]  # fmt: skip
    assert cli(*base, "--out", "runs/one").code == 0
    manifest = json.loads((workplace / "runs" / "one" / "manifest.json").read_text("utf-8"))
    assert manifest["identity"]["arms"]["hybrid"]["options"]["search"] == "exact"


@pytest.mark.parametrize("facts", ["nan", "list", "object"])
def test_facts_that_no_record_can_hold_are_a_failed_build(cli: Cli, workplace: Path, facts: str) -> None:
    Path("tells.py").write_text(MEMORY, encoding="utf-8")
    base = ["run", "custom", "--sample", "--memory", "./tells.py:Tells", "--no-controls", "--limit", "1", "--json"]
    cli(*base, "--set", f"Tells.facts={facts}", "--out", "runs/one")
    (record,) = records(workplace / "runs" / "one")
    assert record["status"] == "memory-crash"
    assert record["detail"] == "TypeError: build() returned facts that are no mapping of names to JSON values"
