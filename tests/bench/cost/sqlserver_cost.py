"""One sampling cycle over 10,000 and 100,000 index partitions of an emulated SQL Server.

The statements, the driver and what the agent does with the answers are real; the server's share of the time is the
emulated server's own and says nothing of SQL Server. Statements per sample must not depend on the number of partitions.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from agent.model.clock import SystemClock
from connectors.kit.settings import SecretSource
from tests.bench.measurement import Measurement, of_runs, timed
from tests.labs.sqlserver.lab import Lab, running_lab
from tests.labs.sqlserver.world import READER, SLOW, add_scheme, add_table
from tests.labs.tds.drivers import OdbcDriver, drivers

RUNS = 3
PARTITIONS = 500  # of each index
INDEXES = 2  # of each table
SIZES = {"10k": 10_000, "100k": 100_000}
COMMAND = "python -m tests.bench sqlserver_cost"


def measurements() -> list[Measurement]:
    """Seconds of a sample and of a catalog, statements of a sample; nothing where no ODBC driver is."""
    driver = next((driver for driver in reversed(drivers()) if not driver.missing), None)
    return [] if driver is None else [line for size in SIZES for line in _measure(size, driver)]


def _measure(size: str, driver: OdbcDriver) -> list[Measurement]:
    from connectors.sqlserver.connector import SqlserverConnector
    from connectors.sqlserver.settings import SqlserverSettings

    note = f"emulated server, over the wire protocol through {driver.name}; its own work included"
    with running_lab() as lab, TemporaryDirectory() as folder:
        _fill(lab, SIZES[size])
        secret = Path(folder) / "secret"
        secret.write_text(READER.password)
        settings = SqlserverSettings(
            host="127.0.0.1", port=lab.server.port, database=lab.shop.name, user=READER.name,
            password=SecretSource(file=secret), driver=driver.path, encrypt="no",
            sample_budget=600.0, statement_timeout=600.0,
        )  # fmt: skip
        connector = SqlserverConnector(settings, SystemClock())
        units = len(connector.sample().physical_id)
        assert units == SIZES[size], f"{units} partitions were seen of {SIZES[size]}"
        before = lab.instance.batches
        samples = timed(connector.sample, RUNS)
        statements = (lab.instance.batches - before) / RUNS
        catalogs = timed(connector.catalog, 1)
        connector.close()
    return [
        of_runs(f"sqlserver.sample_seconds.{size}", samples, "s", COMMAND, note=note),
        of_runs(f"sqlserver.catalog_seconds.{size}", catalogs, "s", COMMAND, note=note),
        {
            "name": f"sqlserver.sample_statements.{size}",
            "value": statements,
            "unit": "statements",
            "better": "lower",
            "command": COMMAND,
            "note": "emulated server; the same for any number of partitions",
        },
    ]


def _fill(lab: Lab, partitions: int) -> None:
    """Partitioned tables, every partition of both indexes read."""
    add_scheme(lab.shop, "many", list(range(1, PARTITIONS)), [SLOW] * PARTITIONS)
    for number in range(partitions // (PARTITIONS * INDEXES)):
        table = add_table(lab.shop, f"t{number}", space="many", pages=8, column="id")
        for index in table.indexes.values():
            for partition in index.partitions:
                partition.counters.update(singleton_lookup_count=9, page_io_latch_wait_count=3)
