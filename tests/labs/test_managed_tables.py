"""Tables that an extension makes and moves: recognized by its own catalog, and refused by name with its function."""

from __future__ import annotations

import psycopg
import pytest

from connectors.kit.templates import StatementTemplate, TemplateKind
from connectors.model.moves import NoRoute, Route
from connectors.postgresql.connector import PostgresqlConnector
from tests.contract.asking import bundle_of, run
from tests.labs.postgresql import Cluster, installations

# What the extension's scripts make, as far as it is read: until 2.28, and since 2.29. It has no package that could be
# installed here; against both versions, built from their sources, the same was seen.
NAMED = """
    CREATE SCHEMA _timescaledb_catalog; CREATE SCHEMA _timescaledb_internal;
    CREATE TABLE _timescaledb_catalog.hypertable (id int, schema_name name, table_name name);
    CREATE TABLE _timescaledb_catalog.chunk
        (id int, hypertable_id int, schema_name name, table_name name, compressed_chunk_id int);
    CREATE TABLE public.metrics (at timestamptz PRIMARY KEY);
    CREATE TABLE _timescaledb_internal._hyper_1_2_chunk (at timestamptz PRIMARY KEY);
    CREATE TABLE _timescaledb_internal.compress_hyper_2_3_chunk (at timestamptz PRIMARY KEY);
    INSERT INTO _timescaledb_catalog.hypertable
        VALUES (1, 'public', 'metrics'), (2, '_timescaledb_internal', '_compressed_hypertable_2');
    INSERT INTO _timescaledb_catalog.chunk VALUES
        (2, 1, '_timescaledb_internal', '_hyper_1_2_chunk', 3),
        (3, 2, '_timescaledb_internal', 'compress_hyper_2_3_chunk', NULL)
"""
BY_OID = """
    CREATE SCHEMA _timescaledb_catalog; CREATE SCHEMA _timescaledb_internal;
    CREATE TABLE _timescaledb_catalog.hypertable (id int, schema_name name, table_name name);
    CREATE TABLE _timescaledb_catalog.chunk (id int, relid regclass, hypertable_id int);
    CREATE TABLE _timescaledb_catalog.compression_settings (relid regclass, compress_relid regclass);
    CREATE TABLE public.metrics (at timestamptz PRIMARY KEY);
    CREATE TABLE _timescaledb_internal._hyper_1_2_chunk (at timestamptz PRIMARY KEY);
    CREATE TABLE _timescaledb_internal.compress_hyper_2_3_chunk (at timestamptz PRIMARY KEY);
    INSERT INTO _timescaledb_catalog.hypertable VALUES (1, 'public', 'metrics');
    INSERT INTO _timescaledb_catalog.chunk VALUES (2, '_timescaledb_internal._hyper_1_2_chunk', 1);
    INSERT INTO _timescaledb_catalog.compression_settings VALUES
        ('_timescaledb_internal._hyper_1_2_chunk', '_timescaledb_internal.compress_hyper_2_3_chunk'),
        ('metrics', NULL)
"""
MOVE_CHUNK = (
    "SELECT move_chunk(chunk => '_timescaledb_internal._hyper_1_2_chunk', destination_tablespace => 'fast', "
    "index_destination_tablespace => 'fast', reorder_index => '_timescaledb_internal._hyper_1_2_chunk_pkey') moves it"
)
CITUS = """
    CREATE SCHEMA citus_catalog; CREATE TABLE citus_catalog.pg_dist_shard (logicalrelid regclass, shardid bigint);
    CREATE TABLE orders (id int PRIMARY KEY); CREATE TABLE orders_102008 (id int PRIMARY KEY);
    INSERT INTO citus_catalog.pg_dist_shard VALUES ('orders', 102008)
"""


def own(dba: psycopg.Connection, extension: str, *tables: str) -> None:
    """Register the extension with those tables, as CREATE EXTENSION does."""
    dba.execute(
        "INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)"
        " VALUES (987654, %s, 10, 'pg_catalog'::regnamespace, false, '1')",
        (extension,),
    )
    for table in tables:
        dba.execute(
            "INSERT INTO pg_depend VALUES"
            " ('pg_class'::regclass, %s::regclass, 0, 'pg_extension'::regclass, 987654, 0, 'e')",
            (table,),
        )


def why(connector: PostgresqlConnector, key: str) -> str:
    """Why it has no route; "" where it has one."""
    found = connector.routes(bundle_of(connector.catalog(), key), "fast")
    return found.sentence if isinstance(found, NoRoute) else ""


@pytest.mark.parametrize("made", [NAMED, BY_OID], ids=["until 2.28", "since 2.29"])
@pytest.mark.parametrize("suffix", ["", "_pkey"])
def test_chunks_of_timescaledb_are_refused_with_move_chunk(
    dba: psycopg.Connection, connector: PostgresqlConnector, suffix: str, made: str
) -> None:
    """With their indexes and compressed rows; other tables move, and a schema of that name alone says nothing."""
    dba.execute(made.encode())
    dba.execute("CREATE TABLE plain (id int PRIMARY KEY)")
    chunk = f"_timescaledb_internal._hyper_1_2_chunk{'_pkey' if suffix else ''}"
    assert why(connector, chunk) == ""
    own(dba, "timescaledb", "_timescaledb_catalog.hypertable", "_timescaledb_catalog.chunk")
    sentence = why(connector, chunk)
    assert "is a chunk of the hypertable public.metrics of TimescaleDB" in sentence
    assert MOVE_CHUNK in sentence
    sentence = why(connector, f"_timescaledb_internal.compress_hyper_2_3_chunk{suffix}")
    assert "compressed rows of _timescaledb_internal._hyper_1_2_chunk, a chunk of the hypertable public.m" in sentence
    assert MOVE_CHUNK in sentence
    assert "attach_tablespace('fast', 'public.metrics')" in why(connector, f"public.metrics{suffix}")
    assert why(connector, f"public.plain{suffix}") == ""
    dba.execute("ALTER TABLE _timescaledb_internal._hyper_1_2_chunk DROP CONSTRAINT _hyper_1_2_chunk_pkey")
    without = why(connector, "_timescaledb_internal._hyper_1_2_chunk")
    assert ': ALTER TABLE _timescaledb_internal._hyper_1_2_chunk SET TABLESPACE "fast" moves it' in without


def test_a_catalog_of_an_extension_that_is_not_understood_stops_moves_by_name(
    dba: psycopg.Connection, connector: PostgresqlConnector
) -> None:
    """Any table may be a chunk then: the sentence names the extension, its version and the table."""
    dba.execute(NAMED.encode())
    dba.execute("CREATE TABLE plain (id int PRIMARY KEY)")
    own(dba, "timescaledb", "_timescaledb_catalog.hypertable", "_timescaledb_catalog.chunk")
    dba.execute("ALTER TABLE _timescaledb_catalog.chunk RENAME COLUMN table_name TO relation")
    assert "timescaledb 1 has a catalog that hotplace cannot read" in why(connector, "public.plain")
    assert "whether public.plain is one of its tables is not known" in why(connector, "public.plain")


def test_a_catalog_of_citus_that_names_relations_otherwise_is_not_understood(
    dba: psycopg.Connection, connector: PostgresqlConnector
) -> None:
    """A column that no version had is no reason to take a shard for a table like others."""
    dba.execute(CITUS.encode())
    own(dba, "citus", "citus_catalog.pg_dist_shard")
    dba.execute("ALTER TABLE citus_catalog.pg_dist_shard RENAME COLUMN logicalrelid TO relid")
    assert "citus 1 has a catalog that hotplace cannot read" in why(connector, "public.orders_102008")


def test_shards_of_citus_are_refused_with_its_function(dba: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """On a worker, and the distributed table itself."""
    dba.execute(CITUS.encode())
    dba.execute("CREATE TABLE orders_7 (id int)")
    own(dba, "citus", "citus_catalog.pg_dist_shard")
    for key in ("public.orders_102008", "public.orders_102008_pkey"):
        assert "shard 102008 of the table public.orders of Citus" in why(connector, key)
        assert "citus_move_shard_placement(102008" in why(connector, key)
    assert "distributed table of Citus" in why(connector, "public.orders")
    assert why(connector, "public.orders_7") == ""


def test_partitions_of_pg_partman_come_and_move(
    dba: psycopg.Connection, connector: PostgresqlConnector, cluster: Cluster
) -> None:
    """The extension itself: what it has made moves by single partitions, and the next ones fit between its own."""
    if not dba.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'pg_partman'").fetchone():
        pytest.skip(f"pg_partman is not installed for PostgreSQL {cluster.major} of {sorted(installations())}")
    dba.execute("CREATE SCHEMA partman; CREATE EXTENSION pg_partman SCHEMA partman")
    dba.execute("CREATE TABLE meas (at timestamptz NOT NULL, id int) PARTITION BY RANGE (at)")
    dba.execute("SET TimeZone = 'UTC'")
    dba.execute(
        "SELECT partman.create_parent('public.meas', 'at', 'native', 'hourly', p_premake => 2, p_start_partition =>"
        " (date_trunc('hour', now()) - interval '2 hours')::text)"
    )
    dba.execute("DROP TABLE IF EXISTS meas_default")
    rows = dba.execute("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'meas'::regclass ORDER BY 1")
    made = [name for (name,) in rows.fetchall()]
    assert len(made) >= 4
    route = connector.routes(bundle_of(connector.catalog(), f"public.{made[0]}"), "fast")
    assert not isinstance(route, NoRoute)
    run(connector, route[0])
    template = connector.template(TemplateKind.NEXT_PARTITION, "public.meas", "fast", 6 * 3600)
    assert isinstance(template, StatementTemplate), template
    now = dba.execute("SELECT now()").fetchone()
    assert now is not None
    due = connector.routes_due(template, now[0])
    assert due
    for each in due:
        assert isinstance(each, Route)
        run(connector, each)
    dba.execute("UPDATE partman.part_config SET premake = 10, infinite_time_partitions = true")
    dba.execute("SELECT partman.run_maintenance('public.meas')")  # finds ours, and adds its own behind them
    names = dba.execute("SELECT count(*) FROM pg_inherits WHERE inhparent = 'meas'::regclass").fetchone()
    assert names is not None
    assert names[0] > len(made) + len(due)
