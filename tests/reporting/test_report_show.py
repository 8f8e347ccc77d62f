from __future__ import annotations

import dataclasses
import io
import json
import re
from pathlib import Path

import pytest
import typer
from rich.cells import cell_len
from test_report_html import HOSTILE

from memassay.cli import show
from memassay.core.dossier import dossier_of, rendering
from memassay.core.errors import UnknownName, UsageError
from memassay.core.types import (
    Answer,
    CellKey,
    Dossier,
    Evidence,
    Gold,
    Judgement,
    Passage,
    Status,
    Step,
    Task,
    Unit,
    Usage,
)
from memassay.judging.evidence import EvidenceJudge
from memassay.reporting import explain, missed, print_explanation
from memassay.reporting.explanation import Explanation
from memassay.reporting.given import given
from memassay.reporting.show import excerpt, explain_task, shared_words
from memassay.reporting.show_screen import explanation_text
from memassay.runs.folder import RunFolder

BUDGETS = (20, 50, 200)
TURTLE = "I finally adopted a turtle and called it Shelly!"
BEACH = "We walked along the shore all evening."
FILLER = "Nothing of interest was said about the weather on that day, or on any other."


def task(prompt: str = "Which pets did Nate adopt?", **more: object) -> Task:
    gold = Gold(answer="a turtle", evidence=(Evidence(id="D3:11", text=TURTLE), Evidence(id="D7:2", text=BEACH)))
    values = {
        "id": "conv-1/q4",
        "suite": "locomo",
        "scope": "conv-1",
        "cluster": "conv-1",
        "category": "multi-hop",
        "split": "test",
        "as_of": "2023-11-02",
        "prompt": prompt,
        "gold": {"original": gold, "audit-excluded": Gold(excluded="WRONG: the key is wrong")},
    }
    return Task.model_validate(values | more)


def answer(arm: str, status: Status = Status.OK, detail: str = "", dossier: str | None = None) -> Answer:
    steps = (Step(status=status, detail=detail, dossier=dossier),)
    return Answer(cell=CellKey(task="conv-1/q4", arm=arm), status=status, detail=detail, steps=steps)


def dossier(*texts: str, **units: tuple[str, ...]) -> Dossier:
    return dossier_of(Passage(text=t, unit_ids=units.get(f"p{i}", ())) for i, t in enumerate(texts, start=1))


def explained(*cells: tuple, **more: object) -> Explanation:
    return explain_task(task(), [(*cell, {}) if len(cell) == 3 else cell for cell in cells], "chars4", BUDGETS, **more)  # type: ignore[arg-type]


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


# -- from a run folder ---------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    run = RunFolder(tmp_path / "run")
    arms = {"files": {"role": "baseline"}, "lexical": {"role": "contender"}, "oracle": {"role": "control"}}
    judges = {"evidence": {"key": "original"}}
    identity = {"tokens": "chars4", "budgets": list(BUDGETS), "arms": arms, "judges": judges}
    other = task(id="conv-1/q5", prompt="Another?")
    run.enter(identity, {}, "1of1", {}, [task(), other])
    shown = {"files": dossier(FILLER), "lexical": dossier(TURTLE, BEACH), "oracle": dossier(f"Nate: {TURTLE}")}
    judge = EvidenceJudge(key="original", tokens="chars4", budgets=BUDGETS, ks=(5,))
    with run.answer_writer("1of1") as answers, run.judge_writer("evidence", judge.config) as verdicts:
        for name, held in shown.items():
            for asked in (task(), other):
                made = answer(name, dossier=run.put_dossier(held))
                made = made.model_copy(update={"cell": CellKey(task=asked.id, arm=name)})
                answers.append(made.model_dump_json())
                verdict = Judgement(
                    id=f"{asked.id}/{name}",
                    judge="evidence",
                    subjects=(made.cell,),
                    scores=judge.scores(held, asked.gold["original"].evidence),
                )
                verdicts.append(verdict.model_dump_json())
    run.write_summary({"headline_metric": "all@200", "arms": {"lexical": {}, "files": {}}})
    return run


def test_explain_reads_the_run_folder(folder: RunFolder) -> None:
    made = explain(folder, "conv-1/q4")
    assert [a.arm for a in made.arms] == ["lexical", "files"], "contenders in the summary's order, no control"
    assert made.gold[0].speaker == "Nate", "named by the oracle's dossier"
    assert made.arms[0].scores["evidence"]["all@200"] == 1.0
    assert made.arms[1].scores["evidence"]["all@200"] == 0.0
    assert [a.arm for a in explain(folder, "conv-1/q4", "oracle").arms] == ["oracle"]


def test_unknown_names_get_a_suggestion(folder: RunFolder) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'conv-1/q4'"):
        explain(folder, "conv-1/q44")
    with pytest.raises(UnknownName, match="'lexical'"):
        explain(folder, "conv-1/q4", "lexicl")
    with pytest.raises(UnknownName):
        list(missed(folder, "nobody"))


def test_missed_lists_what_the_headline_lost(folder: RunFolder) -> None:
    counts, *lines = missed(folder)
    assert counts == "missed (below 1 at all@200): lexical 0 of 2, files 2 of 2"
    assert [line.split()[:3] for line in lines] == [
        ["conv-1/q4", "files", "multi-hop"],
        ["conv-1/q5", "files", "multi-hop"],
    ]
    assert list(missed(folder, "lexical")) == ["missed (below 1 at all@200): lexical 0 of 2"]


def test_printing_is_plain_when_piped(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    with io.TextIOWrapper(raw, encoding="ascii") as stream:
        monkeypatch.setattr("sys.stdout", stream)
        print_explanation(explain(folder, "conv-1/q4"))
        stream.flush()
        text = raw.getvalue().decode("ascii")
    assert "D3:11" in text
    assert "\x1b" not in text


# -- answers -------------------------------------------------------------------------------------------------------

SAID = {
    "lexical": ("a \x1b[31mturtle[bold]", "a turtle, no doubt"),
    "files": ("no idea", "no idea"),
    "tools": (None, None),
}
SPENT = Usage(
    input=4100, output=48, cache_read=900, cache_write=100, cost_usd=0.0132, reported_usd=0.014, turns=3, tool_calls=2
)


@pytest.fixture
def answered(tmp_path: Path) -> RunFolder:
    """Three arms, two repetitions; a judge of words and a script that judges."""
    run = RunFolder(tmp_path / "run")
    access = {"lexical": ["dossier"], "files": ["tools", "folder"], "tools": ["tools"]}
    arms = {name: {"role": "contender", "access": found} for name, found in access.items()}
    judges = {"answers": {"judge": "answers"}, "evidence": {"key": "original"}}
    run.enter({"tokens": "chars4", "budgets": list(BUDGETS), "arms": arms, "judges": judges}, {}, "1of1", {}, [task()])
    calls = {"event": "tool", "name": "search", "arguments": {"query": "\x1b[2Jpets"}, "result": "nothing"}
    transcript = run.put_transcript(f"{json.dumps(calls)}\n")
    digest = run.put_dossier(dossier(TURTLE))
    with (
        run.answer_writer("1of1") as answers,
        run.judge_writer("evidence", {}) as evidence,
        run.judge_writer("answers", {}) as scores,
        run.judge_writer("binary-script", {}) as verdicts,
    ):
        for name, texts in SAID.items():
            for repetition, text in enumerate(texts):
                cell = CellKey(task="conv-1/q4", arm=name, repetition=repetition)
                status = Status.OK if text else Status.LIMIT_TURNS
                retrieved = (Step(name="retrieve", dossier=digest),) if name == "lexical" else ()
                step = Step(status=status, text=text, transcript=transcript if name == "files" else None)
                made = Answer(cell=cell, status=status, model="real", steps=(*retrieved, step), usage=SPENT)
                answers.append(made.model_dump_json())
                f1 = {"lexical": (0.5, 1.0)[repetition], "files": 0.0, "tools": 0.0}[name]
                about = {"id": f"{name}{repetition}", "subjects": (cell,), "model": "real"}
                evidence.append(Judgement(judge="evidence", scores={"all@200": 1.0}, **about).model_dump_json())
                scores.append(Judgement(judge="answers", scores={"f1": f1, "bleu1": None}, **about).model_dump_json())
                verdict = Judgement(
                    judge="binary-script",
                    labels={"label": "CORRECT" if f1 else "WRONG"},
                    scores={"j": float(f1 > 0)},
                    explanation="It names\x1b[0m the turtle.",
                    **{**about, "model": "scripted"},
                )
                verdicts.append(verdict.model_dump_json())
    run.write_summary({"headline_metric": "f1", "arms": {name: {} for name in SAID}})
    return run


def test_what_each_arm_answered_and_what_the_judges_said(answered: RunFolder) -> None:
    made = explain(answered, "conv-1/q4")
    assert [arm.arm for arm in made.arms] == list(SAID)
    lexical, files, tools = (arm.given for arm in made.arms)
    assert lexical and files and tools
    assert (lexical.text, lexical.repetition, lexical.repetitions) == (SAID["lexical"][0], 1, 2)
    assert [(v.judge, v.label, dict(v.scores)) for v in lexical.verdicts] == [
        ("answers", "", {"f1": 0.5, "bleu1": None}),
        ("binary-script", "CORRECT", {"j": 1.0}),
    ]
    assert (lexical.spent.input, lexical.spent.cache_read, lexical.spent.cost_usd) == (4100, 900, 0.0132)
    assert lexical.uses == ()
    assert [(use.tool, use.arguments) for use in files.uses] == [("search", 'query="\\u001b[2Jpets"')]
    assert made.arms[1].why == ("It was given no dossier: its agent had tools and files.",)
    assert tools.text is None and made.arms[2].why[0].startswith("It failed: limit-turns")


@pytest.mark.parametrize("width", (60, 80, 120))
def test_answers_on_the_screen(answered: RunFolder, width: int) -> None:
    text = explanation_text(explain(answered, "conv-1/q4"), width)
    assert max(map(cell_len, text.splitlines())) <= width
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
    words = " ".join(text.split())
    assert "gold answer: a turtle" in words
    assert "answered: a turtle[bold] (1 of 2)" in words
    assert "answers f1 .500, bleu1 –" in words
    assert "binary-script (a script) CORRECT j 1 It names the turtle." in words
    assert "tokens: 4,100 input, 48 output, 900 cache read, 100 cache write" in words
    assert "$0.013 by our table, $0.014 as reported" in words and "turns: 3, tool calls: 2" in words
    assert 'search(query="' in words
    assert "files tools + folder, ok" in words
    assert "answered: nothing" in words
    assert "Repetition 1 of 2. Another: memassay show RUN conv-1/q4 --repetition 2" in words


def test_answers_as_json_are_plain(answered: RunFolder) -> None:
    found = json.loads(json.dumps(explain(answered, "conv-1/q4", "lexical").as_json(), allow_nan=False))
    given = found["arms"][0]["given"]
    assert given["text"] == "a turtle[bold]"
    assert given["verdicts"][1]["explanation"] == "It names the turtle."
    assert given["spent"]["cache_write"] == 100


def test_many_calls_are_cut(answered: RunFolder) -> None:
    made = explain(answered, "conv-1/q4", "files")
    arm = made.arms[0]
    assert arm.given
    many = dataclasses.replace(arm.given, uses=arm.given.uses * 30)
    text = explanation_text(dataclasses.replace(made, arms=(dataclasses.replace(arm, given=many),)), 80)
    assert text.count("search(") == 12
    assert "18 more calls" in text


def test_a_judge_named_after_a_model_with_a_date_is_one_of_answers() -> None:
    made = Answer(cell=CellKey(task="t", arm="a"), status=Status.OK, steps=(Step(text="x"),))
    about = {"id": "v", "subjects": (made.cell,)}
    dated = Judgement(judge="b", labels={"label": "WRONG"}, scores={"j:some-model@20250514": 0.0}, **about)
    found = Judgement(judge="evidence", labels={"tokens": 5}, scores={"all@200": 1.0}, **about)
    view = given(made, {"b": dated, "evidence": found}, "", access=["dossier"], repetitions=1)
    assert view and [verdict.judge for verdict in view.verdicts] == ["b"]
    retrieval = made.model_copy(update={"steps": (Step(name="retrieve"),)})
    assert given(retrieval, {}, "", access=["dossier"], repetitions=1) is None


def test_missed_follows_the_judge_of_the_headline(answered: RunFolder) -> None:
    counts, *lines = missed(answered)
    assert counts == "missed (below 1 at f1): lexical 1 of 1, files 1 of 1, tools 1 of 1"
    assert [line.split()[1:4] for line in lines] == [
        ["files", "multi-hop", "Which"],
        ["lexical", "multi-hop", "f1"],
        ["tools", "multi-hop", "Which"],
    ]
    assert "  f1 .750  Which" in lines[1]
    answered.write_summary({"headline_metric": "j", "arms": {}})
    assert [line.split()[1] for line in list(missed(answered))[1:]] == ["files", "tools"]
    answered.write_summary({"headline_metric": "all@200", "arms": {}})
    assert list(missed(answered)) == ["missed (below 1 at all@200): files 0 of 1, lexical 0 of 1, tools 0 of 1"]
    answered.write_summary({"headline_metric": "unheard-of", "arms": {"lexical": {}}})
    why = "no verdict is recorded (memassay judge RUN)"
    assert list(missed(answered, "files")) == [f"not judged at unheard-of: files: {why}"]


def test_missed_says_why_nothing_was_judged(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    arms = {name: {"role": "contender", "access": ["dossier"]} for name in ("files", "lexical")}
    run.enter({"tokens": "chars4", "budgets": [], "arms": arms, "judges": {}}, {}, "1of1", {}, [task()])
    ended = (Status.API_ERROR, Status.NETWORK, Status.API_ERROR)
    with run.answer_writer("1of1") as answers:
        for repetition, status in enumerate(ended):
            cell = CellKey(task="conv-1/q4", arm="lexical", repetition=repetition)
            answers.append(Answer(cell=cell, status=status, steps=(Step(status=status),)).model_dump_json())
    run.write_summary({"headline_metric": "f1", "arms": {"lexical": {}, "files": {}}})
    assert list(missed(run)) == [
        "not judged at f1: lexical: api-error 2, network 1",
        "not judged at f1: files: no verdict is recorded (memassay judge RUN)",
    ]


def test_every_repetition_can_be_shown(answered: RunFolder) -> None:
    second = explain(answered, "conv-1/q4", repetition=2)
    lexical = second.arms[0].given
    assert lexical and (lexical.text, lexical.repetition, lexical.repetitions) == (SAID["lexical"][1], 2, 2)
    assert dict(lexical.verdicts[0].scores) == {"f1": 1.0, "bleu1": None}
    assert "Another: memassay show RUN conv-1/q4 --repetition 1" in explanation_text(second, 100)
    for outside in (0, 3):
        with pytest.raises(UsageError, match="from 1 to 2"):
            explain(answered, "conv-1/q4", repetition=outside)


def test_show_takes_a_repetition(answered: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    app = typer.Typer()
    app.callback()(lambda: None)
    show.register(app)
    app(["show", str(answered.path), "conv-1/q4", "--repetition", "2"], standalone_mode=False)
    assert "a turtle, no doubt" in capsys.readouterr().out
