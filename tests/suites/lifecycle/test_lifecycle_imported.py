"""Protocols of others with their warehouse: what is served, what a plan says, and that they are played to the end."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import lifecycle_analyst
import pytest
import yaml
from lifecycle_protocols import TRANSFER, values
from lifecycle_yard import PROTOCOLS, urn, write_yard

from memassay.core.contracts import BuildContext
from memassay.core.digest import digest_of
from memassay.core.draws import Draw
from memassay.core.errors import DataError, UsageError
from memassay.memories.platform import PlatformMemory
from memassay.memories.platform.memory import SEED, WAREHOUSE, Seed
from memassay.platform.entities import dataset_urn
from memassay.platform.warehouse import Warehouse as Served
from memassay.running.experiment import experiment_of
from memassay.running.pipeline import Place, run_experiment
from memassay.running.plan import Plan, make_plan
from memassay.suites.lifecycle.databases import load_warehouse
from memassay.suites.lifecycle.holdings import Holdings, holdings_for
from memassay.suites.lifecycle.protocol import protocol_of
from memassay.suites.lifecycle.suite import NOTHING_KEPT, PERFECT, Lifecycle
from memassay.suites.lifecycle.tables import Column, Table, Tables

HASH = {"embedder": "hash", "supersede": 0.6, "similar": 0.4}
NO_WAREHOUSE = (
    "They came without their warehouse, so the embedded platform has no rows to answer from: "
    "--set lifecycle.warehouse=FILE."
)


def table(name: str, place: str = "") -> Table:
    return Table(name, place, (Column("a", "INTEGER", "a whole number"),), ((1,),))


def lesson(where: str) -> Any:
    return protocol_of(values(entity_urn=where), "a test")


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """Three protocols, and their warehouse as a script."""
    yield write_yard(tmp_path_factory.mktemp("yard"))


@pytest.fixture(scope="module")
def database(yard: tuple[Path, Path]) -> Path:
    """The same warehouse as SQLite."""
    pytest.importorskip("sqlglot", reason="the extra platform is not installed")
    path = yard[1].with_suffix(".sqlite")
    load_warehouse(yard[1]).write(path)
    return path


def served(held: Holdings, place: Path) -> Served:
    """The warehouse that a platform opens, as the memory builds it for one."""
    corpus = Lifecycle(count=1).corpora()[0].model_copy(update={"native": held, "digest": held.digest})
    place.mkdir()
    PlatformMemory(**HASH).build(corpus, place, BuildContext())
    seed = Seed.model_validate_json((place / SEED).read_bytes())
    assert seed.entities == held.entities
    return Served(place / WAREHOUSE, str(seed.settings["warehouse_schema"]))


# -- what is served ------------------------------------------------------------------------------------------------


def test_the_catalogue_has_every_table_of_the_warehouse(yard: tuple[Path, Path], database: Path) -> None:
    held = Lifecycle(protocols=str(yard[0]), warehouse=str(database)).holdings
    assert held.settings == {"warehouse_schema": "fleet.yard"}
    assert {entity.urn: (entity.name, entity.description) for entity in held.entities} == {
        urn("boats"): ("fleet.yard.boats", "A table of 6 columns."),
        urn("refits"): ("fleet.yard.refits", "A table of 4 columns."),
    }
    script = Lifecycle(protocols=str(yard[0]), warehouse=str(yard[1])).holdings
    boats = script.entities[0]
    assert boats.description == "Every boat that the yard has launched."
    assert boats.columns["masts"] == "how many stand (a whole number)"
    assert script.warehouse is not None and held.warehouse is not None
    assert script.warehouse.digest == held.warehouse.digest and script.digest != held.digest


def test_rows_are_served_under_their_full_names(yard: tuple[Path, Path], database: Path, tmp_path: Path) -> None:
    held = Lifecycle(protocols=str(yard[0]), warehouse=str(database)).holdings
    warehouse = served(held, tmp_path / "p")
    assert warehouse.tables() == ("fleet.yard.boats", "fleet.yard.refits")
    sql = "SELECT count(*) AS n FROM fleet.yard.boats WHERE launched_at >= '2025-01-01 00:00:00'"
    result, read = warehouse.query(sql, 10)
    assert result.rows == ({"n": 2},) and read == ("fleet.yard.boats",)


@pytest.mark.parametrize(
    ("places", "named", "said"),
    [
        (("", ""), ("c.s.a", "c.s.none"), "is about urn:li:dataset:(urn:li:dataPlatform:trino,c.s.none,PROD), and the "
         "warehouse has only these tables of c.s: a, b; give the warehouse of these protocols."),
        (("c.s", "d.s"), ("c.s.a",), "makes d.s.b, and the protocols are about tables of c.s; leave it out."),
        (("", ""), ("c.s.a", "c.other.b"), "about tables of c.s and of c.other, and a warehouse has one schema: "
         "import the protocols of one at a time."),
        (("", ""), ("main.a",), "with a warehouse that must be the URN of a table, such as "
         "urn:li:dataset:(urn:li:dataPlatform:trino,catalog.schema.table,PROD)."),
    ],
)  # fmt: skip
def test_a_warehouse_that_is_not_of_these_protocols(places: tuple[str, str], named: tuple[str, ...], said: str) -> None:
    tables = Tables((table("a", places[0]), table("b", places[1])))
    with pytest.raises(DataError) as caught:
        holdings_for([lesson(dataset_urn(name)) for name in named], tables)
    assert said in str(caught.value)


def test_names_of_places_may_be_short() -> None:
    for place in ("", "s", "c.s"):
        held = holdings_for([lesson(dataset_urn("c.s.a"))], Tables((table("a", place),)))
        assert [entity.urn for entity in held.entities] == [dataset_urn("c.s.a")]
    with pytest.raises(DataError, match=r"makes other\.a"):
        holdings_for([lesson(dataset_urn("c.s.a"))], Tables((table("a", "other"),)))
    other = TRANSFER["entity_urn"].replace("trino", "sqlite")
    with pytest.raises(DataError, match="Protocol p-1 is about urn:li:dataset"):
        holdings_for([lesson(other)], Tables((table("a"),)))


# -- what a plan says ----------------------------------------------------------------------------------------------


def test_what_stands_in_the_way_is_said_at_once(yard: tuple[Path, Path], database: Path, tmp_path: Path) -> None:
    _, *said = Lifecycle(protocols=str(yard[0])).about()
    prose = (
        "3 of 3 facts are prose without SQL: the agents rules and scripted-lifecycle can keep them and answer none, "
        "so give an agent with a model."
    )
    assert said == [NO_WAREHOUSE, prose]
    assert Lifecycle(protocols=str(yard[0]), warehouse=str(database)).about()[1:] == [prose]
    stated = {**PROTOCOLS[0], "fact": "A 'tall' boat is tall. SQL: SELECT count(*)\nFROM fleet.yard.boats;"}
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(stated), "utf-8")
    assert len(Lifecycle(protocols=str(tmp_path), warehouse=str(database)).about()) == 1
    assert len(Lifecycle(count=1).about()) == 1


def test_only_a_control_that_can_hold(yard: tuple[Path, Path], database: Path) -> None:
    for given in ({}, {"warehouse": str(database)}, {"choices": ()}):
        [control] = Lifecycle(protocols=str(yard[0]), **given).controls()
        assert (control.arm, control.metric, control.low, control.high) == (NOTHING_KEPT, "pass", 0.0, 0.0)
    assert [control.arm for control in Lifecycle(count=1, choices=()).controls()] == [PERFECT]


def test_a_warehouse_is_of_imported_protocols_and_tells_runs_apart(yard: tuple[Path, Path], database: Path) -> None:
    with pytest.raises(UsageError, match=r"warehouse is of protocols that are imported, ours have their own"):
        Lifecycle(warehouse="w.sqlite")
    folder = str(yard[0])
    suites = [Lifecycle(protocols=folder), Lifecycle(protocols=folder, warehouse=str(database))]
    assert len({digest_of(dict(suite.identity())) for suite in suites}) == 2
    assert len({suite.corpora()[0].digest for suite in suites}) == 2
    with pytest.raises(DataError, match=r"The warehouse .* cannot be read"):
        Lifecycle(protocols=folder, warehouse="nowhere.sql").about()
    assert Lifecycle(protocols="nowhere", warehouse="nowhere.sql").name, "nothing is read before it is needed"


# -- runs ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["script", "sqlite"])
def test_imported_protocols_are_played_to_the_end(
    yard: tuple[Path, Path], database: Path, kind: str, tmp_path: Path
) -> None:
    options = {"protocols": str(yard[0]), "warehouse": str(yard[1] if kind == "script" else database)}
    experiment = experiment_of(
        {
            "suite": "lifecycle",
            "options": options,
            "agent": f"{lifecycle_analyst.__file__}:Analyst",
            "memories": {"platform": {"use": "platform", **HASH}},
        }
    )
    summary = run_experiment(experiment, Place(out=tmp_path / "r", workers=2))
    assert (summary["data"], summary["sample"]) == ("real", False)
    found = {name: metric["value"] for name, metric in summary["arms"]["platform"]["metrics"].items()}
    for name in ("pass", "personal_recall", "transfer_rate", "update_correctness", "abstention_rate", "strict:pass"):
        assert found[name] == 1.0, name
    assert found["duplicate_rate"] == found["strict:never_taught"] == found["strict:isolation_leak"] == 0.0
    assert found["strict:rollback_gone"] == 1.0, "of both sinks"
    assert summary["controls"]["nothing-kept"]["passed"] is True
    records = [json.loads(line) for line in (tmp_path / "r" / "answers-1of1.jsonl").read_text("utf-8").splitlines()]
    said = {
        (record["cell"]["task"], step["name"]): step["text"]
        for record in records
        if record["cell"]["arm"] == "platform"
        for step in record["steps"]
    }
    assert said["yard-tall", "transfer"] == "FINAL ANSWER: 4"
    assert said["yard-home", "transfer"] == "FINAL ANSWER: Turku"
    assert (said["yard-refit", "recall"], said["yard-refit", "update_recall"]) == (
        "FINAL ANSWER: 99.5", "FINAL ANSWER: 75.5",
    )  # fmt: skip


# -- the published thirty ------------------------------------------------------------------------------------------


def published_shape(seed: int) -> str:
    """A script with the tables, columns and sizes of the published warehouse; the rows are drawn from a seed."""
    draw = Draw(f"lifecycle-published-shape-{seed}")
    first = datetime(2025, 1, 1)  # noqa: DTZ001 - the script has no time zone

    def moment(days: int, minutes: int) -> str:
        return f"{first + timedelta(days=days, minutes=minutes)}"

    regions, tiers, ends = (
        ("North", "South", "East", "West"),
        ("basic", "plus", "enterprise"),
        ("completed", "refunded"),
    )
    customers = [
        f"({n}, 'C {n}', '{draw.pick(regions)}', '{draw.pick(tiers)}', TIMESTAMP '{moment(-1 - draw.below(700), 0)}')"
        for n in range(1, 81)
    ]
    orders = [
        f"({n}, {1 + draw.below(80)}, TIMESTAMP '{moment(draw.below(365), draw.below(1440))}', '{draw.pick(ends)}', "
        f"{draw.below(400_000)}, {draw.below(9_000)})"
        for n in range(1000, 2200)
    ]
    legacy = [f"({n}, 1, DATE '{moment(n % 300, 0)[:10]}', {draw.below(400_000) / 100:.2f})" for n in range(1000, 1060)]
    daily = [
        f"(DATE '{moment(n // 2, 0)[:10]}', '{regions[n % 2]}', {draw.below(400_000) / 100:.2f})" for n in range(625)
    ]
    made = {
        "customers": (
            "customer_id INTEGER, name VARCHAR, region VARCHAR, tier VARCHAR, created_at TIMESTAMP",
            customers,
        ),
        "orders": (
            "order_id INTEGER, customer_id INTEGER, order_ts TIMESTAMP, status VARCHAR, amount INTEGER, "
            "discount INTEGER",
            orders,
        ),
        "legacy_orders": ("order_id INTEGER, customer_id INTEGER, order_date DATE, total DOUBLE", legacy),
        "daily_region_revenue": ("day DATE, region VARCHAR, gross_revenue_usd DOUBLE", daily),
    }
    parts = ["CREATE SCHEMA IF NOT EXISTS memory.bench;"]
    for name, (columns, rows) in made.items():
        parts += [
            f"DROP TABLE IF EXISTS memory.bench.{name};",
            f"CREATE TABLE memory.bench.{name} ({columns});",
            f"INSERT INTO memory.bench.{name} VALUES\n" + ",\n".join(rows) + ";",
        ]
    return "\n".join(parts)


@pytest.mark.data
def test_the_published_thirty_with_a_warehouse_of_their_shape(published_folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("sqlglot", reason="the extra platform is not installed")
    script = tmp_path / "setup.sql"
    script.write_text(published_shape(1), "utf-8")
    options = {"protocols": str(published_folder), "warehouse": str(script)}
    plan: Plan = make_plan(experiment_of({"suite": "lifecycle", "options": options}))
    settings = plan.identity["suite_settings"]
    assert settings["protocols"]["hash"] == "daeac8a49319e6240541f905e1acf45d99e47fa4e4958ee0203d5f4fe1245695"
    assert (settings["protocols"]["count"], settings["set"]) == (30, "the thirty that are published")
    assert len(plan.tasks) == 30 and [arm.name for arm in plan.arms] == ["platform", "nothing-kept"]
    [corpus] = plan.corpora.values()
    assert settings["warehouse"] == corpus.digest
    warehouse = served(corpus.native, tmp_path / "p")
    sizes = {name: warehouse.describe(name).row_count for name in warehouse.tables()}
    assert sizes == {
        "memory.bench.customers": 80, "memory.bench.orders": 1200, "memory.bench.legacy_orders": 60,
        "memory.bench.daily_region_revenue": 625,
    }  # fmt: skip
    urns = Counter(protocol.entity_urn for protocol in Lifecycle(**options).protocols)
    assert urns == {dataset_urn("memory.bench.orders"): 20, dataset_urn("memory.bench.customers"): 10}
    assert urns.keys() <= {entity.urn for entity in corpus.native.entities}
