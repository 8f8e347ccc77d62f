"""How long search and capture take in a workspace of 100, 10,000 and 1,000,000 records.

    python benchmarks/platform/latency.py                       # 100 and 10,000 records
    python benchmarks/platform/latency.py --records 1000000     # some minutes and 4 GB of disk, 2 GB of memory

The records are generated: half of them belong to one user, the rest to a thousand others, and every tenth is an
applied insight that everybody sees. Their words are drawn like words of English are (the i-th in the list with weight
1/i), their vectors at random, as a million texts take hours to embed. Questions and captures go the whole way: checks,
the real embedder, both indexes, the audit event, a write that is synced to the disk. ``first`` is the first question
after opening, which reads all vectors.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from memassay.platform import identities
from memassay.platform.lexicon import add_words
from memassay.platform.records import labels
from memassay.platform.service import Platform
from memassay.platform.settings import Settings
from memassay.platform.shapes import Caller, CaptureRequest, Identity

BATCH = 20_000
OTHERS = 1_000
COLUMNS = (
    "seq, id, created, updated, owner, created_by, persona, session_id, dimension, sink_class, content, category, "
    "confidence, source, entity_urns, related_columns, suggested_actions, metadata, lifecycle, status"
)


def person(name: str) -> Identity:
    return Identity(user_id=name, email=f"{name}@example.org", name=name, roles=("agent",))


class Words:
    """Sentences of invented words."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        parts = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
        words = itertools.product(parts, parts, ["n", "r", "s", "l"])
        self.words = ["".join(word) for word in words]
        self.draw.shuffle(self.words)
        self.weights = list(itertools.accumulate(1 / (i + 1) for i in range(len(self.words))))

    def sentence(self, length: int) -> str:
        return " ".join(self.draw.choices(self.words, cum_weights=self.weights, k=length)).capitalize() + "."


def fill(platform: Platform, count: int, words: Words) -> None:
    """Write records past the service, which embeds each text."""
    people = [person("heavy"), *(person(f"user-{i:04d}") for i in range(OTHERS))]
    vectors = np.random.default_rng(7)
    with platform._database.write() as writing:
        codes = [identities.ensure(writing, one) for one in people]
    for start in range(0, count, BATCH):
        size = min(BATCH, count - start)
        rows = vectors.standard_normal((size, 384), dtype=np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        with platform._database.write() as writing:
            for at in range(size):
                seq = start + at + 1
                owner = 0 if seq % 2 else 1 + seq // 2 % OTHERS
                status = "applied" if seq % 10 == 0 else "pending"
                text, tick = words.sentence(18), writing.tick()
                urn = f"urn:li:dataset:(urn:li:dataPlatform:trino,warehouse.main.table_{seq % 500},PROD)"
                writing.con.execute(
                    f"INSERT INTO records ({COLUMNS}) VALUES ({','.join('?' * 20)})",
                    (
                        *(seq, f"{seq:032x}", tick, tick, codes[owner], people[owner].email, "analyst", ""),
                        *("knowledge", "business_knowledge", text, "general", "medium", "agent", json.dumps([urn])),
                        *("[]", "[]", "{}", "active", status),
                    ),
                )
                writing.con.execute("INSERT INTO record_entities VALUES (?, ?)", (urn, seq))
                blob = rows[at].tobytes()
                writing.con.execute(
                    "INSERT INTO records_vectors VALUES (?, ?, ?)", (seq, platform._meaning.model, blob)
                )
                add_words(writing.con, "records", seq, text, labels(codes[owner], status))


def timed(call) -> tuple[float, float]:
    """Milliseconds by the clock, and of the processor."""
    start, used = time.perf_counter(), time.process_time()
    call()
    return (time.perf_counter() - start) * 1000, (time.process_time() - used) * 1000


def measure(platform: Platform, name: str, words: Words, times: int) -> None:
    identity = person(name)
    caller = Caller(identity=identity, session=platform.platform_info(identity).session_id, purpose="benchmark")
    first = timed(lambda: platform.search(caller, words.sentence(6)))[0]
    searches = [timed(lambda: platform.search(caller, words.sentence(6))) for _ in range(times)]
    requests = [CaptureRequest(type="business_knowledge", content=words.sentence(18)) for _ in range(times)]
    captures = [timed(lambda one=one: platform.memory_capture(caller, one)) for one in requests]
    print(f"  {name:10} first {first:8.1f} ms, search {shown(searches)}, capture {shown(captures)}", flush=True)


def shown(times: list[tuple[float, float]]) -> str:
    wall, used = (sorted(values) for values in zip(*times, strict=True))
    tail = wall[int(len(wall) * 0.95) - 1]
    return f"{statistics.median(wall):6.1f} ms (p95 {tail:6.1f}, processor {statistics.median(used):6.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, nargs="+", default=[100, 10_000])
    parser.add_argument("--folder", type=Path, help="where the workspaces are kept; one that is there is used again")
    parser.add_argument("--times", type=int, default=60)
    parser.add_argument("--embedder", choices=["minilm", "e5", "none"], default="minilm")
    args = parser.parse_args()
    for count in args.records:
        with tempfile.TemporaryDirectory() as scratch:
            folder = (args.folder or Path(scratch)) / f"{count}"
            words, settings = Words(count), Settings(embedder=args.embedder)
            if not folder.is_dir():
                start = time.perf_counter()
                with Platform(folder, settings) as platform:
                    fill(platform, count, words)
                print(f"{count:,} records filled in {time.perf_counter() - start:.0f} s", flush=True)
            with Platform(folder, settings) as platform:
                print(f"{count:,} records, {args.embedder}", flush=True)
                for name in ("heavy", "user-0007"):
                    measure(platform, name, words, args.times)


if __name__ == "__main__":
    main()
