"""``kill -9`` in the middle of writes: what was acknowledged is there, and the file is whole."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_platform_database import whole

from kit import child_environment
from memassay.platform.service import Platform
from memassay.platform.settings import Settings
from memassay.platform.shapes import InsightFilter

WRITER = """
import os, sys, threading
from pathlib import Path
from memassay.platform.service import Platform
from memassay.platform.settings import Settings
from memassay.platform.shapes import Caller, CaptureRequest, PageDraft

platform = Platform(Path(sys.argv[1]), Settings(embedder="hash", supersede=1.0, durable=sys.argv[2] == "True"))
agents = platform.add_pool("K", 4)
admin = platform.authenticate("K")

def say(line):
    sys.stdout.write(line + "\\n")
    sys.stdout.flush()

def work(at):
    who = Caller(identity=agents[at], session=platform.platform_info(agents[at]).session_id)
    boss = Caller(identity=admin, session=platform.platform_info(admin).session_id)
    for number in range(100_000):
        text = f"Worker {at} of process {os.getpid()} keeps thing {number}."
        urn = f"urn:{os.getpid()}:{at}:{number}"  # nothing takes the place of anything
        made = platform.memory_capture(who, CaptureRequest(type="business_knowledge", content=text, entity_urns=(urn,)))
        say(f"kept {made.id}")
        if number % 3 == 0:
            page = PageDraft(slug=f"p-{os.getpid()}-{at}-{number}", title="t", summary=text, body=text, force_new=True)
            done = platform.knowledge_apply(boss, [made.id], "knowledge_page", page=page, confirm=True)
            say(f"applied {made.id} {page.slug}")

threads = [threading.Thread(target=work, args=(at,), daemon=True) for at in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


@pytest.mark.slow
@pytest.mark.parametrize("durable", [True, False])
def test_nothing_acknowledged_is_lost(tmp_path: Path, durable: bool) -> None:
    env = child_environment(tmp_path, PYTHONPATH=os.pathsep.join(sys.path))
    kept: list[str] = []
    applied: list[tuple[str, str]] = []
    for wait in (0.4, 0.9, 0.2, 0.6):
        child = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path / "w"), str(durable)], stdout=subprocess.PIPE, env=env
        )
        assert child.stdout is not None
        lines = [child.stdout.readline()]
        time.sleep(wait)
        child.send_signal(signal.SIGKILL)
        lines += child.stdout.read().splitlines(keepends=True)
        child.wait()
        child.stdout.close()
        said = [line.decode().split() for line in lines if line.endswith(b"\n")]
        kept += [words[1] for words in said if words[0] == "kept"]
        applied += [(words[1], words[2]) for words in said if words[0] == "applied"]
        whole(tmp_path / "w")
    assert len(kept) > 20
    assert applied
    with Platform(tmp_path / "w", Settings(embedder="hash")) as platform:
        admin = platform.authenticate("K")
        for id in kept:
            assert platform.get_insight(admin, id).status in ("pending", "applied")
        for id, slug in applied:
            insight = platform.get_insight(admin, id)
            assert insight.status == "applied"
            assert platform.get_changeset(admin, insight.changeset_ref or "").target_urn == f"kp:{slug}"
            assert re.fullmatch(r"Worker \d of process \d+ keeps thing \d+\.", platform.get_page(admin, slug).summary)
        # An application is whole or not there at all, acknowledged or not.
        done = platform.list_insights(admin, InsightFilter(status="applied")).total
        assert done == platform.list_changesets(admin).total == platform.list_pages(admin).total
