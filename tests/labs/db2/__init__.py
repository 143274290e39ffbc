"""An emulated Db2: Apache Derby behind a DRDA shim, reached with IBM's real driver. See README.md."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from tests.contract.harness import Ability, HarnessFactory

# The oldest and the newest; what lies between is tested by tests/db2 and by the lab's own tests.
TABLES_VERSION, SPACES_VERSION = "10.1", "12.1"
TABLES = f"db2 {TABLES_VERSION} emulated server, tables"
SPACES = f"db2 {SPACES_VERSION} emulated server, table spaces"

BY_TABLE_SPACE: Mapping[Ability, str] = {
    Ability.LOCK: "ALTER TABLESPACE waits for no lock on a table",
    Ability.INTERRUPT: "a rebalance can be suspended, not taken back while it runs",
    Ability.CASES: "cases lie in one table space and move alone, and whole table spaces are what moves here",
    Ability.LOB: "a table space moves with everything in it, indexes too",
}
BY_TABLE: Mapping[Ability, str] = {
    Ability.PAUSE: "ADMIN_MOVE_TABLE has no pause; its phases are short steps instead",
    Ability.LOG_WAITS: "MON_GET_DATABASE, which tells the waits for the log, came with 10.5",
}
NEVER: Mapping[str, Mapping[Ability, str]] = {TABLES: BY_TABLE, SPACES: BY_TABLE_SPACE}


def contract_harnesses() -> dict[str, HarnessFactory]:
    """One for each way of moving. Starts nothing, and needs no driver before it is entered."""
    from tests.labs.db2.harness import running_spaces, running_tables

    return {TABLES: partial(running_tables, TABLES_VERSION), SPACES: partial(running_spaces, SPACES_VERSION)}
