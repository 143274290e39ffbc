"""One sampling cycle over 10,000 tables with an index each of an emulated Db2 server.

The statements, the driver and what the agent does with the answers are real; the server's share of the time is its own
and says nothing of Db2. Statements per cycle must not depend on the number of tables.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from agent.model.clock import SystemClock
from connectors.db2 import sessions
from connectors.db2.connector import Db2Connector
from connectors.db2.sessions import Connection, Result, Row
from connectors.db2.settings import Db2Settings
from connectors.kit.settings import SecretSource
from tests.bench.measurement import Measurement, of_runs, timed
from tests.labs.db2.client import running_db2
from tests.labs.db2.server import ADMIN, TS_SLOW
from tests.labs.db2.text import DATABASE

TABLES = 10_000
RUNS = 5
COMMAND = "python -m tests.bench db2_cost"
NOTE = "emulated server, over DRDA through ibm_db; its own work included"


def measurements() -> list[Measurement]:
    """Seconds and statements of a sample and of a catalog."""
    with running_db2("11.5") as server, tempfile.TemporaryDirectory(prefix="hotplace-bench-") as folder:
        server.lab.create_many("MANY", TABLES, TS_SLOW, 8)
        secret = Path(folder) / "password"
        secret.write_text(ADMIN.password)
        connector = Db2Connector(
            Db2Settings(
                host="127.0.0.1", port=server.port, dbname=DATABASE, user=ADMIN.name, authentication="SERVER",
                password=SecretSource(file=secret), query_timeout=300.0,
            ),
            SystemClock(),
        )  # fmt: skip
        connector.sample()  # the emulated server fills its tables, columns are probed
        connector.catalog()
        with _counted() as statements:
            samples = timed(connector.sample, RUNS)
            of_samples = len(statements) / RUNS
            catalogs = timed(connector.catalog, RUNS)
            of_catalogs = len(statements) / RUNS - of_samples
        connector.close()
    same = "emulated server; the same for any number of tables"
    return [
        of_runs("db2.sample_seconds.10k", samples, "s", COMMAND, note=NOTE),
        of_runs("db2.catalog_seconds.10k", catalogs, "s", COMMAND, note=NOTE),
        _statements("db2.sample_statements.10k", of_samples, f"{same}; six say which server this is"),
        _statements("db2.catalog_statements.10k", of_catalogs, same),
    ]


def _statements(name: str, value: float, note: str) -> Measurement:
    return {
        "name": name,
        "value": value,
        "unit": "statements",
        "better": "lower",
        "command": COMMAND,
        "note": note,
    }


@contextmanager
def _counted() -> Iterator[list[str]]:
    """Every query that is sent within."""
    sent: list[str] = []
    fetch = sessions.fetch_parts

    def counting(
        connection: Connection, statement: str, take: Callable[[list[Row]], Result], values: Sequence[object] = ()
    ) -> list[Result]:
        sent.append(statement)
        return fetch(connection, statement, take, values)

    sessions.fetch_parts = counting
    try:
        yield sent
    finally:
        sessions.fetch_parts = fetch
