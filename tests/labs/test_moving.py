"""Moves on a real server: every way there and back, and everything that can come between."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import psycopg
import pytest

from connectors.kit.contract import (
    Interrupted,
    LockNotObtained,
    Mover,
    ObjectGone,
    OutcomeUnknown,
    PrivilegeMissing,
    SpaceFull,
    TimedOut,
)
from connectors.model.moves import NoRoute, Route, Step
from connectors.model.observation import Home, Progress
from connectors.postgresql.connector import PostgresqlConnector
from connectors.postgresql.routes import leftover_names, tag_of
from tests.contract.asking import bundle_of, route_to, run
from tests.labs.postgresql import Cluster, fill_disk, wait_until


@contextmanager
def in_background(act: Callable[[], object]) -> Iterator[list[BaseException]]:
    """Run it in a thread while the block runs; what it raised is in the list afterwards."""
    raised: list[BaseException] = []

    def guarded() -> None:
        try:
            act()
        except Exception as error:  # noqa: BLE001  # handed to the test
            raised.append(error)

    thread = threading.Thread(target=guarded)
    thread.start()
    try:
        yield raised
    finally:
        thread.join(60)
        assert not thread.is_alive()


def table(dba: psycopg.Connection, name: str = "thing", rows: int = 2000) -> None:
    """A table with a primary key, large values out of line, in the slow space."""
    dba.execute(f"CREATE TABLE {name} (id int PRIMARY KEY, filler text)".encode())
    dba.execute(f"INSERT INTO {name} SELECT g, repeat('x', 500) FROM generate_series(1, {rows}) AS g".encode())
    dba.execute(f"VACUUM (ANALYZE) {name}".encode())


def every_route(connector: PostgresqlConnector, key: str, space: str) -> tuple[Route, ...]:
    """All of them."""
    found = connector.routes(bundle_of(connector.catalog(), key), space)
    assert isinstance(found, tuple), found
    return found


def refusal(connector: PostgresqlConnector, key: str, space: str) -> NoRoute:
    """Why there is none."""
    found = connector.routes(bundle_of(connector.catalog(), key), space)
    assert isinstance(found, NoRoute)
    return found


def waits_for_lock(dba: psycopg.Connection, step: Step) -> bool:
    """Whether that very statement waits for a lock."""
    found = dba.execute(
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE starts_with(query, split_part(%s, '*/', 1)) AND wait_event_type = 'Lock'",
        (step.sql,),
    ).fetchone()
    return found is not None and found[0] == 1


WHOLE = "CREATE TABLE whole (id int PRIMARY KEY) PARTITION BY RANGE (id);"
PART = "CREATE TABLE part PARTITION OF whole FOR VALUES FROM (0) TO (10); INSERT INTO whole VALUES (1)"
KINDS = {  # the key of what moves, and how it is made
    "table": ("public.thing", "CREATE TABLE thing AS SELECT repeat('x', 9000) AS t FROM generate_series(1, 99)"),
    "partition": ("public.part", WHOLE + PART),
    "materialized view": ("public.kept", "CREATE MATERIALIZED VIEW kept AS SELECT 1 AS one"),
    "index": ("public.by_id", "CREATE TABLE thing (id int); CREATE INDEX by_id ON thing (id)"),
    "primary key": ("public.thing_pkey", "CREATE TABLE thing (id int PRIMARY KEY)"),
    "partition's index": ("public.part_pkey", WHOLE + PART),
    "exclusion constraint": (
        "public.excl",
        "CREATE TABLE s (r box, CONSTRAINT excl EXCLUDE USING gist (r WITH &&))",
    ),
    "unlogged table": ("public.quick", "CREATE UNLOGGED TABLE quick AS SELECT 1 AS one"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_way_there_and_back(dba: psycopg.Connection, connector: PostgresqlConnector, kind: str) -> None:
    """Each route of each kind, to a tablespace and to pg_default, and undone: catalog and disk agree every time."""
    key, make = KINDS[kind]
    dba.execute(make.encode())
    for space in ("fast", "pg_default"):
        for at in range(len(every_route(connector, key, space))):
            route = every_route(connector, key, space)[at]
            run(connector, route)
            there = connector.inspect(route)
            assert (there.home, there.on_disk, there.leftovers) == (Home.TARGET, True, ()), route.name
            run(connector, route, undo=True)
            back = connector.inspect(route)
            assert (back.home, back.on_disk) == (Home.SOURCE, False), route.name


def test_the_ways_of_an_index(cluster: Cluster, dba: psycopg.Connection, dbname: str, cleanup: ExitStack) -> None:
    """Online first by default, fast first when configured, and only fast where PostgreSQL cannot rebuild online."""
    table(dba)
    dba.execute(KINDS["exclusion constraint"][1].encode())
    names = {}
    for order in ("online", "fast"):
        connector = cluster.connector(dbname, index_route=order)
        cleanup.callback(connector.close)
        names[order] = [route.name for route in every_route(connector, "public.thing_pkey", "fast")]
        assert [route.name for route in every_route(connector, "public.excl", "fast")] == ["set tablespace"]
    assert names["online"] == ["reindex concurrently", "set tablespace"]
    assert names["fast"] == ["set tablespace", "reindex concurrently"]


def test_a_route_says_everything(dba: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """Statements are complete and tagged, and the same question has the same answer, to the byte."""
    table(dba)
    route = route_to(connector, "public.thing", "fast")
    assert route == route_to(connector, "public.thing", "fast")
    tag = tag_of(route)
    assert route.prologue == ("SET lock_timeout = '500ms'", "SET statement_timeout = '14400000ms'")
    assert route.steps[0].sql == f'{tag}step 1 */ ALTER TABLE "public"."thing" SET TABLESPACE "fast"'
    assert route.undo_steps[0].sql == f'{tag}undo 1 */ ALTER TABLE "public"."thing" SET TABLESPACE "slow"'
    assert not route.online
    assert route.log_bytes >= 2000 * 500
    assert any("index" in note for note in route.notes)
    dba.execute("CREATE UNLOGGED TABLE unlogged AS SELECT 1 AS one")
    assert route_to(connector, "public.unlogged", "fast").log_bytes == 0
    assert tag_of(route_to(connector, "public.unlogged", "fast")) != tag


def test_reasons_why_not(dba: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """Each reason has a code of its own."""
    table(dba)
    assert refusal(connector, "public.thing", "slow").code == "already_there"
    assert refusal(connector, "public.thing", "nowhere").code == "no_space"
    assert refusal(connector, "public.thing", "pg_global").code == "shared_space"
    bundle = bundle_of(connector.catalog(), "public.thing")
    dba.execute("DROP TABLE thing")
    found = connector.routes(bundle, "fast")
    assert isinstance(found, NoRoute)
    assert found.code == "gone"


def test_readers_are_not_held_up_behind_a_waiting_move(
    cluster: Cluster, dba: psycopg.Connection, dbname: str, connector: PostgresqlConnector
) -> None:
    """A long reader keeps the move from its lock; a second reader behind the move gets through within lock_timeout."""
    table(dba)
    route = route_to(connector, "public.thing", "fast")
    with cluster.session(dbname) as reader, cluster.session(dbname) as second, reader.transaction():
        reader.execute("SELECT count(*) FROM thing")
        with in_background(lambda: run(connector, route)) as raised:
            wait_until(lambda: waits_for_lock(dba, route.steps[0]), "the move waits for its lock")
            began = time.monotonic()
            second.execute("SELECT count(*) FROM thing")
            waited = time.monotonic() - began
    assert waited < 5
    assert [type(error) for error in raised] == [LockNotObtained]
    assert connector.inspect(route).home is Home.SOURCE


def test_a_cancelled_move(cluster: Cluster, dba: psycopg.Connection, dbname: str, cleanup: ExitStack) -> None:
    """Interrupted by us is Interrupted, and so is a DBA's pg_cancel_backend; nothing changed either way."""
    table(dba)
    connector = cluster.connector(dbname, lock_timeout="30s")
    cleanup.callback(connector.close)
    route = route_to(connector, "public.thing", "fast")
    for who in ("us", "another session"):
        mover = cleanup.enter_context(connector.open_mover())
        mover.prepare(route)
        with cluster.session(dbname) as reader, reader.transaction():
            reader.execute("SELECT count(*) FROM thing")
            with in_background(lambda: mover.execute(route.steps[0])) as raised:  # noqa: B023  # run within the loop
                wait_until(lambda: waits_for_lock(dba, route.steps[0]), "the move waits for its lock")
                progress = mover.progress()
                assert isinstance(progress, Progress)
                assert f"waiting for a lock that process {reader.info.backend_pid} holds" in progress.sentence
                assert connector.inspect(route).running
                _cancel(who, mover, dba)
        assert [type(error) for error in raised] == [Interrupted]
        assert who != "another session" or "another session" in str(raised[0])
        seen = connector.inspect(route)
        assert (seen.home, seen.running) == (Home.SOURCE, False)
        assert mover.progress() is None
        mover.interrupt()  # harmless when nothing runs


def _cancel(who: str, mover: Mover, dba: psycopg.Connection) -> None:
    if who == "us":
        mover.interrupt()
    else:
        dba.execute("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'hotplace move'")


def test_a_step_past_its_time(cluster: Cluster, dba: psycopg.Connection, dbname: str, cleanup: ExitStack) -> None:
    """The step's own time limit ends it as TimedOut."""
    table(dba)
    connector = cluster.connector(dbname, lock_timeout="30s", move_timeout="200ms")
    cleanup.callback(connector.close)
    route = route_to(connector, "public.thing", "fast")
    with cluster.session(dbname) as reader, reader.transaction():
        reader.execute("SELECT count(*) FROM thing")
        with pytest.raises(TimedOut):
            run(connector, route)
    assert connector.inspect(route).home is Home.SOURCE


def test_a_backend_killed_in_a_rebuild(
    cluster: Cluster, dba: psycopg.Connection, dbname: str, cleanup: ExitStack
) -> None:
    """Nobody knows, inspect() finds it at home with an unfinished index, and the approved tidy step removes that."""
    table(dba)
    connector = cluster.connector(dbname, online_lock_timeout="30s")
    cleanup.callback(connector.close)
    route = route_to(connector, "public.thing_pkey", "fast")
    assert route.name == "reindex concurrently"
    with cluster.session(dbname) as writer, writer.transaction():
        writer.execute("UPDATE thing SET filler = 'y' WHERE id = 1")  # the rebuild waits for this transaction
        with in_background(lambda: run(connector, route)) as raised:
            wait_until(lambda: waits_for_lock(dba, route.steps[0]), "the rebuild waits for the writer")
            dba.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE starts_with(query, split_part(%s, '*/', 1))",
                (route.steps[0].sql,),
            )
    assert [type(error) for error in raised] == [OutcomeUnknown]
    wait_until(lambda: not connector.inspect(route).running, "the backend is gone")
    seen = connector.inspect(route)
    assert seen.home is Home.SOURCE
    assert [step.sql for step in seen.leftovers] == [route.tidy_steps[0].sql]
    with connector.open_mover() as mover:
        for step in seen.leftovers:
            mover.execute(step)
    assert connector.inspect(route).leftovers == ()
    run(connector, route)
    assert connector.inspect(route).home is Home.TARGET


def test_unfinished_indexes_of_others_are_none_of_ours(dba: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """Only what a rebuild of this very index leaves is named; a numbered one is approved as a variant, up to 9."""
    table(dba)
    dba.execute("CREATE INDEX thing_pkey_ccnew1 ON thing (id) TABLESPACE slow; CREATE INDEX other_ccnew ON thing (id)")
    dba.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid::regclass::text ~ '_ccnew'")
    route = route_to(connector, "public.thing_pkey", "fast")
    (left,) = connector.inspect(route).leftovers
    assert left.sql.endswith('DROP INDEX CONCURRENTLY IF EXISTS "public"."thing_pkey_ccnew1"')
    assert left.sql in route.tidy_steps[0].variants
    seen = connector.inspect(route)
    assert [remnant.space for remnant in seen.remnants] == ["slow"]
    assert seen.remnants[0].size_bytes > 0
    found = [finding for finding in connector.doctor() if finding.code == "unfinished_index"]
    assert {finding.values["index"] for finding in found} == {"public.thing_pkey_ccnew1", "public.other_ccnew"}
    dba.execute("ALTER INDEX thing_pkey_ccnew1 RENAME TO thing_pkey_ccnew10")
    (left,) = connector.inspect(route).leftovers
    assert left.sql not in {sql for step in route.tidy_steps for sql in step.statements}
    assert refusal(connector, "public.other_ccnew", "fast").code == "invalid_index"


@pytest.mark.parametrize("name", ["short", "x" * 63, "ü" * 31, "表" * 21])
def test_leftovers_are_named_as_the_server_names_them(
    cluster: Cluster, dba: psycopg.Connection, connector: PostgresqlConnector, name: str
) -> None:
    """The name of an unfinished index is the index's, cut at 63 bytes without cutting a character; the next has a 1."""
    dba.execute(
        f'CREATE TABLE thing (id int); INSERT INTO thing VALUES (1), (1); CREATE INDEX "{name}" ON thing (id)'.encode()
    )
    dba.execute("SET lock_timeout = '200ms'")
    with cluster.session(dba.info.dbname) as writer, writer.transaction():
        writer.execute("INSERT INTO thing VALUES (2)")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            dba.execute(f'REINDEX INDEX CONCURRENTLY "{name}"'.encode())
        with pytest.raises(psycopg.errors.LockNotAvailable):
            dba.execute(f'REINDEX INDEX CONCURRENTLY "{name}"'.encode())
    found = dba.execute("SELECT relname FROM pg_class JOIN pg_index ON indexrelid = oid WHERE NOT indisvalid")
    assert {row[0] for row in found} == {leftover_names(name)[0], leftover_names(name, "1")[0]}
    route = route_to(connector, f"public.{name}" if name.isascii() else f'public."{name}"', "fast")
    left = connector.inspect(route).leftovers
    assert len(left) == 2
    dba.execute(f'DROP INDEX "{name}"'.encode())
    gone = connector.inspect(route)
    assert (gone.home, gone.leftovers) == (Home.GONE, left), "whoever drops the index does not drop what was built"


def test_a_moved_or_dropped_relation(dba: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """Somebody else's move is ELSEWHERE; what was dropped is gone, for inspect() and for the mover."""
    table(dba)
    route = route_to(connector, "public.thing", "fast")
    dba.execute("ALTER TABLE thing SET TABLESPACE pg_default")
    assert connector.inspect(route).home is Home.ELSEWHERE
    dba.execute("DROP TABLE thing")
    assert connector.inspect(route).home is Home.GONE
    with pytest.raises(ObjectGone):
        run(connector, route)


def test_progress_shows_bytes(cluster: Cluster, dba: psycopg.Connection, dbname: str, cleanup: ExitStack) -> None:
    """While an index is built anew its phase is told; done never exceeds the whole."""
    table(dba, rows=20_000)
    connector = cluster.connector(dbname, online_lock_timeout="30s")
    cleanup.callback(connector.close)
    route = route_to(connector, "public.thing_pkey", "fast")
    mover = cleanup.enter_context(connector.open_mover())
    mover.prepare(route)
    with cluster.session(dbname) as writer, writer.transaction():
        writer.execute("UPDATE thing SET filler = 'y' WHERE id = 1")
        with in_background(lambda: mover.execute(route.steps[0])) as raised:
            wait_until(lambda: waits_for_lock(dba, route.steps[0]), "the rebuild waits for the writer")
            progress = mover.progress()
            writer.execute("COMMIT")
    assert raised == []
    assert progress is not None
    assert 0 <= progress.done_bytes <= progress.total_bytes == route.bundle.size_bytes
    assert "public.thing_pkey" in progress.sentence


def test_a_full_space(cluster: Cluster, dba: psycopg.Connection, connector: PostgresqlConnector) -> None:
    """Without room both ways of moving an index, and that of its table, are refused; nothing is left behind."""
    if not cluster.limited:
        pytest.skip("needs root, and a small file system that may be mounted")
    table(dba, rows=20_000)
    for key in ("public.thing", "public.thing_pkey"):
        for route in every_route(connector, key, "fast"):
            with fill_disk(cluster.fast), pytest.raises(SpaceFull):
                run(connector, route)
            seen = connector.inspect(route)
            assert seen.home is Home.SOURCE
            assert {step.sql for step in seen.leftovers} <= {step.sql for step in route.tidy_steps}
            with connector.open_mover() as mover:
                for step in seen.leftovers:
                    mover.execute(step)
            assert connector.inspect(route).leftovers == ()


def test_each_missing_right_is_told_and_its_remedy_mends_it(
    cluster: Cluster, dba: psycopg.Connection, dbname: str, cleanup: ExitStack
) -> None:
    """A login that owns nothing is refused; after the statements that the doctor prints it may move."""
    dba.execute('DROP ROLE IF EXISTS owner_of_things, "the mover"')
    dba.execute('CREATE ROLE owner_of_things; CREATE ROLE "the mover" LOGIN')
    cleanup.callback(lambda: _forget_roles(cluster, dbname))
    table(dba)
    dba.execute("ALTER TABLE thing OWNER TO owner_of_things; GRANT USAGE, CREATE ON SCHEMA public TO owner_of_things")
    connector = cluster.connector(dbname, user="the mover")
    cleanup.callback(connector.close)
    route = route_to(connector, "public.thing", "fast")
    with pytest.raises(PrivilegeMissing):
        run(connector, route)
    remedies = {f.code: f.remedy for f in connector.doctor() if f.values.get("space", "fast") == "fast"}
    assert remedies["ownership_missing"] == 'GRANT owner_of_things TO "the mover";'
    assert remedies["space_create_missing"] == 'GRANT CREATE ON TABLESPACE fast TO "the mover";'
    for code in ("ownership_missing", "space_create_missing", "pg_monitor_missing"):
        dba.execute(remedies[code].encode())
    run(connector, route)
    assert connector.inspect(route).home is Home.TARGET
    codes = {f.code for f in connector.doctor() if f.values.get("space", "fast") == "fast"}
    assert {"ownership", "space_create", "pg_monitor"} <= codes


def _forget_roles(cluster: Cluster, dbname: str) -> None:
    with cluster.session(dbname) as dba:
        dba.execute('DROP OWNED BY owner_of_things CASCADE; DROP OWNED BY "the mover" CASCADE')
        dba.execute('DROP ROLE owner_of_things, "the mover"')
