"""When words stand in a text: whole words, in every script, invisible characters and typesetters' marks aside."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memassay.core.wording import common_start, find, normalise, stands

INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
ODD = st.one_of(
    st.sampled_from([*INVISIBLE, *"‘’‚‛“”„‟", *"ßſſt\u0130\u0131ǅΣςﬁ…½²①Ⅷ´¨\u3000\u00a0\u2028\x85\x1c \n\t"]),
    st.sampled_from(
        ["\u0301", "\u0302", "\u0327", "\u0345", "\u0323", "\u093c", "कि", "ि", "가", "\u1100", "\u1161", "ｶﾞ"]
    ),
    st.characters(exclude_categories=("Cs",)),
)


# -- normalise -----------------------------------------------------------------------------------------------------


@settings(max_examples=300)
@given(st.lists(ODD, max_size=8).map("".join))
@example("\u1e9e\u0345\u0301")
@example("a\u200d\u0301 \u00b4")
@example("\u2019\u0149\ufeff'")
def test_normalise_is_idempotent(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert once == " ".join(once.split())
    assert not set(INVISIBLE) & set(once)


def test_normalise_is_idempotent_on_every_character() -> None:
    for code in range(0, 0x30000, 5):
        if not 0xD800 <= code < 0xE000:
            once = normalise(f"a{chr(code)}\u0301")
            assert normalise(once) == once, hex(code)


@pytest.mark.parametrize("mark", INVISIBLE)
def test_invisible_characters_are_no_words(mark: str) -> None:
    assert normalise(f"co{mark}operate") == "cooperate"
    assert normalise(f"{mark} a{mark} {mark}b") == "a b"
    assert normalise(f"e{mark}\u0301") == "é", "what joins when it is gone is joined"
    assert stands(normalise("cooperate"), normalise(f"they co{mark}operate{mark}."))


def test_curly_quotes_are_plain() -> None:
    assert normalise("‘It’s’ “so” „low‟ ‚x‛") == "'it's' \"so\" \"low\" 'x'"
    assert stands(normalise("don't"), normalise("I DON’T know"))
    assert stands(normalise("“yes”"), normalise('she said "yes"'))


@pytest.mark.parametrize(
    ("one", "other"),
    [("CAFÉ", "cafe\u0301"), ("Straße", "STRASSE"), ("ﬁne", "fine"), ("a\u00a0\u2003b", "A\n\tb"), ("ΣΑΣ", "σας")],
)
def test_one_word_in_two_spellings(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


# -- stands --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("want", "text", "there"),
    [
        ("art", "the start", False),
        ("art", "artful", False),
        ("art", "start art", True),
        ("art", "modern art.", True),
        ("ok", "look, a book", False),
        ("2", "12 or 20", False),
        ("2", "it is 2", True),
        ("tre", "très", False),
        ("tr\u00e8s", "tre\u0300s", True),
        ("дом", "домик", False),
        ("서울", "서울에서", False),
        # no blank between words: any place between two characters may be a border
        ("東京", "昨日東京へ行きました", True),
        ("北京", "我昨天去了北京。", True),
        ("เชียงใหม่", "ฉันไปเชียงใหม่เมื่อวาน", True),
        ("ကျောင်း", "ကလေးကျောင်းသွားတယ်", True),
        ("ភ្នំពេញ", "ខ្ញុំទៅភ្នំពេញម្សិលមិញ", True),
        ("カメラ", "新しいｶﾒﾗを買った", True),
        ("ibm", "昨天ibm说", True),
        ("12", "他买了12本书", True),
        ("大阪", "昨日東京へ行きました", False),
        # a base letter is not there where a mark follows it
        ("क", "कि", False),
        ("कि", "कि", True),
        ("x", "x\u0302", False),
        ("x\u0302", "x\u0302", True),
        ("x", "x\u0302 x", True),
        ("ก", "กิน", False),
        ("か", "か\u3099", False),
        ("", "anything", False),
        ("anything", "", False),
    ],
)
def test_words_stand_as_words(want: str, text: str, there: bool) -> None:
    assert stands(normalise(want), normalise(text)) is there
    assert stands(normalise(want), normalise(unicodedata.normalize("NFD", text))) is there


@settings(max_examples=200)
@given(st.lists(ODD, min_size=1, max_size=4).map("".join).map(normalise), st.lists(ODD, max_size=6).map("".join))
def test_what_stands_between_blanks_is_found(want: str, around: str) -> None:
    # A text that begins with a mark belongs to what is before it, even to a blank.
    if want and unicodedata.category(want[0])[0] != "M":
        text = f"{normalise(around)} | {want} |"
        assert stands(want, text)
        assert find(want, text) <= len(normalise(around)) + 3


# -- find with an end ----------------------------------------------------------------------------------------------


def test_a_match_must_end_before_the_cut() -> None:
    text = "we saw art in oslo"
    at = text.index("art")
    assert find("art", text, end=at + 3) == at
    assert find("art", text, end=at + 2) == -1
    assert find("art", text, end=0) == -1
    assert find("oslo", text, end=len(text)) == text.index("oslo")
    assert find("oslo", text) == text.index("oslo")
    assert stands("art", text, at + 3) and not stands("art", text, at + 2)


def test_borders_are_those_of_the_whole_text() -> None:
    """The cut falls behind "art" of "artist": what is left looks like the word and is not."""
    assert not stands("art", "the artist", len("the art"))
    assert not stands("x", "an x\u0302", len("an x"))
    assert find("art", "the artist and art", end=len("the art")) == -1
    assert find("art", "the artist and art") == len("the artist and ")
    assert find("art", "start", start=2) == -1, "a start is no border either"
    assert find("art", "art, art", start=1) == 5


@settings(max_examples=300)
@given(
    st.text(alphabet="ab 12\u0302東", min_size=1, max_size=3).map(normalise),
    st.text(alphabet="ab 12\u0302東", max_size=14).map(normalise),
    st.integers(0, 16),
)
def test_an_end_only_takes_away(want: str, text: str, end: int) -> None:
    at, cut = find(want, text), find(want, text, end=end)
    if cut >= 0:
        assert cut == at and cut + len(want) <= end
    else:
        assert at < 0 or at + len(want) > end


def test_the_common_start_of_a_text_and_its_cut() -> None:
    assert common_start("the cafe", "the ca") == 6
    assert common_start("caf\u00e9 noir", "cafe") == 3, "the cut took the accent away"
    assert common_start("abc", "") == 0
