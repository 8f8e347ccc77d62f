"""The conformance suite passes on sound memories and says the right thing of each planted defect."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import planted_memories
import pytest
from planted_memories import MORE, MUST_SHOW

from kit import Cli
from memassay.core.registry import memories
from memassay.running.conformance import CHECKS, Report, check_memory, samples
from peer_programs import use_peer

FILE = Path(planted_memories.__file__)
NAMES = [check.name for check in CHECKS]
# What needs no model, and so no minute; files go through the command below.
LIGHT = {"full-context", "lexical"}
SHOWN = ("documents", "sources", "budget", "unicode")
"""What a memory that we show as an example is checked for by default."""
WORLD_ONLY = {"graph", "json-files", "sqlite"}
"""They hold the world of the suite association and can be built from no other documents."""
APART = {"curated", "iwe"}
"""They need a store that somebody wrote, and a program; each has a test of its own."""


def planted(name: str) -> str:
    return f"{FILE}:{name}"


def checked(memory: str, *only: str, seconds: float = 60.0) -> Report:
    return check_memory(memory, seconds=seconds, checks=[check for check in CHECKS if not only or check.name in only])


def told(report: Report) -> str:
    return "\n".join(map(str, report.failed))


# -- sound ---------------------------------------------------------------------------------------------------------


def passes(memory: str, *only: str) -> None:
    report = checked(memory, *only)
    if report.reason is not None:
        pytest.skip(f"{memory}: {report.reason}")
    assert [outcome.name for outcome in report.outcomes] == list(only or NAMES)
    assert not report.failed, told(report)


@pytest.mark.parametrize("name", sorted(LIGHT))
def test_a_memory_without_a_model_passes_all_but_the_ten_megabytes(name: str) -> None:
    passes(name, *[check for check in NAMES if check != "big-document"])


@pytest.mark.slow
@pytest.mark.parametrize("name", [*sorted({*memories.names()} - WORLD_ONLY - APART), planted("Sound")])
def test_every_memory_of_ours_passes(name: str) -> None:
    passes(name)


@pytest.mark.slow
def test_pages_that_somebody_wrote_pass(tmp_path: Path) -> None:
    # A page per document stands for what a person would have written; nobody writes one for no document at all.
    for name in ("notes", "many", "ledger", "scripts", "names", "hostile", "big"):
        folder = tmp_path / f"check-{name}"
        folder.mkdir()
        for number, document in enumerate(samples.corpus(name).documents):
            page = f"# {document.title or number}\n\n{document.text}\n"
            (folder / f"{number:03}.md").write_text(page, encoding="utf-8", errors="replace")
    report = check_memory("curated", {"store": str(tmp_path), "engine": "markdown"})
    assert not report.failed, told(report)
    left_out = {outcome.name: outcome.seen for outcome in report.outcomes if outcome.status != "passed"}
    assert list(left_out) == ["empty-store"] and "no pages of its own" in left_out["empty-store"]


@pytest.mark.slow
@pytest.mark.peer
def test_iwe_passes_all_but_the_ten_megabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    use_peer("iwe", monkeypatch)
    # It is a process per question: the minute that a check has is not enough where other work runs beside it.
    report = checked("iwe", seconds=300.0)
    (big,) = report.failed
    assert big.name == "big-document" and "overflowed its stack" in big.seen, told(report)
    assert {outcome.status for outcome in report.outcomes if outcome is not big} == {"passed"}


@pytest.mark.parametrize("name", sorted(WORLD_ONLY))
def test_a_form_of_a_world_is_not_applicable_and_says_so(name: str) -> None:
    report = checked(name, "settings", "documents")
    assert [outcome.status for outcome in report.outcomes] == ["passed", "not applicable"]
    assert report.outcomes[1].seen == "builds only from the world of the suite association"


@pytest.mark.parametrize("checks", [SHOWN, pytest.param((), marks=pytest.mark.slow, id="every check")])
def test_what_we_show_as_a_start_passes(checks: tuple[str, ...], cli: Cli, workplace: Path) -> None:
    assert cli("memory", "new", "night-owl").code == 0
    passes("./night-owl/src/night_owl/__init__.py:NightOwl", *checks)


def test_the_memory_of_the_documentation_passes(workplace: Path) -> None:
    page = (FILE.parents[2] / "docs" / "extending.md").read_text("utf-8")
    source = re.search(r"^```python\n(# mymem\.py\n.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert source is not None
    Path("mymem.py").write_text(source[1], encoding="utf-8")
    passes("./mymem.py:MyMemory", *SHOWN)


# -- planted defects -----------------------------------------------------------------------------------------------


def test_there_are_ten_planted_defects_and_more() -> None:
    assert len(MUST_SHOW) >= 10
    assert {check for check, _ in [*MUST_SHOW.values(), *MORE.values()]} == set(NAMES)


@pytest.fixture(autouse=True)
def nothing_is_left_in_var_tmp() -> Iterator[None]:
    """One planted memory writes where nobody empties anything."""
    yield
    for left in Path("/var/tmp").glob("planted-*.json"):
        left.unlink()


@pytest.mark.parametrize("defect", MUST_SHOW)
def test_a_planted_defect_is_named(defect: type) -> None:
    check, seen = MUST_SHOW[defect]
    (outcome,) = checked(planted(defect.__name__), check).outcomes
    assert outcome.status == "FAILED"
    assert re.search(seen, outcome.seen), outcome.seen
    assert outcome.fix


@pytest.mark.slow
@pytest.mark.parametrize("defect", [*MUST_SHOW, *MORE])
def test_no_other_check_complains(defect: type) -> None:
    check, seen = {**MUST_SHOW, **MORE}[defect]
    report = checked(planted(defect.__name__), seconds=6.0)
    assert [outcome.name for outcome in report.failed] == [check], told(report)
    assert re.search(seen, report.failed[0].seen), told(report)


def test_what_depends_on_the_last_question_is_named() -> None:
    (outcome,) = checked(planted("LearnsFromQuestions"), "deterministic").outcomes
    assert outcome.status == "FAILED" and "asked again, in another order" in outcome.seen


# -- how it ends ---------------------------------------------------------------------------------------------------


def test_the_command_says_it_in_json(cli: Cli) -> None:
    ran = cli("memory", "check", "files", "--set", "files.context=2", "--json")
    assert ran.code == 0 and ran.err == "", ran.err
    said = ran.json
    assert (said["memory"], said["options"], said["passed"]) == ("files", {"context": 2}, True)
    assert [check["name"] for check in said["checks"]] == NAMES
    assert {check["status"] for check in said["checks"]} == {"passed"}


@pytest.mark.parametrize(
    ("name", "passed", "reason"),
    [
        ("NeedsModel", ["passed          settings"], "it writes with a model and was given none"),
        ("NeedsExtra", [], "onnxruntime is not installed; run: pip install 'memassay[hybrid]'."),
    ],
)
def test_a_memory_that_cannot_be_measured_is_not_applicable_and_says_why_once(
    cli: Cli, name: str, passed: list[str], reason: str
) -> None:
    ran = cli("memory", "check", planted(name))
    assert ran.code == 3 and ran.complaint == f"memassay: {name} cannot be measured here: {reason}"
    *before, last = ran.out.splitlines()
    assert [line[:24] for line in before] == passed
    assert last.startswith("not applicable") and last.endswith(reason)
    statuses = [check["status"] for check in cli("memory", "check", planted(name), "--json").json["checks"]]
    assert statuses == ["passed"] * len(passed) + ["not applicable"] * (len(NAMES) - len(passed))


def test_a_memory_that_hangs_is_a_failed_check_and_no_hang(cli: Cli) -> None:
    started = time.monotonic()
    ran = cli("memory", "check", planted("HangsAtBirth"), "--seconds", "1")
    assert time.monotonic() - started < 10
    assert ran.code == 1 and ran.err == ""
    (first,) = ran.out.splitlines()
    assert first.startswith("FAILED          settings") and "seen: no answer after 1 s; fix: " in first


def test_one_error_is_one_thing_to_mend() -> None:
    report = checked(planted("ReturnsWords"), "documents", "sources", "hostile", "empty-store")
    first, *rest = report.failed
    assert first.name == "documents" and "retrieve() returned a list of str; return a list of Passage" in first.seen
    assert [outcome.name for outcome in rest] == ["sources", "empty-store", "hostile"]
    assert {outcome.fix for outcome in rest} == {"the same error as in documents"}
    assert first.fix != rest[0].fix


def test_another_error_keeps_the_advice_of_its_check() -> None:
    report = checked(planted("RaisesItsQuestion"), "sources", "unicode")
    assert [outcome.fix for outcome in report.failed] == [
        check.fix for check in CHECKS if check.name in ("sources", "unicode")
    ]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["lexicl"], "Unknown memory 'lexicl'. Did you mean 'lexical'?"),
        (["lexical", "--set", "lexical.windw=3"], "has no setting 'windw'. Did you mean 'window'"),
        (["lexical", "--set", "files.context=3"], "no memory 'files'"),
        (["lexical,files"], "Check one memory at a time: memassay memory check lexical."),
        (["./nowhere.py:Memory"], "There is no file"),
        ([planted("CannotBeMade")], "cannot be made: ValueError: no."),
    ],
)
def test_a_mistake_is_one_sentence(cli: Cli, arguments: list[str], complaint: str) -> None:
    ran = cli("memory", "check", *arguments)
    assert ran.code == 2 and ran.out == ""
    assert complaint in ran.complaint


def test_nothing_is_left_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    note = tmp_path / "started"
    monkeypatch.setenv("STARTED", str(note))
    assert not checked(planted("StartsAProcess"), "empty-store").failed
    stat = Path("/proc", note.read_text("ascii"), "stat")
    until = time.monotonic() + 5
    while (
        running := stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"
    ) and time.monotonic() < until:
        time.sleep(0.01)
    assert not running
