"""A small warehouse as a Trino script, and three protocols about it in prose, as somebody else would have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

SCRIPT = """\
-- Boats of a yard.
CREATE SCHEMA IF NOT EXISTS fleet.yard;

DROP TABLE IF EXISTS fleet.yard.boats;
CREATE TABLE fleet.yard.boats (
    boat_id INTEGER NOT NULL,
    name VARCHAR(40),
    port VARCHAR,
    masts INTEGER COMMENT 'how many stand',
    state VARCHAR,
    launched_at TIMESTAMP
) COMMENT 'Every boat that the yard has launched.';
INSERT INTO fleet.yard.boats VALUES
(1, 'Anna', 'Riga', 1, 'docked', TIMESTAMP '2024-02-02 15:00:00'),
(2, 'Bo''s', 'Riga', 3, 'afloat', TIMESTAMP '2024-03-15 19:00:00'),
(3, 'Cato; DROP', 'Turku', 2, 'afloat', TIMESTAMP '2025-08-19 16:00:00'),
(4, 'Dora', 'Turku', 4, 'docked', TIMESTAMP '2025-05-15 00:00:00'),
(5, NULL, 'Riga', 2, 'lost', TIMESTAMP '2024-07-27 23:00:00');

DROP TABLE IF EXISTS fleet.yard.refits;
CREATE TABLE fleet.yard.refits (boat_id INTEGER, done_on DATE, cost DECIMAL(10, 2), paid BOOLEAN);
INSERT INTO fleet.yard.refits (cost, boat_id, done_on, paid) VALUES
(100.25, 1, DATE '2025-01-01', true),
(DECIMAL '50.50', 2, DATE '2025-02-01', false),
(25, 3, NULL, NULL),
(-0.75, 4, DATE '2025-03-01', true);
"""


def urn(table: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:trino,fleet.yard.{table},PROD)"


def number(value: float) -> dict[str, Any]:
    return {"kind": "numeric", "value": value, "abs_tolerance": 0.01}


def name(right: str, *wrong: str) -> dict[str, Any]:
    return {"kind": "entity", "aliases": [right], "wrong_aliases": list(wrong)}


def lesson(id: str, table: str, fact: str, question: str, key: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": id,
        "title": id,
        "fact": fact,
        "entity_urn": urn(table),
        "budget_tool_calls": 15,
        "teach": {"prompt": f"Remember: {fact}"},
        "recall": {"prompt": question, "grading": key},
        "abstain": {"prompt": f"What does the crew say? {question}"},
        **more,
    }


TALL = "A 'tall' boat has at least 2 masts, in fleet.yard.boats."
HOME = "The 'home' port is the one with the most boats launched in 2025, in fleet.yard.boats."
REFIT = "The 'refit' sum is over docked boats, in fleet.yard.refits."
REFIT_NOW = "The 'refit' sum is over afloat boats, in fleet.yard.refits."
ASKED = {
    "tall": "How many 'tall' boats are there?",
    "home": "Which is the 'home' port?",
    "refit": "What is the 'refit' sum?",
}

PROTOCOLS = (
    lesson(
        "yard-tall", "boats", TALL, ASKED["tall"], number(4),
        sink="knowledge_page",
        page={"slug": "tall", "title": "Tall boats", "summary": TALL, "body": f"# Tall boats\n\n{TALL}"},
        transfer={"prompt": ASKED["tall"], "grading": number(4)},
    ),
    lesson(
        "yard-home", "boats", HOME, ASKED["home"], name("Turku", "Riga"),
        sink="datahub",
        transfer={"prompt": ASKED["home"], "grading": name("Turku", "Riga")},
    ),
    lesson(
        "yard-refit", "refits", REFIT, ASKED["refit"], number(99.5),
        sink="datahub",
        update={
            "prompt": f"Remember: {REFIT_NOW}",
            "fact": REFIT_NOW,
            "recall": {"prompt": ASKED["refit"], "grading": number(75.5)},
        },
    ),
)  # fmt: skip


def write_yard(folder: Path) -> tuple[Path, Path]:
    """The folder of the protocols, and the script."""
    protocols = folder / "protocols"
    protocols.mkdir(parents=True)
    for one in PROTOCOLS:
        (protocols / f"{one['id']}.yaml").write_text(yaml.safe_dump(one, sort_keys=False), "utf-8")
    script = folder / "setup.sql"
    script.write_text(SCRIPT, "utf-8")
    return protocols, script
