"""What is shipped as SQL: queries that say what they cost, and privilege scripts that do what they promise."""

from __future__ import annotations

import re
import subprocess
from contextlib import ExitStack
from importlib.resources import files
from pathlib import Path

import psycopg
import pytest

from connectors.kit.contract import PrivilegeMissing
from connectors.model.moves import Border, Route
from connectors.model.observation import Home
from connectors.postgresql import catalog, doctor, sessions, stored
from connectors.postgresql.sampler import query_for
from tests.contract.asking import route_to, run
from tests.labs.postgresql import Cluster
from tests.labs.test_split import a_bundle
from tests.over import over

QUERIES = sorted(entry.name for entry in (files("connectors.postgresql") / "sql").iterdir())
DEPLOY = Path(__file__).parents[2] / "deploy"


@over("name", QUERIES)
def test_every_query_says_what_it_needs(name: str) -> None:
    """Each file opens with what it reads, since which version, with which privilege and at what cost."""
    text = sessions.query(name.removesuffix(".sql")).decode()
    head = " ".join(re.findall(r"^-- (.*)$", text, re.MULTILINE))
    for word in ("Reads:", "Since:", "Privilege:", "Cost:"):
        assert word in head, f"{name} does not say {word}"


def test_every_query_is_used() -> None:
    """No file is left over, and none is missing."""
    sources = Path(str(files("connectors.postgresql"))).rglob("*.py")
    asks = r'\b(?:query\(|_ask\(connection, |_rows\(session, |rows_beside_unusable\(session, |_in_one_line\()"(\w+)"'
    used = {n for f in sources for n in re.findall(asks, f.read_text())}
    by_version = {query_for(major * 10_000) for major in (14, 15, 16, 17, 18)} | {"foreground", "foreground_14"}
    by_table = {*stored.QUERIES, *catalog._CATALOGS.values(), *doctor.QUERIES}  # by names that stand in a table
    assert used | by_version | by_table == {name.removesuffix(".sql") for name in QUERIES}


def script_of(name: str) -> Path:
    """The file of a script that gives or takes privileges."""
    return DEPLOY / ("removal" if name.endswith("-remove.sql") else "privileges") / name


def program_of(cluster: Cluster) -> Path:
    """Its psql; the test skips where there is none."""
    program = cluster.server.installation / "bin" / "psql"
    if not program.exists():
        pytest.skip("this installation has no psql")
    return program


def psql(cluster: Cluster, dbname: str, script: str, **variables: str) -> None:
    """Run a privilege script as its head says."""
    program = program_of(cluster)
    given = [word for name, value in variables.items() for word in ("-v", f"{name}={value}")]
    host = str(cluster.server.folder)
    done = subprocess.run(
        [str(program), "-X", "-h", host, "-U", "postgres", "-d", dbname, *given, "-f", str(script_of(script))],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_what_the_scripts_gave_is_taken_back(cluster: Cluster, dbname: str, cleanup: ExitStack) -> None:
    """Logins, memberships, and the owner's CREATE on tablespaces; tables stay where they are, and their owner's."""
    program_of(cluster)  # before there is anything to clean up
    dba = cleanup.enter_context(cluster.session(dbname))
    dba.execute("CREATE ROLE app_owner; CREATE TABLE thing AS SELECT 1 AS id; ALTER TABLE thing OWNER TO app_owner")
    cleanup.callback(dba.execute, b"DROP OWNED BY app_owner CASCADE; DROP ROLE app_owner")
    before = _privileges(dba)
    psql(cluster, dbname, "postgresql-observe.sql", login="the watcher")
    for space in ("fast", "slow"):
        psql(cluster, dbname, "postgresql-move.sql", login="the mover", owner="app_owner", space=space)
    mover = cluster.connector(dbname, user="the mover")
    route = route_to(mover, "public.thing", "fast")
    run(mover, route)
    mover.close()
    dba.execute('CREATE TABLE its_own (id integer); ALTER TABLE its_own OWNER TO "the mover"')
    with pytest.raises(AssertionError, match="the mover owns table its_own"):
        psql(cluster, dbname, "postgresql-remove.sql", login="the mover", owner="app_owner", space="fast")
    dba.execute("DROP TABLE its_own")
    psql(cluster, dbname, "postgresql-remove.sql", login="the mover", owner="app_owner", space="fast", keep="1")
    for _ in range(2):  # once more is harmless
        psql(cluster, dbname, "postgresql-remove.sql", login="the mover", owner="app_owner", space="slow")
        psql(cluster, dbname, "postgresql-remove.sql", login="the watcher")
    assert _privileges(dba) == before
    (home,) = dba.execute("SELECT spcname FROM pg_tablespace AS t JOIN pg_class AS c ON c.reltablespace = t.oid"
                          " WHERE c.relname = 'thing'").fetchall()  # fmt: skip
    assert home == ("fast",)


def _privileges(dba: psycopg.Connection) -> list[tuple[object, ...]]:
    """Roles with what they are members of, and who may do what in which tablespace."""
    roles = dba.execute("SELECT rolname, ARRAY(SELECT roleid::regrole::text FROM pg_auth_members WHERE member = r.oid)"
                        " FROM pg_roles AS r ORDER BY 1").fetchall()  # fmt: skip
    spaces = dba.execute(
        "SELECT spcname, grantee::regrole::text, privilege_type FROM pg_tablespace,"
        " aclexplode(spcacl) WHERE grantee <> spcowner ORDER BY 1, 2, 3"
    ).fetchall()
    return [*roles, *spaces]


def test_the_privilege_scripts(cluster: Cluster, dbname: str, cleanup: ExitStack) -> None:
    """One login sees everything and can change nothing; the other moves, and both scripts may be run again."""
    program_of(cluster)  # before there is anything to clean up
    dba = cleanup.enter_context(cluster.session(dbname))
    dba.execute("CREATE ROLE app_owner; GRANT USAGE, CREATE ON SCHEMA public TO app_owner; SET ROLE app_owner")
    dba.execute("CREATE TABLE thing AS SELECT 1 AS id; CREATE INDEX by_id ON thing (id)")
    dba.execute("RESET ROLE")
    dba.execute("CREATE SCHEMA app; CREATE TABLE app.thing AS SELECT 1 AS id; ALTER TABLE app.thing OWNER TO app_owner")
    dba.execute("ALTER TABLE app.thing ALTER id SET NOT NULL")
    for name in ("app_owner", "the watcher", "the mover"):
        cleanup.callback(dba.execute, f'DROP OWNED BY "{name}" CASCADE; DROP ROLE "{name}"'.encode())
    for _ in range(2):
        psql(cluster, dbname, "postgresql-observe.sql", login="the watcher")
        for space in ("fast", "slow"):
            psql(cluster, dbname, "postgresql-move.sql", login="the mover", owner="app_owner", space=space)
        psql(cluster, dbname, "postgresql-move.sql", login="the mover", owner="app_owner", space="fast", schema="app")
    watcher = cluster.connector(dbname, user="the watcher")
    mover = cluster.connector(dbname, user="the mover")
    for connector in (watcher, mover):
        cleanup.callback(connector.close)
    route = route_to(watcher, "public.thing", "fast")
    assert "pg_monitor" in {f.code for f in watcher.doctor()}
    with pytest.raises(PrivilegeMissing, match="read-only"):
        run(watcher, route)
    for key in ("public.thing", "public.by_id"):
        route = route_to(mover, key, "fast")
        run(mover, route)
        assert mover.inspect(route).home is Home.TARGET
        run(mover, route, undo=True)
        assert mover.inspect(route).home is Home.SOURCE
    split = mover.routes_split(a_bundle(dba, "app.thing"), Border(column="id", value="5"), "fast")
    assert isinstance(split, Route)
    run(mover, split)
    assert mover.inspect(split).home is Home.TARGET
