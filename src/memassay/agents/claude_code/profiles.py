"""The two ways in which Claude Code is started; a comparison never mixes them.

``bare`` is the cleanest: Claude Code adds one fixed line to the words of a request and nothing else. ``scoped`` is
for what ``bare`` cannot do: to read a folder (without ``Grep`` and ``Glob`` a folder cannot be searched, and ``--bare``
has neither), and to use a subscription. It adds a note on the machine and today's date to every request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memassay.core.errors import UsageError, suggestion

API_KEY, AUTH_TOKEN, SUBSCRIPTION = "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"

FILE_TOOLS = ("Read", "Grep", "Glob")
SHELL_TOOLS = ("Bash", "Edit", "Write")


@dataclass(frozen=True)
class Profile:
    """A way to start Claude Code.

    Attributes:
        name: ``bare`` or ``scoped``.
        flags: what it adds to the command.
        environment: the variables that it adds.
        accesses: what an arm may give an agent that runs so.
        credentials: the variables that Claude Code takes a credential from when it runs so.
    """

    name: str
    flags: tuple[str, ...]
    environment: Mapping[str, str]
    accesses: frozenset[str]
    credentials: tuple[str, ...]

    def check(self, access: frozenset[str]) -> None:
        """Refuse what it cannot do, before anything is spent.

        Raises:
            UsageError: an arm gives a folder and the profile has no tools to search one.
        """
        if not access <= self.accesses:
            raise UsageError(
                f"Claude Code in the profile {self.name!r} has no Grep and no Glob, so it cannot search a folder: run "
                "every arm of the comparison with agent.profile=scoped."
            )


_PROFILES = {
    "bare": Profile(
        name="bare",
        flags=("--bare",),
        environment={},
        accesses=frozenset({"dossier", "tools"}),
        credentials=(API_KEY, AUTH_TOKEN),
    ),
    "scoped": Profile(
        name="scoped",
        flags=("--setting-sources", ""),
        environment={
            # Else what one cell remembers stands in the request of another.
            "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
            # Else the tools of a memory are a name to be searched for, not in the request.
            "ENABLE_TOOL_SEARCH": "false",
            # Else @file in a question brings the file's words along, and every request counts the tokens left. What a
            # tool server has to say of itself stays out too, as it does under --bare.
            "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
        },
        accesses=frozenset({"dossier", "tools", "folder"}),
        credentials=(API_KEY, AUTH_TOKEN, SUBSCRIPTION),
    ),
}


def profile_of(name: str) -> Profile:
    """The profile of that name.

    Raises:
        UsageError: there is none.
    """
    if name not in _PROFILES:
        raise UsageError(f"Claude Code has no profile {name!r}.{suggestion(name, _PROFILES)}")
    return _PROFILES[name]
