"""How the registry meets Db2, with a connection, from files, and to be proved.

Results of the connector's own queries, run by a person. The driver is loaded with the first use.

How Db2 is proved. Whole table spaces are not: only SYSCTRL may alter one, and such a login is refused.

How the registry meets Db2: settings are validated without the driver, connecting needs it.
"""

from __future__ import annotations

import re

from connectors.db2.setting_up import Db2SetUp
from connectors.db2.settings import Db2Settings
from connectors.kit.assessment import CounterTable, FromFiles, NotRead, Of
from connectors.kit.clients import CLP
from connectors.kit.contract import Clock, Connector, DriverMissing, Tap
from connectors.kit.proving import proof_of_package
from connectors.kit.registry import MOUNTED, Engine, Inheritance, install_command

POOLS = "data", "index", "xda", "col"
# All that POOL_READ_TIME and DIRECT_READ_TIME time: pages of temporary table spaces have counters of their own.
READS = (
    *(f"pool{pool}preads" for pool in POOLS), *(f"pooltemp{pool}preads" for pool in POOLS), "directreadreqs",
)  # fmt: skip
TABLES = (
    CounterTable(
        title="MON_GET_TABLESPACE",
        of=Of.SPACE,
        needs=frozenset({"tbspname", "pooldatapreads", "poolindexpreads", "poolreadtime"}),
        name=(("tbspname",),),
        reads=READS,
        ahead=tuple(f"poolasync{pool}reads" for pool in POOLS),
        read_ms=("poolreadtime", "directreadtime"),
        ahead_ms=("poolasyncreadtime",),
        lacks="reads by prefetchers are left out, and so are sessions' waits for them",
    ),
    CounterTable(
        title="MON_GET_TABLE",
        of=Of.OBJECT,
        needs=frozenset({"tabschema", "tabname", "objectdatapreads"}),
        name=(("tabschema",), ("tabname",)),
        reads=("objectdatapreads", "objectxdapreads", "objectcolpreads"),
        space="tbspname",
        lacks="it times no read, and counts none of indexes (MON_GET_INDEX)",
    ),
    CounterTable(
        title="MON_GET_INDEX",
        of=Of.OBJECT,
        needs=frozenset({"tabschema", "tabname", "iid", "objectindexpreads"}),
        name=(("tabschema",), ("tabname",), ("indname", "iid")),
        reads=("objectindexpreads",),
        space="tbspname",
        lacks="it times no read",
    ),
    CounterTable(
        title="MON_GET_DATABASE",
        of=Of.DATABASE,
        needs=frozenset({"pooldatapreads", "poolindexpreads", "poolreadtime", "dbstatus"}),
        name=(("dbname",),),
        reads=READS,
        ahead=tuple(f"poolasync{pool}reads" for pool in POOLS),
        read_ms=("poolreadtime", "directreadtime"),
        ahead_ms=("poolasyncreadtime",),
    ),
)
MON_GET = "Export MON_GET_TABLESPACE and MON_GET_TABLE as CSV, twice; or hotplace assess --print-queries db2."
NOT_READ = (
    NotRead(
        re.compile(r"^\s{0,200}(?:Database|Bufferpool|Tablespace|Table) Snapshot\s*$", re.IGNORECASE | re.MULTILINE),
        "this is the output of GET SNAPSHOT, which Db2 no longer keeps",
        MON_GET,
    ),
    NotRead(
        re.compile(r"^Database (?:Member|Partition) \d{1,4} -- ", re.IGNORECASE | re.MULTILINE),
        "this is the output of db2pd: it has no reads by object",
        MON_GET,
    ),
)
ROUTES = ("admin_move_table", "admin_move_table by load", "admin_move_table without its foreign keys")
PROOF = proof_of_package("connectors.db2.claims", ROUTES)


SAMPLE_SETTINGS = """\
# platform: luw             # or i (IBM i), zos: looked at and planned for, never changed
host: db.example.com
port: 50000
dbname: APP                 # one entry per database
user: hotplace              # see: hotplace deploy privileges --engine db2
password: {file: /etc/hotplace/password}   # or {env: NAME} or {credential: NAME}
# security: SSL
# server_certificate: /etc/ssl/certs/db2.arm
# authentication: SERVER_ENCRYPT            # or KERBEROS ...
connect_timeout: 10s
query_timeout: 30s          # of every query that hotplace reads with
lock_timeout: 5s            # how long a statement of a move waits for a lock
move_timeout: 4h            # of one phase of a move
move_by: both               # tables and whole table spaces between storage groups; or table_space: only whole ones;
                            # or table: single tables between table spaces, which are then what the tiers name
# landing: {SSD_GROUP: TS_FAST}           # with both: where single tables go; else the first table space that fits
# folders: {SSD_FILES: /db2/ssd}          # not with table: where files of DMS table spaces may be; name them in tiers
# replica_queue_mib: 1024   # no move begins or goes on while an HADR standby is further behind
# log_used_percent: 80      # nor while the active log is fuller
foreign_keys: refuse        # or drop_and_add: their keys are dropped before such a table is copied and added after it;
                            # or by_hand: a person does that
keep_original: false        # ADMIN_MOVE_TABLE keeps the old table under another name
# load_copy_to: /db2/copies # column-organised tables are loaded, COPY YES there; a standby must see the same folder
"""
NO_WHEEL = (
    "IBM builds its driver for Linux on x86-64 with glibc, macOS and Windows; "
    "there is none for Linux on ARM64 or Alpine: run hotplace on another machine, it only needs to reach the server."
)


# Why what a unit waits is an estimate, by platform; on z/OS there are no waits.
ESTIMATES = {
    "luw": "Db2 counts waits by table space; prefetch waits are shared by pages read ahead",
    "i": "random reads are a share of physical ones, and a read takes what the tier is believed to take",
}


UNCOUNTED = "nothing that hotplace reads on z/OS counts reads of objects"
# How new storage comes to be used, where it is not a folder that is mounted.
NEW_SPACES = {
    "i": "once disk units are fitted, by their resource names: hotplace space create 'ASP1 SSD' --location UNIT,UNIT",
    "zos": "once the volumes are there: hotplace space create GROUP --location VOLSER,VOLSER",
}


def connect(settings: Db2Settings, clock: Clock, tap: Tap | None = None) -> Connector:
    """A connector to that database; the first call connects. A tap hears of what is read, or answers it.

    Raises:
        DriverMissing: ibm_db is not installed, or does not load on this machine.
    """
    if settings.platform != "luw":
        from connectors.db2.plan_only.connector import PlanOnlyConnector

        return PlanOnlyConnector(settings, clock)
    try:
        import ibm_db_dbi  # noqa: F401  # only to tell a missing driver from a broken connector
    except ImportError as error:
        raise DriverMissing(
            f"the Db2 driver ibm_db cannot be loaded: {error}", advice=f"Run: {install_command('db2')}. {NO_WHEEL}"
        ) from error
    from connectors.db2.connector import Db2Connector

    return Db2Connector(settings, clock, tap)


ENGINE = Engine(
    name="db2",
    title="Db2",
    settings=Db2Settings,
    connect=connect,
    tapped=connect,
    sample_settings=SAMPLE_SETTINGS,
    first_settings=("host", "port", "dbname", "user", "password"),
    sample_spaces=("SSD_GROUP", "IBMSTOGROUP"),
    must_agree=("move_by", "folders"),  # what spaces and bundles are
    inheritance=Inheritance(
        place=(("host", "port", "dbname"),),
        server=(
            "platform",
            "odbc_driver",
            "security",
            "server_certificate",
            "keystore",
            "keystore_stash",
            "authentication",
            "target_principal",
        ),
        login=("password",),
        own=("user", "move_by", "folders"),
    ),
    work="activities",
    prefetched_wait_share=0.0,  # waits for prefetchers are in the measured waits of each unit
    measures_waits=lambda settings: settings.platform == "luw",
    estimated_waits=lambda settings: ESTIMATES.get(settings.platform, ""),
    uncounted=lambda settings: UNCOUNTED if settings.platform == "zos" else "",
    new_space=lambda settings: NEW_SPACES.get(settings.platform, MOUNTED),
    client=CLP,
    proof=PROOF,
    set_up=Db2SetUp(connect),
    by_hand=FromFiles.of_module("connectors.db2.stored", not_read=NOT_READ, tables=TABLES),
)
