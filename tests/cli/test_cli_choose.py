from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit import Cli
from memassay.core import registry
from memassay.core.errors import CannotMeasure

PLACES = ("attic", "cellar", "garage", "kitchen", "library", "pantry", "shed", "studio", "tower", "yard")
THINGS = ("ladder", "kettle", "hammer", "violin", "compass")

EMPTY = '''
class Empty:
    """Remembers nothing."""

    def build(self, corpus, place, context):
        pass

    def open(self, ref):
        return self

    def retrieve(self, query):
        return []
'''


@pytest.fixture
def docs(workplace: Path) -> Path:
    """A page per room, one of them in HTML, and two more as lines of a file."""
    folder = workplace / "notes"
    folder.mkdir()
    for number, place in enumerate(PLACES):
        kept = " ".join(
            f"The {thing} of the {place} must be kept on shelf {number}{i}." for i, thing in enumerate(THINGS)
        )
        (folder / f"{place}.md").write_text(f"# The {place}\n\n{kept}\n", encoding="utf-8")
    (folder / "rules.html").write_text(
        "<title>Rules</title><script>var x = 1</script><p>The ladder of the roof stays on shelf 991.</p>", "utf-8"
    )
    (folder / "more.jsonl").write_text(
        '{"id": "one", "text": "The cat sleeps in the tower."}\n{"id": "two", "text": "The dog sleeps outside."}\n',
        "utf-8",
    )
    return folder


@pytest.fixture
def asked(workplace: Path) -> Callable[..., Path]:
    """Writes a file of questions."""

    def write(*rows: Any, name: str = "questions.jsonl") -> Path:
        path = workplace / name
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        return path

    return write


def questions(count: int) -> list[dict[str, str]]:
    pairs = [(place, i, j) for i, place in enumerate(PLACES) for j in range(len(THINGS))]
    return [
        {"query": f"Where is the {THINGS[j]} of the {p}?", "answer": f"shelf {i}{j}", "doc": f"{p}.md"}
        for p, i, j in pairs[:: len(pairs) // count][:count]
    ]


# -- the decision --------------------------------------------------------------------------------------------------


def test_a_memory_that_finds_nothing_does_not_replace_the_incumbent(
    cli: Cli, docs: Path, asked: Callable[..., Path], workplace: Path
) -> None:
    (workplace / "empty.py").write_text(EMPTY, encoding="utf-8")
    path = asked(*questions(25))
    ran = cli("choose", "--docs", docs, "--questions", path, "--memory", "./empty.py:Empty", "--out", "runs/first")
    assert ran.code == 0, ran.err
    first, report = ran.out.splitlines()
    assert first.startswith("Keep lexical: the rule rejects every challenger of lexical. Empty: the weighted gap is ")
    assert "sign-flip p = " in first and "on 25 of 25 questions, weights uniform, rule default." in first
    assert report == "report: runs/first/report.html" and (workplace / "runs/first/report.html").is_file()
    assert "warning: no question is of handoff_continuity" in ran.err


def test_no_decision_ends_with_4_and_says_what_is_missing(cli: Cli, docs: Path, asked: Callable[..., Path]) -> None:
    (docs / "logo.png").write_bytes(b"\x89PNG\0")
    path = asked(*questions(5), {"query": "Who is the owner of the house?", "author": "me"})
    args = ("choose", "--docs", docs, "--questions", path, "--memory", "files", "--out", "runs/first")
    ran = cli(*args)
    assert ran.code == 4, ran.err
    assert ran.out.startswith("No decision: ") and "No decision is not a tie." in ran.out
    assert "1 question has no gold and decides nothing" in ran.out
    assert '1 file was left out: "logo.png" (not text)' in ran.err
    again = cli(*args, "--json")
    assert again.code == 4
    summary = again.json
    assert summary["conclusion"]["choice"]["incumbent"] == "lexical"
    assert set(summary["arms"]) >= {"files", "lexical"}
    # Ten pages, one page of HTML, and the two lines of a file.
    assert summary["suite_settings"]["documents"]["count"] == 13


def test_the_incumbent_is_the_baseline_and_what_is_missing_is_told(
    cli: Cli, docs: Path, asked: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = registry.memories.get

    def get(name: str) -> Any:
        def lacks() -> None:
            raise CannotMeasure("onnxruntime is not installed; run: pip install 'memassay[hybrid]'.")

        return lacks if name in ("hybrid", "full-context", "markdown") else real(name)

    monkeypatch.setattr(registry.memories, "get", get)
    ran = cli("choose", "--docs", docs, "--questions", asked(*questions(2)), "--incumbent", "files", "--json")
    assert ran.code == 4, ran.err
    assert "left out: hybrid: onnxruntime is not installed; run: pip install 'memassay[hybrid]'." in ran.err
    roles = {one["memory"]: one["role"] for one in ran.json["conclusion"]["memories"]}
    assert roles == {"files": "baseline", "lexical": "contender"}


def test_a_memory_of_a_file_is_an_incumbent_and_one_that_cannot_be_measured_is_told(
    cli: Cli, docs: Path, asked: Callable[..., Path], workplace: Path
) -> None:
    gone = "class Gone(Empty):\n    def __init__(self):\n        raise CannotMeasure('the key is missing')\n"
    (workplace / "mine.py").write_text(f"from memassay.core.errors import CannotMeasure\n{EMPTY}\n\n{gone}", "utf-8")
    given = ("--docs", docs, "--questions", asked(*questions(4)), "--memory", "files,./mine.py:Gone")
    said = cli("choose", "plan", *given, "--incumbent", "./mine.py:Empty", "--json").json
    assert (said["incumbent"], said["memories"]) == ("Empty", ["files", "Empty"])
    assert said["left_out"]["Gone"] == "the key is missing"
    ran = cli("choose", *given, "--incumbent", "./mine.py:Empty", "--json")
    assert ran.code in (0, 4), ran.err
    assert ran.json["conclusion"]["choice"]["incumbent"] == "Empty"
    assert "not measured: Gone: the key is missing" in ran.err
    ran = cli("choose", *given, "--incumbent", "files,lexical")
    assert (ran.code, ran.complaint.split(";")[0]) == (2, "memassay: --incumbent names 2 memories")


@pytest.mark.slow
def test_the_sample_in_two_minutes_and_without_a_verdict(cli: Cli) -> None:
    import time

    start = time.monotonic()
    ran = cli("choose")
    assert time.monotonic() - start < 120
    assert ran.code in (0, 4)
    assert "carries no verdict on your documents; give --docs and --questions." in ran.err
    assert "All at 2,000 tokens, on 128 of 128 questions, weights published, rule default." in ran.out


# -- one clear line ------------------------------------------------------------------------------------------------


def test_folders_with_nothing_to_read(cli: Cli, asked: Callable[..., Path], workplace: Path) -> None:
    path = asked(*questions(1))
    (workplace / "docs").mkdir()
    ran = cli("choose", "--docs", "docs", "--questions", path)
    assert ran.code == 2 and ran.complaint == (
        "memassay: docs: no text file is in this folder; put .md or .txt files there, or convert what it holds to text."
    )
    (workplace / "docs" / "a.png").write_bytes(b"\0\1")
    (workplace / "docs" / "b.zip").write_bytes(b"PK\0")
    ran = cli("choose", "--docs", "docs", "--questions", path)
    assert ran.code == 2 and '(2 skipped: "a.png" is not text, "b.zip" is not text)' in ran.complaint
    assert not (workplace / "runs").exists()


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (
            {"query": ""},
            "line 2: query is not filled in yet (this one is open); write the question, or delete the line.",
        ),
        ({"qery": "x"}, "line 2: unknown key \"qery\". Did you mean 'query'?"),
        ({"query": "x", "family": "link", "answer": "y"}, 'line 2: family "link" is unknown.'),
        ({"query": "x", "answer": "shelf 1", "doc": "cellar"}, "line 2 (q2), expected_doc_ids: no document is"),
        (
            {"query": "x", "required": [{"text": "a spoon", "doc": "attic.md"}]},
            'required[0].text: "a spoon" does not stand in attic.md; copy the words from there.',
        ),
    ],
)
def test_wrong_questions_are_refused_by_line(
    cli: Cli, docs: Path, asked: Callable[..., Path], workplace: Path, row: dict[str, Any], words: str
) -> None:
    ran = cli("choose", "--docs", docs, "--questions", asked(*questions(1), row))
    assert ran.code == 2 and words in ran.complaint
    assert not (workplace / "runs").exists()


def test_options_that_do_not_fit(cli: Cli, docs: Path, asked: Callable[..., Path]) -> None:
    ran = cli("choose", "--docs", docs)
    assert ran.code == 2 and "The canary needs --questions FILE.jsonl too" in ran.complaint
    ran = cli("choose", "--docs", docs, "plan")
    assert (ran.code, ran.complaint) == (2, "memassay: Write the options after plan.")
    ran = cli("choose", "plan", "--docs", docs)
    assert ran.code == 2 and "choose plan needs --docs FOLDER and --questions FILE.jsonl" in ran.complaint
    ran = cli("choose", "--docs", docs, "--questions", asked(*questions(1)), "--incumbent", "lexcal")
    assert ran.code == 2 and "Unknown memory 'lexcal'. Did you mean 'lexical'?" in ran.err.splitlines()[-1]
    ran = cli("choose", "--docs", docs, "--questions", asked(*questions(1)), "--incumbent", " ")
    assert ran.code == 2 and ran.complaint.startswith("memassay: --incumbent has an empty name; name the memory")


def test_questions_of_which_none_counts_are_refused_before_anything_is_built(
    cli: Cli, docs: Path, asked: Callable[..., Path], workplace: Path
) -> None:
    (workplace / "mine.toml").write_text("[counts]\nlink_graph = 30\n", encoding="utf-8")
    given = ("--docs", docs, "--questions", asked(*questions(5)), "--weights", "mine.toml")
    for args in (("choose", *given), ("choose", *given, "--register"), ("choose", "plan", *given)):
        ran = cli(*args)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.splitlines() == [
            "memassay: No question counts: every family that is asked (current_canonical) has the weight 0 in the "
            "weights mine; ask about link_graph, or weigh what is asked with --weights."
        ]
    assert not (workplace / "runs").exists()


# -- before it -----------------------------------------------------------------------------------------------------


def test_what_is_chosen_by_can_be_registered_and_published_first(
    cli: Cli, docs: Path, asked: Callable[..., Path], workplace: Path
) -> None:
    path = asked(*questions(5))
    args = ("choose", "--docs", docs, "--questions", path, "--memory", "files", "--out", "runs/c")
    ran = cli(*args, "--register")
    assert ran.code == 0 and len(ran.out) == 65, ran.err
    assert not (workplace / "runs" / "c" / "builds.jsonl").exists()
    assert cli(*args, "--registered", "0" * 64).code == 2
    ran = cli(*args, "--registered", ran.out.strip(), "--json")
    assert ran.code in (0, 4) and ran.json["registration"]["first"] and ran.json["registration"]["alone"]
    asked(*questions(5)[:4])
    ran = cli(*args, "--amend", "one was wrong")
    assert ran.code == 2 and "runs/c holds a different run. suite_settings.questions" in ran.err


def test_a_draft_is_written_once_and_refused_until_it_is_filled_in(cli: Cli, docs: Path, workplace: Path) -> None:
    ran = cli("choose", "init", docs, "--per-family", "2")
    assert ran.code == 0, ran.err
    rows = [json.loads(line) for line in (workplace / "questions.jsonl").read_text("utf-8").splitlines()]
    assert ran.out.startswith(f"questions.jsonl: {len(rows)} lines about 13 documents\n")
    assert {row["query"] for row in rows} == {""} and "must be kept on shelf" in rows[0]["answer"]
    assert "Nothing more was found for" in ran.out and "memassay choose plan --docs" in ran.out
    again = cli("choose", "init", docs)
    assert again.code == 2 and "is there already and stays as it is" in again.complaint
    ran = cli("choose", "--docs", docs, "--questions", "questions.jsonl")
    assert ran.code == 2 and f"line 1: query is not filled in yet ({len(rows)} of {len(rows)} are" in ran.complaint


def test_a_plan_says_what_can_be_shown_and_that_nothing_is_sent(
    cli: Cli, docs: Path, asked: Callable[..., Path], workplace: Path
) -> None:
    args = ("choose", "plan", "--docs", docs, "--questions", asked(*questions(10)))
    ran = cli(*args, "--memory", "files")
    assert ran.code == 0, ran.err
    said = {line[:20].strip(): line[21:] for line in ran.out.splitlines()}
    assert said["documents"] == "13" and said["questions"] == "10 (10 current_canonical)"
    assert said["detectable gap"] == "69 points with 80 % power, at 40 % ties"
    assert said["memories"] == "files, lexical" and said["incumbent"] == "lexical"
    assert said["cost in US dollars"] == "0"
    assert said["text is sent"] == "nowhere: no judge, and no memory with a language model"
    assert not (workplace / "runs").exists()
    (workplace / "empty.py").write_text(EMPTY, encoding="utf-8")
    (workplace / "weights.toml").write_text("[counts]\ncurrent_canonical = 70\nlink_graph = 30\n", encoding="utf-8")
    ran = cli(*args, "--memory", "./empty.py:Empty", "--weights", "weights.toml")
    assert "weights, counted from 100 queries" in ran.out
    assert "language model; what ./empty.py:Empty sends, its own documentation says" in ran.out
    found = cli(*args, "--json").json
    assert found["text_sent_to"] == [] and found["cost_usd"] == 0 and found["families"] == {"current_canonical": 10}
    assert 0.5 < found["detectable_gap"] < 0.9 and "lexical" in found["memories"]
