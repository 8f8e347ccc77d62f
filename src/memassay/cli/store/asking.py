"""How commands of ``memassay store`` ask a folder of notes, and print what it says."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memassay.cli.store.options import Format, Selection, TableFormat

if TYPE_CHECKING:
    from memassay.knowledge.answers import Reply
    from memassay.knowledge.store import KnowledgeStore


def opened(folder: Path, index: Path | None, *, write: bool = False) -> KnowledgeStore:
    """The notes of a folder, or the pages of a store of a run."""
    from memassay.knowledge.places import pages_in
    from memassay.knowledge.store import KnowledgeStore

    return KnowledgeStore.open(pages_in(folder, write=write), writable=write, index=index)


def ask(
    tool: str,
    folder: Path,
    index: Path | None,
    asked: Mapping[str, Any],
    *,
    chosen: Selection | None = None,
    write: bool = False,
) -> Reply:
    """What a tool answers; the pages that it keeps to are ``chosen``."""
    from memassay.knowledge.tools import TOOLS

    condition = None if chosen is None else chosen.condition()
    arguments = TOOLS[tool].takes.read(tool, asked if condition is None else {**asked, "filter": condition})
    with opened(folder, index, write=write) as store:
        check_keys(store, () if chosen is None else chosen.named)
        return answer(tool, store, arguments)


def answer(tool: str, store: KnowledgeStore, arguments: Any) -> Reply:
    """What a tool answers on an open store; if that is nothing, how many pages there are is said."""
    from memassay.cli.output import say
    from memassay.knowledge.answers import Answers
    from memassay.knowledge.tools import TOOLS

    reply = TOOLS[tool].run(Answers(store), arguments)
    if reply.value == [] and reply.note is None:
        pages = store.snapshot.pages
        say(f"Nothing found in {pages:,} page{'' if pages == 1 else 's'}.")
    return reply


def check_keys(store: KnowledgeStore, keys: Iterable[str]) -> None:
    """Refuse the name of a page that is not there and that nothing links to.

    Raises:
        UsageError: there is no such page.
    """
    from memassay.knowledge.library import no_page

    for key in map(store.key, keys):
        if key not in store.library and not store.library.graph.into(key):
            raise no_page(store.library, key)


def show(reply: Reply, text: Callable[[Any], str], json_: bool, shape: Format | TableFormat = Format.MARKDOWN) -> None:
    """Print what a tool said, in the shape that was asked for.

    Args:
        reply: what it said.
        text: writes it for a person.
        json_: ``--json`` was given.
        shape: what ``--format`` was given, ``markdown`` if nothing.
    """
    from memassay.cli import notes
    from memassay.cli.output import emit, print_json, say
    from memassay.reporting.text import clean

    value = reply.value
    if json_ or shape is Format.JSON or shape is TableFormat.JSON:
        print_json(value)
    elif value != []:
        writers: dict[str, Callable[[Any], str]] = {"keys": notes.keys, "yaml": notes.as_yaml, "csv": notes.table}
        # A note is untrusted text: it must not give orders to the terminal.
        emit(clean(writers.get(shape.value, text)(value)))
    if reply.note is not None:
        say(_left_out(reply.note))


def check_shape(json_: bool, shape: Format | TableFormat) -> None:
    """Refuse two shapes at once.

    Raises:
        UsageError: ``--json`` and another format were given.
    """
    from memassay.core.errors import UsageError

    if json_ and shape.value not in ("markdown", "json"):
        raise UsageError(f"--json and --format {shape} say different things; give one of them.")


def whole_page(given: str | None) -> str:
    """The text that ``--content`` gives, or standard input; so also for ``-``."""
    return standard_input() if given is None or given == "-" else given


def standard_input() -> str:
    """All of standard input.

    Raises:
        DataError: it is not UTF-8.
    """
    from memassay.core.errors import DataError

    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError:
        raise DataError("Standard input is not UTF-8; convert it first.") from None


def _left_out(note: Mapping[str, Any]) -> str:
    """What is missing, with what a tool calls ``max_tokens`` under the name that it has here."""
    clipped = f", {note['clipped']} of them cut" if note["clipped"] else ""
    hint = str(note["hint"]).replace("max_tokens", "--max-tokens")
    return f"{note['emitted']} of {note['matched']} are shown{clipped}. {hint}"
