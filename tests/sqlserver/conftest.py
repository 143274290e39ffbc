"""Without a usable ODBC there is nothing to try here, and the summary says so."""

from __future__ import annotations

import pytest

try:
    import pyodbc  # noqa: F401
except ImportError as error:
    WHY = f"tests/sqlserver: pyodbc cannot be loaded ({error}); install unixodbc and hotplace[sqlserver]"
    collect_ignore_glob = ["test_*.py"]
else:
    WHY = ""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what was left out."""
    if WHY:
        terminalreporter.write_line(WHY)
