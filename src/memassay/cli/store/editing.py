"""``memassay store query``, ``create``, ``update``, ``delete`` and ``rename``: what changes the notes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from memassay.cli.store.asking import ask, check_keys, check_shape, opened, show, standard_input, whole_page
from memassay.cli.store.options import (
    Content,
    Dir,
    DryRun,
    Format,
    Index,
    Json,
    Key,
    Selection,
    ShownAs,
    Tokens,
    selecting,
)

Expect = Annotated[
    str | None, typer.Option("--expect", metavar="N", help="Refuse unless so many pages are met: 3, or {max: 5}.")
]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse edits that do not say expect; not in a dry run.")]

QUERY_HELP = """Find, count, update or delete pages by a query in YAML; - reads it from standard input.

    memassay store query find 'filter: {status: draft, $includes: {$key: {$eq: index}}}'

    memassay store query count 'filter: {$content: {$item: {$text: boiler}}}'

    memassay store query update '{filter: {$key: people/ada}, update: {$set: {city: Oslo}}, expect: 1}' --dry-run
"""


def query(
    operation: Annotated[str, typer.Argument(help="find, count, update or delete.")],
    document: Annotated[str, typer.Argument(help="The query.")],
    dir_: Dir = Path(),
    max_tokens: Tokens = 0,
    dry_run: DryRun = False,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse edits that do not say expect.")] = False,
    index: Index = None,
    shape: ShownAs = Format.MARKDOWN,
    json_: Json = False,
) -> None:
    from memassay.cli import notes
    from memassay.core.errors import UsageError

    check_shape(json_, shape)
    if shape is Format.KEYS and operation != "find":
        raise UsageError(f"--format keys lists the pages of a find; {operation} gives none.")
    text = standard_input() if document == "-" else document
    edits = operation in ("update", "delete")
    asked = {
        "operation": operation,
        "document": text,
        "dry_run": dry_run,
        "max_tokens": max_tokens,
        "strict": strict,
    }
    reply = ask("query", dir_, index, asked, write=edits and not dry_run)
    shown = _changes(dry_run) if edits else notes.facts if operation == "count" else notes.found
    show(reply, shown, json_, shape)


CREATE_HELP = """Write a new page, from --content or standard input.

    memassay store create people/cem --content "# Cem" --dir notes

    memassay store create people/cem --dir notes < cem.md
"""


def create(
    key: Key,
    dir_: Dir = Path(),
    content: Content = None,
    skip: Annotated[bool, typer.Option("--skip", help="If there is such a page, leave it as it is.")] = False,
    index: Index = None,
    json_: Json = False,
) -> None:
    asked = {"key": key, "content": whole_page(content), "if_exists": "skip" if skip else "fail"}
    reply = ask("create", dir_, index, asked, write=True)
    show(
        reply,
        lambda value: f"created {value['key']}" if value["created"] else f"{value['key']} is there already",
        json_,
    )


UPDATE_HELP = """Write a page anew, whole, or change fields and parts of one page or many.

    memassay store update people/cem --content "# Cem, third floor" --dir notes

    memassay store update people/cem --dir notes < cem.md

    memassay store update house/boiler --set status=done --set 'tags=[heat, cellar]' --unset year --dir notes

    memassay store update house/boiler --append '{$section: Faults, content: "- F29: no flame", expect: 1}' --dir notes

    memassay store update --filter 'status: draft' --set status=done --expect 3 --dry-run --dir notes

A part is named by a block predicate: {$item: {$text: F28}}. Changes are made in the order in which they are listed
below, all of them or none.
"""

_Lines = list[str] | None


def _change(says: str, metavar: str = "YAML") -> Any:
    return typer.Option(metavar=metavar, help=says, rich_help_panel="Changes")


@dataclass(frozen=True)
class Changes:
    """What is done to the pages, in this order. An option has the name of its field, and so has its operator."""

    set: Annotated[_Lines, _change("Set a field of the front matter.", "FIELD=YAML")] = None
    unset: Annotated[_Lines, _change("Take a field away.", "FIELD")] = None
    replace: Annotated[_Lines, _change("{PREDICATE, content: TEXT}: in place of it.")] = None
    replace_text: Annotated[_Lines, _change("{PREDICATE, from: WORDS, to: WORDS}: words in it.")] = None
    insert_before: Annotated[_Lines, _change("{PREDICATE, content: TEXT}: above it.")] = None
    insert_after: Annotated[_Lines, _change("{PREDICATE, content: TEXT}: below it.")] = None
    append: Annotated[_Lines, _change("{PREDICATE, content: TEXT}: at its end; {content: TEXT}: the page's.")] = None
    delete: Annotated[_Lines, _change("{PREDICATE}: take it away.")] = None

    def operators(self) -> dict[str, Any]:
        """The operators of the query language for those that were given.

        Raises:
            UsageError: one is no YAML of the shape that it has to have.
        """
        from memassay.knowledge.conditions import mapping_in

        found: dict[str, Any] = {}
        for field in fields(self):
            given: list[str] = getattr(self, field.name) or []
            first, *more = field.name.split("_")
            name, option = "".join(["$", first, *(word.title() for word in more)]), "-".join(["-", "", first, *more])
            if given and name == "$set":
                found[name] = dict(_setting(one) for one in given)
            elif given and name == "$unset":
                found[name] = given
            elif given:
                found[name] = [mapping_in(one, option, _EXAMPLE) for one in given]
        return found


_EXAMPLE = "{$item: {$text: F28}, expect: 1}"


@selecting
def update(
    changes: Changes,
    chosen: Selection,
    key: Annotated[str | None, typer.Argument(help="The page, as with --key.")] = None,
    dir_: Dir = Path(),
    content: Content = None,
    expect: Expect = None,
    strict: Strict = False,
    dry_run: DryRun = False,
    index: Index = None,
    json_: Json = False,
) -> None:
    from memassay.core.errors import UsageError

    chosen = chosen.and_keys([key] if key else [])
    operators = changes.operators()
    if not operators:
        _rewrite(chosen, dir_, index, content, expect, dry_run, json_)
        return
    if content is not None:
        raise UsageError("--content writes a page anew, the other options change parts of pages; give one of them.")
    _edit("update", chosen, {"update": operators}, expect, strict, dry_run, dir_, index, json_)


DELETE_HELP = """Take pages away; links to them become plain words.

    memassay store delete people/cem --dir notes

    memassay store delete --filter 'status: old' --expect 2 --dry-run --dir notes
"""


@selecting
def delete(
    chosen: Selection,
    keys: Annotated[list[str] | None, typer.Argument(help="The pages, as with --key.")] = None,
    dir_: Dir = Path(),
    expect: Expect = None,
    strict: Strict = False,
    max_tokens: Tokens = 0,
    dry_run: DryRun = False,
    index: Index = None,
    json_: Json = False,
) -> None:
    _edit("delete", chosen.and_keys(keys or []), {}, expect, strict, dry_run, dir_, index, json_, max_tokens)


RENAME_HELP = """Give a page another key; links to it are rewritten everywhere.

    memassay store rename people/cem people/neighbours/cem --dir notes --dry-run
"""


def rename(
    old: Annotated[str, typer.Argument(help="The page's key.")],
    new: Annotated[str, typer.Argument(help="The key it gets.")],
    dir_: Dir = Path(),
    max_tokens: Tokens = 0,
    dry_run: DryRun = False,
    index: Index = None,
    json_: Json = False,
) -> None:
    asked = {"old_key": old, "new_key": new, "dry_run": dry_run, "max_tokens": max_tokens}
    reply = ask("rename", dir_, index, asked, write=not dry_run)
    show(reply, _changes(dry_run), json_)


def _rewrite(
    chosen: Selection, folder: Path, index: Path | None, content: str | None, expect: str | None, dry: bool, json_: bool
) -> None:
    """Write one page anew."""
    from memassay.core.errors import UsageError
    from memassay.knowledge.answers import Reply
    from memassay.knowledge.library import page_of

    key = chosen.only_key
    if key is None or expect is not None:
        raise UsageError("Say what to change, such as --set status=done; to write a page anew, give its KEY alone.")
    text = whole_page(content)
    if not dry:
        reply = ask("update", folder, index, {"key": key, "content": text}, write=True)
        show(reply, lambda value: f"changed {value['key']}", json_)
        return
    with opened(folder, index) as store:
        page = page_of(store.library, store.key(key))
    changed = [] if page.text == text else [{"key": page.key, "content": text}]
    show(Reply({"creates": [], "updates": changed, "removes": []}), _changes(dry), json_)


def _edit(
    operation: str,
    chosen: Selection,
    given: dict[str, Any],
    expect: str | None,
    strict: bool,
    dry: bool,
    folder: Path,
    index: Path | None,
    json_: bool,
    max_tokens: int = 0,
) -> None:
    """Carry out an operation of the query language on the pages that are chosen."""
    from memassay.core.errors import UsageError
    from memassay.knowledge.answers import Reply, changes
    from memassay.knowledge.conditions import value_in
    from memassay.knowledge.fitting import fitted
    from memassay.knowledge.library import page_of

    condition = chosen.condition()
    if condition is None:
        raise UsageError(f"Say which pages to {operation}: a KEY, --filter or such; --filter '{{}}' means every page.")
    document = {"filter": condition, **given}
    if expect is not None:
        document["expect"] = value_in(expect, "--expect")
    with opened(folder, index, write=not dry) as store:
        for key in chosen.only or ():
            page_of(store.library, store.key(key))
        check_keys(store, chosen.named)
        outcome = store.query(operation, document, strict=strict and not dry, dry_run=dry)
        told = fitted(changes(outcome.changes), max_tokens, store.snapshot.tokens)
    show(Reply(*told), _changes(dry), json_)


def _setting(given: str) -> tuple[str, Any]:
    from memassay.core.errors import UsageError
    from memassay.knowledge.conditions import value_in

    name, mark, value = given.partition("=")
    if not mark or not name.strip():
        raise UsageError(f"--set is a field and a value, such as status=done, not {given!r}.")
    return name.strip(), value_in(value, f"The value of --set {name.strip()}")


def _changes(dry_run: bool) -> Callable[[Any], str]:
    from functools import partial

    from memassay.cli import notes

    return partial(notes.changes, dry_run=dry_run)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(help=QUERY_HELP)(query)
    app.command(help=CREATE_HELP)(create)
    app.command(help=UPDATE_HELP)(update)
    app.command(help=DELETE_HELP)(delete)
    app.command(help=RENAME_HELP)(rename)
