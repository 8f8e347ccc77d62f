"""Every command on the page of the memory ``markdown``, run in an empty folder, in the order of the page."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

from kit import ROOT, Cli

PAGE = ROOT / "docs" / "memories" / "markdown.md"
FENCE = re.compile(r"(?:^`(?P<path>[^`\n]+)`\n\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)


def test_the_page_can_be_followed(cli: Cli, workplace: Path) -> None:
    fences = list(FENCE.finditer(PAGE.read_text(encoding="utf-8")))
    for fence in fences:
        if fence["path"]:
            path = workplace / fence["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(fence["text"], encoding="utf-8")
    commands, out = 0, ""
    for fence in fences:
        if fence["kind"] == "sh":
            for line in fence["text"].splitlines():
                name, *words = shlex.split(line)
                assert name == "memassay"
                ran = cli(*words)
                assert ran.code == 0, f"{line}\n{ran.err}"
                commands, out = commands + 1, ran.out
        elif fence["kind"] == "text":
            assert out == fence["text"]
        elif fence["kind"] == "json" and not fence["path"]:
            assert json.loads(fence["text"])["mcpServers"]["notes"]["args"][:3] == ["memory", "serve", "--store"]
    assert commands > 20
    boiler = (workplace / "notes" / "house" / "boiler.md").read_text(encoding="utf-8")
    assert boiler.startswith(next(fence["text"] for fence in fences if fence["kind"] == "yaml"))
    assert "press reset once\n- F29: no flame; wait a minute\n- F75" in boiler
    assert "[Brandt & Sons](firms/brandt.md)" in (workplace / "notes" / "index.md").read_text(encoding="utf-8")
    summary = json.loads((workplace / "runs" / "notes" / "summary.json").read_text(encoding="utf-8"))
    assert summary["arms"]["markdown"]["n"] == 4
    assert summary["arms"]["markdown"]["failures"] == {"memory": 0, "provider": 0, "harness": 0}
    builds = [json.loads(line) for line in (workplace / "runs/notes/builds.jsonl").read_text().splitlines()]
    [built] = [one for one in builds if one["memory"] == "markdown" and not one["scope"].endswith("+marker")]
    store = workplace / "runs" / "stores" / built["store"]["location"]
    assert cli("store", "query", "count", "", "--dir", store).out == f"count: {built['documents']}\n"
    assert cli("store", "create", "new", "--content", "x", "--dir", store).code == 2
    boilers = [item["key"] for item in cli("store", "find", "--fuzzy", "hboil", "--dir", "notes", "--json").json]
    assert boilers == ["house/boiler"]
    assert cli("store", "retrieve", "boiler", "--dir", "notes").code == 2
