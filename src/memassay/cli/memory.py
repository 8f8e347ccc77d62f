"""``memassay memory list|new``."""

from __future__ import annotations

import typer

app = typer.Typer(help="Memories: what is registered, and a plug-in of your own.", no_args_is_help=True)


@app.command("list", help="Every registered memory.")
def list_() -> None:
    from memassay.core import registry

    for name in registry.memories.names():
        typer.echo(name)


@app.callback()
def root() -> None:
    """Memories."""
