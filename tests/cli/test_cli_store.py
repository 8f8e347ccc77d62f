"""``memassay store`` from the command line."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from store_notes import PAGES, contents

from kit import Cli
from memassay.knowledge.store import KnowledgeStore
from memassay.memories.folder import seal

READING = ["search", "find", "retrieve", "tree", "squash", "stats", "count", "query"]
COMMANDS = [*READING, "create", "update", "delete", "rename", "index"]


def typed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))


# -- reading -------------------------------------------------------------------------------------------------------


def test_search(cli: Cli, notes: Path) -> None:
    ran = cli("store", "search", "what does F28 mean", "--dir", notes)
    assert ran.code == 0 and ran.err == ""
    first, *rest = ran.out.splitlines()
    assert first.startswith("[1] house/boiler › The boiler")
    assert "- F28 means no gas" in rest
    [passage, *_] = cli("store", "search", "F28", "-d", notes, "--json").json
    start, end = passage["span"]
    assert PAGES["house/boiler"][start:end] == passage["text"]


def test_search_by_the_section(cli: Cli, notes: Path) -> None:
    parts = "\n\n".join("It says little about it. " * 20 for _ in range(5))
    (notes / "violin.md").write_text(f"# Violin\n\n{parts}\n\nThe bow.\n\n## Care\n\n{parts}\n")
    shown = [
        cli("store", "search", "bow", "--grain", grain, "-l", "1", "--max-tokens", "0", "-d", notes).out
        for grain in ("passage", "section", "page")
    ]
    assert shown[0] == cli("store", "search", "bow", "-l", "1", "--max-tokens", "0", "-d", notes).out
    assert len(shown[0]) < len(shown[1]) < len(shown[2]) and all("The bow." in one for one in shown)
    assert "## Care" in shown[2] and "## Care" not in shown[1]
    assert cli("store", "search", "bow", "--grain", "chapter", "-d", notes).code == 2


def test_an_embedder_helps_and_its_vectors_are_kept(cli: Cli, notes: Path, workplace: Path) -> None:
    before = contents(notes)
    words = ["store", "search", "F28", "--embedder", "hash", "-d", notes, "--json"]
    alone = cli(*words)
    assert alone.json[0]["key"] == "house/boiler"
    assert alone.err.startswith("3 passages had to be embedded for this question alone; keep the vectors with --index")
    assert contents(notes) == before
    for _ in range(2):
        ran = cli(*words, "--index", workplace / "aside")
        assert (ran.json, ran.err) == (alone.json, "")
    assert contents(notes) == before and (workplace / "aside" / "vectors.sqlite").is_file()
    first, again = (cli("store", "index", "--embedder", "hash", "-d", notes, "--json").json for _ in range(2))
    assert first == {"pages": 3, "passages": 3, "embedded": 3} and again == {"pages": 3, "passages": 3, "embedded": 0}
    kept = contents(notes)
    ran = cli(*words)
    assert (ran.json, ran.err) == (alone.json, "") and contents(notes) == kept


@pytest.mark.parametrize("command", [["search", "F28"], ["index"]])
def test_an_embedder_that_is_not_there(
    cli: Cli, notes: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    before = contents(notes)
    ran = cli("store", *command, "--embedder", "minilmm", "-d", notes)
    assert ran.code == 2 and "Unknown embedder 'minilmm'. Did you mean 'minilm'?" in ran.complaint
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    ran = cli("store", *command, "--embedder", "minilm", "-d", notes)
    assert ran.code == 3
    assert ran.complaint == "memassay: onnxruntime is not installed; run: pip install 'memassay[hybrid]'."
    assert contents(notes) == before


def test_nothing_found_is_said(cli: Cli, notes: Path) -> None:
    ran = cli("store", "search", "hedgehog", "-d", notes)
    assert (ran.code, ran.out, ran.err) == (0, "", "Nothing found in 3 pages.\n")
    ran = cli("store", "search", "hedgehog", "-d", notes, "--json")
    assert (ran.json, ran.err) == ([], "Nothing found in 3 pages.\n")
    ran = cli("store", "search", "ada", "-d", notes, "--max-tokens", "3")
    assert ran.out == "" and ran.err.startswith("0 of ")


def test_a_store_of_a_run_is_read_only(cli: Cli, workplace: Path) -> None:
    for memory in ("markdown", "lexical"):
        pages = workplace / memory / "pages"
        pages.mkdir(parents=True)
        (pages / "tea.md").write_text("# Tea\n")
        seal(workplace / memory, memory, {}, [pages / "tea.md"])
    before = contents(workplace)
    assert cli("store", "find", "--dir", "markdown").out == "- tea: Tea\n"
    for words in (
        ["create", "new", "--content", "x"],
        ["update", "tea", "--content", "x"],
        ["delete", "tea"],
        ["rename", "tea", "coffee"],
        ["query", "delete", "filter: {}"],
        ["index"],
    ):
        ran = cli("store", *words, "--dir", "markdown")
        assert (ran.code, ran.out) == (2, "") and "is the store of a run, which must not change" in ran.complaint
    ran = cli("store", "tree", "--dir", "lexical")
    assert ran.code == 2 and "is a store of the memory 'lexical'" in ran.complaint
    assert contents(workplace) == before


def test_a_key_may_end_in_md(cli: Cli, notes: Path) -> None:
    assert cli("store", "create", "beds/tomatoes.md", "--content", "# T", "-d", notes).out == "created beds/tomatoes\n"
    assert (notes / "beds/tomatoes.md").read_text() == "# T"
    assert cli("store", "update", "beds/tomatoes.md", "--content", "# U", "-d", notes).out == "changed beds/tomatoes\n"
    assert cli("store", "retrieve", "beds/tomatoes.md", "-d", notes).out == "<!-- beds/tomatoes -->\n# U\n"
    assert cli("store", "find", "--in", "index.md:1", "-d", notes).out.count("\n- ") == 1


def test_stats_tell_of_pages_that_are_never_edited(cli: Cli, notes: Path) -> None:
    (notes / "old.md").write_bytes(b"caf\xe9\n")
    assert "problems: old (not UTF-8, never edited)\n" in cli("store", "stats", "-d", notes).out


def test_a_small_budget_is_told_on_standard_error(cli: Cli, notes: Path) -> None:
    ran = cli("store", "search", "boiler ada", "-d", notes, "--max-tokens", "70", "--json")
    assert len(ran.json) == 1
    assert ran.err.startswith("1 of 3 are shown") and ran.err.endswith(
        "Raise --max-tokens, or read whole pages with retrieve.\n"
    )


def test_find(cli: Cli, notes: Path) -> None:
    ran = cli("store", "find", "gas", "-d", notes)
    assert ran.out == (
        "- house/boiler: The boiler\n  refers to: people/ada\n  referred to by: people/ada\n"
        "  included by: index\n  status: open\n  year: 2014\n"
    )
    assert cli(
        "store", "find", "-d", notes, "--project", "key,year", "--sort", "year:-1", "-l", "1", "--json"
    ).json == [{"key": "house/boiler", "year": 2014}]
    below = cli("store", "find", "-d", notes, "--in", "index:1", "--not-in", "index:0")
    assert (below.code, below.out, below.err) == (0, "", "Nothing found in 3 pages.\n")
    assert cli("store", "find", "-d", notes, "--fuzzy", "pplada", "--refs-from", "index").out.startswith("- people/ada")
    assert cli("store", "find", "hedgehog", "-d", notes, "--json").json == []


def test_the_selector_means_direct_pages_unless_a_depth_is_given(cli: Cli, notes: Path) -> None:
    (notes / "top.md").write_text("# Top\n\n[Notes](index.md)\n")

    def found(*words: str) -> set[str]:
        return {item["key"] for item in cli("store", "find", "-d", notes, "--json", *words).json}

    assert found("--in", "top") == {"index"}
    assert found("--in", "top:0") == {"index", "house/boiler", "people/ada"}
    assert found("--in-any", "index", "--in-any", "top") == {"index", "house/boiler", "people/ada"}
    assert found("--not-in", "top:2") == {"top"}


def test_retrieve_gives_pages_as_written(cli: Cli, notes: Path) -> None:
    ran = cli("store", "retrieve", "people/ada", "-d", notes)
    assert ran.out == f"<!-- people/ada\nreferred to by: house/boiler\nincluded by: index\n-->\n{PAGES['people/ada']}"
    keys = [
        page["key"] for page in cli("store", "retrieve", "index", "-d", notes, "--expand-includes", "1", "--json").json
    ]
    assert keys == ["index", "house/boiler", "people/ada"]
    words = ["--search", "gas", "--limit", "1", "--expand-included-by", "1", "--exclude", "house/boiler"]
    assert [page["key"] for page in cli("store", "retrieve", "-d", notes, *words, "--json").json] == ["index"]


def test_tree_squash_stats(cli: Cli, notes: Path) -> None:
    assert cli("store", "tree", "-d", notes).out == (
        "- index: Our notes\n  - house/boiler: The boiler\n  - people/ada: Ada\n"
    )
    squashed = cli("store", "squash", "index", "-d", notes)
    assert "## The boiler\n" in squashed.out and "### Faults\n" in squashed.out
    assert "pages: 3\n" in cli("store", "stats", "-d", notes).out
    assert "title: Ada\n" in cli("store", "stats", "people/ada", "-d", notes).out
    (notes / "people/ada.md").write_text("---\na: [\n---\n# Ada\n\nSee the [garden](../garden.md).\n")
    wrong = cli("store", "stats", "-d", notes).out
    assert "brokenLinks: garden (people/ada)\n" in wrong and "problems: people/ada (" in wrong


def test_query(cli: Cli, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli("store", "query", "count", "filter: {status: open}", "-d", notes).out == "count: 1\n"
    typed(monkeypatch, b"filter: {year: {$gt: 2000}}\nproject: [key]\n")
    assert cli("store", "query", "find", "-", "-d", notes, "--json").json == [{"key": "house/boiler"}]


def test_reading_writes_nothing(cli: Cli, notes: Path) -> None:
    before = contents(notes)
    change = "{filter: {}, update: {$set: {seen: true}}}"
    for words in (
        ["search", "boiler"],
        ["find", "boiler"],
        ["retrieve", "index"],
        ["tree"],
        ["squash", "index"],
        ["stats", "--similar"],
        ["count", "--roots"],
        ["query", "count", ""],
        ["query", "update", change, "--dry-run"],
        ["update", "people/ada", "--content", "x", "--dry-run"],
        ["update", "--filter", "{}", "--set", "seen=true", "--dry-run"],
        ["search", "boiler", "--embedder", "hash"],
        ["delete", "people/ada", "--dry-run"],
        ["rename", "people/ada", "people/countess", "--dry-run"],
    ):
        ran = cli("store", *words, "-d", notes)
        assert ran.code == 0, ran.err
    assert contents(notes) == before


def test_the_folder_is_the_current_one_unless_named(cli: Cli, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(notes)
    assert cli("store", "query", "count", "").out == "count: 3\n"


# -- editing -------------------------------------------------------------------------------------------------------


def test_editing(cli: Cli, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    typed(monkeypatch, "# Grün\r\n\r\n*  loose   item\r\n".encode())
    assert cli("store", "create", "places/grün", "-d", notes).out == "created places/grün\n"
    assert (notes / "places/grün.md").read_bytes() == "# Grün\r\n\r\n*  loose   item\r\n".encode()
    assert cli("store", "create", "index", "--content", "x", "--skip", "-d", notes).out == "index is there already\n"
    assert cli("store", "update", "places/grün", "--content", "# Green\n", "-d", notes).out == "changed places/grün\n"
    assert cli("store", "rename", "people/ada", "ada", "-d", notes).out == (
        "created ada\nchanged house/boiler\nchanged index\nremoved people/ada\n"
    )
    assert "[Ada](../ada.md) has the key." in (notes / "house/boiler.md").read_text()
    change = "{filter: {$key: house/boiler}, update: {$set: {status: done}}, expect: 1}"
    assert cli("store", "query", "update", change, "-d", notes).out == "changed house/boiler\n"
    assert "status: done   # until spring\n" in (notes / "house/boiler.md").read_text()
    assert cli("store", "delete", "ada", "-d", notes).out == "changed house/boiler\nchanged index\nremoved ada\n"
    assert cli("store", "find", "-d", notes, "--project", "key", "--json", "--sort", "key").json == [
        {"key": "house/boiler"},
        {"key": "index"},
        {"key": "places/grün"},
    ]


def test_a_dry_run_says_what_would_happen(cli: Cli, notes: Path) -> None:
    dry = ["-d", str(notes), "--dry-run"]
    assert cli("store", "rename", "people/ada", "ada", *dry).out == (
        "would create ada\nwould change house/boiler\nwould change index\nwould remove people/ada\n"
    )
    gone = "would change house/boiler\nwould change index\nwould remove people/ada\n"
    assert cli("store", "delete", "people/ada", *dry).out == gone
    deletion = "{filter: {$key: people/ada}, expect: 1}"
    assert cli("store", "query", "delete", deletion, *dry).out == gone
    assert (
        cli("store", "query", "update", "{filter: {a: 1}, update: {$set: {a: 2}}}", *dry).out == "Nothing to change.\n"
    )


def test_index(cli: Cli, notes: Path, workplace: Path) -> None:
    first = cli("store", "index", "-d", notes)
    assert first.out.startswith("3 pages, ") and (notes / ".memassay").is_dir()
    assert cli("store", "index", "-d", notes, "--rebuild").out == first.out
    aside = workplace / "aside"
    ran = cli("store", "search", "boiler", "-d", notes, "--index", aside)
    assert ran.code == 0 and aside.is_dir()


def test_one_writer_at_a_time(cli: Cli, notes: Path) -> None:
    with KnowledgeStore.open(notes, writable=True):
        ran = cli("store", "create", "new", "--content", "x", "-d", notes)
        assert ran.code == 3 and ran.complaint
        assert cli("store", "query", "count", "", "-d", notes).out == "count: 3\n"


# -- mistakes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["find", "-d", "nowhere"], "nowhere is not a folder"),
        (["search", " "], "The question is empty"),
        (["retrieve", "peple/ada"], "There is no page 'peple/ada'. Did you mean 'people/ada'?"),
        (["retrieve", "../../etc/passwd"], "There is no page '../../etc/passwd'."),
        (["squash", "nothing"], "There is no page 'nothing'."),
        (["find", "--in", "nothing"], "There is no page 'nothing'."),
        (["find", "--sort", "year:3"], "sort is a field with 1"),
        (["find", "--project", "key", "--add-fields", "year"], "give one of them"),
        (["find", "--limit", "9999999999"], "less than or equal to"),
        (["query", "drop", ""], "operation is 'drop'"),
        (["query", "find", "fliter: {}"], "find knows no 'fliter'"),
        (["query", "find", "a: ["], "The query"),
        (["query", "delete", "{}"], "delete needs a filter"),
        (["query", "delete", "{filter: {}}", "--strict"], "delete needs expect"),
        (["query", "update", "{filter: {}, update: {$set: {a: 1}}, expect: 7}"], "nothing was written"),
        (["create", "index", "--content", "x"], "exists already"),
        (["create", "../out", "--content", "x"], "cannot be the key of a page"),
        (["update", "nothing", "--content", "x"], "There is no page 'nothing'."),
        (["rename", "index", "people/ada"], "exists already"),
        (["delete", "nothing"], "There is no page 'nothing'."),
    ],
)
def test_a_mistake_is_one_sentence(cli: Cli, notes: Path, words: list[str], says: str) -> None:
    before = {name: data for name, data in contents(notes).items() if name.endswith(".md")}
    ran = cli("store", *words, *([] if "-d" in words else ["-d", str(notes)]))
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.complaint
    assert {name: data for name, data in contents(notes).items() if name.endswith(".md")} == before


def test_input_that_is_no_text_is_refused(cli: Cli, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    typed(monkeypatch, b"\xff\xfe")
    ran = cli("store", "create", "new", "-d", notes)
    assert ran.code == 2 and "not UTF-8" in ran.complaint


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(cli: Cli, command: str) -> None:
    ran = cli("store", command, "--help")
    assert ran.code == 0 and "--dir" in ran.out and "--json" in ran.out
    assert f"memassay store {command}" in ran.out.partition("Usage")[2].partition("\n")[2], "an example"


def test_the_help_shows_how(cli: Cli) -> None:
    shown = cli("store", "--help").out
    assert "memassay store search" in shown and all(f" {command} " in shown for command in COMMANDS)
    assert "memassay store query" in cli("store", "query", "--help").out


# -- a budget ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        ["tree"],
        ["squash", "index"],
        ["stats"],
        ["stats", "house/boiler"],
        ["stats", "--format", "csv"],
        ["delete", "--filter", "{}", "--dry-run"],
        ["rename", "people/ada", "people/neighbours/ada", "--dry-run"],
    ],
)
def test_a_budget_cuts_what_is_said_and_says_so(command: list[str], cli: Cli, notes: Path) -> None:
    whole = cli("store", *command, "-d", notes)
    assert (whole.code, whole.err) == (0, "")
    for roomy in ("0", "5000"):
        ran = cli("store", *command, "--max-tokens", roomy, "-d", notes)
        assert (ran.code, ran.out, ran.err) == (0, whole.out, "")
    cut = cli("store", *command, "--max-tokens", "12", "-d", notes)
    assert cut.code == 0 and len(cut.out) < len(whole.out)
    assert cut.err.endswith("Raise --max-tokens, or ask for less.\n")
    assert cli("store", *command, "--max-tokens", "-1", "-d", notes).code == 2
