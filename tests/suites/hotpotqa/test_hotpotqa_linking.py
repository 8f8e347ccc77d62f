from __future__ import annotations

import random
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memassay.core.errors import DataError
from memassay.suites.hotpotqa.letters import alphanumeric, slug
from memassay.suites.hotpotqa.linking import RARE, Linked, Plain, link, stripped


def pages(*rows: tuple[str, str]) -> list[Plain]:
    return [Plain(slug(title), title, body) for title, body in rows]


def bodies(*rows: tuple[str, str]) -> list[str]:
    return [found.body for found in link(pages(*rows))]


# -- an oracle in plain Python: every rule as it is said, nothing shared with the module ------------------------------


def first_bounded(name: str, body: str) -> int:
    at = body.find(name)
    while at >= 0:
        end = at + len(name)
        if not (at and alphanumeric(body[at - 1])) and not (end < len(body) and alphanumeric(body[end])):
            return at
        at = body.find(name, at + 1)
    return -1


def oracle(given: list[Plain]) -> list[Linked]:
    targets = {page.title: page.key for page in given}
    for page in sorted(given, key=lambda p: p.title.encode()):
        if " (" in page.title:
            short = page.title[: page.title.index(" (")]
            others = sum(first_bounded(short, p.body) >= 0 for p in given if p is not page) if short else 0
            if len(short.encode()) >= 2 and short not in targets and others <= 8:
                targets[short] = page.key
    made = []
    for page in given:
        spans = [
            (at, at + len(name), key) for name, key in targets.items() if (at := first_bounded(name, page.body)) >= 0
        ]
        spans.sort(key=lambda span: (span[0], -span[1]))
        kept: list[tuple[int, int, str]] = []
        for span in spans:
            if not kept or span[0] >= kept[-1][1]:
                kept.append(span)
        body = page.body
        for start, end, key in reversed(kept):
            if key != page.key:
                body = f"{body[:start]}[{body[start:end]}]({key}.md){body[end:]}"
        made.append(Linked(body, tuple(key for _, _, key in kept if key != page.key)))
    return made


# -- the rules -----------------------------------------------------------------------------------------------------


def test_a_title_on_another_page_becomes_a_link() -> None:
    found = link(pages(("Oslo", "Oslo is north."), ("Fjord", "A fjord near Oslo, seen from Oslo.")))
    assert found[0] == Linked("Oslo is north.", ())
    assert found[1] == Linked("A fjord near [Oslo](oslo.md), seen from Oslo.", ("oslo",))


def test_names_are_words_of_their_own_and_keep_their_case() -> None:
    page = ("Art", "Art.")
    assert bodies(page, ("B", "Artful smart Art5 5Art art"))[1] == "Artful smart Art5 5Art art"
    assert bodies(page, ("B", "Artful (Art)"))[1] == "Artful ([Art](art.md))"
    assert bodies(page, ("B", "Art's _Art_"))[1] == "[Art](art.md)'s _Art_"
    assert bodies(page, ("B", "Arté éArt Art\u0945 Art\u0301"))[1] == "Arté éArt Art\u0945 [Art](art.md)\u0301"


def test_the_longer_name_wins_and_nothing_is_tried_again() -> None:
    assert bodies(("Alpha", "x"), ("Alpha Corp", "x"), ("C", "Alpha Corp met Alpha."))[2] == (
        "[Alpha Corp](alpha-corp.md) met Alpha."
    )
    assert bodies(("New York", "x"), ("York City", "x"), ("C", "New York City"))[2] == "[New York](new-york.md) City"


def test_a_page_does_not_link_itself_and_its_own_name_takes_its_place() -> None:
    rows = (("Bay of Bengal", "The Bay of Bengal is wide. Bengal lies north."), ("Bengal", "x"))
    assert bodies(*rows)[0] == "The Bay of Bengal is wide. Bengal lies north."


def test_the_part_before_a_parenthesis_is_a_name_while_it_is_rare() -> None:
    few = [(f"P{n}", f"Sarn flows by {n}.") for n in range(RARE)]
    rows = [("Sarn (river)", "The Sarn is long."), *few]
    found = bodies(*rows)
    assert found[0] == "The Sarn is long.", "its own page does not count and is not linked"
    assert found[1] == "[Sarn](sarn-river.md) flows by 0."
    assert bodies(*rows, ("One more", "Sarn!"))[1] == "Sarn flows by 0."


def test_whose_the_short_name_is() -> None:
    assert stripped("Sarn (river)") == "Sarn" and stripped("Ab (c) (d)") == "Ab"
    assert [stripped(t) for t in ("Sarn", "S (river)", " (river)", "Sarn(river)")] == [""] * 4
    assert stripped("é (river)") == "é", "two bytes"
    rows = (("Sarn (river)", "x"), ("Sarn (cheese)", "x"), ("C", "Sarn"))
    assert bodies(*rows)[2] == "[Sarn](sarn-cheese.md)", "the first title in order"
    assert bodies(("Sarn", "x"), *rows)[3] == "[Sarn](sarn.md)", "a full title is a target already"


def test_title_and_short_name_may_both_link_one_page() -> None:
    found = link(pages(("Sarn (river)", "x"), ("C", "Sarn, that is Sarn (river).")))
    assert found[1] == Linked("[Sarn](sarn-river.md), that is [Sarn (river)](sarn-river.md).", ("sarn-river",) * 2)


def test_the_order_of_the_pages_changes_nothing_but_the_order() -> None:
    rows = [("Alpha", "Beta and Gamma (x)"), ("Beta", "Alpha"), ("Gamma (x)", "Gamma, Beta"), ("Gamma (y)", "Gamma")]
    forward = dict(zip([t for t, _ in rows], link(pages(*rows)), strict=True))
    backward = dict(zip([t for t, _ in rows[::-1]], link(pages(*rows[::-1])), strict=True))
    assert forward == backward


def test_linking_twice_is_refused() -> None:
    plain = pages(("Oslo", "x"), ("B", "Oslo and Oslo"))
    once = [Plain(p.key, p.title, found.body) for p, found in zip(plain, link(plain), strict=True)]
    with pytest.raises(DataError, match="'B' has title links already"):
        link(once)
    literal = pages(("Oslo", "x"), ("B", "[a](b.txt) and [a](c.md) in Oslo"))
    assert link(literal)[1].body == "[a](b.txt) and [a](c.md) in [Oslo](oslo.md)"


def test_no_pages() -> None:
    assert link([]) == []


# -- against the oracle --------------------------------------------------------------------------------------------

_WORDS = ("Al", "al", "Alp", "Alpine", "Bo", "é", "x", "Al Bo", "Bo (a)", "Alp (b)", "\u0945", "5", "😀", "-", "(", ")")
_TITLES = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=3).map(" ".join)
_BODIES = st.lists(st.tuples(st.sampled_from(_WORDS), st.sampled_from(("", " ", ", "))), max_size=14).map(
    lambda parts: "".join(word + gap for word, gap in parts).strip()
)


@settings(max_examples=300)
@given(st.dictionaries(_TITLES, _BODIES, min_size=1, max_size=14))
@example({"Alp (b)": "Alp", **{f"x {n}": "Alp" for n in range(9)}})
def test_the_library_finds_what_the_rules_say(rows: dict[str, str]) -> None:
    given_pages = [Plain(f"k{number}", title, body) for number, (title, body) in enumerate(rows.items())]
    assert link(given_pages) == oracle(given_pages)


def generated(count: int) -> list[Plain]:
    """Pages about as long and as full of one another's names as those of HotPotQA."""
    draw = random.Random(20260718)
    syllables = ["ka", "ren", "to", "mil", "shu", "bar", "os", "tin", "vel", "dor", "an", "gli"]

    def name() -> str:
        return "".join(draw.choice(syllables) for _ in range(draw.randint(2, 4))).capitalize()

    titles = list({f"{name()} {name()}" if draw.random() < 0.6 else f"{name()} ({name().lower()})": None
                   for _ in range(count * 2)})[:count]  # fmt: skip
    words = [name().lower() for _ in range(3000)]
    made = []
    for number, title in enumerate(titles):
        body = [draw.choice(words) for _ in range(80)]
        for _ in range(3):
            body.insert(draw.randrange(80), draw.choice(titles))
        made.append(Plain(f"p{number}", title, f"{title} is {' '.join(body)}."))
    return made


def test_it_is_fast_and_right_on_pages_like_the_real_ones() -> None:
    """Under half a second of the processor for 3,484 pages, and a small part of what the plain rules take, in one run.

    It is about a hundredth; a busy machine has been seen to make it a fiftieth.
    """
    made = generated(3484)
    times = []
    for _ in range(3):
        start = time.process_time()
        found = link(made)
        times.append(time.process_time() - start)
    took = min(times)
    few = made[:300]
    start = time.process_time()
    plain = oracle(few)
    plain_took = (time.process_time() - start) * (len(made) / len(few)) ** 2  # every name is looked for on every page
    assert link(few) == plain
    assert sum(len(page.targets) for page in found) > 3000
    assert took < 0.5
    assert plain_took / took > 20


# -- letters and keys ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "char", ["a", "Z", "5", "é", "ß", "\u4e2d", "\u0661", "²", "Ⅷ", "\u0345", "\u0903", "\u093e", "Ⓐ", "\u05b0"]
)
def test_letters_and_digits_as_unicode_has_them(char: str) -> None:
    assert alphanumeric(char)


@pytest.mark.parametrize("char", [" ", "-", "_", "’", "\u0301", "\u094d", "\u200d", "😀", "€", "\u00a0", "\ufe0f"])
def test_what_is_no_letter(char: str) -> None:
    assert not alphanumeric(char)


@pytest.mark.parametrize(
    ("title", "key"),
    [("Tara Strong", "tara-strong"), ("P&amp;N  Bank!", "p-amp-n-bank"), ("Éric & Ω-3", "éric-ω-3"),
     ("(...)", "article"), ("--A--", "a"), ("東京 2020", "東京-2020"), ("İo", "i-o")],
)  # fmt: skip
def test_a_key_is_a_slug_of_the_title(title: str, key: str) -> None:
    assert slug(title) == key
