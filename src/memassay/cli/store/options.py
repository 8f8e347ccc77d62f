"""What commands of ``memassay store`` share on the command line: where the notes are, which pages, how it is shown."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

Dir = Annotated[Path, typer.Option("--dir", "-d", help="The folder of notes, or of a store of a run.")]
Index = Annotated[Path | None, typer.Option("--index", help="Keep the index in this folder, outside of the notes.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Fuzzy = Annotated[
    str | None,
    typer.Option("--fuzzy", metavar="LETTERS", help="Only keys and titles that hold these letters in this order."),
]
Limit = Annotated[int, typer.Option("--limit", "-l", min=0, help="The most pages; 0 has no limit.")]
Tokens = Annotated[int, typer.Option("--max-tokens", min=0, help="The most tokens; 0 has no limit.")]
PageTokens = Annotated[int, typer.Option("--max-document-tokens", min=0, help="The most tokens of one page's content.")]
Project = Annotated[
    str | None, typer.Option("--project", help="The fields to show: key,title,date or {name: source} in YAML.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would change and change nothing.")]
Key = Annotated[str, typer.Argument(help="The page's key, such as people/ada.")]
Content = Annotated[str | None, typer.Option("--content", "-c", help="The whole page; standard input if not given.")]
Embedder = Annotated[
    str | None,
    typer.Option("--embedder", metavar="NAME", help="A model that helps to find passages: minilm or e5 (extras)."),
]


class Format(StrEnum):
    """How pages are shown."""

    MARKDOWN = "markdown"
    KEYS = "keys"
    JSON = "json"
    YAML = "yaml"


class TableFormat(StrEnum):
    """How figures are shown."""

    MARKDOWN = "markdown"
    CSV = "csv"
    JSON = "json"
    YAML = "yaml"


ShownAs = Annotated[Format, typer.Option("--format", "-f", help="How to show it.")]

_PANEL = "Which pages"


def _pages(*names: str, says: str, near: bool = True) -> Any:
    return typer.Option(*names, metavar="KEY[:DEPTH]" if near else "KEY", help=says, rich_help_panel=_PANEL)


@dataclass(frozen=True)
class Selection:
    """The pages that a command keeps to: those that meet all of it. :func:`selecting` makes options of the fields."""

    filter: Annotated[
        str | None,
        typer.Option("--filter", metavar="YAML", help="A filter as in query: 'status: draft'.", rich_help_panel=_PANEL),
    ] = None
    only: Annotated[list[str] | None, _pages("--key", "-k", says="This page, or one of these.", near=False)] = None
    includes: Annotated[list[str] | None, _pages("--includes", says="Pages that include KEY.")] = None
    included_by: Annotated[list[str] | None, _pages("--included-by", "--in", says="Pages that KEY includes.")] = None
    references: Annotated[list[str] | None, _pages("--references", says="Pages that refer to KEY.")] = None
    referenced_by: Annotated[list[str] | None, _pages("--referenced-by", says="Pages that KEY refers to.")] = None
    in_any: Annotated[list[str] | None, _pages("--in-any", says="Pages that one of these includes.")] = None
    not_in: Annotated[list[str] | None, _pages("--not-in", says="No pages that KEY includes.")] = None
    max_depth: Annotated[
        int,
        typer.Option(
            "--max-depth",
            min=0,
            max=255,
            help="Inclusions that a KEY without DEPTH follows; 0 to the end.",
            rich_help_panel=_PANEL,
        ),
    ] = 1
    max_distance: Annotated[
        int,
        typer.Option(
            "--max-distance",
            min=0,
            max=255,
            help="References that a KEY without DEPTH follows; 0 to the end.",
            rich_help_panel=_PANEL,
        ),
    ] = 1
    roots: Annotated[bool, typer.Option("--roots", help="Pages that no page includes.", rich_help_panel=_PANEL)] = False

    def and_keys(self, keys: list[str]) -> Selection:
        """The same with keys that were given as arguments."""
        return replace(self, only=[*(self.only or ()), *keys]) if keys else self

    @property
    def only_key(self) -> str | None:
        """The key, if it is one page that is meant and nothing else is said."""
        if not self.only or len(self.only) > 1 or self != Selection(only=self.only):
            return None
        return self.only[0]

    @property
    def named(self) -> list[str]:
        """The keys that were given, without depths."""
        near = (self.includes, self.included_by, self.references, self.referenced_by, self.in_any, self.not_in)
        return [*(self.only or ()), *(_near(one, 0)[0] for given in near for one in given or ())]

    def condition(self) -> dict[str, Any] | None:
        """All of it as one filter of the query language, or None if nothing was said.

        Raises:
            UsageError: the filter is empty or no mapping.
        """
        from memassay.core.errors import UsageError
        from memassay.knowledge.conditions import mapping_in

        parts: list[dict[str, Any]] = []
        if self.filter is not None:
            if not self.filter.strip():
                raise UsageError("--filter is empty; '{}' means every page.")
            parts.append(mapping_in(self.filter, "--filter"))
        if self.only:
            parts.append({"$key": {"$in": self.only}})
        for name, given, depth in (
            ("$includes", self.includes, self.max_depth),
            ("$includedBy", self.included_by, self.max_depth),
            ("$references", self.references, self.max_distance),
            ("$referencedBy", self.referenced_by, self.max_distance),
        ):
            parts += [_related(name, one, depth) for one in given or ()]
        for name, given in (("$or", self.in_any), ("$nor", self.not_in)):
            if given:
                parts.append({name: [_related("$includedBy", one, self.max_depth) for one in given]})
        if self.roots:
            parts.append({"$includedBy": {"$size": 0}})
        return None if not parts else parts[0] if len(parts) == 1 else {"$and": parts}


def selecting(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of the dataclasses among its arguments, such as :class:`Selection`, and it them."""
    own = inspect.signature(command, eval_str=True).parameters
    groups: dict[str, Any] = {name: each.annotation for name, each in own.items() if is_dataclass(each.annotation)}

    @functools.wraps(command)
    def selected(**given: Any) -> None:
        made = {name: of(**{field.name: given.pop(field.name) for field in fields(of)}) for name, of in groups.items()}
        command(**made, **given)

    parameters = [parameter for name, parameter in own.items() if name not in groups]
    for of in groups.values():
        parameters += inspect.signature(of, eval_str=True).parameters.values()
    every = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    selected.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    return selected


def _related(name: str, given: str, depth: int) -> dict[str, Any]:
    key, levels = _near(given, depth)
    return {name: {"match": key, "maxDepth": levels}}


def _near(given: str, depth: int) -> tuple[str, int]:
    key, mark, levels = given.rpartition(":")
    return (key, int(levels)) if mark and levels.isdecimal() and levels.isascii() else (given, depth)
