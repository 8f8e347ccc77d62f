"""``memassay platform serve|keys|snapshot|restore|bridge``."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from memassay.platform.service import Platform

CONTROL = "MEMASSAY_PLATFORM_CONTROL_KEY"
KEY = "MEMASSAY_PLATFORM_KEY"

app = typer.Typer(
    help="A memory with a review queue, to run and to use: tools for agents, REST, a page for the reviewer.",
    no_args_is_help=True,
)

_SERVE_HELP = """Serve a memory to agents and reviewers until Ctrl-C.

    memassay platform serve --data memory --port 8600

    memassay platform serve --data memory --warehouse sales.sqlite --set gate=false

    memassay platform serve --data memory --stdio

The first start prints the key of an admin, once. Agents connect to the address that is printed, the reviewer opens it
with /review. With --stdio one agent of this machine is served, as the holder of the key in MEMASSAY_PLATFORM_KEY, or
as the user "local".
"""
_KEYS_HELP = """Give somebody a key, or list who has one.

    memassay platform keys --data memory --add ada --role reviewer

    memassay platform keys --data memory

A key is shown once. Adding the same name again makes a new key, and the old one stops working.
"""
_SNAPSHOT_HELP = """Write the whole memory into one file, also while it is served.

    memassay platform snapshot --data memory backup.sqlite
"""
_RESTORE_HELP = """Make the memory what it was at a snapshot, keys too.

    memassay platform restore --data memory backup.sqlite
"""
_BRIDGE_HELP = """Stand between an agent and a platform: a tool server on standard input and output.

    memassay platform bridge --url http://127.0.0.1:8600 --key-env ADA_KEY --log calls.jsonl

The agent sees the tools without session_id and purpose, which the bridge gives by itself; where a session has
ended it opens another. With --budget, calls past that number are refused.
"""

Data = Annotated[Path, typer.Option("--data", help="The folder of the memory; made where it is not there.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
File = Annotated[Path, typer.Argument(help="The file of the snapshot.")]


class Role(StrEnum):
    """What somebody may do."""

    AGENT = "agent"
    REVIEWER = "reviewer"
    ADMIN = "admin"


@app.command(help=_SERVE_HELP)
def serve(
    data: Data,
    host: Annotated[str, typer.Option("--host", help="The address.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 takes a free one.")] = 0,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Let other machines in; keys cross the network unencrypted.")
    ] = False,
    stdio: Annotated[bool, typer.Option("--stdio", help="Serve one agent on standard input and output.")] = False,
    warehouse: Annotated[Path | None, typer.Option("--warehouse", help="An SQLite file that agents may query.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A knob, such as gate=false; may be repeated.")
    ] = None,
    keys: Annotated[Path | None, typer.Option("--keys", help="A JSON file of keys and their holders.")] = None,
    json_: Json = False,
) -> None:
    from memassay.cli.output import emit, say

    with _extra():
        from memassay.platform import serve as serving
        from memassay.platform import server
    from memassay.platform.shapes import Identity
    from memassay.platform.workspaces import Workspaces, ensure_admin

    control = os.environ.pop(CONTROL, "") or None
    knobs = serving.settings_of(settings or ())
    with contextlib.ExitStack() as stack:
        listener = None
        if not stdio:
            listener = stack.enter_context(serving.listen(host, port, allow_remote))
        spaces = stack.enter_context(contextlib.closing(Workspaces(data, knobs, warehouse)))
        if keys is not None:
            serving.add_holders(spaces.main, keys)
        if listener is None:
            key = os.environ.get(KEY)
            local = Identity(user_id="local", email="local@localhost", name="local")
            server.serve_stdio(spaces.main, spaces.main.authenticate(key) if key else local)
            return
        admin = ensure_admin(spaces.main)
        url = serving.address_of(listener)
        if json_:
            emit(json.dumps({"url": url, "admin_key": admin}))  # one line: whoever started this reads on
        else:
            emit(url)
            if admin is not None:
                say(f"The admin's key, shown this once: {admin}")
            say(f"Reviewers: {url}/review. Keys for agents: memassay platform keys --data {data} --add NAME.")
        serving.serve_http(spaces, listener, control)


@app.command(help=_KEYS_HELP)
def keys(
    data: Data,
    add: Annotated[str | None, typer.Option("--add", metavar="NAME", help="Give NAME a new key.")] = None,
    role: Annotated[Role, typer.Option("--role", help="What NAME may do.")] = Role.AGENT,
    email: Annotated[str, typer.Option("--email", help="Address of NAME; without it NAME@localhost.")] = "",
    json_: Json = False,
) -> None:
    from memassay.cli.output import emit, print_json, say
    from memassay.platform.workspaces import add_person

    with _opened(data) as platform:
        if add is not None:
            key = add_person(platform, add, (role.value,), email)
            if json_:
                print_json({"name": add, "key": key})
            else:
                emit(key)
                say(f"The key of {add}, shown this once.")
            return
        people = [person.model_dump(mode="json") for person in platform.identities()]
    if json_:
        print_json(people)
        return
    for person in people:
        emit(f"{person['name']}  {person['email']}  {', '.join(person['roles'])}")


@app.command(help=_SNAPSHOT_HELP)
def snapshot(data: Data, file: File) -> None:
    from memassay.platform.database import FILE, Database

    _there(data)
    with contextlib.closing(Database(data / FILE)) as database:  # no more than that: it writes nothing there
        database.snapshot(file)


@app.command(help=_RESTORE_HELP)
def restore(data: Data, file: File) -> None:
    with _opened(data) as platform:
        platform.restore(file)


@app.command(help=_BRIDGE_HELP)
def bridge(
    url: Annotated[str, typer.Option("--url", help="Where the platform's tools are served.")],
    key_env: Annotated[
        str, typer.Option("--key-env", metavar="NAME", help="The environment variable that holds the key.")
    ] = KEY,
    log: Annotated[Path | None, typer.Option("--log", help="Append every call to this file.")] = None,
    identity: Annotated[str, typer.Option("--identity", help="How the log names the caller.")] = "",
    budget: Annotated[int | None, typer.Option("--budget", min=1, help="The most calls that are made.")] = None,
) -> None:
    with _extra():
        from memassay.platform.bridge import run_bridge

    run_bridge(url, key_env, log, identity, budget)


@contextlib.contextmanager
def _extra() -> Iterator[None]:
    """Name the extra where a package of it is missing."""
    from memassay.core.errors import MissingExtra

    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "starlette", "uvicorn", "anyio"):
            raise
        raise MissingExtra("mcp", "platform") from None


@contextlib.contextmanager
def _opened(data: Path) -> Iterator[Platform]:
    """The memory of a folder that is there, for work that needs no embedder."""
    from memassay.platform.service import Platform
    from memassay.platform.settings import Settings

    _there(data)
    with Platform(data, Settings(embedder="none")) as platform:
        yield platform


def _there(data: Path) -> None:
    from memassay.core.errors import UsageError
    from memassay.platform.database import FILE

    if not (data / FILE).is_file():
        raise UsageError(f"{data} holds no memory yet; memassay platform serve --data {data} makes one.")
