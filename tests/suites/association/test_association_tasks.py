"""The published twenty, come out exactly; and the tasks of other worlds, held against plain loops over the rules."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from kit import printed_elsewhere
from memassay.core.errors import DataError, UsageError
from memassay.core.types import Task
from memassay.suites.association.grading import right_and_near
from memassay.suites.association.tasks import (
    KINDS,
    Draft,
    Pilot,
    build,
    drafts_of,
    file_of,
    fingerprint,
    smallest_scale,
    targets_of,
    tasks_of,
    wording,
    write_tasks,
)
from memassay.suites.association.tasks.guards import answerable, unmistakable
from memassay.suites.association.truth import TASK_RULES, holds
from memassay.suites.association.world import LAST_DAY, Node, World, day_of, make_world

THREE = ["INDUSTRY_ALIGNMENT", "SPECIALTY_MATCH", "LOCATION_FIT"]
WITH_SIZE = ["INDUSTRY_ALIGNMENT", "SIMILAR_SIZE", "LOCATION_FIT"]

# The table of the published set: number, what it is built around, how many answers, and what else is printed of it.
PUBLISHED: tuple[tuple[int, dict[str, Any], int, dict[str, Any]], ...] = (
    (1, {"target": ["talent-000141", "company-000153"]}, 5, {}),
    (2, {"target": ["talent-000512", "company-000054"]}, 5, {}),
    (3, {"target": ["talent-001202", "company-000014"]}, 5, {}),
    (4, {"target": ["talent-001307", "company-000220"]}, 5, {}),
    (5, {"years": 10, "talents": 14, "types": THREE}, 27, {}),
    (6, {"years": 10, "talents": 16, "types": THREE}, 10, {}),
    (7, {"years": 15, "talents": 8, "types": THREE}, 20, {}),
    (8, {"years": 15, "talents": 9, "types": THREE}, 9, {}),
    (
        9,
        {"target": "company-000239", "field": "specialties", "value": ["institutional", "landscape"], "types": THREE},
        15,
        {"linked_before": 21},
    ),
    (
        10,
        {
            "target": "company-000376",
            "field": "specialties",
            "value": ["civic", "hospitality", "institutional"],
            "types": THREE,
        },
        12,
        {"linked_before": 23},
    ),
    (
        11,
        {"target": "company-000244", "field": "size_bucket", "value": 3, "types": WITH_SIZE},
        14,
        {"linked_before": 22},
    ),
    (
        12,
        {"target": "company-000235", "field": "size_bucket", "value": 3, "types": WITH_SIZE},
        10,
        {"linked_before": 22},
    ),
    (
        13,
        {"target": "talent-000501", "day": 18, "date": "2026-06-19", "types": THREE},
        8,
        {"moved_next_day": "specialties", "linked_today": 7},
    ),
    (
        14,
        {"target": "talent-001026", "day": 41, "date": "2026-07-12", "types": THREE},
        6,
        {"moved_next_day": "location", "linked_today": 8},
    ),
    (
        15,
        {"target": "talent-000641", "day": 42, "date": "2026-07-13", "types": THREE},
        7,
        {"moved_next_day": "industry", "linked_today": 7},
    ),
    (
        16,
        {"target": "talent-000396", "day": 43, "date": "2026-07-14", "types": THREE},
        8,
        {"moved_next_day": "industry", "linked_today": 11},
    ),
    (17, {"target": "talent-000104", "role": "recruiter", "types": THREE[:2]}, 28, {"hidden_matches": 60}),
    (18, {"target": "talent-000450", "role": "recruiter", "types": THREE[:2]}, 35, {"hidden_matches": 75}),
    (19, {"target": "talent-001161", "role": "recruiter", "types": THREE}, 4, {"hidden_matches": 6}),
    (20, {"target": "talent-001408", "role": "recruiter", "types": THREE}, 5, {"hidden_matches": 5}),
)

# The published answers and near-misses: of the first four as words, of the others as the numbers of their keys.
WORDS = (
    ("INDUSTRY_ALIGNMENT LOCATION_FIT SPECIALTY_MATCH hospitality residential",
     "MATCHES_DESIGN_STYLE SIMILAR_SIZE commercial retail single-family"),
    ("INDUSTRY_ALIGNMENT MATCHES_DESIGN_STYLE SPECIALTY_MATCH multi-family residential",
     "LOCATION_FIT SIMILAR_SIZE civic healthcare large-scale"),
    ("LOCATION_FIT MATCHES_DESIGN_STYLE SPECIALTY_MATCH commercial multi-family",
     "INDUSTRY_ALIGNMENT SIMILAR_SIZE large-scale residential retail"),
    ("INDUSTRY_ALIGNMENT MATCHES_DESIGN_STYLE SPECIALTY_MATCH civic institutional",
     "LOCATION_FIT SIMILAR_SIZE commercial educational residential"),
)  # fmt: skip
NUMBERS = (
    ("company", "10 13 18 26 39 56 71 98 111 112 127 135 141 159 186 193 230 243 291 320 343 361 373 381 399 405 414",
     "company", "153 182 237 269 347"),
    ("company", "13 39 56 98 135 141 186 230 243 320", "company", "71 159 193 343 361"),
    ("company", "6 10 13 26 98 102 103 112 127 141 193 196 230 265 321 340 343 390 405 410",
     "company", "37 39 105 199 401"),
    ("company", "6 13 98 112 141 193 321 343 405", "company", "103 196 265 340 390"),
    ("talent", "83 143 227 329 335 479 671 767 851 923 1163 1175 1199 1259 1331", "talent", "455 791 1031 1091 1439"),
    ("talent", "112 184 424 736 832 988 1024 1048 1252 1300 1360 1444", "talent", "100 220 376 520 532"),
    ("talent", "124 184 244 304 424 544 664 724 784 964 1024 1204 1324 1444", "talent", "328 1048 1108 1228 1348"),
    ("talent", "55 175 235 475 715 775 1015 1135 1195 1200", "talent", "631 1111 1171 1231 1411"),
    ("company", "57 69 129 165 201 237 345 369", "company", "93 249 297 309 393"),
    ("company", "42 66 138 246 354 402", "company", "24 36 84 204 324"),
    ("company", "17 101 281 293 329 389 401", "company", "5 89 149 233 245"),
    ("company", "48 120 132 192 288 294 312 360", "company", "84 144 228 300 324"),
    ("job", "3 31 40 41 51 52 57 63 64 66 76 78 80 93 102 108 115 117 128 142 150 154 163 180 184 188 193 206",
     "company", "48 70 288 293 383"),
    ("job", "2 9 14 15 17 19 34 37 49 70 86 90 99 104 105 106 112 125 126 130 135 138 139 143 149 152 158 164 165 169 "
            "176 177 178 199 203", "company", "151 196 319 334 399"),
    ("job", "45 69 153 189", "company", "69 129 165 201 369"),
    ("job", "40 46 52 124 155", "company", "28 40 160 352 364"),
)  # fmt: skip


@pytest.fixture(scope="module")
def published() -> World:
    return make_world(seed=20260910, scale=2000)


@pytest.fixture(scope="module")
def other() -> World:
    return make_world(seed=7, scale=1000)


@pytest.fixture(scope="module")
def twenty(published: World) -> list[Task]:
    return tasks_of(published)


@pytest.fixture(scope="module")
def drafts(other: World) -> list[Draft]:
    """Ten of each kind of a world that nobody has published."""
    return drafts_of(other, count=10)


# -- the published set ---------------------------------------------------------------------------------------------


def test_the_published_targets_and_sizes(published: World, twenty: list[Task]) -> None:
    assert [task.payload["number"] for task in twenty] == list(range(1, 21))
    for task, draft, (number, asked, size, more) in zip(twenty, drafts_of(published), PUBLISHED, strict=True):
        assert task.payload == {"number": number, **asked}
        assert len(right_and_near(task)[0]) == size
        assert {name: draft.more[name] for name in more} == more


def test_the_published_answers_and_near_misses(twenty: list[Task]) -> None:
    spelled = [(tuple(a.split()), tuple(b.split())) for a, b in WORDS]
    spelled += [
        tuple(tuple(f"{label}-{int(n):06}" for n in numbers.split()) for label, numbers in ((one, a), (two, b)))
        for one, a, two, b in NUMBERS
    ]
    for task, expected in zip(twenty, spelled, strict=True):
        assert right_and_near(task) == expected, task.id


def test_a_count_of_four_is_the_published_set_and_every_other_count_begins_like_it(
    published: World, twenty: list[Task]
) -> None:
    assert tasks_of(published, count=4) == twenty
    larger = {task.id: task for task in tasks_of(published, count=13)}
    assert len(larger) == 65
    for count in (1, 4, 6):
        for task in tasks_of(published, count=count):
            again = larger[task.id]
            assert fingerprint(task) == fingerprint(again)
            assert {**task.payload, "number": 0} == {**again.payload, "number": 0}


# -- what a task is ------------------------------------------------------------------------------------------------


def test_the_core_task(published: World) -> None:
    task = tasks_of(published, scope="w1")[2]
    assert (task.id, task.suite, task.scope, task.cluster) == ("assoc-why-3", "association", "w1", "assoc-why-3")
    assert (task.category, task.split, task.as_of) == ("why", "all", None)
    assert list(task.gold) == ["original", "near"]
    assert task.gold["original"].excluded is None
    assert task.gold["near"].excluded is not None
    assert task.prompt.split("\n\n") == [
        "Use only the data you were given: the files in your folder, or your tools. Be concise: one key or name per "
        "line.",
        "After the whole history, why are talent-001202 and company-000014 associated? List every relationship type "
        "that links the two, then every specialty they share.",
        "Name nothing else: no near misses, no workings, no explanation.",
    ]


def test_the_questions_word_for_word(twenty: list[Task]) -> None:
    asked = {task.id: task.prompt.split("\n\n")[1] for task in twenty}
    assert asked["assoc-multihop-1"] == (
        "After the whole history, which companies are linked by INDUSTRY_ALIGNMENT, SPECIALTY_MATCH and LOCATION_FIT, "
        "by all three to the same talent, to at least 14 talents that have the status published and at least 10 years "
        "of experience? List the company keys."
    )
    assert asked["assoc-retraction-1"] == (
        'After the whole history, suppose that specialties of company-000239 became ["institutional", "landscape"]. '
        "Which talents that are now linked to it by all of INDUSTRY_ALIGNMENT, SPECIALTY_MATCH and LOCATION_FIT would "
        "no longer be linked to it by all three? List the talent keys."
    )
    assert "suppose that size_bucket of company-000244 became 3. Which talents" in asked["assoc-retraction-3"]
    assert asked["assoc-timetravel-4"] == (
        "At the end of 2026-07-14, to which companies was talent-000396 linked by all of INDUSTRY_ALIGNMENT, "
        "SPECIALTY_MATCH and LOCATION_FIT? List the company keys."
    )
    assert asked["assoc-visibility-1"] == (
        "After the whole history, and seen with the role recruiter, to which entities is talent-000104 linked by both "
        "of INDUSTRY_ALIGNMENT and SPECIALTY_MATCH? List the keys."
    )
    assert "talent-001408 linked by all of INDUSTRY_ALIGNMENT, SPECIALTY_MATCH and" in asked["assoc-visibility-4"]
    assert wording.likeness("client", "company-000007") == (
        "After the whole history, and seen with the role client, which other entities have the industry and the size "
        "bucket of company-000007 and at least one of its specialties? List the keys."
    )


def test_nothing_of_the_answer_is_in_prompt_or_payload(other: World) -> None:
    for task in tasks_of(other, count=10):
        right, near = right_and_near(task)
        shown = f"{task.prompt} {json.dumps(task.payload)}"
        words = set(re.findall(r"[\w-]+", shown))
        assert words.isdisjoint((*right, *near)), task.id


def test_targets(twenty: list[Task]) -> None:
    found = {task.id: targets_of(task) for task in twenty}
    assert found["assoc-why-1"] == ("talent-000141", "company-000153")
    assert found["assoc-multihop-4"] == ("years-15-talents-9",)
    assert found["assoc-retraction-1"] == ("company-000239",)
    assert found["assoc-visibility-4"] == ("talent-001408",)


# -- guards --------------------------------------------------------------------------------------------------------


def test_every_task_keeps_the_guards(drafts: list[Draft]) -> None:
    assert [draft.kind for draft in drafts] == [kind for kind in KINDS for _ in range(10)]
    for draft in drafts:
        assert 3 <= len(draft.answer) <= 40
        assert unmistakable(draft.answer, draft.near)
        assert list(draft.answer) == sorted(draft.answer)
        assert list(draft.near) == sorted(draft.near)
    assert len({draft.question for draft in drafts}) == len(drafts)
    for kind in ("multihop", "retraction", "timetravel"):
        assert len({draft.answer for draft in drafts if draft.kind == kind}) == 10


@pytest.mark.parametrize(("answers", "candidates", "right"), [(2, 5, 0), (3, 5, 1), (40, 5, 1), (41, 5, 0), (9, 4, 0)])
def test_how_many_answers_and_candidates(answers: int, candidates: int, right: int) -> None:
    assert answerable(range(answers), range(candidates)) is bool(right)


def test_what_can_be_mistaken() -> None:
    near = ("b1", "b2", "b3", "b4", "b5")
    assert unmistakable(("a1", "a2", "a3"), near)
    assert not unmistakable(("a1", "a2", "a3"), near[:4])
    assert not unmistakable(("a1", "a2", "b1"), near)
    assert not unmistakable(("a1", "a1", "a2"), near)
    assert not unmistakable(("a1", "a2", "xB1x"), near)
    assert not unmistakable(("B", "a1", "a2"), near)


# -- the truth, by plain loops over the rules ----------------------------------------------------------------------


def types_of(talent: Node, node: Node) -> set[str]:
    return {rule.edge_type for rule in TASK_RULES if holds(rule, talent, node)}


def linked(state: dict[str, Node], talent: str, types: Any, label: str) -> set[str]:
    ends = (node for node in state.values() if node.label == label)
    return {node.key for node in ends if set(types) <= types_of(state[talent], node)}


def of_kind(drafts: list[Draft], kind: str) -> list[Draft]:
    return [draft for draft in drafts if draft.kind == kind]


def test_why(other: World, drafts: list[Draft]) -> None:
    live = other.state(LAST_DAY)
    for draft in of_kind(drafts, "why"):
        talent, company = (live[key] for key in draft.asks["target"])
        mine, theirs = set(talent.fields["specialties"]), set(company.fields["specialties"])
        assert set(draft.answer) == types_of(talent, company) | mine & theirs
        assert len(types_of(talent, company)) == 3
        assert len(mine & theirs) >= 2
        assert abs(talent.fields["size_bucket"] - company.fields["size_bucket"]) >= 2
        unshared = [value for value in draft.near if value.islower()]
        assert len(unshared) == 3
        assert set(unshared) <= mine ^ theirs - {"industrial"}
        assert "SIMILAR_SIZE" in draft.near


def test_multihop(other: World, drafts: list[Draft]) -> None:
    live = other.state(LAST_DAY)
    companies = [node for node in live.values() if node.label == "Company"]
    reached: dict[str, list[int]] = {
        company.key: [
            node.fields["years_of_experience"]
            for node in live.values()
            if node.label == "Talent"
            and node.fields["status"] == "published"
            and node.fields["industry"] == company.fields["industry"]
            and set(THREE) <= types_of(node, company)
        ]
        for company in companies
    }
    for draft in of_kind(drafts, "multihop"):
        counts = {key: sum(y >= draft.asks["years"] for y in years) for key, years in reached.items()}
        talents = int(str(draft.asks["talents"]))
        assert set(draft.answer) == {key for key, count in counts.items() if count >= talents}
        assert {counts[key] for key in draft.near} == {talents - 1}


def test_retraction(other: World, drafts: list[Draft]) -> None:
    live = other.state(LAST_DAY)
    found = of_kind(drafts, "retraction")
    assert [draft.asks["field"] for draft in found] == [*(["specialties"] * 2 + ["size_bucket"] * 2) * 3][:10]
    for draft in found:
        company, types = live[str(draft.asks["target"])], set(draft.asks["types"])
        changed = Node(company.key, company.label, {**company.fields, str(draft.asks["field"]): draft.asks["value"]})
        talents = [node for node in live.values() if node.label == "Talent"]
        before = {node.key for node in talents if types <= types_of(node, company)}
        after = {node.key for node in talents if types <= types_of(node, changed)}
        assert 12 <= len(before) <= 45
        assert set(draft.answer) == before - after
        assert set(draft.near) <= before & after
        assert draft.more["base"] == sorted(before)


def test_timetravel(other: World, drafts: list[Draft]) -> None:
    live = other.state(LAST_DAY)
    for draft in of_kind(drafts, "timetravel"):
        day, talent, types = int(str(draft.asks["day"])), str(draft.asks["target"]), draft.asks["types"]
        assert day == day_of(str(draft.asks["date"]))
        then, now = (linked(state, talent, types, "Company") for state in (other.state(day), live))
        assert set(draft.answer) == then
        assert set(draft.near) <= now - then
        moved = [c.field for c in other.changes if (c.key, c.day) == (talent, day + 1)]
        assert moved == [draft.more["moved_next_day"]]
        assert moved[0] in ("industry", "location", "specialties" if types == THREE else "size_bucket")


def test_visibility(other: World, drafts: list[Draft]) -> None:
    live = other.state(LAST_DAY)
    found = of_kind(drafts, "visibility")
    assert [draft.asks["role"] for draft in found] == ["recruiter"] * 4 + ["client", "recruiter"] * 3
    for draft in found:
        target = live[str(draft.asks["target"])]
        if draft.asks["role"] == "recruiter":
            types = draft.asks["types"]
            jobs, companies = (linked(live, target.key, types, label) for label in ("Job", "Company"))
            assert (set(draft.answer), len(companies)) == (jobs, draft.more["hidden_matches"])
            assert set(draft.near) <= companies
            continue
        alike = {
            node.key: node.label
            for node in live.values()
            if all(node.fields[name] == target.fields[name] for name in ("industry", "size_bucket"))
            and set(node.fields["specialties"]) & set(target.fields["specialties"])
        }
        assert alike.pop(target.key) == "Company"
        assert set(draft.answer) == {key for key, label in alike.items() if label != "Talent"}
        assert {alike[key] for key in draft.near} == {"Talent"}


# -- what is avoided, and where there is not enough ----------------------------------------------------------------


def test_an_avoided_target_is_replaced_and_nothing_before_it_moves(published: World, twenty: list[Task]) -> None:
    again = tasks_of(published, avoid={"talent-000512", "company-000244", "years-15-talents-8", "talent-000104"})
    moved = [task.id for task, before in zip(again, twenty, strict=True) if task.payload != before.payload]
    assert again[0] == twenty[0]
    assert {"assoc-why-2", "assoc-multihop-3", "assoc-retraction-3", "assoc-visibility-1"} <= set(moved)
    assert all("talent-000512" not in targets_of(task) for task in again)
    bars = [(task.payload["years"], task.payload["talents"]) for task in again if task.category == "multihop"]
    assert bars[:3] == [(10, 14), (10, 16), (15, 9)]
    assert bars[3] not in {*bars[:3], (15, 8)}


def test_a_world_without_enough_names_the_kind_and_a_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "smallest_scale", lambda seed, count, avoid: 1234)
    with pytest.raises(DataError) as error:
        tasks_of(make_world(seed=7, scale=3))
    assert str(error.value) == (
        "The world of seed 7 and scale 3 has 0 of 4 tasks of the kind timetravel (3 to 40 answers and 5 near-misses "
        "each); the smallest scale found to have enough of every kind is 1,234."
    )


def test_where_no_scale_helps_it_says_how_many_there_are(other: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "smallest_scale", lambda seed, count, avoid: None)
    with pytest.raises(DataError, match=r"of 200 tasks of the kind timetravel.* ask for at most (\d+) per kind\.") as e:
        drafts_of(other, count=200)
    most = int(re.findall(r"at most (\d+)", str(e.value))[0])
    assert len(drafts_of(other, count=most)) == 5 * most
    with pytest.raises(DataError):
        drafts_of(other, count=most + 1)


def test_the_smallest_scale_has_enough_and_the_scale_below_has_not(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def enough(seed: int, scale: int, count: int, avoid: object) -> bool:
        asked.append(scale)
        return scale >= 777

    monkeypatch.setattr(build, "_enough", enough)
    assert smallest_scale(1, 4) == 777
    assert {776, 777} <= set(asked)
    assert len(asked) < 20
    monkeypatch.setattr(build, "_enough", lambda *_: False)
    assert smallest_scale(1, 4) is None


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 4])
def test_the_scale_that_is_named_works(count: int) -> None:
    scale = smallest_scale(20260910, count)
    assert scale is not None
    assert len(tasks_of(make_world(scale=scale), count=count)) == 5 * count
    with pytest.raises(DataError, match=f"{scale:,}"):
        tasks_of(make_world(scale=scale - 1), count=count)


@pytest.mark.parametrize("count", [0, -3])
def test_no_tasks_at_all_are_refused(count: int, other: World) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        tasks_of(other, count=count)


# -- the file ------------------------------------------------------------------------------------------------------


def test_the_file_has_the_published_shape(published: World, twenty: list[Task]) -> None:
    content = file_of(published, drafts_of(published))
    tasks = content.pop("tasks")
    assert content == {
        "suite": "association",
        "seed": 20260910,
        "scale": 2000,
        "day_zero": "2026-06-01",
        "last_day": "2026-08-29",
        "world_digest": "3107779e2a7d1dd0",
        "prefix": wording.OPENING,
    }
    assert [(task["id"], task["key"], task["kind"]) for task in tasks] == [
        (number, task.id, task.category) for number, task in enumerate(twenty, start=1)
    ]
    for task, core in zip(tasks, twenty, strict=True):
        right, near = map(list, right_and_near(core))
        assert task["full_prompt"] == core.prompt == f"{content['prefix']}\n\n{task['prompt']}"
        assert task["checks"] == [{"kind": "set", "values": right, "forbid": near}]
        assert (task["extras"], task["verify"]) == ({"kind": "none"}, None)
        assert (task["truth"]["answer"], task["truth"]["size"], task["truth"]["forbid"]) == (right, len(right), near)
    # Names of the published record, by kind.
    common = ["as_of", "answer", "size", "forbid"]
    assert [sorted(tasks[n]["truth"]) for n in (0, 4, 8, 12, 16)] == [
        sorted([*common, *names])
        for names in (
            ["target", "types", "shared_specialties", "unshared_specialties"],
            ["edge_types", "min_talents", "talent_filter"],
            ["target", "edge_types", "field", "value", "base", "linked_before"],
            ["day", "target", "edge_types", "moved_next_day", "linked_today"],
            ["target", "role", "edge_types", "hidden_matches"],
        )
    ]
    assert tasks[4]["truth"]["talent_filter"] == {"status": "published", "years_of_experience_min": 10}
    assert (tasks[15]["truth"]["as_of"], tasks[16]["truth"]["as_of"]) == ("2026-07-14", "2026-08-29")


def test_the_file_with_a_pilot_carries_its_stamps(published: World, twenty: list[Task]) -> None:
    pilot = Pilot(avoid=("company-000001",), stamps={fingerprint(twenty[0]): 6})
    content = file_of(published, drafts_of(published), pilot)
    assert content["dropped_targets"] == ["company-000001"]
    assert content["pilot"] == {"min_turns": 5, "dropped": [], "rounds": []}
    first, second = content["tasks"][:2]
    assert (first["min_baseline_turns"], first["pilot_fingerprint"]) == (6, fingerprint(twenty[0]))
    assert "min_baseline_turns" not in second


def test_the_file_has_the_same_bytes_in_every_process(other: World, tmp_path: Path) -> None:
    program = (
        "import hashlib, pathlib\n"
        "from memassay.suites.association.tasks import drafts_of, write_tasks\n"
        "from memassay.suites.association.world import make_world\n"
        "world, path = make_world(seed=7, scale=1000), pathlib.Path('tasks.json')\n"
        "write_tasks(path, world, drafts_of(world, count=6))\n"
        "print(hashlib.sha256(path.read_bytes()).hexdigest())\n"
    )
    path = tmp_path / "here.json"
    write_tasks(path, other, drafts_of(other, count=6))
    assert printed_elsewhere(program, tmp_path) == {hashlib.sha256(path.read_bytes()).hexdigest()}
    assert json.loads(path.read_text(encoding="utf-8"))["scale"] == 1000
