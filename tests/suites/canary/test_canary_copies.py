"""What the memories of the house copy from a generated company is never taken for an invention."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memassay.core.contracts import BuildContext
from memassay.core.dossier import dossier_of, trimmed
from memassay.core.registry import memories
from memassay.core.types import Corpus, Evidence, Passage, Query, StoreRef
from memassay.judging.evidence import EvidenceJudge
from memassay.suites.canary.claims import Checker, Finding
from memassay.suites.canary.labels import label
from memassay.suites.canary.manifest import Manifest
from memassay.suites.canary.world import World, make_world

BUDGETS = (100, 700, 4000)


@pytest.fixture(scope="module")
def world() -> World:
    return make_world()


@pytest.fixture(scope="module")
def checker(world: World) -> Checker:
    return Checker(Manifest(world.documents), world.supersessions)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["files", "lexical", "passages", "markdown", "full-context"])
def test_copies_are_real(name: str, world: World, checker: Checker, tmp_path: Path) -> None:
    made: Any = memories.get(name)
    memory = made(embedder="none", dense=0.0) if name == "passages" else made()
    corpus = Corpus(id="docs", documents=world.documents, digest="world")
    (tmp_path / "store").mkdir()
    memory.build(corpus, tmp_path / "store", BuildContext())
    store = memory.open(StoreRef(key="k", location=str(tmp_path / "store")))
    judge = EvidenceJudge(key="original", tokens="o200k_base", budgets=BUDGETS, ks=[])
    for question in world.questions[::3]:
        found = dossier_of(store.retrieve(Query(text=question.query, budget_tokens=BUDGETS[-1])))
        stored = trimmed(found, "o200k_base", BUDGETS[-1])
        gold = [Evidence(id=str(number), text=atom.text) for number, atom in enumerate(question.required)]
        scores = judge.scores(stored, gold) if gold else {}
        for budget in BUDGETS:
            parts = label(question, stored, budget, checker).parts
            assert (parts.n_fabricated, parts.n_undetermined) == (0, 0), question.id
            if gold:
                assert parts.covered == scores[f"rec@{budget}"], question.id


@pytest.mark.parametrize("size", [200, 800])
def test_a_chunk_may_be_cut_anywhere(size: int, world: World, checker: Checker) -> None:
    """Inside of a word, of the target of a link, or so that three letters are left at the end of a document."""
    for document in world.documents[::2]:
        for at in range(0, len(document.text), size * 9 // 10):
            chunk = document.text[at : at + size]
            for text in (chunk, f"{document.title}\n{chunk}"):
                found = checker.check(Passage(text=text, doc_ids=(document.id,)))
                assert found == Finding(), (document.id, text)


def test_the_target_of_a_link_is_copied_exactly(world: World, checker: Checker) -> None:
    document = next(one for one in world.documents if ".md)" in one.text)
    torn = document.text[: document.text.index(".md)")][-120:]
    assert not checker.check(Passage(text=torn, doc_ids=(document.id,))).fabricated
    assert checker.check(Passage(text=f"{torn}-4711", doc_ids=(document.id,))).text
