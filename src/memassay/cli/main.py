"""``memassay``: the command and how it ends.

Exit codes: 0 ok, 1 a gate or a check failed, 2 usage, 3 environment, 4 no decision, 130 interrupted. Results go to
standard output, progress and messages to standard error. Nothing heavy is imported before a command runs, so that
``--help`` answers in 0.3 s.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
from pathlib import Path

import typer

from memassay.cli import (
    association,
    audit,
    canary,
    choose,
    classify,
    compare,
    data,
    demo,
    doctor,
    memory,
    platform,
    run,
    runs,
    show,
    store,
)
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
association.register(app)
canary.register(app)
choose.register(app)
audit.register(app)
classify.register(app)
doctor.register(app)
app.add_typer(data.app, name="data")
app.add_typer(memory.app, name="memory")
app.add_typer(platform.app, name="platform")
app.add_typer(store.app, name="store")


INTERRUPTED = 130
_INTERRUPTED = "Interrupted. What is recorded is safe; run the same command again to go on."


def main() -> None:
    """Run the command; a user's mistake is one sentence, never a traceback; 1 means a failed gate or check."""
    _survive_any_locale()
    _end_as_by_hand()
    sys.unraisablehook = _quiet_about_half_made_loops
    message = ""
    try:
        code = int(app(standalone_mode=False) or 0)
        if code == INTERRUPTED:  # typer turns Ctrl-C into this
            message = _INTERRUPTED
    except MemassayError as error:
        code, message = error.exit_code, str(error)
    except typer.TyperException as error:
        # The command line's own complaints (an unknown option, a missing argument) draw themselves.
        error.show()  # type: ignore[attr-defined]
        code = 2
    except SystemExit:
        # No command of ours exits so; typer does when the reader of a pipe has left (`memassay … | head`).
        code = 0
    except (KeyboardInterrupt, typer.Abort):
        code, message = INTERRUPTED, _INTERRUPTED
    except MemoryError:
        code, message = 3, "The machine ran out of memory; use fewer --workers or a smaller --limit."
    except OSError as error:
        code, message = 3, f"A file or stream cannot be used: {error.strerror or error}. See: memassay --help"
    except Exception:
        traceback.print_exc()
        code, message = 3, "This is a bug of memassay or of a plug-in, not yours; please report the lines above."
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        pass  # the reader has left (`memassay … | head`), and the verdict stays what it was
    except OSError as error:
        code, message = 3, f"Standard output cannot be written: {error.strerror}."
    if message:
        from memassay.reporting.text import clean

        message = clean(message)  # a provider's words, or a file's name, may hold a terminal's commands
        with contextlib.suppress(OSError):
            sys.stderr.write(f"memassay: {message}\n")
            sys.stderr.flush()
    # Not sys.exit: a plug-in's thread that never returns must not keep the process, nor a full pipe end it with 120.
    os._exit(code)


def _end_as_by_hand() -> None:
    """Being told to end is like Ctrl-C: whatever was started ends too, and no folder of a cell stays behind."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # `nohup` has told the process not to mind; that is left as it is.
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))


def _quiet_about_half_made_loops(unraisable: sys.UnraisableHookArgs) -> None:
    """Ctrl-C in the moment in which an event loop is made: Python complains of what is left of it, and is not to."""
    what = getattr(unraisable.object, "__qualname__", "")
    if what not in ("BaseEventLoop.__del__", "_build_and_drive"):
        sys.__unraisablehook__(unraisable)


def _survive_any_locale() -> None:
    """Print what cannot be encoded as an escape instead of dying on it (LANG=C, old terminals, closed streams)."""
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
