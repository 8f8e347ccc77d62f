"""``memassay store``: a folder of notes on the command line, with the same functions that an agent's tools call."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from memassay.knowledge.answers import Reply
    from memassay.knowledge.store import KnowledgeStore

_HELP = """A folder of Markdown notes: search, read, check and edit it.

A page is a .md file; its key is its path without .md, case included. Reading never writes into the folder.

    memassay store search "who repairs the boiler" --dir notes

    memassay store retrieve people/ada --references 1 --dir notes

    memassay store query find 'filter: {status: draft}' --dir notes

    memassay memory serve --store notes
"""

app = typer.Typer(help=_HELP, no_args_is_help=True)

Dir = Annotated[Path, typer.Option("--dir", "-d", help="The folder of notes, or of a store of a run.")]
Index = Annotated[Path | None, typer.Option("--index", help="Keep the index in this folder, outside of the notes.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
In = Annotated[
    list[str] | None,
    typer.Option("--in", metavar="KEY[:DEPTH]", help="Only pages that KEY includes (all of them, if given again)."),
]
InAny = Annotated[
    list[str] | None, typer.Option("--in-any", metavar="KEY[:DEPTH]", help="Only pages that one of these includes.")
]
NotIn = Annotated[list[str] | None, typer.Option("--not-in", metavar="KEY[:DEPTH]", help="No pages that KEY includes.")]
Fuzzy = Annotated[
    str | None,
    typer.Option("--fuzzy", metavar="LETTERS", help="Only keys and titles that hold these letters in this order."),
]
Limit = Annotated[int, typer.Option("--limit", "-l", min=0, help="The most pages; 0 has no limit.")]
Tokens = Annotated[int, typer.Option("--max-tokens", min=0, help="The most tokens; 0 has no limit.")]
PageTokens = Annotated[int, typer.Option("--max-document-tokens", min=0, help="The most tokens of one page's content.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would change and change nothing.")]
Key = Annotated[str, typer.Argument(help="The page's key, such as people/ada.")]
Content = Annotated[str | None, typer.Option("--content", help="The whole page; standard input if not given.")]


_SEARCH_HELP = """Answer a question with the passages that match best, each with its place.

    memassay store search "who repairs the boiler" --dir notes --max-tokens 500
"""


@app.command(help=_SEARCH_HELP)
def search(
    text: Annotated[str, typer.Argument(help="The question.")],
    dir_: Dir = Path(),
    max_tokens: Tokens = 2000,
    limit: Annotated[int, typer.Option("--limit", "-l", min=0, help="The most passages; 0 has no limit.")] = 100,
    index: Index = None,
    json_: Json = False,
) -> None:
    from memassay.cli import notes

    asked = {"text": text, "max_tokens": max_tokens, "limit": limit}
    _show(_ask("search", dir_, index, asked), notes.passages, json_)


_FIND_HELP = """List pages: by words, by letters, by links, by what includes them; else the most linked first.

    memassay store find "pressure sensor" --dir notes

    memassay store find --in index:0 --sort date:-1 --project key,title,date --dir notes
"""


@app.command(help=_FIND_HELP)
def find(
    text: Annotated[str | None, typer.Argument(help="Words to look for; best match first.")] = None,
    dir_: Dir = Path(),
    fuzzy: Fuzzy = None,
    inside: In = None,
    in_any: InAny = None,
    not_in: NotIn = None,
    refs_to: Annotated[str | None, typer.Option("--refs-to", metavar="KEY", help="Pages that link to KEY.")] = None,
    refs_from: Annotated[str | None, typer.Option("--refs-from", metavar="KEY", help="Pages KEY links to.")] = None,
    sort: Annotated[list[str] | None, typer.Option("--sort", metavar="FIELD:±1", help="Such as date:-1.")] = None,
    project: Annotated[str | None, typer.Option("--project", help="The fields to show: key,title,date.")] = None,
    add_fields: Annotated[str | None, typer.Option("--add-fields", help="Fields beside the usual ones.")] = None,
    limit: Limit = 0,
    max_tokens: Tokens = 0,
    max_document_tokens: PageTokens = 0,
    index: Index = None,
    json_: Json = False,
) -> None:
    from memassay.cli import notes

    asked = {
        **_selected(inside, in_any, not_in),
        "lexical": text,
        "fuzzy": fuzzy,
        "refs_to": refs_to,
        "refs_from": refs_from,
        "sort": sort,
        "project": project,
        "add_fields": add_fields,
        "limit": limit,
        "max_tokens": max_tokens,
        "max_document_tokens": max_document_tokens,
    }
    _show(_ask("find", dir_, index, asked), notes.found, json_)


_DEPTH = "; how deep, 0 to the end"
_RETRIEVE_HELP = """Read whole pages, by key or by words, with the pages around them.

    memassay store retrieve people/ada --references 1 --dir notes

    memassay store retrieve --search "boiler" --limit 3 --max-tokens 2000 --dir notes
"""


@app.command(help=_RETRIEVE_HELP)
def retrieve(
    keys: Annotated[list[str] | None, typer.Argument(help="The pages' keys.")] = None,
    dir_: Dir = Path(),
    text: Annotated[str | None, typer.Option("--search", help="Words: read the pages that match best.")] = None,
    fuzzy: Fuzzy = None,
    includes: Annotated[
        int | None, typer.Option("--includes", min=0, max=255, help=f"Also what they include{_DEPTH}.")
    ] = None,
    included_by: Annotated[
        int | None, typer.Option("--included-by", min=0, max=255, help=f"Also what includes them{_DEPTH}.")
    ] = None,
    references: Annotated[
        int | None, typer.Option("--references", min=0, max=255, help=f"Also what they refer to{_DEPTH}.")
    ] = None,
    referenced_by: Annotated[
        int | None, typer.Option("--referenced-by", min=0, max=255, help=f"Also what refers to them{_DEPTH}.")
    ] = None,
    inside: In = None,
    in_any: InAny = None,
    not_in: NotIn = None,
    exclude: Annotated[list[str] | None, typer.Option("--exclude", metavar="KEY", help="Leave this page out.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-l", min=0, help="The most pages to start from.")] = 0,
    max_documents: Annotated[int, typer.Option("--max-documents", min=0, help="The most pages altogether.")] = 0,
    max_tokens: Tokens = 0,
    max_document_tokens: PageTokens = 0,
    seeds_first: Annotated[
        bool, typer.Option("--seeds-first", help="What a page brings in comes after all pages, not right after it.")
    ] = False,
    skip: Annotated[bool, typer.Option("--skip", help="Go on after a page that does not fit.")] = False,
    index: Index = None,
    json_: Json = False,
) -> None:
    from memassay.cli import notes

    depths = {
        "includes": includes,
        "includedBy": included_by,
        "references": references,
        "referencedBy": referenced_by,
    }
    asked = {
        **_selected(inside, in_any, not_in),
        "keys": keys or [],
        "search": text,
        "fuzzy": fuzzy,
        "expand": {name: depth for name, depth in depths.items() if depth is not None},
        "exclude": exclude or [],
        "limit": limit,
        "max_documents": max_documents,
        "max_tokens": max_tokens,
        "max_document_tokens": max_document_tokens,
        "order": "seeds-first" if seeds_first else "interleaved",
        "overflow": "skip" if skip else "stop",
    }
    _show(_ask("retrieve", dir_, index, asked), notes.documents, json_)


@app.command(help="Show which pages include which.")
def tree(
    keys: Annotated[list[str] | None, typer.Argument(help="Where to begin; the pages that nothing includes.")] = None,
    dir_: Dir = Path(),
    depth: Annotated[int, typer.Option("--depth", min=0, max=255, help="Levels below the first; 0 to the end.")] = 4,
    index: Index = None,
    json_: Json = False,
) -> None:
    from memassay.cli import notes

    _show(_ask("tree", dir_, index, {"keys": keys or [], "depth": depth}), notes.outline, json_)


@app.command(help="Write a page with the pages it includes as one Markdown text.")
def squash(
    key: Key,
    dir_: Dir = Path(),
    depth: Annotated[int, typer.Option("--depth", min=0, max=255, help="Levels written out; 0 to the end.")] = 2,
    index: Index = None,
    json_: Json = False,
) -> None:
    reply = _ask("squash", dir_, index, {"key": key, "depth": depth})
    _show(reply, lambda text: str(text).removesuffix("\n"), json_)


@app.command(help="Count pages and links; list orphans, broken links and broken front matter.")
def stats(
    key: Annotated[str | None, typer.Argument(help="One page; without it, all of them.")] = None,
    dir_: Dir = Path(),
    similar: Annotated[bool, typer.Option("--similar", help="Also list pages that say nearly the same.")] = False,
    index: Index = None,
    json_: Json = False,
) -> None:
    from memassay.cli import notes

    _show(_ask("stats", dir_, index, {"key": key, "similar": similar}), notes.facts, json_)


_QUERY_HELP = """Find, count, update or delete pages by a query in YAML; - reads it from standard input.

    memassay store query find 'filter: {status: draft, $includes: {$key: {$eq: index}}}'

    memassay store query count 'filter: {$content: {$item: {$text: boiler}}}'

    memassay store query update '{filter: {$key: people/ada}, update: {$set: {city: Oslo}}, expect: 1}' --dry-run
"""


@app.command(help=_QUERY_HELP)
def query(
    operation: Annotated[str, typer.Argument(help="find, count, update or delete.")],
    document: Annotated[str, typer.Argument(help="The query.")],
    dir_: Dir = Path(),
    max_tokens: Tokens = 0,
    dry_run: DryRun = False,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse edits that do not say expect.")] = False,
    index: Index = None,
    json_: Json = False,
) -> None:
    from memassay.cli import notes

    text = _input() if document == "-" else document
    edits = operation in ("update", "delete")
    asked = {
        "operation": operation,
        "document": text,
        "dry_run": dry_run,
        "max_tokens": max_tokens,
        "strict": strict,
    }
    reply = _ask("query", dir_, index, asked, write=edits and not dry_run)
    shown = _changes(dry_run) if edits else notes.facts if operation == "count" else notes.found
    _show(reply, shown, json_)


_CREATE_HELP = """Write a new page, from --content or standard input.

    memassay store create people/cem --content "# Cem" --dir notes

    memassay store create people/cem --dir notes < cem.md
"""


@app.command(help=_CREATE_HELP)
def create(
    key: Key,
    dir_: Dir = Path(),
    content: Content = None,
    skip: Annotated[bool, typer.Option("--skip", help="If there is such a page, leave it as it is.")] = False,
    index: Index = None,
    json_: Json = False,
) -> None:
    asked = {"key": key, "content": _content(content), "if_exists": "skip" if skip else "fail"}
    reply = _ask("create", dir_, index, asked, write=True)
    _show(
        reply,
        lambda value: f"created {value['key']}" if value["created"] else f"{value['key']} is there already",
        json_,
    )


@app.command(help="Write a page anew, whole, from --content or standard input.")
def update(key: Key, dir_: Dir = Path(), content: Content = None, index: Index = None, json_: Json = False) -> None:
    reply = _ask("update", dir_, index, {"key": key, "content": _content(content)}, write=True)
    _show(reply, lambda value: f"changed {value['key']}", json_)


@app.command(help="Take a page away; links to it become plain words.")
def delete(key: Key, dir_: Dir = Path(), dry_run: DryRun = False, index: Index = None, json_: Json = False) -> None:
    reply = _ask("delete", dir_, index, {"key": key, "dry_run": dry_run}, write=not dry_run)
    _show(reply, _changes(dry_run), json_)


@app.command(help="Give a page another key; links to it are rewritten everywhere.")
def rename(
    old: Annotated[str, typer.Argument(help="The page's key.")],
    new: Annotated[str, typer.Argument(help="The key it gets.")],
    dir_: Dir = Path(),
    dry_run: DryRun = False,
    index: Index = None,
    json_: Json = False,
) -> None:
    reply = _ask("rename", dir_, index, {"old_key": old, "new_key": new, "dry_run": dry_run}, write=not dry_run)
    _show(reply, _changes(dry_run), json_)


@app.command("index", help="Bring the index up to date; it is kept in .memassay in the folder, or in --index.")
def index_(
    dir_: Dir = Path(),
    index: Index = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Make it anew from the pages.")] = False,
    json_: Json = False,
) -> None:
    from memassay.knowledge.answers import Reply

    with _opened(dir_, index, write=True) as store:
        if rebuild:
            store.rebuild()
        counts = {"pages": store.snapshot.pages, "passages": store.snapshot.passages}
    _show(Reply(counts), lambda value: f"{value['pages']} pages, {value['passages']} passages", json_)


# -- what they share -----------------------------------------------------------------------------------------------


def _opened(folder: Path, index: Path | None, write: bool) -> KnowledgeStore:
    from memassay.knowledge.places import pages_in
    from memassay.knowledge.store import KnowledgeStore

    return KnowledgeStore.open(pages_in(folder, write=write), writable=write, index=index)


def _ask(tool: str, folder: Path, index: Path | None, asked: Mapping[str, Any], write: bool = False) -> Reply:
    from memassay.cli.output import say
    from memassay.knowledge.answers import Answers
    from memassay.knowledge.tools import TOOLS

    found = TOOLS[tool]
    arguments = found.takes.read(tool, asked)
    with _opened(folder, index, write) as store:
        reply = found.run(Answers(store), arguments)
        if reply.value == [] and reply.note is None:
            pages = store.snapshot.pages
            say(f"Nothing found in {pages:,} page{'' if pages == 1 else 's'}.")
        return reply


def _selected(inside: list[str] | None, in_any: list[str] | None, not_in: list[str] | None) -> dict[str, Any]:
    """The selector as a tool takes it; on the command line a key without a depth means its direct pages."""
    names = {"in": inside, "in_any": in_any, "not_in": not_in}
    return {"max_depth": 1, **{name: [_near(key) for key in keys or ()] for name, keys in names.items()}}


def _near(given: str) -> Any:
    key, mark, depth = given.rpartition(":")
    return {"key": key, "depth": int(depth)} if mark and depth.isdecimal() and depth.isascii() else given


def _content(given: str | None) -> str:
    return _input() if given is None else given


def _input() -> str:
    from memassay.core.errors import DataError

    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError:
        raise DataError("Standard input is not UTF-8; convert it first.") from None


def _show(reply: Reply, text: Callable[[Any], str], json_: bool) -> None:
    from memassay.cli.output import emit, print_json, say
    from memassay.reporting.text import clean

    if json_:
        print_json(reply.value)
    elif reply.value != []:
        emit(clean(text(reply.value)))  # a note is untrusted text: it must not give orders to the terminal
    if reply.note is not None:
        say(_left_out(reply.note))


def _changes(dry_run: bool) -> Callable[[Any], str]:
    from functools import partial

    from memassay.cli import notes

    return partial(notes.changes, dry_run=dry_run)


def _left_out(note: Mapping[str, Any]) -> str:
    clipped = f", {note['clipped']} of them cut" if note["clipped"] else ""
    return f"{note['emitted']} of {note['matched']} are shown{clipped}. {note['hint']}"
