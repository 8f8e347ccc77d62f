"""``memassay store``: a folder of notes on the command line, with the same functions that an agent's tools call."""

from __future__ import annotations

import typer

from memassay.cli.store import editing, overviews, reading

_HELP = """A folder of Markdown notes: search, read, check and edit it.

A page is a .md file; its key is its path without .md, case included. Reading never writes into the folder.

    memassay store search "who repairs the boiler" --dir notes

    memassay store retrieve people/ada --expand-references 1 --dir notes

    memassay store find --filter 'status: draft' --dir notes

    memassay memory serve --store notes
"""

app = typer.Typer(help=_HELP, no_args_is_help=True)
reading.register(app)
overviews.register(app)
editing.register(app)
