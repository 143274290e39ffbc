"""What the account that moves may not do is planned for a person, with each right that it lacks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from connectors.kit.contract import PrivilegeMissing
from connectors.model.observation import Home
from connectors.postgresql.connector import PostgresqlConnector
from tests.cli.site import Site
from tests.contract.asking import route_to, run
from tests.labs.postgresql import Cluster

OWNER = "the rights of the owner shop_owner"
SPACE = "CREATE on tablespace fast"
READ_ONLY = "sessions of shop_mover begin read-only (default_transaction_read_only)"


@pytest.fixture
def mover(cluster: Cluster, dbname: str, cleanup: ExitStack) -> Iterator[PostgresqlConnector]:
    """A login with no rights but to log in, beside a table and a view of another owner."""
    dba = cleanup.enter_context(cluster.session(dbname))
    dba.execute(
        "CREATE ROLE shop_owner; CREATE ROLE shop_mover LOGIN;"
        "CREATE TABLE thing AS SELECT n AS id, repeat('x', 3000) AS words FROM generate_series(1, 50) AS n;"
        "ALTER TABLE thing ADD CONSTRAINT thing_pk PRIMARY KEY (id);"
        "CREATE MATERIALIZED VIEW things AS SELECT * FROM thing;"
        "ALTER TABLE thing OWNER TO shop_owner; ALTER MATERIALIZED VIEW things OWNER TO shop_owner"
    )
    roles = b"DROP OWNED BY shop_owner, shop_mover CASCADE; DROP ROLE shop_owner; DROP ROLE shop_mover"
    cleanup.callback(dba.execute, roles)
    connector = cluster.connector(dbname, user="shop_mover")
    yield connector
    connector.close()


def test_each_right_that_is_missing_is_named(cluster: Cluster, dbname: str, mover: PostgresqlConnector) -> None:
    """Of tables, indexes and materialized views; what a role or PUBLIC gives counts; with all of it a move runs."""
    keys = ("public.thing", "public.thing_pk", "public.things")
    routes = [route_to(mover, key, "fast") for key in keys]
    with cluster.session(dbname) as dba:
        assert [mover.lacking_rights(route) for route in routes] == [
            f"the account that moves lacks {SPACE} and {OWNER}"
        ] * 3
        dba.execute("GRANT CREATE ON TABLESPACE fast TO PUBLIC")
        assert [mover.lacking_rights(route) for route in routes] == [f"the account that moves lacks {OWNER}"] * 3
        dba.execute("CREATE ROLE between_them; GRANT shop_owner TO between_them; GRANT between_them TO shop_mover")
        assert [mover.lacking_rights(route) for route in routes] == [""] * 3
        run(mover, routes[0])
        assert mover.inspect(routes[0]).home is Home.TARGET
        dba.execute("DROP ROLE between_them")
        if dba.info.server_version >= 170000:
            dba.execute("GRANT MAINTAIN ON thing TO shop_mover")
            assert mover.lacking_rights(routes[1]) == ""  # a rebuild takes no more
            assert OWNER in mover.lacking_rights(routes[0])
            run(mover, routes[1])
        dba.execute("REVOKE CREATE ON TABLESPACE fast FROM PUBLIC")


def test_the_plan_leaves_it_to_a_person(
    cluster: Cluster, dbname: str, mover: PostgresqlConnector, tmp_path: Path
) -> None:
    """By the command line: the move stands in the file, with the reason, and becomes hotplace's own with the rights."""
    assert mover.identify()
    host = str(cluster.server.folder)
    database = {
        "name": "shop", "engine": "postgresql",
        "connection": {"host": host, "dbname": dbname, "user": "postgres"},
        "move_connection": {"host": host, "dbname": dbname, "user": "shop_mover"},
        "tiers": [{"name": "ssd", "spaces": ["fast"]}, {"name": "hdd", "spaces": ["pg_default", "slow"]}],
        "sample_every": "0.2s", "settle": "0.2s", "pins": [{"unit": "public.thing", "pin": "must"}],
        "policy": {"minimum_history": "0s"}, "maximum_stall": "10min",
    }  # fmt: skip
    site = Site(tmp_path, database)
    site.values["dry_run"] = False
    site.write()
    path = tmp_path / "moves.sql"
    moves = site.good("plan", "--observe", "0.3", "--script", str(path), "--json").document["moves"]
    assert {move["by_hand"]["because"] for move in moves} == {f"the account that moves lacks {SPACE} and {OWNER}"}
    assert "psql -X -f" in path.read_text(encoding="utf-8")
    with cluster.session(dbname) as dba:
        dba.execute("GRANT shop_owner TO shop_mover; GRANT CREATE ON TABLESPACE fast TO shop_mover")
        dba.execute("ALTER ROLE shop_mover SET default_transaction_read_only = on")
    moves = site.good("plan", "--observe", "0.3", "--json").document["moves"]
    assert {move["by_hand"]["because"].partition(": ")[0] for move in moves} == {READ_ONLY}
    with cluster.session(dbname) as dba:
        dba.execute("ALTER ROLE shop_mover RESET default_transaction_read_only")
    moves = site.good("plan", "--observe", "0.3", "--json").document["moves"]
    assert [move["by_hand"] for move in moves if move["unit"] == "public.thing"] == [None]


def test_nothing_is_sent_once_the_account_can_only_read(
    cluster: Cluster, dbname: str, mover: PostgresqlConnector
) -> None:
    """After the approval, of the database too: a rebuild would run, and the table of its index would stay."""
    with cluster.session(dbname) as dba:
        dba.execute("GRANT shop_owner TO shop_mover; GRANT CREATE ON TABLESPACE fast TO shop_mover")
        routes = [route_to(mover, key, "fast") for key in ("public.thing_pk", "public.thing")]
        dba.execute(f"ALTER DATABASE {dbname} SET default_transaction_read_only = on".encode())
        for route in routes:
            with pytest.raises(PrivilegeMissing, match=re.escape(f"nothing was sent: {READ_ONLY}")):
                run(mover, route)
            assert mover.inspect(route).home is Home.SOURCE
        dba.execute(f"ALTER DATABASE {dbname} RESET default_transaction_read_only".encode())
        run(mover, routes[0])
