"""What the acceptance tests of the knowledge graph share: pages in a folder, and what is read back from it."""

from __future__ import annotations

from pathlib import Path

import bpe_openai
from acceptance_tools import tree as every_file

ENCODING = bpe_openai.get_encoding("o200k_base")

TEXTS = (
    "# Alpha\n\nwords about boilers and [b](b.md)\n",
    "# Beta\n\n[a](a.md)\n\n[[c]]\n\ntext with [[dir/a|shown]] valve\n",
    "---\ntitle: Gamma\nstatus: open\n---\n"
    "Body [up](../a.md#part) and [root](/dir/c.md)\n\n## Part\n\nharbour lantern\n",
    "no title, [gone](nowhere.md), [x](<ü x.md>), [y](%C3%BC%20x.md)\n",
    "# Delta\r\n\r\n- [d](sub/d.md)\r\n- copper\r\n",
    "",
    "---\nbroken: [\n---\n\n# Epsilon\n\nriver [self](b)\n",
)


def tokens(text: str) -> int:
    return len(ENCODING.encode(text))


def write(root: Path, pages: dict[str, str | bytes]) -> Path:
    """A folder with these pages, byte for byte."""
    for key, text in pages.items():
        path = root / f"{key}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return root


def tree(folder: Path) -> dict[str, bytes]:
    """The pages of a folder, without the index beside them."""
    return {name: data for name, data in every_file(folder).items() if ".memassay" not in name.split("/")}


def plain(path: Path) -> str:
    """A page as the documentation says that it is read: no byte-order mark, LF where all line ends were CRLF."""
    text = path.read_bytes().decode("utf-8", "replace").removeprefix("\ufeff")
    lone = text.replace("\r\n", "")
    return text.replace("\r\n", "\n") if "\n" not in lone and "\r" not in lone else text
