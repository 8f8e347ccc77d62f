"""A verdict belongs to the answer it was given on, and a run to its tasks and its identity."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit import Cli
from memassay.running.pipeline import rejudge
from memassay.runs.folder import RunFolder
from memassay.runs.lines import read_lines

Run = Callable[..., tuple[Any, Path]]

MOODY = '''
import json
from pathlib import Path

from memassay.core.types import Passage


class Moody:
    """Ranks by shared words, but as a file says: "worse" gives nothing of use to some questions, "crash" fails them."""

    def __init__(self, *, mood: str = "") -> None:
        self.mood = Path(mood)

    def build(self, corpus, place, context):
        rows = [[u.id, u.text] for d in corpus.documents for u in d.units]
        (place / "rows.json").write_text(json.dumps(rows))

    def open(self, ref):
        self.rows = json.loads((Path(ref.location) / "rows.json").read_text())
        return Store(self.mood, self.rows)


class Store:
    def __init__(self, mood, rows):
        self.mood, self.rows = mood, rows

    def retrieve(self, query):
        mood = self.mood.read_text() if self.mood.is_file() else ""
        some = len(query.text) % 2 == 0 or "lighthouse keeper" in query.text
        if some and mood == "crash":
            raise RuntimeError("not today")
        asked = set(query.text.strip("?").split())
        ranked = sorted(self.rows, key=lambda row: (-len(asked & set(row[1].split())), row[0]))
        if some and mood == "worse":
            ranked = ranked[-1:]
        return [Passage(text=text, unit_ids=(unit,)) for unit, text in ranked]
'''


@pytest.fixture
def mood(tmp_path: Path) -> Path:
    return tmp_path / "mood"


@pytest.fixture
def moody(small_run: Run, tmp_path: Path, mood: Path) -> Run:
    """``moody("name", "crash")``: a run of one identity whose memory is in that mood."""
    path = tmp_path / "moody.py"
    path.write_text(MOODY, encoding="utf-8")
    memories = {"moody": {"use": f"{path}:Moody", "mood": str(mood)}, "good": {}}

    def run(name: str, how: str = "", **more: Any) -> tuple[Any, Path]:
        mood.write_text(how)
        return small_run(name, memories, primary={"metric": "all@400", "a": "good", "b": "moody"}, **more)

    return run


def taken(source: Path, into: Path, name: str) -> None:
    """A segment of another copy of the run, with its dossiers."""
    (segment,) = source.glob("answers-*.jsonl")
    shutil.copy(segment, into / name)
    shutil.copytree(source / "dossiers", into / "dossiers", dirs_exist_ok=True)


def fresh(folder: Path, name: str) -> Path:
    """A copy of a run that nobody has judged yet."""
    copy = folder.parent / name
    shutil.copytree(folder, copy)
    shutil.rmtree(copy / "judgements")
    (copy / "summary.json").unlink()
    return copy


def numbers(summary: Any) -> Any:
    """A summary without what names the folder, says when, measures time or counts reads."""
    kept = {k: v for k, v in summary.items() if k not in ("run", "arms", "publishable", "registration", "test_reads")}
    # Whether the source tree is clean may change while the tests run.
    kept["reasons"] = [r for r in summary["publishable"]["reasons"] if "uncommitted" not in r]
    kept["arms"] = {n: {k: v for k, v in arm.items() if k != "usage"} for n, arm in summary["arms"].items()}
    return kept


def value(summary: Any, arm: str = "moody") -> Any:
    return summary["arms"][arm]["metrics"]["all@400"]["value"]


def twice(summary: Any) -> list[str]:
    return [r for r in summary["publishable"]["reasons"] if "finished twice with different outcomes" in r]


# -- which record counts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["crash", "worse"])
@pytest.mark.parametrize("first", ["answers-0.jsonl", "answers-9.jsonl"])
def test_of_two_segments_the_first_by_name_counts(moody: Run, how: str, first: str) -> None:
    one, folder = moody("one")
    other, second = moody("other", how)
    assert value(one) > value(other) > 0
    taken(second, folder, first)
    both = rejudge(RunFolder(folder))
    counts, not_ = (other, one) if first == "answers-0.jsonl" else (one, other)
    assert value(both) == value(counts) != value(not_)
    assert both["arms"]["moody"]["failures"] == counts["arms"]["moody"]["failures"]
    assert both["arms"]["moody"]["secondary"] == counts["arms"]["moody"]["secondary"]
    assert both["controls"]["marker"] == counts["controls"]["marker"]
    assert both["comparisons"] == counts["comparisons"]
    cells = both["cells"]
    assert cells["duplicates"] == cells["planned"] == cells["counted"]
    assert 0 < cells["differing"] < cells["duplicates"]
    assert twice(both) and both["publishable"]["value"] is False
    assert not twice(one) and not twice(other)


def test_duplicates_that_say_the_same_are_no_reason(moody: Run) -> None:
    one, folder = moody("one")
    _, again = moody("again")
    taken(again, folder, "answers-0.jsonl")
    both = rejudge(RunFolder(folder))
    assert both["cells"]["duplicates"] == both["cells"]["planned"]
    assert both["cells"]["differing"] == 0 and not twice(both)
    assert numbers(both)["arms"] == numbers(one)["arms"]


# -- judged before all was there -----------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["crash", "worse"])
def test_a_verdict_is_given_anew_when_another_answer_counts(moody: Run, how: str) -> None:
    one, folder = moody("one")
    other, second = moody("other", how)
    taken(second, folder, "answers-0.jsonl")
    at_the_end = rejudge(RunFolder(fresh(folder, "fresh")))
    before = RunFolder(folder).judgements("evidence")
    again = rejudge(RunFolder(folder))
    after = RunFolder(folder).judgements("evidence")
    changed = {key for key, verdict in after.items() if before[key] != verdict}
    assert changed and {key[1] for key in changed} == {"moody"}
    assert numbers(again) == numbers(at_the_end)
    for name in ("moody", "good"):
        arm, expected = again["arms"][name], at_the_end["arms"][name]
        assert arm["secondary"]["answered_only"] == expected["secondary"]["answered_only"]
        assert arm["metrics"] == expected["metrics"] == other["arms"][name]["metrics"]
    assert again["comparisons"] == at_the_end["comparisons"] == other["comparisons"] != one["comparisons"]
    assert again["primary"] == {"metric": "all@400", "split": "all", "a": "good", "b": "moody"}

    size = (folder / "judgements" / "evidence.jsonl").stat().st_size
    assert numbers(rejudge(RunFolder(folder))) == numbers(again)
    assert (folder / "judgements" / "evidence.jsonl").stat().st_size == size, "a verdict is given once"


def test_a_segment_that_is_taken_away_again_changes_nothing(moody: Run) -> None:
    one, folder = moody("one")
    _, second = moody("other", "worse")
    taken(second, folder, "answers-0.jsonl")
    rejudge(RunFolder(folder))
    (folder / "answers-0.jsonl").unlink()
    assert numbers(rejudge(RunFolder(folder))) == numbers(one)


def test_a_shard_that_comes_late_is_judged_as_if_it_had_been_there(moody: Run) -> None:
    whole, _ = moody("whole")
    moody("parts", shard=(2, 2))
    late, _ = moody("parts", shard=(1, 2))
    assert numbers(late) == numbers(whole)


# -- tasks and manifest --------------------------------------------------------------------------------------------


@pytest.fixture
def done(cli: Cli, workplace: Path, small_file: Callable[..., Path], toy: str) -> tuple[Path, list[str]]:
    """A finished run, and its command."""
    command = [
        "run", "locomo", "--data", str(small_file(2, 6)), "--memory", f"toy={toy},half={toy}", "--set", "half.keep=0.5",
        "--tokens", "chars4", "--budgets", "40,400", "--builds", "2", "--primary", "all@400:toy>half",
        "--out", str(workplace / "r"), "--json",
    ]  # fmt: skip
    ran = cli(*command)
    assert ran.code == 0, ran.err
    return workplace / "r", command


@pytest.mark.parametrize("what", ["gold", "prompt", "last", "order", "gone"])
def test_other_tasks_than_those_of_the_run_are_refused(cli: Cli, done: tuple[Path, list[str]], what: str) -> None:
    folder, command = done
    path = folder / "tasks.jsonl"
    rows = [record for _, record in read_lines(path)]
    match what:
        case "gold":
            rows[0]["gold"]["original"]["evidence"][0]["text"] = "I"
        case "prompt":
            rows[0]["prompt"] += "?"
        case "last":
            rows.pop()
        case "order":
            rows.reverse()
        case "gone":
            rows.clear()
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    if what == "gone":
        path.unlink()
    before = {p.name: p.read_bytes() for p in folder.rglob("*.jsonl")} | {"s": (folder / "summary.json").read_bytes()}
    for again in (["judge", str(folder), "--json"], command):
        ran = cli(*again)
        assert ran.code == 2 and ran.out == ""
        assert "tasks.jsonl is not what the manifest says" in ran.complaint
    after = {p.name: p.read_bytes() for p in folder.rglob("*.jsonl")} | {"s": (folder / "summary.json").read_bytes()}
    assert after == before


@pytest.mark.parametrize(
    "changes",
    [
        {"builds": 1},
        {"primary": {"metric": "all@400", "split": "all", "a": "half", "b": "toy"}},
        {"primary": None},
        {"budgets": [40], "ks": [1], "tokens": "o200k_base"},
        {"controls": False, "limit": 2, "categories": ["4"], "scopes": ["conv-900"]},
        {"seed": 9, "limits": {"build_seconds": 1, "retrieve_seconds": 1, "answer_seconds": 1}},
    ],
)
def test_what_the_manifest_repeats_of_the_experiment_changes_no_number(
    cli: Cli, done: tuple[Path, list[str]], changes: dict[str, Any]
) -> None:
    folder, command = done
    before = json.loads((folder / "summary.json").read_text("utf-8"))
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    assert all(manifest["experiment"][name] != value for name, value in changes.items())
    manifest["experiment"] |= changes
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    for again in (["judge", str(folder), "--json"], command):
        ran = cli(*again)
        assert ran.code == 0, ran.err
        assert numbers(ran.json) == numbers(before)


@pytest.mark.parametrize("memories", [{}, {"toy": {"use": "files"}}, {"half": {"use": "x"}, "toy": {"use": "y"}}])
def test_memories_that_the_manifest_repeats_change_no_number(
    cli: Cli, done: tuple[Path, list[str]], memories: dict[str, Any]
) -> None:
    folder, _ = done
    before = json.loads((folder / "summary.json").read_text("utf-8"))
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    manifest["experiment"]["memories"] = memories
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    ran = cli("judge", str(folder), "--json")
    assert ran.code in (0, 2)
    if ran.code:
        assert "manifest.json" in ran.complaint
    else:
        assert ran.json["arms"]["toy"]["metrics"] == before["arms"]["toy"]["metrics"]
        assert ran.json["arms"]["half"]["metrics"] == before["arms"]["half"]["metrics"]
