"""What can be done to a part of a page: replaced, added to, taken out, its words changed; all else stays as it is.

What is put into a list gets the list's mark and indentation, what is put into a quote its sign; what is put between two
blocks is parted from them by blank lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from memassay.core.errors import UsageError
from memassay.knowledge.blocks import Part, Scene, marker
from memassay.knowledge.edits import Edit, cut

_MARKED = re.compile(r"([-*+]|[0-9]{1,9}[.)])(?:[ \t]|\Z)")
_HASHES = re.compile(r"#{1,6}(?:[ \t]|\Z)")
_OPENING = re.compile(r"((?:[-*+]|[0-9]{1,9}[.)])[ \t]*)(?:\[[ xX]\][ \t]+)?")

Operation = Callable[[Scene, Part, str], Edit]


def replace(scene: Scene, part: Part, content: str) -> Edit:
    """The part becomes ``content``; of an item, its own words, not the items inside it.

    A header and an item keep their mark where ``content`` brings none.
    """
    lines = _lines(content)
    start, end = part.span
    indent = _indent(scene, part)
    if part.kind == "item" and not _MARKED.match(lines[0]):
        opening = _opening(scene, part)
        start += len(opening[0])
        indent = _inner_indent(scene, part)
        if not opening[0].endswith((" ", "\t")):
            lines[0] = " " + lines[0]
    elif part.kind == "item":
        lines = _signed(lines, marker(scene.page.text, start))
    elif part.kind == "header" and len(lines) == 1 and not _HASHES.match(lines[0]):
        lines[0] = f"{'#' * part.level} {lines[0]}"
    return Edit(start, end, _joined(scene, lines, indent).removeprefix(indent))


def delete(scene: Scene, part: Part) -> Edit:
    """The part goes, with what belongs to it: an item with the blocks inside it, a section with all its text."""
    return cut(scene.page.text, part.extent, apart=part.kind != "item")


def insert_after(scene: Scene, part: Part, content: str) -> Edit:
    """``content`` follows the part and what belongs to it; beside an item it becomes an item."""
    lines = _lines(content)
    if part.kind == "item":
        mark = marker(scene.page.text, part.span[0])
        return _below(scene, part, _items(lines, _counted(mark, 1)), _indent(scene, part))
    return _below(scene, part, lines, _indent(scene, part), apart=True)


def insert_before(scene: Scene, part: Part, content: str) -> Edit:
    """``content`` stands before the part; beside an item it becomes an item.

    Raises:
        UsageError: the part begins in the same line as the item that holds it.
    """
    text, end = scene.page.text, scene.line_end
    at = text.rfind("\n", 0, part.span[0]) + 1
    if text[at : part.span[0]].strip():
        raise UsageError(
            f"Nothing can be inserted before {_named(part)} on {scene.page.key!r}, which shares its line with its item."
        )
    lines, indent = _lines(content), _indent(scene, part)
    if part.kind == "item":
        return Edit(at, at, _joined(scene, _items(lines, marker(text, part.span[0])), indent) + end)
    above = "" if at <= scene.page.body or not _line_before(text, at).strip() else end
    return Edit(at, at, f"{above}{_joined(scene, lines, indent)}{end}{end}")


def append(scene: Scene, part: Part, content: str) -> Edit:
    """``content`` becomes the last thing in the part.

    Under a header it follows the section's own text, before deeper sections; bullets that follow a list of the section
    go on with it. In a list it becomes an item, in an item an inner item (with a mark of its own) or a paragraph, in a
    quote a paragraph, in a table a row.

    Raises:
        UsageError: a part of this kind holds nothing.
    """
    lines = _lines(content)
    if part.kind in ("header", "section") and not part.depth:
        return _under(scene, scene.own(part.section) or part, lines)
    if part.kind == "list":
        return _continued(scene, part, lines)
    if part.kind == "item":
        inner = scene.inner(part)
        if not _MARKED.match(lines[0]):
            return _below(scene, part, lines, _inner_indent(scene, part), apart=True)
        if inner and inner[-1].kind == "list":
            return _continued(scene, inner[-1], lines)
        return _below(scene, part, lines, _inner_indent(scene, part))
    if part.kind == "quote":
        quoted = [">", *(f"> {line}" if line else ">" for line in lines)]
        return _below(scene, part, quoted, _indent(scene, part))
    if part.kind == "table":
        return _below(scene, part, lines, _indent(scene, part))
    raise UsageError(f"Nothing can be appended to {_named(part)} on {scene.page.key!r}; use $insertAfter or $replace.")


def append_to_page(scene: Scene, content: str) -> Edit:
    """``content`` becomes the last thing on the page."""
    outermost = [part for part, parent in zip(scene.parts, scene.parents, strict=True) if _loose(scene, part, parent)]
    if outermost:
        return _under(scene, outermost[-1], _lines(content))
    text, end = scene.page.text, scene.line_end
    above = "" if text.endswith("\n") or len(text) == scene.page.body == 0 else end
    return Edit(len(text), len(text), above + _joined(scene, _lines(content), "") + end)


def replace_text(scene: Scene, part: Part, old: str, new: str) -> list[Edit]:
    """Every place in the part's own characters where ``old`` is written, case included, says ``new``."""
    text = scene.page.text
    written = new.replace("\r\n", "\n").replace("\n", scene.line_end)
    found = []
    at = text.find(old, part.span[0], part.span[1])
    while at >= 0:
        found.append(Edit(at, at + len(old), written))
        at = text.find(old, at + len(old), part.span[1])
    return found


def _loose(scene: Scene, part: Part, parent: int) -> bool:
    """Whether a part that is no section stands in nothing but sections."""
    return part.kind != "section" and (parent < 0 or scene.parts[parent].kind == "section")


def _under(scene: Scene, last: Part, lines: list[str]) -> Edit:
    """Lines after the last thing of a section, going on with it if that is a list and they are items of its kind."""
    mark = _MARKED.match(lines[0])
    if last.kind == "list" and mark and mark[1][0].isdigit() == marker(scene.page.text, last.span[0])[0].isdigit():
        return _continued(scene, last, lines)
    return _below(scene, last, lines, _indent(scene, last), apart=True)


def _continued(scene: Scene, part: Part, lines: list[str]) -> Edit:
    items = [inner for inner in scene.inner(part) if inner.kind == "item"]
    mark = _counted(marker(scene.page.text, items[-1].span[0]), 1)
    return _below(scene, part, _items(lines, mark), _indent(scene, items[-1]))


def _below(scene: Scene, part: Part, lines: Sequence[str], indent: str, apart: bool = False) -> Edit:
    """Lines right below a part, or parted from what is above and below by blank lines."""
    text, end = scene.page.text, scene.line_end
    at = text.find("\n", part.extent[1]) + 1
    if not at:
        return Edit(len(text), len(text), (end + end if apart else end) + _joined(scene, lines, indent))
    above = end if apart else ""
    below = end if apart and at < len(text) and _line_at(text, at).strip() else ""
    return Edit(at, at, f"{above}{_joined(scene, lines, indent)}{end}{below}")


def _lines(content: str) -> list[str]:
    lines = content.replace("\r\n", "\n").strip("\n").rstrip().split("\n")
    if not any(lines):
        raise UsageError("The content is empty; use $delete to take something out.")
    return lines


def _joined(scene: Scene, lines: Sequence[str], indent: str) -> str:
    return scene.line_end.join(indent + line if line.strip() else line for line in lines)


def _items(lines: list[str], mark: str) -> list[str]:
    """The lines as items of a list whose next mark this is."""
    if _MARKED.match(lines[0]):
        return _signed(lines, mark)
    return [f"{mark} {lines[0]}", *(" " * (len(mark) + 1) + line if line else line for line in lines[1:])]


def _signed(lines: list[str], mark: str) -> list[str]:
    """Bullets become the bullets of a list, numbers get its sign; lines with another kind of mark stay."""
    signed = []
    for line in lines:
        found = _MARKED.match(line)
        if found and found[1][0].isdigit() == mark[0].isdigit():
            line = found[1][:-1] + mark[-1] + line[found.end(1) :]
        signed.append(line)
    return signed


def _counted(mark: str, step: int) -> str:
    return f"{int(mark[:-1]) + step}{mark[-1]}" if mark[0].isdigit() else mark


def _opening(scene: Scene, part: Part) -> re.Match[str]:
    found = _OPENING.match(scene.page.text, *part.span)
    assert found is not None, "an item begins with its mark"
    return found


def _indent(scene: Scene, part: Part) -> str:
    """What stands before a part in its first line, marks as blanks: lines with it stay beside the part."""
    text = scene.page.text
    return re.sub(r"\S", " ", text[text.rfind("\n", 0, part.span[0]) + 1 : part.span[0]])


def _inner_indent(scene: Scene, item: Part) -> str:
    opening = _opening(scene, item)[1]
    return _indent(scene, item) + " " * (len(opening) if opening[-1] in " \t" else len(opening) + 1)


def _line_at(text: str, at: int) -> str:
    end = text.find("\n", at)
    return text[at : len(text) if end < 0 else end]


def _line_before(text: str, at: int) -> str:
    return text[text.rfind("\n", 0, at - 1) + 1 : at] if at else ""


def _named(part: Part) -> str:
    article = "an" if part.kind in ("item", "html") else "a"
    return f"{article} {part.kind}"
