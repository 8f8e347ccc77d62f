"""Protocols from a folder of YAML files, one protocol a file.

The YAML is read as the published files mean it: plain words as in YAML 1.2 (``1e+06`` is a number, ``yes``, ``12:30``
and dates are text), no aliases and no key twice.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any, ClassVar

import yaml

from memassay.core.errors import DataError
from memassay.suites.lifecycle.protocol import Protocol, protocol_of

MOST_BYTES = 262_144
MOST_FILES = 10_000
_MOST_DEPTH = 20
_PLAIN = (
    ("null", r"(?:~|null|Null|NULL|)\Z", ["~", "n", "N", ""]),
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)\Z", list("tTfF")),
    ("int", r"[-+]?[0-9]+\Z", list("-+0123456789")),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z", list("-+.0123456789")),
    ("float", r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z", list("-+.")),
)


def load_protocols(folder: Path, *, original: bool = False) -> tuple[Protocol, ...]:
    """The protocols of a folder's ``*.yaml`` files, in the order of the file names.

    Args:
        folder: the folder.
        original: it holds the first published set, whose pages have no summary.

    Raises:
        DataError: no such folder, no protocol in it, a file that is none, or an id twice; one sentence with the file.
    """
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder; give the folder with the protocol files (*.yaml).")
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise DataError(f"{folder} cannot be read ({error.strerror}); give a folder that can.") from None
    for name in names:
        if name.lower().endswith((".yml", ".yaml")) and not name.endswith(".yaml"):
            raise DataError(f"{folder / name} would be left out; protocol files end in .yaml: rename it.")
    files = [folder / name for name in names if name.endswith(".yaml") and not (folder / name).is_dir()]
    if not files:
        raise DataError(f"{folder} has no protocol; each is a file that ends in .yaml.")
    if len(files) > MOST_FILES:
        raise DataError(f"{folder} has {len(files):,} files; divide it into folders of at most {MOST_FILES:,}.")
    seen: dict[str, Path] = {}
    protocols = []
    for path in files:
        protocol = load_protocol(path, original=original)
        if protocol.id in seen:
            raise DataError(f"{path}: id {protocol.id!r} is that of {seen[protocol.id].name} too; give it another.")
        seen[protocol.id] = path
        protocols.append(protocol)
    return tuple(protocols)


def load_protocol(path: Path, *, original: bool = False) -> Protocol:
    """The protocol of one file; see :func:`load_protocols`.

    Raises:
        DataError: it is none; one sentence with the file, and the line or the field.
    """
    try:
        with path.open("rb") as handle:
            raw = handle.read(MOST_BYTES + 1)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}).") from None
    if len(raw) > MOST_BYTES:
        raise DataError(f"{path} has more than {MOST_BYTES:,} bytes, which is no protocol.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 (byte {error.start:,}); save it as UTF-8.") from None
    return protocol_of(_values(text, path), str(path), original=original)


def _values(text: str, path: Path) -> object:
    try:
        _check_shape(text, path)
        return yaml.load(text, _Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" in line {mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
        raise DataError(f"{path} is not YAML{line}: {problem}.") from None
    except ValueError as error:  # an integer of thousands of digits
        raise DataError(f"{path} holds a value that cannot be read: {error}.") from None


def _check_shape(text: str, path: Path) -> None:
    """Refuse what could grow while it is read, or nest deeper than the stack, before anything is built."""
    depth = documents = 0
    for event in yaml.parse(text, _Loader):
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise DataError(f"{path}: line {line} uses an anchor or alias, which is refused; write the value out.")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _MOST_DEPTH:
                raise DataError(f"{path}: line {line} nests deeper than {_MOST_DEPTH} levels, which no protocol does.")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise DataError(f"{path}: line {line} begins a second document; a file holds one protocol.")


_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc]
    """PyYAML's safe loader with the plain words of YAML 1.2, which refuses a key twice."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                problem = f"the key {key.value!r} stands there twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(key.value)
        built: dict[Hashable, Any] = super().construct_mapping(node, deep)
        return built


for _tag, _form, _first in _PLAIN:
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_form), _first)
