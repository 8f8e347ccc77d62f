from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kit import printed_elsewhere
from memassay.core.errors import DataError, UnknownName, UsageError
from memassay.suites.association.truth import RULES, TASK_RULES, TYPES, Links, Rule, haversine, holds, linked, score
from memassay.suites.association.truth.oracle import Oracle
from memassay.suites.association.world import Label, Node, World, embedding, make_world

BY_NAME = {rule.name: rule for rule in RULES}
INDUSTRY, SPECIALTY, PLACE, SIZE, STYLE, STRICT = TYPES
THREE = (INDUSTRY, SPECIALTY, PLACE)


@pytest.fixture(scope="module")
def published() -> World:
    return make_world()


@pytest.fixture(scope="module")
def today(published: World) -> Links:
    return Links(published.state(89))


def node(label: Label, number: int = 0, **fields: Any) -> Node:
    return Node(f"{label.lower()}-{number:06d}", label, fields)


def state_of(*nodes: Node) -> dict[str, Node]:
    return {n.key: n for n in nodes}


def of(name: str, ours: Any, theirs: Any) -> float | None:
    """The score of a rule for two values of its field."""
    rule = BY_NAME[name]
    return score(rule, node("Talent", **{rule.field: ours}), node(rule.to, **{rule.field: theirs}))


# -- the rules -----------------------------------------------------------------------------------------------------


def test_the_ten_rules() -> None:
    assert [(rule.edge_type, rule.to, rule.threshold) for rule in RULES] == [
        ("INDUSTRY_ALIGNMENT", "Company", 0), ("INDUSTRY_ALIGNMENT", "Job", 0),
        ("SPECIALTY_MATCH", "Company", 0.15), ("SPECIALTY_MATCH", "Job", 0.15),
        ("LOCATION_FIT", "Company", 160.9), ("LOCATION_FIT", "Job", 160.9),
        ("SIMILAR_SIZE", "Company", 1), ("MATCHES_DESIGN_STYLE", "Company", 0.2),
        ("SEMANTIC_MATCH", "Company", 0.85), ("SIMILAR_SIZE_STRICT", "Company", 0),
    ]  # fmt: skip
    assert len(TASK_RULES) == 9 and "semantic_match_tc" not in {rule.name for rule in TASK_RULES}
    assert TYPES == (
        "INDUSTRY_ALIGNMENT", "SPECIALTY_MATCH", "LOCATION_FIT", "SIMILAR_SIZE", "MATCHES_DESIGN_STYLE",
        "SIMILAR_SIZE_STRICT",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ("both", "both", 1.0), ("both", "architecture", None), ("Both", "both", None), (3, 3, 1.0), (3, 3.0, None),
        (True, 1, None), (True, True, 1.0), (None, None, None), (["a"], ["a"], None), ({}, {}, None),
        (math.nan, math.nan, None),
    ],
)  # fmt: skip
def test_equality_is_typed(ours: Any, theirs: Any, expected: float | None) -> None:
    assert of("industry_alignment_tc", ours, theirs) == expected


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        (["a"], ["a"], 1.0), (("a",), ["a"], 1.0), ([], [], None), (["a"], [], None), (["a"], ["b"], None),
        (["a", "a"], ["a"], 1.0), (["A"], ["a"], None), ("a", "a", None), (None, ["a"], None),
        (["a", "b", "c"], ["a", "d", "e", "f"], 1 / 6),  # of the union, not of the shorter list
        (["a", "b", "c", "d"], ["a", "e", "f", "g"], None),  # 1/7 < 0.15
        ([1], [1.0], None), ([1], [True], None), ([["a"], "b"], ["b", {}], 1.0), ([None, "b"], [None, "c"], None),
    ],
)  # fmt: skip
def test_overlap_is_the_jaccard_index_of_distinct_scalars(ours: Any, theirs: Any, expected: float | None) -> None:
    assert of("specialty_match_tc", ours, theirs) == expected
    assert of("specialty_match_tj", theirs, ours) == expected


def test_the_least_overlap_of_design_styles_counts() -> None:
    assert of("matches_design_style_tc", ["a", "b", "c"], ["a", "d", "e"]) == 0.2
    assert of("matches_design_style_tc", ["a", "b", "c"], ["a", "d", "e", "f"]) is None


@pytest.mark.parametrize(
    ("ours", "theirs", "similar", "strict"),
    [
        (3, 3, 1.0, 1.0), (3, 4, 0.0, None), (3, 5, None, None), (3, 3.0, 1.0, 1.0), (3, 3.5, 0.5, None),
        (3, "3", None, None), (1, True, None, None), (None, None, None, None), (math.inf, math.inf, None, None),
        (math.nan, 3, None, None), ([3], [3], None, None), (10**400, 10**400, None, None),
    ],
)  # fmt: skip
def test_sizes_differ_by_one_at_most_and_strictly_by_nothing(
    ours: Any, theirs: Any, similar: float | None, strict: float | None
) -> None:
    assert of("similar_size_tc", ours, theirs) == similar
    assert of("similar_size_strict_tc", ours, theirs) == strict


@pytest.mark.parametrize(
    ("ours", "theirs", "matches"),
    [
        ((40.0, -74.0), [40.0, -74.0], True), ((0.0, 0.0), (0.0, 1.446), True), ((0.0, 0.0), (0.0, 1.448), False),
        ((10.0, 180.0), (10.0, -179.5), True), ((90.0, 0.0), (89.5, 170.0), True), ((91.0, 0.0), (91.0, 0.0), False),
        ((0.0, 181.0), (0.0, 181.0), False), ((1.0,), (1.0,), False), ((1.0, 2.0, 3.0), (1.0, 2.0, 3.0), False),
        ("NY", "NY", False), (None, None, False), ((math.nan, 0.0), (0.0, 0.0), False), ((1, 2), (1, 2), True),
        ((True, 2), (1, 2), False),
    ],
)  # fmt: skip
def test_locations_fit_within_the_radius(ours: Any, theirs: Any, matches: bool) -> None:
    assert (of("location_fit_tc", ours, theirs) is not None) is matches
    live = state_of(node("Talent", location=ours), node("Company", location=theirs), node("Job", location=theirs))
    assert Links(live).others("talent-000000", [PLACE]) == (["company-000000", "job-000000"] if matches else [])


def test_the_distance_of_two_cities_and_its_score() -> None:
    london, paris = (51.5074, -0.1278), (48.8566, 2.3522)
    assert haversine(london, paris) == pytest.approx(343.56, abs=0.01)
    assert haversine((0.0, 0.0), (0.0, 180.0)) == pytest.approx(math.pi * 6371.0088)
    found = of("location_fit_tc", (0.0, 0.0), (0.0, 1.0))
    assert found == pytest.approx(1 - math.radians(1) * 6371.0088 / 160.9)


def test_a_missing_field_never_matches() -> None:
    for rule in RULES:
        assert not holds(rule, node("Talent"), node(rule.to))


def test_a_rule_links_a_talent_to_its_own_label_only() -> None:
    rule = BY_NAME["industry_alignment_tc"]
    talent, company, job = (node(label, industry="both") for label in ("Talent", "Company", "Job"))
    assert holds(rule, talent, company)
    assert not any(holds(rule, *pair) for pair in [(company, talent), (talent, job), (talent, talent)])


def test_all_of_several_types() -> None:
    talent, company = node("Talent", industry="both", size_bucket=1), node("Company", industry="both", size_bucket=2)
    assert linked(talent, company, (INDUSTRY, SIZE))
    assert not linked(talent, company, (INDUSTRY, SIZE, STRICT))
    assert not linked(company, talent, (INDUSTRY,))
    assert not linked(talent, company, ("NO_TYPE",))


def test_the_semantic_rule_reads_the_embedding_of_the_birth(published: World) -> None:
    rule = BY_NAME["semantic_match_tc"]
    talents, companies = (
        [Node(n.key, n.label, {"embedding": embedding(n), **n.fields}) for n in nodes]
        for nodes in (published.nodes[:3], published.nodes[1400:1427])
    )
    alike = 0
    for talent, company in product(talents, companies):
        born = [(n.fields["industry"], n.fields["specialties"][0]) for n in (talent, company)]
        same = born[0] == born[1]
        alike += same
        assert holds(rule, talent, company) is same
    assert alike >= 1
    assert of("semantic_match_tc", (1.0, 0.0), [0.9, 0.1]) == pytest.approx(0.9 / math.hypot(0.9, 0.1))
    for ours, theirs in [((1.0, 0.0), (0.0, 1.0)), ((0.0,), (0.0,)), ((1.0,), (1.0, 0.0)), ((1.0, "x"), (1.0, "x"))]:
        assert of("semantic_match_tc", ours, theirs) is None


# -- the published world -------------------------------------------------------------------------------------------


def test_the_published_edges_per_rule(today: Links) -> None:
    counts = today.counts()
    assert counts == {
        "industry_alignment_tc": 244_368, "industry_alignment_tj": 116_926,
        "specialty_match_tc": 228_746, "specialty_match_tj": 110_205,
        "location_fit_tc": 49_506, "location_fit_tj": 23_878,
        "similar_size_tc": 309_173, "matches_design_style_tc": 66_709, "similar_size_strict_tc": 118_822,
    }  # fmt: skip
    assert sum(counts.values()) == 1_268_333


def test_the_counts_are_those_of_the_lists(today: Links, published: World) -> None:
    companies = [key for key, live in published.state(89).items() if live.label == "Company"]
    listed = {name: sum(len(today.talents(key, [name])) for key in companies) for name in TYPES}
    counts = today.counts()
    assert listed == {rule.edge_type: counts[rule.name] for rule in TASK_RULES if rule.to == "Company"}


@pytest.mark.parametrize(
    ("company", "field", "value", "third", "before", "lost"),
    [
        ("company-000239", "specialties", ["institutional", "landscape"], SPECIALTY, 21, 15),
        ("company-000376", "specialties", ["civic", "hospitality", "institutional"], SPECIALTY, 23, 12),
        ("company-000244", "size_bucket", 3, SIZE, 22, 14),
        ("company-000235", "size_bucket", 3, SIZE, 22, 10),
    ],
)
def test_the_published_retractions(
    today: Links, company: str, field: str, value: Any, third: str, before: int, lost: int
) -> None:
    types = (INDUSTRY, third, PLACE)
    now, then = (set(links.talents(company, types)) for links in (today, today.replaced(company, field, value)))
    assert (len(now), len(now - then)) == (before, lost)


@pytest.mark.parametrize(
    ("talent", "day", "answers"),
    [("talent-000501", 18, 8), ("talent-001026", 41, 6), ("talent-000641", 42, 7), ("talent-000396", 43, 8)],
)
def test_the_published_answers_of_time_travel(published: World, talent: str, day: int, answers: int) -> None:
    assert len(Links(published.state(day)).others(talent, THREE, "Company")) == answers


@pytest.mark.parametrize(
    ("talent", "types", "jobs", "hidden"),
    [
        ("talent-000104", THREE[:2], 28, 60), ("talent-000450", THREE[:2], 35, 75),
        ("talent-001161", THREE, 4, 6), ("talent-001408", THREE, 5, 5),
    ],
)  # fmt: skip
def test_the_published_answers_of_visibility(
    today: Links, talent: str, types: tuple[str, ...], jobs: int, hidden: int
) -> None:
    assert [len(today.others(talent, types, label)) for label in ("Job", "Company")] == [jobs, hidden]
    assert len(today.others(talent, types)) == jobs + hidden


@pytest.mark.parametrize(("years", "least", "answers"), [(10, 14, 27), (10, 16, 10), (15, 8, 20), (15, 9, 9)])
def test_the_published_answers_of_multihop(
    today: Links, published: World, years: int, least: int, answers: int
) -> None:
    live = published.state(89)
    able = {
        key
        for key, n in live.items()
        if n.label == "Talent" and n.fields["status"] == "published" and n.fields["years_of_experience"] >= years
    }
    companies = [key for key, n in live.items() if n.label == "Company"]
    assert sum(len(able.intersection(today.talents(key, THREE))) >= least for key in companies) == answers


# -- the index against the whole product ---------------------------------------------------------------------------

ASKED = [(name,) for name in TYPES] + [THREE, (INDUSTRY, SIZE, PLACE), (SPECIALTY, STYLE), (STRICT, SIZE), TYPES]


def agree(links: Links, state: Mapping[str, Node], oracle: Oracle | None = None) -> None:
    """Every question about every node has the same answer from the index and from the whole product."""
    oracle = oracle or Oracle(state)
    assert links.counts() == oracle.counts()
    talents = [key for key, n in state.items() if n.label == "Talent"]
    others = [key for key, n in state.items() if n.label != "Talent"]
    for types in ASKED:
        for key in talents:
            assert links.others(key, types) == oracle.others(key, types)
        for key in others:
            assert links.talents(key, types) == oracle.talents(key, types)
    for label in ("Company", "Job"):
        assert all(links.others(key, (INDUSTRY,), label) == oracle.others(key, (INDUSTRY,), label) for key in talents)
    pairs = list(product(talents[:12], others[:12]))
    for a, b in pairs:
        assert links.types(a, b) == links.types(b, a) == oracle.types(a, b)


@pytest.mark.parametrize(
    ("seed", "scale", "day"), [(1, 3, 0), (2, 30, 0), (3, 30, 89), (4, 45, 50), (20260910, 60, 43), (5, 60, 89)]
)
def test_the_index_agrees_with_the_whole_product(seed: int, scale: int, day: int) -> None:
    state = make_world(seed, scale).state(day)
    agree(Links(state), state)


@pytest.mark.parametrize(("seed", "day"), [(6, 10), (20260910, 89)])
def test_the_counts_agree_at_scale_200(seed: int, day: int) -> None:
    state = make_world(seed, 200).state(day)
    assert Links(state).counts() == Oracle(state).counts()


def test_what_if_agrees_with_the_whole_product() -> None:
    state = make_world(9, 20).state(45)
    talent, company, job = (next(k for k in state if k.startswith(label)) for label in ("talent", "company", "job"))
    links, oracle = Links(state), Oracle(state)
    for key, field, value in [
        (company, "specialties", ["civic", "no such word"]), (talent, "location", [48.8566, 2.3522]),
        (company, "size_bucket", 3), (job, "industry", "both"), (talent, "industry", None), (company, "size_bucket", 5),
    ]:  # fmt: skip
        before = links.counts()
        changed = links.replaced(key, field, value)
        assert links.counts() == before, "the first links stay as they are"
        oracle = oracle.replaced(key, field, value)
        agree(changed, oracle.state, oracle)
        links = changed


VALUES = st.sampled_from(
    [None, 0, 1, 1.0, True, 2, 5, "a", "both", math.nan, math.inf, [], ["a"], ("a", "b"), ["b", 1], ["c", 1.0, True]]
)
PLACES = st.one_of(
    VALUES,
    st.tuples(
        st.sampled_from([0.0, 0.5, 1.0, 89.6, 90.0, -90.0, 91.0]), st.sampled_from([0.0, 1.0, 1.446, 179.9, -180.0])
    ),
    st.tuples(st.floats(-2, 2), st.floats(-2, 2)),
)
NODES = st.lists(
    st.tuples(
        st.sampled_from(["Talent", "Company", "Job"]),
        st.fixed_dictionaries(
            {}, optional={"industry": VALUES, "specialties": VALUES, "design_styles": VALUES, "size_bucket": VALUES,
                          "location": PLACES},
        ),
    ),
    max_size=14,
)  # fmt: skip


@settings(max_examples=80)
@example(drawn=[])
@example(drawn=[("Talent", {"location": (0.0, 0.0)}), ("Job", {"location": (0.0, 0.0)})])
@given(drawn=NODES)
def test_the_index_agrees_on_values_of_every_kind(drawn: list[tuple[Label, dict[str, Any]]]) -> None:
    state = state_of(*(node(label, number, **fields) for number, (label, fields) in enumerate(drawn)))
    agree(Links(state), state)


def test_a_vocabulary_of_more_than_64_words() -> None:
    words = [f"word {number}" for number in range(150)]
    talents = [node("Talent", i, specialties=words[i : i + 1 + i % 7]) for i in range(0, 140, 3)]
    companies = [node("Company", i, specialties=words[i : i + 1 + i % 5]) for i in range(0, 140, 4)]
    state = state_of(*talents, *companies)
    links = Links(state)
    assert links.counts() == Oracle(state).counts()
    assert links.counts()["specialty_match_tc"] > 40
    oracle = Oracle(state)
    assert all(links.others(n.key, [SPECIALTY]) == oracle.others(n.key, [SPECIALTY]) for n in talents)


def test_words_that_no_other_node_has_count_in_the_union() -> None:
    state = state_of(node("Talent", specialties=["civic"]), node("Company", specialties=["civic"]))
    links = Links(state)
    for strangers, found in ((0, 1), (5, 1), (6, 0)):  # 1/6 is enough, 1/7 is not
        value = ["civic", *(f"stranger {number}" for number in range(strangers))]
        assert (
            len(links.replaced("company-000000", "specialties", value).talents("company-000000", [SPECIALTY])) == found
        )


def test_clouds_of_points_that_are_wider_than_the_radius() -> None:
    rng = Random(4)
    state = state_of(
        *(node("Talent", i, location=(rng.gauss(60, 1), (rng.gauss(179.5, 2) + 180) % 360 - 180)) for i in range(80)),
        *(node("Company", i, location=(rng.gauss(60, 1), rng.gauss(178, 1))) for i in range(80)),
    )
    links, oracle = Links(state), Oracle(state)
    assert 500 < oracle.counts()["location_fit_tc"] == links.counts()["location_fit_tc"]
    assert all(links.talents(key, [PLACE]) == oracle.talents(key, [PLACE]) for key in list(state)[80:])


def test_points_at_the_very_limit_are_decided_by_the_formula() -> None:
    """East of a point on the equator, where the distance crosses 160.9 km from one float to the next."""
    low, high = 1.44, 1.45
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if haversine((0.0, 0.0), (0.0, middle)) <= 160.9 else (low, middle)
    companies = [node("Company", i, location=(0.0, longitude)) for i, longitude in enumerate((low, high))]
    links = Links(state_of(node("Talent", location=(0.0, 0.0)), *companies))
    assert links.others("talent-000000", [PLACE]) == ["company-000000"]
    assert links.counts()["location_fit_tc"] == 1


# -- questions that have no answer ---------------------------------------------------------------------------------


def test_a_key_that_is_not_live_is_linked_to_nothing(today: Links) -> None:
    assert today.others("talent-999999", THREE) == today.talents("company-999999", THREE) == []
    assert today.types("talent-999999", "company-000001") == today.types("talent-000001", "nobody") == ()
    assert today.types("talent-000001", "talent-000002") == today.types("company-000001", "job-000001") == ()


def test_a_type_that_does_not_reach_jobs_links_no_job(today: Links) -> None:
    assert today.talents("job-000001", [SIZE]) == []
    assert today.others("talent-000001", [INDUSTRY, SIZE], "Job") == []
    assert all(key.startswith("company") for key in today.others("talent-000001", [SIZE]))


def test_the_wrong_end_an_unknown_type_and_no_type_are_refused(today: Links) -> None:
    with pytest.raises(UsageError, match=r"^company-000001 is a Company, not a Talent: ask for its talents\.$"):
        today.others("company-000001", THREE)
    with pytest.raises(UsageError, match=r"^talent-000001 is a Talent: ask for its companies and jobs\.$"):
        today.talents("talent-000001", THREE)
    with pytest.raises(UnknownName, match=r"^Unknown relationship type 'SPECIALITY_MATCH'\. Did you mean"):
        today.others("talent-000001", ["SPECIALITY_MATCH"])
    with pytest.raises(UsageError, match=r"^No relationship type is named: name at least one of INDUSTRY_ALIGNMENT, "):
        today.talents("company-000001", [])


def test_a_field_of_nobody_cannot_be_replaced(today: Links) -> None:
    with pytest.raises(DataError, match=r"^talent-999999 is not live in this state, so none of its fields can be"):
        today.replaced("talent-999999", "industry", "both")


def test_the_hash_seed_of_the_process_does_not_count(tmp_path: Path) -> None:
    program = (
        "import hashlib; from memassay.suites.association.truth import Links, TYPES; "
        "from memassay.suites.association.world import make_world; s = make_world(5, 300).state(60); l = Links(s); "
        "text = repr([l.counts(), [l.others(k, TYPES[:2]) for k in s if k[0] == 't'], "
        "[l.types('talent-000007', k) for k in s]]); print(hashlib.sha256(text.encode()).hexdigest())"
    )
    assert len(printed_elsewhere(program, tmp_path)) == 1


def test_a_rule_is_a_value() -> None:
    assert Rule("industry_alignment_tc", "Company", "INDUSTRY_ALIGNMENT", "equal", "industry") == RULES[0]
