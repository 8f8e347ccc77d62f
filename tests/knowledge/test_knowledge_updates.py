"""The parts of pages: predicates that find them, updates in place, guards, complaints."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from knowledge_texts import TEXTS, shelf, texts_of

from memassay.core.errors import DataError, UsageError
from memassay.knowledge.blocks import Scene, compiled
from memassay.knowledge.library import Shelf
from memassay.knowledge.pages import parse
from memassay.knowledge.query import run

# -- predicates on blocks ------------------------------------------------------------------------------------------

PAGE = """# Title

intro milk

## Timeline

- 2023 one
  - inner milk
- 2024 two [a](a)

  ```py
  milk()
  ```

1. first

> quoted milk

## Empty

| x |
|---|
| milk |

***
"""


@pytest.mark.parametrize(
    ("predicate", "found"),
    [
        ("milk", ["paragraph:intro milk", "item:inner milk", "code:milk()", "quote:quoted milk", "table:x\nmilk"]),
        ("{$text: {$eq: INTRO milk}}", ["paragraph:intro milk"]),
        ("{$header: true}", ["header:Title", "header:Timeline", "header:Empty"]),
        ("{$header: {$level: 2, $matches: '^T'}}", ["header:Timeline"]),
        ("{$header: timeline}", ["header:Timeline"]),
        ("{$section: Timeline}", ["section:Timeline"]),
        ("{$section: {$contains: {$table: true}}}", ["section:Title", "section:Empty"]),
        ("{$list: true}", ["list:", "list:", "list:"]),
        ("{$list: {$contains: inner}}", ["list:", "list:"]),
        ("{$item: {$within: {$item: true}}}", ["item:inner milk"]),
        ("{$item: true, $within: Timeline}", ["item:2023 one", "item:inner milk", "item:2024 two a", "item:first"]),
        ("{$item: {$matches: '^20'}}", ["item:2023 one", "item:2024 two a"]),
        ("{$item: {$contains: {$code: {$lang: py}}}}", ["item:2024 two a"]),
        ("{$quote: true}", ["quote:quoted milk"]),
        ("{$hr: true}", ["rule:"]),
        ("{$references: a}", ["item:2024 two a"]),
        ("{$references: true, $not: {$item: true}}", []),
        ("{$or: [{$code: true}, {$table: {}}]}", ["code:milk()", "table:x\nmilk"]),
        ("{$and: [milk, {$within: Timeline}]}", ["item:inner milk", "code:milk()", "quote:quoted milk"]),
        ("{$nor: [{$within: Title}]}", []),
        ("{$paragraph: true, $nor: [{$text: milk}]}", []),
        ("{$or: [{$section: Empty}, {$hr: true}]}", ["section:Empty", "rule:"]),
    ],
)
def test_block_predicates(predicate: str, found: list[str]) -> None:
    library = shelf(p=PAGE, a="x")
    document = f"filter: {{$key: p}}\nproject: {{blocks: {{$blocks: {predicate}}}}}"
    [page] = run(library, "find", document).result
    assert [f"{block['type']}:{block['text']}" for block in page["blocks"]] == found


# -- updates -------------------------------------------------------------------------------------------------------


def updated(text: str, update: str, **more: str) -> str:
    library = shelf(p=text, **more)
    outcome = run(library, "update", f"filter: {{$key: p}}\nupdate:\n  {update}")
    assert outcome.result["matched"] == 1
    [change] = outcome.changes
    assert change.before == text and change.after is not None
    assert outcome.result["changed"] == [{"key": "p", "content": change.after}]
    return change.after


@pytest.mark.parametrize(
    ("update", "old", "new"),
    [
        ("$append: {$header: Title, content: more}", "intro milk\n", "intro milk\n\nmore\n"),
        ("$append: {$section: Empty, content: '- x'}", "***\n", "***\n\n- x\n"),
        ("$append: {$header: Timeline, content: end}", "> quoted milk\n", "> quoted milk\n\nend\n"),
        ("$append: {content: last}", "***\n", "***\n\nlast\n"),
        ('$append: {$quote: true, content: "a\\nb"}', "> quoted milk\n", "> quoted milk\n>\n> a\n> b\n"),
        ("$append: {$table: true, content: '| y |'}", "| milk |\n", "| milk |\n| y |\n"),
        ("$append: {$list: {$contains: first}, content: second}", "1. first\n", "1. first\n2. second\n"),
        ("$append: {$list: {$contains: '2023'}, content: '* 2025'}", "  ```\n\n1.", "  ```\n- 2025\n\n1."),
        ("$append: {$item: 2023 one, content: '* x'}", "  - inner milk\n", "  - inner milk\n  - x\n"),
        ("$append: {$item: first, content: '- x'}", "1. first\n", "1. first\n   - x\n"),
        ("$append: {$item: first, content: x}", "1. first\n", "1. first\n\n   x\n"),
        ("$insertAfter: {$item: inner milk, content: next}", "  - inner milk\n", "  - inner milk\n  - next\n"),
        ('$insertAfter: {$item: 2023 one, content: "- x\\n\\n  y"}', "inner milk\n", "inner milk\n- x\n\n  y\n"),
        ("$insertAfter: {$item: first, content: second}", "1. first\n", "1. first\n2. second\n"),
        ("$insertAfter: {$code: true, content: tail}", "  ```\n\n1", "  ```\n\n  tail\n\n1"),
        ("$insertAfter: {$header: Empty, content: text}", "## Empty\n\n", "## Empty\n\ntext\n\n"),
        ("$insertAfter: {$section: Timeline, content: '## New'}", "> quoted milk\n", "> quoted milk\n\n## New\n"),
        ("$insertBefore: {$item: inner milk, content: prev}", "  - inner milk\n", "  - prev\n  - inner milk\n"),
        ("$insertBefore: {$item: first, content: zero}", "1. first\n", "1. zero\n1. first\n"),
        ("$insertBefore: {$header: Empty, content: text}", "## Empty\n", "text\n\n## Empty\n"),
        ("$insertBefore: {$header: Title, content: text}", "# Title\n", "text\n\n# Title\n"),
        ('$replace: {$paragraph: true, content: "new\\ntwo"}', "intro milk\n", "new\ntwo\n"),
        ("$replace: {$item: inner milk, content: new}", "  - inner milk\n", "  - new\n"),
        ("$replace: {$item: 2023 one, content: '* new'}", "- 2023 one\n", "- new\n"),
        ("$replace: {$header: Empty, content: Full}", "## Empty\n", "## Full\n"),
        ("$replace: {$header: Empty, content: '### Full'}", "## Empty\n", "### Full\n"),
        ("$replace: {$section: Empty, content: '## Gone'}", "## Empty\n\n| x |\n|---|\n| milk |\n\n***\n", "## Gone\n"),
        ('$replace: {$code: true, content: "```\\nx\\n```"}', "```py\n  milk()\n  ```", "```\n  x\n  ```"),
        ("$replaceText: {$item: true, from: milk, to: tea}", "  - inner milk\n", "  - inner tea\n"),
        ("$replaceText: {from: '***', to: ---}", "***\n", "---\n"),
        ("$delete: {$item: 2023 one}", "- 2023 one\n  - inner milk\n", ""),
        ("$delete: {$hr: true}", "\n***\n", ""),
        ("$delete: {$section: Empty}", "\n## Empty\n\n| x |\n|---|\n| milk |\n\n***\n", ""),
        ("$delete: {$quote: true}", "> quoted milk\n\n", ""),
        ("$delete: {$list: {$contains: '2023'}, $not: {$within: {$list: true}}}",
         PAGE[PAGE.index("- 2023") : PAGE.index("1. first")], ""),
        ("$set: {a: 1}", "# Title\n", "---\na: 1\n---\n# Title\n"),
    ],
)  # fmt: skip
def test_an_update_changes_what_it_names_and_nothing_else(update: str, old: str, new: str) -> None:
    assert PAGE.count(old) == 1
    assert updated(PAGE, update, a="x") == PAGE.replace(old, new)


def test_bullets_go_on_with_the_list_of_their_section() -> None:
    text = "# Log\n\n* one\n* two\n\n## Sub\n\n- other\n"
    assert updated(text, "$append: {$header: Log, content: '- three'}") == text.replace("* two\n", "* two\n* three\n")
    assert updated("- a", "$append: {content: '- b'}") == "- a\n- b"
    assert updated("", "$append: {content: '# New'}") == "# New\n"
    assert updated("---\na: 1\n---", "$append: {content: text}") == "---\na: 1\n---\ntext\n"
    assert updated("- [ ] task\n", "$replace: {$item: task, content: done}") == "- [ ] done\n"
    assert updated("-\n", "$replace: {$item: true, content: x}") == "- x\n"


def test_operators_follow_one_another_in_the_order_written() -> None:
    text = "---\nn: 1 # keep\nold: x\n---\n# P\n\n- a\n"
    update = "\n  ".join(
        [
            "$append:",
            "  - {$header: P, content: '- b', expect: 1}",
            "  - {$item: b, content: '- c', expect: 1}",
            "$replaceText: {$item: c, from: c, to: d, expect: 1}",
            "$set: {n: 2, new: [1]}",
            "$unset: [old]",
        ]
    )
    assert updated(text, update) == "---\nn: 2 # keep\nnew: [1]\n---\n# P\n\n- a\n- b\n  - d\n"


def test_line_ends_of_a_mixed_page_stay_and_new_lines_are_like_its_first() -> None:
    text = "# P\r\n\r\n- a\n- b\r\n"
    assert updated(text, '$append: {$list: true, content: "- c\\n- d"}') == text + "- c\r\n- d\r\n"
    assert updated(text, "$delete: {$item: a}") == "# P\r\n\r\n- b\r\n"


@pytest.mark.parametrize(
    ("expect", "refused"),
    [
        ("1", "1 found where 1"),
        ("2", None),
        ("{min: 1}", None),
        ("{max: 1}", "0 to 1"),
        ("{min: 3, max: 4}", "3 to 4"),
        ("{min: 3}", "at least 3"),
    ],
)
def test_expect_guards_operators_and_operations(expect: str, refused: str | None) -> None:
    library = shelf(p="- x\n", q="- x\n- y\n", r="other\n")
    document = "filter: {{$content: x}}\nexpect: {}\nupdate: {{$delete: {{$item: x, expect: {}}}}}"
    if refused is None:
        assert len(run(library, "update", document.format(expect, expect)).changes) == 2
        assert len(run(library, "delete", f"filter: {{$content: x}}\nexpect: {expect}").changes) == 2
        return
    with pytest.raises(UsageError, match=r"\$delete: 2 found where .* was expected; nothing was written"):
        run(library, "update", document.format(2, expect))
    with pytest.raises(UsageError, match="pages to update: 2 found where"):
        run(library, "update", document.format(expect, 2))
    with pytest.raises(UsageError, match="pages to delete: 2 found where"):
        run(library, "delete", f"filter: {{$content: x}}\nexpect: {expect}")


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        ("update: {$set: {a: 1}}", "update needs a filter"),
        ("filter: {}", "update is a mapping of operators"),
        ("filter: {}\nupdate: {$set: {a: 1}, expect: 1}", "expect stands beside filter and update"),
        ("filter: {}\nupdate: {$sett: {a: 1}}", r"update knows no '\$sett'. Did you mean '\$set'"),
        ("filter: {}\nupdate: {$set: {$a: 1}}", r"update.\$set: '\$a' is no name of a field"),
        ("filter: {}\nupdate: {$set: {a..b: 1}}", "is no name of a field"),
        ("filter: {}\nupdate: {$set: a}", "is a mapping of fields"),
        ("filter: {}\nupdate: {$unset: []}", "is a list of fields"),
        ("filter: {}\nupdate: {$append: x}", "is a mapping of a block predicate"),
        ("filter: {}\nupdate: {$append: {$header: x}}", r"update.\$append needs content, a text"),
        ("filter: {}\nupdate: {$replaceText: {from: x}}", "needs to, a text"),
        ("filter: {}\nupdate: {$replaceText: {from: '', to: x}}", "with at least one character"),
        ("filter: {}\nupdate: {$delete: {expect: 1}}", "needs a block predicate"),
        ("filter: {}\nupdate: {$delete: {$item: x, content: y}}", "knows no 'content'"),
        ("filter: {}\nupdate: {$append: [{content: x}, {$itm: y, content: x}]}", r"update.\$append\[1\].\$itm"),
        ("filter: {}\nupdate: {$append: {content: ' '}}", "The content is empty"),
        ("filter: {}\nupdate: {$append: {content: x, expect: -1}}", "expect is a whole number or"),
        ("filter: {}\nupdate: {$append: {content: x, expect: {least: 1}}}", "expect is a whole number or"),
        ("filter: {}\nexpect: x\nupdate: {$append: {content: x}}", "expect is a whole number or"),
        (
            "filter: {}\nupdate: {$append: {$paragraph: true, content: x}}",
            "Nothing can be appended to a paragraph on 'p'",
        ),
        (
            "filter: {}\nupdate: {$insertBefore: {$item: in, content: x}}",
            "Nothing can be inserted before an item on 'p'",
        ),
        ("filter: {}\nupdate: {$replace: {$section: true, content: x}}", "finds parts inside one another on 'p'"),
    ],
)
def test_a_wrong_update_is_refused(document: str, complaint: str) -> None:
    library = shelf(p="# T\n\ntext\n\n## U\n\n- - in\n")
    with pytest.raises(UsageError, match=complaint):
        run(library, "update", document)


def test_strict_queries_need_their_guards() -> None:
    library = shelf(p="- x\n")
    for operation, document, complaint in (
        ("update", "filter: {}\nupdate: {$set: {a: 1}}", "update needs expect"),
        ("update", "filter: {}\nexpect: 1\nupdate: {$append: {content: x}}", r"update.\$append needs expect"),
        ("delete", "filter: {}", "delete needs expect"),
    ):
        with pytest.raises(UsageError, match=complaint):
            run(library, operation, document, strict=True)
    assert run(
        library, "update", "filter: {}\nexpect: 1\nupdate: {$append: {content: x, expect: 1}}", strict=True
    ).changes


def test_text_is_never_turned_into_front_matter() -> None:
    library = shelf(p="text\n")
    with pytest.raises(DataError, match=r"\$insertBefore would be read as front matter on 'p'; use \$set"):
        run(
            library,
            "update",
            {"filter": {}, "update": {"$insertBefore": {"$text": "text", "content": "---\na: b\n---"}}},
        )


# -- any page, any update ------------------------------------------------------------------------------------------

PREDICATES = st.sampled_from(
    [
        {"$item": True}, {"$paragraph": True}, {"$header": True}, {"$code": True}, {"$table": True}, {"$quote": True},
        {"$list": True}, {"$section": {"$level": 2}}, {"$ref": True}, {"$html": True}, {"$hr": True}, {"$text": "o"},
        {"$item": {"$within": {"$item": True}}}, {"$references": True}, {"$header": {"$matches": "T"}},
    ]
)  # fmt: skip
CONTENTS = st.sampled_from(["NEW", "- NEW", "1. NEW\n2. TWO", "## NEW", "NEW\n\nTWO", "```\nNEW\n```", "| NEW |"])
OPERATORS = st.one_of(
    st.builds(
        lambda name, predicate, content: {name: {**predicate, "content": content}},
        st.sampled_from(["$append", "$insertAfter", "$insertBefore", "$replace"]), PREDICATES, CONTENTS,
    ),
    st.builds(lambda predicate: {"$delete": predicate}, PREDICATES),
    st.builds(lambda predicate: {"$replaceText": {**predicate, "from": "o", "to": "NEW"}}, PREDICATES),
    st.builds(lambda content: {"$append": {"content": content}}, CONTENTS),
    st.builds(lambda value: {"$set": {"x": value}}, st.one_of(st.integers(), st.text(max_size=5))),
)  # fmt: skip


@settings(max_examples=250)
@given(TEXTS, OPERATORS)
def test_whatever_is_added_or_taken_out_the_rest_stays_character_for_character(
    text: str, update: dict[str, Any]
) -> None:
    library = Shelf({"p": text, "b": "x"})
    [(name, arguments)] = update.items()
    try:
        outcome = run(library, "update", {"filter": {"$key": "p"}, "update": update})
    except (UsageError, DataError):
        return
    after = outcome.changes[0].after if outcome.changes else text
    assert after is not None
    if name == "$delete":
        assert is_part(after, text)
    elif name in ("$append", "$insertAfter", "$insertBefore", "$set"):
        assert is_part(text, after)
        assert outcome.changes or name != "$append" or len(arguments) > 1
    elif name == "$replace":
        predicate = compiled({key: value for key, value in arguments.items() if key != "content"}, "here")
        scene = Scene(parse("p", text), library.resolver)
        spans = [part.span for part in scene.find(predicate)]
        gaps = [text[end:start] for (_, end), (start, _) in pairwise([(0, 0), *spans, (len(text), len(text))])]
        assert after.startswith(gaps[0]) and after.endswith(gaps[-1])
        assert is_part("".join(gaps), after) and after.count("NEW") - text.count("NEW") == len(spans)
    elif name == "$replaceText":
        assert after.replace("NEW", "o") == text.replace("NEW", "o")
    assert texts_of(library)["p"] == text


def is_part(part: str, whole: str) -> bool:
    """Whether the characters of a text all stand in another one, in their order."""
    at = 0
    for letter in part:
        at = whole.find(letter, at) + 1
        if not at:
            return False
    return True
