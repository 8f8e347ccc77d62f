"""Which programs and packages a run would use."""

from __future__ import annotations

import importlib.metadata
import platform
import re
from collections.abc import Mapping

from memassay.agents.claude_code import binary
from memassay.core.digest import digest_file
from memassay.core.errors import EnvironmentProblem, MemassayError, UsageError
from memassay.core.peers import PEERS, peer
from memassay.memories.iwe import program
from memassay.running.calls import describe
from memassay.running.doctor.finding import Finding
from memassay.running.doctor.places import shortened
from memassay.version import __version__

_SECTION = "versions"
_PACKAGE = "memassay"
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")


def versions(claude: str | None = None) -> list[Finding]:
    """memassay, Python, the packages that it needs, its extras, and the programs of others that it drives.

    Args:
        claude: the program that the agent's settings name, or None: the one that is found.
    """
    return [
        Finding(_SECTION, _PACKAGE, "ok", __version__),
        Finding(_SECTION, "python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
        *_packages(requirements()),
        *(_program(name, claude if name == "claude" else None) for name in PEERS),
    ]


def requirements() -> dict[str, list[str]]:
    """The packages that memassay needs under "", and those of each extra under its name."""
    needs: dict[str, list[str]] = {"": []}
    for line in importlib.metadata.requires(_PACKAGE) or ():
        name, extra = _NAME.match(line), _EXTRA.search(line)
        if name is not None:
            needs.setdefault(extra.group(1) if extra else "", []).append(name.group())
    return needs


def _packages(needs: Mapping[str, list[str]]) -> list[Finding]:
    found: list[Finding] = []
    for extra, names in sorted(needs.items()):
        there = {name: _version(name) for name in sorted(names, key=str.casefold)}
        detail = ", ".join(f"{name} {version}" for name, version in there.items() if version)
        lacking = [name for name, version in there.items() if not version]
        if not extra:
            found.append(Finding(_SECTION, "packages", "ok", detail))
            if lacking:
                words = f"not installed: {', '.join(lacking)}"
                found.append(Finding(_SECTION, "packages", "failed", words, f"pip install {_PACKAGE} again"))
        elif lacking:
            words = f"not installed: {', '.join(lacking)}"
            found.append(Finding(_SECTION, f"extra {extra}", "note", words, f"pip install '{_PACKAGE}[{extra}]'"))
        else:
            found.append(Finding(_SECTION, f"extra {extra}", "ok", detail))
    return found


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _program(name: str, named: str | None) -> Finding:
    """A program of others: its version, where it is, the digest of its bytes."""
    about = PEERS[name]
    get_one = f"make peers, or name the program in {about.variable}"
    try:
        path = binary.find(named) if name == "claude" else peer(name)
        if path is None:
            return Finding(_SECTION, name, "note", "not installed", get_one)
        if name == "claude":
            looked = binary.inspect(path)
            version, digest = looked.version, looked.sha256
        else:
            version, digest = program.version(name), digest_file(path)
    except (UsageError, binary.NotAsPinned) as error:
        return Finding(_SECTION, name, "failed", str(error))
    except EnvironmentProblem as error:
        return Finding(_SECTION, name, "note", str(error), get_one)
    except (MemassayError, OSError) as error:
        return Finding(_SECTION, name, "failed", f"it does not run: {describe(error)}", get_one)
    detail = f"{version} at {shortened(path)}, sha256 {digest}"
    if version == about.version:
        return Finding(_SECTION, name, "ok", detail)
    return Finding(_SECTION, name, "note", detail, f"the tests are run with {about.version}, which make peers installs")
