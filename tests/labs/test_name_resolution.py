"""No name in a query finds somebody else's object: by the server's own account, and with hostile twins of all."""

from __future__ import annotations

import re
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import psycopg
import pytest
from psycopg import sql

from connectors import postgresql
from connectors.kit.contract import ConnectorError, LeaseHeld, PrivilegeMissing
from connectors.kit.templates import TemplateKind
from connectors.model.moves import Border, NoRoute, Route
from connectors.model.observation import Home
from connectors.postgresql.connector import PostgresqlConnector
from connectors.postgresql.sessions import ReadSession, ask, in_extension, query
from tests.conftest import WITH_EVERYTHING
from tests.contract.asking import route_to, run
from tests.labs.calendar_site import a_template, day
from tests.labs.parse_trees import Resolved, resolving
from tests.labs.postgresql import Cluster
from tests.labs.test_close import close_route
from tests.labs.test_moving import table
from tests.labs.test_split import ORDERS, a_bundle, split_route
from tests.over import over

pytestmark = WITH_EVERYTHING
QUERIES = sorted(path.stem for path in (Path(postgresql.__file__).parent / "sql").glob("*.sql"))
EXTENSIONS = {
    "blocks": "pg_buffercache", "statements": "pg_stat_statements", "statement_texts": "pg_stat_statements",
    "timescale_chunks": "timescaledb", "timescale_chunks_by_oid": "timescaledb", "citus_shards": "citus",
    "amcheck": "amcheck",
}  # fmt: skip
NO_PID = 0x7FFFFFF0
VALUES: dict[str, object] = {
    "key": "public.t", "space": "fast", "pid": NO_PID, "ids": [1], "units": [1], "one_in": 4, "relation": 1, "unit": 1,
    "oid": 1, "table": 1, "schema": "public", "name": "t", "cold": "t_p0", "hot": "t_p1", "check": "c", "part": "p",
    "next": "n", "tag": "x", "older": 1.0, "older_than": 1.0, "snapshots": True, "moves": True, "moving": "m",
    "most": 10, "parts": True, "place": "/tmp", "index": 2662, "rebuilds": True,
    "space_id": 1663, "keys": ["public.t"],
    "roles": ["postgres"], "mark": "x", "first": "(0,0)", "behind": "(1,0)", "names": ["work_mem"], "values": ["1MB"],
}  # fmt: skip
LEASE = frozenset({"agent_sessions", "lease_take", "lease_release", "lease_holder"})
UNTIL = {"roles_14": 15, "roles_16": 17}  # others are asked of later servers
SINCE = re.compile(rb"Since: (\d+)")
ELSEWHERE = """
SELECT 'function ' || p.oid::regprocedure::text FROM pg_proc AS p
 WHERE p.oid = ANY (%(functions)s::oid[]) AND p.pronamespace <> 'pg_catalog'::regnamespace AND NOT {member}
UNION ALL
SELECT 'operator ' || p.oid::regoperator::text FROM pg_operator AS p
 WHERE p.oid = ANY (%(operators)s::oid[]) AND p.oprnamespace <> 'pg_catalog'::regnamespace AND NOT {member}
UNION ALL
SELECT 'relation ' || p.oid::regclass::text FROM pg_class AS p
 WHERE p.oid = ANY (%(relations)s::oid[]) AND p.relnamespace <> 'pg_catalog'::regnamespace AND NOT {member}
   AND p.oid <> 'public.t'::regclass -- whose name the test gives
UNION ALL
SELECT 'unequal types for ' || p.oid::regoperator::text FROM pg_operator AS p WHERE p.oid = ANY (%(unequal)s::oid[])
""".replace(
    "{member}",
    "EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = p.tableoid AND d.objid = p.oid AND d.deptype = 'e')",
)


def known_to(cluster: Cluster, name: str) -> bool:
    """Whether the server's version has what the query reads."""
    since = SINCE.search(query(name))
    assert since is not None, f"{name}.sql does not say since which version"
    return int(since[1]) <= cluster.major <= UNTIL.get(name, cluster.major)


def text_of(name: str, schema: str = "public") -> bytes:
    """A query for the table public.t, its extension in that schema."""
    text = in_extension(query(name), sql.Identifier(schema).as_string(None))
    column = b"b" if name == "border_times" else b"a"
    text = text.replace(b"{column}", column).replace(b"{condition}", b"a >= 1").replace(b"{table}", b"public.t")
    return text.replace(b"$1", b"'public.t'::regclass::oid").replace(b"$2", b"'c'")


def send(session: psycopg.Connection, name: str, text: bytes) -> None:
    """Have the server answer a query with values of the types that the connector gives."""
    named = re.findall(rb"%\((\w+)\)s", text)
    values = {each.decode(): VALUES[each.decode()] for each in named}
    values |= {"key": 1} if name in LEASE else {}
    if b"TO STDOUT" in text:
        with session.cursor().copy(text) as copy:
            assert all(isinstance(part, memoryview) for part in copy)
    else:
        ask(session, text, values or None)


@pytest.fixture
def extended(cluster: Cluster, dba: psycopg.Connection) -> psycopg.Connection:
    """A DBA's session in a database with a table and, where the server has them, both extensions in ``public``."""
    dba.execute("CREATE TABLE public.t (a int, b timestamp); SET search_path = pg_catalog")
    for extension in sorted(set(EXTENSIONS.values())):
        if has(dba, extension):
            dba.execute(f"CREATE EXTENSION {extension} SCHEMA public".encode())
    return dba


def has(dba: psycopg.Connection, extension: str) -> bool:
    """Whether the server's machine brings it."""
    return bool(dba.execute("SELECT 1 FROM pg_available_extensions WHERE name = %s", (extension,)).fetchone())


def resolved_on(cluster: Cluster, dbname: str, name: str, dba: psycopg.Connection) -> Resolved | None:
    """What one query resolves to on a session as the connector opens it; None where this server cannot answer it."""
    if not known_to(cluster, name) or not has(dba, EXTENSIONS.get(name, "plpgsql")):
        return None
    reading = ReadSession(cluster.settings(dbname))
    try:
        with resolving(session := reading._open()) as found:
            send(session, name, text_of(name))
        return found
    finally:
        reading.close()


@over("name", QUERIES)
def test_every_name_is_the_servers_or_qualified(
    cluster: Cluster, dbname: str, extended: psycopg.Connection, name: str
) -> None:
    """All is of pg_catalog, or of an extension where the text names its schema; each operator has its own types."""
    found = resolved_on(cluster, dbname, name, extended)
    if found is None:
        return  # an older server, or one without the extension: another one that is tried has it
    assert found.trees >= 1
    oids = {each: list(getattr(found, each)) for each in ("functions", "operators", "relations", "unequal")}
    assert [said for (said,) in extended.execute(ELSEWHERE.encode(), oids)] == []


HOSTILE = "a hostile twin was called"
# Operators that pg_catalog has only by a cast: where one of these is found, it fits better.
MIXED = [
    (name, left, right)
    for name in ("=", "<>", "<", ">=")
    for left, right in (
        ("oid", "integer"), ("oid", "bigint"), ("integer", "oid"), ("regclass", "oid"), ("oid", "regclass")
    )
] + [
    ("/", "double precision", "numeric"), ("/", "double precision", "bigint"),
    ("||", "text", "name"), ("||", "name", "text"),
]  # fmt: skip
TWIN_FUNCTIONS = """
SELECT format('CREATE FUNCTION public.%%I(%%s) RETURNS %%s%%s LANGUAGE plpgsql AS %%L', p.proname,
              replace(replace(pg_get_function_identity_arguments(p.oid), 'VARIADIC "any"', 'VARIADIC text[]'),
                      '"any"', 'text'),
              CASE WHEN p.proretset THEN 'SETOF ' ELSE '' END, format_type(p.prorettype, NULL), %(body)s::text)
  FROM pg_proc AS p WHERE p.oid = ANY (%(functions)s::oid[]) AND p.pronamespace = 'pg_catalog'::regnamespace
"""
TWIN_OPERATORS = """
SELECT o.oprname, CASE WHEN o.oprleft <> 0 THEN format_type(o.oprleft, NULL) END, format_type(o.oprright, NULL)
  FROM pg_operator AS o WHERE o.oid = ANY (%(operators)s::oid[])
"""


def make_twins(dba: psycopg.Connection, found: Resolved) -> int:
    """A twin in ``public`` of each object that a query uses, and some that would fit better; how many."""
    body = f"BEGIN RAISE EXCEPTION '{HOSTILE}'; END"
    oids = {"functions": list(found.functions), "operators": list(found.operators), "body": body}
    made = [text for (text,) in dba.execute(TWIN_FUNCTIONS.encode(), oids)]
    operators = set(dba.execute(TWIN_OPERATORS.encode(), oids).fetchall()) | set(MIXED)
    for number, (name, left, right) in enumerate(sorted(operators, key=str)):
        given = ", ".join(filter(None, (left, right)))
        made.append(
            f"CREATE FUNCTION public.trap_{number}({given}) RETURNS boolean LANGUAGE plpgsql AS $${body}$$;"
            f"CREATE OPERATOR public.{name} (FUNCTION = public.trap_{number}, RIGHTARG = {right}"
            + (f", LEFTARG = {left})" if left else ")")
        )
    relations = dba.execute(
        "SELECT quote_ident(relname) FROM pg_class"
        " WHERE oid = ANY (%s::oid[]) AND relnamespace = 'pg_catalog'::regnamespace",
        (list(found.relations),),
    )
    made += [f"CREATE TABLE public.{name} (oid oid)" for (name,) in relations]
    for type_name in ("oid", "regclass", "regtype", "tid", "point", "text", "name"):
        made.append(f"CREATE DOMAIN public.{type_name} AS integer CHECK (public.trap_type(VALUE))")
    dba.execute(f"CREATE FUNCTION public.trap_type(integer) RETURNS boolean LANGUAGE plpgsql AS $${body}$$".encode())
    for statement in made:
        dba.execute(statement.encode())
    return len(made)


def everything_read(connector: PostgresqlConnector, dba: psycopg.Connection) -> None:
    """Ask whatever the connector can be asked that changes nothing."""
    assert connector.identify().engine == "postgresql"
    assert len(connector.capabilities()) == 7
    assert {"version", "track_counts", "storage_lasts"} & {finding.code for finding in connector.doctor()}
    catalog = connector.catalog()
    connector.sample()
    assert connector.exact_sizes(catalog.units.physical_id).min() >= 0
    connector.foreground_reads()
    if has(dba, "pg_stat_statements"):
        counters = connector.read_statements(1000)
        assert counters is not None
        assert connector.statement_texts(counters.ids)
    if has(dba, "pg_buffercache"):
        with connector.read_blocks() as blocks:
            assert blocks.look(catalog.units.physical_id).units
    with connector.read_values() as values:
        unit = int(catalog.units.physical_id[list(catalog.units.key).index("public.thing")])
        assert [each.name for each in values.candidates(unit)] == ["id"]
        assert values.values_at(unit, "id", np.array([1, 3]), 5.0)


def everything_moved(connector: PostgresqlConnector, dba: psycopg.Connection) -> None:
    """A table, an index rebuilt online, a table split, closed and put back, a partition of tomorrow."""
    for key in ("public.thing", "public.thing_pkey"):
        route = route_to(connector, key, "fast")
        assert connector.blockers(route) == ()
        run(connector, route)
        assert connector.inspect(route).home is Home.TARGET
    split = split_route(connector, dba, "id", "1000000")
    assert connector.refuse_split(split) is None
    run(connector, split)
    assert connector.inspect(split).home is Home.TARGET
    closing = close_route(connector, "2000000")
    run(connector, closing)
    assert connector.inspect(closing).home is Home.TARGET
    run(connector, closing, undo=True)
    run(connector, split, undo=True)
    template = a_template(connector, TemplateKind.NEXT_PARTITION, "public.daily", "fast", 2)
    for due in connector.routes_due(template, datetime.now(UTC)):
        run(connector, due)
        assert connector.inspect(due).home is Home.TARGET


@pytest.fixture
def besieged(cluster: Cluster, dbname: str, extended: psycopg.Connection) -> psycopg.Connection:
    """A DBA's session in a database with a hostile twin of every object that any query uses, first on every path."""
    found = Resolved()
    for name in QUERIES:
        each = resolved_on(cluster, dbname, name, extended) or Resolved()
        found.functions |= each.functions
        found.operators |= each.operators
        found.relations |= each.relations
    extended.execute("SET search_path = public")
    for role in ("split_owner", "split_reader", "split_writer"):
        extended.execute(f"DROP ROLE IF EXISTS {role}".encode())
    extended.execute(ORDERS.encode())
    table(extended)
    extended.execute("CREATE TABLE daily (at timestamptz NOT NULL) PARTITION BY RANGE (at)")
    extended.execute(
        f"CREATE TABLE daily_{day(0, '%Y_%m_%d')} PARTITION OF daily"
        f" FOR VALUES FROM ('{day(0)} 00:00+00') TO ('{day(1)} 00:00+00') TABLESPACE fast".encode()
    )
    extended.execute("SET search_path = pg_catalog")
    assert make_twins(extended, found) > 100
    extended.execute(f"ALTER DATABASE {dbname} SET search_path = public, pg_catalog".encode())
    return extended


def test_hostile_twins_are_never_called(
    cluster: Cluster, dbname: str, besieged: psycopg.Connection, connector: PostgresqlConnector
) -> None:
    """Where anyone may create in the schema of an extension, no session of the agent runs what was made there."""
    log = cluster.server.folder / "log"
    before = len(log.read_bytes())
    with cluster.session(dbname) as victim, pytest.raises(psycopg.errors.RaiseException, match=HOSTILE):
        victim.execute("SELECT relname FROM pg_catalog.pg_class WHERE oid = 1")  # the siege is one
    heard = len(log.read_bytes())
    assert HOSTILE in log.read_bytes()[before:].decode()
    lease = connector.acquire_lease("one")
    with pytest.raises(LeaseHeld, match="one"):
        connector.acquire_lease("two")
    everything_read(connector, besieged)
    everything_moved(connector, besieged)
    connector.end_holder("one")
    assert not lease.is_held()
    lease.release()
    assert HOSTILE not in log.read_bytes()[heard:].decode()


def test_called_code_cannot_write(cluster: Cluster, dbname: str, dba: psycopg.Connection) -> None:
    """Not even what turns the session's default off, as it would have to for the next statement to write."""
    dba.execute("CREATE TABLE target (n int)")
    dba.execute(
        "CREATE FUNCTION public.turn_off() RETURNS text LANGUAGE sql"
        " AS $$ SELECT set_config('default_transaction_read_only', 'off', false) $$"
    )
    reading = ReadSession(cluster.settings(dbname))
    try:
        assert reading.rows(b"SELECT public.turn_off()", doing="being led astray") == [("off",)]
        for statement in (b"INSERT INTO public.target VALUES (1) RETURNING n", b"SELECT nextval('public.s')"):
            dba.execute("CREATE SEQUENCE IF NOT EXISTS public.s")
            with pytest.raises(ConnectorError) as caught:
                reading.rows(statement, doing="writing")
            assert caught.value.native_code == "25006"
    finally:
        reading.close()


def test_code_of_a_tables_owner_is_not_run(
    cluster: Cluster, dbname: str, dba: psycopg.Connection, connector: PostgresqlConnector, cleanup: ExitStack
) -> None:
    """Neither the check of a type nor what an index is made with: both would run with the rights of whoever reads."""
    body = f"BEGIN RAISE EXCEPTION '{HOSTILE}'; END"
    trap = "CREATE OR REPLACE FUNCTION trap() RETURNS bigint IMMUTABLE LANGUAGE"
    dba.execute(
        f"{trap} sql AS 'SELECT 0::bigint'; CREATE DOMAIN checked AS bigint CHECK (VALUE >= trap());"
        "CREATE TABLE orders (id bigint NOT NULL, odd checked NOT NULL);"
        "INSERT INTO orders SELECT g, g FROM generate_series(1, 500) AS g; ANALYZE orders;"
        "CREATE INDEX calls ON orders (id) WHERE id > trap();"
        f"{trap} plpgsql AS $${body}$$".encode()
    )
    bundle = a_bundle(dba)
    odd, plain = (connector.routes_split(bundle, Border(column=each, value="400"), "fast") for each in ("odd", "id"))
    assert isinstance(odd, NoRoute)
    assert odd.code == "foreign_type"
    assert isinstance(plain, Route), plain
    assert not any("DELETE FROM" in step.sql for step in plain.steps), "how many rows lie there is not asked"
    values = cleanup.enter_context(connector.read_values())
    assert [each.readable for each in values.candidates(bundle.physical_ids[0])] == [False]
    with pytest.raises(PrivilegeMissing, match=r"would run function public\.trap"):
        values.values_at(bundle.physical_ids[0], "id", np.array([1]), 5.0)
    dba.execute("DROP INDEX calls")
    assert [each.readable for each in values.candidates(bundle.physical_ids[0])] == [True]
