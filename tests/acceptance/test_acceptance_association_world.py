"""The published world read back from what ``association`` has written: digest, history, links of the last day."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from association_kit import EDGES, FACTS, place_of

Facts = dict[str, Any]


def _from_files(place: Path) -> Facts:
    form = place / "form"
    nodes = [
        n for label in ("talent", "company", "job") for n in json.loads((form / f"entities/{label}.json").read_text())
    ]
    changes = [json.loads(line) for line in (form / "changes.jsonl").read_text("utf-8").splitlines()]
    return {"nodes": nodes, "changes": changes}


def _from_database(place: Path) -> Facts:
    def entity(row: sqlite3.Row, label: str) -> Facts:
        fields = dict(row)
        fields["location"] = [fields.pop("lat"), fields.pop("lon")]
        lists = {
            name.removesuffix("_json"): json.loads(fields.pop(name)) for name in list(fields) if name.endswith("_json")
        }
        return {"label": label, **fields, **lists}

    with closing(sqlite3.connect(place / "form" / "world.sqlite")) as base:
        base.row_factory = sqlite3.Row
        tables = {label: base.execute(f"SELECT * FROM {label} ORDER BY key") for label in ("Talent", "Company", "Job")}
        nodes = [entity(row, label) for label, rows in tables.items() for row in rows]
        changes = []
        for row in base.execute("SELECT * FROM changes ORDER BY seq"):
            one = {name: row[name] for name in ("day", "date", "op", "key", "field")}
            value, node = (None if row[name] is None else json.loads(row[name]) for name in ("value_json", "node_json"))
            changes.append({**one, "value": value, "node": node})
    return {"nodes": nodes, "changes": changes}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 9)
    return [_rounded(item) for item in value] if isinstance(value, list) else value


def _digest(facts: Facts) -> str:
    """The digest of the facts: SHA-256 over sorted JSON, floats rounded to nine decimals."""

    def node(one: Facts | None) -> Facts | None:
        if one is None:
            return None
        props = {name: _rounded(value) for name, value in one.items() if name not in ("key", "label", "embedding")}
        return {"key": one["key"], "label": one["label"], "props": props}

    nodes = [node(one) for one in facts["nodes"]]
    changes = [
        {**change, "value": _rounded(change["value"]), "node": node(change["node"])} for change in facts["changes"]
    ]
    text = json.dumps({"nodes": nodes, "changes": changes}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@pytest.fixture(scope="module")
def facts(published: Path) -> Facts:
    return _from_files(place_of(published / "stores", "json-files"))


def test_both_forms_hold_the_published_facts(published: Path, facts: Facts) -> None:
    assert _digest(facts) == FACTS
    assert _digest(_from_database(place_of(published / "stores", "sqlite"))) == FACTS


def test_the_history_is_the_published(facts: Facts) -> None:
    assert Counter(node["label"] for node in facts["nodes"]) == {"Talent": 1400, "Company": 400, "Job": 200}
    changes = facts["changes"]
    assert Counter(change["op"] for change in changes) == {"set_prop": 169, "insert_node": 83, "delete_node": 48}
    assert Counter(change["field"] for change in changes if change["op"] == "set_prop") == {
        "industry": 38,
        "location": 37,
        "size_bucket": 34,
        "specialties": 32,
        "status": 28,
    }
    for op, counts in (("insert_node", (54, 22, 7)), ("delete_node", (43, 1, 4))):
        labels = Counter(change["key"].split("-")[0] for change in changes if change["op"] == op)
        assert tuple(labels[label] for label in ("talent", "company", "job")) == counts
    assert len({change["day"] for change in changes}) == 83
    assert [change["day"] for change in changes] == sorted(change["day"] for change in changes)
    assert len({(change["day"], change["key"]) for change in changes}) == 300


def _last_day(facts: Facts) -> list[Facts]:
    live = {node["key"]: dict(node) for node in facts["nodes"]}
    for change in facts["changes"]:
        if change["op"] == "set_prop":
            live[change["key"]][change["field"]] = change["value"]
        elif change["op"] == "insert_node":
            live[change["key"]] = dict(change["node"])
        else:
            del live[change["key"]]
    return list(live.values())


def _overlap(one: list[list[str]], two: list[list[str]], least: float) -> Any:
    """Where two lists share that much of their union, and something at all."""
    words = sorted({word for words in (*one, *two) for word in words})
    has_one, has_two = (np.array([[word in row for word in words] for row in rows], dtype=int) for rows in (one, two))
    common = has_one @ has_two.T
    union = has_one.sum(axis=1)[:, None] + has_two.sum(axis=1)[None, :] - common
    return (common > 0) & (common >= least * union)


def _near(one: list[list[float]], two: list[list[float]]) -> Any:
    a, b = (np.radians(np.array(rows)) for rows in (one, two))
    half = np.sin((a[:, None, :] - b[None, :, :]) / 2) ** 2
    inner = half[..., 0] + np.cos(a[:, None, 0]) * np.cos(b[None, :, 0]) * half[..., 1]
    return 2 * 6371.0088 * np.arcsin(np.sqrt(inner)) <= 160.9


def test_the_rules_link_what_the_study_counted(facts: Facts) -> None:
    live = _last_day(facts)
    assert Counter(node["label"] for node in live) == {"Talent": 1411, "Company": 421, "Job": 203}
    talents = [node for node in live if node["label"] == "Talent"]
    found: dict[str, dict[str, int]] = {name: {} for name in EDGES}
    for label in ("Company", "Job"):
        others = [node for node in live if node["label"] == label]

        def both(field: str, others: list[Facts] = others) -> Iterator[list[Any]]:
            return ([node[field] for node in side] for side in (talents, others))

        industry, there = (np.array(side) for side in both("industry"))
        size, theirs = (np.array(side) for side in both("size_bucket"))
        links = {
            "INDUSTRY_ALIGNMENT": industry[:, None] == there[None, :],
            "SPECIALTY_MATCH": _overlap(*both("specialties"), 0.15),
            "LOCATION_FIT": _near(*both("location")),
        }
        if label == "Company":
            apart = np.abs(size[:, None] - theirs[None, :])
            links |= {"SIMILAR_SIZE": apart <= 1, "SIMILAR_SIZE_STRICT": apart == 0}
            links["MATCHES_DESIGN_STYLE"] = _overlap(*both("design_styles"), 0.2)
        for name, matrix in links.items():
            found[name][label] = int(matrix.sum())
    assert found == EDGES
    assert sum(sum(by_label.values()) for by_label in found.values()) == 1_268_333
