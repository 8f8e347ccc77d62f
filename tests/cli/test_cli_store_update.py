"""``memassay store update`` and ``delete`` of chosen pages, with their guards."""

from __future__ import annotations

from pathlib import Path

import pytest
from store_notes import PAGES, contents

from kit import Cli


def pages(root: Path) -> dict[str, bytes]:
    return {name: data for name, data in contents(root).items() if name.endswith(".md")}


def test_fields_are_set_and_taken_away(cli: Cli, notes: Path) -> None:
    words = ["--set", "status=done", "--set", "tags=[heat, 2]", "--set", "owner.name=Ada", "--unset", "year"]
    ran = cli("store", "update", "house/boiler", *words, "--expect", "1", "--strict", "-d", notes)
    assert (ran.out, ran.err) == ("changed house/boiler\n", "")
    text = (notes / "house/boiler.md").read_text()
    head = '---\nstatus: done   # until spring\ntags: ["heat", 2]\nowner: {"name": "Ada"}\n---\n# The boiler'
    assert text.startswith(head)
    assert text.endswith(PAGES["house/boiler"].partition("# The boiler")[2])


def test_parts_are_changed_in_the_order_of_the_help(cli: Cli, notes: Path) -> None:
    words = [
        "--delete", "{$item: {$text: F75}, expect: 1}",
        "--append", '{$section: Faults, content: "- F29 means no flame", expect: 1}',
        "--append", '{content: "The end."}',
        "--replace", '{$header: Faults, content: "## What it says"}',
        "--replace-text", "{$item: {$text: F28}, from: no gas, to: a closed valve}",
        "--insert-before", '{$header: {$text: says}, content: "Bought used."}',
        "--insert-after", '{$item: {$text: F28}, content: "- F28 comes back at night"}',
    ]  # fmt: skip
    # The section is called Faults until --replace, which comes first.
    refused = cli("store", "update", "-k", "house/boiler", *words, "-d", notes)
    assert refused.code == 2 and "$append[0]: 0 found where 1 was expected" in refused.complaint
    words[3] = words[3].replace("Faults", "What it says")
    ran = cli("store", "update", "-k", "house/boiler", *words, "-d", notes)
    assert ran.out == "changed house/boiler\n"
    assert (notes / "house/boiler.md").read_text().partition("has the key.")[2] == (
        "\n\nBought used.\n\n## What it says\n\n- F28 means a closed valve\n- F28 comes back at night\n"
        "- F29 means no flame\n\nThe end.\n"
    )


def test_many_pages_at_once(cli: Cli, notes: Path) -> None:
    before = pages(notes)
    words = ["--in", "index", "--set", "seen=true"]
    dry = cli("store", "update", *words, "--strict", "--dry-run", "-d", notes)
    assert dry.out == "would change house/boiler\nwould change people/ada\n" and pages(notes) == before
    assert cli("store", "update", *words, "--expect", "{max: 2}", "-d", notes).code == 0
    assert cli("store", "count", "--filter", "seen: true", "-d", notes).out == "2\n"
    shown = cli("store", "update", *words, "-d", notes, "--json")
    assert shown.json == {"creates": [], "updates": [], "removes": []}
    assert cli("store", "update", *words, "-d", notes).out == "Nothing to change.\n"


def test_a_page_is_written_anew(cli: Cli, notes: Path) -> None:
    dry = cli("store", "update", "people/ada.md", "-c", "# Countess\n", "--dry-run", "-d", notes, "--json")
    assert dry.json["updates"] == [{"key": "people/ada", "content": "# Countess\n"}]
    assert (notes / "people/ada.md").read_text() == PAGES["people/ada"]
    same = cli("store", "update", "people/ada", "-c", PAGES["people/ada"], "--dry-run", "-d", notes)
    assert same.out == "Nothing to change.\n"
    assert cli("store", "update", "-k", "people/ada", "-c", "# Countess\n", "-d", notes).out == "changed people/ada\n"
    assert (notes / "people/ada.md").read_text() == "# Countess\n"


def test_pages_are_deleted(cli: Cli, notes: Path) -> None:
    gone = "would change house/boiler\nwould change index\nwould remove people/ada\n"
    assert cli("store", "delete", "people/ada", "--dry-run", "-d", notes).out == gone
    ran = cli("store", "delete", "people/ada", "house/boiler.md", "--expect", "2", "--strict", "-d", notes, "--json")
    assert ran.json["removes"] == ["house/boiler", "people/ada"]
    assert list(pages(notes)) == ["index.md"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["update"], "Say what to change, such as --set status=done"),
        (["update", "--filter", "{}", "--content", "x"], "to write a page anew, give its KEY alone"),
        (["update", "index", "-k", "people/ada", "--content", "x"], "give its KEY alone"),
        (["update", "index", "--content", "x", "--expect", "1"], "give its KEY alone"),
        (["update", "index", "--content", "x", "--set", "a=1"], "give one of them"),
        (["update", "nothing", "--content", "x", "--dry-run"], "There is no page 'nothing'."),
        (["update", "nothing", "--set", "a=1"], "There is no page 'nothing'."),
        (["update", "--set", "a=1"], "Say which pages to update"),
        (["update", "--filter", "", "--set", "a=1"], "--filter is empty"),
        (["update", "index", "--set", "status"], "--set is a field and a value, such as status=done"),
        (["update", "index", "--set", "a=["], "The value of --set a is not valid YAML"),
        (["update", "index", "--set", "$key=x"], "no name of a field"),
        (["update", "index", "--append", "x"], "--append is a mapping"),
        (["update", "index", "--append", "{contnt: x}"], "knows no 'contnt'"),
        (["update", "--roots", "--set", "a=1", "--expect", "2"], "nothing was written"),
        (["update", "--roots", "--set", "a=1", "--expect", "two"], "expect is a whole number"),
        (["update", "--roots", "--set", "a=1", "--strict"], "update needs expect"),
        (["update", "index", "--delete", "{$ref: true}", "--expect", "1", "--strict"], "needs expect"),
        (["delete"], "Say which pages to delete"),
        (["delete", "--filter", "{}", "--expect", "2"], "nothing was written"),
        (["delete", "index", "nothing"], "There is no page 'nothing'."),
        (["delete", "--roots", "--strict"], "delete needs expect"),
    ],
)
def test_a_mistake_is_one_sentence(cli: Cli, notes: Path, words: list[str], says: str) -> None:
    before = pages(notes)
    ran = cli("store", *words, "-d", notes)
    assert (ran.code, ran.out) == (2, "") and says in ran.complaint
    assert pages(notes) == before
