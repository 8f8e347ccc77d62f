"""The published twenty: targets, answers and near-misses come out exactly, word for word as this suite asks them."""

from __future__ import annotations

import json
import re
from typing import Any

from memassay.core.types import Task
from memassay.suites.association.grading import right_and_near
from memassay.suites.association.tasks import drafts_of, fingerprint, targets_of, tasks_of, wording
from memassay.suites.association.world import World

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
