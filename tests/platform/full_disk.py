"""Fill a disk of four megabytes under a running server, look what it answers, and what is left with room again.

    unshare --map-root-user --mount --pid --fork --kill-child python full_disk.py DISK BESIDE

DISK is an empty folder that the disk is mounted on, which only this process and its children see and which is gone when
they are; BESIDE is a folder with room. Prints what was found as one JSON object.
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from serving_kit import KEYS, ROLES, Speaker

SIZE, ROOM = "4m", "32m"
WRITERS = 4
REFUSED_IN_A_ROW = 8
KNOBS = ("embedder=hash", "supersede=1.0", "similar=1.0", "duplicate_page=1.0")


class Server:
    """``memassay platform serve`` as a process."""

    def __init__(self, folder: Path, *more: str) -> None:
        command = ["platform", "serve", "--data", str(folder), "--port", "0", "--json", *more]
        settings = [word for knob in KNOBS for word in ("--set", knob)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "memassay", *command, *settings],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.began = self.process.stdout.readline()

    def speaker(self, name: str) -> Speaker:
        return Speaker(json.loads(self.began)["url"], KEYS[name])

    def end(self, how: signal.Signals) -> tuple[int, str]:
        """Its exit code and what it said."""
        self.process.send_signal(how)
        _, said = self.process.communicate(timeout=60)
        return self.process.returncode, said


class Kept:
    """What was acknowledged, and how every call ended."""

    def __init__(self) -> None:
        self.captured: dict[str, str] = {}
        self.applied: dict[str, str] = {}
        self.ends: collections.Counter[str] = collections.Counter()


def told(result: dict[str, Any]) -> str:
    """How a tool call ended: ``ok`` or its code."""
    return result["structuredContent"]["error"]["code"] if result["isError"] else "ok"


def write(server: Server, at: int, kept: Kept) -> None:
    """Capture and apply until nothing is taken any more."""
    agent, reviewer = server.speaker("ada"), server.speaker("admin")
    session = agent.raw("platform_info")["structuredContent"]["session_id"]
    refused = number = 0
    while refused < REFUSED_IN_A_ROW:
        number += 1
        text = f"Writer {at} keeps thing {number}. " + f"Word{at}x{number} " * 60
        made = agent.raw(
            "memory_capture", session_id=session, type="business_knowledge", content=text.strip(),
            entity_urns=[f"urn:{at}:{number}"],
        )  # fmt: skip
        kept.ends[f"capture {told(made)}"] += 1
        if made["isError"]:
            refused += 1
            continue
        refused = 0
        id = made["structuredContent"]["id"]
        kept.captured[id] = text.strip()
        if number % 3 == 0:
            page = {"slug": f"p-{at}-{number}", "title": "t", "summary": text.strip(), "body": text * 4}
            body = {"insight_ids": [id], "sink": "knowledge_page", "page": page | {"force_new": True}}
            reply = reviewer.http.post("/api/v1/memassay/apply", json=body)
            kept.ends[f"apply {'ok' if reply.status_code == 200 else reply.json()['code']}"] += 1
            if reply.status_code == 200:
                kept.applied[id] = page["slug"]


def read(server: Server, kept: Kept) -> dict[str, Any]:
    """Ask for everything that was acknowledged, by id, by its page and by its words."""
    admin, agent = server.speaker("admin"), server.speaker("ada")
    found: dict[str, Any] = {"missing": [], "other words": [], "pages": []}
    for id, text in kept.captured.items():
        reply = admin.http.get(f"/api/v1/admin/knowledge/insights/{id}")
        if reply.status_code != 200:
            found["missing"].append(reply.text)
        elif reply.json()["insight_text"] != text:
            found["other words"].append(id)
    for id, slug in kept.applied.items():
        reply = agent.http.get(f"/api/v1/portal/knowledge-pages/{slug}")
        if reply.status_code != 200 or reply.json()["summary"] != kept.captured[id]:
            found["pages"].append(reply.text)
    return found


def search(server: Server, session: str, kept: Kept) -> list[str]:
    """How searches for a few of the things end: ``found``, ``not found`` or a code."""
    agent = server.speaker("ada")
    ends = []
    for text in list(kept.captured.values())[:: max(1, len(kept.captured) // 10)]:
        result = agent.raw("search", session_id=session, purpose="A test.", intent=text.split()[-1])
        hits = [] if result["isError"] else result["structuredContent"]["groups"]
        there = any(text[:80] in json.dumps(group) for group in hits)
        ends.append(told(result) if result["isError"] else "found" if there else "not found")
    return sorted(set(ends))


def command(*words: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-m", "memassay", *words], capture_output=True, text=True)
    return {"code": done.returncode, "said": done.stderr}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def stuff(disk: Path) -> None:
    """Take what room there is, to the last byte."""
    with (disk / "filler").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"\0" * 4096)


@contextlib.contextmanager
def mounted(disk: Path) -> Iterator[None]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(disk)], check=True)
    yield


def counts(folder: Path) -> dict[str, int]:
    """Rows that come together, read past the server."""
    with contextlib.closing(sqlite3.connect(folder / "platform.sqlite")) as con:
        ask = {
            "records": "SELECT count(*) FROM records",
            "vectors": "SELECT count(*) FROM records_vectors",
            "applied": "SELECT count(*) FROM records WHERE status = 'applied'",
            "changesets": "SELECT count(*) FROM changesets",
            "pages": "SELECT count(*) FROM pages",
        }
        found = {name: int(con.execute(sql).fetchone()[0]) for name, sql in ask.items()}
        assert con.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert con.execute("PRAGMA foreign_key_check").fetchall() == []
    return found


def main(disk: Path, beside: Path) -> dict[str, Any]:
    keys, folder = beside / "keys.json", disk / "memory"
    holders = [
        {"key": KEYS[name], "identity": {"user_id": name, "email": f"{name}@x", "name": name, "roles": [role]}}
        for name, role in ROLES.items()
    ]
    keys.write_text(json.dumps(holders))
    found: dict[str, Any] = {}
    kept = Kept()
    with mounted(disk):
        server = Server(folder, "--keys", str(keys))
        session = server.speaker("ada").raw("platform_info")["structuredContent"]["session_id"]
        (disk / "backup.sqlite").write_text("An older one.")
        threads = [threading.Thread(target=write, args=(server, at, kept)) for at in range(WRITERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        stuff(disk)
        found["captured"], found["applied"] = len(kept.captured), len(kept.applied)
        found["read when full"] = read(server, kept)
        found["searched when full"] = search(server, session, kept)
        found["session when full"] = told(server.speaker("ben").raw("platform_info"))
        before = names(disk)
        found["snapshot onto it"] = command("platform", "snapshot", "--data", str(folder), str(disk / "backup.sqlite"))
        found["new on it"] = sorted(set(names(disk)) - set(before))
        found["older one"] = (disk / "backup.sqlite").read_text()
        found["snapshot beside"] = command(
            "platform", "snapshot", "--data", str(folder), str(beside / "backup.sqlite")
        )  # fmt: skip
        found["killed"] = server.end(signal.SIGKILL)[0]
        server = Server(folder)
        found["began when full"] = bool(server.began)
        if server.began:
            found["read after a kill"] = read(server, kept)
        found["ended when full"] = server.end(signal.SIGTERM)
        found["restored when full"] = command(
            "platform", "restore", "--data", str(folder), str(beside / "backup.sqlite")
        )
        (disk / "filler").unlink()
        subprocess.run(["mount", "-o", f"remount,size={ROOM}", str(disk)], check=True)
        server = Server(folder)
        found["read with room"] = read(server, kept)
        session = server.speaker("ada").raw("platform_info")["structuredContent"]["session_id"]
        found["searched with room"] = search(server, session, kept)
        found["captured with room"] = bool(server.speaker("ada").capture("The shelf has room for a thing again."))
        found["ended with room"] = server.end(signal.SIGTERM)[0]
        found["counts"] = counts(folder)
        (beside / "copy").mkdir()
        if (beside / "backup.sqlite").exists():
            (beside / "backup.sqlite").rename(beside / "copy" / "platform.sqlite")
            server = Server(beside / "copy")
            found["read of the snapshot"] = read(server, kept)
            server.end(signal.SIGTERM)
    return found | {"ends": kept.ends}


if __name__ == "__main__":
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[1:])
    print(json.dumps(main(Path(sys.argv[1]), Path(sys.argv[2]))))
