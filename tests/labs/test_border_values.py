"""Values at borders of block ranges of a real server's tables."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np
import psycopg
import pytest

from connectors.kit.contract import PrivilegeMissing
from connectors.model.blocks import SeesValues, ValueReader
from connectors.postgresql.connector import PostgresqlConnector
from tests.labs.postgresql import Cluster, flush

TABLE = '"Of, ""others""".orders'


@pytest.fixture
def reader(connector: PostgresqlConnector, cleanup: ExitStack) -> ValueReader:
    """As the agent has it."""
    assert isinstance(connector, SeesValues)
    return cleanup.enter_context(connector.read_values())


def orders(dba: psycopg.Connection, rows: int = 20_000) -> int:
    """A table whose rows came one after the other, with a time and a number that is scattered; its oid."""
    dba.execute('CREATE SCHEMA "Of, ""others"""')
    dba.execute(
        f'CREATE TABLE {TABLE} ("the id" bigint PRIMARY KEY, made_at timestamptz NOT NULL, amount numeric, '
        "customer int, name text)".encode()
    )
    dba.execute(
        f"INSERT INTO {TABLE} SELECT g, '2026-01-01 00:00+00'::timestamptz + g * interval '1 minute', "
        f"CASE g % 4 WHEN 0 THEN NULL WHEN 1 THEN 'NaN' ELSE g::numeric / 100 END, "
        f"hashint4(g) % 1000, 'x' FROM generate_series(1, {rows}) AS g".encode()
    )
    dba.execute(f"ANALYZE {TABLE}".encode())
    row = dba.execute("SELECT %s::regclass::oid::bigint", (TABLE,)).fetchone()
    assert row is not None
    return int(row[0])


def test_candidates_are_numbers_and_times_with_keys_and_order(dba: psycopg.Connection, reader: ValueReader) -> None:
    """By the catalog: an index has none."""
    unit = orders(dba)
    found = {each.name: each for each in reader.candidates(unit)}
    assert list(found) == ["the id", "made_at", "amount", "customer"]
    assert found["the id"].is_key
    assert found["the id"].correlation == pytest.approx(1.0, abs=0.01)
    assert (found["made_at"].is_time, found["made_at"].type_name) == (True, "timestamp with time zone")
    assert abs(found["customer"].correlation) < 0.2
    assert [found["made_at"].nullable, found["amount"].nullable] == [False, True]
    row = dba.execute("SELECT indexrelid::bigint FROM pg_index WHERE indrelid = %s", (unit,)).fetchone()
    assert row is not None
    assert reader.candidates(row[0]) == ()


def test_a_partition_names_the_key_of_its_parent(dba: psycopg.Connection, reader: ValueReader) -> None:
    """The partition key counts as a key, without any index."""
    dba.execute("CREATE TABLE parts (day date, n int) PARTITION BY RANGE (day)")
    dba.execute("CREATE TABLE part1 PARTITION OF parts DEFAULT")
    row = dba.execute("SELECT 'part1'::regclass::oid::bigint").fetchone()
    assert row is not None
    found = {each.name: each for each in reader.candidates(row[0])}
    assert (found["day"].is_key, found["n"].is_key) == (True, False)
    assert np.isnan(found["day"].correlation)


def test_values_are_those_of_the_two_blocks_at_each_border(dba: psycopg.Connection, reader: ValueReader) -> None:
    """Against the table itself; numbers compare, texts read back."""
    unit = orders(dba)
    for column in ("the id", "made_at"):
        found = reader.values_at(unit, column, np.array([0, 50, 100]), 10.0)
        assert [each.block for each in found] == [0, 49, 50, 99, 100]
        for each in found:
            least, greatest = dba.execute(
                f'SELECT min("{column}"), max("{column}") FROM {TABLE} WHERE (ctid::text::point)[0] = %s'.encode(),
                (each.block,),
            ).fetchone() or (None, None)
            same = dba.execute(
                "SELECT %s::text::timestamptz = %s, %s::text::timestamptz = %s"
                if column == "made_at"
                else "SELECT %s::text::bigint = %s, %s::text::bigint = %s",
                (each.least.text, least, each.greatest.text, greatest),
            ).fetchone()
            assert same == (True, True)
        numbers = [number for each in found for number in (each.least.number, each.greatest.number)]
        assert numbers == sorted(numbers)
    (first, *_) = reader.values_at(unit, "made_at", np.array([0]), 10.0)
    assert first.least.text == "2026-01-01 00:01:00+00"
    assert first.least.number == 1767225660.0


def test_blocks_are_read_by_range_scans_and_no_others(dba: psycopg.Connection, reader: ValueReader) -> None:
    """Two borders are a handful of blocks of a hundred, as the server counts them."""
    unit = orders(dba)
    flush(dba)
    count = "SELECT heap_blks_read + heap_blks_hit FROM pg_statio_user_tables WHERE relid = %s"
    before = dba.execute(count, (unit,)).fetchone()
    reader.values_at(unit, "the id", np.array([30, 60]), 10.0)
    reader.close()  # the server counts what a session did at its end
    after = before
    for _ in range(100):
        after = dba.execute(count, (unit,)).fetchone()
        if after != before:
            break
        dba.execute("SELECT pg_sleep(0.02)")
    assert before is not None
    assert after is not None
    assert 4 <= after[0] - before[0] <= 8


def test_no_value_without_a_finite_one_and_none_after_the_time(dba: psycopg.Connection, reader: ValueReader) -> None:
    """NaN and infinity compare with nothing; without time no border is looked at."""
    unit = orders(dba)
    assert reader.values_at(unit, "amount", np.array([10]), 10.0) == ()
    assert reader.values_at(unit, "the id", np.array([10, 20]), 0.0) == ()


def test_a_login_without_the_privilege_is_told_the_grant(
    dba: psycopg.Connection, cluster: Cluster, dbname: str, cleanup: ExitStack
) -> None:
    """Not one value before it; one column is enough; policies on rows need more."""
    unit = orders(dba)
    login = f"values_{dbname}"
    dba.execute(f"CREATE ROLE {login} LOGIN".encode())
    cleanup.callback(dba.execute, f"DROP ROLE {login}".encode())
    cleanup.callback(dba.execute, f"DROP OWNED BY {login}".encode())
    poor = cluster.connector(dbname, user=login)
    cleanup.callback(poor.close)
    reader = cleanup.enter_context(poor.read_values())
    found = {each.name: each for each in reader.candidates(unit)}
    assert not any(each.readable for each in found.values())
    with pytest.raises(PrivilegeMissing) as refused:
        reader.values_at(unit, "the id", np.array([0]), 10.0)
    assert 'GRANT SELECT (ctid, "the id") ON "Of, ""others"""."orders" TO' in refused.value.advice
    dba.execute(f'GRANT USAGE ON SCHEMA "Of, ""others""" TO {login}'.encode())
    dba.execute(f'GRANT SELECT (ctid, "the id") ON {TABLE} TO {login}'.encode())
    assert [each.name for each in reader.candidates(unit) if each.readable] == ["the id"]
    assert len(reader.values_at(unit, "the id", np.array([0]), 10.0)) == 1
    dba.execute(f"ALTER TABLE {TABLE} ENABLE ROW LEVEL SECURITY".encode())
    assert not any(each.readable for each in reader.candidates(unit))
