"""How the registry meets PostgreSQL, with a connection, from files, and to be proved.

Results of the connector's own queries, run by a person. The driver is loaded with the first use.

How the registry meets PostgreSQL: settings are validated without the driver, connecting needs it.
"""

from __future__ import annotations

import re

from connectors.kit import clients
from connectors.kit.assessment import CounterTable, FromFiles, NotRead, Of
from connectors.kit.contract import Clock, Connector, Tap
from connectors.kit.proving import proof_of_package
from connectors.kit.registry import Engine, Inheritance
from connectors.postgresql.setting_up import PostgresqlSetUp, driver
from connectors.postgresql.settings import PostgresqlSettings

TABLES = (
    CounterTable(
        title="pg_stat_database",
        of=Of.DATABASE,
        needs=frozenset({"datname", "blksread", "blkreadtime"}),
        name=(("datname",),),
        reads=("blksread",),
        read_ms=("blkreadtime",),
        since="statsreset",
        lacks="times are 0 unless track_io_timing is on; reads from the page cache of the system are counted as reads",
    ),
    CounterTable(
        title="pg_statio_user_tables",
        of=Of.OBJECT,
        needs=frozenset({"schemaname", "relname", "heapblksread"}),
        name=(("datname",), ("schemaname",), ("relname",)),
        reads=("heapblksread", "idxblksread", "toastblksread", "tidxblksread"),
        lacks="a table counts with its indexes, and no read is timed",
    ),
)
PSQL = "Export pg_stat_database and pg_statio_user_tables as CSV (psql --csv), twice; or --print-queries postgresql."
NOT_READ = (
    NotRead(
        re.compile(r"pgmetrics run at|\"meta\"\s*:\s*\{[^{}]{0,500}\"collected_dbs\"", re.IGNORECASE),
        "this is a report of pgmetrics",
        PSQL,
    ),
    NotRead(
        re.compile(r"<title>[^<]{0,200}pgBadger", re.IGNORECASE), "this is a report of pgBadger, made of logs", PSQL
    ),
    NotRead(re.compile(r"Postgres(?:QL)? profile report", re.IGNORECASE), "this is a report of pg_profile", PSQL),
)
ROUTES = ("set tablespace", "reindex concurrently")
PROOF = proof_of_package("connectors.postgresql.claims", ROUTES)


SAMPLE_SETTINGS = """\
host: /var/run/postgresql   # a folder means its unix socket
port: 5432
dbname: app                 # one entry per database
user: hotplace              # see: hotplace deploy privileges --engine postgresql
# password: {file: /etc/hotplace/password}   # or {env: NAME} or {credential: NAME}
# sslmode: verify-full
# sslrootcert: /etc/ssl/certs/ca.pem
connect_timeout: 10s
statement_timeout: 30s      # of every query that hotplace reads with
lock_timeout: 500ms         # a move gives up when it waits longer for its lock, so that no queue builds up behind it
# replica_queue_mib: 1024   # no move begins while a standby or unused slot is further behind
# wal_mib: 20480            # no move begins while pg_wal holds more: what its volume has left, PostgreSQL does not tell
# wal_abort_mib: 40960      # above it a statement that runs is cancelled
# online_lock_timeout: 60s  # REINDEX CONCURRENTLY waits for old transactions, which blocks no other session
# move_timeout: 4h          # of one statement of a move
# allow_moves_with_remote_apply: false   # true: also moves whose lock a reader on a synchronous standby could prolong
# local: true               # the server's files are on this machine; else judged by the connection
index_route: online         # online: REINDEX CONCURRENTLY; fast: ALTER INDEX SET TABLESPACE, blocks the table meanwhile
"""


def connect(settings: PostgresqlSettings, clock: Clock, tap: Tap | None = None) -> Connector:
    """A connector to that database; the first call connects. A tap hears of what is read, or answers it.

    Raises:
        DriverMissing: psycopg is not installed.
    """
    driver()  # only to tell a missing one from a broken connector
    from connectors.postgresql.connector import PostgresqlConnector

    return PostgresqlConnector(settings, clock, tap)


ENGINE = Engine(
    name="postgresql",
    title="PostgreSQL",
    settings=PostgresqlSettings,
    connect=connect,
    tapped=connect,
    sample_settings=SAMPLE_SETTINGS,
    first_settings=("host", "dbname", "user", "password"),
    sample_spaces=("ssd", "pg_default"),
    inheritance=Inheritance(
        place=(("host", "port", "dbname"),), server=("sslmode", "sslrootcert", "local"), login=("password",)
    ),
    by_hand=FromFiles.of_module("connectors.postgresql.stored", not_read=NOT_READ, tables=TABLES),
    client=clients.PSQL,
    proof=PROOF,
    set_up=PostgresqlSetUp(),
)
