"""A page taken apart with the standard library's parser."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "link", "input", "source", "col"}


class Page(HTMLParser):
    """Every element with its attributes and text; ``unbalanced`` holds tags that were closed out of order."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: dict[int, list[str]] = {}
        self.parents: dict[int, list[int]] = {}
        self.unbalanced: list[str] = []
        self._open: list[tuple[str, int]] = []
        self.feed(html)
        self.close()
        self.unbalanced += [tag for tag, _ in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._add(tag, attrs)
        if tag not in VOID:
            self._open.append((tag, len(self.elements) - 1))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._add(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1][0] == tag:
            self._open.pop()
        else:
            self.unbalanced.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        for _, index in self._open:
            self.texts.setdefault(index, []).append(data)

    def _add(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {k: v or "" for k, v in attrs}))
        self.parents[len(self.elements) - 1] = [i for _, i in self._open]

    def find(self, tag: str, class_: str | None = None, within: int | None = None) -> list[int]:
        """Indexes of the elements of a tag, with a class, inside another element."""
        return [
            i
            for i, (name, attrs) in enumerate(self.elements)
            if name == tag
            and (class_ is None or class_ in attrs.get("class", "").split())
            and (within is None or within in self.parents[i])
        ]

    def text(self, index: int) -> str:
        return " ".join("".join(self.texts.get(index, [])).split())

    def by_id(self, name: str) -> int:
        return next(i for i, (_, attrs) in enumerate(self.elements) if attrs.get("id") == name)

    def rows(self, table: int) -> list[list[str]]:
        """A table as text; value and interval are joined by a blank."""
        return [[self._cell(cell) for cell in self.cells(row)] for row in self.find("tr", within=table)]

    def cells(self, row: int) -> list[int]:
        return [i for i, (tag, _) in enumerate(self.elements) if tag in ("td", "th") and row in self.parents[i]]

    def _cell(self, cell: int) -> str:
        spans = self.find("span", within=cell)
        return " ".join(self.text(i) for i in spans) if spans else self.text(cell)
