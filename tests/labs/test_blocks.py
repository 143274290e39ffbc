"""Looks at the buffer pool of a real server."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np
import psycopg
import pytest

from connectors.kit.contract import PrivilegeMissing
from connectors.model.blocks import BLOCK_HEAT, BlockReader, SeesBlocks
from connectors.postgresql.connector import PostgresqlConnector
from policies.evidence.range_heat import compare_looks
from tests.conftest import WITH_CONTRIB
from tests.labs.postgresql import Cluster, flush
from tests.labs.test_sampling import filled

EXTENSION = "pg_buffercache"
pytestmark = WITH_CONTRIB


@pytest.fixture
def reader(dba: psycopg.Connection, connector: PostgresqlConnector, cleanup: ExitStack) -> BlockReader:
    """A reader of a database that has the extension, in a schema whose name has to be quoted."""
    if not dba.execute("SELECT 1 FROM pg_available_extensions WHERE name = %s", (EXTENSION,)).fetchone():
        pytest.skip("this server's contrib modules are not installed")
    dba.execute('CREATE SCHEMA "Of, ""others"""')
    dba.execute('CREATE EXTENSION pg_buffercache SCHEMA "Of, ""others"""')
    assert isinstance(connector, SeesBlocks)
    return cleanup.enter_context(connector.read_blocks())


def test_a_look_lists_the_blocks_that_were_read(dba: psycopg.Connection, reader: BlockReader) -> None:
    """The blocks of the rows that were looked up, by number; the others not."""
    unit = filled(dba, "t")
    first = reader.look(np.array([unit])).units[0]
    for row in (10, 2000, 4000):
        dba.execute("SELECT filler FROM t WHERE id = %s", (row,)).fetchone()
    found = dba.execute("SELECT (ctid::text::point)[0]::int FROM t WHERE id IN (10, 2000, 4000)").fetchall()
    flush(dba)
    second = reader.look(np.array([unit])).units[0]
    # Not all of them: the pool is so small that the look itself may need a buffer.
    assert len(set(second.resident.tolist()) & {block for (block,) in found}) >= 2
    assert len(second.resident) < second.blocks / 2
    assert second.reads - first.reads >= 3
    assert second.resident.tolist() == sorted(second.resident.tolist())


def test_units_that_are_gone_are_left_out_and_empty_ones_are_there(
    dba: psycopg.Connection, reader: BlockReader
) -> None:
    """What was dropped since the plan costs nothing."""
    dba.execute("CREATE TABLE nothing_in_it ()")
    row = dba.execute("SELECT 'nothing_in_it'::regclass::oid::bigint").fetchone()
    assert row is not None
    (only,) = reader.look(np.array([row[0], 4_000_000_000])).units
    assert (only.physical_id, only.blocks, only.resident.tolist()) == (row[0], 0, [])


def test_a_table_in_another_tablespace_is_found(dba: psycopg.Connection, reader: BlockReader) -> None:
    """Buffers are told apart by tablespace, database and file."""
    dba.execute("CREATE TABLE t (a int) TABLESPACE fast")
    dba.execute("INSERT INTO t SELECT generate_series(1, 1000)")
    row = dba.execute("SELECT 't'::regclass::oid::bigint").fetchone()
    assert row is not None
    reader.look(np.array([row[0]]))  # what the first look reads of catalogs may take all of the tiny pool
    dba.execute("SELECT count(*) FROM t")
    (only,) = reader.look(np.array([row[0]])).units
    assert len(only.resident) >= only.blocks - 2 >= 1
    assert only.resident.max() < only.blocks


@pytest.mark.usefixtures("reader")
def test_a_login_without_the_right_is_told_the_grant(
    dba: psycopg.Connection, cluster: Cluster, dbname: str, cleanup: ExitStack
) -> None:
    """The capability says so beforehand, and the look says so too; with pg_monitor it may once the schema lets it."""
    dba.execute(f"CREATE ROLE looks_{dbname} LOGIN".encode())
    cleanup.callback(dba.execute, f"DROP ROLE looks_{dbname}".encode())
    cleanup.callback(dba.execute, f"DROP OWNED BY looks_{dbname}".encode())
    poor = cluster.connector(dbname, user=f"looks_{dbname}")
    cleanup.callback(poor.close)
    (before,) = (each for each in poor.capabilities() if each.name == BLOCK_HEAT)
    assert not before.available
    assert "GRANT pg_monitor" in before.advice
    other = cleanup.enter_context(poor.read_blocks())
    with pytest.raises(PrivilegeMissing, match="pg_buffercache"):
        other.look(np.array([1]))
    dba.execute(f"GRANT pg_monitor TO looks_{dbname}".encode())
    dba.execute(f'GRANT USAGE ON SCHEMA "Of, ""others""" TO looks_{dbname}'.encode())
    assert other.look(np.array([1])).units == ()


def test_without_the_extension_the_capability_names_it(connector: PostgresqlConnector) -> None:
    """Nothing else of hotplace needs it."""
    (found,) = (each for each in connector.capabilities() if each.name == BLOCK_HEAT)
    assert not found.available
    assert "CREATE EXTENSION pg_buffercache" in found.advice
    with connector.read_blocks() as reader, pytest.raises(PrivilegeMissing):
        reader.look(np.array([1]))


def test_blocks_that_inserts_append_are_not_taken_for_reads(dba: psycopg.Connection, reader: BlockReader) -> None:
    """A table is loaded between two looks: no block of it came from storage."""
    unit = filled(dba, "t", rows=700)
    first = reader.look(np.array([unit])).units[0]
    dba.execute("INSERT INTO t SELECT g, repeat('x', 1000) FROM generate_series(1001, 1400) AS g")
    second = reader.look(np.array([unit])).units[0]
    assert second.blocks > first.blocks
    assert second.resident.max() >= first.blocks
    found = compare_looks(
        first.resident, second.resident, blocks=second.blocks, block_bytes=8192, seconds=1.0, blocks_before=first.blocks
    )
    assert found.came.sum() <= 3  # of the last block, the maps' neighbours


@pytest.mark.parametrize(
    ("statement", "rewrites"),
    [
        ("CLUSTER t USING t_pkey", True),
        ("VACUUM FULL t", True),
        ("TRUNCATE t", True),
        ("ALTER TABLE t ALTER id TYPE bigint", True),
        ("VACUUM t", False),
        ("ALTER TABLE t RENAME TO u", False),
        ("ANALYZE t", False),
    ],
)
def test_storage_that_was_written_anew_has_another_mark(
    dba: psycopg.Connection, reader: BlockReader, statement: str, rewrites: bool
) -> None:
    """What is remembered by positions of blocks holds for the storage that it was seen in."""
    unit = filled(dba, "t", rows=100)
    before = reader.look(np.array([unit])).units[0].storage
    dba.execute(statement.encode())
    assert before
    assert (reader.look(np.array([unit])).units[0].storage != before) == rewrites
