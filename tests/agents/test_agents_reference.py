"""The agent ``reference`` over the two file forms of a world that was worked out by hand."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from agents_marketplace import (
    C1,
    C4,
    J1,
    MULTIHOP,
    QUESTIONS,
    T1,
    T6,
    THREE,
    Asked,
    likeness,
    prompt,
    retraction,
    score,
    timetravel,
    visibility,
    why,
    write_files,
    write_sqlite,
)

from memassay.agents.reference import UNKNOWN, Reference, sql
from memassay.agents.reference.mistakes import MISTAKES
from memassay.agents.reference.questions import Alike, Links, Multihop, Retraction, Why, read
from memassay.core.contracts import Agent
from memassay.core.errors import UnknownName, UsageError
from memassay.core.types import CellKey, Request, Status, Step, Toolset

FORMS: dict[str, Callable[[Path], Path]] = {"json-files": write_files, "sqlite": write_sqlite}


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return FORMS[request.param](tmp_path / "form")


def asking(folder: Path, question: str, **more: Any) -> Request:
    toolset = Toolset(folder=str(folder))
    return Request(cell=CellKey(task="q", arm="a"), prompt=prompt(question), toolset=toolset, **more)


def ask(folder: Path, question: str, mistake: str = "", **more: Any) -> Step:
    return asyncio.run(Reference(mistake=mistake).answer(asking(folder, question, **more)))


def evidence(step: Step) -> list[Any]:
    return [json.loads(line) for line in (step.evidence or b"").splitlines()]


# -- right ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", QUESTIONS)
def test_every_kind_of_question_is_answered(form: Path, asked: Asked) -> None:
    step = ask(form, asked.text)
    assert (step.status, step.detail) == (Status.OK, "")
    assert (step.text or "").split("\n") == asked.answer.split()


def test_cells_side_by_side_do_not_meet(tmp_path: Path) -> None:
    folders = [write(tmp_path / name) for name, write in FORMS.items()]
    (folders[0] / "roles.json").write_text('{"recruiter": ["Talent", "Company"]}', encoding="utf-8")
    question = visibility("recruiter", T1, "both of INDUSTRY_ALIGNMENT and SPECIALTY_MATCH")

    async def all_at_once() -> list[Step]:
        agent = Reference()
        return await asyncio.gather(*(agent.answer(asking(folder, question)) for folder in folders * 3))

    texts = [(step.text or "").split() for step in asyncio.run(all_at_once())]
    assert texts == [["company-000001", "company-000002", C4], [J1, "job-000002"]] * 3


def test_what_is_read_for_an_answer_is_counted_and_kept(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "form")
    question = visibility("recruiter", T1, "both of INDUSTRY_ALIGNMENT and SPECIALTY_MATCH")
    step = ask(folder, question, system="Be brief.")
    names = ["roles.json", "entities/talent.json", "entities/job.json", "changes.jsonl"]
    texts = [(folder / name).read_text(encoding="utf-8") for name in names]
    assert step.tools == {"read": 4}
    assert (step.usage.tool_calls, step.usage.turns) == (4, 5)
    assert step.usage.input == -(-(len(prompt(question)) + len("Be brief.") + sum(map(len, texts))) // 4)
    assert step.usage.output == -(-len("job-000001\njob-000002") // 4)
    *calls, end = evidence(step)
    assert [call["arguments"] for call in calls] == [{"path": name} for name in names]
    assert [call["result"] for call in calls] == [text[:2000] for text in texts]
    assert [call["characters"] for call in calls] == list(map(len, texts))
    assert end == {"event": "end", "status": "ok", "detail": "", "text": "job-000001\njob-000002"}
    again = ask(folder, question, system="Be brief.")
    assert again.evidence == step.evidence


def test_a_statement_is_a_call(tmp_path: Path) -> None:
    folder = write_sqlite(tmp_path / "form")
    before = (folder / "world.sqlite").read_bytes()
    step = ask(folder, MULTIHOP)
    call, _ = evidence(step)
    assert step.tools == {"sql": 1}
    assert (step.usage.tool_calls, step.usage.turns) == (1, 2)
    assert step.usage.input == -(-(len(prompt(MULTIHOP)) + len(call["result"])) // 4)
    assert call["result"] == "company-000001\ncompany-000002\n"
    assert call["arguments"].keys() == {"statement", "date", "talents", "years"}
    assert call["arguments"]["statement"].startswith("WITH past AS")
    assert [path.name for path in folder.iterdir()] == ["world.sqlite"]
    assert (folder / "world.sqlite").read_bytes() == before


def test_a_library_without_sines_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_sqlite(tmp_path / "form")
    asked: list[object] = []
    monkeypatch.setattr(sql, "has_mathematics", asked.append)
    assert ask(folder, MULTIHOP).text == "company-000001\ncompany-000002"
    assert len(asked) == 1


def test_one_fact_changed_changes_the_answer(tmp_path: Path) -> None:
    folders = [write(tmp_path / name) for name, write in FORMS.items()]
    assert [ask(folder, timetravel("2026-06-02", T1)).text for folder in folders] == [C1, C1]
    companies = folders[0] / "entities" / "company.json"
    companies.write_text(companies.read_text(encoding="utf-8").replace("housing", "civic"), encoding="utf-8")
    with closing(sqlite3.connect(folders[1] / "world.sqlite")) as base:
        base.execute("UPDATE company SET industry = 'both'")
        base.commit()
    changed = [ask(folder, timetravel("2026-06-02", T1)).text for folder in folders]
    assert changed == [f"{C1}\ncompany-000002", "none"]


def test_a_field_that_is_missing_matches_nothing(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "form")
    path = folder / "entities" / "company.json"
    companies = json.loads(path.read_text(encoding="utf-8"))
    for company in companies:
        del company["location"], company["industry"], company["size_bucket"], company["design_styles"]
    path.write_text(json.dumps(companies), encoding="utf-8")
    assert ask(folder, why(T1, C1)).text == "SPECIALTY_MATCH\ncivic\nretail"


# -- wrong on purpose ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_costs_what_it_says(form: Path, mistake: str) -> None:
    for asked in QUESTIONS:
        step = ask(form, asked.text, mistake)
        assert step.status is Status.OK
        assert score(step.text or "", asked.answer, asked.near) == asked.spoiled.get(mistake, 1.0), asked.text


def test_every_mistake_is_made_somewhere() -> None:
    assert {name for asked in QUESTIONS for name in asked.spoiled} == set(MISTAKES) - {""}


def test_no_other_mistake_is_known() -> None:
    with pytest.raises(UnknownName, match=r"Unknown mistake 'blnd'\. Did you mean 'blind'"):
        Reference(mistake="blnd")


# -- questions -----------------------------------------------------------------------------------------------------

TWO_TYPES, THREE_TYPES = ("INDUSTRY_ALIGNMENT", "SPECIALTY_MATCH"), tuple(THREE.replace(" and ", ", ").split(", "))


@pytest.mark.parametrize(
    ("question", "understood"),
    [
        (why(T1, C1), Why(T1, C1)),
        (MULTIHOP, Multihop(THREE_TYPES, talents=3, years=10)),
        (retraction("size_bucket", 3, THREE), Retraction(C1, "size_bucket", 3, THREE_TYPES)),
        (
            retraction("specialties", ["a. Which b", "c"], THREE),
            Retraction(C1, "specialties", ["a. Which b", "c"], THREE_TYPES),
        ),
        (timetravel("2026-07-14", T1), Links(T1, THREE_TYPES, date="2026-07-14", label="Company")),
        (visibility("client", T1, f"both of {' and '.join(TWO_TYPES)}"), Links(T1, TWO_TYPES, role="client")),
        (likeness("client", C1), Alike(C1, "client")),
    ],
)
def test_the_wording_is_understood(question: str, understood: object) -> None:
    assert read(prompt(question)) == understood


@pytest.mark.parametrize(
    "question",
    [
        "",
        "Who is the best talent?",
        why(T1, C1).replace("why", "how"),
        f"{why(T1, C1)} And why not?",
        f"{why(T1, C1)}\n\n{MULTIHOP}",
        timetravel("2026-07-14", T1).replace("LOCATION_FIT", "SEMANTIC_MATCH"),
        retraction("size_bucket", 3, THREE).replace("became 3", "became three"),
    ],
)
def test_what_is_not_understood_is_not_known(form: Path, question: str) -> None:
    step = ask(form, question)
    assert (step.status, step.text, step.tools) == (Status.OK, UNKNOWN, {})
    assert step.detail == "the question is not one of those that it knows"


@pytest.mark.parametrize(
    ("question", "detail"),
    [
        (why(T1, "company-999999"), "there is no company-999999 on that day"),
        (timetravel("2026-06-05", T6), f"there is no {T6} on that day"),
        (timetravel("2026-06-03", "talent-000005"), "there is no talent-000005 on that day"),
        (retraction("size_bucket", 3, THREE).replace(C1, "company-000009"), "there is no company-000009 on that day"),
        (visibility("boss", T1, f"all of {THREE}"), "there is no role 'boss'"),
        (likeness("boss", C1), "there is no role 'boss'"),
        (timetravel("2026-05-31", T1), "2026-05-31 is no day of the history, which is from 2026-06-01 to 2026-08-29"),
        (timetravel("2026-08-30", T1), "2026-08-30 is no day of the history, which is from 2026-06-01 to 2026-08-29"),
    ],
)
def test_what_the_data_does_not_have_is_not_known(form: Path, question: str, detail: str) -> None:
    step = ask(form, question)
    assert (step.status, step.text) == (Status.OK, UNKNOWN)
    assert step.detail.startswith(detail)


# -- limits and faults ---------------------------------------------------------------------------------------------


def test_it_keeps_the_limits(form: Path) -> None:
    late = ask(form, MULTIHOP, limit_seconds=0.0)
    assert (late.status, late.text, late.detail) == (Status.LIMIT_TIME, None, "no answer after 0 s")
    busy = ask(form, MULTIHOP, limit_turns=1)
    assert (busy.status, busy.text, busy.detail) == (Status.LIMIT_TURNS, None, "no answer after 1 turns")
    calls = ask(form, MULTIHOP).usage.tool_calls
    assert ask(form, MULTIHOP, limit_turns=calls).status is Status.LIMIT_TURNS
    assert ask(form, MULTIHOP, limit_turns=calls + 1).status is Status.OK


def test_a_statement_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    folder = write_sqlite(tmp_path / "form")
    with closing(sqlite3.connect(folder / "world.sqlite")) as base:
        base.execute("DROP TABLE job")
        base.execute(
            "CREATE VIEW job AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
            "SELECT i AS key, '' AS status, '' AS industry, '[]' AS specialties_json, '[]' AS design_styles_json, "
            "1 AS size_bucket, 0.0 AS lat, 0.0 AS lon FROM n"
        )
        base.commit()
    step = ask(folder, why(T1, C1), limit_seconds=0.2)
    assert step.status is Status.LIMIT_TIME
    assert step.usage.wall_ms < 5_000


@pytest.mark.parametrize(
    ("name", "content", "detail"),
    [
        ("changes.jsonl", '{"day": 1', "the files are not what they should be: JSONDecodeError"),
        ("changes.jsonl", '{"day": 1}', "the files are not what they should be: KeyError"),
        ("entities/talent.json", '["x"]', "the files are not what they should be: TypeError"),
        ("entities/talent.json", None, "entities/talent.json cannot be read: No such file or directory"),
        ("entities/company.json", b"\xff", "entities/company.json cannot be read: it is not UTF-8"),
    ],
)
def test_damaged_files_are_a_fault_of_the_harness(tmp_path: Path, name: str, content: Any, detail: str) -> None:
    folder = write_files(tmp_path / "form")
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    step = ask(folder, MULTIHOP)
    assert (step.status, step.text) == (Status.HARNESS, None)
    assert step.detail.startswith(detail)


@pytest.mark.parametrize("keep", [0, 100, 5000])
def test_a_truncated_database_is_a_fault_of_the_harness(tmp_path: Path, keep: int) -> None:
    folder = write_sqlite(tmp_path / "form")
    path = folder / "world.sqlite"
    path.write_bytes(path.read_bytes()[:keep])
    step = ask(folder, MULTIHOP)
    assert (step.status, step.text) == (Status.HARNESS, None)
    assert step.detail.startswith("world.sqlite cannot be read: ")


def test_without_a_form_there_is_no_answer(tmp_path: Path) -> None:
    step = ask(tmp_path, MULTIHOP)
    assert (step.status, step.text) == (Status.HARNESS, None)
    assert step.detail == "the folder has neither world.sqlite nor changes.jsonl"
    request = Request(cell=CellKey(task="q", arm="a"), prompt=prompt(MULTIHOP))
    step = asyncio.run(Reference().answer(request))
    assert (step.status, step.detail) == (Status.HARNESS, "the arm gives neither a tool server nor a folder")


def test_what_it_is() -> None:
    agent = Reference()
    assert isinstance(agent, Agent)
    assert (agent.model, agent.accesses) == ("none", frozenset({"tools", "folder"}))
    assert agent.identity() == {"version": 1, "tokens": "chars4"}


@pytest.mark.parametrize("memory", ["graph", "plug-in/graph"])
def test_the_folder_of_a_graph_does_not_hold_the_world(memory: str) -> None:
    pytest.importorskip("mcp")
    with pytest.raises(UsageError, match=f"cannot answer from the folder of '{memory}'.*; take {memory}/tools.$"):
        Reference().check({"folder"}, memory)
    for access, able in (({"tools"}, memory), ({"tools", "folder"}, memory), ({"folder"}, "json-files")):
        Reference().check(access, able)
