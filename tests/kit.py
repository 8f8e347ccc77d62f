"""What tests share that is no fixture: how a command ran, a small conversation, a toy memory."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


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


class Left(BaseException):
    """``os._exit`` in a command that runs inside the test process."""


def child_environment(home: Path, **more: str) -> dict[str, str]:
    """What a command started as a process sees: nothing of the tester's own environment but what it needs to run."""
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT") if name in os.environ}
    proxies = {name: "http://127.0.0.1:9" for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")}
    # No byte code: a child under a file-size limit would leave half a .pyc in the source tree for everyone.
    python = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "error::RuntimeWarning"}
    return {**kept, **proxies, **python, "HOME": str(home), **more}


def printed_elsewhere(program: str, cwd: Path) -> set[str]:
    """What a program prints in two processes, each with another hash seed; one value where seeds do not count."""
    found = set()
    for seed in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": "C"},
            cwd=cwd,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        found.add(done.stdout.strip())
    return found


def shared_words(question: str, text: str) -> int:
    """How many words of four letters or more a question and a text have in common."""
    return len(set(re.findall(r"\w{4,}", question.lower())) & set(re.findall(r"\w{4,}", text.lower())))


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
