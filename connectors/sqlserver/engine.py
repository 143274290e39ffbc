"""How the registry meets SQL Server, with a connection, from files, and to be proved.

Results of the connector's own queries, run by a person. The driver is loaded with the first use.

How the registry meets SQL Server: settings are validated without the driver, connecting needs it.
"""

from __future__ import annotations

import re

from connectors.kit.assessment import CounterTable, FromFiles, NotRead, Of
from connectors.kit.clients import SQLCMD
from connectors.kit.contract import Clock, Connector, DriverMissing, Tap
from connectors.kit.proving import proof_of_package
from connectors.kit.registry import Engine, Inheritance, install_command
from connectors.sqlserver.setting_up import SqlserverSetUp
from connectors.sqlserver.settings import SqlserverSettings

TABLES = (
    CounterTable(
        title="sys.dm_io_virtual_file_stats",
        of=Of.SPACE,
        needs=frozenset({"numofreads", "iostallreadms"}),
        name=(
            ("databasename", "dbname", "database", "databaseid"),
            ("logicalname", "filename", "name", "physicalname", "fileid"),
        ),
        reads=("numofreads",),
        read_ms=("iostallreadms",),
        since_ms="samplems",
        sizes=(("sizeondiskbytes", 1.0), ("filesize(mb)", 1048576.0), ("sizemb", 1048576.0)),
        timed_ahead=True,
        lacks="it counts reads of files, those of read-ahead and of logs too, and names no table or index",
    ),
    CounterTable(
        title="sys.dm_db_index_operational_stats",
        of=Of.OBJECT,
        needs=frozenset({"pageiolatchwaitcount", "pageiolatchwaitinms"}),
        name=(
            ("databasename", "dbname"),
            ("schemaname",),
            ("objectname", "tablename", "table", "objectid"),
            ("indexname", "indexid"),
        ),
        reads=("pageiolatchwaitcount",),
        read_ms=("pageiolatchwaitinms",),
        lacks="counters of an object that left the metadata cache start again from 0",
    ),
)
NOT_READ = (
    NotRead(
        re.compile(r"^[^\n]{0,4000}(?:avg_read_latency|ReadLatency)(?![^\n]{0,4000}num_of_reads)", re.IGNORECASE),
        "this is a list of mean latencies of files, without the number of reads",
        "Export num_of_reads and io_stall_read_ms of sys.dm_io_virtual_file_stats too.",
    ),
)
ROUTES = (
    "rebuild online",
    "rebuild offline",
    "heap by a clustered index online",
    "heap by a clustered index offline",
    "rebuild on a second partition scheme online",
    "rebuild on a second partition scheme offline",
    "rebuild on its own partition scheme online",
    "rebuild on its own partition scheme offline",
    "rebuild through a partition scheme online",
    "rebuild through a partition scheme offline",
    "index beside the old one, resumable",
    "copy and SWITCH of one partition",
    "NEXT USED and SPLIT of an empty partition",
)
PROOF = proof_of_package("connectors.sqlserver.claims", ROUTES)


SAMPLE_SETTINGS = """\
host: db.example.com        # the listener of an availability group, or the server
port: 1433
database: app               # one entry per database
user: hotplace              # see: hotplace deploy privileges --engine sqlserver; without user and password: Kerberos
password: {env: HOTPLACE_SQLSERVER_PASSWORD}  # or {file: /etc/hotplace/password} or {credential: NAME}
driver: ODBC Driver 18 for SQL Server         # or ODBC Driver 17 for SQL Server, FreeTDS, or the library's path
encrypt: yes                # no, yes, strict (TDS 8)
# trust_server_certificate: true              # encrypted, but the server's identity is not checked
connect_timeout: 15s
statement_timeout: 60s      # of every query that hotplace reads with
lock_timeout: 500ms         # a move that waits longer for its lock steps back, so that others are not held up behind it
online_lock_timeout: 10s    # the same of an online build, which would lose all that it has copied
maxdop: 1                   # processors that a move may use
offline_moves: true         # false: move nothing where the edition cannot build indexes online
lob_moves: false            # true: large objects follow their table, which is rebuilt twice
resumable: no               # indexes: build nonclustered ones so that they can be paused; all: DROP_EXISTING too
partitions: each            # together: all of an index by one build; switched: one alone, copied while writers wait
# keep_original: 168h       # switched: how long the rows that a copy replaced are kept where they were
move_by: table              # filegroup: whole filegroups change disks by their files, online in every edition
# disks: {ssd: 'S:\\data\\', hdd: 'D:\\data\\'}  # for move_by: filegroup; tiers then name these
"""


def connect(settings: SqlserverSettings, clock: Clock, tap: Tap | None = None) -> Connector:
    """A connector to that database; the first call connects. A tap hears of what is read, or answers it.

    Raises:
        DriverMissing: pyodbc or the driver manager is not installed.
    """
    try:
        import pyodbc  # noqa: F401  # only to tell a missing driver from a broken connector
    except ImportError as error:
        raise DriverMissing(
            f"the SQL Server driver pyodbc cannot be used: {error}",
            advice=f"Run: {install_command('sqlserver')}; install unixodbc and ODBC Driver 18 or FreeTDS (tdsodbc).",
        ) from error
    from connectors.sqlserver.connector import SqlserverConnector

    return SqlserverConnector(settings, clock, tap)


ENGINE = Engine(
    name="sqlserver",
    title="SQL Server",
    settings=SqlserverSettings,
    connect=connect,
    tapped=connect,
    sample_settings=SAMPLE_SETTINGS,
    first_settings=("host", "port", "database", "user", "password"),
    sample_spaces=("SSD", "PRIMARY"),
    must_agree=("move_by", "disks", "partitions"),  # what spaces and bundles are
    prefetched_wait_share=0.0,  # waits behind read-ahead are in the measured waits of each unit
    inheritance=Inheritance(
        place=(("host", "port", "database"),),
        server=(
            "driver",
            "encrypt",
            "trust_server_certificate",
            "hostname_in_certificate",
            "server_certificate",
            "multi_subnet_failover",
        ),
        login=("password",),
        own=("user", "read_intent", "move_by", "disks", "partitions"),
    ),
    by_hand=FromFiles.of_module("connectors.sqlserver.stored", not_read=NOT_READ, tables=TABLES),
    client=SQLCMD,
    proof=PROOF,
    set_up=SqlserverSetUp(connect),
)
