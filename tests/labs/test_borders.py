"""The border of the hot part of a real table: found from its values, kept in the ledger, and seen nowhere else."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import psycopg
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from agent.config.files import load
from agent.ledger.ledger import Ledger
from agent.sampling.block_heat import load_borders
from agent.sampling.block_looks import EVERY_SECONDS, FIRST_SECONDS, BorderLooker, LookedAt
from agent.service.metrics import AgentCollector
from agent.service.snapshot import Snapshot
from agent.service.support import make_bundle
from connectors.kit.contract import Tap
from connectors.postgresql.connector import PostgresqlConnector
from policies.evidence.range_heat import RangeHeat, compare_looks, with_turnover
from tests.cli.site import Site
from tests.labs.postgresql import Cluster
from tests.virtual_clock import VirtualClock

FIRST_ID, ROWS = 7_310_000_000, 30_000  # a number that nothing else has in it
MARK = str(FIRST_ID)[:4]


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Empty."""
    with Ledger.open(tmp_path / "ledger.db", VirtualClock()) as opened:
        yield opened


def sales(dba: psycopg.Connection) -> LookedAt:
    """A table of rows in the order of their ids, whose statistics are known."""
    dba.execute("CREATE TABLE sales (id bigint PRIMARY KEY, customer int NOT NULL, filler text)")
    dba.execute(
        "INSERT INTO sales SELECT %s::bigint + g, hashint4(g) %% 1000, repeat('x', 100) "
        "FROM generate_series(0, %s::int - 1) AS g",
        (FIRST_ID, ROWS),
    )
    dba.execute("ANALYZE sales")
    row = dba.execute("SELECT 'sales'::regclass::oid::bigint").fetchone()
    assert row is not None
    return LookedAt(key="public.sales", physical_id=row[0])


def newest_hot(dba: psycopg.Connection, unit: LookedAt) -> RangeHeat:
    """Heat as looks show it where four fifths of the reads go to the newest tenth."""
    row = dba.execute("SELECT pg_relation_size(%s::oid) / 8192", (unit.physical_id,)).fetchone()
    assert row is not None
    blocks, random, heat = row[0], np.random.default_rng(1), None
    for pair in range(12):
        hot = random.choice(np.arange(blocks * 9 // 10, blocks), blocks // 20, replace=False)
        came = np.unique(np.concatenate((hot, random.choice(blocks, blocks // 80, replace=False))))
        found = compare_looks(np.arange(0), came.astype(np.int64), blocks=blocks, block_bytes=8192, seconds=1.0)
        heat = with_turnover(heat, found, float(len(came)), pair / 10)
    assert heat is not None
    return heat


def test_the_border_is_the_value_behind_which_the_hot_rows_lie(
    dba: psycopg.Connection, connector: PostgresqlConnector, ledger: Ledger
) -> None:
    """The server itself counts a tenth of the rows behind it; there are as many looks as are due."""
    unit, clock = sales(dba), VirtualClock()
    heat = newest_hot(dba, unit)
    looker = BorderLooker("shop", ledger, clock, may_read=True)
    assert looker.look(connector, unit, heat) >= 0
    looker.look(connector, unit, heat)  # not due
    (look,) = load_borders(ledger, "shop")["public.sales"].looks
    assert look.found is not None
    border = look.found.border
    assert (border.column, border.type_name, border.rolls) == ("id", "bigint", True)
    (behind,) = dba.execute("SELECT count(*) FROM sales WHERE id >= %s::text::bigint", (border.least,)).fetchone() or (
        0,
    )
    assert behind / ROWS == pytest.approx(0.1, abs=0.02)
    assert border.of_rows == pytest.approx(behind / ROWS, abs=0.02)
    assert border.fit > 0.8
    for rest, looks in ((FIRST_SECONDS, 2), (FIRST_SECONDS, 2), (FIRST_SECONDS, 3), (EVERY_SECONDS, 4)):
        clock.sleep(rest)
        looker.look(connector, unit, heat)
        assert len(load_borders(ledger, "shop")["public.sales"].looks) == looks
    looker.close()


def test_without_the_key_no_value_is_read_and_what_was_is_forgotten(
    dba: psycopg.Connection, connector: PostgresqlConnector, ledger: Ledger
) -> None:
    """The catalog alone names the columns."""
    unit, clock = sales(dba), VirtualClock()
    heat = newest_hot(dba, unit)
    for may_read in (True, False):
        looker = BorderLooker("shop", ledger, clock, may_read=may_read)
        looker.look(connector, unit, heat)
        looker.close()
    known = load_borders(ledger, "shop")["public.sales"]
    assert [each.name for each in known.columns] == ["id", "customer"]
    assert known.looks == ()
    stored = ledger.state.load_document("shop", "borders of hot parts")
    assert MARK not in json.dumps(stored and stored[1])


def test_even_heat_is_no_reason_to_look(
    dba: psycopg.Connection, connector: PostgresqlConnector, ledger: Ledger
) -> None:
    """Nothing is asked of the server."""
    unit = sales(dba)
    heat = newest_hot(dba, unit)
    even = replace(heat, reads=np.ones_like(heat.reads) * 100)
    assert BorderLooker("shop", ledger, VirtualClock(), may_read=True).look(connector, unit, even) == 0.0
    assert load_borders(ledger, "shop") == {}


def test_a_refusal_is_kept_with_its_grant(
    dba: psycopg.Connection, cluster: Cluster, dbname: str, cleanup: ExitStack, ledger: Ledger
) -> None:
    """A login that watches has no right to read rows."""
    unit = sales(dba)
    dba.execute(f"CREATE ROLE border_{dbname} LOGIN".encode())
    cleanup.callback(dba.execute, f"DROP ROLE border_{dbname}".encode())
    poor = cluster.connector(dbname, user=f"border_{dbname}")
    cleanup.callback(poor.close)
    looker = BorderLooker("shop", ledger, VirtualClock(), may_read=True)
    cleanup.callback(looker.close)
    looker.look(poor, unit, newest_hot(dba, unit))
    known = load_borders(ledger, "shop")["public.sales"]
    assert 'GRANT SELECT (ctid, "id") ON "public"."sales"' in known.refused
    assert known.looks == ()


class Listening:
    """A tap that notes what it hears, as a recording would."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def answer(self, name: str, values: object, ask: Callable[[], list[object]], *, doing: str) -> list[object]:
        """What the server says, noted."""
        rows = ask()
        self.heard.append(f"{name} {values} {doing} {rows}")
        return rows


def test_values_are_in_no_recording_no_log_no_metric_and_no_bundle_for_support(
    dba: psycopg.Connection,
    cluster: Cluster,
    dbname: str,
    cleanup: ExitStack,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """They are in the ledger, and none of these tells one of them."""
    caplog.set_level(logging.DEBUG)
    unit, tap = sales(dba), Listening()
    heard: Tap = tap  # type: ignore[assignment]  # rows of any kind
    connector = PostgresqlConnector(cluster.connector(dbname)._settings, VirtualClock(), tap=heard)
    cleanup.callback(connector.close)
    connector.identify()
    site = Site(tmp_path)
    clock = VirtualClock()
    with Ledger.open(site.ledger_path, clock) as ledger:
        looker = BorderLooker("shop", ledger, clock, may_read=True)
        looker.look(connector, unit, newest_hot(dba, unit))
        looker.close()
        stored = ledger.state.load_document("shop", "borders of hot parts")
        assert MARK in json.dumps(stored and stored[1])
        bundle = make_bundle(load(site.path), ledger, {}, {}, ())
    registry = CollectorRegistry()
    snapshot = Snapshot(database="shop", engine="postgresql", sample_seconds=60.0, hottest_tenths={unit.key: 0.8})
    registry.register(AgentCollector(lambda: [snapshot], top_units=5))
    assert tap.heard  # of what else was asked
    places = {
        "recording": "".join(tap.heard),
        "log": caplog.text,
        "metrics": generate_latest(registry).decode(),
        "bundle": "".join(bundle.members.values()),
    }
    assert {name for name, text in places.items() if MARK in text} == set()
