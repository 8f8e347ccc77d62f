"""``memassay data list|fetch|verify``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Data sets: what there is, fetching it, and what a file really holds.", no_args_is_help=True)
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("list", help="Every data set of the catalogue: licence, size, and whether it is here.")
def list_(json_: Json = False) -> None:
    from memassay.cli.output import print_json
    from memassay.core.errors import DataError
    from memassay.data.catalogue import CATALOGUE
    from memassay.data.places import locate

    rows = []
    for entry in CATALOGUE.values():
        try:
            here: str | None = str(locate(entry.name, None))
        except DataError:
            here = None
        rows.append({"name": entry.name, "bytes": entry.size, "licence": entry.licence, "here": here})
    if json_:
        print_json(rows)
        return
    for row in rows:
        typer.echo(f"{row['name']:<14} {row['bytes']:>10,} bytes  {row['licence']}  {row['here'] or 'not fetched'}")


@app.command(help="Download a data set, or take a copy with --from; it is checked before it is kept.")
def fetch(
    name: Annotated[str, typer.Argument(help="A name of: memassay data list.")],
    source: Annotated[Path | None, typer.Option("--from", help="A local copy to take instead of downloading.")] = None,
    to: Annotated[Path | None, typer.Option("--to", help="The folder to put it in; ./data or $MEMASSAY_DATA.")] = None,
    url: Annotated[str | None, typer.Option("--url", help="Another address of the same bytes (a mirror).")] = None,
) -> None:
    from memassay.data.catalogue import entry
    from memassay.data.fetch import fetch as bring
    from memassay.data.places import data_folder

    found = entry(name)
    path = bring(found, to or data_folder(), source=source, url=url)
    typer.echo(f"{path}: {found.size:,} bytes, checksum right. Licence: {found.licence}. {found.attribution}")


@app.command(help="Count what a file really holds, its known defects included.")
def verify(
    name: Annotated[str, typer.Argument(help="A name of: memassay data list.")],
    data: Annotated[Path | None, typer.Option("--data", help="The file, if it is not in a data folder.")] = None,
    json_: Json = False,
) -> None:
    from memassay.cli.output import print_json
    from memassay.core import registry
    from memassay.data.catalogue import entry
    from memassay.data.integrity import sha256_of
    from memassay.data.places import locate

    found = entry(name)
    path = locate(name, data)
    checksum = sha256_of(path) == found.sha256
    count = getattr(registry.suites.get(found.suite), "verify", None)
    facts = count(name, path) if count else {}
    if json_:
        print_json({"file": path.name, "checksum": checksum, "facts": {k: f.model_dump() for k, f in facts.items()}})
    else:
        typer.echo(f"{path.name}: checksum {'right' if checksum else 'NOT that of the catalogue'}")
        for fact in facts.values():
            names = f": {', '.join(fact.names)}" if fact.names else ""
            typer.echo(f"{fact.count:>7,}  {fact.label}{names}")
    if not checksum:
        raise typer.Exit(1)
