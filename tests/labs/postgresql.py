"""Private PostgreSQL clusters for tests: one for each installed major version, and the contract's harness over it.

A cluster has two tablespaces, ``slow`` and ``fast``; where file systems may be mounted ``fast`` is one of its own with
little room, so that a full disk can be tried. The buffer pool is tiny: what is read comes from storage.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from agent.demo.server import PrivateServer, embedded_installations, private_server
from agent.model.clock import SystemClock
from agent.studies.prove.script import Script, script_of
from connectors.kit.contract import Connector, Mover, StatementFailed
from connectors.kit.proving import ProofSession, Scratch
from connectors.kit.settings import SecretSource
from connectors.model.moves import Step
from connectors.postgresql.connector import PostgresqlConnector
from connectors.postgresql.engine import ENGINE
from connectors.postgresql.settings import PostgresqlSettings
from tests.components import debian_installations, npm_installations
from tests.contract.harness import Ability, EngineHarness, HarnessFactory, PlayTable
from tests.labs.silence import SilentWay
from tests.waiting import wait_for

FAST_BYTES = 64 * 2**20
PASSWORD, WRONG_PASSWORD = "right, and secret", "wrong, and s3cret"
WAIT_SECONDS = 20.0
_NUMBERS = count(1)
SERVER_SETTINGS = {
    "shared_buffers": "1MB",
    "autovacuum": "off",  # its reads come when they like; tests run VACUUM themselves
    # Nothing that is tested here survives the machine, and with fsync each CREATE TABLESPACE and checkpoint waits for a
    # real disk.
    "fsync": "off",
    "track_io_timing": "on",
    "track_wal_io_timing": "on",
    "max_connections": "40",
    "max_prepared_transactions": "4",
}


def installations() -> dict[int, Path]:
    """Major version -> folder of every server that may be tried; with ``HOTPLACE_POSTGRESQL=14`` only that one.

    Most modules start the newest alone, and so a run for each version is what tries all of the laboratory on it.
    """
    only = os.environ.get("HOTPLACE_POSTGRESQL")
    return {major: at for major, at in _every_installation().items() if only in {None, str(major)}}


def _every_installation() -> dict[int, Path]:
    """Of every server on this machine; those from npm only where all versions are tried."""
    more = npm_installations() if os.environ.get("HOTPLACE_ALL_VERSIONS") else {}
    return dict(sorted({**more, **debian_installations(), **embedded_installations()}.items()))


def client(program: str, major: int) -> Path:
    """A client program for a server of that version: its own, or that of the next newer one, which speaks to it."""
    every = _every_installation()
    found = {each: at / "bin" / program for each, at in every.items() if (at / "bin" / program).exists()}
    return found[min((each for each in found if each >= major), default=max(found))]


def tried_versions() -> tuple[int, ...]:
    """The major versions that this run tries: the newest here, or all with ``HOTPLACE_ALL_VERSIONS`` (make soak)."""
    return tuple(installations()) if os.environ.get("HOTPLACE_ALL_VERSIONS") else tuple(installations())[-1:]


def wait_until(true: Callable[[], bool], what: str, seconds: float = WAIT_SECONDS) -> None:
    """As ``tests.waiting.wait_for``."""
    wait_for(true, what, seconds)


def strategy_of_copies(dba: psycopg.Connection) -> sql.SQL:
    """That of CREATE DATABASE which copies files, as all did until 14: through a tiny pool it takes far longer."""
    return sql.SQL("STRATEGY file_copy" if dba.info.server_version >= 150000 else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """One running cluster with its two tablespaces."""

    server: PrivateServer
    major: int
    fast: Path
    limited: bool  # fast is a file system of its own, of FAST_BYTES

    def session(self, dbname: str = "postgres", user: str = "postgres") -> psycopg.Connection:
        """A DBA's session, in autocommit."""
        return psycopg.connect(host=str(self.server.folder), user=user, dbname=dbname, autocommit=True)

    def settings(self, dbname: str = "postgres", **other: Any) -> PostgresqlSettings:
        """Connection settings of a superuser, with what a test changes."""
        usual = {"host": str(self.server.folder), "dbname": dbname, "user": "postgres", "online_lock_timeout": "2s"}
        return PostgresqlSettings(**{**usual, **other})

    def connector(self, dbname: str = "postgres", **other: Any) -> PostgresqlConnector:
        """A connector over those settings."""
        return PostgresqlConnector(self.settings(dbname, **other), SystemClock())

    @contextmanager
    def database(self) -> Iterator[str]:
        """An empty database of its own."""
        name = f"test_{next(_NUMBERS)}"
        with self.session() as dba:
            made = sql.SQL("CREATE DATABASE {} TABLESPACE slow {}")
            dba.execute(made.format(sql.Identifier(name), strategy_of_copies(dba)))
        self.wait_until_counted(name)
        try:
            yield name
        finally:
            with self.session() as dba:
                dba.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def wait_until_counted(self, name: str) -> None:
        """Until the statistics know the database.

        Up to 14 they are read from a file that may be half a second old: a new database has no entry there, and when it
        appears its counters seem to have restarted.
        """
        if self.major >= 15:
            return
        with self.session(name):
            pass  # the first session of a database makes its entry
        counted = "SELECT 1 FROM pg_stat_database WHERE datname = %s AND stats_reset IS NOT NULL"
        with self.session() as dba:
            for _ in range(100):
                if dba.execute(counted, (name,)).fetchone():
                    return
                time.sleep(0.1)
        raise TimeoutError(f"the statistics know nothing of {name} after 10 s")


@contextmanager
def running_cluster(major: int) -> Iterator[Cluster]:
    """A cluster of that version, stopped and removed at the end."""
    with ExitStack() as stack:
        installation = installations()[major]
        server = stack.enter_context(private_server(installation, {**SERVER_SETTINGS, **_library(installation)}))
        fast, slow = server.make_folder("fast"), server.make_folder("slow")
        limited = stack.enter_context(small_file_system(server, fast))
        cluster = Cluster(server=server, major=major, fast=fast, limited=limited)
        with cluster.session() as dba:
            for name, path in (("fast", fast), ("slow", slow)):
                place = sql.Literal(str(path))
                dba.execute(sql.SQL("CREATE TABLESPACE {} LOCATION {}").format(sql.Identifier(name), place))
            dba.execute(sql.SQL("CREATE ROLE guarded LOGIN PASSWORD {}").format(sql.Literal(PASSWORD)))
            dba.execute("CREATE ROLE looker LOGIN; GRANT pg_monitor TO looker")
            # The first line that matches counts: behind the general one the guarded login would need no password.
            rules = "local all guarded scram-sha-256\nlocal all all trust\n"
            (server.data / "pg_hba.conf").write_text(rules)
            dba.execute("SELECT pg_reload_conf()")
        yield cluster


@contextmanager
def small_file_system(server: PrivateServer, folder: Path) -> Iterator[bool]:
    """Give a folder of a server a file system of FAST_BYTES of its own inside; False where none may be mounted."""
    limited = _mount(folder)
    if limited:
        server.own(folder)
    try:
        yield limited
    finally:
        if limited:
            _unmount(folder)


def tells_statements(installation: Path) -> bool:
    """Whether it brings the library of pg_stat_statements, as an embedded one does not."""
    return any(installation.glob("lib/**/pg_stat_statements.so"))


def _library(installation: Path) -> dict[str, str]:
    return {"shared_preload_libraries": "pg_stat_statements"} if tells_statements(installation) else {}


def _mount(folder: Path) -> bool:
    """Mount a small file system in memory there; False where that is not allowed."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        return False
    command = ["mount", "-t", "tmpfs", "-o", f"size={FAST_BYTES}", "tmpfs", str(folder)]
    return subprocess.run(command, check=False, capture_output=True, timeout=WAIT_SECONDS).returncode == 0


def _unmount(folder: Path) -> None:
    """Lazily, because the server still has files open there."""
    subprocess.run(["umount", "--lazy", str(folder)], check=True, capture_output=True, timeout=WAIT_SECONDS)


def flush(session: psycopg.Connection) -> None:
    """Make the counters show what this session has done."""
    if session.info.server_version >= 150000:
        session.execute("SELECT pg_stat_force_next_flush()")
        session.execute("SELECT 1")
    else:
        time.sleep(1.2)  # until 14 a session reports once a second, and a collector writes it down
        session.execute("SELECT 1")
        time.sleep(0.6)


@contextmanager
def fill_disk(folder: Path) -> Iterator[None]:
    """Leave no room in the file system of ``folder`` inside."""
    ballast = folder / "ballast"
    try:
        with ballast.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(b"\0" * 65536)
        yield
    finally:
        ballast.unlink()


EVERY_TABLE = "SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND oid >= 16384"

WITHOUT: Mapping[Ability, str] = {
    Ability.LOB: "TOAST tables are counted with their table",
    Ability.PAUSE: "a statement is one transaction; it can be cancelled and not held",
    Ability.SLOW_LOG: "its log is on the machine's own disk; labs/test_roles puts one on a modelled disk",
}
NEVER: Mapping[str, Mapping[Ability, str]] = {f"postgresql {major}": WITHOUT for major in installations()}


class PostgresqlHarness:
    """A cluster as the contract wants it, in a database of its own."""

    refusals: tuple[type[Exception], ...] = (StatementFailed,)
    secret = WRONG_PASSWORD
    source_space = "slow"
    target_space = "fast"

    def __init__(self, cluster: Cluster, dbname: str) -> None:
        self.name = f"postgresql {cluster.major}"
        self.clock = SystemClock()
        self._cluster = cluster
        self._dbname = dbname
        self._dba = cluster.session(dbname)
        self.cannot: Mapping[Ability, str] = {
            **WITHOUT,
            **({} if cluster.limited else {Ability.FULL: "needs root and a file system that may be mounted"}),
        }

    def close(self) -> None:
        """End the DBA's session."""
        self._dba.close()

    def connect(self) -> Connector:
        """A superuser's connector; patient enough that a step can be caught while it waits for its lock."""
        return self._cluster.connector(self._dbname, lock_timeout="5s")

    @property
    def server_address(self) -> Path:
        """Its unix socket."""
        return self._cluster.server.folder / ".s.PGSQL.5432"

    def connect_through(self, way: SilentWay) -> Connector:
        """A superuser's connector; libpq takes no limit below two seconds to connect."""
        limits = {"connect_timeout": "2s", "statement_timeout": "1s", "move_timeout": "1s"}
        return self._cluster.connector(self._dbname, host="127.0.0.1", port=way.port, local=True, **limits)

    def refused_connect(self) -> Connector:
        """Log in as a user whose password is another one."""
        with tempfile.NamedTemporaryFile("w") as file:  # not in the server's folder, which is another user's
            file.write(self.secret)
            file.flush()
            secret = SecretSource(file=Path(file.name))
            connector = self._cluster.connector(self._dbname, user="guarded", password=secret)
            connector.identify()
        return connector

    def restricted_connect(self) -> Connector:
        """A login that owns nothing."""
        return self._cluster.connector(self._dbname, user="looker")

    def create(self, name: str, *, lob: bool = False) -> PlayTable:
        """8 MB and more in rows of 1 kB: eight times the buffer pool."""
        index = f"i{next(_NUMBERS)}"
        table = sql.Identifier("public", name)
        for statement in (
            "CREATE TABLE {table} (id int NOT NULL, filler text)",
            # Otherwise a kilobyte of one letter is compressed to a few bytes, and the table fits into the buffer pool.
            "ALTER TABLE {table} ALTER filler SET STORAGE PLAIN",
            "INSERT INTO {table} SELECT g, repeat('x', 1000) FROM generate_series(1, 8000) AS g",
            "CREATE UNIQUE INDEX {index} ON {table} (id)",
            "VACUUM (ANALYZE) {table}",
        ):
            self._dba.execute(sql.SQL(statement).format(table=table, index=sql.Identifier(index)))
        flush(self._dba)
        row = self._dba.execute("SELECT 'public.' || quote_ident(%s)", (name,)).fetchone()
        assert row is not None
        return PlayTable(name=name, key=row[0], index_key=f"public.{index}")

    def drop(self, table: PlayTable) -> None:
        """With its index."""
        self._dba.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(sql.Identifier("public", table.name)))

    @contextmanager
    def scratch(self) -> Iterator[tuple[Script, ProofSession]]:
        """A schema of its own, and a superuser's session."""
        name, proof = f"scratch_{next(_NUMBERS)}", ENGINE.proof
        assert proof is not None
        self._dba.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
        session = proof.open_session(self._cluster.settings(self._dbname), self.clock)
        try:
            yield script_of(proof, Scratch(schema=name, slow=self.source_space, fast=self.target_space)), session
        finally:
            session.close()
            self._dba.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(name)))

    def read_randomly(self, table: PlayTable, reads: int) -> None:
        """Look up rows far apart, one statement each."""
        look_up = sql.SQL("SELECT filler FROM {} WHERE id = %s").format(sql.Identifier("public", table.name))
        with self._cluster.session(self._dbname) as session:
            # A bitmap scan reads the table in its order and is counted at the table: a look-up of one row must not
            # become one.
            session.execute("SET enable_seqscan = off; SET enable_bitmapscan = off")
            for read in range(reads):
                # By a stride that shares no factor with the number of rows: each look-up is another row, far from the
                # last, and the same in every run.
                session.execute(look_up, (1 + read * 4241 % 8000,))
            flush(session)

    def scan(self, table: PlayTable) -> None:
        """Count without an index."""
        with self._cluster.session(self._dbname) as session:
            # Workers report their counters when they end, which may be after the test has looked.
            session.execute("SET max_parallel_workers_per_gather = 0")
            session.execute(sql.SQL("SELECT sum(length(filler)) FROM {}").format(sql.Identifier("public", table.name)))
            flush(session)

    def commit(self, transactions: int) -> None:
        """One row each."""
        with self._cluster.session(self._dbname) as session:
            session.execute("CREATE TABLE IF NOT EXISTS committed (n int)")
            for number in range(transactions):
                session.execute("INSERT INTO committed VALUES (%s)", (number,))
            flush(session)

    def spill(self) -> None:
        """Some 8 MB in 64 kB of work_mem."""
        with self._cluster.session(self._dbname) as session:
            session.execute("SET work_mem = '64kB'")
            session.execute("SELECT md5(g::text) FROM generate_series(1, 200000) AS g ORDER BY 1 OFFSET 199999")
            flush(session)

    def reset_counters(self) -> None:
        """As a DBA would."""
        self._dba.execute("SELECT pg_stat_reset()")
        flush(self._dba)

    @contextmanager
    def hold_lock(self, table: PlayTable) -> Iterator[None]:
        """An open transaction that has read the table."""
        with self._cluster.session(self._dbname) as session, session.transaction():
            session.execute(sql.SQL("LOCK TABLE {} IN ACCESS SHARE MODE").format(sql.Identifier("public", table.name)))
            yield

    def target_full(self) -> AbstractContextManager[None]:
        """A file takes all the room."""
        return fill_disk(self._cluster.fast)

    def execute_interrupted(self, mover: Mover, step: Step) -> None:
        """Cancel it while it waits for a lock."""
        self._execute_disturbed(mover, step, lambda _: mover.interrupt())

    def execute_broken(self, mover: Mover, step: Step) -> None:
        """End its backend while it waits for a lock."""
        self._execute_disturbed(mover, step, self._terminate)

    def write_while_reading(self, connector: Connector, table: PlayTable) -> None:
        """Over the connector's own session."""
        assert isinstance(connector, PostgresqlConnector)
        statement = sql.SQL("ALTER TABLE {} SET TABLESPACE fast").format(sql.Identifier("public", table.name))
        connector._session.rows(statement.as_string(None).encode(), doing="writing")

    def _execute_disturbed(self, mover: Mover, step: Step, disturb: Callable[[int], None]) -> None:
        """Run the step against a lock on everything it may need, and disturb it once it waits."""
        disturber = threading.Thread(target=self._when_waiting, args=(step, disturb))
        with self._cluster.session(self._dbname) as session, session.transaction():
            for (name,) in self._dba.execute(EVERY_TABLE):
                session.execute(f"LOCK TABLE {name} IN ACCESS SHARE MODE".encode())
            disturber.start()
            try:
                mover.execute(step)
            finally:
                disturber.join()

    def _when_waiting(self, step: Step, disturb: Callable[[int], None]) -> None:
        waiting: list[int] = []

        def look() -> bool:
            waiting[:] = [pid for (pid,) in session.execute(query, (step.sql,))]
            return bool(waiting)

        query = (
            "SELECT pid FROM pg_stat_activity"
            " WHERE starts_with(query, split_part(%s, '*/', 1)) AND wait_event_type = 'Lock'"
        )
        with self._cluster.session(self._dbname) as session:
            wait_until(look, "the step waits for its lock")
            disturb(waiting[0])

    def _terminate(self, pid: int) -> None:
        with self._cluster.session(self._dbname) as session:
            session.execute("SELECT pg_terminate_backend(%s)", (pid,))


@contextmanager
def running_harness(major: int) -> Iterator[EngineHarness]:
    """The contract's harness over a cluster of its own."""
    with running_cluster(major) as cluster, cluster.database() as dbname:
        harness = PostgresqlHarness(cluster, dbname)
        try:
            yield harness
        finally:
            harness.close()


def contract_harnesses() -> dict[str, HarnessFactory]:
    """One for each version that is tried. Starts nothing."""
    return {f"postgresql {major}": lambda major=major: running_harness(major) for major in tried_versions()}  # type: ignore[misc]  # a default binds the loop's value


if __name__ == "__main__":  # which versions `make soak` goes through, one run each
    print(*installations())  # noqa: T201  # for who runs make
