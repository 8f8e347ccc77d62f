"""``memassay judge RUN --again``: the graders that need no model say everything anew, and only that counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit import Cli
from memassay.core.types import Judgement
from memassay.judging.evidence import EvidenceJudge
from memassay.running.judge import grader_digest
from memassay.runs.folder import RunFolder
from memassay.runs.replaced import regraded

METRIC = "all@40"
Small = Callable[..., tuple[Any, Path]]


def altered(folder: Path) -> Path:
    """A run whose first right verdict of the arm was made wrong, by hand."""
    [path] = (folder / "judgements").glob("*.jsonl")
    lines = path.read_text("utf-8").splitlines()
    at = next(
        at for at, line in enumerate(lines)
        if json.loads(line)["subjects"][0]["arm"] == "toy" and json.loads(line)["scores"][METRIC]
    )  # fmt: skip
    record = json.loads(lines[at])
    record["scores"][METRIC] = 0.0
    lines[at] = json.dumps(record, separators=(",", ":"))
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def plain(summary: Any) -> Any:
    """A summary without what each making of it has of its own."""
    return {key: summary[key] for key in ("arms", "controls", "cells")}


def test_a_changed_verdict_is_restored_and_the_old_ones_are_kept(small_run: Small, cli: Cli) -> None:
    before, folder = small_run("r")
    [path] = (folder / "judgements").glob("*.jsonl")
    first = path.read_bytes()
    altered(folder)
    spoilt = path.read_bytes()
    assert spoilt != first

    usual = cli("judge", folder, "--json")
    assert usual.code == 0, usual.err
    assert path.read_bytes() == spoilt, "without --again what was judged stays"
    assert usual.json["arms"]["toy"]["metrics"][METRIC] != before["arms"]["toy"]["metrics"][METRIC]

    again = cli("judge", folder, "--again", "--json")
    assert again.code == 0, again.err
    assert path.read_bytes() == first
    assert plain(again.json) == plain(before)
    assert json.loads((folder / "summary.json").read_text("utf-8")) == again.json
    assert (folder / "report.html").is_file() and (folder / "summary.md").is_file()
    count = len(first.splitlines())
    said = f"{path.stem} gave its {count} verdicts again, 1 of them otherwise; the old ones are in "
    assert said + f"judgements/replaced/{path.stem}.1.jsonl" in " ".join(again.err.split())
    assert (folder / "judgements" / "replaced" / f"{path.stem}.1.jsonl").read_bytes() == spoilt
    [told] = regraded(RunFolder(folder))
    assert told["verdicts"] == count and len(told["grader"]) == 64 and told["config"]["judge"]
    assert (folder / "judgements" / "replaced" / f"{path.stem}.1.json").read_bytes() == path.with_suffix(
        ".json"
    ).read_bytes()


def test_a_regrade_that_was_killed_goes_on(small_run: Small, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    before, folder = small_run("r")
    path = altered(folder)
    count, asked = len(path.read_bytes().splitlines()), 0
    judge = EvidenceJudge.judge

    def killed(self: EvidenceJudge, cell: Any) -> Judgement | None:
        nonlocal asked
        asked += 1
        if asked > 3:
            raise KeyboardInterrupt
        return judge(self, cell)

    with monkeypatch.context() as patch:
        patch.setattr(EvidenceJudge, "judge", killed)
        assert cli("judge", folder, "--again").code == 130
    assert len(path.read_bytes().splitlines()) == 3
    done = cli("judge", folder, "--json")
    assert done.code == 0, done.err
    assert len(path.read_bytes().splitlines()) == count
    assert plain(done.json) == plain(before)
    assert len(regraded(RunFolder(folder))) == 1


def test_another_version_of_a_grader_is_refused_unless_it_judges_all(
    small_run: Small, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, folder = small_run("r")
    [path] = (folder / "judgements").glob("*.jsonl")
    config = EvidenceJudge.config.fget
    monkeypatch.setattr(EvidenceJudge, "config", property(lambda self: {**config(self), "version": 99}))
    refused = cli("judge", folder)
    assert refused.code == 2 and "version" in refused.err
    assert cli("judge", folder, "--again").code == 0
    assert json.loads(path.with_suffix(".json").read_text("utf-8"))["version"] == 99
    assert regraded(RunFolder(folder))[0]["config"]["version"] == 99
    assert cli("judge", folder).code == 0


def test_what_cannot_be_read_any_more_is_replaced(small_run: Small, cli: Cli) -> None:
    before, folder = small_run("r")
    path = altered(folder)
    path.write_bytes(b"no JSON\n" + path.read_bytes())
    assert cli("judge", folder).code == 2
    done = cli("judge", folder, "--again", "--json")
    assert done.code == 0 and plain(done.json) == plain(before)
    assert "of old ones that cannot be read" in " ".join(done.err.split())


def test_the_digest_is_of_settings_and_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib
    import sys

    monkeypatch.syspath_prepend(str(tmp_path))
    found = []
    for number, code in enumerate(("a = 1\n", "a = 2\n", "a = 1\n")):
        (tmp_path / "beside.py").write_text(f"# {number}\n", "utf-8")
        (tmp_path / "alone.py").write_text(f"{code}class J:\n    id = 'j'\n    config = {{'v': 1}}\n", "utf-8")
        sys.modules.pop("alone", None)
        importlib.invalidate_caches()
        found.append(grader_digest(importlib.import_module("alone").J()))
    sys.modules.pop("alone", None)
    assert found[0] == found[2] != found[1], "of a single module what lies beside it is no part"
    budgets = [
        grader_digest(EvidenceJudge(budgets=(budget,), ks=(1,), tokens="chars4", key="original")) for budget in (1, 2)
    ]
    assert budgets[0] != budgets[1]
