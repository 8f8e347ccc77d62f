"""The options of ``memassay store`` that say which pages are meant, and how they are shown."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
import yaml
from store_notes import PAGES

from kit import Cli

SELECTING = ["find", "retrieve", "tree", "stats", "count", "update", "delete"]
OPTIONS = [
    "--filter", "--key", "--includes", "--included-by", "--references", "--referenced-by", "--in-any", "--not-in",
    "--max-depth", "--max-distance", "--roots",
]  # fmt: skip


@pytest.fixture
def deep(notes: Path) -> Path:
    """``top`` includes ``index``, which includes the two others."""
    (notes / "top.md").write_text("---\nstatus: closed\n---\n# Top\n\n[Notes](index.md)\n\nSee [[new]].\n")
    return notes


@pytest.mark.parametrize("command", SELECTING)
def test_every_command_takes_the_same_options(cli: Cli, command: str) -> None:
    shown = cli("store", command, "--help").out
    assert all(f"{option} " in shown or f"{option}," in shown for option in OPTIONS)


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        ("--filter {status:_open}", {"house/boiler"}),
        ("--filter {$or:_[{status:_open},_{$references:_new}]}", {"house/boiler", "top"}),
        ("-k top -k people/ada.md", {"top", "people/ada"}),
        ("--includes people/ada", {"index"}),
        ("--includes people/ada:2", {"index", "top"}),
        ("--includes people/ada --max-depth 0", {"index", "top"}),
        ("--included-by top", {"index"}),
        ("--in top:0", {"index", "house/boiler", "people/ada"}),
        ("--in top:0 --in index", {"house/boiler", "people/ada"}),
        ("--in-any top --in-any index", {"index", "house/boiler", "people/ada"}),
        ("--not-in top:2", {"top"}),
        ("--references people/ada", {"house/boiler"}),
        ("--references people/ada:2", {"house/boiler"}),
        ("--references new", {"top"}),
        ("--referenced-by people/ada", {"house/boiler"}),
        ("--referenced-by house/boiler --max-distance 0", {"people/ada"}),
        ("--roots", {"top"}),
        ("--in top:0 --filter {year:_2014} -k house/boiler", {"house/boiler"}),
        ("--in top:0 --filter {year:_2015}", set()),
    ],
)
def test_which_pages(cli: Cli, deep: Path, words: str, keys: set[str]) -> None:
    chosen = [word.replace("_", " ") for word in words.split()]
    listed = cli("store", "find", *chosen, "-f", "keys", "-d", deep)
    assert listed.code == 0 and set(listed.out.split()) == keys
    assert cli("store", "count", *chosen, "-d", deep).out == f"{len(keys)}\n"
    assert {page["key"] for page in cli("store", "retrieve", *chosen, "-d", deep, "--json").json} == keys
    assert {page["key"] for page in cli("store", "tree", *chosen, "-d", deep, "--json").json} == keys
    removed = cli("store", "delete", *chosen, "-d", deep, "--dry-run", "--json").json["removes"]
    assert set(removed) == keys


def test_a_search_keeps_to_the_selected_pages(cli: Cli, deep: Path) -> None:
    assert cli("store", "find", "boiler", "--not-in", "index", "-f", "keys", "-d", deep).out == "index\n"
    assert cli("store", "find", "--lexical", "ada", "-k", "house/boiler", "-f", "keys", "-d", deep).out == (
        "house/boiler\n"
    )
    ran = cli("store", "retrieve", "top", "people/ada", "--in", "index", "-f", "keys", "-d", deep)
    assert ran.out == "people/ada\n"


def test_figures_of_the_selected_pages(cli: Cli, deep: Path) -> None:
    assert cli("store", "stats", "--in", "index", "-d", deep, "--json").json["pages"] == 2
    one = cli("store", "stats", "-k", "people/ada", "-d", deep, "--json").json
    assert one == cli("store", "stats", "people/ada", "-d", deep, "--json").json and one["title"] == "Ada"
    rows = list(csv.DictReader(io.StringIO(cli("store", "stats", "--roots", "-f", "csv", "-d", deep).out)))
    assert [(row["key"], row["title"], row["includes"], row["brokenLinks"]) for row in rows] == [
        ("top", "Top", "1", "1")
    ]
    assert len(cli("store", "stats", "-f", "csv", "-d", deep).out.splitlines()) == 1 + 4
    assert cli("store", "stats", "--filter", "nothing: 1", "-f", "csv", "-d", deep).out == ""


def test_from_which_likeness_on(cli: Cli, notes: Path) -> None:
    words = " ".join(f"word{n}" for n in range(60))
    (notes / "one.md").write_text(words)
    (notes / "two.md").write_text(words.replace("word1 ", "other "))
    assert cli("store", "stats", "one", "-d", notes, "--json").json["similarPages"][0]["key"] == "two"
    assert cli("store", "stats", "one", "-t", "1", "-d", notes, "--json").json["similarPages"] == []
    found = cli("store", "stats", "--similar", "--threshold", "0.99", "-d", notes, "--json").json
    assert found["similarPages"] == []


# -- how it is shown -----------------------------------------------------------------------------------------------


def test_keys_and_yaml(cli: Cli, deep: Path) -> None:
    assert cli("store", "tree", "-f", "keys", "-d", deep).out == "top\n\tindex\n\t\thouse/boiler\n\t\tpeople/ada\n"
    for words in (["find"], ["retrieve", "index"], ["tree"], ["query", "find", ""]):
        as_json = cli("store", *words, "-d", deep, "--json")
        assert as_json.json == cli("store", *words, "-f", "json", "-d", deep).json
        assert as_json.json == yaml.safe_load(cli("store", *words, "-f", "yaml", "-d", deep).out)
    assert "content: |\n" in cli("store", "retrieve", "index", "-f", "yaml", "-d", deep).out
    assert yaml.safe_load(cli("store", "stats", "-f", "yaml", "-d", deep).out)["pages"] == 4
    assert cli("store", "query", "find", "sort: key", "-f", "keys", "-d", deep).out.split()[0] == "house/boiler"
    assert cli("store", "find", "hedgehog", "-f", "keys", "-d", deep).out == ""


def test_fields_of_a_tree_and_of_a_list(cli: Cli, notes: Path) -> None:
    assert cli("store", "tree", "--project", "key,status", "-d", notes).out == (
        "- index\n  - house/boiler · status: open\n  - people/ada\n"
    )
    shown = ["--project", "{k: $key, since: year}", "-k", "house/boiler"]
    assert cli("store", "find", *shown, "-d", notes, "--json").json == [{"k": "house/boiler", "since": 2014}]
    assert cli("store", "find", "--project", "title", "--sort", "key", "-l", "1", "-d", notes).out == "- The boiler\n"


def test_parts_of_pages(cli: Cli, notes: Path) -> None:
    boiler = ["-k", "house/boiler", "--project", "key", "-d", notes, "--json"]
    [found] = cli("store", "find", "--blocks", "{$item: {$text: f28}}", "--matches", "F[0-9]+", *boiler).json
    assert found["matches"] == ["F28", "F75"] and found["key"] == "house/boiler"
    assert [(part["text"], part["sectionPath"]) for part in found["blocks"]] == [
        ("F28 means no gas", ["The boiler", "Faults"])
    ]
    [usual] = cli("store", "find", "--blocks", "gas", "--add-fields", "content", "-k", "people/ada", *boiler[4:]).json
    assert usual["blocks"] == [] and usual["content"] == PAGES["people/ada"] and usual["title"] == "Ada"


def test_what_retrieve_tells_of_links(cli: Cli, notes: Path) -> None:
    words = ["-d", notes, "--json", "--no-backlinks", "--children"]
    [index, *_] = cli("store", "retrieve", "index", *words).json
    assert [edge["key"] for edge in index["includes"]] == ["house/boiler", "people/ada"]
    [ada] = cli("store", "retrieve", "people/ada", *words).json
    assert ada["referencedBy"] == [] and [edge["key"] for edge in ada["includedBy"]] == ["index"]
    around = ["--expand-referenced-by", "1", "--expand-includes", "1", "-f", "keys"]
    assert cli("store", "retrieve", "people/ada", *around, "-d", notes).out == "people/ada\nhouse/boiler\n"


# -- mistakes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["find", "--filter", " "], "--filter is empty; '{}' means every page."),
        (["find", "--filter", "status"], "--filter is a mapping, such as 'status: draft'."),
        (["find", "--filter", "a: ["], "--filter is not valid YAML"),
        (["find", "--filter", "{$status: 1}"], "a filter knows no '$status'"),
        (["find", "--filter", "a: " + "[" * 60 + "]" * 60], "nested more than 40 levels deep"),
        (["find", "--references", "peple/ada"], "There is no page 'peple/ada'. Did you mean 'people/ada'?"),
        (["count", "-k", "nothing:2"], "There is no page 'nothing:2'."),
        (["tree", "--in-any", "index", "--in-any", "nothing:3"], "There is no page 'nothing'."),
        (["stats", "-f", "csv", "--not-in", "nothing"], "There is no page 'nothing'."),
        (["stats", "-f", "csv", "--similar"], "--similar lists pairs of pages"),
        (["find", "boiler", "--lexical", "boiler"], "TEXT and --lexical are the same"),
        (["find", "--json", "--format", "keys"], "--json and --format keys say different things"),
        (["find", "--project", "key,,title"], "--project is a list of names such as key,title,date"),
        (["find", "--project", "{key: [}"], "--project is not valid YAML"),
        (["find", "--blocks", "{$itm: x}"], "knows no '$itm'"),
        (["find", "--matches", "("], "is not a regular expression"),
        (["query", "count", "", "--format", "keys"], "--format keys lists the pages of a find"),
        (["query", "find", "project: [title]", "--format", "keys"], "add key to project"),
    ],
)
def test_a_mistake_is_one_sentence(cli: Cli, notes: Path, words: list[str], says: str) -> None:
    ran = cli("store", *words, "-d", notes)
    assert (ran.code, ran.out) == (2, "") and says in ran.complaint
