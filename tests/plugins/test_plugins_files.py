"""A memory in a file of one's own: ``--memory ./mymem.py:MyMemory``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Write = Callable[[str, str], str]
Cli = Callable[..., Any]
Measure = Callable[..., Any]

MINE = '''
import json
import re
from pathlib import Path
from typing import Literal

from memassay.core.types import Passage


def words(text):
    return set(re.findall(r"\\w+", text.lower()))


class Mine:
    """Ranks units by shared words."""

    def __init__(self, *, top_k: int = 5, order: Literal["best", "worst"] = "best", half: bool = False) -> None:
        self.top_k, self.order = top_k, order

    def build(self, corpus, place, context):
        rows = [[d.id, u.id, u.text] for d in corpus.documents for u in d.units]
        (Path(place) / "rows.json").write_text(json.dumps(rows))

    def open(self, ref):
        return Store(json.loads((Path(ref.location) / "rows.json").read_text()), self.top_k, self.order)


class Store:
    def __init__(self, rows, top_k, order):
        self.rows, self.top_k, self.sign = rows, top_k, -1 if order == "best" else 1

    def retrieve(self, query):
        asked = words(query.text)
        rows = sorted(self.rows, key=lambda row: (self.sign * len(asked & words(row[2])), row[1]))
        return [Passage(text=text, doc_ids=(doc,), unit_ids=(unit,)) for doc, unit, text in rows[: self.top_k]]
'''

ASYNC = '''

class Awaited(Mine):
    async def build(self, corpus, place, context):
        return Mine.build(self, corpus, place, context)

    async def open(self, ref):
        return AwaitedStore(Mine.open(self, ref))


class AwaitedStore:
    def __init__(self, store):
        self.store = store

    async def retrieve(self, query):
        return self.store.retrieve(query)

    async def close(self):
        from pathlib import Path
        Path("closed").touch()


class Promised(Mine):
    """Plain methods that return something to be awaited."""

    def open(self, ref):
        return AwaitedStore(Mine.open(self, ref))
'''


def value(summary: Any, arm: str, metric: str = "all@4000") -> Any:
    return summary["arms"][arm]["metrics"][metric]["value"]


def test_a_file_works_at_once(cli: Cli, write: Write, towns: tuple[Path, Path], workplace: Path) -> None:
    write("mymem.py", MINE)
    ran = cli(
        "run", "custom", "--docs", "docs.jsonl", "--questions", "questions.jsonl",
        "--memory", "./mymem.py:Mine", "--out", "runs/one", "--json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    arm = ran.json["arms"]["Mine"]
    assert arm["metrics"]["all@4000"]["value"] == 1.0
    assert arm["options"] == {"top_k": 5, "order": "best", "half": False}
    assert arm["source"]["origin"] == "mymem.py" and arm["source"]["version"].startswith("sha256:")
    manifest = json.loads((workplace / "runs" / "one" / "manifest.json").read_text("utf-8"))
    assert manifest["identity"]["arms"]["Mine"]["options"] == arm["options"]
    assert manifest["identity"]["arms"]["Mine"]["source"] == f"mymem.py {arm['source']['version']}"
    assert str(workplace) not in json.dumps(manifest["identity"])
    assert (workplace / "runs" / "one" / "report.html").stat().st_size > 0


def test_one_class_twice_under_two_names(cli: Cli, write: Write, towns: tuple[Path, Path], workplace: Path) -> None:
    write("mymem.py", MINE)
    ran = cli(
        "run", "custom", "--docs", "docs.jsonl", "--questions", "questions.jsonl",
        "--memory", "good=./mymem.py:Mine,bad=./mymem.py:Mine", "--set", "bad.order=worst", "--set", "bad.top_k=1",
        "--out", "runs/two", "--json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert value(ran.json, "good") == 1.0 and value(ran.json, "bad") == 0.0
    assert ran.json["arms"]["bad"]["options"] == {"top_k": 1, "order": "worst", "half": False}
    assert len(list((workplace / "runs" / "stores").glob("*/built.json"))) == 4, "two stores and two marker stores"


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("Mine.top_k=ten", ["Setting 'top_k' of the memory 'Mine'", "valid integer", "got 'ten'"]),
        ("Mine.top_k=1.5", ["Setting 'top_k'", "got 1.5"]),
        ("Mine.order=beste", ["Setting 'order'", "'best' or 'worst'"]),
        ("Mine.half=perhaps", ["Setting 'half'", "valid boolean"]),
        ("Mine.topk=3", ["no setting 'topk'", "Did you mean 'top_k'?"]),
        ("Mien.top_k=3", ["no memory 'Mien'", "Did you mean 'Mine'?"]),
        ("top_k=3", ["write --set NAME.key=value"]),
        ("Mine.top_k", ["write --set NAME.key=value"]),
    ],
)
def test_a_wrong_setting_is_one_sentence(
    cli: Cli, write: Write, towns: tuple[Path, Path], workplace: Path, setting: str, words: list[str]
) -> None:
    write("mymem.py", MINE)
    ran = cli(
        "run", "custom", "--docs", "docs.jsonl", "--questions", "questions.jsonl", "--memory", "./mymem.py:Mine",
        "--set", setting, "--out", "runs/one",
    )  # fmt: skip
    assert ran.code == 2 and ran.out == ""
    assert all(word in ran.complaint for word in words), ran.complaint
    assert not (workplace / "runs").exists()


@pytest.mark.parametrize(
    ("memory", "words"),
    [
        ("./mymem.py:Mein", ["mymem.py has no class 'Mein'", "Did you mean 'Mine'?"]),
        ("./none.py:Mine", ["There is no file 'none.py'"]),
        ("./broken.py:Mine", ["broken.py cannot be imported: SyntaxError"]),
        ("./sad.py:Mine", ["sad.py cannot be imported: RuntimeError: no"]),
        ("mymem.Mine", ["Unknown memory 'mymem.Mine'", "./file.py:ClassName"]),
        ("lexcal", ["Unknown memory 'lexcal'", "Did you mean 'lexical'?"]),
        ("oracle=./mymem.py:Mine", ["'oracle' cannot name an arm"]),
    ],
)
def test_a_wrong_name_is_one_sentence(
    cli: Cli, write: Write, towns: tuple[Path, Path], memory: str, words: list[str]
) -> None:
    for name, source in (("mymem.py", MINE), ("broken.py", "class Mine(:\n"), ("sad.py", "raise RuntimeError('no')")):
        write(name, source)
    command = ["run", "custom", "--docs", "docs.jsonl", "--questions", "questions.jsonl", "--memory", memory]
    ran = cli(*command)
    assert ran.code == 2
    assert all(word in ran.complaint for word in words), ran.complaint


def test_methods_may_be_plain_or_async(measure: Measure, write: Write, workplace: Path) -> None:
    path = write("mymem.py", MINE + ASYNC)
    summary = measure({name: {"use": f"{path}:{name}"} for name in ("Mine", "Awaited", "Promised")})
    for metric in ("all@200", "all@4000", "all@k1"):
        values = {value(summary, arm, metric) for arm in ("Mine", "Awaited", "Promised")}
        assert len(values) == 1 and None not in values
    assert value(summary, "Awaited") == 1.0
    assert (workplace / "closed").exists()


def test_a_changed_file_is_another_memory(measure: Measure, write: Write, workplace: Path) -> None:
    from memassay.core import registry
    from memassay.core.errors import GuardError

    path = write("mymem.py", MINE)
    measure({"Mine": {"use": f"{path}:Mine"}})
    stores = {p.parent.name for p in (workplace / "runs" / "stores").glob("*/built.json")}
    write("mymem.py", MINE.replace("shared words", "words in common"))
    registry.memories._loaded.pop(f"{path}:Mine")  # as in a new process
    with pytest.raises(GuardError, match="Mine"):
        measure({"Mine": {"use": f"{path}:Mine"}})
    measure({"Mine": {"use": f"{path}:Mine"}}, out="runs/two")
    after = {p.parent.name for p in (workplace / "runs" / "stores").glob("*/built.json")}
    assert len(after) == 2 * len(stores) and stores < after
