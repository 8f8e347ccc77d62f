from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from memassay.core.types import Estimate
from memassay.reporting import figures
from memassay.reporting.metric import metric
from memassay.reporting.svg import spread, ticks
from memassay.reporting.text import clean, fit_encoding, middle, one_line, shorten
from memassay.reporting.values import estimate


def test_terminal_sequences_go_with_what_belongs_to_them() -> None:
    assert clean("a\x1b[31;1mred\x1b[0mb") == "aredb"
    assert clean("a\x1b]8;;http://x\x1b\\link\x1b]8;;\x07b") == "alinkb"
    assert clean("a\x9b2Jb\x00\x08c\x7f") == "abc"
    assert clean("a\r\nb\rc\td") == "a\nb\nc\td"
    assert clean("x\ud800y") == "x\ufffdy"
    assert clean("\u202eabc\u2066") == "abc"
    assert clean("naïve 记忆 👩‍🔬") == "naïve 记忆 👩‍🔬"


@given(st.text())
def test_cleaning_is_complete_and_stable(text: str) -> None:
    once = clean(text)
    assert clean(once) == once
    assert not any((ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160 or 0xD800 <= ord(c) < 0xE000 for c in once)


@given(st.text(), st.integers(0, 40))
def test_shortened_text_fits(text: str, width: int) -> None:
    for short in (shorten(text, width), middle(text, width)):
        assert cell_len(short) <= width
        assert "\n" not in short
    if cell_len(one_line(text)) <= width:
        assert shorten(text, width) == middle(text, width) == one_line(text)


@given(st.text(), st.sampled_from(["ascii", "latin-1", "cp1252", "utf-8", "no-such-encoding", None]))
def test_any_encoding_can_hold_what_fits_it(text: str, encoding: str | None) -> None:
    fitted = fit_encoding(clean(text), encoding)
    fitted.encode("ascii" if encoding in (None, "no-such-encoding") else encoding)


@pytest.mark.parametrize(
    ("value", "signed", "text"),
    [
        (0.785, False, ".785"), (1.0, False, "1.000"), (0.9999, False, "1.000"), (12.5, False, "12.500"),
        (0.0, True, ".000"), (-0.0001, True, ".000"), (-0.034, True, "−.034"), (0.12, True, "+.120"),
        (None, False, "–"), (float("nan"), True, "–"), (float("inf"), False, "–"), (True, False, "–"),
    ],
)  # fmt: skip
def test_shares(value: object, signed: bool, text: str) -> None:
    assert figures.share(value, signed=signed) == text


def test_other_figures() -> None:
    assert [figures.p_value(p) for p in (0.0078, 0.0156, 0.0004, None, 1.0)] == [
        ".0078",
        ".016",
        "< .001",
        "–",
        "1.000",
    ]
    assert [figures.short_integer(b) for b in (512, 1000, 1500, 12000, 1234)] == ["512", "1k", "1.5k", "12k", "1234"]
    assert [figures.seconds(s) for s in (0, 0.0017, 0.042, 2.41, 185, 7800, None)] == [
        "0 ms", "1.7 ms", "42 ms", "2.4 s", "3 min 5 s", "2 h 10 min", "–",
    ]  # fmt: skip
    assert [figures.size(b) for b in (812, 4_210_332, None)] == ["812 B", "4.2 MB", "–"]
    assert [figures.money(m) for m in (0.0021, 1234.5, 0, None)] == ["$0.0021", "$1,234.50", "$0.00", "–"]
    assert figures.interval(0.1, None) == ""


def test_metric_names_are_taken_apart() -> None:
    assert metric("all@4000").label == "all@4k"
    assert metric("all@k5").label == "all@k5"
    assert metric("all@k5").short == "k = 5"
    assert metric("accuracy").label == metric("accuracy").short == "accuracy"
    assert metric("all@4000").phrase == "every gold item in the dossier within 4,000 tokens"


@given(
    st.one_of(
        st.none(),
        st.floats(),
        st.text(),
        st.dictionaries(
            st.sampled_from(["value", "low", "high", "level", "n", "clusters", "method", "reason"]),
            st.one_of(st.none(), st.floats(), st.integers(), st.text(), st.booleans(), st.lists(st.integers())),
        ),
    )
)
def test_any_json_is_an_estimate_with_a_value_or_a_reason(value: object) -> None:
    found = estimate(value)
    assert (found.value is None) <= bool(found.reason)
    assert (found.low is None) == (found.high is None)
    assert figures.estimate(found)
    assert estimate(Estimate(value=0.5)).value == 0.5


@given(st.lists(st.floats(0, 400), min_size=1, max_size=12), st.floats(5, 20))
def test_labels_never_collide_and_stay_inside(wanted: list[float], gap: float) -> None:
    placed = spread(wanted, gap, 0, 400)
    ordered = sorted(placed)
    assert all(b - a >= gap - 1e-6 for a, b in itertools.pairwise(ordered))
    assert min(placed) >= -1e-6
    assert max(placed) <= 400 + 1e-6
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    assert [placed[i] for i in order] == ordered, "labels keep the order of the lines"


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_cover_the_range_in_equal_steps(low: float, width: float) -> None:
    found = ticks(low, low + width)
    assert 2 <= len(found) <= 12
    assert found[0] <= low + 1e-6 * width + 1e-9
    assert found[-1] >= low + width - 1e-6 * width - 1e-9


def test_a_p_in_a_sentence() -> None:
    assert [figures.p_phrase(p) for p in (0.0078, 1e-17, None)] == ["p = .0078", "p < .001", "p = –"]


def test_a_metric_speaks_the_suites_words() -> None:
    assert metric("any@4000", "at least one gold turn within 4,000 tokens").phrase == (
        "at least one gold turn in the dossier within 4,000 tokens"
    )
    at_k = metric("both@k5", "every gold page among the first 5 distinct pages")
    assert at_k.phrase == "both gold pages in the dossier within 5 distinct pages"
    assert metric("all@k5", "every gold turn in the first 5 passages").unit == "passages"
    assert metric("all@4000", "something else").phrase == metric("all@4000").phrase
    assert metric("accuracy", "a title").what == "a title"
    assert metric("accuracy").what == "accuracy"
