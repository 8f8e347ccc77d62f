"""``memassay memory serve``: notes, or the store of a run, as tools for an agent."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from memassay.knowledge.server import Offers

_HELP = """Serve a folder of Markdown notes, or the store of a run, to an agent over the Model Context Protocol.

    memassay memory serve --store notes

    memassay memory serve --store notes --write --tools search,retrieve,query

    memassay memory serve --store notes --transport http --port 8000

    memassay memory serve --store notes --embedder minilm

Tools: find, retrieve, search, tree, squash, stats, query; with --write also create, update, delete, rename.
A store of a run is served to be read: one of the memory markdown with the tools above, one of any other memory with
search(query, limit, max_tokens), which gives numbered passages.

    memassay memory serve --store stores/KEY
"""


class Transport(StrEnum):
    """How clients reach the server."""

    STDIO = "stdio"
    HTTP = "http"


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command(help=_HELP)
    def serve(
        store: Annotated[Path, typer.Option("--store", help="The folder of notes, or of a store of a run.")],
        transport: Annotated[
            Transport, typer.Option("--transport", help="Standard input and output, or HTTP at /mcp.")
        ] = Transport.STDIO,
        host: Annotated[str, typer.Option("--host", help="The address for HTTP.")] = "127.0.0.1",
        port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 takes a free one.")] = 8000,
        allow_remote: Annotated[
            bool, typer.Option("--allow-remote", help="Let other machines in; nobody is asked for a password.")
        ] = False,
        write: Annotated[bool, typer.Option("--write", help="Let the tools edit the notes.")] = False,
        tools: Annotated[str | None, typer.Option("--tools", help="Offer only these, parted by commas.")] = None,
        prefix: Annotated[
            str, typer.Option("--prefix", help="Begin every tool's name with this; iwe_ for prompts made for iwe.")
        ] = "",
        index: Annotated[
            Path | None, typer.Option("--index", help="Keep the index in this folder, outside of the notes.")
        ] = None,
        embedder: Annotated[
            str | None,
            typer.Option("--embedder", metavar="NAME", help="A model that helps search: minilm or e5 (extras)."),
        ] = None,
        memory: Annotated[
            str | None, typer.Option("--memory", help="The memory of the store, where it is ./file.py:Class.")
        ] = None,
    ) -> None:
        from memassay.cli.output import say
        from memassay.core.errors import MissingExtra

        try:
            from memassay.knowledge import server
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
                raise
            raise MissingExtra("mcp", "mcp") from None
        names = None if tools is None else [name.strip() for name in tools.split(",")]
        listener = server.listen(host, port, allow_remote) if transport is Transport.HTTP else None
        desk = _desk(store, index, write, names, prefix, memory, embedder)
        try:
            if listener is None:
                if sys.stdin is not None and sys.stdin.isatty():
                    say("Waiting for a client on standard input; agents start this command by themselves.")
                server.serve_stdio(desk)
            else:
                address, bound = listener.getsockname()[:2]
                shown = f"[{address}]" if ":" in address else address
                say(f"Serving {store} at http://{shown}:{bound}{server.PATH}; Ctrl-C ends it.")
                server.serve_http(desk, listener)
        finally:
            desk.close()


def _desk(
    store: Path,
    index: Path | None,
    write: bool,
    names: list[str] | None,
    prefix: str,
    memory: str | None,
    embedder: str | None,
) -> Offers:
    from memassay.core.errors import UnknownName, UsageError
    from memassay.knowledge.places import pages_in, sealed_by
    from memassay.knowledge.store import KnowledgeStore
    from memassay.knowledge.tools import Desk
    from memassay.retrieval.embedders import embedder as model_named
    from memassay.running import desk

    built = desk.built_store(store)
    if built is None or sealed_by(built.place) == "markdown":
        if memory is not None:
            raise UsageError(f"{store} is served as pages, which need no --memory; leave it out.")
        model = None if embedder is None else model_named(embedder)
        opened = KnowledgeStore.open(pages_in(store, write=write), writable=write, index=index)
        try:
            if model is not None:
                opened.embed_with(model)
            return Desk(opened, write=write, names=names, prefix=prefix)
        except BaseException:
            opened.close()
            raise
    if write or index is not None or embedder is not None:
        option = "--write" if write else "--index" if index is not None else "--embedder"
        raise UsageError(f"{store} is the store of a run, which is only searched; leave {option} out.")
    for name in names or ():
        if name != desk.SEARCH.name:
            raise UnknownName("tool", name, [desk.SEARCH.name])
    return desk.open_desk(built, memory=memory, prefix=prefix)
