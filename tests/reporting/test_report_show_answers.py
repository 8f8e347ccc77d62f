"""What ``memassay show`` says of answers, verdicts and repetitions."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest
import typer
from explained import BUDGETS, TURTLE, dossier, task
from rich.cells import cell_len

from memassay.cli import show
from memassay.core.errors import UsageError
from memassay.core.types import Answer, CellKey, Judgement, Status, Step, Usage
from memassay.reporting import explain, missed
from memassay.reporting.given import given
from memassay.reporting.show_screen import explanation_text
from memassay.runs.folder import RunFolder

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
