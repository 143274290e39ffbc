"""One data partition brought to another table space, written for a person: DETACH, move, ATTACH. Pure.

Not for a rule: its rows are not seen between DETACH and the end of SET INTEGRITY, and what is detached is no table
before a task of the server has made it one (topics c0056417, "Data partition detach phases"; r0000888, ALTER TABLE;
r0000998, SET INTEGRITY).
"""

from __future__ import annotations

from connectors.containers import ByHand
from connectors.db2.reading.names import Key, identifier, literal
from connectors.db2.reading.storage import TableSpace
from connectors.db2.reading.time_ranges import INCLUSIVE
from connectors.db2.routes.statements import Homes, move_table
from connectors.db2.session.sessions import Row
from connectors.scripts import comment

DETACHED = (
    "SELECT DATAPARTITIONNAME, STATUS FROM SYSCAT.DATAPARTITIONS "
    "WHERE STATUS <> '' AND TABSCHEMA = {schema} AND TABNAME = {table}"
)


def by_hand(table: Key, row: Row, target: TableSpace, because: str) -> ByHand:
    """The statements.

    Args:
        table: whose partition it is.
        row: of ``sql/partition_ranges.sql``, with its bounds.
        target: the table space that it goes to.
        because: why hotplace does not do it.
    """
    name, part = f"{identifier(table.schema)}.{identifier(table.name)}", identifier(str(row[0]))
    alone = f"{table.name}_{row[0]}"
    detached = f"{identifier(table.schema)}.{identifier(alone)}"
    homes = Homes(target.name, target.name, target.name)
    return ByHand(
        statements=(
            comment("in a quiet hour: from DETACH to the end of SET INTEGRITY nobody sees the rows of this partition;"),
            comment("tables that refer to it, and materialized query tables over it, need SET INTEGRITY too:"),
            f"ALTER TABLE {name} DETACH PARTITION {part} INTO {detached}",
            comment("COMMIT, and wait until this finds nothing:"),
            DETACHED.format(schema=literal(table.schema), table=literal(table.name)),
            move_table(table.schema, alone, homes, "", "MOVE"),
            f"ALTER TABLE {name} ATTACH PARTITION {part} {_bounds(row)} FROM {detached}",
            comment("COMMIT, then:"),
            f"SET INTEGRITY FOR {name} ALLOW WRITE ACCESS IMMEDIATE CHECKED",
            comment("next partitions with table spaces of their own go down by rule"),
        ),
        because=because,
    )


def _bounds(row: Row) -> str:
    """As the catalog spells them."""
    *_, low_inclusive, low, high_inclusive, high = row
    kinds = ("INCLUSIVE" if each == INCLUSIVE else "EXCLUSIVE" for each in (low_inclusive, high_inclusive))
    return f"STARTING ({low}) {next(kinds)} ENDING ({high}) {next(kinds)}"
