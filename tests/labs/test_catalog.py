"""The catalog of a real server: what is a unit, where it is, how large, and what it is called."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np
import psycopg

from connectors.model.moves import UnitKind
from connectors.model.observation import NO_PARENT, Catalog
from connectors.postgresql.catalog import BLOCK_BYTES, shape_of
from connectors.postgresql.connector import PostgresqlConnector
from tests.labs.postgresql import FAST_BYTES, Cluster


def row_of(catalog: Catalog, key: str) -> int:
    """Row of the unit of that key."""
    return list(catalog.units.key).index(key)


def kind_of(catalog: Catalog, key: str) -> UnitKind:
    """Its kind."""
    return UnitKind(int(catalog.units.kind[row_of(catalog, key)]))


def space_of(catalog: Catalog, key: str) -> str:
    """The name of its home."""
    return catalog.spaces[int(catalog.units.space[row_of(catalog, key)])].name


def parent_of(catalog: Catalog, key: str) -> int:
    """Physical id of what it belongs to."""
    return int(catalog.units.parent[row_of(catalog, key)])


def test_partitions_are_units_and_their_parents_are_not(
    dba: psycopg.Connection, connector: PostgresqlConnector
) -> None:
    """Two levels of partitions: leaves and their indexes are units; what has no storage is none."""
    dba.execute(
        """CREATE TABLE sales (day date, id int) PARTITION BY RANGE (day);
           CREATE INDEX ON sales (id);
           CREATE TABLE sales_2026 PARTITION OF sales FOR VALUES FROM ('2026-01-01') TO ('2027-01-01')
               PARTITION BY RANGE (day);
           CREATE TABLE sales_2026_01 PARTITION OF sales_2026 FOR VALUES FROM ('2026-01-01') TO ('2026-02-01')
               TABLESPACE fast;
           CREATE TABLE plain (id int PRIMARY KEY)"""
    )
    catalog = connector.catalog()
    assert set(catalog.units.key) == {
        "public.sales_2026_01",
        "public.sales_2026_01_id_idx",
        "public.plain",
        "public.plain_pkey",
    }
    assert kind_of(catalog, "public.sales_2026_01") is UnitKind.TABLE_PARTITION
    assert kind_of(catalog, "public.sales_2026_01_id_idx") is UnitKind.INDEX_PARTITION
    assert kind_of(catalog, "public.plain_pkey") is UnitKind.INDEX
    parent = dba.execute("SELECT 'sales'::regclass::oid::bigint").fetchone()  # through all levels
    assert parent is not None
    assert parent_of(catalog, "public.sales_2026_01") == parent[0]
    assert parent_of(catalog, "public.plain") == NO_PARENT
    assert space_of(catalog, "public.sales_2026_01") == "fast"
    assert space_of(catalog, "public.plain") == "slow"  # the default of this database, which the catalog writes as 0


def test_what_is_no_unit(dba: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """Views, sequences, temporary tables and foreign things have no heat; materialized views have."""
    dba.execute(
        """CREATE TEMP TABLE passing (id int PRIMARY KEY);
           CREATE SEQUENCE numbers;
           CREATE VIEW looks AS SELECT 1 AS one;
           CREATE MATERIALIZED VIEW kept AS SELECT 1 AS one;
           CREATE UNLOGGED TABLE volatile (id int)"""
    )
    catalog = connector.catalog()
    assert set(catalog.units.key) == {"public.kept", "public.volatile"}
    assert kind_of(catalog, "public.kept") is UnitKind.MATERIALIZED_VIEW


def test_keys_are_quoted_where_needed_and_unique(dba: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """Dots and quotes in names never make two relations look alike."""
    dba.execute(
        """CREATE SCHEMA "a.b"; CREATE SCHEMA a;
           CREATE TABLE "a.b".c (); CREATE TABLE a."b.c" (); CREATE TABLE a."say ""hi"" now" ();
           CREATE TABLE a."order" ();
           CREATE TABLE a.größe ()"""
    )
    keys = connector.catalog().units.key
    assert set(keys) == {'"a.b".c', 'a."b.c"', 'a."say ""hi"" now"', 'a."order"', 'a."größe"'}


def test_a_table_never_analyzed_has_its_size(dba: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """Where the catalog knows no pages yet, the file does; the number of rows stays unknown."""
    dba.execute("CREATE TABLE fresh AS SELECT repeat('x', 1000) AS filler FROM generate_series(1, 700)")
    catalog = connector.catalog()
    row = row_of(catalog, "public.fresh")
    assert int(catalog.units.size_bytes[row]) >= 100 * BLOCK_BYTES
    assert connector._shape is not None
    assert np.isnan(connector._shape.rows[row])
    assert connector._shape.blocks[row] >= 100
    dba.execute("ANALYZE fresh")
    connector.catalog()
    assert connector._shape.rows[row] == 700


def test_an_index_of_a_table_never_analyzed_has_its_size(
    dba: psycopg.Connection, connector: PostgresqlConnector
) -> None:
    """An index that is older than its rows: the catalog knows the one page that it was born with."""
    dba.execute("CREATE TABLE filled (id bigint PRIMARY KEY)")
    dba.execute("INSERT INTO filled SELECT g FROM generate_series(1, 50000) AS g")
    pages = dba.execute("SELECT relpages, pg_relation_size(oid) FROM pg_class WHERE relname = 'filled_pkey'").fetchone()
    assert pages is not None
    assert pages[0] == 1
    catalog = connector.catalog()
    row = row_of(catalog, "public.filled_pkey")
    assert catalog.units.size_bytes[row] == pages[1] > 100 * BLOCK_BYTES
    assert connector._shape is not None
    assert connector._shape.blocks[row] == pages[1] / BLOCK_BYTES


def test_no_lock_is_waited_for(cluster: Cluster, dba: psycopg.Connection, dbname: str, cleanup: ExitStack) -> None:
    """A table that somebody holds exclusively is listed all the same, and its size asked of the catalog alone."""
    dba.execute("CREATE TABLE held AS SELECT g FROM generate_series(1, 10) AS g")
    row = dba.execute("SELECT 'held'::regclass::oid::bigint").fetchone()
    assert row is not None
    connector = cluster.connector(dbname, lock_timeout="200ms")
    cleanup.callback(connector.close)
    with dba.transaction():
        dba.execute("LOCK TABLE held IN ACCESS EXCLUSIVE MODE")
        assert "public.held" in connector.catalog().units.key
        assert connector.exact_sizes(np.array([row[0]])).tolist() == [0]
        connector.sample()


def test_exact_sizes_include_toast(dba: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """As pg_table_size and pg_relation_size say; -1 for what was dropped."""
    dba.execute("CREATE TABLE long (id int PRIMARY KEY, body text)")
    dba.execute("ALTER TABLE long ALTER body SET STORAGE EXTERNAL")
    dba.execute("INSERT INTO long SELECT g, repeat('x', 20000) FROM generate_series(1, 20) AS g")
    row = dba.execute(
        """SELECT 'long'::regclass::oid::bigint, 'long_pkey'::regclass::oid::bigint,
                  pg_table_size('long'), pg_relation_size('long_pkey')"""
    ).fetchone()
    assert row is not None
    sizes = connector.exact_sizes(np.array([row[0], 4_000_000_000, row[1]], dtype=np.int64))
    assert sizes.tolist() == [row[2], -1, row[3]]


def test_spaces_have_paths_and_room(cluster: Cluster, connector: PostgresqlConnector) -> None:
    """Every tablespace but pg_global, with its folder; free space from the file system because the server is local."""
    spaces = {space.name: space for space in connector.catalog().spaces}
    assert set(spaces) == {"pg_default", "fast", "slow"}
    assert spaces["fast"].path == str(cluster.fast)
    assert spaces["pg_default"].path == str(cluster.server.data)
    assert all(s.free_bytes is not None and s.capacity_bytes is not None for s in spaces.values())
    if cluster.limited:
        assert spaces["fast"].capacity_bytes == FAST_BYTES
    assert spaces["slow"].used_bytes > 0


def test_a_remote_server_has_no_known_room(cluster: Cluster, dbname: str, cleanup: ExitStack) -> None:
    """Where the files are elsewhere nobody pretends to know how much is free."""
    connector = cluster.connector(dbname, local=False)
    cleanup.callback(connector.close)
    assert all(space.free_bytes is None for space in connector.catalog().spaces)


def test_a_login_without_rights_still_gets_a_catalog(
    cluster: Cluster, dba: psycopg.Connection, dbname: str, cleanup: ExitStack
) -> None:
    """Sizes of spaces fall back to what this database holds there; units are all there."""
    dba.execute("DROP ROLE IF EXISTS nobody_special; CREATE ROLE nobody_special LOGIN")
    dba.execute("CREATE SCHEMA hidden; CREATE TABLE hidden.t AS SELECT 1 AS one; ANALYZE hidden.t")
    dba.execute("CREATE TABLE on_fast TABLESPACE fast AS SELECT 1 AS one; ANALYZE on_fast")
    dba.execute("DROP ROLE IF EXISTS plain_owner; CREATE ROLE plain_owner; ALTER TABLE on_fast OWNER TO plain_owner")
    connector = cluster.connector(dbname, user="nobody_special")
    cleanup.callback(connector.close)
    catalog = connector.catalog()
    assert "hidden.t" in catalog.units.key
    fast = catalog.spaces[catalog.space_row("fast")]
    assert fast.used_bytes == BLOCK_BYTES
    assert catalog.spaces[catalog.space_row("pg_default")].path == ""
    connector.sample()
    codes = {finding.code for finding in connector.doctor()}
    assert {"pg_monitor_missing", "ownership_missing", "ownership_refused", "space_create_missing"} <= codes


def test_a_shape_for_another_catalog(dba: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """Demand may be asked with an older catalog: what the shape does not hold is judged by its size."""
    dba.execute("CREATE TABLE one AS SELECT g FROM generate_series(1, 1000) AS g; ANALYZE one")
    older = connector.catalog()
    dba.execute("CREATE TABLE two AS SELECT g FROM generate_series(1, 1000) AS g; ANALYZE two; DROP TABLE one")
    connector.catalog()
    shape = shape_of(older.units, connector._shape)
    assert np.array_equal(shape.physical_id, older.units.physical_id)
    assert shape.blocks.tolist() == (older.units.size_bytes / BLOCK_BYTES).tolist()
    assert bool(np.isnan(shape.rows).all())
    assert shape_of(older.units, None).blocks.tolist() == shape.blocks.tolist()


def test_what_has_not_changed_is_not_held_twice(dba: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """Read again, a catalog is made of the old columns where they are the same, and of new ones where they are not."""
    dba.execute("CREATE TABLE one (id int PRIMARY KEY)")
    first, second = connector.catalog().units, connector.catalog().units
    for name in ("physical_id", "key", "kind", "space", "parent"):
        assert getattr(second, name) is getattr(first, name)
    dba.execute("ALTER TABLE one RENAME TO two")
    third = connector.catalog().units
    assert third.physical_id is first.physical_id
    assert "public.two" in third.key
    assert "public.one" in first.key
    dba.execute("CREATE TABLE three (id int)")
    assert len(connector.catalog().units) == len(first) + 1


def test_partitions_of_partitions_are_of_the_whole_table(
    dba: psycopg.Connection, connector: PostgresqlConnector
) -> None:
    """What a new partition may inherit is its own table's, through all levels; tables of tenants are two."""
    for tenant in (1, 2):
        dba.execute(
            f"CREATE SCHEMA tenant_{tenant};"
            f"CREATE TABLE tenant_{tenant}.events (at date, id int) PARTITION BY RANGE (at);"
            f"CREATE TABLE tenant_{tenant}.events_1 PARTITION OF tenant_{tenant}.events"
            " FOR VALUES FROM ('2026-01-01') TO ('2026-02-01') PARTITION BY HASH (id);"
            f"CREATE TABLE tenant_{tenant}.events_1_0 PARTITION OF tenant_{tenant}.events_1"
            " FOR VALUES WITH (MODULUS 1, REMAINDER 0)".encode()
        )
    units = connector.catalog().units
    parents = {units.key[row]: int(units.parent[row]) for row in range(len(units))}
    for tenant in (1, 2):
        row = dba.execute(f"SELECT 'tenant_{tenant}.events'::regclass::oid::bigint".encode()).fetchone()
        assert row is not None
        assert parents[f"tenant_{tenant}.events_1_0"] == row[0]
