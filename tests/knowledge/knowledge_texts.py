"""Pages for tests: Markdown as people write it, and as nobody should."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping

from hypothesis import strategies as st

from memassay.knowledge.library import Shelf
from memassay.knowledge.pages import Page

LINES = st.sampled_from(
    [
        "# One", "## Two *em* `code`", "### Three", "Title", "=====", "---", "***", "",
        "words and [a](b.md) more", "[alone](x/y)", "[[wiki]]", "[[a/wiki|shown]]", "![image](i.png)", "**[bold](b)**",
        "- item", "  - inner [l](../l.md)", "    - deep", "* star", "1. first", "2) other", "- [ ] task", "-",
        "- - both",
        "> quote", "> - quoted item [q](q)", ">> deeper", "```py", "```", "    indented", "\tcode", "~~~",
        "| a | b |", "|---|---|", "| [c](c) | [[d\\|e]] |", "<div>", "</div>", "<!-- note", "-->",
        "inline <b>html</b><br>x",
        "[r]: /target 'title'", "[label][r] and [r]", "[^1]: note", "text[^1]", "hard  ", "break\\", "é 漢字 🙂",
        "a\x00b",
        "[e](<a b.md> \"t\")", "[p](%2e%2e/x%20y#f)", "[h](http://x.y)", "<mailto:a@b.c>", "title: x", "# ", "#",
        "a\rb",
        "  continued", "   [near](n)", "&amp; \\* _x_ ~~y~~", "\ud800", "\u2028", "[x](y", "[[", "]]", "](",
        "[a]: <",
    ]
)  # fmt: skip
NOISE = st.text(alphabet=st.sampled_from(list("#-*>`[]()|!\\<&~_:=+1. \t\n\r\x00aé\u2028\ud800")), max_size=40)
ENDS = st.sampled_from(["\n", "\n", "\n\n", "\r\n", "\r"])
HEADS = st.sampled_from(
    [
        "",
        "",
        "",
        "---\ntitle: T\n# note\ntags: [a, b]\n---\n",
        "---\na: b: c\n---\n",
        "---\n\n",
        "---\n- a\n---\n",
        "\ufeff",
    ]
)
TEXTS = st.builds(
    lambda head, lines: head + "".join(line + end for line, end in lines),
    HEADS,
    st.lists(st.tuples(st.one_of(LINES, LINES, LINES, NOISE), ENDS), max_size=25),
)


def check_page(page: Page) -> None:
    """What is true of every page, whatever it says."""
    text = page.text
    assert 0 <= page.body <= len(text)
    at = page.body
    pieces = [text[:at]]
    for block in page.blocks:
        start, end = block.span
        assert at <= start <= end <= len(text), block
        pieces += [text[at:start], text[start:end]]
        at = end
        section = page.sections[block.section]
        assert section.span[0] <= start and end <= section.span[1], (block, section)
        assert (block.kind == "header") == (block.level > 0)
        if block.kind == "item":
            assert re.match(r"[-*+]|[0-9]{1,9}[.)]", text[start:end]), block
        if block.kind != "code":
            assert text[start:end].strip(" \t\r\n") == text[start:end]
    assert "".join([*pieces, text[at:]]) == text
    assert page.sections[0].span == (page.body, len(text)) and page.sections[0].parent == -1
    for section in page.sections[1:]:
        around = page.sections[section.parent]
        assert around.level < section.level
        assert around.span[0] <= section.span[0] <= section.span[1] <= around.span[1]
    refs = {block.span for block in page.blocks if block.kind == "ref"}
    assert refs == {link.span for link in page.links if link.kind == "inclusion"}
    last = page.body
    for link in page.links:
        assert last <= link.span[0] < link.span[1] <= len(text)
        last = link.span[1]
        for start, end in (link.aim, link.words):
            assert (start, end) == (-1, -1) or page.body <= start <= end <= len(text)
        if link.aim != (-1, -1) and "\ud800" not in link.target + text[slice(*link.aim)]:
            written = text[slice(*link.aim)]
            assert link.target == (written if link.wiki else unescaped(written)), link


def unescaped(written: str) -> str:
    """A target without Markdown's own escapes."""
    return html.unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", written))


def shelf(**texts: str) -> Shelf:
    """Pages in memory; ``_`` in a name stands for ``/``."""
    return Shelf({name.replace("_", "/"): text for name, text in texts.items()})


def texts_of(library: Shelf) -> Mapping[str, str]:
    """The texts of pages in memory."""
    pages = (library.page(key) for key in library.keys())  # noqa: SIM118
    return {page.key: page.text for page in pages if page is not None}
