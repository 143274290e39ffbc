"""An emulated Db2: Apache Derby behind a DRDA shim, reached with IBM's real driver. See README.md."""

from __future__ import annotations

from functools import partial

from tests.contract.harness import HarnessFactory

# The oldest and the newest; what lies between is tested by tests/db2 and by the lab's own tests.
TABLES_VERSION, SPACES_VERSION = "10.1", "12.1"


def contract_harnesses() -> dict[str, HarnessFactory]:
    """One for each way of moving. Starts nothing, and needs no driver before it is entered."""
    from tests.labs.db2.harness import running_spaces, running_tables

    return {
        f"db2 {TABLES_VERSION} emulated server, tables": partial(running_tables, TABLES_VERSION),
        f"db2 {SPACES_VERSION} emulated server, table spaces": partial(running_spaces, SPACES_VERSION),
    }
