"""Why a question was missed, and how that looks on a screen."""

from __future__ import annotations

import json
import re

import pytest
from explained import BEACH, BUDGETS, FILLER, TURTLE, answer, dossier, explained, task
from rich.cells import cell_len
from test_report_html import HOSTILE

from memassay.core.dossier import rendering
from memassay.core.types import CellKey, Dossier, Evidence, Gold, Judgement, Status, Unit
from memassay.judging.evidence import EvidenceJudge
from memassay.reporting.show import excerpt, explain_task, shared_words
from memassay.reporting.show_screen import explanation_text


def test_rank_offset_and_need_are_those_of_the_grader() -> None:
    held = dossier(FILLER, f"2023-05-01\nNate: {TURTLE}\nJoanna: lovely", BEACH)
    view = explained(("files", answer("files"), held)).arms[0]
    turtle, beach = view.sightings
    text = rendering(held, "chars4")
    assert (turtle.rank, turtle.offset) == (2, text.tokens_before(1))
    assert (beach.rank, beach.offset) == (3, text.tokens_before(2))
    judge = EvidenceJudge(key="original", tokens="chars4", budgets=range(1, 120), ks=())
    scores = judge.scores(held, task().gold["original"].evidence[:1])
    smallest = next(b for b in range(1, 120) if scores[f"all@{b}"] == 1.0)
    assert turtle.needs == smallest
    assert turtle.found == (False, turtle.needs <= 50, True)


def test_reasons_of_a_miss() -> None:
    nothing = explained(("a", answer("a"), dossier(FILLER))).arms[0]
    assert nothing.why == (
        "D3:11 is not in the dossier: nothing of it was returned.",
        "D7:2 is not in the dossier: nothing of it was returned.",
    )
    claimed = explained(("a", answer("a"), dossier("He has a pet.", BEACH, p1=("D3:11",)))).arms[0]
    assert claimed.why == ("D3:11 is not in the dossier: nothing of it was returned. Passage 1 claims it as a source.",)
    summary = explained(("a", answer("a"), dossier("Nate finally adopted a turtle, Shelly.", BEACH))).arms[0]
    assert summary.why[0] == "D3:11 is not in the dossier: passage 1 has 67% of its words, not the turn itself."
    late = explained(("a", answer("a"), dossier(*[FILLER] * 12, TURTLE, BEACH))).arms[0]
    assert re.fullmatch(
        r"D3:11 stands at rank 13, 2\d\d tokens in: it needs a budget of 2\d\d, more than 200\.",
        late.why[0],
    )
    cut = explained(("a", answer("a"), dossier(*[FILLER] * 12))).arms[0]
    assert cut.why[0] == "D3:11 is not in the dossier: nothing of it was returned within 200 tokens."


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (Status.MEMORY_CRASH, "It failed: memory-crash (boom); this counts as wrong."),
        (Status.RATE_LIMIT, "It failed: rate-limit (boom); the task is left out for every arm."),
        (Status.HARNESS, "It failed: harness-error (boom); the run cannot be published."),
    ],
)
def test_failures_say_how_they_count(status: Status, said: str) -> None:
    view = explained(("a", answer("a", status, "boom"), None)).arms[0]
    assert view.why == (said,)
    assert said in " ".join(explanation_text(explained(("a", answer("a", status, "boom"), None)), 60).split())


def test_an_empty_dossier_and_none_at_all() -> None:
    assert explained(("a", answer("a", Status.EMPTY), Dossier(status="empty"))).arms[0].why == (
        "It returned nothing: the dossier is empty.",
    )
    assert explained(("a", answer("a"), None)).arms[0].why == ("No dossier was recorded (status ok).",)


def test_shared_words_are_those_a_lexical_memory_can_match() -> None:
    assert shared_words("Which pets did Nate adopt?", TURTLE) == ("adopted",)
    assert shared_words("Which pets did Nate adopt?", BEACH) == ()
    assert shared_words("What is it?", "It is what it is.") == (), "function words explain nothing"
    assert shared_words("Where do the cats live?", "Cats! A cat lives here.") == ("cats", "lives")
    screen = explanation_text(explained(("a", answer("a"), dossier(FILLER))), 80)
    assert "shares with the question: adopted" in screen
    assert "shares no word with the question" in screen


def test_speakers_come_from_units_or_from_what_passages_show() -> None:
    by_units = explained(("a", answer("a"), None), units={"D3:11": Unit(id="D3:11", text=TURTLE, speaker="Nate")})
    assert [t.speaker for t in by_units.gold] == ["Nate", ""]
    hints = [dossier(f"Nate: {TURTLE}", f"[Session 3] Joanna: {BEACH}")]
    assert [t.speaker for t in explained(("a", answer("a"), None), hints=hints).gold] == ["Nate", "Joanna"]
    odd = [dossier(f"see https://x.example/a: {TURTLE}", BEACH)]
    assert [t.speaker for t in explained(("a", answer("a"), None), hints=odd).gold] == ["", ""]


def test_other_keys_and_scores() -> None:
    made = explained(
        (
            "a",
            answer("a"),
            dossier(TURTLE),
            {
                "evidence": Judgement(
                    id="x",
                    judge="evidence",
                    subjects=(CellKey(task="t", arm="a"),),
                    scores={"all@50": 0.0, "all@200": None},
                )
            },
        )
    )
    assert made.others[0].excluded == "WRONG: the key is wrong"
    assert made.arms[0].scores == {"evidence": {"all@50": 0.0, "all@200": None}}
    screen = explanation_text(made, 60)
    assert "under audit-excluded: WRONG: the key is wrong" in screen
    assert re.search(r"all, original +– +0 +–", screen)
    excluded = explain_task(task(), [], "chars4", BUDGETS, key="audit-excluded")
    assert "leaves this task out" in explanation_text(excluded, 60)


@pytest.mark.parametrize("width", (60, 80, 120))
def test_one_screen_within_its_width(width: int) -> None:
    made = explained(
        ("files", answer("files"), dossier(FILLER * 5, f"Nate: {TURTLE} {FILLER}", FILLER, FILLER)),
        ("a-memory-with-a-very-long-name-indeed-记忆记忆记忆-and-more-of-it", answer("x"), dossier(TURTLE)),
        ("empty", answer("empty", Status.EMPTY), Dossier(status="empty")),
    )
    text = explanation_text(made, width)
    lines = text.splitlines()
    assert max(map(cell_len, lines)) <= width
    assert len(lines) <= 60
    assert "«I finally adopted a turtle and called it Shelly!»" in " ".join(text.split())
    assert "holds D3:11" in text
    assert "\x1b" not in text
    assert "\x1b[" in explanation_text(made, width, color=True)
    head = next(line for line in lines if line.startswith("gold ") and "rank" in line)
    assert head.split() == ["gold", "rank", "needs", "20", "50", "200"]


@pytest.mark.parametrize("hostile", [*HOSTILE, "[bold red]x[/]", "[/]", ":boom:", "a\x00b", "\x1b[2J\x1b[1;1Hgone"])
def test_documents_cannot_speak_to_the_terminal(hostile: str) -> None:
    gold = {
        "original": Gold(
            answer=hostile, evidence=(Evidence(id=hostile, text=f"{hostile} words"),), unresolved=(hostile,)
        )
    }
    made = explain_task(
        task(hostile, id=hostile, category=hostile, gold=gold),
        [
            (hostile, answer("a"), dossier(f"{hostile}: {hostile} words", hostile), {}),
            ("b", answer("b", Status.MEMORY_CRASH, hostile), None, {}),
        ],
        "chars4",
        BUDGETS,
    )
    for text in (explanation_text(made, 60), json.dumps(made.as_json(), ensure_ascii=False)):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", text)
    coloured = explanation_text(made, 60, color=True)
    assert set(re.findall(r"\x1b.", coloured)) <= {"\x1b["}
    assert set(re.findall(r"\x1b\[[0-9;]*(.)", coloured)) <= {"m"}, "only colours, and only ours"
    if hostile.startswith("[bold"):
        assert hostile in explanation_text(made, 120)


def test_json_is_plain() -> None:
    made = explained(("a", answer("a"), dossier(TURTLE)))
    again = json.loads(json.dumps(made.as_json(), allow_nan=False))
    assert again["gold"][0] == {"id": "D3:11", "speaker": "", "text": TURTLE, "shared": ["adopted"]}
    assert again["arms"][0]["sightings"][0]["rank"] == 1
    assert again["budgets"] == list(BUDGETS)


def test_excerpts_keep_the_gold_in_view() -> None:
    before, gold, after = excerpt(f"{FILLER * 3} {TURTLE} {FILLER * 3}", TURTLE.replace(" ", "\n"), 100)
    assert gold == TURTLE
    assert before.startswith("…")
    assert after.endswith("…")
    assert len(before + gold + after) <= 102
    assert excerpt("short", None, 100) == ("short", "", "")
    assert excerpt("x" * 200, "nowhere", 100)[0].endswith("…")
