"""What makes moves fail though every right is there: the doctor knows it before, and the failure names its cause."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from connectors.kit.contract import ObjectGone, PrivilegeMissing, StatementFailed
from connectors.postgresql.connector import PostgresqlConnector
from tests.contract.asking import route_to, run
from tests.labs.postgresql import Cluster

CODES = {"sessions_read_only", "event_trigger", "index_function_path"}


def found(connector: PostgresqlConnector) -> dict[str, str]:
    """What the doctor says of obstacles."""
    return {each.code: each.sentence for each in connector.doctor() if each.code in CODES}


@pytest.fixture
def thing(dba: psycopg.Connection) -> psycopg.Connection:
    """A table with an index over a function that needs the application's search_path."""
    dba.execute(
        "CREATE SCHEMA app; CREATE TABLE app.rates (id int, rate int); INSERT INTO app.rates VALUES (1, 2);"
        "CREATE TABLE thing (id int PRIMARY KEY, filler text)"
    )
    return dba


def test_a_function_of_an_index_that_misses_a_name_is_named(
    thing: psycopg.Connection, connector: PostgresqlConnector
) -> None:
    """The object that is moved is neither dropped nor renamed."""
    assert found(connector) == {}
    thing.execute(
        "CREATE FUNCTION app.rated(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS"
        " $$ BEGIN RETURN (SELECT rate FROM rates WHERE id = $1); END $$;"
        "CREATE INDEX rated ON thing (app.rated(id)); SET search_path = app, public;"
        "INSERT INTO thing SELECT g, 'x' FROM generate_series(1, 100) AS g"
    )
    assert "app.rated" in found(connector)["index_function_path"]
    with pytest.raises(StatementFailed) as caught:
        run(connector, route_to(connector, "public.rated", "fast"))
    assert not isinstance(caught.value, ObjectGone)
    assert "app.rated" in caught.value.advice
    assert "search_path" in caught.value.advice
    thing.execute("ALTER FUNCTION app.rated(int) SET search_path = app, pg_temp")
    assert found(connector) == {}


def test_an_event_trigger_that_forbids_it_is_named(thing: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """Before a person approves, and with the failure."""
    thing.execute(
        "CREATE FUNCTION app.no_ddl() RETURNS event_trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'not on this database'; END $$;"
        "CREATE EVENT TRIGGER frozen ON ddl_command_start WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION app.no_ddl()"
    )
    assert "frozen calls app.no_ddl" in found(connector)["event_trigger"]
    with pytest.raises(StatementFailed, match="not on this database") as caught:
        run(connector, route_to(connector, "public.thing", "fast"))
    assert "app.no_ddl()" in caught.value.advice
    thing.execute("DROP EVENT TRIGGER frozen")
    assert found(connector) == {}


def tried(connector: PostgresqlConnector) -> tuple[str, str]:
    """What a trial says of moves to the fast space."""
    (found,) = connector.try_moves(["fast"])
    return found.code, f"{found.sentence} {found.remedy}"


def test_a_trial_leaves_nothing(thing: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """Sound, it says so; no table, no file and no lock is left of it, but the database's empty folder in the space."""
    tried(connector)
    count = "SELECT (SELECT count(*) FROM pg_class), (SELECT count(*) FROM pg_locks), pg_tablespace_size('fast')"
    before = thing.execute(count.encode()).fetchone()
    assert tried(connector) == ("moves_tried", "a table of one row was moved to fast and rolled back ")
    thing.execute("CHECKPOINT")  # files of what was dropped are empty until then
    assert thing.execute(count.encode()).fetchone() == before


def test_a_trial_hears_what_the_server_says(
    cluster: Cluster, thing: psycopg.Connection, connector: PostgresqlConnector, frozen: PostgresqlConnector
) -> None:
    """An event trigger that the catalog does not tell to refuse, sessions that begin read-only, a missing right."""
    thing.execute(
        "CREATE FUNCTION app.no_ddl() RETURNS event_trigger LANGUAGE plpgsql AS"
        " $$ BEGIN IF session_user = 'postgres' THEN RAISE EXCEPTION 'not on this database'; END IF; END $$;"
        "CREATE EVENT TRIGGER frozen ON ddl_command_end EXECUTE FUNCTION app.no_ddl()"
    )
    code, said = tried(connector)
    assert (code, "not on this database" in said, "app.no_ddl()" in said) == ("move_refused", True, True)
    thing.execute("DROP EVENT TRIGGER frozen")
    code, said = tried(frozen)
    assert (code, "default_transaction_read_only" in said) == ("move_refused", True)
    with closing(cluster.connector(thing.info.dbname, user="looker")) as looker:
        code, said = tried(looker)
        assert (code, "permission denied for tablespace fast" in said) == ("move_refused", True)
        thing.execute(f"REVOKE TEMPORARY ON DATABASE {thing.info.dbname} FROM PUBLIC".encode())
        assert tried(looker)[0] == "moves_not_tried"


@pytest.fixture
def frozen(cluster: Cluster, dba: psycopg.Connection, dbname: str) -> Iterator[PostgresqlConnector]:
    """A connector of a login whose sessions begin read-only."""
    dba.execute(f"CREATE ROLE frozen_{dbname} LOGIN SUPERUSER".encode())
    dba.execute(f"ALTER ROLE frozen_{dbname} SET default_transaction_read_only = on".encode())
    connector = cluster.connector(dbname, user=f"frozen_{dbname}")
    yield connector
    connector.close()
    dba.execute(f"DROP ROLE frozen_{dbname}".encode())


def test_a_login_whose_sessions_begin_read_only_is_told(
    cluster: Cluster, thing: psycopg.Connection, frozen: PostgresqlConnector
) -> None:
    """The reading session is read-only too, by its own setting: that is no finding."""
    assert thing.info.dbname
    assert "default_transaction_read_only" in found(frozen)["sessions_read_only"]
    # As it was set for this database alone, which counts more than for the role.
    role, dbname = f"frozen_{thing.info.dbname}", thing.info.dbname
    thing.execute(f"ALTER ROLE {role} IN DATABASE {dbname} SET default_transaction_read_only = on".encode())
    # Settings are of the one that logs in, whatever role it then takes.
    thing.execute(f"ALTER ROLE {role} SET role = pg_monitor".encode())
    with closing(cluster.connector(dbname, user=role)) as other:
        (told,) = (each for each in other.doctor() if each.code == "sessions_read_only")
    thing.execute(f"ALTER ROLE {role} RESET role".encode())
    assert told.remedy is not None
    thing.execute(told.remedy.removeprefix("If it is to move: ").encode())
    with closing(cluster.connector(dbname, user=role)) as mended:
        assert "sessions_read_only" not in found(mended)
    thing.execute(f"ALTER ROLE {role} IN DATABASE {dbname} RESET ALL".encode())
    with pytest.raises(PrivilegeMissing, match=f"nothing was sent: .* ALTER ROLE {role} IN DATABASE {dbname} SET"):
        run(frozen, route_to(frozen, "public.thing", "fast"))


def test_duplicates_under_a_unique_index_are_named(thing: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """As a damaged index leaves them: its rebuild fails, and says what has to be done."""
    thing.execute("CREATE TABLE twice (id int); INSERT INTO twice VALUES (1), (1), (2)")
    thing.execute("CREATE INDEX twice_id ON twice (id)")
    thing.execute("UPDATE pg_index SET indisunique = true WHERE indexrelid = 'twice_id'::regclass")
    with pytest.raises(StatementFailed) as caught:
        run(connector, route_to(connector, "public.twice_id", "fast"))
    assert "equal under this unique index" in caught.value.advice


@pytest.fixture
def amcheck(cluster: Cluster, dba: psycopg.Connection) -> psycopg.Connection:
    """The DBA's session where amcheck looks for equal rows: since PostgreSQL 17, where the server was built with it."""
    offered = "SELECT EXISTS (SELECT FROM pg_available_extension_versions WHERE name = 'amcheck' AND version = '1.4')"
    if dba.execute(offered.encode()).fetchone() != (True,):
        pytest.skip("no amcheck 1.4 here")
    dba.execute("CREATE SCHEMA checks; CREATE EXTENSION amcheck SCHEMA checks")
    return dba


def test_duplicates_are_found_before_where_amcheck_is_installed(
    amcheck: psycopg.Connection, cluster: Cluster, connector: PostgresqlConnector
) -> None:
    """With a statement that lists them; sound indexes are counted, numbers are no matter of a collation."""
    amcheck.execute(
        "CREATE TABLE words (id int PRIMARY KEY, word text UNIQUE);"
        "INSERT INTO words SELECT g, 'w' || g FROM generate_series(1, 100) AS g;"
        "CREATE TABLE twice (a text, b int);"
        "INSERT INTO twice VALUES ('x', 1), ('x', 1), ('y', 2), (NULL, 3), (NULL, 3);"
        "CREATE INDEX twice_a ON twice (a, (b + 1)) WHERE b > 0"
    )
    amcheck.execute("UPDATE pg_index SET indisunique = true WHERE indexrelid = 'twice_a'::regclass")
    told = {each.code: each for each in connector.try_moves(["fast"])}
    assert set(told) == {"moves_tried", "equal_rows", "unique_indexes_compared"}
    assert "public.twice_a" in told["equal_rows"].sentence
    assert told["unique_indexes_compared"].sentence.startswith("1 unique indexes over text have no equal rows")
    assert amcheck.execute(listing(str(told["equal_rows"].remedy))).fetchall() == [("x", 2, 2)]
    amcheck.execute("GRANT CREATE ON TABLESPACE fast TO looker")
    with closing(cluster.connector(amcheck.info.dbname, user="looker")) as looker:
        told = {each.code: each for each in looker.try_moves(["fast"])}
    assert "checks.bt_index_check" in str(told["unique_indexes_not_compared"].remedy)


def listing(remedy: str) -> bytes:
    """The query among the statements of a remedy."""
    return next(each for each in remedy.split("; ") if each.startswith("SELECT")).encode()
