"""What every test shares: no network, no home folder, no real data by accident, the command in process or not."""

from __future__ import annotations

import functools
import gc
import io
import ipaddress
import itertools
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest
import typer.main
from hypothesis import settings

from kit import ROOT, TOY, Cli, Left, Ran, child_environment, small_conversation

# The same examples in every run, and no folder of old ones: a red test stays red, a green one green.
settings.register_profile("memassay", derandomize=True, database=None, deadline=None)
settings.load_profile("memassay")

_REAL_DATA = os.environ.get("MEMASSAY_DATA")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave ``slow`` tests out unless ``-m`` speaks of them."""
    if re.search(r"\bslow\b", config.getoption("markexpr", "") or ""):
        return
    slow = [item for item in items if item.get_closest_marker("slow") is not None]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item.get_closest_marker("slow") is None]


def pytest_collection_finish() -> None:
    """What is there once every test is collected stays to the end: the collector need not walk through it again."""
    gc.freeze()


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


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One empty folder after another; ``mktemp`` would read the names of all that were made before, every time."""
    top = tmp_path_factory.mktemp("homes")
    return (top / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def own_home(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch, request: Any) -> Path:
    """An empty home folder; ``MEMASSAY_DATA`` is unset except for tests marked ``data``."""
    home = next(homes)
    home.mkdir(mode=0o700)
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


@pytest.fixture(scope="session", autouse=True)
def sample_once() -> Iterator[None]:
    """LOCOMO's sample of a seed is drawn and parsed once: it is half of a small run, and there are hundreds."""
    from memassay.suites.locomo import load, sample
    from memassay.suites.locomo.suite import Locomo

    drawn = functools.cache(lambda seed: load.parse(sample.generate(seed), file="sample"))
    read = Locomo.conversations.func
    once = functools.cached_property(lambda suite: drawn(suite._seed) if suite.path is None else read(suite))
    once.__set_name__(Locomo, "conversations")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Locomo, "conversations", once)
        yield


# -- the command ---------------------------------------------------------------------------------------------------


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder; ``../shared/data`` is not beside it."""
    folder = tmp_path / "work" / "place"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="session")
def command_tree() -> Any:
    """Commands and options, drawn up once as in a process: it takes longer than most commands."""
    from memassay.cli import main

    return typer.main.get_command(main.app)


@pytest.fixture
def cli(workplace: Path, monkeypatch: pytest.MonkeyPatch, command_tree: Any) -> Cli:
    """The command in this process: ``cli("run", "locomo", ...)`` in an empty working folder."""
    from memassay.cli import main

    def run(*args: str | Path) -> Ran:
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        codes: list[int] = []

        def leave(code: int) -> NoReturn:
            codes.append(code)
            raise Left

        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["memassay", *map(str, args)])
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            patch.setattr(os, "_exit", leave)
            patch.setattr(typer.main, "get_command", lambda _: command_tree)
            try:
                main.main()
                codes.append(0)
            except Left:
                pass
            except SystemExit as end:
                codes.append(end.code if isinstance(end.code, int) else 0 if end.code is None else 1)
        texts = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]
        return Ran(codes[0], *texts)

    return run


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


@pytest.fixture
def never_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Failures are planted here and there; which of them follow each other is by chance of timing, and ends nothing."""
    from memassay.running import drive

    monkeypatch.setattr(drive, "FAILURES_IN_A_ROW", 1_000_000)


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
