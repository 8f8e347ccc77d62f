"""Front matter: YAML 1.2 values, edits that touch their own lines only, and refusals in one sentence."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memassay.core.errors import DataError
from memassay.knowledge import frontmatter
from memassay.knowledge.frontmatter import changed, read, shown

HEAD = """---
# kept comment
title:   Ada   # her name
tags: # several
- one
- "two"

author:
  name: |
    Ada
    Lovelace

  born: {year: 1815}
# before the last
last:
---
body
"""


def test_values_are_those_of_yaml_1_2() -> None:
    values, body, problem = read(
        "---\na: yes\nb: on\nc: true\nd: 2024-05-21\ne: 007\nf: 0x1f\ng: 1.5\nh: ~\ni:\nj: '1'\nk: .inf\nl: 1_000\n"
        "m: !!str 5\nn: [1, null, no]\n2024-01-01: key\n---\nx"
    )
    assert problem is None and body == len("---") + 1 + values_length()
    assert values == {
        "a": "yes", "b": "on", "c": True, "d": "2024-05-21", "e": 7, "f": 31, "g": 1.5, "h": None, "i": None, "j": "1",
        "k": ".inf", "l": "1_000", "m": "5", "n": [1, None, "no"], "2024-01-01": "key",
    }  # fmt: skip


def values_length() -> int:
    return len(
        "a: yes\nb: on\nc: true\nd: 2024-05-21\ne: 007\nf: 0x1f\ng: 1.5\nh: ~\ni:\nj: '1'\nk: .inf\nl: 1_000\n"
        "m: !!str 5\nn: [1, null, no]\n2024-01-01: key\n---\n"
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "---\na: b: c\n---\n",
            "The front matter is not valid YAML (line 2): mapping values are not allowed in this context.",
        ),
        ("---\na: *x\n---\n", "The front matter uses YAML aliases (*name), which are not read; write the value out."),
        ("---\na: 1\na: 2\n---\n", "The front matter has the key 'a' twice."),
        ("---\n? [a]\n: b\n---\n", "The front matter has a key that is not a word."),
        ("---\na: " + "[" * 60 + "]" * 60 + "\n---\n", "The front matter is nested more than 40 levels deep."),
        (
            "---\na: " + "[" * 9000 + "\n---\n",
            "The front matter is not valid YAML (line 2): exceeded maximum nesting depth.",
        ),
        ("---\na: " + "x" * 300_000 + "\n---\n", "The front matter has more than 200,000 characters and was not read."),
        ("---\na: \x07\n---\n", "The front matter is not valid YAML: control characters are not allowed."),
    ],
)
def test_what_cannot_be_read_is_said_and_stays(text: str, problem: str) -> None:
    assert read(text + "body") == ({}, len(text), problem)
    with pytest.raises(DataError, match="Cannot change 'x': The front matter"):
        changed(text, {"x": 1})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "body",
        "---\n",
        "---\nnever closed",
        "---\n\na: b\n---\n",
        "---\n- a\n---\n",
        "---\nprose\n---\n",
        " ---\na: b\n---\n",
    ],
)
def test_a_rule_is_not_front_matter(text: str) -> None:
    assert read(text) == ({}, 0, None)
    assert changed(text, {"a": 1}).endswith(f"a: 1\n---\n{text}")


@pytest.mark.parametrize(
    ("name", "value", "old", "new"),
    [
        ("title", "Ada L.", "Ada   #", "Ada L.   #"),
        ("title", "Ada, L", "Ada   #", '"Ada, L"   #'),
        ("title", "no", "Ada   #", '"no"   #'),
        ("title", "2024-05-21", "Ada   #", "2024-05-21   #"),
        ("title", {"a": [1]}, "Ada   #", '{"a": [1]}   #'),
        ("tags", ["x"], 'tags: # several\n- one\n- "two"\n', 'tags: ["x"] # several\n'),
        ("author.name", "Ada", "name: |\n    Ada\n    Lovelace\n", "name: Ada\n"),
        ("author.born.year", 1816, "{year: 1815}", "{year: 1816}"),
        ("author.born.month", 12, "{year: 1815}", '{"year": 1815, "month": 12}'),
        ("author.died", 1852, "  born: {year: 1815}\n", "  born: {year: 1815}\n  died: 1852\n"),
        ("last", True, "last:\n", "last: true\n"),
        ("last.of", "all", "last:\n", 'last: {"of": "all"}\n'),
        ("new", 'a "b"\n', "last:\n", 'last:\nnew: "a \\"b\\"\\n"\n'),
        ("yes", 1.5, "last:\n", 'last:\n"yes": 1.5\n'),
        ("n: m", None, "last:\n", 'last:\n"n: m": null\n'),
    ],
)
def test_a_field_is_set_in_its_place(name: str, value: object, old: str, new: str) -> None:
    assert changed(HEAD, {name: value}) == HEAD.replace(old, new)  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("title", "title:   Ada   # her name\n", ""),
        ("tags", 'tags: # several\n- one\n- "two"\n', ""),
        ("author", "author:\n  name: |\n    Ada\n    Lovelace\n\n  born: {year: 1815}\n", ""),
        ("author.name", "  name: |\n    Ada\n    Lovelace\n", ""),
        ("author.born.year", "{year: 1815}", "{}"),
        ("last", "last:\n", ""),
        ("gone", "", ""),
        ("title.gone", "", ""),
    ],
)
def test_a_field_is_taken_out_with_its_lines(name: str, old: str, new: str) -> None:
    assert changed(HEAD, {}, [name]) == HEAD.replace(old, new)


def test_a_first_field_makes_the_front_matter() -> None:
    assert changed("# A\n", {"a": 1, "b.c": "x"}) == '---\na: 1\nb: {"c": "x"}\n---\n# A\n'
    assert changed("---\n---\nx", {"a": 1}) == "---\na: 1\n---\nx"
    assert changed("---\n# only a comment\n---\nx", {"a": 1}) == "---\n# only a comment\na: 1\n---\nx"
    assert changed("---\n{a: 1}\n---\nx", {"b": 2}) == '---\n{"a": 1, "b": 2}\n---\nx'
    assert changed("x\r\ny\n", {"a": 1}) == "---\r\na: 1\r\n---\r\nx\r\ny\n"


def test_a_field_below_something_that_is_no_mapping_is_refused() -> None:
    with pytest.raises(DataError, match=r"Cannot set 'title\.first': 'title' is not a mapping"):
        changed(HEAD, {"title.first": 1})


def test_lines_that_cannot_be_edited_in_place_are_refused() -> None:
    # With |+ a blank line belongs to the text before it.
    with pytest.raises(DataError, match="Cannot change 'a' in this page's front matter in place"):
        changed("---\nk: |+\n  z\na: 1\n\n---\n", {}, ["a"])
    with pytest.raises(DataError, match="Cannot change 'a' in this page's front matter in place"):
        changed("---\na: 1\n---\n", {"a": "half a pair: \ud800"})


KEYS = st.sampled_from(["a", "b", "c.d", "c.e", "c.e.f", "g h", "2024-01-01", "é"])
VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=12)
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=6,
)
LINES = st.lists(
    st.sampled_from(
        [
            "a: 1 # x", "b: >\n  folded\n  text", "c:\n  d: [1, 2]\n  # inner\n  e: 'q'", "g h: {x: y}", "# note", "",
            "é: -1.5", "k: |\n  z\n",
        ]
    ),
    unique=True,
)  # fmt: skip


@settings(max_examples=100)
@given(LINES, st.lists(st.tuples(KEYS, VALUES), max_size=4), st.lists(KEYS, max_size=3))
def test_random_edits_say_what_they_should_and_keep_every_other_line(
    lines: list[str], settings_: list[tuple[str, object]], removed: list[str]
) -> None:
    text = "".join(["---\n", *(line + "\n" for line in lines), "---\nbody ---\n"])
    for name, value in settings_:
        try:
            after = changed(text, {name: value})  # type: ignore[dict-item]
        except DataError:
            continue
        assert frontmatter.value_of(read(after)[0], name) == value
        assert after.endswith("---\nbody ---\n")
        text = after
    for name in removed:
        text = changed(text, {}, [name])
        assert read(text)[2] is None and text.endswith("---\nbody ---\n")
    tops = {name.split(".")[0] for name, _ in settings_} | {name.split(".")[0] for name in removed}
    for line in lines:
        if not line.startswith(tuple(f"{top}:" for top in tops)):
            assert line in text


@given(VALUES)
def test_a_value_is_shown_on_one_line_that_means_it(value: object) -> None:
    line = shown(value)  # type: ignore[arg-type]
    assert "\n" not in line
    assert read(f"---\na: {line}\n---\n")[0] == {"a": value}
