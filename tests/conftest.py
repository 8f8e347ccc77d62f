"""What every test shares: no network, no home folder, no real data by accident, the command in process or not."""

from __future__ import annotations

import io
import ipaddress
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import settings

# The same examples in every run, and no folder of old ones: a red test stays red, a green one green.
settings.register_profile("memassay", derandomize=True, database=None, deadline=None)
settings.load_profile("memassay")

ROOT = Path(__file__).resolve().parents[1]
_REAL_DATA = os.environ.get("MEMASSAY_DATA")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave ``slow`` tests out unless ``-m`` speaks of them."""
    if re.search(r"\bslow\b", config.getoption("markexpr", "") or ""):
        return
    slow = [item for item in items if item.get_closest_marker("slow") is not None]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item.get_closest_marker("slow") is None]


# -- no network ----------------------------------------------------------------------------------------------------


class OutsideWorld(RuntimeError):
    """A test tried to reach a machine other than this one."""


def _is_here(address: object) -> bool:
    """Whether a socket address is on this machine (a name counts only if it is ``localhost``)."""
    if isinstance(address, (str, bytes)):
        return True  # AF_UNIX
    if not isinstance(address, tuple) or not address:
        return False
    host = address[0]
    if host in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(str(host).partition("%")[0]).is_loopback
    except ValueError:
        return False


def _refuse(address: object) -> NoReturn:
    raise OutsideWorld(f"tests must not use the network, but one tried to reach {address!r}")


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every connection that is not to the loopback interface fails loudly."""
    real = {name: getattr(socket.socket, name) for name in ("connect", "connect_ex", "sendto")}

    def guarded(name: str) -> Callable[..., Any]:
        def method(self: socket.socket, *args: Any) -> Any:
            if not _is_here(args[-1]):
                _refuse(args[-1])
            return real[name](self, *args)

        return method

    for name in real:
        monkeypatch.setattr(socket.socket, name, guarded(name))
    resolve = socket.getaddrinfo

    def getaddrinfo(host: Any, *args: Any, **more: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name is not None and not _is_here((name,)):
            _refuse(name)
        return resolve(host, *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


# -- no home, no data ----------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, request: Any) -> Path:
    """An empty home folder; ``MEMASSAY_DATA`` is unset except for tests marked ``data``."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    if request.node.get_closest_marker("data") is None:
        monkeypatch.delenv("MEMASSAY_DATA", raising=False)
    return home


def _real(name: str) -> Path:
    for folder in ([Path(_REAL_DATA)] if _REAL_DATA else []) + [ROOT.parent / "shared" / "data"]:
        if (folder / name).is_file():
            return folder / name
    pytest.skip(f"{name} is in neither $MEMASSAY_DATA nor ../shared/data")


@pytest.fixture(scope="session")
def locomo_file() -> Path:
    """The real LOCOMO file; the test is skipped, by name, where it is not there."""
    return _real("locomo10.json")


@pytest.fixture(scope="session")
def audit_file() -> Path:
    """The real audit of LOCOMO; the test is skipped, by name, where it is not there."""
    return _real("locomo_audit_errors.json")


# -- the command ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def complaint(self) -> str:
        """The one line that the command says when it refuses; anything else fails the test."""
        lines = [line for line in self.err.splitlines() if line.strip()]
        assert len(lines) == 1, f"expected one line on standard error, found:\n{self.err}"
        assert lines[0].startswith("memassay: "), lines[0]
        assert "Traceback" not in self.out
        return lines[0]


Cli = Callable[..., Ran]


class _Left(BaseException):
    """``os._exit`` in a command that runs inside the test process."""


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder; ``../shared/data`` is not beside it."""
    folder = tmp_path / "work" / "place"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def cli(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command in this process: ``cli("run", "locomo", ...)`` in an empty working folder."""
    from memassay.cli import main

    def run(*args: str | Path) -> Ran:
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        codes: list[int] = []

        def leave(code: int) -> NoReturn:
            codes.append(code)
            raise _Left

        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["memassay", *map(str, args)])
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            patch.setattr(os, "_exit", leave)
            try:
                main.main()
                codes.append(0)
            except _Left:
                pass
            except SystemExit as end:
                codes.append(end.code if isinstance(end.code, int) else 0 if end.code is None else 1)
        texts = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]
        return Ran(codes[0], *texts)

    return run


def child_environment(home: Path, **more: str) -> dict[str, str]:
    """What a command started as a process sees: nothing of the tester's own environment but what it needs to run."""
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT") if name in os.environ}
    proxies = {name: "http://127.0.0.1:9" for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")}
    # No byte code: a child under a file-size limit would leave half a .pyc in the source tree for everyone.
    python = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "error::RuntimeWarning"}
    return {**kept, **proxies, **python, "HOME": str(home), **more}


@pytest.fixture
def cli_process(workplace: Path, own_home: Path) -> Cli:
    """The command as a process of its own, with an empty home and an allow-listed environment."""

    def run(
        *args: str | Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        timeout: float = 120,
        python: Sequence[str] = (),
        preexec: Callable[[], None] | None = None,
    ) -> Ran:
        start = [sys.executable, *python] if python else [str(Path(sys.executable).with_name("memassay"))]
        done = subprocess.run(
            [*start, *map(str, args)],
            env=child_environment(own_home, **(env or {})),
            cwd=cwd or workplace,
            capture_output=True,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
            preexec_fn=preexec,
        )
        return Ran(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))

    return run


# -- small data ----------------------------------------------------------------------------------------------------

_TOPICS = (
    "kettle", "violin", "glacier", "mortgage", "hedgehog", "sourdough", "lighthouse", "passport",
    "telescope", "marathon", "orchid", "submarine", "chessboard", "waterfall", "compass", "accordion",
)  # fmt: skip
_PLACES = ("Lisbon", "Oslo", "Kyoto", "Quito", "Cairo", "Riga", "Perth", "Lima")


def small_conversation(number: int, questions: int = 6, sessions: int = 4) -> dict[str, Any]:
    """A conversation in LOCOMO's format: every topic is told once, in a session and a place of its own."""
    talk: dict[str, Any] = {"speaker_a": "Ada", "speaker_b": "Bo"}
    told: list[tuple[str, str, str]] = []
    for session in range(1, sessions + 1):
        turns = []
        for line in range(1, 9):
            topic = _TOPICS[(number * 5 + session * 4 + line // 2) % len(_TOPICS)]
            place = _PLACES[(number + session * 3 + line) % len(_PLACES)]
            name = f"D{session}:{line}"
            if line % 2:
                text = f"I saw the {topic} number {number}{session}{line} while I was in {place} last week."
                told.append((name, topic, f"{number}{session}{line}"))
            else:
                text = f"That sounds lovely, tell me more about {place} another day, remark {session}{line}."
            turns.append({"speaker": "Ada" if line % 2 else "Bo", "dia_id": name, "text": text})
        talk[f"session_{session}"] = turns
        talk[f"session_{session}_date_time"] = f"1:0{session} pm on {session + 3} May, 2023"
    qa = []
    for index in range(questions):
        first, second = told[index % len(told)], told[(index + 7) % len(told)]
        category = (4, 2, 1, 3)[index % 4]
        gold = [first, second] if category == 1 else [first]
        asked = " and ".join(f"the {topic} number {code}" for _, topic, code in gold)
        qa.append(
            {
                "question": f"Where did Ada see {asked}?",
                "answer": f"answer {index}",
                "evidence": [name for name, _, _ in gold],
                "category": category,
            }
        )
    return {"sample_id": f"conv-{900 + number}", "qa": qa, "conversation": talk}


@pytest.fixture
def small_file(tmp_path: Path) -> Callable[..., Path]:
    """``small_file(clusters=4, questions=6)`` writes a file in LOCOMO's format and gives its path."""

    def write(clusters: int = 4, questions: int = 6, name: str = "small.json") -> Path:
        path = tmp_path / name
        path.write_text(json.dumps([small_conversation(n, questions) for n in range(clusters)]), encoding="utf-8")
        return path

    return write


@pytest.fixture
def no_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    """Provider failures are retried at once, without waiting."""
    from memassay.running import drive

    monkeypatch.setattr(drive, "_BACKOFF_SECONDS", 0.0)


TOY = '''
"""A memory for tests: ranks turns by shared words; everything that can go wrong can be asked for."""

import asyncio
import errno
import json
import os
import re
import sys
import time
from pathlib import Path

from memassay.core.errors import CannotMeasure, MemoryFailure
from memassay.core.types import Passage


def words(text):
    return set(re.findall(r"\\w+", text.casefold()))


class Toy:
    """Ranks turns by shared words.

    Args:
        fault: what goes wrong at retrieval.
        build_fault: what goes wrong while building.
        where: the fault happens to questions with this text in them.
        delay: seconds per question; build_delay: seconds per build.
        keep: share of the questions that get an answer at all.
        log: a file that gets one line per build and per question.
    """

    def __init__(self, *, fault: str = "", build_fault: str = "", where: str = "", delay: float = 0.0,
                 build_delay: float = 0.0, keep: float = 1.0, log: str = "", note: str = "") -> None:
        if fault == "constructor":
            raise ValueError("the constructor does not like this")
        self.fault, self.build_fault, self.where, self.delay = fault, build_fault, where, delay
        self.build_delay, self.keep, self.log = build_delay, keep, log

    def build(self, corpus, place, context):
        self._log("build " + corpus.id)
        time.sleep(self.build_delay)
        go_wrong(self.build_fault)
        rows = [[u.id, f"{u.speaker}: {u.text}"] for d in corpus.documents for u in d.units]
        rows = rows or [[d.id, d.text] for d in corpus.documents]
        (Path(place) / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
        return {"passages": len(rows)}

    def open(self, ref):
        rows = json.loads((Path(ref.location) / "rows.json").read_text(encoding="utf-8"))
        return Mute() if self.fault == "no-retrieve" else Store(self, rows)

    def _log(self, line):
        if self.log:
            with open(self.log, "a", encoding="utf-8") as file:
                file.write(line + "\\n")


class AsyncToy(Toy):
    """The same, with async methods."""

    async def build(self, corpus, place, context):
        await asyncio.sleep(0)
        return Toy.build(self, corpus, place, context)

    def open(self, ref):
        store = Toy.open(self, ref)
        return AsyncStore(store.memory, store.rows)


class Mute:
    """A store that nobody can ask."""


class Store:
    def __init__(self, memory, rows):
        self.memory, self.rows = memory, rows

    def retrieve(self, query):
        self.memory._log("ask " + query.text)
        time.sleep(self.memory.delay)
        return self._ranked(query)

    def _ranked(self, query):
        if self.memory.where in query.text:
            if self.memory.fault == "string":
                return "just some text"
            if self.memory.fault == "wrong-item":
                return [Passage(text="x"), "y"]
            if self.memory.fault == "none":
                return None
            if self.memory.fault == "nan":
                return [Passage(text=text, unit_ids=(unit,), score=float("nan")) for unit, text in self.rows]
            go_wrong(self.memory.fault)
        code = sum(query.text.encode()) % 100
        if code >= 100 * self.memory.keep:
            return []
        asked = words(query.text)
        ranked = sorted(self.rows, key=lambda row: (-len(asked & words(row[1])), row[0]))
        return [Passage(text=text, unit_ids=(unit,)) for unit, text in ranked]


class AsyncStore(Store):
    async def retrieve(self, query):
        await asyncio.sleep(self.memory.delay)
        return self._ranked(query)


def go_wrong(fault):
    if fault == "raise":
        raise RuntimeError("it broke\\nin two lines")
    if fault == "exit":
        sys.exit(0)
    if fault == "interrupt":
        raise KeyboardInterrupt
    if fault == "network":
        raise ConnectionResetError("the line is dead")
    if fault == "empty-store":
        raise MemoryFailure("nothing was stored")
    if fault == "disk":
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if fault == "hang":
        time.sleep(30)
    if fault == "cannot":
        raise CannotMeasure("it needs a model and has none")
    if fault == "secret":
        raise RuntimeError(f"401 for key {os.environ['FAKE_API_KEY']}")
    if fault == "secret-cannot":
        raise CannotMeasure(f"no model for key {os.environ['FAKE_API_KEY']}")
    if fault == "secret-network":
        raise ConnectionError(f"no answer to https://host/?key={os.environ['FAKE_API_KEY']}")
'''


@pytest.fixture
def toy(tmp_path: Path) -> str:
    """``./…/toy.py:Toy``, a memory whose settings make it fail in every way that a memory can fail."""
    path = tmp_path / "toy.py"
    path.write_text(TOY, encoding="utf-8")
    return f"{path}:Toy"


@pytest.fixture
def small_run(tmp_path: Path, small_file: Callable[..., Path], toy: str) -> Callable[..., tuple[Any, Path]]:
    """``small_run("name", toy={"fault": "raise"}, limit=8)``: the summary and the folder of a run over small data."""
    from memassay.running.experiment import experiment_of
    from memassay.running.pipeline import Place, run_experiment

    def run(
        name: str,
        memories: Mapping[str, Mapping[str, Any]] | None = None,
        *,
        clusters: int = 4,
        questions: int = 6,
        workers: int = 4,
        shard: tuple[int, int] = (1, 1),
        **tables: Any,
    ) -> tuple[Any, Path]:
        path = small_file(clusters, questions, f"small-{clusters}-{questions}.json")
        given = {name: {"use": toy, **settings} for name, settings in (memories or {"toy": {}}).items()}
        experiment = {
            "suite": "locomo",
            "options": {"data": str(path)},
            "memories": given,
            "tokens": "chars4",
            "budgets": [40, 400],
            "ks": [1, 5],
            **tables,
        }
        folder = tmp_path / "runs" / name
        summary = run_experiment(experiment_of(experiment), Place(out=folder, workers=workers, shard=shard))
        return summary, folder

    return run
