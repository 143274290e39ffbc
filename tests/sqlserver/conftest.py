"""The drivers and the usual server. Without a usable ODBC there is nothing to try here, and the summary says so.

What a driver makes of our statements, of what the server answers and of a session that ends is tried over each of them
by the contract and by the tests here. Modules marked ``by_turns`` are about what is done with them: the same is sent
over each, so one driver a test will do, and by turns none is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from tests.labs.sqlserver.lab import Lab, running_lab
from tests.labs.tds.drivers import OdbcDriver, drivers

try:
    import pyodbc  # noqa: F401  # only to tell whether there is one
except ImportError as error:
    WHY = f"tests/sqlserver: pyodbc cannot be loaded ({error}); apt install unixodbc, make setup"
    collect_ignore_glob = ["test_*.py"]
else:
    WHY = ""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what was left out."""
    if WHY:
        terminalreporter.write_line(WHY)


def pytest_configure(config: pytest.Config) -> None:
    """Make the folder's own marker known."""
    config.addinivalue_line("markers", "by_turns: one ODBC driver is enough; the next test has the other one")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each ODBC driver, or by turns one of those that are here."""
    if "driver" not in metafunc.fixturenames:
        return
    offered: Sequence[OdbcDriver] = drivers()
    if any(metafunc.definition.iter_markers("by_turns")):
        here = [driver for driver in offered if not driver.missing] or offered
        tests = [name for name in vars(metafunc.module) if name.startswith("test_")]
        offered = [here[tests.index(metafunc.function.__name__) % len(here)]]
    names = [f"emulated server, {driver.name}" for driver in offered]
    metafunc.parametrize("driver", offered, ids=names, indirect=True)


@pytest.fixture
def driver(request: pytest.FixtureRequest) -> OdbcDriver:
    """The ODBC driver that ``pytest_generate_tests`` gives to the test."""
    found: OdbcDriver = request.param
    if found.missing:
        pytest.skip(found.missing)
    return found


@pytest.fixture
def lab() -> Iterator[Lab]:
    """An emulated Enterprise edition of 2022."""
    with running_lab() as running:
        yield running
