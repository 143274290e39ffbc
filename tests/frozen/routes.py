"""Routes of every engine, made from units and storage that stand still: each statement, and the digest to approve."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

import tests.db2.every_route
import tests.db2.test_new_space as test_db2_space
import tests.oracle.every_route
import tests.oracle.test_new_space as test_oracle_space
import tests.sqlserver.every_route
from connectors.db2 import partitions, restrictions
from connectors.db2 import partitions as db2_calendar
from connectors.db2 import partitions as db2_ranges
from connectors.db2.names import Key, Part
from connectors.db2.new_space import routes_new_space as db2_space
from connectors.db2.operations import TableHomes
from connectors.db2.table_move import by_hand as db2_split
from connectors.kit.rolling import Range
from connectors.kit.templates import StatementTemplate
from connectors.model.moves import Border, Bundle, ByHand, NoRoute, Route, Step, UnitKind
from connectors.oracle import partitions as oracle_calendar
from connectors.oracle import partitions as oracle_partitions
from connectors.oracle import routes as oracle_available
from connectors.oracle.manual_scripts import by_hand as oracle_split
from connectors.postgresql import partitions as by_calendar
from connectors.postgresql import routes as available
from connectors.postgresql.catalog import INDEX, MATERIALIZED_VIEW, Relation
from connectors.postgresql.close import Closable, route_of_closing, values_of_closing
from connectors.postgresql.partitions import PartitionedTable
from connectors.postgresql.replication import Replication
from connectors.postgresql.settings import PostgresqlSettings
from connectors.postgresql.split import routes_of_split
from connectors.postgresql.split_table import (
    BorderValue,
    Grant,
    PartitionKey,
    SplitColumn,
    SplitTable,
    TableConstraint,
    TableIndex,
)
from connectors.simulated.mover import routes as simulated_routes
from connectors.simulated.settings import SimulatedSettings
from connectors.simulated.world import shared_world
from connectors.sqlserver import partitions as sqlserver_calendar
from connectors.sqlserver import partitions as sqlserver_ranges
from connectors.sqlserver.ddl import ServerFeatures
from connectors.sqlserver.definition import DataSpace
from connectors.sqlserver.new_space import routes_new_space as sqlserver_space
from connectors.sqlserver.routes import by_hand as sqlserver_split
from tests.db2 import facts as db2
from tests.db2 import test_plan_only
from tests.frozen.kept import Frozen
from tests.oracle import made as oracle
from tests.oracle import test_file_out
from tests.sqlserver import made as sqlserver
from tests.sqlserver.moving import test_new_filegroups
from tests.unit.samples import a_move, a_proposal
from tests.virtual_clock import VirtualClock

GIB = 1 << 30
DAYS = [datetime(2030, 2, number, tzinfo=UTC) for number in (1, 2, 3)]
POSTGRESQL = PostgresqlSettings(dbname="shop", user="hotplace")
Found = Route | ByHand | NoRoute | StatementTemplate


def routes() -> Frozen:
    """By engine and form."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "SECRET", "x")
        engines = {
            "postgresql": _of_postgresql(), "db2": _of_db2(), "db2 i and zos": _of_other_db2(),
            "oracle": _of_oracle(), "sqlserver": _of_sqlserver(), "simulated": _of_simulated(),
        }  # fmt: skip
        found = {f"{engine}: {name}": one for engine, all_of in engines.items() for name, one in all_of.items()}
        return Frozen({name: _written(one) for name, one in found.items()})


def _written(found: Found) -> str:
    if isinstance(found, NoRoute):
        return f"none ({found.code}): {found.sentence}\n"
    if isinstance(found, ByHand):
        return "\n".join([f"by hand: {found.because}", *found.statements])
    if isinstance(found, StatementTemplate):
        texts = (f"{text.role}: {text.sql}" for text in found.texts)
        return "\n".join([found.name, *texts, *(f"parameter: {each}" for each in found.parameters)])
    return "\n".join(_lines(found))


def _lines(route: Route) -> Iterator[str]:
    """What is sent, then a digest over all that an approval of it covers."""
    yield f"{route.name} to {route.to_space}, {'online' if route.online else 'offline'}; {route.locks}"
    yield from (f"before: {sql}" for sql in route.prologue)
    yield from (f"before, patiently: {sql}" for sql in route.patient_prologue)
    for title, steps in (("there", route.steps), ("back", route.undo_steps), ("tidy", route.tidy_steps)):
        for step in steps:
            yield f"{title}: -- {step.purpose}"
            yield from _of_step(title, step)
    if route.by_hand is not None:
        hand = route.by_hand
        yield f"by hand: {hand.because}"
        for title, lines in (
            ("before", hand.before),
            ("run", hand.statements),
            ("after", hand.after),
            ("undo", hand.undo),
        ):
            yield from (f"by hand, {title}: {line}" for line in lines)
    yield from (f"note: {note}" for note in route.notes)
    proposal = a_proposal(a_move(key=route.bundle.key, size_bytes=route.bundle.size_bytes, route=route))
    yield f"digest: {proposal.digest}"


def _of_step(title: str, step: Step) -> Iterator[str]:
    for name, text in (
        ("", step.sql),
        (" pause", step.pause_sql),
        (" resume", step.resume_sql),
        (" undo", step.undo_sql),
    ):
        if text:
            yield f"{title}{name}: {text}"


def _numbered(name: str, found: Iterable[Route] | NoRoute) -> dict[str, Found]:
    return {name: found} if isinstance(found, NoRoute) else {f"{name} {at}": route for at, route in enumerate(found)}


def _ranges(name: str, key: str, **common: Any) -> tuple[Range, ...]:
    """Two days, whose names say when they begin."""
    return tuple(
        Range(id=at, name=low.strftime(name), key=low.strftime(key), low=low, high=high, size_bytes=1, **common)
        for at, (low, high) in enumerate(pairwise(DAYS), start=1)
    )


# -- PostgreSQL ------------------------------------------------------------------------------------------------------


def _of_postgresql() -> dict[str, Found]:
    index = _relation("orders_pkey", kind=INDEX, table_oid=100)
    ways = {
        "table": _ways(_relation("orders")),
        "table of an odd name": _ways(_relation('it\'s a "table"')),
        "materialized view": _ways(_relation("sums", kind=MATERIALIZED_VIEW)),
        "partition": _ways(_relation("orders_2024", partition=True)),
        "index": _ways(index),
        "index, fast": _ways(index, POSTGRESQL.model_copy(update={"index_route": "fast"})),
        "index of an exclusion": _ways(replace(index, exclusion=True)),
        "index of a partition": _ways(replace(index, partition=True)),
        "unlogged table": _ways(_relation("stage", persistence="u")),
        "on a standby": _ways(_relation("orders", standby=True)),
        "gone": _ways(None),
        "remote apply": _ways(
            _relation("orders"),
            replication=Replication(synchronous_names="*", synchronous_commit="remote_apply", remote_apply=True),
        ),
    }
    found = {name: route for way, many in ways.items() for name, route in _numbered(way, many).items()}
    return {
        **found,
        "split ahead": _split(86400.0 * 30, 0.0),
        "split behind": _split(-86400.0, 0.3),
        "split behind, too much": _split(-86400.0, 0.3, most_mib=100),
        **_close(),
        **_days(),
    }


def _relation(name: str, **changes: Any) -> Relation:
    made = Relation(
        oid=100, schema="public", name=name, kind="r", partition=False, persistence="p", mapped=False, system=False,
        space_oid=1, space="slow", target_oid=2, exclusion=False, valid=True, table_oid=100,
        table_key="public.orders", table_space="slow", table_bytes=4 * GIB, indexes=2, bytes=GIB, file="base/5/100",
        data_directory=None, wal_level="replica", standby=False, system_identifier=7, deadlock_seconds=1.0, service="",
    )  # fmt: skip
    return replace(made, **changes)


def _ways(
    relation: Relation | None, settings: PostgresqlSettings = POSTGRESQL, replication: Replication | None = None
) -> tuple[Route, ...] | NoRoute:
    bundle = _bundle("public.gone" if relation is None else f'public."{relation.name}"')
    return available.routes_of(relation, bundle, "fast", settings, replication or Replication())


def _bundle(key: str) -> Bundle:
    return Bundle(key=key, physical_ids=(100,), unit_keys=(key,), kind=UnitKind.TABLE, size_bytes=GIB, space="slow")


def _table(name: str = "orders", oid: int = 100) -> SplitTable:
    """With a key, an index, a comment, grants and storage options."""
    return SplitTable.model_validate(
        {
            "oid": oid, "schema_": "public", "name": name, "owner": "shop", "kind": "r", "persistence": "p",
            "partition": False, "typed": False, "inherits": False, "rules": (), "triggers": (), "publications": (),
            "incoming_keys": (), "dependents": (), "extension": None, "statistics": (), "foreign_code": (),
            "labels": False, "replica_identity": "d", "row_security": False, "forced_row_security": False,
            "options": ("fillfactor=90",), "toast_options": (), "access_method": "heap", "comment": "it's one",
            "bytes": 2 * GIB, "heap_bytes": GIB, "granted": True,
            "grants": (Grant(grantor="shop", grantee="clerk", privilege="SELECT", grantable=False, column=None),),
            "columns": (_column(1, "day", "date"), _column(2, "customer", "integer")),
            "constraints": (
                TableConstraint(name="positive", type="c", definition="CHECK ((customer > 0))", valid=True,
                                no_inherit=False, comment=None),
            ),
            "indexes": (
                TableIndex(
                    name="by_day", definition="CREATE INDEX by_day ON public.orders USING btree (day, customer)",
                    unique=False, valid=True, replica_identity=False, key=(1, 2), constraint=None,
                    constraint_definition=None, bytes=GIB // 4, options=(), statistics=False, comment=None,
                    constraint_comment=None,
                ),
            ),
            "policies": (), "sequences": (), "inserts_per_second": 10.0, "taken": (),
        }
    )  # fmt: skip


def _column(number: int, name: str, kind: str) -> SplitColumn:
    return SplitColumn(
        number=number, name=name, type=kind, built_in=True, not_null=True, identity="", generated="", statistics=None,
        options=(), analyzed=True,
    )  # fmt: skip


def _split(ahead_seconds: float, present: float, most_mib: int = 1024) -> Route | NoRoute:
    border = BorderValue("2030-02-01", ahead_seconds)
    return routes_of_split(
        _relation("orders"), _table(), border, present, "day", _bundle("public.orders"), "fast",
        POSTGRESQL.model_copy(update={"split_back_mib": most_mib}),
    )  # fmt: skip


def _close() -> dict[str, Found]:
    by = PartitionKey(
        strategy="r", columns=1, column="day", has_default=False, schema="public", name="orders_p1",
        key="public.orders_p1", kind="r", low="2030-01-01", space="slow",
    )  # fmt: skip
    whole, part = (
        _table().model_copy(update={"kind": "p"}),
        _table("orders_p1", 101).model_copy(update={"partition": True}),
    )
    found = Closable(
        by=by, table=whole, part=part, column=whole.columns[0], relation=_relation("orders_p1", partition=True)
    )
    return {"close": route_of_closing(found, values_of_closing(found, "2030-02-01"), "fast", POSTGRESQL)}


def _days() -> dict[str, Found]:
    table = PartitionedTable(
        key="public.log", schema="public", name="log", time_format="%F",
        ranges=_ranges("log_%Y_%m_%d", "public.log_%Y_%m_%d", schema="public", space="fast"),
        why_not="", why_no_more="",
        owner="shop",
    )  # fmt: skip
    template = by_calendar.next_template(table, "fast", 86400, POSTGRESQL)
    assert isinstance(template, StatementTemplate), template
    made = by_calendar.next_routes(table, template, DAYS[1], POSTGRESQL)
    (aged,) = _of_one(_ways(_relation(table.ranges[0].name, partition=True)))
    old = by_calendar.aged_template(table.ranges[0], aged, table.key, 86400)
    return {"next template": template, **_numbered("next", made), "aged template": old}


def _of_one(found: tuple[Route, ...] | NoRoute) -> tuple[Route, ...]:
    assert not isinstance(found, NoRoute), found
    return found[:1]


# -- the others ------------------------------------------------------------------------------------------------------


def _of_db2() -> dict[str, Found]:
    day = Border(column="day", value="2030-02-01")
    table = db2_ranges.PartitionedTable(
        key="APP.LOG", schema="APP", name="LOG", time_format="'%Y-%m-%d'",
        ranges=_ranges("P%Y%m%d", "APP.LOG PARTITION P%Y%m%d", schema="APP", space="TS_FAST"),
        why_not="", why_no_more="",
        landing="TS_FAST",
    )  # fmt: skip
    template = db2_calendar.next_template(table, "TS_FAST", 86400, db2.SETTINGS)
    assert isinstance(template, StatementTemplate), template
    manual = (
        restrictions.redirected_restore("TS", "FAST"), restrictions.temporary_space("TEMP", "FAST"),
        restrictions.rebinds(["APP.PACKAGE"]), restrictions.packages_to_rebind("TS"),
    )  # fmt: skip
    return {
        **tests.db2.every_route.every_route(),
        "new space": db2_space(test_db2_space.WANTED, db2.STORAGE, test_db2_space.WHOLE).answer,
        "split": db2_split(db2.table(), db2.bundle(), day, "TS_FAST"),
        "next template": template,
        **_numbered("next", db2_calendar.next_routes(table, template, DAYS[1], db2.SETTINGS)),
        "aged, for a person": partitions.by_hand(
            Key(Part.TABLE, "APP", "LOG"),
            ("P1", 4, 1, 1, "Y", "'2030-02-01'", "N", "'2030-02-02'"),
            TableHomes("TS_FAST", "TS_FAST", "TS_FAST"),
            "it shares its table space",
        ),
        "partition, for a person": partitions.route_by_hand(
            replace(db2.bundle("APP.LOG partition P1"), kind=UnitKind.TABLE_PARTITION),
            ("P1", 4, "", 1, "Y", "'2030-02-01'", "N", "'2030-02-02'"),
            db2.FAST_SPACE,
            db2.SPACE,
            TableHomes("TS_SLOW", "TS_IX", "TS_SLOW"),
            0,
        ),
        "statements for a person": ByHand(statements=manual, because="some are no statements that an agent may send"),
    }


def _of_other_db2() -> dict[str, Found]:
    i, _ = test_plan_only.on_i()
    keys = ("SHOP.ITEMS", "SHOP.ORDERS partition P1", "index SHOP.ORDERS_IX")
    zos = test_plan_only.on_zos()
    asked = [(f"i, {key}", i, key, "ASP1 SSD") for key in keys]
    asked += [(f"zos, {key}", zos, key, "SGSSD") for key in ("DB.TS partition P1", "DB.TS partition P2", "index ME.IX")]
    return {
        name: one
        for asked_name, connector, key, space in asked
        for name, one in _numbered(
            asked_name, connector.routes(test_plan_only.bundle_of(connector, key), space)
        ).items()
    }


def _of_oracle() -> dict[str, Found]:
    table = oracle_partitions.PartitionedTable(
        key="APP.LOG", schema="APP", name="LOG", time_format="%F %T",
        ranges=_ranges("P_%Y_%m_%d", "APP.LOG PARTITION P_%Y_%m_%d", schema="APP", space="FAST"),
        why_not="", why_no_more="",
        bound=oracle_partitions.DATE, elsewhere=(),
    )  # fmt: skip
    template = oracle_calendar.next_template(table, "FAST", 86400, oracle.SETTINGS)
    assert isinstance(template, StatementTemplate), template
    day = Border(column="MADE AT", value="2030-02-01")
    return {
        **tests.oracle.every_route.every_route(),
        "new space": test_oracle_space.found().answer,
        "split": oracle_split(oracle.facts(), oracle.bundle(), day, "FAST", oracle.server()),
        "split on Standard Edition": oracle_split(
            oracle.facts(), oracle.bundle(), day, "FAST", oracle.server(**oracle.standard())
        ),
        "next template": template,
        **_numbered("next", oracle_calendar.next_routes(table, template, DAYS[1], oracle.SETTINGS)),
        **_aged_of_oracle(table.ranges[0]),
        **{f"file out {file.path}": test_file_out.out(file.path) for file in (test_file_out.ONE, test_file_out.TWO)},
    }


def _aged_of_oracle(day: Range) -> dict[str, Found]:
    lead = oracle.entry(name="LOG", part=day.name, type="TABLE PARTITION")
    ways = oracle_available.routes_of(
        oracle.facts(lead=lead), oracle.bundle(day.key), "FAST", oracle.server(), oracle.SETTINGS
    )
    found = _numbered("partition", ways)
    if not isinstance(ways, NoRoute):
        found["aged template"] = oracle_calendar.aged_template(day, ways[0], "APP.LOG", 86400)
    return found


def _of_sqlserver() -> dict[str, Found]:
    found: dict[str, Found] = dict(tests.sqlserver.every_route.every_route())
    group = test_new_filegroups
    found["new space"] = sqlserver_space(group.WANTED, group.DATA, group.PLACE, may=True).answer
    number = Border(column="id", value="500000")
    for name, edition in (("Enterprise", 3), ("Standard", 2)):
        server = ServerFeatures(major=15, edition=edition)
        table = sqlserver.table(sqlserver.index())
        found[f"split, {name}"] = sqlserver_split(
            table, sqlserver.bundle(), number, "SSD", server, sqlserver.settings()
        )
    for right in (True, False):
        found |= _next_of_sqlserver(right=right)
    return found


def _next_of_sqlserver(*, right: bool) -> dict[str, Found]:
    table = sqlserver_ranges.PartitionedTable(
        key="[dbo].[da]]ys]", schema="dbo", name="da]ys", time_format="%FT%T",
        ranges=_ranges("", "", schema="dbo", space="SSD"),
        why_not="", why_no_more="",
        scheme=DataSpace(9, "p]s", True, False, 0, "f]", 4, on_right=right), function="f]", column="at",
        next_used="HDD", definition=sqlserver.table(sqlserver.index()),
    )  # fmt: skip
    template = sqlserver_calendar.next_template(table, "SSD", 2 * 86400, sqlserver.settings())
    assert isinstance(template, StatementTemplate), template
    side = "right" if right else "left"
    made = sqlserver_calendar.next_routes(table, template, DAYS[0], sqlserver.settings())
    return {f"next template, {side}": template, **_numbered(f"next, {side}", made)}


def _of_simulated() -> dict[str, Found]:
    clock = VirtualClock(DAYS[0] - timedelta(days=1))
    world = shared_world(SimulatedSettings(seed=3), clock)
    found: dict[str, Found] = {}
    for key in ('"shop"."orders"', '"shop"."orders_pkey"', '"shop"."nothing"'):
        bundle = Bundle(key=key, physical_ids=(1,), unit_keys=(key,), kind=UnitKind.TABLE, size_bytes=GIB, space="hdd")
        found |= _numbered(key, simulated_routes(world, bundle, "ssd"))
    return found
