"""Memories that fail, and one that cheats, beside one that works."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memassay.core.errors import UsageError

Write = Callable[[str, str], str]
Measure = Callable[..., Any]

ODD = '''
import copy
import time
from pathlib import Path

from memassay.core.errors import CannotMeasure, MemoryFailure
from memassay.core.types import Dossier, Passage


class Base:
    corpora = {}

    def build(self, corpus, place, context):
        (place / "id").write_text(corpus.id)
        type(self).corpora[corpus.id] = corpus  # a trick that only works in one process: these tests never reopen

    def open(self, ref):
        store = copy.copy(self)
        store.corpus = self.corpora[(Path(ref.location) / "id").read_text()]
        return store

    def retrieve(self, query):
        return [Passage(text=u.text, unit_ids=(u.id,)) for d in self.corpus.documents for u in d.units]

    def every_unit(self):
        return tuple(u.id for d in self.corpus.documents for u in d.units)


class NeedsModel(Base):
    def build(self, corpus, place, context):
        raise CannotMeasure("it writes with a model and was given none")


class NeedsKey(Base):
    def __init__(self):
        raise CannotMeasure("it has no key")


class NeedsServer(Base):
    def open(self, ref):
        raise CannotMeasure("its server is not there")


class NeedsLicence(Base):
    def retrieve(self, query):
        raise CannotMeasure("its licence has run out")


class Mute(Base):
    def open(self, ref):
        return object()


class Refuses(Base):
    def __init__(self, *, size: int = 0):
        raise ValueError(f"size must be above 0, not {size}")


class CrashesBuilding(Base):
    def build(self, corpus, place, context):
        raise ZeroDivisionError("the index\\nfell over")


class StoresNothing(Base):
    def build(self, corpus, place, context):
        raise MemoryFailure("nothing was kept")


class Crashes(Base):
    def retrieve(self, query):
        raise KeyError("no such row")


class Hangs(Base):
    def retrieve(self, query):
        time.sleep(60)


class HangsAwaited(Base):
    async def retrieve(self, query):
        import asyncio
        await asyncio.sleep(60)


class GivesText(Base):
    def retrieve(self, query):
        return "People come to Ostia for bricks."


class GivesTexts(Base):
    def retrieve(self, query):
        return ["People come to Ostia for bricks."]


class GivesNone(Base):
    def retrieve(self, query):
        return None


class GivesOne(Base):
    def retrieve(self, query):
        return Passage(text="People come to Ostia for bricks.")


class Yields(Base):
    def retrieve(self, query):
        yield Passage(text="People come to Ostia for bricks.")


class WrongPassage(Base):
    def retrieve(self, query):
        return [Passage(txt="x")]


class GivesDossier(Base):
    def retrieve(self, query):
        return Dossier(passages=tuple(Base.retrieve(self, query)))


class CitesAll(Base):
    """Claims every source and says nothing that stands in any."""

    def retrieve(self, query):
        return [Passage(text="Everything you need is in our records.", unit_ids=self.every_unit())]


class CitesAllSilently(Base):
    def retrieve(self, query):
        return [Passage(text=text, unit_ids=self.every_unit()) for text in ("", " ", "\\n\\u2003")]


class CitesAllLate(Base):
    """Puts the claims behind more words than any budget holds."""

    def retrieve(self, query):
        return [Passage(text="word " * 9000), Passage(text="x", unit_ids=self.every_unit())]
'''


def arms(measure: Measure, write: Write, *names: str, **tables: Any) -> Any:
    path = write("odd.py", ODD)
    return measure({name: {"use": f"{path}:{name}"} for name in ("Base", *names)}, **tables)


def values(summary: Any, arm: str, family: str = "all") -> list[Any]:
    found = summary["arms"][arm]
    block = found["cited"] if family == "cited" else found["metrics"]
    return [estimate["value"] for name, estimate in block.items() if name.startswith(f"{family}@")]


def details(workplace: Path, arm: str) -> set[tuple[str, str]]:
    from memassay.runs.folder import RunFolder
    from memassay.runs.lines import read_lines

    return {
        (record["status"], record["detail"])
        for segment in RunFolder(workplace / "runs" / "one").segments()
        for _, record in read_lines(segment)
        if record["cell"]["arm"] == arm and not record["cell"]["task"].startswith("marker/")
    }


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("NeedsModel", "it writes with a model and was given none"),
        ("NeedsKey", "it has no key"),
        ("NeedsServer", "its server is not there"),
        ("NeedsLicence", "its licence has run out"),
        ("Mute", "its store has no retrieve(query); object cannot be asked"),
    ],
)
def test_what_cannot_be_measured_is_null_with_the_reason(measure: Measure, write: Write, name: str, why: str) -> None:
    summary = arms(measure, write, name)
    arm = summary["arms"][name]
    assert arm["reason"] == why and arm["n"] == 0
    for estimate in arm["metrics"].values():
        assert estimate["value"] is None and estimate["reason"] == why
    assert any(why in note for note in summary["notes"])
    assert values(summary, "Base")[1] == 1.0, "the others are measured"
    assert summary["cells"]["counted"] == summary["cells"]["planned"]


def test_a_constructor_that_refuses_ends_the_command_before_anything_is_written(
    measure: Measure, write: Write, workplace: Path
) -> None:
    with pytest.raises(UsageError, match="'Refuses' cannot be made: ValueError: size must be above 0, not 0"):
        arms(measure, write, "Refuses")
    assert not (workplace / "runs").exists()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("CrashesBuilding", "ZeroDivisionError: the index fell over"),
        ("StoresNothing", "nothing was kept"),
        ("Crashes", "KeyError: 'no such row'"),
        ("GivesText", "retrieve() returned str; return a list of Passage, best first"),
        ("GivesTexts", "retrieve() returned a list with a str in it; every item must be a Passage"),
        ("GivesNone", "retrieve() returned NoneType; return a list of Passage"),
        ("GivesOne", "retrieve() returned Passage; return a list of Passage"),
        ("Yields", "retrieve() returned generator; return a list of Passage"),
        ("WrongPassage", "txt Extra inputs are not permitted"),
    ],
)
def test_a_failure_is_wrong_and_says_what_to_mend(
    measure: Measure, write: Write, workplace: Path, name: str, says: str
) -> None:
    summary = arms(measure, write, name)
    arm = summary["arms"][name]
    assert arm["reason"] is None and arm["n"] == 6
    assert set(values(summary, name)) == {0.0}
    assert arm["failures"] == {"memory": 6, "provider": 0, "harness": 0}
    assert arm["secondary"]["answered_only"]["n"] == 0
    for status, detail in details(workplace, name):
        assert status.startswith("memory-") and says in detail and "\n" not in detail
    assert values(summary, "Base")[1] == 1.0
    assert not summary["controls"]["marker"]["passed"] and not summary["publishable"]["value"]


def test_what_hangs_is_left_behind(measure: Measure, write: Write, workplace: Path) -> None:
    started = time.monotonic()
    summary = arms(measure, write, "Hangs", "HangsAwaited", limits={"retrieve_seconds": 0.2})
    assert time.monotonic() - started < 20
    for name in ("Hangs", "HangsAwaited"):
        assert summary["arms"][name]["failures"]["memory"] == 6
        assert details(workplace, name) == {("memory-timeout", "nothing retrieved after 0.2 s")}
    assert values(summary, "Base")[1] == 1.0


def test_a_dossier_is_as_good_as_a_list(measure: Measure, write: Write) -> None:
    summary = arms(measure, write, "GivesDossier")
    assert values(summary, "GivesDossier") == values(summary, "Base")


def test_who_cites_everything_and_shows_nothing_finds_nothing(measure: Measure, write: Write) -> None:
    """Principle 6: the words must stand in the dossier; a claim is another metric."""
    summary = arms(measure, write, "CitesAll", "CitesAllSilently", "CitesAllLate")
    for name in ("CitesAll", "CitesAllSilently", "CitesAllLate"):
        for family in ("all", "any", "rec"):
            assert set(values(summary, name, family)) == {0.0}, (name, family)
        assert summary["arms"][name]["failures"]["memory"] == 0
    assert set(values(summary, "CitesAll", "cited")) == {1.0}
    # What is not shown cannot be claimed either: empty passages are dropped, and so is what is beyond the budget.
    assert set(values(summary, "CitesAllSilently", "cited")) == {0.0}
    assert set(values(summary, "CitesAllLate", "cited")) == {0.0}
    assert not summary["controls"]["marker"]["passed"]
