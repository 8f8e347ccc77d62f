from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kit import printed_elsewhere
from memassay.core.errors import UsageError
from memassay.suites.association.truth import haversine
from memassay.suites.association.world import (
    DESIGN_STYLES,
    DIMENSIONS,
    FIELDS,
    INDUSTRIES,
    LABELS,
    METROS,
    ROLES,
    SPECIALTIES,
    Label,
    Node,
    World,
    embedding,
    facts_digest,
    make_world,
    split,
)
from memassay.suites.association.world.nodes import day_zero


@pytest.fixture(scope="module")
def published() -> World:
    return make_world()


def labels(nodes: Mapping[str, Node] | tuple[Node, ...]) -> list[int]:
    found = Counter(node.label for node in (nodes.values() if isinstance(nodes, Mapping) else nodes))
    return [found[label] for label in LABELS]


# -- the published world -------------------------------------------------------------------------------------------


def test_the_published_world_has_the_published_digest(published: World) -> None:
    assert (published.seed, published.scale, published.digest) == (20260910, 2000, "3107779e2a7d1dd0")
    assert facts_digest(iter(published.nodes), iter(published.changes)) == published.digest


def test_the_published_world_has_the_published_size(published: World) -> None:
    assert labels(published.nodes) == [1400, 400, 200]
    last = published.state(89)
    assert (len(last), labels(last)) == (2035, [1411, 421, 203])


def test_every_label_has_exactly_its_fields(published: World) -> None:
    for node in published.state(89).values():
        assert tuple(node.fields) == FIELDS[node.label], node.key
    assert [len(FIELDS[label]) for label in LABELS] == [11, 12, 12]


def test_a_talent_a_company_and_a_job_by_hand(published: World) -> None:
    live = published.state(0)
    talent, company, job = live["talent-000012"].fields, live["company-000007"].fields, live["job-000199"].fields
    assert (talent["name"], talent["email"]) == ("Talent 12", "talent-000012@example.com")
    assert (talent["user_id"], talent["status"], talent["address"]) == ("user-000012", "published", "NYC")
    assert (talent["size_bucket"], talent["specialties"][0]) == (3, "institutional")
    assert 6 <= talent["years_of_experience"] <= 9
    assert (company["user_id"], company["company_size"], company["address"]) == ("user-c-000007", "50-200", "Boston")
    assert 1950 <= company["founded_year"] <= 2024
    assert (job["user_id"], job["company_id"], job["company_name"]) == (
        "user-j-000199",
        "company-000199",
        "Company 199",
    )
    assert (job["company_size"], job["size_bucket"]) == ("500+", 5)
    assert "email" not in job and "years_of_experience" not in company


def test_index_0_has_the_fewest_words_and_index_1_the_most(published: World) -> None:
    live = published.state(0)
    for label in ("talent", "company", "job"):
        first, second = live[f"{label}-000000"].fields, live[f"{label}-000001"].fields
        assert (first["specialties"], first["design_styles"]) == (("single-family",), ())
        assert (len(second["specialties"]), len(second["design_styles"])) == (4, 5)


def test_the_industries_have_exact_shares(published: World) -> None:
    for label, shares in (("Talent", [630, 630, 140]), ("Company", [180, 180, 40]), ("Job", [90, 90, 20])):
        found = Counter(node.fields["industry"] for node in published.nodes if node.label == label)
        assert [found[industry] for industry in INDUSTRIES] == shares


def test_every_node_is_within_30_km_of_its_metro_and_metros_are_far_apart(published: World) -> None:
    centres = {name: (latitude, longitude) for name, latitude, longitude in METROS}
    apart = [haversine(centres[node.fields["address"]], node.fields["location"]) for node in published.nodes]
    assert 29 < max(apart) < 30.1
    assert 0.45 < sum(distance < 30 / math.sqrt(2) for distance in apart) / len(apart) < 0.55  # uniform over the disk
    assert min(haversine(a, b) for a, b in combinations(centres.values(), 2)) > 160.9


def test_the_vocabularies() -> None:
    assert (len(SPECIALTIES), len(DESIGN_STYLES), len(METROS)) == (13, 23, 12)
    assert set(SPECIALTIES) & set(DESIGN_STYLES) == {"industrial"}
    assert dict(ROLES) == {"recruiter": ("Talent", "Job"), "client": ("Company", "Job")}


# -- any seed, any scale -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scale", "sizes"),
    [(3, [1, 1, 1]), (4, [2, 1, 1]), (5, [3, 1, 1]), (9, [6, 1, 2]), (10, [7, 2, 1]), (2001, [1400, 400, 201])],
)
def test_the_split(scale: int, sizes: list[int]) -> None:
    assert [split(scale)[label] for label in LABELS] == sizes
    assert labels(make_world(1, scale).nodes) == sizes


@pytest.mark.parametrize("seed", [0, 1, -7, 2**70])
def test_worlds_of_any_seed_and_small_scales(seed: int) -> None:
    for scale in (3, 4, 5, 11, 60):
        world = make_world(seed, scale)
        assert len(world.nodes) == scale and min(labels(world.nodes)) >= 1
        assert world.digest == make_world(seed, scale).digest
        keys = [node.key for node in world.nodes] + [change.key for change in world.changes]
        assert all(len(key.rpartition("-")[2]) == 6 for key in keys)


def test_the_largest_scale_fills_its_labels() -> None:
    assert split(1_000_000) == {"Talent": 700_000, "Company": 200_000, "Job": 100_000}


def test_another_seed_or_scale_is_another_world() -> None:
    digests = [make_world(seed, scale).digest for seed in (1, 2, 3) for scale in (29, 30)]
    assert len(set(digests)) == 6


@pytest.mark.parametrize("scale", [2, 1, 0, -5])
def test_a_scale_below_three_is_refused(scale: int) -> None:
    with pytest.raises(UsageError, match=rf"^Scale {scale} is too small: .* at least 3\.$"):
        make_world(1, scale)


def test_a_scale_above_a_million_is_refused() -> None:
    with pytest.raises(
        UsageError, match=r"^Scale 1,000,001 is too large: keys have six digits, so at most 1,000,000\.$"
    ):
        make_world(1, 1_000_001)


@pytest.mark.parametrize("label", LABELS)
def test_an_empty_label_is_refused(label: Label) -> None:
    counts: dict[Label, int] = {"Talent": 2, "Company": 2, "Job": 2, label: 0}
    with pytest.raises(
        UsageError, match=rf"^The world would have no {label}: every label needs at least one entity\.$"
    ):
        day_zero(Random(1), counts)


def test_the_hash_seed_of_the_process_does_not_count(tmp_path: Path) -> None:
    program = "from memassay.suites.association.world import make_world; print(make_world(5, 300).digest)"
    assert printed_elsewhere(program, tmp_path) == {make_world(5, 300).digest}


# -- the digest of the facts ---------------------------------------------------------------------------------------


def altered(world: World, **fields: Any) -> str:
    first = world.nodes[0]
    node = Node(first.key, first.label, {**first.fields, **fields})
    return facts_digest((node, *world.nodes[1:]), world.changes)


def test_the_digest_moves_with_every_fact_of_a_node() -> None:
    world = make_world(3, 20)
    changed = [altered(world, **{field: "another"}) for field in FIELDS["Talent"]]
    assert len({world.digest, *changed}) == 1 + len(FIELDS["Talent"])
    assert facts_digest(world.nodes[1:], world.changes) != world.digest


def test_the_digest_moves_with_every_fact_of_a_change() -> None:
    world = make_world(3, 20)
    place = next(i for i, change in enumerate(world.changes) if change.op == "set_prop")
    others = (
        {"day": 0}, {"date": "2026-06-01"}, {"op": "delete_node"}, {"key": "job-000099"}, {"field": "name"},
        {"value": "x"}, {"node": world.nodes[0]},
    )  # fmt: skip
    found = {world.digest}
    for other in others:
        changes = list(world.changes)
        changes[place] = replace(changes[place], **other)
        found.add(facts_digest(world.nodes, changes))
    assert len(found) == 1 + len(others)


def test_the_digest_does_not_see_embeddings_rounding_or_the_kind_of_a_list() -> None:
    world = make_world(3, 20)
    fields = world.nodes[0].fields
    latitude, longitude = fields["location"]
    assert altered(world, embedding=[0.5]) == world.digest
    assert altered(world, location=[latitude + 1e-12, longitude]) == world.digest
    assert altered(world, location=[latitude + 1e-7, longitude]) != world.digest
    assert altered(world, specialties=list(fields["specialties"])) == world.digest


def test_the_digest_does_not_see_the_order_of_the_fields() -> None:
    world = make_world(3, 20)
    nodes = [Node(node.key, node.label, dict(reversed(node.fields.items()))) for node in world.nodes]
    assert facts_digest(nodes, world.changes) == world.digest


# -- embeddings ----------------------------------------------------------------------------------------------------


def test_embeddings_are_unit_vectors_of_the_two_words_and_a_little_of_the_key(published: World) -> None:
    groups: dict[tuple[str, str], list[list[float]]] = {}
    for node in published.nodes[:60]:
        vector = embedding(node)
        assert len(vector) == DIMENSIONS and math.isclose(math.hypot(*vector), 1.0)
        groups.setdefault((node.fields["industry"], node.fields["specialties"][0]), []).append(vector)
    heads = [vectors[0] for vectors in groups.values()]
    assert len(heads) > 20
    assert max(abs(_dot(a, b)) for a, b in combinations(heads, 2)) < 0.2
    alike = [_dot(a, b) for vectors in groups.values() for a, b in combinations(vectors, 2)]
    assert alike and min(alike) > 0.99 and max(alike) < 1.0


def _dot(a: list[float], b: list[float]) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=True))
