from __future__ import annotations

from itertools import chain, combinations

import pytest

from memassay.core.asking import Instructions
from memassay.suites.hotpotqa.instructions import instructions as hotpotqa
from memassay.suites.locomo.instructions import instructions as locomo

ACCESSES = ("dossier", "tools", "folder")


def test_the_task_is_the_same_and_the_sentences_of_the_accesses_stand_in_it_in_one_order() -> None:
    told = Instructions(task="Answer. {reach} Be short.", dossier="Read.", tools="Search.", folder="Look.")
    assert told(["dossier"]) == "Answer. Read. Be short."
    assert told(["folder", "tools"]) == told(["tools", "folder"]) == "Answer. Search. Look. Be short."


@pytest.mark.parametrize("told", [locomo, hotpotqa])
def test_arms_of_a_suite_differ_only_in_how_the_memory_is_reached(told: Instructions) -> None:
    sentences = {access: getattr(told, access) for access in ACCESSES}
    for access in chain.from_iterable(combinations(ACCESSES, n) for n in (1, 2, 3)):
        said = told(access)
        assert {name: sentence in said for name, sentence in sentences.items()} == {n: n in access for n in ACCESSES}
        for sentence in sentences.values():
            said = said.replace(sentence, "")
        assert " ".join(said.split()) == " ".join(told.task.format(reach="").split())
