"""The drivers and the usual server. Without a usable ODBC there is nothing to try here, and the summary says so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.labs.sqlserver.lab import Lab, running_lab
from tests.labs.tds.drivers import OdbcDriver, drivers

try:
    import pyodbc  # noqa: F401  # only to tell whether there is one
except ImportError as error:
    WHY = f"tests/sqlserver: pyodbc cannot be loaded ({error}); install unixodbc and hotplace[sqlserver]"
    collect_ignore_glob = ["test_*.py"]
else:
    WHY = ""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what was left out."""
    if WHY:
        terminalreporter.write_line(WHY)


@pytest.fixture(params=drivers(), ids=lambda driver: f"emulated server, {driver.name}")
def driver(request: pytest.FixtureRequest) -> OdbcDriver:
    """Each ODBC driver that is here."""
    found: OdbcDriver = request.param
    if found.missing:
        pytest.skip(found.missing)
    return found


@pytest.fixture
def lab() -> Iterator[Lab]:
    """An emulated Enterprise edition of 2022."""
    with running_lab() as running:
        yield running
