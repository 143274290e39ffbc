"""What a drain says stays is all that keeps a tablespace from being dropped."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from tests.cli.site import Site
from tests.labs.postgresql import Cluster

OLD = "old disk"
PARTITIONED = """
    CREATE TABLE pt (id int, d date NOT NULL, PRIMARY KEY (id, d)) PARTITION BY RANGE (d);
    CREATE TABLE pt1 PARTITION OF pt FOR VALUES FROM ('2030-01-01') TO ('2031-01-01');
    INSERT INTO pt SELECT g, '2030-02-01' FROM generate_series(1, 5000) AS g;
"""


@pytest.fixture
def old(cluster: Cluster, dba: psycopg.Connection, cleanup: ExitStack) -> str:
    """A tablespace of the test's own, the default of the session; dropped at the end if it still is there."""
    folder = cluster.server.make_folder(f"old_{dba.info.dbname}")
    dba.execute(sql.SQL("CREATE TABLESPACE {} LOCATION {}").format(sql.Identifier(OLD), sql.Literal(str(folder))))
    dba.execute(sql.SQL("SET default_tablespace = {}").format(sql.Literal(OLD)))
    cleanup.callback(_drop, cluster, dba.info.dbname)
    return OLD


def _drop(cluster: Cluster, dbname: str) -> None:
    with cluster.session(dbname) as dba:
        dba.execute("DROP TABLE IF EXISTS pt")
        dba.execute(sql.SQL("DROP TABLESPACE IF EXISTS {}").format(sql.Identifier(OLD)))


@pytest.fixture
def real(cluster: Cluster, dbname: str, tmp_path: Path) -> Site:
    """The command line over the test's database, whose default tablespace is slow."""
    return Site(
        tmp_path,
        {
            "name": "real",
            "engine": "postgresql",
            "connection": {"host": str(cluster.server.folder), "dbname": dbname, "user": "postgres"},
            "tiers": [
                {"name": "ssd", "spaces": ["fast"]},
                {"name": "hdd", "spaces": [{"name": name, "capacity": "1 GiB"} for name in ("slow", OLD)]},
            ],
            "sample_every": "0.2s",
            "policy": {"minimum_history": "0s"},
        },
    )


def _stays(real: Site, space: str) -> dict[str, dict[str, Any]]:
    """What a drain leaves, by its name."""
    document = real.good("plan", "--mode", "drain", "--space", space, "--json").document
    return {left["unit"]: left for left in document["left_behind"]}


def test_partitioned_relations_are_named_with_what_takes_them_out(
    real: Site, dba: psycopg.Connection, old: str
) -> None:
    """They have no storage and name the space: it cannot be dropped, and the next partition would be made in it."""
    dba.execute(PARTITIONED.encode())
    planned = real.good("plan", "--mode", "drain", "--space", old, "--propose", "--json").document
    real.good("approve", str(planned["proposal"]["id"]), "--yes")
    assert {move["state"] for move in real.good("run", "--once", "--json").document["moves"]} == {"placed"}
    with pytest.raises(psycopg.errors.DependentObjectsStillExist):
        dba.execute(sql.SQL("DROP TABLESPACE {}").format(sql.Identifier(old)))
    # Before the moves by where these go, and after them by where the partitions are.
    named = {left["unit"]: left for left in planned["left_behind"]}
    assert named == _stays(real, old)
    assert set(named) == {"partitioned table public.pt", "partitioned index public.pt_pkey"}
    assert {left["bytes"] for left in named.values()} == {0}
    statements = [statement for left in named.values() for statement in left["statements"]]
    assert sorted(statements) == [
        'ALTER INDEX public.pt_pkey SET TABLESPACE "slow"',
        'ALTER TABLE public.pt SET TABLESPACE "slow"',
    ]
    text = real.good("plan", "--mode", "drain", "--space", old).out
    assert all(f"\n{statement};\n" in text for statement in statements)
    for statement in statements:
        dba.execute(statement.encode())
    assert _stays(real, old) == {}
    dba.execute("RESET default_tablespace")
    dba.execute("CREATE TABLE pt2 PARTITION OF pt FOR VALUES FROM ('2031-01-01') TO ('2032-01-01')")
    dba.execute(sql.SQL("DROP TABLESPACE {}").format(sql.Identifier(old)))


def test_a_name_is_quoted_as_the_engine_wants_it(real: Site, dba: psycopg.Connection, old: str) -> None:
    """The statement runs as it stands."""
    dba.execute('CREATE TABLE "Of ""all""" (id int) PARTITION BY RANGE (id)')
    (left,) = _stays(real, old).values()
    assert left["unit"] == 'partitioned table public."Of ""all"""'
    dba.execute(left["statements"][0].encode())
    assert _stays(real, old) == {}


def test_a_default_tablespace_keeps_sequences_and_the_system_catalog(
    real: Site, dba: psycopg.Connection, old: str
) -> None:
    """Of a database: no statement moves one alone."""
    dba.execute("RESET default_tablespace; CREATE TABLE held (id serial)")
    dba.execute("CREATE SEQUENCE more; CREATE TEMP TABLE passing (id int)")
    named = _stays(real, "slow")
    assert {"2 sequences", "the system catalog", "1 temporary relation"} <= set(named)
    assert named["2 sequences"]["bytes"] == 2 * 8192
    assert named["the system catalog"]["bytes"] > 2**20
    for what in ("2 sequences", "the system catalog"):
        assert f"ALTER DATABASE {dba.info.dbname} SET TABLESPACE" in named[what]["why"]
        assert named[what]["statements"] == []
    assert not _stays(real, old)


def test_other_databases_in_the_space_are_named(
    real: Site, cluster: Cluster, dba: psycopg.Connection, old: str, cleanup: ExitStack
) -> None:
    """Those that have it as their default, files in it, or nothing but a partitioned table that names it."""
    owned, filed, named = (cleanup.enter_context(cluster.database()) for _ in range(3))
    with cluster.session() as admin:
        admin.execute(sql.SQL("ALTER DATABASE {} SET TABLESPACE {}").format(*map(sql.Identifier, (owned, old))))
        cleanup.callback(_give_back, cluster, owned)
    for other, how in ((filed, ""), (named, "PARTITION BY RANGE (id)")):
        session = cleanup.enter_context(cluster.session(other))
        session.execute(f'CREATE TABLE there (id int) {how} TABLESPACE "{old}"'.encode())
        cleanup.callback(session.execute, b"DROP TABLE there")
    ((what, left),) = _stays(real, old).items()
    assert what == f"3 other databases: {', '.join(sorted((owned, filed, named)))}"
    assert left["bytes"] is None
    assert "not known" in real.good("plan", "--mode", "drain", "--space", old).out


def _give_back(cluster: Cluster, dbname: str) -> None:
    with cluster.session() as admin:
        admin.execute(sql.SQL("ALTER DATABASE {} SET TABLESPACE slow").format(sql.Identifier(dbname)))


def test_a_login_that_may_only_look_is_told_as_well(
    real: Site, cluster: Cluster, dba: psycopg.Connection, old: str, cleanup: ExitStack
) -> None:
    """With the rights of deploy/privileges, though it may use nothing of what it names."""
    dba.execute(PARTITIONED.encode())
    connector = cluster.connector(dba.info.dbname, user="looker")
    cleanup.callback(connector.close)
    assert {each.what for each in connector.other_contents(old, "")} >= {
        "partitioned table public.pt", "partitioned index public.pt_pkey",
    }  # fmt: skip
    slow = {each.what: each.size_bytes for each in connector.other_contents("slow", "")}
    assert (slow["the system catalog"] or 0) > 2**20


def test_a_drain_of_many_levels_names_each(real: Site, dba: psycopg.Connection, old: str) -> None:
    """A partition that is partitioned itself names the space too; all statements together free it."""
    dba.execute(
        "CREATE TABLE pt (id int, d int, PRIMARY KEY (id, d)) PARTITION BY RANGE (d);"
        "CREATE TABLE pt_low PARTITION OF pt FOR VALUES FROM (0) TO (9) PARTITION BY RANGE (id);"
        "CREATE TABLE pt_low_1 PARTITION OF pt_low FOR VALUES FROM (0) TO (9) TABLESPACE fast"
    )
    named = _stays(real, old)
    units = {what for what, left in named.items() if not left["statements"]}
    assert not units
    assert {what.split()[-1] for what in named} == {
        "public.pt", "public.pt_low", "public.pt_pkey", "public.pt_low_pkey",
    }  # fmt: skip
    for left in named.values():
        dba.execute(left["statements"][0].encode())
    assert _stays(real, old) == {}
