"""A marketplace for the agent ``reference``: small enough to be worked out by hand, written in both file forms."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

NYC, NEWARK, LA = [40.7, -74.0], [40.73, -74.17], [34.0, -118.2]  # Newark is 15 km from New York
THREE = "INDUSTRY_ALIGNMENT, SPECIALTY_MATCH and LOCATION_FIT"
T1, T2, T3, T4, T5, T6, T7, T8 = (f"talent-00000{n}" for n in range(1, 9))
C1, C2, C3, C4 = (f"company-00000{n}" for n in range(1, 5))
J1, J2 = "job-000001", "job-000002"


def entity(key: str, industry: str, specialties: str, styles: str, size: int, place: list[float], **more: Any) -> Any:
    return {
        "key": key,
        "label": key.partition("-")[0].capitalize(),
        "status": "published",
        "industry": industry,
        "specialties": specialties.split(),
        "design_styles": styles.split(),
        "size_bucket": size,
        "location": place,
        "address": "New York",
        **more,
    }


BASE = [
    entity(T1, "architecture", "civic retail", "bauhaus", 3, NYC, years_of_experience=12),
    entity(T2, "architecture", "civic", "", 1, NEWARK, years_of_experience=20),
    entity(T3, "architecture", "office", "bauhaus modern", 5, NYC, years_of_experience=4),
    entity(T4, "both", "civic retail", "modern", 2, LA, years_of_experience=15),
    entity(T6, "architecture", "civic", "", 3, NYC, years_of_experience=30),
    entity(T7, "architecture", "civic", "", 4, NYC, years_of_experience=11),
    entity(T8, "architecture", "office", "", 2, NYC, years_of_experience=25),
    entity(C1, "architecture", "civic office retail", "bauhaus modern", 3, NYC),
    entity(C2, "architecture", "housing", "", 4, NYC),
    entity(C3, "both", "civic", "modern", 1, LA),
    entity(J1, "architecture", "civic", "", 4, NYC),
    entity(J2, "architecture", "retail", "", 2, LA),
]


def change(date: str, op: str, key: str, field: str | None = None, value: Any = None, node: Any = None) -> Any:
    day = int(date[-2:]) - 1
    return {"day": day, "date": date, "op": op, "key": key, "field": field, "value": value, "node": node}


CHANGES = [
    change("2026-06-02", "set_prop", T2, "status", "draft"),
    change("2026-06-03", "set_prop", C2, "specialties", ["civic", "retail"]),
    change(
        "2026-06-04",
        "insert_node",
        T5,
        node=entity(T5, "architecture", "retail office civic", "", 3, NYC, years_of_experience=10),
    ),
    change("2026-06-05", "delete_node", T6),
    change("2026-06-06", "insert_node", C4, node=entity(C4, "architecture", "civic", "", 5, NYC)),
    change("2026-06-07", "set_prop", T1, "location", NEWARK),
    change("2026-06-08", "set_prop", T1, "location", LA),
    change("2026-06-09", "set_prop", T8, "specialties", ["retail"]),
    change("2026-06-10", "set_prop", T3, "industry", "both"),
]

ROLES = {"client": ["Company", "Job"], "recruiter": ["Talent", "Job"]}


class Asked(NamedTuple):
    """A question; ``spoiled`` names the mistakes that change its answer and the score that is left."""

    text: str
    answer: str
    near: str = ""
    spoiled: dict[str, float] = {}  # noqa: RUF012


def retraction(field: str, value: Any, types: str) -> str:
    return (
        f"After the whole history, suppose that {field} of {C1} became {json.dumps(value)}. Which talents that are now "
        f"linked to it by all of {types} would no longer be linked to it by all three? List the talent keys."
    )


def timetravel(date: str, talent: str) -> str:
    return f"At the end of {date}, to which companies was {talent} linked by all of {THREE}? List the company keys."


def why(talent: str, company: str) -> str:
    return (
        f"After the whole history, why are {talent} and {company} associated? List every relationship type that links "
        "the two, then every specialty they share."
    )


def visibility(role: str, talent: str, types: str) -> str:
    return (
        f"After the whole history, and seen with the role {role}, to which entities is {talent} linked by {types}? "
        "List the keys."
    )


def likeness(role: str, key: str) -> str:
    return (
        f"After the whole history, and seen with the role {role}, which other entities have the industry and the size "
        f"bucket of {key} and at least one of its specialties? List the keys."
    )


MULTIHOP = (
    f"After the whole history, which companies are linked by {THREE}, by all three to the same talent, to at least 3 "
    "talents that have the status published and at least 10 years of experience? List the company keys."
)

QUESTIONS = [
    # Both work in architecture and share one of two specialties; T1 is in Los Angeles by now, C4 in New York.
    Asked(
        why(T1, C4),
        "INDUSTRY_ALIGNMENT SPECIALTY_MATCH civic",
        "LOCATION_FIT SIMILAR_SIZE retail",
        {"first": 0.3333, "size": 0.75},
    ),
    # Everything but the place.
    Asked(
        why(T1, C1),
        "INDUSTRY_ALIGNMENT SPECIALTY_MATCH SIMILAR_SIZE MATCHES_DESIGN_STYLE SIMILAR_SIZE_STRICT civic retail",
        "LOCATION_FIT office",
        {"first": 0.1429},
    ),
    # T5, T7 and T8 reach C1 and C2; T5 and T7 reach C4; T4 alone reaches C3. T2 would count if it were published.
    Asked(MULTIHOP, f"{C1} {C2}", C4, {"first": 0.5, "short": 0.75}),
    # T2, T5, T7 and T8 are linked to C1; of them only T5 does offices, too.
    Asked(retraction("specialties", ["office"], THREE), f"{T2} {T7} {T8}", T5, {"first": 0.3333, "stays": 0.75}),
    # T5 (3), T7 (4) and T8 (2) are near 3, only T7 is near 5.
    Asked(
        retraction("size_bucket", 5, "INDUSTRY_ALIGNMENT, SIMILAR_SIZE and LOCATION_FIT"),
        f"{T5} {T8}",
        T7,
        {"first": 0.5, "stays": 0.75},
    ),
    # T8 did offices, as C1 does; today it does retail, as C2 does, too.
    Asked(timetravel("2026-06-06", T8), C1, C2, {"today": 0.75}),
    # Still in New York, on the very day of C4; C2 changed before. Today in Los Angeles, with nobody.
    Asked(timetravel("2026-06-06", T1), f"{C1} {C2} {C4}", "", {"first": 0.3333, "today": 0.0}),
    Asked(timetravel("2026-06-02", T1), C1, C4, {"today": 0.0}),
    # Gone the day after.
    Asked(timetravel("2026-06-04", T6), f"{C1} {C2}", "", {"first": 0.5, "today": 0.0}),
    Asked(
        visibility("recruiter", T1, "both of INDUSTRY_ALIGNMENT and SPECIALTY_MATCH"),
        f"{J1} {J2}",
        f"{C1} {C2} {C4}",
        {"first": 0.5, "blind": 0.25},
    ),
    Asked(visibility("recruiter", T2, f"all of {THREE}"), J1, f"{C1} {C2}", {"blind": 0.5}),
    # T7 is just as much alike, and a talent.
    Asked(likeness("client", C2), J1, T7, {"blind": 0.75}),
    # A client sees no talent, so it sees no link of one.
    Asked(visibility("client", T1, f"all of {THREE}"), "none", J2, {"blind": 0.0}),
    Asked(visibility("client", T2, f"all of {THREE}"), "none", f"{C1} {J1}", {"blind": 0.0}),
]


def prompt(question: str) -> str:
    return f"Use only the data you were given.\n\n{question}\n\nName nothing else: no near misses."


def score(text: str, right: str, near: str) -> float:
    """The grader's arithmetic, on its own: recall less a quarter per near-miss, at least 0.

    Either of the two types of size counts as SIMILAR_SIZE where that is a near-miss.
    """
    named = set(re.findall(r"[\w-]+", text))
    recall = len(named & set(right.split())) / len(right.split())
    wrong = sum(
        bool(named & ({value, f"{value}_STRICT"} if value == "SIMILAR_SIZE" else {value})) for value in near.split()
    )
    return round(max(0.0, recall - 0.25 * wrong), 4)


def write_files(folder: Path) -> Path:
    (folder / "entities").mkdir(parents=True)
    for label in ("Talent", "Company", "Job"):
        rows = [row for row in BASE if row["label"] == label]
        (folder / "entities" / f"{label.lower()}.json").write_text(json.dumps(rows, indent=2), encoding="utf-8")
    lines = "".join(f"{json.dumps(row)}\n" for row in CHANGES)
    (folder / "changes.jsonl").write_text(lines, encoding="utf-8")
    (folder / "roles.json").write_text(json.dumps(ROLES), encoding="utf-8")
    return folder


_SHARED = "key, status, industry, specialties_json, design_styles_json, size_bucket, lat, lon, address"


def write_sqlite(folder: Path) -> Path:
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "world.sqlite")) as base:
        for label, more in (("talent", ", years_of_experience"), ("company", ""), ("job", "")):
            base.execute(f"CREATE TABLE {label} ({_SHARED}{more})")
            rows = [_row(row) for row in BASE if row["label"].lower() == label]
            base.executemany(f"INSERT INTO {label} VALUES ({', '.join('?' * len(rows[0]))})", rows)
        base.execute("CREATE TABLE changes (seq INTEGER, day, date, op, key, field, value_json, node_json)")
        base.executemany(f"INSERT INTO changes VALUES ({', '.join('?' * 8)})", map(_history, enumerate(CHANGES)))
        base.execute("CREATE TABLE roles (name, labels_json)")
        base.executemany("INSERT INTO roles VALUES (?, ?)", [(name, json.dumps(seen)) for name, seen in ROLES.items()])
        base.commit()
    return folder


def _row(row: Any) -> Sequence[Any]:
    lists = (json.dumps(row["specialties"]), json.dumps(row["design_styles"]))
    years = (row["years_of_experience"],) if row["label"] == "Talent" else ()
    first = (row["key"], row["status"], row["industry"])
    return (*first, *lists, row["size_bucket"], *row["location"], row["address"], *years)


def _history(numbered: tuple[int, Any]) -> Sequence[Any]:
    seq, row = numbered
    value = None if row["op"] != "set_prop" else json.dumps(row["value"])
    node = None if row["node"] is None else json.dumps(row["node"])
    return (seq, row["day"], row["date"], row["op"], row["key"], row["field"], value, node)
