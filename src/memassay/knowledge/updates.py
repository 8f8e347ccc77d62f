"""The operators of an update: fields set and unset, blocks replaced, added and taken out, each under its own guard."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memassay.core.errors import DataError, UsageError, suggestion
from memassay.knowledge import blockedits, frontmatter
from memassay.knowledge.blocks import Part, Predicate, Scene, compiled
from memassay.knowledge.edits import Edit, applied
from memassay.knowledge.links import Resolver
from memassay.knowledge.pages import Page, parse

_FIELDS = ("$set", "$unset")
_BLOCKS = ("$replace", "$replaceText", "$insertBefore", "$insertAfter", "$append", "$delete")
_BARE: Mapping[str, tuple[str, ...]] = {
    "$replace": ("content",),
    "$replaceText": ("from", "to"),
    "$insertBefore": ("content",),
    "$insertAfter": ("content",),
    "$append": ("content",),
    "$delete": (),
}
_WHOLE_PAGE = ("$append", "$replaceText")


@dataclass(frozen=True, slots=True)
class Expect:
    """How many things must be met for anything to be written."""

    least: int
    most: int | None

    @classmethod
    def read(cls, given: object, where: str) -> Expect:
        """``N`` or ``{min, max}``.

        Raises:
            UsageError: it is neither.
        """
        if isinstance(given, int) and not isinstance(given, bool) and given >= 0:
            return cls(given, given)
        if isinstance(given, Mapping) and given and set(given) <= {"min", "max"}:
            ends = [given.get("min", 0), given.get("max")]
            if all(end is None or (isinstance(end, int) and not isinstance(end, bool) and end >= 0) for end in ends):
                return cls(ends[0] or 0, ends[1])
        raise UsageError(f"{where} is a whole number or {{min, max}}, not {given!r}.")

    def check(self, met: int, what: str) -> None:
        """Refuse another number.

        Raises:
            UsageError: the number is not the expected one.
        """
        if met < self.least or (self.most is not None and met > self.most):
            raise UsageError(f"{what}: {met} found where {self} was expected; nothing was written.")

    def __str__(self) -> str:
        if self.least == self.most:
            return str(self.least)
        return f"at least {self.least}" if self.most is None else f"{self.least} to {self.most}"


@dataclass(frozen=True, slots=True)
class Step:
    """One operator: from a page to its new text and the number of things it met there."""

    name: str
    run: Callable[[Page, Resolver], tuple[str, int]]
    expect: Expect | None = None


def steps(given: object, strict: bool) -> list[Step]:
    """The operators of an update, in the order in which they are written and carried out.

    Raises:
        UsageError: an operator or argument means nothing or is missing; with ``strict``, a block operator has no guard.
    """
    if not isinstance(given, Mapping) or not given:
        raise UsageError("update is a mapping of operators, such as {$set: {status: done}}.")
    found: list[Step] = []
    for name, value in given.items():
        where = f"update.{name}"
        if name == "$set":
            found.append(_setting(value, where))
        elif name == "$unset":
            found.append(_unsetting(value, where))
        elif name in _BLOCKS:
            listed = value if isinstance(value, list) else [value]
            places = [f"{where}[{place}]" for place in range(len(listed))] if isinstance(value, list) else [where]
            found += [_block(str(name), one, place, strict) for one, place in zip(listed, places, strict=True)]
        elif name == "expect":
            raise UsageError(
                "expect stands beside filter and update (a number of pages) or inside an operator on parts of a page "
                "(a number of parts), not inside update."
            )
        else:
            raise UsageError(f"update knows no {name!r}.{suggestion(str(name), [*_FIELDS, *_BLOCKS])}")
    return found


def carried_out(page: Page, every: Sequence[Step], resolver: Resolver, met: list[int]) -> str:
    """The text of a page after all steps, one after the other; ``met`` gains what each of them met.

    Raises:
        UsageError, DataError: a step cannot be carried out on this page.
    """
    text = page.text
    for place, step in enumerate(every):
        if text != page.text:
            page = parse(page.key, text)
        text, count = step.run(page, resolver)
        met[place] += count
    return text


def _setting(value: object, where: str) -> Step:
    if not isinstance(value, Mapping) or not value:
        raise UsageError(f"{where} is a mapping of fields and values.")
    names = [_name(name, where) for name in value]
    settings = dict(zip(names, value.values(), strict=True))
    return Step("$set", lambda page, resolver: (frontmatter.changed(page.text, settings), len(settings)))


def _unsetting(value: object, where: str) -> Step:
    listed = [value] if isinstance(value, str) else list(value) if isinstance(value, Mapping | list) else []
    if not listed:
        raise UsageError(f"{where} is a list of fields.")
    names = [_name(name, where) for name in listed]
    return Step("$unset", lambda page, resolver: (frontmatter.changed(page.text, {}, names), len(names)))


def _name(name: object, where: str) -> str:
    if not isinstance(name, str) or not all(name.split(".")) or name.startswith("$"):
        raise UsageError(
            f"{where}: {name!r} is no name of a field; a name has letters, with dots to reach into mappings."
        )
    return name


def _block(name: str, given: object, where: str, strict: bool) -> Step:
    if not isinstance(given, Mapping):
        raise UsageError(f"{where} is a mapping of a block predicate and its arguments, not {given!r}.")
    arguments = {key: value for key, value in given.items() if not str(key).startswith("$")}
    needed = _BARE[name]
    for key in arguments:
        if key not in (*needed, "expect"):
            raise UsageError(f"{where} knows no {key!r}.{suggestion(str(key), [*needed, 'expect'])}")
    for key in needed:
        if not isinstance(arguments.get(key), str):
            raise UsageError(f"{where} needs {key}, a text.")
    wanted = {key: value for key, value in given.items() if str(key).startswith("$")}
    if not wanted and name not in _WHOLE_PAGE:
        raise UsageError(f"{where} needs a block predicate, such as $item or $header.")
    if "expect" not in arguments and strict:
        raise UsageError(
            f"{where} needs expect, the number of blocks that it may change (for $replaceText, of places)."
        )
    expect = Expect.read(arguments["expect"], f"{where}.expect") if "expect" in arguments else None
    predicate = compiled(wanted, where) if wanted else None
    return Step(where.removeprefix("update."), _Blocks(name, predicate, arguments).run, expect)


@dataclass(frozen=True, slots=True)
class _Blocks:
    """A block operator."""

    name: str
    predicate: Predicate | None
    arguments: Mapping[str, Any]

    def run(self, page: Page, resolver: Resolver) -> tuple[str, int]:
        scene = Scene(page, resolver)
        parts = None if self.predicate is None else scene.find(self.predicate)
        if parts == []:
            return page.text, 0
        edits = self._edits(scene, parts)
        try:
            text = applied(page.text, edits)
        except ValueError:
            raise UsageError(
                f"{self.name} finds parts inside one another on {page.key!r}; name one of them with a closer predicate."
            ) from None
        front, body, _ = frontmatter.read(text)
        if front != page.front or (body != page.body and page.body < len(page.text)):
            raise DataError(f"{self.name} would be read as front matter on {page.key!r}; use $set for its fields.")
        return text, len(set(edits)) if parts is None or self.name == "$replaceText" else len(parts)

    def _edits(self, scene: Scene, parts: list[Part] | None) -> list[Edit]:
        arguments = self.arguments
        if self.name == "$replaceText":
            if not arguments["from"]:
                raise UsageError("$replaceText needs from, the text to be replaced, with at least one character.")
            return [
                edit
                for part in ([_everything(scene.page)] if parts is None else parts)
                for edit in blockedits.replace_text(scene, part, arguments["from"], arguments["to"])
            ]
        if parts is None:
            return [blockedits.append_to_page(scene, arguments["content"])]
        if self.name == "$delete":
            return [blockedits.delete(scene, part) for part in _outermost(parts)]
        operation: blockedits.Operation = _OPERATIONS[self.name]
        return [operation(scene, part, arguments["content"]) for part in parts]


_OPERATIONS: Mapping[str, blockedits.Operation] = {
    "$replace": blockedits.replace,
    "$insertBefore": blockedits.insert_before,
    "$insertAfter": blockedits.insert_after,
    "$append": blockedits.append,
}


def _everything(page: Page) -> Part:
    span = (page.body, len(page.text))
    return Part("section", "", span, span, 0)


def _outermost(parts: Sequence[Part]) -> list[Part]:
    kept: list[Part] = []
    for part in parts:
        if not kept or part.extent[1] > kept[-1].extent[1]:
            kept.append(part)
    return kept
