"""Trees and squashed pages."""

from __future__ import annotations

import json

import pytest
from knowledge_texts import shelf

from memassay.core.errors import UsageError
from memassay.knowledge.library import Shelf
from memassay.knowledge.outlines import squash, tree
from memassay.knowledge.pages import parse


def shape(items: list[dict[str, object]]) -> object:
    return {item["key"]: shape(item["children"]) for item in items}  # type: ignore[arg-type]


LIBRARY = shelf(
    index="# Index\n\n[b](b)\n\n[a](a)\n\n[gone](gone)\n",
    a="# A\n\n[c](c)\n\n- [d](d)\n",
    b="# B\n\n[c](c)\n",
    c="# C\n\n[d](d)\n",
    d="# D\n",
    notitle="[a](a)\n",
    x="# X\n\n[y](y)\n",
    y="# Y\n\n[x](x)\n",
)


def test_a_tree_has_the_pages_that_nothing_includes_as_roots() -> None:
    assert tree(LIBRARY)[0]["title"] == "Index"
    assert shape(tree(LIBRARY)) == {"index": {"b": {"c": {"d": {}}}, "a": {"c": {}}}}
    assert shape(tree(LIBRARY, depth=1)) == {"index": {"b": {}, "a": {}}}
    assert shape(tree(LIBRARY, depth=0)) == shape(tree(LIBRARY))


def test_a_tree_can_have_any_root_and_ends_in_cycles() -> None:
    assert shape(tree(LIBRARY, ["x", "notitle"], depth=0)) == {
        "x": {"y": {"x": {}}},
        "notitle": {"a": {"c": {"d": {}}}},
    }
    with pytest.raises(UsageError, match="There is no page 'zz'"):
        tree(LIBRARY, ["zz"])


def test_the_deepest_tree_is_json() -> None:
    chain = Shelf({f"{n:04}": f"# {n}\n\n[next]({n + 1:04})\n" for n in range(1_000)})
    json.dumps(tree(chain, depth=0))
    assert squash(chain, "0000", 0).count("\n") > 300


def test_inclusions_give_way_to_pages_with_deeper_headers() -> None:
    library = shelf(
        a="---\nx: 1\n---\n# A\n\nbefore\n\n## Part\n\n[b](sub/b)\n\nafter [b](sub/b)\n",
        sub_b="---\ntitle: no\n---\n\n# B\n\ntext [c](c) ![i](i.png)\n\nUnder\nlined\n---\n\n"
        "[c](c.md)\n\n[back](../a)\n",
        sub_c="### C\n\n[[sub/b]]\n\n    # code\n\n- # inside\n",
    )
    assert squash(library, "a") == (
        "# A\n\nbefore\n\n## Part\n\n"
        "### B\n\ntext [c](sub/c) ![i](i.png)\n\n#### Under lined\n\n"
        "###### C\n\n[[sub/b]]\n\n    # code\n\n- # inside\n\n[back](a)\n\nafter [b](sub/b)\n"
    )
    assert squash(library, "a", 1).count("[c](sub/c.md)") == 1
    assert squash(library, "sub/c", 0).startswith("### C\n\n#### B\n")


def test_links_with_definitions_are_written_out_where_the_definition_stays_behind() -> None:
    library = shelf(a="[b](s/b)\n", s_b="see [it][1] and [c]\n\n[1]: c.md\n[c]: c.md\n", s_c="x")
    assert squash(library, "a").startswith("see [it](s/c.md) and [c](s/c.md)\n")


def test_every_page_is_written_out_once_whatever_the_links() -> None:
    doubling = Shelf({f"{n}": f"# {n}\n\n[x]({n + 1})\n\n[y]({n + 1})\n" for n in range(60)})
    text = squash(doubling, "0", 0)
    assert [block.text for block in parse("k", text).blocks if block.kind == "header"] == [str(n) for n in range(60)]
    assert squash(shelf(a="[a](a)\n"), "a", 0) == "[a](a)\n"
    with pytest.raises(UsageError, match="There is no page 'b'"):
        squash(doubling, "b")
