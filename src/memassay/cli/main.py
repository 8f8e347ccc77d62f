"""``memassay``: the command and how it ends.

Exit codes: 0 ok, 1 a gate or a check failed, 2 usage, 3 environment, 4 no decision, 130 interrupted. Results go to
standard output, progress and messages to standard error. Nothing heavy is imported before a command runs, so that
``--help`` answers in 0.3 s.
"""

from __future__ import annotations

import os
import sys

import typer

from memassay.cli import compare, data, demo, memory, run, runs, show
from memassay.core.errors import MemassayError
from memassay.version import __version__

app = typer.Typer(
    name="memassay",
    help="Which memory should my agent use? Build every memory from the same documents, ask the same questions, "
    "and read off which is better, with honest error bars.",
    epilog="Start with: memassay demo --out demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"memassay {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Which memory should my agent use?"""


demo.register(app)
run.register(app)
show.register(app)
compare.register(app)
runs.register(app)
app.add_typer(data.app, name="data")
app.add_typer(memory.app, name="memory")


def main() -> None:
    """Run the command; a user's mistake is one sentence, never a traceback."""
    _survive_any_locale()
    try:
        app()
    except MemassayError as error:
        code = error.exit_code
        message = str(error)
    except KeyboardInterrupt:
        code, message = 130, "Interrupted. What is recorded is safe; run the same command again to go on."
    except BrokenPipeError:
        # The reader of a pipe has left (`memassay … | head`): nothing more to say to anyone.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code, message = 0, ""
    except MemoryError:
        code, message = 3, "The machine ran out of memory; use fewer --workers or a smaller --limit."
    else:
        return
    if message:
        sys.stderr.write(f"memassay: {message}\n")
    sys.stderr.flush()
    # Not sys.exit: a plug-in's thread that never returns must not keep the process.
    os._exit(_flushed(code))


def _flushed(code: int) -> int:
    try:
        sys.stdout.flush()
    except OSError:
        return code or 3
    return code


def _survive_any_locale() -> None:
    """Print what cannot be encoded as an escape instead of dying on it (LANG=C, old terminals)."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
