"""``memassay memory list|new|check``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memassay.cli import serve

if TYPE_CHECKING:
    from collections.abc import Callable

    from memassay.running.conformance import Outcome

app = typer.Typer(help="Memories: which there are, and a package for one of your own.", no_args_is_help=True)

_LIST_HELP = """Every memory that is installed, with its settings.

A setting is given as --set NAME.key=value, or under memories.NAME in an experiment.
"""
_NEW_HELP = """Write a small package with a working memory and its test, to start from.

    memassay memory new my-memory

    memassay memory new my-memory --to ../my-memory
"""


_CHECK_HELP = """Check that a memory keeps the contract that every run relies on.

One line per check: passed, FAILED with what was expected, what was seen and the fix, or not applicable
(a reason that holds for several checks is said once).
Exit code 1 if a check failed, 3 if the memory says that it cannot be measured here.

    memassay memory check lexical

    memassay memory check ./mymem.py:MyMemory --set MyMemory.top_k=50
"""


_TAKEN = frozenset({"oracle", "empty", "random", "shuffled-gold", "none", "memassay", "test", "tests"})
_MOST_LETTERS = 40


@app.command("list", help=_LIST_HELP)
def list_(json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    from memassay.cli.output import print_json
    from memassay.core import registry

    rows = [_about(name) for name in registry.memories.names()]
    if json_:
        print_json(rows)
        return
    for row in rows:
        if "error" in row:
            typer.echo(f"{row['name']}  {row['error']}")
            continue
        typer.echo(f"{row['name']}  ({row['origin']} {row['version']})\n  {row['summary']}")
        for setting in row["settings"]:
            default = "needed" if setting["required"] else f"{setting['default']!r}"
            typer.echo(f"    {setting['name']:<16} {default:<12} {setting['type']}")
    typer.echo("A file of your own works at once: --memory ./mymem.py:MyMemory")


@app.command(help=_NEW_HELP)
def new(
    name: Annotated[str, typer.Argument(help="Its name, such as my-memory.")],
    to: Annotated[Path | None, typer.Option("--to", help="The folder to write; ./NAME by default.")] = None,
) -> None:
    import shlex

    _check_name(name)
    folder = to if to is not None else Path(name)
    _write_package(name, folder)
    typer.echo(f"{folder}: a package with the memory {name!r} and its test. Next:")
    for command in (
        f"cd {shlex.quote(str(folder))}",
        'pip install -e ".[test]"',
        "python -m pytest",
        f"memassay run custom --sample --memory {name},lexical --out runs/first",
    ):
        typer.echo(f"  {command}")


@app.command(help=_CHECK_HELP)
def check(
    name: Annotated[str, typer.Argument(metavar="NAME|./file.py:Class", help="The memory.")],
    set_: Annotated[list[str] | None, typer.Option("--set", help="A setting, NAME.key=value; may be repeated.")] = None,
    seconds: Annotated[float, typer.Option(min=1.0, help="How long a check may take.")] = 60.0,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    from memassay.cli.output import emit, print_json
    from memassay.core.errors import EnvironmentProblem, UsageError
    from memassay.running.conformance import check_memory
    from memassay.running.experiment import apply_settings, memory_entries

    entries = memory_entries(name)
    apply_settings(entries, set_ or [])
    if len(entries) != 1:
        raise UsageError(f"Check one memory at a time: memassay memory check {next(iter(entries))}.")
    ((short, options),) = entries.items()
    told: set[str] = set()

    def show(outcome: Outcome) -> None:
        if not json_ and (outcome.status != "not applicable" or outcome.seen not in told):
            emit(str(outcome))
        told.add(outcome.seen)

    report = check_memory(options.pop("use"), options, seconds=seconds, on_done=show)
    if json_:
        print_json(report.as_json())
    if report.failed:
        raise typer.Exit(1)
    if report.reason is not None:
        raise EnvironmentProblem(f"{short} cannot be measured here: {report.reason}")


serve.register(app)


def _about(name: str) -> dict[str, Any]:
    """A memory as a row; a plug-in that cannot be imported is a row that says why, not the end of the list."""
    from memassay.core import registry
    from memassay.core.errors import MemassayError

    try:
        source = registry.memories.source(name)
        settings = _settings(registry.memories.get(name))
    except MemassayError as error:
        return {"name": name, "error": str(error)}
    return {
        "name": name,
        "origin": source.origin,
        "version": source.version,
        "summary": source.summary,
        "settings": settings,
    }


def _settings(factory: Callable[..., Any]) -> list[dict[str, Any]]:
    """Name, type and default of every setting, from the constructor's signature."""
    import inspect
    import typing

    target = factory.__init__ if inspect.isclass(factory) else factory
    try:
        hints = typing.get_type_hints(target)
    except (NameError, TypeError):
        hints = {}
    return [
        {
            "name": name,
            "type": _type_name(hints.get(name, Any)),
            "required": parameter.default is parameter.empty,
            "default": None if parameter.default is parameter.empty else _plain(parameter.default),
        }
        for name, parameter in inspect.signature(factory).parameters.items()
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]


def _type_name(hint: Any) -> str:
    """A type as a person writes it: ``int``, ``a|b`` for choices, ``str or none``."""
    import types
    import typing

    origin, given = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return "|".join(str(choice) for choice in given)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_type_name(part) for part in given)
    if hint in (None, type(None)):
        return "none"
    if hint is Any:
        return "any"
    return str(hint) if origin is not None else getattr(hint, "__name__", str(hint))


def _plain(value: Any) -> Any:
    """A default as JSON can say it."""
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


# -- a new package -------------------------------------------------------------------------------------------------


def _check_name(name: str) -> None:
    """Refuse a name that could not be a distribution, a Python package and an arm at once.

    Raises:
        UsageError: with a name that would do.
    """
    import importlib.util
    import keyword
    import re
    import sys
    import unicodedata

    from memassay.core import registry
    from memassay.core.errors import UsageError

    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name, re.ASCII) or len(name) > _MOST_LETTERS:
        plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
        better = re.sub(r"[^a-z0-9]+", "-", re.sub(r"^[^a-z]+", "", plain))[:_MOST_LETTERS].strip("-")
        raise UsageError(
            f"{name!r} cannot name a memory; take small letters, digits and single hyphens, at most {_MOST_LETTERS}: "
            f"memassay memory new {better or 'my-memory'}."
        )
    package = _package(name)
    if name in registry.memories.names():
        raise UsageError(f"There is a memory {name!r} already; take another name: memassay memory new my-{name}.")
    if (
        name in _TAKEN
        or keyword.iskeyword(package)
        or package in sys.stdlib_module_names
        or importlib.util.find_spec(package) is not None
    ):
        raise UsageError(
            f"{name!r} would stand in the way of something of the same name in Python or in memassay; "
            f"take another: memassay memory new my-{name}."
        )


def _package(name: str) -> str:
    return name.replace("-", "_")


def _write_package(name: str, folder: Path) -> None:
    """Write the package; the folder appears whole or not at all.

    Raises:
        UsageError: something is there already.
        EnvironmentProblem: the disk stands in the way.
    """
    import shutil

    from memassay.core.errors import EnvironmentProblem, UsageError

    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise UsageError(f"{folder} is there already and is not touched; choose another folder with --to.")
    working = folder.parent / f".{folder.name}.new"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(working, ignore_errors=True)
        for path, text in _files(name).items():
            target = working / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="\n")
        working.rename(folder)
    except OSError as error:
        shutil.rmtree(working, ignore_errors=True)
        reason = (error.strerror or str(error)).lower()
        raise EnvironmentProblem(f"{folder} cannot be written: {reason}; choose another folder with --to.") from error


def _files(name: str) -> dict[str, str]:
    """The files of a package, by relative path."""
    from importlib import resources

    from memassay.version import __version__

    package = _package(name)
    words = {
        "@NAME@": name,
        "@PACKAGE@": package,
        "@CLASS@": "".join(part.capitalize() for part in name.split("-")),
        "@VERSION@": __version__,
    }
    templates = {
        "pyproject.toml": "pyproject.toml.template",
        "README.md": "README.md.template",
        f"src/{package}/__init__.py": "memory.py.template",
        f"tests/test_{package}.py": "test_memory.py.template",
    }
    made = {}
    for path, template in templates.items():
        text = (resources.files("memassay") / "templates" / "plugin" / template).read_text(encoding="utf-8")
        for mark, word in words.items():
            text = text.replace(mark, word)
        made[path] = text
    return made
