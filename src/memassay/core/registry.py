"""Everything that has a name: memories, agents, judges, suites, found through entry points and loaded on first use.

A name may also be a file of the user's own, ``./mymem.py:MyMemory``; its source is part of the run's identity.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import inspect
import json
import math
import sys
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memassay.core.digest import digest_file, digest_of
from memassay.core.errors import MemassayError, UnknownName, UsageError, suggestion


@dataclass(frozen=True, slots=True)
class Source:
    """Where a registered thing comes from.

    Attributes:
        origin: the distribution, or the file's name.
        version: the distribution's, or the file's digest.
        code: digest of a distribution's code, since an editable install changes without a new version.
        summary: first line of the docstring.
    """

    name: str
    origin: str
    version: str
    code: str = ""
    summary: str = ""

    def __str__(self) -> str:
        return f"{self.origin} {self.version} {self.code}".strip()

    @classmethod
    def parse(cls, name: str, text: str) -> Source:
        """A source from what ``str`` made of it."""
        origin, version, code = [*text.rsplit(" ", 1), ""] if "sha256:" in text else text.rsplit(" ", 2)
        return cls(name, origin, version, code)


class Registry:
    """Names to factories (classes or functions), one registry per kind.

    Args:
        kind: what it holds, in the singular, for messages.
        group: the entry-point group.
    """

    def __init__(self, kind: str, group: str) -> None:
        self.kind, self.group = kind, group
        self._loaded: dict[str, Callable[..., Any]] = {}
        self._points: dict[str, importlib.metadata.EntryPoint] | None = None

    def names(self) -> list[str]:
        """Every registered name, sorted."""
        return sorted(self._entry_points())

    def get(self, name: str) -> Callable[..., Any]:
        """The factory of that name, imported on first use.

        Raises:
            UnknownName: nothing is registered under it.
            UsageError: the file or the plug-in cannot be imported, with the reason.
        """
        if name not in self._loaded:
            self._loaded[name] = self._from_file(name) if is_file(name) else self._from_entry_point(name)
        return self._loaded[name]

    def source(self, name: str) -> Source:
        """Distribution and version, or file and digest, and the first line of the docstring."""
        factory = self.get(name)
        summary = (inspect.getdoc(factory) or "").partition("\n")[0]
        if is_file(name):
            path = _split(name)[0]
            return Source(name, path.name, f"sha256:{digest_file(path)}", "", summary)
        dist = self._entry_points()[name].dist
        code = _code_digest(factory.__module__)
        return Source(name, dist.name if dist else "?", dist.version if dist else "?", code, summary)

    def _entry_points(self) -> dict[str, importlib.metadata.EntryPoint]:
        if self._points is None:
            self._points = {p.name: p for p in importlib.metadata.entry_points(group=self.group)}
        return self._points

    def _from_entry_point(self, name: str) -> Callable[..., Any]:
        points = self._entry_points()
        if name not in points:
            hint = "" if "." not in name else " A file of your own is written ./file.py:ClassName."
            error = UnknownName(self.kind, name, points)
            raise UnknownName(self.kind, name, points) if not hint else UsageError(f"{error}{hint}")
        try:
            return typing.cast("Callable[..., Any]", points[name].load())
        except MemassayError:
            raise
        except (Exception, SystemExit) as error:
            raise UsageError(
                f"The {self.kind} {name!r} ({points[name].value}) cannot be imported: {type(error).__name__}: {error}. "
                "Reinstall the package that provides it."
            ) from error

    def _from_file(self, name: str) -> Callable[..., Any]:
        path, attribute = _split(name)
        if not path.is_file():
            raise UsageError(f"There is no file {str(path)!r} to load the {self.kind} {attribute!r} from.")
        # One module per content and place, so that two files of one base name do not overwrite each other.
        module_name = f"memassay_file_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]}"
        spec = importlib.util.spec_from_file_location(module_name, path)
        if spec is None or spec.loader is None:
            raise UsageError(f"{str(path)!r} is not a Python file; write ./file.py:ClassName.")
        module = importlib.util.module_from_spec(spec)
        sys.modules[module_name] = module
        try:
            spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:
            raise UsageError(f"{path.name} cannot be imported: {type(error).__name__}: {error}.") from error
        factory = getattr(module, attribute, None)
        if not callable(factory):
            known = [n for n, v in vars(module).items() if inspect.isclass(v) and v.__module__ == module_name]
            raise UsageError(f"{path.name} has no class {attribute!r}.{suggestion(attribute, known)}")
        return typing.cast("Callable[..., Any]", factory)


# The packages of memassay that a memory, or an agent, is made of: a change of a report is no other memory.
MADE_OF = ("core", "knowledge", "memories", "retrieval")
FORMS_MADE_OF = ("core", "knowledge")
AGENTS_MADE_OF = ("agents", "core", "models", "retrieval")


def _code_digest(module: str) -> str:
    """Twelve digits over the source a registered thing is made of: an editable install changes without a version."""
    package = module.partition(".")[0]
    file = getattr(sys.modules.get(package), "__file__", None)
    if file is None:
        file = getattr(sys.modules.get(module), "__file__", None)
        if file is None:
            return "unknown"
        file = Path(file).with_name("__init__.py")  # a namespace is shared; the folder of the module is not
    place = Path(file)
    if place.name != "__init__.py":
        return digest_file(place)[:12]
    made_of: tuple[str, ...] = AGENTS_MADE_OF if module.startswith("memassay.agents.") else MADE_OF
    if module.startswith("memassay.memories.platform"):  # the one memory that is another package's client
        made_of = (*MADE_OF, "platform")
    if module.startswith("memassay.suites."):  # a form that only one suite needs
        made_of = (*FORMS_MADE_OF, "/".join(module.split(".")[1:3]))
    roots = [place.parent / name for name in made_of] if package == "memassay" else [place.parent]
    files = sorted(path for root in roots for path in root.rglob("*.py"))
    return digest_of([[f.relative_to(place.parent).as_posix(), digest_file(f)] for f in files])[:12]


def is_file(name: str) -> bool:
    """Whether a name means a class in a file: ``path.py:ClassName``."""
    path, _, attribute = name.rpartition(":")
    return path.endswith(".py") and attribute.isidentifier()


def with_access(use: str) -> tuple[str, str]:
    """``MEMORY/ACCESS`` as two parts, the second "" where there is none; the memory may be a file's class.

    A path has slashes of its own: only what follows the class is an access.
    """
    head, slash, tail = use.rpartition("/")
    if is_file(use):
        return use, ""
    if slash and is_file(head):
        return head, tail
    name, _, access = use.partition("/")
    return name, access


def _split(name: str) -> tuple[Path, str]:
    path, _, attribute = name.rpartition(":")
    return Path(path), attribute


def bind_options(factory: Callable[..., Any], options: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Settings checked against a constructor's signature, with its defaults filled in.

    Args:
        factory: the class or function; its keyword arguments are the settings, their annotations the types.
        options: what the user gave; text is converted (``"10"`` to 10) where the annotation asks for it, and a number
            or a truth value becomes its text where the setting is one.
        where: how to name the thing in a message (``memory 'lexical'``).

    Returns:
        Every setting with its value, as JSON-able values.

    Raises:
        UsageError: an unknown setting (with "did you mean"), or a value of the wrong type.
    """
    from pydantic import ConfigDict, TypeAdapter, ValidationError

    parameters = {
        name: parameter
        for name, parameter in inspect.signature(factory).parameters.items()
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    }
    for name in options:
        if name not in parameters:
            raise UsageError(f"The {where} has no setting {name!r}.{suggestion(name, parameters)}")
    target = factory.__init__ if inspect.isclass(factory) else factory
    try:
        hints = typing.get_type_hints(target)
    except (NameError, TypeError):
        hints = {}
    bound: dict[str, Any] = {}
    for name, parameter in parameters.items():
        if name not in options:
            if parameter.default is parameter.empty:
                raise UsageError(f"The {where} needs the setting {name!r}; give it with --set or in the experiment.")
            bound[name] = parameter.default
            continue
        adapter = TypeAdapter(hints.get(name, Any), config=ConfigDict(arbitrary_types_allowed=True))
        value = options[name]
        try:
            bound[name] = adapter.validate_python(value)
        except ValidationError as error:
            if isinstance(value, (bool, int, float)):
                with contextlib.suppress(ValidationError):
                    bound[name] = adapter.validate_python(json.dumps(value))
                    continue
            reason = error.errors()[0]["msg"]
            raise UsageError(f"Setting {name!r} of the {where}: {reason} (got {value!r}).") from error
        if isinstance(bound[name], float) and not math.isfinite(bound[name]):
            raise UsageError(f"Setting {name!r} of the {where}: give a finite number (got {value!r}).")
    return bound


memories = Registry("memory", "memassay.memories")
agents = Registry("agent", "memassay.agents")
judges = Registry("judge", "memassay.judges")
suites = Registry("suite", "memassay.suites")
