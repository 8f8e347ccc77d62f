"""Whose fault was it? Networks and disks are nobody's, a limit is the memory's; words are kept, secrets masked."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit import Cli
from memassay.core.errors import GuardError
from memassay.core.types import BuildReport, Status
from memassay.running.calls import redact
from memassay.runs.folder import RunFolder
from memassay.runs.lines import read_lines

Run = Callable[..., tuple[Any, Path]]

ODD = '''
import asyncio
import errno
import os
import socket
import time
from pathlib import Path

from memassay.core.errors import CannotMeasure
from memassay.core.types import Passage


class ConnectTimeout(Exception):
    """As a network library calls it."""


def go_wrong(cause):
    if cause == "connection":
        raise ConnectionRefusedError("nobody listens there")
    if cause == "name":
        raise socket.gaierror(-2, "Name or service not known")
    if cause == "library":
        raise ConnectTimeout("no answer")
    if cause == "full":
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if cause == "quota":
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))
    if cause == "timeout":
        raise TimeoutError("my index gave up after 3 rounds")
    if cause == "hang":
        time.sleep(0.7)
    kind, _, text = cause.partition("=")
    if text:
        raise {"runtime": RuntimeError, "network": ConnectionError, "cannot": CannotMeasure}[kind](text)


class Odd:
    """Fails as a file says, so that the cause can go away while every setting stays.

    Args:
        cause: a file that holds "STAGE CAUSE".
        api_key: nothing.
    """

    def __init__(self, *, cause: str = "", api_key: str = "") -> None:
        self.cause = Path(cause)

    def fail(self, stage):
        text = self.cause.read_text("utf-8") if self.cause.is_file() else ""
        where, _, cause = text.partition(" ")
        if where == stage:
            go_wrong(cause)

    def build(self, corpus, place, context):
        self.fail("build")
        type(self).units[corpus.id] = [(u.id, u.text) for d in corpus.documents for u in d.units]
        (place / "id").write_text(corpus.id)

    units = {}

    def open(self, ref):
        self.fail("open")
        return Store(self, self.units[(Path(ref.location) / "id").read_text()])


class Store:
    def __init__(self, memory, units):
        self.memory, self.units = memory, units

    def ranked(self, query):
        asked = set(query.text.strip("?").split())
        return sorted(self.units, key=lambda unit: (-len(asked & set(unit[1].split())), unit[0]))

    def retrieve(self, query):
        if "hedgehog" in query.text or "marathon" in query.text:
            self.memory.fail("retrieve")
        return [Passage(text=text, unit_ids=(unit,)) for unit, text in self.ranked(query)]


class Awaited(Odd):
    def open(self, ref):
        return AwaitedStore(self, Odd.open(self, ref).units)


class AwaitedStore(Store):
    async def retrieve(self, query):
        await asyncio.sleep(0)
        return Store.retrieve(self, query)


class Surrogates(Odd):
    def open(self, ref):
        return SurrogateStore(self, Odd.open(self, ref).units)


class SurrogateStore(Store):
    def retrieve(self, query):
        return [p.model_copy(update={"text": f"\\ud83d {p.text} \\udc00"}) for p in Store.retrieve(self, query)]


class Unchecked(Odd):
    def open(self, ref):
        return UncheckedStore(self, Odd.open(self, ref).units)


class UncheckedStore(Store):
    def retrieve(self, query):
        odd = {ODD_FIELDS}
        return [Passage.model_construct(**{"text": p.text, **odd}) for p in Store.retrieve(self, query)]
'''


@pytest.fixture
def cause(tmp_path: Path) -> Path:
    """The file that says what goes wrong."""
    return tmp_path / "cause"


@pytest.fixture
def odd(tmp_path: Path) -> Callable[..., str]:
    def write(name: str = "Odd", fields: str = "{}") -> str:
        path = tmp_path / "odd.py"
        path.write_text(ODD.replace("{ODD_FIELDS}", fields), encoding="utf-8")
        return f"{path}:{name}"

    return write


def records(folder: Path, arm: str = "odd") -> list[dict[str, Any]]:
    return [
        record
        for segment in RunFolder(folder).segments()
        for _, record in read_lines(segment)
        if record["cell"]["arm"] == arm and not record["cell"]["task"].startswith("marker/")
    ]


def builds(folder: Path, arm: str = "odd") -> list[BuildReport]:
    return [b for b in RunFolder(folder).builds() if b.memory == arm and not b.scope.endswith("+marker")]


def asked_in_vain(folder: Path) -> set[str]:
    """The tasks that "retrieve CAUSE" happens to."""
    tasks = RunFolder(folder).tasks()
    found = {task.id for task in tasks if "hedgehog" in task.prompt or "marathon" in task.prompt}
    assert 0 < len(found) < len(tasks)
    return found


def value(summary: Any, arm: str = "odd", metric: str = "all@400") -> Any:
    return summary["arms"][arm]["metrics"][metric]["value"]


# -- the network ---------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_backoff")
@pytest.mark.parametrize("what", ["connection", "name", "library"])
@pytest.mark.parametrize("stage", ["build", "open", "retrieve"])
def test_what_cannot_be_reached_is_tried_again(
    small_run: Run, odd: Callable[..., str], cause: Path, stage: str, what: str
) -> None:
    memories = {"odd": {"use": odd(), "cause": str(cause)}, "good": {}}
    cause.write_text(f"{stage} {what}")
    first, folder = small_run("r", memories, clusters=2, controls=False)
    failed = [r for r in records(folder) if r["status"] != "ok"]
    assert failed and {r["status"] for r in failed} == {"network"}
    assert Status.NETWORK.kind == "provider"
    tasks = {r["cell"]["task"] for r in failed}
    assert tasks == (asked_in_vain(folder) if stage == "retrieve" else {t.id for t in RunFolder(folder).tasks()})
    # A store that cannot be built in this call of the command is not asked three times.
    assert len(failed) == len(tasks) * (1 if stage == "build" else 3)
    assert first["arms"]["odd"]["failures"] == {"memory": 0, "provider": len(tasks), "harness": 0}
    assert first["arms"]["good"]["n"] == first["arms"]["odd"]["n"] == 12 - len(tasks)
    if stage == "build":
        assert {(b.status, b.store) for b in builds(folder)} == {("network", None)}

    cause.unlink()
    again, _ = small_run("r", memories, clusters=2, controls=False)
    assert again["arms"]["odd"]["failures"] == {"memory": 0, "provider": 0, "harness": 0}
    assert again["arms"]["good"]["n"] == again["arms"]["odd"]["n"] == 12
    assert {b.status for b in builds(folder)[-2:]} == {"ok"}
    whole, _ = small_run("whole", memories, clusters=2, controls=False)
    assert value(again) == value(whole) > 0.5


# -- the disk ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stage", "what"), [("build", "full"), ("build", "quota"), ("retrieve", "full"), ("open", "full")]
)
def test_a_full_disk_stops_the_command_and_blames_nobody(
    cli: Cli,
    workplace: Path,
    odd: Callable[..., str],
    cause: Path,
    small_file: Callable[..., Path],
    stage: str,
    what: str,
) -> None:
    command = [
        "run", "locomo", "--data", small_file(2, 6), "--memory", f"odd={odd()},files", "--set", f"odd.cause={cause}",
        "--tokens", "chars4", "--no-controls", "--out", "runs/r", "--json",
    ]  # fmt: skip
    cause.write_text(f"{stage} {what}")
    ran = cli(*command)
    assert ran.code == 3 and ran.out == ""
    assert ("quota" if what == "quota" else "full") in ran.complaint and "run the same command again" in ran.complaint
    folder = workplace / "runs" / "r"
    stopped = asked_in_vain(folder) if stage == "retrieve" else {t.id for t in RunFolder(folder).tasks()}
    assert stopped and not stopped & {r["cell"]["task"] for r in records(folder)}
    assert {r["status"] for r in records(folder)} <= {"ok"}
    assert {b.status for b in builds(folder)} <= {"ok"}
    if stage == "build":
        assert builds(folder) == []
    assert not (folder / "summary.json").exists()
    cause.unlink()
    again = cli(*command)
    assert again.code == 0, again.err
    assert again.json["cells"]["counted"] == again.json["cells"]["planned"] == 24
    assert again.json["arms"]["odd"]["failures"] == {"memory": 0, "provider": 0, "harness": 0}


# -- time ----------------------------------------------------------------------------------------------------------

OWN = "TimeoutError: my index gave up after 3 rounds"


@pytest.mark.parametrize("name", ["Odd", "Awaited"])
@pytest.mark.parametrize("stage", ["retrieve", "open"])
def test_a_time_out_of_the_memorys_own_keeps_its_words(
    small_run: Run, odd: Callable[..., str], cause: Path, name: str, stage: str
) -> None:
    cause.write_text(f"{stage} timeout")
    _, folder = small_run("r", {"odd": {"use": odd(name), "cause": str(cause)}}, clusters=2, controls=False)
    failed = [r for r in records(folder) if r["status"] != "ok"]
    assert failed and {(r["status"], r["detail"]) for r in failed} == {("memory-timeout", OWN)}


def test_a_time_out_of_the_memorys_own_while_building_keeps_its_words(
    small_run: Run, odd: Callable[..., str], cause: Path
) -> None:
    cause.write_text("build timeout")
    _, folder = small_run("r", {"odd": {"use": odd(), "cause": str(cause)}}, clusters=2, controls=False)
    for report in builds(folder):
        assert report.status.startswith("memory-") and report.detail == OWN
    assert {r["detail"] for r in records(folder)} == {f"no store: {OWN}"}


def test_the_harnesss_limit_says_so(small_run: Run, odd: Callable[..., str], cause: Path) -> None:
    memories = {"odd": {"use": odd(), "cause": str(cause)}}
    more = {"clusters": 1, "controls": False, "limits": {"retrieve_seconds": 0.11, "build_seconds": 0.12}}
    cause.write_text("retrieve hang")
    _, folder = small_run("r", memories, **more)
    failed = {(r["status"], r["detail"]) for r in records(folder) if r["status"] != "ok"}
    assert failed == {("memory-timeout", "nothing retrieved after 0.11 s")}
    cause.write_text("build hang")
    _, folder = small_run("b", memories, **{**more, "seed": 5})
    assert {(b.status, b.detail) for b in builds(folder)} == {("memory-timeout", "no store after 0.12 s")}


def test_a_store_that_does_not_open_in_time_names_the_limit_that_was_reached(
    small_run: Run, odd: Callable[..., str], cause: Path
) -> None:
    """Opening has the limit of building; a record must not speak of another number of seconds."""
    cause.write_text("open hang")
    _, folder = small_run(
        "r", {"odd": {"use": odd(), "cause": str(cause)}}, clusters=1, limit=2, controls=False,
        limits={"retrieve_seconds": 50, "build_seconds": 0.12},
    )  # fmt: skip
    assert {r["status"] for r in records(folder)} == {"memory-timeout"}
    for record in records(folder):
        assert "0.12 s" in record["detail"] and "50 s" not in record["detail"]


# -- agents --------------------------------------------------------------------------------------------------------

AGENT = '''
from memassay.core.types import Status, Step


class Tired:
    """Gives up."""

    async def answer(self, request):
        return Step(name="answer", status=Status.LIMIT_TURNS, detail="40 turns", text=request.dossier)


class Lost:
    async def answer(self, request):
        raise RuntimeError("cannot reach https://ada:s3cr3t-w0rd@models.example/v1")


class Unreached:
    async def answer(self, request):
        raise ConnectionError("cannot reach https://ada:s3cr3t-w0rd@models.example/v1")


class Polite:
    async def answer(self, request):
        return Step(
            name="answer", status=Status.API_ERROR, detail="no answer from https://ada:s3cr3t-w0rd@models.example/v1"
        )
'''


def test_an_agent_that_reached_its_turns_scores_nothing_whatever_was_retrieved(small_run: Run, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    summary, folder = small_run("r", agent=f"{tmp_path / 'agent.py'}:Tired", clusters=2)
    found = records(folder, "toy")
    assert {r["status"] for r in found} == {"limit-turns"}
    assert all(RunFolder(folder).dossier(r["steps"][0]["dossier"]).passages for r in found), "it was given something"
    arm = summary["arms"]["toy"]
    assert arm["failures"] == {"memory": 12, "provider": 0, "harness": 0} and arm["n"] == 12
    assert {e["value"] for e in arm["metrics"].values()} == {0.0}
    assert {e["value"] for e in arm["cited"].values()} == {0.0}
    assert arm["secondary"]["answered_only"]["n"] == 0
    without, _ = small_run("without", clusters=2)
    assert value(without, "toy") > 0.5


def test_another_agent_under_the_same_name_is_refused(small_run: Run, tmp_path: Path) -> None:
    path = tmp_path / "agent.py"
    path.write_text(AGENT, encoding="utf-8")
    agent = f"{path}:Tired"
    _, folder = small_run("r", agent=agent, clusters=1, limit=2, controls=False)
    small_run("r", agent=agent, clusters=1, limit=2, controls=False)
    before = {p.name: p.read_bytes() for p in folder.glob("*.json*")}
    path.write_text(AGENT.replace("Gives up.", "Gives up soon."), encoding="utf-8")
    with pytest.raises(GuardError, match=r"arms\.toy\.agent_source") as refused:
        small_run("r", agent=agent, clusters=1, limit=2, controls=False)
    assert "\n" not in str(refused.value)
    assert {p.name: p.read_bytes() for p in folder.glob("*.json*")} == before


# -- passages that no validation saw -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    ["doc_ids=None", "unit_ids=None", "doc_ids='d'", "unit_ids=(1,)", "span=(1, 2, 3)", "kind='quote'", "kind=None",
     "score='high'", "text=None", "text=b'bytes'", "native_id=7"],
)  # fmt: skip
def test_a_passage_made_without_validation_is_its_memorys_crash(
    small_run: Run, odd: Callable[..., str], fields: str
) -> None:
    summary, folder = small_run(
        "r", {"odd": {"use": odd("Unchecked", f"dict({fields})")}, "good": {}}, clusters=1, limit=3, controls=False
    )
    found = records(folder)
    assert {r["status"] for r in found} == {"memory-crash"}
    assert all("\n" not in r["detail"] for r in found)
    assert summary["arms"]["odd"]["failures"]["memory"] == 3
    assert value(summary) == 0.0
    assert summary["arms"]["good"]["n"] == 3 and value(summary, "good") > 0.5
    assert {r["status"] for r in records(folder, "good")} == {"ok"}


def test_a_passage_made_without_validation_but_right_counts(small_run: Run, odd: Callable[..., str]) -> None:
    memories = {"odd": {"use": odd("Unchecked")}, "plain": {"use": odd("Odd")}}
    summary, _ = small_run("r", memories, clusters=1, controls=False)
    assert value(summary) == value(summary, "plain") > 0.5


def test_a_lone_surrogate_in_a_passage_does_no_harm(small_run: Run, odd: Callable[..., str]) -> None:
    memories = {"odd": {"use": odd("Surrogates")}, "plain": {"use": odd("Odd")}}
    summary, folder = small_run("r", memories, clusters=2, controls=False)
    assert {r["status"] for r in records(folder)} == {"ok"}
    assert value(summary) == value(summary, "plain") > 0.5
    digest = records(folder)[0]["steps"][0]["dossier"]
    assert RunFolder(folder).dossier(digest).passages[0].text.startswith("? I saw the ")


# -- secrets -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["api_key", "API_KEY", "apikey", "openai_api_key", "password", "client_secret"])
def test_a_setting_that_looks_like_a_secret_is_refused(
    cli: Cli, workplace: Path, odd: Callable[..., str], small_file: Callable[..., Path], key: str
) -> None:
    ran = cli(
        "run", "locomo", "--data", small_file(1, 2), "--memory", f"odd={odd()}", "--set", f"odd.{key}=sk-0123456789",
        "--out", "runs/r",
    )  # fmt: skip
    assert ran.code == 2 and ran.out == ""
    assert key in ran.complaint and "environment" in ran.complaint
    assert "sk-0123456789" not in ran.err
    assert not list(workplace.iterdir())


def everything(folder: Path) -> dict[str, str]:
    """Every file below a folder as text, unpacked."""
    return {
        p.relative_to(folder).as_posix(): (
            gzip.decompress(p.read_bytes()) if p.suffix == ".gz" else p.read_bytes()
        ).decode("utf-8", "replace")
        for p in folder.rglob("*")
        if p.is_file()
    }


@pytest.mark.usefixtures("no_backoff")
@pytest.mark.parametrize("login", ["ada:s3cr3t-w0rd", ":s3cr3t-w0rd"])
@pytest.mark.parametrize("stage", ["build", "open", "retrieve"])
@pytest.mark.parametrize("kind", ["runtime", "network", "cannot"])
def test_a_login_in_the_text_of_an_error_stands_in_no_file(
    small_run: Run, odd: Callable[..., str], cause: Path, tmp_path: Path, kind: str, stage: str, login: str
) -> None:
    cause.write_text(f"{stage} {kind}=cannot reach postgres://{login}@db.example:5432/notes, twice", encoding="utf-8")
    _, folder = small_run(
        "r", {"odd": {"use": odd(), "cause": str(cause)}, "good": {}}, clusters=1, limit=4, controls=False
    )
    found = everything(folder)
    assert [name for name, text in found.items() if "s3cr3t-w0rd" in text] == []
    said = " ".join(found.values())
    assert "@db.example:5432/notes, twice" in said, "the rest of the message is kept"


@pytest.mark.usefixtures("no_backoff")
@pytest.mark.parametrize("name", ["Lost", "Unreached", "Polite"])
def test_a_login_in_what_an_agent_says_of_its_failure_stands_in_no_file(
    small_run: Run, tmp_path: Path, name: str
) -> None:
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    _, folder = small_run("r", agent=f"{tmp_path / 'agent.py'}:{name}", clusters=1, limit=2, controls=False)
    found = everything(folder)
    assert [file for file, text in found.items() if "s3cr3t-w0rd" in text] == []
    assert any("models.example" in json.dumps(r) for r in records(folder, "toy"))


@pytest.mark.parametrize("password", ["s3cr3t", "p@s3cr3t", "s3cr3t@p", "a:s3cr3t", "s3cr3t%2F", "s3cr3t@@"])
def test_every_part_of_a_password_is_masked(password: str) -> None:
    said = redact(f"cannot reach redis://ada:{password}@db.example:5432/x?y=1 or http://other.example/a@b")
    assert "s3cr3t" not in said
    assert "db.example:5432/x?y=1" in said and "http://other.example/a@b" in said
