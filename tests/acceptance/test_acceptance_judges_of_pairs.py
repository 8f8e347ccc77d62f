"""Two judges of different families, through the real clients of both providers, against scripted servers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("anthropic", reason="the extra anthropic is not installed")
pytest.importorskip("openai", reason="the extra openai is not installed")

from kit import Cli
from servers.anthropic import MessagesServer, Turn
from servers.openai import CompletionsServer, Say

FENCED = re.compile(r"([A-Z][^\n]*?):\n<<([0-9a-f]{16})>>\n(.*?)\n<</\2>>", re.DOTALL)
ROOMS = ("attic", "cellar", "garage", "kitchen", "library", "pantry", "shed", "studio", "tower", "yard")
KEY = "dummy-local-12345"

EMPTY = '''
class Empty:
    """Remembers nothing."""

    def build(self, corpus, place, context):
        pass

    def open(self, ref):
        return self

    def retrieve(self, query):
        return []
'''


def texts(prompt: str) -> dict[str, str]:
    """The fenced texts of a request by what stands before them."""
    return {name.partition(" (")[0]: text for name, _, text in FENCED.findall(prompt)}


def right(prompt: str) -> dict[str, str]:
    """What a judge says that looks for the whole reference and minds nothing else."""
    seen = texts(prompt)
    wanted = [line for line in seen["Reference"].splitlines() if line]
    has = [sum(line in seen[name] for line in wanted) for name in ("First text", "Second text")]
    winner = "tie" if has[0] == has[1] else "first" if has[0] > has[1] else "second"
    labels = ["correct" if count == len(wanted) else "partial" if count else "incorrect" for count in has]
    return {"explanation": "by the reference", "winner": winner, "first": labels[0], "second": labels[1]}


def first(prompt: str) -> dict[str, str]:
    """What a judge says that always likes what stands first."""
    return {"explanation": "it came first", "winner": "first", "first": "correct", "second": "incorrect"}


class Judges:
    """Both servers, each with a way to judge."""

    def __init__(self, gpt: Callable[[str], Any], claude: Callable[[str], Any]) -> None:
        self.prompts: list[str] = []
        self.openai = CompletionsServer(lambda body: Say(self._said(body["messages"][-1]["content"], gpt)))
        self.anthropic = MessagesServer(lambda body: Turn(text=self._said(self._words(body), claude)))

    @staticmethod
    def _words(body: Mapping[str, Any]) -> str:
        content = body["messages"][-1]["content"]
        return content if isinstance(content, str) else "".join(part["text"] for part in content)

    def _said(self, prompt: str, way: Callable[[str], Any]) -> str:
        self.prompts.append(prompt)
        said = way(prompt)
        return said if isinstance(said, str) else json.dumps(said)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Judges]]:
    monkeypatch.setenv("MY_KEY", KEY)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    running: list[Judges] = []

    def start(gpt: Callable[[str], Any] = right, claude: Callable[[str], Any] = right) -> Judges:
        judges = Judges(gpt, claude)
        judges.openai.__enter__()
        judges.anthropic.__enter__()
        running.append(judges)
        return judges

    yield start
    for judges in running:
        judges.openai.__exit__(None, None, None)
        judges.anthropic.__exit__(None, None, None)


@pytest.fixture
def experiment(workplace: Path) -> Callable[..., Path]:
    """Ten pages with a question about each, the memory `lexical` and one that finds nothing."""
    notes = workplace / "notes"
    notes.mkdir()
    rows = []
    for number, room in enumerate(ROOMS):
        (notes / f"{room}.md").write_text(
            f"# The {room}\n\nThe ladder is kept on shelf 40{number}, top row.\n", "utf-8"
        )
        rows.append(
            {"query": f"Where is the ladder of the {room}?", "answer": f"shelf 40{number}", "doc": f"{room}.md"}
        )
        rows[-1]["required"] = [{"text": f"shelf 40{number}"}, {"text": "top row"}]
    (workplace / "questions.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    (workplace / "empty.py").write_text(EMPTY, "utf-8")

    def write(judges: Judges, *names: str, gold: str = "shown") -> Path:
        urls = {"gpt-4.1": judges.openai.url, "claude-sonnet-4-6": judges.anthropic.url}
        tables = "".join(
            f'\n[[judges]]\nuse = "pairwise"\nmodel = "{name}"\n'
            f'options = {{ base_url = "{urls[name]}", key_env = "MY_KEY" }}\n'
            for name in names or urls
        )
        path = workplace / "experiment.toml"
        path.write_text(
            'suite = "canary"\ntokens = "chars4"\nbudgets = [200]\nks = [5]\n\n'
            '[options]\ndocs = "notes"\nquestions = "questions.jsonl"\nbudget = 200\nweights = "uniform"\n'
            f'gold = "{gold}"\n\n[memories.lexical]\nuse = "lexical"\nrole = "baseline"\n\n'
            f'[memories.blank]\nuse = "./empty.py:Empty"\n{tables}',
            "utf-8",
        )
        return path

    return write


def test_two_families_decide_and_nothing_tells_them_whose_text_it_is(
    cli: Cli, serve: Callable[..., Judges], experiment: Callable[..., Path], workplace: Path
) -> None:
    judges = serve()
    ran = cli("run", experiment(judges), "--out", "r", "--json")
    assert ran.code == 0, ran.err
    judged = ran.json["conclusion"]["judged"]
    assert (judged["real"], judged["rests"], judged["families"]) == (True, True, ["claude", "gpt"])
    (pair,) = judged["pairs"]
    assert (pair["a"], pair["b"]) == ("blank", "lexical")
    assert (pair["result"]["wins"], pair["result"]["losses"], pair["result"]["ties"]) == (0, 10, 0)
    assert ran.json["conclusion"]["choice"]["verdict"] == "keep"
    assert not any(name in prompt for prompt in judges.prompts for name in ("lexical", "Empty", "empty.py"))
    assert all("Reference" in texts(prompt) for prompt in judges.prompts)
    asked = len(judges.prompts)
    assert {one["left"] for one in ran.json["pair_judges"]} == {0}
    assert cli("run", "experiment.toml", "--out", "r", "--json").code == 0
    assert len(judges.prompts) == asked, "nothing is asked twice"
    written = b"".join(path.read_bytes() for path in (workplace / "r").rglob("*") if path.is_file())
    assert KEY.encode() not in written


def test_one_family_gives_no_decision(cli: Cli, serve: Callable[..., Judges], experiment: Callable[..., Path]) -> None:
    ran = cli("run", experiment(serve(), "gpt-4.1"), "--out", "r", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["conclusion"]["choice"]["verdict"] == "no decision"
    assert ran.json["conclusion"]["choice_by_labels"]["verdict"] == "keep"


def test_a_judge_that_likes_what_comes_first_is_not_used(
    cli: Cli, serve: Callable[..., Judges], experiment: Callable[..., Path]
) -> None:
    judges = serve(gpt=first)
    ran = cli("run", experiment(judges), "--out", "r", "--json")
    assert ran.code == 0, ran.err
    by_name = {one["judge"]: one for one in ran.json["conclusion"]["judged"]["judges"]}
    failed = next(one for name, one in by_name.items() if "gpt" in name)
    assert not failed["used"] and "same" in failed["reason"]
    assert ran.json["conclusion"]["choice"]["verdict"] == "no decision", "one family is left"
    controls = sum("gpt" in body["model"] for body in judges.openai.bodies)
    assert controls == 2 * sum(probe["questions"] for probe in failed["probes"]), "nothing more was spent on it"


def test_hidden_gold_is_in_no_request(cli: Cli, serve: Callable[..., Judges], experiment: Callable[..., Path]) -> None:
    tie = {"explanation": "cannot say", "winner": "tie", "first": "partial", "second": "partial"}
    judges = serve(gpt=lambda prompt: tie, claude=lambda prompt: tie)
    ran = cli("run", experiment(judges, gold="hidden"), "--out", "r", "--json")
    assert ran.code == 0, ran.err
    assert not any("Reference" in texts(prompt) for prompt in judges.prompts)


def test_a_reply_that_cannot_be_read_is_asked_for_once_more_and_kept(
    cli: Cli, serve: Callable[..., Judges], experiment: Callable[..., Path], workplace: Path
) -> None:
    seen: set[str] = set()

    def stammers(prompt: str) -> Any:
        if "Question" not in texts(prompt):
            return right(last[0])
        last[0] = prompt
        if prompt in seen:
            return right(prompt)
        seen.add(prompt)
        return "Well, the first one, I think."

    last = [""]
    ran = cli("run", experiment(serve(gpt=stammers), "gpt-4.1"), "--out", "r", "--json", "--workers", "1")
    assert ran.code in (0, 3), ran.err
    (path,) = (workplace / "r" / "pairs").glob("*.jsonl")
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert any("Well, the first one" in (record["raw"] or "") for record in records)
