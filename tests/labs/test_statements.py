"""Counters of single statements on real servers: by id, without what users entered."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np
import psycopg
import pytest

from connectors.kit.findings import Severity
from connectors.kit.statements import ReadsStatements, StatementCounters
from connectors.postgresql.connector import PostgresqlConnector
from connectors.postgresql.sessions import in_extension, query
from tests.conftest import WITH_CONTRIB
from tests.labs.postgresql import Cluster, tells_statements

SECRET = "Mrs Robinson"
pytestmark = WITH_CONTRIB


def figures(connector: PostgresqlConnector, text: str) -> tuple[str, StatementCounters, int]:
    """The id of the one statement whose text begins so, all counters, and its row."""
    found = connector.read_statements(1000)
    assert found is not None
    (number,) = [each for each, said in connector.statement_texts(found.ids).items() if said.startswith(text)]
    return number, found, found.ids.index(number)


@pytest.fixture
def dba(cluster: Cluster, dbname: str, cleanup: ExitStack) -> psycopg.Connection:
    """A DBA's session where the extension is, in a schema with a name of the worst kind."""
    if not tells_statements(cluster.server.installation):
        pytest.skip("this installation brings no pg_stat_statements")
    session = cleanup.enter_context(cluster.session(dbname))
    session.execute('CREATE SCHEMA "odd 100%"; CREATE EXTENSION pg_stat_statements SCHEMA "odd 100%"')
    session.execute(
        "CREATE TABLE big AS SELECT g AS id, repeat('x', 900) AS filler FROM generate_series(1, 20000) AS g"
    )
    return session


def test_what_a_statement_took(cluster: Cluster, dbname: str, dba: psycopg.Connection, cleanup: ExitStack) -> None:
    """Executions, time, waits and reads of a scan of 2,500 blocks or so, whatever was looked for."""
    connector = cluster.connector(dbname)
    cleanup.callback(connector.close)
    for name in (SECRET, "Eva"):
        dba.execute(f"SELECT count(*) FROM big WHERE filler = '{name}'".encode())
    _, before, row = figures(connector, "SELECT count(*) FROM big")
    assert before.executions[row] == 2
    assert 2 * 2000 < before.reads[row] < 2 * 4000
    assert 0 < before.read_wait[row] < before.seconds[row] < 10
    dba.execute("SELECT count(*) FROM big WHERE filler = 'Ann'")
    number, after, then = figures(connector, "SELECT count(*) FROM big")
    assert (before.ids[row], before.epoch) == (number, after.epoch)
    assert after.executions[then] == 3
    dba.execute('SELECT "odd 100%".pg_stat_statements_reset()')
    again = connector.read_statements(1000)
    assert again is not None
    assert again.epoch != after.epoch, "counters that restarted are not compared"


def test_only_what_took_most_time(cluster: Cluster, dbname: str, dba: psycopg.Connection, cleanup: ExitStack) -> None:
    """As many as are asked for, the slowest first; other databases' statements are not among them."""
    connector = cluster.connector(dbname)
    cleanup.callback(connector.close)
    dba.execute("SELECT count(*) FROM big")
    with cluster.session() as elsewhere:
        elsewhere.execute("SELECT pg_sleep(0.3)")
    few, many = connector.read_statements(2), connector.read_statements(1000)
    assert few is not None
    assert many is not None
    assert few.ids == many.ids[:2]
    assert np.all(np.diff(many.seconds) <= 0)
    assert not any("pg_sleep" in text for text in connector.statement_texts(many.ids).values())


def test_no_text_holds_what_a_user_entered(
    cluster: Cluster, dbname: str, dba: psycopg.Connection, cleanup: ExitStack
) -> None:
    """PostgreSQL keeps utility statements as they were sent, a new password included."""
    connector = cluster.connector(dbname)
    cleanup.callback(connector.close)
    dba.execute(f"DO $$ BEGIN PERFORM '{SECRET}'; END $$".encode())
    dba.execute(f"COMMENT ON TABLE big IS '{SECRET}'".encode())
    dba.execute(f"SELECT '{SECRET}' -- {SECRET}".encode())
    found = connector.read_statements(1000)
    assert found is not None
    texts = connector.statement_texts(found.ids)
    assert "COMMENT ON TABLE big IS ?" in texts.values()
    assert SECRET not in str(texts)


def test_a_server_that_tells_none(cluster: Cluster, dbname: str, cleanup: ExitStack) -> None:
    """Without the extension, or where a login may not see others' statements, the doctor says how to change that."""
    superuser, looker = cluster.connector(dbname), cluster.connector(dbname, user="looker")
    for connector in (superuser, looker):
        cleanup.callback(connector.close)
    assert isinstance(superuser, ReadsStatements)
    assert superuser.read_statements(100) is None
    assert superuser.statement_texts(["1"]) == {}
    (finding,) = [each for each in superuser.doctor() if each.code == "statements_unseen"]
    assert finding.severity is Severity.INFO
    assert "CREATE EXTENSION pg_stat_statements" in finding.remedy
    if not tells_statements(cluster.server.installation):
        return
    with cluster.session(dbname) as dba:
        dba.execute("CREATE EXTENSION pg_stat_statements; REVOKE pg_monitor FROM looker")
        try:
            (hidden,) = [each for each in looker.doctor() if each.code == "statements_unseen"]
            assert "pg_monitor" in hidden.remedy
        finally:
            dba.execute("GRANT pg_monitor TO looker")
    assert "statements" in {each.code for each in looker.doctor()}


@pytest.mark.parametrize("column", ["blk_read_time", "shared_blk_read_time"])
def test_the_time_of_reads_is_found_under_either_name(dba: psycopg.Connection, column: str) -> None:
    """Stand-ins for the functions of releases 1.10 and 1.11 of the extension, on a real server: one query asks both."""
    dba.execute(
        f"CREATE SCHEMA odd; CREATE FUNCTION odd.pg_stat_statements(boolean) RETURNS TABLE (dbid oid, queryid bigint, "
        f"calls bigint, total_exec_time float8, shared_blks_read bigint, {column} float8) LANGUAGE sql AS "
        "$$SELECT oid, 7, 2, 3000, 5, 1500 FROM pg_database WHERE datname = current_database()$$; "
        "CREATE FUNCTION odd.pg_stat_statements_info() RETURNS TABLE (stats_reset timestamptz) LANGUAGE sql AS "
        "$$SELECT NULL::timestamptz$$".encode()
    )
    dba.execute("SET track_io_timing = on")
    found = dba.execute(in_extension(query("statements"), "odd"), {"most": 10}).fetchall()
    assert found == [("7", 2.0, 3.0, 1.5, 5.0, None)]
