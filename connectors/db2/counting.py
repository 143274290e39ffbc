"""Whether a moved table has all its rows, asked before CLEANUP drops what it was: other eyes than the procedure's.

After SWAP no one writes to what the table was, and its rows can be counted at leisure. The table goes on: what users
insert and delete meanwhile is known by its counters, so that the figures may differ by that much. What was written
while SWAP and the count themselves ran may be in either figure or not; they agree if any of that explains the
difference. No lock is taken, and a busy table is not refused for being busy.
"""

from __future__ import annotations

from dataclasses import dataclass

from connectors.db2.errors import diagnosis_of, translate
from connectors.db2.names import identifier
from connectors.db2.operations import Phase
from connectors.db2.sessions import Connection, DriverError, ReadSession, fetch
from connectors.db2.tables import MoveProtocol, find_table
from connectors.kit.contract import StatementFailed

SWAPPED = "CLEANUP"  # status: the table has its new home, and what it was is there still


@dataclass(frozen=True, slots=True)
class Written:
    """Rows of one table by its counters, since it was first touched."""

    inserted: int
    deleted: int

    def since(self, before: Written | None) -> Written | None:
        """What was written since; None: not known, as the counters of then are not, or began again."""
        if before is None or self.inserted < before.inserted or self.deleted < before.deleted:
            return None
        return Written(self.inserted - before.inserted, self.deleted - before.deleted)


NOTHING = Written(0, 0)


@dataclass(frozen=True, slots=True)
class Swap:
    """The counters of the table that takes the place of another; None: not known."""

    before: Written | None = None
    after: Written | None = None


def read_written(session: ReadSession, schema: str, name: str) -> Written | None:
    """The counters of a table; None where they may not be read.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    rows = session.optional_rows("rows_written", (schema, name), doing=f"looking at what is written to {schema}.{name}")
    if not rows or rows[0][0] is None or rows[0][1] is None:
        return None
    return Written(int(rows[0][0]), int(rows[0][1]))


def original_of(session: ReadSession, schema: str, protocol: MoveProtocol) -> str:
    """Name of what a swapped table was; "" where it is gone, or nothing was swapped.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    name = protocol.original or protocol.target
    swapped = protocol.status == SWAPPED and bool(name)
    return name if swapped and find_table(session, schema, name) is not None else ""


def refuse_lost_rows(
    session: ReadSession, connection: Connection, phase: Phase, protocol: MoveProtocol, swap: Swap
) -> None:
    """Count what the table was and what it is.

    Args:
        session: for the catalog and the counters.
        connection: whose statements have the time of a move; counting a large table takes some.
        phase: that would drop the original.
        protocol: as it is now.
        swap: the counters right before it and right after it.

    Raises:
        StatementFailed: rows are missing, or there are too many, beyond what was written meanwhile.
        ConnectorError: a table could not be counted.
    """
    original = original_of(session, phase.schema, protocol)
    if not original:
        return
    name = f"{phase.schema}.{phase.table}"
    old = _count(connection, phase.schema, original)
    begun = read_written(session, phase.schema, phase.table)
    new = _count(connection, phase.schema, phase.table)
    ended = read_written(session, phase.schema, phase.table)
    least = None if begun is None else begun.since(swap.after)
    most = None if ended is None else ended.since(swap.before)
    if lost_rows(old, new, least or NOTHING, most or NOTHING if least else NOTHING) == 0:
        return
    meanwhile = (
        "what was written since SWAP is not known"
        if least is None or most is None
        else f"since SWAP {least.inserted:,} rows were inserted and {least.deleted:,} deleted"
    )
    raise StatementFailed(
        f"{name} has {new:,} rows, and {phase.schema}.{original}, which it was before the move, has {old:,}; "
        f"{meanwhile}",
        advice=f"Nothing is dropped. Compare the two; CLEANUP of ADMIN_MOVE_TABLE drops {phase.schema}.{original}.",
    )


def lost_rows(old: int, new: int, least: Written, most: Written) -> int:
    """How many rows are lost at least, negative where there are so many too many. Pure.

    Args:
        old: rows before the move.
        new: rows now.
        least: what was surely written in between.
        most: what may have been.

    >>> lost_rows(100, 97, Written(0, 3), Written(0, 3)), lost_rows(100, 97, Written(0, 2), Written(0, 2))
    (0, 1)
    """
    fewest = old - new + least.inserted - most.deleted
    largest = old - new + most.inserted - least.deleted
    return 0 if fewest <= 0 <= largest else fewest if fewest > 0 else largest


def _count(connection: Connection, schema: str, table: str) -> int:
    """Rows, without a lock that anybody waits for."""
    statement = f"SELECT COUNT_BIG(*) AS N FROM {identifier(schema)}.{identifier(table)} WITH UR"  # noqa: S608  # quoted
    try:
        rows = fetch(connection, statement)
        connection.commit()
    except DriverError as error:
        raise translate(diagnosis_of(error), f"counting the rows of {schema}.{table}") from error
    return int(rows[0][0])
