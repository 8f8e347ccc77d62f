"""``memassay store tree``, ``squash``, ``stats``, ``count`` and ``index``: the notes as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from memassay.cli.store.asking import ask, check_keys, check_shape, opened, show
from memassay.cli.store.options import (
    Dir,
    Embedder,
    Format,
    Index,
    Json,
    Key,
    Project,
    Selection,
    ShownAs,
    TableFormat,
    Tokens,
    selecting,
)
from memassay.cli.store.reading import fields_of

# Fewer texts are embedded in a second or two.
_MANY = 200

TREE_HELP = """Show which pages include which.

    memassay store tree --dir notes --depth 2

    memassay store tree house --project key,title,status --dir notes

    memassay store tree --filter 'kind: project' --format keys --dir notes
"""


@selecting
def tree(
    chosen: Selection,
    keys: Annotated[list[str] | None, typer.Argument(help="Where to begin; the pages that nothing includes.")] = None,
    dir_: Dir = Path(),
    depth: Annotated[int, typer.Option("--depth", min=0, max=255, help="Levels below the first; 0 to the end.")] = 4,
    project: Project = None,
    max_tokens: Tokens = 0,
    index: Index = None,
    shape: ShownAs = Format.MARKDOWN,
    json_: Json = False,
) -> None:
    from memassay.cli import notes

    check_shape(json_, shape)
    shown = None if shape is Format.KEYS else fields_of(project, "--project")
    asked = {"keys": keys or [], "depth": depth, "project": shown, "max_tokens": max_tokens}
    show(ask("tree", dir_, index, asked, chosen=chosen), notes.outline, json_, shape)


SQUASH_HELP = """Write a page with the pages it includes as one Markdown text.

    memassay store squash index --depth 3 --dir notes > everything.md
"""


def squash(
    key: Key,
    dir_: Dir = Path(),
    depth: Annotated[int, typer.Option("--depth", min=0, max=255, help="Levels written out; 0 to the end.")] = 2,
    max_tokens: Tokens = 0,
    index: Index = None,
    json_: Json = False,
) -> None:
    reply = ask("squash", dir_, index, {"key": key, "depth": depth, "max_tokens": max_tokens})
    show(reply, lambda text: str(text).removesuffix("\n"), json_)


STATS_HELP = """Count pages and links; list orphans, broken links and broken front matter.

    memassay store stats --dir notes

    memassay store stats people/ada --dir notes

    memassay store stats --included-by house:0 --format csv --dir notes

    memassay store stats --similar --threshold 0.9 --dir notes
"""


@selecting
def stats(
    chosen: Selection,
    key: Annotated[str | None, typer.Argument(help="One page, as with --key; without it, all of them.")] = None,
    dir_: Dir = Path(),
    similar: Annotated[bool, typer.Option("--similar", help="Also list pages that say nearly the same.")] = False,
    threshold: Annotated[
        float, typer.Option("--threshold", "-t", min=0, max=1, help="From which likeness on they do.")
    ] = 0.85,
    max_tokens: Tokens = 0,
    index: Index = None,
    shape: Annotated[TableFormat, typer.Option("--format", "-f", help="How to show it; csv has a line per page.")] = (
        TableFormat.MARKDOWN
    ),
    json_: Json = False,
) -> None:
    from memassay.cli import notes
    from memassay.core.errors import UsageError
    from memassay.knowledge.answers import Reply
    from memassay.knowledge.conditions import condition
    from memassay.knowledge.fitting import fitted
    from memassay.knowledge.selection import Selector

    check_shape(json_, shape)
    chosen = chosen.and_keys([key] if key else [])
    if shape is TableFormat.CSV:
        if similar:
            raise UsageError("--similar lists pairs of pages, which are no lines of a table; use another --format.")
        wanted = chosen.condition()
        selector = Selector(condition=None if wanted is None else condition(wanted))
        with opened(dir_, index) as store:
            check_keys(store, chosen.named)
            rows = store.table(selector.keys(store.library))
            reply = Reply(*fitted(rows, max_tokens, store.snapshot.tokens))
    elif chosen.only_key is not None:
        asked = {"key": chosen.only_key, "threshold": threshold, "max_tokens": max_tokens}
        reply = ask("stats", dir_, index, asked)
    else:
        asked = {"similar": similar, "threshold": threshold, "max_tokens": max_tokens}
        reply = ask("stats", dir_, index, asked, chosen=chosen)
    show(reply, notes.facts, json_, shape)


COUNT_HELP = """Count pages.

    memassay store count --filter 'status: draft' --dir notes

    memassay store count --references house/boiler --dir notes
"""


@selecting
def count(chosen: Selection, dir_: Dir = Path(), index: Index = None, json_: Json = False) -> None:
    from memassay.knowledge.answers import Reply

    wanted = chosen.condition()
    with opened(dir_, index) as store:
        check_keys(store, chosen.named)
        found = store.query("count", {} if wanted is None else {"filter": wanted})
    show(Reply(found.result), lambda value: str(value["count"]), json_)


INDEX_HELP = """Bring the index up to date; it is kept in .memassay in the folder, or in --index.

    memassay store index --dir notes

    memassay store index --embedder minilm --dir notes
"""


def index_(
    dir_: Dir = Path(),
    index: Index = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Make it anew from the pages.")] = False,
    embedder: Embedder = None,
    json_: Json = False,
) -> None:
    from memassay.knowledge.answers import Reply
    from memassay.retrieval.embedders import embedder as model_named

    model = None if embedder is None else model_named(embedder)
    with opened(dir_, index, write=True) as store:
        if rebuild:
            store.rebuild()
        counts = {"pages": store.snapshot.pages, "passages": store.snapshot.passages}
        if model is not None:
            finder = store.embed_with(model, _embedding)
            finder.prepared(store.snapshot)
            counts["embedded"] = finder.made
    show(Reply(counts), lambda value: ", ".join(f"{number} {name}" for name, number in value.items()), json_)


def _embedding(done: int, total: int) -> None:
    """A line now and then while many texts are embedded."""
    from memassay.cli.output import say

    if total - done >= _MANY:
        say(f"{done:,} of {total:,} passages have vectors.")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(help=TREE_HELP)(tree)
    app.command(help=SQUASH_HELP)(squash)
    app.command(help=STATS_HELP)(stats)
    app.command(help=COUNT_HELP)(count)
    app.command("index", help=INDEX_HELP)(index_)
