"""The matrix in memory says what the file says."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from platform_kit import CORRECTION, FACT, NOISE, Bench, hits

from memassay.platform import meaning as module
from memassay.platform.meaning import VectorIndex
from memassay.platform.service import Platform
from memassay.platform.settings import Settings
from memassay.platform.shapes import RecordUpdate
from memassay.retrieval.embedders import HashedWords


def all_rows(owners: np.ndarray, states: np.ndarray) -> np.ndarray:
    return states > 0


def test_the_nearest_are_those_of_a_plain_loop(bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BLOCK", 8)
    monkeypatch.setattr(module, "_FETCHED", 16)
    place = bench(supersede=1.0)
    draw = np.random.default_rng(4)
    words = ["zorblat", "order", "harbour", "glimmer", "unit", "refund", "tier", "month"]
    texts = [" ".join(draw.choice(words, 6)) + f" {number % 3}" for number in range(90)]
    who = [place.teacher, place.learner, place.third]
    for number, text in enumerate(texts):
        place.capture(text, f"urn:{number}", who=who[number % 3])
    embed = HashedWords().embed
    for owner in (1, 2, 3):
        code = place.table(f"SELECT code FROM people WHERE user_id = 'apikey:bench-agent-00{owner}'")[0][0]
        wanted = lambda owners, states, code=code: (owners == code) & (states > 0)  # noqa: E731
        for question in ("zorblat order month", "tier refund 2", "harbour"):
            vector = embed([question])[0]
            with place.platform._database.read() as con:
                found = place.platform._meaning.near(con, "records", question, wanted, 7)
                among = place.platform._meaning.near(con, "records", question, wanted, 99, [1, 2, 3, 4, 5, 6, 999])
            plain = [
                (seq, round(float(embed([text])[0] @ vector), 6))
                for seq, text in enumerate(texts, start=1)
                if (seq - 1) % 3 == owner - 1
            ]
            plain.sort(key=lambda one: (-one[1], -one[0]))
            assert [seq for seq, _ in found] == [seq for seq, _ in plain[:7]]
            assert [score for _, score in found] == pytest.approx([score for _, score in plain[:7]], abs=2e-6)
            assert sorted(seq for seq, _ in among) == [owner, owner + 3]


def test_another_process_is_followed(tmp_path: Path) -> None:
    """Two platforms on one file, as two programs would open it."""
    one = Bench(tmp_path / "w", supersede=0.6)
    two = Platform(tmp_path / "w", Settings(embedder="hash", durable=False))
    made = one.capture(FACT)
    assert [hit.ref for hit in hits(two.search(one.teacher, "zorblat"))] == [made.id]
    newer = one.capture(CORRECTION)
    assert [hit.ref for hit in hits(two.search(one.teacher, "zorblat"))] == [newer.id]
    two.memory_update(one.teacher, newer.id, RecordUpdate(content=NOISE))
    assert one.capture(NOISE).superseded_ids == (newer.id,)
    two.close()
    one.platform.close()


def test_another_embedder_makes_its_own_vectors_when_it_opens(tmp_path: Path) -> None:
    one = Bench(tmp_path / "w", embedder="none")
    made = one.capture(FACT)
    one.publish(made.id)
    one.platform.close()
    two = Platform(tmp_path / "w", Settings(embedder="hash", durable=False))
    found = two.search(one.learner, "glimmer", sources=["insights", "knowledge_pages"])
    assert (found.ranking, found.count) == ("hybrid", 2)
    two.close()


def test_questions_while_others_write_are_answered_whole(bench: Callable[..., Bench]) -> None:
    place = bench(supersede=1.0)
    failures: list[BaseException] = []
    done = threading.Event()

    def ask() -> None:
        try:
            while not done.is_set():
                for hit in hits(place.platform.search(place.teacher, "zorblat order", sources=["insights"])):
                    assert hit.text.startswith("Zorblat")
                assert place.platform.search(place.learner, "zorblat order").count == 0
        except BaseException as problem:
            failures.append(problem)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(60):
        place.capture(f"Zorblat order number {number} is kept.", f"urn:{number}")
    done.set()
    for thread in threads:
        thread.join()
    assert failures == []


def test_rows_are_read_once_not_per_question(place: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    place.capture(FACT)
    place.platform.search(place.teacher, "zorblat")
    kept: list[int] = []
    real = VectorIndex._keep
    monkeypatch.setattr(
        VectorIndex, "_keep", lambda index, seqs, rows: (kept.extend(seqs.tolist()), real(index, seqs, rows))[1]
    )
    place.platform.search(place.teacher, "zorblat")
    assert kept == []
    place.capture(NOISE)
    assert kept == []  # its own question came before the row
    place.platform.search(place.teacher, "zorblat")
    assert kept == [2]
