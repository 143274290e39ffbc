"""Partitions that come and age by the calendar, under a rule that a person has signed, on a real server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from agent.config.models import NoticeEvent
from agent.ledger.ledger import Ledger
from agent.model.clock import SystemClock
from agent.model.states import MoveState, ProposalState
from agent.service.daemon import facts_of
from agent.service.notifier import find_notices
from agent.service.watch import Watch
from connectors.kit.templates import StatementTemplate, TemplateKind
from connectors.model.moves import NoRoute
from connectors.postgresql.connector import PostgresqlConnector
from tests.contract.asking import run
from tests.labs.calendar_site import DAY, LIMITS, Site, a_template, act, day
from tests.labs.postgresql import Cluster, installations
from tests.labs.test_long_transactions import NEWEST

pytestmark = [
    pytest.mark.postgresql,
    pytest.mark.skipif(not installations(), reason="no PostgreSQL server here"),
    pytest.mark.parametrize(
        "cluster", [pytest.param(NEWEST, marks=pytest.mark.xdist_group(f"postgresql {NEWEST}"))], indirect=True
    ),
]
HOMES = """
    SELECT c.relname, coalesce(t.spcname, 'slow') FROM pg_inherits JOIN pg_class AS c ON c.oid = inhrelid
      LEFT JOIN pg_tablespace AS t ON t.oid = c.reltablespace WHERE inhparent = '"Odd 100%"."orders"'::regclass
"""


@pytest.fixture
def table(dba: psycopg.Connection) -> str:
    """One partition a day from the day before yesterday to today, in the fast space, of an owner of its own."""
    dba.execute(
        'DO $$BEGIN CREATE ROLE "App owner"; EXCEPTION WHEN duplicate_object THEN NULL; END$$;'
        'GRANT CREATE ON TABLESPACE fast TO "App owner";'
        'CREATE SCHEMA "Odd 100%" AUTHORIZATION "App owner"; SET ROLE "App owner";'
        'CREATE TABLE "Odd 100%".orders (at timestamptz NOT NULL, id int, filler text) PARTITION BY RANGE (at);'
        'CREATE INDEX ON "Odd 100%".orders (id)'
    )
    for days in (-2, -1, 0):
        dba.execute(
            f'CREATE TABLE "Odd 100%"."Orders_{day(days, "%Y_%m_%d")}" PARTITION OF "Odd 100%".orders'
            f" FOR VALUES FROM ('{day(days)} 00:00+00') TO ('{day(days + 1)} 00:00+00') TABLESPACE fast".encode()
        )
        dba.execute(
            f"""INSERT INTO "Odd 100%".orders SELECT '{day(days)} 12:00+00', g, repeat('x', 500)
                  FROM generate_series(1, 200) AS g""".encode()
        )
    dba.execute("RESET ROLE")
    return '"Odd 100%".orders'


def homes(dba: psycopg.Connection) -> dict[int, str]:
    """Where the partition of each day from today on is."""
    found: dict[str, str] = dict(dba.execute(HOMES).fetchall())
    return {days: found[name] for days in range(-5, 10) if (name := f"Orders_{day(days, '%Y_%m_%d')}") in found}


def a_site(folder: Path, cluster: Cluster, dba: psycopg.Connection) -> Site:
    """An agent over this database."""
    connection = {"host": str(cluster.server.folder), "dbname": dba.info.dbname, "user": "postgres"}
    tiers = [
        {"name": "ssd", "spaces": ["fast"]}, {"name": "hdd", "spaces": [{"name": "slow", "capacity": "1 GiB"}]},
    ]  # fmt: skip
    return Site(folder, {"engine": "postgresql", "connection": {**connection, "lock_timeout": "2s"}, "tiers": tiers})


def test_next_partitions_are_born_in_their_space(
    connector: PostgresqlConnector, dba: psycopg.Connection, table: str
) -> None:
    """With their indexes, of the table's owner, without a gap; rows of tomorrow find them; then nothing is due."""
    template = a_template(connector, TemplateKind.NEXT_PARTITION, table, "fast", 2)
    now = datetime.now(UTC)
    routes = connector.routes_due(template, now)
    assert [route.bundle.key for route in routes] == [f'"Odd 100%"."Orders_{day(days, "%Y_%m_%d")}"' for days in (1, 2)]
    assert [template.find_refusal(route, now) for route in routes] == ["", ""]
    for route in routes:
        assert connector.inspect(route).home.name == "SOURCE"
        run(connector, route)
        assert connector.inspect(route).home.name == "TARGET"
    assert homes(dba) == dict.fromkeys((-2, -1, 0, 1, 2), "fast")
    dba.execute(f"INSERT INTO {table} VALUES ('{day(2)} 23:59:59.9+00', 1, '')".encode())
    made = dba.execute(
        "SELECT relkind::text, pg_get_userbyid(relowner), spcname FROM pg_class AS c JOIN pg_tablespace AS t"
        " ON t.oid = reltablespace WHERE relname LIKE %s ORDER BY 1",
        (f"Orders_{day(2, '%Y_%m_%d')}%",),
    ).fetchall()
    assert made == [("i", "App owner", "fast"), ("r", "App owner", "fast")]
    assert connector.routes_due(template, datetime.now(UTC)) == ()


GRANTED = """
    SELECT pg_get_userbyid(c.relowner), coalesce(r.rolname, 'PUBLIC'),
           string_agg(p.privilege_type, ' ' ORDER BY p.privilege_type)
      FROM pg_class AS c, LATERAL aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) AS p
      LEFT JOIN pg_roles AS r ON r.oid = p.grantee
     WHERE c.relname = %s AND p.privilege_type IN ('SELECT', 'INSERT') GROUP BY 1, 2 ORDER BY 2
"""


@pytest.mark.parametrize("secured", [False, True], ids=["without policies", "row security"])
def test_next_partitions_give_nothing_that_default_privileges_would(
    connector: PostgresqlConnector, dba: psycopg.Connection, table: str, secured: bool
) -> None:
    """Others have on them what they have on the whole, and with row security nothing; also in a schema of their own."""
    dba.execute(
        """
        DO $$BEGIN CREATE ROLE "App reader"; EXCEPTION WHEN duplicate_object THEN NULL; END$$;
        DO $$BEGIN CREATE ROLE "App hr"; EXCEPTION WHEN duplicate_object THEN NULL; END$$;
        CREATE SCHEMA parts AUTHORIZATION "App owner";
        ALTER DEFAULT PRIVILEGES FOR ROLE "App owner" IN SCHEMA parts GRANT SELECT ON TABLES TO "App reader";
        ALTER DEFAULT PRIVILEGES FOR ROLE "App owner" GRANT ALL ON TABLES TO PUBLIC;
        GRANT SELECT, INSERT ON "Odd 100%".orders TO "App hr";
        """
    )
    for days in (-2, -1, 0):
        dba.execute(f'ALTER TABLE "Odd 100%"."Orders_{day(days, "%Y_%m_%d")}" SET SCHEMA parts'.encode())
    if secured:
        dba.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY".encode())
    template = a_template(connector, TemplateKind.NEXT_PARTITION, table, "fast", 1)
    (route,) = connector.routes_due(template, datetime.now(UTC))
    assert not template.find_refusal(route, datetime.now(UTC))
    run(connector, route)
    assert connector.inspect(route).home.name == "TARGET"
    owners = ("App owner", "App owner", "INSERT SELECT")
    others = [] if secured else [("App owner", "App hr", "INSERT SELECT")]
    assert dba.execute(GRANTED, (f"Orders_{day(1, '%Y_%m_%d')}",)).fetchall() == [*others, owners]


def test_what_cannot_be_served(connector: PostgresqlConnector, dba: psycopg.Connection, table: str) -> None:
    """No such table or space, no ranges of times, names that say nothing, a default partition, uneven ranges."""

    def why(table: str = table, space: str = "fast", kind: TemplateKind = TemplateKind.NEXT_PARTITION) -> str:
        found = connector.template(kind, table, space, DAY)
        return found.sentence if isinstance(found, NoRoute) else ""

    def name_of_last() -> str:
        """The last partition, quoted."""
        return f'"Odd 100%"."Orders_{day(0, "%Y_%m_%d")}"'

    assert why() == ""
    assert "no partitioned table" in why("public.nothing")
    assert "no tablespace other" in why(space="other")
    assert "are in fast" in why(kind=TemplateKind.AGED_PARTITION)
    dba.execute('REVOKE CREATE ON TABLESPACE fast FROM "App owner"')
    assert "may not create in fast" in why()
    dba.execute('GRANT CREATE ON TABLESPACE fast TO "App owner"')
    dba.execute(f"ALTER TABLE {name_of_last()} REPLICA IDENTITY FULL".encode())
    assert "REPLICA IDENTITY of their own" in why()
    dba.execute(f"ALTER TABLE {name_of_last()} REPLICA IDENTITY DEFAULT".encode())
    assert why() == ""
    dba.execute("CREATE TABLE lists (a int) PARTITION BY LIST (a); CREATE TABLE ids (a int) PARTITION BY RANGE (a)")
    assert "ranges of one column" in why("public.lists")
    assert "are of integer" in why("public.ids")
    name = name_of_last()
    dba.execute(f'ALTER TABLE {name} RENAME TO "latest"'.encode())
    assert "does not say that its rows begin" in why()
    dba.execute(f'DROP TABLE "Odd 100%".latest; CREATE TABLE {name} PARTITION OF {table} FOR VALUES FROM'
                f" ('{day(0)} 00:00+00') TO ('{day(3)} 00:00+00')".encode())  # fmt: skip
    assert "of different lengths" in why()
    dba.execute(f"CREATE TABLE others PARTITION OF {table} DEFAULT".encode())
    assert "default partition" in why()


def test_a_day_by_signed_rules(tmp_path: Path, cluster: Cluster, dba: psycopg.Connection, table: str) -> None:
    """Made and brought down without a further question, as many as the rule allows; all rows are there; by its name."""
    site = a_site(tmp_path, cluster, dba)
    with site.agent() as (watch, ledger, jobs):
        site.sign(watch, ledger, a_template(watch.connector, TemplateKind.NEXT_PARTITION, table, "fast", 2), 2)
        site.sign(watch, ledger, a_template(watch.connector, TemplateKind.AGED_PARTITION, table, "slow", 0), 1)
        done = act(watch, jobs)
        assert {row.state for row in done} == {MoveState.PLACED}, [row.reason for row in done]
        assert homes(dba) == {-2: "slow", -1: "fast", 0: "fast", 1: "fast", 2: "fast"}
        assert act(watch, jobs) == []  # another one has aged, but one a day was signed
        decided = {row.decided_by for row in ledger.proposals.rows()}
        assert decided == {"standing rule 1 of anna", "standing rule 2 of anna"}
        assert ledger.audit.verify().ok
    count = dba.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()
    assert count == (600,)


def test_statements_that_have_changed_wait_for_a_person(
    tmp_path: Path, cluster: Cluster, dba: psycopg.Connection, connector: PostgresqlConnector, table: str
) -> None:
    """Another lock timeout is another statement than the one that was signed: it is proposed, and not approved."""
    site = a_site(tmp_path, cluster, dba)
    with site.agent() as (watch, ledger, jobs):
        number = site.sign(watch, ledger, a_template(connector, TemplateKind.NEXT_PARTITION, table, "fast", 1), 9)
        assert act(watch, jobs) == []
        (row,) = ledger.proposals.rows()
        assert row.state is ProposalState.PROPOSED
        assert "not those of the template" in ledger.rules.why_not(row, ledger.rules.row(number))


def test_by_commands(tmp_path: Path, cluster: Cluster, dba: psycopg.Connection, table: str) -> None:
    """A rule proposed, printed and signed by commands; what it says is what is sent."""
    site = a_site(tmp_path, cluster, dba)

    printed = site.open_by_commands(tmp_path, table, "--ahead", "1d", "--to", "fast")
    assert "next partition of" in printed
    assert 'CREATE TABLE "Odd 100%"."Orders_{partition}" PARTITION OF' in printed
    with site.agent() as (watch, ledger, jobs):
        (row,) = act(watch, jobs)
        assert row.state is MoveState.PLACED, row.reason
        (sent,) = ledger.moves.steps(row.id)
        assert f"FOR VALUES FROM ('{day(1)} 00:00:00+00') TO ('{day(2)} 00:00:00+00')" in sent.sql
    assert homes(dba)[1] == "fast"
    assert site.hotplace("rules", "list", "--json").document["rules"][0]["used_today"] == 1
    rolled = ("rules", "propose", "--to", "slow", *LIMITS)
    assert site.hotplace(*rolled, "--table", "public.thing", "--aged", "1d").code == 6
    assert site.hotplace(*rolled, "--table", table).code == 2
    undone = site.hotplace("undo", str(row.id), "--json")
    assert (undone.code, "it may hold rows" in undone.err + str(undone.document)) == (6, True)


def test_what_is_no_longer_due_is_not_sent(
    tmp_path: Path, cluster: Cluster, dba: psycopg.Connection, table: str
) -> None:
    """A partition that a person has made in the meantime, is left alone, and nothing is sent."""
    site = a_site(tmp_path, cluster, dba)
    with site.agent() as (watch, ledger, jobs):
        number = site.sign(watch, ledger, a_template(watch.connector, TemplateKind.NEXT_PARTITION, table, "fast", 1), 9)
        watch.sample()
        watch.sample()
        jobs.plan(watch)
        dba.execute(
            f"""CREATE TABLE "Odd 100%".mine PARTITION OF {table} FOR VALUES FROM ('{day(1)} 00:00+00')
                        TO ('{day(2)} 00:00+00')""".encode()
        )
        (row,) = watch.act()
        assert row.state is MoveState.SKIPPED
        assert "other statements than the connector makes now" in row.reason
        assert ledger.moves.steps(row.id) == []
        ledger.rules.close(number, who="carl", origin="test", reason="")


def test_why_nothing_comes_under_a_template(
    tmp_path: Path, cluster: Cluster, dba: psycopg.Connection, table: str
) -> None:
    """A default partition was made since: the rule says so without asking the server, until it is gone."""
    site = a_site(tmp_path, cluster, dba)
    with site.agent() as (watch, ledger, jobs):
        site.sign(watch, ledger, a_template(watch.connector, TemplateKind.NEXT_PARTITION, table, "fast", 2), 9)
        site.sign(watch, ledger, a_template(watch.connector, TemplateKind.AGED_PARTITION, table, "slow", 0), 9)
        dba.execute(f"CREATE TABLE others PARTITION OF {table} DEFAULT".encode())
        act(watch, jobs)
        assert "default partition" in site.hotplace("rules", "show", "1", "--json").document["unserved"]
        assert "held up: " in site.hotplace("rules", "show", "1").out
        (notice,) = notices(watch, ledger)
        assert "standing rule 1 is held up: " in notice
        dba.execute("DROP TABLE others")
        act(watch, jobs)
        assert not notices(watch, ledger)
        for number in ("1", "2"):  # all partitions have aged: nothing is wrong with that
            assert site.hotplace("rules", "show", number, "--json").document["unserved"] is None
        ledger.rules.close(1, who="carl", origin="test", reason="")


HOLDERS = {
    "a type": "CREATE TYPE {} AS ENUM ('a')",
    "a table": "CREATE TABLE {} (id int) TABLESPACE fast",  # where the partition is to be: not it for that
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_name_that_something_else_has_is_told_and_costs_no_allowance(
    tmp_path: Path, cluster: Cluster, dba: psycopg.Connection, table: str, holder: str
) -> None:
    """What has it and what to do; partitions after it are made; once the name is free, this one comes."""
    site = a_site(tmp_path, cluster, dba)
    name = f'"Odd 100%"."Orders_{day(1, "%Y_%m_%d")}"'
    with site.agent() as (watch, ledger, jobs):
        site.sign(watch, ledger, a_template(watch.connector, TemplateKind.NEXT_PARTITION, table, "fast", 2), 2)
        dba.execute(HOLDERS[holder].format(name).encode())
        assert [row.state for row in act(watch, jobs)] == [MoveState.PLACED]  # the day after tomorrow
        for _ in range(2):
            assert act(watch, jobs) == []
        assert ledger.rules.row(1).used_today == 1
        (notice,) = notices(watch, ledger)
        said = f"the name {name} belongs to {holder}"
        assert said in notice
        assert "RENAME TO" in notice
        assert said in site.hotplace("rules", "show", "1").out
        kind = holder.split()[-1].upper()
        dba.execute(f"ALTER {kind} {name} RENAME TO something_else".encode())
        assert [row.state for row in act(watch, jobs)] == [MoveState.PLACED]
        jobs.plan(watch)
        assert not notices(watch, ledger)
    assert homes(dba) == dict.fromkeys((-2, -1, 0, 1, 2), "fast")


def test_a_name_that_is_given_away_after_the_approval_is_named(
    tmp_path: Path, cluster: Cluster, dba: psycopg.Connection, table: str
) -> None:
    """A table of that name in the same space is not the partition, which is neither done nor moved by others."""
    site = a_site(tmp_path, cluster, dba)
    with site.agent() as (watch, ledger, jobs):
        site.sign(watch, ledger, a_template(watch.connector, TemplateKind.NEXT_PARTITION, table, "fast", 1), 9)
        watch.sample()
        watch.sample()
        jobs.plan(watch)
        name = f'"Odd 100%"."Orders_{day(1, "%Y_%m_%d")}"'
        dba.execute(f"CREATE TABLE {name} (id int) TABLESPACE fast".encode())
        (row,) = watch.act()
        assert row.state is MoveState.SKIPPED
        assert f"the name {name} belongs to a table" in row.reason
        assert ledger.moves.steps(row.id) == []


def notices(watch: Watch, ledger: Ledger) -> list[str]:
    """What people would be told of rules."""
    facts = facts_of(watch.snapshot, 60.0, ledger, SystemClock().now())
    return [each.sentence for each in find_notices(facts) if each.event is NoticeEvent.RULE]


def test_hours_named_as_pg_partman_names_them_come_one_after_the_other(
    connector: PostgresqlConnector, dba: psycopg.Connection
) -> None:
    """Each under its own name: by the day in their names alone, all hours of a day would get one."""
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    dba.execute("CREATE TABLE meas (at timestamptz NOT NULL) PARTITION BY RANGE (at)")
    for at in (hour - timedelta(hours=1), hour):
        dba.execute(
            f"CREATE TABLE meas_p{at:%Y%m%d_%H%M%S} PARTITION OF meas"
            f" FOR VALUES FROM ('{at:%F %T}+00') TO ('{at + timedelta(hours=1):%F %T}+00') TABLESPACE fast".encode()
        )
    template = connector.template(TemplateKind.NEXT_PARTITION, "public.meas", "fast", 3 * 3600)
    assert isinstance(template, StatementTemplate), template
    routes = connector.routes_due(template, datetime.now(UTC))
    assert [route.bundle.key for route in routes] == [
        f"public.meas_p{hour + timedelta(hours=ahead):%Y%m%d_%H%M%S}" for ahead in (1, 2, 3)
    ]
    for route in routes:
        assert not template.find_refusal(route, datetime.now(UTC))
        run(connector, route)


def test_a_rule_that_has_brought_nothing_twice_tells_people(
    tmp_path: Path, cluster: Cluster, dba: psycopg.Connection, table: str
) -> None:
    """What it proposed was approved and skipped, again and again: the reason is part of the notice."""
    site = a_site(tmp_path, cluster, dba)
    with site.agent() as (watch, ledger, jobs):
        site.sign(watch, ledger, a_template(watch.connector, TemplateKind.NEXT_PARTITION, table, "fast", 2), 9)
        for turn in range(3):
            watch.sample()
            watch.sample()
            jobs.plan(watch)
            assert bool(notices(watch, ledger)) == (turn == 2)
            if turn < 2:  # somebody makes it a moment before, under another name, and takes it away again
                dba.execute(
                    f"""CREATE TABLE "Odd 100%".mine PARTITION OF {table} FOR VALUES FROM ('{day(1)} 00:00+00')
                                TO ('{day(2)} 00:00+00')""".encode()
                )
                assert {row.state for row in watch.act()} == {MoveState.SKIPPED}
                dba.execute('DROP TABLE "Odd 100%".mine')
        (notice,) = notices(watch, ledger)
        assert "the last 2 proposals under it brought nothing: " in notice
        assert "brought nothing" in site.hotplace("rules", "show", "1", "--json").document["unserved"]
        assert {row.state for row in act(watch, jobs)} == {MoveState.PLACED}
        jobs.plan(watch)
        assert not notices(watch, ledger)
