"""How the registry meets Oracle, with a connection, from files, and to be proved.

Oracle from files: reports, and results of the connector's own queries. Nothing here needs a driver.

How the registry meets Oracle: settings are validated without the driver, connecting needs it.
"""

from __future__ import annotations

import re

from connectors.kit.assessment import FromFiles, NamedRows, NotRead, Observation
from connectors.kit.clients import SQLPLUS
from connectors.kit.contract import Clock, Connector, Tap
from connectors.kit.proving import proof_of_package
from connectors.kit.registry import Engine, Inheritance
from connectors.oracle.setting_up import OracleSetUp
from connectors.oracle.settings import OracleSettings


def is_report(text: str) -> bool:
    """Whether it looks like a Statspack or AWR report."""
    from connectors.oracle import reports

    return reports.is_report(text)


def read_report(path: str, text: str, sizes: NamedRows | None) -> Observation:
    """See ``reports``.

    Raises:
        UnusableFile: it is no such report, says nothing of reads, or the sizes are none.
    """
    from connectors.oracle.report_observation import observe_report

    return observe_report(path, text, sizes)


ONE_PERIOD = "Give the report of one period of one instance: awrrpt.sql, of RAC awrrpti.sql for each instance."
NOT_READ = (
    NotRead(
        re.compile(r"WORKLOAD\s+REPOSITORY\s+COMPARE", re.IGNORECASE),
        "this is an AWR compare report: it holds two periods",
        ONE_PERIOD,
    ),
    NotRead(
        re.compile(r"WORKLOAD\s+REPOSITORY\s+(?:PDB\s+)?REPORT\s*\(RAC\)|AWR\s+RAC\s+Report", re.IGNORECASE),
        "this is a RAC report (awrgrpt): it adds up instances, and its sections are others",
        ONE_PERIOD,
    ),
    NotRead(
        re.compile(r"WORKLOAD\s+REPOSITORY\s+SQL\s+Report|STATSPACK\s+SQL\s+report", re.IGNORECASE),
        "this is a report of one statement: it has no reads of the database",
        ONE_PERIOD,
    ),
    NotRead(
        re.compile(r"(?:^|>)\s*ASH\s+(?:Global\s+)?Report|ASH\s+Report\s+(?:For|-)", re.IGNORECASE),
        "this is an ASH report: it samples sessions and counts no reads",
        ONE_PERIOD,
    ),
    NotRead(
        re.compile(r"ADDM\s+Report\s+for\s+Task|ACTIVITY\s+DURING\s+THE\s+ANALYSIS\s+PERIOD", re.IGNORECASE),
        "this is an ADDM report: it holds findings and no counters",
        ONE_PERIOD,
    ),
)
ROUTES = ("move online", "move", "rebuild online", "rebuild", "move datafile")
PROOF = proof_of_package("connectors.oracle.claims", ROUTES)


SAMPLE_SETTINGS = """\
host: db.example.com
port: 1521
service: orclpdb1           # one entry per PDB
user: hotplace              # see: hotplace deploy privileges --engine oracle
password: {file: /etc/hotplace/password}   # or {env: NAME} or {credential: NAME}
# protocol: tcps
# wallet_location: /etc/hotplace/wallet
# driver: thick             # 11.2, native network encryption, Kerberos: needs Oracle's client libraries
connect_timeout: 10s
statement_timeout: 60s      # of every query that hotplace reads with
lock_timeout: 5s            # a blocking move that waits longer for its lock steps back
online_lock_timeout: 30s    # an online move waits for open transactions that long
# online_lobs: false        # true: tables with LOBs move online; sessions that use DBMS_LOB on them may fail meanwhile
# licensed: []              # what the site owns. advanced_compression: compressed partitions may move online, and
#                           # ADO policies are looked for; diagnostics_pack: AWR's history of a segment is shown
# strong_login: false       # true: act although the login is SYS or SYSTEM, or has the DBA role
# parallel: 1               # of index rebuilds; the degree that the index had is restored
# replica_queue_mib: 1024   # no move begins or goes on while a standby is further behind
# log_used_percent: 80      # nor while the recovery area is fuller
# move_by: object           # tablespace: whole ones, by their data files; tiers then name disk groups and folders
# places: []                # folders without a data file yet that they may go to
"""


def connect(settings: OracleSettings, clock: Clock, tap: Tap | None = None) -> Connector:
    """A connector to that database; the first call connects. A tap hears of what is read, or answers it.

    Raises:
        DriverMissing: neither python-oracledb nor cx_Oracle is installed, or thick mode finds no client.
    """
    from connectors.oracle.connector import OracleConnector
    from connectors.oracle.driver import load_driver

    return OracleConnector(settings, clock, load_driver(settings), tap)


ENGINE = Engine(
    name="oracle",
    title="Oracle Database",
    settings=OracleSettings,
    connect=connect,
    tapped=connect,
    sample_settings=SAMPLE_SETTINGS,
    first_settings=("host", "port", "service", "user", "password"),
    sample_spaces=("FAST_DATA", "USERS"),
    must_agree=("move_by", "places"),  # what spaces and bundles are
    prefetched_wait_share=0.0,  # waits of scans are in the measured waits of each unit
    inheritance=Inheritance(
        place=(("host", "port", "service"), ("dsn",)),
        server=("protocol", "ssl_server_dn_match", "config_dir", "driver", "client_library"),
        login=("password", "token", "token_key", "wallet_location", "wallet_password"),  # a wallet may hold a login
        own=("user", "authentication", "strong_login", "move_by", "places"),
    ),
    client=SQLPLUS,
    proof=PROOF,
    set_up=OracleSetUp(connect),
    by_hand=FromFiles.of_module(
        "connectors.oracle.stored", is_report=is_report, read_report=read_report, sizes="units", not_read=NOT_READ
    ),
)
