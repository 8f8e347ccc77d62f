"""``memassay store search``, ``find`` and ``retrieve``: what the notes say about something."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from memassay.cli.store.asking import answer, ask, check_shape, opened, show
from memassay.cli.store.options import (
    Dir,
    Embedder,
    Format,
    Fuzzy,
    Index,
    Json,
    Limit,
    PageTokens,
    Project,
    Selection,
    ShownAs,
    Tokens,
    selecting,
)


class Grain(StrEnum):
    """What is shown for a passage that answers (:data:`memassay.knowledge.grains.Grain`)."""

    PASSAGE = "passage"
    SECTION = "section"
    PAGE = "page"


SEARCH_HELP = """Answer a question with the passages that match best, each with its place.

    memassay store search "who repairs the boiler" --dir notes --max-tokens 500

    memassay store search "who repairs the boiler" --grain section --embedder minilm --dir notes
"""


def search(
    text: Annotated[str, typer.Argument(help="The question.")],
    dir_: Dir = Path(),
    grain: Annotated[
        Grain, typer.Option("--grain", help="Show the passage that answers, its section, or its page.")
    ] = Grain.PASSAGE,
    embedder: Embedder = None,
    max_tokens: Tokens = 2000,
    limit: Annotated[int, typer.Option("--limit", "-l", min=0, help="The most passages; 0 has no limit.")] = 100,
    index: Index = None,
    json_: Json = False,
) -> None:
    from memassay.cli import notes
    from memassay.cli.output import say
    from memassay.knowledge.arguments import Search
    from memassay.retrieval.embedders import embedder as model_named

    asked = Search.read("search", {"text": text, "grain": grain.value, "max_tokens": max_tokens, "limit": limit})
    model = None if embedder is None else model_named(embedder)
    with opened(dir_, index) as store:
        finder = None if model is None else store.embed_with(model)
        reply = answer("search", store, asked)
    show(reply, notes.passages, json_)
    if finder is not None and finder.made and not finder.keeps:
        passages = f"{finder.made:,} passage{'' if finder.made == 1 else 's'}"
        say(
            f"{passages} had to be embedded for this question alone; keep the vectors with --index FOLDER, "
            f"or in the folder of the notes with: memassay store index --embedder {embedder}"
        )


FIND_HELP = """List pages: by words, by letters, by filters, by links; else the most linked first.

    memassay store find "pressure sensor" --dir notes

    memassay store find --included-by index:0 --sort date:-1 --project key,title,date --dir notes

    memassay store find --filter 'status: draft' --blocks '{$item: {$text: boiler}}' --dir notes

    memassay store find --roots --format keys --dir notes
"""


@selecting
def find(
    chosen: Selection,
    text: Annotated[str | None, typer.Argument(help="Words to look for; best match first.")] = None,
    dir_: Dir = Path(),
    lexical: Annotated[str | None, typer.Option("--lexical", metavar="WORDS", help="The same as TEXT.")] = None,
    fuzzy: Fuzzy = None,
    refs_to: Annotated[
        str | None, typer.Option("--refs-to", metavar="KEY", help="Pages that include KEY or refer to it.")
    ] = None,
    refs_from: Annotated[
        str | None, typer.Option("--refs-from", metavar="KEY", help="Pages that KEY includes or refers to.")
    ] = None,
    sort: Annotated[list[str] | None, typer.Option("--sort", metavar="FIELD:±1", help="Such as date:-1.")] = None,
    project: Project = None,
    add_fields: Annotated[
        str | None, typer.Option("--add-fields", help="Fields beside the usual ones, as in --project.")
    ] = None,
    blocks: Annotated[
        str | None, typer.Option("--blocks", metavar="PREDICATE", help="Also show the parts of a page that match.")
    ] = None,
    matches: Annotated[
        str | None, typer.Option("--matches", metavar="REGEX", help="Also show what a pattern finds in a page.")
    ] = None,
    limit: Limit = 0,
    max_tokens: Tokens = 0,
    max_document_tokens: PageTokens = 0,
    index: Index = None,
    shape: ShownAs = Format.MARKDOWN,
    json_: Json = False,
) -> None:
    from memassay.cli import notes
    from memassay.core.errors import UsageError

    check_shape(json_, shape)
    if text is not None and lexical is not None:
        raise UsageError("TEXT and --lexical are the same; give one of them.")
    shown, added = fields_of(project, "--project"), fields_of(add_fields, "--add-fields")
    if shape is Format.KEYS:
        shown, added = {"key": True}, None
    elif blocks is not None or matches is not None:
        parts = _parts(blocks, matches)
        shown, added = (None, {**(added or {}), **parts}) if shown is None else ({**shown, **parts}, added)
    asked = {
        "lexical": text if lexical is None else lexical,
        "fuzzy": fuzzy,
        "refs_to": refs_to,
        "refs_from": refs_from,
        "sort": sort,
        "project": shown,
        "add_fields": added,
        "limit": limit,
        "max_tokens": max_tokens,
        "max_document_tokens": max_document_tokens,
    }
    show(ask("find", dir_, index, asked, chosen=chosen), notes.found, json_, shape)


RETRIEVE_HELP = """Read whole pages, by key, by words or by filters, with the pages around them.

    memassay store retrieve people/ada --expand-references 1 --dir notes

    memassay store retrieve --lexical "boiler" --limit 3 --max-tokens 2000 --dir notes

    memassay store retrieve --filter 'status: open' --children --no-backlinks --dir notes
"""


def _expanding(name: str, says: str) -> Any:
    return typer.Option(name, metavar="DEPTH", min=0, max=255, help=f"Also {says}; how deep, 0 to the end.")


@selecting
def retrieve(
    chosen: Selection,
    keys: Annotated[list[str] | None, typer.Argument(help="The pages' keys, in the order to read them.")] = None,
    dir_: Dir = Path(),
    lexical: Annotated[
        str | None, typer.Option("--lexical", "--search", metavar="WORDS", help="Read the pages that match best.")
    ] = None,
    fuzzy: Fuzzy = None,
    expand_includes: Annotated[int | None, _expanding("--expand-includes", "what they include")] = None,
    expand_included_by: Annotated[int | None, _expanding("--expand-included-by", "what includes them")] = None,
    expand_references: Annotated[int | None, _expanding("--expand-references", "what they refer to")] = None,
    expand_referenced_by: Annotated[int | None, _expanding("--expand-referenced-by", "what refers to them")] = None,
    backlinks: Annotated[
        bool, typer.Option("--backlinks/--no-backlinks", help="List the pages that refer to each page.")
    ] = True,
    children: Annotated[bool, typer.Option("--children", help="List the pages that each page includes.")] = False,
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
    shape: ShownAs = Format.MARKDOWN,
    json_: Json = False,
) -> None:
    from memassay.cli import notes

    check_shape(json_, shape)
    depths = {
        "includes": expand_includes,
        "includedBy": expand_included_by,
        "references": expand_references,
        "referencedBy": expand_referenced_by,
    }
    asked = {
        "keys": keys or [],
        "search": lexical,
        "fuzzy": fuzzy,
        "expand": {name: depth for name, depth in depths.items() if depth is not None},
        "backlinks": backlinks,
        "children": children,
        "exclude": exclude or [],
        "limit": limit,
        "max_documents": max_documents,
        "max_tokens": max_tokens,
        "max_document_tokens": max_document_tokens,
        "order": "seeds-first" if seeds_first else "interleaved",
        "overflow": "skip" if skip else "stop",
    }
    show(ask("retrieve", dir_, index, asked, chosen=chosen), notes.documents, json_, shape)


def fields_of(given: str | None, option: str) -> dict[str, Any] | None:
    """The fields that an option names: ``key,title,date``, or a mapping from names to sources in YAML.

    Raises:
        UsageError: it is neither.
    """
    from memassay.core.errors import UsageError
    from memassay.knowledge.conditions import mapping_in

    if given is None:
        return None
    if given.lstrip().startswith("{"):
        return mapping_in(given, option, "{key: true, first: {$matches: '^.*'}}")
    names = [name.strip() for name in given.split(",")]
    if not all(names):
        raise UsageError(f"{option} is a list of names such as key,title,date, not {given!r}.")
    return {name.removeprefix("$"): name if name.startswith("$") else True for name in names}


def _parts(blocks: str | None, matches: str | None) -> dict[str, Any]:
    """The fields that show parts of a page."""
    from memassay.knowledge.conditions import value_in

    parts: dict[str, Any] = {}
    if blocks is not None:
        parts["blocks"] = {"$blocks": value_in(blocks, "--blocks")}
    if matches is not None:
        parts["matches"] = {"$matches": matches}
    return parts


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(help=SEARCH_HELP)(search)
    app.command(help=FIND_HELP)(find)
    app.command(help=RETRIEVE_HELP)(retrieve)
