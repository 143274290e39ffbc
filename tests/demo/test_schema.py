"""The shop: every role is there, on its tablespace, and the ssd is too small for everything."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from agent.demo.load import HDD_SPACE, SSD_SPACE
from tests.demo.conftest import SCALE, Shop

pytestmark = [pytest.mark.postgresql, pytest.mark.xdist_group("demo")]

HOMES = """
SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname), t.spcname, pg_total_relation_size(c.oid), c.reltuples
  FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace JOIN pg_tablespace AS t ON t.oid = c.reltablespace
 WHERE n.nspname = 'shop' AND c.relkind IN ('r', 'i')
"""


@pytest.fixture
def session(shop: Shop) -> Iterator[psycopg.Connection]:
    """A superuser's session."""
    with psycopg.connect(shop.server.conninfo, autocommit=True) as session:
        yield session


@pytest.fixture
def homes(session: psycopg.Connection) -> dict[str, tuple[str, int, float]]:
    """Tablespace, bytes (tables: with their indexes) and rows by the catalog's statistics, by quoted name."""
    return {name: (space, size, rows) for name, space, size, rows in session.execute(HOMES)}


def test_every_role_exists_where_it_begins(shop: Shop, homes: dict[str, tuple[str, int, float]]) -> None:
    """Names are quoted as the catalog quotes them; the cold data is on the ssd, all else on the hdd."""
    schema = shop.schema
    below = {schema.hot, schema.hot_index, schema.cached, schema.scanned, schema.history, *schema.idle_partitions}
    below |= {schema.newest_partition, schema.newest_partition_index}
    assert {name: homes[name][0] for name in below} == dict.fromkeys(below, HDD_SPACE)
    assert {homes[name][0] for name in schema.cold} == {SSD_SPACE}
    assert schema.partitioned not in homes


def test_the_ssd_holds_the_cold_or_the_hot_but_not_both(shop: Shop, homes: dict[str, tuple[str, int, float]]) -> None:
    """Within nine tenths of its capacity: all cold data; the hot data with the smaller cold table; never everything."""
    schema = shop.schema
    usable = 0.9 * schema.ssd_capacity_bytes
    cold = sorted(homes[name][1] for name in schema.cold)
    hot = homes[schema.hot][1] + homes[schema.newest_partition][1]
    assert sum(cold) < usable
    assert hot + sum(cold) > usable
    assert hot + cold[0] < usable
    assert hot + cold[-1] > usable


def test_row_counts_are_what_the_load_may_ask_for(shop: Shop, session: psycopg.Connection) -> None:
    """Ids run from 1 to the count, in the newest partition on the days that the load computes."""
    schema = shop.schema
    for table, rows in ((schema.hot, schema.hot_rows), (schema.cached, schema.cached_rows)):
        found = session.execute(f"SELECT min(id), max(id), count(*) FROM {table}".encode()).fetchone()
        assert found == (1, rows, rows)
    found = session.execute(
        f"SELECT min(id), max(id), min(sent)::text, bool_and(sent = '{schema.newest_first_day}'::date + (id % 28)::int)"
        f" FROM {schema.newest_partition}".encode()
    ).fetchone()
    assert found == (1, schema.partition_rows, schema.newest_first_day, True)
    assert schema.hot_rows == round(460_000 * SCALE)


def test_statistics_are_fresh(homes: dict[str, tuple[str, int, float]]) -> None:
    """Vacuumed and analyzed: the catalog knows how many rows each table has."""
    assert all(rows > 0 for _, _, rows in homes.values())
