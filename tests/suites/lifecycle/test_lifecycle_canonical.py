from __future__ import annotations

import json
import math
import re
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lifecycle_protocols import UPDATE, protocol

from kit import printed_elsewhere
from memassay.suites.lifecycle.canonical import canonical_form, extras_digest, go_number, published_hash
from memassay.suites.lifecycle.loading import load_protocols
from memassay.suites.lifecycle.protocol import Protocol

PUBLISHED = "daeac8a49319e6240541f905e1acf45d99e47fa4e4958ee0203d5f4fe1245695"
ORIGINAL = "0920c55292d1"
FIFTEEN = (
    "active-customers core-market focus-month focus-region-net house-tier leading-region peak-region premium-orders "
    "primary-region priority-orders reporting-cohort reporting-window settlement-total target-cohort top-line"
)


@pytest.mark.data
def test_the_published_hash_of_the_published_files(published_folder: Path) -> None:
    protocols = load_protocols(published_folder)
    assert len(protocols) == 30
    assert published_hash(protocols) == PUBLISHED
    assert published_hash(reversed(protocols)) == PUBLISHED


@pytest.mark.data
def test_the_hash_of_the_first_fifteen_whose_pages_had_no_summary(published_folder: Path) -> None:
    first = {f"lc-{name}" for name in FIFTEEN.split()}
    kept = []
    for one in load_protocols(published_folder):
        if one.id in first:
            page = one.page and one.page.model_copy(update={"summary": None})
            kept.append(one.model_copy(update={"page": page}))
    assert len(kept) == 15
    assert published_hash(kept).startswith(ORIGINAL)


def test_the_form_is_written_out_as_go_writes_it() -> None:
    one = protocol(
        title='a<b> & "c" \\ \u2028\u2029 \x07\b\f\t é 😀 \x7f',
        recall__grading={"kind": "numeric", "value": 0, "abs_tolerance": 0},
        transfer=None,
        abstain=None,
        sink="datahub",
        page=None,
    )
    assert canonical_form([one]) == (
        '[{"id":"p-1","title":"a\\u003cb\\u003e \\u0026 \\"c\\" \\\\ \\u2028\\u2029 \\u0007\\b\\f\\t é 😀 \x7f",'
        '"fact":"In main.boats, a \'zlorp\' boat is a boat of three masts.",'
        '"entity_urn":"urn:li:dataset:(urn:li:dataPlatform:sqlite,main.boats,PROD)","sink":"datahub",'
        '"budget_tool_calls":15,'
        '"teach":{"prompt":"Remember: in main.boats, a \'zlorp\' boat is a boat of three masts."},'
        '"recall":{"prompt":"How many zlorp boats does main.boats hold?","grading":{"kind":"numeric","value":0}}}]'
    )


def test_the_keys_of_a_correction_stand_in_the_published_order() -> None:
    written = canonical_form([protocol(UPDATE, update__superseded_value=0.0)])
    assert re.findall(r'"(\w+)":', written.split('"update":')[1]) == [
        "prompt", "fact", "recall", "prompt", "grading", "kind", "aliases", "wrong_aliases", "superseded_value",
        "abstain", "prompt",
    ]  # fmt: skip
    assert '"superseded_value":0}' in written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (80.0, "80"), (239402.08, "239402.08"), (0.5, "0.5"), (-3.25, "-3.25"), (0.0, "0"), (-0.0, "-0"),
        (1e20, "100000000000000000000"), (1e21, "1e+21"), (1.5e300, "1.5e+300"), (1e-6, "0.000001"), (1e-7, "1e-7"),
        (1.25e-9, "1.25e-9"), (1.5e-10, "1.5e-10"), (5e-324, "5e-324"), (123456789012345680.0, "123456789012345680"),
        (1430603.83, "1430603.83"), (0.1 + 0.2, "0.30000000000000004"), (2.0**70, "1.1805916207174113e+21"),
    ],
)  # fmt: skip
def test_numbers_are_as_short_as_go_writes_them(value: float, written: str) -> None:
    assert go_number(value) == written


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_reads_back_and_has_no_idle_digit(value: float) -> None:
    written = go_number(value)
    assert struct.pack("d", float(written)) == struct.pack("d", value)
    mantissa, _, exponent = written.partition("e")
    if "." in mantissa:
        assert not mantissa.endswith("0") and not mantissa.endswith(".")
    assert bool(exponent) == (value != 0 and not 1e-6 <= abs(value) < 1e21)
    assert re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?(e(\+[0-9]{2,3}|-[1-9][0-9]{0,2}))?", written)
    assert not math.isnan(json.loads(written))


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_any_text_reads_back_and_hides_what_go_hides(text: str) -> None:
    made = protocol().model_copy(update={"title": text})
    written = canonical_form([made])
    assert json.loads(written)[0]["title"] == text
    assert not re.search("[<>&\u2028\u2029\x00-\x1f]", written)


@given(st.permutations(range(6)))
def test_the_order_of_the_files_does_not_count(order: list[int]) -> None:
    made = [protocol(id=f"p-{number}") for number in range(6)]
    shuffled = [made[place] for place in order]
    assert published_hash(shuffled) == published_hash(made)
    assert extras_digest(shuffled) == extras_digest(made)


def test_ids_are_ordered_by_their_bytes() -> None:
    made = [protocol(id=name) for name in ("é", "z", "Z", "\uff5e", "😀")]
    assert [one["id"] for one in json.loads(canonical_form(made))] == ["Z", "z", "é", "\uff5e", "😀"]


def test_extras_have_a_digest_of_their_own(generated: tuple[Protocol, ...]) -> None:
    bare = [one.model_copy(update={"extras": None}) for one in generated]
    assert published_hash(bare) == published_hash(generated)
    assert extras_digest(bare) != extras_digest(generated)
    assert extras_digest(generated) == extras_digest(tuple(generated))


def test_any_field_that_is_published_changes_the_hash() -> None:
    seen = {published_hash([protocol()])}
    changes = [
        {"title": "t"}, {"fact": "f"}, {"entity_urn": "u"}, {"budget_tool_calls": 14}, {"teach__prompt": "t"},
        {"recall__prompt": "r"}, {"recall__grading__value": 42}, {"recall__grading__abs_tolerance": 0.25},
        {"transfer__prompt": "r"}, {"abstain": None}, {"abstain__prompt": "a"}, {"page__summary": "s"},
        {"recall__grading__aliases": ["a"]}, {"recall__grading__wrong_aliases": ["a"]},
    ]  # fmt: skip
    for change in changes:
        seen.add(published_hash([protocol(**change)]))
    assert len(seen) == len(changes) + 1


def test_the_same_hash_in_every_process(generated: tuple[Protocol, ...], tmp_path: Path) -> None:
    program = (
        "from memassay.suites.lifecycle.canonical import *\n"
        "from memassay.suites.lifecycle.templates import generate\n"
        "from memassay.suites.lifecycle.warehouse import make_warehouse\n"
        "made = generate(make_warehouse(11, 4), 4)\n"
        "print(published_hash(made), extras_digest(made))"
    )
    some = generated[:4]
    assert printed_elsewhere(program, tmp_path) == {f"{published_hash(some)} {extras_digest(some)}"}
